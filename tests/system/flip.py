#!/usr/bin/env python3
"""Flips single bits in the memory of running ranks, from outside, and says what became of each.

usage: flip.py CCTEST RUNS SEED

Each run is a job that checks every iteration, and whose messages take one of five ways (WAYS). `-v -v` says where its
buffers and slots lie. At a random moment all ranks are stopped, one bit is flipped there by process_vm_writev(), and
hardware watchpoints are set on its byte. The first access after the flip is what decides:

    a read     the bit is in use: the job must find it, and explain it (explains())
    a write    the bit was overwritten before it was read, by that function: harmless
    none       the job ended without another look at it: harmless

Found is what ends with status 3 and a sentence that names the rank whose memory it was; for a canary and a source also
the buffer and the byte; for data that is only moved also the bit. Any other end of a job is a failure.

A breakpoint at the beginning of the check of an iteration shows what a check should have read, and did not: that is
missed. A watched byte belongs to the ranks that map it: for slots, to both ends. Watchpoints do not see what the kernel
reads and writes: where it carries messages (process_vm_readv), much of what is not found is undecided. Heads, flags and
credits are left out: they are control, not data (tests/fuzz)."""
import collections
import ctypes
import errno
import os
import random
import re
import select
import signal
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long
PEEKUSER, POKEUSER, CONT, SEIZE, INTERRUPT = 3, 6, 7, 0x4206, 0x4207
HEADS = {"slots": 64, "lines": 8, "words": 0}  # bytes before the data
DEBUG, RCX, RIP, WALL = 848, 88, 128, 0x40000000  # offsets in struct user (x86-64)
# Watchpoint 0 fires for a write of one byte, 1 for a read or a write, 2 where check_result() begins.
WATCH, BREAK = 1 << 0 | 1 << 2 | 1 << 16 | 3 << 20, 1 << 4
CANARY = 4096
EPOCH_READERS = "shm_ll_arrived", "shm_ll_is_complete"  # they read a word for its epoch alone


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    value = libc.ptrace(request, pid, address, data)
    if value == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), "ptrace")
    return value


def ptrace_unless_ended(request, thread):
    """False: the thread has ended since its process's threads were listed."""
    try:
        ptrace(request, thread)
        return True
    except OSError:
        if not has_ended(thread):
            raise
        return False


def has_ended(thread):
    try:
        return open(f"/proc/{thread}/stat").read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def byte_at(pid, address, value=None):
    """Reads a byte of another process, or writes it."""
    byte = ctypes.create_string_buffer(b"" if value is None else bytes([value]), 1)
    here, there = Vector(ctypes.addressof(byte), 1), Vector(address, 1)
    call = libc.process_vm_readv if value is None else libc.process_vm_writev
    if call(pid, ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there), ctypes.c_ulong(1), ctypes.c_ulong(0)) != 1:
        raise OSError(ctypes.get_errno(), "process_vm")
    return byte.raw[0]


class Place:
    """Bytes of one kind in a rank's process."""

    def __init__(self, kind, rank, pid, base, size, buffers=(), buffer="", first=0):
        self.kind, self.rank, self.pid, self.base, self.size, self.buffers = kind, rank, pid, base, size, buffers
        self.buffer, self.first = buffer, first  # of a canary: beside which buffer, and its first offset there


def places_of(line):
    """The places that a line of `-v -v` tells."""
    if found := re.search(r"rank (\d+): process (\d+), set \d+ of buffers: (.*)", line):
        rank, pid = int(found[1]), int(found[2])
        told = re.findall(r"(\w+) at 0x(\w+) \((\d+) bytes\)", found[3])
        buffers = {kind: (int(base, 16), int(size)) for kind, base, size in told}
        for kind, (base, size) in buffers.items():
            yield Place("canaries", rank, pid, base - CANARY, CANARY, buffers, kind, -CANARY)
            yield Place("canaries", rank, pid, base + size, CANARY, buffers, kind, size)
            if size:
                yield Place(kind, rank, pid, base, size, buffers)
    elif found := re.search(r"rank (\d+): shm: process (\d+) receives from rank \d+ on lane \d+ in (.*)", line):
        for name, base, count, stride in re.findall(r"([\w ]+) at 0x(\w+) \((\d+) x (\d+) bytes\)", found[3]):
            kind = name.split()[-1]
            for cell in range(int(count)):
                yield Place(kind, int(found[1]), int(found[2]), int(base, 16) + cell * int(stride) + HEADS[kind],
                            int(stride) - HEADS[kind])


def mappings(pid):
    for line in open(f"/proc/{pid}/maps"):
        parts = line.split(None, 5)
        first, last = (int(end, 16) for end in parts[0].split("-"))
        yield first, last, int(parts[2], 16), (parts[3], parts[4]), parts[5].strip() if len(parts) > 5 else ""


def aliases(pids, place, address):
    """Where each rank's process maps the byte: {pid: address}."""
    found = {place.pid: address}
    first, _, offset, file, _ = next(m for m in mappings(place.pid) if m[0] <= address < m[1])
    if file[1] != "0":
        at = address - first + offset
        for pid in pids:
            for low, high, begin, other, _ in mappings(pid):
                if other == file and begin <= at < begin + high - low:
                    found.setdefault(pid, low + at - begin)
    return found


class Symbols:
    """Names of the functions of the program."""

    def __init__(self, program):
        self.program = os.path.realpath(program)
        told = subprocess.run(["nm", self.program], capture_output=True, text=True).stdout
        lines = (line.split() for line in told.splitlines())
        self.sorted = sorted((int(line[0], 16), line[2]) for line in lines if len(line) == 3 and line[1] in "tTwW")

    def knows(self, name):
        return any(known == name for _, known in self.sorted)

    def address(self, pid, name):
        """Where a function of the program lies in a process."""
        base = next(m[0] for m in mappings(pid) if m[2] == 0 and m[4] == self.program)
        return base + next(value for value, known in self.sorted if known == name)

    def name(self, pid, address):
        for first, last, offset, _, path in mappings(pid):
            if not first <= address < last:
                continue
            if path != self.program:
                return os.path.basename(path) or "?"
            at = address - first + offset
            names = [name for value, name in self.sorted if value <= at]
            return re.sub(r"\.(part|isra|constprop|cold).*", "", names[-1]) if names else "?"
        return "?"


class Job:
    """A job of which one bit is flipped."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        self.ranks = int(command[command.index("--np") + 1])
        bits = re.search(r" -d [a-z]+(\d+)", " ".join(command))
        self.element = int(bits[1]) // 8 if bits else 4
        self.places, self.said, self.rest = [], [], b""
        self.traced, self.first, self.checks = {}, None, False

    def hear(self, seconds):
        """Reads what is there of standard error; False at its end."""
        if not select.select([self.process.stderr], [], [], seconds)[0]:
            return True
        more = os.read(self.process.stderr.fileno(), 65536)
        *lines, self.rest = (self.rest + more).split(b"\n")
        for line in (line.decode() for line in lines):
            new = list(places_of(line))
            self.places += new
            if not new:
                self.said.append(line)
        return bool(more)

    def pids(self):
        return sorted({place.pid for place in self.places})

    def is_connected(self):
        return len({place.pid for place in self.places if place.kind in HEADS}) == self.ranks

    def stop_all(self):
        """Stops every thread of every rank."""
        for thread in [int(t) for pid in self.pids() for t in os.listdir(f"/proc/{pid}/task")]:
            if ptrace_unless_ended(SEIZE, thread):
                self.traced[thread] = "running"
        for thread in list(self.traced):
            ptrace_unless_ended(INTERRUPT, thread)
            while self.wait(thread, 0) == "signal":
                pass

    def wait(self, thread, flags):
        """One report of a thread: None, "stopped", "signal", "trap" or "gone"."""
        try:
            pid, status = os.waitpid(thread, WALL | flags)
        except ChildProcessError:
            self.traced.pop(thread, None)
            return "gone"
        if pid == 0:
            return None
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            self.traced.pop(thread, None)
            return "gone"
        if status >> 16:  # an event: the stop that was asked for, or a thread that is stopped by a signal
            self.traced[thread] = "stopped"
            return "stopped"
        if os.WSTOPSIG(status) == signal.SIGTRAP:
            return "trap"
        ptrace(CONT, thread, 0, os.WSTOPSIG(status))
        return "signal"

    def flip(self, place, at, bit, symbols):
        """While all are stopped: flips the bit, watches its byte, lets all go on."""
        address, self.place, self.at, self.bit = place.base + at, place, at, bit
        where = aliases(self.pids(), place, address)
        check = symbols.address(place.pid, "check_result")
        byte_at(place.pid, address, byte_at(place.pid, address) ^ 1 << bit)
        self.flipped = time.monotonic()
        for thread in self.traced:
            pid = owner_of(thread)
            if pid in where:
                for register in 0, 1:
                    ptrace(POKEUSER, thread, DEBUG + 8 * register, where[pid])
                ptrace(POKEUSER, thread, DEBUG + 8 * 2, check)
                ptrace(POKEUSER, thread, DEBUG + 8 * 7, WATCH | BREAK if place.buffers else WATCH)
        for thread in list(self.traced):
            ptrace(CONT, thread)

    def trapped(self, thread, symbols):
        """A watchpoint has fired: keeps the first access, and watches no more in this thread."""
        hit = ptrace(PEEKUSER, thread, DEBUG + 8 * 6)
        ptrace(POKEUSER, thread, DEBUG + 8 * 6, 0)
        if hit & 4 and owner_of(thread) == self.place.pid:  # the peer's buffers may have the same addresses
            at = ptrace(PEEKUSER, thread, RCX)  # the fourth argument is the destination
            self.checks |= any(base <= at <= base + size for base, size in self.place.buffers.values())
        name = symbols.name(owner_of(thread), ptrace(PEEKUSER, thread, RIP)) if hit & 3 else ""
        if hit & 1 or name and name not in EPOCH_READERS:
            ptrace(POKEUSER, thread, DEBUG + 8 * 7, 0)
            self.first = self.first or ("write" if hit & 1 else "read", name, time.monotonic() - self.flipped, self.checks)
        ptrace(CONT, thread)

    def follow(self, symbols, limit):
        """Until the job has ended."""
        hears, until = True, time.monotonic() + limit
        while (hears or self.traced or self.process.poll() is None) and time.monotonic() < until:
            quiet = True
            for thread in list(self.traced):
                report = self.wait(thread, os.WNOHANG)
                quiet &= report is None
                if report == "trap":
                    self.trapped(thread, symbols)
                elif report == "stopped":
                    ptrace(CONT, thread)
            if quiet and hears:
                hears = self.hear(0.002)
            elif quiet:
                time.sleep(0.001)
        return self.process.poll()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stderr.close()


def owner_of(thread):
    return int(re.search(r"^Tgid:\s*(\d+)", open(f"/proc/{thread}/status").read(), re.M)[1])


# Each runs for some tens of milliseconds. Where a rank begins late, data of the others waits for it in slots and
# scratch.
# Their results depend on every bit that is read: no flip is rounded away, as in sums of floats, and no algorithm
# combines what it does not need, as rec-doubling does.
WITH_SCRATCH = [
    "reduce_scatter -a linear --np 2 -d uint8 -o bxor -b 4K",
    "reduce_scatter -a ring --np 3 -d int16 -b 6K --inject delay:rank=2:us=200",
    "reduce -a rhd -r all --np 2 -d int64 -b 4K --inject delay:rank=1:us=200",
    "alltoall -a ring --np 3 -b 6K --start back-to-back",
]
WITH_DESTINATION = WITH_SCRATCH + [
    "allreduce -a ring --np 2 -d int32 -b 4K",
    "allreduce -a rabenseifner --np 2 -d uint32 -b 8K --start back-to-back --inject delay:rank=0:us=200",
    "allgather -a bruck --np 3 -b 6K --inject delay:rank=1:us=200",
]
WITH_SOURCE = WITH_DESTINATION + ["reduce_scatter -a pairwise --np 2 -d int64 -o prod -b 4K --in-place"]
WITH_CANARIES = [subject for subject in WITH_SOURCE if "-r all" not in subject]  # else they move from root to root,
KINDS = {"destination": [subject for subject in WITH_DESTINATION if "-r all" not in subject],  # as the destination does
         "source": WITH_SOURCE, "scratch": WITH_SCRATCH, "canaries": WITH_CANARIES}
Way = collections.namedtuple("Way", "options block kinds watched")  # block: bytes in place of 1K
SLOTS = "--slots 4 --slot-size 1K"
WAYS = {
    "bcopy": Way("--copy bcopy " + SLOTS, 1024, [*KINDS, "slots"], True),
    "lines": Way("--copy auto", 16, [*KINDS, "lines"], True),
    "ll": Way("--copy ll " + SLOTS, 1024, [*KINDS, "words"], True),
    "in place": Way("--copy zcopy -m shared", 8192, list(KINDS), True),
    "by the kernel": Way("--copy zcopy", 4096, list(KINDS), False),
}
WHATS = ["found", "overwritten", "never touched", "undecided", "missed", "failed"]
BAD = WHATS[4:]


def command_of(program, subject, way):
    words, checked = subject.split(), "150" if "--inject" in subject else "600"
    at = words.index("-b") + 1
    words[at] = str(int(words[at].removesuffix("K")) * way.block)
    return [program, *words, "-e", words[at], "-n", "0", "-w", "0", "-c", checked, *way.options.split(), "-x", "shm",
            "--ranks-as", "processes", "--timeout", "10", "-v", "-v"]


def attempt(program, subject, way, kind, draw, symbols, span, may_skip):
    """One run: (what became of the bit, words). None: the job had ended before the flip."""
    job = Job(command_of(program, subject, way))
    try:
        while not job.is_connected():
            if not job.hear(10):
                return "failed", "it does not start: " + " ".join(job.said)
        time.sleep(draw.random() * span)
        places = [place for place in job.places if place.kind == kind]
        place = draw.choices(places, [p.size for p in places])[0]
        at = draw.randrange(place.size)
        if kind == "words":
            at = at // 8 * 8 + at % 4  # the data of a word, not its epoch
        try:
            job.stop_all()
            job.flip(place, at, draw.randrange(8), symbols)
        except (OSError, StopIteration) as error:
            number = getattr(error, "errno", errno.ESRCH)
            if number == errno.EPERM and may_skip:
                print("not tested: this process may not trace others, or set watchpoints")
                sys.exit(77)
            job.follow(symbols, 20)
            return None if number in (errno.ESRCH, errno.ENOENT, errno.EFAULT) else ("failed", str(error))
        return judge(job, job.follow(symbols, 30), way)
    finally:
        job.end()


def ranks_named(said):
    """All ranks in these sentences, but for those that a line begins with: they say it."""
    text = " ".join(re.sub(r"^cctest: rank \d+: ", "", line) for line in said)
    text = re.sub(r"(?<=all of them at ranks )(\d+)\.\.(\d+)", lambda ends: ", ".join(map(str, range(int(ends[1]), int(ends[2]) + 1))), text)
    lists = re.findall(r"ranks? (\d+(?:(?:, | and )\d+)*)", text)
    return {int(number) for numbers in lists for number in re.findall(r"\d+", numbers)}


def explains(job):
    """Do the sentences say what was flipped? None, or what is missing."""
    place, said = job.place, "\n".join(job.said)
    if place.kind == "canaries":
        where = f"{'before' if place.first < 0 else 'behind'} the {place.buffer} buffer was overwritten, the first at offset {place.first + job.at}"
        return None if re.search(rf"at rank {place.rank} .* 1 byte {where}$", said, re.M) else "not the rank, the buffer or the offset"
    if place.rank not in ranks_named(job.said):
        return f"rank {place.rank} is not named"
    if "of the source" in said and (place.kind != "source" or not re.search(rf"at rank {place.rank} .* of the source", said)):
        return "not the source that it was"
    bits = {int(bit) for bit in re.findall(r"\(flipped bit (\d+)\)", said)}
    size = job.element
    if bits and (place.kind != "words" or size <= 4) and bits != {8 * (job.at % size) + job.bit}:
        return f"not bit {8 * (job.at % size) + job.bit}"
    return None


def judge(job, status, way):
    told = next((line for line in job.said if "wrong data at" in line), "")
    if status is None:
        return "missed", "the job hangs"
    if status == 3 and told:
        missing = explains(job)
        return ("failed", f"{missing}: {job.said}") if missing else ("found", told)
    if status != 0:
        return "failed", f"status {status}: {job.said[-3:]}"
    if not way.watched and job.place.kind in ("destination", "scratch"):  # the kernel may have written there
        return "undecided", ""
    looked = job.checks and job.place.kind not in ("scratch", *HEADS)
    if job.first is None:
        return ("missed", "not looked at by a check") if looked else ("never touched" if way.watched else "undecided", "")
    access, where, seconds, checked = job.first
    words = f"{where}, {seconds * 1e6:.0f} us after the flip"
    if access == "read":
        return "missed", "read in " + words
    if checked and looked:
        return "missed", "not looked at by a check, and overwritten in " + words
    return "overwritten" if way.watched else "undecided", words


def main():
    program, runs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draw, symbols, verbose = random.Random(seed), Symbols(program), len(sys.argv) > 4
    counts, overwriters = collections.Counter(), collections.Counter()
    if not symbols.knows("main"):
        print("not tested: the program has no symbols")
        sys.exit(77)
    rows = [(name, kind) for kind in (*KINDS, *HEADS) for name, way in WAYS.items() if kind in way.kinds]
    span, begun, done, tries = 0.05, time.monotonic(), 0, 0
    while done < runs and tries < 3 * runs + 20:
        tries += 1
        name, kind = rows[done % len(rows)]
        subject = draw.choice(KINDS.get(kind, WITH_SOURCE))
        outcome = attempt(program, subject, WAYS[name], kind, draw, symbols, span, done == 0)
        if outcome is None:
            span = max(0.001, span * 0.9)
            continue
        done += 1
        what, words = outcome
        counts[name, kind, what] += 1
        if what == "overwritten":
            overwriters[kind, words.split(",")[0]] += 1
        if what in BAD or verbose:
            print(f"{what}: {name}, {kind}, {subject}: {words}", flush=True)
    print(f"{'way':15}{'memory':13}" + "".join(f"{what:>15}" for what in WHATS))
    for name, kind in rows + [("all", "")]:
        told = [sum(n for (way, memory, w), n in counts.items() if w == what and (name == "all" or (way, memory) == (name, kind)))
                for what in WHATS]
        print(f"{name:15}{kind:13}" + "".join(f"{number:15}" for number in told))
    for (kind, where), number in sorted(overwriters.items()):
        print(f"overwritten: {kind} by {where}: {number}")
    print(f"{done} bits flipped in {time.monotonic() - begun:.0f} s, seed {seed}")
    bad = sum(number for (_, _, what), number in counts.items() if what in BAD)
    sys.exit(1 if bad or done < runs else 0)


if __name__ == "__main__":
    main()

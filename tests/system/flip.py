#!/usr/bin/env python3
"""Flips single bits in the memory of running ranks, from outside, and says what became of each.

usage: flip.py CCTEST RUNS SEED

Each run is a job that checks every iteration. `-v -v` says where its buffers and slots lie. At a random moment all
ranks are stopped, one bit is flipped there by process_vm_writev(), and hardware watchpoints are set on its byte. The
first access after the flip is what decides:

    a read     the bit is in use: the job must find it, and say so
    a write    the bit was overwritten before it was read, by that function: harmless
    none       the job ended without another look at it: harmless

A breakpoint at the beginning of the check of an iteration shows what a check should have read, and did not: that is
missed. A watched byte belongs to the ranks that map it: for slots, to both ends. Heads and credits of slots are left
out: they are control, not data (tests/fuzz)."""
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
HEAD = 64  # bytes of a slot before its data
DEBUG, RCX, RIP, WALL = 848, 88, 128, 0x40000000  # offsets in struct user (x86-64)
# Watchpoint 0 fires for a write of one byte, 1 for a read or a write, 2 where check_result() begins.
WATCH, BREAK = 1 << 0 | 1 << 2 | 1 << 16 | 3 << 20, 1 << 4
CANARY = 4096


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    value = libc.ptrace(request, pid, address, data)
    if value == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), "ptrace")
    return value


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

    def __init__(self, kind, pid, base, size, buffers=()):
        self.kind, self.pid, self.base, self.size, self.buffers = kind, pid, base, size, buffers


def places_of(line):
    """The places that a line of `-v -v` tells."""
    if found := re.search(r"process (\d+), set \d+ of buffers: (.*)", line):
        pid = int(found[1])
        told = re.findall(r"(\w+) at 0x(\w+) \((\d+) bytes\)", found[2])
        buffers = {kind: (int(base, 16), int(size)) for kind, base, size in told}
        for kind, (base, size) in buffers.items():
            yield Place("canaries", pid, base - CANARY, CANARY, buffers)
            yield Place("canaries", pid, base + size, CANARY, buffers)
            if size:
                yield Place(kind, pid, base, size, buffers)
    elif found := re.search(r"shm: process (\d+) receives from rank \d+ on lane \d+ in (.*)", line):
        pid = int(found[1])
        for kind, base, count, stride in re.findall(r"([\w ]+) at 0x(\w+) \((\d+) x (\d+) bytes\)", found[2]):
            for cell in range(int(count) if kind.endswith("slots") else 0):
                yield Place("slots", pid, int(base, 16) + cell * int(stride) + HEAD, int(stride) - HEAD)


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

    def has_slots(self):
        return len({place.pid for place in self.places if place.kind == "slots"}) == self.ranks

    def stop_all(self):
        """Stops every thread of every rank."""
        threads = [int(t) for pid in self.pids() for t in os.listdir(f"/proc/{pid}/task")]
        for thread in threads:
            ptrace(SEIZE, thread)
            self.traced[thread] = "running"
        for thread in threads:
            ptrace(INTERRUPT, thread)
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
        address, self.place = place.base + at, place
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
        if hit & 4:  # its fourth argument is the destination
            at = ptrace(PEEKUSER, thread, RCX)
            self.checks |= any(base <= at <= base + size for base, size in self.place.buffers.values())
        if hit & 3:
            ptrace(POKEUSER, thread, DEBUG + 8 * 7, 0)
        if hit & 3 and not self.first:
            name = symbols.name(owner_of(thread), ptrace(PEEKUSER, thread, RIP))
            self.first = ("write" if hit & 1 else "read", name, time.monotonic() - self.flipped, self.checks)
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
WITH_CANARIES = [subject for subject in WITH_SOURCE if "-r all" not in subject]  # else they move from root to root
KINDS = {"destination": WITH_DESTINATION, "source": WITH_SOURCE, "scratch": WITH_SCRATCH, "slots": WITH_SOURCE,
         "canaries": WITH_CANARIES}
WORDS = r"wrong data at rank|elements? of the source (was|were) overwritten|bytes? (before|behind) the"


def command_of(program, subject):
    words = subject.split()
    size, checked = words[words.index("-b") + 1], "150" if "--inject" in words else "600"
    return [program, *words, "-e", size, "-n", "0", "-w", "0", "-c", checked, "--slots", "4", "--slot-size", "1K",
            "--copy", "bcopy", "-x", "shm", "--ranks-as", "processes", "--timeout", "10", "-v", "-v"]


def attempt(program, subject, kind, draw, symbols, span):
    """One run: (what became of the bit, words). None: the job had ended before the flip."""
    job = Job(command_of(program, subject))
    try:
        while not job.has_slots():
            if not job.hear(10) or job.process.poll() is not None:
                return "failed", "it does not start: " + " ".join(job.said)
        time.sleep(draw.random() * span)
        places = [place for place in job.places if place.kind == kind]
        place = draw.choices(places, [p.size for p in places])[0]
        try:
            job.stop_all()
            job.flip(place, draw.randrange(place.size), draw.randrange(8), symbols)
        except (OSError, StopIteration) as error:
            if getattr(error, "errno", None) == errno.EPERM:
                print("not tested: this process may not trace others, or set watchpoints")
                sys.exit(77)
            job.follow(symbols, 20)
            return None
        return judge(job, job.follow(symbols, 30))
    finally:
        job.end()


def judge(job, status):
    told = next((line for line in job.said if re.search(WORDS, line)), "")
    if status is None:
        return "missed", "the job hangs"
    if status == 3 and told:
        return "found", told
    if status != 0:
        return "found" if job.said else "missed", f"status {status}: {job.said[-1:]}"
    if job.first is None:
        return ("missed", "not looked at by a check") if job.checks and job.place.kind != "scratch" else ("never touched", "")
    access, where, seconds, checked = job.first
    if access == "read":
        return "missed", f"read in {where}, {seconds * 1e6:.0f} us after the flip"
    if checked and job.place.kind != "scratch":
        return "missed", f"not looked at by a check, and overwritten in {where} {seconds * 1e6:.0f} us after the flip"
    return "overwritten", where


def main():
    program, runs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    draw, symbols, verbose = random.Random(seed), Symbols(program), len(sys.argv) > 4
    counts, overwriters = collections.Counter(), collections.Counter()
    if not symbols.knows("check_result"):
        print("not tested: the program has no symbols")
        sys.exit(77)
    kinds = list(KINDS)
    span, begun, done, tries = 0.05, time.monotonic(), 0, 0
    while done < runs and tries < 3 * runs + 20:
        tries += 1
        kind = kinds[done % len(kinds)]
        subject = draw.choice(KINDS[kind])
        outcome = attempt(program, subject, kind, draw, symbols, span)
        if outcome is None:
            span = max(0.001, span * 0.9)
            continue
        done += 1
        what, words = outcome
        counts[kind, what] += 1
        if what == "overwritten":
            overwriters[kind, words] += 1
        if what in ("missed", "failed") or verbose:
            print(f"{what}: {kind}, {subject}: {words}")
        whats = ["found", "overwritten", "never touched", "missed", "failed"]
    print(f"{'':12}" + "".join(f"{what:>16}" for what in whats))
    for kind in kinds:
        print(f"{kind:12}" + "".join(f"{counts[kind, what]:16}" for what in whats))
    for (kind, where), number in sorted(overwriters.items()):
        print(f"overwritten: {kind} by {where}: {number}")
    print(f"{done} bits flipped in {time.monotonic() - begun:.0f} s, seed {seed}")
    bad = sum(counts[kind, what] for kind in kinds for what in ("missed", "failed"))
    sys.exit(1 if bad or done < runs else 0)


if __name__ == "__main__":
    main()

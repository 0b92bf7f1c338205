"""The compared programs: how each is built, started, timed out and killed."""

import atexit
import collections
import ctypes
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NODE_BARRIER = os.path.join(ROOT, "src", "run", "node_barrier.c")
CFLAGS = ["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Wshadow", "-D_GNU_SOURCE",
          "-I" + os.path.join(ROOT, "src"), "-I" + ROOT]

ENDING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
FAREWELL = 0.5  # seconds to end after "done"
LAST = "done"  # peer.c's last line
IN_PLACE = {"broadcast"}  # beside a peer: MPI_Bcast has one buffer, so its root copies nothing

# Result of a run: `status` is "ok", "timeout" or "failed"; `message` is the reason.
Outcome = collections.namedtuple("Outcome", "lines status message")


class Unavailable(Exception):
    """A program is missing; the message says what to do."""


class Refused(LookupError):
    """cctest refuses the options."""


def cores():
    """One CPU of each core that this process may use."""
    first = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        topology = "/sys/devices/system/cpu/cpu%d/topology/" % cpu
        try:
            core = tuple(open(topology + name).read().strip()
                         for name in ("physical_package_id", "core_id"))
        except OSError:
            core = cpu
        first.setdefault(core, cpu)
    return sorted(first.values())


# Processes.

def adopt_orphans():
    """Makes this process the reaper of orphans, so that it can kill ranks whose launcher was killed."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.append(int(name))
    return found


def end(process):
    """Ends a launcher, with time to end its ranks, then kills the rest."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    end_children()


def end_children():
    """Kills all remaining processes: orphans, and then their children."""
    for _ in range(10):
        orphans = children()
        for pid in orphans:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        if not orphans:
            break


def interrupted(number, _):
    """Ends this program and the programs that it runs. A second Ctrl-C must not stop this half-way,
    which would leave spinning ranks."""
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)
    print("bench: ended by %s" % signal.Signals(number).name, file=sys.stderr, flush=True)
    sys.exit(128 + number)


def prepare():
    """Called by each program here that starts others, so that none lives longer than it."""
    adopt_orphans()
    for one in ENDING:
        if signal.getsignal(one) != signal.SIG_IGN:  # nohup sets that
            signal.signal(one, interrupted)
    atexit.register(end_children)


def shared_memory():
    try:
        return set(os.listdir("/dev/shm"))
    except OSError:
        return set()


def remove_segments(before):
    """Removes segments of a library whose ranks were killed: new ones that no process maps."""
    new = {name for name in shared_memory() - before
           if name.startswith(("vader_segment.", "sm_segment.", "mpich_", "ucx_shm_"))}
    if not new:
        return
    mapped = ""
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open("/proc/%s/maps" % pid) as file:
                    mapped += file.read()
            except OSError:
                pass
    for name in new:
        if name not in mapped:
            os.unlink(os.path.join("/dev/shm", name))


def clean_environment(directory, extra):
    """The environment without variables that configure cctest or belong to another job."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("CCTEST_")}
    environment["TMPDIR"] = directory
    environment.update(extra or {})
    return environment


def run(command, silence, directory, extra=None, last=None):
    """Runs a program until it ends; a time-out when it prints no line for `silence` seconds. Once
    it has printed the line `last`, it may take FAREWELL seconds to end: what it does then is its
    own affair (some libraries hang in MPI_Finalize where ranks share cores)."""
    before = shared_memory()
    with tempfile.TemporaryFile(dir=directory) as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=errors, start_new_session=True,
                                   env=clean_environment(directory, extra))
        timed_out, said_all, text = False, False, b""
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                deadline = time.monotonic() + silence
                while True:
                    if not selector.select(max(0, deadline - time.monotonic())):
                        timed_out = True
                        break
                    data = os.read(process.stdout.fileno(), 65536)
                    if not data:
                        break
                    text += data
                    said_all = last is not None and text.endswith(last.encode() + b"\n")
                    deadline = time.monotonic() + (FAREWELL if said_all else silence)
            if said_all:
                timed_out = False
            elif not timed_out:
                try:
                    process.wait(silence)
                except subprocess.TimeoutExpired:
                    timed_out = True
        finally:
            end(process)
            process.stdout.close()
            if process.returncode != 0:
                remove_segments(before)
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    lines = text.decode(errors="replace").splitlines()
    if timed_out:
        return Outcome(lines, "timeout", "said nothing for %.0f s" % silence)
    if process.returncode != 0 and not said_all:
        return Outcome(lines, "failed", "exit status %d%s" % (
            process.returncode, ": " + " ".join(said.split())[:300] if said else ""))
    return Outcome(lines, "ok", said)


def loopback_bytes():
    with open("/proc/net/dev") as file:
        for line in file:
            name, _, counters = line.partition(":")
            if name.strip() == "lo":
                return int(counters.split()[0])
    return 0


def compile_program(compiler, sources, target, extra=()):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    newest = max(os.path.getmtime(path) for path in sources + [
        os.path.join(HERE, "limits.h"), os.path.join(ROOT, "src", "run", "node_barrier.h"),
        os.path.join(ROOT, "src", "base", "clock.h"), os.path.abspath(__file__)])  # here: the options
    if os.path.exists(target) and os.path.getmtime(target) > newest:
        return
    command = [compiler] + CFLAGS + list(extra) + ["-o", target] + sources
    if subprocess.call(command) != 0:
        sys.exit("bench: cannot build %s" % target)


# MPI libraries.

def peer_environment():
    """Variables that tune the libraries."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(
        ("OMPI_", "PMIX_", "MPIR_", "MPICH_", "UCX_", "HYDRA_", "FI_"))}


class Peer:
    """An MPI library: `peer.c` built with it, and the options of its launcher."""

    def __init__(self, name, build, cpus):
        self.name = name
        self.cpus = len(cpus)
        self.program = os.path.join(build, "peer-" + name)
        compiler, self.launcher = "mpicc." + name, self.launchers[name]
        missing = [tool for tool in (compiler, self.launcher) if not shutil.which(tool)]
        if missing:
            raise Unavailable("%s: there is no %s here (Debian: %s; scripts/setup --bench)" % (
                name, " and no ".join(missing), self.packages[name]))
        compile_program(compiler, [os.path.join(HERE, "peer.c"), NODE_BARRIER], self.program)
        self.collectives = subprocess.run([self.program, "--list"], stdout=subprocess.PIPE,
                                          text=True).stdout.split()

    packages = {"openmpi": "openmpi-bin libopenmpi-dev", "mpich": "mpich libmpich-dev"}
    launchers = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}

    def version(self):
        first = subprocess.run([self.launcher, "--version"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True).stdout.split("\n")
        if self.name == "openmpi":
            return "Open MPI " + first[0].split()[-1]
        versions = [line.split(":")[1].strip() for line in first
                    if line.strip().startswith("Version")]
        return "MPICH " + (versions[0] if versions else "(version unknown)")

    def launch(self, transport, ranks):
        """The launcher's command and its environment."""
        alone = ranks <= self.cpus
        if self.name == "mpich":
            # Debian's MPICH is ch4:ucx: transports are those of UCX. Without NOLOCAL some
            # collectives use shared memory of their own.
            command = [self.launcher, "-bind-to", "core" if alone else "none", "-n", str(ranks)]
            return command, {} if transport == "shm" else {
                "MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
        command = [self.launcher, "--allow-run-as-root", "-n", str(ranks)]
        if alone:  # adjacent ranks on adjacent cores, as in cctest; the default alternates
            command += ["--map-by", "core", "--bind-to", "core"]
        else:
            command += ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        if transport == "tcp":
            command += ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                        "--mca", "btl_tcp_if_include", "lo", "--mca", "coll", "^sm"]
        return command, {}

    def measure(self, transport, ranks, collective, sizes, options, silence, directory):
        """Returns (cells, problem): results by (bytes, start), and an Outcome if there was a
        problem. `options` are peer.c's, `sizes` those that cctest ran; a barrier's is 0."""
        command, extra = self.launch(transport, ranks)
        carried = loopback_bytes()
        outcome = run(command + [self.program] + options +
                      [collective, ",".join(map(str, sizes))], silence, directory, extra, LAST)
        carried = loopback_bytes() - carried
        cells, least = {}, 0
        for line in outcome.lines:
            if line.startswith("{"):
                cell = json.loads(line)
                cells[cell["bytes"], cell["start"]] = cell
                least += cell["bytes"] * cell["iterations"] / 2
        if outcome.status == "ok" and transport == "tcp" and carried < least:
            outcome = Outcome([], "failed", "did not use TCP: only %d bytes went over loopback, "
                              "which should be more than %d" % (carried, least))
            cells = {}
        return cells, None if outcome.status == "ok" else outcome


# cctest.

class Cctest:
    def __init__(self, path, arguments):
        self.path = os.path.abspath(path)
        self.arguments = arguments
        if not os.access(self.path, os.X_OK):
            raise Unavailable("there is no %s: run make" % path)
        self.collectives = {
            one["name"]: [algorithm["name"] for algorithm in one["algorithms"] if not algorithm.get("vendor")]
            for one in self.ask("list")["collectives"]}

    def ask(self, *arguments):
        """JSON of `list` and `plan`."""
        done = subprocess.run([self.path] + list(arguments) + ["--json", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=clean_environment("/tmp", None))
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return json.loads(done.stdout)

    def version(self):
        done = subprocess.run([self.path, "--version"], stdout=subprocess.PIPE, text=True)
        return done.stdout.strip()

    def measure(self, collective, arguments, silence, directory):
        """Returns (results, problem): the JSON's results, and an Outcome if there was a problem."""
        file = os.path.join(directory, "cctest.json")
        outcome = run([self.path, collective] + arguments + self.arguments + ["--json", file],
                      silence, directory)
        results = []
        try:
            with open(file) as stream:
                results = json.load(stream).get("results", [])
            os.unlink(file)
        except (OSError, ValueError):
            pass
        return results, None if outcome.status == "ok" else outcome


def sweeps(sizes):
    """Cuts ascending sizes into sweeps of cctest: (-b, -e, -f)."""
    groups = []
    for size in sizes:
        group = groups[-1] if groups else None
        if group:
            factor = size // group[-1] if group[-1] else 0
            if size == group[-1] * factor and factor > 1 and (
                    len(group) == 1 or factor == group[1] // group[0]):
                group.append(size)
                continue
        groups.append([size])
    return groups


def sweep_arguments(group):
    if group == [0]:
        return []  # a barrier has no size
    arguments = ["-b", str(group[0]), "-e", str(group[-1])]
    return arguments + (["-f", str(group[1] // group[0])] if len(group) > 1 else [])


# The machine's limits.

class Limits:
    def __init__(self, build, cpus):
        self.program = os.path.join(build, "limits")
        self.cpus = cpus
        sources = [os.path.join(HERE, name)
                   for name in ("limits.c", "limits_memory.c", "limits_links.c")]
        compile_program("gcc" if shutil.which("gcc") else "cc", sources + [NODE_BARRIER], self.program)

    def measure(self, ranks, directory, rounds=5, only=()):
        command = [self.program, "--ranks", str(ranks), "--cpus", ",".join(map(str, self.cpus)),
                   "--rounds", str(rounds)]
        for part in only:
            command += ["--only", part]
        outcome = run(command, 300, directory)
        if outcome.status != "ok":
            print("bench: limits: %s" % outcome.message, file=sys.stderr)
            return {}
        return json.loads("\n".join(outcome.lines))

"""job.py - the processes of one run: starts them as the bootstrap does, injects the fault, watches them end."""
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

SYSTEM = pathlib.Path(__file__).parent.parent / "system"
SCRIPT = SYSTEM / "rank.sh"

sys.path.append(str(SYSTEM))
import strangers # pylint: disable=wrong-import-position

# A launcher's command up to the number of ranks. The options keep launchers from killing ranks that would end
# by themselves.
LAUNCHERS = {
    "mpirun": [shutil.which("mpirun.openmpi") or "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca",
               "odls_base_sigkill_timeout", "5", "-np"],
    "mpiexec": ["mpiexec.hydra", "-disable-auto-cleanup", "-n"],
    "srun": ["srun", "--kill-on-bad-exit=0", "--wait=0", "-n"],
    "srun-pmix": ["srun", "--mpi=pmix", "--kill-on-bad-exit=0", "--wait=0", "-n"],
}


def launcher(name, hosts, slurm):
    """The launcher's command; None: there is no Slurm."""
    if not name.startswith("srun"):
        return LAUNCHERS[name]
    return slurm and hosts.on(1, "env", *slurm, *LAUNCHERS[name])


def answer(line):
    """The completed process of a command; None: it is not installed."""
    try:
        return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None


def launches(name, cctest, hosts, slurm):
    """Whether a launcher works here. If it starts processes, but cctest does not recognise it, the campaign ends."""
    line = launcher(name, hosts, slurm)
    true = line and answer([*line, "2", "true"])
    if not true or true.returncode != 0:
        return False
    way = "tcp" if name == "srun" else "pmix?"
    info = answer([*line, "2", cctest, "info"])
    if re.search("built without PMIx|libpmix.* cannot be loaded", info.stdout + info.stderr):
        return False
    if not re.search(f"^ranks +{way}: ", info.stdout, re.M):
        sys.exit(f"{name} starts processes here, but cctest does not recognise it:\n{info.stdout}{info.stderr}")
    return True


def pause(seconds):
    time.sleep(max(0, seconds))


def children(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def listening():
    """(address, port) of all TCP sockets that listen here and that only cctest has (launchers' are inherited)."""
    sockets = subprocess.run(["ss", "-Hltnp"], check=True, capture_output=True, text=True).stdout
    places = {tuple(line.split()[3].rsplit(":", 1)) for line in sockets.splitlines()
              if set(re.findall(r'\("(.*?)"', line)) == {"cctest"}}
    return [(re.sub(r"[][]|%.*", "", address).replace("*", "0.0.0.0"), int(port)) for address, port in places]


def garbage(seconds):
    """Sends garbage to every port of a rank; returns the number of connections."""
    held, hits, until = [], 0, time.monotonic() + seconds
    while time.monotonic() < until:
        for place in listening():
            for junk in strangers.KINDS.values():
                try:
                    held.append(socket.create_connection(place, 0.2))
                    strangers.send(held[-1], junk())
                    hits += 1
                except OSError:
                    pass
        del held[:-100]
        time.sleep(0.02)
    return hits


class Process:
    """One process of the job; rank None: it has all ranks."""

    def __init__(self, rank, host, folder, command, environment):
        self.rank, self.host = rank, host
        self.files = [folder / f"{'all' if rank is None else rank}.{way}" for way in ("out", "err")]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.popen = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                          cwd=folder, start_new_session=True)
        self.pid, self.ended = self.popen.pid, None

    def await_pid(self):
        return self.pid

    def look(self):
        if self.ended is None and self.popen.poll() is not None:
            self.ended = time.monotonic()
        return self.ended is not None

    def status(self):
        return self.popen.returncode

    def text(self, way):
        return self.files[way].read_text(errors="replace")


class Child:
    """A rank that a launcher starts through SCRIPT, which writes its pid and its exit status to files."""

    def __init__(self, rank, folder, launcher):
        self.rank, self.host, self.ended, self.launcher = rank, 1, None, launcher
        self.files = [folder / f"{rank}.{what}" for what in ("pid", "status")]

    def number(self, what):
        try:
            return int(self.files[what].read_text())
        except (OSError, ValueError):
            return None

    @property
    def pid(self):
        return self.number(0)

    def await_pid(self):
        for _ in range(400):
            if self.pid:
                break
            time.sleep(0.005)
        return self.pid

    def look(self):
        # If it lives longer than its launcher, leftovers() of judge.py finds it.
        if self.ended is None and (self.status() is not None or self.launcher.look()):
            self.ended = time.monotonic()
        return self.ended is not None

    def status(self):
        """As of Popen: -N after signal N."""
        status = self.number(1)
        return status if status is None or status <= 128 or status == 130 else 128 - status

    def text(self, _):
        return "" # it is in the launcher's output


class Job:
    def __init__(self, case, cctest, hosts, slurm, folder):
        self.case, self.hosts, self.slurm, self.folder = case, hosts, slurm, folder
        self.processes, self.stopped, self.resumed, self.helpers, self.full = [], set(), set(), [], []
        self.hits = 0 # of garbage
        secret = f"the shared secret of run {case.number:08}" # over 32 characters: it needs no slow hash
        self.environment = dict(os.environ, CCTEST_SECRET=secret, TMPDIR=str(folder))
        if case.fault == "full-shm":
            self.fill_shm()
        if case.fault == "throttle":
            hosts("host_rate", case.victim, "4mbit")
        self.begun = self.struck = time.monotonic()
        self.json = folder / "job.json"
        case.words += ["--json", str(self.json)]
        start = "launched" if case.launched() else case.bootstrap
        getattr(self, "start_" + start)(cctest)
        self.started = time.monotonic()

    # Starting ranks.

    def add(self, rank, host, command):
        limited = self.case.fault == "descriptors" and rank in (None, self.case.target)
        prefix = ["prlimit", f"--nofile={self.case.descriptors}"] if limited else []
        command = ["env", "--default-signal=INT,QUIT,HUP", *prefix, *command]
        if self.hosts and self.case.bootstrap == "hosts":
            command = self.hosts.on(host, *command)
        self.processes.append(Process(rank, host, self.folder, command, self.environment))

    def start_local(self, cctest):
        self.add(None, 1, [cctest, *self.case.words, "--np", str(self.case.ranks)])

    def start_threads(self, cctest):
        self.add(None, 1, [cctest, *self.case.words, "--np", str(self.case.ranks), "--ranks-as", "threads"])

    def add_each(self, command):
        """Starts ranks one by one in a random order; command(rank) is the command of one."""
        order = list(range(self.case.ranks))
        random.Random(self.case.number).shuffle(order)
        for rank in order:
            self.add(rank, self.case.host[rank], command(rank))

    def port(self):
        return 21000 + self.case.number % 9000

    def start_tcp(self, cctest, meet="127.0.0.1"):
        self.add_each(lambda rank: [cctest, *self.case.words, "--rendezvous", f"{meet}:{self.port()}",
                                    "--world", str(self.case.ranks), "--rank", str(rank)])

    def start_hosts(self, cctest):
        self.start_tcp(cctest, self.hosts.address(1))

    def start_torchrun(self, cctest):
        variables = ["MASTER_ADDR=127.0.0.1", f"MASTER_PORT={self.port()}", f"WORLD_SIZE={self.case.ranks}"]
        self.add_each(lambda rank: ["env", *variables, f"RANK={rank}", cctest, *self.case.words])

    def start_launched(self, cctest):
        line = launcher(self.case.bootstrap, self.hosts, self.slurm)
        self.add(None, 1, [*line, str(self.case.ranks), str(SCRIPT), str(self.folder), cctest, *self.case.words])
        whole = self.processes[0]
        self.processes += [Child(rank, self.folder, whole) for rank in range(self.case.ranks)]
        # stop-long resumes a rank after the deadline of the others. If it had not joined yet, its own deadline would
        # begin then.
        if self.case.early or self.case.bootstrap == "srun" and self.case.fault != "stop-long":
            return

        # While ranks meet through a launcher, no rank can tell which one is missing, and the launcher may kill them.
        for _ in range(2000):
            if whole.look() or "busbw" in whole.text(0):
                break
            time.sleep(0.01)
        self.begun = time.monotonic()

    # Faults. Each returns when it is injected; later parts of it run in a thread.

    def rank_pid(self, rank):
        """None: the rank has no process, yet or any more."""
        for process in self.processes:
            if process.rank == rank:
                return process.await_pid()
        if self.case.bootstrap == "threads":
            return self.processes[0].pid
        for _ in range(200):
            pids = children(self.processes[0].pid)
            if len(pids) == self.case.ranks or self.processes[0].look():
                break
            time.sleep(0.005)
        return pids[rank] if len(pids) == self.case.ranks else None

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
            if number == signal.SIGSTOP:
                self.stopped.add(pid)
            self.stopped -= {pid} if number == signal.SIGCONT else set()
            return True
        except (OSError, TypeError):
            return False

    def later(self, seconds, action, *arguments):
        def act():
            pause(seconds)
            action(*arguments)
        self.helpers.append(threading.Thread(target=act))
        self.helpers[-1].start()

    def places(self):
        """For each host of the job, the beginning of a command that runs there."""
        if self.case.bootstrap != "hosts":
            return [[]]
        return [self.hosts.on(host) for host in sorted(set(self.case.host))]

    def fill_shm(self):
        for place in self.places():
            fill = "mount -t tmpfs -o size=64k none /dev/shm && head -c 64k /dev/zero >/dev/shm/filler"
            subprocess.run([*place, "sh", "-c", fill], check=True)
            self.full.append(place)

    def throw_garbage(self, place):
        thrower = subprocess.run([*place, sys.executable, __file__, "2"], check=True, capture_output=True, text=True)
        self.hits += int(thrower.stdout)

    def strike(self):
        """Injects the fault; false: too late, or there is nothing to inject it into."""
        pause(self.case.when - (time.monotonic() - self.begun))
        lasting = self.case.fault in ("none", "full-shm", "descriptors", "stuck", "throttle")
        struck = lasting or not any(p.look() for p in self.processes) and self.hit()
        self.struck = time.monotonic() # after any wait for the launcher to start the target
        return struck

    def hit(self):
        case, fault = self.case, self.case.fault
        supervisor = self.processes[0].pid
        if fault == "garbage":
            for place in self.places():
                self.later(0, self.throw_garbage, place)
            return True
        if fault == "kill-supervisor":
            return self.signal(supervisor, signal.SIGKILL)
        if fault in ("kill", "kill-root"):
            return self.signal(self.rank_pid(case.target), signal.SIGKILL)
        if fault == "interrupt":
            pid = supervisor if case.strikes_all() else self.rank_pid(case.target)
            return self.signal(pid, getattr(signal, "SIG" + case.signal))
        if fault in ("stop", "stop-root", "stop-long", "pause"):
            pid = self.rank_pid(case.target)
            if fault == "stop-long":
                self.later(case.timeout + 1, self.signal, pid, signal.SIGCONT)
            if fault == "pause":
                self.later(case.timeout / 2, self.signal, pid, signal.SIGCONT)
            return self.signal(pid, signal.SIGSTOP)
        if fault == "cut-link":
            self.hosts("link_cut", case.victim, case.other)
            return True
        if fault == "cut-way":
            self.hosts("link_route", "add", case.victim, case.other)
            return True
        self.hosts("host_unplug" if fault == "unplug" else "host_cut", case.victim)
        if fault == "blip":
            self.later(case.timeout / 4, self.hosts, "host_heal", case.victim)
        return True

    # The end.

    def await_end(self, until):
        """Waits until all processes that are not stopped have ended."""
        while time.monotonic() < until:
            left = [p for p in self.processes if not p.look() and p.pid not in self.stopped]
            if not left:
                return
            time.sleep(0.005)

    def resume(self):
        """Continues stopped ranks. They have one more deadline to notice that the job has ended."""
        self.resumed = set(self.stopped)
        for pid in self.resumed:
            self.signal(pid, signal.SIGCONT)
        launcher = 8 if self.case.launched() else 0 # until it has ended, too
        self.await_end(time.monotonic() + self.case.timeout + 2 + launcher)

    def close(self):
        """Kills the remaining processes; returns their names."""
        for helper in self.helpers:
            helper.join()
        left = [p for p in self.processes if not p.look()]
        for process in left:
            if process.rank is None or isinstance(process, Process):
                os.killpg(process.pid, signal.SIGKILL)
                process.popen.wait()
            elif process.pid:
                self.signal(process.pid, signal.SIGKILL)
        if self.hosts and self.case.bootstrap == "hosts":
            self.hosts.repair(self.case.victim, self.case.other)
        for place in self.full:
            subprocess.run([*place, "umount", "/dev/shm"], check=True)
        return [f"process of rank {p.rank}" for p in left]


if __name__ == "__main__":
    print(garbage(float(sys.argv[1])))

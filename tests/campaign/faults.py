"""faults.py - what hosts, links or switches of accept.py's fleet may suffer from: made, undone, and what a run is to say of it.

Hosts are numbers from 1, as in tests/system/hosts.sh. Every host sends and receives at RATE, which a machine of two cores
carries for all of them, so that the network is the bottleneck and not the cores. `ranges` of a class is what its faults are
drawn from: from what is plain to see down to what cctest-accept(1) says that a quick run sees.
"""
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import findings
from findings import Expected, both_ways

RATE = 200 # Mbit/s
SLOW = (40, 160) # of what is throttled; less than 15% below the others is no fault of one host in eight
HOSTS = 8


def run(*words, check=True):
    return subprocess.run(list(map(str, words)), check=check, capture_output=True, text=True).stdout


def address(host):
    return f"10.77.0.{host}"


class Fault:
    """Of a host. A kind says how it is made before the agents start, how it strikes while they run, and what names it."""
    kind = ""
    needs = None # a program that makes it, or "cgroup", "cores"
    needs_stage = None # of `cctest accept`, which finds it
    fleet = HOSTS # hosts in the run
    ends = 1 # hosts that it needs
    root = None # True: only the host of rank 0 has it; False: that host cannot
    alone = False # no other fault beside it can be told
    of_fleet = False # a finding of the fleet is right
    kills_root = False # so the JSON stays as the last stage left it
    ranges = {} # attributes that are drawn: name: (least, most), whole numbers or not
    cause = None # a pattern, as of Expected
    by_note = False

    def __init__(self, random, order, free):
        """`order`: the host of each rank; `free`: those that no other fault has."""
        allowed = [host for host in free if self.root is None or (host == order[0]) == self.root]
        self.victims = random.sample(allowed, self.ends)
        self.host = self.victims[0]
        self.late = False # it struck a run that was over
        self.draw(random)

    def draw(self, random):
        for name, (least, most) in self.ranges.items():
            setattr(self, name, (random.randint if isinstance(least, int) else random.uniform)(least, most))

    def title(self):
        drawn = ((name, getattr(self, name)) for name in self.ranges)
        said = (f"{name} {value if isinstance(value, int) else round(value, 1)}" for name, value in drawn)
        return " ".join([self.kind, f"h{'-h'.join(map(str, self.victims))}", *said])

    def prefix(self, host):
        """Of the agent's command on a host."""
        return []

    def make(self, fleet):
        pass

    def strike(self, job):
        """Called every few ms while agents run."""

    def finish(self, job):
        """The agents have ended."""

    def undo(self, fleet):
        pass

    def ways(self):
        """The directions that are to be named; None: it has none."""
        return None

    def expected(self):
        return [Expected(self.victims, self.ways(), self.cause, self.by_note)]

    def guilty(self):
        """Hosts of which a finding may say that they are suspect or bad."""
        return set(self.victims)

    def score(self, evidence):
        return findings.all_of([expected.score(evidence) for expected in self.expected()])


class Healthy(Fault):
    """A fleet without a fault."""
    kind = "healthy"
    ends = 0

    def __init__(self, random, order, free): # no host is drawn
        self.victims, self.late = random.sample(free, self.ends), False
        self.draw(random)

    def title(self):
        return self.kind

    def guilty(self):
        return set()

    def expected(self):
        return []


class Unrated(Healthy):
    """A network as fast as the cores."""
    kind = "unrated"

    def make(self, fleet):
        for host in fleet.numbers:
            fleet.hosts("host_unrate", host)

    def undo(self, fleet):
        for host in fleet.numbers:
            fleet.rate(host)


class Busy(Healthy):
    """Three hosts share a core of theirs with another process."""
    kind = "busy"
    needs = "cores"
    ends = 3
    ranges = {"nice": (0, 10)}

    def title(self):
        return f"{super().title()} h{'-h'.join(map(str, self.victims))} nice {self.nice}"

    def make(self, fleet):
        self.core = fleet.other_core
        self.busy = subprocess.Popen(["taskset", "-c", str(self.core), "nice", "-n", str(self.nice), "sh", "-c",
                                      "while :; do :; done"])

    def prefix(self, host):
        return ["taskset", "-c", str(self.core)] if host in self.victims else []

    def undo(self, fleet):
        self.busy.kill()
        self.busy.wait()


class Throttled(Fault):
    """Slow from the start: in both directions, or in one."""
    kind = "throttled"
    ranges = {"rate": SLOW}
    slow = {"send", "receive"}

    def limit(self, fleet):
        fleet.rate(self.host, *(self.rate if way in self.slow else RATE for way in ("send", "receive")))

    def make(self, fleet):
        self.limit(fleet)

    def undo(self, fleet):
        fleet.rate(self.host)

    def ways(self):
        return self.slow


class ThrottledSending(Throttled):
    kind = "throttled-send"
    slow = {"send"}


class ThrottledReceiving(Throttled):
    kind = "throttled-recv"
    slow = {"receive"}


class Fading(Throttled):
    """Becomes slow when the pairs have been measured."""
    kind = "fading"
    needs_stage = "halves"
    ranges = {"rate": (40, 90), "after": (0.0, 2.0)} # `all` sees what takes twice as long as it should
    since = None
    done = False

    def make(self, fleet):
        pass

    def strike(self, job):
        if self.since is None and "pairs" in job.stages():
            self.since = time.monotonic()
        if not self.done and self.since is not None and time.monotonic() > self.since + self.after:
            self.done = True
            self.late = job.root_ended()
            self.limit(job.fleet)

    def finish(self, job):
        self.late = self.late or not self.done


class SlowHosts(Fault):
    """Three hosts, each with a rate of its own."""
    kind = "three-slow"
    ends = 3
    alone = True

    def draw(self, random):
        self.rates = {host: random.randint(*SLOW) for host in self.victims}

    def title(self):
        return f"{self.kind} {' '.join(f'h{host} rate {rate}' for host, rate in self.rates.items())}"

    def make(self, fleet):
        for host, rate in self.rates.items():
            fleet.rate(host, rate, rate)

    def undo(self, fleet):
        for host in self.victims:
            fleet.rate(host)

    def expected(self):
        return [Expected([host], both_ways([host])) for host in self.victims]


class FourSlowHosts(SlowHosts):
    """Half of the fleet."""
    kind = "four-slow"
    ends = 4


class ThrottledLink(Fault):
    kind = "link"
    ends = 2
    ranges = {"rate": SLOW}

    def make(self, fleet):
        fleet.hosts("link_rate", *self.victims[:2], f"{self.rate}mbit")

    def undo(self, fleet):
        for host in self.victims:
            fleet.rate(host)

    def ways(self):
        return both_ways(self.victims[:2])


class LinkAndHost(ThrottledLink):
    """A slow link, and a slow host that is none of its ends."""
    kind = "link-and-host"
    ends = 3
    alone = True
    ranges = {"rate": SLOW, "host_rate": SLOW}

    def make(self, fleet):
        super().make(fleet)
        fleet.rate(self.victims[2], self.host_rate, self.host_rate)

    def expected(self):
        return [Expected(self.victims[:2], self.ways()), Expected(self.victims[2:], both_ways(self.victims[2:]))]


class Filtered(Fault):
    """A rule of nftables where the cable of a host ends, in each direction."""
    needs = "nft"

    def rule(self):
        raise NotImplementedError

    def make(self, fleet):
        chains = (f"chain {hook} {{ type filter hook {hook} device lan0-{self.host} priority 0; {self.rule()} }};"
                  for hook in ("ingress", "egress"))
        run("nft", f"table netdev faulty{self.host} {{ {' '.join(chains)} }}")

    def undo(self, fleet):
        run("nft", f"delete table netdev faulty{self.host}")


class Lossy(Filtered):
    kind = "lossy"
    cause = "loses packets"
    ranges = {"percent": (1, 10)} # of what are up to 64 KiB here

    def rule(self):
        return f"numgen random mod 100 < {self.percent} drop;"

    def ways(self):
        return both_ways(self.victims)


class BlackHole(Filtered):
    """Large packets vanish."""
    kind = "mtu"
    cause = r"\bMTU\b"
    root = False
    ranges = {"bytes": (1300, 1480)} # control connections of cctest send packets of 1,252

    def make(self, fleet):
        self.segments(fleet, 1)
        super().make(fleet)

    def undo(self, fleet):
        super().undo(fleet)
        self.segments(fleet, 65535)

    def segments(self, fleet, most):
        """Between these hosts a packet may else be many packets of TCP, which a switch would get one by one."""
        for host in fleet.numbers if self.root else (self.host,):
            run("ip", "link", "set", f"lan0-{host}", "gso_max_segs", most)
            run(*fleet.hosts.on(host, "ip", "link", "set", "eth0", "gso_max_segs", most))

    def rule(self):
        return f"ip length > {self.bytes} drop;"


class RootBlackHole(BlackHole):
    kind = "mtu-root"
    root = True
    alone = True


class Doubled(Filtered):
    """A part of the packets that a host sends arrives twice."""
    kind = "doubled"
    cause = "twice|[Dd]uplicate"
    by_note = True
    ranges = {"percent": (5, 30)}

    def make(self, fleet):
        rules = " ".join(f"ip daddr {address(host)} numgen random mod 100 < {self.percent} dup to lan0-{host};"
                         for host in fleet.numbers if host != self.host)
        hook = f"type filter hook ingress device lan0-{self.host} priority 0;"
        run("nft", f"table netdev faulty{self.host} {{ chain ingress {{ {hook} {rules} }}; }}")


class FilteredLink(Filtered):
    """A rule for packets between two hosts: in both directions, or from the first to the second alone."""
    ends = 2
    both = True

    def make(self, fleet):
        ends = tuple(map(address, self.victims))
        pairs = [ends, ends[::-1]] if self.both else [ends]
        rules = " ".join(f"ip saddr {source} ip daddr {target} {self.rule()}" for source, target in pairs)
        hook = f"type filter hook ingress devices = {{ {', '.join(f'lan0-{host}' for host in self.victims)} }} priority 0;"
        run("nft", f"table netdev faulty{self.host} {{ chain ingress {{ {hook} {rules} }}; }}")

    def ways(self):
        return both_ways(self.victims) if self.both else {tuple(self.victims)}


class LossyLink(FilteredLink):
    kind = "lossy-link"
    cause = "loses packets"
    ranges = {"percent": (2, 10)}

    def rule(self):
        return f"numgen random mod 100 < {self.percent} drop;"


class LossyWay(LossyLink):
    """From the first host to the second."""
    kind = "lossy-way"
    both = False
    ranges = {"percent": (4, 15)}


class Flips(FilteredLink):
    """Packets with data that is altered; offloads never compute a checksum here, so it stays right. Only long ones, which carry
    data and no control: a quick run sends some 70 of them each way."""
    kind = "flips"
    cause = "wrong data"
    ranges = {"percent": (10, 30)}

    def rule(self):
        return f"ip length > 8000 numgen random mod 100 < {self.percent} @th,2560,8 set 0x55;"


class FlipsWay(Flips):
    kind = "flips-way"
    both = False


class Hog(Fault):
    """Two busy processes share a part of a core with the host's agents: other hosts keep their cores."""
    kind = "hog"
    needs = "cgroup"
    ranges = {"percent": (15, 35)}
    folder = None

    @staticmethod
    def group(name, percent):
        """Makes a control group for processes with so much of a core; None: there is none here."""
        quota = 1000 * percent
        for parent, file, text in (("cpu", "cpu.cfs_quota_us", f"{quota}"), (".", "cpu.max", f"{quota} 100000")):
            try: # another campaign may run, in another namespace of processes
                folder = pathlib.Path(tempfile.mkdtemp(prefix=f"cctest-campaign-{name}-", dir=f"/sys/fs/cgroup/{parent}"))
            except OSError:
                continue
            if (folder / file).exists():
                (folder / file).write_text(text)
                return folder
            folder.rmdir()
        return None

    def make(self, fleet):
        self.folder = self.group(self.host, self.percent)
        self.busy = [subprocess.Popen([*self.prefix(self.host), "sh", "-c", "while :; do :; done"]) for _ in range(2)]

    def prefix(self, host):
        joins = ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.folder / "cgroup.procs")]
        return joins if host == self.host else []

    def undo(self, fleet):
        for busy in self.busy:
            busy.kill()
            busy.wait()
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError: # the kernel takes a moment to see that its processes are gone
                time.sleep(0.02)


class Preloaded(Fault):
    """The processes of a host have a function of C's library replaced."""
    needs = "gcc"
    program = ""

    def number(self):
        """That the program asks for."""
        raise NotImplementedError

    def make(self, fleet):
        self.folder = tempfile.TemporaryDirectory()
        subprocess.run([self.needs, "-shared", "-fPIC", "-x", "c", "-", "-o", f"{self.folder.name}/other.so"], check=True,
                       input=self.program.replace("NUMBER", str(self.number())), text=True)

    def prefix(self, host):
        return ["env", f"LD_PRELOAD={self.folder.name}/other.so"] if host == self.host else []

    def undo(self, fleet):
        self.folder.cleanup()


class Delayed(Preloaded):
    """A host is late with each message."""
    kind = "delayed"
    ranges = {"ms": (1.0, 10.0)}
    program = """#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <sys/socket.h>
        #include <unistd.h>
        ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
        {
            usleep(NUMBER);
            return ((ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg"))(fd, message, flags);
        }
        ssize_t send(int fd, const void *data, size_t size, int flags)
        {
            usleep(NUMBER);
            return ((ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send"))(fd, data, size, flags);
        }"""

    def number(self):
        return int(1000 * self.ms)


class WrongClock(Preloaded):
    """The clock of a host is hours off."""
    kind = "clock"
    cause = r"\b[Cc]locks?\b"
    by_note = True
    ranges = {"hours": (0.5, 12.0)}
    program = """#define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *now)
        {
            int status = (int)syscall(SYS_clock_gettime, clock, now);
            if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
                now->tv_sec += NUMBER;
            return status;
        }
        int timespec_get(struct timespec *now, int base)
        {
            clock_gettime(CLOCK_REALTIME, now);
            return base;
        }
        int gettimeofday(struct timeval *restrict now, void *restrict zone)
        {
            struct timespec exact;
            clock_gettime(CLOCK_REALTIME, &exact);
            *now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
            return 0;
        }
        time_t time(time_t *now)
        {
            struct timespec exact;
            clock_gettime(CLOCK_REALTIME, &exact);
            if (now)
                *now = exact.tv_sec;
            return exact.tv_sec;
        }"""

    def draw(self, random):
        super().draw(random)
        self.hours *= random.choice((-1, 1))

    def number(self):
        return int(3600 * self.hours)


class Struck(Fault):
    """Once, at a random moment."""
    root = False
    ranges = {"moment": (0.2, 12.0)} # seconds behind the start
    done = False

    def strike(self, job):
        if self.done or time.monotonic() - job.begun < self.moment:
            return
        self.done = True
        self.late = job.root_ended()
        self.hit(job)

    def finish(self, job):
        self.late = self.late or not self.done

    def hit(self, job):
        raise NotImplementedError


class Killed(Struck):
    kind = "killed"
    cause = "lost.*its process ended"

    def hit(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGKILL)


class Stopped(Struck):
    kind = "stopped"
    cause = "lost.*silent for"

    def hit(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGSTOP)
            job.stopped.add(pid)


class Cut(Struck):
    kind = "cut"
    cause = "lost.*silent for"

    def hit(self, job):
        job.fleet.hosts("host_cut", self.host)

    def undo(self, fleet):
        fleet.hosts("host_heal", self.host)


class CutOfFour(Cut):
    """Three others are few to be compared with each other."""
    kind = "cut-of-four"
    fleet = 4
    alone = True


class RootCut(Cut):
    """The host of rank 0: nobody can tell of the others."""
    kind = "root-cut"
    root = True
    alone = True
    cause = "lost.*fell silent"

    def score(self, evidence):
        score = super().score(evidence)
        unknown = all(health == "unknown" for host, health in evidence.healths.items() if host != self.host)
        return {**score, "host": score["host"] and unknown}


class RootKilled(Killed):
    """Rank 0: each other agent says so, and the JSON, which nobody writes any more, calls no host good or bad."""
    kind = "root-killed"
    root = True
    alone = True
    kills_root = True

    def score(self, evidence):
        told = all("rank 0 is lost" in text for host, text in evidence.texts.items() if host != self.host)
        unknown = all(health == "unknown" for health in evidence.healths.values())
        return {"host": told and unknown, "direction": None, "cause": None}


class Periodic(Fault):
    """Comes for `down` seconds, every `period` seconds."""
    ranges = {"down": (0.2, 1.0), "period": (3.0, 6.0)}
    active = False

    def draw(self, random):
        super().draw(random)
        self.offset = random.uniform(0, self.period)

    def strike(self, job):
        active = (time.monotonic() - job.begun + self.offset) % self.period < self.down
        if active != self.active:
            self.active = active
            (self.begin if active else self.end)(job)

    def begin(self, job):
        raise NotImplementedError

    def end(self, job):
        raise NotImplementedError

    def finish(self, job):
        if self.active:
            self.active = False
            self.end(job)


class Carrier(Periodic):
    """The link of a host loses its carrier."""
    kind = "carrier"
    cause = "carrier"
    calls = ("host_unplug", "host_plug") # of tests/system/hosts.sh

    def begin(self, job):
        job.fleet.hosts(self.calls[0], self.host)

    def end(self, job):
        job.fleet.hosts(self.calls[1], self.host)


class Gaps(Carrier):
    """Nothing arrives at a host, and nothing leaves it; its link stays up."""
    kind = "gaps"
    cause = "fell silent for (rank 0|all other hosts)"
    calls = ("host_cut", "host_heal")


class Pauses(Periodic):
    """The processes of a host do not run."""
    kind = "pauses"
    cause = "did not run"
    root = False
    ranges = {"down": (0.3, 3.0), "period": (2.0, 8.0)}

    def draw(self, random):
        super().draw(random)
        self.down = min(self.down, 0.4 * self.period)

    def begin(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGSTOP)

    def end(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGCONT)


class Uplink(Fault):
    """A half of the fleet stands behind a second switch, with a slow link between the two."""
    kind = "uplink"
    needs_stage = "pairs"
    ends = 4
    alone = True
    of_fleet = True
    ranges = {"rate": (100, 300)}

    def make(self, fleet):
        fleet.hosts("hosts_apart", f"{self.rate}mbit", *self.victims)

    def undo(self, fleet):
        fleet.hosts("hosts_together", *self.victims)

    def guilty(self):
        return set()

    def score(self, evidence):
        """A finding names both halves by their hosts."""
        halves = [set(self.victims), set(evidence.order) - set(self.victims)]
        lists = [[findings.hosts_of(listed) for listed in re.findall(r"h(?:\d+|\[[\d,-]+\])(?:,h\d+)*", finding.text)]
                 for finding in evidence.findings if finding.blames and finding.of_fleet]
        return {"host": any(all(half in named for half in halves) for named in lists), "direction": None, "cause": None}


class SmallMtu(Fault):
    """The interface of a host has the usual MTU, and those of the others a large one."""
    kind = "mtu-mix"
    needs_stage = "inventory"
    cause = r"\bMTU\b"
    by_note = True
    ranges = {"large": (4000, 9000)}

    @staticmethod
    def size(fleet, host, size):
        run("ip", "link", "set", f"lan0-{host}", "mtu", size)
        run(*fleet.hosts.on(host, "ip", "link", "set", "eth0", "mtu", size))

    def make(self, fleet):
        for host in fleet.numbers:
            if host != self.host:
                self.size(fleet, host, self.large)

    def undo(self, fleet):
        for host in fleet.numbers:
            self.size(fleet, host, 1500)


class Different(Fault):
    """An inventory unlike the others'."""
    kind = "inventory"
    needs_stage = "inventory"
    cause = "locked memory"
    ranges = {"kilobytes": (64, 4096)} # of memory that may be locked

    def prefix(self, host):
        limit = 1024 * self.kilobytes
        return ["prlimit", f"--memlock={limit}:{limit}"] if host == self.host else []


class FullShm(Fault):
    kind = "full-shm"
    needs_stage = "inventory"
    cause = "/dev/shm"
    ranges = {"kilobytes": (64, 1024)}

    def make(self, fleet):
        size = f"{self.kilobytes}k"
        fill = f"mount -t tmpfs -o size={size} none /dev/shm && head -c {size} /dev/zero >/dev/shm/filler"
        run(*fleet.hosts.on(self.host, "sh", "-c", fill))

    def undo(self, fleet):
        run(*fleet.hosts.on(self.host, "umount", "/dev/shm"))


FAULTY = {each.kind: each for each in (
    Throttled, ThrottledSending, ThrottledReceiving, Fading, SlowHosts, FourSlowHosts, ThrottledLink, LinkAndHost, Lossy,
    BlackHole, RootBlackHole, Doubled, LossyLink, LossyWay, Flips, FlipsWay, Hog, Delayed, WrongClock, Killed, Stopped, Cut,
    CutOfFour, RootCut, RootKilled, Carrier, Gaps, Pauses, Uplink, SmallMtu, Different, FullShm)}
HEALTHY = {each.kind: each for each in (Healthy, Busy, Unrated)}
KINDS = {**FAULTY, **HEALTHY}


def missing(kind, stages, other_core):
    """Why there can be none of this kind here; None: there can."""
    kind = KINDS[kind]
    if kind.needs_stage and kind.needs_stage not in stages:
        return f"`cctest accept` has no stage {kind.needs_stage}"
    if kind.needs == "cores":
        return "it needs a second core (no --core)" if other_core is None else None
    if kind.needs == "cgroup":
        folder = Hog.group("try", 10)
        if folder:
            folder.rmdir()
        return None if folder else "no cgroup here limits cores"
    return f"{kind.needs} is not installed" if kind.needs and not shutil.which(kind.needs) else None

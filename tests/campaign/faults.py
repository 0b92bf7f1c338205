"""faults.py - what a host or a link of accept.py's fleet may suffer from: made, undone, and known again in findings.

Hosts are numbers from 1, as in tests/system/hosts.sh. Every host sends and receives at RATE, which a machine of two cores
carries for all of them, so that the network is the bottleneck and not the cores.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

RATE = 200 # Mbit/s
SLOW = (40, 100) # of what is throttled
RIGHT, PARTLY, MISSED = "right", "partly", "missed"


def run(*words, check=True):
    return subprocess.run(list(map(str, words)), check=check, capture_output=True, text=True).stdout


def hosts_of(listed):
    """The numbers of a list of hosts, such as h[1-4,6]."""
    hosts = set()
    for each in re.findall(r"\d+(?:-\d+)?", listed):
        first, _, last = each.partition("-")
        hosts |= set(range(int(first), int(last or first) + 1))
    return hosts


class Finding:
    """One of a document's findings about faults: its hosts by number (of a link, its sender first), and the sentence."""

    def __init__(self, document, finding):
        rank = [host["agents"][0] for host in document["hosts"]]
        self.of_fleet = finding["host"] is None
        named = [finding[end] for end in ("host", "peer") if finding[end] is not None]
        self.hosts_in_order = [rank[host] + 1 for host in named]
        self.hosts = set(self.hosts_in_order)
        self.text = finding["message"]

    def says(self):
        """The sentence without its subject."""
        return self.text.partition(": ")[2]


class Fault:
    """Of a host. A kind says how it is made before the agents start, how it strikes while they run, and by what it is
    named: the host alone, with the clause that is_named() asks for."""
    kind = ""
    needs = None # a program that makes it
    needs_stage = None # of `cctest accept`, which finds it
    spares_root = False # the host of rank 0 cannot have it
    ends = 1 # hosts
    cause = "" # a pattern that the sentence has which names the place

    def __init__(self, random, hosts):
        free = [host for host in hosts if host > 1 or not self.spares_root]
        self.victims = random.sample(free, self.ends)
        self.host = self.victims[0]
        self.moment = random.uniform(0.2, 8) # seconds behind the start, of those that strike
        self.late = False # it struck a run that was over
        self.draw(random)

    def draw(self, random):
        """Draws what else a kind needs."""

    def title(self):
        return f"{self.kind} h{'-h'.join(map(str, self.victims))}"

    def prefix(self):
        """Of the agent's command on a victim."""
        return []

    def make(self, fleet):
        pass

    def strike(self, job):
        """Called every few ms while agents run."""

    def finish(self, job):
        """The agents have ended."""

    def undo(self, fleet):
        pass

    def is_named(self, finding):
        return finding.hosts == set(self.victims)

    def judge(self, findings):
        if any(self.is_named(finding) and re.search(self.cause, finding.text) for finding in findings):
            return RIGHT
        return PARTLY if any(finding.hosts & set(self.victims) for finding in findings) else MISSED


class Throttled(Fault):
    kind = "throttled"
    clause = "sends and receives at "

    def draw(self, random):
        self.rate = random.randint(*SLOW)

    def title(self):
        return f"{super().title()} to {self.rate} Mbit/s"

    def make(self, fleet):
        fleet.rate(self.host, self.rate, self.rate)

    def undo(self, fleet):
        fleet.rate(self.host)

    def is_named(self, finding):
        return super().is_named(finding) and finding.says().startswith(self.clause)


class ThrottledSending(Throttled):
    kind = "throttled-send"
    clause = "sends at "

    def make(self, fleet):
        fleet.rate(self.host, self.rate, RATE)


class ThrottledReceiving(Throttled):
    kind = "throttled-recv"
    clause = "receives at "

    def make(self, fleet):
        fleet.rate(self.host, RATE, self.rate)


class ThrottledLink(Fault):
    kind = "link"
    ends = 2

    def draw(self, random):
        self.rate = random.randint(*SLOW)

    def title(self):
        return f"{super().title()} at {self.rate} Mbit/s"

    def make(self, fleet):
        fleet.hosts("link_rate", *self.victims, f"{self.rate}mbit")

    def undo(self, fleet):
        for host in self.victims:
            fleet.rate(host)


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

    def draw(self, random):
        self.percent = random.randint(3, 10)

    def title(self):
        return f"{super().title()} {self.percent}%"

    def rule(self):
        return f"numgen random mod 100 < {self.percent} drop;"


class BlackHole(Filtered):
    kind = "mtu"

    def rule(self):
        return "ip length > 1400 drop;"


class Flips(Filtered):
    """Only in long packets, which carry data and no control. Offloads never compute a checksum here, so it stays right."""
    kind = "flips"
    ends = 2

    def rule(self):
        here, there = (f"10.77.0.{host}" for host in self.victims)
        flip = "ip length > 8000 numgen random mod 10 < 3 @th,2560,8 set 0x55;"
        return f"ip saddr {here} ip daddr {there} {flip} ip saddr {there} ip daddr {here} {flip}"

    def is_named(self, finding):
        return super().is_named(finding) and "wrong data" in finding.text


class Hog(Fault):
    """Two busy processes share a quarter of a core with the host's agents: other hosts keep their cores."""
    kind = "hog"
    needs = "cgroup"
    folder = None

    @staticmethod
    def group(name):
        """Makes a control group for processes with a quarter of a core; None: there is none here."""
        for parent, quota, text in (("cpu", "cpu.cfs_quota_us", "25000"), (".", "cpu.max", "25000 100000")):
            try: # another campaign may run, in another namespace of processes
                folder = pathlib.Path(tempfile.mkdtemp(prefix=f"cctest-campaign-{name}-", dir=f"/sys/fs/cgroup/{parent}"))
            except OSError:
                continue
            if (folder / quota).exists():
                (folder / quota).write_text(text)
                return folder
            folder.rmdir()
        return None

    def make(self, fleet):
        self.folder = self.group(self.host)
        self.busy = [subprocess.Popen([*self.prefix(), "sh", "-c", "while :; do :; done"]) for _ in range(2)]

    def prefix(self):
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self.folder / "cgroup.procs")]

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


class Delayed(Fault):
    """The workers of a host are late with each message."""
    kind = "delayed"
    needs = "gcc"
    program = """#define _GNU_SOURCE
        #include <dlfcn.h>
        #include <sys/socket.h>
        #include <unistd.h>
        ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
        {
            usleep(%d);
            return ((ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg"))(fd, message, flags);
        }
        ssize_t send(int fd, const void *data, size_t size, int flags)
        {
            usleep(%d);
            return ((ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send"))(fd, data, size, flags);
        }"""

    def draw(self, random):
        self.delay = random.randint(3, 10) # ms

    def title(self):
        return f"{super().title()} by {self.delay} ms"

    def make(self, fleet):
        self.folder = tempfile.TemporaryDirectory()
        subprocess.run([self.needs, "-shared", "-fPIC", "-x", "c", "-", "-o", f"{self.folder.name}/late.so"], check=True,
                       input=self.program.replace("%d", str(self.delay * 1000)), text=True)

    def prefix(self):
        return ["env", f"LD_PRELOAD={self.folder.name}/late.so"]

    def undo(self, fleet):
        self.folder.cleanup()


class Struck(Fault):
    """Once, at a random moment."""
    spares_root = True
    done = False

    def title(self):
        return f"{super().title()} after {self.moment:.1f} s"

    def strike(self, job):
        if self.done or time.monotonic() - job.begun < self.moment:
            return
        self.done = True
        self.late = job.root_ended()
        self.hit(job)

    def hit(self, job):
        raise NotImplementedError

    def judge(self, findings):
        self.late = self.late or not self.done
        return super().judge(findings)

    def is_named(self, finding):
        return super().is_named(finding) and finding.says().startswith("lost")


class Killed(Struck):
    kind = "killed"

    def hit(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGKILL)


class Stopped(Struck):
    kind = "stopped"

    def hit(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGSTOP)
            job.stopped.add(pid)


class Cut(Struck):
    kind = "cut"

    def hit(self, job):
        job.fleet.hosts("host_cut", self.host)

    def undo(self, fleet):
        fleet.hosts("host_heal", self.host)


class Periodic(Fault):
    """Comes for `down` seconds, every `period` seconds."""
    downs, periods = (0.3, 0.3), (4, 6)
    active = False

    def draw(self, random):
        self.down, self.period = random.uniform(*self.downs), random.uniform(*self.periods)
        self.offset = random.uniform(0, self.period)

    def title(self):
        return f"{super().title()} for {self.down * 1000:.0f} ms every {self.period:.1f} s"

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
    cause = "stood still"
    calls = ("host_cut", "host_heal")


class Pauses(Periodic):
    """The processes of a host do not run."""
    kind = "pauses"
    cause = "did not run"
    spares_root = True
    downs, periods = (0.4, 3), (2, 8)

    def draw(self, random):
        super().draw(random)
        self.down = min(self.down, 0.4 * self.period)

    def begin(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGSTOP)

    def end(self, job):
        for pid in job.on_host(self.host, "cctest"):
            job.signal(pid, signal.SIGCONT)


class FilteredLink(Filtered):
    """A rule for packets between two hosts: in both directions, or from the first to the second alone."""
    ends = 2
    both = True

    def make(self, fleet):
        ends = [f"10.77.0.{host}" for host in self.victims]
        ways = [ends, ends[::-1]] if self.both else [ends]
        rules = " ".join(f"ip saddr {source} ip daddr {target} {self.rule()}" for source, target in ways)
        hook = f"type filter hook ingress devices = {{ {', '.join(f'lan0-{host}' for host in self.victims)} }} priority 0;"
        run("nft", f"table netdev faulty{self.host} {{ chain ingress {{ {hook} {rules} }}; }}")

    def is_named(self, finding):
        return super().is_named(finding) and (self.both or finding.hosts_in_order == self.victims)


class LossyLink(FilteredLink):
    kind = "lossy-link"
    cause = "loses packets"

    def draw(self, random):
        self.percent = random.choice((2, 4, 8))

    def title(self):
        return f"{super().title()} {self.percent}%"

    def rule(self):
        return f"numgen random mod 100 < {self.percent} drop;"


class LossyWay(LossyLink):
    """From the first host to the second."""
    kind = "lossy-way"
    both = False

    def draw(self, random):
        self.percent = random.choice((10, 15))


class FlipsWay(FilteredLink):
    """Packets with data that is altered, and right checksums, from the first host to the second."""
    kind = "flips-way"
    cause = "wrong data"
    both = False

    def draw(self, random):
        self.percent = random.choice((10, 20)) # of the large packets, of which a quick run sends some 70

    def title(self):
        return f"{super().title()} {self.percent}%"

    def rule(self):
        return f"ip length > 8000 numgen random mod 100 < {self.percent} @th,2560,8 set 0x55;"


class SlowHosts(Throttled):
    """Three hosts."""
    kind = "three-slow"
    ends = 3

    def make(self, fleet):
        for host in self.victims:
            fleet.rate(host, self.rate, self.rate)

    def undo(self, fleet):
        for host in self.victims:
            fleet.rate(host)

    def judge(self, findings):
        named = {host for host in self.victims for finding in findings
                 if finding.hosts == {host} and finding.says().startswith(self.clause)}
        return RIGHT if named == set(self.victims) else PARTLY if named else MISSED


class Fading(Throttled):
    """Becomes slow when the pairs have been measured."""
    kind = "fading"
    needs_stage = "halves"
    done = False

    def make(self, fleet):
        pass

    def strike(self, job):
        if not self.done and "pairs" in job.stages():
            self.done = True
            job.fleet.rate(self.host, self.rate, self.rate)

    def is_named(self, finding):
        return finding.hosts == {self.host} and re.search(r"(sends|receives) at ", finding.text) is not None


class Uplink(Fault):
    """Half of the fleet stands behind a second switch, with a slow link between the two."""
    kind = "uplink"
    needs_stage = "halves"
    ends = 4
    of_fleet = True

    def draw(self, random):
        self.rate = random.randint(150, 250)

    def title(self):
        return f"{super().title()} {self.rate} Mbit/s"

    def make(self, fleet):
        fleet.hosts("hosts_apart", f"{self.rate}mbit", *self.victims)

    def undo(self, fleet):
        fleet.hosts("hosts_together", *self.victims)

    def judge(self, findings):
        """Both halves are named by their hosts."""
        halves = [set(self.victims), set(range(1, 9)) - set(self.victims)]
        for finding in findings:
            lists = [hosts_of(listed) for listed in re.findall(r"h(?:\d+|\[[\d,-]+\])(?:,h\d+)*", finding.text)]
            if all(half in lists for half in halves):
                return RIGHT
        return PARTLY if any(finding.of_fleet for finding in findings) else MISSED


class Different(Fault):
    """An inventory unlike the others'."""
    kind = "inventory"
    needs_stage = "inventory"

    def prefix(self):
        return ["prlimit", "--memlock=65536:65536"]

    def is_named(self, finding):
        return super().is_named(finding) and "locked memory" in finding.text


class FullShm(Fault):
    kind = "full-shm"
    needs_stage = "inventory"

    def make(self, fleet):
        fill = "mount -t tmpfs -o size=64k none /dev/shm && head -c 64k /dev/zero >/dev/shm/filler"
        run(*fleet.hosts.on(self.host, "sh", "-c", fill))

    def undo(self, fleet):
        run(*fleet.hosts.on(self.host, "umount", "/dev/shm"))

    def is_named(self, finding):
        return super().is_named(finding) and "/dev/shm" in finding.text


KINDS = {each.kind: each for each in (Throttled, ThrottledSending, ThrottledReceiving, ThrottledLink, Lossy, BlackHole,
                                      Flips, Hog, Delayed, Killed, Stopped, Cut, Carrier, Gaps, Pauses, LossyLink, LossyWay,
                                      FlipsWay, SlowHosts, Fading, Uplink, Different, FullShm)}


def missing(kind, stages):
    """Why there can be none of this kind here; None: there can."""
    kind = KINDS[kind]
    if kind.needs_stage and kind.needs_stage not in stages:
        return f"`cctest accept` has no stage {kind.needs_stage}"
    if kind.needs == "cgroup":
        folder = Hog.group("try")
        if folder:
            folder.rmdir()
        return None if folder else "no cgroup here limits cores"
    return f"{kind.needs} is not installed" if kind.needs and not shutil.which(kind.needs) else None

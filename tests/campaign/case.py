"""case.py - one run of the campaign, drawn from a seed: bootstrap, command line, fault and its time."""
import dataclasses
import json
import random
import subprocess

# The faults that each bootstrap can have. A new launcher needs a row here and in LAUNCHERS of job.py.
EVERYWHERE = ["none", "full-shm", "descriptors", "garbage", "stuck", "interrupt", "pause"]
ON_PROCESSES = EVERYWHERE + ["kill", "kill-root", "stop", "stop-root", "stop-long"]
LAUNCHED = [fault for fault in ON_PROCESSES if fault != "descriptors"] # it would limit the launcher, too
IN_STEPS = [fault for fault in LAUNCHED if fault not in ("full-shm", "garbage")] # they would hit Slurm's daemons
FAULTS = {
    "local": ON_PROCESSES + ["kill-supervisor"],
    "threads": EVERYWHERE + ["kill-supervisor"],
    "tcp": ON_PROCESSES,
    "torchrun": ON_PROCESSES,
    "mpirun": LAUNCHED,
    "mpiexec": LAUNCHED,
    "srun": IN_STEPS,
    "srun-pmix": IN_STEPS,
    "hosts": ON_PROCESSES + ["cut", "cut-root", "cut-link", "cut-way", "unplug", "blip", "throttle"],
}
HEALTHY = {"none", "full-shm", "garbage", "pause", "blip", "throttle"}
ONE_BY_ONE = ["tcp", "torchrun", "srun", "hosts"] # ranks start one by one and meet at a port
LAUNCHERS = ["mpirun", "mpiexec", "srun", "srun-pmix"]
MANY = range(36, 45) # ranks: beyond 33 some have a parent other than rank 0
SIGNALS = ["TERM", "INT", "HUP", "QUIT"]
SIZES = [8, 1 << 10, 4 << 10, 64 << 10, 1 << 20]


@dataclasses.dataclass
class Case:
    number: int
    bootstrap: str
    fault: str
    ranks: int
    host: list       # of each rank, counted from 1
    words: list      # of the command line
    timeout: float
    when: float      # of the fault, in seconds after the start
    target: int      # rank that has the fault
    victim: int      # host that has the fault
    other: int       # other end of a cut link (both ways, or from the victim to it)
    signal: str      # of an interruption
    descriptors: int
    early: bool      # the fault comes while ranks still meet through their launcher

    def healthy(self):
        return self.fault in HEALTHY

    def many(self):
        return self.ranks in MANY

    def in_step(self):
        return self.bootstrap.startswith("srun")

    def strikes_all(self):
        """Does the signal reach more than one rank?"""
        return self.bootstrap == "threads" or self.bootstrap == "local" and self.number % 3 == 0

    def launched(self):
        return self.bootstrap in LAUNCHERS

    def title(self):
        return (f"run {self.number}: {self.fault} on {self.bootstrap}, {self.ranks} ranks, at {self.when:.2f} s"
                f"{' (early)' * self.early}, rank {self.target}, host h{self.victim}: {' '.join(self.words)}")


def algorithms(cctest):
    """(collective, algorithm, whether it needs a power of two) of all algorithms that need no groups."""
    listed = json.loads(subprocess.run([cctest, "list", "--json", "-"], check=True, capture_output=True).stdout)
    return [(c["name"], a["name"], a["ranks"] != "any") for c in listed["collectives"] for a in c["algorithms"]
            if not a["vendor"] and a["ranks"] in ("any", "powers of 2")]


def spread(ranks, chance):
    """Host of each rank: 2 to 4 hosts of unequal numbers of ranks, at least one each."""
    hosts = min(ranks, chance.choice([2, 3, 4, 4]))
    firsts = sorted(chance.sample(range(1, ranks), hosts - 1))
    return [1 + sum(rank >= first for first in firsts) for rank in range(ranks)]


def work(case, chance):
    """Sizes and iterations: a healthy job ends by itself, others run until their fault."""
    if case.fault == "throttle":
        return ["-b", "1M", "-e", "1M", "-n", "1", "-w", "0", "-c", "1"]
    if case.healthy() or case.fault == "descriptors":
        size = str(chance.choice(SIZES))
        delay = ["--inject", f"delay:rank={chance.randrange(case.ranks)}:us=10000"]
        return ["-b", size, "-e", size, "-n", "150", "-w", "1", "-c", "2"] + delay
    if case.fault == "stuck":
        kinds = [f"delay:rank={case.target}:us=60000000", f"silent:rank={case.target}:iteration={chance.randrange(40)}"]
        return ["-b", "8", "-e", "64K", "-f", "8192", "-n", "40", "--inject", chance.choice(kinds)]
    if not case.many() and chance.random() < 0.4: # many sizes: most time is spent between iterations
        return ["-b", "1K", "-e", "1M", "-i", "4K", "-n", "20", "-w", "1", "-c", "1"]
    size = chance.choice(SIZES)
    return ["-b", str(size), "-e", str(max(size, 1 << 16)), "-n", "300000", "-w", str(chance.choice([0, 5, 1000000])),
            "-c", str(chance.choice([0, 2, 1000000]))]


def possible(bootstraps, wanted):
    return sorted({f for b in bootstraps for f in FAULTS[b] if not wanted or f in wanted})


def turn(seed, number, faults):
    """All faults in turn, shuffled, so that short samples with different seeds have different faults."""
    times, place = divmod(number, len(faults))
    return random.Random(f"{seed} turn {times}").sample(faults, len(faults))[place]


def draw(seed, number, known, wanted_bootstraps, wanted_faults):
    chance = random.Random(f"{seed} {number}")
    fault = turn(seed, number, possible(wanted_bootstraps, wanted_faults))
    bootstrap = chance.choice([b for b in wanted_bootstraps if fault in FAULTS[b]])
    ranks = chance.randint(3 if bootstrap == "hosts" else 2, 6 if fault == "throttle" else 13)
    if bootstrap in ("local", "tcp", "torchrun") and fault != "stuck" and chance.random() < 0.2:
        ranks = chance.choice(MANY)
    host = spread(ranks, chance) if bootstrap == "hosts" else [1] * ranks
    case = Case(number=number, bootstrap=bootstrap, fault=fault, ranks=ranks, host=host, words=[],
                timeout=chance.choice([1.5, 2, 3]), when=0, target=0, victim=1, other=0, signal=chance.choice(SIGNALS),
                descriptors=chance.randint(8, 60), early=False)
    case.early = case.launched() and bootstrap not in ONE_BY_ONE and chance.random() < 0.3
    # Joining and connecting are short, so some faults are drawn from that time alone.
    soon = 0.25 if bootstrap in ONE_BY_ONE or case.early else 0.06
    case.when = chance.uniform(0, soon) if chance.random() < 0.4 else chance.uniform(soon, 2)
    if fault == "throttle": # one transfer takes longer than the deadline
        case.timeout = 1
    if case.many() or case.in_step(): # joining takes longer on a few cores
        case.timeout = 5
    rooted = fault.endswith("-root")
    case.target = 0 if rooted else chance.randrange(1, ranks)
    if fault in ("pause", "stuck", "interrupt", "descriptors"):
        case.target = chance.randrange(ranks)
    case.victim = 1 if rooted else chance.randrange(2, max(host) + 1) if max(host) > 1 else 1
    if fault in ("cut-link", "cut-way"):
        case.host = [1 + rank * 3 // ranks for rank in range(ranks)]
        case.victim, case.other = chance.choice([(2, 3), (2, 1), (3, 1)])
    power = ranks & (ranks - 1) == 0
    cheap = ("barrier",) if case.many() else {a[0] for a in known}
    collective, algorithm, _ = chance.choice([a for a in known if (power or not a[2]) and a[0] in cheap])
    transports = ["auto", "tcp"] if bootstrap == "hosts" or case.in_step() else ["auto", "shm", "tcp"]
    case.words = [collective, "-a", algorithm, "-x", chance.choice(transports), "--timeout", str(case.timeout)]
    case.words += work(case, chance)
    if chance.random() < 0.3:
        case.words += ["--channels", "2"]
    if chance.random() < 0.2:
        case.words += ["--start", "back-to-back"]
    return case

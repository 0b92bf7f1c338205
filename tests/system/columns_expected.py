"""columns_expected.py - what the columns of a run must show: computed from its options, its raw samples and the definitions.

Of what the tool wrote, only the samples are used here. The definitions:

- size, count, time, algbw: the manual, "The table"
- contracts of the collectives: src/collective/collective.h, and the manual on --counts
- factors of busbw: PERFORMANCE.md of NVIDIA's nccl-tests; the forms with counts have those of the forms without
- percentiles: nearest rank; p99 is the smallest sample that at least 99 % of the samples do not exceed, and none of fewer
  than 100 samples
- the interval of the median, trend, modes: src/base/stats/stats.h
"""
import collections
import dataclasses
import fractions
import itertools
import math

ELEMENT = {"uint8": 1, "float16": 2, "float": 4, "int64": 8, "double_int64": 16}  # bytes
DIRECT = {"linear", "mesh", "oneshot", "pairwise", "ring-shift", "uni"}  # algorithms that relay nothing
REDUCES = {"allreduce", "reduce", "reduce_scatter", "reduce_scatterv", "barrier"}
ROOTED = {"broadcast", "reduce", "gather", "scatter", "gatherv", "scatterv"}
COUNTED = {"alltoallv", "allgatherv", "reduce_scatterv", "gatherv", "scatterv"}


@dataclasses.dataclass(frozen=True)
class Case:
    collective: str
    algorithms: str  # comma-separated
    ranks: int
    sizes: tuple = (1001,)  # the second is 4 times the first, and so on
    datatype: str = "float"
    op: str = "sum"
    root: object = 0  # or "all"
    counts: object = None  # as --counts takes it; a list of lists: what its file holds
    in_place: bool = False
    start: str = "barrier"
    iterations: object = 9  # or "auto"
    checked: int = 2
    delay: tuple = ()  # this rank begins so many microseconds late
    too_slow: bool = False  # --min-busbw asks for too much
    transport: str = "shm"  # that carries messages between ranks, if there are several
    memory: str = "host"
    more: tuple = ()

    def roots(self, iterations):
        """Of the timed iterations."""
        return [i % self.ranks if self.root == "all" else self.root for i in range(iterations)]


# What a collective promises.


def without_counts(collective):
    return collective[:-1] if collective in COUNTED else collective


def cut(shares, total):
    """Lengths of blocks: `total` elements divided by shares. Each border is rounded down."""
    borders = [math.floor(total * sum(shares[:i]) / sum(shares)) for i in range(len(shares) + 1)]
    return [after - before for before, after in zip(borders, borders[1:])]


def popularity(ranks, seed=1):
    """The order of ranks that zipf draws: a shuffle by a linear congruential generator (Knuth's MMIX)."""
    order = list(range(ranks))
    for i in reversed(range(1, ranks)):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        other = (seed >> 33) % (i + 1)
        order[i], order[other] = order[other], order[i]
    return order


def shares_of(kind, ranks):
    """By receiver; of spread by distance where there is a block for each pair."""
    name, _, parameter = (kind or "spread").partition(":")
    if ranks == 1 or name == "uniform":
        return [1] * ranks
    if name == "spread":
        return list(range(ranks))
    if name == "hot":
        rest = (1 - fractions.Fraction(parameter)) / (ranks - 1)
        return [fractions.Fraction(parameter)] + [rest] * (ranks - 1)
    shares = [0] * ranks
    for place, rank in enumerate(popularity(ranks)):
        shares[rank] = fractions.Fraction(round(2**20 / (place + 1) ** float(parameter)))
    return shares


def blocks_of(case, count):
    """The lengths of the blocks, in elements: blocks[sender][receiver] of alltoall, else blocks[rank]."""
    pairs = case.collective.startswith("alltoall")
    if isinstance(case.counts, list):
        return case.counts if pairs else case.counts[0]
    if case.collective not in COUNTED:
        return [[count] * case.ranks] * case.ranks if pairs else [count] * case.ranks
    row = cut(shares_of(case.counts, case.ranks), count * case.ranks)
    if not pairs:
        return row
    spread = not case.counts or case.counts == "spread"
    return [[row[(to - sender) % case.ranks if spread else to] for to in range(case.ranks)]
            for sender in range(case.ranks)]


Contract = collections.namedtuple("Contract", "count bytes moved")


def contract(case, asked):
    """count; bytes of the largest buffer of any rank; elements that direct messages move, by root (None: not known)."""
    ranks, element, name = case.ranks, ELEMENT[case.datatype], without_counts(case.collective)
    everyone = range(ranks)
    if name == "barrier":
        return Contract(min(ranks, 32), 0, None)
    if name in ("allreduce", "broadcast", "reduce", "sendrecv"):
        count = math.ceil(asked / element)
        messages = {"linear": 2 * (ranks - 1), "oneshot": ranks * (ranks - 1), "ring-shift": ranks, "uni": 1}
        times = ranks - 1 if name in ("broadcast", "reduce") else messages.get(case.algorithms)
        return Contract(count, count * element, times and [times * count] * ranks)
    blocks = blocks_of(case, math.ceil(asked / (element * ranks)))
    if name == "alltoall":
        lengths = [length for row in blocks for length in row]
        buffers = [sum(row) for row in blocks] + [sum(column) for column in zip(*blocks)]
        moved = [sum(lengths) - sum(blocks[r][r] for r in everyone)] * ranks
    else:
        lengths, buffers = blocks, [sum(blocks)]
        moved = [sum(blocks) - blocks[root] for root in everyone]
        if name not in ("gather", "scatter"):
            moved = [sum(blocks) * (ranks - 1)] * ranks
    return Contract(math.ceil(fractions.Fraction(sum(lengths), len(lengths))), max(buffers) * element, moved)


def bus_factor(collective, n):
    n = fractions.Fraction(n)
    return {"allreduce": 2 * (n - 1) / n, "allgather": (n - 1) / n, "reduce_scatter": (n - 1) / n,
            "alltoall": (n - 1) / n, "gather": (n - 1) / n, "scatter": (n - 1) / n, "broadcast": 1, "reduce": 1,
            "sendrecv": 1, "barrier": 0}[without_counts(collective)]


# What the samples say.


def percentile(ordered, percent):
    return ordered[math.ceil(fractions.Fraction(len(ordered) * percent, 100)) - 1]


def statistics(times):
    """Microseconds, of nanoseconds."""
    if not times:
        return {**dict.fromkeys(("min", "p50", "mean", "p90", "max"), 0), "p99": None}
    ordered = sorted(times)
    return {"min": ordered[0] / 1e3, "p50": percentile(ordered, 50) / 1e3, "mean": sum(times) / len(times) / 1e3,
            "p90": percentile(ordered, 90) / 1e3, "max": ordered[-1] / 1e3,
            "p99": percentile(ordered, 99) / 1e3 if len(ordered) >= 100 else None}


def median_interval(times):
    """Low and high in microseconds, coverage, margin; None: too few samples."""
    ordered, n = sorted(times), len(times)
    coverage, lower = fractions.Fraction(1), 0
    for d in range(1, n // 2 + 1):
        coverage -= fractions.Fraction(2 * math.comb(n, d - 1), 2**n)
        if coverage < fractions.Fraction(95, 100):
            break
        lower, covered = d, coverage
    if lower == 0:
        return None
    middle, low, high = percentile(ordered, 50), ordered[lower - 1], ordered[n - lower]
    margin = max(high - middle, middle - low) / middle if high > low else 0.0
    return {"low_us": low / 1e3, "high_us": high / 1e3, "coverage": float(covered), "margin": margin,
            "level": 0.95, "reached": margin <= 0.02}


def batch_ends(case):
    """Iterations after which -n auto looks at the interval, while there is time."""
    roots = case.ranks if case.root == "all" else 1
    done = math.ceil(6 / roots) * roots
    while True:
        yield done
        done *= 2


def trend(times):
    """times: in their order. Change and z; None: there is no trend."""
    n, blocks = len(times), 18
    if n < blocks:
        return None
    cuts = [n * i // blocks for i in range(blocks + 1)]
    medians = [sorted(times[a:b])[(b - a - 1) // 2] for a, b in zip(cuts, cuts[1:])]
    rises = sum((after > before) - (after < before) for before, after in itertools.combinations(medians, 2))
    z = (abs(rises) - 1) / math.sqrt(blocks * (blocks - 1) * (2 * blocks + 5) / 18)
    before, after = sorted(medians[:6])[3], sorted(medians[-6:])[3]
    if z < 3.29 or before == 0 or abs(after - before) < 0.05 * before:
        return None
    return {"change": after / before - 1, "z": z}


def modes(times):
    """Two of them; None: there is one."""
    ordered, n = sorted(times), len(times)
    logs = [math.log(max(time, 1)) for time in ordered]
    least = math.ceil(n * 0.1)
    sums = [0, *itertools.accumulate(logs)]
    if n < 2 or 2 * least > n:
        return None

    def between(i):
        apart = sums[i] / i - (sums[n] - sums[i]) / (n - i)
        return i * (n - i) * apart * apart

    split = max(range(least, n - least + 1), key=between)
    left, right = ordered[(split - 1) // 2], ordered[split + (n - split - 1) // 2]
    if left == 0 or right < 1.05 * left:
        return None
    r = (right / left)**(1 / 6)
    first, middle, last = (sum(low <= time < high for time in ordered) for low, high in
                           ((left / r, left * r), (left * r * r, right / r / r), (right / r, right * r)))
    emptier = min(first, last)
    share = sum(time < math.sqrt(left * right) for time in ordered) / n
    q = middle / max(middle + emptier, 1)
    entropy = -sum(p * math.log(p) for p in (q, 1 - q) if p > 0)
    chance = math.exp(-(middle + emptier) * (math.log(2) - entropy))
    if middle > emptier / 4 or chance >= 1e-4 or not 0.1 <= share <= 0.9:
        return None
    return [{"median_us": left / 1e3, "share": share}, {"median_us": right / 1e3, "share": 1 - share}]


def median(times):
    """Microseconds; of an even number of samples the upper one of the two."""
    return sorted(times)[len(times) // 2] / 1e3 if times else 0


def late_rank(late, duration):
    """The rank whose median lateness stands out (src/base/stats/stats.h); None: there is none. Microseconds."""
    if len(late) < 2:
        return None
    latest = max(range(len(late)), key=lambda rank: (late[rank], -rank))
    others = max(late[:latest] + late[latest + 1:])
    stands_out = late[latest] >= max(20, duration / 10, 2 * others)
    return latest if stands_out else None


def slowest_ranks(samples):
    """How often each rank was the slowest. Of several that are equally slow it is the last."""
    return collections.Counter(max((row["duration_ns"], row["rank"]) for row in rows)[1] for rows in zip(*samples))


Line = collections.namedtuple(
    "Line", "algorithm asked contract iterations durations times device algbw busbw late late_rank slowest p50 moved")


def line_of(case, algorithm, asked, samples):
    """samples: of each rank the rows of this line, by iteration."""
    promised = contract(case, asked)
    trips = 2 if algorithm == "pingpong" else 1
    slowest = [max(row["duration_ns"] for row in rows) for rows in zip(*samples)]
    device = [max(row["device_ns"] for row in rows) // trips for rows in zip(*samples)]
    durations = [time // trips for time in slowest]
    times = statistics(durations)
    algbw = promised.bytes / times["p50"] / 1e3 if times["p50"] else 0
    late = [median([row["late_ns"] for row in rows]) for rows in samples]
    moved = None
    if promised.moved and algorithm in DIRECT:
        moved = sum(promised.moved[root] for root in case.roots(len(slowest))) * ELEMENT[case.datatype]
    return Line(algorithm=algorithm, asked=asked, contract=promised, iterations=len(slowest), durations=durations,
                times=times, device=statistics(device),
                algbw=algbw, busbw=algbw * bus_factor(case.collective, case.ranks), late=late,
                late_rank=late_rank(late, times["p50"] * trips), slowest=slowest_ranks(samples),
                p50=[statistics([row["duration_ns"] for row in rows])["p50"] for rows in samples], moved=moved)

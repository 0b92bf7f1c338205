"""columns.py - compares what cctest shows of a run with what follows from its options and its raw samples.

That is each column of the table and of the CSV; and of the JSON these columns, lateness, samples, and the sums of bytes (the
bytes themselves where no message is relayed). Other fields of the JSON have tests of their own.

usage: columns.py CCTEST FOLDER [device]

Runs CCTEST with --samples, --json, --csv and the table, for the cases at the end of this file (device: those of GPUs).
The files go to FOLDER. columns_expected.py computes each column and field a second time.
"""
import collections
import csv
import fractions
import itertools
import json
import pathlib
import re
import subprocess
import sys

from columns_expected import COUNTED, REDUCES, ROOTED, Case, batch_ends, contract, line_of, median_interval, modes, trend

CCTEST, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
SHOWN_MOST = 4  # differences of one run
CSV_COLUMNS = ("collective,algorithm,transport,memory,datatype,op,root,ranks,bytes,count,in_place,iterations,checked,"
               "wrong,start,min_us,p50_us,mean_us,p90_us,p99_us,max_us,algbw_GBps,busbw_GBps,counts,groups,slowest,median_us,"
               "fastest_us").split(",")


def counts_text(case):
    """What --counts is, or would be; "": nothing."""
    if isinstance(case.counts, list):
        return str(FOLDER / "counts")
    return case.counts or "spread" if case.collective in COUNTED else ""


def command(case):
    """Makes the file of counts, too."""
    options = ["--np", case.ranks, "-a", case.algorithms, "-n", case.iterations, "-w", 1, "-c", case.checked,
               "-d", case.datatype, "-o", case.op, "--start", case.start, *case.more]
    if case.collective != "barrier" and not isinstance(case.counts, list):
        options += ["-b", case.sizes[0], "-e", case.sizes[-1], "-f", 4]
    if case.collective in ROOTED:
        options += ["-r", case.root]
    if isinstance(case.counts, list):
        text = "\n".join(" ".join(map(str, row)) for row in case.counts)
        (FOLDER / "counts").write_text(text + "\n", encoding="utf-8")
        options += ["--counts", FOLDER / "counts"]
    elif case.counts:
        options += ["--counts", case.counts]
    if case.in_place:
        options += ["--in-place"]
    if case.delay:
        options += ["--inject", f"delay:rank={case.delay[0]}:us={case.delay[1]}"]
    if case.too_slow:
        options += ["--min-busbw", 1000000]
    for kind in ("samples", "json", "csv"):
        options += [f"--{kind}", FOLDER / kind]
    return [CCTEST, case.collective, *map(str, options)]


failures = collections.Counter()  # by run
numbers = itertools.count()  # of runs


def differ(case, what, shown, computed):
    run_as = " ".join(command(case)[1:])
    failures[run_as] += 1
    if failures[run_as] <= SHOWN_MOST:
        print(f"{run_as}\n    {what}: shown {shown}, computed {computed}")


def compare(case, what, shown, computed, step=None):
    """step: of the last digit shown; without one the number has nine digits."""
    if isinstance(computed, (float, fractions.Fraction)) and shown is not None:
        allowed = 0.500001 * step if step else 1e-8 * abs(computed)
        if abs(float(shown) - computed) > allowed:
            differ(case, what, shown, float(computed))
    elif shown != computed:
        differ(case, what, shown, computed)


def check_samples(case, lines):
    """The file is complete, and its numbers are such as they can be."""
    for number, samples in enumerate(lines):
        for rank, rows in enumerate(samples):
            where = f"samples of line {number}, rank {rank}"
            count = len(samples[0]) if case.iterations == "auto" else case.iterations
            compare(case, f"{where}: iterations", [row["iteration"] for row in rows], list(range(count)))
            durations = [row["duration_ns"] for row in rows]
            early = [row for row in rows if row["late_ns"] > row["duration_ns"]]
            compare(case, f"{where}: iterations that end before they begin", early, [])
            if count >= 100 and durations == sorted(durations):
                differ(case, f"{where}: durations", "in ascending order", "in the order of iterations")
            if case.delay and rank == case.delay[0]:
                least = min(row["late_ns"] for row in rows)
                if least < case.delay[1] * 1000:
                    differ(case, f"{where}: least lateness", least, f"at least {case.delay[1]} us")
            if case.start == "back-to-back" and not case.delay:
                compare(case, f"{where}: lateness", sum(row["late_ns"] for row in rows), 0)


def asked_for(case, line):
    """Columns that follow from the options, without the algorithm. None: the collective has none."""
    return {"collective": case.collective, "ranks": case.ranks, "in_place": case.in_place, "start": case.start,
            "bytes": line.contract.bytes, "count": line.contract.count, "iterations": line.iterations,
            "transport": case.transport if case.ranks > 1 else "self", "memory": case.memory, "wrong": 0,
            "checked": line.iterations if case.checked == "all" else
                       max(case.checked, case.ranks) if case.root == "all" and case.checked else case.checked,
            "datatype": "uint8" if case.collective == "barrier" else case.datatype,
            "root": case.root if case.collective in ROOTED else None,
            "counts": counts_text(case) or None, "op": case.op if case.collective in REDUCES else None}


def check_sampling(case, what, shown, line):
    """How sure the time is, and why no more iterations were timed."""
    for key, follow in ("median_interval", median_interval), ("trend", trend), ("modes", modes):
        computed = follow(line.durations)
        compare(case, what + key, shown[key] is None, computed is None)
        if shown[key] is None or computed is None:
            continue
        for numbers, those in zip(shown[key], computed) if key == "modes" else [(shown[key], computed)]:
            for name, number in those.items():
                compare(case, what + f"{key}.{name}", numbers[name], number)
    ends = ("interval", "budget", "most") if case.iterations == "auto" else ("count",)
    compare(case, what + "ended", shown["ended"] in ends, True)
    if case.iterations == "auto":
        compare(case, what + "ended by the interval", shown["ended"] == "interval", shown["median_interval"]["reached"])
        looks = itertools.takewhile(lambda done: done < line.iterations, batch_ends(case))
        early = [done for done in looks if median_interval(line.durations[:done])["reached"]]
        compare(case, what + "looks that found a narrow interval", early, [])


def check_json(case, shown, line):
    what = f"JSON, {line.algorithm} {line.contract.bytes}: "
    for key, computed in {
            **asked_for(case, line), "algorithm": line.algorithm.split(":")[0], "round_trip": line.algorithm == "pingpong", "algbw_GBps": float(line.algbw),
            "busbw_GBps": float(line.busbw), "late_rank": line.late_rank,
            "late_us": None if line.late_rank is None else line.late[line.late_rank]}.items():
        compare(case, what + key, shown[key], computed)
    for key, computed in line.times.items():
        compare(case, what + f"time_us.{key}", shown["time_us"][key], computed)
    if line.device["max"] == 0:
        compare(case, what + "device_time_us", shown["device_time_us"], None)
    else:
        for key, computed in line.device.items():
            compare(case, what + f"device_time_us.{key}", shown["device_time_us"][key], computed)
    check_sampling(case, what, shown, line)
    most = max(line.slowest.values(), default=None)
    slowest = shown["slowest"] or {"iterations": None, "rank": None}
    compare(case, what + "slowest.iterations", slowest["iterations"], most)
    compare(case, what + "slowest.rank", line.slowest.get(slowest["rank"]), most)
    for rank, sample in enumerate(shown["samples"] if case.iterations else []):
        compare(case, what + f"samples[{rank}].rank", sample["rank"], rank)
        compare(case, what + f"samples[{rank}].late_us", sample["late_us"], float(line.late[rank]))
        compare(case, what + f"samples[{rank}].p50_us", sample["p50_us"], float(line.p50[rank]))
    for rank, profile in enumerate(shown.get("profile", [])):
        compare(case, what + f"profile[{rank}].p50_us", profile["p50_us"], float(line.p50[rank]))
    received = sum(sum(use["received"].values()) for use in shown["traffic"].values())
    sent = sum(sum(use["sent"].values()) for use in shown["traffic"].values())
    compare(case, what + "sum of bytes_by_path", sum(shown["bytes_by_path"].values()), received)
    compare(case, what + "sum of bytes sent", sent, received)
    if line.moved is not None:
        compare(case, what + "bytes received", received, line.moved)
    if case.iterations and shown["bottleneck"]["kind"] == "rank":
        compare(case, what + "bottleneck.rank", shown["bottleneck"]["rank"], line.late_rank)
        compare(case, what + "bottleneck.late_us", shown["bottleneck"]["late_us"], line.late[line.late_rank or 0])


def check_csv(case, shown, line):
    what = f"CSV, {line.algorithm} {line.contract.bytes}: "
    for key, computed in {**asked_for(case, line), "algorithm": line.algorithm, "in_place": int(case.in_place)}.items():
        compare(case, what + key, shown[key], "" if computed is None else str(computed))
    for key, computed in line.times.items():
        compare(case, what + f"{key}_us", shown[f"{key}_us"] or None, None if computed is None else float(computed), 0.001)
    compare(case, what + "algbw", shown["algbw_GBps"], float(line.algbw), 1e-6)
    compare(case, what + "busbw", shown["busbw_GBps"], float(line.busbw), 1e-6)
    for key in "p50_us", "median_us", "fastest_us":  # of the one group
        compare(case, what + key, shown[key], shown["p50_us"])
    compare(case, what + "groups", [shown["groups"], shown["slowest"]], ["1", ""])


def fastest(lines, asked):
    """The first of the fastest of several of one size."""
    those = [line for line in lines if line.asked == asked]
    return min(those, key=lambda line: line.times["p50"]) if len(those) > 1 and those[0].times["p50"] else None


def check_row(case, shown, line, star):
    """A line of the table."""
    what = f"table, {line.algorithm} {line.contract.bytes}: "
    words = shown.split()
    compare(case, what + "star", words[-1] == "*", star)
    words = words[:-1] if words[-1] == "*" else words
    several = "," in case.algorithms
    sized = case.collective != "barrier"
    sampled = case.iterations == "auto"
    titles = ["size", "count", *(["algorithm"] if several else []), "p50",
              *(["p99"] if sampled or case.iterations >= 100 else []), "algbw", "busbw", "#wrong"]
    titles += ["iters", "+-%", "ended"] if sampled else []
    if len(words) != len(titles):
        differ(case, what, shown, titles)
        return
    columns = dict(zip(titles, words))
    compare(case, what + "size", columns["size"], str(line.contract.bytes) if sized else "-")
    compare(case, what + "count", columns["count"], str(line.contract.count) if sized else "-")
    if several:
        compare(case, what + "algorithm", columns["algorithm"], line.algorithm)
    compare(case, what + "#wrong", columns["#wrong"], "0" if case.checked else "-")
    for key, computed, step in (("p50", line.times["p50"], 0.01), ("p99", line.times["p99"], 0.01),
                                ("algbw", line.algbw, 0.001), ("busbw", line.busbw, 0.001)):
        if key not in columns:
            continue
        nothing = case.iterations == 0 or computed is None if key[0] == "p" else computed == 0
        if nothing or columns[key] == "-":
            compare(case, what + key, columns[key], "-" if nothing else float(computed))
        else:
            compare(case, what + key, columns[key], float(computed), step)
    if sampled:
        interval = median_interval(line.durations)
        compare(case, what + "iters", columns["iters"], str(line.iterations))
        compare(case, what + "+-%", columns["+-%"], interval["margin"] * 100, 0.1)
        compare(case, what + "ended", columns["ended"] == "interval", interval["reached"])


def size_text(size):
    for unit in ("", "K", "M", "G"):
        if size % 1024 or unit == "G":
            return f"{size}{unit}"
        size //= 1024


def place_of(line, lines):
    """Among those of one size: 1 plus the number of faster ones."""
    return 1 + sum(other.times["p50"] < line.times["p50"] for other in lines if other.asked == line.asked)


def check_ranking(case, text, lines):
    """The algorithms at the end of the table: busbw and place at each size, the best mean of the places first."""
    found = re.search(r"^# (busbw in GB/s|p50 in us) and place.*\n((?:#.*\n)*?)#\n# status", text, re.M)
    algorithms = case.algorithms.split(",")
    if len(algorithms) < 2 or case.iterations == 0:
        compare(case, "ranking", bool(found), False)
        return
    sized = case.collective != "barrier"
    places = {algorithm: [place_of(line, lines) for line in lines if line.algorithm == algorithm]
              for algorithm in algorithms}
    if not found:
        differ(case, "ranking", None, places)
        return
    compare(case, "ranking's title", found[1], "busbw in GB/s" if sized else "p50 in us")
    head, *rows = [row.lstrip("#").split() for row in found[2].splitlines() if row != "#"]
    sizes = list(dict.fromkeys(line.contract.bytes for line in lines))
    titles = [f"{size_text(size)} #" if sized else "#" for size in sizes]
    compare(case, "ranking's sizes", " ".join(head), " ".join(titles))
    compare(case, "ranking's order", [row[0] for row in rows], sorted(algorithms, key=lambda name: sum(places[name])))
    for row in rows:
        those = [line for line in lines if line.algorithm == row[0]]
        for line, computed, value, place in zip(those, places[row[0]], row[1::2], row[2::2]):
            what = f"ranking, {line.algorithm} {line.contract.bytes}: "
            compare(case, what + "place", int(place), computed)
            compare(case, what + "value", value, float(line.busbw if sized else line.times["p50"]),
                    0.001 if sized else 0.01)


def check_table(case, text, lines, document):
    rows = [row for row in text.splitlines() if row and row[0] != "#"]
    compare(case, "lines of the table", len(rows), len(lines))
    for row, line in zip(rows, lines):
        check_row(case, row, line, line is fastest(lines, line.asked))
    late = [(int(rank), int(time)) for rank, time in re.findall(r"^#   rank (\d+) begins late: (\d+) us", text, re.M)]
    named = [line for line in lines if line.late_rank is not None]
    compare(case, "late ranks", [rank for rank, _ in late], [line.late_rank for line in named])
    for (_, shown), line in zip(late, named):
        compare(case, "lateness", shown, float(line.late[line.late_rank]), 1)
    check_ranking(case, text, lines)
    word = re.search(r"^# status: (.*)$", text, re.M)
    compare(case, "status in the table", word and word[1], document["status"])


def check_status(case, done, lines, document):
    compare(case, "exit status", done.returncode, 4 if case.too_slow else 0)
    compare(case, "status", document["status"], "slow" if case.too_slow else "ok")
    if case.too_slow:
        most = max(line.busbw for line in lines if line.asked == lines[-1].asked)
        said = re.search(r"the best busbw is ([0-9.]+) GB/s", done.stderr)
        compare(case, "best busbw", said and said[1], float(most), 0.001)
    else:
        compare(case, "standard error", done.stderr, "")


def read_samples(case, algorithms):
    """Of each line, of each rank: the rows by iteration."""
    lines = [[[] for _ in range(case.ranks)] for _ in algorithms]
    with open(FOLDER / "samples", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = {key: int(value) for key, value in row.items() if key not in ("collective", "algorithm")}
            line = numbers["line"]
            promised = contract(case, algorithms[line][1]).bytes
            compare(case, f"samples of line {line}", (row["collective"], row["algorithm"], numbers["bytes"]),
                    (case.collective, algorithms[line][0], promised))
            lines[line][numbers["rank"]].append(numbers)
    for ranks in lines:
        for rows in ranks:
            rows.sort(key=lambda row: row["iteration"])
    return lines


def run(case):
    for kind in ("samples", "json", "csv"):
        (FOLDER / kind).unlink(missing_ok=True)
    done = subprocess.run(command(case), capture_output=True, text=True, timeout=60, check=False)
    asked = [(algorithm, size) for size in case.sizes for algorithm in case.algorithms.split(",")]
    try:
        document = json.loads((FOLDER / "json").read_text(encoding="utf-8"))
        (FOLDER / "json").rename(FOLDER / f"{next(numbers)}.json")  # it is checked against the schema, as each JSON of a test
        samples = read_samples(case, asked)
        lines = [line_of(case, *which, those) for which, those in zip(asked, samples)]
        with open(FOLDER / "csv", encoding="utf-8") as file:
            sheet = csv.DictReader(file)
            compare(case, "columns of the CSV", sheet.fieldnames, CSV_COLUMNS)
            rows = list(sheet)
        compare(case, "lines", (len(document["results"]), len(rows)), (len(lines), len(lines)))
        check_samples(case, samples)
        for result, row, line in zip(document["results"], rows, lines):
            check_json(case, result, line)
            check_csv(case, row, line)
        check_table(case, done.stdout, lines, document)
        check_status(case, done, lines, document)
    except (OSError, KeyError, ValueError, IndexError, TypeError) as error:
        differ(case, type(error).__name__, f"{error}; standard error: {done.stderr}", "no error")


SWEEP = (1000, 4000, 16000)
UNEVEN = [[0, 5, 900], [7, 0, 800], [3, 20, 10]]  # rank 2 receives most, more than any rank sends
SENDER = [[3, 5, 9], [7, 0, 8], [300, 20, 10]]  # rank 2 sends most
AUTO = ("--budget", "0.5")
CASES = [
    # Every collective; sizes that do not divide; blocks, roots, elements of several sizes.
    Case("allreduce", "ring,oneshot,recursive-doubling,mesh", 4, SWEEP),
    Case("allreduce", "knomial:radix=3,linear", 3, (1024, 4096), start="back-to-back", iterations=10),
    Case("allreduce", "oneshot", 3, datatype="float16", in_place=True, more=("--profile",)),
    Case("allreduce", "linear", 2, (8,), iterations=100),
    Case("allreduce", "linear", 2, (8,), iterations=101, start="back-to-back"),
    Case("allreduce", "linear", 1),
    Case("allgather", "mesh", 3),
    Case("allgather", "mesh,ring,bruck:radix=3", 4, SWEEP, datatype="int64"),
    Case("reduce_scatter", "mesh", 3, datatype="double_int64", op="maxloc"),
    Case("reduce_scatter", "mesh", 4, in_place=True),
    Case("alltoall", "linear", 3, datatype="int64"),
    Case("alltoall", "pairwise,linear", 4, SWEEP, start="back-to-back"),
    Case("broadcast", "linear", 3, root=1),
    Case("broadcast", "linear,binomial", 3, root="all"),
    Case("reduce", "linear", 4, root=2),
    Case("reduce", "linear", 3, root="all", start="back-to-back"),
    Case("gather", "linear", 3, root=1),
    Case("gather", "linear", 4, root="all", iterations=10, checked=1),
    Case("scatter", "linear", 3, root=2, datatype="uint8"),
    Case("scatter", "linear,binomial", 4, SWEEP),
    # Blocks of different lengths.
    Case("alltoallv", "linear", 3),
    Case("alltoallv", "linear", 4, counts="uniform"),
    Case("alltoallv", "linear", 3, counts="hot:0.75"),
    Case("alltoallv", "linear", 4, counts="zipf:1"),
    Case("alltoallv", "linear", 3, (0,), counts=UNEVEN),
    Case("alltoallv", "linear", 3, (0,), counts=SENDER, datatype="int64"),
    Case("allgatherv", "mesh", 3),
    Case("allgatherv", "mesh", 4, counts="zipf:2"),
    Case("reduce_scatterv", "mesh", 3, counts="hot:0.25"),
    Case("gatherv", "linear", 3, root="all", iterations=10),
    Case("gatherv", "linear", 3, root=1, counts="uniform"),
    Case("gatherv", "linear", 3, (0,), root=2, counts=[[10, 0, 90]]),
    Case("scatterv", "linear", 4, root=1, start="back-to-back"),
    Case("scatterv", "linear", 3, root="all", iterations=11, checked=4),
    # One way, there and back, and no data at all.
    Case("sendrecv", "ring-shift", 3),
    Case("sendrecv", "uni", 2),
    Case("sendrecv", "pingpong", 2, (1000, 4000), start="back-to-back"),
    Case("sendrecv", "pingpong,pairs", 4),
    Case("barrier", "central,dissemination", 3, (0,), op="bor"),
    # As many iterations as the median needs.
    Case("allreduce", "ring,mesh", 2, (8, 32), iterations="auto", more=AUTO),
    Case("broadcast", "linear", 3, root="all", iterations="auto", checked="all", more=AUTO),
    Case("sendrecv", "pingpong", 2, (8,), iterations="auto", start="back-to-back", more=AUTO),
    Case("reduce", "linear", 4, root=1, iterations="auto", delay=(2, 30000), more=AUTO),
    # Nothing is timed, nothing is checked, all is too slow, one rank is late.
    Case("allreduce", "ring,mesh", 2, iterations=0),
    Case("allgather", "mesh", 3, checked=0),
    Case("reduce_scatter", "mesh,ring", 3, SWEEP, too_slow=True),
    Case("sendrecv", "pingpong", 2, delay=(1, 3000)),
    Case("allgather", "mesh,ring", 3, delay=(2, 3000)),
    Case("gather", "linear", 3, root=1, delay=(0, 3000), start="back-to-back"),
]
on_device = {"datatype": "int64", "memory": "cuda", "transport": "cuda", "more": ("-m", "cuda", "--executor", "device", "--ranks-as", "threads")}
DEVICE_CASES = [
    Case("alltoall", "linear,pairwise", 3, SWEEP, **on_device),
    Case("sendrecv", "pingpong", 2, start="back-to-back", **on_device),
    Case("broadcast", "linear", 3, root="all", **on_device),
    Case("allreduce", "linear", 2, iterations="auto", checked="all", **{**on_device, "more": (*on_device["more"], *AUTO)}),
]
cases = DEVICE_CASES if sys.argv[3:] == ["device"] else CASES
for each in cases:
    run(each)
print(f"{len(cases)} runs, {failures.total()} numbers differ")
sys.exit(failures.total() > 0)

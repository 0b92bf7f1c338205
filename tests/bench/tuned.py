#!/usr/bin/env python3
"""How good is `-a auto` without and with a file of `cctest tune`, on a grid that was not tuned: other sizes, other ranks?

`cctest tune` makes the file, unless --tuning names one. Cells of the grid are measured in a random order, until all are or the
time is over. In each two jobs of all algorithms find the fastest
ones. These and both picks then run in turn, in another order each time: 2 turns in each of 8 jobs, so that what changes in
seconds or minutes, and the luck of one start, hit all of them. In each job the pick is compared with the algorithm that is the
best by the *other* jobs: one that is chosen by the same times that it is compared by would always be a little too good. That
makes 8 ratios, pick / best. Their median says by how much the pick is slower; the second and the seventh of them, in order, hold
the true median with 93%.

By the median alone a cell is "within 5%" or not (strictly). It is "slower" if the whole interval is above 1.05, and "in doubt" if
1.05 is inside: there the machine's noise does not let one tell. A table for each way to pick: shares of the cells, by ranks and
by collective, and the cells that are slower.
"""
import argparse
import collections
import json
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

COLLECTIVES = "allreduce,allgather,reduce_scatter,alltoall,broadcast,reduce,gather,scatter"
TURN_US = 1e4  # of the iterations of one algorithm in a turn
TURNS, JOBS = 2, 8
FAST_MOST, FAST_FACTOR = 6, 1.5  # algorithms that may be the best: so many, and so many times the least time
CLOSE = 1.05
WAYS = "before: by the rules", "after: with the file"
Cell = collections.namedtuple("Cell", "collective ranks size best picks ratios")  # picks, ratios: of each way


def size_of(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1].isalpha() else int(text)


def size_text(size):
    return next((f"{size >> bits}{unit}" for bits, unit in ((20, "M"), (10, "K")) if size >> bits << bits == size and size >> bits), str(size))


def result_name(line):
    options = "".join(f":{key}={value['algorithm'] if isinstance(value, dict) else value}"
                      for key, value in line["algorithm_options"].items() if value is not None)
    return line["algorithm"] + options


def run(cctest, problem, *words):
    collective, ranks, size = problem
    command = [cctest, collective, "--np", str(ranks), "-b", str(size), "-e", str(size), "-c", "0", "--json", "-", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["results"]


def measure(cctest, problem, names, iterations):
    """{algorithm: us}, of one job: the median of its turns, each the median of its iterations. Right data is the business of tests."""
    times = collections.defaultdict(list)
    for line in run(cctest, problem, "-a", ",".join(names), "-n", str(iterations), "-w", "2"):
        times[result_name(line)].append(line["time_us"]["p50"])
    return {name: statistics.median(turns) for name, turns in times.items()}


def pick(cctest, problem, tuning):
    """What auto takes. The file names an algorithm with its options, a rule without."""
    return result_name(run(cctest, problem, "-n", "1", "-w", "0", *(["--tuning", tuning] if tuning else []))[0])


def jobs_of(cctest, problem, picks):
    """The times of each job, of the fastest algorithms and the picks."""
    rough = [measure(cctest, problem, ["all"], 5) for _ in range(2)]
    least = {name: min(times[name] for times in rough) for name in rough[0]}
    order = sorted(least, key=least.get)
    fast = [name for name in order[:FAST_MOST] if least[name] <= FAST_FACTOR * least[order[0]]]
    names = list(dict.fromkeys(fast + picks))
    iterations = int(min(max(TURN_US / max(least[name] for name in names), 3), 100))
    for _ in range(JOBS):
        turns = [random.sample(names, len(names)) for _ in range(TURNS)]
        yield measure(cctest, problem, sum(turns, []), iterations)


def judge(jobs, name):
    """The ratio to the best by the other jobs, of each job."""
    ratios = []
    for i, times in enumerate(jobs):
        others = jobs[:i] + jobs[i + 1 :]
        best = min(times, key=lambda it: statistics.median(other[it] for other in others))
        ratios.append(times[name] / times[best])
    return sorted(ratios)


def cell(cctest, tuning, problem):
    picks = [pick(cctest, problem, None), pick(cctest, problem, tuning)]
    jobs = list(jobs_of(cctest, problem, picks))
    best = min(jobs[0], key=lambda name: statistics.median(times[name] for times in jobs))
    return Cell(*problem, best, picks, [judge(jobs, name) for name in picks])


def low(ratios):
    return ratios[1]


def high(ratios):
    return ratios[-2]


def verdict(ratios):
    return "slower" if low(ratios) > CLOSE else "within" if high(ratios) <= CLOSE else "in doubt"


def row(title, cells, way):
    ratios = [it.ratios[way] for it in cells]
    medians = [statistics.median(it) for it in ratios]
    words = collections.Counter(map(verdict, ratios))
    strict = sum(it <= CLOSE for it in medians)
    shares = [f"{count / len(cells):.0%}" for count in (strict, words["within"], words["in doubt"], words["slower"])]
    print(f"| {title} | {len(cells)} | {' | '.join(shares)} | {statistics.median(medians):.2f} | {max(medians):.2f} |")


def table(cells, way):
    print(f"\n### {WAYS[way]}\n\n| | cells | within 5% by the median | surely within | in doubt | surely slower | median ratio | worst |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |")
    for key in ("ranks", "collective"):
        groups = dict.fromkeys(getattr(it, key) for it in cells)
        for group in groups:
            row(f"{group} ranks" if key == "ranks" else group, [it for it in cells if getattr(it, key) == group], way)
    row("all", cells, way)
    slower = [it for it in cells if verdict(it.ratios[way]) == "slower"]
    for it in sorted(slower, key=lambda it: -statistics.median(it.ratios[way])):
        print(f"\n- {it.collective} {it.ranks} ranks {size_text(it.size)}: {it.picks[way]} takes {statistics.median(it.ratios[way]):.2f} "
              f"[{low(it.ratios[way]):.2f} to {high(it.ratios[way]):.2f}] times as long as {it.best}", end="")
    print(flush=True)


def tune(arguments, path):
    words = [arguments.cctest, "tune", arguments.collectives, "--np", arguments.tuned_ranks.split(",")[-1], "--rank-counts",
             arguments.tuned_ranks, "-b", "1K", "-e", "4M", "-f", arguments.step_factor, "--budget", arguments.budget, "--json", path]
    subprocess.run(words + (["--model", arguments.model] if arguments.model else []), check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--cctest", required=True)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--tuned-ranks", default="2,3,4,6,8", help="of the file")
    parser.add_argument("--ranks", default="2,4,5,7", help="of the grid")
    parser.add_argument("--step-factor", default="4", help="from one size of the file to the next, 1K to 4M")
    parser.add_argument("--sizes", default="2K,8K,32K,128K,512K,2M", help="of the grid: between those of the file")
    parser.add_argument("--budget", default="300", help="seconds of cctest tune")
    parser.add_argument("--seconds", type=float, default=900, help="after which no further cell is measured, with the tuning")
    parser.add_argument("--tuning", help="a file that is there already")
    parser.add_argument("--model", help="that prunes what is tuned")
    parser.add_argument("--cells", help="a file for the ratios of each cell, as JSON")
    arguments = parser.parse_args()
    random.seed(1)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tuning = arguments.tuning or str(pathlib.Path(folder) / "tuned.json")
        if not arguments.tuning:
            tune(arguments, tuning)
        tuned = time.monotonic()
        problems = [(collective, int(ranks), size_of(size)) for collective in arguments.collectives.split(",")
                    for ranks in arguments.ranks.split(",") for size in arguments.sizes.split(",")]
        cells = [cell(arguments.cctest, tuning, problem) for problem in random.sample(problems, len(problems))
                 if time.monotonic() < began + arguments.seconds]
    cells.sort(key=lambda it: problems.index(it[:3]))
    if arguments.cells:
        pathlib.Path(arguments.cells).write_text(json.dumps([it._asdict() for it in cells], indent=1))
    for way in range(len(WAYS)):
        table(cells, way)
    print(f"\n{len(cells)} of {len(problems)} cells in {time.monotonic() - tuned:.0f} s, after {tuned - began:.0f} s of tuning")


if __name__ == "__main__":
    main()

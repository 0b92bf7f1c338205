#!/usr/bin/env python3
"""How good is `-a auto` with a file of `cctest tune`, and without, on a grid that was not tuned: other sizes, other ranks?

For each cell of the grid the picks of both are measured beside the best of all algorithms. Two rounds of all algorithms find the six
fastest. They and the picks are then measured in ten more rounds, each a job of its own, in another order. Of these the odd
rounds say which algorithm is the best, and the even ones by how much a pick is slower: the median of the ratios of the rounds.
A best that is chosen by the same times that it is compared by would always be a little too good.
How often the median of the best itself differs by more than 5% between odd and even rounds says what the machine lets one see.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

COLLECTIVES = "allreduce,allgather,reduce_scatter,alltoall,broadcast,reduce,gather,scatter"
ROUND_US = 2e4  # of the iterations of one algorithm in a round
ROUNDS = 10
CLOSE = 1.05


def size_of(text):
    return int(text[:-1]) << {"K": 10, "M": 20, "G": 30}[text[-1]] if text[-1].isalpha() else int(text)


def measure(cctest, collective, ranks, size, names, iterations):
    """{algorithm: p50 in us} of one job; right data is the business of tests."""
    words = [cctest, collective, "-a", ",".join(names), "--np", str(ranks), "-b", str(size), "-e", str(size), "-n", str(iterations),
             "-w", "2", "-c", "0", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return {result_name(line): line["time_us"]["p50"] for line in json.loads(done.stdout)["results"]}


def result_name(line):
    options = "".join(f":{key}={value['algorithm'] if isinstance(value, dict) else value}"
                      for key, value in line["algorithm_options"].items() if value is not None)
    return line["algorithm"] + options


def pick(cctest, collective, ranks, size, tuning):
    """What auto takes. The file names an algorithm with its options, a rule without."""
    words = [cctest, collective, "--np", str(ranks), "-b", str(size), "-e", str(size), "-n", "1", "-w", "0", "-c", "0", "--json", "-"]
    done = subprocess.run(words + (["--tuning", tuning] if tuning else []), capture_output=True, text=True, check=True)
    return result_name(json.loads(done.stdout)["results"][0])


def iterations(time):
    return int(min(max(ROUND_US / time, 5), 200))


def cell(arguments, collective, ranks, size):
    """(best, picks of both, their ratios to the best and that of the best to itself)"""
    picks = [pick(arguments.cctest, collective, ranks, size, tuning) for tuning in (arguments.tuning, None)]
    rough = [measure(arguments.cctest, collective, ranks, size, ["all"], 5) for _ in range(2)]
    order = sorted(rough[0], key=lambda name: min(times[name] for times in rough))
    names = list(dict.fromkeys(order[:6] + picks))
    rounds, count = [], iterations(max(min(times[name] for times in rough) for name in names))
    for _ in range(ROUNDS):
        random.shuffle(names)
        rounds.append(measure(arguments.cctest, collective, ranks, size, names, count))
    best = min(names, key=lambda name: statistics.median(times[name] for times in rounds[0::2]))
    ratios = [statistics.median(times[name] / times[best] for times in rounds[1::2]) for name in picks]
    halves = [statistics.median(times[best] for times in half) for half in (rounds[0::2], rounds[1::2])]
    return best, picks, ratios + [max(halves) / min(halves)]


def share(ratios):
    return sum(ratio <= CLOSE for ratio in ratios) / len(ratios)


def row(title, ratios):
    tuned, ruled, noise = zip(*ratios)
    print(f"| {title} | {len(ratios)} | {share(tuned):.0%} | {share(ruled):.0%} | {statistics.median(tuned):.2f} | "
          f"{statistics.median(ruled):.2f} | {max(tuned):.2f} | {max(ruled):.2f} | {1 - share(noise):.0%} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--cctest", required=True)
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--tuned-ranks", default="2,3,4,6,8", help="of the file")
    parser.add_argument("--ranks", default="2,4,5,7", help="of the grid")
    parser.add_argument("--sizes", default="2K,8K,32K,128K,512K,2M", help="of the grid; the file has 1K to 4M by factors of 4")
    parser.add_argument("--budget", default="600", help="seconds of cctest tune")
    parser.add_argument("--tuning", help="a file that is there already")
    parser.add_argument("--verbose", action="store_true", help="a line for each cell")
    arguments = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.tuning:
            arguments.tuning = str(pathlib.Path(folder) / "tuned.json")
            subprocess.run([arguments.cctest, "tune", arguments.collectives, "--np", arguments.tuned_ranks.split(",")[-1], "--rank-counts",
                            arguments.tuned_ranks, "-b", "1K", "-e", "4M", "--budget", arguments.budget, "--json", arguments.tuning],
                           check=True, stdout=subprocess.DEVNULL)
        study(arguments)


def study(arguments):
    everything, by_ranks = [], {}
    print("| | cells | within 5%, tuned | by rule | median, tuned | by rule | worst, tuned | by rule | noise over 5% |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for collective in arguments.collectives.split(","):
        of_collective = []
        for ranks in map(int, arguments.ranks.split(",")):
            for size in map(size_of, arguments.sizes.split(",")):
                best, picks, ratios = cell(arguments, collective, ranks, size)
                of_collective.append(ratios)
                by_ranks.setdefault(ranks, []).append(ratios)
                if arguments.verbose:
                    print(f"{collective} {ranks} {size}: best {best}; tuned {picks[0]} {ratios[0]:.2f}, rule {picks[1]} {ratios[1]:.2f}",
                          flush=True)
        everything += of_collective
        row(collective, of_collective)
    for ranks, ratios in by_ranks.items():
        row(f"{ranks} ranks", ratios)
    row("all", everything)


if __name__ == "__main__":
    main()

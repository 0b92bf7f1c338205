#!/usr/bin/env python3
"""Compares two binaries of cctest: an old one and a new one, in turn, round after round.

For every collective, transport, number of ranks and size: the new binary's p50 divided by the old one's, with the
algorithm that `auto` picks. The result is the median of the rounds' ratios. Cells beyond the tolerance are printed with
their lowest and highest ratio, the rest as a summary. Exit status 1: a cell of a round failed.
"""
import argparse
import collections
import json
import statistics
import subprocess
import sys

COLLECTIVES = ("allreduce", "allgather", "reduce_scatter", "alltoall", "alltoallv", "broadcast", "reduce", "gather",
               "scatter", "sendrecv", "barrier")


def measure(binary, collective, transport, ranks, given):
    """{(bytes, algorithm): p50 in microseconds} of one sweep."""
    command = [binary, collective, "-x", transport, "--np", str(ranks), "-b", "8", "-e", given.largest, "-f", "16",
               "-n", "30", "-w", "5", "-c", "0", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: status %d: %s" % (" ".join(command), done.returncode, done.stderr.strip()))
    return {(r["bytes"], r["algorithm"]): r["time_us"]["p50"] for r in json.loads(done.stdout)["results"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--largest", default="16M")
    parser.add_argument("--tolerance", type=float, default=0.1)
    given = parser.parse_args()
    ratios = collections.defaultdict(list)
    for turn in range(given.rounds):
        for ranks in given.ranks:
            for transport in ("shm", "tcp"):
                for collective in COLLECTIVES:
                    order = [given.old, given.new][::1 if turn % 2 == 0 else -1]
                    times = {binary: measure(binary, collective, transport, ranks, given) for binary in order}
                    for cell in times[given.old].keys() & times[given.new].keys():
                        ratios[ranks, transport, collective, *cell].append(
                            times[given.new][cell] / times[given.old][cell])
    medians = {cell: statistics.median(of) for cell, of in ratios.items()}
    for (ranks, transport, collective, size, algorithm), median in sorted(medians.items()):
        of = ratios[ranks, transport, collective, size, algorithm]
        if abs(median - 1) > given.tolerance:
            print("%d ranks, %s, %s %s, %d bytes: %.2f (%.2f to %.2f)" %
                  (ranks, transport, collective, algorithm, size, median, min(of), max(of)))
    tenths = statistics.quantiles(medians.values(), n=10)
    print("new / old, p50: %d cells, %d rounds: median %.3f, nine of ten above %.3f, nine of ten below %.3f" %
          (len(medians), given.rounds, statistics.median(medians.values()), tenths[0], tenths[-1]))


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))

#!/usr/bin/env python3
"""Studies the grain of pipelining (--chunk) and the slots (--slots, --slot-size).

Three tables: the fastest --chunk, and the loss of the default against it; at that chunk, the
fastest number and size of slots (shm); the gain of streaming over whole messages (--chunk 0),
beside a cost model. Cells run in turn, round after round, until the rounds or the time are used
up; the result is the median of the medians of the rounds. Long sizes have fewer rounds. All numbers
go to a JSON file, the tables to standard output.
"""

import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

import argparse
import collections
import json
import math
import os
import shutil
import statistics
import tempfile
import time

import bench
import programs
import tables

K, M = 1 << 10, 1 << 20
ALGORITHMS = {"broadcast": "chain", "allreduce": "ring", "reduce": "binomial"}
AUTO = -1  # a --chunk
LEAST, MOST = 3, 500  # timed iterations of a cell in a round
SILENCE = 60          # seconds
PHASES = (0.6, 0.85, 1)  # of the time: the chunk, the slots, streaming

FULL = {
    "sizes": [64 * K, M, 16 * M, 128 * M],
    "chunks": [0] + [16 * K << k for k in range(7)] + [4 * M],
    "slot_sizes": [4 * K, 16 * K, 64 * K, 256 * K], "slots": [4, 16, 64, 256],
    "slotted": [64 * K, M, 16 * M], "rounds": 5, "budget": 0.05, "seconds": 270.0,
}
QUICK = {
    "sizes": [64 * K, M, 16 * M], "chunks": [0, 16 * K, 128 * K, M],
    "slot_sizes": [4 * K, 16 * K, 64 * K], "slots": [8, 64],
    "slotted": [M], "rounds": 3, "budget": 0.03, "seconds": 32.0,
}

# A cell. Slots of 0: the transport's choice.
Cell = collections.namedtuple("Cell", "transport ranks collective size chunk slot_size slots",
                              defaults=(0, 0))


def options_read():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__.split(
        "\n\n", 1)[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    sizes = bench.listed(bench.size_value)
    add("--quick", action="store_true", help="fewer cells and rounds: less than 40 s")
    add("--collectives", type=bench.listed(str), metavar="C,...",
        help="of %s; default: those that cctest has" % ", ".join(ALGORITHMS))
    add("--ranks", type=bench.listed(int), default=[2, 4], metavar="N,...")
    add("--transports", type=bench.listed(str), default=["shm", "tcp"], metavar="X,...")
    add("--sizes", type=sizes, metavar="SIZE,...", help="64K,1M,16M,128M; of slots up to 16M")
    add("--chunks", type=sizes, metavar="SIZE,...", help="0 and 16K to 1M, 4M")
    add("--slot-sizes", type=sizes, metavar="SIZE,...", help="4K,16K,64K,256K")
    add("--slots", type=bench.listed(int), metavar="N,...", help="4,16,64,256")
    add("--rounds", type=int, metavar="N", help="at most (%d)" % FULL["rounds"])
    add("--budget", type=float, metavar="SECONDS", help="time of a cell in a round (%g)" %
        FULL["budget"])
    add("--seconds", type=float, metavar="SECONDS",
        help="begin no round that would end later (%g); the first is always run" %
        FULL["seconds"])
    add("--skip-slots", action="store_true")
    add("--skip-streaming", action="store_true")
    add("--cctest", default=os.path.join(programs.ROOT, "cctest"), metavar="PROGRAM")
    add("--build", default=os.path.join(programs.ROOT, "build", "bench"), metavar="DIRECTORY")
    add("--json", metavar="FILE", help="for all numbers (grain.json in --build)")
    options = parser.parse_args()
    if options.sizes and 0 in options.sizes:
        parser.error("--sizes: none of 0 bytes")
    if options.sizes:
        options.slotted = [size for size in options.sizes if size <= max(FULL["slotted"])]
    for name, value in (QUICK if options.quick else FULL).items():
        if getattr(options, name, None) is None:
            setattr(options, name, value)
    for name, known in (("transports", {"shm", "tcp"}), ("collectives", set(ALGORITHMS))):
        unknown = set(getattr(options, name) or []) - known
        if unknown:
            parser.error("--%s: no '%s'; there are %s" % (name, min(unknown), ", ".join(
                sorted(known))))
    options.json = options.json or os.path.join(options.build, "grain.json")
    return options


def chunk_text(chunk):
    return "auto" if chunk == AUTO else tables.size_text(chunk)


class Grain:
    """Cells, and the measured times of each."""

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.cctest = programs.Cctest(options.cctest, [])
        self.collectives = options.collectives or [
            name for name, algorithm in ALGORITHMS.items()
            if algorithm in self.cctest.collectives.get(name, [])]
        self.cores = len(programs.cores())
        resolved = self.cctest.ask("barrier", "--np", "2", "-n", "1", "-w", "0", "-c", "0")
        standard = resolved["options"]["chunk"]
        self.standard = AUTO if standard == "auto" else standard
        self.chunks = sorted(set(options.chunks) | {0, self.standard})
        self.times = {}  # cell: [us of each round]
        self.bases = []  # of the table of slots
        self.problems = []
        self.begun = time.monotonic()
        self.spent = {}

    # Measuring.

    def run_cell(self, cell):
        known = self.times.get(cell)
        guess = known[-1] if known else 20 + cell.size * cell.ranks / 4000
        n = max(LEAST, min(MOST, int(self.options.budget * 1e6 / guess)))
        arguments = ["-a", ALGORITHMS[cell.collective], "--np", str(cell.ranks), "-x",
                     cell.transport, "-b", str(cell.size), "-e", str(cell.size), "-n", str(n),
                     "-w", str(max(1, n // 8)), "-c", "0", "--chunk",
                     "auto" if cell.chunk == AUTO else str(cell.chunk)]
        if cell.slots:
            arguments += ["--slots", str(cell.slots), "--slot-size", str(cell.slot_size)]
        results, problem = self.cctest.measure(cell.collective, arguments, SILENCE, self.directory)
        if problem or not results:
            text = "cctest %s %s: %s" % (cell.collective, " ".join(arguments),
                                         problem.message if problem else "no result")
            self.problems.append(text)
            bench.progress(text)
            return
        self.times.setdefault(cell, []).append(results[0]["time_us"]["p50"])

    def measure(self, what, cells, part):
        """Runs round after round; a size stops when its next round would end after `part` of the
        time, but has at least one."""
        until = self.begun + self.options.seconds * part
        begun, costs = time.monotonic(), {}
        for number in range(self.options.rounds):
            sizes = []
            for size in sorted({cell.size for cell in cells}):
                now = time.monotonic()
                if number and now + costs[size] > until:
                    continue
                for cell in cells:
                    if cell.size == size:
                        self.run_cell(cell)
                costs[size] = time.monotonic() - now
                sizes.append(size)
            if not sizes:
                break
            bench.progress("%s, round %d up to %s: %.0f s" % (
                what, number + 1, tables.size_text(sizes[-1]), time.monotonic() - begun))
        self.spent[what] = time.monotonic() - begun

    def us(self, cell):
        times = self.times.get(cell)
        return statistics.median(times) if times else None

    def spread(self, cell):
        times = self.times.get(cell)
        return (max(times) - min(times)) / 2 / statistics.median(times) if times else 0

    # Cells.

    def groups(self, transports=None):
        return [(transport, ranks) for transport in transports or self.options.transports
                for ranks in self.options.ranks]

    def chunk_cell(self, transport, ranks, collective, size, chunk):
        """Maps a chunk that cuts nothing to the smallest such chunk."""
        whole = [one for one in self.chunks if one >= size]
        if chunk > 0 and whole and chunk > whole[0]:
            chunk = whole[0]
        return Cell(transport, ranks, collective, size, chunk)

    def row(self, transport, ranks, collective, size):
        return [self.chunk_cell(transport, ranks, collective, size, chunk)
                for chunk in self.chunks]

    def chunk_cells(self):
        cells = [cell for transport, ranks in self.groups() for collective in self.collectives
                 for size in self.options.sizes
                 for cell in self.row(transport, ranks, collective, size)]
        return list(dict.fromkeys(cells))

    def best(self, cells):
        measured = [cell for cell in cells if self.us(cell)]
        return min(measured, key=self.us) if measured else None

    def slot_base(self, ranks, collective, size):
        """The fastest chunk, with the transport's own choice of slots."""
        return self.best(self.row("shm", ranks, collective, size))

    def slot_grid(self, base):
        return [base._replace(slot_size=slot_size, slots=slots)
                for slot_size in self.options.slot_sizes for slots in self.options.slots]

    def slot_bases(self):
        if "shm" not in self.options.transports or self.options.skip_slots:
            return []
        bases = [self.slot_base(ranks, collective, size) for ranks in self.options.ranks
                 for collective in self.collectives for size in self.options.slotted
                 if size in self.options.sizes]
        return [base for base in bases if base]

    def streaming_pair(self, transport, ranks, collective, size):
        return [self.chunk_cell(transport, ranks, collective, size, chunk)
                for chunk in (0, self.standard)]

    def streaming_ranks(self):
        return sorted({2, 3} | set(self.options.ranks))

    def streaming_cells(self):
        """Cells that the first table does not have."""
        if self.options.skip_streaming:
            return []
        cells = [cell for transport in self.options.transports for ranks in self.streaming_ranks()
                 for collective in self.collectives for size in self.options.sizes
                 for cell in self.streaming_pair(transport, ranks, collective, size)]
        return [cell for cell in dict.fromkeys(cells) if cell not in self.times]

    # Results.

    def chunk_rows(self):
        rows = []
        for transport, ranks in self.groups():
            for collective in self.collectives:
                for size in self.options.sizes:
                    cells = self.row(transport, ranks, collective, size)
                    best = self.best(cells)
                    default = self.chunk_cell(transport, ranks, collective, size, self.standard)
                    if best and self.us(default):
                        rows.append({"cells": cells, "best": best, "default": default,
                                     "loss": self.us(default) / self.us(best) - 1})
        return rows

    def streaming_rows(self):
        rows = []
        for transport in self.options.transports:
            for collective in self.collectives:
                for size in self.options.sizes:
                    hop = self.us(self.streaming_pair(transport, 2, collective, size)[0])
                    for ranks in self.streaming_ranks():
                        whole, streamed = map(self.us, self.streaming_pair(
                            transport, ranks, collective, size))
                        if hop and whole and streamed:
                            rows.append({
                                "transport": transport, "collective": collective, "size": size,
                                "ranks": ranks, "whole_us": whole, "streamed_us": streamed,
                                "whole": whole / hop, "streamed": streamed / hop,
                                "model": expected(collective, ranks, self.cores)})
        return rows

    def document(self, status):
        return {
            "schema": 1, "status": status, "version": self.cctest.version(),
            "machine": tables.machine(programs.cores()),
            "options": {name: getattr(self.options, name) for name in (
                "quick", "ranks", "transports", "sizes", "rounds", "budget", "seconds")},
            "default_chunk": self.standard,
            "cells": [dict(cell._asdict(), algorithm=ALGORITHMS[cell.collective],
                           us=self.us(cell), rounds_us=times)
                      for cell, times in self.times.items()],
            "chunk": [{"transport": row["best"].transport, "ranks": row["best"].ranks,
                       "collective": row["best"].collective, "size": row["best"].size,
                       "best_chunk": row["best"].chunk, "default_loses": row["loss"]}
                      for row in self.chunk_rows()],
            "streaming": self.streaming_rows(),
            "problems": self.problems,
            "seconds": {what: round(seconds, 1) for what, seconds in self.spent.items()},
        }

    def write(self, status):
        os.makedirs(os.path.dirname(os.path.abspath(self.options.json)), exist_ok=True)
        with open(self.options.json + ".new", "w") as file:
            json.dump(self.document(status), file, indent=1)
        os.replace(self.options.json + ".new", self.options.json)

    def run(self):
        print_head(self)
        self.measure("--chunk", self.chunk_cells(), PHASES[0])
        self.write("running")
        print_chunks(self)
        self.bases = self.slot_bases()
        cells = [cell for base in self.bases for cell in [base] + self.slot_grid(base)]
        if cells:
            self.measure("slots", cells, PHASES[1])
            self.write("running")
            print_slots(self)
        cells = self.streaming_cells()
        if cells:
            self.measure("streaming", cells, PHASES[2])
            print_streaming(self)
        self.write("ok")
        for problem in self.problems:
            print("# problem: " + problem)


# The cost model. A hop is the time of a whole message between two ranks. Both are busy for that
# time: one copies into slots, the other out of them. The work of ranks that share cores adds up.

def expected(collective, ranks, cores):
    """(whole, streamed) in times of two ranks, a core for each."""
    p, c = ranks, min(ranks, cores)
    if collective == "allreduce":  # all ranks work in all of the 2(p-1) steps, on 1/p of the bytes
        alone = 2 * (p - 1) / p
        return alone * p / c, alone * p / c
    work = 2 * (p - 1)  # sides of messages
    if collective == "broadcast":  # else a rank in the middle receives and sends
        return p - 1, max(1 if p == 2 else 2, work / c)
    hops = [len(range(0, p - d, 2 * d)) for d in (1 << k for k in range((p - 1).bit_length()))]
    whole = sum(max(1, 2 * count / c) for count in hops)
    return whole, max(len(hops), work / c)  # the root takes part in every step


# Tables.

def text_us(us):
    return "-" if us is None else "%.1f" % us if us < 1000 else "%.0f" % us


def print_head(grain):
    options = grain.options
    print("# %s: grain and slots" % grain.cctest.version())
    tables.print_machine(tables.machine(programs.cores()))
    print("# us: median over at most %d rounds of p50; barrier before each iteration, -m host, "
          "float, sum; default --chunk %s" % (options.rounds, chunk_text(grain.standard)))
    print(flush=True)


def print_chunks(grain):
    rows = grain.chunk_rows()
    for transport, ranks in grain.groups():
        mine = [row for row in rows if (row["best"].transport, row["best"].ranks) ==
                (transport, ranks)]
        print("# %s, %d ranks%s: us by --chunk; *: the fastest; .: cuts nothing, as to its left; "
              "[]: the default" % (transport, ranks, "" if ranks <= grain.cores else
                                   ", which share %d cores" % grain.cores))
        names = [chunk_text(chunk) for chunk in grain.chunks]
        print("%-18s%6s" % ("collective", "size") + "".join(
            "%10s" % ("[%s]" % name if chunk == grain.standard else name + " ")
            for name, chunk in zip(names, grain.chunks)) + "%9s%8s%7s" % (
                "loses", "spread", "rounds"))
        for row in mine:
            line = ""
            for chunk, cell in zip(grain.chunks, row["cells"]):
                line += "%10s" % (". " if cell.chunk != chunk else text_us(grain.us(cell)) + (
                    "*" if cell == row["best"] else " "))
            best = row["best"]
            print("%-18s%6s%s%8.1f%%%7.1f%%%7d" % (
                best.collective + " " + ALGORITHMS[best.collective], tables.size_text(best.size),
                line, 100 * row["loss"], 100 * grain.spread(row["default"]),
                len(grain.times[row["default"]])))
        print_chunk_summary(grain, mine)


def print_chunk_summary(grain, rows):
    """Each chunk against the best of its row: the geometric mean, and the worst."""
    print("%-24s" % "# loses, mean" + "".join("%9.1f%%" % (100 * (ratio - 1)) for ratio in [
        math.exp(statistics.mean(math.log(grain.us(row["cells"][i]) / grain.us(row["best"]))
                                 for row in rows if grain.us(row["cells"][i])))
        for i in range(len(grain.chunks))]) if rows else "")
    print("%-24s" % "# loses, at worst" + "".join("%9.1f%%" % (100 * max(
        grain.us(row["cells"][i]) / grain.us(row["best"]) - 1
        for row in rows if grain.us(row["cells"][i])))
        for i in range(len(grain.chunks))) if rows else "")
    print(flush=True)


def print_slots(grain):
    print("# shm, at the fastest --chunk: us by --slot-size (down) and --slots (across); *: the "
          "fastest; loses: the transport's own choice against it")
    print("%-18s%6s%6s%7s%10s" % ("collective", "ranks", "size", "chunk", "slot size") + "".join(
        "%10s" % ("%d " % slots) for slots in grain.options.slots) + "%10s%9s" % ("own ", "loses"))
    ratios = {}
    for base in grain.bases:
        grid = grain.slot_grid(base)
        best = grain.best([base] + grid)
        for cell in grid:
            if grain.us(cell):
                ratios.setdefault((cell.slot_size, cell.slots), []).append(
                    grain.us(cell) / grain.us(base))
        for i, slot_size in enumerate(grain.options.slot_sizes):
            cells = [cell for cell in grid if cell.slot_size == slot_size]
            about = (base.collective + " " + ALGORITHMS[base.collective], base.ranks,
                     tables.size_text(base.size), chunk_text(base.chunk))
            print("%-18s%6s%6s%7s" % (("",) * 4 if i else about) +
                  "%10s" % tables.size_text(slot_size) + "".join(
                      "%10s" % (text_us(grain.us(cell)) + ("*" if cell == best else " "))
                      for cell in cells) + ("" if i else "%10s%8.1f%%" % (
                          text_us(grain.us(base)) + ("*" if base == best else " "),
                          100 * (grain.us(base) / grain.us(best) - 1))))
    print("# time / time of the transport's own choice, geometric mean over the above")
    for slot_size in grain.options.slot_sizes:
        line = ""
        for slots in grain.options.slots:
            known = ratios.get((slot_size, slots))
            line += "%10s" % ("%.2f " % math.exp(statistics.mean(map(math.log, known)))
                              if known else "- ")
        print("%47s%s" % (tables.size_text(slot_size), line))
    print(flush=True)


def print_streaming(grain):
    print("# streaming (--chunk %s) against whole messages (--chunk 0); in hops: times of whole "
          "messages between 2 ranks" % chunk_text(grain.standard))
    print("# model: a hop keeps both its ranks busy, so a rank that passes on takes 2; %d cores "
          "share the work of more ranks;" % grain.cores)
    print("# broadcast chain: whole p-1 hops, streamed at least 2; reduce binomial: ceil(log2 p), "
          "the root's; allreduce ring: 2(p-1)/p")
    print("%-20s%6s%6s%6s%12s%13s%8s%14s%8s%15s%8s" % (
        "collective", "link", "size", "ranks", "whole us", "streamed us", "gains", "whole, hops",
        "model", "streamed, hops", "model"))
    for row in grain.streaming_rows():
        print("%-20s%6s%6s%6d%12s%13s%7.1f%%%14.2f%8.2f%15.2f%8.2f" % (
            row["collective"] + " " + ALGORITHMS[row["collective"]], row["transport"],
            tables.size_text(row["size"]), row["ranks"], text_us(row["whole_us"]),
            text_us(row["streamed_us"]), 100 * (row["whole_us"] / row["streamed_us"] - 1),
            row["whole"], row["model"][0], row["streamed"], row["model"][1]))
    print(flush=True)


def main():
    options = options_read()
    programs.prepare()
    directory = tempfile.mkdtemp(prefix="grain-")
    grain = None
    try:
        grain = Grain(options, directory)
        grain.run()
    except programs.Unavailable as problem:
        sys.exit("grain: %s" % problem)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    bench.progress("%.0f s; all numbers are in %s" % (time.monotonic() - grain.begun,
                                                      os.path.relpath(options.json)))


if __name__ == "__main__":
    main()

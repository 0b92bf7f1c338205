#!/usr/bin/env python3
"""Compares cctest with MPI libraries and with the limits of the machine.

For every collective, size, number of ranks and transport: the time of an iteration of cctest, with
the fastest algorithm of an earlier run, divided by the time of the faster one of Open MPI and
MPICH. All programs have the same barrier, clock, kind of memory and bytes. They run in turn, round
after round; the result is the median of the medians of the rounds. All numbers go to a JSON file,
the tables to standard output.

While tuning, run one group:  bench.py --ranks 2 --transports shm --collectives allreduce --rounds 3
"""

import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

import argparse
import collections
import json
import os
import shlex
import shutil
import statistics
import tempfile
import time

import model
import programs
import tables

LEAST, MOST = 5, 2000   # timed iterations of a cell
SPINS_ALONE, SPINS_SHARED = 300, 1  # polls at a barrier before a rank yields its core
LIMITED_FROM = 8 << 20  # bytes; the limit of the machine is shown from this size on
LARGE_FROM = 64 << 20   # bytes; --large-rounds applies from this size on
SHARED_FROM = 64 << 20  # bytes; -m shared is compared with memory from this size on
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# Classes of the choosing run: largest size, iterations, warm-up, checked, repetitions.
CHOOSING = [(64 << 10, 100, 10, 1, 3), (2 << 20, 20, 3, 1, 2), (32 << 20, 5, 2, 0, 1),
            (1 << 62, 2, 1, 0, 1)]
CANDIDATES = 3  # algorithms of the last class: the best of the class before


def size_value(text):
    unit = UNITS.get(text[-1:].upper())
    value = int(text[:-1] if unit else text)
    if value < 0:
        raise ValueError
    return value * (unit or 1)


def listed(kind):
    def parse(text):
        try:
            return [kind(part) for part in text.split(",") if part]
        except ValueError:
            raise argparse.ArgumentTypeError("cannot read '%s'" % text)
    return parse


def options_read():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__.split(
        "\n\n", 1)[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--ranks", type=listed(int), default=[2, 4], metavar="N,...")
    add("--transports", type=listed(str), default=["shm", "tcp"], metavar="X,...")
    add("--collectives", type=listed(str), metavar="C,...", help="default: all that MPI has, too")
    add("--sizes", type=listed(size_value), metavar="SIZE,...",
        default=[8 << 2 * k for k in range(13)] + [256 << 20],
        help="bytes (8,32,...,128M,256M)")
    add("--start", type=listed(str), default=["barrier", "back-to-back"], metavar="MODE,...",
        help="how iterations begin: barrier,back-to-back")
    add("--back-to-back-most", type=size_value, default=2 << 20, metavar="SIZE",
        help="largest size that is run back to back (2M: beyond it the barrier does not matter)")
    add("--rounds", type=int, default=5, metavar="N")
    add("--large-rounds", type=int, default=3, metavar="N", help="rounds of 64M and more")
    add("--budget", type=float, default=0.06, metavar="SECONDS", help="time of a cell in a round")
    add("--peers", type=listed(str), default=["openmpi", "mpich"], metavar="P,...")
    add("--algorithm", metavar="A", help="cctest's algorithm, instead of the fastest")
    add("--cctest", default=os.path.join(programs.ROOT, "cctest"), metavar="PROGRAM")
    add("--cctest-arguments", type=shlex.split, default=[], metavar="TEXT",
        help="more options for cctest: '--chunk 256K'")
    add("--kernels", default=os.path.join(programs.ROOT, "build", "tests", "bench", "kernels"),
        metavar="PROGRAM", help="the program that measures reductions")
    add("--build", default=os.path.join(programs.ROOT, "build", "bench"), metavar="DIRECTORY")
    add("--json", metavar="FILE", help="for all numbers (BENCH_JSON, or bench.json in --build)")
    add("--skip-limits", action="store_true", help="do not measure the limits of the machine")
    add("--skip-kernels", action="store_true", help="no table of types and operations")
    add("--skip-peers", action="store_true", help="only limits and -m shared")
    add("--skip-shared", action="store_true", help="no table of -m shared")
    options = parser.parse_args()
    for name, least in (("ranks", 2), ("rounds", 1), ("large_rounds", 1)):
        value = getattr(options, name)
        if min(value if isinstance(value, list) else [value]) < least:
            parser.error("--%s: at least %d" % (name.replace("_", "-"), least))
    options.sizes = sorted(set(options.sizes))
    if not options.sizes or options.sizes[0] == 0:
        parser.error("--sizes: there has to be one, and none of 0 bytes")
    if options.json is None:
        options.json = os.environ.get("BENCH_JSON") or os.path.join(options.build, "bench.json")
    for name, known in (("transports", {"shm", "tcp"}), ("start", {"barrier", "back-to-back"}),
                        ("peers", {"openmpi", "mpich"})):
        unknown = set(getattr(options, name)) - known
        if unknown:
            parser.error("--%s: no '%s'; there are %s" % (name, min(unknown), ", ".join(
                sorted(known))))
    return options


def progress(text):
    print("bench: " + text, file=sys.stderr, flush=True)


# Result of the choosing run for a size: p50 of the fastest algorithm, its name, and the actual bytes.
Choice = collections.namedtuple("Choice", "us algorithm bytes")


class Bench:
    """One run of all programs."""

    def __init__(self, options, directory):
        self.options, self.directory = options, directory
        self.cpus = programs.cores()
        self.cctest = programs.Cctest(options.cctest, options.cctest_arguments)
        self.peers, self.absent = [], []
        for name in [] if options.skip_peers else options.peers:
            try:
                self.peers.append(programs.Peer(name, options.build, self.cpus))
            except programs.Unavailable as problem:
                self.absent.append(str(problem))
        known = [name for name in self.cctest.collectives
                 if not self.peers or any(name in peer.collectives for peer in self.peers)]
        self.collectives = options.collectives or known
        for name in self.collectives:
            if name not in self.cctest.collectives:
                raise programs.Unavailable("cctest has no collective '%s'" % name)
        # cctest rounds sizes up; a collective without data runs 0 bytes.
        self.sized = {name: name != "barrier" for name in self.collectives}
        self.absent += ["%s: peer.c has no %s" % (peer.name, name) for peer in self.peers
                        for name in self.collectives if name not in peer.collectives]
        self.limits_program = programs.Limits(options.build, self.cpus)
        self.limits, self.problems, self.cells, self.shared = {}, [], [], []
        self.kernels = []  # lines of its table
        self.model = model.Model(self.cctest)
        self.spent = {}  # seconds by activity

    def timed(self, what, function, *arguments):
        begun = time.monotonic()
        try:
            return function(*arguments)
        finally:
            self.spent[what] = self.spent.get(what, 0) + time.monotonic() - begun

    def trouble(self, program, outcome):
        """Reports a run that failed, and keeps it for the end."""
        text = "%s: %s: %s" % (program, outcome.status, outcome.message)
        self.problems.append(text)
        progress(text)

    # cctest.

    def arguments(self, collective, transport, ranks, start):
        arguments = ["--np", str(ranks), "-x", transport, "-m", "host", "--start", start]
        if collective in programs.IN_PLACE:
            arguments.append("--in-place")
        return arguments

    def choose_class(self, collective, base, sizes, algorithms, manner, found):
        """Runs one class of sizes: adds Choices to `found`, {size: {name: Choice}}."""
        _, iterations, warmup, checked, times = manner
        for group in programs.sweeps(sizes) * times:
            arguments = base + programs.sweep_arguments(group) + [
                "-a", ",".join(algorithms) if algorithms else "all", "-n", str(iterations), "-w",
                str(warmup), "-c", str(checked)]
            results, problem = self.cctest.measure(collective, arguments, 300, self.directory)
            if problem:
                self.trouble("cctest %s %s" % (collective, " ".join(arguments)), problem)
            for name in {result["algorithm"] for result in results}:
                mine = [one for one in results if one["algorithm"] == name]
                for size, result in zip(group, mine):
                    choices = found.setdefault(size, {})
                    choice = Choice(result["time_us"]["p50"], name, result["bytes"])
                    if not result["wrong"]:
                        choices[name] = min(choice, choices.get(name, choice))

    @staticmethod
    def candidates(choices):
        return [choice.algorithm for choice in sorted(choices.values())[:CANDIDATES]] or None

    def choose(self, collective, transport, ranks, start, sizes):
        """{size: Choice} of the fastest algorithms, from separate runs."""
        base = self.arguments(collective, transport, ranks, start)
        found, least = {}, -1
        algorithms = [self.options.algorithm] if self.options.algorithm else None
        for manner in CHOOSING:
            now = [size for size in sizes if least < size <= manner[0]]
            least = manner[0]
            if not now:
                continue
            if manner is CHOOSING[-1] and found and not algorithms:
                algorithms = self.candidates(found[max(found)])
            self.choose_class(collective, base, now, algorithms, manner, found)
        return {size: min(choices.values()) for size, choices in found.items() if choices}

    def iterations(self, us):
        """Timed and warm-up iterations of a cell whose iteration takes `us`."""
        wanted = int(self.options.budget * 1e6 / max(us, 1e-3))
        return max(LEAST, min(MOST, wanted)), max(1, min(256, wanted // 8))

    def cctest_groups(self, choice):
        """Groups neighbouring sizes of one algorithm: [([sizes], algorithm, n, w)]."""
        groups = []
        for size in sorted(choice):
            algorithm = choice[size].algorithm
            n, w = self.iterations(choice[size].us)
            if groups:
                sizes, other, least, warmup = groups[-1]
                if other == algorithm and least <= 2 * n and len(
                        programs.sweeps(sizes + [size])) == 1:
                    groups[-1] = (sizes + [size], algorithm, min(n, least), min(w, warmup))
                    continue
            groups.append(([size], algorithm, n, w))
        return groups

    def cctest_round(self, collective, transport, ranks, start, choice, given_up):
        """{size: time_us} of one round; failures are noted in `given_up`."""
        times = {}
        for sizes, algorithm, n, w in self.cctest_groups(choice):
            arguments = self.arguments(collective, transport, ranks, start) + [
                "-a", algorithm, "-n", str(n), "-w", str(w), "-c", "0"
            ] + programs.sweep_arguments(sizes)
            silence = 30 + sum(100 * choice[size].us * 1e-6 + 3 * self.options.budget
                               for size in sizes)
            results, problem = self.cctest.measure(collective, arguments, silence, self.directory)
            if problem:
                self.trouble("cctest %s %s" % (collective, " ".join(arguments)), problem)
            for size, result in zip(sizes, results):
                times[size] = dict(result["time_us"], iterations=n)
            for size in sizes[len(results):]:
                given_up.setdefault(size, []).append(problem.status if problem else "failed")
        return times

    # Peers.

    def peer_round(self, peer, collective, transport, ranks, wanted, expected, given_up):
        """{(size, start): time_us} of one round. `wanted` is {size: (bytes, starts)}. A size at
        which the program hangs is noted in `given_up`, and the program started again for those
        behind it."""
        spins = SPINS_ALONE if ranks <= len(self.cpus) else SPINS_SHARED
        silence = 30 + 3 * self.options.budget + 30 * expected * 1e-6
        # By the actual bytes; whole blocks can make them more than the size.
        most = max((run for run, starts in wanted.values() if "back-to-back" in starts), default=0)
        options = ["--budget", str(self.options.budget), "--spins", str(spins), "--least",
                   str(LEAST), "--most", str(MOST), "--back-to-back-most", str(most)]
        for start in self.options.start:
            options += ["--start", start]
        times = {}
        left = [size for size in sorted(wanted) if len(given_up.get(size, [])) < 2]
        while left:
            cells, problem = peer.measure(transport, ranks, collective,
                                          [wanted[size][0] for size in left], options, silence,
                                          self.directory)
            done = 0
            for size in left:
                bytes_run, starts = wanted[size]
                got = {start: cells.get((bytes_run, start)) for start in starts}
                for start, cell in got.items():
                    if cell:
                        times[size, start] = dict(cell["time_us"], iterations=cell["iterations"])
                if None in got.values():
                    break
                done += 1
            if not problem and done == len(left):
                break
            problem = problem or programs.Outcome([], "failed", "did not run the bytes asked for")
            self.trouble("%s %s, %d ranks, %s, %s" % (
                peer.name, collective, ranks, transport,
                "at the end" if done == len(left) else "%d bytes" % left[done]), problem)
            if done == len(left):
                break
            given_up.setdefault(left[done], []).append(problem.status)
            left = left[done + 1:]
        return times

    # One collective over one transport: all programs in turn.

    def measure(self, collective, transport, ranks):
        options = self.options
        sizes = options.sizes if self.sized[collective] else [0]
        starts_of = {size: [start for start in options.start if start == "barrier" or
                            size <= options.back_to_back_most] for size in sizes}
        choices = {start: self.timed("choosing", self.choose, collective, transport, ranks, start,
                                     [size for size in sizes if start in starts_of[size]])
                   for start in options.start}
        wanted = {}  # for the peers: the sizes that cctest ran
        for size in sizes:
            runs = {start: choices[start][size].bytes for start in starts_of[size]
                    if size in choices[start]}
            if runs:
                wanted[size] = (next(iter(runs.values())), starts_of[size])
        expected = max((choice.us for start in options.start for choice in choices[start].values()),
                       default=0)
        peers = [peer for peer in self.peers if collective in peer.collectives]
        rounds = {}  # (program, size, start): {round: time_us}
        given_up = {name: {} for name in ["cctest"] + [peer.name for peer in peers]}
        for number in range(options.rounds):
            now = [size for size in wanted if size < LARGE_FROM or number < options.large_rounds]
            # Programs take turns at being the first.
            order = [None] + peers
            for peer in order[number % len(order):] + order[:number % len(order)]:
                if peer:
                    times = self.timed(peer.name, self.peer_round, peer, collective, transport,
                                       ranks, {size: wanted[size] for size in now}, expected,
                                       given_up[peer.name])
                    for (size, start), time_us in times.items():
                        rounds.setdefault((peer.name, size, start), {})[number] = time_us
                    continue
                for start in options.start:
                    choice = {size: choices[start][size] for size in now if size in choices[start]}
                    times = self.timed("cctest", self.cctest_round, collective, transport, ranks,
                                       start, choice, given_up["cctest"])
                    for size, time_us in times.items():
                        rounds.setdefault(("cctest", size, start), {})[number] = time_us
        for start in options.start:
            for size in sizes:
                if start in starts_of[size]:
                    cell = {"collective": collective, "transport": transport, "ranks": ranks,
                            "start": start, "size": size}
                    self.cells.append(self.cell(cell, choices[start].get(size), rounds, given_up))

    def cell(self, cell, choice, rounds, given_up):
        """Completes a cell with the measurements."""
        size, start, ranks = cell["size"], cell["start"], cell["ranks"]
        cell["programs"] = {}
        for name, bad_sizes in given_up.items():
            got = rounds.get((name, size, start), {})
            bad = bad_sizes.get(size, [])
            about = {"status": bad[0] if bad else "ok" if got else "failed", "rounds": got}
            if got:
                about["us"] = statistics.median(one["p50"] for one in got.values())
            cell["programs"][name] = about
        if choice:
            cell.update(bytes=choice.bytes, algorithm=choice.algorithm, choosing_us=choice.us)
        ratios = sorted(self.round_ratios(cell["programs"]))
        if ratios:
            cell.update(ratio=statistics.median(ratios), ratios=ratios)
        if choice and size >= LIMITED_FROM and self.limits.get(ranks):
            cell["limit_us"] = self.model.limit(self.limits[ranks], cell["collective"],
                                                cell["transport"], ranks, choice.bytes)
        return cell

    @staticmethod
    def round_ratios(about):
        """For each round: the time of cctest / the time of the faster MPI. A slow phase of the
        machine affects both times of a round; a ratio of medians would not cancel it."""
        for number, mine in about["cctest"]["rounds"].items():
            others = [program["rounds"][number]["p50"] for name, program in about.items()
                      if name != "cctest" and number in program["rounds"]]
            if others:
                yield mine["p50"] / min(others)

    # Every type and operation beside memory's bandwidth.

    def measure_kernels(self):
        outcome = programs.run([self.options.kernels, "--shares"], 300, self.directory)
        if outcome.status != "ok":
            self.trouble("kernels", outcome)
        self.kernels = outcome.lines
        print("\n".join(outcome.lines) + "\n", flush=True)

    # -m shared beside memory's bandwidth.

    def measure_shared(self, ranks):
        """The best algorithm of each collective, and plain memory, in turn."""
        sizes = [size for size in self.options.sizes if size >= SHARED_FROM] or [SHARED_FROM]
        sizes = [size for size in (64 << 20, 256 << 20) if size <= max(sizes)]
        base = ["--np", str(ranks), "-x", "shm", "-m", "shared", "--copy", "auto"]
        choices, rounds, memory = {}, {}, []
        for name in self.collectives:
            found, algorithms = {}, None
            for size in sizes if self.sized[name] else []:
                self.choose_class(name, base, [size], algorithms, CHOOSING[-1], found)
                algorithms = self.candidates(found.get(size, {}))
            for size in found:
                if found[size]:
                    choices[name, size] = min(found[size].values())
        for _ in range(self.options.rounds):
            memory.append(self.limits_program.measure(ranks, self.directory, 1, ["memory"]))
            for (name, size), choice in choices.items():
                n, w = self.iterations(choice.us)
                results, problem = self.cctest.measure(name, base + [
                    "-a", choice.algorithm, "-n", str(n), "-w", str(w), "-c", "0", "-b", str(size),
                    "-e", str(size)], 60 + 100 * choice.us * 1e-6, self.directory)
                if problem:
                    self.trouble("cctest %s -m shared" % name, problem)
                rounds.setdefault((name, size), []).extend(one["time_us"] for one in results)
        limits = model.memory_limits(memory)
        for (name, size), got in rounds.items():
            if got and limits:
                self.shared.append(self.shared_line(name, ranks, size, choices[name, size], got,
                                                    limits))

    def shared_line(self, name, ranks, size, choice, rounds, limits):
        limit, copied, reduced = self.model.shared_limit(limits, name, choice.algorithm, ranks,
                                                         choice.bytes)
        medians = [one["p50"] for one in rounds]
        middle = statistics.median(medians)
        return {"collective": name, "ranks": ranks, "size": size, "bytes": choice.bytes,
                "algorithm": choice.algorithm, "copied": copied, "reduced": reduced,
                "limits": limits, "limit_us": limit, "us": middle,
                "spread": (max(medians) - min(medians)) / middle, "share": limit / middle,
                "rounds": rounds}

    # All.

    def write(self, status):
        options = self.options
        document = {
            "schema": 1, "status": status,
            "machine": tables.machine(self.cpus),
            "versions": dict([("cctest", self.cctest.version())] +
                             [(peer.name, peer.version()) for peer in self.peers]),
            "absent": self.absent, "environment": programs.peer_environment(),
            "options": {name: getattr(options, name) for name in (
                "ranks", "transports", "sizes", "start", "back_to_back_most", "rounds",
                "large_rounds", "budget", "algorithm", "cctest_arguments")},
            "limits": {str(ranks): limits for ranks, limits in self.limits.items()},
            "kernels": self.kernels, "cells": self.cells, "shared": self.shared, "problems": self.problems,
            "seconds": {what: round(seconds, 1) for what, seconds in self.spent.items()},
        }
        with open(options.json + ".new", "w") as file:
            json.dump(document, file, indent=1)
        os.replace(options.json + ".new", options.json)
        return document

    def run(self):
        options = self.options
        tables.print_head(self.write("running"))
        for ranks in [] if options.skip_limits else options.ranks:
            progress("limits of the machine, %d ranks" % ranks)
            self.limits[ranks] = self.timed("limits", self.limits_program.measure, ranks,
                                            self.directory)
            tables.print_limits(self.limits[ranks])
        if not options.skip_kernels:
            progress("reductions of every type")
            self.timed("kernels", self.measure_kernels)
        for transport in [] if options.skip_peers else options.transports:
            for ranks in options.ranks:
                begun = len(self.cells)
                for collective in self.collectives:
                    progress("%s, %d ranks, %s" % (transport, ranks, collective))
                    self.measure(collective, transport, ranks)
                    self.write("running")
                tables.print_group(self.cells[begun:])
        for ranks in [] if options.skip_shared else options.ranks:
            progress("-m shared, %d ranks" % ranks)
            self.timed("shared", self.measure_shared, ranks)
        tables.print_shared(self.shared)
        tables.print_end(self.write("ok"))
        if not self.shared and not any("ratio" in cell for cell in self.cells) and (
                not options.skip_peers or not options.skip_shared):
            raise programs.Unavailable("nothing could be compared")


def main():
    options = options_read()
    programs.prepare()
    os.makedirs(options.build, exist_ok=True)
    if not os.access(os.path.dirname(os.path.abspath(options.json)), os.W_OK):
        sys.exit("bench: --json %s: its directory cannot be written to" % options.json)
    # Short, because some libraries make sockets there, and names of sockets are limited.
    directory = tempfile.mkdtemp(prefix="bench-")
    begun = time.monotonic()
    try:
        Bench(options, directory).run()
    except programs.Unavailable as problem:
        sys.exit("bench: %s" % problem)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    progress("%.0f s; all numbers are in %s" % (time.monotonic() - begun, options.json))


if __name__ == "__main__":
    main()

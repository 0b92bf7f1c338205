"""compare.py - compares the schedules of `cctest plan` with the definitions.

usage: compare.py CCTEST FOLDER: prints what differs, and how much was compared; exit status 1 if anything differs. The plans
are left in FOLDER.
"""
import collections
import itertools
import json
import subprocess
import sys

import algorithms
import exchanges
import groups
from rounds import DEFINITIONS

GRAIN = 46080  # elements of a block, or of a rank's part of a vector: all that an algorithm divides by divides it
RANKS = (2, 3, 4, 5, 6, 7, 8, 13)
MANY = (16, 300, 513, 1000)  # of the algorithms that are quick for many
SHAPES = ((2, 2), (2, 3), (3, 2), (4, 3), (16, 1), (2, 8))  # groups, and ranks of each
ROOTED = ("broadcast", "reduce", "gather", "scatter")
assert algorithms and exchanges and groups  # each has added its own


def wanted(part, rank):
    """Of one rank: (round, peer, elements) of what it sends, in order, and of what it receives, in any."""
    sends = [(step, d, n) for step, messages in enumerate(part) for s, d, n in messages if s == rank and n > 0]
    receives = sorted((step, s, n) for step, messages in enumerate(part) for s, d, n in messages if d == rank and n > 0)
    return sends, receives


def found(schedule):
    sends, receives = [], []
    for o in schedule["operations"]:
        if "peer" in o:
            (sends if o["kind"] == "send" else receives).append((o["step"], o["peer"], o["length"]))
    return sorted(sends, key=lambda m: m[0]), sorted(receives)


def fences_differ(schedule, each, parts):
    """Rounds are apart by a fence, each of them or so many together; or none are, in any of so many parts."""
    travels = [o for o in schedule["operations"] if "peer" in o]
    if not each:
        epochs = len({o["epoch"] for o in travels})
        return f"{epochs} epochs in {parts} parts" if epochs > parts else None
    for a, b in zip(travels, travels[1:]):
        apart = a["epoch"] != b["epoch"]
        if apart != (a["step"] // each != b["step"] // each):
            return f"rounds {a['step']} and {b['step']} are{'' if apart else ' not'} apart by a fence"
    return None


def schedule_differs(schedule, part, more, options):
    fences, lanes = more.get("fences"), more.get("lanes", 1)
    each = fences(schedule["rank"]) if callable(fences) else options.get(fences, fences)
    lanes = options.get(lanes, lanes)
    for way, want, have in zip(("sends", "receives"), wanted(part, schedule["rank"]), found(schedule)):
        if want != have:
            at = next(i for i, (w, h) in enumerate(itertools.zip_longest(want, have)) if w != h)
            return f"{way} (round, peer, elements) {have[at:at + 4]} in place of {want[at:at + 4]}"
    if schedule["lanes"] != lanes:
        return f"{schedule['lanes']} lanes in place of {lanes}"
    return fences_differ(schedule, each, more.get("parts", lanes))


class Comparison:
    def __init__(self, program, folder):
        self.program, self.folder, self.number = program, folder, itertools.count()
        self.sentences, self.counted, self.parts = [], collections.Counter(), {}

    def plans(self, collective, algorithms, p, *words):
        problem = ["--np", str(p), "-d", "int8", "-b", str(p * GRAIN), *words]
        got = subprocess.run([self.program, "plan", collective, "-a", algorithms, *problem, "--json", "-"],
                             capture_output=True, text=True, check=True)
        with open(f"{self.folder}/{next(self.number)}", "w", encoding="utf-8") as file:
            file.write(got.stdout)
        return json.loads(got.stdout)["plans"]

    def compare(self, plan, shape):
        collective, name, p, root = (plan[key] for key in ("collective", "algorithm", "ranks", "root"))
        known = [of for of in (collective, collective.removesuffix("v")) if (of, name, bool(shape)) in DEFINITIONS]
        if not known:
            self.sentences.append(f"{collective} {name} has no definition")
            return
        function, more = DEFINITIONS[known[0], name, bool(shape)]
        # Definitions have rings of ranks by number; order=auto, where a topology is known, only renames the ranks.
        options = {key: value for key, value in plan["algorithm_options"].items() if key != "order"}
        of_root = {"root": root} if collective in ROOTED else {}
        key = collective, name, p, root, shape
        if key not in self.parts:
            self.parts[key] = function(*(shape or [p]), plan["count"], **of_root, **options)
        part = self.parts[key]
        for schedule in plan["schedules"]:
            self.counted[collective, name, bool(shape)] += 1
            differs = schedule_differs(schedule, part, more, options)
            if differs:
                size = f" in groups of {shape[1]}" if shape else ""
                where = f"{p} ranks{size}, root {root}, rank {schedule['rank']}"
                self.sentences.append(f"{collective} {name}, {where}: {differs}")
                break

    def all_of(self, collective, p, shape=None):
        names = [name for of, name, grouped in DEFINITIONS if of == collective and grouped]
        words = ["--shape", f"{shape[0]}x{shape[1]}"] if shape else []
        words += ["--counts", "uniform"] if collective == "alltoallv" else []
        for root in sorted({0, p // 2}) if collective in ROOTED else [0]:
            if names or not shape:
                for plan in self.plans(collective, ",".join(names) if shape else "all", p, "-r", str(root), *words):
                    self.compare(plan, shape)

    def many(self, collective, p):
        names = [name for (of, name, _), (_, more) in DEFINITIONS.items() if of == collective and more.get("large")]
        for rank in (0, p // 3, p - 1) if names else ():
            for plan in self.plans(collective, ",".join(names), p, "--rank", str(rank)):
                self.compare(plan, None)


def main(program, folder):
    comparison = Comparison(program, folder)
    for collective in sorted({collective for collective, _, _ in DEFINITIONS}):
        for p in RANKS:
            comparison.all_of(collective, p)
        for shape in SHAPES:
            comparison.all_of(collective, shape[0] * shape[1], shape)
        for p in MANY:
            comparison.many(collective, p)
    comparison.sentences += [f"{key} is compared with nothing" for key in set(DEFINITIONS) - set(comparison.counted)]
    print(*comparison.sentences, sep="\n", end="\n" * bool(comparison.sentences))
    print(f"coverage: {len(comparison.counted)} definitions compared with {sum(comparison.counted.values())} schedules")
    return 1 if comparison.sentences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

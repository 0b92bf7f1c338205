#!/usr/bin/env python3
"""Runs algorithms of all collectives with their options, in few jobs, and checks what they met.

usage: matrix.py catalogue|basis FOLDER ROWS TRANSPORT...

A plan for a collective is a list of jobs, each with one value of every option below. A job runs several algorithms, because
starting takes longer than running. FOLDER is for files of lengths.

catalogue   Each algorithm runs with each value of each option. Each two values of two different options meet in a job of each
            collective. Each type with its operator runs with each collective that combines, and meets each value of the
            options in a job of some collective, as each number of ranks does.
basis       All algorithms of ROWS ("collective algorithm,algorithm...", one a line) run with each value of each option. Each type
            with its operator runs with some collective that combines.

After the jobs, this guarantee is read from the values that they were given and from the CSV of what ran: "no run: ..." is a failure.
"""
import concurrent.futures
import csv
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

CCTEST = os.environ["CCTEST"]
WORKERS = 2
PARTS = 3  # into which the algorithms of a collective are dealt

# Every type and every operator.
KINDS = ["-d float -o sum", "-d double -o prod", "-d float16 -o avg", "-d bfloat16 -o sum", "-d float8_e4m3 -o max",
         "-d float8_e5m2 -o sum", "-d int8 -o land", "-d int16 -o avg", "-d int32 -o bxor", "-d int64 -o band", "-d uint8 -o lor",
         "-d uint16 -o prod", "-d uint32 -o lxor", "-d uint64 -o bor", "-d float_int32 -o maxloc", "-d int32_int32 -o minloc",
         "-d double_int64 -o minloc", "-d int64_int64 -o maxloc", "-d float -o min"]
# Empty; less than an element a block; odd; does not divide; several slots; large enough for zcopy.
SIZES = ["-b 0 -e 0", "-b 1 -e 1", "-b 8 -e 40 -i 16", "-b 1000 -e 3001 -i 2001", "-b 32K -e 99999 -i 67231", "-b 300001 -e 300001",
         "-b 1M -e 1M"]
PAIRED = {
    "size": SIZES,
    "way": ["--copy auto", "--copy bcopy", "--copy zcopy", "--copy ll"],
    "memory": ["-m host", "-m shared"],
    "chunk": ["", "--chunk 0", "--chunk 64", "--chunk 5000"],
    "channels": ["--channels 1", "--channels 2", "--channels 3", "--channels 5"],
    "start": ["--start barrier", "--start back-to-back"],
    "place": ["", "--in-place"],
}
ROOTS = ["-r 0", "-r all", "-r LAST", "-r MIDDLE"]
LENGTHS = ["--counts spread", "--counts zipf:1.2", "--counts FILE", "--counts hot:0.7", "--counts uniform", "--counts hot:1"]
# Groups of 2 to 8 ranks; the first ones suit algorithms that want powers of two.
SHAPES = ["2x1", "2x2", "2x4", "3x1", "5x1", "3x2", "7x1"]
UNEVEN = ["1+1", "1+2", "3+1", "2+3", "1+2+3", "4+3", "1+5+2"]

SPECIAL = """\
allreduce -a ring --np 32 -b 4000 -e 4000
alltoall -a bruck:radix=3 --np 32 -b 4000 -e 4000 -x tcp
alltoall -a bruck:radix=5 --np 13 -b 40000 -e 40000 --channels 2
alltoall -a fullmesh:concurrency=4 --np 9 -b 40000 -e 40000
alltoall -a scattered:concurrency=3 --np 8 -b 40000 -e 40000
barrier -a dissemination:radix=4 --np 11
allreduce -a all --np 6 --shape 2x3 -b 1000 -e 9000
broadcast -a all --np 5 --shape 1x5 -b 1000 -e 9000 -r all
allreduce -x shm,tcp --np 3 -b 4000 -e 4000
allreduce -d float8_e4m3 --np 12 -b 4000 -e 4000
reduce_scatter -d float8_e5m2 -o avg --np 9 -b 40000 -e 40000
reduce -d float_int32 -o maxloc -r all --np 5 -b 40000 -e 40000
allreduce --np 6 --shape 3x2 -b 8 -e 1M -f 32
reduce -a auto,linear --np 5 -b 8 -e 1M -f 32 -r all
alltoallv -a auto --np 8 --shape 2x4 -b 0 -e 1M -i 300000
allgatherv -a auto --np 7 --counts zipf:2 -b 8 -e 4M -f 64
allreduce -a hier:intra=nhr:inter=recexch:inter.radix=3:groups=2 --np 12 -b 40000 -e 40000
allreduce -a ahc:inter=nb:groups=1+4+2 --np 7 -b 40000 -e 40000 --channels 2""".splitlines()


def collectives():
    listed = json.loads(subprocess.run([CCTEST, "list", "--json", "-"], check=True, capture_output=True).stdout)
    for c in listed["collectives"]:
        c["own"] = {a["name"]: a["ranks"] for a in c["algorithms"] if not a["vendor"]}
        yield c


def ranks_of(shape):
    nodes, each = shape.split("x")
    return int(nodes) * int(each)


def refuses(ranks, np):
    """Does an algorithm that `cctest list` says `ranks` of refuse np ranks?"""
    rules = {"any": False, "groups": False, "equal groups": False, "2 or more": np < 2, "powers of 2": np & (np - 1) != 0,
             "even": np % 2 != 0, "1 and even": np > 1 and np % 2 != 0, "not 2": np == 2}
    return rules[ranks]  # a KeyError: no run is planned for these ranks


def paired(transport):
    """Only shm has the way ll."""
    return dict(PAIRED, way=[way for way in PAIRED["way"] if transport == "shm" or way != "--copy ll"])


def options_of(collective, transport):
    """{option: its values} whose values meet pairwise."""
    options = paired(transport)
    if collective["name"] == "barrier":  # which has no size
        del options["size"]
    if collective["rooted"]:
        options["root"] = ROOTS
    if collective["counted"]:
        options["lengths"] = LENGTHS
    return options


def facts_of(row):
    """The values that the words of a job have: a file of lengths determines the size."""
    return {o: v for o, v in row.items() if o != "size" or row.get("lengths") != "--counts FILE"}


def pairs_of(row):
    return {frozenset(pair) for pair in itertools.combinations(facts_of(row).items(), 2)}


def values_of(row):
    return {frozenset([item]) for item in facts_of(row).items()}


def all_pairs(options):
    for a, b in itertools.combinations(options, 2):
        for x, y in itertools.product(options[a], options[b]):
            if len(facts_of({a: x, b: y})) == 2:
                yield frozenset([(a, x), (b, y)])


def plan(options, pairwise, chance):
    """Rows with all pairs of values, or with all values."""
    missing = set(all_pairs(options)) if pairwise else {frozenset([(o, v)]) for o in options for v in options[o]}

    met = pairs_of if pairwise else values_of

    def gain(row):
        return len(met(row) & missing)

    while missing:
        best, first = None, min(missing, key=sorted)
        for _ in range(60):
            row = {o: chance.choice(options[o]) for o in options}
            row.update(dict(first))
            if first <= set(facts_of(row).items()) and (best is None or gain(row) > gain(best)):
                best = row
        for o in options:  # each value in turn, where another one meets more
            for v in options[o]:
                other = dict(best, **{o: v})
                if first <= set(facts_of(other).items()) and gain(other) > gain(best):
                    best = other
        missing -= met(best)
        yield best


def write_lengths(folder, collective, np):
    """A number for each rank, or for each pair; some are 0."""
    path = "%s/%s.%d" % (folder, collective, np)
    with open(path, "w") as file:
        for row in range(np if collective == "alltoallv" else 1):
            print(*((row * 7 + 977 * i) % (977 * np) for i in range(np)), file=file)
    return path


def words_of(row, collective, np, folder):
    words = []
    for option, value in facts_of(row).items():
        if option == "lengths" and value.endswith("FILE"):
            value = value.replace("FILE", write_lengths(folder, collective, np))
        words += value.replace("LAST", str(np - 1)).replace("MIDDLE", str(np // 2)).split()
    return words


class Job:
    def __init__(self, collective, algorithms, words, facts=None, status=0):
        self.words = [collective, "-a", algorithms] + words if algorithms else [collective] + words
        self.facts = facts    # of the row: {option: value}, with transport and shape; None: it is none of a plan
        self.status = status
        self.ran, self.rows, self.wrong = set(), set(), None  # names; "collective algorithm"

    def run(self):
        with tempfile.NamedTemporaryFile("r", suffix=".csv") as table:
            command = [CCTEST] + self.words + "-n 2 -w 1 -c 2 --timeout 20 --csv".split() + [table.name]
            try:
                done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      timeout=120, text=True, errors="replace")
                output, status = done.stdout, done.returncode
            except subprocess.TimeoutExpired:
                output, status = "", 124
            rows = list(csv.DictReader(table))
        said = status or "\n# status: ok" in output
        if status != self.status or not said:
            tail = [line for line in output.splitlines() if not line.startswith("#")][-8:]
            self.wrong = "\n    ".join(["exit status %d, not %d: %s" % (status, self.status, " ".join(command[:-2]))] + tail)
        for row in rows:
            if row["wrong"] != "0" or row["checked"] == "0":
                self.wrong = "not checked, or wrong: %s: %s" % (" ".join(command), row)
            self.ran.add(row["algorithm"])
            self.rows.add((row["collective"], row["algorithm"].split(":")[0]))


class Needs:
    """What the algorithms of a collective have not met yet, and what types and shapes have not, over all collectives."""

    def __init__(self, collective, options, shared):
        self.own, self.shared = collective["own"], shared
        self.values = {a: {(o, v) for o in options for v in options[o]} for a in self.own}
        self.kinds = list(KINDS) if collective["reduces"] else []

    def take(self, row, chance):
        """The shape, the type and the algorithms with which a row meets most."""
        items = set(facts_of(row).items())

        def served(shape):
            np = ranks_of(shape)
            wanting = sorted((a for a in self.own if not refuses(self.own[a], np)), key=lambda a: -len(self.values[a] & items))
            return wanting[:max(1, (len(self.own) + PARTS - 1) // PARTS)]

        def gain(shape):
            return sum(len(self.values[a] & items) for a in served(shape)) + len(self.shared.get(shape, set()) & items)

        shape = max(chance.sample(SHAPES, len(SHAPES)), key=gain)
        kind = max(chance.sample(KINDS, len(KINDS)), key=lambda k: len(self.shared[k] & items) + 100 * (k in self.kinds))
        names = served(shape)
        for a in names:
            self.values[a] -= items
        for own in (shape, kind):
            self.shared[own] -= items
        if kind in self.kinds:
            self.kinds.remove(kind)
        return shape, kind, names

    def left(self):
        """A value that an algorithm has not met."""
        return next(((a, item) for a in self.own for item in sorted(self.values[a])), None)


def catalogue_jobs(collective, transport, folder, shared, chance):
    name, own = collective["name"], collective["own"]
    options = options_of(collective, transport)
    rows = list(plan(options, True, chance))
    needs = Needs(collective, options, shared)

    def job_of(row):
        shape, kind, names = needs.take(row, chance)
        np = ranks_of(shape)
        words = ["-x", transport, "--np", str(np), "--shape", shape] + words_of(row, name, np, folder) + kind.split()
        return Job(name, ",".join(names), words, dict(facts_of(row), transport=transport, shape=shape, kind=kind))

    done = [job_of(row) for row in rows]
    while needs.left() or needs.kinds:
        item = needs.left()[1] if needs.left() else None
        row = {o: chance.choice(options[o]) for o in options}
        row.update([item] if item else [])
        done.append(job_of(row))
    unequal = [a for a in own if own[a] == "groups"]
    for i, sizes in enumerate(UNEVEN if unequal else []):
        np = sum(map(int, sizes.split("+")))
        words = ["-x", transport, "--np", str(np)] + words_of(rows[i * 5 % len(rows)], name, np, folder)
        done.append(Job(name, ",".join("%s:groups=%s" % (a, sizes) for a in unequal), words))
    return done


def other_jobs(plans):
    """One rank; many more ranks than cores; ranks as threads; what is refused."""
    sizes = "-b 4000 -e 20000 -i 16000".split()
    moving = ",".join(c["name"] for c in plans if c["name"] != "barrier")
    yield Job("all", "all", ["--np", "1"] + sizes)
    yield Job("allreduce,alltoall,broadcast,gatherv,reduce_scatterv", "all", "--np 16 --shape 4x4 --start back-to-back".split() + sizes)
    yield Job("all", "all", "--np 6 --shape 3x2 --ranks-as threads --channels 2".split() + sizes)
    yield Job(moving, "all", "--np 4 --shape 2x2 --ranks-as threads -x tcp -m shared".split() + sizes)
    for collective in plans:
        for algorithm, ranks in collective["own"].items():
            for np in (1, 2, 3, 6):
                if refuses(ranks, np):
                    yield Job(collective["name"], algorithm, ["--np", str(np)] + sizes, status=2)


def basis_jobs(collective, algorithms, transport, folder, kinds, chance):
    name = collective["name"]
    shapes = itertools.cycle(chance.sample(SHAPES, len(SHAPES)))
    for row in plan(options_of(collective, transport), False, chance):
        shape, kind = next(shapes), next(kinds) if collective["reduces"] else chance.choice(KINDS)
        words = ["-x", transport, "--np", str(ranks_of(shape)), "--shape", shape]
        words += words_of(row, name, ranks_of(shape), folder) + kind.split()
        yield Job(name, algorithms, words, dict(facts_of(row), transport=transport, shape=shape, kind=kind))


def gaps(collective, jobs, transport):
    """What an algorithm or a collective has not met. It counts what ran."""
    met, pairs, kinds = {}, set(), set()
    for job in jobs:
        if job.facts and job.facts["transport"] == transport and job.words[0] == collective["name"] and job.ran:
            facts = {o: v for o, v in job.facts.items() if o not in ("transport", "shape", "kind")}
            pairs |= pairs_of(facts)
            kinds.add(job.facts["kind"])
            for algorithm in job.ran:
                met.setdefault(algorithm, set()).update(facts.items())
    options = options_of(collective, transport)
    for pair in sorted(map(sorted, set(all_pairs(options)) - pairs)):
        yield "no run: %s over %s: %s" % (collective["name"], transport, pair)
    for kind in set(KINDS) - kinds if collective["reduces"] else ():
        yield "no run: %s over %s: %s" % (collective["name"], transport, kind)
    for algorithm in collective["own"]:
        for item in sorted({(o, v) for o in options for v in options[o]} - met.get(algorithm, set())):
            yield "no run: %s %s over %s: %s %s" % (collective["name"], algorithm, transport, *item)


def gaps_basis(collective, algorithms, jobs, transport):
    """The jobs of a collective have each value, and each has run all of the algorithms."""
    own = [job for job in jobs if job.facts["transport"] == transport and job.words[0] == collective["name"]]
    for job in own:
        if len(job.ran) < (len(algorithms.split(",")) if algorithms != "all" else 1):
            yield "no run of %s: %s" % (sorted(job.ran), " ".join(job.words))
    for option, values in options_of(collective, transport).items():
        for value in values:
            if not any(job.facts.get(option) == value for job in own):
                yield "no run: %s over %s: %s" % (collective["name"], transport, value)


def gaps_kinds(jobs, transport):
    """Types, operators and shapes meet every value of each option, over all collectives."""
    met = set()
    for job in jobs:
        if job.facts and job.facts["transport"] == transport:
            for own in ("kind", "shape"):
                met |= {(job.facts[own], o, v) for o, v in job.facts.items() if o not in ("transport", own)}
    options = dict(paired(transport), root=ROOTS, lengths=LENGTHS)
    for own in KINDS + SHAPES:
        for option, values in options.items():
            for value in values:
                if (own, option, value) not in met:
                    yield "no run: %s with %s over %s" % (own, value, transport)


def main():
    what, folder, rows, links = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    basis = dict(line.split() for line in rows.splitlines() if line.strip() not in ("", "-"))
    jobs, plans = [], list(collectives())
    for transport in links:
        every = {(o, v) for o, values in dict(paired(transport), root=ROOTS, lengths=LENGTHS).items() for v in values}
        shared, kinds = {own: set(every) for own in KINDS + SHAPES}, itertools.cycle(KINDS)
        for collective in plans:
            chance = random.Random("%s %s" % (collective["name"], transport))
            if what == "catalogue":
                jobs += catalogue_jobs(collective, transport, folder, shared, chance)
            else:
                jobs += basis_jobs(collective, basis[collective["name"]], transport, folder, kinds, chance)
    jobs += other_jobs(plans) if what == "catalogue" else []
    for line in SPECIAL if what == "catalogue" else []:
        words = line.split()
        jobs.append(Job(words[0], None, words[1:]))
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("WORKERS", WORKERS))) as pool:
        list(pool.map(Job.run, jobs))
    wrong = [job.wrong for job in jobs if job.wrong]
    reducing = {c["name"]: c["reduces"] for c in plans}
    for transport in links:
        for collective in plans:
            if what == "catalogue":
                wrong += gaps(collective, jobs, transport)
            else:
                wrong += gaps_basis(collective, basis[collective["name"]], jobs, transport)
        if what == "catalogue":
            wrong += gaps_kinds(jobs, transport)
        else:
            seen = {job.facts["kind"] for job in jobs if job.facts["transport"] == transport and reducing[job.words[0]]}
            wrong += ["no run: %s over %s" % (kind, transport) for kind in KINDS if kind not in seen]
    print(*wrong[:60], sep="\n", end="\n" if wrong else "")
    print("coverage: %d algorithms over %s, %d runs in %d jobs, %d refused as expected, %d wrong" % (
        len(set().union(*(job.rows for job in jobs))), ", ".join(links), sum(len(job.rows) for job in jobs), len(jobs),
        sum(job.status == 2 and not job.wrong for job in jobs), len(wrong)))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

"""scores.py - judges runs of accept.py, and makes a table of them.

A run is right if all faults of it are named by what applies to them, and no innocent is: its result is a dictionary, a line of
JSON in the campaign's log, and several logs make one table.
"""
import collections
import json
import math
import statistics

import findings

SURE = 1.96 # standard deviations: intervals of 95%
COLUMNS = ("runs", "right", *findings.ASPECTS, "innocents", "median s")
ALL = {"faulty": "**all faulty**", "healthy": "**all healthy**"}


def judged(seeded, document, evidence, took, left, budget):
    """The result of a run: `seeded` faults, the JSON of it and all that it says, seconds, what it left behind."""
    guilty = {host for fault in seeded for host in fault.guilty()}
    innocents = [f"h{host}" for host in sorted(evidence.blamed() - guilty)]
    if evidence.blames_fleet() and not any(fault.of_fleet for fault in seeded):
        innocents.append(findings.NETWORK)
    faults = [{"kind": fault.kind, "title": fault.title(), "late": fault.late, **fault.score(evidence)} for fault in seeded]
    whole = any(fault.kills_root for fault in seeded) or \
        (document.get("status") not in (None, "running") and document["hosts"] != [])
    result = {"healthy": all(not fault.expected() for fault in seeded), "faults": faults, "innocents": innocents,
              "seconds": round(took, 1), "over": not whole or took > budget, "left": left, "status": document.get("status")}
    if result["healthy"] and whole and document["status"] != "ok" and not innocents:
        innocents.append(f"status {document['status']}")
    return {**result, "right": is_right(result)}


def is_right(result):
    aspects = (fault[aspect] for fault in result["faults"] if not fault["late"] for aspect in findings.ASPECTS)
    return all(aspect is not False for aspect in aspects) and not result["innocents"] and not result["over"] and \
        not result["left"]


def counts(result):
    """Whether it is in the table: a run whose fault came too late is not."""
    return not any(fault["late"] for fault in result["faults"])


def joined(paths):
    """The results in these logs, by seed and number; the last of a run counts."""
    results = {}
    for path in paths:
        with open(path, encoding="utf-8") as log:
            for line in log:
                result = json.loads(line)
                results[result["seed"], result["number"]] = result
    return [results[key] for key in sorted(results)]


class Row:
    """Of a kind of fault, or of all."""

    def __init__(self, name):
        self.name, self.runs, self.right, self.innocents, self.seconds = name, 0, 0, 0, []
        self.aspects = {aspect: [0, 0] for aspect in findings.ASPECTS} # right, of so many

    def add(self, result, fault):
        """A fault of several is a row's by itself: the others of its run are in rows of their own."""
        self.runs += 1
        self.right += is_right({**result, "faults": [fault] if fault else result["faults"]})
        self.innocents += bool(result["innocents"])
        self.seconds.append(result["seconds"])
        for aspect, tally in self.aspects.items():
            values = [each[aspect] for each in ([fault] if fault else result["faults"]) if each[aspect] is not None]
            tally[0] += bool(values) and all(values)
            tally[1] += bool(values)

    def cells(self):
        tallies = (f"{right}/{of}" if of else "" for right, of in self.aspects.values())
        return [str(self.runs), str(self.right), *tallies, str(self.innocents), f"{statistics.median(self.seconds):.1f}"]


def rows(results):
    """In this order: each kind of fault, runs with several at once, all faulty ones, kinds of healthy fleets, all of them."""
    found = collections.defaultdict(dict)
    for result in filter(counts, results):
        group = "healthy" if result["healthy"] else "faulty"
        for fault in result["faults"]:
            found[group].setdefault(fault["kind"], Row(fault["kind"])).add(result, fault)
        if len(result["faults"]) > 1:
            found["several"].setdefault("", Row("several at once")).add(result, None)
        found[f"all {group}"].setdefault("", Row(ALL[group])).add(result, None)
    groups = ("faulty", "several", "all faulty", "healthy", "all healthy")
    return [found[group][kind] for group in groups for kind in sorted(found[group])]


def table(results, markdown=False):
    """A row for each kind; a run of two faults is in the rows of both."""
    lines = [["fault", *COLUMNS]] + [[row.name, *row.cells()] for row in rows(results)]
    if markdown:
        lines.insert(1, ["---"] + ["---:"] * len(COLUMNS))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    lines = [[cell.strip("*") for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))])
                     for line in lines)


def wilson(hits, of):
    """The interval of 95% of a share, of which `hits` in `of` were seen. E. B. Wilson, J. Am. Stat. Assoc. 22 (1927), 209-212."""
    if of == 0:
        return 0, 1
    share, weight = hits / of, SURE ** 2 / of
    middle = (share + weight / 2) / (1 + weight)
    half = SURE / (1 + weight) * math.sqrt(share * (1 - share) / of + weight / (4 * of))
    return max(middle - half, 0), min(middle + half, 1)


def share_text(hits, of):
    least, most = wilson(hits, of)
    return f"{hits} of {of}, {100 * hits / max(of, 1):.1f}% ({100 * least:.1f} to {100 * most:.1f}%)"


def totals(results):
    """(faulty runs that are right, faulty runs, healthy runs in which something is blamed, healthy runs)"""
    counted = [result for result in results if counts(result)]
    faulty = [result for result in counted if not result["healthy"]]
    healthy = [result for result in counted if result["healthy"]]
    return (sum(result["right"] for result in faulty), len(faulty),
            sum(bool(result["innocents"]) for result in healthy), len(healthy))


def summary(results):
    """The lines below a table."""
    right, faulty, blamed, healthy = totals(results)
    lines = [f"faulty fleets of which all is named right: {share_text(right, faulty)}",
             f"healthy fleets in which something is blamed: {share_text(blamed, healthy)}"]
    late = sum(not counts(result) for result in results)
    troubles = [f"{late} whose fault came too late (in no row)"] * bool(late)
    for key, words in (("over", "without a verdict in time"), ("left", "that left something behind")):
        count = sum(bool(result[key]) for result in results)
        troubles += [f"{count} {words}"] * bool(count)
    if troubles:
        lines.append(f"runs: {', '.join(troubles)}")
    return "\n".join(lines)


def are_good(results, least):
    """Of faulty runs `least` are right; of healthy ones one in 100 may be blamed. All end, clean."""
    right, faulty, blamed, healthy = totals(results)
    return (right >= least * faulty and blamed <= 0.01 * max(healthy, 100) and
            not any(result["over"] or result["left"] for result in results))

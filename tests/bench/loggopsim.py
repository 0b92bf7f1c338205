#!/usr/bin/env python3
"""Do two simulators agree? `cctest predict`, and LogGOPSim with the same numbers on what `cctest plan --goal` writes.

Every algorithm that `cctest list` names, by ranks and sizes, in four settings: messages cost their overheads and a latency
(messages); also copies and reductions take time (local); also bytes do, of the receiver's core (receiver) or of one port for each
rank (port). A difference is predict / LogGOPSim - 1. README.md says which rules of the two are not the same. Exit status 1: fewer
cells of a setting other than port, at a size that is not streamed, are within 1% than --bar says.
"""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

LATENCY, OVERHEAD, GAP, CALC = 10000, 1000, 2, 1  # LogGOPSim's L and o in ns; ns a byte: G, and copies and reductions
SETTINGS = {"messages": (0, 0), "local": (0, CALC), "receiver": (GAP, 0), "port": (GAP, 0)}  # ns a byte
WHOLE = {"8", "1K"}  # sizes of which all messages are short enough for shm to move them whole
NICS = 128
TEXTBOOK = str(pathlib.Path(__file__).resolve().parents[1] / "system" / "textbook.py")
Cell = collections.namedtuple("Cell", "setting collective algorithm ranks size here there")


def run(*words):
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        sys.exit(f"cannot run {words[0]}: {error.strerror}")
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def model(setting):
    """LogGOPSim charges (n - 1) G for n bytes, so each message costs one G less. The model's us stand for LogGOPSim's ns, whole
    numbers, so that rounding does not decide on the order of what happens at the same time."""
    gap, calc = SETTINGS[setting]
    port = setting == "port"
    textbook = json.loads(run(TEXTBOOK, "shm", "same-cache", "rank" if port else "none", str(LATENCY - (gap if port else 0)),
                              str(1000 * gap if port else 0), str(1000 * calc)))
    textbook["model"]["copy_ns_per_byte"] = [[1, 1000 * calc]]
    textbook["model"]["links"][0]["paths"][0].update(
        send_overhead_us=OVERHEAD, receive_overhead_us=OVERHEAD - (0 if port else gap),
        receive_ns_per_byte=[] if port else [[1, 1000 * gap]], combines_apart=True)
    return json.dumps(textbook)


def with_nics(goal):
    """Each message of a rank has a NIC of its own, so that it does not wait for the bytes of the one before it."""
    lines, count = [], 0
    for line in goal.splitlines():
        if ": send " in line:
            line += f" nic {count % NICS}"
            count += 1
        lines.append(line)
    return "\n".join(lines) + "\n"


class LogGopSim:
    """The program, and txt2bin beside it, which makes its input of GOAL."""

    def __init__(self, program, folder):
        self.program, self.compiler = program, str(pathlib.Path(program).with_name("txt2bin"))
        self.text, self.binary = f"{folder}/goal", f"{folder}/bin"

    def time(self, goal, gap):
        """When the last rank ends."""
        pathlib.Path(self.text).write_text(goal, encoding="utf-8")
        run(self.compiler, "-i", self.text, "-o", self.binary)
        said = run(self.program, "-f", self.binary, "-L", str(LATENCY), "-o", str(OVERHEAD), "-g", "0", "-G", str(gap), "-O", "0",
                   "-S", str(1 << 30), "-b")
        end = re.search(r"Maximum finishing time at host \d+: (\d+)", said)
        if not end:
            sys.exit(f"LogGOPSim finds a message without its other end: {said.strip()}")
        return int(end[1])


def compare(cctest, other, models, ranks, size):
    common = ["--np", ranks, "-b", size, "--channels", "1"]
    lines = {setting: json.loads(run(cctest, "predict", "all", "-a", "all", *common, "-e", size, "-x", "shm", "--chunk", "0",
                                     "--model", path, "--json", "-"))["results"] for setting, path in models.items()}
    for number, line in enumerate(lines["messages"]):
        name = line["collective"], line["algorithm"]
        trips = 2 if name[1] == "pingpong" else 1  # predict gives the time of one
        plan = [cctest, "plan", name[0], "-a", name[1], *common, "--goal", "-"]
        goals = {0: run(*plan), CALC: run(*plan, "--calc", str(CALC))}
        for setting, (gap, calc) in SETTINGS.items():
            goal = with_nics(goals[calc]) if setting == "receiver" else goals[calc]
            yield Cell(setting, *name, int(ranks), size, trips * lines[setting][number]["time_us"]["p50"], other.time(goal, gap))


def difference(cell):
    return cell.here / cell.there - 1 if cell.there else float(cell.here > 0)


def within(cells, most):
    return sum(abs(difference(cell)) <= most for cell in cells) / len(cells)


def table(title, cells, key):
    """A row for each value of `key`."""
    groups = collections.defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    print(f"\n| {title} | cells | within 1% | within 5% | median | largest | of |\n| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for name, group in groups.items():
        worst = max(group, key=lambda cell: abs(difference(cell)))
        print(f"| {name} | {len(group)} | {within(group, 0.01):.0%} | {within(group, 0.05):.0%} | "
              f"{statistics.median(abs(difference(cell)) for cell in group):.1%} | {difference(worst):+.0%} | "
              f"{worst.collective} {worst.algorithm}, {worst.ranks} ranks, {worst.size} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cctest", required=True)
    parser.add_argument("--loggopsim", required=True, help="its program; txt2bin stands beside it")
    parser.add_argument("--ranks", default="2,3,4,5,7,8,13,16")
    parser.add_argument("--sizes", default="8,1K,64K")
    parser.add_argument("--bar", type=float, default=0.8, help="the least share of cells within 1%%")
    parser.add_argument("--json", help="write the cells")
    arguments = parser.parse_args()
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        models = {setting: f"{folder}/{setting}.json" for setting in SETTINGS}
        for setting, path in models.items():
            pathlib.Path(path).write_text(model(setting), encoding="utf-8")
        other = LogGopSim(arguments.loggopsim, folder)
        for ranks in arguments.ranks.split(","):
            for size in arguments.sizes.split(","):
                cells += compare(arguments.cctest, other, models, ranks, size)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps([cell._asdict() for cell in cells]), encoding="utf-8")
    table("setting, size", cells, lambda cell: f"{cell.setting}, {cell.size}")
    table("collective, whole", [cell for cell in cells if cell.size in WHOLE and cell.setting != "port"],
          lambda cell: cell.collective)
    judged = [[cell for cell in cells if cell.setting == setting and cell.size in WHOLE] for setting in SETTINGS if setting != "port"]
    return int(any(group and within(group, 0.01) < arguments.bar for group in judged))


if __name__ == "__main__":
    sys.exit(main())

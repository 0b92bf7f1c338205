#!/usr/bin/env python3
"""How near do predictions come? Fits a model, runs every algorithm that `cctest list` names, and compares p50 with the prediction.

Settings: two ranks over shm and over tcp, each with a core; twice as many ranks as cores, over shm; and ranks on hosts (network
namespaces, fidelity.sh) whose links have a set rate and delay. A round of a setting fits a model and runs all its cells, so that
both meet the machine in the same state; a cell counts with the median of its rounds, and its error is |predicted / measured - 1|.
The noise that is printed beside the errors is by how much the time of a round differs from the median of all, in the median of
cells. Exit status 1: the median error is above --bar, or a cell was not measured.

The cores of a virtual machine share a cache at one time and do not at another (README.md). A round here, around and within which
a short message takes times that differ by more than a half, compares two machines: it is repeated, and that is said.
"""
import argparse
import json
import math
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "campaign"))
import hosts as networks # pylint: disable=wrong-import-position

WORST = 10
REPEATS, CHANGE_MOST = 4, 1.5


class Runner:
    """Runs cctest here, or a rank on each of some hosts."""

    def __init__(self, cctest, network, port=5100):
        self.cctest, self.network, self.port = cctest, network, port

    def here(self, *words):
        done = subprocess.run([self.cctest, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"cctest {' '.join(words)}: status {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def on(self, dealt, *words):
        """`dealt`: the host of each rank."""
        self.port += 1
        where = f"{self.network.address(dealt[0])}:{self.port}"
        ranks = [subprocess.Popen(self.network.on(host, self.cctest, *words, "--rendezvous", where, "--rank", str(rank), "--world",
                                                  str(len(dealt))), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for rank, host in enumerate(dealt)]
        ends = [rank.communicate() for rank in ranks]
        if any(rank.returncode for rank in ranks):
            sys.exit(f"cctest {' '.join(words)} on hosts {dealt}: {ends[0][1].strip()}")
        return ends[0][0]

    def run(self, dealt, *words):
        return self.on(dealt, *words) if dealt else self.here(*words)


def state(runner, setting):
    """How long a short message takes from core to core, in us."""
    if setting["dealt"]:
        return 1
    line = json.loads(runner.here(*"sendrecv -a pingpong --np 2 -x shm -b 8 -e 8 -n 2000 -c 0 --json -".split()))["results"][0]
    return line["time_us"]["p50"]


def compare_calm(runner, model, setting, arguments):
    for _ in range(REPEATS):
        cells, change = compare_once(runner, model, setting, arguments)
        if change < CHANGE_MOST:
            return cells
        print(f"# {setting['name']}: repeated, a short message took up to {change:.1f} times as long", flush=True)
    print(f"# {setting['name']}: the machine changed in each of {REPEATS} rounds, the last of which counts", flush=True)
    return cells


def compare_once(runner, model, setting, arguments):
    """A round: {(collective, algorithm, size): (predicted, measured)}, in us; and by what factor the machine has changed"""
    cells, states = {}, [state(runner, setting)]
    runner.run(setting["fitted"], "fit", "-o", model, "-x", setting["x"])
    for size in (arguments.sizes or setting["sizes"]).split(","):
        states.append(state(runner, setting))
        words = ["all", "-a", "all", "-b", size, "-e", size, "-x", setting["x"], "--model", model, "-c", "0", "-w", "3", "-n", "auto",
                 "--budget", "0.1", "--json", "-"]
        ran = [] if setting["dealt"] else ["--np", str(setting["ranks"])]
        for line in json.loads(runner.run(setting["dealt"], *words, *ran))["results"]:
            name = line["collective"], line["algorithm"], size
            if not line["predicted_us"]:
                sys.exit(f"{setting['name']}: {' '.join(name)} was not predicted")
            cells[name] = line["predicted_us"], line["time_us"]["p50"]
    states.append(state(runner, setting))
    return cells, max(states) / min(states)


def compare(runner, model, setting, arguments):
    """The cells of a setting: (predicted / measured, noise, name, measured, predicted)"""
    rounds = [compare_calm(runner, model, setting, arguments) for _ in range(arguments.rounds)]
    cells = []
    for name in rounds[0]:
        ratio = statistics.median(each[name][0] / each[name][1] for each in rounds)
        middle = statistics.median(each[name][1] for each in rounds)
        noise = statistics.median(abs(each[name][1] / middle - 1) for each in rounds)
        predicted = statistics.median(each[name][0] for each in rounds)
        cells.append((ratio, noise, f"{setting['name']}: {' '.join(name)}", middle, predicted))
    return cells


def report(title, cells):
    errors = sorted(abs(cell[0] - 1) for cell in cells)
    print(f"{title:44} {len(cells):6} {statistics.median(errors):8.1%} {errors[int(len(errors) * 0.9)]:8.1%} "
          f"{statistics.median(cell[0] for cell in cells):8.2f} {statistics.median(cell[1] for cell in cells):8.1%}", flush=True)


def settings(network, cores):
    here = {"dealt": None, "fitted": None, "sizes": "1K,32K,1M"}
    apart = {"fitted": [1, 2], "sizes": "1K,32K,256K"} # of 1M at the rate of these links each cell takes seconds
    yield {"name": "2 ranks, shm", "x": "shm", "ranks": 2, **here}
    yield {"name": "2 ranks, tcp", "x": "tcp", "ranks": 2, **here}
    yield {"name": f"{2 * cores} ranks on {cores} cores, shm", "x": "shm", "ranks": 2 * cores, **here}
    if network:
        yield {"name": "4 hosts of 1 rank, tcp", "x": "tcp", "ranks": 4, "dealt": [1, 2, 3, 4], **apart}
        yield {"name": "2 hosts of 2 ranks, shm and tcp", "x": "shm,tcp", "ranks": 4, "dealt": [1, 1, 2, 2], **apart}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cctest", required=True)
    parser.add_argument("--holders", default="", help="processes that hold the hosts' namespaces")
    parser.add_argument("--sizes", default="", help="instead of those of each setting")
    parser.add_argument("--rounds", type=int, default=3, help="of each setting")
    parser.add_argument("--only", default="", help="settings whose names have this")
    parser.add_argument("--bar", type=float, default=0.15, help="the largest median error")
    parser.add_argument("--json", help="write the cells")
    arguments = parser.parse_args()
    network = networks.Hosts(arguments.holders.split()) if arguments.holders else None
    runner = Runner(arguments.cctest, network)
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        print(f"# {socket.gethostname()}: p50 of every algorithm; error = |predicted / measured - 1|")
        print(f"# {'setting':42} {'cells':>6} {'median':>8} {'p90':>8} {'bias':>8} {'noise':>8}")
        cells = []
        for setting in settings(network, cores):
            if arguments.only in setting["name"]:
                found = compare(runner, f"{folder}/model", setting, arguments)
                report(setting["name"], found)
                cells += found
        if not cells:
            parser.error(f"no setting has '{arguments.only}' in its name")
        report("all", cells)
    print("# the worst ten: predicted / measured")
    for ratio, spread, name, measured, time in sorted(cells, key=lambda cell: -abs(math.log(cell[0])))[:WORST]:
        print(f"  {ratio:6.2f}  {name}: measured {measured:.1f} us (+-{spread:.0%}), predicted {time:.1f}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(cells), encoding="utf-8")
    sys.exit(statistics.median(abs(cell[0] - 1) for cell in cells) > arguments.bar)


if __name__ == "__main__":
    main()

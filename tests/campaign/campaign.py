#!/usr/bin/env python3
"""campaign.py - many runs, each with a random fault at a random moment: nothing may hang, and the cause is named.

Seed and number determine a run, so a failed run can be repeated alone: --seed S --run N. case.py draws a run, job.py
starts it and injects its fault, judge.py decides whether it ended right. Use tests/system/test_campaign.sh, which
provides a private machine.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import case as cases
import hosts as networks
import job as jobs
import judge

JUDGED = ["time", "status", "names", "json", "left"]


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cctest", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--runs", type=int, default=300, help="0: each fault once")
    parser.add_argument("--run", type=int, help="only this run, with all its output")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after this time")
    parser.add_argument("--least", type=int, default=1, help="fail if there was no time for so many runs")
    parser.add_argument("--slack", type=float, default=2, help="seconds after the deadline within which all ranks end")
    parser.add_argument("--bootstrap", action="append", choices=cases.FAULTS)
    parser.add_argument("--fault", action="append")
    parser.add_argument("--holder", type=int, action="append", help="process that holds a host; one for each")
    parser.add_argument("--slurm", nargs=2, metavar="NAME=VALUE", help="environment of srun on host 1")
    parser.add_argument("--log", help="append a line of JSON for each run; the table shows all runs in this file")
    parser.add_argument("--keep", type=pathlib.Path, help="copy the JSON of each run to this folder")
    return parser.parse_args()


def do(case, given, hosts):
    """Runs a case; returns the judgement."""
    with tempfile.TemporaryDirectory() as folder:
        job = jobs.Job(case, given.cctest, hosts, given.slurm, pathlib.Path(folder))
        struck = job.strike()
        patience = judge.HEALTHY_MOST if case.healthy() else 4 * case.timeout + 10
        job.await_end(time.monotonic() + patience)
        job.resume()
        found = judge.judge(job, case, struck, hosts, given)
        if given.keep and job.json.exists():
            shutil.copy(job.json, given.keep / f"campaign-{case.number}")
        bad = [what for what in JUDGED if found[what]]
        if bad or given.run is not None:
            print(f"{'WRONG' if bad else 'right'}: --seed {given.seed} --run {case.number}: {case.title()}")
            for what in bad:
                print(f"  {what}: {found[what]}")
            for process in job.processes:
                for line in process.text(1).splitlines():
                    print(f"    {process.rank} (h{process.host}, {process.status()}): {line[:400]}")
            sys.stdout.flush()
    return {"bootstrap": case.bootstrap, "fault": case.fault, "number": case.number, "seed": given.seed, **found}


def table(results):
    """Prints for each fault and bootstrap how many runs there were, and how many were right in each respect."""
    counts = collections.defaultdict(collections.Counter)
    phases = collections.Counter(result["phase"] for result in results if result["phase"])
    for result in results:
        for key in ((result["fault"], result["bootstrap"]), ("all", "all")):
            counts[key]["runs"] += 1
            counts[key]["late"] += result["late"]
            counts[key]["unnamed"] += result["names"] is None
            counts[key].update(what for what in JUDGED if result[what] == "")
    print(f"{'fault':16} {'bootstrap':10} {'runs':>5} {'in time':>8} {'status':>7} {'named':>6} "
          f"{'(no rank to name)':>17} {'json':>5} {'clean':>6} {'(fault came too late)':>22}")
    for key in sorted(counts, key=lambda key: (key[0] == "all", key)):
        row = counts[key]
        print(f"{key[0]:16} {key[1]:10} {row['runs']:5} {row['time']:8} {row['status']:7} {row['names']:6} "
              f"{row['unnamed']:17} {row['json']:5} {row['left']:6} {row['late']:22}")
    print("last phase of the named rank: " + ", ".join(f"{phase} {n}" for phase, n in phases.most_common()))


def main():
    given = options()
    if not os.environ.get("TEST_PRIVATE"): # set by lib.sh
        sys.exit("campaign.py fills /dev/shm and sends garbage to every port: run tests/system/test_campaign.sh, "
                 "which provides a private machine")
    bootstraps = given.bootstrap or list(cases.FAULTS)
    known = cases.algorithms(given.cctest)
    results, begun = [], time.monotonic()
    hosts = networks.Hosts(given.holder) if given.holder else None
    if not hosts:
        bootstraps = [bootstrap for bootstrap in bootstraps if bootstrap != "hosts"]
    for name in jobs.LAUNCHERS:
        if name in bootstraps and not jobs.launches(name, given.cctest, hosts, given.slurm):
            print(f"without {name}: it is not installed, or does not run here")
            bootstraps.remove(name)
    runs = given.runs or len(cases.possible(bootstraps, given.fault))
    numbers = range(given.first, given.first + runs) if given.run is None else [given.run]
    for number in numbers:
        if time.monotonic() - begun > given.seconds:
            break
        case = cases.draw(given.seed, number, known, bootstraps, given.fault)
        results.append(do(case, given, hosts))
        if given.log:
            with open(given.log, "a", encoding="utf-8") as log:
                log.write(json.dumps(results[-1]) + "\n")
    few = len(results) < min(given.least, len(numbers))
    if given.log:
        with open(given.log, encoding="utf-8") as log:
            results = [json.loads(line) for line in log]
    table(results)
    wrong = sum(any(result[what] for what in JUDGED) for result in results)
    print(f"coverage: {len(results)} runs of {len({result['fault'] for result in results})} faults, {wrong} wrong, "
          f"seed {given.seed}, in {time.monotonic() - begun:.0f} s")
    if few:
        print(f"there was no time for {given.least} runs: this machine is too slow or too busy")
    return wrong > 0 or few


if __name__ == "__main__":
    sys.exit(main())

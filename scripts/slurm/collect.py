#!/usr/bin/env python3
"""collect.py - merges the JSON of several runs of cctest.

    scripts/slurm/collect.py array-1234

Prints for each collective and size the algorithms from the fastest to the slowest, then the failed runs. A run failed if
its JSON is incomplete or reports a failure, or if the .status file of array.sbatch is missing (the task was killed) or
reports a failure. The exit status is 1 if a run failed or there are no results, 2 for a usage error."""
import glob
import json
import os
import sys

if len(sys.argv) != 2:
    print("usage: collect.py FOLDER", file=sys.stderr)
    sys.exit(2)
if not os.path.isdir(sys.argv[1]):
    sys.exit(f"collect.py: there is no folder '{sys.argv[1]}': name the one that array.sbatch made, array-JOBID")
results, failed = {}, []
names = glob.glob(sys.argv[1] + "/*.json") + glob.glob(sys.argv[1] + "/*.status")
for name in sorted({name.rpartition(".")[0] for name in names}):
    try:
        status, run = open(name + ".status").read().strip().split(maxsplit=1)
    except (OSError, ValueError):
        status, run = "none", "the run"
    try:
        document = json.load(open(name + ".json"))
    except (OSError, ValueError):
        document = {"status": "not complete", "results": []}
    for result in document["results"]:
        results.setdefault((result["collective"], result["bytes"]), []).append(result)
    if status != "0" or document["status"] != "ok":
        failed.append(f"{name}.json: {run} ended with status {status}; its JSON says: {document['status']}")

print(f"{'collective':16} {'bytes':>12} {'algorithm':24} {'p50 us':>12} {'busbw GB/s':>12} {'#wrong':>8}")
for (collective, size), runs in sorted(results.items()):
    for run in sorted(runs, key=lambda run: run["time_us"]["p50"]):
        print(f"{collective:16} {size:12} {run['algorithm']:24} {run['time_us']['p50']:12.2f} "
              f"{run['busbw_GBps']:12.3f} {run['wrong']:8}")
print(*failed, sep="\n", end="\n" if failed else "")
sys.exit(bool(failed) or not results)

#!/usr/bin/env python3
"""accept.py - many runs of `cctest accept` on a fleet in which none, one or two faults are made.

Each run must name the host, link or direction that is faulty and no other, end in its time, and leave nothing behind. Seed and
number determine a run: --seed S --run N repeats it. faults.py has the kinds. Use tests/system/test_accept_campaign.sh,
which provides a private machine and the hosts.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import hosts as networks
import job as jobs
import judge
import faults

TIMEOUT = 15 # --timeout; an agent is lost after a third of it in silence, and here all share a core
BUDGET = 120 # seconds: --quick
LEFT_SLACK = 3


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cctest", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--runs", type=int, default=300, help="a third of them healthy")
    parser.add_argument("--run", type=int, help="only this run, with all its output")
    parser.add_argument("--kind", action="append", choices=list(faults.KINDS), help="only these kinds are drawn")
    parser.add_argument("--plan", action="append", help="a run with these kinds ('none', 'link', 'throttled+killed'), "
                                                        "in place of those that are drawn; may be repeated")
    parser.add_argument("--stages", help="of `cctest accept`")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after this time")
    parser.add_argument("--tries", type=int, default=1, help="of a run whose measurements other processes disturb")
    parser.add_argument("--least", type=float, default=0.95, help="fail if a smaller share of faulty runs is named right")
    parser.add_argument("--holder", type=int, action="append", required=True, help="process that holds a host; one for each")
    parser.add_argument("--log", help="append a line of JSON for each run; the table shows all runs in this file")
    parser.add_argument("--keep", type=pathlib.Path, help="copy the JSON of each run to this folder")
    return parser.parse_args()


class Fleet:
    def __init__(self, holders):
        self.hosts = networks.Hosts(holders)
        self.numbers = list(range(1, len(holders) + 1))
        for number in self.numbers:
            self.rate(number)

    def rate(self, number, send=faults.RATE, receive=faults.RATE):
        """Limits what a host sends and receives (Mbit/s). Its links may get rates of their own below that."""
        most = "burst 256k"
        faults.run(*self.hosts.on(number, "sh", "-c", f"""tc qdisc del dev eth0 root 2>/dev/null
            tc qdisc add dev eth0 root handle 1: htb default fff &&
            tc class add dev eth0 parent 1: classid 1:fff htb rate {send}mbit {most} quantum 60000"""))
        faults.run("tc", "qdisc", "replace", "dev", f"lan0-{number}", "root", "tbf", "rate", f"{receive}mbit",
                     *most.split(), "latency", "50ms")


class Job:
    """The agents of one run, one on each host."""

    def __init__(self, number, cctest, fleet, stages, folder, seeded):
        self.fleet, self.folder, self.json = fleet, folder, folder / "job.json"
        self.processes, self.stopped, self.namespaces = [], set(), {}
        self.ended, self.read_at = set(), 0
        environment = dict(os.environ, CCTEST_SECRET=f"the shared secret of run {number:08}", TMPDIR=str(folder))
        self.begun = time.monotonic()
        for host in fleet.numbers:
            prefix = [word for each in seeded if each.host == host for word in each.prefix()]
            command = [*prefix, cctest, "accept", "-x", "tcp", "--quick", "--stages", stages, "--json",
                       str(self.json), "--timeout", str(TIMEOUT), "--seed", str(number), "--rendezvous",
                       f"{fleet.hosts.address(1)}:{21000 + number % 9000}", "--rank", str(host - 1), "--world",
                       str(len(fleet.numbers))]
            self.processes.append(jobs.Process(host - 1, host, folder, fleet.hosts.on(host, *command), environment))
            self.namespaces[os.readlink(f"/proc/{fleet.hosts.holders[host - 1]}/ns/net")] = host

    def on_host(self, host, comm):
        """The processes of that name on a host."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (process / "comm").read_text().strip() == comm and \
                        self.namespaces.get(os.readlink(process / "ns/net")) == host:
                    found.append(int(process.name))
            except OSError:
                pass
        return found

    def signal(self, pid, number):
        try:
            os.kill(pid, number)
        except OSError: # it has ended
            pass

    def root_ended(self):
        return self.processes[0].look()

    def stages(self):
        """Names of the stages that have ended, as rank 0 has written them so far."""
        try:
            written = self.json.stat().st_mtime_ns
            if written != self.read_at:
                self.ended = {stage["stage"] for stage in json.loads(self.json.read_text())["stages"]}
                self.read_at = written
        except (OSError, ValueError):
            pass
        return self.ended

    def go(self, seeded):
        """Strikes, until all that can end have. Returns the seconds that it took, infinite if one had to be killed."""
        until = self.begun + BUDGET + TIMEOUT
        while time.monotonic() < until:
            if all([process.look() or process.pid in self.stopped for process in self.processes]):
                break
            for each in seeded:
                each.strike(self)
            time.sleep(0.01)
        took = max((process.ended for process in self.processes if process.ended), default=until) - self.begun
        for each in seeded:
            each.finish(self)
        for pid in self.stopped: # it learns that it is late, and ends
            self.signal(pid, jobs.signal.SIGCONT)
        for process in self.processes:
            try:
                process.popen.wait(max(TIMEOUT, until - time.monotonic()) if process.pid in self.stopped else 0.1)
            except subprocess.TimeoutExpired:
                took = float("inf")
                os.killpg(process.pid, jobs.signal.SIGKILL)
                process.popen.wait()
        return took


def draw(given, number, kinds):
    """The kinds of a run: every third is healthy, every fourth of the others has two."""
    chance = random.Random(f"{given.seed} {number}")
    if given.plan:
        plan = [kind for kind in given.plan[number].split("+") if kind != "none"]
    elif number % 3 == 2:
        plan = []
    else:
        faulty = number - number // 3
        plan = [kinds[faulty % len(kinds)]]
        if faulty % 4 == 3 and len(kinds) > 1:
            plan.append(chance.choice([kind for kind in kinds if kind != plan[0]]))
    return plan, chance


def do(given, number, plan, chance, fleet):
    """Does a run; returns what came of it."""
    free, seeded = list(fleet.numbers), []
    for kind in plan:
        seeded.append(faults.KINDS[kind](chance, free))
        free = [host for host in free if host not in seeded[-1].victims]
    with tempfile.TemporaryDirectory() as folder:
        made = []
        try:
            for each in seeded:
                each.make(fleet)
                made.append(each)
            job = Job(number, given.cctest, fleet, given.stages, pathlib.Path(folder), seeded)
            took = job.go(seeded)
        finally:
            for each in made:
                each.undo(fleet)
        left = judge.leftovers_at_last(job, fleet.hosts, LEFT_SLACK)
        document = json.loads(job.json.read_text()) if job.json.exists() else {"hosts": [], "findings": [], "stages": []}
        if given.keep and job.json.exists():
            shutil.copy(job.json, given.keep / f"accept-{number}")
        result = judged(document, seeded, took, left)
        report(given, number, seeded, result, document, job)
    return {"number": number, "seed": given.seed, **result}


def judged(document, seeded, took, left):
    findings = [faults.Finding(document, finding) for finding in document["findings"]
                if finding["health"] in ("suspect", "bad") or (finding["host"] is None and finding["status"] != "ok")]
    victims = {host for each in seeded for host in each.victims}
    named_hosts = {host for finding in findings if not finding.of_fleet for host in finding.hosts}
    named = [(each.kind, each.judge(findings), each.late) for each in seeded]
    false = sorted(named_hosts - victims)
    whole = document.get("status") not in (None, "running") and document["hosts"] != []
    return {"named": [["none", "right" if not named_hosts else "missed", False]] if not seeded else
                     [[kind, "late" if late and how != faults.RIGHT else how, late] for kind, how, late in named],
            "false": false, "seconds": round(took, 1), "over": not whole or took > BUDGET, "left": left,
            "status": document.get("status")}


def report(given, number, seeded, result, document, job):
    right = all(how in (faults.RIGHT, "late") for _, how, _ in result["named"])
    well = right and not result["false"] and not result["over"] and not result["left"]
    title = ", ".join(each.title() for each in seeded) or "healthy"
    words = ["right" if well else "WRONG", f"--seed {given.seed} --run {number}:", f"{title}:",
             "/".join(how for _, how, _ in result["named"]), f"in {result['seconds']} s, status {result['status']}"]
    if result["false"]:
        words.append(f"FALSE ALARM: {result['false']}")
    print(*words, *(f"LEFT: {left}" for left in result["left"]))
    result["well"] = well
    result["disturbed"] = any(re.search(r"\b[1-9]\d* disturbed", stage["result"]) for stage in document["stages"])
    if not well or given.run is not None:
        for stage in document["stages"]:
            print(f"    {stage['stage']} {stage['state']} {stage['seconds']:.1f} s: {stage['result']} {stage['why']}")
        for finding in document["findings"]:
            print(f"    {finding['health']}: {finding['message']}")
        for process in job.processes:
            for line in process.text(1).splitlines():
                print(f"    h{process.host} ({process.status()}): {line[:300]}")
    sys.stdout.flush()


def table(results):
    """Prints for each kind of fault how many of it were named. A run of two counts in both rows."""
    rows = collections.defaultdict(collections.Counter)
    seconds = collections.defaultdict(list)
    for result in results:
        named = result["named"] + [["all", how, late] for kind, how, late in result["named"] if kind != "none"]
        for kind, how, _ in named:
            rows[kind]["runs"] += 1
            rows[kind][how] += 1
        for kind in {kind for kind, _, _ in named} | {"all"}:
            seconds[kind].append(result["seconds"])
            rows[kind].update(false=bool(result["false"]), over=result["over"], left=bool(result["left"]))
    print(f"{'fault':16} {'runs':>5} {'right':>6} {'partly':>7} {'missed':>7} {'(too late)':>11} {'alarms':>8} "
          f"{'over':>5} {'left':>5} {'median s':>9} {'most s':>7}")
    for kind in sorted(rows, key=lambda kind: (kind == "all", kind != "none", kind)):
        row = rows[kind]
        print(f"{kind:16} {row['runs']:5} {row['right']:6} {row['partly']:7} {row['missed']:7} {row['late']:11} "
              f"{row['false']:8} {row['over']:5} {row['left']:5} {statistics.median(seconds[kind]):9.1f} "
              f"{max(seconds[kind]):7.1f}")
    print("partly: the host or the link's end is named, without the direction or the link; alarms: runs in which a good "
          "host is named; over: runs without a verdict in time")


def is_good(results, least):
    """Of faulty runs, `least` name all faults and nothing else; of healthy ones, one in 100 may have a false alarm. All end, clean."""
    healthy = [result for result in results if result["named"][0][0] == "none"]
    faulty = [result for result in results
            if result not in healthy and all(how != "late" for _, how, _ in result["named"])]
    right = sum(all(how == "right" for _, how, _ in result["named"]) and not result["false"] for result in faulty)
    alarms = sum(bool(result["false"]) or result["status"] != "ok" for result in healthy)
    print(f"{right} of {len(faulty)} faulty runs name the fault and nothing else; "
          f"{alarms} of {len(healthy)} healthy ones with a false alarm")
    return (right >= least * len(faulty) and alarms <= 0.01 * max(len(healthy), 100) and
            not any(result["over"] or result["left"] for result in results))


def main():
    given = options()
    if not os.environ.get("TEST_PRIVATE"): # set by lib.sh
        sys.exit("run tests/system/test_accept_campaign.sh, which provides a private machine")
    known = subprocess.run([given.cctest, "help", "accept"], check=True, capture_output=True, text=True).stdout
    stages = [stage for stage in ("inventory", "self", "pairs", "isolate", "halves", "all") if re.search(rf"\b{stage}\b[,\s]", known)]
    given.stages = given.stages or ",".join(stages)
    kinds = []
    for kind in given.kind or faults.KINDS:
        why = faults.missing(kind, given.stages)
        if why:
            print(f"without {kind}: {why}")
        else:
            kinds.append(kind)
    if given.plan:
        given.plan = [plan for plan in given.plan if all(kind in [*kinds, "none"] for kind in plan.split("+"))]
        given.runs = len(given.plan)
    # Each host believes that it has all cores, and binds its worker to the first. Workers on several cores would make two
    # kinds of pairs: those that share one, and those that do not.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    fleet, results, begun = Fleet(given.holder), [], time.monotonic()
    for number in range(given.first, given.first + given.runs) if given.run is None else [given.run]:
        if time.monotonic() - begun > given.seconds:
            break
        for tries_left in reversed(range(given.tries)):
            plan, chance = draw(given, number, kinds)
            result = do(given, number, plan, chance, fleet)
            if result["well"] or not result["disturbed"] or tries_left == 0:
                break
            print("repeated: other processes disturbed its measurements")
        results.append(result)
        if given.log:
            with open(given.log, "a", encoding="utf-8") as log:
                log.write(json.dumps(results[-1]) + "\n")
    if given.log:
        with open(given.log, encoding="utf-8") as log:
            results = [json.loads(line) for line in log]
    table(results)
    good = is_good(results, given.least)
    print(f"coverage: {len(results)} runs on {len(fleet.numbers)} hosts, seed {given.seed}, "
          f"in {time.monotonic() - begun:.0f} s")
    return not good


if __name__ == "__main__":
    sys.exit(main())

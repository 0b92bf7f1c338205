#!/usr/bin/env python3
"""accept.py - many runs of `cctest accept` on a fleet, healthy ones and faulty ones, and a table of what was named.

Every second run is of a healthy fleet. Seed and number determine a run: --seed S --run N repeats it, and campaigns with the
same seed and other numbers may run side by side (--part); their logs make one table (--join). faults.py has the kinds, scores.py
judges. Use tests/system/test_accept_campaign.sh, which provides a private machine and the hosts.
"""
import argparse
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import hosts as networks
import job as jobs
import judge
import faults
import findings
import scores

TIMEOUT = 15 # --timeout; an agent is lost after a third of it in silence, and here all share a core
BUDGET = 120 # seconds: --quick
LEFT_SLACK = 3
SEVERAL = ((1, 60), (2, 30), (3, 10)) # faults at once, and in how many of 100 runs that may have several
VICTIMS_MOST = 3 # hosts with different faults: more than half of the fleet stays good
HEALTHY = ("healthy", "healthy", "busy", "unrated") # in turn


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cctest")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--runs", type=int, default=300, help="a half of them healthy")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="the K-th of N parts of these runs")
    parser.add_argument("--run", type=int, help="only this run, with all its output")
    parser.add_argument("--kind", action="append", choices=list(faults.KINDS), help="only runs with one of these kinds")
    parser.add_argument("--plan", action="append", help="a run with these kinds ('healthy', 'link', 'throttled+killed'), "
                                                        "in place of those that are drawn; may be repeated")
    parser.add_argument("--stages", help="of `cctest accept`")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after this time")
    parser.add_argument("--tries", type=int, default=1, help="of a run whose measurements other processes disturb")
    parser.add_argument("--least", type=float, default=0.95, help="fail if a smaller share of faulty runs is named right")
    parser.add_argument("--core", type=int, help="all hosts run on this core; another campaign may have the others")
    parser.add_argument("--holder", type=int, action="append", default=[], help="process that holds a host; one for each")
    parser.add_argument("--log", help="append a line of JSON for each run; the table shows all runs in this file")
    parser.add_argument("--keep", type=pathlib.Path, help="copy the JSON of each run to this folder")
    parser.add_argument("--draws", action="store_true", help="print what is drawn for each run, and run none")
    parser.add_argument("--join", nargs="+", metavar="LOG", help="print the table of all runs in these logs, and run none")
    parser.add_argument("--markdown", action="store_true", help="the table is one of Markdown")
    return parser.parse_args()


class Fleet:
    def __init__(self, holders, other_core):
        self.hosts, self.other_core = networks.Hosts(holders), other_core
        self.numbers = list(range(1, len(holders) + 1))
        for number in self.numbers:
            self.rate(number)

    def rate(self, number, send=faults.RATE, receive=faults.RATE):
        """Limits what a host sends and receives (Mbit/s). Its links may get rates of their own below that. A slow host's
        bursts are short, so that each message meets its rate; others bridge the time in which the core is busy."""
        def burst(rate):
            return f"burst {256 if rate == faults.RATE else 16}k"
        faults.run(*self.hosts.on(number, "sh", "-c", f"""tc qdisc del dev eth0 root 2>/dev/null
            tc qdisc add dev eth0 root handle 1: htb default fff &&
            tc class add dev eth0 parent 1: classid 1:fff htb rate {send}mbit {burst(send)} quantum 60000"""))
        faults.run("tc", "qdisc", "replace", "dev", f"lan0-{number}", "root", "tbf", "rate", f"{receive}mbit",
                     *burst(receive).split(), "latency", "50ms")


class Draw:
    """A run: its faults, and on which host each rank is."""

    def __init__(self, given, number):
        chance = random.Random(f"{given.seed} {number}")
        plan = given.plan[number].split("+") if given.plan else drawn_plan(chance, number)
        kinds = [faults.KINDS[kind] for kind in plan]
        self.number = number
        self.order = chance.sample(range(1, faults.HOSTS + 1), min(kind.fleet for kind in kinds))
        self.faults, free = [], sorted(self.order)
        for kind in kinds:
            self.faults.append(kind(chance, self.order, free))
            free = [host for host in free if host not in self.faults[-1].victims]

    def kinds(self):
        return [fault.kind for fault in self.faults]

    def title(self):
        ranks = f"rank 0 on h{self.order[0]}" + (f" of {len(self.order)}" if len(self.order) < faults.HOSTS else "")
        return f"{', '.join(fault.title() for fault in self.faults)}; {ranks}"


def drawn_plan(chance, number):
    """The kinds of a run. Faulty runs have each kind in turn, and others beside it."""
    if number % 2 == 1:
        return [HEALTHY[number // 2 % len(HEALTHY)]]
    kinds = list(faults.FAULTY.values())
    plan = [kinds[number // 2 % len(kinds)]]
    counts, weights = zip(*SEVERAL)
    for _ in range(1 if plan[0].alone else chance.choices(counts, weights)[0], 1, -1):
        room = VICTIMS_MOST - sum(kind.ends for kind in plan)
        roots = any(kind.root for kind in plan)
        others = [kind for kind in kinds if not kind.alone and kind.ends <= room and kind not in plan and
                  not (roots and kind.root)]
        plan += [chance.choice(others)] if others else []
    return [kind.kind for kind in plan]


def numbers(given):
    """The numbers of the runs that are asked for."""
    if given.run is not None:
        return [given.run]
    if given.plan:
        return range(len(given.plan))
    asked = (number for number in itertools.count(given.first)
             if not given.kind or set(Draw(given, number).kinds()) & set(given.kind))
    asked = list(itertools.islice(asked, given.runs))
    part, parts = map(int, given.part.split("/"))
    return asked[(part - 1) * len(asked) // parts:part * len(asked) // parts]


class Job:
    """The agents of one run, one on each host of it."""

    def __init__(self, draw, given, fleet, folder):
        self.fleet, self.folder, self.json = fleet, folder, folder / "job.json"
        self.processes, self.stopped, self.namespaces = [], set(), {}
        self.ended, self.read_at = set(), 0
        environment = dict(os.environ, CCTEST_SECRET=f"the shared secret of run {draw.number:08}", TMPDIR=str(folder))
        self.begun = time.monotonic()
        for rank, host in enumerate(draw.order):
            prefix = [word for fault in draw.faults for word in fault.prefix(host)]
            command = [*prefix, given.cctest, "accept", "-x", "tcp", "--quick", "--stages", given.stages, "--json",
                       str(self.json), "--timeout", str(TIMEOUT), "--seed", str(draw.number), "--rendezvous",
                       f"{fleet.hosts.address(draw.order[0])}:{21000 + draw.number % 9000}", "--rank", str(rank),
                       "--world", str(len(draw.order))]
            self.processes.append(jobs.Process(rank, host, folder, fleet.hosts.on(host, *command), environment))
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

    def document(self):
        """The JSON, as rank 0 has written it so far."""
        try:
            return json.loads(self.json.read_text())
        except (OSError, ValueError):
            return {"hosts": [], "findings": [], "stages": []}

    def stages(self):
        """Names of the stages that have ended."""
        written = self.json.stat().st_mtime_ns if self.json.exists() else 0
        if written != self.read_at:
            self.ended, self.read_at = {stage["stage"] for stage in self.document()["stages"]}, written
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


def do(given, number, fleet):
    """Does a run; returns its result, and whether it was disturbed."""
    draw = Draw(given, number)
    with tempfile.TemporaryDirectory() as folder:
        made = []
        try:
            for each in draw.faults:
                each.make(fleet)
                made.append(each)
            job = Job(draw, given, fleet, pathlib.Path(folder))
            took = job.go(draw.faults)
        finally:
            for each in made:
                each.undo(fleet)
        left = judge.leftovers_at_last(job, fleet.hosts, LEFT_SLACK)
        document = job.document()
        if given.keep and job.json.exists():
            given.keep.mkdir(parents=True, exist_ok=True)
            shutil.copy(job.json, given.keep / f"accept-{number}.json")
        evidence = findings.Evidence(document, draw.order, {process.host: process.text(1) for process in job.processes})
        result = scores.judged(draw.faults, document, evidence, took, left, BUDGET)
        report(given, draw, result, document, job)
    disturbed = any(re.search(r"\b[1-9]\d* disturbed", stage["result"]) for stage in document["stages"])
    return {"seed": given.seed, "number": number, **result}, disturbed


def report(given, draw, result, document, job):
    wrong = [f"{fault['kind']}: {aspect} WRONG" for fault in result["faults"] for aspect in findings.ASPECTS
             if fault[aspect] is False]
    wrong += [f"INNOCENT: {', '.join(result['innocents'])}"] * bool(result["innocents"])
    wrong += ["OVER"] * result["over"] + [f"LEFT: {left}" for left in result["left"]]
    wrong += ["too late"] * any(fault["late"] for fault in result["faults"])
    print("right" if result["right"] else "WRONG", f"--seed {given.seed} --run {draw.number}: {draw.title()}:",
          f"in {result['seconds']} s, status {result['status']};", "; ".join(wrong))
    if not result["right"] or given.run is not None:
        for stage in document["stages"]:
            print(f"    {stage['stage']} {stage['state']} {stage['seconds']:.1f} s: {stage['result']} {stage['why']}")
        for finding in document["findings"]:
            print(f"    {finding['health']} ({finding['status']}): {finding['message']}")
        for process in job.processes:
            for line in process.text(1).splitlines():
                print(f"    h{process.host} ({process.status()}): {line[:300]}")
    sys.stdout.flush()


def unavailable(given, other_core):
    """Kinds that cannot be made here: their runs are left out, and are the same wherever they can."""
    whys = {kind: faults.missing(kind, given.stages, other_core) for kind in faults.KINDS}
    whys = {kind: why for kind, why in whys.items() if why}
    for kind, why in whys.items():
        print(f"without {kind}: {why}")
    return whys


def campaign(given):
    """Does the runs; returns their results."""
    known = subprocess.run([given.cctest, "help", "accept"], check=True, capture_output=True, text=True).stdout
    stages = [stage for stage in ("inventory", "self", "pairs", "isolate", "halves", "all") if re.search(rf"\b{stage}\b[,\s]", known)]
    given.stages = given.stages or ",".join(stages)
    # Each host believes that it has all cores, and binds its worker to the first. Workers on several cores would make two
    # kinds of pairs: those that share one, and those that do not.
    cores = os.sched_getaffinity(0) if given.core is None else {given.core}
    os.sched_setaffinity(0, {max(cores)})
    other_core = min(cores) if len(cores) > 1 else None
    whys = unavailable(given, other_core)
    fleet, results, begun = Fleet(given.holder, other_core), [], time.monotonic()
    for number in numbers(given):
        if time.monotonic() - begun > given.seconds:
            break
        if any(kind in whys for kind in Draw(given, number).kinds()):
            continue
        for tries_left in reversed(range(given.tries)):
            result, disturbed = do(given, number, fleet)
            if result["right"] or not disturbed or tries_left == 0:
                break
            print("repeated: other processes disturbed its measurements")
        results.append(result)
        if given.log:
            with open(given.log, "a", encoding="utf-8") as log:
                log.write(json.dumps(result) + "\n")
    print(f"coverage: {len(results)} runs on {len(fleet.numbers)} hosts, seed {given.seed}, "
          f"in {time.monotonic() - begun:.0f} s")
    return scores.joined([given.log]) if given.log else results


def main():
    given = options()
    if given.draws:
        for number in numbers(given):
            print(f"--seed {given.seed} --run {number}: {Draw(given, number).title()}")
        return 0
    if given.join:
        results = scores.joined(given.join)
    elif os.environ.get("TEST_PRIVATE"): # set by lib.sh
        results = campaign(given)
    else:
        sys.exit("run tests/system/test_accept_campaign.sh, which provides a private machine")
    print(scores.table(results, given.markdown))
    print(scores.summary(results))
    return 0 if given.join else not scores.are_good(results, given.least)


if __name__ == "__main__":
    sys.exit(main())

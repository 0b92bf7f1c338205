"""judge.py - was the end of a run right? In time, with the right status, the right culprit, and nothing left behind.

What is right follows from the fault alone, never from what the job said. Each fault has words of its own, behind the
name of who was struck (WORDS); what else is reported stands in lines of a certain form, and they are not many; and the
JSON says the same: its status, and who is to blame.

  healthy       status 0 everywhere, and nobody is accused
  lost, silent  5 on all who survive; whoever accuses names the rank that was struck
  a cut link    5 everywhere, and both ends are named, by their hosts; one to rank 0's host may look like a cut host;
                also where only one way is cut
  a cut host    5 everywhere; who is elsewhere names that host, or one of its ranks (rank 0, if it runs there); who runs on
                it hears nobody, so it may name rank 0, or its own host
  interrupted   130; one that had hardly begun, or found no rank 0 yet, ends alone, and the others miss it (5)
  descriptors   1, and the rank that had too few of them; 5 on others, who miss it, where it could not even join;
                0 where they were enough
  too late      5, and where it looked: who looks for rank 0 when that one has ended already
  early         while ranks still meet through a launcher: as above for one that sleeps, which the launcher does not see,
                but for what that one itself says and how it ends; of others, and one that is woken before its own
                deadline, whatever it says: the launcher has its own mind. When the first has ended it wakes those
                that sleep, and who meets one of these then has its time once more
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

HEALTHY_MOST = 90 # seconds that a healthy job may take here
SLURM = re.compile(r'\(\("(munged|slurmctld|slurmd|slurmstepd|srun)"') # who listens
SLEEPS = ("stop", "stop-root", "stop-long") # the rank that is struck
MINDED = ("kill", "kill-root", "interrupt", "stop-long") # by launchers, while ranks meet through them
NOTES = re.compile(r"CCTEST_SECRET is not set|^\(\d+ lines before")
FURTHER = re.compile(r"^  (rank \d+ \(host [^)]+, pid \d+\): \S.*|and \d+ more)$")
FURTHER_MOST = 16 # lines behind the first, and one that says how many more

# What is said of who was struck.
GONE = r"(is gone|was lost|was killed by signal|cannot be reached any more)"
SILENT = r"(is silent|is stopped|cannot be reached any more)"
WORDS = {
    "kill": GONE, "kill-root": GONE,
    "stop": SILENT, "stop-root": SILENT, "stop-long": SILENT,
    "stuck": r"is waited for by",
    "descriptors": r".*(open files|descriptor|socket)",
}
STATUSES = {0: "ok", 1: "error", 2: "usage", 5: "timeout", 77: "unavailable", 130: "interrupted"}


def accusations(case, process):
    """What a process says without being asked, but for the further lines of a report."""
    lines = process.text(1).splitlines()
    if case.launched(): # the launcher has words of its own
        lines = [line for line in lines if line.startswith("cctest: ")]
    lines = [line.removeprefix("cctest: ") for line in lines]
    if case.fault in SLEEPS: # it knows only that the others have gone
        lines = [line for line in lines if process.rank != case.target and not line.startswith(f"rank {case.target}: ")]
        if case.target == 0: # it speaks in the job's name
            lines = [line for line in lines if not missed(line)]
        # While it met the launcher it had no prefix yet.
        lines = [line for line in lines if not re.search(rf"\brank {case.target} (of \d+, but|within) ", line)]
    lines = [re.sub(r"^rank \d+: ", "", line) for line in lines if not line.startswith("  ")]
    return [line for line in lines if line and not NOTES.search(line)]


def missed(line):
    """The ranks that a line says did not join, as far as it lists them."""
    found = re.search(r"did not join within .*?: ranks? ([\d, ]+)", line)
    return {int(rank) for rank in re.findall(r"\d+", found[1])} if found else set()


def named(case, ranks, host=None):
    """A regex: the line names these ranks (one of them first), or their host."""
    verb = WORDS.get(case.fault, "")
    words = [rf"^(nobody has progressed for \S+ s: )?rank {rank} \([^)]*\):? {verb}" for rank in ranks]
    words.append(rf"rank {ranks[0]} was silent for") # says who went, to one that slept
    any_of = "(" + "|".join(map(str, ranks)) + ")"
    words.append(rf"did not join within .*: ranks? {any_of}(, {any_of})*( and \d+ more)?[; ]") # the rest had joined
    if 0 in ranks:
        words.append(r"^rank 0 could not be reached")
    if host:
        words.append(rf"^(nobody has progressed for \S+ s: )?(all ranks on )?host h{host}\b")
    return "|".join(words)


def cut_off(case, process):
    """What may be said after a host was cut off."""
    there = [rank for rank in range(case.ranks) if case.host[rank] == case.victim]
    elsewhere = [rank for rank in range(case.ranks) if case.host[rank] != case.victim]
    if process.host != case.victim:
        return named(case, there, case.victim)
    words = named(case, [0]) + rf"|\bhost h{case.victim}\b"
    if process.rank == 0: # while ranks join it cannot tell who it is that does not hear
        words += "|did not join within"
        if len(set(case.host)) == 2:
            words += "|" + named(case, elsewhere, case.host[elsewhere[0]])
    return words


def interrupted(case, struck):
    """What may be said of an interruption; struck: by a process that got it itself."""
    who = r"\d+" if case.strikes_all() else str(case.target)
    words = rf"^rank {who} \(.* interrupted by SIG{case.signal}|" + named(case, [case.target])
    return words + rf"|^interrupted by SIG{case.signal}" * struck


NOT_THERE = "rank 0 could not be reached at"
ALONE = "before it had reached rank 0"
JOINING = re.compile("could not be reached|did not join|had joined|" + ALONE)


def looked_too_late(job, case, process):
    """Did it begin to look for rank 0 when that one had ended already?"""
    root = next((p for p in job.processes if p.rank == 0 and p.ended and p is not process), None)
    return bool(root and process.ended and process.ended - case.timeout > root.ended and
                NOT_THERE in process.text(1))


def expected(job, case, process):
    """(the statuses that are right, the regex that accusations must match; None: nobody is to be accused)"""
    fault, struck = case.fault, process.rank == case.target
    if case.healthy():
        return {0}, None
    if case.early and (struck or fault in MINDED): # it has an end, in time, and that is all that can be asked for
        return {None, *range(-64, 256)}, "."
    if case.launched() and process.rank is None: # its own status is its own business
        words = interrupted(case, True) if fault == "interrupt" else named(case, [case.target])
        return set(range(1, 256)), words
    if fault == "kill-supervisor" or (fault in ("kill", "kill-root") and struck):
        return {-9}, None
    if fault == "descriptors":
        own = "|open files" if struck or process.rank is None else ""
        # It may have had too few to be there for anybody: to join, or as rank 0.
        missed_it = any(re.search("did not join|rank 0 could not be reached", p.text(1)) for p in job.processes)
        alone = missed_it and not struck and process.rank is not None
        return {0, 1} | ({5} if alone else set()), named(case, [case.target]) + own
    if fault == "interrupt":
        number = -getattr(signal, "SIG" + case.signal)
        unseen = any(p.rank == case.target and (p.status() == number or ALONE in p.text(1)) for p in job.processes)
        statuses = {5} if (unseen and not struck) or looked_too_late(job, case, process) else {130}
        # It had hardly begun.
        early = struck and any(JOINING.search(other.text(1)) for other in job.processes)
        return statuses | ({number} if early else set()), interrupted(case, struck or process.rank is None)
    if fault in ("cut", "cut-root", "unplug"):
        return {5}, cut_off(case, process)
    if fault in ("cut-link", "cut-way"): # the one that lost patience first stands in front
        def there(host):
            return "|".join(str(rank) for rank in range(case.ranks) if case.host[rank] == host)
        ends = [rf"^rank ({there(one)}) \(host h{one}.*: .*rank ({there(two)})\b"
                for one, two in ((case.victim, case.other), (case.other, case.victim))]
        one, two = rf"\bhost h{case.victim}\b", rf"\bhost h{case.other}\b"
        ends += [f"{one}.*{two}", f"{two}.*{one}"]
        if case.other == 1: # who is at the other end cannot reach rank 0
            ends.append(cut_off(case, process))
        return {5}, "|".join(ends)
    return {5}, named(case, [case.target])


def is_right(job, case, process, line):
    pattern = expected(job, case, process)[1]
    if pattern and line.startswith(NOT_THERE) and looked_too_late(job, case, process):
        return True
    if pattern is None or not re.search(pattern, line):
        return False
    # Who misses ranks misses nobody from the hosts that it could hear.
    return case.fault != "cut-root" or all(case.host[rank] != case.victim for rank in missed(line))


def right_names(job, case):
    """What is wrong with what was said; "": nothing; None: there is nobody to be named."""
    accused = False
    for process in job.processes:
        for line in accusations(case, process):
            if not is_right(job, case, process, line):
                return f"rank {process.rank} says: {line}"
            accused = True
    silent = case.early and case.fault in MINDED or case.fault == "kill-supervisor"
    silent = silent or not case.healthy() and all(p.status() == 0 for p in job.processes)
    if silent:
        return None
    return further_lines(job, case) if accused or case.healthy() else "nobody is named"


def further_lines(job, case):
    """What is wrong with the lines behind the first of a report."""
    for process in job.processes:
        lines = [line.removeprefix("cctest: ") for line in process.text(1).splitlines() if line.startswith("cctest:   ")]
        odd = [line for line in lines if not FURTHER.match(line)]
        if odd:
            return f"rank {process.rank} reports: {odd[0]}"
        reports = case.ranks if case.launched() and process.rank is None else 1
        if len(lines) > (FURTHER_MOST + 1) * reports:
            return f"rank {process.rank} reports {len(lines)} lines"
    return ""


def right_json(job, case):
    """(what is wrong with the file, "": nothing; where it says that who is to blame was last seen)"""
    root = next(p for p in job.processes if p.rank in (0, None) and not (case.launched() and p.rank is None))
    try:
        document = json.loads(job.json.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ("there is none" if root.status() == 0 else ""), ""
    except ValueError as error:
        return f"it is none: {error}", ""
    word, blamed = STATUSES.get(root.status()), (document.get("errors") or [{}])[0]
    phase = blamed.get("phase", "")
    if word and document["status"] != word:
        return f"it says {document['status']}, and rank 0 ended with {root.status()}", phase
    if document["status"] in ("ok", "running") or case.early or root.rank == case.target:
        return "", phase
    if case.fault in WORDS and case.fault != "descriptors" and blamed["rank"] != case.target:
        return f"it blames rank {blamed['rank']}: {blamed['message']}", phase
    if case.fault in ("cut", "unplug") and case.host[blamed["rank"]] != case.victim:
        return f"it blames rank {blamed['rank']}: {blamed['message']}", phase
    return "", phase


def right_status(job, case, late):
    wrong = []
    for process in job.processes:
        statuses = {0} if late else expected(job, case, process)[0]
        if process.status() not in statuses:
            wrong.append(f"rank {process.rank} ended with {process.status()}, not {sorted(statuses)}")
    same = {p.status() for p in job.processes} - {-9, 5}
    if case.fault in ("descriptors",) and len(same) > 1:
        wrong.append(f"the ranks ended with {sorted(same)}")
    return "; ".join(wrong)


def leftovers_at_last(job, hosts, slack):
    """Ranks that the kernel kills after their supervisor need a moment to be gone."""
    until = time.monotonic() + slack
    while (left := leftovers(job, hosts)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def leftovers(job, hosts):
    told = subprocess.run(["ps", "-e", "-o", "pid=,stat=,comm="], check=True, capture_output=True, text=True).stdout
    left = [line for line in told.splitlines() if line.split()[2] == "cctest" and line.split()[1][0] != "Z"]
    places = [[]] + ([hosts.on(number + 1) for number in range(len(hosts.holders))] if hosts else [])
    for place in places:
        told = subprocess.run([*place, "sh", "-c", "ls -A /dev/shm; ss -Hlntxp"], check=True, capture_output=True,
                              text=True).stdout
        left += [line for line in told.splitlines() if not SLURM.search(line)]
    mine = {path.name for process in job.processes for path in process.files} | {job.json.name}
    return left + [name for name in os.listdir(job.folder) if name not in mine]


def judge(job, case, struck, hosts, given):
    """{what: what is wrong with it, or ""}; ends what is left of the job."""
    left = job.close()
    launcher = [p for p in job.processes if p.rank is None and len(job.processes) > 1]
    well = case.healthy() or all(p.status() == 0 for p in job.processes)
    limit = HEALTHY_MOST if well else case.timeout * (1 + case.early) + given.slack
    begin = job.struck if case.fault != "stuck" else job.started + 1
    ends = [p.ended for p in job.processes if p.ended and p not in launcher and
            not (p.rank == case.target and p.pid in job.woken)]
    took = max(ends, default=begin) - begin
    late = not struck or (case.fault == "garbage" and job.hits == 0)
    said, phase = right_json(job, case)
    return {
        "late": late, "phase": phase, "took": round(took, 2),
        "time": f"hangs: {', '.join(left)}" if left else f"{took:.2f} s" if took > limit else "",
        "status": right_status(job, case, late),
        "names": None if late and all(p.status() == 0 for p in job.processes) else right_names(job, case),
        "json": said,
        "left": "; ".join(leftovers_at_last(job, hosts, given.slack)),
    }

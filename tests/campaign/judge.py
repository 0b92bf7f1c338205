"""judge.py - did a run end right: in time, with the right status and the right cause, and with nothing left behind?

The right end follows from the fault alone, never from the output of the job. Each fault has its own wording behind the
name of its target (WORDS). Further lines of a report have a fixed form and a limited number. The JSON has the same
status and the same rank.

  healthy       status 0 on all ranks, no rank is named
  lost, silent  5 on all other ranks; every message names the target
  a cut link    5 on all ranks; messages name both ends by their hosts; a link to the host of rank 0 may look like a
                cut host; the same if only one direction is cut
  a cut host    5 on all ranks; ranks elsewhere name that host, or one of its ranks (rank 0, if it runs there); ranks
                on it hear no other, so they may name rank 0, or their own host
  interrupted   130; a rank that has just started, or has not reached rank 0, ends alone, and others miss it (5)
  descriptors   1, and the rank that had too few; if it could not even join, others miss it (5); 0 if they were enough
  too late      a rank that joins when rank 0 has ended: 5, and the address of rank 0
  early         the fault comes while ranks still meet through a launcher. A stopped target, which the launcher does not
                notice: as above, with any message and status of the target. Otherwise any end: the launcher decides.
                When the first rank has ended, the launcher continues stopped ranks, and a rank that meets one of these
                has its deadline again
"""
import json
import os
import re
import signal
import subprocess
import time

HEALTHY_MOST = 90 # seconds that a healthy job may take here
SLURM = re.compile(r'\(\("(munged|slurmctld|slurmd|slurmstepd|srun)"') # a listener in the output of ss
STOPS = ("stop", "stop-root", "stop-long") # the target
NOTICED = ("kill", "kill-root", "interrupt", "stop-long") # by launchers, while ranks meet through them
NOTES = re.compile(r"CCTEST_SECRET is not set|^\(\d+ lines before|^the table will have \d+ lines:")
FURTHER = re.compile(r"^  (rank \d+ \(host [^)]+, pid \d+\): \S.*|and \d+ more)$")
FURTHER_MOST = 16 # lines behind the first, and one that says how many more

# The wording behind the name of the target.
GONE = r"(is gone|is no longer reachable from|was lost|was killed by signal|cannot be reached any more)"
SILENT = r"(sent no heartbeat|did not answer|is stopped|cannot be reached any more)"
WORDS = {
    "kill": GONE, "kill-root": GONE,
    "stop": SILENT, "stop-root": SILENT, "stop-long": SILENT,
    "stuck": r"has not begun its iteration and keeps \d+ others? waiting",
    "descriptors": r".*(open files|descriptor|socket)",
}
STATUSES = {0: "ok", 1: "error", 2: "usage", 5: "timeout", 77: "unavailable", 130: "interrupted"}


def messages(case, process):
    """The failure messages of a process, without notes and without the further lines of a report."""
    text = re.sub(r"\b(\d+)\.\.(\d+)\b", lambda run: ", ".join(map(str, range(int(run[1]), int(run[2]) + 1))),
                  process.text(1)) # ranks 5..7: each by its number
    lines = text.splitlines()
    if case.launched(): # the launcher prints lines of its own
        lines = [line for line in lines if line.startswith("cctest: ")]
    lines = [line.removeprefix("cctest: ") for line in lines]
    if case.fault in STOPS: # the target only knows that the others are gone
        lines = [line for line in lines if process.rank != case.target and not line.startswith(f"rank {case.target}: ")]
        if case.target == 0: # rank 0 prints without a prefix
            lines = [line for line in lines if not missing_ranks(line)]
        # Before it has met the others through the launcher, a rank has no prefix.
        lines = [line for line in lines if not re.search(rf"\brank {case.target} (of \d+, but|within) ", line)]
    lines = [re.sub(r"^rank \d+: ", "", line) for line in lines if not line.startswith("  ")]
    return [line for line in lines if line and not NOTES.search(line)]


def missing_ranks(line):
    """The ranks that a line lists as not joined."""
    found = re.search(r"did not join within .*?: ranks? ([\d, ]+)", line)
    return {int(rank) for rank in re.findall(r"\d+", found[1])} if found else set()


def named(case, ranks, host=None):
    """A regex for lines that name one of these ranks, or their host, as the cause."""
    verb = WORDS.get(case.fault, "")
    words = [rf"^(no rank has progressed for \S+ s: )?rank {rank} \([^)]*\):? {verb}" for rank in ranks]
    words.append(rf"rank {ranks[0]} was silent for") # what a rank tells one that was stopped and has gone on
    any_of = "(" + "|".join(map(str, ranks)) + ")"
    words.append(rf"did not join within .*: ranks? {any_of}(, {any_of})*( and \d+ more)?[; ]") # and no other
    if 0 in ranks:
        words.append(r"^rank 0 could not be reached")
    if host:
        words.append(rf"^(no rank has progressed for \S+ s: )?host h{host}\b")
    return "|".join(words)


def cut_off(case, process):
    """A regex for messages after a host was cut off."""
    there = [rank for rank in range(case.ranks) if case.host[rank] == case.victim]
    elsewhere = [rank for rank in range(case.ranks) if case.host[rank] != case.victim]
    if process.host != case.victim:
        return named(case, there, case.victim)
    words = named(case, [0]) + rf"|\bhost h{case.victim}\b"
    if process.rank == 0: # while ranks join it cannot tell which side is cut off
        words += "|did not join within"
        if len(set(case.host)) == 2:
            words += "|" + named(case, elsewhere, case.host[elsewhere[0]])
    return words


def interrupted(case, struck):
    """A regex for messages after an interruption; struck: of a process that got the signal itself."""
    rank = r"\d+" if case.strikes_all() else str(case.target)
    words = rf"^rank {rank} \(.* interrupted by SIG{case.signal}|" + named(case, [case.target])
    return words + rf"|^interrupted by SIG{case.signal}" * struck


NOT_THERE = "rank 0 could not be reached at"
ALONE = "before it had reached rank 0"
JOINING = re.compile("could not be reached|did not join|had joined|" + ALONE)


def joined_too_late(job, case, process):
    """Did it begin to join after rank 0 had ended?"""
    root = next((p for p in job.processes if p.rank == 0 and p.ended and p is not process), None)
    return bool(root and process.ended and process.ended - case.timeout > root.ended and
                NOT_THERE in process.text(1))


def expected(job, case, process):
    """(the right statuses, the regex that messages must match; None: there must be no message)"""
    fault, struck = case.fault, process.rank == case.target
    if case.healthy():
        return {0}, None
    if case.early and (struck or fault in NOTICED): # any end in time is right
        return {None, *range(-64, 256)}, "."
    if case.launched() and process.rank is None: # launchers have statuses of their own
        words = interrupted(case, True) if fault == "interrupt" else named(case, [case.target])
        return set(range(1, 256)), words
    if fault == "kill-supervisor" or (fault in ("kill", "kill-root") and struck):
        return {-9}, None
    if fault == "descriptors":
        own = "|open files" if struck or process.rank is None else ""
        # With very few descriptors the target cannot join, or as rank 0 cannot accept others.
        missing = any(re.search("did not join|rank 0 could not be reached", p.text(1)) for p in job.processes)
        alone = missing and not struck and process.rank is not None
        return {0, 1} | ({5} if alone else set()), named(case, [case.target]) + own
    if fault == "interrupt":
        number = -getattr(signal, "SIG" + case.signal)
        unseen = any(p.rank == case.target and (p.status() == number or ALONE in p.text(1)) for p in job.processes)
        statuses = {5} if (unseen and not struck) or joined_too_late(job, case, process) else {130}
        # The target may have just started, without a handler for the signal.
        early = struck and any(JOINING.search(other.text(1)) for other in job.processes)
        return statuses | ({number} if early else set()), interrupted(case, struck or process.rank is None)
    if fault in ("cut", "cut-root", "unplug"):
        return {5}, cut_off(case, process)
    if fault in ("cut-link", "cut-way"): # the rank whose deadline passed first is named first
        def there(host):
            return "|".join(str(rank) for rank in range(case.ranks) if case.host[rank] == host)
        ends = [rf"^rank ({there(one)}) \(host h{one}.*: .*rank ({there(two)})\b"
                for one, two in ((case.victim, case.other), (case.other, case.victim))]
        one, two = rf"\bhost h{case.victim}\b", rf"\bhost h{case.other}\b"
        ends += [f"{one}.*{two}", f"{two}.*{one}"]
        if case.other == 1: # the ranks of the victim cannot reach rank 0
            ends.append(cut_off(case, process))
        return {5}, "|".join(ends)
    return {5}, named(case, [case.target])


def is_right(job, case, process, line):
    pattern = expected(job, case, process)[1]
    if pattern and line.startswith(NOT_THERE) and joined_too_late(job, case, process):
        return True
    if pattern is None or not re.search(pattern, line):
        return False
    # Rank 0 still hears the ranks of its own host, so these are not missing.
    return case.fault != "cut-root" or all(case.host[rank] != case.victim for rank in missing_ranks(line))


def right_names(job, case):
    """What is wrong with the messages; "": nothing; None: there need be none."""
    found = False
    for process in job.processes:
        for line in messages(case, process):
            if not is_right(job, case, process, line):
                return f"rank {process.rank} says: {line}"
            found = True
    optional = case.early and case.fault in NOTICED or case.fault == "kill-supervisor"
    optional = optional or not case.healthy() and all(p.status() == 0 for p in job.processes)
    if optional:
        return None
    return further_lines(job, case) if found or case.healthy() else "no message names a cause"


def further_lines(job, case):
    """What is wrong with the lines of a report after the first; "": nothing."""
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
    """(what is wrong with the file, "": nothing; the last phase of the rank that it names)"""
    root = next(p for p in job.processes if p.rank in (0, None) and not (case.launched() and p.rank is None))
    try:
        document = json.loads(job.json.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ("there is none" if root.status() == 0 else ""), ""
    except ValueError as error:
        return f"it is not valid: {error}", ""
    word, first = STATUSES.get(root.status()), (document.get("errors") or [{}])[0]
    phase = first.get("phase", "")
    if word and document["status"] != word:
        return f"it says {document['status']}, and rank 0 ended with {root.status()}", phase
    if document["status"] in ("ok", "running") or case.early or root.rank == case.target:
        return "", phase
    if case.fault in WORDS and case.fault != "descriptors" and first["rank"] != case.target:
        return f"it names rank {first['rank']}: {first['message']}", phase
    if case.fault in ("cut", "unplug") and case.host[first["rank"]] != case.victim:
        return f"it names rank {first['rank']}: {first['message']}", phase
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
    """Leftovers after a moment: the kernel needs one to kill the ranks of a dead supervisor."""
    until = time.monotonic() + slack
    while (left := leftovers(job, hosts)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def leftovers(job, hosts):
    """Processes, shared memory, sockets and files of the job that are still there."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,stat=,comm="], check=True, capture_output=True, text=True).stdout
    left = [line for line in listed.splitlines() if line.split()[2].startswith("cctest") and line.split()[1][0] != "Z"]
    places = [[]] + ([hosts.on(number + 1) for number in range(len(hosts.holders))] if hosts else [])
    for place in places:
        listed = subprocess.run([*place, "sh", "-c", "ls -A /dev/shm; ss -Hlntxp"], check=True, capture_output=True,
                                text=True).stdout
        left += [line for line in listed.splitlines() if not SLURM.search(line)]
    mine = {path.name for process in job.processes for path in process.files} | {job.json.name}
    return left + [name for name in os.listdir(job.folder) if name not in mine]


def judge(job, case, struck, hosts, given):
    """{respect: what is wrong, or ""}; kills the rest of the job."""
    left = job.close()
    launcher = [p for p in job.processes if p.rank is None and len(job.processes) > 1]
    well = case.healthy() or all(p.status() == 0 for p in job.processes)
    limit = HEALTHY_MOST if well else case.timeout * (1 + case.early) + given.slack
    begin = job.struck if case.fault != "stuck" else job.started + 1
    ends = [p.ended for p in job.processes if p.ended and p not in launcher and
            not (p.rank == case.target and p.pid in job.resumed)]
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

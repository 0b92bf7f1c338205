#!/usr/bin/env python3
"""Writes garbage into memory that the ranks of a job share, until the job has ended.

usage: garbage.py PID NAME SEED: PID is the first process of a job that measures; NAME the memory's ("cctest-shm",
"cctest-barrier"). Whole pages or single bits, in one rank or in all, at once or again and again: the seed decides.
NAME:header means the first page alone, NAME:blocks all but that. Prints what it does.
"""
import os
import random
import sys
import time

job, (name, _, part), seed = int(sys.argv[1]), sys.argv[2].partition(":"), int(sys.argv[3])
pick = random.Random(seed)


def processes():
    """The job's processes: PID and its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    parents[int(entry)] = int(stat.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found = [job] if job in parents else []
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def shared(pid):
    """Where the memory is mapped in the process: pairs of begin and end."""
    ranges = []
    try:
        with open(f"/proc/{pid}/maps") as maps:
            for line in maps:
                words = line.split()
                if len(words) > 5 and words[5] == f"/memfd:{name}" and "w" in words[1]:
                    begin, end = (int(part, 16) for part in words[0].split("-"))
                    if not part or (part == "header") == (int(words[2], 16) == 0):
                        ranges.append((begin, end))
    except OSError:
        pass
    return ranges


def spoil(pid, ranges, bits):
    """Overwrites all of it, or flips so many bits."""
    try:
        with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
            for begin, end in ranges if bits == 0 else ():
                memory.seek(begin)
                memory.write(pick.randbytes(end - begin))
            for _ in range(bits):
                begin, end = pick.choice(ranges)
                at = pick.randrange(begin, end)
                memory.seek(at)
                byte = memory.read(1)[0] ^ 1 << pick.randrange(8)
                memory.seek(at)
                memory.write(bytes([byte]))
    except (OSError, IndexError):  # the process has ended
        pass


bits, all_ranks, again = pick.choice((0, 0, 500)), pick.random() < 0.5, pick.random() < 0.5
pause = pick.random() / 2
print(f"seed {seed}: {'whole pages' if bits == 0 else f'{bits} bits'} of {name}, in {'all ranks' if all_ranks else 'a rank'},"
      f" {'again and again' if again or bits else 'once'}, {pause:.2f} s after the job measures")
done = False
while (pids := processes()):
    victims = [(pid, ranges) for pid in pids if (ranges := shared(pid))]
    if victims and not done:
        time.sleep(pause)
    if victims and (not done or again or bits):
        done = True
        for pid, ranges in victims if all_ranks else [pick.choice(victims)]:
            spoil(pid, ranges, bits)
    time.sleep(0.02)

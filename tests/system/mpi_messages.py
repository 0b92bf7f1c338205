#!/usr/bin/env python3
"""Which algorithms an MPI took, by the messages that each rank sent: those that Open MPI's monitoring component counted
(pml_monitoring_enable_output), or that ucx_messages.c saw MPICH send. They are compared with the sums of cctest's own schedules.

usage: mpi_messages.py CCTEST RANKS FILE... -- COLLECTIVE:ALGORITHM:SIZE...

The files are those of the ranks; the words are what ran (bytes of the larger buffer of a rank), by cctest's names. Prints
"N messages as scheduled", or what differs, with status 1."""
import collections
import json
import subprocess
import sys


def column(size):
    """Of the counts of a pair, as Open MPI has them: messages without bytes first, then by powers of two."""
    return size.bit_length()


def counted(paths):
    """{(sender, receiver, column): messages}. Of Open MPI's lines those of collectives (I); what the program itself sends is E."""
    found = collections.Counter()
    for path in paths:
        for line in open(path):
            kind, *words = line.rstrip("\n").split("\t")
            if kind == "I":
                for at, count in enumerate(map(int, words[4].split(","))):
                    found[int(words[0]), int(words[1]), at] += count
            elif kind == "S" and words[0] != words[1]:  # one to itself is a copy
                found[int(words[0]), int(words[1]), column(int(words[2]))] += 1
    return +found


def scheduled(cctest, ranks, collective, algorithm, size):
    plan = json.loads(subprocess.run([cctest, "plan", collective, "-a", algorithm, "--np", ranks, "-b", size, "--json", "-"],
                                     check=True, capture_output=True).stdout)["plans"][0]
    each = 0 if collective == "barrier" else 4  # bytes of a float; MPI's barrier sends none
    return collections.Counter((schedule["rank"], operation["peer"], column(operation["length"] * each))
                               for schedule in plan["schedules"] for operation in schedule["operations"] if operation["kind"] == "send")


def main():
    cctest, ranks, *words = sys.argv[1:]
    at = words.index("--")
    theirs, ours = counted(words[:at]), collections.Counter()
    for word in words[at + 1 :]:
        collective, algorithm, size = word.split(":", 1)[0], *word.split(":", 1)[1].rsplit(":", 1)
        ours += scheduled(cctest, ranks, collective, algorithm, size)
    for title, more in (("not sent", ours - theirs), ("not scheduled", theirs - ours)):
        for (sender, receiver, at), count in sorted(more.items()):
            print(f"{title}: {count} messages of {2 ** (at - 1) if at else 0} bytes or more from rank {sender} to {receiver}")
    if ours == theirs:
        print(f"{sum(ours.values())} messages as scheduled")
    sys.exit(ours != theirs or not ours)


main()

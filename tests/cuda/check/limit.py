#!/usr/bin/env python3
"""limit.py - what the bytes that a plan moves allow, beside what was measured.

usage: limit.py PLAN MEMORY LINK RESULT...

PLAN: JSON of `cctest plan`, of floats, one size. MEMORY: GB/s that all memory which the ranks use reads and writes together. LINK: GB/s
from one GPU to another; 0: the ranks share one. RESULT: JSON of runs of this plan; the best line of its size counts. Prints one line:

    BUSBW LIMIT_MEMORY LIMIT_LINK MOVED

BUSBW and its limits in GB/s; LIMIT_LINK is 0 without a link. MOVED: bytes that all operations read and write in zcopy. A message then
passes from buffer to buffer, by one end: the receiver has it here, and the sender has none. Ends with status 1 if a RESULT moved its
messages in another way, or no line has this size."""
import json
import sys

# Elements read and written, by element of the operation.
TOUCHED = {"send": 0, "recv": 2, "recv_reduce": 3, "copy": 2, "reduce": 3, "finish": 2}
FLOAT = 4


def operations(plan):
    for schedule in plan["schedules"]:
        for operation in schedule["operations"]:
            yield schedule["rank"], operation


def moved_bytes(plan):
    return FLOAT * sum(TOUCHED[operation["kind"]] * operation["length"] for _, operation in operations(plan))


def crossing_bytes(plan):
    """What the rank that receives most receives from others."""
    received = [0] * plan["ranks"]
    for rank, operation in operations(plan):
        if operation["kind"] in ("recv", "recv_reduce"):
            received[rank] += FLOAT * operation["length"]
    return max(received)


def best_line(paths, size):
    lines = []
    for path in paths:
        with open(path) as file:
            lines += [line for line in json.load(file)["results"] if line["bytes"] == size]
    if not lines:
        sys.exit(f"no line of {size} bytes was measured")
    for line in lines:
        ways = line["bytes_by_path"]
        if line["executor"] != "device" or not ways["zcopy"] or any(ways[way] for way in ways if way != "zcopy"):
            sys.exit(f"messages passed by {ways}, run by the {line['executor']}: the limit is that of zcopy by the device")
    return max(lines, key=lambda line: line["busbw_GBps"])


def main():
    path, memory, link = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    with open(path) as file:
        plan = json.load(file)["plans"][0]
    if plan["datatype"] != "float":
        sys.exit("the plan is not of floats")
    line = best_line(sys.argv[4:], plan["bytes"])
    # busbw is by definition a multiple of the bytes over the time, the same for a measured time and for that of a limit.
    bus_bytes = plan["bytes"] * line["busbw_GBps"] / line["algbw_GBps"]
    moved = moved_bytes(plan)
    by_memory, by_link = (bus_bytes * rate / of for rate, of in ((memory, moved), (link, crossing_bytes(plan))))
    print(f"{line['busbw_GBps']:.4g} {by_memory:.4g} {by_link:.4g} {moved}")


main()

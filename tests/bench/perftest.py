#!/usr/bin/env python3
"""Compares cctest over verbs with perftest, in turn, round after round, on one machine with an RDMA device.

    ib_write_bw -t 1    one message at a time          sendrecv -a uni        GB/s, from 64 KiB
    ib_write_bw         128 messages at a time         sendrecv -a uni        GB/s, from 1 MiB
    ib_write_lat        the receiver polls memory      sendrecv -a pingpong   us, 8 B, poll=memory
    ib_send_lat         the receiver polls the queue   sendrecv -a pingpong   us, 8 B, poll=cq

All programs run between the same two cores. In a round each program has some tries, in turn, and its best one counts:
the state of a shared host changes from one second to the next, and only ever makes a program slower. The result is the
median of the rounds' ratios, cctest / perftest.
`make bench-rdma` runs it in a virtual machine. Exit status 1: a ratio misses its aim, or a program failed.
"""
import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import time

KIB, MIB = 1 << 10, 1 << 20
PORT = 18515  # perftest's own

# least: iterations; perftest posts no more messages ahead. aim: a bandwidth is at least this ratio, a latency
# at most
Comparison = collections.namedtuple("Comparison", "tool options cctest sizes least aim")
COMPARISONS = (
    Comparison("ib_write_bw -t 1", ["-t", "1"], ["uni", "verbs"], [64 * KIB, 256 * KIB, MIB, 8 * MIB], 10, 0.95),
    Comparison("ib_write_bw", [], ["uni", "verbs"], [MIB, 2 * MIB, 4 * MIB, 8 * MIB], 128, 0.95),
    Comparison("ib_write_lat", [], ["pingpong", "verbs:poll=memory"], [8], 1, 1.10),
    Comparison("ib_send_lat", [], ["pingpong", "verbs:poll=cq"], [8], 1, 1.10),
)


def is_latency(comparison):
    return comparison.tool.endswith("_lat")


def iterations_of(comparison, size, given):
    return max(comparison.least, given.exchanges if is_latency(comparison) else min(1000, given.bytes // size))


def listening():
    """Whether a program waits at perftest's port."""
    with open("/proc/net/tcp") as table:
        return any(words.split()[3] == "0A" and words.split()[1].endswith(":%04X" % PORT)
                   for words in list(table)[1:])


def perftest(comparison, size, given):
    """GB/s of all iterations, or the median latency in microseconds."""
    count = iterations_of(comparison, size, given)
    command = [comparison.tool.split()[0], "-d", given.device, "-x", str(given.gid), "-F", "-s", str(size),
               "-n", str(count)] + comparison.options
    server = subprocess.Popen(["taskset", "-c", "1"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not listening():
            if server.poll() is not None:
                raise RuntimeError("the server of %s ended" % " ".join(command))
            time.sleep(0.02)
        client = subprocess.run(["taskset", "-c", "0"] + command + ["localhost"], capture_output=True, text=True,
                                timeout=given.limit)
        server.wait(given.limit)
    finally:
        server.kill()
        server.wait()
    row = re.search(r"^ *%d +%d +(.*)$" % (size, count), client.stdout, re.M)
    if client.returncode != 0 or not row:
        raise RuntimeError("%s: status %d: %s" % (" ".join(command), client.returncode, client.stderr.strip()))
    numbers = [float(word) for word in row.group(1).split()]
    # "peak average messages", in MiB/s; "least most typical ..."
    return numbers[2] if is_latency(comparison) else numbers[1] * MIB / 1e9


def cctest(comparison, size, given):
    algorithm, transport = comparison.cctest
    command = [given.cctest, "sendrecv", "-a", algorithm, "-x", transport, "--np", "2", "--start", "back-to-back", "-b",
               str(size), "-e", str(size), "-n", str(iterations_of(comparison, size, given)), "-w", "0", "-c", "0",
               "--json", "-"] + given.options.split()
    done = subprocess.run(command, capture_output=True, text=True, timeout=given.limit)
    if done.returncode != 0:
        raise RuntimeError("%s: status %d: %s" % (" ".join(command), done.returncode, done.stderr.strip()))
    times = json.loads(done.stdout)["results"][0]["time_us"]
    return times["p50"] if is_latency(comparison) else size / times["mean"] / 1e3


def chosen(given):
    return [comparison for comparison in COMPARISONS if given.only in comparison.tool]


def run_rounds(given):
    """{(comparison, size): [(cctest's number, perftest's) of each round]}"""
    measured = collections.defaultdict(list)
    for turn in range(given.rounds):
        for comparison in chosen(given):
            for size in comparison.sizes:
                best = min if is_latency(comparison) else max
                tries = collections.defaultdict(list)
                # 128 long messages take seconds, through several states of the host.
                for attempt in range(given.tries if comparison.least < 128 else 1):
                    for program in [cctest, perftest][::1 if (turn + attempt) % 2 == 0 else -1]:
                        tries[program].append(program(comparison, size, given))
                measured[comparison.tool, size].append((best(tries[cctest]), best(tries[perftest])))
                print("round %d: %s, %d B: %s" % (turn + 1, comparison.tool, size, " and ".join(
                    " ".join("%.4g" % number for number in tries[program]) for program in (cctest, perftest))),
                      file=sys.stderr)
    return measured


def size_text(size):
    return "%d MiB" % (size // MIB) if size >= MIB else "%d KiB" % (size // KIB) if size >= KIB else "%d B" % size


def print_table(measured, given):
    """Returns how many ratios miss their aim."""
    missed = 0
    print("| perftest | size | unit | cctest | perftest | ratio | least | most | aim |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for comparison in chosen(given):
        for size in comparison.sizes:
            pairs = measured[comparison.tool, size]
            ratios = sorted(ours / theirs for ours, theirs in pairs)
            ratio = statistics.median(ratios)
            good = ratio <= comparison.aim if is_latency(comparison) else ratio >= comparison.aim
            missed += not good
            print("| %s | %s | %s | %.4g | %.4g | %.2f%s | %.2f | %.2f | %s %.2f |" % (
                comparison.tool, size_text(size), "us" if is_latency(comparison) else "GB/s",
                statistics.median(ours for ours, _ in pairs), statistics.median(theirs for _, theirs in pairs),
                ratio, "" if good else "*", ratios[0], ratios[-1],
                "at most" if is_latency(comparison) else "at least", comparison.aim))
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cctest", default=os.path.join(os.path.dirname(__file__), "../../cctest"), metavar="PROGRAM")
    add("--options", default="", metavar="TEXT", help="more options for cctest")
    add("--device", default="rxe0", metavar="NAME")
    add("--gid", type=int, default=1, metavar="INDEX", help="for perftest (1: Soft-RoCE's IPv4)")
    add("--rounds", type=int, default=7, metavar="N")
    add("--only", default="", metavar="TEXT", help="the tools whose name contains it")
    add("--tries", type=int, default=3, metavar="N", help="of each program in a round")
    add("--bytes", type=int, default=8 * MIB, metavar="N",
        help="of a measurement of bandwidth, but at least 10 messages, of the default depth 128")
    add("--exchanges", type=int, default=2000, metavar="N", help="of a measurement of latency")
    add("--limit", type=float, default=60, metavar="SECONDS", help="of a program")
    given = parser.parse_args()
    if not chosen(given):
        parser.error("--only %s: no tool's name contains it" % given.only)
    return 1 if print_table(run_rounds(given), given) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(str(error))

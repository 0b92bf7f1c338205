#!/usr/bin/env python3
"""Measures the cost of many ranks before anything is sent.

Tables: time and memory of the schedule and the executor of one rank, at up to 65,536 ranks
(scale.c); shared and private memory of up to 64 local ranks that are all connected; the time from
start to end of up to 256 local ranks, forked or by a rendezvous; time and memory of predictions of up
to 65,536 ranks (predictions.py). Each shows whether its target is
met, if it has one. All numbers go to a JSON file, the tables to standard output.
"""

import sys

sys.dont_write_bytecode = True  # the source tree stays as it is

import argparse
import json
import os
import secrets
import socket
import statistics
import subprocess
import time

import bench
import predictions
import programs
import tables

BUILD_MS = 50            # for a rank that sends O(log p) messages, at MANY ranks
MANY, SOME = 65536, 4096  # SOME: for a direct alltoall
SHARED_BYTES = 256 << 20  # of all local ranks
PARTS = "build", "memory", "start", "predict"
STEADY, PATIENCE = 0.5, 60  # seconds: without growth of memory; until there is a job


def options_read():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__.split(
        "\n\n", 1)[1], formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    build = os.path.join(programs.ROOT, "build")
    add("--only", type=bench.listed(str), metavar="PART,...",
        default=list(PARTS), help="of " + ", ".join(PARTS))
    add("--ranks", metavar="P,...", default="64,1024,4096,65536", help="of the first table")
    add("--local", type=bench.listed(int), metavar="N,...", default=[2, 4, 8, 16, 32, 64],
        help="local ranks, of the table of memory")
    add("--starts", type=bench.listed(int), metavar="N,...", default=[16, 64, 256],
        help="ranks that start on this machine, of the last tables")
    add("--limit", type=float, default=1.5, metavar="SECONDS",
        help="leave out schedules that would take longer (1.5)")
    add("--predict-limit", type=float, default=60, metavar="SECONDS",
        help="CPU time after which a prediction is ended (60)")
    add("--repeat", type=int, default=5, metavar="N", help="starts of each job (5)")
    add("--cctest", default=os.path.join(programs.ROOT, "cctest"), metavar="PROGRAM")
    add("--program", default=os.path.join(build, "tests", "bench", "scale"), metavar="PROGRAM")
    add("--json", metavar="FILE", default=os.path.join(build, "bench", "scale.json"))
    options = parser.parse_args()
    unknown = set(options.only) - set(PARTS)
    if unknown:
        parser.error("--only: no '%s'; there are %s" % (min(unknown), ", ".join(PARTS)))
    return options


def verdict(met):
    return "met" if met else "MISSED"


# Schedules.

def is_logarithmic(line):
    return line["messages"] <= 4 * (line["ranks"] - 1).bit_length()


def is_target(line):
    """Lines that have a target."""
    if line["ranks"] == MANY:
        return is_logarithmic(line)
    return (line["ranks"] == SOME and line["collective"] == "alltoall" and
            line["messages"] == SOME - 1)


def measure_build(options):
    process = subprocess.Popen([options.program, "--ranks", options.ranks, "--limit",
                                str(options.limit)], stdout=subprocess.PIPE, text=True)
    lines = []
    for text in process.stdout:
        line = json.loads(text)
        if "ms" in line:
            line["target"] = is_target(line)
            line["met"] = line["ms"] <= BUILD_MS
        lines.append(line)
        print_build(line)
    if process.wait():
        sys.exit("scale: %s ended with %d" % (options.program, process.returncode))
    judged = [line for line in lines if line.get("target")]
    missed = [line for line in judged if not line["met"]]
    print("# %d of %d targets of %d ms missed%s\n" % (len(missed), len(judged), BUILD_MS, "".join(
        ", %s %s" % (line["collective"], line["algorithm"]) for line in missed)), flush=True)
    return lines


def print_build_head():
    print("# one rank's schedule, the worst of ranks 0, 1, p/2+1, p-1 (of each number by itself)")
    print("# target: %d ms for O(log p) messages at %d ranks, and for a direct alltoall at %d" % (
        BUILD_MS, MANY, SOME))
    print("%-16s%-20s%8s%10s%12s%11s%10s%10s%10s%14s%10s" % (
        "collective", "algorithm", "ranks", "ms", "operations", "messages", "spans", "waits",
        "KiB", "plan: ms", "KiB"))


def print_build(line):
    about = "%-16s%-20s%8d" % (line["collective"], line["algorithm"], line["ranks"])
    if "left_out" in line:
        print(about + "  left out: about %(seconds)g s and %(bytes).1g bytes" % line["left_out"])
        return
    print(about + "%10.3f%12d%11d%10d%10d%10d%14.3f%10d%s" % (
        line["ms"], line["operations"], line["messages"], line["spans"], line["waits"],
        line["schedule_bytes"] >> 10, line["plan_ms"], line["plan_bytes"] >> 10,
        "  " + verdict(line["met"]) if line["target"] else ""), flush=True)


# Memory.

def descendants(pid):
    """Processes below `pid`."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def memfds(pids):
    """Bytes of all memfds that the processes have open, each once."""
    blocks = {}
    for pid in pids:
        directory = "/proc/%d/fd" % pid
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            try:
                path = os.path.join(directory, name)
                if os.readlink(path).startswith("/memfd:"):
                    about = os.stat(path)
                    blocks[about.st_dev, about.st_ino] = about.st_blocks * 512
            except OSError:
                pass
    return sum(blocks.values())


def private_bytes(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Private_"))


def shmem_bytes():
    with open("/proc/meminfo") as file:
        return 1024 * next(int(line.split()[1]) for line in file if line.startswith("Shmem:"))


def measure_job(options, count):
    """Memory of a running job, when it no longer grows."""
    command = [options.cctest, "alltoall", "-a", "linear", "--np", str(count), "-x", "shm", "-b",
               "16K", "-e", "16K", "-n", "4000000", "-w", "0", "-c", "0"]
    before = shmem_bytes()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, env=programs.clean_environment("/tmp", None))
    best, since, begun, grown = 0, time.monotonic(), time.monotonic(), 0
    try:
        while time.monotonic() - begun < PATIENCE:
            time.sleep(0.05)
            ranks = descendants(process.pid)
            shared = memfds(ranks)
            grown = max(grown, shmem_bytes() - before)
            if shared > best or len(ranks) < count:
                best, since = max(best, shared), time.monotonic()
            if process.poll() is not None or (best and time.monotonic() - since > STEADY):
                break
        private = [private_bytes(pid) for pid in descendants(process.pid)]
    finally:
        process.terminate()
        said = process.communicate()[1]
    if len(private) != count:
        sys.exit("scale: %s: %d ranks instead of %d: %s" % (" ".join(command), len(private), count,
                                                           said.strip()))
    return {"ranks": count, "shared_bytes": best, "shmem_grew": grown,
            "private_bytes": {"median": statistics.median(private), "most": max(private)},
            "met": best <= SHARED_BYTES}


def measure_memory(options):
    print("# memory of alltoall linear, 16 KiB: all ranks are connected to all; target: %d MiB "
          "of shared memory" % (SHARED_BYTES >> 20))
    print("%6s%14s%16s%22s%20s" % ("ranks", "shared MiB", "a rank's KiB", "private KiB of a rank",
                                   "Shmem grew, MiB"))
    lines = []
    for count in options.local:
        line = measure_job(options, count)
        lines.append(line)
        print("%6d%14.1f%16d%22d%20.1f  %s" % (
            count, line["shared_bytes"] / (1 << 20), line["shared_bytes"] // count >> 10,
            int(line["private_bytes"]["median"]) >> 10, line["shmem_grew"] / (1 << 20),
            verdict(line["met"])), flush=True)
    print(flush=True)
    return lines


# Starting.

def barrier_command(options):
    return [options.cctest, "barrier", "-n", "1", "-w", "0", "-c", "0"]


def start_local(options, count):
    subprocess.run(barrier_command(options) + ["--np", str(count)], stdout=subprocess.DEVNULL,
                   check=True, env=programs.clean_environment("/tmp", None))


def start_rendezvous(options, count):
    """Starts each rank as a process, with a host, a port and a secret."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = programs.clean_environment("/tmp", None)
    environment["CCTEST_SECRET"] = secrets.token_hex(32)
    command = barrier_command(options) + ["--rendezvous", "127.0.0.1:%d" % port, "--world",
                                          str(count), "--rank"]
    ranks = [subprocess.Popen(command + [str(rank)], stdout=subprocess.DEVNULL, env=environment)
             for rank in range(count)]
    failed = [rank for rank, process in enumerate(ranks) if process.wait()]
    if failed:
        sys.exit("scale: ranks %s of %d failed" % (failed, count))


def measure_start(options):
    lines = []
    for how, start in ("--np", start_local), ("--rendezvous", start_rendezvous):
        print("# from start to end of `cctest barrier -n 1 -w 0 -c 0 %s ...`, s (median of %d)" % (
            how, options.repeat))
        print("%6s%10s%10s%10s%14s" % ("ranks", "median", "least", "most", "ms per rank"))
        for count in options.starts:
            took = []
            for _ in range(options.repeat):
                begun = time.monotonic()
                start(options, count)
                took.append(time.monotonic() - begun)
            line = {"how": how, "ranks": count, "seconds": statistics.median(took), "all": took}
            lines.append(line)
            print("%6d%10.3f%10.3f%10.3f%14.2f" % (
                count, line["seconds"], min(took), max(took), 1000 * line["seconds"] / count),
                flush=True)
        print(flush=True)
    return lines


def main():
    options = options_read()
    programs.prepare()
    document = {"schema": 1, "status": "running", "machine": tables.machine(programs.cores())}
    print("# %(processor)s, %(cores)d cores, Linux %(kernel)s, load %(load).2f\n" %
          document["machine"])
    if "build" in options.only:
        print_build_head()
        document["build"] = measure_build(options)
    if "memory" in options.only:
        document["memory"] = measure_memory(options)
    if "start" in options.only:
        document["start"] = measure_start(options)
    if "predict" in options.only:
        document["predict"] = predictions.measure_predict(options, verdict)
    document["status"] = "ok"
    os.makedirs(os.path.dirname(os.path.abspath(options.json)), exist_ok=True)
    with open(options.json + ".new", "w") as file:
        json.dump(document, file, indent=1)
    os.replace(options.json + ".new", options.json)
    bench.progress("all numbers are in %s" % os.path.relpath(options.json))


if __name__ == "__main__":
    main()

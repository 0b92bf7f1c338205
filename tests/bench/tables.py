"""The printed tables, with the description of the machine and the legends."""

import os
import platform


def size_text(size):
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size and size % factor == 0:
            return "%d%s" % (size // factor, unit)
    return str(size)


def machine(cpus):
    model = ""
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file
                          if line.startswith("model name")), "")
    except OSError:
        pass
    try:
        with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
            control = file.read().strip()
    except OSError:
        control = "unknown"
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            huge = file.read().split("[")[1].split("]")[0]
    except (OSError, IndexError):
        huge = "unknown"
    return {"processor": model or platform.machine(), "cores": len(cpus),
            "kernel": platform.release(), "huge_pages": huge,
            "congestion_control": control, "load": os.getloadavg()[0]}


def print_machine(about):
    print("# %(processor)s, %(cores)d cores, Linux %(kernel)s, huge pages: %(huge_pages)s, "
          "TCP: %(congestion_control)s, load %(load).2f" % about)


def print_head(document):
    options = document["options"]
    peers = [version for name, version in document["versions"].items() if name != "cctest"]
    print("# %s against %s" % (document["versions"]["cctest"], " and ".join(peers) or "no MPI"))
    print_machine(document["machine"])
    print("# median of %d rounds; a cell takes about %g s; float, sum, root 0, out of place but "
          "for the broadcast" % (options["rounds"], options["budget"]))
    for line in document["absent"]:
        print("# missing: " + line)
    for setting in document["environment"].items():
        print("# the environment tunes a library: %s=%s" % setting)
    print(flush=True)


def print_limits(limits):
    if not limits:
        return
    print("# limits, %d ranks at once, each (GB/s are of the bytes written)" % limits["ranks"])
    for key, text in (("copy", "copies memory, %d MiB" % (limits["bytes"] >> 20)),
                      ("sum", "adds up floats, %d MiB" % (limits["bytes"] >> 20)),
                      ("copy_middle", "copies memory, 8 MiB again and again"),
                      ("sum_middle", "adds up floats, 8 MiB again and again"),
                      ("copy_cached", "copies 16 KiB in its cache"),
                      ("sum_cached", "adds up 16 KiB in its cache")):
        if key in limits:
            print("%10.2f GB/s  %s (%s)" % (limits[key]["GBps"], text, limits[key]["kernel"]))
    if "line_ns" in limits:
        print("%10.1f ns    a cache line from core to core" % limits["line_ns"]["median"])
    if "tcp_one_way" in limits:
        print("%10.2f GB/s  loopback TCP, one pair, one direction" % limits["tcp_one_way"]["GBps"])
        print("%10.2f GB/s  loopback TCP, all send to the next and receive from the last at once" %
              limits["tcp_both_ways"]["GBps"])
        print("%10.2f us    loopback TCP, 8 bytes, half a round trip" %
              limits["tcp_half_round_trip_us"]["median"])
    print(flush=True)


def program_text(cell, name):
    about = cell["programs"].get(name)
    if about is None:
        return ""
    if "us" not in about:
        return about["status"]
    return "%.2f%s" % (about["us"], "" if about["status"] == "ok" else "!")


def ratio_text(cell):
    if cell is None:
        return ""
    bad = [about["status"] for about in cell["programs"].values() if about["status"] != "ok"]
    if "ratio" in cell:
        return "%.2f%s" % (cell["ratio"], "!" if bad else "*" if cell["ratio"] > 1 else " ")
    return "%s " % bad[0] if bad else "- "


def print_ratios(cells):
    collectives = list(dict.fromkeys(cell["collective"] for cell in cells))
    sized = [name for name in collectives if name != "barrier"]
    at = {(cell["collective"], cell["size"]): cell for cell in cells}
    if sized:
        print("%12s" % "size" + "".join("%16s " % name for name in sized))
    for size in sorted({cell["size"] for cell in cells if cell["collective"] != "barrier"}):
        print("%12s" % size_text(size) + "".join(
            "%17s" % ratio_text(at.get((name, size))) for name in sized))
    if ("barrier", 0) in at:
        print("%12s%17s" % ("barrier", ratio_text(at["barrier", 0])))


def print_times(cells):
    peers = [name for name in cells[0]["programs"] if name != "cctest"]
    print("%-15s%8s%14s" % ("collective", "size", "cctest us") + "".join(
        "%14s" % (name + " us") for name in peers) +
        "%8s %14s%14s%7s  %s" % ("ratio", "lowest-highest", "limit us", "share", "algorithm"))
    for cell in cells:
        limit, mine = cell.get("limit_us"), cell["programs"]["cctest"]
        ratios = cell.get("ratios")
        spread = "%.2f-%.2f" % (ratios[0], ratios[-1]) if ratios else ""
        print("%-15s%8s%14s" % (cell["collective"], size_text(cell["size"]),
                                program_text(cell, "cctest")) +
              "".join("%14s" % program_text(cell, name) for name in peers) +
              "%9s%14s%14s%7s  %s" % (
                  ratio_text(cell), spread, "%.2f" % limit if limit else "",
                  "%.2f" % (limit / mine["us"]) if limit and "us" in mine else "",
                  cell.get("algorithm", "-")))


def print_group(cells):
    """One transport and number of ranks."""
    if not cells:
        return
    where = "%s, %d ranks" % (cells[0]["transport"], cells[0]["ranks"])
    for start in dict.fromkeys(cell["start"] for cell in cells):
        mine = [cell for cell in cells if cell["start"] == start]
        how = "barrier before each iteration" if start == "barrier" else "back to back"
        print("# %s, %s: time of cctest / time of the faster MPI, median of rounds\n"
              "# (*: slower; !: a program timed out or failed in some round)" % (where, how))
        print_ratios(mine)
        print("#\n# %s, %s: times; the ratios of all rounds; share of the limit" % (where, how))
        print_times(mine)
        print(flush=True)


def print_shared(lines):
    if not lines:
        return
    print("# -m shared: the limit is what the plan has to touch, at the speed of memory; aim: 0.8\n"
          "# copied, reduced: of the busiest rank. More than 1 is possible where ranks read the\n"
          "# same bytes at the same time, so that one finds them in a cache that both share")
    print("%-15s%6s%6s%14s%14s%7s%8s%9s%9s  %s" % (
        "collective", "ranks", "size", "cctest us", "limit us", "share", "spread", "copied",
        "reduced", "algorithm"))
    for line in lines:
        print("%-15s%6d%6s%14.2f%14.2f%7.2f%7.0f%%%9s%9s  %s" % (
            line["collective"], line["ranks"], size_text(line["size"]), line["us"],
            line["limit_us"], line["share"], 100 * line["spread"],
            size_text(int(line["copied"])), size_text(int(line["reduced"])), line["algorithm"]))
    print(flush=True)


def print_end(document):
    cells = [cell for cell in document["cells"] if "ratio" in cell]
    if cells:
        slower = [cell for cell in cells if cell["ratio"] > 1]
        print("# %d of %d cells are slower than the faster MPI" % (len(slower), len(cells)))
    if len(cells) < len(document["cells"]):
        print("# %d cells could not be compared" % (len(document["cells"]) - len(cells)))
    print("# seconds: " + ", ".join("%s %.0f" % one for one in document["seconds"].items()))
    for problem in document["problems"]:
        print("# problem: " + problem)

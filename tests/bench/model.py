"""The least time of a collective: its bytes at the measured speeds of the machine.

The work of an algorithm for each byte is read from its plan (`cctest plan --json`). The limits
count only necessary work, so no program is faster; other work (copies into slots, waiting, the
kernel) is the possible gain.
"""

import statistics

import programs

PLANNED = 1 << 20  # bytes of the plans; other sizes are in proportion
ELEMENT = 4  # bytes of a float, the unit of lengths in plans
LARGE = 32 << 20  # bytes; buffers of this size are taken to fit no cache


class Model:
    def __init__(self, cctest):
        self.cctest = cctest
        self.plans = {}

    def plan(self, collective, algorithm, ranks, in_place):
        """For each rank, as fractions of the size: copied (received, or copied locally), reduced, sent
        and received bytes."""
        key = collective, algorithm, ranks, in_place
        if key not in self.plans:
            where = ["--in-place"] if in_place else []
            plans = self.cctest.ask("plan", collective, "-a", algorithm, "--np", str(ranks), "-b",
                                    str(PLANNED), *where)["plans"]
            if not plans:
                raise LookupError(algorithm)
            plan = plans[0]
            self.plans[key] = [self.shares(schedule["operations"], ELEMENT / plan["bytes"])
                               for schedule in plan["schedules"]]
        return self.plans[key]

    @staticmethod
    def shares(operations, unit):
        def total(*kinds):
            return unit * sum(one["length"] for one in operations if one["kind"] in kinds)
        return {"copied": total("recv", "copy"), "reduced": total("recv_reduce", "reduce"),
                "sent": total("send"), "received": total("recv", "recv_reduce")}

    def shared_limit(self, limits, collective, algorithm, ranks, size):
        """For one algorithm whose ranks read memory of peers in place: the limit in us, and the bytes
        that the busiest rank copies and reduces."""
        plan = self.plan(collective, algorithm, ranks, False)
        busiest = max(plan, key=lambda rank: work(limits, "_alone", rank))
        return (memory_us(limits, plan, size), busiest["copied"] * size, busiest["reduced"] * size)

    def limit(self, limits, collective, transport, ranks, size):
        """Microseconds of the algorithm with the lowest limit."""
        times = []
        for algorithm in self.cctest.collectives[collective]:
            try:
                plan = self.plan(collective, algorithm, ranks, collective in programs.IN_PLACE)
            except LookupError:
                continue  # it does not support so many ranks
            if transport == "shm":
                speeds = memory_limits([limits], "" if size >= LARGE else "_middle")
                times.append(memory_us(speeds, plan, size))
            else:
                times.append(stream_us(limits, plan, size))
        return min(times, default=None)


def memory_limits(measured, how=""):
    """GB/s of copies and of sums, of one process while all run and alone: medians over the runs of
    `limits`."""
    runs = [one for one in measured if one.get("copy" + how)]
    return {what + where: statistics.median(one[what + how + where]["GBps"] for one in runs)
            for what in ("copy", "sum") for where in ("", "_alone")} if runs else {}


def work(limits, where, rank):
    return rank["copied"] / limits["copy" + where] + rank["reduced"] / limits["sum" + where]


def memory_us(limits, plan, size):
    """No rank is faster than alone, and all together are not faster than the measured total. With
    equal work this is the work of each at the speed while all run."""
    together = sum(work(limits, "", rank) for rank in plan) / len(plan)
    return size * 1e-3 * max([together] + [work(limits, "_alone", rank) for rank in plan])


def stream_us(limits, plan, size):
    """No rank sends or receives faster than one pair in one direction, and all together are not
    faster than the measured total, or one pair."""
    pair, all_ranks = limits["tcp_one_way"]["GBps"], limits["tcp_both_ways"]["GBps"] * len(plan)
    busiest = max(max(rank["sent"], rank["received"]) for rank in plan)
    total = sum(rank["sent"] for rank in plan)
    return size * 1e-3 * max(busiest / pair, total / max(pair, all_ranks))

"""simulator.py - predictions of `cctest predict`, computed a second time: from the schedules of `cctest plan --json` and the
formulas of the manual (PREDICTION), for random models.

usage: simulator.py CCTEST FOLDER SEED CASES

Each case draws a model, a collective, an algorithm, ranks, hosts and sizes. The links are those of tcp, each with a port of its
own kind. The time that CCTEST predicts must be the time computed here to the nine digits of its JSON. A case whose time depends
on the order of events of one time is not compared. Not covered: ranks that share a core, rails, topologies, start barriers, paths
of other transports."""
import collections
import heapq
import json
import math
import pathlib
import random
import subprocess
import sys

PIECE_LEAST = 16 << 10  # bytes that a core moves in one turn at least
PIECES = 16             # and parts of a long message
MOMENT = 1e-9           # us
ORDERS = 6              # of events that are at the same time, in which a case is computed


def curve(points, size):
    """Linear in the logarithm of the size between two points, as at the nearest one beyond them."""
    if not points:
        return 0
    if size <= points[0][0]:
        return points[0][1]
    for (low, left), (high, right) in zip(points, points[1:]):
        if size <= high:
            return left + (right - left) * math.log(size / low) / math.log(high / low)
    return points[-1][1]


class Operation:
    def __init__(self, rank, plan, element):
        self.rank, self.kind, self.epoch = rank, plan["kind"], plan["epoch"]
        self.length = plan["length"] * element
        self.waits = [(w["operation"], w["at"] * element, w["past"] * element, w["length"] * element) for w in plan["waits"]]
        self.peer, self.lane = plan.get("peer"), plan.get("lane", 0)
        self.done = self.issued = self.granted = self.visible = self.limit = 0
        self.open = self.ready = self.awaited = False
        self.channel = self.partner = self.cost = None
        self.watchers = []


class Channel:
    def __init__(self, link):
        self.link, self.sends, self.recvs, self.unread = link, collections.deque(), collections.deque(), collections.deque()
        self.arrived = self.taken = self.granted = self.given = self.outstanding = 0
        self.blocked, self.last_arrival = False, 0.0
        self.pieces = collections.deque()  # [load, bytes, wire, latency]
        self.rate = 0.0


class Simulation:
    def __init__(self, model, plan, hosts, element, chunk, order):
        self.model, self.element, self.chunk, self.now = model, element, chunk, 0.0
        self.order, self.draw = order, random.Random(order)  # of events that are at the same time
        self.ranks = len(plan["schedules"])
        self.host = [r * hosts // self.ranks for r in range(self.ranks)]
        self.core = [sum(h == self.host[r] for h in self.host[:r]) % model["cores"] for r in range(self.ranks)]
        self.events, self.made = [], 0
        self.operations, self.after, self.members, self.size = [], [], [], []
        self.combine = self.combine_curve(plan)
        for rank, schedule in enumerate(plan["schedules"]):
            self.operations.append([Operation(rank, o, element) for o in schedule["operations"]])
            for o in self.operations[rank]:
                for wait in o.waits:
                    self.operations[rank][wait[0]].awaited = True
            count = len(schedule["epochs"])
            self.after.append([schedule["epochs"].index(e) if e in schedule["epochs"] else None for e in range(count)])
            self.members.append([[o for o in self.operations[rank] if o.epoch == e] for e in range(count)])
            self.size.append(sum(schedule["extents"].values()) * element)
        self.left = [[len(m) for m in members] for members in self.members]
        self.first = [[e for e, before in enumerate(s["epochs"]) if before < 0] for s in plan["schedules"]]
        self.queue = [collections.deque() for _ in range(self.ranks)]
        self.busy = [True] * self.ranks
        self.end = [0.0] * self.ranks
        self.channels = {}
        self.make_channels()

    def combine_curve(self, plan):
        rows = self.model["combine"]
        like = [2 * (r["datatype"] == plan["datatype"]) + (r["op"] == plan.get("op", "sum")) for r in rows]
        return rows[like.index(max(like))]["ns_per_byte"] if rows else []

    def link(self, sender, receiver):
        caches, cores = self.model["caches"], self.model["cache_cores"]
        near = caches < 2 or self.core[sender] // cores % caches == self.core[receiver] // cores % caches
        far = self.host[sender] != self.host[receiver]
        distance = "network" if far else "same-cache" if near else "same-node"
        return next(link for link in self.model["links"] if link["distance"] == distance)

    def make_channels(self):
        for rank in range(self.ranks):
            for o in self.operations[rank]:
                if o.peer is None:
                    continue
                ends = (rank, o.peer) if o.kind == "send" else (o.peer, rank)
                key = (*ends, o.lane)
                if key not in self.channels:
                    self.channels[key] = Channel(self.link(*ends))
                channel = o.channel = self.channels[key]
                channel.ends = ends
                (channel.sends if o.kind == "send" else channel.recvs).append(o)
        for channel in self.channels.values():
            for send, recv in zip(channel.sends, channel.recvs):
                send.partner, recv.partner = recv, send
                assert send.length == recv.length
            channel.unread.extend(channel.sends)

    def at(self, time, call, *arguments):
        """Of one time, in the order of their making, in reverse, or in a random one."""
        self.made += 1
        turn = self.made if self.order == 0 else -self.made if self.order == 1 else self.draw.random()
        heapq.heappush(self.events, (round(time, 9), turn, self.made, time, call, arguments))

    # Costs.

    def cost_of(self, send):
        if not send.cost:
            rows = [row for row in send.channel.link["paths"] if row["least_bytes"] <= send.length]
            send.cost = rows[-1] if rows else send.channel.link["paths"][0]
        return send.cost

    def byte(self, rank, points):
        size = self.size[rank]
        own = curve(points, size) / 1e3
        cores = min(self.model["cores"], sum(h == self.host[rank] for h in self.host))
        return max(own, cores * curve(self.model["bus_ns_per_byte"], size) / 1e3) if own > 0 else 0

    def time(self, o, size):
        model, begins = self.model, o.done == 0 and o.issued == 0
        if o.kind in ("copy", "finish"):
            return begins * model["copy_overhead_us"] + size * self.byte(o.rank, model["copy_ns_per_byte"])
        if o.kind == "reduce":
            return begins * model["copy_overhead_us"] + size * self.byte(o.rank, self.combine)
        cost = o.cost if o.kind == "send" else o.partner.cost
        if o.kind == "send":
            return begins * cost["send_overhead_us"] + (
                0 if cost["movement"] == "pull" else size * self.byte(o.rank, cost["send_ns_per_byte"]))
        time = begins * cost["receive_overhead_us"] + size * self.byte(o.rank, cost["receive_ns_per_byte"])
        if o.kind == "recv":
            return time
        copy = 0 if cost["combines_apart"] else self.byte(o.rank, model["copy_ns_per_byte"])
        return time + size * max(self.byte(o.rank, self.combine) - copy, 0)

    def piece(self, o, size):
        gone = max(o.done, o.issued)
        most = max(min(o.length // PIECES, gone, (o.length - gone) // 2), PIECE_LEAST)
        return size if size <= most else most - most % self.element

    def grain(self, o):
        if not o.awaited:
            return o.length
        if self.chunk is not None:
            return self.chunk if 0 < self.chunk < o.length else o.length
        return min(max(o.length // 4, 128 << 10), 1 << 20)

    # What can move.

    def movable(self, o):
        if not o.open:
            return 0
        if o.channel is None:
            return o.limit - o.done
        channel = o.channel
        if o.kind == "send":
            size = o.limit - o.issued
            if not channel.sends or channel.sends[0] is not o or size == 0:
                return 0
            cost = self.cost_of(o)
            if cost["movement"] == "grant":
                return min(size, channel.granted - channel.given)
            if cost["movement"] == "pull" or cost["window_bytes"] == 0:
                return size
            room = max(cost["window_bytes"] - channel.outstanding, 0)
            room -= room % self.element
            channel.blocked = room < size
            return min(size, room)
        if not channel.recvs or channel.recvs[0] is not o:
            return 0
        return max(min(channel.arrived - channel.taken, o.limit) - o.done, 0)

    def attempt(self, o):
        if o and not o.ready and self.movable(o) > 0:
            o.ready = True
            self.queue[o.rank].append(o)
            if not self.busy[o.rank]:
                self.serve(o.rank)

    def grant(self, o):
        if not o.open or not o.channel.recvs or o.channel.recvs[0] is not o or o.limit == o.granted:
            return
        cost = self.cost_of(o.partner)
        if cost["movement"] == "grant":
            self.at(self.now + cost["latency_us"], self.granted, o.channel, o.limit - o.granted)
            o.granted = o.limit

    def find_limit(self, o):
        limit, holder = o.length, None
        for index, at, past, length in o.waits:
            if at >= limit:
                break
            other = self.operations[o.rank][index]
            if other.visible >= past + length:
                continue
            clear = at + max(other.visible - past, 0)
            if clear < limit or holder is None:
                limit, holder = clear, other
        o.limit = limit - limit % self.element
        if holder:
            holder.watchers.append(o)
        if o.kind in ("recv", "recv_reduce"):
            self.grant(o)
        self.attempt(o)

    def open_epoch(self, rank, epoch):
        for o in self.members[rank][epoch]:
            o.open = True
        for o in self.members[rank][epoch]:
            self.find_limit(o)

    # What has moved.

    def advance(self, o, size):
        o.done += size
        complete = o.done == o.length
        visible = o.done if complete else o.done - o.done % self.grain(o)
        if visible > o.visible:
            o.visible = visible
            order = self.operations[o.rank]
            watchers, o.watchers = sorted(o.watchers, key=order.index), []
            for watcher in watchers:
                self.find_limit(watcher)
        if complete:
            self.end[o.rank] = self.now
            self.left[o.rank][o.epoch] -= 1
            after = self.after[o.rank][o.epoch]
            if self.left[o.rank][o.epoch] == 0 and after is not None:
                self.open_epoch(o.rank, after)

    def moved(self, o, size):
        channel = o.channel
        if channel is None:
            self.advance(o, size)
        elif o.kind == "send":
            o.issued += size
            movement = o.cost["movement"]
            channel.outstanding += size * (movement == "push")
            channel.given += size * (movement == "grant")
            self.send(channel, size, o.cost, o.issued == size)
            if o.issued == o.length:
                channel.sends.popleft()
                self.attempt(channel.sends[0] if channel.sends else None)
            if movement == "push":
                self.advance(o, size)
        else:
            cost = o.partner.cost
            if cost["movement"] == "push":
                channel.outstanding -= size
            else:
                self.at(self.now + cost["latency_us"], self.read, channel, size)
            if channel.blocked and cost["movement"] == "push":
                channel.blocked = False
                self.at(self.now + cost["latency_us"], self.room, channel)
            ends = o.done + size == o.length
            if ends:
                channel.taken += o.length
                channel.recvs.popleft()
            self.advance(o, size)
            if ends and channel.recvs:
                self.grant(channel.recvs[0])
                self.attempt(channel.recvs[0])

    def read(self, channel, size):
        while size > 0:
            o = channel.unread[0]
            part = min(o.issued - o.done, size)
            size -= part
            if o.done + part == o.length:
                channel.unread.popleft()
            if part > 0:
                self.advance(o, part)

    def room(self, channel):
        self.attempt(channel.sends[0] if channel.sends else None)

    def granted(self, channel, size):
        channel.granted += size
        self.room(channel)

    def arrive(self, channel, size):
        channel.arrived += size
        self.attempt(channel.recvs[0] if channel.recvs else None)

    # Wires: all that pass them have max-min fair rates.

    def send(self, channel, size, cost, begins):
        if cost["wire_ns_per_byte"] == 0:
            self.deliver(channel, size, cost["latency_us"])
            return
        wire = cost["wire_ns_per_byte"] / 1e3
        channel.pieces.append([size + begins * cost["gap_us"] / wire, size, wire, cost["latency_us"]])

    def deliver(self, channel, size, latency):
        channel.last_arrival = max(self.now + latency, channel.last_arrival)
        self.at(channel.last_arrival, self.arrive, channel, size)

    def ports(self, channel):
        kind = channel.link["port"]
        if kind == "none":
            return []
        return [(kind, end if kind == "rank" else self.host[end], side) for side, end in enumerate(channel.ends)]

    def capacity(self, port):
        """Bytes per us: those of the fastest path of the fastest link that has the port."""
        wires = [row["wire_ns_per_byte"] for c in self.channels.values() if port in self.ports(c) for row in c.link["paths"]]
        return 1e3 / min(wire for wire in wires if wire > 0)

    def settle(self):
        """Raises all rates together; those through a full port, and those at their own most, stop."""
        flows = [c for c in self.channels.values() if c.pieces]
        room = {port: self.capacity(port) for c in flows for port in self.ports(c)}
        rising = list(flows)
        for c in flows:
            c.rate = 0.0
        while rising:
            share = {port: room[port] / sum(port in self.ports(c) for c in rising) for c in rising for port in self.ports(c)}
            step = min([1 / c.pieces[0][2] - c.rate for c in rising] + list(share.values()))
            for c in rising:
                c.rate += step
                for port in self.ports(c):
                    room[port] -= step
            rising = [c for c in rising if 1 / c.pieces[0][2] - c.rate > 1e-12 / c.pieces[0][2] and
                      all(room[port] > 1e-12 * self.capacity(port) for port in self.ports(c))]

    def pass_wires(self, until):
        for c in self.channels.values():
            if c.pieces:
                c.pieces[0][0] -= c.rate * (until - self.now)

    def next_wire(self):
        return min((self.now + c.pieces[0][0] / c.rate for c in self.channels.values() if c.pieces), default=math.inf)

    # Cores.

    def serve(self, rank):
        self.busy[rank] = False
        while self.queue[rank]:
            o = self.queue[rank].popleft()
            o.ready = False
            size = self.movable(o)
            if size > 0:
                size = self.piece(o, size)
                self.busy[rank] = True
                self.at(self.now + self.time(o, size), self.served, o, size)
                return

    def served(self, o, size):
        self.moved(o, size)
        self.attempt(o)
        self.serve(o.rank)

    def start(self, rank):
        for epoch in self.first[rank]:
            self.open_epoch(rank, epoch)
        self.end[rank] = max(self.end[rank], self.now)
        self.serve(rank)

    def run(self):
        for rank in range(self.ranks):
            self.at(self.model["start_us"], self.start, rank)
        while True:
            at = min(self.next_wire(), self.events[0][0] if self.events else math.inf)
            if at == math.inf:
                break
            self.pass_wires(at)
            self.now = at
            for c in self.channels.values():
                if c.pieces and c.pieces[0][0] <= c.rate * MOMENT:
                    _, size, _, latency = c.pieces.popleft()
                    self.deliver(c, size, latency)
            while self.events and self.events[0][0] <= at + MOMENT:
                *_, time, call, arguments = heapq.heappop(self.events)
                self.now = max(self.now, time)
                call(*arguments)
            self.settle()
        assert all(o.done == o.length for operations in self.operations for o in operations)
        return max(self.end)


# Cases.

ALGORITHMS = [("allreduce", "ring recursive-doubling rabenseifner mesh swing nhr tree ring-bidir knomial hier"),
              ("allgather", "ring bruck mesh recursive-doubling neighbor nb"), ("reduce_scatter", "ring rec-halving mesh nhr"),
              ("alltoall", "linear pairwise bruck ring"), ("broadcast", "binomial chain linear scatter-ring pipeline"),
              ("reduce", "binomial linear rabenseifner chain"), ("gather", "binomial linear"), ("scatter", "binomial linear ring")]


def draw_curve(draw, most):
    points = sorted(draw.sample([1, 64, 1000, 5000, 20000, 100000, 1 << 20], draw.randint(1, 4)))
    return [[size, round(draw.uniform(most / 10, most), 4)] for size in points]


def draw_paths(draw, wired, sizes):
    """The rows begin at any of the sizes of messages, too."""
    def row(least):
        return {"path": "bcopy", "least_bytes": least, "movement": draw.choice(["push", "push", "pull", "grant"]),
                "latency_us": round(draw.uniform(0.1, 5), 4), "send_overhead_us": round(draw.uniform(0.1, 2), 4),
                "receive_overhead_us": round(draw.uniform(0.1, 2), 4), "send_ns_per_byte": draw_curve(draw, 1),
                "receive_ns_per_byte": draw_curve(draw, 1), "sharing": 0, "combines_apart": draw.random() < 0.3,
                "wire_ns_per_byte": round(draw.uniform(0.05, 2), 4) if wired else 0, "gap_us": round(draw.uniform(0, 3), 4) * wired,
                "window_bytes": draw.choice([0, 0, 4096, 40000])}
    leasts = {least for least in draw.sample([64, 1024, 4096, 30000, *sizes], draw.randint(0, 3)) if least > 0}
    return [row(least) for least in [0, *sorted(leasts)]]


def draw_model(draw, sizes):
    links = [{"transport": "tcp", "distance": distance, "port": port,
              "paths": draw_paths(draw, port != "none" or draw.random() < 0.3, sizes)}
             for distance, port in (("same-cache", "none"), ("same-node", draw.choice(["none", "rank"])),
                                    ("network", draw.choice(["none", "rank", "node"])))]
    combine = [{"datatype": datatype, "op": op, "ns_per_byte": draw_curve(draw, 2)}
               for datatype, op in (("double", "sum"), ("float", "max"), ("float", "sum"), ("int32", "max"))]
    draw.shuffle(combine)
    return {"host": "nowhere", "processor": "none", "made": "never", "cores": 64, "caches": draw.choice([1, 2]), "cache_cores": 2,
            "start_us": round(draw.uniform(0, 2), 4), "core_switch_us": 0, "copy_overhead_us": round(draw.uniform(0, 1), 4),
            "copy_ns_per_byte": draw_curve(draw, 1), "bus_ns_per_byte": draw_curve(draw, 0.2),
            "combine": draw.sample(combine, draw.randint(1, 4)), "links": links, "residuals": []}


def run_case(cctest, folder, draw, case):
    collective, names = draw.choice(ALGORITHMS)
    hosts, each = draw.choice([(1, 2), (1, 3), (1, 5), (1, 8), (2, 2), (2, 3), (3, 2), (3, 1), (4, 2), (7, 1)])
    ranks, chunk = hosts * each, draw.choice([None, None, None, 0, 512, 4096])
    datatype, op = draw.choice([("float", "sum"), ("float", "max"), ("double", "sum"), ("double", "max")])
    element = 8 if datatype == "double" else 4
    size = draw.choice([1, 3, 50, 400, 3000, 20000]) * element * ranks
    model = draw_model(draw, [size, size // ranks])
    (folder / "model").write_text(json.dumps({"schema": 1, "version": "0.1.0", "model": model}), encoding="utf-8")
    what = [collective, "-a", draw.choice(names.split()), "--np", ranks, "-b", size, "-d", datatype]
    what += ["-o", op] if collective in ("allreduce", "reduce", "reduce_scatter") else []
    what += ["--shape", f"{hosts}x{each}"] if hosts > 1 else []
    planned = [cctest, "plan", *map(str, what), "--json", folder / "plan"]
    if subprocess.run(planned, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 2:
        return "refused"
    predicted = [cctest, "predict", *map(str, what), "-e", str(size), "-x", "tcp", "--copy", "bcopy", "--model", folder / "model",
                 "--json", folder / "prediction"] + (["--chunk", str(chunk)] if chunk is not None else [])
    subprocess.run(predicted, stdout=subprocess.DEVNULL, check=True)
    shown = json.loads((folder / "prediction").read_text(encoding="utf-8"))["results"][0]
    plan = json.loads((folder / "plan").read_text(encoding="utf-8"))["plans"][0]
    plan["op"] = op
    orders = [Simulation(model, plan, hosts, element, chunk, order).run() for order in range(ORDERS)]
    computed = orders[0]
    if max(orders) / min(orders) - 1 > 1e-9:
        return "order"
    if abs(shown["time_us"]["p50"] / computed - 1) <= 1e-8:  # JSON has nine digits
        return "same"
    print(f"case {case}: {' '.join(map(str, predicted[1:]))}\n    predicted {shown['time_us']['p50']} us, computed {computed}")
    return "different"


def main():
    cctest, folder, seed, cases = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    ends = collections.Counter(run_case(cctest, folder, random.Random(f"{seed} {case}"), case) for case in range(cases))
    print(f"coverage: {ends['same']} predictions computed a second time, {ends['different']} differ; {ends['order']} depend on the "
          f"order of what happens at once, {ends['refused']} refused; seed {seed}")
    sys.exit(ends["different"] > 0 or 2 * ends["same"] < cases)


if __name__ == "__main__":
    main()

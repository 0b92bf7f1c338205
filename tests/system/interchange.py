#!/usr/bin/env python3
"""Runs what `cctest plan` writes for other tools, by their rules and not by cctest's.

    interchange.py goal FILE PLAN.json    GOAL, as LogGOPSim reads it: each message meets one of the same bytes and tag,
                                          nothing waits for ever, and all of the order that the schedule of PLAN.json asks
                                          for (waits, fences) is in the file
    interchange.py msccl FILE             MSCCL's XML, as its interpreter runs it: thread blocks side by side, a message
                                          in flight for each pair; the result is the collective's, and no two steps of a GPU that touch a
                                          chunk are without an order

Exit status 1, with a sentence, if something is wrong."""
import collections
import json
import re
import sys
import xml.etree.ElementTree as tree


def wrong(why):
    sys.exit(f"{sys.argv[2]}: {why}")


# GOAL.

Task = collections.namedtuple("Task", "kind size peer tag")


def goal_read(path):
    """For each rank its tasks and what each requires, completely or begun."""
    ranks, tasks, count = {}, None, None
    for number, line in enumerate(open(path), 1):
        words = line.split()
        if not words or words[0].startswith("//"):
            continue
        if words[0] == "num_ranks":
            count = int(words[1])
        elif words[0] == "rank":
            tasks, needs = ranks.setdefault(int(words[1]), ({}, collections.defaultdict(list)))
        elif words[0] == "}":
            tasks = None
        elif words[0].endswith(":"):
            match = re.fullmatch(r"(\w+): (?:calc (\d+)|(send|recv) (\d+)b (?:to|from) (\d+) tag (\d+))", line.strip())
            if tasks is None or not match or match[1] in tasks:
                wrong(f"line {number} is no task: {line}")
            tasks[match[1]] = Task("calc", int(match[2]), 0, 0) if match[2] is not None else \
                Task(match[3], int(match[4]), int(match[5]), int(match[6]))
        else:
            if words[1] not in ("requires", "irequires") or words[0] not in tasks or words[2] not in tasks:
                wrong(f"line {number} names an unknown task: {line}")
            needs[words[0]].append((words[2], words[1] == "irequires"))
    if count != len(ranks) or sorted(ranks) != list(range(count)):
        wrong(f"{count} ranks are promised, and these are there: {sorted(ranks)}")
    return ranks


def goal_run(ranks):
    """A message is done when both of its ends may begin: nothing is buffered."""
    ends = {}
    for rank, (tasks, _) in ranks.items():
        for label, task in tasks.items():
            if task.kind != "calc":
                key = (rank, task.peer) if task.kind == "send" else (task.peer, rank)
                pair = ends.setdefault((*key, task.tag), {})
                if task.kind in pair:
                    wrong(f"two {task.kind} of ranks {key} have tag {task.tag}")
                pair[task.kind] = rank, label, task.size
    for key, pair in ends.items():
        if len(pair) != 2 or pair["send"][2] != pair["recv"][2]:
            wrong(f"a message does not meet one of its length: {key} {pair}")
    left = {(rank, label): {(need, begun) for need, begun in needs[label]}
            for rank, (tasks, needs) in ranks.items() for label in tasks}
    waiting = collections.defaultdict(list)
    for (rank, label), needs in left.items():
        for need in needs:
            waiting[rank, need].append(label)
    partner = {}
    for pair in ends.values():
        send, recv = pair["send"][:2], pair["recv"][:2]
        partner[send], partner[recv] = recv, send
    open_tasks, done = [task for task, needs in left.items() if not needs], set()

    def settle(rank, need):
        for label in waiting.pop((rank, need), []):
            left[rank, label].discard(need)
            if not left[rank, label]:
                open_tasks.append((rank, label))

    begun = set()
    while open_tasks:
        task = open_tasks.pop()
        begun.add(task)
        settle(task[0], (task[1], True))
        other = partner.get(task)
        for end in ([task] if other is None else [task, other] if other in begun else []):
            done.add(end)
            settle(end[0], (end[1], False))
    if len(done) != len(left):
        wrong(f"deadlock: {len(left) - len(done)} tasks never end, one of them {sorted(set(left) - done)[0]}")


def goal_orders(ranks, plan):
    """Waits and fences of the schedule are paths in the file, and a message begins after the one before it on its lane has begun. It
    waits for no other task to end."""
    for schedule in plan["schedules"]:
        tasks, needs = ranks[schedule["rank"]]
        operations = schedule["operations"]
        end = ["c%d" % o["index"] if o["kind"] == "recv_reduce" else "l%d" % o["index"] for o in operations]
        place, before = {label: i for i, label in enumerate(tasks)}, {}
        for label in tasks:  # in the file's order, which is that of the schedule
            before[label] = 0
            for need, only_begun in needs[label]:
                if place[need] > place[label]:
                    wrong(f"rank {schedule['rank']}: {label} needs {need}, which comes later")
                before[label] |= before[need] if only_begun else before[need] | 1 << place[need]
        lanes = {}
        for o in operations:
            label, wanted = "l%d" % o["index"], [w["operation"] for w in o["waits"]]
            allowed = {end[index] for index in wanted} | {"f%d" % o["epoch"]}
            for need, only_begun in needs[label]:
                if not only_begun and need not in allowed:
                    wrong(f"rank {schedule['rank']}: {label} waits for {need} without need")
            if o["kind"] in ("send", "recv", "recv_reduce"):
                lane = o["kind"] == "send", o["peer"], o["lane"]
                if lane in lanes and (lanes[lane], True) not in needs[label]:
                    wrong(f"rank {schedule['rank']}: {label} may begin before {lanes[lane]} of its lane")
                lanes[lane] = label
            epoch = schedule["epochs"][o["epoch"]]
            wanted += [other["index"] for other in operations if epoch >= 0 and other["epoch"] == epoch]
            for index in wanted:
                if not before["l%d" % o["index"]] >> place[end[index]] & 1:
                    wrong(f"rank {schedule['rank']}: operation {o['index']} does not come after {index}")
            if o["kind"] in ("send", "recv", "recv_reduce") and tasks["l%d" % o["index"]].tag % schedule["lanes"] != o["lane"]:
                wrong(f"rank {schedule['rank']}: the tag of operation {o['index']} is not of its lane")


# MSCCL.

def contents(algo, ranks):
    """What each chunk of the inputs holds, and what each output is to hold, as multisets of (rank, chunk)."""
    collective, chunks = algo.get("coll"), int(algo.get("nchunksperloop"))
    root, block = int(algo.get("root", 0)), chunks // ranks
    one = lambda rank, chunk: collections.Counter([(rank, chunk)])
    every = lambda chunk: collections.Counter((r, chunk) for r in range(ranks))
    inputs = [{c: one(r, c) for c in range(block if collective == "allgather" else chunks)} for r in range(ranks)]
    if collective == "broadcast":
        inputs = [inputs[r] if r == root else {} for r in range(ranks)]
    outputs = {
        "allreduce": lambda r: {c: every(c) for c in range(chunks)},
        "reduce": lambda r: {c: every(c) for c in range(chunks)} if r == root else {},
        "broadcast": lambda r: {c: one(root, c) for c in range(chunks)},
        "allgather": lambda r: {c: one(c // block, c % block) for c in range(chunks)},
        "reduce_scatter": lambda r: {c: every(r * block + c) for c in range(block)},
        "alltoall": lambda r: {c: one(c // block, r * block + c % block) for c in range(chunks)},
    }[collective]
    return inputs, [outputs(r) for r in range(ranks)]


class Gpu:
    def __init__(self, rank, algo, element, inputs):
        self.rank, self.memory, self.blocks = rank, {}, []
        block = int(algo.get("nchunksperloop")) // int(algo.get("ngpus"))
        aliases = {"allgather": ("i", "o", rank * block), "reduce_scatter": ("o", "i", rank * block)}
        self.alias = aliases.get(algo.get("coll"), ("i", "o", 0)) if algo.get("inplace") == "1" else None
        for chunk, value in inputs.items():
            self.memory[self.cell("i", chunk)] = value
        for number, tb in enumerate(element.findall("tb")):
            steps = [{k: v if k in ("type", "srcbuf", "dstbuf") else int(v) for k, v in s.attrib.items()}
                     for s in tb.findall("step")]
            if int(tb.get("id")) != number or [s["s"] for s in steps] != list(range(len(steps))):
                wrong(f"GPU {rank}, thread block {number}: ids or steps are not in order")
            self.blocks.append(dict(send=int(tb.get("send")), recv=int(tb.get("recv")), chan=int(tb.get("chan")),
                                    steps=steps, at=0, clock=collections.Counter()))
        self.clocks = {}  # of a step that is done: how many steps of each thread block come before its end
        self.touched = collections.defaultdict(list)

    def cell(self, buffer, chunk):
        if self.alias and buffer == self.alias[0]:
            return self.alias[1], chunk + self.alias[2]
        return buffer, chunk

    def ready(self, b):
        block = self.blocks[b]
        step = block["steps"][block["at"]]
        return step["depid"] < 0 or self.blocks[step["depid"]]["at"] > step["deps"]

    def begin(self, b):
        block = self.blocks[b]
        step = block["steps"][block["at"]]
        if step["depid"] >= 0:
            if not self.blocks[step["depid"]]["steps"][step["deps"]]["hasdep"]:
                wrong(f"GPU {self.rank}: a step waits for one without hasdep")
            block["clock"] |= self.clocks[step["depid"], step["deps"]]

    def touch(self, b, cell, writes):
        clock = self.blocks[b]["clock"]
        for other, at, wrote in self.touched[cell]:
            if other != b and (writes or wrote) and clock[other] <= at:
                wrong(f"GPU {self.rank}: steps {at} of thread block {other} and {self.blocks[b]['at']} of {b} touch "
                      f"chunk {cell} without an order")
        self.touched[cell].append((b, self.blocks[b]["at"], writes))

    def cells(self, step, side):
        return [self.cell(step[side + "buf"], step[side + "off"] + i) for i in range(step["cnt"])]

    def read(self, b, cells):
        for cell in cells:
            self.touch(b, cell, False)
            if cell not in self.memory:
                wrong(f"GPU {self.rank}: thread block {b} reads {cell}, which was never written")
        return [self.memory[cell] for cell in cells]

    def write(self, b, cells, values):
        for cell, value in zip(cells, values):
            self.touch(b, cell, True)
            self.memory[cell] = value

    def end(self, b):
        block = self.blocks[b]
        block["clock"][b] = block["at"] + 1
        self.clocks[b, block["at"]] = collections.Counter(block["clock"])
        block["at"] += 1


def msccl_step(gpu, b, message):
    """Runs a step of a ready thread block; returns what it sends."""
    gpu.begin(b)
    step = gpu.blocks[b]["steps"][gpu.blocks[b]["at"]]
    kind = step["type"]
    if message is not None and len(message) != step["cnt"]:
        wrong(f"GPU {gpu.rank}: a message of {len(message)} chunks meets a step of {step['cnt']}")
    source = gpu.read(b, gpu.cells(step, "src")) if kind in ("s", "cpy", "re", "rrc", "rrs", "rrcs") else None
    if kind == "re":
        source = [a + c for a, c in zip(source, gpu.read(b, gpu.cells(step, "dst")))]
    if message is not None:
        source = [a + c for a, c in zip(source, message)] if source else message
    if kind in ("cpy", "re", "r", "rcs", "rrc", "rrcs"):
        gpu.write(b, gpu.cells(step, "dst"), source)
    gpu.end(b)
    return source


def msccl_run(path):
    algo = tree.parse(path).getroot()
    ranks = int(algo.get("ngpus"))
    inputs, outputs = contents(algo, ranks)
    gpus = [Gpu(r, algo, element, inputs[r]) for r, element in enumerate(algo.findall("gpu"))]
    peers = {(r, kind, block[kind], block["chan"]): b for r, gpu in enumerate(gpus)
             for b, block in enumerate(gpu.blocks) for kind in ("send", "recv") if block[kind] >= 0}
    sending = collections.defaultdict(collections.deque)
    fused = any(s.get("type") in ("rcs", "rrs", "rrcs") for s in algo.iter("step"))
    depth = 8 if fused else 1  # the steps of NCCL's buffers, which rings of fused steps need
    moved = True
    while moved:
        moved = False
        for r, gpu in enumerate(gpus):
            for b, block in enumerate(gpu.blocks):
                if block["at"] == len(block["steps"]) or not gpu.ready(b):
                    continue
                kind = block["steps"][block["at"]]["type"]
                receives, sends = kind.startswith("r") and kind != "re", kind.endswith("s")
                arriving = sending[block["recv"], r, block["chan"]] if receives else None
                leaving = sending[r, block["send"], block["chan"]] if sends else None
                if (receives and not arriving) or (sends and len(leaving) == depth):
                    continue
                if sends and (block["send"], "recv", r, block["chan"]) not in peers:
                    wrong(f"GPU {r} sends to {block['send']}, which does not receive from it")
                message = msccl_step(gpu, b, arriving.popleft() if receives else None)
                if sends:
                    leaving.append(message)
                moved = True
    for r, gpu in enumerate(gpus):
        for b, block in enumerate(gpu.blocks):
            if block["at"] < len(block["steps"]):
                wrong(f"deadlock: GPU {r}, thread block {b} stands at step {block['at']}")
        for chunk, value in outputs[r].items():
            if gpu.memory.get(gpu.cell("o", chunk)) != value:
                wrong(f"GPU {r}: output chunk {chunk} is {gpu.memory.get(gpu.cell('o', chunk))}, not {value}")
    if any(sending.values()):
        wrong("a message was not received")


if sys.argv[1] == "goal":
    found = goal_read(sys.argv[2])
    goal_run(found)
    goal_orders(found, json.load(open(sys.argv[3]))["plans"][0])
else:
    msccl_run(sys.argv[2])

#!/usr/bin/env bash
# tier: check; load: cpu1
# What tests/campaign/accept.py draws for a run, how it judges one, and the table of many: no fleet is needed.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
campaign=$repository/tests/campaign
draws() { python3 -B "$campaign/accept.py" --draws "$@" || failed "--draws $*"; }

# Seed and number determine a run, whatever else the campaign does: alone, in a part, and if only some kinds are asked for.
draws --seed 3 --runs 130 >"$scratch/all"
for part in 1 2 3; do draws --seed 3 --runs 130 --part $part/3; done >"$scratch/parts"
check "three parts are the whole" cmp "$scratch/all" "$scratch/parts"
check "a run alone" test "$(draws --seed 3 --run 40)" = "$(sed -n 41p "$scratch/all")"
check "a later beginning" test "$(draws --seed 3 --first 40 --runs 1)" = "$(sed -n 41p "$scratch/all")"
grep -E ' (lossy|busy) ' "$scratch/all" >"$scratch/some"
check "some kinds are there" test "$(wc -l <"$scratch/some")" -gt 16
check "some kinds" cmp "$scratch/some" <(draws --seed 3 --kind lossy --kind busy --runs "$(wc -l <"$scratch/some")")
check "another seed draws others" test "$(draws --seed 4 --run 40)" != "$(sed -n 41p "$scratch/all" | sed 's/seed 3/seed 4/')"

cat >"$scratch/scores.py" <<'PYTHON'
import argparse, json, random, sys
sys.path.insert(0, sys.argv[1])
import accept, faults, findings, scores
SHARE = 1e-4

def expect(what, is_it):
    if not is_it:
        print("not so:", what)

# What is drawn: hosts of their own, rank 0 where a kind asks for it, numbers within the ranges, and not the same ones again.
seen, at_once, drawn = set(), set(), {}
for number in range(16 * len(faults.FAULTY)):
    draw = accept.Draw(argparse.Namespace(seed=7, plan=None), number)
    expect(f"run {number} is healthy", (number % 2 == 1) == all(kind in faults.HEALTHY for kind in draw.kinds()))
    victims = [host for fault in draw.faults for host in fault.victims]
    expect(f"run {number}: hosts of their own", len(victims) == len(set(victims)) and set(victims) <= set(draw.order))
    expect(f"run {number}: most hosts are good", len(draw.faults) == 1 or len(victims) <= accept.VICTIMS_MOST)
    for fault in draw.faults:
        seen.add(fault.kind)
        expect(f"{fault.kind}: rank 0", fault.root is None or (fault.host == draw.order[0]) == fault.root)
        expect(f"{fault.kind} is alone", not fault.alone or len(draw.faults) == 1)
        for name, (least, most) in fault.ranges.items():
            expect(f"{fault.kind}: {name}", least <= abs(getattr(fault, name)) <= most or (name, fault.kind) == ("down", "pauses"))
            drawn.setdefault((fault.kind, name), set()).add(getattr(fault, name))
    at_once.add(len(draw.faults))
expect("all kinds come", seen == set(faults.KINDS))
expect("one fault and several at once", at_once == {1, 2, 3})
expect("numbers vary", sum(len(values) > 1 for values in drawn.values()) > 0.9 * len(drawn))

# A fleet of four, whose rank 0 is on h3; JSON has hosts by rank.
ORDER = [3, 1, 4, 2]
ALL = ["good"] * 4

def fault(kind, *victims):
    made = faults.KINDS[kind](random.Random(1), list(range(1, 9)), list(range(1, 9)))
    made.victims = list(victims) or made.victims
    made.host = made.victims[0] if made.victims else None
    return made

def judged(seeded, *said, healths=ALL, status="slow", texts=None):
    """`said`: the health, the hosts (of none: (), of a link its two ends) and the sentence of each finding."""
    end = {host: rank for rank, host in enumerate(ORDER)}
    found = [{"health": health, "host": end[hosts[0]] if hosts else None, "peer": end[hosts[1]] if len(hosts) > 1 else None,
              "status": "ok" if health == "note" else "slow", "message": message} for health, hosts, message in said]
    for finding in found:
        finding["health"] = finding["health"].replace("note", "good")
    document = {"hosts": [{"agents": [rank], "health": health} for rank, health in enumerate(healths)], "findings": found,
                "stages": [], "status": status}
    return scores.judged(seeded, document, findings.Evidence(document, ORDER, texts or {}), 20.0, [], 120)

def aspects(result):
    return "".join({True: "+", False: "-", None: "."}[result["faults"][0][aspect]] for aspect in findings.ASPECTS)

def expect_score(expected, is_right, seeded, *said, **more):
    result = judged([seeded], *said, **more)
    expect(f"{seeded.kind} of {said}: {aspects(result)} {result['right']}, not {expected} {is_right}",
           (aspects(result), result["right"]) == (expected, is_right))

AT = "0.0125 GB/s, the fleet's median is 0.024"
# A host: both directions in one sentence or in two, one too few, one too many, another host, another one beside it.
expect_score("++.", True, fault("throttled", 1), ("bad", (1,), f"h1: sends and receives at {AT}"))
expect_score("++.", True, fault("throttled", 1), ("bad", (1,), f"h1: sends at {AT}"), ("bad", (1,), f"h1: receives at {AT}"))
expect_score("+-.", False, fault("throttled", 1), ("bad", (1,), f"h1: receives while it sends at {AT}"))
expect_score("+-.", False, fault("throttled-send", 1), ("bad", (1,), f"h1: sends and receives at once at {AT}"))
expect_score("++.", True, fault("throttled-send", 1), ("suspect", (1,), f"h1: sends while it receives at {AT}"))
expect_score("--.", False, fault("throttled-recv", 1), ("bad", (2,), f"h2: receives at {AT}"))
expect_score("++.", False, fault("throttled-recv", 1), ("bad", (1,), f"h1: receives at {AT}"), ("suspect", (4,), "h4: lost"))
expect_score("+..", False, fault("delayed", 1), ("bad", (1,), "h1: latency 900 us"), ("note", (4,), "h4: x"), ("slow", (), "all: congested"))
expect_score("-..", False, fault("delayed", 1), ("note", (1,), "h1: latency 900 us"))
# A link: its ends and its direction.
WAY = "loses packets from {} to {}: 9% are sent again"
expect_score("+++", True, fault("lossy-way", 1, 4), ("suspect", (1, 4), "link h1-h4: " + WAY.format("h1", "h4")))
expect_score("+-+", False, fault("lossy-way", 1, 4), ("suspect", (4, 1), "link h1-h4: " + WAY.format("h4", "h1")))
expect_score("+++", True, fault("lossy-link", 4, 1), ("suspect", (1, 4), "link h1-h4: loses packets: 9% are sent again"))
expect_score("---", False, fault("lossy-link", 4, 1), ("bad", (4,), "h4: loses packets: 9% are sent again"))
expect_score("++-", False, fault("lossy-way", 1, 4), ("suspect", (1, 4), f"link h1-h4: h1 sends to h4 at {AT}"))
expect_score("+++", True, fault("flips-way", 1, 4), ("suspect", (1, 4), "link h1-h4: h4 receives wrong data from h1: seen again"))
expect_score("+-+", False, fault("flips-way", 4, 1), ("suspect", (1, 4), "link h1-h4: h4 receives wrong data from h1: seen again"))
expect_score("+++", True, fault("flips", 4, 1), ("suspect", (1, 4), "h1, h4 or the link between them: wrong data"))
expect_score("+++", True, fault("flips-way", 4, 1), ("suspect", (1, 4), "h4, h1 or the link between them: wrong data from h4 to h1 in"))
# Several places of one fault: all of them.
slow = fault("three-slow", 1, 2, 4)
each = [("bad", (host,), f"h{host}: sends and receives at {AT}") for host in slow.victims]
expect_score("++.", True, slow, *each)
expect_score("--.", False, slow, *each[:2])
both = fault("link-and-host", 1, 4, 2)
link = ("suspect", (1, 4), f"link h1-h4: each sends to the other at {AT}")
expect_score("++.", True, both, link, ("bad", (2,), f"h2: sends and receives at {AT}"))
expect_score("+-.", False, both, link, ("bad", (2,), f"h2: sends at {AT}"))
expect_score("--.", False, both, link)
# A note is enough where it has the cause, of some kinds.
expect_score("+.+", True, fault("doubled", 1), ("note", (1,), "h1 counted in stage pairs: 7 duplicate packets"))
expect_score("-.-", False, fault("doubled", 1), ("note", (1,), "h1 counted in stage pairs: carrier_lost 2"))
expect_score("-.-", False, fault("carrier", 1), ("note", (1,), "h1 counted in stage pairs: carrier_lost 2"))
# Rank 0.
lost = ("bad", (3,), "h3: lost since stage pairs: rank 0 is alive, and 3 of the 3 other hosts fell silent for it")
expect_score("+.+", True, fault("root-cut", 3), lost, healths=["bad"] + ["unknown"] * 3)
expect_score("-.+", False, fault("root-cut", 3), lost, healths=["bad", "good", "unknown", "unknown"])
told = {host: "cctest: rank 0 is lost" for host in (1, 2, 4)}
expect_score("+..", True, fault("root-killed", 3), healths=["unknown"] * 4, status="running", texts={3: "", **told})
expect_score("-..", False, fault("root-killed", 3), healths=["unknown"] * 4, status="running", texts={**told, 2: ""})
expect_score("-..", False, fault("root-killed", 3), healths=ALL, status="running", texts=told)
# Two halves, of no host.
expect_score("+..", True, fault("uplink", 1, 3), ("slow", (), "all: the pairs between h[1,3] and h2,h4 are slower than the pairs inside"))
expect_score("-..", False, fault("uplink", 1, 3), ("slow", (), "all: the pairs between h[1-2] and h[3-4] are slower than the pairs inside"))
expect_score("+..", False, fault("uplink", 1, 3), ("slow", (), "all: between h[1,3] and h[2,4]"), ("suspect", (1,), "h1: lost"))
# A fleet without a fault; a run that does not end; a fault that comes too late.
expect("healthy", judged([fault("healthy")], ("note", (1,), "h1: x"), status="ok")["right"])
for wrong in (("suspect", (1,), "h1: x"), ("slow", (), "all: x")):
    expect(f"healthy, and {wrong}", judged([fault("unrated")], wrong)["innocents"] != [])
expect("healthy, and a status", judged([fault("healthy")], status="slow")["innocents"] == ["status slow"])
expect("no end", judged([fault("healthy")], status="running")["over"])
late = fault("killed", 1)
late.late = True
late = judged([late], status="ok")
expect("too late", late["right"] and not scores.counts(late))

# The interval, against numbers that were computed by hand.
for hits, of, least, most in ((190, 200, 0.9104, 0.9726), (0, 200, 0, 0.0188), (2, 2, 0.3424, 1)):
    found = scores.wilson(hits, of)
    expect(f"{hits} of {of}: {found}", abs(found[0] - least) < SHARE and abs(found[1] - most) < SHARE)

# Logs of two parts make one table; a run of two faults is in both rows, and in each by what is its own.
one, two = fault("throttled", 1), fault("lossy-way", 4, 2)
runs = [judged([one, two], ("bad", (1,), f"h1: sends and receives at {AT}")), late,
        judged([one], ("bad", (1,), f"h1: sends and receives at {AT}")), judged([fault("healthy")], status="ok")]
for name, part in (("log1", runs[:3]), ("log2", runs[2:])): # the same run in both
    with open(name, "w") as log:
        for number, result in enumerate(part, runs.index(part[0])):
            log.write(json.dumps({"seed": 1, "number": number, **result}) + "\n")
PYTHON
cd "$scratch" || exit 1
run python3 -B "$scratch/scores.py" "$campaign"
check_status 0
check "what is not so" test ! -s "$out"
run python3 -B "$campaign/accept.py" --join log1 log2 --markdown
check_status 0
cat >"$scratch/table" <<'TABLE'
| fault | runs | right | host | direction | cause | innocents | median s |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| lossy-way | 1 | 0 | 0/1 | 0/1 | 0/1 | 0 | 20.0 |
| throttled | 2 | 2 | 2/2 | 2/2 |  | 0 | 20.0 |
| several at once | 1 | 0 | 0/1 | 0/1 | 0/1 | 0 | 20.0 |
| **all faulty** | 2 | 1 | 1/2 | 1/2 | 0/1 | 0 | 20.0 |
| healthy | 1 | 1 |  |  |  | 0 | 20.0 |
| **all healthy** | 1 | 1 |  |  |  | 0 | 20.0 |
faulty fleets of which all is named right: 1 of 2, 50.0% (9.5 to 90.5%)
healthy fleets in which something is blamed: 0 of 1, 0.0% (0.0 to 79.3%)
runs: 1 whose fault came too late (in no row)
TABLE
check "the table is another one: $(diff "$scratch/table" "$out")" cmp -s "$scratch/table" "$out"
run python3 -B "$campaign/accept.py" --join log2
check_says '^throttled +1 +1 +1/1 +1/1 +0 +20.0$' "$out"
rm log1 log2 # no documents of the program
finish

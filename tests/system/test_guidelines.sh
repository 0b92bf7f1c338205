#!/usr/bin/env bash
# tier: check; load: cpu1
# `cctest guidelines`: what must not be, in the JSON of a real run whose times are set; several files; bad input.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

cctest allreduce,reduce,broadcast,gather,allgather -b 1000 -e 64K -n 6 -w 0 -c 1 --np 3 --json run
check_status 0

# times FILE COLLECTIVE:US...: a copy of the run in which every line takes 1 us per 100 bytes but those of these collectives.
times() {
    python3 - "$@" <<'PYTHON'
import json, sys
document, factors = json.load(open("run")), dict(word.split(":") for word in sys.argv[2:])
for line in document["results"]:
    p50 = line["bytes"] / 100 * float(factors.get(line["collective"], 1))
    line["time_us"] = {**line["time_us"], "min": 0.9 * p50, "p50": p50, "max": 1.1 * p50}
    line["median_interval"] = {**line["median_interval"], "low_us": 0.98 * p50, "high_us": 1.02 * p50}
json.dump(document, open(sys.argv[1], "w"))
PYTHON
}

times even
cctest guidelines even
check_status 0
check_says '^# cctest [0-9.]+ guidelines: 20 lines of 1 file\.' "$out"
check_says '^# no guideline is violated$' "$out"

# 1000 bytes are 1008 where they are three blocks.
times slow allreduce:2.5 gather:3
cctest guidelines slow --json found.json
check_status 4
check_says '^gather 1008, 3 ranks, float: 30.24 us \(binomial\), 3.00 times allgather, 10.08 us: use allgather mesh' "$out"
check_says '^allreduce 1000, 3 ranks, float sum: 25 us \(oneshot\), 1.25 times reduce then broadcast, 20 us: use reduce binomial then broadcast binomial$' "$out"
check "the worst is first" sh -c "sed -n 3p '$out' | grep -q ^gather"
check_says '^# 8 times a guideline is violated$' "$out"
check "JSON has what the table has" python3 - <<'PYTHON'
import json
document = json.load(open("found.json"))
assert document["status"] == "slow" and len(document["violations"]) == 8 and document["compared"] == 20
first = document["violations"][0]
assert first["guideline"] == "sequence" and first["instead"][0]["collective"] == "allgather" and abs(first["ratio"] - 3) < 1e-9
PYTHON
cctest guidelines slow --json -
check_status 4
check "JSON is not alone on standard output" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$out"
check_says '^gather 1008' "$err"

# Two files are compared with each other, unless they are of other hosts.
python3 - <<'PYTHON'
import json
for name, keep in (("some", {"allreduce"}), ("others", {"reduce", "broadcast"})):
    document = json.load(open("slow"))
    document["results"] = [line for line in document["results"] if line["collective"] in keep]
    json.dump(document, open(name, "w"))
for rank in document["ranks"]:
    rank["host"] = "elsewhere"
json.dump(document, open("elsewhere", "w"))
PYTHON
cctest guidelines some
check_status 0
cctest guidelines some others
check_status 4
check_says '^# 4 times' "$out"
cctest guidelines some elsewhere
check_status 0

refused() { # refused REGEX WORD...
    cctest guidelines "${@:2}"
    check_status 2
    check_says "$1"
}
head -c 900 run >"cut"
json_of() { "$CCTEST" "$@" --json - 2>/dev/null; }
json_of info >info.json
python3 - <<'PYTHON'
import json
document = json.load(open("run"))
document["results"] *= 1001
json.dump(document, open("many", "w"))
document["results"] = [{**document["results"][0], key: value} for key, value in (("bytes", -1), ("bytes", "x"), ("ranks", 1e9),
    ("collective", "tango"), ("datatype", "\x1b[31m"), ("time_us", {}), ("time_us", 7), ("wrong", 1))] + [None, 3, []]
json.dump(document, open("odd", "w"))
document["results"] += json.load(open("run"))["results"][:1]
json.dump(document, open("half", "w"))
document["results"] = [{**json.load(open("run"))["results"][0], "algorithm": "\x1b[31m", "bytes": size,
    "time_us": {"p50": 1e6 / (1 + size)}, "median_interval": None} for size in (8, 1024)]
document["status"] = "running"
json.dump(document, open("predicted", "w"))
PYTHON
cctest guidelines odd
check_status 2
check_says 'odd has no line with a time and right data: nothing of it is compared$'
check_says '^cctest: nothing was compared: give the JSON of runs'
cctest guidelines odd run half
check_says '^cctest: half: 11 of its 12 lines have no time, wrong data or fields that make no sense: they are not compared$'
rm half
cctest guidelines predicted # has no intervals, and its names are not for a terminal
check_status 4
check_says 'predicted is of a run that had not ended'
check_says '^allreduce 8, 3 ranks, float sum: 1.111e\+05 us \(\?\[31m\), 113.89 times 1K' "$out"
refused 'with it there are 20020 lines, and 20000 are compared at most: give fewer files$' many
rm predicted odd many
refused 'cut is cut off: its JSON ends in line' cut
rm "cut"
refused 'info.json has no results: give the JSON of a run' info.json
refused 'cannot read nowhere: No such file' run nowhere
refused 'guidelines compares files that --json wrote: write cctest guidelines FILE'
refused '--json names run, which is read: give it another file$' run --json run
check "the file that is read is replaced" grep -q '"results"' run
refused 'has no option --np' run --np 2
finish

#!/usr/bin/env bash
# tier: deep; load: cpu1
# `cctest tune`: winners of a small grid, alone and under launchers; auto by --tuning, with files that are made; files that are
# no good; a model that prunes; an interrupt.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
cd "$scratch" || exit 1

# ---- a grid ----

cctest tune allreduce,barrier --np 3 --rank-counts 3,2,3 -b 1000 -e 64K -f 64 --budget 60 --json tuned.json
check_status 0
check_says '^# cctest [0-9.]+ tune, 3 ranks on 1 host, bootstrap local, 6 sizes, at most 60 s$' "$out"
check_says '^  allreduce +3 +64000 +[a-z0-9:=-]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[1-9] +[0-9.]+  [a-z]' "$out"
check_says '^  barrier +2 +- +[a-z0-9:=-]+ ' "$out"
check "a line for each cell" test "$(grep -c '^  [ab]' "$out")" = 6
check_json tuned.json 'd["status"] == "ok"' 'd["unmeasured"] == 0' 'd["errors"] == []' \
    '[(c["collective"], c["ranks"], c["bytes"]) for c in d["cells"]] == [("allreduce", 2, 1000), ("allreduce", 2, 64000),
        ("allreduce", 3, 1000), ("allreduce", 3, 64000), ("barrier", 2, 1), ("barrier", 3, 1)] or d["cells"]' \
    'all(c["transport"] == "shm" and c["nodes"] == 1 for c in d["cells"])' \
    'all(c["algorithms"][0]["rounds"] == c["rounds"] for c in d["cells"])' \
    'all(3 <= c["rounds"] <= 9 and c["margin"] >= 1 and len(c["algorithms"]) >= 3 for c in d["cells"])' \
    'all(a["low_us"] <= a["time_us"] <= a["high_us"] for c in d["cells"] for a in c["algorithms"])' \
    'd["options"]["rank-counts"] == [2, 3]' 'd["machine"]["hosts"] and d["machine"]["ranks"] == 3'
winner() { python3 -c "
import json
print(*[c['algorithms'][0]['algorithm'] for c in json.load(open('tuned.json'))['cells'] if (c['ranks'], c['bytes']) == ($1, $2)])"; }
cctest allreduce --np 3 -b 1000 -e 1000 --tuning tuned.json --json picked.json
check_status 0
check_says "^# auto picks $(winner 3 1000) at 1000: the fastest on 3 ranks in tuned.json$" "$out"
check_json picked.json 'd["results"][0]["auto"] == "the fastest on 3 ranks in tuned.json"' 'd["options"]["tuning"] == "tuned.json"'
check_silent 'tuned.json was measured' # on another machine

# The budget: what was not measured is counted; nothing measured is an error.
cctest tune alltoall --np 2 -b 1K -e 1G --budget 2 --json short.json
check_status 0
check_says '^# [1-9][0-9]* of 11 sizes were not measured: the 2 s of --budget are over$' "$out"
check_json short.json '0 < d["unmeasured"] < 11' 'len(d["cells"]) + d["unmeasured"] == 11'
cctest tune alltoall --np 2 --budget 0.001 --json none.json
check_status 1
check_says 'nothing was measured: --budget is too short: give more seconds$'
check_json none.json 'd["status"] == "error"' 'd["cells"] == []' 'len(d["errors"]) == 1'

# An interrupt leaves what is known.
start interrupted "$CCTEST" tune allreduce --np 2 --json interrupted.json
await 60 grep -sq '"rounds": [2-9]' interrupted.json
kill -INT "${pids[interrupted]}"
ended interrupted 130
check_json interrupted.json 'd["status"] == "interrupted"' 'd["cells"]'

# ---- a model prunes ----

# Each message takes 10 us and nothing else costs: on 8 ranks a ring takes 14 times as long as the direct exchange.
"$repository/tests/system/textbook.py" shm same-cache none 10 0 0 >made.model
cctest tune allreduce --np 8 --rank-counts 2,8 -b 4K -e 4K --budget 60 --model made.model --json pruned.json
check_status 0
check_says '^# the model pruned [1-9][0-9]* of [1-9][0-9]+ algorithms, which it predicts to be far behind, in [0-9.]+ s$' "$out"
check_says '^  allreduce +2 +4K .* +[0-9]+ +0 +[0-9.]+  ' "$out"
check_says '^  allreduce +8 +4K .* +[0-9]+ +[1-9][0-9]* +[0-9.]+  ' "$out"
check_says '^cctest: rank 0: the model made.model was made on nowhere, and rank 0 runs on '
check_json pruned.json 'd["options"]["model"] == "made.model"' 'd["unpredicted"] == 0' 'd["cells"][0]["pruned"] == []' \
    'len(d["cells"][1]["pruned"]) > 0' \
    'all(a["predicted_us"] > 30 for a in d["cells"][1]["pruned"])' \
    'not {a["algorithm"] for a in d["cells"][1]["pruned"]} & {a["algorithm"].split(":")[0] for a in d["cells"][1]["algorithms"]}' \
    'len(d["cells"][1]["pruned"]) + len(d["cells"][1]["algorithms"]) >= len(d["cells"][0]["algorithms"])'

# A model that does not know the links, or has no time, prunes nothing.
sed 's/"same-cache"/"network"/' made.model >other.model
cctest tune allreduce --np 8 --rank-counts 8 -b 4K -e 4K --budget 60 --model other.model --json pruned.json
check_status 0
check_says '^cctest: rank 0: no prediction: the model has no link of these transports for ranks [0-9] and [0-9] \(same-cache\)'
check_says '^# it could not predict [1-9][0-9]+ algorithms, which were not pruned$' "$out"
check_json pruned.json 'd["unpredicted"] > 9' 'd["cells"][0]["pruned"] == []' 'len(d["cells"][0]["algorithms"]) == d["unpredicted"]'
head -c 300 made.model >shortened
cctest tune allreduce --np 2 --model shortened --json refused.json
check_status 2
check_says '^cctest: shortened is cut off'
check_json refused.json 'd["status"] == "usage"'
rm shortened

# ---- auto by a file that is made ----

# made FILE "COLLECTIVE RANKS BYTES ALGORITHM:US,ALGORITHM:US"...: the JSON of tune with these cells.
made() {
    python3 - "$@" <<'PYTHON'
import json, sys
document = json.load(open("tuned.json"))
document["cells"] = []
for cell in sys.argv[2:]:
    collective, ranks, size, times = cell.split()
    document["cells"].append({"collective": collective, "ranks": int(ranks), "nodes": 1, "transport": "shm", "bytes": int(size), "rounds": 1, "margin": None,
        "wrong": [], "algorithms": [{"algorithm": pair.rsplit("@", 1)[0], "time_us": float(pair.rsplit("@", 1)[1]), "low_us": 1, "high_us": 99,
        "rounds": 1} for pair in times.split(",")]})
json.dump(document, open(sys.argv[1], "w"))
PYTHON
}
picks() { # picks RANKS SIZE TEXT: of allreduce
    cctest plan allreduce --np "$1" -b "$2" --tuning made
    check_status 0 "$*"
    check_says "^# auto picks $3" "$out"
}
made made "allreduce 4 1024 ring@40,mesh@10" "allreduce 4 65536 ring@10,mesh@40" "allreduce 16 1024 knomial:radix=3@5,ring@6" \
    "reduce_scatter 4 1024 rec-halving@5,linear@6,ring@7"
picks 4 1K 'mesh: the fastest on 4 ranks in made$'
picks 4 64K 'ring: the fastest on 4 ranks in made$'
picks 4 2K 'mesh: '
picks 4 48K 'ring: '
picks 16 1M 'knomial:radix=3: the fastest on 16 ranks in made$'
picks 13 1K 'knomial:radix=3: the fastest between 4 and 16 ranks in made$'
picks 5 1K 'mesh: the fastest between 4 and 16 ranks in made$'
picks 700 1K 'knomial:radix=3: the fastest on 16 ranks, the nearest to 700 in made$'
cctest reduce_scatter,broadcast --np 4 -b 64 -e 256 --tuning made
check_status 0
check_says '^# auto picks rec-halving for reduce_scatter from 64 to 256: the fastest on 4 ranks in made$' "$out"
check_says '^# auto picks binomial for broadcast from 64 to 256: small: log2 p steps \(--tuning has no measurement of this' "$out"
made made "allreduce 4 1024 hier:intra=mesh:inter=ring@5,linear@6,ring@7"
picks 4 1K 'linear: no. 2 on 4 ranks in made, and hier:intra=mesh:inter=ring refuses$'
cctest plan allreduce --np 4 --shape 2x2 -b 1K --tuning made
check_says '^# auto picks hier:intra=mesh:inter=ring: the fastest on 4 ranks' "$out"

# Another machine: a warning, and the job goes on.
sed 's/"cpu": "[^"]*"/"cpu": "Other"/; s/"threads": [0-9]*/"threads": 999/' tuned.json >other
cctest allreduce --np 2 -e 1K -m shared --tuning other
check_status 0
check_says '^cctest: other was measured on CPUs Other, and here it is .*; of 999 CPUs a host, and here there are [0-9]+; with memory host, and here it is shared: what auto'
cctest allreduce --np 2 -e 1K -a ring --tuning other
check_status 0
check_silent 'other was measured' # nothing is picked

# ---- files that are no good ----

refused() { # refused REGEX: by made
    cctest allreduce --np 2 -e 1K --tuning made
    check_status 2 "$1"
    check_says "^cctest: made$1"
    check "more than one sentence" test "$(wc -l <"$err")" = 1
}
head -c 700 tuned.json >made
refused ' is cut off: its JSON ends in line [0-9]+: make it again$'
rm made
cctest allreduce --np 2 -e 1K -a ring --json made
refused ' is not of cctest tune: give a file that cctest tune --json wrote$'
made made
refused ' has no measurements: make it again with cctest tune$'
made made "allreduce 4 1024 ring@1" "allreduce 4 4096 rong@1"
refused ", cells\[1\].algorithms\[0\].algorithm: 'rong' is not an algorithm for allreduce: did you mean 'ring'"
made made "allreduce 4 1024 knomial:radix=0@1"
refused ", cells\[0\].algorithms\[0\].algorithm: radix '0' of algorithm knomial is"
made made "allreduce 4 1024 ring@0"
refused ': cells\[0\].algorithms\[0\].time_us is no number from 1e-06 to 1e\+12: make the file again'
made made "tango 4 1024 ring@1"
refused ': cells\[0\].collective is none of this cctest'
for ranks in 0 2.5 '"4"' 1e99 null; do
    made made "allreduce 4 1024 ring@1"
    sed -i "s/\"ranks\": 4, \"nodes\"/\"ranks\": $ranks, \"nodes\"/" made
    refused ': cells\[0\].ranks is no whole number from 1 to [0-9]+'
    rm made # it is not as the schema says
done
made made "allreduce 4 1024 ring@1"
sed -i "s/\"bytes\": 1024/\"bytes\": 1024.5/" made
refused ': cells\[0\].bytes is no whole number: make the file again'
rm made
cctest allreduce --np 2 -e 1K --tuning nowhere
check_status 2
check_says 'cannot read nowhere: No such file'

# ---- the command line ----

usage() { # usage REGEX WORD...
    cctest tune "${@:2}"
    check_status 2 "${*:2}"
    check_says "$1"
}
usage '--rank-counts asks for 5 ranks, and there are 3: start as many \(--np\)$' allreduce --np 3 --rank-counts 2,5
usage "--rank-counts '1' is (too small|less)" --rank-counts 1
usage 'root 2 is not among 2 ranks: choose one from 0 to 1, or --rank-counts$' reduce --np 3 -r 2
usage 'sendrecv cannot be tuned: its algorithms exchange in different patterns' allreduce,sendrecv
usage "'tango' is not a collective" tango
usage 'tune measures one datatype and one operation' allreduce -d float,double
usage 'tune --tuning tuned.json measures nothing: say where its winners go' --tuning tuned.json
usage '--tuning measures nothing: leave --json, --rank-counts and --model out' --tuning tuned.json --ompi x --json y
usage '--tuning measures nothing: leave --json, --rank-counts and --model out' --tuning tuned.json --ompi x --model y
usage '--ompi names tuned.json, which --tuning reads' --tuning tuned.json --ompi tuned.json
usage '--json names made.model, which --model reads' allreduce --np 2 --model made.model --json made.model
check "the file that is read is replaced" grep -q '"cells"' tuned.json

CCTEST_TUNING=tuned.json cctest tune barrier --np 2 --budget 2 # is for runs
check_status 0
CCTEST_TUNING=tuned.json cctest allreduce --np 2 -b 1000 -e 1000
check_says '^# auto picks .*: the fastest on 2 ranks in tuned.json$' "$out"

# ---- launchers: a number of ranks runs on the lowest of those that were started ----

if command -v mpiexec.hydra >/dev/null && mpiexec.hydra -n 1 true; then
    run mpiexec.hydra -n 3 "$CCTEST" tune barrier,reduce -b 64 -e 64 --rank-counts 2,3 --budget 30 --json launched.json
    check_status 0
    check_says '^# cctest [0-9.]+ tune, 3 ranks on 1 host, bootstrap pmi, 4 sizes' "$out"
    check "one table" test "$(grep -c '^# status: ok' "$out")" = 1
    check_json launched.json '[c["ranks"] for c in d["cells"]] == [2, 3, 2, 3]' 'd["bootstrap"] == "pmi"'
    run mpiexec.hydra -n 1 "$CCTEST" tune barrier --budget 3 : -n 1 "$CCTEST" tune reduce --budget 3
    check_status 2
    check_says 'other options than rank 0'
fi
finish

#!/usr/bin/env bash
# tier: check; load: cpu1
# `cctest list`: complete, readable, and in JSON the same as the command line accepts.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"

# No line is wider than 100 columns.
check_narrow() { check "a line is wider than 100 columns" test -z "$(awk 'length > 100' "$out")"; }

cctest list --json "$scratch/list.json"
check_status 0
check_narrow
check_says '^ +auto|-a auto' "$out"
check_json "$scratch/list.json" 'len(d["collectives"]) == 15' \
    'all(c["algorithms"] for c in d["collectives"])' \
    'all(set(c) == {"name", "aliases", "summary", "reduces", "rooted", "counted", "algorithms"} for c in d["collectives"])' \
    '{c["name"] for c in d["collectives"] if c["counted"]} == {"alltoallv", "allgatherv", "reduce_scatterv", "gatherv", "scatterv"}' \
    'all(set(a) == {"name", "vendor", "aliases", "summary", "ranks", "grouped", "rounds", "sent", "users", "options"} for c in d["collectives"] for a in c["algorithms"])' \
    '[c["name"] for c in d["collectives"] if not any(a["vendor"] for a in c["algorithms"])] == ["reduce_scatterv", "barrier"]' \
    'all(a["grouped"] == (a["ranks"] in ("groups", "equal groups", "some groups")) for c in d["collectives"] for a in c["algorithms"])' \
    'all({"name", "kind", "help", "default"} <= set(o) for c in d["collectives"] for a in c["algorithms"] for o in a["options"])'

# The command line accepts exactly the values of options that the lists show.
python3 - "$scratch/list.json" >"$scratch/options" <<'PYTHON'
import json, sys
for c in json.load(open(sys.argv[1]))["collectives"]:
    for a in c["algorithms"]:
        for o in a["options"]:
            good, bad = {
                "number": lambda: ([o["least"], o["most"], o["default"]], [o["least"] - 1, o["most"] + 1]),
                "word": lambda: (o["words"] + [o["default"]], ["xyzzy"]),
                "part": lambda: (o["parts"] + [o["default"]], ["xyzzy"]),
                "groups": lambda: (["2", "1+3"], ["0"]),
            }[o["kind"]]()
            for say, values in ("takes", good), ("refuses", bad):
                for value in values:
                    print(say, c["name"], f'{a["name"]}:{o["name"]}={value}')
PYTHON
check "there are options" test -s "$scratch/options"
while read -r says collective choice; do
    cctest plan "$collective" -a "$choice" --np 4 --json -
    # A refusal because of the ranks, such as unequal groups, says nothing about the value.
    checks=$((checks + 1))
    if [ "$says" = takes ]; then
        [ "$status" = 0 ] || grep -q "^cctest: $collective ${choice%%:*}[^ ]*: " "$err" || failed "$choice is not taken"
    elif [ "$status" != 2 ]; then
        failed "$choice is not refused"
    else
        grep -q "^cctest: .* of algorithm ${choice%%:*}[: ]" "$err" || failed "what is said of $choice"
    fi
done <"$scratch/options"

# One collective, and one of its algorithms, in detail.
while read -r collective; do
    cctest list "$collective"
    check_status 0
    check_narrow
    check_says "^$collective: " "$out"
done < <(algorithms | cut -d ' ' -f 1 | uniq)
# An algorithm alone, by name or alias: every collective that has it, and no other.
cctest list ring --json "$scratch/ring.json"
check_json "$scratch/ring.json" 'len(d["collectives"]) > 2' '"transports" not in d' \
    'all("ring" in [a["name"], *a["aliases"]] for c in d["collectives"] for a in c["algorithms"])'
python3 -c '
import json, sys
for c in json.load(open(sys.argv[1]))["collectives"]:
    if any("ring" in [a["name"], *a["aliases"]] for a in c["algorithms"]):
        print(c["name"])' "$scratch/list.json" >"$scratch/having"
for command in list help; do
    cctest $command ring
    check_status 0
    check_narrow
    check "the collectives of ring" cmp -s <(grep -oE '^[a-z_]+: ' "$out" | grep -v '^p: ' | tr -d ': ') "$scratch/having"
done
cctest list ring allreduce
check_status 2
check_says "'allreduce' is one word too many"

cctest list alltoall bruck
check_status 0
check_says '^  bruck +any +ceil' "$out"
check_says '^ +radix=N +base k: .*2 to 65536,$' "$out"
check_says '^ +default 2$' "$out"
check_silent '^  pairwise' "$out"
cctest list allreduce hier
check_says '^  hier +equal groups' "$out"
check_says '^ +intra=A +the algorithm inside a node, for allgather,' "$out"
check_says '^ +groups=N\+N' "$out"
cctest list allreduce blueconnect --json -
check_json "$out" '[a["name"] for c in d["collectives"] for a in c["algorithms"]] == ["hier"]'
cctest list alltoall pairwse
check_status 2
check_says "did you mean 'pairwise'\?"

# A choice as JSON: words as words, parts with their own options, groups as a list.
cctest plan allreduce -a hier:inter=recexch:inter.radix=3:groups=2,hier-leader:groups=1+3 --np 4 --json -
check_json "$out" 'd["plans"][0]["algorithm_options"]["inter"] == {"algorithm": "recexch", "options": {"radix": 3}}' \
    'd["plans"][0]["algorithm_options"]["intra"]["algorithm"] == "mesh"' \
    'd["plans"][0]["algorithm_options"]["groups"] == [2]' \
    'd["plans"][1]["algorithm_options"]["groups"] == [1, 3]' 'd["plans"][1]["algorithm_options"]["leader"] == "first"'
# Options of a part are those of the algorithm chosen for it, in any order.
cctest plan allreduce -a hier:inter.radix=3:inter=recexch --shape 2x2 --json -
check_json "$out" 'd["plans"][0]["algorithm_options"]["inter"] == {"algorithm": "recexch", "options": {"radix": 3}}'
# Auto uses the size from a file of counts, not the sizes that it replaces.
for elements in 10 1000000; do
    for _ in 1 2; do echo "$elements $elements"; done >"$scratch/counts"
    cctest plan alltoallv --counts "$scratch/counts" --np 2 --json "$scratch/$elements.json"
    check_status 0
done
check_json "$scratch/10.json" 'd["plans"][0]["algorithm"] == "linear"'
check_json "$scratch/1000000.json" 'd["plans"][0]["algorithm"] == "pairwise"'
cctest allreduce -a hier --shape 2x2 --np 4 -b 64 -e 64 -n 1 --json -
check_json "$out" 'd["results"][0]["algorithm_options"]["groups"] is None' \
    'd["results"][0]["algorithm_options"]["inter"]["algorithm"] == "ring"'

# Lists and help fit into 80 columns, as does a comparison.
for words in list "list all" "help run" "help accept" "help predict" "help topology" "help verbs" "help hier" "help allreduce" "help stages" \
    "help suspect" "help status" "help busbw" help "allreduce -a recursive-doubling,ring --np 3 -b 16M -e 16M -n 1 -c 1"; do
    read -ra words <<<"$words"
    cctest "${words[@]}"
    check_status 0
    check "$(awk 'length > 80' "$out" | head -n 1)" test "$(awk 'length > 80' "$out" | grep -vc '^# [0-9]')" = 0
done
# Sizes beyond the largest that was asked for have the width of their column.
for options in "-b 99999 -e 99999 -d double" "-b 900K -e 900K --counts hot:0.9"; do
    read -ra options <<<"$options"
    [[ ${options[*]} == *counts* ]] && collective=alltoallv || collective=allreduce
    cctest "$collective" -a "$([ $collective = allreduce ] && echo ring || echo pairwise)" --np 6 -n 1 "${options[@]}"
    check "a row is as wide as its titles" test "$(grep '^#.* size ' "$out" | wc -c)" = "$(grep '^ .* 0$' "$out" | wc -c)"
done
finish

#!/usr/bin/env bash
# tier: night; load: cpu2
# Every collective with 2 to 5 ranks over verbs, on a machine with an RDMA device: the basis of algorithms. TEST_CATALOGUE=all: all
# algorithms, dealt to the numbers of ranks, so that each runs once. Every collective meets both ways to connect, to copy and to
# notice data, and each pair of these.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machines_up 1 1
machine_as 1

# Of eight combinations every second one, by the parity of its bits, has each pair of values; the collectives take turns.
connections=(exchange rdmacm) copies=(bcopy zcopy) polls=(memory cq)
even=(0 3 5 6) odd=(1 2 4 7)

# deal: "collective ranks groups algorithm,algorithm...". Those of the catalogue that need groups, or some numbers of ranks, have 4 in
# groups of 2.
deal() {
    local collective
    if [ "${TEST_CATALOGUE:-}" != all ]; then
        for collective in $(basis_collectives); do
            printf "$collective %s $(basis "$collective")\n" '2 2x1' '3 3x1' '5 5x1' '4 2x2'
        done
        return
    fi
    json_of list | python3 -c '
import json, sys
for c in json.load(sys.stdin)["collectives"]:
    own = [a for a in c["algorithms"] if not a["vendor"]]
    free = [a["name"] for a in own if a["ranks"] in ("any", "2 or more")]
    bound = [a["name"] for a in own if a["name"] not in free]
    for i, (np, groups) in enumerate(((2, "2x1"), (3, "3x1"), (5, "5x1"), (4, "2x2"))):
        print(c["name"], np, groups, ",".join(free[i::4] + (bound if np == 4 else [])))'
}

json=$scratch/collective.json
line=0 rows=0
while read -r collective np groups algorithms; do
    sizes=(-b 4 -e 40000 -f 10000) # a word in a slot; several slots, or long runs
    [ "$collective" != barrier ] || sizes=()
    sizes+=(--shape "$groups")
    ways=("${even[@]}")
    [ $((line / 4 % 2)) = 0 ] || ways=("${odd[@]}")
    way=${ways[(line / 8 + np) % 4]}
    transport=verbs:connect=${connections[way & 1]}:poll=${polls[way >> 1 & 1]} copy=${copies[way >> 2]}
    rm -f "$json"
    run "${as[@]}" "$CCTEST" "$collective" -a "$algorithms" -x "$transport" --copy "$copy" --np "$np" "${sizes[@]}" -n 1 -w 0 \
        -c 2 --timeout 20 --json "$json"
    check_status 0 "$collective, $np ranks, $transport, $copy"
    check_json "$json" 'd["status"] == "ok"' '{l["transport"] for l in d["links"]} == {"verbs"}' \
        "{r['algorithm'] for r in d['results']} == {a.split(':')[0] for a in '$algorithms'.split(',')}" \
        "len(d['results']) % len('$algorithms'.split(',')) == 0" 'all(r["wrong"] == 0 and r["checked"] == 2 for r in d["results"])'
    rows=$((rows + $(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["results"]))' "$json")))
    line=$((line + 1))
done < <(deal)
check "all collectives: $line lines" test $line -ge 60
# Each number of ranks in a job of its own is slow; more than one lane, and what auto picks.
run "${as[@]}" "$CCTEST" allreduce -a ring -x verbs --channels 3 --np 3 -b 100 -e 1M -f 100 -n 2 -w 1 -c 2 --timeout 20
check_status 0 "three channels"
run "${as[@]}" "$CCTEST" alltoall -x auto --np 3 -b 100 -e 1M -f 100 -n 2 -w 1 -c 2 --timeout 20
check_status 0 "-x auto"
machines_down
echo "coverage: $rows results over verbs"
finish

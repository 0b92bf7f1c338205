#!/usr/bin/env bash
# tier: deep; load: cpu2
# Where a value was altered: injected in what a rank has combined, and by a link that alters packets in one direction. The place is
# among those that are named, and no innocent one is named alone.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
json=$scratch/run.json
one=(-b 100001 -e 100001 -n 1 -c 1 --warmup 0)

# What is injected changes what rank 6 has combined, or received, in step 0.
cctest allreduce -a recursive-doubling --np 8 -b 1M -e 1M -n 1 -c 1 --warmup 0 --seed 2 --inject corrupt:rank=6:iteration=0 --json "$json"
check_status 3
check_says 'wrong data at ranks 0, 2, 4, 6 .*a flipped bit explains it in .*data that rank 6 \([^)]*\) combined in step 0.*, and a change of several bits in any of 3 more, all of them at ranks 0..7: check more iterations \(-c\)'
# shellcheck disable=SC2016
check_json "$json" '[f["ranks"] for f in d["results"][0]["faults"]] == [[0, 2, 4, 6]]' \
    '{"kind": "rank", "ranks": [6], "step": 0, "flipped_bit": True} in d["results"][0]["faults"][0]["places"]' \
    'len(d["results"][0]["faults"][0]["places"]) == d["results"][0]["faults"][0]["place_count"] == 8'

# Data that no rank combines has one way.
cctest allgather -a ring --np 5 "${one[@]}" --inject corrupt:rank=3:iteration=0 --json "$json"
check_says 'a flipped bit explains it in data that rank 3 \([^)]*\) received from rank 2 \([^)]*\) in step [0-3]: suspect the link between the two, or their memory$'
check_json "$json" '[p["ranks"] for p in d["results"][0]["faults"][0]["places"]] == [[2, 3]]'

# Two faults, and no place that would have made both.
cctest broadcast -a linear --np 4 "${one[@]}" --inject corrupt:rank=1:iteration=0,corrupt:rank=2:iteration=0 --json "$json"
check_says 'wrong data at ranks 1, 2 .*; no change of a value in one place explains it: suspect several faults, or a message that was not whole$'
check_json "$json" '[f["place_count"] for f in d["results"][0]["faults"]] == [0]'

# Two that have an iteration each are told apart.
cctest allgather -a ring --np 6 -b 50001 -e 50001 -n 1 -c 2 --warmup 0 --inject corrupt:rank=2:iteration=0,corrupt:rank=4:iteration=1
check_says 'wrong data at ranks 0, 2\.\.5 .*iteration 0.*explains it in data that rank 2 \([^)]*\) received from rank 1 \([^)]*\) in step 0: suspect the link between the two, or their memory$'
check_says 'wrong data at rank 1 .*iteration 1.*explains it in data that rank 4 \([^)]*\) received from rank 3 \([^)]*\) in step 0: suspect the link between the two, or their memory$'

# Schedules of more ranks than 64 are not searched.
cctest allreduce -a ring --ranks-as threads --np 65 -b 4K -e 4K -n 1 -c 1 --warmup 0 --inject corrupt:rank=1:iteration=0 --json "$json"
check_says 'wrong data at ranks 0\.\.64 .*corrupted'
check_silent 'explains it'
check_json "$json" '"faults" not in d["results"][0]'

# ---- a link that alters packets, from the second host to the third ----

# Behind it all is one fault with one sentence, and of the places that are named one is the link.
flips() { # flips PLACES ARGUMENT...: at most so many places
    for _ in 1 2 3 4 5 6; do # until a packet was altered
        launch "1 2 3 4" "${@:2}" -x tcp -b 1M -e 1M -n 4 -c 4 --warmup 0
        for rank in 0 1 2 3; do ended "$rank" '[03]'; done
        [ "$status" = 0 ] || break
    done
    out=$scratch/0.out err=$scratch/0.err
    check "${*:2}: one sentence" test "$(grep -c 'wrong data' "$err")" = 1
    check_says 'wrong data at .*explains .* in .*data that rank 2 \(h3\) received from rank 1 \(h2\).*suspect the'
    check_json "$hosts_json" 'len(d["results"][0]["faults"]) == 1' \
        "1 <= d['results'][0]['faults'][0]['place_count'] <= $1" \
        'any(p["kind"] == "message" and p["ranks"] == [1, 2] for p in d["results"][0]["faults"][0]["places"])'
}

if ! hosts_up 4; then
    echo "not tested: $hosts_missing"
elif ! command -v nft >/dev/null; then
    echo "not tested: no nft: install nftables"
else
    export CCTEST_SECRET=$long_secret
    way="type filter hook ingress device lan0-2 priority 0; ip saddr 10.77.0.2 ip daddr 10.77.0.3"
    nft "table netdev faulty { chain ingress { $way ip length > 8000 numgen random mod 100 < 30 @th,2560,8 set 0x55; }; }"
    flips 5 allreduce -a ring
    flips 5 reduce_scatter -a ring
    flips 1 allgather -a ring
    flips 5 allreduce -a tree
    flips 1 alltoall -a pairwise
    flips 1 alltoall -a bruck
    hosts_down
fi

finish

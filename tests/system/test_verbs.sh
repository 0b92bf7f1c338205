#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: address,undefined thread
# The verbs transport over the provider for tests (verbs.sh): the requirements of transports, and the basis of algorithms, in all
# orders of bytes, ways to notify and to connect; injected faults; settings of NICs.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/verbs.sh
. "$repository/tests/system/verbs.sh"

# The orders in which a NIC may place bytes, the ways to notify and to connect, and NICs of other kinds.
modes=(
    "order=1 verbs"
    "order=0,overlap=4 verbs"
    "order=0,link=ib,mtu=4096,sges=2 verbs:qps=2"
    "order=1,inline=128 verbs:poll=cq"
    "iwarp=1 verbs"
    "order=1,devices=2,hosts=3 verbs:nic=strict0+strict1"
    "order=0,devices=2,subnets=2 verbs:nic=strict0+strict1:rails=match"
    "order=0 verbs:connect=rdmacm"
)

# conformity PROGRAM MODE...: the requirements of transports, in modes by their place in modes[], which take turns in the halves of
# the combinations.
conformity() {
    local mode
    for mode in "${@:2}"; do
        [ "${TEST_CATALOGUE:-}" = all ] || export TEST_COMBINATIONS=$((mode % 2))
        [[ "$1 ${modes[mode]}" != @(conformance|peers|*devices=2)* ]] || may_lock || continue
        TEST_TRANSPORT=${modes[mode]#* } over "${modes[mode]% *},seed=$mode" 0 "$build/tests/verbs/transport" "$1"
        check_silent '^\[ +SKIPPED' "$out"
        check "$1 sends" test "${requests:-0}" -gt 0
    done
}

# matrix SEED: the basis of algorithms; modes and other options rotate.
matrix() {
    local turn=$1 collective each words mode
    for collective in $(basis_collectives); do
        each=("$(in_groups 3x2) --copy zcopy --channels 2" "$(in_groups 2x2) --copy bcopy --chunk 64 --start back-to-back"
            "$(in_groups 2x3) --in-place --chunk 0 -r all" "$(in_groups 5x1) -d int8 -m shared"
            "$(in_groups 2x2) -d double --copy zcopy --slot-size 64")
        mode=${modes[turn % ${#modes[@]}]}
        [[ $mode != *devices=2* ]] || may_lock || mode=${modes[0]}
        read -ra words <<<"${each[turn++ % ${#each[@]}]}"
        job "${mode% *},seed=$turn" 0 "${mode#* }" "$collective" -a "$(basis "$collective")" -b 8 -e 40000 -f 5000 -n 1 -w 0 -c 2 \
            "${words[@]}"
    done
}

# The provider connects no queue pair with another service level or traffic class.
options() {
    job sl=3,link=ib 0 verbs:sl=3 "${small[@]}"
    job tclass=104 0 verbs:tclass=104 "${small[@]}"
    job tclass=104 1 verbs "${small[@]}"
    check_says "cannot connect a queue pair, .*: see gid="
}

# What the provider counts: a ring of 64 ranks makes 2 queue pairs a lane and rank.
many_ranks() {
    local lanes
    for lanes in 1 2; do
        job order=0 0 verbs allgather -a ring --np 64 -b 1K -e 1K -n 1 -w 0 -c 1 --channels $lanes -v
        check_says "64 contexts with queue pairs, $((2 * lanes)) to $((2 * lanes)) each"
        check_says "verbs: $((2 * lanes)) queue pairs on 1 NIC port, about [1-9][0-9]* KiB of queues, [1-9][0-9]* KiB registered; to register took [0-9.]+ ms, "
    done
}

injected() {
    local small=(-b 64K -e 64K -n 2 -w 1 -c 2 --np 3)
    job order=0 3 verbs allreduce "${small[@]}" --inject corrupt:rank=1:iteration=1
    job order=1 3 verbs alltoall "${small[@]}" --copy zcopy --inject drop:rank=2:iteration=1
    job iwarp=1 0 verbs broadcast "${small[@]}" --inject delay:rank=0:us=2000
    job order=0 5 verbs allreduce "${small[@]}" --timeout 0.3 --inject delay:rank=1:us=1500000
    job order=0 5 verbs allreduce "${small[@]}" --timeout 0.3 --inject silent:rank=1:iteration=3
    check_says "no rank has progressed for .* s: rank 1 .* has not begun its iteration and keeps 2 others waiting"
}

if [[ $build = *thread ]]; then
    iwarp=()
    [ "${TEST_CATALOGUE:-}" != all ] || iwarp=(4) # by day the other sanitizer sees it
    conformity conformance 0 1 "${iwarp[@]}"
    conformity eager 0 1 "${iwarp[@]}"
    conformity peers 1
    conformity session_end 0
    matrix 0
    many_ranks
else
    conformity conformance 2 3 4 5 6 7
    conformity eager 2 3 4 7
    conformity peers 0 4 5
    conformity regions 0
    conformity session_end 4 7
    matrix 3
    options
fi
injected
may_lock || echo "not tested: conformance, peers, two NICs at once: the limit of locked memory is $(ulimit -l) KiB"
finish_verbs

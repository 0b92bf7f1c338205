#!/usr/bin/env bash
# The verbs transport over the strict provider of tests/verbs (provider.h), which takes the place of libibverbs and
# librdmacm: ranks are threads. The tests of transports and all algorithms under ThreadSanitizer and under Address- and
# UndefinedBehaviorSanitizer; every failure of a NIC; NICs and ports that cannot be used. The provider ends the process
# if the transport breaks a rule. Takes less than 180 s on two idle cores, once all is built.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
[ -x "$repository/build/tests/verbs/cctest" ] || skip "this cctest is built without verbs"
RUN_LIMIT=120
TRACK_SECONDS=180
[ "$(ulimit -S -l)" != unlimited ] || ulimit -S -l 4000000 # refusals name the limit
export TEST_SECONDS=100 ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

# over MODE STATUS COMMAND...: runs over the provider with these settings. No rule is broken, and no sanitizer reports. Sets
# $requests, and $since: the ms from the first fault to the end.
over() {
    VERBS_STRICT=$1,report=1 run "${@:3}"
    check_status "$2" "over VERBS_STRICT=$1"
    check_silent 'verbs provider: violation|Sanitizer|runtime error'
    requests=$(sed -n 's/^verbs provider: \([0-9]*\) requests.*/\1/p' "$err")
    since=$(sed -n 's/^verbs provider: \([0-9]*\) ms since the first fault/\1/p' "$err")
    echo "$requests" >>"$scratch/requests"
}

job() { # job MODE STATUS TRANSPORT ARGUMENT...: a collective with ranks as threads
    over "$1" "$2" "$binary" "${@:4}" -x "$3" --ranks-as threads
}

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

# Two NICs at once, and buffers of some MiB, take more locked memory than users usually may have. Bit 14: CAP_IPC_LOCK.
may_lock() {
    (($(ulimit -l) >= 65536)) || ((0x$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 14 & 1))
}

# conformity PROGRAM MODE...: the requirements of transports, in modes by their place in modes[]
conformity() {
    local mode
    for mode in "${@:2}"; do
        [[ "$1 ${modes[mode]}" != @(conformance|peers|*devices=2)* ]] || may_lock || continue
        TEST_TRANSPORT=${modes[mode]#* } over "${modes[mode]% *},seed=$mode" 0 "$folder/tests/verbs/$1"
        check_silent '^\[ +SKIPPED' "$out"
        check "$1 sends" test "${requests:-0}" -gt 0
    done
}

# matrix SEED: every algorithm; modes and other options rotate.
matrix() {
    local turn=$1 collective each words mode
    for collective in $(algorithms | cut -d' ' -f1 | uniq); do
        each=("--np 5 --copy zcopy --channels 2" "--np 4 --shape 2x2 --copy bcopy --chunk 64 --start back-to-back"
            "--np 3 --in-place --chunk 0 -r all" "--np 5 -d int8 -m shared" "--np 4 -d double --copy zcopy --slot-size 64")
        mode=${modes[turn % ${#modes[@]}]}
        [[ $mode != *devices=2* ]] || may_lock || mode=${modes[0]}
        read -ra words <<<"${each[turn++ % ${#each[@]}]}"
        job "${mode% *},seed=$turn" 0 "${mode#* }" "$collective" -a all -b 8 -e 40000 -f 5000 -n 1 -w 0 -c 2 "${words[@]}"
    done
}

small=(allreduce --np 3 -b 64K -e 64K -n 20 -w 1 -c 2 --timeout 20)

# fault KIND:N STATUS REGEX [TRANSPORT [SETTINGS]]: the N-th request or call fails; the job says why within 2 s of it.
# told=0: of a request that fails, the rank at the other end hears nothing, so that it says nothing before the sender does.
fault() {
    job "fail=$1,${5:-order=0,patience=500,told=0}" "$2" "${4:-verbs}" "${small[@]}"
    check_says "$3"
    check_silent 'Flushed|status 5'
    check "fault $1: it ended $since ms after" test "${since:-9999}" -lt 2000
}

# refuses KIND REGEX: the NIC of the other end refuses a request, and its rank may be the first to report that.
refuses() {
    job "fail=$1:300,order=0,patience=500" '[15]' verbs "${small[@]}"
    check_says "$writes\\($2|NIC strict0:1 of host .* reported an event \\(.*\\): a peer"
}

writes='the RDMA WRITE to rank [0-2] on .*, from NIC strict0:1 to NIC strict0:1, failed .*'
completions_fail() {
    local status fields
    for status in "loc_len 1 local length" "loc_qp_op 1 local QP operation" "loc_prot 1 local protection" \
        "mw_bind 1 memory management" "bad_resp 5 bad response" "loc_access 1 local access" \
        "rem_inv_req 1 remote invalid request" "rem_access 1 remote access" "rem_op 5 remote operation" \
        "retry 5 transport retry counter" "rnr 5 RNR retry counter" "rem_abort 5 aborted" "fatal 1 fatal" \
        "resp_timeout 5 response timeout" "general 1 general"; do
        read -ra fields <<<"$status"
        fault "${fields[0]}:300" "${fields[1]}" "$writes\\(${fields[*]:2}"
    done
    fault cut:200 5 "$writes\\(transport retry counter exceeded"
    refuses rem_inv_req "remote invalid request"
    refuses rem_access "remote access"
    refuses rem_op "remote operation"
    for status in "loc_len local length" "loc_qp_op local QP operation" "loc_prot local protection"; do
        fault "recv_${status%% *}:20" 1 \
            "the receive from rank [0-2] on .*, from NIC strict0:1 to NIC strict0:1, failed .*\\(${status#* }" \
            verbs order=0,patience=5000,told=0
    done
}

# event KIND REGEX [TRANSPORT [SETTINGS]]: this event ends the job.
event() {
    fault "$1:200" 1 "NIC strict0:1 of host .* reported an event \\(.*\\): $2" "${3:-verbs}" "${4:-order=0,patience=5000}"
}

events_come() {
    local kind
    event event_fatal "the device failed: see the kernel log"
    event event_port_err "its port went down: see its cable, and the switch"
    # Its requests fail before the device says that the port is down.
    event port_dies "its port went down: see its cable, and the switch" verbs order=0,hosts=3,patience=5000
    check_silent 'local QP operation'
    event event_cq "its completion queue overflowed"
    event event_srq "its shared receive queue failed"
    event event_qp_fatal "a queue pair failed: see the kernel log"
    event event_qp_req "a peer sent a queue pair an invalid request"
    event event_qp_access "a peer's request violated the rights of a queue pair"
    event gid_gone "the GID that this job uses is gone: its IP address changed"
    event pkey_gone "the P_Key that this job uses is gone" verbs:pkey=0
    event lid_changed "the subnet manager gave the port another LID" verbs link=ib,patience=5000
    for kind in event_gid event_pkey event_lid event_port_active; do # of entries that the job does not use
        job fail=$kind:200 0 verbs "${small[@]}"
    done
}

calls_fail() {
    fault alloc_pd:2 77 'gives no protection domain'
    fault query_port:2 77 'does not say its state'
    fault reg_mr:2 77 'cannot register [0-9]+ KiB of memory'
    fault create_cq:2 77 'gives no completion queue' # each rank creates one of each to try
    fault create_cq:5 1 'gives no completion queue'
    fault create_srq:2 77 'gives no shared receive queue'
    fault create_srq:5 1 'gives no shared receive queue'
    # Each of the three ranks opens it twice: to list its ports, where a failure does no harm, and to use it.
    fault "open:$(seq -s +open: 2 6)" 77 'NIC strict0:1 cannot be opened'
    fault "create_qp:$(seq -s +create_qp: 16)" 77 'NIC strict0:1 gives no RC queue pair'
    fault "create_qp:$(seq -s +create_qp: 4 19)" 1 'NIC strict0:1 cannot create queue pair number [12], of 256 requests'
    job fail=create_qp:5 0 verbs "${small[@]}" # with fewer bytes inline it can be had
    fault modify_einval:3 1 'cannot initialize a queue pair, for rank [0-2] .*see pkey='
    job fail=modify_etimedout:7+modify_etimedout:8 0 verbs "${small[@]}" # an address is looked up again
    fault "modify_etimedout:$(seq -s +modify_etimedout: 7 22)" 1 \
        'cannot connect a queue pair, for rank [0-2] .*the address of the peer is not found'
    fault post_send:30 1 'refuses a work request for rank'
    fault post_recv:20 1 'cannot post a receive'
    fault poll_cq:5 1 'cannot poll its completion queue'
    fault connect:1 77 'cannot connect to NIC strict0:1 of rank' verbs:connect=rdmacm
    fault "resolve:$(seq -s +resolve: 16)" 77 'does not find NIC strict0:1 of rank' verbs:connect=rdmacm
    job fail=resolve:1 0 verbs:connect=rdmacm "${small[@]}" # it is tried again
}

# After a failure, to free everything takes rank 0 longer than a rank that hangs is waited for.
frees_slowly() {
    job destroy=150,fail=rem_access:300 1 verbs alltoall -a linear --np 4 --channels 4 -b 64K -e 64K
    check_silent 'does not react'
}

# refused MODE TRANSPORT REGEX: one sentence, and 77
refused() {
    job "$1" 77 "$2" "${small[@]}"
    check_says "transport verbs cannot be used here: $3"
}

bad_input() {
    refused devices=0 verbs 'this host has no RDMA device'
    refused down=0 verbs 'NIC strict0:1: state DOWN'
    refused order=1 verbs:gid=200 'NIC strict0:1 has no GID at index 200'
    refused order=1 verbs:pkey=9 'NIC strict0:1 has no P_Key at index 9'
    refused order=1 verbs:nic=strict7 "this host has no NIC port 'strict7' .*strict0:1"
    refused dmabuf=0 verbs:gdr=dmabuf 'gdr=dmabuf: NIC strict0:1 cannot import GPU memory \(dmabuf\): .*rdma-core 34'
    refused peermem=0 verbs:gdr=peermem 'gdr=peermem: no peer memory module is loaded: .*modprobe nvidia_peermem'
    job dmabuf=1 0 verbs:gdr=dmabuf "${small[@]}"
    job memlock=100 77 verbs "${small[@]}"
    check_says 'cannot register [0-9]+ KiB of memory .*the limit of locked memory'
    job order=1 0 verbs:nic=strict0:01 "${small[@]}"
    job order=0 0 verbs:poll=memory barrier --np 2 -n 1 -w 0 -c 0 -v # late bytes are not checked
    check_says 'RoCE, slots polled in memory, whose order this NIC does not promise' "$out"
    job devices=2,subnets=2,patience=500 5 verbs "${small[@]}"
    check_says 'if the rails of these NICs do not meet, give -x verbs:rails=match'
    job down=0,devices=2 0 verbs "${small[@]}"
    job devices=0 0 auto "${small[@]}" # passes over verbs
    job order=1 0 auto "${small[@]}"   # shm serves all: verbs is opened, and closed unused
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

# In the background, beside the other: with a folder and checks of its own.
track() { # track NAME FUNCTION...
    (
        trap - EXIT
        scratch=$scratch/$1
        out=$scratch/out err=$scratch/err checks=0
        mkdir -p "$scratch"
        for work in "${@:2}"; do eval "$work"; done
        echo "$checks" >"$scratch/checks"
        exit $((failures > 0))
    )
}

began=$SECONDS
build_sanitized thread over-verbs
build_sanitized address,undefined over-verbs
echo "build: $((SECONDS - began)) s"
began=$SECONDS
folder=$repository/build-thread binary=$repository/build-thread/tests/verbs/cctest \
    track thread "conformity conformance 0 1 4" "conformity eager 0 1 4" "conformity peers 1" "conformity session_end 0" "matrix 0" injected \
    many_ranks &
thread=$!
folder=$repository/build-address-undefined binary=$repository/build-address-undefined/tests/verbs/cctest \
    track address "conformity conformance 2 3 5 6 7" "conformity eager 2 3 7" "conformity peers 0 4 5" \
    "conformity regions 0" "conformity session_end 4 7" "matrix 3" \
    injected completions_fail events_come calls_fail frees_slowly bad_input options
address=$?
wait $thread
thread=$?
took=$((SECONDS - began)) status=0 ran=(tracks)
check "under address,undefined" test $address = 0
check "under thread" test $thread = 0
checks=$((checks + $(paste -sd+ "$scratch"/thread/checks "$scratch"/address/checks | paste -sd+)))
requests=$(sed '/^$/d' "$scratch"/*/requests | paste -sd+)
echo "coverage: verbs: ${#modes[@]} modes, $checks checks, $((requests)) requests in $took s"
may_lock || echo "not tested: conformance, peers, two NICs at once: the limit of locked memory is $(ulimit -l) KiB"
[ $took -le $TRACK_SECONDS ] || echo "slow: $took s, and two idle cores need less than $TRACK_SECONDS s"
finish

#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: address,undefined
# The verbs transport over the provider for tests (verbs.sh): every failure of a NIC and of a call; NICs and ports that cannot be used.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/verbs.sh
. "$repository/tests/system/verbs.sh"

# fault KIND:N STATUS REGEX [TRANSPORT [SETTINGS]]: the N-th request or call fails; the job says why, long before --timeout would.
# told=0: of a request that fails, the rank at the other end hears nothing, so that it says nothing before the sender does.
fault() {
    job "fail=$1,${5:-order=0,patience=500,told=0}" "$2" "${4:-verbs}" "${small[@]}"
    check_says "$3"
    check_silent 'Flushed|status 5'
    check "fault $1: it ended $since ms after" test "${since:-99999}" -lt 20000
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

completions_fail
events_come
calls_fail
frees_slowly
bad_input
finish_verbs

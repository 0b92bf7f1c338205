#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: plain address,undefined thread
# Memory of GPUs over the runtime for tests (cuda.sh): what a kind of memory promises, the basis of algorithms over all transports,
# types and operators, links between GPUs.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/cuda.sh
. "$repository/tests/system/cuda.sh"

# all_of AS MODE SHAPE TRANSPORT...: the basis; a barrier moves no memory of a GPU
all_of() {
    local collective transport shape
    read -ra shape <<<"$(in_groups "$3")"
    for transport in "${@:4}"; do
        for collective in $(basis_collectives); do
            [ "$collective" != barrier ] || continue
            over "mode=$2" 0 "$binary" "$collective" -a "$(basis "$collective")" -m cuda "${shape[@]}" -x "$transport" "${short[@]}" \
                --ranks-as "$1"
        done
    done
}

of_type() { # of_type TYPE OPERATOR...
    local operator
    for operator in "${@:2}"; do
        over mode=sync 0 "$binary" allreduce -m cuda --np 3 --ranks-as threads -x tcp -d "$1" --op "$operator" \
            -b 4096 -e 4096 -n 1 -w 0 -c 1
    done
}

types_and_operators() {
    local type
    for type in float double float16 bfloat16 float8_e4m3 float8_e5m2 int8 int16 int32 int64 uint8 uint16 uint32 uint64; do
        of_type $type sum prod min max avg
        [[ $type = *int* ]] || continue
        of_type $type land lor lxor band bor bxor
    done
    for type in float_int32 int32_int32 double_int64 int64_int64; do
        of_type $type maxloc minloc
    done
}

# More than fits a tile of the comparison, a ring, and what an engine has under way; more runs than fit a launch.
large() {
    over mode=async 0 "$binary" allreduce -a ring,rhd -m cuda --np 2 -x "$1" -b 20M -e 20M -n 1 -w 0 -c 1
    over mode=async 0 "$binary" alltoall -a bruck -m cuda --np 5 -x "$1" -b 40K -e 40K -d int8 -n 1 -w 0 -c 1 --channels 4
    over mode=async 3 "$binary" broadcast -a chain -m cuda --np 2 -x "$1" -b 20M -e 20M -n 1 -w 0 -c 1 \
        --inject corrupt:rank=1:iteration=0
    check_says "wrong data at rank 1 .*: 1 element is wrong"
    over mode=async 3 "$binary" broadcast -a chain -m cuda --np 2 -x "$1" -b 20M -e 20M -n 1 -w 0 -c 1 \
        --inject drop:rank=1:iteration=0
    check_says "wrong data at rank 1 .*: 5242880 elements are wrong"
}

# The tests of transports over the one whose GPUs map each other's memory: conformity MODE PROGRAM...
conformity() {
    local program
    for program in "${@:2}"; do
        TEST_TRANSPORT=cuda over "mode=$1" 0 "$build/tests/cuda/transport" "$program"
    done
}

# falls SETTINGS AS REGEX...: pairs of ranks that the cuda transport does not connect are staged, and the table says why.
falls() {
    local regex
    over "mode=sync,$1" 0 "$binary" allreduce -a ring -m cuda --np 3 --ranks-as "$2" "${short[@]}" -v
    for regex in "${@:3}"; do
        check_says "$regex" "$out"
    done
}

no_peer_access='run over shm, .*because cuda does not connect them: their GPUs have no peer access to each other'
no_ipc='run over shm, .*because cuda does not connect them: its process cannot share memory of its GPU \(CUDA IPC\)'

peers() {
    all_of processes async 3x1 cuda
    all_of threads sync 3x1 cuda
    over mode=async,devices=3 0 "$binary" allreduce -a "$(basis allreduce)" -m cuda --np 5 --shape 5x1 -x cuda "${short[@]}" --ranks-as processes
    over mode=async 0 "$binary" alltoall -a "$(basis alltoall)" -m cuda --np 5 --shape 5x1 -x cuda "${short[@]}" --ranks-as threads
    over mode=async 0 "$binary" allreduce -a ring -m cuda --np 3 -b 4M -e 4M --channels 3 -n 2 -w 1 -c 3 -v \
        --ranks-as processes
    check_says 'links: 2 by cuda, CUDA IPC, same GPU' "$out"
    check_says 'links: 4 by cuda, CUDA IPC, peer access' "$out"
    check_says 'by way: line 0, bcopy 0, zcopy [1-9][0-9]*, ll 0' "$out"
    check_says 'copied to send 0, to receive 0 bytes' "$out"
    over mode=async,delay=2000 0 "$binary" allreduce -a ring -m cuda --np 3 -b 1M -e 1M -n 3 -w 0 -c 0 -v -x cuda --json "$scratch/json"
    check_json "$scratch/json" 'all(p["on_the_way_us"] > 0 if p["sent"] else p["awaited_us"] > 0
        for r in d["results"][0]["samples"] for p in r["peers"])'
    falls peer=no processes 'links: 4 by shm, .*staged$' "2 pairs of ranks $no_peer_access"
    falls peer=no threads 'links: 4 by shm, .*staged$' "2 pairs of ranks $no_peer_access"
    falls ipc=no processes 'links: 6 by shm, .*staged$' "3 pairs of ranks $no_ipc"
    falls ipc=no,peer=no,devices=1 threads 'by way: line 0, bcopy 0, zcopy [1-9]'
    falls fail=cudaIpcOpenMemHandle:1 processes 'memory of its GPU cannot be mapped \(CUDA IPC\): cudaErrorMapBufferObjectFailed'
    falls "fail=$(printf '+cudaIpcOpenMemHandle:%d' {1..8} | cut -c2-)" processes 'by shm, .*staged$' 'memory of its GPU cannot be mapped \(CUDA IPC\)'
    over mode=sync 0 "$binary" allreduce -m cuda --np 2 -x tcp -b 4K -e 4K -n 1 -w 0 -c 0 -v
    check_says 'links: 2 by tcp.*, staged$' "$out"
    check_says 'copied to send [1-9][0-9]*, to receive [1-9]' "$out"
    over peer=no 77 "$binary" allreduce -m cuda --np 2 -x cuda "${short[@]}"
    check_says 'no transport that is allowed \(-x\) connects .*; cuda: their GPUs have no peer access'
    over mode=sync 0 "$binary" allreduce -m cuda --np 2 --copy bcopy "${short[@]}"
    check_says 'because cuda does not connect them: it reads messages where they lie, which --copy bcopy excludes' "$out"
    over mode=sync 2 "$binary" allreduce -x cuda --np 2
    check_says 'transport cuda does not move host memory: ask for memory of a GPU \(-m cuda\)'
    over mode=sync 0 "$binary" allreduce --np 2 "${short[@]}" -v
    check_silent cuda "$out"
}

# The program itself, with CUDA or without it.
without_gpu() {
    [ ! -e /dev/nvidiactl ] || return
    run "$CCTEST" allreduce -m cuda
    check_status 77 "no driver"
    check_says "cuda memory cannot be used here: (there is no NVIDIA driver|this cctest was built without CUDA)"
    ! grep -q "built without CUDA" "$err" || echo "not tested: a cctest with CUDA, and NVIDIA's headers (no toolkit: scripts/setup --cuda)"
    run "$CCTEST" info
    check_status 0 "no driver"
}

over connections=32 0 "$binary" allreduce -m cuda --np 3 "${short[@]}" --ranks-as threads --json "$scratch/json"
case $build in
*thread)
    all_of threads async 2x2 tcp shm cuda
    conformity async session_end
    ;;
*address*)
    all_of threads async 2x2 tcp shm cuda
    conformity async session_end
    over mode=async 0 "$build/tests/cuda/transport" test_contents
    types_and_operators
    large shm
    ;;
*)
    without_gpu
    for mode in sync async; do
        over mode=$mode 0 "$build/tests/cuda/transport" test_contents
    done
    over mode=async 0 "$build/tests/cuda/hooks" cuda 256K 3 1
    over connections=32 0 "$binary" allreduce -m cuda --np 3 "${short[@]}" --ranks-as processes
    all_of processes async 3x1 tcp shm
    all_of processes sync 2x2 tcp
    large tcp
    peers
    conformity async conformance regions processes session_end
    conformity sync peers
    ;;
esac
finish

#!/usr/bin/env bash
# Memory of GPUs over the runtime for tests of tests/cuda (runtime.h), which takes the place of CUDA's, with kernels that a
# C++ compiler made for the CPU: what a kind of memory promises, all collectives and algorithms, types and operators,
# injected faults, calls that fail, ranks that die. It ends the process if a rule of CUDA is broken. Under Address- and
# UndefinedBehaviorSanitizer, and with ranks as threads under ThreadSanitizer.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
[ -x "$repository/build/tests/cuda/cctest" ] || skip "there is no C++ compiler for kernels"
RUN_LIMIT=120
export CCTEST_EXECUTOR=host # test_device.sh is about the other one
export TEST_SECONDS=100 ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

# over SETTINGS STATUS COMMAND...: runs over the runtime for tests with these settings. No rule is broken, no call blocks.
over() {
    CUDA_STANDIN=strict=yes,threads=3,$1 run "${@:3}"
    check_status "$2" "over CUDA_STANDIN=$1"
    check_silent 'cuda stand-in: violation|Sanitizer|runtime error'
}

collectives=(allreduce allgather allgatherv reduce_scatter reduce_scatterv alltoall alltoallv broadcast reduce gather
    gatherv scatter scatterv sendrecv)
short=(-b 4K -e 64K -f 16 -n 1 -w 0 -c 1)

# all_of AS MODE RANKS TRANSPORT...: all algorithms of all collectives
all_of() {
    local collective transport
    for transport in "${@:4}"; do
        for collective in "${collectives[@]}"; do
            over "mode=$2" 0 "$binary" "$collective" -a all -m cuda --np "$3" -x "$transport" "${short[@]}" --ranks-as "$1"
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

lost_ranks() {
    local transport
    for transport in tcp cuda; do
        CUDA_STANDIN=threads=1 run "$binary" allreduce -m cuda --np 3 -x $transport -b 1M -e 1M -n 100000 --timeout 5 \
            --inject kill:rank=1:iteration=5
        check_status 5 "a killed rank, over $transport"
        check_says "rank 1 .*is gone"
        check_silent 'Sanitizer|runtime error'
    done
}

faults() {
    local transport
    over mode=async 3 "$binary" allreduce -a ring -m cuda --np 4 -x tcp -b 64K -e 64K -c 4 -n 1 --inject corrupt:rank=2:iteration=1
    check_says "wrong data at ranks 0..3 .*corrupted on the way or in memory: .*flipped bit"
    over mode=async 3 "$binary" allreduce -a ring -m cuda --np 4 -x tcp -b 64K -e 64K -c 4 -n 1 --inject drop:rank=2:iteration=1
    check_says "the contribution of rank 1 is missing in elements 0..4095"
    for transport in tcp cuda; do
        over mode=async 5 "$binary" allreduce -m cuda --np 3 -x $transport -b 64K -e 64K --timeout 2 --ranks-as threads \
            --inject silent:rank=1:iteration=3
        check_says "no rank has progressed for .* s: rank 1 .* has not begun its iteration and keeps 2 others waiting"
    done
    over mode=async,hang=3 5 "$binary" allreduce -m cuda --np 3 -x tcp -b 64K -e 64K -n 9 -w 0 -c 0 --timeout 2
    check_says "the GPU of rank [012] .* has not ended a copy or a kernel, in phase time"
    over mode=async,hang=3 5 "$binary" allreduce -a ring -m cuda --np 3 -x cuda -b 64K -e 64K -n 9 -w 0 -c 0 --timeout 2
    check_says "the GPU of rank [012] .* has not ended a copy or a kernel, in phase time"
    over mode=async,hang=1 5 "$binary" broadcast -m cuda --np 3 -x tcp -b 1M -e 1M -n 1 -w 0 -c 1 --timeout 2
    check_says "GPU [01] \(0000:(1a|22):00.0\) has not ended a kernel or a copy for the whole --timeout"
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

# lacks SETTINGS STATUS REGEX OPTION...
lacks() {
    over "$1" "$2" "$binary" allreduce -m cuda --np 2 -x tcp -b 1M -e 1M -n 3 -w 1 -c 1 --timeout 5 "${@:4}"
    check_says "$3"
}

refusals() {
    local as error gpu='GPU [01] \(0000:(1a|22):00\.0\)'
    lacks driver=none 77 "no GPU can be used: the NVIDIA driver is older than this cctest's CUDA, or there is none: \
install driver 580 or newer, or build cctest with CUDA 12, .*\(make CUDA=PATH\)"
    lacks devices=0 77 "no GPU can be used: there is none, or CUDA_VISIBLE_DEVICES hides it"
    lacks memory=2097152 1 "for 1 rank on $gpu: 2 MiB are available; ask for smaller sizes"
    lacks fail=cudaMalloc:1 1 "cannot allocate 3 MiB on $gpu: 256 of its 256 MiB are free; ask for smaller sizes"
    for error in NoKernelImageForDevice InvalidDeviceFunction InvalidPtx UnsupportedPtxVersion JitCompilerNotFound; do
        lacks fail=cudaFuncGetAttributes:3:cudaError$error 77 "$gpu, Stand-in, cannot be used: this cctest has no kernels for it: build it"
    done
    lacks fail=cudaSetDevice:1 77 "$gpu, Stand-in, cannot be used: another process has it for itself .*--ranks-as threads"
    lacks fail=cudaGetDeviceProperties:1 1 "cannot read the properties of a GPU: $gpu says: .*cudaErrorInvalidDevice"
    lacks fail=cudaGetDeviceCount:1 77 "no GPU can be used: its system is not ready: .*nvidia-fabricmanager"
    lacks fail=cudaHostRegister:1 1 "cannot pin [0-9]+ bytes of this host's memory, .*run fewer ranks here"
    # Rings are for channels whose link does not reach the memory: one pair of two for each rank, two channels of 4 MiB.
    over fail=cudaHostRegister:1 0 "$binary" allreduce -m cuda --np 2 -x cuda "${short[@]}"
    over peer=no,fail=cudaHostRegister:1 1 "$binary" allreduce -a ring -m cuda --np 4 --device 0,0,1,1 "${short[@]}" \
        --ranks-as processes
    check_says "cannot pin 8388608 bytes of this host's memory, through which messages are staged"
    lacks fail=cudaHostAlloc:1 1 "cannot pin [0-9]+ bytes of this host's memory, into which the GPU writes what it finds"
    lacks fail=cudaMemcpyAsync:9 1 "cannot copy: $gpu says"
    # After a sticky error CUDA does not even tell the name of the GPU.
    for as in processes threads; do
        lacks sticky=5 1 "rank [01] .*$gpu says: .*cudaErrorIllegalAddress" --ranks-as $as
    done
}

# The tests of transports over the one whose GPUs map each other's memory: conformity MODE PROGRAM...
conformity() {
    local program
    for program in "${@:2}"; do
        TEST_TRANSPORT=cuda over "mode=$1" 0 "${binary%/*}/$program"
    done
}

# falls SETTINGS AS REGEX...: pairs of ranks that the cuda transport does not connect are staged, and the table says why.
falls() {
    local regex
    over "mode=sync,$1" 0 "$binary" allreduce -a ring -m cuda --np 3 --ranks-as "$2" "${short[@]}"
    for regex in "${@:3}"; do
        check_says "$regex" "$out"
    done
}

no_peer_access='run over shm, .*because cuda does not connect them: their GPUs have no peer access to each other'
no_ipc='run over shm, .*because cuda does not connect them: its process cannot share memory of its GPU \(CUDA IPC\)'

peers() {
    all_of processes async 3 cuda
    all_of threads sync 3 cuda
    over mode=async,devices=3 0 "$binary" allreduce -a all -m cuda --np 5 -x cuda "${short[@]}" --ranks-as processes
    over mode=async 0 "$binary" alltoall -a all -m cuda --np 5 -x cuda "${short[@]}" --ranks-as threads
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
if [ ! -e /dev/nvidiactl ]; then
    run "$CCTEST" allreduce -m cuda
    check_status 77 "no driver"
    check_says "cuda memory cannot be used here: (there is no NVIDIA driver|this cctest was built without CUDA)"
    ! grep -q "built without CUDA" "$err" || echo "not tested: a cctest with CUDA, and NVIDIA's headers (no toolkit: scripts/setup --cuda)"
    run "$CCTEST" info
    check_status 0 "no driver"
fi

binary=$repository/build/tests/cuda/cctest
for mode in sync async; do
    over mode=$mode 0 "$repository/build/tests/cuda/contents"
done
# What `make check-cuda` does on a machine with a GPU.
CHECK_PARTS="elements bars tables" TOOLKIT='' run "$repository/tests/cuda/check/run" "$scratch/check-cuda"
check_status 0 "check-cuda over the stand-in"
check_says '# 410 rows, 0 differ' "$out"
check_says '0 parts failed, 0 bars missed, 21 unproven; the report has 4 files' "$out"
# At 2 ranks a ring combines half of the vector and receives half; of an allgather or alltoall half is copied, and half received.
check_says 'one GPU, device executor, allreduce of 256K: .*\(1310720 bytes read and written\)' "$out"
check_says 'one GPU, device executor, allgather of 256K: .*\(1048576 bytes read and written\)' "$out"
check_says 'two GPUs, device executor, alltoall of 256K: .*\(1048576 bytes read and written\), the copy engine [0-9.]+; of the ' "$out"
CHECK_PARTS=device TOOLKIT='' run "$repository/tests/cuda/check/run" "$scratch/check-cuda"
check_status 0 "the device executor's part of check-cuda"
check_says '40 checked iterations of 4 ranks, each in turn 200 us late' "$out"
check_says '45 of 45 jobs without a fault' "$out"
over mode=async 0 "$repository/build/tests/cuda/hooks" cuda 256K 3 1
for as in processes threads; do
    over connections=32 0 "$binary" allreduce -m cuda --np 3 "${short[@]}" --ranks-as $as
done
all_of processes async 3 tcp shm
all_of processes sync 4 tcp
large tcp
refusals
peers
conformity async conformance regions processes session_end
conformity sync peers
[ -n "${TEST_PLAIN:-}" ] && finish

short=(-b 12K -e 12K -n 1 -w 0 -c 1)
for sanitizer in address,undefined thread; do
    build_sanitized $sanitizer over-cuda
    folder=$repository/build-${sanitizer/,/-}
    binary=$folder/tests/cuda/cctest
    all_of threads async 3 tcp shm cuda
    lost_ranks
    conformity async session_end
    [ $sanitizer != thread ] || continue
    over mode=async 0 "$folder/tests/cuda/contents"
    types_and_operators
    faults
    refusals
    large shm
done
finish

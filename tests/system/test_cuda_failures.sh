#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: plain address,undefined thread
# Memory of GPUs over the runtime for tests (cuda.sh): GPUs that cannot be used, calls that fail, injected faults, ranks that die.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/cuda.sh
. "$repository/tests/system/cuda.sh"

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
    lacks fail=cudaHostAlloc:1 1 "cannot pin [0-9]+ bytes of this host's memory, into which the GPU writes the results of its checks"
    lacks fail=cudaMemcpyAsync:9 1 "cannot copy: $gpu says"
    # After a sticky error CUDA does not even tell the name of the GPU.
    for as in processes threads; do
        lacks sticky=5 1 "rank [01] .*$gpu says: .*cudaErrorIllegalAddress" --ranks-as $as
    done
}

[[ $build = *thread ]] || refusals
[ "$build" = "$repository/build" ] || lost_ranks
[[ $build != *address* ]] || faults
finish

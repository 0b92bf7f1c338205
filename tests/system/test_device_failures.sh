#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: plain address,undefined thread
# The device executor over the runtime for tests (device.sh): injected faults; ranks that are lost or silent; what keeps a line, or
# a job, from the device.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/device.sh
. "$repository/tests/system/device.sh"

# host SETTINGS REGEX OPTION...: run by the host, and the table says why
host() {
    over "$1" 0 allreduce -a ring -m cuda "${short[@]}" "${@:3}"
    check_json "$scratch/json" 'all(r["executor"] == "host" and r["engine"] != "sm" and r["why_host"] and r["device_time_us"] is None
        for r in d["results"])'
    check_says "^# executor: host \(.*\); not the device: $2" "$out"
}

# refused SETTINGS STATUS REGEX OPTION...
refused() {
    over "$1" "$2" allreduce -a ring -m cuda --executor device "${short[@]}" --timeout 5 "${@:4}"
    check_says "$3"
}

faults() {
    local way
    for way in auto zcopy bcopy ll; do
        over mode=async 3 allreduce -a ring -m cuda --executor device --np 4 --ranks-as threads -b 64K -e 64K -c 4 -n 1 \
            --copy $way --inject corrupt:rank=2:iteration=1
        check_says "wrong data at ranks 0..3 .*corrupted on the way or in memory: .*flipped bit"
        over mode=async 3 allreduce -a ring -m cuda --executor device --np 4 --ranks-as threads -b 64K -e 64K -c 4 -n 1 \
            --channels 1 --copy $way --inject drop:rank=2:iteration=1
        check_says "the contribution of rank 1 is missing in elements 0..4095"
    done
    over mode=async 3 broadcast -a chain -m cuda --executor device --np 2 --ranks-as threads --channels 1 -b 200K -e 200K -n 1 -w 0 \
        -c 1 --inject drop:rank=1:iteration=0
    check_says "wrong data at rank 1 .*: 51200 elements are wrong"
    over mode=async 1 broadcast -a chain -m cuda --executor device --np 2 --ranks-as threads "${short[@]}" \
        --inject drop:rank=0:iteration=0
    check_says "found no message to drop"
}

lost_ranks() {
    local as at
    for as in threads processes; do
        for at in 0 7; do
            over mode=async,devices=3 5 allreduce -a ring -m cuda --executor device --np 3 --ranks-as $as -b 256K -e 256K -n 9 \
                --channels 2 --inject silent:rank=1:iteration=$at --timeout 2
            check_says "rank 1 .* has not begun its iteration and keeps 2 others waiting: .* allreduce ring, 256K, iteration $at"
            check_says "rank 2 .* waits to receive from rank 1, [0-9]+ of [0-9]+ bytes so far"
        done
    done
    CUDA_STANDIN=threads=1,mode=async,devices=3 run "$binary" allreduce -m cuda --executor device --np 3 -b 1M -e 1M -n 100000 \
        --timeout 5 --inject kill:rank=1:iteration=5
    check_status 5 "a killed rank"
    check_says "rank 1 .*is gone"
    # What a GPU that hangs may still use is not given back, and its rank does not join the others.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 TSAN_OPTIONS=${TSAN_OPTIONS:-}:report_thread_leaks=0 over mode=async,hang=10 5 allreduce -a ring -m cuda --executor device \
        --np 3 --ranks-as threads -b 64K -e 64K -n 9 -w 0 -c 0 --timeout 2
    check_says "the GPU of rank [012] .* has not ended"
}

refusals() {
    local gpu='GPU [012] \(0000:(1a|22|2a):00\.0\)'
    host peer=no "ranks 0 and 1 do not map each other's memory: their GPUs have no peer access" --np 2
    host ipc=no "ranks 0 and 1 do not map each other's memory: its process cannot share memory of its GPU \(CUDA IPC\)" --np 2 \
        --ranks-as processes
    host mode=sync 'no transport of -x maps the memory of other ranks' --np 2 -x tcp
    host devices=1 'ranks 0 and 1 are processes that share a GPU, .*--ranks-as threads.*MPS' --np 2 --ranks-as processes
    host devices=1 'the GPU of rank 0 holds 32 blocks at once, fewer than 3 ranks x 11 channels: give --channels 10' --np 3 \
        --channels 11
    host mode=async,hang=4 'the kernel of rank [012] had not begun after 1 s, .*: its GPU does not run them at the same time' \
        --np 3 --ranks-as threads
    host cooperative=no 'rank 0: its GPU launches no kernels whose blocks all run at once' --np 2
    host devices=1 '9 ranks share the GPU of rank 0: from 9 on' --np 9 --ranks-as threads
    host mode=sync 'rank 0: the slots of all its lanes would take more than 512 MiB' --np 2 --slots 64 --slot-size 64M
    host devices=1,per_sm=1 'rank 0: its GPU has no room beside the buffers for the slots of all its lanes, 43 MiB for each rank: ask' \
        --np 7 --channels 64
    over peer=no 0 allreduce -a ring -m cuda --np 4 "${short[@]}" -e 4K
    check "one sentence about the executor" [ "$(grep -c '^# executor' "$out")" = 1 ]
    check_says 'not the device: ranks 0 and 1 do not map' "$out"
    over mode=sync 0 allreduce -m cuda --np 2 --executor host "${short[@]}"
    check_says '^# executor: host \(ce\)$' "$out"
    check_json "$scratch/json" 'all(r["executor"] == "host" and r["engine"] == "ce" and r["why_host"] is None for r in d["results"])'
    over mode=async 0 allreduce -m cuda --np 2 --copy bcopy "${short[@]}"
    check_says '^# executor: device \(sm\)$' "$out"
    check_json "$scratch/json" 'all(r["executor"] == "device" and r["transport"] == "cuda" and r["bytes_by_path"]["bcopy"] > 0 for r in d["results"])'
    check_silent 'pairs of ranks run over' "$out"
    over devices=1,mps=yes,mode=async 0 allreduce -a ring -m cuda --executor device --np 2 --ranks-as processes "${short[@]}"

    refused peer=no 77 '--executor device cannot be had for allreduce ring: ranks 0 and 1 do not map' --np 2
    refused devices=1 77 '--executor device cannot be had here: ranks 0 and 1 are processes' --np 2 --ranks-as processes
    refused devices=1 2 'fewer than 3 ranks x 11 channels: give --channels 10 or fewer' --np 3 --channels 11
    refused mode=sync 2 'rank 0: the slots of all its lanes would take more than 512 MiB: ask for fewer' --np 2 --slots 64 --slot-size 64M
    refused devices=1,memory=30000000 2 'its GPU has no room beside the buffers for the slots' --np 3 --slots 64 --slot-size 64K
    refused devices=1,sms=1 77 'holds 2 blocks at once, fewer than the 3 ranks that share it: run fewer ranks' --np 3
    refused mode=async,hang=5 77 '--executor device cannot be had here: the kernel of rank [012] had not begun' --np 3 \
        --ranks-as threads
    refused cooperative=no 77 'its GPU launches no kernels whose blocks all run at once' --np 2
    # Each rank launches the kernel once before there are plans.
    TSAN_OPTIONS=${TSAN_OPTIONS:-}:report_thread_leaks=0 \
        refused mode=async,hang=1 5 "$gpu has not ended a kernel|rank [01] .*stuck in phase setup" --np 2 --ranks-as threads --timeout 2
    refused fail=cudaLaunchCooperativeKernel:2 1 "cannot launch a kernel: $gpu" --np 2 --ranks-as threads
    refused fail=cudaLaunchCooperativeKernel:3 1 "cannot launch a kernel: $gpu" --np 2 --ranks-as threads
    refused fail=cudaStreamBeginCapture:1 1 "cannot capture a launch: $gpu" --np 2 --ranks-as threads --graph
    refused fail=cudaStreamEndCapture:2 1 "cannot capture a launch: $gpu" --np 2 --ranks-as threads --graph
    refused fail=cudaGraphInstantiate:1 1 "cannot make a graph of a launch: $gpu" --np 2 --ranks-as threads --graph
    refused fail=cudaGraphUpload:2 1 "cannot copy a graph to the GPU: $gpu" --np 2 --ranks-as threads --graph
    refused fail=cudaHostAlloc:1 1 "cannot pin [0-9]+ bytes .*where they are" --np 2 --ranks-as threads
    # Plans: each rank has allocated twice and four times before.
    refused fail=cudaHostAlloc:7 1 'cannot pin [0-9]+ bytes .*from which its GPU copies schedules: run fewer' --np 2 --ranks-as threads
    refused fail=cudaMalloc:9 1 "cannot allocate [0-9]+ MiB on $gpu: .*run fewer" --np 2 --ranks-as threads
    check_says '^# +size' "$out"
    refused mode=async,sticky=11 1 "rank [01] .*$gpu says: .*cudaErrorIllegalAddress" --np 2 --ranks-as threads
    refused mode=async,sticky=10 1 "rank [01] .*$gpu says: .*cudaErrorIllegalAddress" --np 2 --ranks-as processes
    over mode=sync 2 allreduce --np 2 --executor device
    check_says '--executor device runs schedules inside GPUs, but the buffers are in host memory: give -m cuda too'
    over mode=sync 2 allreduce -m cuda --np 2 --executor device -x tcp
    check_says '--executor device cannot be had: no transport of -x maps the memory of other ranks: add cuda to -x'
    over mode=sync 2 allreduce --np 2 --graph
    check_says '--graph replays launches of kernels'
    over mode=sync 2 allreduce -m cuda --np 2 --graph --executor host
    over mode=sync 2 allreduce --np 2 --protocol ll
    check_says '--protocol is about schedules that run inside GPUs'
    over mode=sync 2 allreduce -m cuda --np 2 --protocol ll --copy zcopy
    check_says '--protocol ll excludes --copy zcopy'
    over mode=sync 2 allreduce -m cuda --np 2 --executor gpu
    check_says "'gpu' is not a"
}

faults
lost_ranks
[ "$build" != "$repository/build" ] || refusals
finish

#!/usr/bin/env bash
# The device executor over the runtime for tests (tests/cuda/runtime.h), whose kernels wait for each other as those of GPUs do:
# all collectives and algorithms, by all ways; types and operators; late ranks; injected faults; ranks that are lost or
# silent; what keeps a line, or a job, from the device. Under sanitizers, too.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
binary=$repository/build/tests/cuda/cctest
[ -x "$binary" ] || skip "there is no C++ compiler for kernels"
RUN_LIMIT=60
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

# over SETTINGS STATUS OPTION...: a job over the runtime for tests; JSON goes to $scratch/json. No rule is broken, and no call
# waits for a kernel.
over() {
    rm -f "$scratch/json"
    CUDA_STANDIN=strict=yes,connections=32,threads=2,$1 run "$binary" "${@:3}" --json "$scratch/json"
    check_status "$2" "over CUDA_STANDIN=$1"
    check_silent 'cuda stand-in: violation|Sanitizer|runtime error'
}

# device OPTION...: run by the device, and right
device() {
    over "$settings" 0 "$@" -m cuda --executor device
    check_json "$scratch/json" 'd["results"]' 'all(r["executor"] == "device" and r["way"] == "sm" and r["wrong"] == 0 and
        r["why_host"] is None and r["device_time_us"]["max"] > 0 for r in d["results"] if r["iterations"])'
}

# host SETTINGS REGEX OPTION...: run by the host, and the table says why
host() {
    over "$1" 0 allreduce -a ring -m cuda "${short[@]}" "${@:3}"
    check_json "$scratch/json" 'all(r["executor"] == "host" and r["way"] != "sm" and r["why_host"] and r["device_time_us"] is None
        for r in d["results"])'
    check_says "^# executor: host \(.*\); not the device: $2" "$out"
}

# refused SETTINGS STATUS REGEX OPTION...
refused() {
    over "$1" "$2" allreduce -a ring -m cuda --executor device "${short[@]}" --timeout 5 "${@:4}"
    check_says "$3"
}

collectives=(allreduce allgather allgatherv reduce_scatter reduce_scatterv alltoall alltoallv broadcast reduce gather
    gatherv scatter scatterv sendrecv barrier)
short=(-b 4K -e 64K -f 16 -n 1 -w 0 -c 1)

every_algorithm() { # every_algorithm RANKS OPTION...
    local collective
    for collective in "${collectives[@]}"; do
        device "$collective" -a all --np "$1" "${short[@]}" "${@:2}"
    done
}

types_and_operators() {
    local type operator operators
    for type in float double float16 bfloat16 float8_e4m3 float8_e5m2 int8 int16 int32 int64 uint8 uint16 uint32 uint64 \
        float_int32 int32_int32 double_int64 int64_int64; do
        operators='sum prod min max avg'
        [[ $type != *int* ]] || operators+=' land lor lxor band bor bxor'
        [[ $type != *_*int* ]] || operators='maxloc minloc'
        for operator in $operators; do
            device allreduce --np 2 --ranks-as threads -d "$type" --op "$operator" -b 4080 -e 4080 -n 1 -w 0 -c 1
        done
    done
}

odd_jobs() {
    local collective
    settings=mode=async,devices=2 device allreduce -a ring --np 13 --ranks-as threads "${short[@]}" -b 0 --channels 2
    device allreduce -a all --np 3 --ranks-as threads -b 1000 -e 1000 -n 1 -w 0 -c 1 --chunk 1
    device alltoall -a pairwise --np 7 --ranks-as threads -b 7001 -e 70001 -i 21000 -n 2 -w 1 -c 5 -d int8 --channels 3
    device broadcast -a all --np 5 --ranks-as threads --root all -c 6 -b 40K -e 40K -n 6 -w 0
    device reduce -a all --np 4 --ranks-as threads --root 3 --in-place "${short[@]}" --op avg -d int32 --channels 3
    device allgatherv -a all --np 3 --ranks-as threads --in-place --counts zipf:1.2 "${short[@]}" --start back-to-back -n 9
    device alltoallv -a linear --np 3 --ranks-as threads --in-place "${short[@]}" --channels 4
    device allreduce -a ring --np 3 --ranks-as threads -b 3M -e 3M -n 2 -w 1 -c 5 --slots 2 --slot-size 1000 --chunk 700
    device allreduce -a ring,rhd --np 1 "${short[@]}"
    device alltoall -a all --np 6 --split 3 --ranks-as threads "${short[@]}"
    for collective in allreduce allgather reduce_scatter alltoall broadcast reduce gather scatter; do
        device "$collective" -a all --np 6 --shape 2x3 --ranks-as threads "${short[@]}"
    done
    device broadcast -a hier --np 4 --shape 2x2 --root all --ranks-as threads "${short[@]}" -n 4
    device allreduce -a all --np 3 --ranks-as threads "${short[@]}" -n 3 --graph
    over "$settings" 0 allreduce -a ring,recursive-doubling --np 3 -m cuda --ranks-as threads "${short[@]}" -v --profile
    check_says '^# executor: device \(sm\)$' "$out"
    check_json "$scratch/json" 'len(d["results"]) == 4' 'all(abs(sum(r[k] for k in ("copying", "reducing", "waiting_peer",
        "waiting_credit", "bookkeeping")) - 1) < 0.01 and r["bookkeeping"] < 1 for l in d["results"] for r in l["profile"])' \
        'any(r["reducing"] > 0 for l in d["results"] for r in l["profile"])'
    local rank
    for rank in 0 1 2; do
        device allreduce -a ring --np 3 --ranks-as threads -b 16K -e 16K -n 0 -w 0 -c 40 --channels 2 \
            --inject delay:rank=$rank:us=200
    done
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
    ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=report_thread_leaks=0 over mode=async,hang=10 5 allreduce -a ring -m cuda --executor device \
        --np 3 --ranks-as threads -b 64K -e 64K -n 9 -w 0 -c 0 --timeout 2
    check_says "the GPU of rank [012] .* has not ended"
}

refusals() {
    local gpu='GPU [012] \(0000:(1a|22|2a):00\.0\)'
    host peer=no "ranks 0 and 1 do not map each other's memory: their GPUs have no peer access" --np 2
    host ipc=no "ranks 0 and 1 do not map each other's memory: its process cannot share memory of its GPU \(CUDA IPC\)" --np 2 \
        --ranks-as processes
    host mode=sync 'the transports of -x map no memory of other ranks, as cuda does' --np 2 -x tcp
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
    check_json "$scratch/json" 'all(r["executor"] == "host" and r["way"] == "ce" and r["why_host"] is None for r in d["results"])'
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
    TSAN_OPTIONS=report_thread_leaks=0 \
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
    check_says '^#       size' "$out"
    refused mode=async,sticky=11 1 "rank [01] .*$gpu says: .*cudaErrorIllegalAddress" --np 2 --ranks-as threads
    refused mode=async,sticky=10 1 "rank [01] .*$gpu says: .*cudaErrorIllegalAddress" --np 2 --ranks-as processes
    over mode=sync 2 allreduce --np 2 --executor device
    check_says '--executor device runs schedules inside GPUs, but the buffers are in host memory: give -m cuda too'
    over mode=sync 2 allreduce -m cuda --np 2 --executor device -x tcp
    check_says '--executor device cannot be had: the transports of -x map no memory of other ranks, as cuda does: add it'
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

# counted SETTINGS NUMBERS OPTION...: the channels of 32K, 128K, 512K and 2M
counted() {
    over "$1" 0 allreduce -a ring -m cuda -b 32K -e 2M -f 4 -n 1 -w 0 -c 1 "${@:3}"
    check_json "$scratch/json" "[r['channels'] for r in d['results']] == [$2]" 'all(r["wrong"] == 0 for r in d["results"])'
}

# Without a number of --channels: by size, and no more than the GPUs hold; all algorithms.
channels_by_default() {
    counted mode=sync,devices=2,sms=70 '1, 4, 16, 64' --np 2 --executor device
    check_says '; channels auto; float sum' "$out"
    check_json "$scratch/json" 'd["options"]["channels"] == "auto"'
    counted mode=sync,devices=1 '1, 4, 16, 16' --np 2 --ranks-as threads --executor device --profile
    check_json "$scratch/json" 'all(abs(sum(r[k] for k in ("copying", "reducing", "waiting_peer",
        "waiting_credit", "bookkeeping")) - 1) < 0.01 for l in d["results"] for r in l["profile"])'
    counted mode=async,devices=1,sms=5,per_sm=3 '1, 4, 4, 4' --np 2 --ranks-as threads --executor device --graph
    counted mode=async,devices=2,sms=3,per_sm=1 '1, 1, 1, 1' --np 3 --ranks-as threads --executor device
    # Fewer where the wires of 64 would be too large; a number that is given stays.
    counted mode=sync,devices=2,sms=70 '1, 4, 4, 4' --np 2 --executor device --slots 4 --slot-size 4M
    counted mode=sync,devices=2,sms=70 '3, 3, 3, 3' --np 2 --executor device --channels 3
    check_says '; channels 3; float sum' "$out"
    counted mode=sync,devices=2,sms=70 '1, 1, 1, 1' --np 2 --executor device --channels 1
    # The host has one, also where the device was to run the line.
    counted mode=sync,devices=2 '1, 1, 1, 1' --np 2 --executor host
    check_silent '; channels' "$out"
    counted mode=sync,devices=2,peer=no '1, 1, 1, 1' --np 2 -v
    check_says '^# executor: host .*not the device: ranks [01] and [01] do not map' "$out"
    over mode=sync,devices=2,peer=no,fail=cudaHostRegister:1 1 allreduce -a ring -m cuda --np 2 --ranks-as processes -b 2M -e 2M
    check_says "cannot pin 8388608 bytes of this host's memory, through which messages are staged" # rings of 4 MiB for one lane
    # A number larger than those before it is tried before it is timed.
    over mode=sync,hang=11 0 allreduce -a ring -m cuda --np 3 --ranks-as threads -b 4K -e 64K -f 16 -n 1 -w 0 -c 0 --timeout 5
    check_json "$scratch/json" '[(r["executor"], r["channels"]) for r in d["results"]] == [("device", 1), ("host", 1)]' \
        '"had not begun after 1 s" in d["results"][1]["why_host"]'
    local short=(-b 256K -e 256K -n 1 -w 0 -c 1)
    settings=mode=async,devices=3
    every_algorithm 3 --ranks-as processes
    settings=mode=async,devices=1,sms=20
    every_algorithm 5 --ranks-as threads -d double
}

# What nvcc makes of the kernel: how words are ordered, and what its registers do not hold.
kernel() {
    local toolkit spilled
    if ! toolkit=$("$repository/scripts/find-cuda" 2>/dev/null); then
        echo "not tested: what nvcc makes of the kernel (no toolkit: scripts/setup --cuda)"
        return
    fi
    run "${toolkit%% *}" -std=c++17 -O3 -fmad=false "-I$repository/src" -arch=sm_80 -Xptxas -v --keep --keep-dir "$scratch" \
        -cubin -o "$scratch/kernel.cubin" "$repository/src/execute/cuda/step_kernel.cu"
    check_status 0 "nvcc"
    for words in st.release.sys.u64 ld.acquire.sys.u64 st.relaxed.sys.v2.u64 ld.relaxed.sys.v2.u64; do
        check_says "${words//./\\.}" "$scratch/step_kernel.ptx"
    done
    spilled=$(cat "$out" "$err" | grep -A1 'Function properties for .*run_plan' | grep -o '[0-9]* bytes spill stores' | cut -d' ' -f1)
    check "the kernel spills ${spilled:-?} bytes, of 64" [ "${spilled:-999}" -le 64 ]
}

kernel
settings=mode=async
every_algorithm 3 --ranks-as threads
settings=mode=sync
every_algorithm 4 --ranks-as threads --copy zcopy --channels 2
settings=mode=async,devices=5
every_algorithm 5 --ranks-as processes --copy bcopy
settings=mode=async,devices=2
every_algorithm 3 --ranks-as threads --protocol ll --channels 3
settings=mode=async,devices=1,threads=3
odd_jobs
faults
lost_ranks
refusals
channels_by_default
settings=mode=sync,threads=1
types_and_operators
[ -n "${TEST_PLAIN:-}" ] && finish

short=(-b 12K -e 12K -n 1 -w 0 -c 1)
for sanitizer in address,undefined thread; do
    build_sanitized "$sanitizer" over-cuda
    binary=$repository/build-${sanitizer/,/-}/tests/cuda/cctest
    settings=mode=async,devices=2
    every_algorithm 3 --ranks-as threads --channels 2
    device allreduce -a all --np 3 --ranks-as threads "${short[@]}" --protocol ll -c 3
    device alltoall -a all --np 3 --ranks-as threads "${short[@]}" --copy zcopy -c 3
    faults
    lost_ranks
done
finish

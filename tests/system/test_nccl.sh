#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: plain address,undefined thread
# `-a nccl` over the NCCL for tests of tests/cuda/nccl (standin.h), which the program loads, and the runtime for tests of
# tests/cuda: all collectives, types and operators, beside cctest's own algorithms; wrong data, failures and hangs; what
# it refuses. It ends the process if NCCL or CUDA is used wrongly. Ranks as threads run under sanitizers, too.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
binary=$build/tests/cuda/cctest
[ -x "$binary" ] || skip "there is no C++ compiler for kernels"
RUN_LIMIT=60
libraries=$build/tests/cuda/nccl

# over STATUS SETTINGS COMMAND...: runs over both stand-ins; SETTINGS are those of NCCL's. No rule is broken.
runtime=mode=async,devices=4
over() {
    CUDA_STANDIN=strict=yes,threads=1,$runtime NCCL_STANDIN=$2 LD_LIBRARY_PATH=$libraries run "$binary" "${@:3}"
    check_status "$1" "over NCCL_STANDIN=$2 ${*:3}"
    check_silent 'stand-in: violation|Sanitizer|runtime error'
}
# nccl COLLECTIVE OPTION...: checked, and right
nccl() { over 0 "" "$1" -a nccl -m cuda --np "${ranks:-3}" -n 1 -w 0 -c 2 -b 4K -e 4K --json "$scratch/json" "${@:2}"; }

collectives=(allreduce allgather reduce_scatter broadcast reduce alltoall alltoallv allgatherv gather gatherv scatter
    scatterv sendrecv)
rooted=(broadcast reduce gather gatherv scatter scatterv)

every_collective() {
    local collective roots
    for collective in "${collectives[@]}"; do
        roots=()
        [[ " ${rooted[*]} " == *" $collective "* ]] && roots=(--root all -c 3)
        nccl "$collective" -b 0 -e 64K -f 16 "${roots[@]}"
        check_json "$scratch/json" 'len(d["results"]) >= 4' 'd["vendor"] == {"name": "NCCL", "version": "2.28.3"}' \
            'all(r["algorithm"] == "nccl" and r["vendor"] and r["checked"] >= 2 and r["wrong"] == 0 for r in d["results"])'
        case $collective in
        alltoall* | sendrecv) ;;
        *) nccl "$collective" --in-place "${roots[@]}" ;;
        esac
        ranks=1 nccl "$collective"
    done
    nccl gather --root 2
    runtime=mode=async,devices=5 ranks=5 nccl alltoallv --counts spread --start back-to-back -n 3
    runtime=mode=async,devices=5 ranks=5 nccl reduce --root 4
}

# Each type, and each operator with a type of each kind: NCCL's numbers for them are two lists of their own.
types_and_operators() {
    local type operator
    for type in int8 uint8 int32 uint32 int64 uint64 float double float16 bfloat16 float8_e4m3 float8_e5m2; do
        nccl allreduce -d $type
        ranks=4 nccl allreduce -d $type --op avg
    done
    for operator in prod min max; do
        for type in uint8 int64 double float16 float8_e4m3; do
            nccl allreduce -d $type --op $operator
        done
    done
    nccl reduce_scatter -d int32 --op avg
    nccl reduce -d bfloat16 --op max --root 1
}

# No timed run is one that connects the ranks, though nothing warms them up; also where the next size connects anew.
connecting() {
    local collective
    for collective in broadcast gather allreduce; do
        over 0 connect=200 "$collective" -a nccl -m cuda --np 2 --root all -n 2 -w 0 -c 0 -b 4K -e 16K -f 4 --json "$scratch/json"
        check_json "$scratch/json" '[r["time_us"]["max"] < 150e3 for r in d["results"]] == [True] * 2'
    done
    over 0 connect=200 reduce -a nccl -m cuda --np 3 --root all -n 2 -w 1 -c 0 -b 4K -e 4K --start back-to-back --json "$scratch/json"
    check_json "$scratch/json" 'd["results"][0]["time_us"]["max"] < 150e3'
}

# Side by side, in one table, and in JSON.
beside_others() {
    over 0 "" allreduce -a nccl,ring,tree -m cuda --np 4 -x tcp -b 4K -e 16K -f 4 -n 3 -w 1 --json "$scratch/json" -v
    check_says '^# nccl: the library NCCL 2\.28\.3, not cctest.s own' "$out"
    check_says '^# bytes received by way: ' "$out"
    check "a line of each algorithm and size" test "$(grep -cE '^ +(4096|16384) +[0-9]+ +(nccl|ring|tree) ' "$out")" = 6
    check_json "$scratch/json" '[r["vendor"] for r in d["results"]] == [True, False, False] * 2' \
        '[r["transport"] for r in d["results"]] == ["nccl", "tcp", "tcp"] * 2' \
        'all(r["wrong"] == 0 and r["checked"] > 0 and r["busbw_GBps"] > 0 for r in d["results"])'
    over 0 "" allreduce -a all -m cuda --np 2 -x tcp -b 4K -e 4K -n 1 -w 0 -c 1 --json "$scratch/json"
    check_json "$scratch/json" 'not any(r["vendor"] for r in d["results"])' 'd["vendor"] is None'
    # Ranks of one process; calls that do not block.
    over 0 "" allreduce -a nccl,ring -m cuda --np 4 --ranks-as threads -x tcp -b 4K -e 64K -f 16 -n 3
    over 0 blocking=0 allreduce -a nccl -m cuda --np 3 -b 4K -e 64K -f 16 -n 3
    over 0 blocking=0 alltoall -a nccl -m cuda --np 3 -b 4K -e 64K -f 16 -n 3
    runtime=mode=sync,devices=4 over 0 "" alltoall -a nccl -m cuda --np 3 -b 4K -e 64K -f 16 -n 3 -v
    check_silent 'bytes received by way' "$out"
}

wrong_data() {
    local collective
    for collective in allreduce alltoall reduce_scatter; do
        over 3 wrong=2,rank=1 "$collective" -a nccl -m cuda --np 3 -b 4K -e 4K -n 1 -w 0 -c 4 --json "$scratch/json"
        check_says "wrong data at rank 1 \(.*\): $collective nccl, 4[0-9]* bytes: "
        check_silent 'in step|link between'
        check_json "$scratch/json" 'd["status"] == "wrong-data"' 'd["results"][0]["wrong"] == 1'
    done
}

# fault NAME SETTINGS COLLECTIVE OPTION...: in the background, since most of these jobs wait for a deadline
fault() {
    CUDA_STANDIN=strict=yes,threads=1,$runtime NCCL_STANDIN=$2 LD_LIBRARY_PATH=$libraries start "$1" "$binary" "$3" \
        -a nccl -m cuda --np 3 -b 4K -e 4K -n 100 -w 1 -c 1 "${@:4}"
}
# faulted NAME STATUS REGEX
faulted() {
    ended "$@"
    check_silent 'stand-in: violation|Sanitizer|runtime error'
}

failures() {
    fault fails fail=5,rank=1 allreduce
    fault lost lost=5,rank=2 allreduce
    faulted fails 1 'rank 1.*NCCL cannot run allreduce: unhandled system error: the stand-in was told to fail'
    faulted lost 1 'rank 2.*NCCL cannot run allreduce: remote process exited'
    fault killed "" allreduce -n 100000 --timeout 5 --inject kill:rank=1:iteration=50
    fault stopped "" allreduce -n 100000 --timeout 2 --inject stop:rank=1:iteration=50
    fault silent "" allreduce --timeout 2 --ranks-as threads --inject silent:rank=1:iteration=50
    fault hangs hang=5,rank=1 allreduce --timeout 2
    fault threads hang=5,rank=1 allreduce --timeout 2 --ranks-as threads
    faulted killed 5 "rank 1 .*is gone"
    faulted stopped 5 "rank 1 .*sent no heartbeat"
    faulted silent 5 'no rank has progressed for .* s: rank 1 .* has not begun its iteration: .*allreduce nccl, 4K'
    faulted hangs 5 'no rank has progressed for .* s: ranks 0\.\.2 are in the vendor.s collective, .*allreduce nccl, 4K'
    faulted threads 5 'no rank has progressed for .* s: ranks 0\.\.2 are in the vendor.s collective'
    faulted stuck 5 'NCCL did not make its communicator before the deadline'
    out=$scratch/out err=$scratch/err
}

# refused STATUS REGEX SETTINGS COLLECTIVE OPTION...
refused() {
    over "$1" "$3" "${@:4}"
    check_says "$2"
    check "it runs nothing" test -z "$(grep -E '^ +[0-9]' "$out")"
}

refusals() {
    local cuda=(-m cuda --np 3) option
    refused 2 'needs its buffers in cuda memory: give -m cuda' "" allreduce -a nccl --np 2
    cctest allreduce -a nccl --np 2
    check_status 2 "host memory, in a binary that may be without CUDA"
    refused 2 'NCCL has no type int16: choose int8' "" allreduce -a nccl "${cuda[@]}" -d int16
    refused 2 'NCCL has no type' "" allreduce -a nccl "${cuda[@]}" -d float_int32 --op maxloc
    refused 2 'NCCL has no operator bxor: choose sum' "" allreduce -a nccl "${cuda[@]}" -d int32 --op bxor
    refused 2 'multiplies each float by 1/3, which it rounds' "" allreduce -a nccl "${cuda[@]}" --op avg
    refused 2 'leave --in-place out of alltoall' "" alltoall -a nccl "${cuda[@]}" --in-place
    refused 2 'leave --in-place out of sendrecv' "" sendrecv -a nccl "${cuda[@]}" --in-place
    refused 2 "'nccl' is not an algorithm for reduce_scatterv" "" reduce_scatterv -a nccl "${cuda[@]}"
    for option in '--channels 2' '--chunk 4K' '--copy zcopy' '--slots 4' '--slot-size 4K' --profile '--split 2' \
        '--inject corrupt:rank=1:iteration=0' '--inject drop:rank=1:iteration=0'; do
        # shellcheck disable=SC2086 # an option and its value
        refused 2 "^cctest: ${option%% *}.* acts on cctest's own algorithms, and NCCL" "" allreduce -a ring,nccl "${cuda[@]}" $option
    done
    for option in '--executor device' --graph '--protocol ll'; do # beside another algorithm they are about that
        # shellcheck disable=SC2086 # a word each
        refused 2 "^cctest: ${option%% *}.* acts on cctest's own algorithms, and NCCL" "" allreduce -a nccl "${cuda[@]}" $option
    done
    refused 2 "NCCL runs steps of its own" "" plan allreduce -a nccl
    refused 2 "'nccl' is not an algorithm for intra" "" allreduce -a hier:intra=nccl "${cuda[@]}"
    refused 77 'libnccl\.so\.2 is NCCL 2\.13\.4: install 2\.14 or newer' version=21304 allreduce -a nccl "${cuda[@]}"
    refused 77 'libnccl\.so\.2 is NCCL 2\.8\.3: install' version=2803 allreduce -a nccl "${cuda[@]}"
    refused 77 'NCCL 2\.23\.4 has no type float8_e4m3: install 2\.24' version=22304 allreduce -a nccl "${cuda[@]}" -d float8_e4m3
    : >"$scratch/libnccl.so.2" # in place of whatever this machine has
    libraries=$scratch refused 77 'NCCL cannot be used here: its library cannot be loaded .*install the package libnccl2' "" \
        allreduce -a nccl "${cuda[@]}"
}

# Several ranks on a GPU.
shared_gpus() {
    local runtime=mode=async,devices=2 job=(allreduce -a nccl -m cuda --np 3 -b 4K -e 4K -n 1)
    refused 2 'ranks 0 and 2 share GPU 0000:1a:00\.0 of .*, which NCCL 2\.28\.3 refuses: .*2\.30 or newer' "" "${job[@]}"
    refused 2 'ranks 0 and 2 share GPU .*set NCCL_MULTI_RANK_GPU_ENABLE=1' version=23004 "${job[@]}"
    NCCL_MULTI_RANK_GPU_ENABLE=1 over 0 version=23004 "${job[@]}"
}

# meet STATUS REGEX VARIABLE=VALUE VARIABLE=VALUE: two ranks that each load an NCCL of their own
meet() {
    local rank variable
    free_port
    for rank in 0 1; do
        variable=${*:rank+3:1}
        CCTEST_SECRET=$long_secret CUDA_STANDIN=strict=yes,threads=1,$runtime LD_LIBRARY_PATH=$libraries \
            start "own$rank" env "$variable" "$binary" allreduce -a nccl -m cuda -b 4K -e 4K -n 3 \
            --rendezvous "127.0.0.1:$port" --rank $rank --world 2
    done
    ended own0 "$1" "$2"
    ended own1 "$1"
    out=$scratch/out err=$scratch/err
}

several_libraries() {
    meet 0 "" NCCL_STANDIN=version={22803,22803}
    meet 1 'rank 0 \(.*\) has NCCL 2\.28\.3, rank 1 \(.*\) has 2\.29\.4: give all hosts one version' \
        NCCL_STANDIN=version={22803,22904}
}

# Two parts of a GPU have one PCI address and two UUIDs.
parts_of_a_gpu() {
    NCCL_STANDIN=version=22904 meet 2 'ranks 0 and 1 share GPU 0000:.* NCCL 2\.29\.4 refuses' CUDA_VISIBLE_DEVICES=MIG-{1,2}
    NCCL_STANDIN=version=23004 meet 0 "" CUDA_VISIBLE_DEVICES=MIG-{1,2}
    NCCL_STANDIN=version=23004 meet 2 'ranks 0 and 1 share GPU .*set NCCL_MULTI' CUDA_VISIBLE_DEVICES=MIG-{1,1}
}

under_sanitizers() {
    local collective
    fault hangs hang=5,rank=1 allreduce --timeout 2 --ranks-as threads
    # An abandoned call returns while the process exits, when the test case is gone. It leaks by intent.
    ASAN_OPTIONS=detect_leaks=0 fault late late=1,rank=1 alltoallv --counts spread --timeout 1
    for collective in allreduce alltoallv gather; do
        over 0 "" "$collective" -a nccl -m cuda --np 4 --ranks-as threads -b 4K -e 64K -f 16 -n 5 -c 2 --json "$scratch/json"
    done
    faulted hangs 5 'no rank has progressed for .* s: ranks 0\.\.2 are in the vendor.s collective'
    faulted late 5 'NCCL did not run alltoallv before the deadline'
    finish
}

[ "$build" = "$repository/build" ] || under_sanitizers
fault stuck stuck=1,rank=1 allreduce --timeout 1 # collected by failures()
every_collective
types_and_operators
connecting
beside_others
wrong_data
failures
refusals
shared_gpus
several_libraries
parts_of_a_gpu
finish

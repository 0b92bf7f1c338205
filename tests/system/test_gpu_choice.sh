#!/usr/bin/env bash
# tier: deep; load: wait
# Which GPU each rank takes, over the runtime for tests (tests/cuda/runtime.h): in turn, by --device, CUDA_VISIBLE_DEVICES
# and a launcher that shows each rank another one; what the table and JSON say of it; ranks as threads where they outnumber
# the GPUs; memory that does not suffice; GPUs that fail.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
binary=$repository/build/tests/cuda/cctest
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
[ -x "$binary" ] || skip "there is no C++ compiler for kernels"
export CCTEST_SECRET=$long_secret
job=(allreduce -a ring -m cuda -x tcp -b 4K -e 4K -n 1 -w 0 -c 1 --timeout 10)
gpu0='GPU 0 \(0000:1a:00\.0\)' gpu1='GPU 1 \(0000:22:00\.0\)' gpu2='GPU 2 \(0000:2a:00\.0\)'

# over SETTINGS STATUS [NAME=VALUE...] OPTION...: a job over the runtime for tests; JSON goes to $scratch/json.
over() {
    local variables=()
    for word in "${@:3}"; do [[ $word != [A-Z]*=* ]] || variables+=("$word"); done
    rm -f "$scratch/json"
    run env "CUDA_STANDIN=threads=1,$1" "${variables[@]}" "$binary" "${job[@]}" --json "$scratch/json" \
        "${@:3+${#variables[@]}}"
    check_status "$2" "over CUDA_STANDIN=$1 ${*:3}"
    check_silent 'cuda stand-in: violation'
}

# gpus LIST [AS]: the GPUs of the ranks by the last byte of their PCI bus, and what the ranks are.
gpus() {
    check_json "$scratch/json" '[r["device"]["bus"][5:7] for r in d["ranks"]] == '"'$1'.split()" \
        'd["options"]["ranks-as"] == '"'${2:-processes}'"
    if [ "${2:-processes}" = threads ]; then
        check_says '\(local, as threads' "$out"
    else
        check_silent 'as threads' "$out"
    fi
}

# ---- in turn ----

over devices=3 0 --np 3
gpus "1a 22 2a"
check_says "^# rank 0 uses $gpu0 of host [^ ]+: Stand-in$" "$out"
check_says "^# rank 1 uses $gpu1 of host " "$out"
check_says "^# rank 2 uses $gpu2 of host " "$out"
check_silent "^# ranks .* share" "$out"
check_json "$scratch/json" '[r["device"]["number"] for r in d["ranks"]] == [0, 1, 2]' \
    'len({r["device"]["uuid"] for r in d["ranks"]}) == 3' 'all(r["device"]["name"] == "Stand-in" for r in d["ranks"])'
over devices=3 0 --np 2
gpus "1a 22"
over devices=2 0 --np 5
gpus "1a 22 1a 22 1a" threads
check_says "^# ranks 0, 2, 4 share $gpu0 of host " "$out"
check_says "^# ranks 1, 3 share $gpu1 of host " "$out"
over devices=2 0 --np 5 --ranks-as processes
gpus "1a 22 1a 22 1a"
over devices=1 0 --np 1
gpus "1a"
over devices=2 0 --np 2 --ranks-as threads
gpus "1a 22" threads
over devices=16 0 --np 12
check "8 GPUs are listed" test "$(grep -c '^# rank [0-9]* uses GPU' "$out")" = 8
check_says "^# 4 ranks use 4 more GPUs \(-v lists them\)$" "$out"
over devices=16 0 --np 12 -v
check "all GPUs are listed" test "$(grep -c '^# rank [0-9]* uses GPU' "$out")" = 12
check_silent "more GPUs" "$out"
over devices=10 0 --np 11 --device 1,2,3,4,5,6,7,0,8,8,9
check_says "^# 3 ranks use 2 more GPUs \(-v lists them\); ranks 8, 9 share 1 of these$" "$out"
run "$binary" allreduce -b 64 -e 64 -n 1 --np 2 --json "$scratch/json"
check_json "$scratch/json" 'all(r["device"] is None for r in d["ranks"])' 'd["options"]["ranks-as"] == "processes"'
check_silent GPU "$out"

# ---- threads or processes ----

over devices=1 0 --np 2 -v
gpus "1a 1a" threads
check_says "2 ranks share 1 GPU: they are threads of one process"
over devices=1 5 --np 2 --inject kill:rank=1:iteration=0 -v
gpus "1a 1a"
check_says "2 ranks share 1 GPU: they are processes, because --inject"
over devices=1 2 --np 2 --inject kill:rank=1:iteration=0 --ranks-as threads
check_says "use processes"
over devices=1 0 --np 2 --inject delay:rank=1:us=1
gpus "1a 1a" threads

# ---- --device ----

over devices=2 0 --np 2 --device 1,0
gpus "22 1a"
over devices=3 0 --np 4 --device 2,0
gpus "2a 1a 2a 1a" threads
over devices=2 0 --np 2 --device 1
gpus "22 22" threads
over devices=2 0 --np 2 --device 22:00.0,0000:1A:00.0
gpus "22 1a"
over devices=2 0 CCTEST_DEVICE=1 --np 1
gpus "22"
over devices=2 2 --np 2 --device 7
check_says "rank [01] .*--device asks for GPU 7, which is not here: give one of $gpu0, $gpu1; likewise rank [01]$"
over devices=2 2 --np 2 --device 0,3b:00.0
check_says "rank [01] .*--device asks for GPU 0000:3b:00.0, which is not here: give one of $gpu0, $gpu1; likewise rank [01]$"
over devices=2 2 --np 1 --device 0,99 # an entry that no rank takes
check_says "rank 0 .*--device asks for GPU 99, which is not here: give one of $gpu0, $gpu1$"
for list in "" "0," -1 a 1x 3b:00 1a:20.0 1a:00.8 100000:1a:00.0 GPU-1a; do
    run "$binary" "${job[@]}" --device "$list"
    check_status 2 "--device '$list'"
    check_says "--device '$list' is no list of GPUs: give numbers or PCI addresses"
done
run "$binary" allreduce --device 0 --np 2
check_status 2 "--device with host memory"
check_says "--device chooses GPUs, but the buffers are in host memory: give -m cuda too"
run env CCTEST_DEVICE=1 "$binary" allreduce -b 64 -e 64 -n 1 --np 2
check_status 0 "CCTEST_DEVICE with host memory"
if [ ! -e /dev/nvidiactl ]; then
    cctest "${job[@]}" --device 0 --np 2
    check_status 77 "without GPUs"
    check_says "cuda memory cannot be used here: "
fi

# ---- CUDA_VISIBLE_DEVICES ----

over devices=3 0 CUDA_VISIBLE_DEVICES=2,0 --np 2
gpus "2a 1a"
over devices=3 0 CUDA_VISIBLE_DEVICES=2,0 --np 3
gpus "2a 1a 2a" threads
over devices=3 0 CUDA_VISIBLE_DEVICES=2,0 --np 1 --device 1
gpus "1a"
over devices=3 2 CUDA_VISIBLE_DEVICES=2,0 --np 1 --device 2
check_says "asks for GPU 2, which is not here: .*; CUDA_VISIBLE_DEVICES is 2,0"
over devices=3 77 CUDA_VISIBLE_DEVICES= --np 2
check_says "no GPU can be used: there is none, or CUDA_VISIBLE_DEVICES hides it"

# meet NAME=VALUE:STATUS...: ranks of one host that meet, each with a variable of its own.
meet() {
    local rank=0
    free_port
    for one in "$@"; do
        start "$rank" env CUDA_STANDIN=threads=1,devices=3,memory=67108864 "${one%:*}" "$binary" "${job[@]}" "${more[@]}" \
            --rendezvous "127.0.0.1:$port" --rank "$rank" --world $# --json "$scratch/json"
        rank=$((rank + 1))
    done
    rank=0
    for one in "$@"; do
        ended "$rank" "${one##*:}"
        rank=$((rank + 1))
    done
    out=$scratch/0.out err=$scratch/0.err
}
more=()
# Each sees another GPU as number 0: they share nothing.
meet CUDA_VISIBLE_DEVICES={0:0,1:0,2:0}
gpus "1a 22 2a"
check_json "$scratch/json" '[r["device"]["number"] for r in d["ranks"]] == [0, 0, 0]'
check_silent "^# ranks .* share" "$out"
# Rank 0 sees GPU 22 as number 0, rank 1 sees it as number 1: they share it.
meet CUDA_VISIBLE_DEVICES=1:0 CUDA_VISIBLE_DEVICES=0,1:0
gpus "22 22"
check_says "^# ranks 0, 1 share GPU 0 \(0000:22:00\.0\)" "$out"
# Two parts of a GPU are not one.
meet CUDA_VISIBLE_DEVICES=MIG-1:0 CUDA_VISIBLE_DEVICES=MIG-2:0 CUDA_VISIBLE_DEVICES=MIG-2:0
gpus "1a 1a 1a"
check_says "^# rank 0 uses $gpu0 of host [^ ]+: Stand-in MIG$" "$out"
check_says "^# ranks 1, 2 share $gpu0 of host [^ ]+: Stand-in MIG$" "$out"
# No part maps the memory of another one.
more=(-x auto)
meet CUDA_VISIBLE_DEVICES=MIG-1:0 CUDA_VISIBLE_DEVICES=MIG-2:0 CUDA_VISIBLE_DEVICES=MIG-2:0
check_says "^# links: 4 by [^,]+, .*staged$" "$out"
check_says "2 pairs of ranks run over .* because cuda does not connect them: memory of its GPU cannot be mapped \(CUDA IPC\): .*MIG parts cannot map each other's" "$out"
more=(-x cuda)
meet CUDA_VISIBLE_DEVICES=MIG-1:77 CUDA_VISIBLE_DEVICES=MIG-2:77
check_says "no transport that is allowed \(-x\) connects rank [01] on [^ ]+ and rank [01] on [^;]+; cuda: memory of its GPU cannot be mapped"
more=()
out=$scratch/out err=$scratch/err
# --device may differ, the kind of memory may not.
meet CCTEST_DEVICE=1:0 CCTEST_DEVICE=0:0
gpus "22 1a"
free_port
for rank in 0 1; do
    [ $rank = 0 ] && kind=cuda || kind=host
    start $rank env CUDA_STANDIN=threads=1 "$binary" allreduce -m "$kind" --rendezvous "127.0.0.1:$port" --rank $rank --world 2
done
ended 0 2
ended 1 2 "'-m host.*' there, '-m cuda.*' at rank 0"
out=$scratch/out err=$scratch/err

# ---- memory ----

# A rank's buffers take 8 MiB and some bytes, its engine 1 MiB and some bytes, the engine of the cuda transport nothing:
# 28 MiB hold three ranks, and would not hold a second engine of each that compares.
large=(-b 4M -e 4M)
for as in threads processes; do
    over devices=2,memory=30000000 0 --np 5 "${large[@]}" --ranks-as $as
    over devices=2,memory=30000000 0 --np 5 "${large[@]}" --ranks-as $as -x cuda
    over devices=2,memory=28000000 1 --np 5 "${large[@]}" --ranks-as $as
    check_says "rank [024] .*cannot allocate 28 MiB of cuda memory for 3 ranks on $gpu0: 26 MiB are available; .* or run fewer ranks on it"
    check_silent "$gpu1"
    over devices=2,memory=28000000 1 --np 3 --device 1 "${large[@]}" --ranks-as $as
    check_says "for 3 ranks on $gpu1: 26 MiB are available"
done
over devices=2,memory=8500000 1 --np 2 "${large[@]}"
check_says "cannot allocate 10 MiB of cuda memory for 1 rank on $gpu0: 8 MiB are available; ask for smaller sizes \(-e\)$"
more=(-b 16M -e 16M)
meet CUDA_VISIBLE_DEVICES=1:1 CUDA_VISIBLE_DEVICES=0,1:1 CUDA_VISIBLE_DEVICES=1:1
check_says "rank [012] .*cannot allocate 100 MiB of cuda memory for 3 ranks on GPU [01] \(0000:22:00.0\): 64 MiB are"
out=$scratch/out err=$scratch/err

# ---- two hosts, of which each counts its GPUs by itself ----

if hosts_up 2; then
    for rank in 0 1 2 3; do
        host_as $((1 + rank % 2))
        start $rank "${as[@]}" env CUDA_STANDIN=threads=1,devices=1 "$binary" "${job[@]}" \
            --rendezvous 10.77.0.1:7777 --rank $rank --world 4 --json "$scratch/json"
    done
    for rank in 0 1 2 3; do ended $rank 0; done
    check_says "^# ranks 0, 2 share $gpu0 of host h1: " "$scratch/0.out"
    check_says "^# ranks 1, 3 share $gpu0 of host h2: " "$scratch/0.out"
    check_json "$scratch/json" '[r["device"]["number"] for r in d["ranks"]] == [0, 0, 0, 0]'
    hosts_down
else
    echo "without two hosts: $hosts_missing"
fi
finish

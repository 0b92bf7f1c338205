#!/usr/bin/env bash
# tier: deep; load: cpu1
# GPUs of several hosts in one NVLink domain, over the runtimes for tests (tests/cuda/runtime.h, nvml_standin.h): kernels reach
# each other's memory by fabric handles, on one host and between hosts; what each lack of them says; lost ranks.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
CCTEST=$repository/build/tests/cuda/cctest
[ -x "$CCTEST" ] || skip "there is no C++ compiler for kernels"
hosts_up 2 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
RUN_LIMIT=60
short=(-m cuda -b 4K -e 64K -f 16 -n 1 -w 0 -c 1)

# over SETTINGS "HOSTS" OPTION...: each rank is a process with a GPU of its own
over() {
    export CUDA_STANDIN=strict=yes,connections=32,threads=2,$1
    meet "$2" "${@:3}"
    check_silent 'cuda stand-in: violation'
}

device() { # device SETTINGS "HOSTS" OPTION...
    over "$1" "$2" "${@:3}" --executor device
    check_json "$hosts_json" 'd["results"]' 'all(r["executor"] == "device" and r["transport"] == "cuda" and r["wrong"] == 0
        for r in d["results"])'
}

host() { # host SETTINGS "HOSTS" REGEX OPTION...: the table says why not the device
    over "$1" "$2" allreduce -a ring "${short[@]}" "${@:4}"
    check_json "$hosts_json" 'all(r["executor"] == "host" and r["wrong"] == 0 for r in d["results"])'
    check_says "^# executor: host \(.*\); not the device: $3" "$scratch/0.out"
}

for collective in allreduce allgatherv reduce_scatter alltoall alltoallv broadcast reduce gather scatterv sendrecv barrier; do
    device mode=async,fabric=yes '1 1 2 2' "$collective" -a "$(basis "$collective")" "${short[@]}"
done
device mode=sync,fabric=yes '2 1 2' alltoall -a pairwise "${short[@]}" --channels 3
device mode=async,fabric=yes '1 2' allreduce "${short[@]}" --protocol ll --graph -n 20
device mode=async,fabric=yes,ipc=no '1 1 2' allreduce "${short[@]}" --copy zcopy
# Threads of one process reach memory of its other GPUs, and a CUDA without fabric handles is as before.
for fabric in yes no; do
    CUDA_STANDIN=strict=yes,connections=32,mode=async,fabric=$fabric run "$CCTEST" allreduce -a "$(basis allreduce)" "${short[@]}" --np 2 --shape 2x1 \
        --ranks-as threads --executor device
    check_status 0 "threads, fabric=$fabric"
    check_silent 'cuda stand-in: violation'
done
CUDA_STANDIN=strict=yes,connections=32,fabric=yes run "$CCTEST" allreduce "${short[@]}" --np 2 --ranks-as processes --executor host -v
check_status 0 "copy engines over fabric handles"
check_says 'links: .* by cuda, fabric handle' "$out"

# A call of the driver that fails: the memory is made, or mapped, in another way, and nothing is left.
for call in cuMemCreate:1 cuMemCreate:3 cuMemMap:4 cuMemSetAccess:4 cuMemExportToShareableHandle:4 cuMemImportFromShareableHandle:4; do
    over "mode=sync,fabric=yes,fail=$call" '1 1' allreduce -a ring "${short[@]}"
    check_json "$hosts_json" 'all(r["wrong"] == 0 for r in d["results"])'
done
host mode=sync,fabric=yes,fail=cuMemCreate:2 '1 2' "ranks 0 and 1 do not map each other's memory: its GPU has no room for memory with a fabric handle"

# What is missing.
host mode=sync,fabric=no '1 2' 'the ranks are on several hosts, and GPU 0 \(0000:1a:00.0\) of rank 0 is in no NVLink domain'
host mode=sync,fabric=channel '1 2' "ranks 0 and 1 do not map each other's memory: its GPU makes no fabric handle, since its process has no IMEX channel: make one"
host mode=sync,fabric=daemon '1 2' "ranks 0 and 1 do not map each other's memory: memory of its GPU cannot be mapped \(fabric handle\): .*nvidia-imex has to run"
NVML_STANDIN=alone=0+alone=1 host mode=sync,fabric=yes '1 2' 'the ranks are on several hosts, and GPU 0 .* is in no NVLink domain'
NVML_STANDIN=without=nvmlDeviceGetGpuFabricInfoV host mode=sync,fabric=yes '1 2' 'the ranks are on several hosts, and GPU 0 .* is in no'
# On each host the two GPUs are in different cliques.
NVML_STANDIN=clique=1:8 host mode=sync,fabric=yes '1 1 2 2' \
    'the ranks are on several hosts, and the GPUs of ranks 0 and 1 are in different NVLink domains or cliques \(a0a1.*-.*\.7 and .*\.8\)'

# A rank of another host that does not begin, or dies.
export CUDA_STANDIN=strict=yes,connections=32,threads=2,mode=async,fabric=yes
hosts_patience=3
launch '1 2 1' allreduce -a ring -m cuda -b 64K -e 64K -n 9 --executor device --channels 2 --inject silent:rank=1:iteration=4
for rank in 0 1 2; do ended $rank 5; done
check_says 'rank 1 \(host h2.* has not begun its iteration and keeps 2 others waiting' "$scratch/0.err"
launch '1 2 1' allreduce -a ring -m cuda -b 64K -e 64K -n 1000 --executor device --inject kill:rank=1:iteration=4
for rank in 0 2; do ended $rank 5; done
check_says 'rank 1 \(host h2.*is gone' "$scratch/0.err"
wait "${pids[1]}"
finish

#!/usr/bin/env bash
# tier: deep; load: cpu1
# Memory of GPUs that NICs write and read (GPUDirect RDMA): the program over CUDA's runtime for tests (tests/cuda/runtime.h)
# and the libibverbs for tests (tests/verbs/provider.h) at once, ranks as threads. All collectives by each way; the way, or
# what is missing for a better one, is said. With flush=1 what NICs write is not seen before it is flushed.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
binary=$repository/build/tests/cuda/cctest-verbs
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
[ -x "$binary" ] || skip "this cctest is built without verbs, or there is no C++ compiler for kernels"
[ "$(ulimit -S -l)" != unlimited ] || ulimit -S -l 4000000
# over NICS GPUS STATUS WORD...: a job with these settings of both. No rule of either is broken.
over() {
    VERBS_STRICT=$1 CUDA_STANDIN=threads=1,$2 run "$binary" "${@:4}" -m cuda --np 3 --ranks-as threads -n 1 -w 0 -c 1
    check_status "$3" "VERBS_STRICT=$1 CUDA_STANDIN=$2"
    check_silent 'violation'
}

# all NICS GPUS WAY TRANSPORT...: all collectives by each of these; NICs reach the memory by WAY.
all() {
    local transport collective
    for transport in "${@:4}"; do
        for collective in $(basis_collectives); do
            [ "$collective" != barrier ] || continue
            over "$1" "$2" 0 "$collective" -x "$transport" -b 4K -e 64K -f 16 -v
            if [ "$3" = staged ]; then
                check_silent 'NICs reach cuda memory'
            else
                check_says "NICs reach cuda memory: $3"
            fi
        done
    done
}

# way WAY NICS GPUS REGEX [TRANSPORT]: a job goes by WAY, and says why not by another.
way() {
    over "$2" "$3" 0 allgather -x "${5:-verbs}" -b 64K -e 64K -v
    [ "$1" = staged ] || check_says "NICs reach cuda memory: $1"
    [ "$1" != staged ] || check_silent 'NICs reach cuda memory'
    [ -z "$4" ] || check_says "$4"
}

# A dmabuf holds its region, wherever that begins and ends in a page.
for mode in sync async; do
    CUDA_STANDIN=mode=$mode run "$repository/build/tests/cuda/share"
    check_status 0 "share"
    check "dmabufs were seen" test "$(grep -c 'contents seen' "$out")" = 5
done

all order=1,flush=1,peermem=1 mode=sync dmabuf verbs:gdr=dmabuf
all order=0,flush=1,dmabuf=0,peermem=1 mode=async peermem verbs:gdr=peermem
all order=0,flush=1 mode=async staged verbs:gdr=staged
over order=0,flush=1,overlap=4 mode=async 0 allreduce -a "$(basis allreduce)" --shape 3x1 -x verbs -b 4K -e 256K -f 64 --channels 2
over iwarp=1,flush=1 mode=async 0 alltoall -a "$(basis alltoall)" --shape 3x1 -x verbs -b 64K -e 64K --chunk 8K

# Memory with fabric handles: NICs reach it by each way, if it was made for them, and TCP stages it.
all order=1,flush=1,peermem=1 mode=sync,fabric=yes dmabuf verbs:gdr=dmabuf
way peermem order=1,flush=1,dmabuf=0,peermem=1 mode=sync,fabric=yes ''
way staged order=1 mode=async,fabric=yes,dmabuf=no ''
over order=1 mode=async,fabric=yes 0 allreduce -a "$(basis allreduce)" --shape 3x1 -x tcp -b 4K -e 256K -f 64

# What gdr=auto takes, and why no other.
way dmabuf order=1,flush=1,peermem=1 mode=async ''
way peermem order=1,flush=1,dmabuf=0,peermem=1 mode=async 'not dmabuf: NIC strict0:1 cannot import GPU memory'
way peermem order=1,flush=1,peermem=1 mode=async,dmabuf=no 'not dmabuf: GPU [01] has no dmabuf: that takes the open kernel module'
way staged order=1 mode=async,dmabuf=no 'not peermem: no peer memory module is loaded'
way staged order=1 mode=async,dmabuf=absent 'not dmabuf: GPU [01] has no dmabuf: its driver is older than CUDA 11.7'
way staged order=1 mode=async,flush=no 'not dmabuf: GPU [01] has no dmabuf: it can neither order nor flush what NICs write'
way staged order=1 mode=async,fail=cuMemGetHandleForAddressRange:1+cuMemGetHandleForAddressRange:2+cuMemGetHandleForAddressRange:3 \
    'not dmabuf: GPU [01] does not export its memory as a dmabuf .CUDA error 801'

# A GPU that orders NICs' writes by itself is not flushed; one that cannot be flushed ends the job.
never=fail=cudaDeviceFlushGPUDirectRDMAWrites:1
way dmabuf order=1 mode=async,ordering=owner,flush=no,$never ''
over order=1 "mode=async,$never" 1 allgather -x verbs -b 64K -e 64K --timeout 5
check_says 'cannot flush what a NIC wrote; try -x verbs:gdr=staged: GPU [01] '

# What was asked for by name is missing.
over order=1 mode=async,dmabuf=no 77 allgather -x verbs:gdr=dmabuf
check_says 'gdr=dmabuf: GPU [01] has no dmabuf'
over order=1 mode=async 77 allgather -x verbs:gdr=peermem
check_says 'gdr=peermem: no peer memory module is loaded'
finish

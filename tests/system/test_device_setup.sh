#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: plain address,undefined thread
# The set-up of the device executor over the runtime for tests (tests/cuda/runtime.h): a call that fails ends the job with its
# sentence and leaves nothing behind; a line that the device splits into channels counts the bytes of these. In seconds, and
# under a sanitizer that the caller's build has.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
binary=${CCTEST%/cctest}/tests/cuda/cctest
[[ $CCTEST == */build-*/cctest ]] || binary=$repository/build/tests/cuda/cctest
[ -x "$binary" ] || skip "there is no C++ compiler for kernels"
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1

over() { # over SETTINGS STATUS OPTION...
    CUDA_STANDIN=strict=yes,connections=32,threads=2,$1 run "$binary" "${@:3}" -m cuda --executor device --json "$scratch/json"
    check_status "$2" "over CUDA_STANDIN=$1"
    check_silent 'cuda stand-in: violation|Sanitizer|runtime error'
}
link_bytes() { # "rank peer sent received", of the line
    python3 -c 'import json, sys
print(*sorted((s["rank"], *(p[k] for k in ("peer", "sent", "received"))) for s in json.load(sys.stdin)["results"][0]["samples"]
              for p in s["peers"]))' <"$scratch/json"
}
short=(-b 4K -e 4K -n 1 -w 0 -c 1)

# A rank that cannot say which memory the others are to map ends the job: no other rank is led astray by what it has said so far.
for number in 8 9 10; do
    over fail=cudaDeviceGetPCIBusId:$number 1 allreduce --np 2 --ranks-as threads "${short[@]}"
    check_says 'rank [01] .*: cannot use a GPU: GPU'
    check_silent 'invalid device data|do not map'
done
# A GPU whose PCI address CUDA does not tell has none in JSON.
over fail=cudaDeviceGetPCIBusId:1 0 allreduce --np 2 --ranks-as threads "${short[@]}"
check_json "$scratch/json" 'sum(r["device"]["bus"] is None for r in d["ranks"]) == 1'
# The first launch, before there are plans.
for number in 1 2; do
    over fail=cudaLaunchCooperativeKernel:$number 1 allreduce --np 2 --ranks-as threads "${short[@]}"
    check_says 'cannot launch a kernel: GPU'
done
# An injected fault goes to the device, and goes again.
over mode=async,devices=2 3 allreduce -a ring --np 2 --ranks-as threads "${short[@]}" -c 30 --inject corrupt:rank=1:iteration=25
check_json "$scratch/json" 'd["results"][0]["wrong"] == 2' 'd["results"][0]["checked"] == 30'
# The slices of several channels are no even parts of those of one: each link counts what it carries in a line of several.
uneven=(allreduce -a ring --np 3 --ranks-as threads -b 600004 -e 600004 -n 3 -w 0 -c 1 -v)
over mode=async,devices=3 0 "${uneven[@]}"
check_json "$scratch/json" 'd["results"][0]["channels"] == 16'
device=$(link_bytes)
CUDA_STANDIN=strict=yes,mode=sync,devices=3 run "$binary" "${uneven[@]}" -m cuda --executor host --channels 16 --json "$scratch/json"
check_status 0
check "the host's line of 16 channels: $(link_bytes), the device's: $device" test "$(link_bytes)" = "$device"
finish

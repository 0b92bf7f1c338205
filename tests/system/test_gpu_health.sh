#!/usr/bin/env bash
# tier: deep; load: wait
# What cctest says of GPUs, over the NVML and the CUDA runtime for tests (tests/cuda/nvml_standin.h, runtime.h): the list of
# cctest info, GPUs that differ, GPUs that count errors during a job, and an NVML that is missing, fails or hangs. Takes less
# than 60 s on two idle cores, once all is built.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
binary=$repository/build/tests/cuda/cctest
[ -x "$binary" ] || skip "there is no C++ compiler for kernels"
json=$scratch/run.json

# over NVML-SETTINGS STATUS COMMAND...: runs with these settings; those of CUDA are in $cuda. No rule is broken.
cuda=
over() {
    NVML_STANDIN=$1 CUDA_STANDIN=threads=1${cuda:+,$cuda} run "${@:3}"
    check_status "$2" "over NVML_STANDIN=$1 CUDA_STANDIN=$cuda"
    check_silent 'stand-in: violation'
}

# job NVML-SETTINGS STATUS ARGUMENT...: two lines of a table, each with one timed iteration
job() {
    rm -f "$json"
    over "$1" "$2" "$binary" allreduce -m cuda -x tcp -b 4K -e 8K -f 2 -n 1 -w 0 -c 1 --json "$json" "${@:3}"
}

# facts_say REGEX: the facts of devices, which `cctest info` wraps
facts_say() {
    tr -s ' \n' ' ' <"$out" >"$scratch/facts"
    check_says "$1" "$scratch/facts"
}

listing() {
    over "" 0 "$binary" info --json "$json"
    check_says '^GPUs$' "$out"
    check_says '^  0000:1a:00\.0' "$out"
    facts_say 'to 0000:22:00.0: NV4 by NVSwitch, peer access'
    check_silent 'not usable by cctest' "$out"
    check_json "$json" 'len(d["gpus"]) == 2' 'd["gpus"][0]["usable"]' 'd["gpus"][1]["name"] == "0000:22:00.0"' \
        'd["gpus"][0]["nics"] == {}' 'd["gpus"][1]["pci"] == "0000:22:00.0"'
    # The facts that a reader looks for.
    check_json "$json" 'not {"product", "memory", "free memory", "index", "serial", "UUID", "PCIe link", "PCIe link at most",
        "MIG", "MPS", "ECC", "SM clock", "temperature", "NVLinks up", "NVLink domain", "NVLink clique", "dmabuf",
        "write ordering", "compute capability", "driver", "CUDA driver", "CUDA runtime"} - set(d["gpus"][0]["facts"])'
    # A ring of ranks goes along NVLinks. A driver that hangs over them is named.
    over "" 0 "$binary" allreduce -m cuda -a ring:order=auto --np 3 -b 4K -e 4K -n 1 -w 0
    over hang=0:1:nvmlDeviceGetNvLinkRemoteDeviceType 5 "$binary" allreduce -m cuda -a ring:order=auto --np 3 -b 4K -e 4K --timeout 1
    check_says 'the driver of GPU 0000:1a:00.0 of host .* has not answered for .* s: it hangs'
    # On a host whose GPUs 0 and 2 stand there.
    python3 "$repository/tests/system/machine.py" "$scratch/host"
    HWLOC_FSROOT=$scratch/host over "" 0 "$binary" info --topology
    check_says '^  GPU0 +X +PIX +NV4 +NODE +SYS ' "$out"
    check_says '^  GPU2 +NV4 +NODE +X +PIX +SYS ' "$out"
    over mig=1 0 "$binary" info
    facts_say 'MIG 1: MIG-00000000-0000-0000-0000-000000000011 with 10.0 GiB'
    cuda=peer=no over "" 0 "$binary" info
    facts_say 'to 0000:22:00.0: NV4 by NVSwitch, no peer access'
    # However many GPUs there are, each of the 4 NVLinks is looked at once. A fifth call hangs.
    cuda=devices=4 over devices=4,hang=0:5:nvmlDeviceGetNvLinkRemoteDeviceType 0 "$binary" info
}

# GPUs that only one of the two libraries knows.
halves() {
    cuda=devices=1 over "" 0 "$binary" info --json "$json"
    check_json "$json" 'd["gpus"][0]["usable"]' 'not d["gpus"][1]["usable"]' \
        '"CUDA_VISIBLE_DEVICES" in d["gpus"][1]["why_not"]' '"NVLinks up" in d["gpus"][1]["facts"]'
    cuda=driver=none over "" 0 "$binary" info
    facts_say "not usable by cctest: the NVIDIA driver is older than this cctest's CUDA"
    check_says "^  cuda       not here: no GPU can be used: the NVIDIA driver is older" "$out"
    cuda=devices=0 over "" 0 "$binary" info --json "$json"
    check_json "$json" 'all(k["name"] != "cuda" or not k["available"] for k in d["memory_kinds"] + d["transports"])'
    for library in no fails; do
        over library=$library 0 "$binary" info --json "$json"
        check_json "$json" 'len(d["gpus"]) == 2' 'd["gpus"][0]["usable"]' \
            'd["gpus"][0]["facts"]["NVML"] == "missing"' 'd["gpus"][0]["facts"]["compute capability"] == "9.0"' \
            'd["gpus"][0]["facts"]["product"] == "Stand-in"' 'd["gpus"][0]["facts"]["memory"] == "0.2 GiB"' \
            '"serial" not in d["gpus"][0]["facts"]'
    done
    facts_say 'no NVML NVML says: driver/library version mismatch'
    over devices=1 0 "$binary" info
    facts_say 'no NVML Not Found'
}

# Four ranks on two GPUs: each GPU is read once, before the first line and after each.
errors() {
    local as
    for as in processes threads; do
        job grow=0:4:2+1:163:1,xid=1:79 0 --np 4 --ranks-as $as
        check_says '^# GPU 0000:1a:00\.0 of host .* \(index 0, serial 1650123000000\) counted ecc_uncorrected 4$' "$out"
        check_says '^# GPU 0000:22:00\.0 of host .* \(index 1, .*\) counted xid_79 1, nvlink0_crc_errors' "$out"
        check_json "$json" 'd["gpu_faults"][0]["counters"] == {"ecc_uncorrected": 4}' 'len(d["gpu_faults"]) == 2' \
            '[[g[key] for key in ("name", "index", "serial")] for g in d["gpu_faults"]] == [
                ["0000:1a:00.0", "0", "1650123000000"], ["0000:22:00.0", "1", "1650123000001"]]' \
            '[g["faults"] for g in d["results"][0]["gpus"]][0] == {"ecc_uncorrected": 2}' \
            'd["results"][0]["gpus"][1]["faults"]["xid_79"] == 1' '"xid_79" not in d["results"][1]["gpus"][1]["faults"]' \
            'd["results"][1]["gpus"][0]["gauges"] == {"sm_clock_MHz": 1755, "memory_clock_MHz": 2619, "temperature_C": 41}' \
            '[r["gpus"] for r in d["ranks"]] == [["0000:1a:00.0"], ["0000:22:00.0"]] * 2' \
            'd["gpus_unfinished"] == [] and d["nic_faults"] == []'
    done
    job "" 0 --np 2
    check_silent 'counted|differ' "$out"
    check_json "$json" 'd["gpu_faults"] == []' 'd["results"][0]["gpus"][0]["faults"] == {}' 'd["gpu_differences"] == []' \
        'd["gpus"][1]["facts"]["serial"] == "1650123000001"'
    job grow=0:74:1000000 0 --np 2 -v
    check_says '^# +GPU 0000:1a:00\.0 of host .*: power_cap_ns 1000000$' "$out"
    check_silent 'counted' "$out"
    # A job that fails, and not the GPU that is lost in it.
    job grow=0:3:5 5 --np 2 -n 100000 --timeout 5 --inject kill:rank=1:iteration=20
    check_says '^# GPU 0000:1a:00\.0 of host .*counted ecc_corrected 5$' "$out"
    check_json "$json" 'd["gpus_unfinished"][0]["faults"] == {"ecc_corrected": 5}'
    job lost=1:2 0 --np 2
    check_says '^# GPU 0000:22:00\.0 of host .*counted gpu_lost 1$' "$out"
}

differences() {
    local what words
    while read -r what words; do
        job "devices=3,differs=2:$what" 0 --np 3
        check_says "^# GPU 0000:2a:00\.0 of host .*: .*$words \(2 of 3 .*GPUs have" "$out"
        check_json "$json" 'len(d["gpu_differences"]) == 1' 'd["nic_differences"] == []'
    done <<'WAYS'
product product NVIDIA H200
memory memory 40\.0 GiB
clocks SM clock at most 1410 MHz
ecc ECC off
width PCIe width x8
links NVLinks up 3 of 4
rows row remapping pending until a reset
WAYS
}

# CUDA is there, NVML is not: the job runs, and nothing is counted.
missing() {
    local library
    for library in no fails; do
        job library=$library 0 --np 2
        check_silent 'counted' "$out"
        check_json "$json" 'd["gpus"][0]["facts"]["NVML"] == "missing"' 'd["gpus"][0]["facts"]["memory"] == "0.2 GiB"' \
            'd["gpu_faults"] == []' 'd["results"][0]["gpus"] == []'
    done
    job without=nvmlEventSetCreate+nvmlDeviceGetFieldValues+nvmlDeviceGetTemperature 0 --np 2
    check_json "$json" 'd["results"][0]["gpus"][0]["gauges"] == {"sm_clock_MHz": 1755, "memory_clock_MHz": 2619}'
}

# A driver that hangs, in a call for GPU 1: while facts are read, when the meter is opened, read the first time and after a
# line. The rank expects an answer for 3 s, and then waits for --timeout.
hangs() {
    local call sentence='the driver of GPU 0000:22:00\.0 of host [^ ]+ has not answered for [0-9.]+ s: it hangs; look at'
    cuda=
    while read -r call; do
        job "hang=1:$call" 5 --np 2 --timeout 8
        check_says "^cctest: rank 1 \(.*\): $sentence"
        check_json "$json" '"0000:22:00.0" in d["errors"][0]["message"]' 'd["errors"][0]["rank"] == 1' \
            '"0000:22:00.0" not in [g["name"] for g in d["gpus_unfinished"]]'
    done <<'CALLS'
1:nvmlDeviceGetSerial
1:nvmlDeviceRegisterEvents
2:nvmlEventSetWait_v2
CALLS
    job hang=0:3:nvmlEventSetWait_v2 5 --np 2 --timeout 5 --ranks-as threads
    check_says "^cctest: rank 0 .*the driver of GPU 0000:1a:00\.0 "
    check_json "$json" 'len(d["results"]) == 1'
    # A job that has failed does not wait for a meter.
    job hang=0:2:nvmlEventSetWait_v2 5 --np 2 -n 100000 --timeout 5 --inject kill:rank=1:iteration=20
    check_says '^cctest: rank 0: the driver of GPU 0000:1a:00\.0 .* the last device counters of this rank are missing$'
    # A signal ends the job in the reading after its second line.
    RUN_LIMIT=10 job hang=0:3:nvmlEventSetWait_v2 124 --np 2 --timeout 60
    check_says '^cctest: rank 0: the driver of GPU 0000:1a:00\.0 .* the last device counters of this rank are missing$'
    # Nor does one that is done, and its results stand.
    job hang=1:1:nvmlEventSetFree 0 --np 2
    check_says "^cctest: rank 1: $sentence"
    check_json "$json" 'd["status"] == "ok" and len(d["results"]) == 2'
    # Facts are asked for once.
    job hang=0:2:nvmlDeviceGetSerial 0 --np 2 --timeout 5
    over hang=1:1:nvmlDeviceGetTemperature 5 "$binary" info --timeout 1
    check_says "^cctest: $sentence"
    check_says '^memory kinds$' "$out"
    check_says '^  cuda       not here: no GPU can be used: ' "$out"
    over hang=0:2:nvmlDeviceGetHandleByIndex_v2 5 "$binary" info --timeout 1
    check_says '^cctest: the driver of GPU 1 of host '
    over hang=0:1:nvmlInit_v2 5 "$binary" info --timeout 1
    check_says '^cctest: the driver of the GPUs of host '
    LD_LIBRARY_PATH=$repository/build/tests/cuda over hang=0:1:nvmlInit_v2 5 "$CCTEST" info --timeout 1 --json "$json"
    check_says '^cctest: the driver of the GPUs of host '
}

# The program itself loads the library, and is linked with none. It does not need CUDA.
library() {
    run ldd "$CCTEST"
    check_silent 'nvidia-ml' "$out"
    LD_LIBRARY_PATH=$repository/build/tests/cuda over "" 0 "$CCTEST" info --json "$json"
    facts_say 'product NVIDIA H100 80GB HBM3'
    check_json "$json" 'd["gpus"][1]["facts"]["NVLink clique"] == "7"' 'not d["gpus"][1]["usable"]' \
        'd["gpus"][0]["facts"]["to 0000:22:00.0"] == "NV4 by NVSwitch, peer access"'
    LD_LIBRARY_PATH=$repository/build/tests/cuda over library=fails 0 "$CCTEST" info --json "$json"
    [ -e /dev/nvidiactl ] || check_json "$json" 'd["gpus"] == []'
}

cuda=devices=3 differences
listing
halves
errors
missing
hangs
library
finish

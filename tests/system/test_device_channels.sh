#!/usr/bin/env bash
# tier: deep; load: cpu1
# The device executor over the runtime for tests (device.sh): how many channels a line has without --channels; what nvcc makes of
# the kernel.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/device.sh
. "$repository/tests/system/device.sh"

# counted SETTINGS NUMBERS OPTION...: the channels of 32K, 128K, 512K and 2M
counted() {
    over "$1" 0 allreduce -a ring -m cuda -b 32K -e 2M -f 4 -n 1 -w 0 -c 1 "${@:3}"
    check_json "$scratch/json" "[r['channels'] for r in d['results']] == [$2]" 'all(r["wrong"] == 0 for r in d["results"])'
}

# Without a number of --channels: by size, and no more than the GPUs hold; the basis.
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
    every_algorithm 3x1 --ranks-as processes
    settings=mode=async,devices=1,sms=20
    every_algorithm 5x1 --ranks-as threads -d double
}

# What nvcc makes of the kernel: how words are ordered, and what its registers do not hold.
kernel() {
    local toolkit spilled
    if ! toolkit=$("$repository/scripts/find-cuda" 2>/dev/null); then
        echo "not tested: what nvcc makes of the kernel (no toolkit: scripts/setup --cuda)"
        return
    fi
    run "${toolkit%% *}" -std=c++17 -O3 -fmad=false "-I$repository/src" -arch=sm_80 -Xptxas -v --keep --keep-dir "$scratch" \
        -cubin -o "$scratch/kernel.cubin" "$repository/src/dataplane/execute/cuda/step_kernel.cu"
    check_status 0 "nvcc"
    for words in st.release.sys.u64 ld.acquire.sys.u64 st.relaxed.sys.v2.u64 ld.relaxed.sys.v2.u64; do
        check_says "${words//./\\.}" "$scratch/step_kernel.ptx"
    done
    spilled=$(cat "$out" "$err" | grep -A1 'Function properties for .*run_plan' | grep -o '[0-9]* bytes spill stores' | cut -d' ' -f1)
    check "the kernel spills ${spilled:-?} bytes, of 64" [ "${spilled:-999}" -le 64 ]
}

kernel
channels_by_default
finish

#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept` measures each GPU and each NIC of a host by itself, and names the one that fails: over CUDA's runtime for
# tests (tests/cuda/runtime.h) and the libibverbs for tests (tests/verbs/provider.h), whose NICs are put into /sys/class here.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
binary=$repository/build/tests/cuda/cctest-verbs
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
[ -x "$binary" ] || skip "this cctest is built without verbs, or there is no C++ compiler for kernels"
[ -n "$private" ] && mount -t tmpfs none /sys/class 2>"$scratch/mount" || skip "no private machine"
for nic in strict0 strict1; do
    mkdir -p "/sys/class/infiniband/$nic/ports/1"
    echo '1: CA' >"/sys/class/infiniband/$nic/node_type"
    echo '4: ACTIVE' >"/sys/class/infiniband/$nic/ports/1/state"
    echo '100 Gb/sec (4X EDR)' >"/sys/class/infiniband/$nic/ports/1/rate"
done
CCTEST=$binary
export NVML_STANDIN=library=no
cd "$scratch" || exit 1
accept() { # accept STATUS OPTION...: on this host
    CUDA_STANDIN="threads=1,strict=yes,$gpus" VERBS_STRICT="devices=2,$nics" run "$binary" accept --np 1 --json json "${@:2}"
    check_status "$1" "over CUDA_STANDIN=$gpus VERBS_STRICT=$nics"
    check_silent 'violation'
}
self=(--stages "inventory,self")

# Each part has a line of its own, and the worst of a host is its number.
gpus=devices=3 nics=delay=0
accept 0 "${self[@]}"
check_says '^  self .* copy inside a GPU [0-9.]+ GB/s, copy from host to GPU [0-9.]+ GB/s, copy from GPU to host [0-9.]+ GB/s, loop through a NIC [0-9.e-]+ to [0-9.e-]+ GB/s \(2 of them\); 0 failed, 0 slow; nothing to compare with: 1 host$' "$out"
check_json json 'len([l for j in d["stages"][2]["jobs"] for l in j["results"] if l.get("part", "").startswith("GPU ")]) == 9' \
    '[j["command"].split(" --transport ")[1].split()[0] for j in d["stages"][2]["jobs"][2:]] == ["verbs:nic=strict0:1", "verbs:nic=strict1:1"]' \
    '[n["part"][:4] for n in d["numbers"] if "GPU" in n["metric"]] == ["GPU "] * 3' \
    '[n["value"] for n in d["numbers"] if "GPU" in n["metric"]] == [min(l["GBps"] for j in d["stages"][2]["jobs"] for l in j["results"] if l["collective"] == c) for c in ("gpu-copy", "host-to-device", "device-to-host")]' \
    '[n["metric"] for n in d["numbers"]][-2:] == ["loop through a NIC strict0", "loop through a NIC strict1"]' \
    'all(n["value"] > 0 for n in d["numbers"])'
accept 0 "${self[@]}" -x tcp
check_silent 'loop through' "$out"
accept 0 "${self[@]}" -x verbs:nic=strict1
check_says 'loop through a NIC [0-9.e-]+ to [0-9.e-]+ GB/s \(1 of them\)' "$out"
check_json json '[n["metric"] for n in d["numbers"]][-1] == "loop through a NIC strict1"'
printf 'self.gpu.copy >= 9999 GB/s\nself.loop >= 9999 GB/s\n' >hard
accept 4 "${self[@]}" --profile hard --write-profile made
check_says '^  bad +[^ ]+: GPU [0-2] \(0000:[0-9a-f:.]*\): copy inside a GPU: [0-9.]+ GB/s, .* threshold by the profile 9999\); measured twice$' "$out"
check_says '^  bad +[^ ]+: loop through a NIC strict[01]: [0-9.e-]+ GB/s, ' "$out"
accept 0 "${self[@]}" --write-profile made
for key in gpu.copy gpu.host_to_device gpu.device_to_host loop; do check_says "^self\.$key >= [0-9.e-]+ GB/s$" made; done

# What a port counts meanwhile that tells of errors is a note, and in JSON.
mkdir -p /sys/class/infiniband/strict0/ports/1/counters
(count=0 && while echo $((count += 3)) >/sys/class/infiniband/strict0/ports/1/counters/symbol_error; do sleep 0.2; done) &
counts=$!
gpus=devices=0
accept 0 "${self[@]}"
kill $counts
check_says '^  note +[^ ]+ counted in stage self: strict0: symbol_error [0-9]+$' "$out"
check_json json '[(c["stage"], c["host"], c["name"], list(c["faults"])) for c in d["counters"] if c["faults"]][-1] == ("self", 0, "strict0", ["symbol_error"])' \
    'all(c["rotation"] == 0 for c in d["counters"])'
rm -r /sys/class/infiniband/strict0/ports/1/counters

# A GPU that fails is named. So is the reason why none can be measured.
gpus=devices=2,mode=async,fail=cudaMemcpyAsync:10
accept 1 "${self[@]}"
check_says '^  bad +[^ ]+: its GPUs cannot be measured: .*GPU [01] \(0000:[0-9a-f:.]*\)' "$out"
check_says 'loop through a NIC' "$out"
gpus=devices=0
accept 0 "${self[@]}"
check_silent 'copy inside a GPU' "$out"

# Of three hosts one has a NIC that fails: it is that host's. If it fails on all of them, it is not measured.
hosts_up 3 || skip "$hosts_missing"
fleet() { # fleet STATUS SETTINGS...: of VERBS_STRICT, by host
    local host settings=("${@:2}")
    hosts_port=$((hosts_port + 1))
    for host in 1 2 3; do
        host_as "$host"
        start $((host - 1)) env CUDA_STANDIN=devices=0 VERBS_STRICT="devices=2,delay=0,${settings[host - 1]}" CCTEST_SECRET="$long_secret" \
            "${as[@]}" "$CCTEST" accept "${self[@]}" --json "$hosts_json" --timeout 9 --rendezvous "h1:$hosts_port" --rank $((host - 1)) --world 3
    done
    for host in 1 2 3; do ended $((host - 1)) "$1"; done
    out=$scratch/0.out err=$scratch/0.err
}
fleet 1 seed=1 down=1 seed=2
check_says '^  bad +h2: strict1: a loop through it fails: .*strict1' "$out"
check_says '^# good: h\[1,3\]$' "$out"
fleet 0 down=1 down=1 down=1
check_says '^  note +all hosts, strict1: it is not measured, since most hosts cannot use it: .*strict1' "$out"
check_says 'loop through a NIC [0-9.e-]+ to [0-9.e-]+ GB/s \(1 of them\); 0 failed, [0-9] slow' "$out"
finish

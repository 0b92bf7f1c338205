#!/usr/bin/env bash
# tier: deep; load: cpu2
# `cctest fit` on two hosts (network namespaces) with 200 Mbit/s between them: the model has that rate, and predicts another job.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 2 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret

# A byte takes 40 ns, and some more for headers. Only eth1 has this rate.
network_rate() {
    host_network "$1" ip link set eth1 gso_max_size 1600 gso_max_segs 1 && # no bursts
        host_network "$1" tc qdisc replace dev eth1 root tbf rate 200mbit burst 1600 latency 400ms
}
network_rate 1 2>"$err" && network_rate 2 || skip "no token bucket here: $(head -n 1 "$err")"

slowly() { # slowly "HOSTS" OPTION...: a job over eth1
    local dealt rank
    read -ra dealt <<<"$1"
    for rank in "${!dealt[@]}"; do
        host_as "${dealt[rank]}"
        start "$rank" "${as[@]}" "$CCTEST" "${@:2}" -x tcp --interface eth1 --rendezvous 10.78.0.1:7998 --rank "$rank" --world "${#dealt[@]}"
    done
    for rank in "${!dealt[@]}"; do ended "$rank" 0; done
}
# Two cores with a cache each, as hwloc is told: ranks of a host are not near, unless there is one CPU.
near=$([ "$(nproc)" -ge 2 ] && echo same-node || echo same-cache)
export HWLOC_SYNTHETIC="package:2 l3:1 core:1 pu:1" HWLOC_THISSYSTEM=1
measured='all(30 < p["wire_ns_per_byte"] < 80 for l in d["model"]["links"] if l["distance"] == "network" for p in l["paths"])'
for try in 1 2 3; do # other processes on these cores make the network seem slower
    RUN_LIMIT=240 slowly "1 2" fit -o -
    cp "$scratch/0.out" "$scratch/model.json"
    python3 -c "import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not $measured)" "$scratch/model.json" && break
    echo "repeated: a model of a busy machine, try $try"
done
for path in bcopy zcopy; do
    check_says "^  tcp $path, $near +[0-9]+ +[0-9.]+ % " "$scratch/0.err"
    check_says "^  tcp $path, network +[0-9]+ +[0-9.]+ % " "$scratch/0.err"
done
check_json "$scratch/model.json" "$measured" 'd["model"]["caches"] == min(2, len(__import__("os").sched_getaffinity(0)))' \
    'next(l["port"] for l in d["model"]["links"] if l["distance"] == "network") == "node"' \
    'all(p["wire_ns_per_byte"] == 0 for l in d["model"]["links"] if l["distance"] != "network" for p in l["paths"])'
slowly "1 1 2 2" allgather -a ring,linear -b 1M -e 1M -n 5 -w 1 --model "$scratch/model.json" --json "$scratch/predicted.json"
check_json "$scratch/predicted.json" 'all(0.5 < r["time_us"]["p50"] / r["predicted_us"] < 2 for r in d["results"])'
hosts_down
finish

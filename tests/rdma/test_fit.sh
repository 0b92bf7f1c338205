#!/usr/bin/env bash
# tier: night; load: cpu2
# `cctest fit` over verbs on two machines with two NICs each, of which the second one is slow: the model has a link for each
# rail, and predicts a run over either.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machine_cpus=1
machines_up 2 1 2
for machine in 1 2; do
    machine_run "$machine" tc qdisc add dev eth1 root netem rate 24mbit
    check_status 0
done
RUN_LIMIT=300 hosts_patience=60
model=$scratch/model.json

# Each rail has a subnet of its own. Few and long waits, since a link of this rate answers late.
for rank in 0 1; do
    host_as $((rank + 1))
    start "$rank" "${as[@]}" "$CCTEST" fit -x verbs:rails=match:timeout=16 -o "$model" --timeout 60 \
        --rendezvous h1:7100 --rank "$rank" --world 2
done
for rank in 0 1; do ended "$rank" 0; done
for path in bcopy zcopy; do
    for place in same-cache "network rxe0:1" "network rxe1:1" "shared cores"; do
        check_says "^  verbs $path, $place +[0-9]+ +[0-9.]+ % " "$scratch/0.out"
    done
done
check_says '^  combining +[0-9]+ ' "$scratch/0.out"
# At 24 Mbit/s a byte takes 333 ns.
check_json "$model" \
    '[(l["transport"], l["distance"], l.get("rail")) for l in d["model"]["links"]] == [("verbs", "same-cache", None), ("verbs", "network", "rxe0:1"), ("verbs", "network", "rxe1:1")]' \
    'all([(p["path"], p["movement"]) for p in l["paths"]] == [("bcopy", "push"), ("zcopy", "grant")] for l in d["model"]["links"])' \
    'all(200 < p["wire_ns_per_byte"] < 600 for p in d["model"]["links"][2]["paths"])' \
    'all(p["wire_ns_per_byte"] < 200 for p in d["model"]["links"][1]["paths"])'
for nic in rxe0 rxe1; do
    meet "1 2" allreduce,broadcast -a ring,binomial -x verbs:nic=$nic:timeout=16 -b 1K -e 256K -f 16 -n 5 -w 1 --model "$model" -v
    check_json "$hosts_json" 'all(r["predicted_us"] > 0 for r in d["results"])' '{l["transport"] for l in d["links"]} == {"verbs"}'
done
# What takes long takes the wire's time.
check_json "$hosts_json" 'all(0.5 < r["time_us"]["p50"] / r["predicted_us"] < 2 for r in d["results"] if r["bytes"] == 262144)'
machines_down
finish

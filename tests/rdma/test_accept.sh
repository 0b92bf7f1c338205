#!/usr/bin/env bash
# tier: night; load: cpu2
# `cctest accept` on three machines with two NICs each: it measures a loop through each NIC, also where one is down, and names
# the NIC whose packets are lost.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machine_seconds=1800 # the repetitions below
machine_cpus=1 # at most two of the three are busy in pairs
machines_up 2 1 2 3
RUN_LIMIT=500 hosts_patience=90
table=$scratch/0.out

accept() { # accept STATUS OPTION...: on the three hosts; the table is in $table
    launch "1 2 3" accept --quick "${@:2}"
    for rank in 0 1 2; do ended "$rank" "$1"; done
}

# ---- each host by itself ----

machine_run 2 ip link set eth1 down
check_status 0
accept 4 --stages inventory,self:45
check_says '^  self .*, loop through a NIC [0-9.e-]+ to [0-9.e-]+ GB/s \(2 of them\); 0 failed, 0 slow' "$table"
check_says '^  bad +h2: rxe1 is DOWN; 2 of 3 hosts have ACTIVE$' "$table"
loops='sorted((n["metric"][-4:], n["host"]) for n in d["numbers"] if n["metric"].startswith("loop through a NIC"))'
check_json "$hosts_json" "$loops == [('rxe0', 0), ('rxe0', 1), ('rxe0', 2), ('rxe1', 0), ('rxe1', 2)]" \
    '[j["hosts"] for s in d["stages"] for j in s["jobs"] if "nic=rxe1" in j["command"]] == [[0], [2]]'
machine_run 2 ip link set eth1 up
check_status 0

# ---- pairs ----

# The time of the stage ends between its rounds.
accept '[014]' --stages inventory,pairs:8
check_says '^  pairs +partly .*[0-8] of 9 rounds fit into its time' "$table"

# What emulated CPUs can keep up with, so that hosts are alike. A NIC's packets of both directions, and those that it sends
# again, queue at this rate: a MiB takes 0.26 s, and its acknowledgement comes behind it. timeout=16 is 0.27 s; with retry=2 the
# jobs of a pair have no room for more.
patience=(-x verbs:timeout=16:retry=2)
for machine in 1 2 3; do
    machine_run "$machine" sh -c 'for nic in eth0 eth1; do tc qdisc add dev $nic root netem rate 32mbit || exit; done'
    check_status 0
done
machine_run 3 tc qdisc replace dev eth1 root netem loss 100%
check_status 0

# Of three machines that share a busy CPU, the one that gets less of it is slow, and may be so again when it is measured again. Then all is
# measured anew. Nothing else may be said of it.
for try in 1 2 3; do
    accept 1 "${patience[@]}" --stages inventory,pairs:100,isolate:30
    check_says '^  pairs +partly .* 9 rounds, each on 1 of 2 rails, medians: .*; [4-8] jobs failed, [4-8] of them: NIC rxe1:1 ' "$table"
    check_says '^  bad +h3: rxe1: a measurement failed: confirmed with h[12]' "$table"
    check "no other host fails" sh -c "! grep -E '^  bad +h[12]: ' '$table' | grep -v ' GB/s, the fleet.s median is \| us, the fleet.s median is '"
    if [ "$try" = 3 ] || grep -q '^# bad: h3$' "$table"; then break; fi
    echo "repeated: a busy CPU made $(grep -cE '^  bad +h[12]' "$table") findings of bad hosts"
done
check_says '^# bad: h3$' "$table"
grep -q '^# suspect: none$' "$table" || echo "slow: a busy CPU made suspects: $(grep -c '^  suspect' "$table")"

machines_down
finish

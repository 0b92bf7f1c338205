#!/usr/bin/env bash
# tier: deep; load: cpu2
# What cctest says of NICs, on machines: `cctest info`, the comparison before the table, and counters of a lossy network.
# And by which of their addresses NICs meet.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machines_up 2 1 2

# info_of I CONDITION...: of `cctest info` there; d is the document, n the ports by name.
info_of() {
    machine_run "$1" "$CCTEST" info --json "$scratch/info.json"
    check_status 0
    check_json "$scratch/info.json" "${@:2}"
}

# gid_is I DEVICE INDEX END: the GID of its port 1 at the index ends so.
gid_is() {
    machine_on "$1" cat "/sys/class/infiniband/$2/ports/1/gids/$3" 2>/dev/null | grep -q ":$4\$"
}

# ---- info ----

n='{n["name"]: n for n in d["nics"]}'
info_of 1 "sorted($n) == ['rxe0:1', 'rxe1:1']" "all(n['usable'] and n['transport'] == 'verbs' for n in d['nics'])" \
    "${n}['rxe0:1']['facts']['rate'] == '2.5 Gb/s' and ${n}['rxe0:1']['facts']['width'] == '1X'" \
    "${n}['rxe0:1']['facts']['MTU'] == '4096' and ${n}['rxe0:1']['facts']['network device MTU'] == '4200'" \
    "${n}['rxe1:1']['facts']['GID 1'] == '::ffff:10.78.0.1, RoCE v2, eth1'"
check_says '^ +GID 1: ::ffff:10.77.0.1, RoCE v2, eth0' "$out"
machine_run 1 ip link set eth1 down
info_of 1 "${n}['rxe0:1']['usable'] and not ${n}['rxe1:1']['usable']" "'ip link set eth1 up' in ${n}['rxe1:1']['why_not']"
machine_run 1 sh -c 'ip link set eth1 up; ip -4 addr flush dev eth1'
check "GID 1 goes" await 60 gid_gone 1 rxe1
info_of 1 "'no GID of RoCE v2 maps an IPv4 address' in ${n}['rxe1:1']['why_not']"
machine_run 1 sh -c 'ip addr add 10.78.0.1/24 dev eth1; chmod 0 /dev/infiniband/uverbs1'
machine_run 1 setpriv --reuid 1 --regid 1 --clear-groups "$CCTEST" info
check_says 'not usable by verbs: no permission for /dev/infiniband/uverbs1' "$out"
machine_run 1 mv /dev/infiniband/uverbs1 /dev/infiniband/away
info_of 1 "'uverbs1 is missing' in ${n}['rxe1:1']['why_not']"
machine_run 1 mv /dev/infiniband/away /dev/infiniband/uverbs1

# ---- a run ----

# job OPTION...: over verbs, between two machines.
job() {
    RUN_LIMIT=120 meet "1 2" allreduce -x verbs:nic=rxe0 -b 8 -e 64K -f 8192 -n 20 -w 1 -c 1 "$@"
    table=$scratch/0.out
}
job
check_json "$hosts_json" 'd["status"] == "ok"' 'd["nic_differences"] == []' \
    '[r["nics"] for r in d["ranks"]] == [["rxe0:1"], ["rxe0:1"]]' \
    '[(n["host"], n["name"]) for n in d["nics"]] == [("h1", "rxe0:1"), ("h2", "rxe0:1")]' \
    'all(len(r["nics"]) == 2 and r["nics"][0]["other"]["sent_pkts"] > 0 for r in d["results"])'

machine_run 2 ip link set eth0 mtu 6000
job
check_says '^# the 2 ports differ in network device MTU: 1 has 4200 \(rxe0:1 of host h1\), 1 has 6000' "$table"
check_json "$hosts_json" 'len(d["nic_differences"]) == 1'
machine_run 2 ip link set eth0 mtu 4200

machine_run 1 sh -c "modprobe -d '$repository/build/rdma' sch_netem && tc qdisc add dev eth0 root netem loss 1%"
check_status 0
job -b 64K -n 200
check_says '^# port rxe0:1 of host h[12] counted .*(retry|duplicate|out_of_seq|seq_err)' "$table"
check_json "$hosts_json" 'len(d["nic_faults"]) >= 1' 'd["nic_faults"][0]["name"] == "rxe0:1"'
machine_run 1 tc qdisc del dev eth0 root

# A line that fails: the NIC of the rank that lives. Its counters are read within a moment, or not at all: one of some jobs
# has them.
for ((turn = 0; turn < 5; turn++)); do
    launch "1 2" allreduce -x verbs:nic=rxe0 -b 64K -e 64K -n 9 --inject kill:rank=1:iteration=12
    ended 0 5
    grep -q '"nics_unfinished": \[\]' "$hosts_json" || break
done
check_json "$hosts_json" 'd["status"] != "ok"' 'd["results"] == []' \
    '[(n["host"], n["name"]) for n in d["nics_unfinished"]] == [("h1", "rxe0:1")]' \
    'd["nics_unfinished"][0]["other"]["sent_pkts"] > 0'

# ---- addresses ----

# Two ports whose first addresses do not meet, and their further ones do.
for machine in 1 2; do
    machine_run $machine sh -c "ip -4 addr flush dev eth1; ip addr add 10.8$machine.0.1/24 dev eth1"
    check "GID 1 is another" await 60 gid_is $machine rxe1 1 "ffff:0a5$machine:0001"
    machine_run $machine ip addr add 10.83.0.$machine/24 dev eth1
    check "GID 2 is there" await 60 gid_is $machine rxe1 2 "ffff:0a53:000$machine"
done
for options in "" :connect=rdmacm :connect=rdmacm:gid=0; do
    meet "1 2" allreduce -a ring -x "verbs:nic=rxe1$options" -b 8 -e 64K -f 8192 -n 2 -w 1 -c 1
    check_json "$hosts_json" 'd["status"] == "ok"'
done

machines_down
finish

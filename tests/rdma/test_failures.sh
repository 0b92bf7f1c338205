#!/usr/bin/env bash
# tier: deep; load: cpu2
# Two machines with two NICs each: which NICs a job uses; how it ends, or goes on, when a rank, a port or packets are lost.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machines_up 2 1 2
export CCTEST_SECRET=$long_secret

# payload NAME: the bytes of messages that each host sent by this NIC, in the last line of $hosts_json.
payload() {
    python3 - "$hosts_json" "$1" <<'PYTHON'
import json, sys
nics = json.load(open(sys.argv[1]))["results"][-1]["nics"]
print(*(nic["other"].get("payload_sent", 0) for nic in nics if nic["name"] == sys.argv[2]))
PYTHON
}

# ---- which NICs ----

meet "1 2" sendrecv -a uni -x verbs -b 1M -e 1M -n 3 -w 1 -c 1
check_json "$hosts_json" '[r["nics"] for r in d["ranks"]] == [["rxe0:1"], ["rxe0:1"]]'
meet "1 2" sendrecv -a uni -x verbs:nic=rxe1 -b 1M -e 1M -n 3 -w 1 -c 1
check_json "$hosts_json" '[r["nics"] for r in d["ranks"]] == [["rxe1:1"], ["rxe1:1"]]'

# A long message goes over both, in equal parts.
for way in --copy=zcopy "--copy=bcopy --channels=2"; do
    read -ra words <<<"$way"
    meet "1 2" sendrecv -a uni -x verbs:nic=rxe0+rxe1 "${words[@]}" -b 4M -e 4M -n 3 -w 1 -c 1
    check_json "$hosts_json" '[r["nics"] for r in d["ranks"]] == [["rxe0:1", "rxe1:1"]] * 2'
    read -r first _ <<<"$(payload rxe0:1)"
    read -r second _ <<<"$(payload rxe1:1)"
    check "$way: payload of the sender's rails: $first, $second" \
        test $((first * 100)) -le $(((first + second) * 55)) -a $((second * 100)) -le $(((first + second) * 55))
done
for way in connect=rdmacm poll=memory connect=rdmacm:poll=memory; do
    meet "1 2" allreduce -x "verbs:nic=rxe1+rxe0:$way" -b 8 -e 256K -f 512 -n 3 -w 1 -c 2
done

# A NIC that is down at the start is left out, and named.
machine_on 2 ip link set eth1 down
meet "1 2" sendrecv -a uni -x verbs:nic=rxe0+rxe1 -b 1M -e 1M -n 3 -w 1 -c 1
check_says 'NIC rxe1:1: state DOWN, .*it is left out' "$scratch/1.err"
machine_on 2 ip link set eth1 up

# ---- jobs that lose something ----

# Rank I + 1's file says when it has ended. The host sets the time of what a machine writes in $scratch, so that the moments
# of both machines can be compared.
host_as() {
    machine_as "$1"
    # shellcheck disable=SC2016
    as+=(bash -c '"$@"; status=$?; : >"$0"; exit $status' "$scratch/ended.$1")
}

moment() { stat -c %.3Y "$scratch/$1" | tr -d .; } # in ms

# endless TRANSPORT: launches a job of two ranks on both machines, and waits until its iterations run.
endless() {
    rm -f "$scratch"/ended.*
    launch "1 2" allreduce -a ring -x "$1" -b 64K -e 64K -n 1000000 -w 0 -c 0
    check "it runs" await 60 grep -q 'bytes *elements' "$scratch/0.out"
    sleep 2
    check "it still runs" kill -0 "${pids[0]}"
}

# over_within SECONDS COMMAND...: the job of `endless` is over so soon after this command on machine 2 has ended, and before --timeout (30 s).
over_within() {
    local machine took
    # shellcheck disable=SC2016
    machine_on 2 bash -c '"$@" && : >"$0"' "$scratch/begun" "${@:2}"
    for machine in 1 2; do
        check "it ends" await 60 test -e "$scratch/ended.$machine"
        took=$(($(moment ended.$machine) - $(moment begun)))
        check "on machine $machine it took $took ms to end, at most $1 s" test "$took" -lt $(($1 * 1000))
    done
}

# A rank that is killed.
endless verbs
over_within 20 pkill -KILL -x cctest
ended 0 5 'rank 1 .*h2'

# A NIC that goes down, while the control plane stays up.
endless verbs:nic=rxe1
over_within 20 ip link set eth1 down
ended 0 1 'rank 1 \(host h2.*NIC rxe1:1 .*went down'
ended 1 1
machine_on 2 ip link set eth1 up

# A network that swallows all packets of one host. The queue pair gives up within a quarter of --timeout.
hosts_patience=9
endless verbs:nic=rxe1
over_within 25 tc qdisc add dev eth1 root netem loss 100%
ended 0 5 'from NIC rxe1:1 to NIC rxe1:1, failed .*transport retry counter exceeded'
ended 1 5
machine_on 2 tc qdisc del dev eth1 root
hosts_patience=20

# An address that comes or goes is not that of the job.
endless verbs:nic=rxe1
machine_on 2 ip addr add 10.79.0.2/24 dev eth1
sleep 2
check "it still runs" kill -0 "${pids[0]}"
over_within 20 pkill -INT -x cctest
ended 0 130

# A network that loses packets: the job goes on, and the table names the ports that noticed.
machine_on 2 tc qdisc add dev eth1 root netem loss 1%
meet "1 2" allreduce -a ring -x verbs:nic=rxe1 -b 256K -e 256K -n 20 -w 2 -c 2
check_says '^# port rxe1:1 of host h[12] counted .*[a-z_]+ [0-9]+' "$scratch/0.out"
check_json "$hosts_json" 'd["nic_faults"]' '{n["name"] for n in d["nic_faults"]} == {"rxe1:1"}'
machine_on 2 tc qdisc del dev eth1 root

machines_down
finish

#!/usr/bin/env bash
# tier: night; load: cpu2
# iWARP (siw) on machines: queue pairs are connected by librdmacm, the end that has connected sends first, and a SEND takes
# the place of immediate data. SIW=yes builds the device's module.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
[ "${SIW:-}" = yes ] || skip "with SIW=yes, which builds the module siw"
machines_ready || skip "$machines_missing"
machine_devices=siw
hosts_patience=60
machines_up 2 1 2

# ---- on one machine ----

machine_as 1
json=$scratch/one.json
for collective in allreduce alltoall; do
    for copy in bcopy zcopy; do
        RUN_LIMIT=120 run "${as[@]}" "$CCTEST" $collective -x verbs:nic=siw0 --copy $copy --np 3 -b 8 -e 100K -f 100 -n 2 -w 1 \
            -c 1 --timeout 30 --json "$json"
        check_status 0 "$collective, $copy"
        check_json "$json" 'd["status"] == "ok"' '{l["transport"] for l in d["links"]} == {"verbs"}'
    done
done
run "${as[@]}" "$CCTEST" barrier -x verbs:nic=siw0:connect=exchange --np 2
check_status 77 "connect=exchange is refused"
check_says 'NIC siw0:1 is iWARP, which connects by librdmacm only: leave connect=exchange out' "$err"

# ---- on two ----

RUN_LIMIT=120 meet "1 2 1 2" allreduce -a ring -x verbs:nic=siw0 -b 8 -e 100K -f 100 -n 2 -w 1 -c 1
RUN_LIMIT=120 meet "1 2" sendrecv -x verbs:nic=siw0+siw1:rails=match -b 8 -e 1M -f 100 -n 2 -w 1 -c 1
machine_on 2 ip addr flush dev eth1
launch "1 2" allreduce -x verbs:nic=siw1 -b 8
ended 0 77
ended 1 77
check_says 'NIC siw1:1 has no IPv4 address, by which librdmacm finds it' "$scratch/0.err"

machines_down
finish

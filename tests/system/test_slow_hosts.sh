#!/usr/bin/env bash
# tier: deep; load: alone
# A schedule in steps on six hosts of 200 Mbit/s: a host that receives slowly, one that sends slowly, two slow hosts, a slow
# uplink, none; and a healthy chain, whose first link is no bottleneck.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 6 || skip "$hosts_missing"
command -v tc >/dev/null || skip "tc is not here: install iproute2"
host_rate 1 200mbit >"$scratch/tc" 2>&1 || skip "no slow links here: $(head -n 1 "$scratch/tc")"
for host in 2 3 4 5 6; do host_rate $host 200mbit; done
export CCTEST_SECRET=$long_secret

# Bursts of a slow host are smaller than the 171 KiB that a step sends, so that no step passes at the speed of the machine.
slow_burst=64k

# limit RATE BURST COMMAND...: of a device that COMMAND reaches.
limit() { "${@:3}" tc qdisc replace dev "$device" root tbf rate "$1" burst "$2" latency 50ms; }

# measured ITERATIONS JOB...: sets $hosts to the hosts in JSON, and their directions.
measured() {
    meet "1 2 3 4 5 6" "${@:2}" -n "$1" -x tcp -b 1M -e 1M -w 1 -c 0 -v
    hosts=$(python3 - "$hosts_json" <<'PYTHON'
import json, sys
culprit = json.load(open(sys.argv[1]))["results"][0]["bottleneck"]
hosts = culprit.get("hosts", [])
print(culprit["kind"] or "none", *(f'{h["host"]}:{h["direction"]}' for h in sorted(hosts, key=lambda h: h["host"])))
PYTHON
    )
}

# named: the same of alltoall in steps. The counts of one run may not tell, and then none is named: another one does.
named() {
    for _ in 1 2 3; do
        measured 10 alltoall -a pairwise
        [ "$hosts" = none ] || break
    done
}

measured 20 alltoall -a pairwise
check "none is named in a healthy job: $hosts" test "$hosts" = none

measured 20 broadcast -a chain
check "the first link of a healthy chain is not named: $hosts" test "$hosts" = none
check_silent '^#   slowest' "$scratch/0.out"

device=lan0-3
limit 40mbit $slow_burst
named
check "a slow receiver is named: $hosts" test "$hosts" = "host h3:to"
check_says '^#   slowest: all links to host h3: ' "$scratch/0.out"
limit 200mbit 256k

device=eth0
limit 40mbit $slow_burst host_network 3
named
check "a slow sender is named: $hosts" test "$hosts" = "host h3:from"
limit 200mbit 256k host_network 3

host_rate 2 40mbit $slow_burst
host_rate 5 40mbit $slow_burst
named
check "two slow hosts are named: $hosts" test "$hosts" = "host h2:both h5:both"
check_says '^#   slowest: all links to and from host h[25] and all links to and from host h[25]: ' "$scratch/0.out"
host_rate 2 200mbit
host_rate 5 200mbit

hosts_apart 100mbit 4 5 6
named
check "a slow way that hosts share is told: $hosts" test "$hosts" = "cut h1:both h2:both h3:both"
check_says '^#   slowest: the links between hosts h1, h2, h3 and all others: .*; look at what they share, such as an uplink$' \
    "$scratch/0.out"
hosts_down
finish

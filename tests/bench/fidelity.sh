#!/usr/bin/env bash
# fidelity.sh - how near predictions come to what is measured (fidelity.py), also between hosts whose links have a set rate.
# usage: fidelity.sh [ARGUMENT OF fidelity.py...]; the links have 200 Mbit/s, or FIDELITY_RATE
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
rate=${FIDELITY_RATE:-200mbit}
for host in 1 2 3 4; do
    for lan in 0 1; do # a burst of two packets: short messages would pass at full speed
        tc qdisc replace dev "lan$lan-$host" root tbf rate "$rate" burst 3k latency 50ms &&
            host_network "$host" tc qdisc replace dev "eth$lan" root tbf rate "$rate" burst 3k latency 50ms || exit 1
    done
done
"$repository/tests/bench/fidelity.py" --cctest "$CCTEST" --holders "${host_holder[1]} ${host_holder[2]} ${host_holder[3]} ${host_holder[4]}" "$@"
status=$?
hosts_down
exit "$status"

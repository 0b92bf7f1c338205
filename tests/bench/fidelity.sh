#!/usr/bin/env bash
# fidelity.sh - how near predictions come to what is measured (fidelity.py), also between hosts whose links have a set rate and delay.
# usage: fidelity.sh DELAY_LINE [ARGUMENT OF fidelity.py...]
# The links have 100 Mbit/s, or FIDELITY_RATE, and each cable a delay of 250 us (500 from host to host), or FIDELITY_DELAY, which the program DELAY_LINE makes
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
delay_line=$1 cables=()
shift
rate=${FIDELITY_RATE:-100mbit}
for host in 1 2 3 4; do
    for lan in 0 1; do # a burst of two packets: short messages would pass at full speed
        cables+=("lan$lan-$host:tap$lan-$host")
        ip link set "lan$lan-$host" nomaster || exit 1
        tc qdisc replace dev "lan$lan-$host" root tbf rate "$rate" burst 3k latency 50ms &&
            host_network "$host" tc qdisc replace dev "eth$lan" root tbf rate "$rate" burst 3k latency 50ms || exit 1
    done
done
coproc delay { exec "$delay_line" "${FIDELITY_DELAY:-250}" "${cables[@]}"; }
read -r -u "${delay[0]}" || exit 1
for cable in "${cables[@]}"; do
    tap=${cable#*:}
    lan=lan${tap:3:1}
    ip link set "$tap" master "$lan" up || exit 1
done
"$repository/tests/bench/fidelity.py" --cctest "$CCTEST" --holders "${host_holder[1]} ${host_holder[2]} ${host_holder[3]} ${host_holder[4]}" "$@"
status=$?
hosts_down
exit "$status"

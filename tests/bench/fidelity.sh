#!/usr/bin/env bash
# fidelity.sh - how near predictions come to what is measured (fidelity.py), also between hosts whose links have a set rate and delay.
# usage: fidelity.sh DELAY_LINE [ARGUMENT OF fidelity.py...]
# Each cable of a host has 100 Mbit/s, or FIDELITY_RATE, and a delay of 250 us (500 from host to host), or FIDELITY_DELAY, by the
# program DELAY_LINE.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
delay_line=$1 cables=()
shift
for host in 1 2 3 4; do
    for lan in 0 1; do
        cables+=("lan$lan-$host:tap$lan-$host")
        ip link set "lan$lan-$host" nomaster || exit 1
        host_network "$host" ip link set "eth$lan" gso_max_size 1600 gso_max_segs 1 || exit 1 # frames as on a cable
    done
done
coproc delay { exec "$delay_line" "${FIDELITY_DELAY:-250}" "${FIDELITY_RATE:-100}" "${cables[@]}"; }
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

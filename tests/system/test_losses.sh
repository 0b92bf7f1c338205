#!/usr/bin/env bash
# tier: deep; load: cpu2
# Packets that are lost between four hosts: on one connection, in one direction; at a host; or nowhere.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
command -v nft >/dev/null || skip "nft is not here: install nftables"
export CCTEST_SECRET=$long_secret

# lose HOST HOOK...: a part of the packets with data at the cable of a host, on their way from it (ingress) or to it (egress).
lose() {
    local hook chains=
    for hook in "${@:3}"; do
        chains+="chain $hook { type filter hook $hook device lan0-$1 priority 0; $2 ip length > 500 numgen random mod 100 < 6 drop; }; "
    done
    nft "table netdev lossy { $chains }" 2>"$scratch/nft" || skip "no packets are lost here: $(head -n 1 "$scratch/nft")"
}

measure() {
    meet "1 2 3 4" alltoall -a pairwise -x tcp -b 512K -e 512K -w 1 -c 0 -n 60 -v
}
share='^#   loss: [0-9.]+ % of the packets'

measure
check_json "$hosts_json" '[l for l in d["results"][0]["losses"] if l["kind"] != "all"] == []'

lose 2 "ip daddr 10.77.0.4" ingress
measure
nft delete table netdev lossy
check_says "$share from rank 1 \(h2\) to rank 3 \(h4\) are sent again, the others' median is 0(\.[0-9]+)? %" "$scratch/0.out"
check_json "$hosts_json" '[(l["from"]["rank"], l["to"]["host"], l["host"]) for l in d["results"][0]["losses"]] == [(1, "h4", None)]' \
    'd["results"][0]["losses"][0]["resent"] >= 5'

lose 3 "" ingress egress
measure
nft delete table netdev lossy
check_says "$share from and to host h3 are sent again" "$scratch/0.out"
check_json "$hosts_json" '[(l["kind"], l["host"], l["direction"]) for l in d["results"][0]["losses"]] == [("host", "h3", "both")]'
hosts_down
finish

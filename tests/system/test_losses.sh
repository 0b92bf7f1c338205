#!/usr/bin/env bash
# tier: deep; load: cpu2
# Packets that are lost between four hosts: on one connection, in one direction; at a host; or nowhere. And a host that is far.
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
check_json "$hosts_json" '[l for l in d["results"][0]["losses"] if l["kind"] != "all"] == []' 'd["results"][0]["delays"] == []'

# Each short message and each token of the start barrier is a packet.
meet "1 2" sendrecv -a uni -x tcp -b 8 -e 8 -w 1 -c 0 -n 60 -v
check_json "$hosts_json" '[(p["peer"], p["resent"] < 10) for p in d["results"][0]["samples"][0]["peers"]] == [(1, True)]' \
    'd["results"][0]["samples"][0]["peers"][0]["packets"] >= 100' '"awaited_us" not in d["results"][0]["samples"][0]["peers"][0]'

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
# A host whose cable is 1.5 ms long.
delay_line=$repository/build/tests/bench/delay_line
if [ -x "$delay_line" ]; then
    ip link set lan0-3 nomaster
    coproc delay { exec "$delay_line" 1500 1000 lan0-3:tap3; }
    check "the cable is there" read -r -u "${delay[0]}"
    ip link set tap3 master lan0 up
    measure
    check_says "^#   delay: round trips with host h3 take [3-9][.0-9]* ms at least, the others' median is 0[.0-9]* ms$" "$scratch/0.out"
    check_json "$hosts_json" '[l["host"] for l in d["results"][0]["delays"]] == ["h3"]'
fi
hosts_down
finish

#!/usr/bin/env bash
# tier: deep; load: wait
# Addresses of a job: --interface for the control plane and the data, IPv4 and IPv6, several addresses of a name, and
# messages if none of them leads to a rank.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 3 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
port=7000
small=(alltoall -b 64K -e 64K -n 3 -w 1 -c 2 -x tcp --timeout 20)

# begin "HOSTS" RENDEZVOUS-HOST OPTION...: starts a job in the background whose rank r is on the r-th of these hosts.
# {} in an option is replaced by the number of the rank's host.
begin() {
    local rank options
    read -ra dealt <<<"$1"
    port=$((port + 1))
    for rank in "${!dealt[@]}"; do
        host_as "${dealt[rank]}"
        options=("${@:3}")
        [ "$rank" != 0 ] || as+=(sh -c "sleep ${late:-0}; exec \"\$@\"" late)
        start "$rank" "${as[@]}" "$CCTEST" "${small[@]}" "${options[@]//\{\}/${dealt[rank]}}" --rendezvous "$2:$port" --rank "$rank" \
            --world "${world:-${#dealt[@]}}"
    done
}

# end STATUS [REGEX]: all its ranks end with STATUS, and a line of rank 0 matches.
end() {
    local rank
    for rank in "${!dealt[@]}"; do ended "$rank" "$1"; done
    out=$scratch/0.out err=$scratch/0.err
    [ -z "${2:-}" ] || check_says "$2"
}

# Bytes that host I has sent by a device.
sent_by() {
    host_network "$1" ip -s -j link show "$2" | python3 -c 'import json, sys
print(json.load(sys.stdin)[0]["stats64"]["tx"]["bytes"])'
}

# ---- a chosen interface: all listeners and all traffic are there ----

# Addresses at which host I listens: "10.78.0.1 [fd78::1]"; false: none.
listening() { host_network "$1" ss -Hltn | awk '{ sub(/:[0-9]+$/, "", $4); print $4 }' | sort -u | xargs | grep .; }

for network in "eth1 10.78.0.1" ${hosts_ipv6:+"eth1 [fd78::1]"} "eth0 10.77.0.1" "eth0 h1"; do
    read -r device address <<<"$network"
    other=eth$((1 - ${device#eth})) number=$((7 + ${device#eth}))
    before=$(sent_by 1 $other) before2=$(sent_by 2 $other)
    world=2 begin 1 "$address" --interface "$device"
    check "there is a listener" await 60 listening 1 >/dev/null
    check "host 1 listens on $(listening 1), not on $device" \
        test "$(listening 1)" = "10.7$number.0.1${hosts_ipv6:+ [fd7$number::1]}"
    kill "${pids[0]}"
    wait "${pids[0]}"
    begin "1 2" "$address" --interface "$device"
    end 0
    # The kernel looks for neighbours and routers, so a few bytes go everywhere.
    check "$(($(sent_by 1 $other) - before)) bytes over $other" test $(($(sent_by 1 $other) - before)) -lt 4000
    check "$(($(sent_by 2 $other) - before2)) bytes over $other" test $(($(sent_by 2 $other) - before2)) -lt 4000
done
for place in "10.7{x}.0.{i}" ${hosts_ipv6:+"fd7{x}::{i}"}; do # its address on each host
    for x in 7 8; do
        address=${place//\{x\}/$x}
        root=${address/\{i\}/1}
        [[ $root != *:* ]] || root=[$root]
        begin "1 2 2 3" "$root" --interface "${address/\{i\}/\{\}}"
        end 0
        [[ $address != *:* ]] || { begin "1 2" "$root" --interface "[${address/\{i\}/\{\}}]" && end 0; }
    done
done

# ---- no such interface ----

world=2 begin 1 10.77.0.1 --interface nope
end 2 "no network device or address 'nope' is up on this host"
# Each rank reports it, whether it reaches rank 0 or not, and long before the deadline.
for root in 10.77.0.1 h1; do
    begin "1 2 3" $root --interface nope --timeout 1000
    for rank in 0 1 2; do
        ended $rank 2 "no network device or address 'nope' is up on this host"
        check_silent "could not be reached"
    done
done
# If rank 0 is reachable, it receives the failure and tells all ranks.
begin "1 2" 10.77.0.1 --interface 10.77.0.1
end 2 "rank 1 .*h2.* no network device or address '10.77.0.1' is up on this host"
world=2 begin 1 10.77.0.1 --interface eth1
end 2 "--rendezvous sends all ranks to 10.77.0.1, but rank 0 listens on --interface eth1, "
begin "1 1" 127.0.0.1 --interface eth1
end 2 "--rendezvous sends all ranks to 127.0.0.1, but rank 0 listens on --interface eth1, "
begin "1 1" 127.0.0.1 --interface lo
end 0
host_as 1
"${as[@]}" python3 -c "
import socket, time
s = socket.create_server(('10.78.0.1', $((port + 1)))); time.sleep(600)" &
holder=$!
check "there is a listener" await 60 listening 1 >/dev/null
world=2 begin 1 h1 --interface eth1
end 1 "port $port is taken on this host"
kill $holder
wait $holder 2>/dev/null
# Rank 0 listens on one network, its name leads to another.
begin "1 2" h1 --interface eth1 --timeout 2
ended 1 5 "rank 0 could not be reached at h1 port $port for 2 s \(10.77.0.1 port $port: Connection refused\)"
check_says "is that its address on --interface eth1\?"
ended 0 5 "1 of 2 ranks did not join .*rank 1"
check_says "'h1' leads to 10.77.0.1 port $port, which is not an address of eth1: .* listens at 10.78.0.1 port $port"

# ---- names and their addresses ----

# names I LINE...: sets /etc/hosts of host I to these lines and localhost.
names() { printf '%s\n' "127.0.0.1 localhost" "${@:2}" >"$(host_names "$1")"; }

# On Debian, the own name of a host resolves to loopback.
names 1 "127.0.1.1 h1"
names 2 "10.77.0.1 h1" "127.0.1.1 h2"
for interface in "" eth0; do
    begin "1 1 2 1" h1 ${interface:+--interface $interface}
    end 0
done
names 2 "10.78.0.1 h1" "127.0.1.1 h2"
begin "1 1 2 1" h1 --interface eth1
end 0

# Several addresses; for host 2 the resolver puts that of host 3 first. There no program listens ...
names 2 "10.77.0.3 meet" "10.77.0.1 meet"
names 1 "10.77.0.1 meet"
host_network 2 ip neigh replace 10.77.0.3 lladdr 02:00:00:00:00:99 dev eth0
begin "1 2 1 2" meet
end 0
host_network 2 ip neigh del 10.77.0.3 dev eth0
# ... or another program does, and rank 0 starts late.
host_as 3
"${as[@]}" python3 -c "
import socket
s = socket.create_server(('10.77.0.3', $((port + 1))))
while True:
    c = s.accept()[0]; c.send(b'220 mail.invalid ESMTP\r\n'); c.recv(1)" &
holder=$!
check "there is a listener" await 60 listening 3 >/dev/null
late=1 begin "1 2 1 2" meet
end 0
kill $holder
wait $holder 2>/dev/null
# None of them is right: the message has the result of each.
for host in 1 2; do names $host "10.77.0.99 meet" "10.77.0.3 meet"; done
begin "2 2" meet --timeout 3
kill "${pids[0]}"
wait "${pids[0]}"
ended 1 5 "10.77.0.3 port $port: Connection refused"
check_says "10.77.0.99 port $port: (no answer|No route to host)"

# ---- IPv6 only ----

if [ -n "$hosts_ipv6" ]; then
    for host in 1 2 3; do names $host "fd77::1 six"; done
    begin "1 2 1" six
    end 0
    # A job with IPv4 only, then with IPv6 only.
    for host in 1 2; do host_on $host sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6'; done
    begin "1 2 1" 10.77.0.1
    end 0
    begin "1 2 1" 10.77.0.1 --interface eth0
    end 0
    hosts_down
    hosts_up 3 || failed "$hosts_missing"
    for host in 1 2; do
        for device in eth0 eth1 lo; do host_network $host ip -4 addr flush dev $device; done
    done
    begin "1 2 1" "[fd77::1]"
    end 0
    begin "1 2 1" h1-ipv6 --interface eth0
    end 0
    hosts_down
    hosts_up 3 || failed "$hosts_missing"
else
    echo "not tested: IPv6 (this kernel has none)"
fi

# ---- a blocked route ----

# Ranks 1 and 2 reach rank 0, but not each other: the connecting rank reports the addresses and results.
host_network 3 ip route add unreachable 10.77.0.2
host_network 3 ip neigh add 10.78.0.2 lladdr 02:00:00:00:00:99 dev eth1
[ -z "$hosts_ipv6" ] || host_network 3 sh -c 'ip route add prohibit fd77::2 && ip route add prohibit fd78::2'
begin "1 2 3" h1 --timeout 4
ended 1 5
ended 2 5
ended 0 5 "rank 2 could not connect to rank 1 \(tcp\) within 4 s: .*10.77.0.2 port [0-9]+: No route to host"
check_says "10.78.0.2 port [0-9]+: no answer"
[ -z "$hosts_ipv6" ] || check_says "fd78::2 port [0-9]+: Permission denied"
# One route is left.
host_network 3 ip neigh del 10.78.0.2 lladdr 02:00:00:00:00:99 dev eth1
begin "1 2 3" h1
end 0

finish

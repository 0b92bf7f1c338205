# shellcheck shell=bash
# hosts.sh - several hosts for a system test, which sources it behind lib.sh and calls private_machine first.
#
# A host is a set of namespaces that one sleeping process holds: its own network, name, /dev/shm, boot id and
# /etc/hosts. Processes and files are common to all hosts. Host I is called hI, and its devices are
#     eth0    10.77.0.I/24    fd77::I/64    bridge lan0
#     eth1    10.78.0.I/24    fd78::I/64    bridge lan1
# (IPv6 where the kernel has it: $hosts_ipv6). The bridges are in the test's own network namespace, 10.77.0.254 and so
# on, whose side of a host's two cables is called lan0-I and lan1-I. All of it lies in the namespaces of
# private_machine, so tests that run at the same time do not meet, and nothing stays behind when one is killed.
#
#     hosts_up 3 || skip "$hosts_missing"
#     host_on 2 "$CCTEST" ...
#     hosts_down

hosts_missing='' hosts_ipv6='' hosts_state=''
hosts_sysfs='' # yes: /sys of a host has its own network devices, and nothing that a test has mounted there
declare -A host_holder=()

# hosts_up N [NAME...]: hosts 1 .. N, with names h1 .. hN by default. On failure $hosts_missing is the reason.
hosts_up() {
    local host count=$1
    hosts_missing=
    if [ -z "$private" ]; then
        hosts_missing="this user may make no namespaces"
    elif ! command -v ip nsenter unshare >/dev/null; then
        hosts_missing="ip, nsenter or unshare is not here: install iproute2 and util-linux"
    fi
    [ -z "$hosts_missing" ] || return
    # shellcheck disable=SC2154 # lib.sh's
    hosts_state=$(mktemp -d "$scratch/hosts.XXXXXX")
    [ ! -e /proc/sys/net/ipv6 ] || hosts_ipv6=yes
    {
        echo 127.0.0.1 localhost
        for ((host = 1; host <= count; host++)); do echo "10.77.0.$host ${*:1+host:1} h$host"; done
        for ((host = 1; host <= count; host++)); do [ -z "$hosts_ipv6" ] || echo "fd77::$host h$host-ipv6"; done
    } >"$hosts_state/names"
    hosts_lan 0 && hosts_lan 1 || return
    for ((host = 1; host <= count; host++)); do
        host_begin "$host" "${*:1+host:1}" && host_wire "$host" 0 && host_wire "$host" 1 || return
    done
}

# hosts_try COMMAND...: if it fails, its output is the reason why there are no hosts.
hosts_try() {
    hosts_missing=$("$@" 2>&1) && hosts_missing= && return
    hosts_missing="no hosts here: $(head -n 1 <<<"$hosts_missing") ($1 $2 $3)"
    hosts_down
    return 1
}

hosts_lan() { # hosts_lan 0|1: a bridge, outside all hosts
    ip link show "lan$1" >"$hosts_state/lan" 2>&1 && return
    hosts_try ip link add "lan$1" type bridge && hosts_try ip addr add "10.7$((7 + $1)).0.254/24" dev "lan$1" &&
        { [ -z "$hosts_ipv6" ] || hosts_try ip addr add "fd7$((7 + $1))::fe/64" dev "lan$1" nodad; } &&
        hosts_try ip link set "lan$1" up
}

# The process that holds host $1, with name $2, writes its pid when the host is complete. It is not a child of this
# shell, so that a test may wait for all of its children.
host_begin() {
    local state=$hosts_state/$1
    cp "$hosts_state/names" "$state.names"
    cat /proc/sys/kernel/random/uuid >"$state.boot"
    # shellcheck disable=SC2016
    (unshare --net --uts --ipc --mount sh -c '
        hostname "${1:-h${0##*/}}" && mount -t tmpfs none /dev/shm && mount --bind "$0.names" /etc/hosts &&
        mount --bind "$0.boot" /proc/sys/kernel/random/boot_id && mkdir "$0.cgroup" && ip link set lo up
        # Counters of its own network devices; the control groups of all.
        [ -z "$2" ] || { mount --rbind /sys/fs/cgroup "$0.cgroup" && mount -t sysfs none /sys &&
            mount --rbind "$0.cgroup" /sys/fs/cgroup; } 2>/dev/null
        echo $$ >"$0.holder"
        exec sleep infinity >/dev/null 2>&1' "$state" "${2:-}" "$hosts_sysfs" </dev/null >/dev/null 2>"$state.error" &)
    if ! await 60 test -s "$state.holder" -o -s "$state.error" || [ -s "$state.error" ]; then
        hosts_missing="no hosts here: $(head -n 1 "$state.error")"
        hosts_down
        return 1
    fi
    host_holder[$1]=$(<"$state.holder")
}

host_wire() { # host_wire I 0|1: the cable between a host's ethX and lanX
    local port="lan$2-$1" network=$((7 + $2))
    hosts_try ip link add "$port" type veth peer name "eth$2" netns "${host_holder[$1]}" &&
        hosts_try ip link set "$port" master "lan$2" up &&
        hosts_try host_network "$1" ip addr add "10.7$network.0.$1/24" dev "eth$2" &&
        { [ -z "$hosts_ipv6" ] ||
            hosts_try host_network "$1" ip addr add "fd7$network::$1/64" dev "eth$2" nodad; } &&
        hosts_try host_network "$1" ip link set "eth$2" up
}

host_network() { nsenter --target "${host_holder[$1]}" --net "${@:2}"; }

# host_as I: sets $as so that "${as[@]}" COMMAND... runs on host I, in the current folder. For background commands: $!
# is then the command itself, not a shell around it.
host_as() {
    # shellcheck disable=SC2034 # for the tests
    as=(nsenter --target "${host_holder[$1]}" --net --uts --ipc --mount --wd)
}

host_on() { # host_on I COMMAND...
    local as
    host_as "$1"
    "${as[@]}" "${@:2}"
}

# The file behind /etc/hosts of host I. Write to it, never replace it. It has localhost and all hosts (and hI-ipv6).
host_names() { echo "$hosts_state/$1.names"; }

# Processes on host I, including its holder.
host_pids() {
    local process
    for process in /proc/[0-9]*; do
        [ "$process/ns/net" -ef "/proc/${host_holder[$1]}/ns/net" ] && echo "${process#/proc/}"
    done
}

# Limits all traffic of a host to RATE in each direction (in tc's units: 200mbit). Replaces link_rate of this host.
host_rate() { # host_rate I RATE [BURST]
    local lan burst=${3:-256k}
    for lan in 0 1; do
        tc qdisc replace dev "lan$lan-$1" root tbf rate "$2" burst "$burst" latency 50ms &&
            host_network "$1" tc qdisc replace dev "eth$lan" root tbf rate "$2" burst "$burst" latency 50ms || return
    done
}

# Moves hosts behind a second switch. Its only cable to the first one has RATE in each direction.
hosts_apart() { # hosts_apart RATE HOST...
    local lan end host
    for lan in 0 1; do
        ip link add "far$lan" type bridge && ip link set "far$lan" up &&
            ip link add "up$lan" type veth peer name "down$lan" &&
            ip link set "up$lan" master "lan$lan" && ip link set "down$lan" master "far$lan" || return
        for end in "up$lan" "down$lan"; do
            tc qdisc replace dev "$end" root tbf rate "$1" burst 64k latency 50ms && ip link set "$end" up || return
        done
        for host in "${@:2}"; do ip link set "lan$lan-$host" master "far$lan" || return; done
    done
}

# Undoes hosts_apart.
hosts_together() { # hosts_together HOST...
    local lan host
    for lan in 0 1; do
        for host in "$@"; do ip link set "lan$lan-$host" master "lan$lan"; done
        ip link del "up$lan"
        ip link del "far$lan"
    done
}

host_unrate() { # host_unrate I: full speed again
    local lan
    for lan in 0 1; do
        tc qdisc del dev "lan$lan-$1" root 2>/dev/null
        host_network "$1" tc qdisc del dev "eth$lan" root 2>/dev/null
    done
    true
}

# Limits the traffic between hosts I and J to RATE in each direction. host_unrate of both ends it.
link_rate() { # link_rate I J RATE
    link_rate_from "$1" "$2" "$3" && link_rate_from "$2" "$1" "$3"
}

link_rate_from() {
    local lan device
    for lan in 0 1; do
        device=eth$lan
        if ! host_network "$1" tc qdisc show dev "$device" | grep -q '^qdisc htb 1:'; then
            host_network "$1" tc qdisc replace dev "$device" root handle 1: htb default fff || return
            host_network "$1" tc class add dev "$device" parent 1: classid 1:fff htb rate 100gbit quantum 60000 ||
                return
        fi
        host_network "$1" tc class replace dev "$device" parent 1: classid "1:$2" htb rate "$3" burst 16k \
            quantum 60000 &&
            host_network "$1" tc filter add dev "$device" parent 1: prio 1 protocol ip u32 \
                match ip dst "10.7$((7 + lan)).0.$2/32" flowid "1:$2" || return
        [ -z "$hosts_ipv6" ] || host_network "$1" tc filter add dev "$device" parent 1: prio 2 protocol ipv6 u32 \
            match ip6 dst "fd7$((7 + lan))::$2/128" flowid "1:$2" || return
    done
}

# A black hole: host I's devices stay up, and nothing arrives.
host_cut() { ip link set "lan0-$1" nomaster && ip link set "lan1-$1" nomaster; }
host_heal() { ip link set "lan0-$1" master lan0 && ip link set "lan1-$1" master lan1; }

# Hosts I and J cannot reach each other; other pairs can. `link_route del` in both directions ends it.
link_cut() { link_route add "$1" "$2" && link_route add "$2" "$1"; } # link_cut I J
link_route() { # link_route add|del I J: a route from I to J that leads nowhere
    local lan
    for lan in 0 1; do
        host_network "$2" ip route "$1" blackhole "10.7$((7 + lan)).0.$3" || return
        [ -z "$hosts_ipv6" ] || host_network "$2" ip -6 route "$1" blackhole "fd7$((7 + lan))::$3" || return
    done
}

# Pulls the cables out; host I sees the links go down.
host_unplug() { ip link set "lan0-$1" down && ip link set "lan1-$1" down; }
host_plug() { ip link set "lan0-$1" up && ip link set "lan1-$1" up; }

# launch "HOSTS" OPTION...: starts a job whose rank r is on the r-th of these hosts, and is called r for `ended`. The JSON of
# rank 0 will be in $hosts_json.
hosts_json=$scratch/met.json hosts_port=7000 hosts_patience=20 # its --timeout
launch() {
    local dealt rank as
    read -ra dealt <<<"$1"
    hosts_port=$((hosts_port + 1))
    rm -f "$hosts_json"
    for rank in "${!dealt[@]}"; do
        host_as "${dealt[rank]}"
        start "$rank" "${as[@]}" "$CCTEST" "${@:2}" --json "$hosts_json" --timeout "$hosts_patience" \
            --rendezvous "h${dealt[0]}:$hosts_port" --rank "$rank" --world "${#dealt[@]}"
    done
}

# meet "HOSTS" OPTION...: launches a job and checks that all ranks succeed. The output of rank 0 is in $scratch/0.out.
meet() {
    local dealt rank
    launch "$@"
    read -ra dealt <<<"$1"
    for rank in "${!dealt[@]}"; do ended "$rank" 0; done
}

# Ends all processes on all hosts, and the hosts with them.
hosts_down() {
    local host pid
    for host in "${!host_holder[@]}"; do
        for pid in $(host_pids "$host"); do kill -KILL "$pid"; done 2>/dev/null
        ip link del "lan0-$host" 2>/dev/null
        ip link del "lan1-$host" 2>/dev/null
    done
    for host in far0 far1 up0 up1; do ip link del "$host" 2>/dev/null; done
    host_holder=()
}

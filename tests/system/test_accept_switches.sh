#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept --switches`: halves by switch show a link between switches that is slow only when many use it.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"

# Files that do not fit are refused before the first stage.
refused() { # refused REGEX FILE-CONTENT
    printf '%s\n' "$2" >"$scratch/switches"
    cctest accept --np 2 --switches "$scratch/switches"
    check_status 2 "$2"
    check_says "$1"
    check_silent '^  start ' "$out"
}
refused 'switches has no switch for .*, which is in this run: add it to the line of its switch' 's1: elsewhere[1-9]'
refused 'switches names no switch: give ' '# nothing'
refused "switches:2: .n\[1-. is no list of names, a bracket is not closed: " $'s0: m1\ns1: n[1-'
refused 'switches:2: host .* is behind switch s1 already \(line 1\)' "s1: $(uname -n)"$'\n'"s2: $(uname -n)"
cctest accept --np 2 --switches /nowhere/switches
check_status 2
check_says '/nowhere/switches'

if ! hosts_up 7; then
    echo "not tested: several hosts ($hosts_missing)"
    finish
fi
for host in 1 2 3 4 5 6 7; do host_rate "$host" 100mbit; done
hosts_apart 100mbit 4 5 6 || { echo "no second switch" && exit 1; }
hosts_patience=9
accepts() { # accepts STATUS OPTION...
    launch "1 2 3 4 5 6" accept -x tcp --quick --stages pairs,halves "${@:2}"
    for rank in 0 1 2 3 4 5; do ended "$rank" "$1"; done
    out=$scratch/0.out err=$scratch/0.err
}

# One pair has the whole link between the switches; three pairs share it.
cat >"$scratch/topology.conf" <<'END'
# Slurm's
SwitchName=spine Switches=s[1-2] LinkSpeed=100
SwitchName=s1 Nodes=h[1-3]
switchname=s2 \
    nodes=h[4-6]
END
accepts 4 --switches "$scratch/topology.conf"
check_says '^  pairs +done .*; behind one switch .* us.*; between switches .* us' "$out"
check_says '^  halves +done .*[36] random halves of 6 hosts: [0-9]+%, 6 halves by switch of 2 switches: [0-9]+%' "$out"
check_says 'all: when 3 pairs of hosts behind different switches exchange at once, the pairs between s\[1-2\] have [0-9]+% of' "$out"
check_says '^# good: h\[1-6\]$' "$out"
check_json "$hosts_json" 'd["options"]["switches"].endswith("topology.conf")' \
    '[h["switch"] for h in d["hosts"]] == ["s1"] * 3 + ["s2"] * 3' \
    'any("s[1-2]" in f["message"] for f in d["findings"])' 'all(h["health"] == "good" for h in d["hosts"])'

# Where all are behind one switch there are no such halves, and the line says so.
echo 'only: h[1-64]' >"$scratch/list"
accepts '[04]' --switches "$scratch/list"
check_says '^  halves +partly .*no halves by switch: all good hosts are behind one switch, only' "$out"
check_silent 'behind different switches' "$out"

# Two faulty hosts are the two behind one switch: a note names it.
for host in 6 7; do host_rate "$host" 20mbit; done
echo 'faulty: h[6-7]' >"$scratch/list"
for host in 1 2 3 4 5; do echo "s$host: h$host" >>"$scratch/list"; done
for _ in 1 2 3; do # again where other processes disturbed it
    launch "1 2 3 4 5 6 7" accept -x tcp --quick --stages pairs,isolate --pairs all --switches "$scratch/list"
    for rank in 0 1 2 3 4 5 6; do ended "$rank" 4; done
    out=$scratch/0.out err=$scratch/0.err
    { grep -q 'behind switch faulty$' "$out" || ! grep -qE ' [1-9][0-9]* disturbed measurement' "$out"; } && break
    echo "repeated: other processes disturbed its measurements"
done
check_says '^  note +all: all 2 hosts that are bad or suspect are behind switch faulty$' "$out"
hosts_down
finish

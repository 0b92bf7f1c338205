#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept` while a worker, an agent or rank 0 is killed or stopped, or a host is cut off: the loss is named, the other hosts are
# good, nothing is left.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
for host in 1 2 3 4; do host_rate "$host" 400mbit; done
cd "$scratch" || exit 1
nothing_is_left() { check "processes are left: $(strange_processes)" test -z "$(strange_processes)"; }

# accepts "HOSTS" NAME=...: starts agents on these hosts; rank 0's table will be in $scratch/0.out.
hosts_patience=9
accepts() { launch "$1" accept -x tcp --quick "${@:2}"; }
table() { out=$scratch/0.out err=$scratch/0.err; }
worker_of() { # worker_of HOST: the pid of its worker
    local pid
    for pid in $(host_pids "$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != cctest-worker ] || { echo "$pid" && return; }
    done
    return 1
}
worker_stop() { # worker_stop HOST: stops a worker of it; it fails if that has just ended
    local pid
    pid=$(worker_of "$1") && kill -STOP "$pid" 2>/dev/null
}
agent_of() {
    local pid
    for pid in $(host_pids "$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != cctest ] || { echo "$pid" && return; }
    done
    return 1
}

# until_hit REGEX FUNCTION: runs FUNCTION until rank 0's table has a line that matches, at most five times. A signal just before a
# worker ends changes nothing.
until_hit() {
    for _ in 1 2 3 4 5; do
        "$2"
        grep -qE "$1" "$scratch/0.out" && return
    done
}

# A worker that is stopped makes its host bad, also where the time of its stage is short.
# shellcheck disable=SC2317 # called by await
worker_here_stop() { pkill -STOP -x cctest-worker; }
stop_only() {
    start 0 "$CCTEST" accept --np 1 --stages self:4
    await 60 worker_here_stop
    ended 0 '[05]'
}
until_hit 'it was stopped$' stop_only
check "the status is $status" test "$status" = 5
check_says '^  bad +[^ ]+: its memory and cores cannot be measured: the worker on [^ ]+ did not end in time: it was stopped$' "$out"
nothing_is_left

# Where isolate is left out, a host whose workers are lost is bad.
accepts "1 2 3 4" --stages pairs
check "the stage start has ended" await 60 grep -q '"stage": "start"' "$hosts_json"
while kill -0 "$(agent_of 1)" 2>/dev/null; do
    killed=$(worker_of 2) && kill -KILL "$killed" 2>/dev/null
    sleep 0.1
done
for rank in 0 1 2 3; do ended "$rank" 5; done
table
check_says '^  bad +h2: a worker was lost: confirmed with h[134]' "$out"

no_host_is_lost() { # all stages ended, with all hosts
    check_json "$hosts_json" 'not any(h["lost"] for h in d["hosts"])' \
        '[s["stage"] for s in d["stages"]] == ["start", "pairs", "isolate"]' \
        'len([p for p in d["pairs"] if p["value"]]) >= 20'
}

# A worker that is killed, and one that is stopped, cost their stage and nothing else; an agent that is ended takes its
# host out, which is suspect. The others are good.
kill_one() {
    accepts "1 2 3 4" --stages pairs,isolate -v
    check "the stage start has ended" await 60 grep -q '"stage": "start"' "$hosts_json"
    killed=$(await 60 worker_of 2) && kill -KILL "$killed"
    for rank in 0 1 2 3; do ended "$rank" '[05]'; done
}
until_hit 'job failed: the worker on h2 was killed' kill_one
table
check_says '^  pairs .*; 1 job failed: the worker on h2 was killed by SIGKILL' "$out"
check_says '^#   (h[134], h2|h2, h[134]): lost: the worker on h2 was killed by SIGKILL$' "$out"
check_says '^# good: h\[1-4\]$' "$out"
check_says '^# bad: none$' "$out"
no_host_is_lost
accepts "1 2 3 4" --stages pairs,isolate
await 60 worker_stop 2
for rank in 0 1 2 3; do ended "$rank" '[05]'; done
table
check_says '^# good: (h\[1-4\]|h\[1,3-4\]|h\[3-4\])$' "$out"
no_host_is_lost
stop_one() {
    SECONDS=0
    accepts "1 2 3 4" --stages pairs:5,isolate:5
    await 60 worker_stop 2
    for rank in 0 1 2 3; do ended "$rank" '[05]'; done
    check "two stages of 5 s took $SECONDS s" test $SECONDS -le 100
}
until_hit '^  pairs +partly' stop_one
table
check_says '^  pairs +partly .* [1-9] of [1-9] rounds fit into its time' "$out"
check_json "$hosts_json" 'd["options"]["stages"] == ["start", "pairs:5", "isolate:5"]' 'not any(h["lost"] for h in d["hosts"])'
nothing_is_left
for ending in 'KILL its process ended' 'TERM it was ended by SIGTERM'; do
    accepts "1 2 3 4" --stages pairs,isolate,all --junit "$scratch/junit.xml" --bad "$scratch/bad"
    await 60 worker_of 2 >/dev/null && kill "-${ending%% *}" "$(agent_of 2)"
    for rank in 0 2 3; do ended "$rank" 5; done
    table
    check_says "^  suspect +h2: lost in stage pairs: .*${ending#* }" "$out"
    check_says '^ +start: look for what ended the process \(the out-of-memory killer, ' "$out"
    check_says '^# good: h\[1,3-4\]$' "$out"
    check_says '^# suspect: h2$' "$out"
    check_silent 'scontrol|reboot' "$out"
    check "no host is drained" test "$(cat "$scratch/bad")" = ""
    check "a lost host's cases are skipped" test "$(grep -c '<skipped message="the host was lost before"' "$scratch/junit.xml")" = 2
    wait "${pids[1]}"
    nothing_is_left
done

# If rank 0 was stopped, and the others left it, none of them is at fault.
accepts "1 2 3 4" --stages pairs,isolate,all --good "$scratch/good" --bad "$scratch/bad"
await 60 worker_of 1 >/dev/null && stopped=$(agent_of 1) && kill -STOP "$stopped"
for rank in 1 2 3; do ended "$rank" 5; done
kill -CONT "$stopped"
ended 0 5
table
check_says '^  bad +h1: lost since stage pairs: rank 0 is alive, and 3 of the 3 other hosts fell silent for it: rank 0 was stopped' "$out"
check_says '^# bad: h1$' "$out"
check "no other host is drained" test "$(cat "$scratch/bad")" = h1
nothing_is_left

# If all other hosts fall silent for rank 0, it is its own host or network that is at fault.
accepts "1 2 3 4" --stages pairs,isolate,all --good "$scratch/good" --bad "$scratch/bad"
await 60 worker_of 2 >/dev/null && host_cut 1
for rank in 0 1 2 3; do ended "$rank" 5; done
table
check_says '^  bad +h1: lost since stage pairs: rank 0 is alive, and 3 of the 3 other hosts fell silent' "$out"
check_says '^  unknown +h3: lost in stage pairs: .*silent for' "$out"
check_says '^# good: none$' "$out"
check_says '^# unknown: h\[2-4\]$' "$out"
check "the lists" test "$(cat "$scratch/good" "$scratch/bad")" = $'\nh1'
check_says '^ +cable: look at its link and its switch port, ' "$out"
check_json "$hosts_json" '[h["health"] for h in d["hosts"]] == ["bad"] + ["unknown"] * 3' '[line.split()[2] for line in d["drain"]] == ["NodeName=h1"]'
host_heal 1
nothing_is_left

# Likewise where a signal ends the run before rank 0 has judged: mpirun sends one when the first of the others has left.
accepts "1 2 3 4" --stages self --duration 60 --good "$scratch/none" --bad "$scratch/bad"
check "the stage start has ended" await 60 grep -q '"stage": "start"' "$hosts_json"
host_cut 1
check "the losses are known" await 60 grep -q '"lost": true' "$hosts_json"
check_json "$hosts_json" 'd["status"] == "running"' 'all(h["health"] == "unknown" for h in d["hosts"])' 'not d["drain"]'
kill -TERM "$(agent_of 1)"
ended 0 130
for rank in 1 2 3; do ended "$rank" 5; done
table
check_says '^  bad +h1: lost since stage [a-z]+: rank 0 is alive, and 3 of the 3 other hosts fell silent' "$out"
check_says '^# unknown: h\[2-4\]$' "$out"
check "no other host is drained" test "$(cat "$scratch/bad")" = h1
check "no host is called good" test ! -e "$scratch/none"
host_heal 1
nothing_is_left

# A stopped agent is missed, and its host too.
accepts "1 2 3 4" --stages pairs,isolate,all
await 60 worker_of 4 >/dev/null && stopped=$(agent_of 4) && kill -STOP "$stopped"
for rank in 0 1 2; do ended "$rank" 5; done
table
check_says '^  bad +h4: lost in stage pairs: .*silent for' "$out"
check_says '^# good: h\[1-3\]$' "$out"
kill -CONT "$stopped"
ended 3 5
nothing_is_left

# An agent that never comes is missed, and the others go on. It may never have started: no host is bad.
free_port
host_as 1
start 0 "${as[@]}" "$CCTEST" accept --stages start --timeout 2 --rendezvous h1:7900 --rank 0 --world 3 --json "$scratch/absent.json" \
    --html "$scratch/absent.html" --junit "$scratch/absent.xml"
host_as 2
start 1 "${as[@]}" "$CCTEST" accept --stages start --timeout 2 --rendezvous h1:7900 --rank 1 --world 3
for rank in 0 1; do ended "$rank" 5; done
table
check_says '^# cctest .* accept, 2 of 3 agents on 2 hosts, bootstrap tcp$' "$out"
check_says '^  unknown +\(rank 2\): it did not call rank 0 within 2 s' "$out"
check_says '^ +start: start this agent, ' "$out"
check_says '^# unknown: \(rank 2\),h\[1-2\]$' "$out"
check_says '^# bad: none$' "$out"
check_json "$scratch/absent.json" '[h["health"] for h in d["hosts"]] == ["unknown"] * 3' '[f["health"] for f in d["findings"]] == ["unknown"]'
check_says '3 of 3 hosts are not judged' "$scratch/absent.html"
check_says '<failure type="unknown" message="\(rank 2\): it did not call rank 0' "$scratch/absent.xml"

# A port of the switch has a smaller MTU than the interfaces, so large packets of host 3 vanish: no host is silent, and sizes of
# messages tell the cause. Here a packet could else be many packets of TCP, which no MTU stops.
for host in 1 2 3 4; do
    for lan in 0 1; do host_network "$host" ip link set "eth$lan" gso_max_segs 1; done
done
for lan in 0 1; do ip link set "lan$lan-3" mtu 1400; done
accepts "1 2 3 4" --stages inventory,pairs,isolate
for rank in 0 1 2 3; do ended "$rank" 5; done
table
check_says '^  bad +h3: a measurement did not end in its time: confirmed with h[124]( and h[124])?; from (h[124] to h3|h3 to h[124]) messages of (1280|1344) bytes pass, and of (1344|1408) do not: a port or switch on this path drops large packets, since its MTU' "$out"
check_says '^# good: h\[1-2,4\]$' "$out"
for lan in 0 1; do ip link set "lan$lan-3" mtu 1500; done
nothing_is_left

# Of two hosts that do not hear each other any more, either may be at fault: none is drained.
accepts "1 2" --stages pairs,isolate --bad "$scratch/bad"
await 60 worker_of 2 >/dev/null && host_cut 1
for rank in 0 1; do ended "$rank" 5; done
table
check_says '^  suspect +h2: lost in stage pairs: .*silent for .*; no other host can tell whether it or h1 is at fault$' "$out"
check_says '^# suspect: h\[1-2\]$' "$out"
check_silent 'scontrol' "$out"
check_json "$hosts_json" '[h["health"] for h in d["hosts"]] == ["suspect"] * 2' 'not d["drain"]'
check "no host is drained" test "$(cat "$scratch/bad")" = ""
host_heal 1
nothing_is_left

# Rank 0 dies: the others end, and the JSON has what was known after the last stage. It judged no host.
accepts "1 2 3 4" --stages pairs,isolate,all
check "the stage start was kept" await 60 grep -q '"stage": "start"' "$hosts_json"
kill -KILL "$(agent_of 1)"
for rank in 1 2 3; do
    ended "$rank" 5
    check_says 'rank 0 is lost'
done
check_json "$hosts_json" 'd["status"] == "running"' 'd["stages"][0]["stage"] == "start"' '[h["health"] for h in d["hosts"]] == ["unknown"] * 4'
wait "${pids[0]}"
nothing_is_left
hosts_down
finish

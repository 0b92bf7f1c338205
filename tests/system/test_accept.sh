#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept`: agents start workers and outlive them, stages say what they did, results survive, nothing is left.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"

cd "$scratch" || exit 1
nothing_is_left() { check "processes are left: $(strange_processes)" test -z "$(strange_processes)"; }

# One host, on this machine: what needs several hosts is left out, and each line says why.
json=$scratch/one.json
cctest accept --np 3 --json "$json"
check_status 0
check_says '^  start +done .* 3 agents on 1 host$' "$out"
check_says '^  self +partly .* nothing to be held against' "$out"
check_says '^  node +partly .*alltoall' "$out"
check_says '^  pairs +left out .* pairs need two hosts' "$out"
check_says '^  all +left out ' "$out"
check_says '^# status: ok$' "$out"
check_json "$json" 'd["command"] == "accept"' 'd["status"] == "ok"' 'len(d["hosts"]) == 1' \
    '[s["stage"] for s in d["stages"]] == ["start", "inventory", "self", "node", "pairs", "isolate", "halves", "all"]' \
    'd["hosts"][0]["health"] == "good"' 'any(n["metric"] == "copy by all cores" for n in d["numbers"])'
nothing_is_left

# A run that is interrupted judges no host, and writes no list of good ones.
"$CCTEST" accept --np 2 --json "$scratch/early.json" --good "$scratch/early" --bad "$scratch/early.bad" >"$out" 2>"$err" &
early=$!
check "the stage start has ended" await 60 grep -q '"stage": "start"' "$scratch/early.json"
kill -TERM "$early"
wait "$early"
status=$? ran=(an interrupted run)
check_status 130
check_says '^# the run was ended early' "$out"
check_silent '^# good' "$out"
check "no list of good hosts" test ! -e "$scratch/early"
check_json "$scratch/early.json" 'd["status"] == "interrupted"' 'd["errors"][0]["message"] == "interrupted by SIGTERM"'
nothing_is_left

# Many agents start, go through an empty stage, and end.
for agents in 16 64 256; do
    cctest accept --np "$agents" --stages start
    check_status 0 "$agents agents"
    check_says "^  start +done .* $agents agents on 1 host" "$out"
done
nothing_is_left

# While nobody reads its table, rank 0 sends heartbeats: no agent leaves.
cat >"$scratch/late_reader.py" <<'PYTHON'
import fcntl, os, subprocess, sys, time
reads, writes = os.pipe()
fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
os.set_blocking(writes, False)
try:
    while True:
        os.write(writes, b"." * 512)
except BlockingIOError:
    os.set_blocking(writes, True)
job = subprocess.Popen(sys.argv[1:], stdout=writes)
os.close(writes)
time.sleep(5)
sys.stdout.write(open(reads).read().lstrip("."))
sys.exit(job.wait())
PYTHON
run python3 "$scratch/late_reader.py" "$CCTEST" accept --np 3 --stages start,self --timeout 6
check_status 0 "a table that is read late"
check_says '^# good: ' "$out"

# A line on a terminal says what runs and how long it may take, and is gone when the stage is done; elsewhere nothing shows it.
# While the terminal is stopped (Ctrl-S) the run goes on.
cat >"$scratch/terminal.py" <<'PYTHON'
import os, pty, subprocess, sys
terminal, slave = pty.openpty()
if sys.argv[1] == "stopped":
    os.write(terminal, b"\x13")
job = subprocess.Popen(sys.argv[2:], env=dict(os.environ, TERM="xterm"), stderr=slave)
os.close(slave)
if sys.argv[1] == "stopped":
    job.wait(30)
    os.write(terminal, b"\x11")
try:
    while data := os.read(terminal, 65536):
        sys.stderr.write(data.decode().replace("\r", "\n"))
except OSError: # the job has closed it
    pass
sys.exit(job.wait())
PYTHON
for way in shown stopped; do
    run python3 "$scratch/terminal.py" $way "$CCTEST" accept --np 3 --stages start,self --timeout 6
    check_status 0 "a terminal: $way"
    check_says '^# good: ' "$out"
    [ $way = stopped ] && continue
    check_says 'running for [0-9]+ s: self, [01] of 1 jobs have ended, [0-9]+ s more at most'
    check "the line is gone" test "$(grep . "$err" | tail -n 1)" = $'\e[K'
done
cctest accept --np 3 --stages start,self
check_silent 'running'

# A table that cannot be written is an error, which JSON tells; the files are written.
"$CCTEST" accept --np 2 --stages start --json full.json --good full.good >/dev/full 2>"$err"
status=$? ran=(accept '>/dev/full')
check_status 1
check_says 'cannot write the table: No space left on device'
check_json full.json 'd["status"] == "error"' '"cannot write the table" in d["errors"][0]["message"]'
check "the list is there" test -s full.good
mkdir full && mount -t tmpfs -o size=4k none full && echo x >full/good && head -c 4000 /dev/zero >full/fill
cctest accept --np 2 --stages start --json full.json --good full/good --bad full.bad --html full.html
check_status 1
check_says 'cannot write full/good: '
check "the others are there" test -e full.bad -a -s full.html
check_json full.json 'd["status"] == "error"'
umount full

# What a profile asks and nobody measured is not met.
echo 'self.copy >= 1 GB/s' >asked
cctest accept --np 2 --stages start --profile asked
check_status 4
check_says '^  note +all: asked asks for self\.copy, which no stage of this run has measured$' "$out"

# A worker that is stopped makes its host bad, also where the time of its stage is short.
start 0 "$CCTEST" accept --np 1 --stages self:4
worker_here_stop() { pkill -STOP -x -s 0 cctest-worker; } # in this session: without a private machine others have some, too
await 60 worker_here_stop
ended 0 5
check_says '^  bad +[^ ]+: its memory and cores cannot be measured: the worker on [^ ]+ did not end in time: it was stopped$' "$out"
nothing_is_left

# Bad input.
refused() { # refused REGEX OPTION...
    cctest accept "${@:2}"
    check_status 2 "${*:2}"
    check_says "$1"
}
refused "'pairs:2' in --stages is too short: pairs needs 3 s" --stages pairs:2 --np 2
refused "'node:x' in --stages: write the seconds" --stages node:x --np 2
refused "'nod' is no stage: did you mean 'node'\?" --stages nod --np 2
for option in good bad junit html write-profile; do
    refused 'cannot write /nowhere/x' --$option /nowhere/x --np 2 --json refused.json
    check_json refused.json 'd["status"] == "usage"' 'not d["stages"]' '"/nowhere/x" in d["errors"][0]["message"]'
done
refused '^cctest: --good names asked, which --profile reads: ' --np 2 --profile asked --good asked
cp asked asked.before
cctest accept --np 2 --baseline asked --json asked --quick=1
check_status 2
check "the earlier run stays" cmp asked asked.before
refused '^cctest: --json and --write-profile name the same file' --json both --write-profile both --np 2
refused 'cannot write /nowhere/x' --json /nowhere/x --np 2
refused 'has no option --min-bytes' -b 8 --np 2
refused 'one word too many' allreduce
export SLURMD_NODENAME=node07 # as Slurm calls this host
cctest accept --np 2 --stages start
check_says '^# good: node07$' "$out"
SLURMD_NODENAME=$'a\nb\xff' cctest accept --np 2 --stages start
check_says '^# good: a\?b\?$' "$out"
unset SLURMD_NODENAME
cctest accept --np 2 --stages start --json -
check_status 0
check_says '^# status: ok$'
check_json "$out" 'd["status"] == "ok"'

if ! hosts_up 4; then
    echo "not tested: several hosts ($hosts_missing)"
    finish
fi
for host in 1 2 3 4; do host_rate "$host" 400mbit; done

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

# Healthy hosts: all are good, on each rank.
accepts "1 2 3 4" --stages pairs,isolate,all
for rank in 0 1 2 3; do ended "$rank" 0; done
table
check_says '^# good: h\[1-4\]$' "$out"
check_json "$hosts_json" 'd["status"] == "ok"' 'not d["findings"]' 'len([p for p in d["pairs"] if p["value"]]) >= 24'
nothing_is_left

# A stage whose time is too short for its jobs says so, and accuses no host.
for host in 1 2 3 4; do host_rate "$host" 8mbit; done
launch "1 2 3 4" accept -x tcp --stages pairs:3,isolate:3
for rank in 0 1 2 3; do ended "$rank" 0; done
table
check_says '^  pairs +partly .*its time was over before [0-9]+ jobs? had ended' "$out"
check_says '^# good: h\[1-4\]$' "$out"
check_json "$hosts_json" 'not d["findings"]' 'any(j["why"] == "the time of its stage was over" for j in d["stages"][1]["jobs"])'
nothing_is_left
for host in 1 2 3 4; do host_rate "$host" 400mbit; done

# A throttled host is named, by its numbers beside the fleet's.
host_rate 3 50mbit
accepts "1 2 3 4" --stages pairs,isolate,all --good "$scratch/good" --bad "$scratch/bad" --junit "$scratch/junit.xml" --html "$scratch/page.html"
for rank in 0 1 2 3; do ended "$rank" 4; done
table
check_says '^  bad +h3: sends and receives at 0\.00[0-9]* GB/s, the fleet.s median is 0\.0[0-9]* .*confirmed with' "$out"
check_says '^# good: h\[1-2,4\]$' "$out"
check_says '^# bad: h3$' "$out"
check_says '^# scontrol update NodeName=h3 State=DRAIN Reason="cctest: sends and receives at [^"]*"$' "$out"
check "the lists" test "$(cat "$scratch/good" "$scratch/bad")" = $'h[1-2,4]\nh3'
for words in '✖ 1 of 4 hosts is bad' 'h\[1-2,4\]' 'h3: sends and receives at ' 'Evidence: [0-9]* measurements of h3' 'class="cell h6"><title>h3'; do
    check_says "$words" "$scratch/page.html"
done
ran=(junit)
python3 - "$scratch/junit.xml" >"$scratch/said" 2>&1 <<'PYTHON'
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
assert [s.get("name") for s in suites] == ["start", "pairs", "isolate", "all"]
assert all(len(s.findall("testcase")) == 4 == int(s.get("tests")) for s in suites)
failed = [(s.get("name"), c.get("name")) for s in suites for c in s if c.find("failure") is not None]
assert failed == [("isolate", "h3")], failed
PYTHON
status=$?
check_status 0 "JUnit XML: $(cat "$scratch/said")"
check_json "$hosts_json" 'd["status"] == "slow"' \
    '[(r["unit"], r["held_against"], r["value"] < r["threshold"] < r["median"]) for f in d["findings"] if (r := f["reason"])] == [("GB/s", "fleet", True)]' \
    '[h["name"] for h in d["hosts"] if h["health"] == "bad"] == ["h3"]'
host_rate 3 400mbit

# Where isolate is left out, slowness is a note, and what failed makes a suspect.
host_rate 3 50mbit
accepts "1 2 3 4" --stages pairs
for rank in 0 1 2 3; do ended "$rank" 0; done
table
check_says '^  note +h3: sends and receives at 0\.00[0-9]* GB/s, .*: not tried again$' "$out"
check_says '^# good: h\[1-4\]$' "$out"
host_rate 3 400mbit
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

# A worker that is killed, and one that is stopped, cost their stage and nothing else; an agent that is killed takes its
# host out. The others are good.
accepts "1 2 3 4" --stages pairs,isolate -v
check "the stage start has ended" await 60 grep -q '"stage": "start"' "$hosts_json"
killed=$(await 60 worker_of 2) && kill -KILL "$killed"
for rank in 0 1 2 3; do ended "$rank" '[05]'; done
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
SECONDS=0
accepts "1 2 3 4" --stages pairs:5,isolate:5
await 60 worker_stop 2
for rank in 0 1 2 3; do ended "$rank" '[05]'; done
check "two stages of 5 s took $SECONDS s" test $SECONDS -le 100
table
check_says '^  pairs +partly .* [1-9] of [1-9] rounds fit into its time' "$out"
check_json "$hosts_json" 'd["options"]["stages"] == ["start", "pairs:5", "isolate:5"]' 'not any(h["lost"] for h in d["hosts"])'
nothing_is_left
accepts "1 2 3 4" --stages pairs,isolate,all --junit "$scratch/junit.xml"
await 60 worker_of 2 >/dev/null && kill -KILL "$(agent_of 2)"
for rank in 0 2 3; do ended "$rank" 5; done
table
check_says '^  bad +h2: lost in stage pairs: .*its process ended' "$out"
check_says '^# good: h\[1,3-4\]$' "$out"
check_says '^# bad: h2$' "$out"
check "a lost host's cases are skipped" test "$(grep -c '<skipped message="the host was lost before"' "$scratch/junit.xml")" = 2
wait "${pids[1]}"
nothing_is_left

# If rank 0 was stopped, and the others left it, none of them is at fault.
accepts "1 2 3 4" --stages pairs,isolate,all --good "$scratch/good" --bad "$scratch/bad"
await 60 worker_of 1 >/dev/null && stopped=$(agent_of 1) && kill -STOP "$stopped"
for rank in 1 2 3; do ended "$rank" 5; done
kill -CONT "$stopped"
ended 0 5
table
check_says '^  bad +h1: lost since stage pairs: rank 0 is there, and 3 of the 3 other hosts fell silent for it: rank 0 was stopped' "$out"
check_says '^# bad: h1$' "$out"
check "no other host is drained" test "$(cat "$scratch/bad")" = h1
nothing_is_left

# If all other hosts fall silent for rank 0, it is its own host or network that is at fault.
accepts "1 2 3 4" --stages pairs,isolate,all --good "$scratch/good" --bad "$scratch/bad"
await 60 worker_of 2 >/dev/null && host_cut 1
for rank in 0 1 2 3; do ended "$rank" 5; done
table
check_says '^  bad +h1: lost since stage pairs: rank 0 is there, and 3 of the 3 other hosts fell silent' "$out"
check_says '^  unknown +h3: lost in stage pairs: .*silent for' "$out"
check_says '^# good: none$' "$out"
check_says '^# unknown: h\[2-4\]$' "$out"
check "the lists" test "$(cat "$scratch/good" "$scratch/bad")" = $'\nh1'
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

# An agent that never comes is missed, and the others go on.
free_port
host_as 1
start 0 "${as[@]}" "$CCTEST" accept --stages start --timeout 2 --rendezvous h1:7900 --rank 0 --world 3
host_as 2
start 1 "${as[@]}" "$CCTEST" accept --stages start --timeout 2 --rendezvous h1:7900 --rank 1 --world 3
for rank in 0 1; do ended "$rank" 5; done
table
check_says '^  bad +\(rank 2\): lost: .*did not call rank 0 within 2 s' "$out"
check_says '^# good: h\[1-2\]$' "$out"

# Rank 0 dies: the others end, and the JSON has what was known after the last stage.
accepts "1 2 3 4" --stages pairs,isolate,all
check "the stage start was kept" await 60 grep -q '"stage": "start"' "$hosts_json"
kill -KILL "$(agent_of 1)"
for rank in 1 2 3; do
    ended "$rank" 5
    check_says 'rank 0 is lost'
done
check_json "$hosts_json" 'd["status"] == "running"' 'd["stages"][0]["stage"] == "start"' 'len(d["hosts"]) == 4'
wait "${pids[0]}"
nothing_is_left

# Agents disagree about the options: one sentence, and no stage runs.
host_as 1
start 0 "${as[@]}" "$CCTEST" accept --seed 4 --timeout 5 --rendezvous h1:7901 --rank 0 --world 2
host_as 2
start 1 "${as[@]}" "$CCTEST" accept --timeout 5 --rendezvous h1:7901 --rank 1 --world 2
for rank in 0 1; do
    ended "$rank" 2
    check_says "with other options than rank 0: '--seed 1' there, '--seed 4' at rank 0"
done

# Hosts that have one name cannot be told apart.
host_on 2 hostname h1
accepts "1 2" --stages start
for rank in 0 1; do ended "$rank" 2; done
check_says 'the hosts of rank 0 and of rank 1 are both called h1: give each' "$scratch/0.err"
host_on 2 hostname h2

# Hosts with different numbers of agents are not comparable.
for rank in 0 1 2; do
    host_as $((rank == 2 ? 2 : 1))
    start "$rank" "${as[@]}" "$CCTEST" accept --timeout 5 --rendezvous h1:7902 --rank "$rank" --world 3
done
for rank in 0 1 2; do ended "$rank" 2; done
table
check_says 'host h1 has 2 agents and host h2 has 1: start as many on each host'
hosts_down
finish

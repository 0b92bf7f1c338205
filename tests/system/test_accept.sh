#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept`: stages say what they did, results survive, a throttled host is named, bad input is refused, nothing is left.
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
check_says '^  self +partly .* nothing to compare with' "$out"
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
check_says '^# unknown: [^ ]+$' "$out"
check_json "$scratch/early.json" '[h["health"] for h in d["hosts"]] == ["unknown"]' 'd["seconds"] > 0' \
    'd["command_line"].startswith("cctest accept --np 2 ")' 'd["status"] == "interrupted"' 'd["errors"][0]["message"] == "interrupted by SIGTERM"'
nothing_is_left

# Many agents start, go through an empty stage, and end.
for agents in 16 64 256; do
    cctest accept --np "$agents" --stages start
    check_status 0 "$agents agents"
    check_says "^  start +done .* $agents agents on 1 host" "$out"
done
nothing_is_left

# Where nothing was measured no host is good.
cctest accept --np 2 --stages pairs --good nothing --json nothing.json
check_status 0
check_says '^  pairs +left out ' "$out"
check_says '^# nothing was measured or compared: hosts without a finding are not judged, and --good is not written$' "$out"
check_says '^# unknown: [^ ]+$' "$out"
check "no list of good hosts" test ! -e nothing
check_json nothing.json 'd["hosts"][0]["health"] == "unknown"' 'd["could_have_missed"] is None'

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
"$CCTEST" accept --np 2 --stages inventory --json full.json --good full.good >/dev/full 2>"$err"
status=$? ran=(accept '>/dev/full')
check_status 1
check_says 'cannot write the table: No space left on device'
check_json full.json 'd["status"] == "error"' '"cannot write the table" in d["errors"][0]["message"]'
check "the list is there" test -s full.good
mkdir full && mount -t tmpfs -o size=4k none full && echo x >full/good && head -c 4000 /dev/zero >full/fill
cctest accept --np 2 --stages inventory --json full.json --good full/good --bad full.bad --html full.html
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
cctest accept --np 2 --stages inventory
check_says '^# good: node07$' "$out"
check_says ' rarer than one in [0-9.]*[1-9]' "$out"
SLURMD_NODENAME=$'a\nb\xff' cctest accept --np 2 --stages inventory
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
# A small burst: one that pauses fill would let some pairs be faster than others.
for host in 1 2 3 4; do host_rate "$host" 400mbit 96k; done

# accepts "HOSTS" NAME=...: starts agents on these hosts; rank 0's table will be in $scratch/0.out.
hosts_patience=9
accepts() { launch "$1" accept -x tcp --quick "${@:2}"; }
table() { out=$scratch/0.out err=$scratch/0.err; }

# Healthy hosts: all are good, on each rank.
accepts "1 2 3 4" --stages pairs,isolate,all
for rank in 0 1 2 3; do ended "$rank" 0; done
table
check_says '^# cctest .* accept, 4 agents on 4 hosts, bootstrap tcp$' "$out"
check_says '^# good: h\[1-4\]$' "$out"
check_silent 'man cctest-accept' "$out"
check "said $(grep -c CCTEST_SECRET "$err") times" test "$(grep -c 'CCTEST_SECRET is not set: .*against accidents' "$err")" = 1
check_json "$hosts_json" 'd["status"] == "ok"' 'not d["findings"]' 'len([p for p in d["pairs"] if p["value"]]) >= 24'
nothing_is_left

# A stage whose time is too short for its jobs says so, and names no host.
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
check_says '^  isolate +done .* [0-9]+ suspects? \((h3|.*h3.*)\), [0-9]+ rounds?: ' "$out"
check_says '^ +cable: look at the speed that its port has negotiated, ' "$out"
check_says '^# what the findings mean and what to do: man cctest-accept$' "$out"
for words in '<p class="banner bad">✖ slow: 1 of 4 hosts is bad</p>' '<dd>[0-9.]+ (s|min)</dd>' \
    '<dd>cctest accept --transport tcp .* --stages pairs,isolate,all ' '<pre>scontrol update NodeName=h3 State=DRAIN ' \
    '<p>To do: look at the speed that its port has negotiated, .* \(cable\)</p>' 'h\[1-2,4\]' 'h3: sends and receives at ' 'Evidence: [0-9]* measurements of h3' 'class="cell h6"><title>h3'; do
    check_says "$words" "$scratch/page.html"
done
ran=(junit)
python3 - "$scratch/junit.xml" >"$scratch/said" 2>&1 <<'PYTHON'
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
assert [s.get("name") for s in suites] == ["start", "pairs", "isolate", "all"]
assert all(len(s.findall("testcase")) == 4 == int(s.get("tests")) for s in suites)
failed = [(s.get("name"), c.get("name"), c.find("failure").text.split(":")[0]) for s in suites for c in s if c.find("failure") is not None]
assert failed == [("isolate", "h3", "cable")], failed
PYTHON
status=$?
check_status 0 "JUnit XML: $(cat "$scratch/said")"
check_json "$hosts_json" 'd["status"] == "slow"' \
    '[(r["unit"], r["compared_with"], r["value"] < r["threshold"] < r["median"]) for f in d["findings"] if (r := f["reason"])] == [("GB/s", "fleet", True)]' \
    '[h["name"] for h in d["hosts"] if h["health"] == "bad"] == ["h3"]' '{f["action"]["name"] for f in d["findings"] if f["host"] == 2} == {"cable"}' \
    'len(d["drain"]) == 1 and d["drain"][0].startswith("scontrol update NodeName=h3 State=DRAIN Reason=")'
host_rate 3 400mbit

# Where isolate is left out, slowness is a note, and what failed makes a suspect.
host_rate 3 50mbit
accepts "1 2 3 4" --stages pairs
for rank in 0 1 2 3; do ended "$rank" 0; done
table
check_says '^  note +h3: sends and receives at 0\.00[0-9]* GB/s, .*: not tried again$' "$out"
check_says '^# good: h\[1-4\]$' "$out"
host_rate 3 400mbit

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
check_says 'host h1 has 2 agents and host h2 has 1: start as many on each host .*; if ranks 0 and 1, which both call their host h1, are on two hosts, '
hosts_down
finish

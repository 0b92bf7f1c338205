#!/usr/bin/env bash
# tier: deep; load: alone
# `cctest accept --duration`: stages in rotation, a host that becomes slow while they run, and what is refused.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$repository/tests/system/hosts.sh"
cd "$scratch" || exit 1

# It ends in its time, and stages are repeated in each rotation.
SECONDS=0
cctest accept --np 2 --stages inventory,self --duration 8s --json soak.json -v
check_status '[04]' # two cores may become slower
check "it takes 8 s, not $SECONDS" test $SECONDS -le 80
check_says '^#   rotation 2 ' "$out"
check_says '^  soak +done .* [3-8] rotations of ' "$out"
check_json soak.json 'd["options"]["duration"] == 8' 'len(d["rotations"]) >= 3' \
    '[r["rotation"] for r in d["rotations"]] == list(range(1, len(d["rotations"]) + 1))' \
    'all([s["stage"] for s in r["stages"]] == ["self"] and len(r["series"]) == 3 for r in d["rotations"])' \
    'all(n["values"][0] > 0 for r in d["rotations"] for n in r["series"])' 'len(d["numbers"]) == 3'
cctest accept --np 2 --stages inventory --duration 3s --json none.json
check_status 0
check_says '^  soak +left out .*--stages has none that can be repeated' "$out"
cctest accept --np 2 --stages self --duration 0.5 --json none.json
check_status 0
check_says '^  soak +left out .*the stages before it took the time of --duration' "$out"
for time in 2x 40d -1 h ''; do
    cctest accept --np 2 --duration "$time"
    check_status 2 "$time"
    check_says "^cctest: --duration '$time' .*: give a time of at most 30d, such as 90s, 30m or 2h"
done
cctest accept --np 2 --stages soak
check_status 2
check_says 'soak is no stage to choose: --duration TIME repeats'

if ! hosts_up 4; then
    echo "not tested: several hosts ($hosts_missing)"
    finish
fi
for host in 1 2 3 4; do host_rate "$host" 400mbit; done
hosts_patience=9
rotations_are() { [ "$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["rotations"] or ()))' "$hosts_json")" -ge "$1" ]; }
# The host becomes slow in the second rotation. Two more confirm it; a busy machine needs more time for them.
for duration in 30s 60s 180s; do
    host_rate 3 400mbit
    RUN_LIMIT=300 launch "1 2 3 4" accept -x tcp --quick --stages pairs,isolate --duration $duration --bad "$scratch/bad"
    check "a rotation ends" await 100 rotations_are 1
    host_rate 3 100mbit
    for rank in 0 1 2 3; do ended "$rank" '[04]'; done
    ! rotations_are 4 || break
    echo "repeated: $duration were too short for four rotations"
done
check_status 4
out=$scratch/0.out err=$scratch/0.err
check_says '^  bad +h3: sends and receives at 0\.01.*; in rotation [0-9]+ and in [0-9]+ more rotations' "$out" # one makes a suspect
check_json "$hosts_json" 'all(len(n["values"]) == 4 for r in d["rotations"] for n in r["series"])' \
    '{n["metric"] for n in d["rotations"][0]["series"]} >= {"latency", "bandwidth one way (sent)"}' \
    '[f["rotation"] > 1 for f in d["findings"] if f["health"] == "bad"] == [True]'
check "the list" test "$(<bad)" = h3
check "processes are left: $(strange_processes)" test -z "$(strange_processes)"
hosts_down
finish

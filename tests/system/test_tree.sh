#!/usr/bin/env bash
# tier: deep; load: cpu1
# The control plane as a tree of processes: a rank with children dies, or is stopped; it is named, and all others end
# alike.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
export CCTEST_SECRET=$long_secret
ranks=44 # rank 0 has at most 32 children

# Each rank is started on its own, so that its exit status is known.
start_ranks() {
    local port rank
    free_port
    rm -f "$scratch/tree.json"
    for ((rank = 0; rank < ranks; rank++)); do
        start "$rank" "$CCTEST" "$@" --rendezvous "127.0.0.1:$port" --rank "$rank" --world "$ranks" \
            --json "$scratch/tree.json"
    done
}

# shellcheck disable=SC2317 # called by await
joined() { grep -q '"rank": '$((ranks - 1)) "$scratch/tree.json" 2>/dev/null; }

# "RANK PID CONNECTIONS" of the rank, other than 0, with the most connections. All are of the control plane, since data
# goes through shared memory.
relay() {
    python3 - "$scratch/tree.json" <<'PYTHON'
import json, os, sys
sockets = {}
for line in open("/proc/net/tcp").read().splitlines()[1:] + open("/proc/net/tcp6").read().splitlines()[1:]:
    words = line.split()
    if words[3] == "01":
        sockets["socket:[%s]" % words[9]] = True
found = (0, 0, 0)
for rank in json.load(open(sys.argv[1]))["ranks"][1:]:
    folder = "/proc/%d/fd" % rank["pid"]
    held = sum(os.readlink(os.path.join(folder, fd)) in sockets for fd in os.listdir(folder))
    found = max(found, (held, rank["rank"], rank["pid"]))
print(found[1], found[2], found[0])
PYTHON
}

run_ranks() {
    start_ranks barrier -x shm -b 8 -e 8 -n 4000000 -w 0 -c 0 --timeout 6
    await 100 joined && return
    err=$scratch/0.err
    failed "it did not start to run"
    finish # the end of the private machine ends all its processes
}

# shellcheck disable=SC2317 # called by await
has_relay() { read -r victim pid held < <(relay) && [ "$held" -ge 10 ]; }

# strike SIGNAL REGEX: the relay gets the signal; it is named, and all others end with status 5.
strike() {
    local rank victim='' pid='' held=''
    run_ranks
    await 60 has_relay
    check "no rank is a relay: rank $victim holds $held connections" test "${held:-0}" -ge 10
    [ -n "$pid" ] || return
    kill "-$1" "$pid"
    for ((rank = 0; rank < ranks; rank++)); do
        [ $rank = "$victim" ] || ended $rank 5
    done
    kill -9 "$pid" 2>/dev/null
    wait "${pids[$victim]}" 2>/dev/null
    err=$scratch/0.err
    check_says "^cctest: .*rank $victim \(host .*$2"
    check_silent '; so (are|is) '
    check "another rank is named: $(grep -c 'is gone' "$err")" test "$(grep -c 'is gone' "$err")" -le 1
    check "processes are left: $(strange_processes)" test -z "$(strange_processes)"
}
strike KILL "is gone"
strike STOP "sent no heartbeat"

# When rank 0 dies, every rank with a connection to it says so, since each may run in a window of its own. A rank whose
# parent was silent for a moment has such a connection, too.
run_ranks
kill -KILL "$(python3 -c "
import json
print(json.load(open('$scratch/tree.json'))['ranks'][0]['pid'])")"
wait "${pids[0]}" 2>/dev/null
reports=0
for ((rank = 1; rank < ranks; rank++)); do
    ended $rank 5
    grep -Eq "^cctest: rank $rank: rank 0 \(host .*cannot be reached any more: its connection broke.*; this rank ends" "$err" &&
        reports=$((reports + 1))
done
check "$reports ranks say that rank 0 is gone" test $reports -ge 32 -a $reports -lt 40

# What rank 0 holds does not grow with ranks and iterations together, nor do the buffers of its 32 connections with the
# iterations: 64 ranks have 205 MB of samples, and a rank needs less than 48 MiB.
# shellcheck disable=SC2016 # the shell that it starts expands them
run bash -c 'ulimit -d 49152 && exec "$0" "$@"' "$CCTEST" allreduce --np 64 -b 0 -e 0 --start back-to-back -n 400000 \
    -c 0 -w 0 --timeout 60
check_status 0

# Jobs whose ranks start one by one, run a barrier over tcp and end. How long that takes is printed, not checked.
for ranks in 16 64 256; do
    began=${EPOCHREALTIME/[.,]/}
    start_ranks barrier -a dissemination -x tcp -b 8 -e 8 -n 1 -w 0 -c 0 --timeout 30
    for ((rank = 0; rank < ranks; rank++)); do ended $rank 0; done
    check "not all are there" grep -q '"rank": '$((ranks - 1)) "$scratch/tree.json"
    times+="${times:+, }$ranks in $(((${EPOCHREALTIME/[.,]/} - began) / 1000)) ms"
done
echo "coverage: ranks that start, meet, run a barrier and end: $times"

finish

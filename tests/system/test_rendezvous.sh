#!/usr/bin/env bash
# tier: check; load: wait
# Ranks that start one by one and meet: by --rendezvous, by the variables of a launcher, and on several hosts (network
# namespaces).
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
small=(allreduce -b 64K -e 64K -n 3 -w 1 -c 2 --timeout 20)
export CCTEST_SECRET=$long_secret

# at_port PORT STATE: is there a socket in this state of the kernel (0A listens, 01 is connected)?
# shellcheck disable=SC2317 # for await
at_port() {
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v end="$(printf ':%04X' "$1")" -v state="$2" '
        substr($2, length($2) - 4) == end && $4 == state { there = 1 } END { exit !there }'
}

hold() { # hold PORT...: a silent program listens there
    rm -f "$scratch/held"
    python3 -c "
import socket, sys, time
held = [socket.create_server(('0.0.0.0', int(port))) for port in sys.argv[1:]]
open('$scratch/held', 'w')
time.sleep(600)" "$@" &
    holder=$!
    check "ports $* are held" await 60 test -e "$scratch/held"
}
let_go() {
    kill $holder
    wait $holder 2>/dev/null
}

at() { # at RANK WORLD: the options of a rank
    where=(--rendezvous "127.0.0.1:$port" --rank "$1" --world "$2")
}

# ---- they meet, in any order ----

free_port
for rank in 2 1 0; do
    at $rank 3 && start $rank "$CCTEST" "${small[@]}" "${where[@]}"
    sleep 0.2
done
for rank in 0 1 2; do ended $rank 0; done
check_says '^# status: ok' "$scratch/0.out"
check "results come from rank 0 only" test ! -s "$scratch/1.out"
check_silent 'CCTEST_SECRET' "$scratch/0.err"

# More ranks than rank 0 has connections for.
free_port
for rank in {0..69}; do
    at "$rank" 70
    start "$rank" "$CCTEST" barrier -n 1 -w 0 -c 0 --timeout 30 "${where[@]}" --json "$scratch/many.json"
done
for rank in {0..69}; do ended "$rank" 0; done
check_json "$scratch/many.json" 'd["status"] == "ok"' 'len({r["pid"] for r in d["ranks"]}) == 70'

# A file that rank 0 cannot open: it says so, and tells the others, also one that starts later.
for output in json csv samples; do
    free_port
    for rank in 1 0 2; do
        [ $output-$rank != json-2 ] || sleep 3
        at $rank 3
        start $rank "$CCTEST" "${small[@]}" "${where[@]}" --$output "/nonexistent/$output"
    done
    for rank in 1 2; do ended $rank 2; done
    ended 0 2 "^cctest: cannot write /nonexistent/$output: No such file or directory; choose another file$"
    check "it is said again" test "$(wc -l <"$err")" = 1
done

# Results that rank 0 cannot write: one status. If a file takes them, or the table does, the job goes on.
for full in '>/dev/full' '--csv /dev/full' '--json all.json >/dev/full'; do
    free_port
    for rank in 1 0; do
        at $rank 2
        # shellcheck disable=SC2016 # for bash -c
        start $rank bash -c 'cd "$0" && exec "$@" '"$full" "$scratch" "$CCTEST" "${small[@]}" -f 2 -e 128K "${where[@]}"
    done
    ended 0 1 '^cctest: rank 0.*: cannot write [a-z/ ]+: No space left on device$'
    ended 1 1
done
check_json "$scratch/all.json" 'd["status"] == "error"' 'len(d["results"]) == 2' 'len(d["errors"]) == 1' \
    '"cannot write the table" in d["errors"][0]["message"]'

# Without a secret, rank 0 prints a note: of ranks on one host with -v only.
unset CCTEST_SECRET
for verbose in "" -v; do
    free_port
    # shellcheck disable=SC2086 # a word or none
    for rank in 0 1; do at $rank 2 && start $rank "$CCTEST" "${small[@]}" "${where[@]}" $verbose; done
    ended 0 0
    [ -n "$verbose" ] || check_silent CCTEST_SECRET
    [ -z "$verbose" ] || check_says 'CCTEST_SECRET is not set: .*against accidents'
    ended 1 0
    check_silent CCTEST_SECRET
done
export CCTEST_SECRET=$long_secret

# A short secret, strengthened by the slow hash, in a file that only its owner can read.
echo from-a-file >"$scratch/secret"
chmod 600 "$scratch/secret"
free_port
for rank in 0 1; do
    at $rank 2
    start $rank env -u CCTEST_SECRET CCTEST_SECRET_FILE="$scratch/secret" "$CCTEST" "${small[@]}" "${where[@]}"
done
ended 0 0
ended 1 0
for mode in 640 604; do
    chmod $mode "$scratch/secret"
    at 0 2
    run env -u CCTEST_SECRET CCTEST_SECRET_FILE="$scratch/secret" "$CCTEST" "${small[@]}" "${where[@]}"
    check_status 2
    check_says "open to others than its owner \(mode $mode\): run chmod 600"
done
run env -u CCTEST_SECRET CCTEST_SECRET_FILE=/nowhere "$CCTEST" "${small[@]}" "${where[@]}"
check_status 2
check_says "'/nowhere' cannot be opened: .*; name a file of your own"
run env CCTEST_SECRET= "$CCTEST" "${small[@]}" "${where[@]}"
check_status 2
check_says "CCTEST_SECRET is empty"

# torchrun's variables; its agent holds MASTER_PORT.
free_port
for rank in 1 0; do
    start $rank env RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" "$CCTEST" "${small[@]}" -v
done
ended 0 0 'torchrun'
ended 1 0
check_says 'on .* \(tcp' "$scratch/0.out"
# A Slurm batch script is no step, although it has Slurm's variables: ranks are forked.
run env SLURM_PROCID=0 SLURM_JOB_ID=7 "$CCTEST" info
check_says 'local' "$out"
run env SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=7 SLURM_STEP_NODELIST='n[1-2]' "$CCTEST" info
check_says 'srun|[Ss]lurm' "$out"

# A rank that may use only one core gets it; ranks with a choice use other cores.
mapfile -t cpus < <(python3 -c '
import os
siblings = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"
print(*{open(siblings % cpu).read(): cpu for cpu in os.sched_getaffinity(0)}.values(), sep="\n")')
if [ ${#cpus[@]} -ge 2 ]; then
    for bound in 0 1; do
        for cpu in "${cpus[0]}" "${cpus[1]}"; do
            free_port
            at $bound 2 && start $bound taskset -c "$cpu" "$CCTEST" "${small[@]}" "${where[@]}"
            at $((1 - bound)) 2
            start $((1 - bound)) taskset -c "${cpus[0]},${cpus[1]}" "$CCTEST" "${small[@]}" "${where[@]}"
            ended 1 0
            ended 0 0
            check_says "^# a core for each rank$" "$scratch/0.out"
        done
    done
    # Three ranks on two cores, and one that cannot be bound: the bindings differ.
    free_port
    at 1 3 && start 1 taskset -c "${cpus[0]}" "$CCTEST" "${small[@]}" "${where[@]}"
    for rank in 0 2; do
        at $rank 3
        start $rank taskset -c "${cpus[0]},${cpus[1]}" "$CCTEST" "${small[@]}" "${where[@]}" --json "$scratch/$rank.json"
    done
    for rank in 1 2 0; do ended $rank 0; done
    check_says "^# rank 0 alone on a core; ranks 1, 2 on a shared core$" "$scratch/0.out"
    check_json "$scratch/0.json" 'd["ranks"][1]["core"] == d["ranks"][2]["core"] != d["ranks"][0]["core"]'
    free_port
    at 1 2 && start 1 env HWLOC_SYNTHETIC=pu:2 "$CCTEST" "${small[@]}" "${where[@]}"
    at 0 2 && start 0 "$CCTEST" "${small[@]}" "${where[@]}" --json "$scratch/0.json"
    ended 1 0
    ended 0 0
    check_says "^# rank 0 alone on a core; rank 1 not bound$" "$scratch/0.out"
    check_json "$scratch/0.json" 'd["ranks"][0]["core"] is not None' 'd["ranks"][1]["core"] is None' \
        'd["options"]["bind"] == "core"'
else
    echo "not tested: ranks that may use different cores (there is one)"
fi

# A rank that shares no memory with others of its host (another PID namespace): shown with -v, and in JSON.
if [ -n "$private" ]; then
    free_port
    for rank in 0 1; do at $rank 3 && start $rank "$CCTEST" "${small[@]}" "${where[@]}" -v --json "$scratch/$rank.json"; done
    at 2 3 && start 2 unshare --pid --fork --mount-proc "$CCTEST" "${small[@]}" "${where[@]}"
    for rank in 1 2 0; do ended $rank 0; done
    check_says "^# start barrier: 2 groups in shared memory, links between the groups$" "$scratch/0.out"
    check_says "^# start barrier: rank 2 cannot share memory with other ranks of the same host" "$scratch/0.out"
    check_says "^# links: 2 by shm, " "$scratch/0.out"
    check_says "^# links: 4 by tcp$" "$scratch/0.out"
    check_says "^# 2 pairs of ranks run over tcp, .*, because shm does not connect them: " "$scratch/0.out"
    check_json "$scratch/0.json" '"rank 2" in d["start_note"]' '[r["barrier_group"] for r in d["ranks"]] == [0, 0, 1]' \
        '[r["node"] for r in d["ranks"]] == [0, 0, 0]'
else
    echo "not tested: a rank that shares no memory (no namespaces here)"
fi

# ---- different options ----

# why STATUS RANK HOST REGEX: the JSON has the reason why the job did not begin, as in the message of rank 0.
why() {
    check_json "$scratch/0.json" "d['status'] == '$1'" "d['errors'][0]['rank'] == $2" \
        "d['errors'][0]['host'] == '$3'" "d['errors'][0]['phase'] == 'join'" \
        "__import__('re').search(r'''$4''', d['errors'][0]['message'])" 'd["rejected_connections"] is not None' 'd["results"] == []'
    check "what JSON says is not said once, in the job's name" test 1 = "$(grep -Ec "^cctest: ($4)" "$scratch/0.err")"
    rm -f "$scratch/0.json"
}
host=$(uname -n)

# two STATUS REGEX ...: ranks 0 and 1 with the arguments after `0` and `1`; both end with STATUS.
two() {
    local expected=$1 regex=$2 zero=() one=() other=
    shift 2
    for word in "$@"; do
        case $word in
        0: | 1:) other=$word ;;
        *) if [ "$other" = 0: ]; then zero+=("$word"); else one+=("$word"); fi ;;
        esac
    done
    free_port
    at 0 2 && start 0 "$CCTEST" "${small[@]}" "${where[@]}" "${zero[@]}" --json "$scratch/0.json"
    at 1 2 && start 1 "${binary:-$CCTEST}" "${small[@]}" "${where[@]}" "${one[@]}"
    ended 0 "$expected" "$regex"
    ended 1 "$expected"
}
two 2 "rank 1 .* world of 3 ranks, rank 0 for one of 2" 1: --world 3
two 2 "rank 1 .* other options than rank 0: .*ring.*mesh|rank 1 .* other options than rank 0: .*mesh.*ring" \
    0: -a ring 1: -a mesh
two 2 "other options than rank 0: '-b 32768' there, '-b [0-9]+' at rank 0" 1: -b 32K
why usage 1 "$host" "rank 1 on host .* other options"
two 2 "other options than rank 0: '--in-place' is missing there; give" 0: --in-place
two 2 "other options" 1: -d double
two 2 "other options" 0: --chunk 4K
if build_other version VERSION=9.9.9; then
    binary=$other two 1 "rank 1 .* runs cctest 9.9.9, rank 0 runs [0-9.]*: install the same version"
fi

# A duplicate rank, a missing one, one with another secret.
free_port
at 0 3 && start 0 "$CCTEST" "${small[@]}" "${where[@]}" --json "$scratch/0.json"
at 1 3 && start 1 "$CCTEST" "${small[@]}" "${where[@]}"
check "rank 1 is there" await 60 at_port "$port" 01
start again "$CCTEST" "${small[@]}" "${where[@]}"
ended 0 2 "two processes claim rank 1: pid [0-9]+ on host .* and pid"
why usage 1 "$host" "two processes claim rank 1"
ended again 2
ended 1 2
free_port
at 0 4 && start 0 "$CCTEST" "${small[@]}" "${where[@]}" --timeout 2 --json "$scratch/0.json"
at 2 4 && start 2 "$CCTEST" "${small[@]}" "${where[@]}" --timeout 2
ended 0 5 "2 of 4 ranks did not join within 2 s: ranks 1, 3"
why timeout 1 "" "2 of 4 ranks did not join within 2 s: ranks 1, 3"
ended 2 5
free_port
at 1 2 && start 1 "$CCTEST" "${small[@]}" "${where[@]}" --timeout 2
ended 1 5 "rank 0 could not be reached at 127.0.0.1 port $port for 2 s"
free_port
at 0 2 && start 0 "$CCTEST" "${small[@]}" "${where[@]}" --timeout 3 --json "$scratch/0.json"
at 1 2 && start 1 env CCTEST_SECRET=guess "$CCTEST" "${small[@]}" "${where[@]}" --timeout 3
ended 1 1 "[Ss]ecret"
ended 0 5 "1 of 2 ranks did not join .*rank 1"
check_json "$scratch/0.json" 'd["rejected_connections"] > 0'
why timeout 1 "" "1 of 2 ranks did not join .*rank 1.* connections? w[a-z]+ dropped"

# Rank 0 is stopped beyond the deadline of the others: when it continues, it reports its own silence.
free_port
for rank in 0 1; do
    at $rank 2
    ran=("$CCTEST" "stopped rank 0")
    "$CCTEST" "${small[@]}" "${where[@]}" -n 4000000 --timeout 1 \
        >"$scratch/$rank.out" 2>"$scratch/$rank.err" </dev/null &
    pids[$rank]=$!
done
check "it runs" await 60 grep -q busbw "$scratch/0.out"
sleep 0.5
kill -STOP "${pids[0]}"
ended 1 5 "rank 0 .*it has been silent"
kill -CONT "${pids[0]}"
ended 0 5 "^cctest: rank 1 .*rank 0 was silent for [0-9.]* s" # before anything that rank 0 found itself
check_silent "rank 1 .*is gone"

# A signal comes while a rank joins: it tells rank 0 as soon as it is admitted, and all ranks end alike. Rank 0 is stopped
# until then, so that it does not admit the rank before the signal. The first time the last rank is a child of rank 0;
# the second time rank 0 is full, and the rank gets another parent.
# shellcheck disable=SC2317 # for await
have_joined() { [ "$(grep -c 'has joined' "$scratch/0.err")" -ge "$1" ]; }
# shellcheck disable=SC2317
calls_root() { ss -Htnp "dport = :$port" | grep -q "pid=$1,"; }
for last in 2 34; do
    free_port
    for rank in $(seq 0 $last); do
        at "$rank" $((last + 2))
        [ "$rank" -lt $last ] || check "the others have joined" await 60 have_joined $((last - 1))
        [ "$rank" -lt $last ] || kill -STOP "${pids[0]}"
        ran=("$CCTEST" "rank $last is interrupted")
        "$CCTEST" "${small[@]}" "${where[@]}" --timeout 20 -v -v >"$scratch/$rank.out" 2>"$scratch/$rank.err" </dev/null &
        pids[$rank]=$!
    done
    check "it calls rank 0" await 60 calls_root "${pids[$last]}"
    kill -TERM "${pids[$last]}"
    sleep 0.2
    kill -CONT "${pids[0]}"
    ended 0 130 "rank $last \(host .*, pid ${pids[$last]}\) was interrupted by SIGTERM when $((last + 1)) of $((last + 2)) "
    for rank in $(seq 1 $last); do ended "$rank" 130; done
    check_silent "before it had reached rank 0|lost" "$scratch/$last.err"
done
# The same if the signal is pending from the start.
free_port
at 0 2 && start 0 "$CCTEST" "${small[@]}" "${where[@]}" --timeout 20
at 1 2 && start 1 python3 -c "
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
os.execv(sys.argv[1], sys.argv[1:])" "$CCTEST" "${small[@]}" "${where[@]}" --timeout 20
ended 0 130 "rank 1 \(.* was interrupted by SIGTERM"
ended 1 130
# Rank 0 itself is not named twice.
free_port
at 0 2 && ran=("$CCTEST" "rank 0 is interrupted, and alone")
"$CCTEST" "${small[@]}" "${where[@]}" --timeout 20 --json "$scratch/0.json" >"$scratch/0.out" 2>"$scratch/0.err" \
    </dev/null &
pids[0]=$!
check "rank 0 is there" await 60 at_port "$port" 0A
kill -TERM "${pids[0]}"
ended 0 130
why interrupted 0 "$host" "rank 0 \(host [^ ]*, pid ${pids[0]}\) was interrupted by SIGTERM when 1 of 2 ranks had joined"
# There is no rank 0 to tell.
at 1 2 && ran=("$CCTEST" "rank 1 is interrupted, and alone")
"$CCTEST" "${small[@]}" "${where[@]}" --timeout 20 >"$scratch/1.out" 2>"$scratch/1.err" </dev/null &
pids[1]=$!
sleep 0.5
kill -TERM "${pids[1]}"
ended 1 130 "interrupted by SIGTERM before it had reached rank 0"

# A rank is killed while others join: a rank that joins a moment later still finds rank 0 and its verdict.
free_port
: >"$scratch/0.err" # because a background command truncates it at any time
for rank in 0 1; do
    at $rank 3
    ran=("$CCTEST" "rank 1 is killed while they join")
    "$CCTEST" "${small[@]}" "${where[@]}" --timeout 20 -v -v >"$scratch/$rank.out" 2>"$scratch/$rank.err" </dev/null &
    pids[$rank]=$!
done
check "rank 1 has joined" await 60 have_joined 1
kill -KILL "${pids[1]}"
lost="rank 1 \(host .*, pid ${pids[1]}\) was lost when 2 of 3 ranks had joined"
check "it is said" await 60 grep -q "was lost" "$scratch/0.err"
at 2 3 && start 2 "$CCTEST" "${small[@]}" "${where[@]}" --timeout 20
ended 2 5
check_silent .
ended 0 5 "$lost"
wait "${pids[1]}" 2>/dev/null

# No such host.
run "$CCTEST" "${small[@]}" --rendezvous no-such-host.invalid:7777 --rank 1 --world 2 --timeout 5
check_status 1
check_says "the rendezvous host 'no-such-host.invalid' is unknown on this host"
# Rank 0 cannot know whether the others can find it, so it prints its address.
free_port
run "$CCTEST" "${small[@]}" --rendezvous "no-such-host.invalid:$port" --rank 0 --world 2 --timeout 1
check_status 5
check_says "^cctest: rank 0: the rendezvous host 'no-such-host.invalid' is unknown on this host .*this rank listens at "

# A name server that never answers delays neither the deadline nor signals.
if [ -n "$private" ]; then
    echo "nameserver 127.0.0.1" >"$scratch/resolv.conf"
    mount --bind "$scratch/resolv.conf" /etc/resolv.conf
    python3 -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('127.0.0.1', 53)); time.sleep(600)" &
    holder=$!
    # shellcheck disable=SC2317 # for await
    name_server_up() { ss -Hlun | grep -q ':53 '; }
    check "no name server came up" await 60 name_server_up
    lost=("$CCTEST" "${small[@]}" --rendezvous cctest.invalid:7777 --rank 1 --world 2)
    RUN_LIMIT=20 run "${lost[@]}" --timeout 2
    check_status 5
    check_says "no name server resolved the rendezvous host 'cctest.invalid' within 2 s"
    start 1 "${lost[@]}" --timeout 30
    sleep 1
    kill -TERM "${pids[1]}"
    ended 1 130 "interrupted by SIGTERM while it looked up the rendezvous host 'cctest.invalid'"
    kill $holder
    wait $holder 2>/dev/null
    umount /etc/resolv.conf
fi

# A port in use.
free_port
hold "$port"
at 0 2 && cctest "${small[@]}" "${where[@]}" --json "$scratch/0.json"
check_status 1
check_says "^cctest: rank 0: cannot listen: port $port is taken .* is another rank 0 running\?"
check_json "$scratch/0.json" 'd["status"] == "error"' 'len(d["errors"]) == 1' 'd["errors"][0]["rank"] == 0' \
    'd["errors"][0]["phase"] == "join"' "'port $port is taken' in d['errors'][0]['message']"
let_go

# Jobs one after the other at one port, as in a script: an early rank of the next job does not join the last one.
free_port
cat >"$scratch/again.sh" <<'AGAIN'
for run in 1 2 3 4 5 6; do "$@" >/dev/null || exit; done
AGAIN
for rank in 0 1 2; do
    at $rank 3
    start $rank env -u CCTEST_SECRET sh "$scratch/again.sh" "$CCTEST" "${small[@]}" "${where[@]}"
done
for rank in 0 1 2; do ended $rank 0; done

# Derived ports may be in use: by a silent program, by rank 0 of another job, by other protocols.
in_step() { # in_step STEP RANK: sets $as so that a command is one rank of two in a Slurm step
    as=(env SLURM_PROCID="$2" SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=$$ SLURM_STEP_ID="$1" SLURM_STEP_NODELIST=here
        SLURM_STEP_NUM_NODES=1)
}
in_step 0 1
run "${as[@]}" "$CCTEST" "${small[@]}" --timeout 1
check_status 5
check_says "rank 0 could not be reached at 127.0.0.1 ports [0-9]+ to [0-9]+ for 1 s"
first=$(sed -n 's/.* ports \([0-9]*\) to .*/\1/p' "$err") last=$(sed -n 's/.* to \([0-9]*\) for .*/\1/p' "$err")
start other "$CCTEST" "${small[@]}" --rendezvous "127.0.0.1:$((first + 1))" --world 2 --rank 0 --timeout 5
check "it listens" await 60 at_port $((first + 1)) 0A
hold "$first" $((first + 2))
for rank in 1 0; do in_step 0 $rank && start $rank "${as[@]}" "$CCTEST" "${small[@]}"; done
ended 0 0
ended 1 0
check_says '^# status: ok' "$scratch/0.out"
# Steps with the same secret do not take ranks of each other, whichever starts first.
for rank in 0 1; do
    in_step 0 $rank && start $rank "${as[@]}" "$CCTEST" "${small[@]}"
    in_step 1 $rank && start 1.$rank "${as[@]}" "$CCTEST" "${small[@]}" -d double
done
for rank in 0 1 1.0 1.1; do ended $rank 0; done
let_go
ended other 5
# Only rank 0 of another step listens at the ports: the message says so.
# shellcheck disable=SC2046 # a word each
hold $(seq "$first" "$last")
in_step 0 0
run "${as[@]}" "$CCTEST" "${small[@]}"
check_status 1
check_says "ports $first to $last are all taken on this host"
let_go
start other "$CCTEST" "${small[@]}" --rendezvous "127.0.0.1:$((first + 1))" --world 2 --rank 0 --timeout 3
check "it listens" await 60 at_port $((first + 1)) 0A
in_step 0 1
run "${as[@]}" "$CCTEST" "${small[@]}" --timeout 1
check_status 5
check_says "ports $first to $last for 1 s \(the process at port $((first + 1)) does not know this job's secret\)"
ended other 5

# ---- several hosts ----

if hosts_up 2; then
    port=7777
    for what in "allreduce -a ring -m shared --copy zcopy" "alltoall -a pairwise --channels 2"; do
        read -ra words <<<"$what"
        words+=(-b 64K -e 64K -n 3 -w 1 -c 2 -x auto --timeout 20 --rendezvous "h1:$port" --world 4)
        for rank in 0 1 2 3; do
            host_as $((1 + rank / 2))
            start $rank "${as[@]}" "$CCTEST" "${words[@]}" --rank $rank --json "$scratch/hosts.json"
        done
        for rank in 1 2 3 0; do ended $rank 0; done
        check_json "$scratch/hosts.json" '[r["host"] for r in d["ranks"]] == ["h1"] * 2 + ["h2"] * 2' \
            '[r["local_rank"] for r in d["ranks"]] == [0, 1, 0, 1]' \
            'all(sum(d["results"][0]["traffic"][x]["received"].values()) > 0 for x in ("shm", "tcp"))' \
            '[r["barrier_group"] for r in d["ranks"]] == [0, 0, 1, 1]' 'd["start_note"] is None' \
            'd["results"][0]["wrong"] == 0'
        port=$((port + 1))
    done
    # shm alone does not reach the other host: the same message on all ranks.
    for rank in 0 1; do
        host_as $((1 + rank))
        start $rank "${as[@]}" "$CCTEST" "${small[@]}" -x shm --rendezvous h1:$port --world 2 --rank $rank
    done
    ended 0 77 "shm"
    ended 1 77
    # The cable is pulled: the job ends with a message.
    port=$((port + 1))
    for rank in 0 1; do
        host_as $((1 + rank))
        start $rank "${as[@]}" "$CCTEST" "${small[@]}" -n 4000000 -w 0 --timeout 2 \
            --rendezvous h1:$port --world 2 --rank $rank
    done
    check "it runs" await 60 grep -q busbw "$scratch/0.out"
    sleep 0.5
    host_unplug 2
    ended 0 5 "rank 1 .*h2"
    ended 1 5
    hosts_down
else
    echo "not tested: several hosts ($hosts_missing)"
fi

# Incomplete variables of a launcher are an error, not local ranks.
run env RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "$CCTEST" allreduce -e 1K
check_status 2 "MASTER_PORT is missing"
check_says 'MASTER_PORT is not set'
run env RANK=5 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 "$CCTEST" allreduce -e 1K
check_status 2 "RANK 5 of 2"
check_says "RANK is '5', which is not a rank below it"
run env SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 "$CCTEST" allreduce -e 1K
check_status 2 "SLURM_PROCID is missing"
run env SLURM_PROCID=0 SLURM_JOB_ID=7 SLURM_NTASKS=4 "$CCTEST" allreduce -e 1K -n 1
check_status 0 "a batch script is no step"

finish

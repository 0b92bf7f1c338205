#!/usr/bin/env bash
# tier: deep; load: cpu1
# Faults, injected and from outside: each is found and named in time, and nothing is left behind.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
small=(-b 64K -e 64K -n 4 -w 1 -c 3)

nothing_left() { # nothing_left [SESSION]
    [ $# = 0 ] || check "processes are left: $(session "$1" | tr '\n' ' ')" await 60 no_process "$1"
    [ -n "$private" ] || return
    check "processes are left: $(strange_processes)" test -z "$(strange_processes)"
    check "files are left in /dev/shm: $(ls /dev/shm)" test -z "$(ls -A /dev/shm)"
    check "sockets are left: $(ss -Hlntx)" test -z "$(ss -Hlntx)"
}
# shellcheck disable=SC2317 # called by await
no_process() { [ -z "$(session "$1")" ]; }

# ---- injected ----

# Data: the right status, rank, iteration and diagnosis, over collectives, algorithms and links.
diagnosis() { # diagnosis FAULT REGEX ARGUMENT...
    cctest "${@:3}" "${small[@]}" --np 4 --inject "$1:rank=2:iteration=1" --json "$scratch/diagnosis.json"
    check_status 3
    check_says "wrong data at ranks? [0-3].*checked iteration 1.*$2"
    check_silent 'checked iteration [02]'
    check_says '^# status: wrong-data' "$out"
    check_json "$scratch/diagnosis.json" 'd["status"] == "wrong-data"' 'd["results"][0]["wrong"] > 0' 'd["errors"]'
}
cctest allgather --np 2 -b 8 -e 8 -n 1 --inject corrupt:rank=1:iteration=0
check_says '^# status: wrong-data, 1 element wrong$' "$out"
for links in shm tcp; do
    for as in processes threads; do
        on=(-x "$links" --ranks-as "$as")
        for what in "allreduce -a ring" "allreduce -a rabenseifner" "alltoall -a pairwise" "allgather -a mesh" \
            "broadcast -a chain" "reduce -a binomial"; do
            read -ra words <<<"$what"
            # The bits of a sum are not those that flipped. The places are named in which a flipped bit explains it.
            fault="corrupted.* element [0-9]+ .*flipped bit [0-9]+.*suspect "
            case $what in *reduce*) fault="corrupted.* is [^ ]+ instead of [^ ]+ \\(off by [^ ]+\\); a flipped bit explains it in .*(rank 2 .*suspect |all of them at ranks 0\\.\\.3: check more iterations)" ;; esac
            diagnosis corrupt "$fault" "${words[@]}" "${on[@]}"
            check_json "$scratch/diagnosis.json" 'all(any(2 in p["ranks"] and p["flipped_bit"] for p in f["places"]) for f in d["results"][0]["faults"])'
        done
        diagnosis drop "contribution of rank 1 is missing in elements .*suspect rank 1, or the links? from it" \
            allreduce -a ring "${on[@]}"
        diagnosis drop "data from rank 1 is (missing|of the iteration before)" alltoall -a pairwise "${on[@]}"
        diagnosis drop "contribution of rank [013] is missing.*suspect rank [013]" reduce_scatter -a mesh "${on[@]}"
        diagnosis drop "contribution of rank 3 is missing in elements .*suspect rank 3, or the links? from it" \
            reduce -a binomial "${on[@]}"
        diagnosis drop "data from rank ([013]) is missing.* of rank 2 .*came from rank \\1 .*: suspect the link between the two" \
            allgather -a mesh "${on[@]}"
    done
done
# The hop of a wrong element must not contradict the missing contribution.
for what in "reduce_scatter -a mesh" "allreduce -a mesh" "reduce_scatter -a ring" "alltoall -a bruck"; do
    read -ra words <<<"$what"
    cctest "${words[@]}" "${small[@]}" --np 4 --inject drop:rank=2:iteration=1
    check_status 3
    suspect=$(sed -n 's/.*the contribution of rank \([0-9]\) is missing.*/\1/p' "$err" | head -n 1)
    [ -z "$suspect" ] || check_silent "came from rank [^$suspect]"
done
# Unwritten memory that was combined blurs floats: the schedule tells which message was lost.
for type in float bfloat16; do
    cctest allreduce -a oneshot -b 1K -e 1K -n 1 -w 1 --np 4 -d $type --inject drop:rank=2:iteration=1
    check_status 3
    check_says 'a lost message explains it in data that rank 2 \(.*\) received from rank 0 \(.*suspect the link between the two, or their memory$'
    check_silent 'contribution'
done

# Timed iterations, if these are checked.
cctest allreduce -a ring -b 64K -e 64K -n 4 -w 1 -c all --np 3 --inject corrupt:rank=1:iteration=3 --json "$scratch/all.json"
check_status 3
check_says 'wrong data at rank.*checked iteration 3,.*suspect '
check_says '^# 1 warm-up, 4 timed and checked iterations; ' "$out"
check_json "$scratch/all.json" 'd["options"]["check"] == "all"' 'd["results"][0]["checked"] == 4'

# If no other rank depends on it, the rank that misses a block reports it.
cctest alltoall -a linear "${small[@]}" --np 4 --inject drop:rank=2:iteration=1
check_says 'wrong data at rank 2 '
check_silent 'wrong data at rank [013] '

# One broken link is one sentence, however many ranks lack data for it; JSON has a message of each of them.
for what in "alltoall -a bruck" "alltoall -a ring" "allgather -a ring" "broadcast -a chain" "allreduce -a ring"; do
    read -ra words <<<"$what"
    for fault in drop corrupt; do
        cctest "${words[@]}" "${small[@]}" --np 8 --inject $fault:rank=2:iteration=1 --json "$scratch/sentence.json"
        check_status 3
        check "$what $fault: one sentence" test "$(grep -c "wrong data\|first wrong element" "$err")" = 1
        check_json "$scratch/sentence.json" 'len({e["rank"] for e in d["errors"]}) == len(d["errors"]) > 0' \
            'all("checked iteration 1" in e["message"] for e in d["errors"])'
        # Where it began, and the suspect, are the same in all of them.
        ending=$(sed -n 's/^.*; \(the first wrong element of .*\|a flipped bit explains .*\)/\1/p' "$err")
        check "$what $fault: it is known where it began" test "$fault" = drop -o -n "$ending"
        [ -z "$ending" ] || check_json "$scratch/sentence.json" "all(e['message'].endswith('$ending') for e in d['errors'])"
    done
done
cctest alltoall -a ring "${small[@]}" --np 8 --inject drop:rank=2:iteration=1
check_says 'wrong data at ranks 0, 2\.\.7 .*data from rank 1 is missing.* of rank 2 .* came from rank 1 .*suspect the link'

# Only the root of a reduce has a result, so it reports the fault, wherever the message was lost.
cctest reduce -a binomial "${small[@]}" --np 4 -r 3 --inject drop:rank=1:iteration=1
check_status 3
check_says 'wrong data at rank 3 .*contribution of rank 2 is missing.*suspect rank 2, or the links from it'
check_silent 'wrong data at rank [012] |came from rank'

# Delay: healthy, and named with -v.
for as in processes threads; do
    for what in "allreduce -a ring" "alltoall -a pairwise -x tcp" "barrier" "broadcast -a binomial"; do
        read -ra words <<<"$what"
        cctest "${words[@]}" -b 4K -e 4K -n 10 --np 4 --ranks-as "$as" --inject delay:rank=1:us=20000 -v
        check_status 0
        check_says 'slowest: rank 1 \([^)]*\) begins late' "$out"
        check_silent 'rank [023] .*begins late' "$out"
        cctest "${words[@]}" -b 4K -e 4K -n 3 --np 4 --inject delay:rank=1:us=20000
        check_status 0
    done
done
# Ranks that wait for a slow rank are healthy, whatever the deadline.
cctest allreduce "${small[@]}" --np 2 --timeout 4 --inject delay:rank=1:us=700000 # 8 times
check_status 0

# kill and stop, of any rank, including rank 0.
lost() { # lost kill|stop RANK ARGUMENT...
    local fault=$1 rank=$2 timeout=20 regex
    shift 2
    regex="rank $rank .*(is gone|died|was lost|sent no heartbeat)|rank $rank .*was killed by signal 9"
    [ "$fault" = kill ] || { timeout=2 && regex="rank $rank .*(sent no heartbeat|stopped)"; }
    cctest "$@" "${small[@]}" --np 3 --timeout "$timeout" --inject "$fault:rank=$rank:iteration=2"
    check_status 5
    check_says "$regex"
}
for fault in kill stop; do
    for rank in 0 1 2; do
        lost $fault $rank allreduce -a ring -x shm
        lost $fault $rank alltoall -a pairwise -x tcp
    done
    lost $fault 1 broadcast -a chain -x tcp
    lost $fault 2 reduce
    lost $fault 2 barrier
    lost $fault 1 allgather -a mesh -m shared --copy zcopy
    lost $fault 1 alltoall -a linear --copy ll
done

# A rank that needs nothing from the stopped rank goes on to the next start barrier; the report says that it waits there.
for as in processes threads; do
    fault=stop:rank=2:iteration=2
    [ $as = processes ] || fault=silent:rank=2:iteration=2 # a single thread cannot be stopped
    cctest broadcast -a linear "${small[@]}" --copy bcopy --np 3 --ranks-as $as --timeout 3 --inject "$fault"
    check_status 5
    for rank in 0 1; do
        check_says "rank $rank .*, broadcast linear, 64K, start barrier of iteration [0-9]+, waits for rank 2$"
    done
    check_silent "step [0-9]"
done

# silent: the rank lives and does not begin the iteration, of 8. It is named in time, wherever the others wait for it.
silent() { # silent RANKS RANK ITERATION PHASE COLLECTIVE ARGUMENT...
    local ranks=$1 rank=$2 iteration=$3 phase=$4 others=""
    shift 4
    [ "$ranks" = 1 ] || others=" and keeps $((ranks - 1)) others? waiting"
    RUN_LIMIT=20 cctest "$@" "${small[@]}" --np "$ranks" --timeout 2 --inject "silent:rank=$rank:iteration=$iteration" \
        --json "$scratch/silent.json"
    check_status 5
    check_says "^cctest: no rank has progressed for [0-9.]+ s: rank $rank \([^)]*\) has not begun its iteration$others: \
it is slow or stuck in phase $phase, $1 [^ ]+, [^ ]+, iteration $iteration$"
    check_says "^cctest:   rank $rank \([^)]*\): .*, iteration $iteration, has not begun it, waits for no other rank$"
    check "one line for each rank" test "$(grep -c '^cctest:   rank ' "$err")" = "$ranks"
    check_json "$scratch/silent.json" 'd["status"] == "timeout"' "d['errors'][0]['rank'] == $rank" \
        "d['errors'][0]['phase'] == '$phase'" '"has not begun its iteration" in d["errors"][0]["message"]' \
        "sorted(e['rank'] for e in d['errors']) == list(range($ranks))" \
        "d['options']['inject'] == [{'fault': 'silent', 'rank': $rank, 'iteration': $iteration}]"
    nothing_left
}
leaf() { # leaf AS START: no rank needs the leaf; the next start barrier holds the others, or the end of the phase
    silent 5 4 5 time broadcast -a linear --copy bcopy --ranks-as "$1" --start "$2"
    if [ "$2" = barrier ]; then
        check_says "^cctest:   rank 0 .*, start barrier of iteration 6, waits for rank [1-4]$"
    else
        check_says "^cctest:   rank 0 .*: phase gather, waits in .* for the others$"
    fi
}
for mode in "processes barrier" "threads back-to-back"; do
    read -r as start <<<"$mode"
    mode=(--ranks-as "$as" --start "$start")
    silent 1 0 0 warmup allreduce "${mode[@]}"
    silent 3 0 2 check allreduce -a ring -x tcp "${mode[@]}"
    silent 5 4 6 time alltoall -a pairwise -x shm "${mode[@]}"
    silent 3 1 7 time barrier "${mode[@]}"
    leaf "$as" "$start"
    cctest allreduce "${small[@]}" --np 3 --ranks-as "$as" --inject silent:rank=1:iteration=8
    check_status 1
    check_says "rank 1 .*--inject: no fault was injected at iteration 8, since this rank ran only 8 iterations"
done
leaf processes back-to-back
leaf threads barrier
# Several such ranks are one sentence.
cctest allreduce "${small[@]}" --np 4 --timeout 2 --inject silent:rank=1:iteration=3,silent:rank=3:iteration=3
check_status 5
check_says "rank [13] \(.* has not begun its iteration and keeps .*, iteration 3; likewise rank [13]$"

# ---- from outside ----

# Waits until the table has COUNT lines: all ranks are then in the middle of the next one.
await_lines() { # await_lines COUNT
    await 60 table_has "$1"
}
# shellcheck disable=SC2317 # called by await
table_has() { [ "$(grep -c '^ *[0-9]' "$out")" -ge "$1" ]; }

# outside STATUS REGEX SIGNAL TARGET ARGUMENT...: sends SIGNAL to TARGET (a rank, or "supervisor") in the middle of a long
# run; the run must end long before its deadline, with a message, and leave nothing.
outside() {
    local expected=$1 regex=$2 signal=$3 target=$4 pid deadline=120
    shift 4
    [ "$signal" != STOP ] || deadline=3 # no process tells of it, so that the deadline ends the job
    rm -f "$scratch/outside.json"
    : >"$out" # here, because a background command truncates it at any time
    ran=("$@" "(SIG$signal to $target)")
    # Background commands of a script ignore SIGINT by default.
    # Two sizes: the first is short, and shows that all ranks run; the second would take very long.
    setsid env --default-signal=INT,QUIT "$CCTEST" "$@" -b 8 -e 4M -f 524288 -n 2000 -w 0 --timeout $deadline \
        --json "$scratch/outside.json" >"$out" 2>"$err" </dev/null &
    pid=$!
    if ! await_lines 1; then
        failed "it did not start to run"
        kill -9 -- -$pid
        wait $pid
        return
    fi
    if [ "$target" = supervisor ]; then
        kill "-$signal" $pid
    else
        kill "-$signal" "$(python3 -c "
import json
print(json.load(open('$scratch/outside.json'))['ranks'][$target]['pid'])")"
    fi
    await 60 has_ended $pid 2>/dev/null # the shell says that it was killed
    check "it ends soon" has_ended $pid
    wait $pid 2>/dev/null
    status=$?
    check_status "$expected"
    [ -z "$regex" ] || check_says "$regex"
    check_json "$scratch/outside.json" "d['status'] == '$word'"
    nothing_left $pid
}

# shellcheck disable=SC2317 # called by await
has_ended() { ! kill -0 "$1" 2>/dev/null; }

word=timeout
for what in "allreduce -a ring -x shm" "alltoall -a pairwise -x tcp"; do
    read -ra words <<<"$what"
    for rank in 0 1 2; do outside 5 "rank $rank .*(was killed by signal 9|is gone)" KILL $rank "${words[@]}" --np 3; done
done
outside 5 "rank 0 .*(sent no heartbeat|is stopped)" STOP 0 allreduce -a ring -x shm --np 3
outside 5 "rank 1 .*(sent no heartbeat|is stopped)" STOP 1 alltoall -a pairwise -x tcp --np 3
outside 5 "rank 1 .*was killed by signal 11" SEGV 1 allreduce --np 3
word=running
outside 137 "" KILL supervisor allreduce --np 3
outside 137 "" KILL supervisor allreduce --np 3 -x tcp
outside 137 "" KILL supervisor allreduce --np 3 --ranks-as threads

# A rank is killed before it has joined: long before the deadline the supervisor tells the others.
# shellcheck disable=SC2317 # called by await
has_children() { [ "$(pgrep -c -P "$1")" -ge "$2" ]; }
for rank in 0 2; do
    ran=("$CCTEST" "rank $rank killed at once")
    setsid "$CCTEST" allreduce -b 64 -e 64 -n 4000000 --np 6 --timeout 120 --json "$scratch/outside.json" \
        >"$out" 2>"$err" </dev/null &
    pid=$!
    check "it starts" await 60 has_children $pid 6
    kill -KILL "$(pgrep -P $pid | sed -n $((rank + 1))p)"
    check "it ends soon" await 60 no_process $pid
    wait $pid 2>/dev/null
    status=$?
    check_status 5
    check_says "rank $rank .*was killed by signal 9"
    check_silent "rank [^$rank] \(.*(lost|gone|still there)"
    check_json "$scratch/outside.json" 'd["status"] == "timeout"' "d['errors'][0]['rank'] == $rank"
    nothing_left $pid
done

# If many ranks lose rank 0, one reports it; with -v, all do.
for words in 1: 39:-v; do
    ran=("$CCTEST" "rank 0 of 40 killed, ${words#*:}")
    : >"$out"
    setsid "$CCTEST" barrier -b 8 -e 8 -n 4000000 -w 0 -c 0 --np 40 --timeout 20 --json "$scratch/outside.json" \
        ${words#*:} >"$out" 2>"$err" </dev/null &
    pid=$!
    check "it runs" await 60 grep -qs '"rank": 39' "$scratch/outside.json"
    kill -KILL "$(python3 -c "
import json
print(json.load(open('$scratch/outside.json'))['ranks'][0]['pid'])")"
    wait $pid 2>/dev/null
    status=$?
    check_status 5
    reports=$(grep -c "^cctest: rank [0-9]*: rank 0 (host .* cannot be reached any more" "$err")
    check "$reports ranks say that rank 0 is gone, and not ${words%:*}" test "$reports" = "${words%:*}"
    rm -f "$scratch/outside.json"
    nothing_left $pid
done

# A rank that is silent until the deadline ends the job, even if others still progress.
printf '1000 1000 0\n1000 1000 0\n0 0 0\n' >"$scratch/counts"
ran=("$CCTEST" "a silent rank that no rank waits for")
rm -f "$scratch/outside.json"
setsid "$CCTEST" alltoallv -a pairwise --counts "$scratch/counts" --np 3 -n 4000000 -w 0 -c 0 --start back-to-back \
    --timeout 2 --json "$scratch/outside.json" >"$out" 2>"$err" </dev/null &
pid=$!
# shellcheck disable=SC2317 # called by await
third() {
    victim=$(python3 -c "import json; print(json.load(open('$scratch/outside.json'))['ranks'][2]['pid'])" 2>/dev/null)
}
check "it runs" await 60 third
kill -STOP "$victim"
wait $pid
status=$?
check_status 5
check_says "^cctest: rank 2 .*sent no heartbeat for"
nothing_left $pid

# A stopped supervisor does not stop its ranks: they succeed, and it does when it continues.
ran=("$CCTEST" "stopped supervisor")
: >"$out"
setsid "$CCTEST" allreduce -b 64 -e 64K -f 1024 -n 50000 --np 2 -v >"$out" 2>"$err" </dev/null &
pid=$!
check "it runs" await_lines 1
kill -STOP $pid
# shellcheck disable=SC2317 # called by await
ranks_ended() { [ "$(ps --ppid $pid -o stat= | grep -vc '^Z')" = 0 ]; }
check "the ranks end while it is stopped" await 60 ranks_ended
check_says '^# bytes received' "$out"
kill -CONT $pid
wait $pid
status=$?
check_status 0
check_says '^# status: ok' "$out"
nothing_left $pid

# Signals that end a job: whichever process gets one, the report comes soon.
word=interrupted
for signal in INT TERM HUP QUIT; do
    targets=(supervisor 0 2)
    case $signal in HUP) targets=(0) ;; QUIT) targets=(2) ;; esac # one target each is enough
    for target in "${targets[@]}"; do
        outside 130 "[Ii]nterrupted by SIG$signal" $signal "$target" allreduce --np 3
    done
    outside 130 "[Ii]nterrupted|SIG$signal|signal" $signal supervisor alltoall -x tcp --np 3 --ranks-as threads
done

# A rank that waits for the end of the job, and does nothing else, ends at a signal like any other.
for as in processes threads; do
    ran=("$CCTEST" "SIGTERM to a silent job, $as")
    setsid "$CCTEST" allreduce "${small[@]}" --np 3 --ranks-as $as --timeout 120 --inject silent:rank=1:iteration=2 \
        >"$out" 2>"$err" </dev/null &
    pid=$!
    sleep 1
    kill -TERM $pid
    check "it ends soon" await 60 has_ended $pid
    wait $pid
    status=$?
    check_status 130
    nothing_left $pid
done

# A signal to the whole group reaches all ranks, and rank 0 does not answer: one rank of the host says so for all.
ran=("$CCTEST" "SIGTERM while rank 0 is stopped")
: >"$out"
setsid "$CCTEST" allreduce "${small[@]}" --np 20 -x tcp --timeout 60 --inject stop:rank=0:iteration=1 >"$out" 2>"$err" </dev/null &
pid=$!
# shellcheck disable=SC2317 # called by await
rank_0_is_stopped() { ps -s $pid -o stat= | grep -q '^T'; }
check "rank 0 is not stopped" await 60 rank_0_is_stopped
kill -TERM -- -$pid
wait $pid
status=$?
check_says "rank 1: interrupted by SIGTERM, and rank 0 does not answer: this rank ends"
check "ranks repeat what one has said" test "$(grep -c 'does not answer' "$err")" = 1
nothing_left $pid

# A job that was started with SIGINT ignored keeps ignoring it; SIGTERM still ends it.
for as in processes threads; do
    ran=("$CCTEST" "SIGINT ignored, $as")
    : >"$out"
    setsid sh -c 'trap "" INT; exec "$@"' sh "$CCTEST" allreduce -b 64 -e 64M -f 1024 -n 5000 --np 2 --ranks-as $as \
        >"$out" 2>"$err" </dev/null &
    pid=$!
    check "it runs" await_lines 1
    kill -INT -- -$pid
    check "SIGINT ended it" await_lines 2
    kill -TERM $pid
    wait $pid
    status=$?
    check_status 130
    check_says "SIGTERM"
    nothing_left $pid
done

# A very short deadline ends no healthy job. On a busy machine the ranks may get no processor for that long.
for try in 1 2 3 4 5; do
    cctest alltoall -a pairwise --np 3 -b 1M -e 1M -n 2000 -c 0 --timeout 0.3
    if [ $status != 5 ] || [ $try = 5 ]; then break; fi
    echo "repeated: a job with --timeout 0.3: $(head -n 1 "$err")"
done
check_status 0

# ---- output that is not read ----

cat >"$scratch/unread.py" <<'PYTHON'
import fcntl, os, re, select, signal, subprocess, sys, time
how, command = sys.argv[1], sys.argv[2:]
def narrow_pipe():
    mine, theirs = os.pipe()
    fcntl.fcntl(theirs, 1031, 4096) # F_SETPIPE_SZ
    return mine, theirs
def fill(theirs):
    again = os.open(f"/proc/self/fd/{theirs}", os.O_WRONLY | os.O_NONBLOCK)
    try:
        while True:
            os.write(again, b"x")
    except BlockingIOError:
        pass
def await_line(mine): # waits for a line of the table: the job is then in the middle of the next one
    said, until = b"", time.time() + 60
    while not re.search(rb"^ *[0-9].*\n", said, re.M):
        if not select.select([mine], [], [], max(0, until - time.time()))[0]:
            job.kill()
            sys.exit(f"says only {said}")
        said += os.read(mine, 4096)
def await_full(): # for longer than the deadline
    until, since = time.time() + 60, time.time()
    while time.time() - since < 6:
        if time.time() > until:
            job.kill()
            sys.exit("does not fill the pipe")
        if select.select([], [out[1]], [], 0)[1]:
            since = time.time()
        time.sleep(0.05)
out, err = narrow_pipe(), narrow_pipe()
if how == "stderr":
    fill(err[1])
job = subprocess.Popen(command, stdout=out[1], stderr=err[1] if how == "stderr" else None)
if how == "stdout":
    await_full() # a reader that pauses is no rank's fault
    job.send_signal(signal.SIGTERM)
else:
    await_line(out[0])
    if how == "report":
        fill(out[1])
    job.send_signal(signal.SIGTERM)
try:
    status = job.wait(60)
except subprocess.TimeoutExpired:
    job.kill()
    status = "hangs"
print(how, "status", status)
PYTHON
# unread HOW STATUS ARGUMENT...: processes and threads, at the same time, end after a signal although a pipe is full:
# "stdout" has been so for longer than the deadline, "report" becomes so, "stderr" is so from the start.
unread() {
    local how=$1 expected=$2 as
    shift 2
    for as in processes threads; do
        RUN_LIMIT=200 start "$how-$as" python3 "$scratch/unread.py" "$how" "$CCTEST" "$@" --ranks-as $as
    done
    for as in processes threads; do
        ended "$how-$as" 0
        check_says "^$how status $expected$" "$out"
        [ "$how" = stderr ] || check_says "cannot write the table: no process reads it"
        check_silent 'progressed|lost|gone'
    done
}
unread stdout 130 allreduce --np 2 --timeout 4 -b 8 -e 64M -i 1K -n 1 -w 0 -c 0
unread report 130 allreduce --np 2 -b 64 -e 64M -f 1048576 -n 2000 -c 0
unread stderr 130 allreduce --np 2 -b 64 -e 64M -f 1048576 -n 2000 -c 0

finish

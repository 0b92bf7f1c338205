#!/usr/bin/env bash
# tier: deep; load: wait
# Memory that ranks share turns into garbage while they use it (garbage.py): the job ends by its deadline, with a sentence,
# and table, JSON and exit status agree.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
garbage=$repository/tests/system/garbage.py

# spoiled MEMORY SEED STATUS REGEX ARGUMENT...: a job that would run for very long. The garbage comes when all links are
# connected: rank 0 then prints the heads of the columns.
spoiled() {
    local memory=$1 seed=$2 expected=$3 says=$4 status_word
    shift 4
    rm -f "$scratch/job.out" # a background command truncates it at any time
    start job "$CCTEST" "$@" -n 4000000 --timeout 5 --json "$scratch/job.json"
    check "the job does not measure" await 60 grep -qs '^# *bytes  *elements' "$scratch/job.out"
    timeout 100 "$garbage" "${pids[job]}" "$memory" "$seed" >"$scratch/how"
    wait "${pids[job]}"
    status=$? out=$scratch/job.out err=$scratch/job.err
    check_status "$expected" "$(cat "$scratch/how")"
    check_says "^cctest: .*($says)"
    status_word=error
    [ $status = 1 ] || status_word=timeout
    check_json "$scratch/job.json" "d['status'] == '$status_word'" "d['errors']"
}

# The seeds 2 and 4: pages in all ranks, again and again, or once; 3: in a rank, again and again; 6: bits.
spoiled cctest-barrier 2 1 'the start barrier of this host holds a value of rank [0-9]+ that no rank writes' allreduce --np 3 -b 8 -e 8
spoiled cctest-shm:blocks 6 1 'that no rank writes' allreduce --np 3 -b 64K -e 64K
spoiled cctest-shm:blocks 4 1 'that no rank writes' alltoall --np 3 -b 256K -e 256K --copy zcopy
spoiled cctest-shm:header 4 1 'a sign of leaving that no rank writes' allreduce --np 3 -b 64K -e 64K
spoiled cctest-shm:header 6 1 'a sign of leaving that no rank writes' alltoall --np 3 -b 1M -e 1M
spoiled cctest-shm:blocks 3 1 'that no rank writes' alltoall --np 2 -b 256K -e 256K --memory shared --ranks-as threads
# Words of --copy ll are all that there is: one that does not arrive is waited for.
spoiled cctest-shm:blocks 3 '[15]' 'no rank has progressed|that no rank writes' alltoall --np 2 -b 4K -e 4K --copy ll
finish

# shellcheck shell=bash
# shellcheck disable=SC2154 # run and lib.sh set $report, $gpu, $cores, $cctest and $scratch
# jobs.sh - for run: many short jobs, by which all collectives, algorithms, types and operators have their turn; and jobs with
# an injected fault.

reducing='allreduce reduce_scatter reduce_scatterv reduce'
collectives='allreduce allgather allgatherv reduce_scatter reduce_scatterv alltoall alltoallv broadcast reduce gather gatherv
    scatter scatterv sendrecv'

# Pairs of a type and an operator, one a line.
pairs() {
    local type operator
    for type in float float16 int8 double bfloat16 uint8 int32 float8_e4m3 int16 uint64 float8_e5m2 uint16 int64 uint32; do
        for operator in sum min avg prod max; do echo "$type $operator"; done
        [[ $type != *int* ]] || for operator in bxor land band lor bor lxor; do echo "$type $operator"; done
    done
    for type in float_int32 int64_int64 int32_int32 double_int64; do
        echo "$type maxloc"
        echo "$type minloc"
    done
}

# jobs_of SIZES TRANSPORT...: a job a line: ranks, how, transport, collective, type, operator, algorithms. The TRANSPORT "device" is
# the device executor. Each pair of a type and an operator is combined at least once; without a GPU, some of them.
jobs_of() {
    local -a all
    local at=0 turn=0 ranks as transport collective sizes=$1
    shift
    mapfile -t all < <(pairs)
    for ranks in $sizes; do
        as=$([ "$ranks" = 2 ] && echo processes || echo threads) # processes take turns on a GPU
        [ "$1" != device ] || as=threads
        for transport in "$@"; do
            for collective in $collectives; do
                if [[ " $reducing " = *" $collective "* ]]; then
                    echo "$ranks $as $transport $collective ${all[at++ * 5 % ${#all[@]}]} all"
                else
                    echo "$ranks $as $transport $collective ${all[turn++ * 11 % ${#all[@]}]} all"
                fi
            done
        done
    done
    for ((; at < ${#all[@]}; at++)); do
        [ -n "$gpu" ] || [ $((at % 8)) = 0 ] || continue
        echo "3 threads $1 allreduce ${all[at * 5 % ${#all[@]}]} ring"
    done
}

# job NUMBER RANKS AS TRANSPORT COLLECTIVE TYPE OPERATOR ALGORITHMS
job() {
    local seconds words
    seconds=$(left)
    words=("$5" -a "$8" -m cuda --np "$2" --device 0 --ranks-as "$3" -d "$6" -b 4K -e 64K -f 16 -n 1 -w 0 -c 1)
    if [ "$4" = device ]; then
        words+=(--executor device --channels "$(printf '%s\n' auto 2 3 4 | sed -n $((1 + $1 % 4))p)" --copy "$(printf '%s\n' auto zcopy bcopy | sed -n $((1 + $1 % 3))p)")
    else
        words+=(--executor host -x "$4")
    fi
    [[ " $reducing " != *" $5 "* ]] || words+=(-o "$7")
    # Jobs run beside each other, so ranks are not bound.
    [ "$seconds" -gt 0 ] && timeout --kill-after=3 "$((seconds < 60 ? seconds : 60))" "$cctest" "${words[@]}" --bind none \
        >"$scratch/job.$1" 2>&1 </dev/null
    echo "$? cctest ${words[*]}" >"$scratch/status.$1"
}

# Runs the jobs of $scratch/jobs, as many beside each other as the cores allow. Jobs on one GPU have its time by turns, each with
# all of its kernels.
jobs_run() {
    local number=0 words status command beside=$((cores >= 8 ? cores / 4 : 1)) late=0 bad=0
    rm -f "$scratch"/job.* "$scratch"/status.*
    while read -ra words; do
        while [ "$(jobs -rp | wc -l)" -ge "$beside" ]; do wait -n; done
        [ "$(left)" -gt 0 ] || break
        job "$number" "${words[@]}" &
        number=$((number + 1))
    done <"$scratch/jobs"
    wait
    for ((at = 0; at < number; at++)); do
        read -r status command <"$scratch/status.$at"
        echo "status $status: $command" >>"$report/collectives.txt"
        [ "$status" != 0 ] || continue
        cat "$scratch/job.$at" >>"$report/collectives.txt" 2>/dev/null
        if [ "$(left)" = 0 ] && [ "$at" -ge $((number - beside)) ]; then
            late=$((late + 1))
        elif [ $((++bad)) -le 10 ]; then
            fault "status $status: $command" "$scratch/job.$at"
        fi
    done
    late=$((late + $(wc -l <"$scratch/jobs") - number))
    [ "$bad" -le 10 ] || fault "and $((bad - 10)) more (collectives.txt)"
    [ "$late" = 0 ] || fault "$late of $(wc -l <"$scratch/jobs") jobs were not reached in time"
    note "$(($(wc -l <"$scratch/jobs") - bad - late)) of $(wc -l <"$scratch/jobs") jobs without a fault"
}

# injected STATUS FAULT REGEX OPTION...: this fault is found and told.
injected() {
    limited 30 "$cctest" allreduce -a ring -m cuda --np 3 --device 0 --ranks-as threads -b 64K -e 64K -c 4 -n 1 --inject "$2" "${@:4}"
    local status=$?
    if [ "$status" != "$1" ] || ! grep -Eq -- "$3" "$scratch/err"; then
        fault "--inject $2: status $status, expected $1 and: $3" "$scratch/err"
    fi
}

# late_ranks ITERATIONS: so many are checked in all, with each of 4 ranks in turn 200 us late.
late_ranks() {
    local rank checked=0
    for ((rank = 0; rank < 4; rank++)); do
        limited 60 "$cctest" allreduce -a ring -m cuda --np 4 --device 0 --ranks-as threads --executor device --channels 2 \
            -b 64K -e 64K -n 0 -w 0 -c $((($1 + 3) / 4)) --inject delay:rank=$rank:us=200 --json "$scratch/json" ||
            { fault "rank $rank is 200 us late: status $?" "$scratch/err" && continue; }
        checked=$((checked + $(python3 -c 'import json, sys
print(sum(r["checked"] for r in json.load(open(sys.argv[1]))["results"] if r["executor"] == "device" and r["wrong"] == 0))' \
            "$scratch/json")))
    done
    [ "$checked" -ge "$1" ] || fault "$checked iterations with a late rank were checked, not $1"
    note "$checked checked iterations of 4 ranks, each in turn 200 us late"
}

#!/usr/bin/env bash
# tier: check; load: cpu1
# Measurement: every column of the table, of CSV and of JSON follows from the raw samples, and the samples from what ran.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
json=$scratch/run.json
small=(-b 8 -e 8)

# How far does rank 0 go while its receiver rests in one of the iterations? It needs nothing from it. It stops at the
# barrier before the next iteration; back to back it does all timed ones, and all checked ones of a burst. These jobs wait
# for their deadline beside the rest of this test.
rests() { # rests NAME ITERATION ARGUMENT...
    start "$1" "$CCTEST" sendrecv -a uni --np 2 "${small[@]}" --inject "silent:rank=1:iteration=$2" --timeout 5 "${@:3}"
}
rests timed 4 -w 4 -c 0 -n 4
rests timed-back-to-back 4 -w 4 -c 0 -n 4 --start back-to-back
rests checked 0 -w 0 -c 4 -n 4
rests checked-back-to-back 0 -w 0 -c 4 -n 4 --start back-to-back

# Numbers that are computed a second time.
RUN_LIMIT=300 run python3 -B "$repository/tests/system/columns.py" "$CCTEST" "$scratch"
check_status 0 "columns.py"
device=$repository/build/tests/cuda/cctest
if [ -x "$device" ] && [[ $CCTEST != */build-*/cctest ]]; then
    CUDA_STANDIN=mode=async RUN_LIMIT=60 run python3 -B "$repository/tests/system/columns.py" "$device" "$scratch" device
    check_status 0 "columns.py device"
else
    echo "not tested: columns of GPUs: there is no C++ compiler for kernels"
fi

# No time is longer than it was. Iterations that follow each other take no longer, together, than the whole job; and a rank
# that waits for nobody computes in each of them at least for the shortest time of all. A microsecond more in each would be
# a second more.
TIMEFORMAT='%R + %U + %S'
{ time cctest allreduce "${small[@]}" --np 1 --start back-to-back -n 1000000 -c 0 --json "$json"; } 2>"$scratch/took"
check_status 0
took=$(<"$scratch/took") # seconds: of the clock, then of the processor
check_json "$json" "0 < d['results'][0]['time_us']['mean'] < ${took%% *}" \
    "0 < d['results'][0]['time_us']['min'] < ${took#*+}"

# The bytes between peers follow from schedules and iterations, those of a line from what moved. Each rank is a root.
for iterations in 7 auto; do
    cctest scatter -a linear --np 3 -r all -b 3001 -e 3001 -n $iterations --json "$json" -v
    check_status 0
    check_json "$json" 'all(sum(p[way] for s in r["samples"] for p in s["peers"]) == sum(r["bytes_by_path"].values()) > 0
        for r in d["results"] for way in ("sent", "received"))' \
        'all(any(p["sent"] > 0 for p in s["peers"]) for s in d["results"][0]["samples"])'
done
# With -v the table has the sum of all its lines by way, and its status is the last line.
cctest allreduce,alltoall --np 2 -b 8 -e 64K -f 32 -n 2 -v --json "$json"
check_status 0
ways=$(python3 -c 'import json, sys
ways = [r["bytes_by_path"] for r in json.load(open(sys.argv[1]))["results"]]
print("# bytes received by way: " + ", ".join(f"{way} {sum(w[way] for w in ways)}" for way in ways[0]))' "$json")
check "the table has not '$ways'" grep -qxF -- "$ways" "$out"
check "the table ends with its status" test "$(tail -n 1 "$out")" = "# status: ok"
cctest allreduce --np 2 -b 8 -e 8 -n 2
check_silent 'by way' "$out"

# As many iterations as were asked for: warm-up, checked, timed; with `-r all` each root is checked.
counted() { # counted NUMBER ARGUMENT...
    cctest "${@:2}" "${small[@]}" --np 3 --inject silent:rank=1:iteration=1000
    check_status 1
    check_says "this rank ran only $1 iterations"
}
counted 12 allgather -w 3 -c 2 -n 7
counted 7 allgather -w 3 -c 4 -n 0 --start back-to-back
counted 13 broadcast -w 3 -c 2 -n 7 -r all
# The last checked iteration is checked, and none after it.
for start in barrier back-to-back; do
    cctest allreduce "${small[@]}" --np 2 -c 5 -w 1 -n 1 --start $start --inject corrupt:rank=1:iteration=4
    check_status 3 "--start $start: wrong data in the last checked iteration"
    cctest allreduce "${small[@]}" --np 2 -c 5 -w 1 -n 1 --start $start --inject corrupt:rank=1:iteration=5
    check_status 1
    check_says 'this rank ran 5 checked iterations'
done

# The jobs of rests(), which have begun long before.
ended timed 5 'rank 0 .*phase time, .*start barrier of iteration 5,'
ended timed-back-to-back 5 'rank 0 .*phase gather,'
ended checked 5 'rank 0 .*phase check, .*start barrier of iteration 1,'
ended checked-back-to-back 5 'rank 0 .*phase time, .*start barrier of iteration 4,'
finish

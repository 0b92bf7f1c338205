#!/usr/bin/env bash
# tier: check; load: cpu1
# Output: JSON, CSV and tables, their destinations, and status words.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
small=(-b 4K -e 16K -n 3 -w 1 -c 1 --np 2)
json=$scratch/run.json csv=$scratch/run.csv

# Pipes that are full and not read. In the background: a run waits at its end for its reader until a signal ends it.
# held FIFO: a program opens it, shrinks its buffer, signals that, and reads nothing.
held() {
    mkfifo "$1"
    python3 -c 'if True:
        import fcntl, os, sys, time
        pipe = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(pipe, 1031, 4096) # F_SETPIPE_SZ
        open(sys.argv[1] + ".held", "w")
        time.sleep(600)' "$1" &
    holders+=($!)
    await 60 test -e "$1.held"
}
# unread NAME OPTION FIFO ARGUMENT...: results that are larger than the buffer
sweep=(allreduce -a ring,mesh -b 8 -e 1K -i 24 -n 2 -w 0 -c 0 --np 3)
unread() {
    held "$3"
    RUN_LIMIT=600 start "$1" "$CCTEST" "${sweep[@]}" "${@:4}" "$2" "$3"
}
unread full-processes --json "$scratch/full1"
unread full-threads --json "$scratch/full2" --ranks-as threads
unread full-csv --csv "$scratch/full3" --timeout 2
held "$scratch/full4"
timeout -k 10 600 "$CCTEST" "${sweep[@]}" --timeout 2 --json - \
    >"$scratch/full4" 2>&1 </dev/null &
pids[full-both]=$!
touch "$scratch/full-both.out" "$scratch/full-both.err"

# A sweep of more than 200 lines says so, with the reason. Auto's picks run one at each size.
cctest barrier -n 1 -w 0 -c 0 --np 2
check_silent .
cctest allreduce -b 400 -e 80000 -i 400 -n 1 -w 0 -c 0 --np 2 # 200 sizes
check_silent .
check "200 lines" test "$(grep -vc '^#' "$out")" = 200
for algorithms in auto:201:"1 algorithm;" ring,mesh:402:"2 algorithms;"; do
    IFS=: read -r names lines says <<<"$algorithms"
    cctest allreduce -a "$names" -b 400 -e 80400 -i 400 -n 1 -w 0 -c 0 --np 2
    check_status 0
    check_says "^cctest: the table will have $lines lines: 201 sizes from 400 to 80400 for $says .*-n the iterations$"
    check "the lines are those" test "$(grep -vc '^#' "$out")" = "$lines"
done

# The jobs with --timeout 2 outlast it. They have measured all, and end here.
measured() {
    [ "$(grep -cE '^ +1016 ' "$scratch/full-$1.out")" = 2 ]
}
for name in processes threads csv; do
    check "$name: the job waits for its reader before its end" await 100 measured $name
done
sleep 3
for name in processes threads csv both; do
    check "$name: it does not wait for its reader" kill -TERM "${pids[full-$name]}"
done
for how in processes:1 threads:2; do
    ended "full-${how%:*}" 130 "^cctest: cannot write $scratch/full${how#*:}: no process reads it$"
    check_says '^# status: interrupted$' "$out"
done
ended full-csv 130 "^cctest: rank 0: cannot write $scratch/full3: no process reads it$"
check_says '^# status: interrupted$' "$out"
check_silent 'progressed|lost|gone'
ended full-both 130 # the table goes to standard error, which is the same full pipe
out=$scratch/out err=$scratch/err
kill "${holders[@]}"

keys="collective algorithm transport memory copy datatype op root ranks bytes count in_place executor iterations"
keys+=" checked wrong start bytes_by_path time_us algbw_GBps busbw_GBps"

# A run writes all keys.
cctest allreduce -a ring,mesh "${small[@]}" --json "$json" --csv "$csv"
check_status 0
check_json "$json" 'd["schema"] == 1' 'd["status"] == "ok"' 'd["version"]' 'd["errors"] == []' \
    'd["options"]["min-bytes"] == 4096' 'd["options"]["algorithm"] == ["ring", "mesh"]' \
    '[r["rank"] for r in d["ranks"]] == [0, 1]' 'all(r["host"] and r["pid"] > 0 for r in d["ranks"])' \
    'len(d["results"]) == 4' \
    "all(set(r) >= set('$keys'.split()) for r in d['results'])" \
    'all(set(r["time_us"]) == set("min p50 mean p90 p99 max".split()) for r in d["results"])' \
    'all(r["time_us"]["min"] <= r["time_us"]["p50"] <= r["time_us"]["p90"] <= r["time_us"]["max"] for r in d["results"])' \
    'all(abs(r["algbw_GBps"] - r["bytes"] / r["time_us"]["p50"] / 1e3) <= r["algbw_GBps"] * 1e-3 for r in d["results"])' \
    'all(abs(r["busbw_GBps"] - r["algbw_GBps"]) <= r["algbw_GBps"] * 1e-6 for r in d["results"])' \
    'all(r["iterations"] == 3 and r["checked"] == 1 and r["wrong"] == 0 for r in d["results"])' \
    'all(sum(r["bytes_by_path"].values()) > 0 for r in d["results"])' \
    '[r["bytes"] for r in d["results"] if r["algorithm"] == "mesh"] == [4096, 16384]'
check "CSV: a head and a line a result, all of as many fields" \
    awk -F, 'NR == 1 { n = NF } NF != n { bad = 1 } END { exit bad || NR != 5 || n < 10 }' "$csv"
check_says '^ *4096 .*\*?' "$out"
check_silent . "$err"

# Several algorithms: a winner of each size.
check "each size has one winner" test "$(grep -c '\*' "$out")" -ge 2
check_says 'ring' "$out"
check_says 'mesh' "$out"
check_says '^# status: ok' "$out"

# Lengths of blocks stand in the head, the CSV and the JSON, also the default; a file's name is quoted where it needs it.
printf '1 2\n' >"$scratch/a,\"b"
for counts in spread zipf:1.5 "$scratch/a,\"b"; do
    [ "$counts" = spread ] && words=() || words=(--counts "$counts")
    cctest gatherv "${words[@]}" -n 1 -w 0 -c 1 --np 2 --csv "$scratch/counts.csv" --json "$scratch/counts.json"
    check_status 0
    check "the head names the counts" grep -qF "; float; out of place; counts $counts; root 0" "$out"
    run python3 -c 'import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
document = json.load(open(sys.argv[2]))
assert list(rows[0])[23] == "counts"
assert all(row["counts"] == sys.argv[3] for row in rows + document["results"] + [document["options"]])' \
        "$scratch/counts.csv" "$scratch/counts.json" "$counts"
    check_status 0 "CSV and JSON have the counts"
done
check_json "$json" 'd["results"][0]["counts"] is None' 'd["options"]["counts"] is None'

# Several collectives, types and operations: columns say what a line runs; what competes is compared, and nothing else.
cctest allreduce,allgather,barrier -a ring,mesh,dissemination -d float,int8 -o sum,bor -b 4K -e 8K -f 2 -n 3 -w 1 -c 2 \
    --np 4 --json "$json" --csv "$csv"
check_status 0
check_json "$json" 'd["options"]["algorithm"] == ["ring", "mesh", "dissemination"]' \
    'd["options"]["datatype"] == ["float", "int8"]' 'd["options"]["op"] == ["sum", "bor"]' \
    '[(r["collective"], r["datatype"], r["op"], r["bytes"], r["algorithm"]) for r in d["results"]] == [
        (c, t, o, b, a) for c, t, o in [("allreduce", "float", "sum"), ("allreduce", "int8", "sum"),
        ("allreduce", "int8", "bor"), ("allgather", "float", None), ("allgather", "int8", None)]
        for b in (4096, 8192) for a in ("ring", "mesh")] + [("barrier", "uint8", "bor", 0, "dissemination")]' \
    'all(r["count"] * {"float": 4, "int8": 1}[r["datatype"]] * {"allreduce": 1, "allgather": 4}[r["collective"]]
        == r["bytes"] for r in d["results"][:-1])' \
    'all(abs(r["busbw_GBps"] / r["algbw_GBps"] - {"allreduce": 1.5, "allgather": 0.75}[r["collective"]]) < 1e-3
        for r in d["results"][:-1])' \
    'd["results"][-1]["busbw_GBps"] == 0' 'all(r["wrong"] == 0 and r["checked"] == 2 for r in d["results"])' \
    "[tuple(l.split(',')[i] for i in (0, 1, 4, 5, 8)) for l in open('$csv')][1:] == [
        (r['collective'], r['algorithm'], r['datatype'], r['op'] or '', str(r['bytes'])) for r in d['results']]"
check_says '^# cctest [^ ]*: allreduce, allgather, barrier: ring, mesh, dissemination$' "$out"
check_says '^# +size +count +collective +type +op +algorithm +p50' "$out"
check_says '^ +4096 +4096 +allreduce +int8 +bor +mesh +[0-9]' "$out"
check_says '^ +8192 +512 +allgather +float +- +ring +[0-9]' "$out"
check_says '^ +- +- +barrier +- +- +dissemination +[0-9]' "$out"
check "each size of each collective, type and operation has one winner" test "$(grep -c ' \*$' "$out")" = 10
check_says '^# allreduce: busbw in GB/s and place' "$out"
check_says '^# +float +float +int8 +int8$' "$out"
check_says '^# +sum +sum +sum +sum$' "$out"
check_says '^# +bor +bor$' "$out"
check_says '^# allgather: busbw in GB/s and place' "$out"
check_silent '^# barrier: ' "$out"
cctest allreduce,alltoall -a ring "${small[@]}"
check_says '^# cctest [^ ]*: allreduce, alltoall: ring$' "$out"
check_says '; float sum; out of place$' "$out"
check_says '^# +size +count +collective +p50' "$out"
for links in "shm --np 3" "tcp --np 2 --in-place" "tcp --np 5 -r all --counts hot:0.5"; do
    # shellcheck disable=SC2086
    cctest all -d all -o all -b 1K -e 1K -n 1 -w 0 -c 2 --json "$json" -x $links
    check_status 0 "everything"
    check_json "$json" 'len({r["collective"] for r in d["results"]}) == 15' \
        'len({r["datatype"] for r in d["results"]}) == 18' 'len({r["op"] for r in d["results"]}) == 14' \
        'len({(r["collective"], r["datatype"], r["op"]) for r in d["results"]}) == len(d["results"])' \
        'sum(r["wrong"] for r in d["results"]) == 0' 'all(r["checked"] > 0 for r in d["results"])'
done
# Memory is that of the largest. Messages go the way that suits their own collective: no system call combines what it reads.
cctest barrier,allgather,reduce -a dissemination,mesh,binomial -x shm -b 8M -e 8M -n 2 -w 0 -c 1 --np 2 --json "$json"
check_status 0
check_json "$json" 'all(r["bytes_by_path"]["zcopy"] == 0 for r in d["results"] if r["collective"] == "reduce")'
# On a processor of AMD the kernel copies slowly into place where a block lies a few bytes behind its source in its page. The
# fourth of six does, and is copied on from a buffer; longer blocks, of whole lines of the cache, do not.
slow=$(grep -q AuthenticAMD /proc/cpuinfo && echo 174764 || echo 0)
for lies in "1048584 $slow" "1049088 0"; do
    read -r bytes copied <<<"$lies"
    cctest gather -a linear -x shm --copy zcopy --np 6 -b "$bytes" -e "$bytes" -n 1 -w 0 -c 1 --json "$json"
    check_status 0
    check_json "$json" "d['results'][0]['traffic']['shm']['copied_receiving'] == $copied" 'd["results"][0]["checked"] == 1'
done
cctest allreduce,barrier,alltoall -a ring,dissemination "${small[@]}" --min-busbw 100000
check_status 4
check_says '(allreduce|alltoall) ring at [0-9]+K, the largest size: the best busbw is [0-9.]+ GB/s, less than the 100000 GB/s'

# A fault of a line names what the line runs: here the fourth, with one checked of four iterations.
lines=(allgather,alltoall -a ring,pairwise -d float,int16 --np 3 -b 1K -e 1K -n 2 -w 1 -c 1)
cctest "${lines[@]}" --inject corrupt:rank=2:iteration=3 --json "$json"
check_status 3
check_says 'wrong data at .*: alltoall pairwise float, 1032 bytes: '
check_says '^# +float +int16 *$' "$out"
check_json "$json" '[i for i, r in enumerate(d["results"]) if r["wrong"]] == [3]' \
    '"alltoall pairwise float, 1032 bytes" in d["errors"][0]["message"]'
start silent "$CCTEST" "${lines[@]}" --inject silent:rank=1:iteration=12 --timeout 5 # `ended` at the end

# JSON to standard output: the table goes to standard error.
cctest barrier --np 3 -n 3 --json -
check_status 0
check_json "$out" 'd["results"][0]["time_us"]["p50"] > 0' 'd["results"][0]["wrong"] == 0'
check_says '^# status: ok'

# CSV to standard output: nothing else goes there.
cctest allreduce "${small[@]}" --csv -
check_status 0
check "standard output is CSV only" awk -F, 'NF < 10 { bad = 1 } END { exit bad || NR != 3 }' "$out"
check_says '^# status: ok'

# Destinations that cannot be replaced by a file.
cctest allreduce "${small[@]}" --json /dev/null
check_status 0
# Samples: a row of each line, rank and iteration; the table's time is that of the slowest rank.
cctest sendrecv --np 3 -b 1K -e 4K -n 5 -w 0 -c 0 --samples "$scratch/samples.csv" --json "$json"
check_status 0
check "samples: $(head -3 "$scratch/samples.csv")" python3 - "$scratch/samples.csv" "$json" <<'EOT'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
results = json.load(open(sys.argv[2]))["results"]
assert [(r["line"], r["iteration"], r["rank"]) for r in rows] == [
    (str(l), str(i), str(k)) for l in range(2) for i in range(5) for k in range(3)]
for line, result in enumerate(results):
    times = [[int(r["duration_ns"]) for r in rows if r["line"] == str(line) and r["iteration"] == str(i)] for i in range(5)]
    assert abs(max(map(max, times)) / 1000 - result["time_us"]["max"]) < 0.01
    last = [t.index(max(t)) for t in times]
    assert result["slowest"]["iterations"] == last.count(result["slowest"]["rank"]) == max(map(last.count, last))
    assert all(r["bytes"] == str(result["bytes"]) for r in rows if r["line"] == str(line))
EOT
cctest allreduce "${small[@]}" --samples -
check_status 0
check "standard output is samples only" awk -F, 'NF != 9 { bad = 1 } END { exit bad || NR != 13 }' "$out"
cctest allreduce --csv - --samples -
check_status 2 "cannot both go to standard output"

cctest allreduce "${small[@]}" --csv /dev/null
check_status 0
cctest allreduce "${small[@]}" --json /dev/null --csv /dev/null
check_status 0 "a device takes both"
check "/dev/null is still a device" test -c /dev/null
cctest allreduce "${small[@]}" --json /dev/full
check_status 1
check_says 'cannot write /dev/full: No space left'
check_says '^# status: error$' "$out"
timeout 60 "$CCTEST" allreduce "${small[@]}" --csv - 1>/dev/full 2>"$err"
status=$?
check_status 1 "CSV to a standard output that is full"
check_says 'cannot write standard output: No space left'
check_says '^# status: error$'
# A FIFO: its reader sees no end of file before the document, and may come later.
mkfifo "$scratch/fifo"
for kind in json csv; do
    # shellcheck disable=SC2016 # for sh -c
    timeout 100 sh -c 'sleep "$1"; exec cat "$2"' reader "$([ $kind = csv ] && echo 0 || echo 2)" "$scratch/fifo" >"$scratch/read" &
    cctest allreduce "${small[@]}" --$kind "$scratch/fifo"
    check_status 0 "--$kind to a FIFO"
    wait $!
    check "--$kind: nothing was read" test -s "$scratch/read"
    [ $kind = csv ] || check_json "$scratch/read" 'd["status"] == "ok"'
done
for kind in json svg; do
    timeout 100 cat "$scratch/fifo" >"$scratch/read" &
    cctest plan allreduce -a ring --np 2 --$kind "$scratch/fifo"
    check_status 0 "a plan's --$kind to a FIFO"
    wait $!
    check "a plan's --$kind: nothing was read" test -s "$scratch/read"
done
run timeout -s TERM 2 "$CCTEST" allreduce "${small[@]}" --json "$scratch/fifo" # no process reads it
check_status 124
check "ranks were started" test ! -s "$out"
echo kept >"$scratch/real.json"
ln -s real.json "$scratch/link.json"
cctest allreduce "${small[@]}" --json "$scratch/link.json"
check "a symbolic link stays one" test -L "$scratch/link.json"
check_json "$scratch/real.json" 'd["status"] == "ok"'
check "no temporary file is left" test -z "$(find "$scratch" -name '*.tmp*')"
timeout 60 "$CCTEST" allreduce "${small[@]}" 1>/dev/full 2>"$err"
status=$?
check_status 1 "standard output is full"
check_says 'cannot write (standard output|the table): No space left'
for transport in shm tcp; do
    timeout 60 "$CCTEST" allreduce "${small[@]}" -x $transport 0<&- 1>&- 2>"$err"
    status=$?
    check_status 1 "standard output is closed"
    check_says 'cannot write the table: Bad file descriptor'
done
timeout 60 "$CCTEST" allreduce "${small[@]}" 0<&- 1>&- 2>&-
status=$?
check_status 1 "all is closed"
timeout 60 "$CCTEST" list 1>&- 2>"$err"
status=$?
check_status 1 "a list to a standard output that is closed"
timeout 60 "$CCTEST" allreduce "${small[@]}" -e 1M -n 100 2>"$err" | head -n 1 >/dev/null
check "a reader that has gone is no lost rank" test "${PIPESTATUS[0]}" -le 1
check_silent 'killed|gone'

# The JSON is valid at any moment: it is read all the time, and after a kill.
setsid "$CCTEST" allreduce -a ring,mesh,tree,dbt,nhr --np 2 -b 8 -e 1M -n 50 -f 2 --json "$scratch/live.json" >/dev/null 2>&1 &
pid=$! looks=0
await 60 test -s "$scratch/live.json"
while kill -0 $pid 2>/dev/null && [ $looks -lt 8 ]; do
    looks=$((looks + 1))
    cp "$scratch/live.json" "$scratch/look.json"
    check_json "$scratch/look.json" 'd["status"] in ("running", "ok")' 'd["schema"] == 1'
done
check "it was read while the job ran" test $looks -gt 0
wait $pid
check_json "$scratch/live.json" 'd["status"] == "ok"'
setsid "$CCTEST" allreduce --np 2 -b 1M -e 1M -n 1000000 --json "$scratch/killed.json" >/dev/null 2>&1 &
pid=$!
await 60 grep -q '"pid"' "$scratch/killed.json"
kill -9 -- -$pid
wait $pid 2>/dev/null
check_json "$scratch/killed.json" 'd["status"] == "running"' 'len(d["ranks"]) == 2'

# Status words.
word() { # word EXIT-STATUS WORD ARGUMENT...
    cctest "${@:3}" --json -
    check_status "$1"
    check_json "$out" "d['status'] == '$2'" "bool(d['errors']) == ('$2' not in ('ok', 'slow'))"
}
word 0 ok allreduce "${small[@]}" --min-busbw 0.000001
word 4 slow allreduce "${small[@]}" -a all --min-busbw 100000
check_says 'less than the 100000'
word 3 wrong-data allreduce "${small[@]}" --inject corrupt:rank=1:iteration=0
word 2 usage allreduce "${small[@]}" -o summ
word 5 timeout allreduce "${small[@]}" --inject kill:rank=1:iteration=0
check_json "$out" 'd["errors"][0]["rank"] == 1' 'all(d["errors"][0][k] for k in ("host", "phase", "message"))'
word 5 timeout allreduce "${small[@]}" --inject kill:rank=0:iteration=0
word 5 timeout allreduce "${small[@]}" --inject stop:rank=0:iteration=0 --timeout 1
word 1 error allreduce --np 2 -b 64T -e 64T
check_says 'memory'

# --min-busbw applies to the best algorithm at the largest size.
cctest allreduce "${small[@]}" -a all --min-busbw 0.0001
check_status 0

# One rank sends nothing: there is no busbw, and a place all the same.
cctest allreduce "${small[@]}" -a ring,tree --np 1 --min-busbw 1
check_status 4
check_says 'at [0-9]+K, the largest size: there is no busbw, since no rank sent data'
check_says '^# (ring|tree) +- +1( |$)' "$out"

# --profile: a block for each algorithm and size, whose rows add up; without the option, none.
shares='[r[k] for k in ("copying", "reducing", "waiting_peer", "waiting_credit", "bookkeeping")]'
profiled() { # profiled RANKS ARGUMENT...
    cctest "${@:2}" --np "$1" --profile --json "$json"
    check_status 0
    check_json "$json" 'd["options"]["profile"] is True' "all(len(x['profile']) == $1 for x in d['results'])" \
        'all([r["rank"] for r in x["profile"]] == list(range(len(x["profile"]))) for x in d["results"])' \
        "all(abs(sum($shares) - 1) < 1e-6 and min($shares) >= 0 for x in d['results'] for r in x['profile'])" \
        'all(0 < r["p50_us"] <= x["time_us"]["max"] for x in d["results"] for r in x["profile"])'
}
profiled 4 allreduce -a all --shape 2x2 -b 16 -e 1M -f 256 -n 5
for algorithm in $(algorithms | awk '$1 == "allreduce" { print $2 }'); do
    for size in 16 4K 1M; do
        check "one profile of $algorithm, $size" test "$(grep -c "^#   profile of $algorithm, $size:" "$out")" = 1
    done
done
# shellcheck disable=SC2016
check "the rows add up to 100 %" awk '/profile of/ { left = 2; next }
    left-- > 0 { sum = 0; for (i = 3; i <= 7; i++) sum += $i; if ($2 != 1 - left || sum < 99.7 || sum > 100.3) bad = 1; rows++ }
    END { exit bad || rows < 6 }' "$out"
cctest allreduce "${small[@]}" --json "$json"
check_silent profile "$out"
check_json "$json" 'd["options"]["profile"] is False' 'all("profile" not in x for x in d["results"])'
cctest allreduce "${small[@]}" -n 0 --profile
check_status 0 "a profile of nothing"
check_silent profile "$out"
profiled 17 barrier -n 2 -w 0
check_says '^# +most at  ' "$out"
check "many ranks are summed up" test "$(grep -Ec '^# +(least|median|most)( at)?  ' "$out")" = 5

# Combined bytes are distinguished from copied ones, for every way of copying.
for way in "-x shm" "-x tcp" "-m shared --copy zcopy" "--ranks-as threads" "--copy bcopy --chunk 0" "--copy ll"; do
    read -ra words <<<"$way"
    profiled 2 allreduce -b 4M -e 4M -n 3 "${words[@]}"
    check_json "$json" 'all(r["reducing"] > 0 and r["copying"] > 0 for x in d["results"] for r in x["profile"])'
    profiled 2 broadcast -b 4M -e 4M -n 3 "${words[@]}"
    check_json "$json" 'all(r["reducing"] == 0 for x in d["results"] for r in x["profile"])' \
        'd["results"][0]["profile"][1]["copying"] > 0'
done

# The counts show the way of --copy. If a transport does not have that way, the job is refused.
for way in "bcopy" "zcopy" "ll"; do
    cctest allreduce "${small[@]}" -x shm --copy $way --json "$json"
    check_status 0
    check_json "$json" "all(r['copy'] == '$way' for r in d['results'])" \
        "all({p for p, n in r['bytes_by_path'].items() if n} == {'$way'} for r in d['results'])"
done
cctest alltoall "${small[@]}" -x tcp --copy ll --json "$json"
check_status 77
check_says 'tcp: it has no memory that both ranks share, which --copy ll needs; use -x shm.*; likewise rank'
check "said more than once" test "$(wc -l <"$err")" = 1
check_json "$json" 'd["status"] == "unavailable"' 'd["results"] == []'

# Waiting: the others wait for a late rank; a root with full slots waits for credit.
for link in shm tcp; do
    profiled 3 allreduce -x $link -b 64 -e 4K -f 64 -n 3 -w 1 -c 0 --inject delay:rank=1:us=150000
    check_json "$json" 'all(x["profile"][r]["waiting_peer"] > 0.8 for x in d["results"] for r in (0, 2))' \
        'all(x["profile"][1]["bookkeeping"] > 0.8 and x["profile"][1]["waiting_peer"] < 0.2 for x in d["results"])'
    profiled 3 broadcast -a chain -x $link --copy bcopy -b 12M -e 12M -n 2 -w 0 -c 0 --inject delay:rank=1:us=600000
    check_json "$json" 'd["results"][0]["profile"][0]["waiting_credit"] > 0.5' \
        'd["results"][0]["profile"][2]["waiting_peer"] > 0.5' 'd["results"][0]["profile"][1]["bookkeeping"] > 0.5'
done

# Data of the transports about the links, and the start barriers: in JSON, and with -v.
cctest alltoall "${small[@]}" -x shm -v --json "$json"
check_status 0
check_says "^# links: 2 by shm, cores (taken as|shared)" "$out"
check_says "^# start barrier: in shared memory$" "$out"
check_json "$json" '[(l["transport"], l["count"]) for l in d["links"]] == [("shm", 2)]' 'd["start_note"] is None' 'd["fallbacks"] == []' \
    'all(l["one_way_ns"] is None or 0 < l["one_way_ns"]["least"] <= l["one_way_ns"]["most"] for l in d["links"])' \
    '[r["barrier_group"] for r in d["ranks"]] == [0, 0]' 'all(l["link_kind"].startswith("cores ") for l in d["links"])'
cctest alltoall -a pairwise -b 1K -e 1K --np 17 -n 1 -w 0 -c 0 -x tcp -v --json "$json"
check_says "^# links: 272 by tcp$" "$out"
check_json "$json" 'd["links"] == [{"transport": "tcp", "link_kind": "", "count": 272, "one_way_ns": None}]'
# With more than 64 ranks, each reports fewer peers.
cctest alltoall -a pairwise -b 8 -e 8 --np 80 --ranks-as threads -n 1 -w 0 -c 0 -x shm -v --json "$json"
check_json "$json" 'all(len(s["peers"]) == 51 for s in d["results"][0]["samples"])'
cctest allreduce "${small[@]}"
check_silent "links|start barrier" "$out"

# No colour and no progress bar without a terminal.
cctest allreduce -a all "${small[@]}"
check "no escape sequences" test -z "$(tr -d '\n[:print:]' <"$out")"
if command -v script >/dev/null; then
    NO_COLOR=1 script -qec "'$CCTEST' allreduce -a all ${small[*]}" /dev/null </dev/null >"$out"
    check "NO_COLOR on a terminal: no colour" test -z "$(grep -o $'\e\\[[0-9;]*m' "$out")"
    # Sentences fit the terminal; the words are those of a file; rows of numbers stay whole.
    long=(alltoall,allreduce --np 4 -b 64K -e 64K -n 3)
    cctest "${long[@]}"
    grep '^#' "$out" | grep -v '^# *\(size\|bytes\) ' | tr -s '# \n' ' ' >"$scratch/words"
    check "a file has sentences of more than 60 columns" test -n "$(grep '^# .\{60\}' "$out")"
    script -qec "stty cols 45; '$CCTEST' ${long[*]}" /dev/null </dev/null | tr -d '\r' >"$out"
    grep '^#' "$out" | grep -v '^# *\(size\|bytes\) ' >"$scratch/lines"
    check "they fit 45 columns" test -z "$(grep '.\{46\}' "$scratch/lines")"
    check "with the same words" cmp -s "$scratch/words" <(tr -s '# \n' ' ' <"$scratch/lines")
    check "in more lines" grep -q '^#   [a-z]' "$scratch/lines"
    check "a row of numbers is whole" grep -q '^ *65536 .* 0\( \*\)\?$' "$out"
fi

# list, info, plan: text and JSON.
for command in list "list alltoall" info "plan alltoall -a bruck --np 6" "plan barrier --np 5 -v" \
    "plan allreduce -a rabenseifner --np 6 --rank 2 -b 1000 --in-place --channels 2" "plan broadcast -r 3 --np 5"; do
    read -ra words <<<"$command"
    cctest "${words[@]}"
    check_status 0
    check "text comes out" test -s "$out"
    check_silent . "$err"
    cctest "${words[@]}" --json -
    check_status 0
    check_json "$out" 'd["schema"] == 1' 'd["version"]'
    cctest "${words[@]}" --json "$scratch/$RANDOM.json"
    check_status 0
done
for argument in --help help "help plan" "help alltoall" --version "alltoall --help" -h "help all" "help version" \
    "help allreduce,reducescatter" "all --help"; do
    read -ra words <<<"$argument"
    cctest "${words[@]}"
    check_status 0
    check "text comes out" test -s "$out"
    check_silent . "$err"
done
check "every transport and datatype is named in info" "$CCTEST" info --json "$scratch/info.json"
cctest info
check_silent '(^|[^0-9])1 [A-Za-z ]*(threads|cores|sockets|nodes|ranks)\>' "$out"
check_json "$scratch/info.json" '{"shm", "tcp"} <= {t["name"] for t in d["transports"]}' 'len(d["datatypes"]) == 18' \
    'd["bootstrap"]["name"] == "local"'

ended silent 5 'phase warmup, alltoall pairwise float, 1K, iteration 12'
finish

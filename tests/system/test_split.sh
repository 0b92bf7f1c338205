#!/usr/bin/env bash
# tier: check; load: cpu1
# Groups of ranks at the same time (--split): what is measured follows from the raw samples; faults are named by the job's
# ranks; on several hosts the group with the throttled one is the slowest.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
json=$scratch/json samples=$scratch/samples csv=$scratch/csv

# consistent: the JSON, the CSV and the table of the last run, whose output is in $out, follow from its samples. A size
# with one algorithm is one line.
consistent() {
    check "the results follow from the samples" python3 - "$json" "$samples" "$csv" "$out" <<'PYTHON'
import csv, json, re, sys
d = json.load(open(sys.argv[1]))
rows, lines = list(csv.DictReader(open(sys.argv[2]))), list(csv.DictReader(open(sys.argv[3])))
table = [line for line in open(sys.argv[4]) if re.match(r" +\d", line)]
groups = d["groups"]
each = len(groups[0]["ranks"])
assert sorted(r for g in groups for r in g["ranks"]) == list(range(len(d["ranks"])))
assert all(len(g["ranks"]) == each for g in groups) and len(d["results"]) == len(lines) == len(table) > 0
for n, result in enumerate(d["results"]):
    mine = [(int(row["rank"]), int(row["iteration"]), int(row["duration_ns"])) for row in rows if row["line"] == str(n)]
    slowest = []
    for group, of in zip(groups, result["groups"]):
        times = sorted(max(t for r, i, t in mine if i == iteration and r in group["ranks"])
                       for iteration in range(result["iterations"]))
        assert len(times) == result["iterations"] and of["slowest"]["rank"] in group["ranks"]
        p50 = times[(len(times) + 1) // 2 - 1] / 1000
        assert abs(of["time_us"]["p50"] - p50) < 1e-6 and abs(of["time_us"]["max"] - times[-1] / 1000) < 1e-6
        assert abs(of["algbw_GBps"] - result["bytes"] / p50 / 1e3) < 1e-6 * of["algbw_GBps"]
        factor = {"allreduce": 2 * (each - 1) / each, "alltoall": (each - 1) / each, "broadcast": 1}[result["collective"]]
        assert abs(of["busbw_GBps"] - factor * of["algbw_GBps"]) <= 1e-6 * of["algbw_GBps"]
        slowest.append(p50)
    order = sorted(slowest)
    places = [result[key + "_group"] for key in ("slowest", "median", "fastest")]
    assert [slowest[g] for g in places] == [order[-1], order[(len(order) - 1) // 2], order[0]]
    of = result["groups"][places[0]]
    assert all(result[key] == of[key] for key in ("time_us", "algbw_GBps", "busbw_GBps", "slowest"))
    assert result["wrong"] == sum(g["wrong"] for g in result["groups"])
    line, words = lines[n], table[n].split(maxsplit=8)
    assert line["groups"] == str(len(groups)) and line["slowest"] == groups[places[0]]["name"]
    told = [[line[k] for k in ("p50_us", "median_us", "fastest_us")], [words[k] for k in (2, 5, 6)]]
    for numbers, digits in zip(told, (3, 2)):
        assert all(abs(float(number) - slowest[g]) < 0.6 * 10 ** -digits for number, g in zip(numbers, places)), numbers
    assert words[8].strip() == groups[places[0]]["name"]
PYTHON
}

# split RANKS OPTION...: allreduce and others run right in these groups.
split() {
    cctest "${@:2}" --np "$1" -b 1K -e 9K -f 9 -n 7 -w 1 --json "$json" --samples "$samples" --csv "$csv"
    check_status 0
    consistent
}
printf '# odd and even\n0 2 4,6\n1, 3 5-5 7\n' >"$scratch/groups"
split 6 alltoall -a pairwise --split 2
split 8 allreduce -a hier --shape 2x2 --split "$scratch/groups"
check_json "$json" '[g["ranks"] for g in d["groups"]] == [[0, 2, 4, 6], [1, 3, 5, 7]]' "d['options']['split'].endswith('groups')"
split 3 broadcast -a chain -r all --split node
check_json "$json" 'len(d["groups"]) == 1 and d["groups"][0]["name"] == d["ranks"][0]["host"]'
check_says '^# 1 group of 3 ranks at the same time \(--split node\)' "$out"
split 15 allreduce -a circulant -x tcp --split 5
cctest all -a all --np 9 --split 3 -b 100 -e 100 -n 1 -w 0 -c 3
check_status 0 "every algorithm in groups"
cctest alltoallv,gatherv,barrier,sendrecv -b 3K -e 3K -d all -c all -n 3 -m shared --np 4 --split 2 --start back-to-back
check_status 0 "counts, patterns and all types in groups"
cctest allreduce --np 2 -e 1K --json "$json"
check_json "$json" 'd["groups"] is None' 'all("groups" not in r for r in d["results"])'

# The slowest group has the delayed rank, and is the one that has to be fast enough.
cctest allreduce -a ring --np 6 --split 2 -b 64K -e 64K -n 5 --inject delay:rank=3:us=20000 --min-busbw 0.01 -v
check_status 4 "a slow group"
check_says ' group 1 \(ranks 2, 3\)$' "$out"
check_says 'slowest: rank 3 .* begins late' "$out"

# -n auto goes on until the medians of all groups are known, that of the noisy one too.
cctest allreduce -a ring --np 4 --split 2 -b 1K -e 1K -n auto --budget 1 --inject delay:rank=0:us=3000 --json "$json"
check_status 0 "-n auto"
check_json "$json" 'd["results"][0]["ended"] in ("interval", "budget")' \
    'all(g["median_interval"]["reached"] for g in d["results"][0]["groups"]) or d["results"][0]["ended"] == "budget"'

# Faults are told by the ranks of the job, group by group.
faulty() { # faulty WHERE REGEX OPTION...: what is wrong there
    cctest "${@:3}" -b 4K -e 4K -n 2 -c 2 --json "$json"
    check_status 3
    check_says "^cctest: rank 0: wrong data at $1 \(.*$2"
}
printf '0 3 5\n1 2 4\n' >"$scratch/groups"
groups=(--np 6 --split "$scratch/groups")
faulty "ranks 1, 2, 4" "the contribution of rank 2 is missing" \
    allreduce -a ring "${groups[@]}" --inject drop:rank=4:iteration=1
check_json "$json" '[e["rank"] for e in d["errors"]] == [1, 2, 4]' '[g["wrong"] > 0 for g in d["results"][0]["groups"]] == [False, True]'
faulty "rank 5" "from rank 3 .* explains it in data that rank 5 \(.*\) received from rank 3 \(.*\) in step" \
    alltoall -a pairwise "${groups[@]}" --inject corrupt:rank=5:iteration=0
faulty "ranks 4..7" "a flipped bit explains it in .*rank[s]? [4-7]" \
    allreduce -a hier --np 8 --split 4 --shape 2x2 --inject corrupt:rank=5:iteration=1
cctest allgather -a ring --np 6 --split 3 -b 4K -e 4K --inject drop:rank=1:iteration=0,corrupt:rank=5:iteration=0
check_status 3 "faults in two groups"
check_says "wrong data at ranks? [012].*from rank 0 is missing"
check_says "wrong data at ranks? [345].*from rank"
cctest allreduce -a ring "${groups[@]}" --inject kill:rank=2:iteration=3
check_status 5 "a killed rank"
check_says "^cctest: rank 2 \(host .* is gone"

# What cannot be: one sentence.
refused() { # refused SENTENCE OPTION...
    cctest allreduce "${@:2}"
    check_status 2
    check_says "^cctest: $1"
    check "one sentence" test "$(wc -l <"$err")" = 1
}
refused "--split 2: 5 ranks cannot be divided into groups of 2: give a number" --np 5 --split 2
refused "--split '7x' is neither a way to split nor a file" --np 4 --split 7x
refused "--split $scratch/groups: the file has groups of ranks 0 to 5, and the job has 4 ranks" --np 4 --split "$scratch/groups"
cctest plan allreduce --split 2
check_status 2
check_says "^cctest: .cctest plan. has no option --split"

# On hosts: those that talk to a throttled one are slow, and ranks are on their host or rail.
if ! hosts_up 4 || ! host_rate 3 80mbit 2>"$scratch/tc"; then
    echo "not tested: groups on several hosts (${hosts_missing:-no slow links: $(head -n 1 "$scratch/tc")})"
    finish
fi
export CCTEST_SECRET=$long_secret
places="1 1 2 2 3 3 4 4" short=(-w 1 -c 2 -b 256K -e 256K -n 5)
slowest() { # slowest NAME: that of the one line
    check_json "$hosts_json" "[d['groups'][r['slowest_group']]['name'] for r in d['results']] == ['$1']"
    check "the table names it" grep -Fq " $1" "$scratch/0.out"
}
meet "$places" alltoall -a pairwise --split 4 "${short[@]}"
slowest 'group 1 (ranks 4..7)'
printf '0 2\n1 3\n4 6 # slow\n5 7\n' >"$scratch/groups"
meet "$places" allreduce -a ring --split "$scratch/groups" "${short[@]}" --start back-to-back
check_json "$hosts_json" 'd["results"][0]["slowest_group"] in (2, 3)' 'd["results"][0]["fastest_group"] in (0, 1)'
host_unrate 3
meet "$places" allreduce --split node "${short[@]}" --inject delay:rank=2:us=20000
slowest h2
check_json "$hosts_json" '[g["ranks"] for g in d["groups"]] == [[0, 1], [2, 3], [4, 5], [6, 7]]'
meet "1 2 1 3 2 3" allreduce --split rail "${short[@]}" --inject delay:rank=5:us=20000
slowest "rail 1"
check_json "$hosts_json" '[g["ranks"] for g in d["groups"]] == [[0, 1, 3], [2, 4, 5]]'
launch "1 1 2" allreduce --split node
for rank in 0 1 2; do
    ended "$rank" 2
done
check_says "--split node: the group of rank 0 has 2 ranks and that of rank 2 has 1" "$scratch/0.err"
hosts_down
finish

#!/usr/bin/env bash
# tier: deep; load: alone
# The bottleneck on four hosts: a throttled link or host, a delayed rank, or none; and the samples in JSON, with waits for a core.
# usage: test_culprit.sh [RUNS [SEED]]: RUNS of each (default 3), with varying algorithms and victims, and one with
# a slow host; `make culprit` has 20. Prints a table of the results.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
command -v tc >/dev/null || skip "tc is not here: install iproute2"
link_rate 1 2 40mbit >"$scratch/tc" 2>&1 || skip "no slow links here: $(head -n 1 "$scratch/tc")"
host_unrate 1 && host_unrate 2
runs=${1:-3}
RANDOM=${2:-1}
export CCTEST_SECRET=$long_secret
json=$hosts_json table=$scratch/0.out

# Iterations with a fault, iterations without, and the job. At 40 Mbit/s an iteration takes about a second.
cases=("8 150 alltoall -a pairwise" "4 80 allreduce -a ring" "8 150 alltoall -a linear" "8 150 allgather -a ring"
    "6 150 broadcast -a chain")

# The bottleneck in the JSON: "rank 2 h3", "link h2 h3", "host h3", or "none".
named() {
    python3 - "$json" <<'PYTHON'
import json, sys
culprit = json.load(open(sys.argv[1]))["results"][0]["bottleneck"]
kind = culprit["kind"]
if kind == "rank":
    print(kind, culprit["rank"], culprit["host"])
elif kind == "host":
    print(kind, culprit["host"])
elif kind == "link":
    print(kind, *(end["host"] for end in (culprit["from"], culprit["to"])))
else:
    print("none")
PYTHON
}

declare -A count=()

# judge WHAT EXPECTED...: checks whether the last run named one of these, and counts the runs of WHAT.
judge() {
    local what=$1 found result=wrong expected
    found=$(named)
    for expected in "${@:2}"; do [ "$found" != "$expected" ] || result=right; done
    [ "$result" = right ] || { [ "$found" = none ] && result=none; }
    count[$what $result]=$((${count[$what $result]:-0} + 1))
    count[$what]=$((${count[$what]:-0} + 1))
    [ "$result" = right ] || {
        echo "$what: expected $2, named $found: ${job[*]}"
        grep -A 1 -E '^ +[0-9]|slowest' "$table"
    }
    [ "$found" = none ] || check "the table names $found" grep -Eq "^#   slowest: .*(${found##* }|begins)" "$table"
}

for ((run = 0; run < runs; run++)); do
    read -r few many job <<<"${cases[run % ${#cases[@]}]}"
    read -ra job <<<"$job -b 1M -e 1M -w 1 -c 0 -v"
    per_host=$((run % 3 == 2 ? 2 : 1)) places="1 2 3 4"
    [ $per_host = 1 ] || places="1 1 2 2 3 3 4 4"

    # A chain has no link from the last rank to the first, and nothing to compare its first link with.
    from=$((RANDOM % 3 + 1))
    [[ ${job[*]} != *chain* ]] || from=$((from % 2 + 2))
    to=$((from + 1))
    link_rate $from $to 40mbit
    meet "$places" "${job[@]}" -n "$few"
    judge link "link h$from h$to" "link h$to h$from"
    host_unrate $from && host_unrate $to

    rank=$((RANDOM % (4 * per_host)))
    meet "$places" "${job[@]}" -n 30 --inject "delay:rank=$rank:us=30000"
    judge rank "rank $rank h$((rank / per_host + 1))"

    meet "$places" "${job[@]}" -n "$many"
    judge healthy none
done

# All links of a host. On a busy machine other waits may hide some of them, and only the worst link is named.
read -ra job <<<"alltoall -a pairwise -b 1M -e 1M -w 1 -c 0 -v"
host_rate 3 40mbit
meet "1 2 3 4" "${job[@]}" -n 8
judge host "host h3" "link h"{1,2,4}" h3" "link h3 h"{1,2,4}
host_unrate 3

printf '%-24s %6s %6s %6s %7s\n' "bottleneck" runs right wrong none
printf '%-24s %6d %6d %6d %7d\n' \
    "a throttled link" "${count[link]}" "${count[link right]:-0}" "${count[link wrong]:-0}" "${count[link none]:-0}" \
    "a throttled host" "${count[host]}" "${count[host right]:-0}" "${count[host wrong]:-0}" "${count[host none]:-0}" \
    "a delayed rank" "${count[rank]}" "${count[rank right]:-0}" "${count[rank wrong]:-0}" "${count[rank none]:-0}" \
    "none" "${count[healthy]}" 0 "${count[healthy wrong]:-0}" "${count[healthy right]:-0}"
least=$((runs - (runs + 19) / 20)) # one in twenty may be missed
check "throttled links are named" test "${count[link right]:-0}" -ge "$least"
check "a throttled host is named" test "${count[host right]:-0}" = 1
check "delayed ranks are named" test "${count[rank right]:-0}" -ge "$least"
check "no bottleneck is named in a healthy job" test "${count[healthy wrong]:-0}" = 0

# The JSON has the samples of all ranks, and with -v the traffic between all pairs.
peers='[p for s in d["results"][0]["samples"] for p in s["peers"]]'
check_json "$json" 'len(d["results"][0]["samples"]) == len(d["ranks"])' \
    'all(s["late_us"] >= 0 and s["p50_us"] > 0 for s in d["results"][0]["samples"])' \
    "all(p['sent'] + p['received'] > 0 for p in $peers) and any('awaited_us' in p for p in $peers)" \
    "sum(p['sent'] for p in $peers) == sum(p['received'] for p in $peers) > 0"
hosts_down

# Three ranks on one core wait for it two thirds of the time, less where a rank sleeps until bytes
# arrive (a fast core moves all of a rank's bytes within one turn), if the kernel tells that.
core=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
run taskset -c "$core" "$CCTEST" allreduce --np 3 -b 4M -e 4M -n 50 --json "$scratch/core.json"
check_status 0
waits="[s['core_wait_share'] or 0 for s in d['results'][0]['samples']]"
if [ -r /proc/self/schedstat ]; then
    check_json "$scratch/core.json" "all(0 < w <= 1 for w in $waits) and 1 < sum($waits)"
else
    check_json "$scratch/core.json" "not any($waits)"
fi
finish

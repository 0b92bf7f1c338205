#!/usr/bin/env bash
# Who is to blame for the slowest time, on four hosts: a link or a host that is throttled, a rank that is delayed, or
# nobody; and that samples in JSON say what each rank saw.
# usage: test_culprit.sh [RUNS [SEED]]: so many runs of each, of changing algorithms and victims (3, for CI), and one of
# a slow host; `make culprit` has 20. It prints a table of what was named.
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

# What is run: iterations with a victim, iterations without, and the job. At 40 Mbit/s each takes about a second.
cases=("8 150 alltoall -a pairwise" "4 80 allreduce -a ring" "8 150 alltoall -a linear" "8 150 allgather -a ring"
    "6 150 broadcast -a chain")

# Who was named, as "rank 2 h3", "link h2 h3", "host h3", or "nobody".
named() {
    python3 - "$json" <<'PYTHON'
import json, sys
culprit = json.load(open(sys.argv[1]))["results"][0]["culprit"]
kind = culprit["kind"]
if kind == "rank":
    print(kind, culprit["rank"], culprit["host"])
elif kind == "host":
    print(kind, culprit["host"])
elif kind == "link":
    print(kind, *(end["host"] for end in (culprit["from"], culprit["to"])))
else:
    print("nobody")
PYTHON
}

declare -A count=()

# judge WHAT EXPECTED...: whether the last run named one of these; all runs of WHAT are counted.
judge() {
    local what=$1 who result=wrong expected
    who=$(named)
    for expected in "${@:2}"; do [ "$who" != "$expected" ] || result=right; done
    [ "$result" = right ] || { [ "$who" = nobody ] && result=nobody; }
    count[$what $result]=$((${count[$what $result]:-0} + 1))
    count[$what]=$((${count[$what]:-0} + 1))
    [ "$result" = right ] || {
        echo "$what: expected $2, named $who: ${job[*]}"
        grep -A 1 -E '^ +[0-9]|slowest' "$table"
    }
    [ "$who" = nobody ] || check "what is named is said" grep -Eq "^#   slowest: .*(${who##* }|begins)" "$table"
}

for ((run = 0; run < runs; run++)); do
    read -r few many job <<<"${cases[run % ${#cases[@]}]}"
    read -ra job <<<"$job -b 1M -e 1M -w 1 -c 0 -v"
    per_host=$((run % 3 == 2 ? 2 : 1)) places="1 2 3 4"
    [ $per_host = 1 ] || places="1 1 2 2 3 3 4 4"

    # A chain has no link from the last rank to the first.
    from=$((RANDOM % 3 + 1)) to=$((from + 1))
    link_rate $from $to 40mbit
    meet "$places" "${job[@]}" -n "$few"
    judge link "link h$from h$to" "link h$to h$from"
    host_unrate $from && host_unrate $to

    rank=$((RANDOM % (4 * per_host)))
    meet "$places" "${job[@]}" -n 30 --inject "delay:rank=$rank:us=30000"
    judge rank "rank $rank h$((rank / per_host + 1))"

    meet "$places" "${job[@]}" -n "$many"
    judge healthy nobody
done

# All links of a host: on a busy machine some of them have enough to wait for elsewhere, and the worst alone is named.
read -ra job <<<"alltoall -a pairwise -b 1M -e 1M -w 1 -c 0 -v"
host_rate 3 40mbit
meet "1 2 3 4" "${job[@]}" -n 8
judge host "host h3" "link h"{1,2,4}" h3" "link h3 h"{1,2,4}
host_unrate 3

printf '%-24s %6s %6s %6s %7s\n' "to blame" runs right wrong nobody
printf '%-24s %6d %6d %6d %7d\n' \
    "a throttled link" "${count[link]}" "${count[link right]:-0}" "${count[link wrong]:-0}" "${count[link nobody]:-0}" \
    "a throttled host" "${count[host]}" "${count[host right]:-0}" "${count[host wrong]:-0}" "${count[host nobody]:-0}" \
    "a delayed rank" "${count[rank]}" "${count[rank right]:-0}" "${count[rank wrong]:-0}" "${count[rank nobody]:-0}" \
    "nobody" "${count[healthy]}" 0 "${count[healthy wrong]:-0}" "${count[healthy right]:-0}"
least=$((runs - (runs + 19) / 20)) # one in twenty may be missed
check "throttled links are named" test "${count[link right]:-0}" -ge "$least"
check "a throttled host is named" test "${count[host right]:-0}" = 1
check "delayed ranks are named" test "${count[rank right]:-0}" -ge "$least"
check "nobody is named in a healthy job" test "${count[healthy wrong]:-0}" = 0

# What the ranks saw is there for scripts: with -v also what went between each two.
peers='[p for s in d["results"][0]["samples"] for p in s["peers"]]'
check_json "$json" 'len(d["results"][0]["samples"]) == len(d["ranks"])' \
    'all(s["late_us"] >= 0 and s["p50_us"] > 0 for s in d["results"][0]["samples"])' \
    "all(p['sent'] + p['received'] > 0 for p in $peers) and any('awaited_us' in p for p in $peers)" \
    "sum(p['sent'] for p in $peers) == sum(p['received'] for p in $peers) > 0"
hosts_down
finish

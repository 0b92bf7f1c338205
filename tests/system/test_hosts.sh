#!/usr/bin/env bash
# tier: deep; load: cpu2
# Jobs over several hosts (network namespaces): the link of each pair of ranks; groups of hierarchical algorithms for
# any order of the ranks; every collective once; a slow host does not count as dead; a cut link is named.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret
json=$hosts_json

# Bytes over each transport, for each result: "algorithm shm tcp".
bytes_by_link() {
    python3 - "$json" <<'PYTHON'
import json, sys
for line in json.load(open(sys.argv[1]))["results"]:
    print(line["algorithm"], *(sum(line["traffic"].get(x, {"received": {}})["received"].values()) for x in ("shm", "tcp")))
PYTHON
}

# ---- shm inside a host, tcp between hosts ----

# pairs HOSTS...: for ranks on these hosts, the number of links (a pair has two) inside a host, and between hosts.
pairs() {
    python3 - "$@" <<'PYTHON'
import sys
dealt = sys.argv[1:]
same = sum(a == b for a in dealt for b in dealt) - len(dealt)
print(same, len(dealt) * (len(dealt) - 1) - same)
PYTHON
}

for dealt in "1 1 2 2 3 3 4 4" "4 2 3 1 1 3 2 4" "1 2 2 2 3 3" "3 2 1 2 3 2"; do
    # shellcheck disable=SC2086 # a word each
    read -r within between <<<"$(pairs $dealt)"
    # One message from each rank to each other, small and large: the bytes show which link it took.
    for block in 1024 65536; do
        ranks=$(wc -w <<<"$dealt")
        meet "$dealt" alltoall -a linear -d uint8 -b $((block * ranks)) -e $((block * ranks)) -n 1 -w 0 -c 1 -v
        check_json "$json" 'd["status"] == "ok"' 'd["results"][0]["wrong"] == 0' \
            "[r['host'] for r in d['ranks']] == ['h' + i for i in '$dealt'.split()]" \
            "sum(l['count'] for l in d['links'] if l['transport'] == 'shm') == $within" \
            "[l['count'] for l in d['links'] if l['transport'] == 'tcp'] == [$between]" \
            'd["start_note"] is None' '{f["preferred"] for f in d["fallbacks"]} <= {"verbs"}'
        check "what went over shm and tcp: $(bytes_by_link)" \
            test "$(bytes_by_link)" = "linear $((within * block)) $((between * block))"
    done
    check_says "links: $between by tcp" "$scratch/0.out"
done
check_says '^# 6 ranks on 3 hosts, h3 to h1 \(tcp\); memory' "$scratch/0.out"

# Without a secret rank 0 says so, if there are several hosts.
unset CCTEST_SECRET
meet "1 2" allreduce -e 1K -n 1
check "said $(grep -c CCTEST_SECRET "$scratch/0.err") times" test "$(grep -c 'CCTEST_SECRET is not set' "$scratch/0.err")" = 1
check_silent CCTEST_SECRET "$scratch/1.err"
meet "1 1" allreduce -e 1K -n 1
check_silent CCTEST_SECRET "$scratch/0.err"
export CCTEST_SECRET=$long_secret

# ---- groups are found by host ----

# grouped COLLECTIVE any|equal: its hierarchical algorithms; any: those that accept unequal groups.
grouped() {
    "$CCTEST" list --json - | python3 -c '
import json, sys
collective, kind = sys.argv[1:]
for c in json.load(sys.stdin)["collectives"]:
    if c["name"] == collective:
        print(*(a["name"] for a in c["algorithms"] if a["grouped"] and (kind == "equal" or "equal" not in a["ranks"])),
              sep=",")' "$1" "$2"
}

hierarchical=$("$CCTEST" list --json - | python3 -c '
import json, sys
print(*(c["name"] for c in json.load(sys.stdin)["collectives"] if any(a["grouped"] for a in c["algorithms"])))')
check "there are hierarchical algorithms" test -n "$hierarchical"
for collective in $hierarchical; do
    for kind in equal any; do
        names=$(grouped "$collective" $kind)
        alike=()
        [[ $collective != *v ]] || alike=(--counts uniform)
        [ -n "$names" ] || continue
        # The bytes between hosts must not depend on the order of the ranks.
        if [ $kind = equal ]; then
            dealings=("1 1 2 2 3 3 4 4" "2 1 4 4 3 1 2 3")
        else
            dealings=("1 2 2 2 3 3" "1 2 3 2 3 2")
        fi
        said=
        for dealt in "${dealings[@]}"; do
            meet "$dealt" "$collective" -a "$names" "${alike[@]}" -b 96K -e 96K -n 2 -w 0 -c 2
            check_json "$json" 'd["options"]["shape"] is None' "len(d['results']) == len('$names'.split(','))" \
                'all(r["wrong"] == 0 and r["checked"] == 2 for r in d["results"])'
            check "$collective, ranks dealt as $dealt: $(bytes_by_link); as ${dealings[0]}: $said" \
                test "${said:=$(bytes_by_link)}" = "$(bytes_by_link)"
        done
    done
done
# They are also the minimum: in a hierarchical allreduce each slice goes around a ring of four hosts twice, 2 * 3 slices
# from each rank. In a flat ring in this order, every message crosses.
meet "1 2 3 4 1 2 3 4" allreduce -a hier,ring -b 96K -e 96K -n 1 -w 0 -c 0
check "what went over shm and tcp: $(bytes_by_link)" test "$(bytes_by_link)" = \
    "hier $((8 * 2 * 48 * 1024)) $((2 * 3 * 96 * 1024))
ring 0 $((8 * 2 * 7 * 12 * 1024))"

# ---- every collective, with -a auto ----

for collective in $("$CCTEST" list --json - | python3 -c '
import json, sys
print(*(c["name"] for c in json.load(sys.stdin)["collectives"]))'); do
    size=(-b 1K -e 1M -f 1024)
    [ "$collective" != barrier ] || size=()
    meet "3 2 1 2 3 2" "$collective" "${size[@]}" -n 2 -w 1 -c 2
    check_json "$json" 'd["status"] == "ok"' 'len(d["results"]) > 0' 'all(r["auto"] for r in d["results"])' \
        'all(r["wrong"] == 0 and r["checked"] == 2 for r in d["results"])'
done

# ---- a slow host ----

# Rank 1 has its message at once, and then waits for five deadlines, while rank 2 still receives byte by byte. The job
# must not end.
if host_rate 3 4mbit 2>"$err"; then
    hosts_patience=1
    meet "1 2 3" broadcast -a linear -b 3M -e 3M -n 1 -w 0 -c 0
    hosts_patience=20
    check_json "$json" 'd["status"] == "ok"' 'd["results"][0]["time_us"]["min"] > 5e6'
    for rank in 0 1 2; do check_silent . "$scratch/$rank.err"; done
    host_unrate 3
else
    echo "not tested: a slow host (no token bucket here: $(head -n 1 "$err"))"
fi

# ---- a link that is cut ----

# The link is idle when it is cut, since rank 0 sleeps most of the time. The kernel of rank 1 then finds no route for the
# next message, and has nothing to retransmit.
for rank in 0 1 2; do
    host_as $((rank + 1))
    start $rank "${as[@]}" "$CCTEST" allreduce -a ring -b 1K -e 1K -n 1000 -w 0 -c 0 --timeout 3 \
        --inject delay:rank=0:us=1000000 --rendezvous h1:7999 --rank $rank --world 3
done
check "it runs" await 60 grep -q busbw "$scratch/0.out"
sleep 1.5
link_cut 2 3
ended 0 5 "the link from rank (1 \(host h2.* to rank 2 \(host h3|2 \(host h3.* to rank 1 \(host h2).* does not deliver"
for rank in 1 2; do ended $rank 5; done
hosts_down

# ---- hosts of one name ----

# Cloned nodes have the same name and different boot ids.
if hosts_up 2 node node; then
    meet "1 2 1 2" allreduce -a hier -b 64K -e 64K -n 2 -w 0 -c 2
    check_json "$json" '[r["host"] for r in d["ranks"]] == ["node"] * 4' \
        '[r["node"] for r in d["ranks"]] == [0, 1, 0, 1]' '[r["local_rank"] for r in d["ranks"]] == [0, 0, 1, 1]' \
        'd["results"][0]["wrong"] == 0' \
        '[sum(l["count"] for l in d["links"] if l["transport"] == t) for t in ("shm", "tcp")] == [4, 4]'
    hosts_down
else
    failed "$hosts_missing"
fi

finish

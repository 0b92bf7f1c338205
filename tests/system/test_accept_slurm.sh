#!/usr/bin/env bash
# tier: deep; load: alone
# scripts/slurm/acceptance.sbatch on eight nodes of a real Slurm: one has a slow cable, and an agent of another one is killed.
# Both are named, and the others are good.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
# shellcheck source=tests/system/slurm.sh
. "$(dirname -- "$0")/slurm.sh"
private_machine "$@"
cd "$scratch" || exit # commands on hosts run here
RUN_LIMIT=200
slurm_up 8 || skip "$slurm_missing"
slowed=3 killed=6
for ((host = 1; host <= 8; host++)); do
    host_rate "$host" "$([ $host = $slowed ] && echo 50mbit || echo 400mbit)" 2>"$err" || skip "no token bucket here: $(head -n 1 "$err")"
done

# The README's line, on fewer nodes.
ln -s "$repository/scripts" scripts
acceptance=$(sed -nE 's/^    sbatch -N 16 ([^ ]*).*/\1/p' "$repository/README.md")
slurm env CCTEST="$CCTEST" CCTEST_TIMEOUT=9 sbatch --parsable -o printed -N 8 --ntasks-per-node=2 "$acceptance" \
    --quick --stages inventory,node,pairs,isolate,all -x tcp
check_status 0 sbatch
job=$(<"$out") json=acceptance-$(<"$out").json
agent() { # of the host that is to lose one
    local pid
    for pid in $(host_pids $killed); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != cctest ] || { echo "$pid" && return; }
    done
    return 1
}
check "the stage node has ended" await 100 grep -qs '"stage": "node"' "$json"
kill -KILL "$(agent)"
slurm_wait "$job"
check_status 137 "the highest status of a task, that of the killed agent"
check_says '^# cctest .* accept, 16 agents on 8 hosts, bootstrap tcp' printed
check_says '^  node +done .* 0 failed' printed
check_says '^  isolate +done ' printed
check_says '^  bad +h3: (sends|receives) ' printed
check_says '^  suspect +h6: lost in stage [a-z]+: rank [0-9]+ of the agents: its process ended' printed
check_says '^# good: h\[1-2,4-5,7-8\]$' printed
check_says '^# scontrol update NodeName=h3 State=DRAIN Reason="cctest: (sends|receives) ' printed
check "the lists" test "$(cat acceptance-*.good acceptance-*.bad)" = $'h[1-2,4-5,7-8]\nh3'
check_json "$json" 'len(d["hosts"]) == 8' '[len(h["agents"]) for h in d["hosts"]] == [2] * 8' 'd["status"] == "timeout"'
check "there is a page" test -s "acceptance-$job.html"

check "processes are left: $(strange_processes)" test -z "$(strange_processes)"
slurm_down
check "daemons are left: $(ps -e -o comm=)" slurm_is_gone
finish

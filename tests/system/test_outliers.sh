#!/usr/bin/env bash
# tier: deep; load: alone
# Iterations that take far longer than the others, on four hosts: a process that is stopped, and a host that no packet reaches
# for a moment. Each is told with its cause.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
hosts_up 4 || skip "$hosts_missing"
export CCTEST_SECRET=$long_secret

# So slow that each job takes more than a second, however fast the machine is.
for host in 1 2 3 4; do host_rate "$host" 200mbit >"$scratch/tc" 2>&1 || skip "no slow hosts here: $(head -n 1 "$scratch/tc")"; done
job=(-x tcp -b 64K -e 64K -w 1 -c 0 -v -n 300)

# A process that is stopped.
launch "1 2 3 4" allreduce -a ring "${job[@]}"
await 20 grep -q '^# *bytes' "$scratch/0.out"
sleep 0.3
victim=$(pgrep -P "${pids[2]}")
kill -STOP "$victim"
sleep 1.2
kill -CONT "$victim"
for rank in 0 1 2 3; do ended "$rank" 0; done
check_says '^#   outlier: iteration [0-9]+ took [0-9.]+ s, the median is [0-9.]+ m?u?s: rank 2 \(h3\) did not run for [0-9.]+ m?s' \
    "$scratch/0.out"
check_json "$hosts_json" 'd["results"][0]["outliers"]["count"] >= 1' \
    '[(o["cause"], o["rank"]["host"], o["peer"], o["time_us"] > 5e5) for o in d["results"][0]["outliers"]["longest"][:1]] == [("stopped", "h3", None, True)]'

# A host that no packet reaches, and that no packet leaves, for a moment.
launch "1 2 3 4" alltoall -a pairwise "${job[@]}"
await 20 grep -q '^# *bytes' "$scratch/0.out"
sleep 0.3
host_cut 2
sleep 0.6
host_heal 2
for rank in 0 1 2 3; do ended "$rank" 0; done
check_says '^#   outlier: iteration [0-9]+ took [0-9.]+ m?s, .*: meanwhile [0-9]+ packets? .*h2.* sent again$' "$scratch/0.out"
hosts_down
finish

#!/usr/bin/env bash
# tier: check; load: wait
# Ranks that MPICH's mpiexec (hydra) starts, and that meet through it by PMI-1.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
command -v mpiexec.hydra >/dev/null || skip "MPICH's mpiexec.hydra is not here"
run mpiexec.hydra -n 1 true
[ $status = 0 ] || skip "mpiexec.hydra does not run here: $(head -n 1 "$err")"
small=(allreduce -b 64K -e 64K -n 3 -w 1 -c 2)
json=$scratch/json

for ranks in 2 5; do
    run mpiexec.hydra -n $ranks "$CCTEST" "${small[@]}" -x tcp --json "$json"
    check_status 0 "$ranks ranks"
    check_says "^# $ranks ranks on .* \(pmi\)" "$out"
    check_json "$json" 'd["bootstrap"] == "pmi"' "len(d['ranks']) == $ranks" 'd["results"][0]["wrong"] == 0'
    check_silent cctest
done
run mpiexec.hydra -n 2 "$CCTEST" info
check_status 0
for rank in 0 1; do check_says "^ranks +pmi: a PMI server answers, and this is rank $rank of 2" "$out"; done
run mpiexec.hydra -n 1 "$CCTEST" "${small[@]}"
check_status 0
check_says "^# [0-9]+ ranks on .* \(local\)" "$out"
run mpiexec.hydra -n 1 "$CCTEST" "${small[@]}" -a ring : -n 1 "$CCTEST" "${small[@]}" -a mesh
check_status 2
check_says "other options than rank 0"

# Ranks that never come, or come one after the other, each within the deadline.
run mpiexec.hydra -n 1 "$CCTEST" "${small[@]}" --timeout 1 : -n 1 sleep 4 : -n 2 "$CCTEST" "${small[@]}" --timeout 1
check "mpiexec fails" test $status != 0
check_says "1 of 4 ranks did not join within 1 s: rank 1;"
run mpiexec.hydra -n 1 sleep 4 : -n 2 "$CCTEST" "${small[@]}" --timeout 1
check "mpiexec fails" test $status != 0
check_says "rank 0 could not be reached by rank [12] within 1 s through mpiexec"
# shellcheck disable=SC2016
run mpiexec.hydra -n 3 sh -c 'sleep $((2 * (2 - PMI_RANK))) && exec "$@"' - "$CCTEST" "${small[@]}" --timeout 3
check "rank 0 comes last, behind the deadline of rank 2" test $status != 0
check_says "rank 0 could not be reached by rank 2"
# shellcheck disable=SC2016
run mpiexec.hydra -n 3 sh -c 'sleep $((2 * PMI_RANK)) && exec "$@"' - "$CCTEST" "${small[@]}" --timeout 3
check_status 0 "ranks that come one behind the other"
# Several proxies, as on several hosts.
run mpiexec.hydra -launcher fork -hosts localhost:2,127.0.0.1:2 -n 4 "$CCTEST" "${small[@]}"
check_status 0 "two proxies"
check_says "^# 4 ranks on .* \(pmi\)" "$out"

# One rank is killed: the others name it and end alike. (The shell keeps mpiexec from killing them first.)
# shellcheck disable=SC2016
run mpiexec.hydra -n 4 sh -c '"$@"; echo "$PMI_RANK ended with $?" >&2; sleep 2' - "$CCTEST" "${small[@]}" \
    --inject kill:rank=2:iteration=3 --json "$json"
for rank in 0 1 3; do check_says "^$rank ended with 5"; done
check_says "^cctest: rank 2 \(.*\) is gone"
check_json "$json" 'd["status"] == "timeout"' 'd["errors"][0]["rank"] == 2'
# mpiexec's own status, as the manual page has it.
run mpiexec.hydra -n 4 "$CCTEST" "${small[@]}" --inject kill:rank=2:iteration=3
check_status 9 "a rank was killed"

# A socket without a server: an error, never jobs of one rank.
run env PMI_FD=77 PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=0 "$CCTEST" "${small[@]}"
check_status 2
check_says "mpiexec started this as rank 0 of 2, but its PMI socket \(PMI_FD\) does not answer: Bad file descriptor"
# shellcheck disable=SC2016
run mpiexec.hydra -n 2 sh -c '"$0" info >/dev/null; "$0" "$@"' "$CCTEST" "${small[@]}"
check "mpiexec fails" test $status != 0
check_says "does not answer: .* \(it serves only one command per process\)"

finish

#!/usr/bin/env bash
# tier: check; load: cpu1
# A sample of the campaign (tests/campaign): each fault once, at a random moment. The seed is one whose sample has all
# bootstraps; --slack and --least leave time on a busy machine. CAMPAIGN='--runs 300 --seed 1' runs all (make campaign),
# '--seed 1 --run 17' repeats one run.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
# shellcheck source=tests/system/slurm.sh
. "$(dirname -- "$0")/slurm.sh"
private_machine "$@"
# shellcheck disable=SC2154 # lib.sh's
[ -n "$private" ] || skip "this user may make no namespaces, and the campaign must not run on a shared machine"
read -ra given <<<"${CAMPAIGN:---seed 71 --seconds 120 --runs 0 --least 8 --slack 15}"
# shellcheck disable=SC2154 # hosts.sh's and lib.sh's
cd "$scratch" || exit # where the hosts' commands run
if slurm_up 4; then
    slurm salloc --no-shell -N 4 --ntasks-per-node=8
    check_status 0 salloc
    given+=(--slurm SLURM_CONF="$slurm_state/slurm.conf"
        SLURM_JOB_ID="$(sed -n 's/.*Granted job allocation \([0-9]*\).*/\1/p' "$err")")
elif hosts_up 4; then
    echo "without Slurm: $slurm_missing"
else
    echo "without hosts: $hosts_missing"
fi
for host in 1 2 3 4; do [ -z "${host_holder[$host]:-}" ] || given+=(--holder "${host_holder[$host]}"); done
# shellcheck disable=SC2154
ran=(python3 -B "$repository/tests/campaign/campaign.py" --cctest "$CCTEST" --keep "$kept" "${given[@]}")
"${ran[@]}"
status=$? out=/dev/null err=/dev/null # what it prints is seen
check_status 0
finish

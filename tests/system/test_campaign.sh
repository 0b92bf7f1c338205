#!/usr/bin/env bash
# A bounded sample of the campaign: each fault once, at a random moment (tests/campaign), with some time to spare for a
# machine that is busy. CAMPAIGN='--runs 300 --seed 1' runs the whole of it (make campaign), '--seed 1 --run 17' one run
# alone.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
private_machine "$@"
# shellcheck disable=SC2154 # lib.sh's
[ -n "$private" ] || skip "this user may make no namespaces, and the campaign harms the machine that it runs on"
read -ra given <<<"${CAMPAIGN:---seed 1 --seconds 75 --runs 0 --least 12 --slack 6}"
# shellcheck disable=SC2154 # hosts.sh's and lib.sh's
if hosts_up 4; then
    for host in 1 2 3 4; do given+=(--holder "${host_holder[$host]}"); done
else
    echo "without hosts: $hosts_missing"
fi
# shellcheck disable=SC2154
python3 -B "$repository/tests/campaign/campaign.py" --cctest "$CCTEST" "${given[@]}"

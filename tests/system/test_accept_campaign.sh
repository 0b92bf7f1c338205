#!/usr/bin/env bash
# tier: deep; load: cpu2
# A sample of the campaign of `cctest accept` (tests/campaign/accept.py): eight hosts that are healthy; one throttled and one
# killed; a slow way between two halves; a slow link, and a host that stands still now and then; packets that are altered one
# way. A run is repeated if other processes disturbed its measurements.
# ACCEPT_CAMPAIGN='--runs 300 --seed 1' runs all (make accept-campaign), '--seed 1 --run 16' repeats one run.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
private_machine "$@"
# shellcheck disable=SC2034 # hosts.sh reads it: carriers are counted there
hosts_sysfs=yes
hosts_up 8 || skip "$hosts_missing"
link_rate 1 2 40mbit >"$scratch/tc" 2>&1 || skip "no slow links here: $(head -n 1 "$scratch/tc")"
host_unrate 1 && host_unrate 2
read -ra given <<<"${ACCEPT_CAMPAIGN:---stages inventory,self,pairs,isolate --plan healthy --plan throttled+killed --plan uplink --plan link+gaps --plan flips-way --tries 3}"
for host in 1 2 3 4 5 6 7 8; do given+=(--holder "${host_holder[$host]}"); done
cd "$scratch" || exit # where the hosts' commands run
ran=(python3 -B "$repository/tests/campaign/accept.py" --cctest "$CCTEST" --keep "$kept" "${given[@]}")
"${ran[@]}"
status=$? out=/dev/null err=/dev/null # what it prints is seen
check_status 0
finish

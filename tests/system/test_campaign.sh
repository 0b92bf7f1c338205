#!/usr/bin/env bash
# A bounded sample of the campaign: random faults at random moments (tests/campaign). CAMPAIGN='--runs 300 --seed 1'
# runs the whole of it (make campaign), '--seed 1 --run 17' one run alone.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
read -ra given <<<"${CAMPAIGN:---seed $((EPOCHSECONDS / 86400)) --seconds 45 --runs 20}"
[ -z "$private" ] || given+=(--private)
[ -n "$private" ] || given+=(--bootstrap local --bootstrap threads --bootstrap tcp)
exec python3 "$repository/tests/campaign/campaign.py" --cctest "$CCTEST" "${given[@]}"

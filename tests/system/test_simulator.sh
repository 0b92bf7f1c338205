#!/usr/bin/env bash
# tier: check; load: cpu1
# `cctest predict`: times are computed a second time, from the plan and the manual's formulas, for random models.
# SIMULATOR_SEED and SIMULATOR_CASES choose others.
. "$(dirname "$0")/lib.sh"

run python3 -B "$repository/tests/system/simulator.py" "$CCTEST" "$scratch" "${SIMULATOR_SEED:-35}" "${SIMULATOR_CASES:-100}"
check_status 0
grep '^coverage: ' "$out"
finish

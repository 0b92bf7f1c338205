#!/usr/bin/env bash
# tier: deep; load: cpu1
# Every algorithm is the one of its name: the schedules of `cctest plan` have the messages, the order and the fences of
# its definition (tests/definitions/). The right data does not show it.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
RUN_LIMIT=120
run python3 -B "$repository/tests/definitions/compare.py" "$CCTEST" "$kept"
check_status 0
check_says '^coverage: 1[0-9]+ definitions' "$out"
cat "$out"
finish

#!/usr/bin/env bash
# tier: night; load: cpu1
# Single bits that flip in the memory of a running rank, wherever and whenever, are found, or have made no difference.
# FLIPS=230: so many, in turn over 23 kinds of memory and ways of messages. SEED=7: where and when.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"

# Watchpoints of ptrace, as flip.py sets them on x86-64.
[ "$(uname -m)" = x86_64 ] || skip "the watchpoints of this test are those of x86-64"
RUN_LIMIT=600 run python3 "$repository/tests/system/flip.py" "$CCTEST" "${FLIPS:-46}" "${SEED:-2026}"
[ $status != 77 ] || skip "$(tail -n 1 "$out")"
check_status 0
cat "$out"
finish

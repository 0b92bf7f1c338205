#!/usr/bin/env bash
# tier: deep; load: cpu2
# The whole catalogue of algorithms over shm, with options pairwise and every element checked: matrix.py says what meets what.
# TEST_CATALOGUE=all: over every transport.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
links=shm
[ "${TEST_CATALOGUE:-}" != all ] || links=$(transports)
# shellcheck disable=SC2086
CCTEST=$CCTEST "$repository/tests/system/matrix.py" catalogue "$scratch" - $links

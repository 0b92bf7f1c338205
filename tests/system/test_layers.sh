#!/usr/bin/env bash
# The rooms of src/ include only what is below them, and the check sees an include that goes up, one that names no
# file, and a room without a floor.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

run "$repository/tests/layers" "$repository"
check_status 0
check_silent . "$err"

mkdir -p "$scratch/src/base" "$scratch/src/check" "$scratch/src/lobby"
echo '#include "base/a.h"' >"$scratch/src/check/b.h"
echo '#include "check/b.h"' >"$scratch/src/base/a.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "an include that goes up"
check "it is named" grep -qF 'src/base/a.h: base includes check/b.h' "$out"
check "the include that goes down is not" test "$(wc -l <"$out")" = 1
echo '#include "base/c.h"' >"$scratch/src/base/a.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "an include that names no file"
echo >"$scratch/src/base/a.h"
run "$repository/tests/layers" "$scratch"
check_status 0 "rooms that are in order"
echo >"$scratch/src/lobby/d.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "a room without a floor"
finish

#!/usr/bin/env bash
# Rooms include only rooms below them. The check sees an include that goes up, one that names no file, a circle,
# and a room without a floor. The map, src/README.md, has a line for each room and names only files that exist.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

run "$repository/tests/layers" "$repository"
check_status 0
check_silent . "$err"

mkdir -p "$scratch/src/base" "$scratch/src/check" "$scratch/src/attic"
echo '#include "base/d.h"' >"$scratch/src/check/b.h"
echo >"$scratch/src/base/d.h"
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
echo '#include "base/d.h"' >"$scratch/src/base/a.h"
echo '#include "base/a.h"' >"$scratch/src/base/d.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "a circle"
check "its modules are named" grep -qxF 'a circle: src/base/a, src/base/d' "$out"
echo >"$scratch/src/base/d.h"
echo >"$scratch/src/attic/d.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "a room without a floor"

# The map: paths are those of include lines, from src/ or from the root.
map=$repository/src/README.md
missing=$(grep -oE '[a-z_]+/([a-z_0-9]+/)*([a-z_0-9]+\.[a-z]+)?' "$map" | sort -u | while read -r path; do
    [ -e "$repository/src/$path" ] || [ -e "$repository/$path" ] || echo "$path"
done)
check "src/README.md names what does not exist: ${missing//$'\n'/, }" test -z "$missing"
for folder in "$repository"/src/*/ "$repository"/{algorithms,transports,cli}/; do
    name=$(basename "$folder")
    check "src/README.md has no line for $name" grep -qE "^\| [0-9]+ \| \`$name/\` \|" "$map"
done
finish

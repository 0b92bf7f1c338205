#!/usr/bin/env bash
# tier: check; load: cpu1
# Rooms include only rooms below them. The check sees an include that goes up, one that names no file, a circle,
# a room without a floor, a function away from its header, and two types of one name. The map, src/README.md, has a line for each room and names only files that exist.
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
rm "$scratch/src/attic/d.c"
echo 'int d_size(void);' >"$scratch/src/base/d.h"
printf '/* int d_size(void) { } */\nstatic int d_more(void)\n{\n    return d_size();\n}\n' >"$scratch/src/base/d.c"
echo 'int d_size(void) { return 1; }' >"$scratch/src/base/e.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "a function that another file than its header's defines"
check "it is named" grep -qxF 'src/base/d.h: d_size() is not defined in src/base/d.c' "$out"
check "it alone" test "$(wc -l <"$out")" = 1
mv "$scratch/src/base/e.c" "$scratch/src/base/d.c"
run "$repository/tests/layers" "$scratch"
check_status 0 "a function in its header's file"
echo 'struct parcel { int size; };' >"$scratch/src/base/e.c"
echo 'enum parcel { PARCEL };' >"$scratch/src/check/b.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "two types of one name"
check "both files are named" grep -qE '(base/e|check/b).c: parcel is also .* in src/(base/e|check/b).c' "$out"

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

# The table of the night's tests that a changed file touches names tests and files that exist.
run "$repository/tests/touched" --check
check_status 0 "tests/touched.paths"
finish

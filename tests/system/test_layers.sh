#!/usr/bin/env bash
# tier: check; load: cpu1
# Boxes include only boxes below them. The check sees an include that goes up, also from room to room of a box, one that names
# no file, a circle, a box without a floor, a room that no box names, a function away from its header, an internal header of another
# folder, and two types of one name.
# The map, doc/design.md, has a line for each box and names only files that exist.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

run "$repository/tests/layers" "$repository"
check_status 0
check_silent . "$err"

mkdir -p "$scratch/src/base" "$scratch/src/run" "$scratch/src/attic"
echo '#include "base/d.h"' >"$scratch/src/run/b.h"
echo >"$scratch/src/base/d.h"
echo '#include "run/b.h"' >"$scratch/src/base/a.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "an include that goes up"
check "it is named" grep -qF 'src/base/a.h: base includes run/b.h' "$out"
check "the include that goes down is not" test "$(wc -l <"$out")" = 1
echo '#include "base/c.h"' >"$scratch/src/base/a.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "an include that names no file"
echo >"$scratch/src/base/a.h"
run "$repository/tests/layers" "$scratch"
check_status 0 "boxes that are in order"
echo '#include "base/d.h"' >"$scratch/src/base/a.h"
echo '#include "base/a.h"' >"$scratch/src/base/d.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "a circle"
check "its headers are named" grep -qxF 'a circle: src/base/a.h, src/base/d.h' "$out"
echo >"$scratch/src/base/d.h"
echo >"$scratch/src/attic/d.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "a box without a floor"
rm "$scratch/src/attic/d.c"
mkdir "$scratch/src/base/attic" "$scratch/src/base/io"
echo >"$scratch/src/base/attic/d.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "a room that its box does not name"
rm "$scratch/src/base/attic/d.c"
echo '#include "base/io/e.h"' >"$scratch/src/base/a.h"
echo >"$scratch/src/base/io/e.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "a box that includes its room"
check "both are named" grep -qxF 'src/base/a.h: base/. includes base/io/e.h, of io, which does not stand before it' "$out"
echo >"$scratch/src/base/a.h"
echo '#include "base/a.h"' >"$scratch/src/base/io/e.h"
run "$repository/tests/layers" "$scratch"
check_status 0 "a room that includes its box"
echo 'int d_size(void);' >"$scratch/src/base/d.h"
printf '/* int d_size(void) { } */\nstatic int d_more(void)\n{\n    return d_size();\n}\n' >"$scratch/src/base/d.c"
echo 'int d_size(void) { return 1; }' >"$scratch/src/base/io/e.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "a function that another folder than its header's defines"
check "it is named" grep -qxF 'src/base/d.h: no file in its folder defines d_size()' "$out"
check "it alone" test "$(wc -l <"$out")" = 1
mv "$scratch/src/base/io/e.c" "$scratch/src/base/f.c"
run "$repository/tests/layers" "$scratch"
check_status 0 "a function in the folder of its header"
echo '#include "base/internal.h"' >"$scratch/src/run/b.h"
: >"$scratch/src/base/internal.h"
run "$repository/tests/layers" "$scratch"
check_status 1 "an internal header of another folder"
check "it is named" grep -qxF 'src/run/b.h: base/internal.h is internal to its folder' "$out"
rm "$scratch/src/run/b.h"
echo 'struct parcel { int size; };' >"$scratch/src/base/e.c"
echo 'enum parcel { PARCEL };' >"$scratch/src/run/b.c"
run "$repository/tests/layers" "$scratch"
check_status 1 "two types of one name"
check "both files are named" grep -qE '(base/e|run/b).c: parcel is also .* in src/(base/e|run/b).c' "$out"

# The map: paths are those of include lines, from src/ or from the root.
map=$repository/doc/design.md
missing=$(grep -oE '[a-z_]+/([a-z_0-9]+/)*([a-z_0-9]+\.[a-z]+)?' "$map" | sort -u | while read -r path; do
    [ -e "$repository/src/$path" ] || [ -e "$repository/$path" ] || echo "$path"
done)
check "doc/design.md names what does not exist: ${missing//$'\n'/, }" test -z "$missing"
for folder in "$repository"/src/*/ "$repository"/{algorithms,transports,cli}/; do
    name=$(basename "$folder")
    check "doc/design.md has no line for $name" grep -qE "^\| \`$name/\` \|" "$map"
done

# Each function and table of the product is used by another file of it or by a test.
cd "$repository" || exit 1
run "$repository/tests/unused" "$build"
check_status 0
check_says '^each of [0-9]{4} names is used' "$out"
mkdir -p "$scratch/root/src" "$scratch/objects/src"
printf 'int used(void);\nint unused(void);\nint used(void) { return 1; }\nint unused(void) { return used(); }\n' >"$scratch/root/src/a.c"
printf 'int used(void);\nint main(void) { return used(); }\n' >"$scratch/root/src/b.c"
for name in a b; do gcc -c -o "$scratch/objects/src/$name.o" "$scratch/root/src/$name.c"; done
cd "$scratch/root" || exit 1
run "$repository/tests/unused" "$scratch/objects"
check_status 1 "a function that nobody uses"
check "it alone is named" test "$(cat "$out")" = "src/a.o: unused"

# The table of the night's tests that a changed file touches names tests and files that exist.
run "$repository/tests/touched" --check
check_status 0 "tests/touched.paths"
finish

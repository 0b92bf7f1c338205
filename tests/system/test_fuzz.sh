#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: address,undefined
# Input from outside (peers, strangers, users): each fuzz target reads its seeds, its corpus if it has one, and a second
# (FUZZ_SECONDS) of random changes of these; and the driver finds a fault in a faulty target. `make fuzz` runs longer, guided by coverage.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[ -d "$build/tests/fuzz" ] || skip "no fuzz targets are built: make SAN=address,undefined fuzzers"
private_machine "$@" # an invented address may belong to another process
cd "$scratch" || exit 1
for program in "$build"/tests/fuzz/*; do
    [[ -x $program && $program != *.[do] ]] || continue
    run "$repository/tests/fuzz/run" "${FUZZ_SECONDS:-1}" "$program"
    check_status 0 "${program##*/}"
    cat "$out"
done
check "there are targets" test "$checks" -ge 8

# The driver finds the fault of a faulty target, and keeps the input.
cat >wrong.c <<'EOT'
#include "fuzz.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    require(size < 3 || data[0] != 'b' || data[1] != 'a' || data[size - 1] != 'd');
    return 0;
}
void fuzz_seeds(void)
{
    fuzz_seed("good", "bat", 3);
}
EOT
shared=$build/tests/fuzz
run "${compiler[@]}" -fsanitize=address,undefined -I"$repository/src" -I"$repository" -I"$repository/tests/fuzz" -o wrong wrong.c \
    "$shared/driver.o" "$shared/common.o" "$build/libcctest.a"
check_status 0 "a target with a fault is built"
# Its reports are no fault of the test.
unset ASAN_OPTIONS UBSAN_OPTIONS
run "$repository/tests/fuzz/run" 30 ./wrong
check_status 1 "the fault is found"
check "its input is kept" test "$(cat wrong-crash-* | wc -c)" -ge 3
line=$(grep '^or restore it: ' "$out")
check "the printed text restores it" cmp wrong-crash-* <(base64 -d <<<"${line##*<<<}")
cp wrong-crash-* again
run ./wrong again
check "status $status when it is tried again" test "$status" != 0
check_says 'this does not hold: size < 3'
finish

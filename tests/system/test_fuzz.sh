#!/usr/bin/env bash
# Input from outside (peers, strangers, users): each fuzz target reads its seeds, its corpus if it has one, and a second
# of random changes of these; and the driver finds a fault in a faulty target. The build is that of
# test_sanitizers.sh. `make fuzz` runs longer, guided by coverage.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
echo 'int main(void) { return 0; }' >"$scratch/try.c"
if ! "${compiler[@]}" -fsanitize=address,undefined -o "$scratch/try" "$scratch/try.c" 2>/dev/null || ! "$scratch/try"; then
    skip "the compiler has no -fsanitize=address,undefined"
fi

if [ -z "${TEST_PRIVATE:-}" ]; then
    ran=(make "SAN=address,undefined" fuzzers)
    make -s -C "$repository" SAN=address,undefined CFLAGS='-O1 -g' -j2 fuzzers >"$out" 2>"$err"
    status=$?
    check_status 0 "the targets are built"
    [ $status = 0 ] || finish
fi
private_machine "$@" # an invented address may belong to another process
cd "$scratch" || exit 1
for program in "$repository"/build-address-undefined/tests/fuzz/*; do
    [[ -x $program && $program != *.[do] ]] || continue
    run "$repository/tests/fuzz/run" 1 "$program"
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
shared=$repository/build-address-undefined/tests/fuzz
run "${compiler[@]}" -fsanitize=address,undefined -I"$repository/src" -I"$repository" -I"$repository/tests/fuzz" -o wrong wrong.c \
    "$shared/driver.o" "$shared/common.o" "$repository/build-address-undefined/libcctest.a"
check_status 0 "a target with a fault is built"
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

#!/usr/bin/env bash
# ThreadSanitizer with the test programs whose threads order nothing but by what they test: the start barrier of a host,
# and the shared memory of ranks that are threads. A processor that reorders as little as x86 cannot show a missing order.
# The build is the one that test_sanitizers.sh runs the whole program with.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
echo 'int main(void) { return 0; }' >"$scratch/try.c"
if ! "${compiler[@]}" -fsanitize=thread -o "$scratch/try" "$scratch/try.c" 2>/dev/null || ! "$scratch/try"; then
    skip "the compiler has no -fsanitize=thread"
fi
programs=(build-thread/tests/unit/test_node_barrier build-thread/tests/transport/shm_order)
build_sanitized thread "${programs[@]}"
for program in "${programs[@]}"; do
    run "$repository/$program"
    check_status 0
    check_silent ThreadSanitizer
    grep -h SKIPPED "$out" "$err" >>"$scratch/skipped"
done
# A program of which a test is skipped, for example where there is no shared memory, shows no order.
[ $failures -gt 0 ] || [ ! -s "$scratch/skipped" ] || skip "$(head -n 1 "$scratch/skipped")"
finish

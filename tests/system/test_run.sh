#!/usr/bin/env bash
# tier: check; load: wait
# tests/run on a small tree: tests of a tier run side by side, and a lone one does not; a failure beside others is repeated alone, and
# counts if it fails again; a skip has its reason; a report of a sanitizer and a program that is missing are failures; what does not
# end in its time is named; times are kept; an interrupted run leaves no process.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
tree=$scratch/tree state=$scratch/state
mkdir -p "$tree"/tests/{system,unit/base} "$state"
cp "$repository"/tests/{run,heads.py} "$tree/tests"
export state
# made NAME HEAD LINE...: a test script
made() {
    printf '%s\n' '#!/bin/bash' "# $2" "${@:3}" >"$tree/tests/system/test_$1.sh"
    chmod +x "$tree/tests/system/test_$1.sh"
}
# shellcheck disable=SC2016 # the tests expand it
{
    # Each of the two ends only if it sees the other.
    made left "tier: check; load: cpu1" 'touch $state/left; for i in {1..1000}; do [ ! -e $state/right ] || exit 0; sleep 0.05; done; exit 1'
    made right "tier: check; load: wait" 'touch $state/right; for i in {1..1000}; do [ ! -e $state/left ] || exit 0; sleep 0.05; done; exit 1'
    made lone "tier: check; load: alone" 'touch $state/lone; sleep 0.5; rm $state/lone' 'echo "coverage: lone"'
    made skips "tier: check; load: cpu1" 'echo "skipped: no moon"; exit 77'
    made says "tier: check; load: cpu1" '[ ! -e $state/lone ] || exit 1' 'echo "not tested: the dark side"; echo "of no account"'
    made once "tier: deep; load: cpu1" '[ -e $state/once ] || { touch $state/once; echo "the first time"; exit 3; }'
    made never "tier: deep; load: cpu1" 'echo "a reason"; exit 4'
    made reports "tier: night; load: cpu1; builds: plain thread" '[ "$TEST_BUILD" = build ] || echo "a race" >"${TSAN_OPTIONS#*log_path=}.1"'
    made long "tier: night; load: cpu1" 'echo $$ >$state/long; sleep 600'
}
over() { run "$tree/tests/run" "$@"; }

over -j --cores 2 --tier check
check_status 0
check_says '^PASS  system/test_left.sh ' "$out"
check_says '^PASS  system/test_lone.sh .* coverage: lone$' "$out"
check_says '^SKIP  system/test_skips.sh .* skipped: no moon$' "$out"
check_says '^      not tested: the dark side$' "$out"
check_silent 'no account' "$out"
check_says '^4 passed, 0 failed, 1 skipped in ' "$out"
check "times are kept" test "$(cut -f 1 "$tree/build/tests/times" | wc -l)" = 5
over -j system/test_says.sh
check_says '^PASS  system/test_says.sh .*\([0-9.]+, [0-9.]+\)$' "$out"

over -j --cores 2 --tier deep
check_status 1 "a test that fails twice"
check_says '^FAIL  system/test_once.sh .*status 3$' "$out"
check_says '^      the first time$' "$out"
check_says '^PASS  system/test_once.sh ' "$out"
check_says '^failed beside others and passed alone: system/test_once.sh$' "$out"
check "its two failures" test "$(grep -c '^FAIL  system/test_never.sh .*status 4$' "$out")" = 2
check_says '^failed: system/test_never.sh$' "$out"
check_says '^1 passed, 1 failed, 0 skipped in ' "$out"

over 'system/test_rep*'
check_status 1 "a report"
check_says '^PASS  system/test_reports.sh ' "$out"
check_says '^FAIL  thread:system/test_reports.sh ' "$out"
check_says '^      a race$' "$out"

printf '/*\n * tier: check; load: cpu1\n */\n' >"$tree/tests/unit/base/test_size.c"
over --list --tier deep
check_says '^\| `address-undefined:unit/base/test_size` \| deep \| cpu1 ' "$out"
sed -i 's/cpu1/cpu1; sanitizers: none/' "$tree/tests/unit/base/test_size.c"
over --list --tier deep
check_silent 'test_size' "$out"
over unit/base/test_size
check_status 1
check_says 'build/tests/unit/base/run is not there: make builds it' "$out"

over -j --minutes 0.02 system/test_long.sh system/test_says.sh
check_status 0
check_says '^not run, since the time was over: system/test_long.sh$' "$out"
check_says '^1 passed, 0 failed, 0 skipped in ' "$out"
TEST_LIMIT=1 over system/test_long.sh
check_status 1
check_says '^FAIL  system/test_long.sh .*after 1 s without an end$' "$out"

rm "$state/long"
"$tree/tests/run" system/test_long.sh >"$out" 2>"$err" &
runner=$!
check "it begins" await 60 test -s "$state/long"
kill -TERM $runner # twice, as from a user who does not wait
kill -TERM $runner
wait $runner
status=$?
check_status 130
check "it is left" await 10 test ! -e "/proc/$(<"$state/long")" # init reaps it

over --tier dawn
check_status 2
over system/test_no.sh
check_status 2
check_says '^tests/run: no test is called system/test_no.sh: ' "$err"
echo '# tier: check' >"$tree/tests/system/test_bad.sh"
over --tier check
check_status 2
check_says '^tests/run: tests/system/test_bad.sh: its first lines have no "tier: ' "$err"
finish

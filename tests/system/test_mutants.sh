#!/usr/bin/env bash
# tier: night; load: cpu1
# `make mutants` (tests/mutants/run) on a small tree: a fault that a test sees, one that none sees, one that has no place, one
# that does not compile, one that lets a test hang, one that a script sees once of two times, one that only the night sees, and
# one that stands twice. It leaves nothing behind, also when it is interrupted. The entries of this tree have a place each, and
# a test of check or check-deep.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
mutants=$repository/tests/mutants/run
tree=$scratch/tree
mkdir -p "$tree/src" "$tree/tests/mutants" "$tree/tests/unit" "$tree/tests/system"
cat >"$tree/Makefile" <<EOT
build/tests/unit/test_sum: tests/unit/test_sum.c src/sum.c
	mkdir -p build/tests/unit && ${CC:-gcc} -o \$@ \$^
cctest: src/sum.c
	touch \$@
EOT
cat >"$tree/src/sum.c" <<'EOT'
int sum(int a, int b);
int sum(int a, int b)
{
    if (a == 1000)
        return b + 1000;
    while (a == 2000)
        a--;
    return a + b;
}
EOT
cat >"$tree/tests/unit/test_sum.c" <<'EOT'
/* tier: check; load: cpu1; program: own */
int sum(int a, int b);
int main(void)
{
    return sum(1, 2) != 3;
}
EOT
# shellcheck disable=SC2016 # the test expands it
printf '#!/bin/sh\ntouch "$TMPDIR/left"; setsid sleep 300 & sleep 300\n' >"$tree/tests/system/test_slow.sh"
chmod +x "$tree/tests/system/test_slow.sh"
cat >"$tree/tests/mutants/toy.mutants" <<'EOT'
# The head of the file is no entry.

# the sum is a difference
file: src/sum.c
- if (a == 1000)
+     if (a == 1001)
- return a + b;
+     return a - b;
see: unit/test_sum

# a thousand is nothing
file: src/sum.c
-     if (a == 1000)
-         return b + 1000;
+     if (a == 1000)
+         return b;
see: unit/test_sum
EOT

cp -a "$tree" "$scratch/as_it_was"
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
run "$mutants" --tree "$tree" -j 2
check_status 1 "a fault survived"
check_says '^caught +toy.mutants:3: the sum is a difference \(unit/test_sum, check, [0-9.]+ s\)$' "$out"
check_says '^SURVIVED +toy.mutants:11: a thousand is nothing \(unit/test_sum\)$' "$out"
check_says '^1 caught, 1 survived, 0 errors$' "$out"
check "the tree is as it was" diff -r "$tree" "$scratch/as_it_was"
run "$mutants" --tree "$tree" difference
check_status 0 "the entry with this word is caught"
check_says '^1 caught, 0 survived, 0 errors$' "$out"
run "$mutants" --tree "$tree" --list
check_status 0
check_says '^toy.mutants:3: src/sum.c: the sum is a difference \(check\)$' "$out"
check_says '^2 entries, 2 of check, 0 of deep, 0 of night$' "$out"

# Tiers are those of heads. Of a test with a sanitizer: if the head names the build, or the deep tier repeats the test with it.
tiered() { # tiered TIER NAME: of the entry with this test
    sed -i "1,/^see:/s!^see:.*!see: $2!" "$tree/tests/mutants/toy.mutants"
    run "$mutants" --tree "$tree" --list
    check_says "^toy.mutants:3: .*\($1\)( |\$)" "$out"
}
for tier in check deep night; do
    printf '#!/bin/sh\n# tier: %s; load: cpu1; builds: plain address,undefined\ntest -z "$(grep "a - b" src/sum.c)"\n' $tier \
        >"$tree/tests/system/test_$tier.sh"
    chmod +x "$tree/tests/system/test_$tier.sh"
    tiered $tier system/test_$tier.sh
    tiered $tier san=address,undefined:system/test_$tier.sh
done
check_status 2 "all tests are of the night"
check_says '^toy.mutants:3: .*\(night\)  ERROR: all its tests are those of the night$' "$out"
check_says '^2 entries, 1 of check, 0 of deep, 1 of night$' "$out"
mkdir "$tree/tests/transport"
echo '/* tier: deep; load: cpu1 */' >"$tree/tests/unit/test_long.c"
echo '/* tier: check; load: cpu1 */' >"$tree/tests/transport/tcp.c"
echo '/* tier: check; load: cpu1; sanitizers: none */' >"$tree/tests/unit/test_costs.c"
tiered deep unit/test_long
tiered deep san=thread:transport/tcp
tiered night san=thread:unit/test_sum
tiered night san=address,undefined:unit/test_costs
tiered deep 'unit/test_long system/test_night.sh'
tiered deep 'system/test_night.sh unit/test_long'
mv "$tree/tests/system/test_deep.sh" "$tree/tests/system/test_fuzz.sh"
tiered deep san=address,undefined:fuzz/frames # by its replays
rm -r "$tree/tests/transport" "$tree"/tests/unit/test_{long,costs}.c

# Tests of the night come last, and are not enough.
tiered check 'system/test_night.sh unit/test_sum'
run "$mutants" --tree "$tree" difference
check_status 0
check_says '^caught +toy.mutants:3: .*\(unit/test_sum, check, [0-9.]+ s\)$' "$out"
printf '#!/bin/sh\n# tier: check; load: cpu1\n' >"$tree/tests/system/test_flag.sh"
chmod +x "$tree/tests/system/test_flag.sh"
tiered check 'system/test_night.sh system/test_flag.sh'
run "$mutants" --tree "$tree" difference
check_status 1 "only the night sees the fault"
check_says '^ERROR +toy.mutants:3: .*\(only a test of the night sees it: system/test_night.sh\)$' "$out"
tiered night system/test_night.sh
run "$mutants" --tree "$tree" difference
check_status 2 "all tests are of the night"
check_says '^ERROR +toy.mutants:3: .*\(all its tests are those of the night\)$' "$out"
rm -r "$tree"
cp -a "$scratch/as_it_was" "$tree"

# Parts.
for part in 1 2 3; do
    run "$mutants" --tree "$tree" --list --part $part/3
    check "part $part of 3: $(tail -n 1 "$out")" grep -qE "^$((part < 3)) entries" "$out"
done
run "$mutants" --tree "$tree" --list --part 2/2
check_says '^toy.mutants:11: ' "$out"
check_silent '^toy.mutants:3: ' "$out"
for part in 0/2 3/2 1 x/2; do
    run "$mutants" --tree "$tree" --list --part $part
    check_status 2 "part $part"
    check_says "not I/N, with I of 1 to N: $part"
done

cat >"$tree/tests/mutants/hang.mutants" <<'EOT'
# a loop has no end
file: src/sum.c
-     while (a == 2000)
+     while (a)
see: hang:unit/test_sum

# another loop has no end, and the entry does not say so
file: src/sum.c
-     while (a == 2000)
+     while (b)
see: unit/test_sum
EOT
sed -i 's/        a--;/        ;/' "$tree/src/sum.c"
run "$mutants" --tree "$tree" --seconds 0.5 'no end'
check_status 1 "a test hangs"
check_says '^caught +hang.mutants:1: a loop has no end \(timeout of unit/test_sum, ' "$out"
check_says '^ERROR +hang.mutants:7: .*\(timeout: unit/test_sum hangs' "$out"
rm "$tree/tests/mutants/hang.mutants"

# A script that fails, and passes when it is repeated: without a fault, and with it.
cat >"$tree/tests/system/test_flaky.sh" <<'EOT'
#!/bin/sh
failed=failed_$(grep -c 'return b - a' src/sum.c)
[ -e $failed ] || { touch $failed && exit 1; }
EOT
chmod +x "$tree/tests/system/test_flaky.sh"
cat >"$tree/tests/mutants/flaky.mutants" <<'EOT'
# a difference that a script sees once
file: src/sum.c
- return a + b;
+     return b - a;
see: system/test_flaky.sh
EOT
run "$mutants" --tree "$tree" once
check_status 1 "a script passes when it is repeated"
check_says '^system/test_flaky.sh fails without a fault, and is repeated$' "$out"
check_says '^ERROR +flaky.mutants:1: .*\(system/test_flaky.sh fails, and passes when it is repeated\)$' "$out"
check_says '^0 caught, 0 survived, 1 errors$' "$out"
rm "$tree/tests/mutants/flaky.mutants"

# A fault that has another sentence elsewhere.
cat >"$tree/tests/mutants/again.mutants" <<'EOT'
# the sum of a thousand is the other number
file: src/sum.c
-     if (a == 1000)
-         return b + 1000;
+     if (a == 1000)
+         return b;
see: unit/test_sum
EOT
run "$mutants" --tree "$tree"
check_status 2 "a fault stands twice"
check_says '^toy.mutants:11 is the same fault as again.mutants:1$' "$out"
check_silent '^(caught|SURVIVED)' "$out"
rm "$tree/tests/mutants/again.mutants"

cat >"$tree/tests/mutants/wrong.mutants" <<'EOT'
# a product has no place
file: src/sum.c
- return a * b;
see: unit/test_sum

# a line that does not compile
file: src/sum.c
- return a + b;
+ return a + c;
see: unit/test_sum
EOT
run "$mutants" --tree "$tree"
check_status 2 "an entry has no place"
check_says '^ERROR +wrong.mutants:1: .*its lines stand 0 times in src/sum.c' "$out"
check_silent '^(caught|SURVIVED)' "$out"
run "$mutants" --tree "$tree" --keep-going
check_status 1 "the others are tried"
check_says '^ERROR +wrong.mutants:6: .*does not compile: .*error.*c' "$out"
check_says '^1 caught, 1 survived, 2 errors$' "$out"
rm "$tree/tests/mutants/wrong.mutants"

sed -i 's/return a + b;/return a - b;/' "$tree/src/sum.c" "$tree/tests/mutants/toy.mutants"
run "$mutants" --tree "$tree"
check_status 2 "the test fails without a fault"
check_says '^unit/test_sum fails without a fault' "$out"

sed -i 's/^see:.*/see: system\/test_slow.sh/' "$tree/tests/mutants/toy.mutants"
start interrupted "$mutants" --tree "$tree" difference
check "the slow test runs" await 60 sh -c "ls $TMPDIR/mutants-*/0/tmp/left >/dev/null 2>&1"
kill -INT "${pids[interrupted]}"
ended interrupted 2
check "a process stays" test -z "$(grep -lz "^TMPDIR=$TMPDIR" /proc/[0-9]*/environ 2>/dev/null)"
check "a file stays in $TMPDIR" test -z "$(ls -A "$TMPDIR")"

# `make mutants` passes on all words of MUTANTS and no others, and variables with blanks in them.
for words in '-j 4 -l statistics' 'statistics -j 4 -l' '-j 4 -l'; do
    read -ra each <<<"$words"
    run "$mutants" "${each[@]}"
    check_status 0 "the entries of this tree are well-formed"
    listed=$(tail -n 1 "$out")
    run env MAKEFLAGS= make -s -C "$repository" mutants MUTANTS="$words" "CC=env ${compiler[*]}" DEV=1
    check_status 0
    check "$(tail -n 1 "$out"), instead of $listed" test "$(tail -n 1 "$out")" = "$listed"
done
check "all entries are those of check or check-deep: $listed" grep -q ', 0 of night$' <<<"$listed"
finish

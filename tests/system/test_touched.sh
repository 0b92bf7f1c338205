#!/usr/bin/env bash
# tier: night; load: cpu1
# tests/touched names the tests of changed files, and no others: since a given commit, since a branch left its remote, since
# the day before, in a shallow clone, and of a file that git does not know. Its table may name nothing that does not exist.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
command -v git >/dev/null || skip "no git"

tree=$scratch/tree
mkdir -p "$tree/tests/system" "$tree/src/net"
cp "$repository"/tests/{touched,heads.py} "$tree/tests"
printf '#!/bin/sh\n# tier: night; load: cpu1\n' | tee "$tree/tests/system/test_net.sh" >"$tree/tests/system/test_tools.sh"
printf '#!/bin/sh\n# tier: check; load: cpu1\n' >"$tree/tests/system/test_day.sh"
printf '# a table\nsrc/net/*: system/test_net.sh\nMakefile: system/test_tools.sh system/test_day.sh\n' >"$tree/tests/touched.paths"
touch "$tree/Makefile" "$tree/README.md" "$tree/src/net/deep.c" "$tree/src/net/other.c"
cp -a "$tree" "$scratch/wrong"

in_git() { git -C "$tree" -c user.name=name -c user.email=mail -c init.defaultBranch=main "$@"; }
day=0
commit() { # commit FILE: changes it, half a day after the last commit
    day=$((day + 1))
    echo "$day" >>"$tree/$1"
    in_git add . && GIT_COMMITTER_DATE="$((1700000000 + day * 43200)) +0000" in_git commit -qm "$1" || failed "git commit"
}
touched() { # touched "TEST..." [ARGUMENT...]
    run "$tree/tests/touched" "${@:2}"
    check_status 0
    check "touched: $(xargs <"$out"), not $1" test "$(xargs <"$out")" = "$1"
}

in_git init -q
commit src/net/deep.c
touched ""
check_says '^touched: this clone has one commit, so that no file is known to have changed: give BASE'
commit Makefile
touched "system/test_day.sh system/test_tools.sh"
commit README.md
touched "system/test_day.sh system/test_tools.sh"
check_says '^touched: 2 files changed since '
touched "" HEAD~1
commit README.md
touched ""
commit src/net/deep.c
touched "system/test_net.sh"
touched "system/test_day.sh system/test_net.sh system/test_tools.sh" HEAD~4
echo 1 >"$tree/src/net/new.c"
touched "system/test_net.sh" HEAD
check_says '^touched: 1 files changed since '
rm "$tree/src/net/new.c"
git -C "$tree" mv src/net/deep.c src/deep.c
touched "system/test_net.sh" HEAD~1
touched "system/test_net.sh" HEAD
in_git reset -q --hard
echo '# more' >>"$tree/tests/system/test_tools.sh"
touched "system/test_tools.sh" HEAD
in_git checkout -q tests

# A branch of a clone, also of a shallow one.
git clone -q "$tree" "$scratch/clone"
git clone -q --depth 1 "file://$tree" "$scratch/shallow"
origin=$tree
tree=$scratch/shallow
touched ""
check_says '^touched: this clone has one commit'
tree=$scratch/clone
touched "system/test_net.sh"
in_git checkout -qb branch
commit Makefile
touched "system/test_day.sh system/test_tools.sh"
run "$origin/tests/touched" no-such-commit
check_status 2 "a commit that is not there"
check_says 'no-such-commit'

# The table.
wrong() { # wrong LINE REGEX: the line is a fault of the table
    echo "$1" >>"$scratch/wrong/tests/touched.paths"
    run "$scratch/wrong/tests/touched" --check
    check_status 2 "$1"
    check_says "$2"
    sed -i '$d' "$scratch/wrong/tests/touched.paths"
}
run "$scratch/wrong/tests/touched" --check
check_status 0 "a table in order, in a tree that is no clone"
wrong 'src/no/*: system/test_net.sh' '^tests/touched.paths:4: no file is called src/no/\*$'
wrong 'Makefile: system/test_no.sh' '^tests/touched.paths:4: there is no test system/test_no.sh$'
wrong 'Makefile system/test_net.sh' '^tests/touched.paths:4: not "PATH...: TEST..."$'
sed -i '/test_net/d' "$scratch/wrong/tests/touched.paths"
wrong '' '^tests/touched.paths: no path touches system/test_net.sh, a test of the night$'
finish

#!/usr/bin/env bash
# tier: check; load: cpu1
# The language and the form of the sources: tests/prose and clang-format find nothing, and find what is put in.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

run "$repository/tests/prose" "$repository"
check_status 0 "the language of the project"
check_silent . "$out"

mkdir -p "$scratch/src"
cd "$scratch" || exit 1
git init -q .
commit() { # commit TITLE
    git add -A
    git -c user.name=name -c user.email=name@host commit -q --allow-empty -m "$1"
}
printf '/* A rank. */\n' >src/rank.c
commit "src: Add a rank"
run "$repository/tests/prose" .
check_status 0 "plain comments"
breach() { # breach REGEX TEXT: tests/prose finds it in a file that holds this
    printf '%s\n' "$2" >src/rank.c
    git add -A
    run "$repository/tests/prose" .
    check_status 1 "$2"
    check_says "$1" "$out"
    check "one sentence: $(cat "$out")" test "$(wc -l <"$out")" = 1
}
breach "^src/rank.c:1: a comment begins with 'What'" '/* What a rank waits for. */'
breach "^src/rank.c:2: a comment begins with 'Those'" $'int rank;\n/*\n * Those that wait.\n */'
breach "^src/rank.c:1: a comment begins with 'Of'" '// Of each rank.'
breach "^src/rank.c:1: 'yardstick': say reference" 'const char *text = "the yardstick is";'
breach "^src/rank.c:1: 'held against': say compared with" '/* A rank is held against others. */'
mkdir man
printf '.Sh DESCRIPTION\nWhat a rank has.\n' >man/rank.1
breach "^man/rank.1:2: a sentence begins with 'What'" '/* A rank. */'
rm man/rank.1
breach "^src/rank.c:1: 101 columns, 100 at most" "/* $(printf '%095d' 0) */"
printf '/* A rank. */\n' >src/rank.c
commit "add things"
run "$repository/tests/prose" .
check_status 1 "a title without an area"
check_says "^commit: 'add things'" "$out"

format=$(command -v clang-format-14 || command -v clang-format)
if [ -n "$format" ] && "$format" --version | grep -q 'version 14'; then
    cd "$repository" || exit 1
    ran=(clang-format)
    git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs "$format" --dry-run 2>&1 | grep -E 'warning:' >"$out"
    check "clang-format changes: $(head -3 "$out")" test ! -s "$out"
    printf 'int  rank;\n' >"$scratch/src/rank.c"
    check "clang-format finds a blank too many" grep -q warning: <("$format" --style=file:"$repository/.clang-format" --dry-run "$scratch/src/rank.c" 2>&1)
else
    echo "not tested: the form of the sources (no clang-format 14 here)"
fi
finish

#!/usr/bin/env bash
# The words: the manual page is well formed and has every option, the README's commands run, and what is installed can
# be taken away again.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
page=$repository/man/cctest.1

if command -v mandoc >/dev/null; then
    run mandoc -Tlint -Wwarning "$page"
    check_status 0 "mandoc -Tlint"
    check_silent . "$out"
    mandoc -Tutf8 "$page" | col -b >"$scratch/page"
    check "it has its sections" test "$(grep -Ec '^(SYNOPSIS|OPTIONS|EXIT STATUS|EXAMPLES|DIAGNOSTICS)' "$scratch/page")" = 5
else
    echo "not tested: the form of the manual page (no mandoc here)"
fi

# The options of the manual page are those of --help and of each command, in their order.
sed -nE 's/^\.It (.*, )?Fl -([a-z-]+).*/\2/p; s/^\.It Fl v , Fl -verbose/verbose/p' "$page" | awk '!seen[$0]++' >"$scratch/man"
for command in --help "help plan" "help list" "help info" "help help"; do
    read -ra words <<<"$command"
    "$CCTEST" "${words[@]}" | sed -nE 's/^  (-., |    )--([a-z-]+).*/\2/p' >"$scratch/help"
    cat "$scratch/help" >>"$scratch/all"
    grep -xFf "$scratch/help" "$scratch/man" >"$scratch/of"
    check "options of man page and $command differ: $(diff "$scratch/help" "$scratch/of")" \
        cmp -s "$scratch/help" "$scratch/of"
done
check "no command has these of the man page: $(grep -vxFf "$scratch/all" "$scratch/man")" \
    test -z "$(grep -vxFf "$scratch/all" "$scratch/man")"

# Example commands of the README and the manual page, with small sizes where they do not matter; in a directory of
# their own, where they may write.
cd "$scratch" || exit 1
small="-e 64K -n 2 -w 0"
{
    sed -nE 's/^    (cctest [^#]*).*/\1/p' "$repository/README.md"
    # shellcheck disable=SC2016
    sed -nE 's/^\.Dl (cctest [^:]*)$/\1/p' "$page"
} | sed 's/ *$//; s/ || .*//' >examples
check "there are examples" test "$(wc -l <examples)" -ge 8
while read -r _ line; do
    read -ra words <<<"$line"
    case $line in
    *--rendezvous*) continue ;; # test_rendezvous.sh has those
    list* | info* | plan* | help*) ;;
    *) read -ra words <<<"$(sed -E 's/ (-b|-e) [0-9]+M//g' <<<"$line") $small" ;;
    esac
    cctest "${words[@]}"
    case $line in
    *--min-busbw*) check "exit status $status of: $line" grep -qx '[04]' <<<"$status" ;;
    *--inject*corrupt*) check_status 3 "$line" ;;
    *) check_status 0 "$line" ;;
    esac
done <examples

# Diagnostics that the manual page quotes are those of today.
"$CCTEST" alltoall -b 1X 2>"$err"
check "the quoted sentence about 1X" grep -qF "$(sed 's/.*1X//' "$err")" <(sed 's/\\(aq/'"'"'/g' "$page")
"$CCTEST" alltoall -a pairwise-xor --np 6 2>"$err"
check "the quoted sentence about pairwise-xor" grep -qF "$(cat "$err")" "$page"

# Installed, and taken away.
ran=(make install)
make -s -C "$repository" -o "$CCTEST" binary="$CCTEST" install DESTDIR="$scratch/root" PREFIX=/opt/x >"$out" 2>"$err"
status=$?
check_status 0 "make install"
run "$scratch/root/opt/x/bin/cctest" --version
check_status 0 "the installed program runs"
check "the manual page is installed" test -s "$scratch/root/opt/x/share/man/man1/cctest.1"
run ldd "$scratch/root/opt/x/bin/cctest"
check_silent 'hwloc|jansson|sodium|cmocka' "$out"
make -s -C "$repository" uninstall DESTDIR="$scratch/root" PREFIX=/opt/x >"$out" 2>"$err"
check "files are left: $(find "$scratch/root" -type f)" test -z "$(find "$scratch/root" -type f)"

finish

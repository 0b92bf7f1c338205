#!/usr/bin/env bash
# tier: deep; load: cpu1
# The manual pages are well formed and complete, their sentences are those of the program, the commands of the README and
# the page run, and `make uninstall` removes what `make install` installed.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
pages=$repository/build/man
page=$pages/cctest.1 options=$pages/cctest-run.1

if command -v mandoc >/dev/null; then
    for built in "$pages"/*.[1-9]; do
        run mandoc -Tlint -Wwarning "$built"
        check_status 0 "mandoc -Tlint $built"
        check_silent . "$out"
    done
    mandoc -Tutf8 "$page" | col -b >"$scratch/page"
    check "cctest(1) has at most 450 lines of 78 columns" test "$(mandoc -Tutf8 -O width=78 "$page" | wc -l)" -le 450
    check "it has its sections" test "$(grep -Ec '^(SYNOPSIS|OPTIONS|ENVIRONMENT|EXIT STATUS|EXAMPLES|SEE ALSO)' "$scratch/page")" = 6
else
    echo "not tested: the form of the manual pages (no mandoc here)"
fi
check "pages of commands: $(ls "$pages")" test "$(ls "$pages" | grep -c '\.[1-9]$')" = 14
check "a page has a line of the generator left" test -z "$(grep -l '^\.\\" generate:' "$pages"/*.[1-9])"
check "pages without examples: $(grep -L '^\.Sh EXAMPLES' "$pages"/*.[1-9] | xargs -rn 1 basename)" test -z "$(grep -L '^\.Sh EXAMPLES' "$pages"/*.[1-9])"
check "a page names one that is not there" test -z "$(comm -23 <(sed -nE 's/^\.Xr (cctest[^ ]*) ([1-9]).*/\1.\2/p' "$pages"/*.[1-9] | sort -u) <(cd "$pages" && printf '%s\n' ./*.[1-9] | sed 's|^\./||' | sort))"

# Pages have the options of each command, with their texts, once.
for command in run plan list info accept report fit predict tune guidelines help; do
    "$CCTEST" help "$command" | sed -nE 's/^  (-., |    )--([a-z-]+).*/\2/p' | sort -u >"$scratch/help"
    check "cctest help $command has options" test -s "$scratch/help"
    own=$pages/cctest-$command.1
    [ -e "$own" ] || continue # list and help have no page
    sed -nE 's/^\.It (.*, )?Fl -([a-z-]+)( .*)?$/\2/p' "$own" | sort >"$scratch/man"
    check "options of $own and of help: $(diff "$scratch/help" "$scratch/man")" cmp -s "$scratch/help" "$scratch/man"
done
check "cctest(1) has a sentence of each option of a run" \
    cmp -s <(sed -nE 's/^\.It (.*, )?Fl -([a-z-]+)( .*)?$/\2/p' "$page") <(sed -nE 's/^\.It (.*, )?Fl -([a-z-]+)( .*)?$/\2/p' "$options")
check "the text of --split stands in one page" test "$(grep -l '^ranks 0 to K' "$pages"/*.1)" = "$options"
python3 - "$pages"/*.1 >"$out" <<'PYTHON'
import os, re, sys
pages = {os.path.basename(path)[:-2]: open(path).read() for path in sys.argv[1:]}
for name, text in pages.items():
    for option, target in re.findall(r"^\.It .*Fl -([a-z-]+).*\n(?:.*\n)?See\n\.Xr (cctest[a-z-]*) 1 \.$", text, re.M):
        if not re.search(rf"^\.It (.*, )?Fl -{option}( .*)?\n.*\n(?!See$|Default)", pages[target], re.M):
            print(f"{name}: --{option} refers to {target}, which has no text of it")
PYTHON
check "options refer to pages without their text: $(cat "$out")" test ! -s "$out"
check "a literal is bold, a sentence begins a line" grep -q '^\\fBauto\\fR takes few steps' "$options"

# The pages describe the options of each transport, in the order of `cctest list`.
"$CCTEST" list --json - | python3 -c '
import json, sys
for transport in json.load(sys.stdin)["transports"]:
    for option in transport["options"]:
        print(transport["name"], option["name"], sep=":")' >"$scratch/listed"
# A cctest that was built without a transport's headers lists none of its options.
cut -d : -f 1 "$scratch/listed" | sort -u | sed 's/.*/^&:/' >"$scratch/transports"
sed -nE 's/^\.It Cm ([a-z]+:[a-z]+) Ns = .*/\1/p' "$pages/cctest-rdma.7" | grep -f "$scratch/transports" >"$scratch/described"
check "options of transports differ: $(diff "$scratch/listed" "$scratch/described")" \
    cmp -s "$scratch/listed" "$scratch/described"

# One names the facts of an inventory.
ran=(facts)
python3 - "$repository/src/host/facts/rules.c" "$pages/cctest-accept.1" >"$out" <<'PYTHON'
import re, sys
rules, page = (open(path).read() for path in sys.argv[1:])
section = page.split(".Sh INVENTORY")[1].split(".Sh ")[0]
keys = [("" if kind in ("HOST", "kind") else kind.lower() + ".") + key
        for kind, key in re.findall(r'\b(?:ROW|ABOUT|BEST|RIGHT)\(\s*(\w+),\s*"([\w.]+)",', rules)]
keys += ["module." + name for name in re.findall(r'MODULE\("(\w+)"\)', rules)]
missing = [key for key in keys if not re.search(rf"^\.Cm {re.escape(key)}( |$)", section, re.M)]
print(len(keys), *missing)
PYTHON
check "facts that the page lacks: $(cat "$out")" grep -Exq '[0-9]{2,}' "$out"

# Both name the same units of sizes, each of which a size may have.
units=$("$CCTEST" help run | sed -nE 's/^(K, .*) are powers of 1024.*/\1/p' | tr -dc A-Z)
check "units of --help: $units" test "$units" = "$(sed -nE 's/^(K, .*) are powers of 1024.*/\1/p' "$options" | tr -dc A-Z)"
for ((i = 0; i < ${#units}; i++)); do
    cctest barrier -n 1 -w 0 --np 2 -b 8 -e "1${units:i:1}"
    check_status 0 "a size of 1${units:i:1}"
done

# The environment: the page has all variables that the program reads, and no others; options read theirs.
sed -nE 's/^\.It Ev (.*)/\1/p' "$page" | tr -s ', ' '\n' | grep -E '^[A-Z_]+[A-Z]$' | sort -u >"$scratch/page-variables"
(
    cd "$repository" || exit 1
    sed -nE 's/.*getenv\("([A-Z_]+)"\).*/\1/p; s/.*\.(rank|size) = "([A-Z_]+)".*/\2/p' src/*/*.c src/*/*/*.c src/*/*/*/*.c cli/*.c cli/*/*.c transports/*/*.c
    grep -oE '"[A-Z]+_[A-Z_]+"' src/controlplane/bootstrap/launcher.c | tr -d '"'
) | sort -u >"$scratch/read"
check "variables that the page lacks: $(comm -13 "$scratch/page-variables" "$scratch/read" | paste -sd' ')" \
    test -z "$(comm -13 "$scratch/page-variables" "$scratch/read")"
while read -r variable; do
    check "the program does not read $variable" grep -rqF --include="*.c" "\"$variable\"" "$repository/src" "$repository/cli"
done <"$scratch/page-variables"
for option in $("$CCTEST" help run | sed -nE 's/^  (-., |    )--([a-z-]+) .*/\2/p'); do
    variable=CCTEST_$(tr 'a-z-' 'A-Z_' <<<"$option")
    case $option in
    version | help | json | csv | samples | interface | tuning) continue ;; # those take any text
    esac
    run env "$variable=?" "$CCTEST" alltoallv
    check_status 2 "$variable=?"
    check_says "'[?]'|cannot read [?]:"
done

# The exit statuses are those of the program.
check "the exit statuses" test "$(sed -n '/^\.Sh EXIT/,/^\.El/s/^\.It \([0-9]*\) Pq .*$/\1/p' "$page" | paste -sd' ')" = \
    "$(sed -nE 's/^ *STATUS_[A-Z_]+ = ([0-9]+).*/\1/p' "$repository/src/base/status.h" | paste -sd' ')"

# JSON and CSV: the page names each column, in order, and each key of the schema at its place, and each object and key has a sentence.
"$CCTEST" allreduce --np 2 -b 8 -e 8 -n 1 --csv "$scratch/csv" >"$out" 2>&1
ran=(keys)
python3 - "$pages/cctest-json.5" "$scratch/csv" <("$CCTEST" help schema.json) >"$out" 2>"$err" <<'PYTHON'
import json, re, sys
page, sheet, schema = sys.argv[1:]
text = open(page).read()
columns = [name for item in re.findall(r"^\.It Li (.*)$", text.split(".El")[0], re.M) for name in item.split(" , ")]
header = open(sheet).readline().strip().split(",")
if columns != header:
    print("columns:", columns, "in the page,", header, "in the CSV")
objects = {section.split("\n", 1)[0]: set(re.findall(r"^\.It Li (\S+) Pq", section, re.M)) for section in text.split("\n.Ss ")[1:]}
keys = 0
def walk(node, name, path):
    global keys
    for key, inner in node.get("properties", {}).items():
        keys += 1
        place = f"{path}.{key}" if path else key
        if place not in objects.get(name, ()):
            print("not in the page:", name, place)
        walk(inner, name, place)
    for inner in node.get("oneOf", []):
        walk(inner, name, path)
    if "items" in node:
        walk(node["items"], name, path + "[]")
for name, node in json.load(open(schema))["$defs"].items():
    walk(node, name, "")
for key in re.findall(r"^\.(?:It Li (?=\S+ Pq)|Ss )(.*)\n\.", text.split("\n.Sh OBJECTS\n")[1], re.M):
    print("without a sentence:", key)
sys.exit(0 if keys >= 400 else f"only {keys} keys were found")
PYTHON
status=$?
check_status 0 "keys are found"
check_silent . "$out"
run "$CCTEST" help core_wait_share
check_says '^    sample.core_wait_share  *share of an iteration' "$out"

# Example commands of the README and the manual pages, mostly with small sizes, in a folder of their own. `cctest fit` is in
# test_predict.sh: here a model of invented numbers stands for what it writes.
cd "$scratch" || exit 1
"$repository/tests/system/textbook.py" tcp same-cache,same-node,network none 10 1 0.5 >model.json
small="-e 64K -n 2 -w 0"
{
    sed -nE 's/^    (cctest [^#]*).*/\1/p' "$repository/README.md" "$repository"/doc/*.md | grep -v '^cctest: '
    # shellcheck disable=SC2016
    sed -nE 's/^\.Dl (cctest .*)/\1/p' "$page" "$pages"/cctest-*
} | sed 's/ *$//; s/ || .*//' | awk '!seen[$0]++' >examples
check "there are examples" test "$(wc -l <examples)" -ge 50
while read -r _ line; do
    read -ra words <<<"$line"
    case $line in
    *--rendezvous*) continue ;; # below, those of the page
    list* | info* | plan* | help* | accept* | report* | guidelines* | predict*) ;;
    fit*) continue ;;
    tune*) words+=(-e 2K --budget 6) ;;
    *) read -ra words <<<"$(sed -E 's/ (-b|-e) [0-9]+M//g' <<<"$line") $small" ;;
    esac
    cctest "${words[@]}"
    case $line in
    guidelines* | *--min-busbw*) check "exit status $status of: $line" grep -qx '[04]' <<<"$status" ;;
    *--inject*corrupt*) check_status 3 "$line" ;;
    *--device* | *gid=*) check "exit status $status of: $line" grep -Eqx '0|2|77' <<<"$status" ;; # 2: fewer GPUs, no such GID
    *verbs* | *cuda*) check "exit status $status of: $line" grep -Eqx '0|77' <<<"$status" ;; # 77: no RDMA NIC, no GPU here
    *) check_status 0 "$line" ;;
    esac
done <examples

# Examples for several nodes, all on this one.
ranks=()
while read -r line; do
    read -ra words <<<"${line//node1:/localhost:} $small"
    "$CCTEST" "${words[@]:1}" >"$scratch/rank${#ranks[@]}" 2>&1 &
    ranks+=($!)
done < <(sed -nE 's/^\.Dl node[0-9]\$ (cctest .*)/\1/p' "$page")
check "there are examples for two nodes" test "${#ranks[@]}" = 2
for rank in "${!ranks[@]}"; do
    wait "${ranks[rank]}"
    status=$? ran=("example for rank $rank")
    cp "$scratch/rank$rank" "$out"
    check_status 0
done

# Every quoted sentence of the page of diagnostics ends with a format string of the sources, or with the part of one before a ';', ':',
# ',' or '('.
ran=(sentences)
python3 - "$repository" "$pages/cctest-diagnostics.7" >"$out" 2>"$err" <<'PYTHON'
import glob, re, sys
endings = set() # the longest words of each, and all as an expression
for path in [p for d in ("src", "cli", "transports", "algorithms") for p in glob.glob(f"{sys.argv[1]}/{d}/**/*.c", recursive=True)]:
    for literals in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', open(path).read()):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals)).removesuffix("\\n")
        for end in [len(text)] + [m.start() for m in re.finditer(r"[;:,]| \(", text)]:
            pieces = [piece.replace("%%", "%") for piece in re.split(r"%[-+.0-9*]*l*z?[a-z]", text[:end])]
            if sum(len(p) for p in pieces) >= 15:
                endings.add((max(pieces, key=len), ".*".join(re.escape(p) for p in pieces) + "$"))
section = open(sys.argv[2]).read()
quoted = re.findall(r'^\.Dl (?!cctest [a-z])(?:cctest: )?(.*)$|^\.It Li "(.*)"$', section, re.M)
for sentence in (a or b for a, b in quoted):
    sentence = sentence.replace(r"\(aq", "'")
    if not any(words in sentence and re.search(expression, sentence) for words, expression in endings):
        print("no sentence of the program:", sentence)
print(len(quoted), "sentences", file=sys.stderr)
PYTHON
status=$?
check_status 0 "sentences of the program"
check_silent . "$out"
check_says '^[1-3][0-9] sentences'

# Two quoted diagnostics, compared with the real output.
"$CCTEST" alltoall -b 1X 2>"$err"
check "the quoted sentence about 1X" grep -qF "$(sed 's/.*1X//' "$err")" <(sed 's/\\(aq/'"'"'/g' "$pages/cctest-diagnostics.7")
"$CCTEST" alltoall -a pairwise-xor --np 6 2>"$err"
check "the quoted sentence about pairwise-xor" grep -qF "$(cat "$err")" "$pages/cctest-diagnostics.7"

# Install and uninstall.
ran=(make install)
make -s -C "$repository" -o "$CCTEST" binary="$CCTEST" install DESTDIR="$scratch/root" PREFIX=/opt/x >"$out" 2>"$err"
status=$?
check_status 0 "make install"
run "$scratch/root/opt/x/bin/cctest" --version
check_status 0 "the installed program runs"
check "the manual pages are installed" test "$(find "$scratch/root/opt/x/share/man" -name 'cctest*.[157]' | wc -l)" = 14
for file in doc/cctest/coming-from-nccl-tests.md bash-completion/completions/cctest zsh/site-functions/_cctest fish/vendor_completions.d/cctest.fish; do
    check "$file is installed" test -s "$scratch/root/opt/x/share/$file"
done
for file in README.md man/cctest-json.5; do check "$file names the schema" grep -q share/cctest/schema.json "$repository/$file"; done
check "the schema is installed" cmp <("$CCTEST" help schema.json) "$scratch/root/opt/x/share/cctest/schema.json"
run ldd "$scratch/root/opt/x/bin/cctest"
check_silent 'hwloc|jansson|sodium|expat|cmocka|cuda|stdc[+]' "$out"
for library in $(grep -oE '\<lib[a-z]+' "$out" | grep -vxE 'lib|libm|libc|libdl|libpthread' | sort -u); do
    check "doc/building.md does not say that $library is linked dynamically" grep -q "$library" "$repository/doc/building.md"
done
make -s -C "$repository" uninstall DESTDIR="$scratch/root" PREFIX=/opt/x >"$out" 2>"$err"
check "files are left: $(find "$scratch/root" -type f)" test -z "$(find "$scratch/root" -type f)"

finish

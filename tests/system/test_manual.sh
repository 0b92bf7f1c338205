#!/usr/bin/env bash
# tier: deep; load: cpu1
# The manual page is well formed and complete, its sentences are those of the program, the commands of the README and
# the page run, and `make uninstall` removes what `make install` installed.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
page=$repository/man/cctest.1

if command -v mandoc >/dev/null; then
    run mandoc -Tlint -Wwarning "$page"
    check_status 0 "mandoc -Tlint"
    check_silent . "$out"
    mandoc -Tutf8 "$page" | col -b >"$scratch/page"
    check "it has its sections" test "$(grep -Ec '^(SYNOPSIS|OPTIONS|ENVIRONMENT|EXIT STATUS|EXAMPLES|DIAGNOSTICS)' "$scratch/page")" = 6
else
    echo "not tested: the form of the manual page (no mandoc here)"
fi

# The options of the manual page are those of --help and of each command (test_options.c compares their order).
sed -nE 's/^\.It (.*, )?Fl -([a-z-]+).*/\2/p; s/^\.It Fl v , Fl -verbose/verbose/p' "$page" >"$scratch/man"
for command in --help "help plan" "help list" "help info" "help accept" "help report" "help fit" "help predict" "help tune" "help guidelines" "help help"; do
    read -ra words <<<"$command"
    "$CCTEST" "${words[@]}" | sed -nE 's/^  (-., |    )--([a-z-]+).*/\2/p' | sort >"$scratch/help"
    cat "$scratch/help" >>"$scratch/all"
    grep -xFf "$scratch/help" "$scratch/man" | sort -u >"$scratch/of"
    check "options of man page and $command differ: $(diff "$scratch/help" "$scratch/of")" \
        cmp -s "$scratch/help" "$scratch/of"
done
check "no command has these of the man page: $(grep -vxFf "$scratch/all" "$scratch/man")" \
    test -z "$(grep -vxFf "$scratch/all" "$scratch/man")"

# The page describes the options of each transport, in the order of `cctest list`.
"$CCTEST" list --json - | python3 -c '
import json, sys
for transport in json.load(sys.stdin)["transports"]:
    for option in transport["options"]:
        print(transport["name"], option["name"], sep=":")' >"$scratch/listed"
# A cctest that was built without a transport's headers lists none of its options.
cut -d : -f 1 "$scratch/listed" | sort -u | sed 's/.*/^&:/' >"$scratch/transports"
sed -nE 's/^\.It Cm ([a-z]+:[a-z]+) Ns = .*/\1/p' "$page" | grep -f "$scratch/transports" >"$scratch/described"
check "options of transports differ: $(diff "$scratch/listed" "$scratch/described")" \
    cmp -s "$scratch/listed" "$scratch/described"

# It names the facts of an inventory.
ran=(facts)
python3 - "$repository/src/host/facts/rules.c" "$page" >"$out" <<'PYTHON'
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
units=$("$CCTEST" --help | sed -nE 's/^(K, .*) are powers of 1024.*/\1/p' | tr -dc A-Z)
check "units of --help: $units" test "$units" = "$(sed -nE 's/^(K, .*) are powers of 1024.*/\1/p' "$page" | tr -dc A-Z)"
for ((i = 0; i < ${#units}; i++)); do
    cctest barrier -n 1 -w 0 --np 2 -b 8 -e "1${units:i:1}"
    check_status 0 "a size of 1${units:i:1}"
done

# Defaults are those of --help, where they are one word; where they are more, both have some.
ran=(defaults)
python3 - "$CCTEST" "$page" >"$out" 2>"$err" <<'PYTHON'
import re, subprocess, sys
page = open(sys.argv[2]).read()
text = "".join(subprocess.run([sys.argv[1], *words], capture_output=True, text=True).stdout
               for words in (["--help"], ["help", "plan"], ["help", "accept"]))
count = 0
for name, words in re.findall(r"^  (?:-., |    )--([a-z-]+)((?:.*\n)(?:^ {20,}.*\n)*)", text, re.M):
    item = re.search(r"^\.It Fl (?:. Ar \S+ , Fl |v , Fl |h , Fl )?-%s\b.*\n((?:(?!\.It Fl|\.El|\.Bl).*\n)*)" % name, page, re.M)
    default = re.search(r"\(([^()]*)\)\s*$", words)
    wanted = re.search(r"^Default: ((?:[^,.;\n]|\.(?=\d))*)", item.group(1), re.M) if item else None
    if not item:
        print(f"--{name} is not in the page")
    elif bool(default) != bool(wanted):
        print(f"--{name}: only one of --help and the page has a default")
    elif default and " " not in default.group(1) and default.group(1) != wanted.group(1):
        print(f"--{name}: {default.group(1)} in --help, {wanted.group(1)} in the page")
    count += bool(default)
sys.exit(0 if count >= 20 else f"only {count} defaults were found")
PYTHON
status=$?
check_status 0 "defaults are found"
check_silent . "$out"

# The environment: the page has all variables that the program reads, and no others; options read theirs.
sed -nE '/ Ar /d; s/^\.It Ev (.*)/\1/p' "$page" | tr -s ', ' '\n' | grep -E '^[A-Z_]+[A-Z]$' | sort -u >"$scratch/page-variables"
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
for option in $("$CCTEST" --help | sed -nE 's/^  (-., |    )--([a-z-]+) .*/\2/p'); do
    variable=CCTEST_$(tr 'a-z-' 'A-Z_' <<<"$option")
    case $option in
    version | help | json | csv | samples | interface | tuning) continue ;; # those take any text
    esac
    run env "$variable=?" "$CCTEST" alltoallv
    check_status 2 "$variable=?"
    check_says "'[?]'|cannot read [?]:"
done

# The exit statuses are those of the program.
check "the exit statuses" test "$(sed -n '/^\.Sh EXIT/,/^\.El/s/^\.It \([0-9]*\)$/\1/p' "$page" | paste -sd' ')" = \
    "$(sed -nE 's/^ *STATUS_[A-Z_]+ = ([0-9]+).*/\1/p' "$repository/src/base/status.h" | paste -sd' ')"

# JSON and CSV: the page's section about them names each column, in order, and each key of the schema, at any depth.
"$CCTEST" allreduce --np 2 -b 8 -e 8 -n 1 --csv "$scratch/csv" >"$out" 2>&1
ran=(keys)
python3 - "$page" "$scratch/csv" "$repository" >"$out" 2>"$err" <<'PYTHON'
import functools, json, re, sys
page, sheet, repository = sys.argv[1:]
section = re.search(r"^\.Sh JSON AND CSV\n(.*?)^\.Sh ", open(page).read(), re.M | re.S).group(1)
ITEMS = {} # of each list: names that an item has in its text, by each name that the item is of
TOLD = set() # names of items of a run that tell something of a result, too
for block in section.split(".El")[:-1]:
    before, *items = re.split(r"^\.It Li ", block, flags=re.M)
    title = re.search(r"Keys of (?:a |every )?(?:\.Cm )?(\w+)", " ".join(before.split()))
    which = title[1] if title else "columns" if not ITEMS else "ways"
    for item in items:
        lines = [item.split("\n", 1)[0]] + re.findall(r"^\..*?\bLi (.*)", item.split("\n", 1)[1], re.M)
        own, names = lines[0].split(" , "), set(re.findall(r"\w+", " ".join(l.split(" : No ")[0] for l in lines)))
        ITEMS.setdefault(which, {}).update(dict.fromkeys(own, names))
        TOLD.update(own if which == "run" and "in a result" in " ".join(item.split()).lower() else ())
columns = list(ITEMS["columns"])
header = open(sheet).readline().strip().split(",")
if columns != header:
    print("columns:", columns, "in the page,", header, "in the CSV")
result = {**{key: ITEMS["run"][key] for key in TOLD}, **ITEMS["columns"], **ITEMS["result"]}
LISTS = {"result": result, "plan": {**result, **ITEMS["plan"]}, **{key: ITEMS[key] for key in ("run", "info", "list", "accept", "tune", "guidelines")}}
SPANS = {"to", "from", "with"} # of plan, all told of in one item
NAMES = {"options", "algorithm_options"} # of options
SCHEMA = json.load(open(f"{repository}/cli/schema.json"))
DEFINED = SCHEMA["$defs"]
found, missing = set(), set()
def walk(node, which, names, where):
    """Keys of an object are told of in the item of the object's own key; without one, where that key is."""
    if "$ref" in node:
        place = functools.reduce(lambda at, key: at[key], node["$ref"].split("/")[1:], SCHEMA)
        walk(place, which, names, where)
    for key, inner in node.get("properties", {}).items():
        found.add(key)
        if key not in names:
            missing.add(f"{key} from {where}")
        inside = "result" if key == "results" and which in ("run", "accept") else which
        known = set(LISTS[inside]) if key in ("results", "plans") else LISTS[inside].get(key, names)
        if which == "accept" and key == "results":
            known |= names # what a stage has that is no job
        if inside == "plan" and key in SPANS:
            known = ITEMS["plan"]["buffer"]
        if key in ("bytes_by_path", "sent", "received"):
            known = known | set(ITEMS["ways"])
        if key not in NAMES or inside == "list": # there they are a list of descriptions
            walk(inner, inside, known, where + key + ".")
    for inner in [node.get("items"), node.get("additionalProperties"), *node.get("oneOf", [])]:
        if isinstance(inner, dict):
            walk(inner, which, names, where)
for which in ("run", "list", "info", "plan", "accept", "tune", "guidelines"):
    walk(DEFINED[which], which, set(ITEMS["JSON"]) | set(ITEMS[which]), which + ": ")
for text in sorted(missing):
    print("not in the page:", text)
sys.exit(0 if len(found) >= 150 else f"only {len(found)} keys were found")
PYTHON
status=$?
check_status 0 "keys are found"
check_silent . "$out"

# Example commands of the README and the manual page, mostly with small sizes, in a folder of their own. `cctest fit` is in
# test_predict.sh: here a model of invented numbers stands for what it writes.
cd "$scratch" || exit 1
"$repository/tests/system/textbook.py" shm same-cache,same-node none 10 1 0.5 >model.json
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
    *--device*) check "exit status $status of: $line" grep -Eqx '0|2|77' <<<"$status" ;; # 2: fewer GPUs here
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

# Every quoted sentence of the page ends with a format string of the sources, or with the part of one before a ';', ':',
# ',' or '('.
ran=(sentences)
python3 - "$repository" "$page" >"$out" 2>"$err" <<'PYTHON'
import glob, re, sys
endings = set() # the longest words of each, and all as an expression
for path in [p for d in ("src", "cli", "transports", "algorithms") for p in glob.glob(f"{sys.argv[1]}/{d}/**/*.c", recursive=True)]:
    for literals in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', open(path).read()):
        text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literals)).removesuffix("\\n")
        for end in [len(text)] + [m.start() for m in re.finditer(r"[;:,]| \(", text)]:
            pieces = [piece.replace("%%", "%") for piece in re.split(r"%[-+.0-9*]*l*z?[a-z]", text[:end])]
            if sum(len(p) for p in pieces) >= 15:
                endings.add((max(pieces, key=len), ".*".join(re.escape(p) for p in pieces) + "$"))
section = open(sys.argv[2]).read().split(".Sh DIAGNOSTICS")[1]
quoted = re.findall(r'^\.Dl (?:cctest: )?(.*)$|^\.It Li "(.*)"$', section, re.M)
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
check "the quoted sentence about 1X" grep -qF "$(sed 's/.*1X//' "$err")" <(sed 's/\\(aq/'"'"'/g' "$page")
"$CCTEST" alltoall -a pairwise-xor --np 6 2>"$err"
check "the quoted sentence about pairwise-xor" grep -qF "$(cat "$err")" "$page"

# Install and uninstall.
ran=(make install)
make -s -C "$repository" -o "$CCTEST" binary="$CCTEST" install DESTDIR="$scratch/root" PREFIX=/opt/x >"$out" 2>"$err"
status=$?
check_status 0 "make install"
run "$scratch/root/opt/x/bin/cctest" --version
check_status 0 "the installed program runs"
check "the manual page is installed" test -s "$scratch/root/opt/x/share/man/man1/cctest.1"
check "the completion is installed" test -s "$scratch/root/opt/x/share/bash-completion/completions/cctest"
for file in README.md man/cctest.1; do check "$file names the schema" grep -q share/cctest/schema.json "$repository/$file"; done
check "the schema is installed" cmp "$repository/cli/schema.json" "$scratch/root/opt/x/share/cctest/schema.json"
run ldd "$scratch/root/opt/x/bin/cctest"
check_silent 'hwloc|jansson|sodium|expat|cmocka|cuda|stdc[+]' "$out"
for library in $(grep -oE '\<lib[a-z]+' "$out" | grep -vxE 'lib|libm|libc|libdl|libpthread' | sort -u); do
    check "the README does not say that $library is linked dynamically" grep -q "$library" "$repository/README.md"
done
make -s -C "$repository" uninstall DESTDIR="$scratch/root" PREFIX=/opt/x >"$out" 2>"$err"
check "files are left: $(find "$scratch/root" -type f)" test -z "$(find "$scratch/root" -type f)"

finish

#!/usr/bin/env bash
# tier: deep; load: cpu1
# `cctest report`: pages of real runs and of made ones, looked at in a browser; bad input; names that are HTML.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
browser=$(command -v chromium-headless-shell chromium | head -n 1)
cd "$scratch" || exit 1

# check_page FILE PYTHON-EXPRESSION...: the page is well formed, needs nothing from outside, and each expression is true of its
# text (`words`), its tables (`tables`: lists of rows, by their names) and all of it (`page`).
check_page() {
    local file=$1 wrong
    shift
    checks=$((checks + 1 + $#))
    wrong=$(python3 - "$file" "$@" 2>&1 <<'PYTHON'
import html.parser, re, sys
page, tables, words, stack, label = open(sys.argv[1]).read(), {}, "", [], None
class Parser(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        global label
        given = dict(attributes)
        assert len(given) == len(attributes), f"{tag} has an attribute twice"
        assert not {"src", "srcset", "data"} & set(given) and given.get("href", "#")[0] == "#", f"{tag} asks for another file"
        assert not [key for key in given if key.startswith("on")] and tag not in ("script", "link", "img", "iframe"), f"a {tag}"
        if tag not in ("meta", "br"):
            stack.append(tag)
        if given.get("role") == "region":
            label = given["aria-label"]
        if tag == "table":
            tables[label] = []
        elif tag == "tr":
            tables[label].append([])
        elif tag in ("td", "th"):
            tables[label][-1].append("")
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert stack and stack.pop() == tag, f"{tag} ends at {self.getpos()}"
    def handle_data(self, data):
        global words
        if stack and stack[-1] == "style":
            assert not re.search(r"url\(|@import", data), "the style asks for another file"
            return
        words += data
        if "td" in stack or "th" in stack:
            tables[label][-1][-1] += data
Parser().feed(page)
assert not stack, f"{stack} do not end"
assert not re.search(r"https?:|//[a-z]|[^-\w](nan|inf)[^-\w]", page), "an address, or no number"
for expression in sys.argv[2:]:
    if not eval(expression):
        print("not so:", expression)
PYTHON
    ) || wrong="no page: $(tail -n 1 <<<"$wrong")"
    [ -z "$wrong" ] || failed "$file: $wrong"
}

# report PAGE FILE...: makes a page.
report() {
    cctest report "${@:2}" --html "$1"
    check_status 0 "report ${*:2}"
    check_silent .
}

# Real runs.
cctest allreduce -a ring,linear,tree --np 3 -b 8 -e 2K -n 30 --json before
cctest allreduce -a ring,linear,hier:inter=nhr --shape 3x1 --np 3 -b 8 -e 2K -n 10 --json after
cctest all --np 2 -b 1K -e 1K -n 5 --json all
report run.html before
check_page run.html '"cctest allreduce --algorithm ring,linear,tree --min-bytes 8 --max-bytes 2K" in words and "Took" in words' \
    "'$(python3 -c 'import json; print(json.load(open("before"))["began"])')' in words and '3 on $(hostname)' in words" '"allreduce float sum" in words' '[row[0] for row in tables["The winner of each size"][1:]] == ["8", "32", "128", "512", "2K"]' \
    'len(tables["All lines"]) == 1 + 3 * 5' 'len(tables["Ranks"]) == 1 + 3' 'page.count("class=\"series s2\"") == 3' \
    'all(row[7] in ("beyond noise", "within noise") for row in tables["The winner of each size"][1:])'
report all.html all
check_page all.html 'all(name in words for name in ("alltoallv float spread", "broadcast float, root 0", "barrier"))'
report both.html before after
check_page both.html '"Of 10 lines that both have, " in words' \
    '"5 lines only in before" in words and "5 lines only in after" in words' \
    '[row[0] for row in tables["What differs in how they were run"][1:]] == ["algorithm", "shape", "iterations"]'
report same.html before before
check_page same.html '"0 became faster beyond noise and 0 slower; 15 changed within noise" in words'

# Times that were changed: by how much, and with which interval, as factors; None: without one. One line has wrong data.
python3 - <<'PYTHON'
import json
CHANGES = [(1.5, 1.49, 1.51)] * 3 + [(0.5, 0.49, 0.51)] * 2 + [(1.5, 0.5, 2), (1.015, 1.012, 1.018), (0.97, 0.96, 0.9899)] + [None] * 2
CHANGES += [(1, 0.99, 1.01)] * 5
def write(name, changes):
    document = json.load(open("before"))
    for result, change in zip(document["results"], changes):
        middle, low, high = change or (9, 1, 1)
        times, interval = result["time_us"], result["median_interval"]
        times["p50"], interval["low_us"], interval["high_us"] = 100 * middle, 100 * low, 100 * high
        if change is None:
            result["median_interval"] = None
    document["results"][1]["wrong"] = 5
    document["results"][1]["time_us"]["p50"] = 1.0
    json.dump(document, open(name, "w"))
write("told", [(1, 0.99, 1.01)] * 15)
write("changed", CHANGES)
write("ordered", [(1, 0.99, 1.01)] * 3 + [(factor, factor, factor) for factor in (3, 2, 4, 2, 4, 3)] + [(1, 0.99, 1.01)] * 6)
PYTHON
report ordered.html ordered
check_page ordered.html \
    '[(row[1], row[4], row[6]) for row in tables["The winner of each size"][2:4]] == [
        ("linear", "ring:order=natural", "50.0%"), ("ring:order=natural", "tree", "50.0%")]'
report changed.html told changed
check_page changed.html '"Of 15 lines that both have, 3 became faster beyond noise and 2 slower; 8 changed within noise. The others" in words' \
    '[(row[2], row[3].split(",")[0]) for row in tables["Lines that changed beyond noise"][1:]] == [
        ("0.500", "\u25bc faster")] * 2 + [("1.500", "\u25b2 slower")] * 2 + [("0.970", "\u25bc faster")]' \
    '[row[1] for row in tables["All lines"][1:] if row[4] == "\u2716 wrong"] == ["linear"]' \
    'tables["The winner of each size"][1][1] != "linear"'

# A real acceptance run of one host, by itself and from its JSON.
cctest accept --np 2 --stages self --json one --html one.html
check_status 0
check_page one.html '"\u2714 ok: No host is bad or suspect" in words' 'page.count("class=\"banner good\"") == 1' '"copy by all cores" in words'
report again.html one
check_page again.html '"copy by all cores, GB/s: 1 value" in words'

# A made one, of this many hosts: host 3 sends slowly, one pair failed, and names and sentences are HTML.
cat >make.py <<'PYTHON'
import json, sys
count, bad = int(sys.argv[1]), 3
name = lambda h: f"""<script>alert("{h}")</script>&'""" if h == 1 else f"n{h}"
document = json.load(open("one"))
value = lambda a, b: (0.011 if a == bad else 0.047) + 0.0001 * ((a * 7 + b) % 5)
pairs = [{"stage": "pairs", "from": a, "to": b, "rail": 0, "part": None, "metric": "alone", "unit": "GB/s", "outcome": "ok", "value": value(a, b)}
         for a in range(count) for b in range(count) if a != b and (b - a) % 7 < 4]
pairs += [dict(p, metric="latency", unit="us", value=1e3 * p["value"]) for p in pairs if p["from"] < p["to"]]
pairs[0].update(outcome="late", value=None)
document["hosts"] = [{"host": h, "name": name(h), "health": "bad" if h == bad else "good", "lost": False, "stopped_seconds": 0, "unheard_seconds": 0, "agents": [h], "switch": f"s{h % 2}",
                      "inventory": None}
                     for h in range(count)]
document.update(pairs=pairs, status="slow", seconds=1234.5, command_line="cctest accept '<a>'", drain=["scontrol update '<n3>'"], findings=[
    {"stage": "isolate", "health": "good", "host": None, "peer": None, "status": "slow", "message": "<b>a note</b>", "action": None, "reason": None,
     "rotation": 0, "rotations": 0},
    {"stage": "isolate", "health": "bad", "host": bad, "peer": None, "status": "slow", "message": "n3: sends at 0.011 GB/s", "action": {"name": "cable", "sentence": "<b>look</b> at it"}, "reason": None,
     "rotation": 0, "rotations": 0}])
document["numbers"] = [{"stage": "self", "host": h, "metric": "copy by all cores", "part": None, "unit": "GB/s", "value": 9 + h % 3} for h in range(count)]
document["numbers"].append({"stage": "self", "host": 0, "metric": 'a" onclick="b', "part": None, "unit": "GB/s", "value": 1})
json.dump(document, open(f"made{count}", "w"))
PYTHON
for hosts in 8 300; do
    python3 make.py $hosts
    report made$hosts.html made$hosts
done
check_page made8.html '"<script>alert(\"1\")</script>" in words' '"1 of 8 hosts is bad" in words' 'words.count("\u2716 n3") == 2' \
    'words.index("n3: sends at") < words.index("<b>a note</b>")' '"23%" in {row[2] for row in tables["Measurements"]}' \
    'page.count("class=\"cell failed\"") == 1' 'page.count("class=\"cell h6\"") == 3' 'words.count("median 0.0472") == 2' \
    'page.count("class=\"border\"") == 2' '"n3 \u2192 n5: 0.0111 GB/s" in page' \
    '"\u2716 slow: 1 of 8 hosts is bad" in words and page.count("class=\"banner bad\"") == 1' \
    '"To do: <b>look</b> at it (cable)" in words and words.count("To do: ") == 1' \
    '"20.6 min" in words and "cctest accept \u0027<a>\u0027" in words and "scontrol update \u0027<n3>\u0027" in words' \
    '"47.2 us" in {row[3] for row in tables["Measurements"]}' 'page.index("n6</text>") < page.index("n3</text>")' \
    '[row[0] for row in tables["Stages"][1:]] == ["start", "self"]' '"n3: 0.0111" in words'
# The number of a host is that of its worse direction: here host 3 receives slowly.
python3 -c 'import json
document = json.load(open("made8"))
for pair in document["pairs"]:
    pair["from"], pair["to"] = pair["to"], pair["from"]
json.dump(document, open("turned8", "w"))'
report turned8.html turned8
check_page turned8.html '["n3", "bad", "0.0111"] in [row[:3] for rows in tables.values() for row in rows]'
# variant NAME STATEMENTS: the page of made8, changed by these.
variant() {
    python3 -c 'import json, sys
document = json.load(open("made8"))
exec(sys.argv[2])
json.dump(document, open(sys.argv[1], "w"))' "$1" "$2"
    report "$1.html" "$1"
}

# The columns of a map have names where these are short.
variant short8 'document["hosts"][1]["name"] = "n1"'
check_page short8.html 'words.count("\u2716 n3") == 4'
variant twelve 'document["hosts"] += [dict(document["hosts"][4], host=h, name=f"n{h}") for h in range(8, 12)]
document["hosts"][1]["name"] = "n1"'
check_page twelve.html 'words.count("\u2716 n3") == 4' '"Columns have the order" not in words'
# Colours are faint where no pair is slow.
variant even8 'document["pairs"] = [dict(p, value=p["value"] + 0.036) if p["from"] == 3 else p for p in document["pairs"] if p["metric"] == "alone" and p["value"]]'
check_page even8.html 'page.count("class=\"cell h0\"") == 28' 'page.count("class=\"cell h6\"") == 0'
# More is worse where packets are lost: here host 3 sends, and loses them.
variant lossy8 'document["pairs"] = [dict(p, metric="loss", unit="%", value=5 if p["from"] == 3 else 0) for p in document["pairs"] if p["value"]]'
check_page lossy8.html '["n3", "bad", "5.00"] in [row[:3] for rows in tables.values() for row in rows]' 'page.count("class=\"cell h6\"") == 3'
# A pair is as good as its worse rail.
variant railed8 'document["pairs"] += [dict(p, rail=1, outcome="ok", value=0.011 if (p["from"], p["to"]) == (5, 6) else 0.047) for p in document["pairs"] if p["metric"] == "alone"]'
check_page railed8.html 'page.count("class=\"cell h6\"") == 4'
# The banner has the colour of the status where no host is bad.
for said in 'slow suspect' 'wrong-data bad' 'running suspect' 'ok good'; do
    python3 -c 'import json, sys
document = json.load(open("made8"))
document.update(status=sys.argv[1], findings=[], drain=[], hosts=[dict(host, health="good") for host in document["hosts"]])
json.dump(document, open("healthy", "w"))' "${said% *}"
    cctest report healthy --html healthy.html
    check_status 0
    check_page healthy.html "page.count('class=\"banner ${said#* }\"') == 1" "' ${said% *}: No host is bad or suspect' in words" '"To take" not in words'
done
check_page made300.html '"There are 300 hosts: a cell has the worst pair of 3 hosts with 3" in words' 'page.count("<rect class=\"h") == 14' \
    'page.count("class=\"cell h6\"") > 60'

# The pages in a browser; and one with a fault of each kind, which the browser finds.
if [ -n "$browser" ]; then
    run "$repository/tests/system/browser.py" "$browser" "$scratch" changed.html made8.html
    check_status 0 "pages in $browser"
    cat >faults.html <<'HTML'
<!DOCTYPE html><html><head><style>p{color:#999;width:2000px}a:focus{outline:none}</style><script>undefined_function()</script></head>
<body><h1>A title</h1><h3>Too low</h3><p>Too faint, and too wide</p><a href="#nowhere">link</a>
<svg width="10" height="10"></svg><img src="other.png"><details><summary tabindex="-1">not reached</summary></details></body></html>
HTML
    run "$repository/tests/system/browser.py" "$browser" "$scratch" faults.html
    check_status 1
    for fault in 'a contrast of 2' 'wide in 360' 'a script failed' 'a request for .*other.png' 'skips a level' 'link to nowhere' \
        'picture without a name' 'no language' 'focus is not seen' 'key Tab comes to BODY' 'no picture of a page'; do
        check_says "$fault" "$out"
    done
else
    echo "not tested: pages in a browser (no chromium-headless-shell here: scripts/setup --tests)"
fi

# Bad input: one sentence with the file's name, and no page.
refused() { # refused STATUS REGEX WORD...
    cctest report "${@:3}"
    check_status "$1" "${*:3}"
    check_says "$2"
    check "more than one sentence" test "$(wc -l <"$err")" = 1
}
# A blank before the document, since what is wrong here is not checked against the schema.
{ echo && head -c 900 before; } >"cut"
{ echo && sed 's/"schema": 1/"schema": 2/' before; } >newer
sed 's/"status": "ok"/"status": "running"/' before >unended
printf 'size,time\n1,2\n' >table.csv
echo ' {"a": [1]}' >other
echo '[1]' >list.json
: >empty
head -c 270M /dev/zero | tr '\0' ' ' >large
json_of info >info.json
json_of plan allreduce -a ring --np 2 >plan.json
refused 2 'cut is cut off: its JSON ends in line [0-9]+: make it again$' cut --html refused.html
refused 2 'empty is cut off' empty --html refused.html
refused 2 'table.csv is no JSON: line 1, column [0-9]+: .*expected near' table.csv --html refused.html
refused 2 'newer has schema 2, and this cctest reads schema 1: use the cctest that wrote it' newer --html refused.html
refused 2 'other is JSON, but not of cctest' other --html refused.html
refused 2 'list.json is JSON, but not of cctest' list.json --html refused.html
refused 2 'info.json has no measurements' info.json --html refused.html
refused 2 'plan.json has no measurements' before plan.json --html refused.html
refused 2 'large has 270 MiB, and cctest reads JSON of 256 MiB' large --html refused.html
refused 2 'cannot read nowhere: No such file' before nowhere --html refused.html
refused 2 'cannot read \.: Is a directory' . --html refused.html
refused 2 'write cctest report FILE' --html refused.html
refused 2 'says where the page goes: write cctest report FILE' before
refused 2 '--html names before, a source of the page' before --html before
refused 2 'has no option --json' before --html refused.html --json x
refused 1 'cannot write /nowhere/x: No such file' before --html /nowhere/x
check "a refused page is there" test ! -e refused.html
cctest report unended --html refused.html
check_status 0
check_says 'unended is of a run that had not ended: the page has what was known$'
check_page refused.html '"had not ended when the page was made" in words'
cctest report before --html -
check_status 0
check_page "$out" '"allreduce float sum" in words'
refused 2 'one word too many' {1..17} --html refused.html

# Documents whose values are of other types, missing or huge: pages, or sentences.
cat >spoil.py <<'PYTHON'
import json, random, re, subprocess, sys
random.seed(7)
ends = set()
for path in ("before", "made8"):
    text = open(path).read()
    for _ in range(30):
        document = json.loads(text)
        for _ in range(random.choice((1, 3, 30))):
            at = document
            while True:
                keys = list(at) if isinstance(at, dict) else range(len(at))
                key = random.choice(keys) if keys else None
                if key is None or not isinstance(at[key], (dict, list)) or random.random() < 0.2:
                    break
                at = at[key]
            if key is not None and key not in ("schema", "version"):
                at[key] = random.choice((None, True, -1, 1 << 62, 1e308, -1e308, 5e-324, 0, "", "x" * 400, [], {}, [[]], {"p50": 1e300}))
        open("spoilt", "w").write(" " + json.dumps(document))
        ended = subprocess.run([sys.argv[1], "report", "spoilt", path, "--html", "spoilt.html"], capture_output=True, timeout=20)
        ends.add(ended.returncode)
        assert ended.returncode in (0, 2), ended
        assert ended.returncode or not re.search(r"[^-\w](nan|inf)[^-\w]", open("spoilt.html").read()), re.findall(
            r".{0,200}[^-\w](?:nan|inf)[^-\w]", open("spoilt.html").read())
assert 0 in ends, ends
PYTHON
run python3 spoil.py "$CCTEST"
check_status 0 "spoilt documents"

finish

#!/usr/bin/env bash
# tier: check; load: cpu1
# The picture of a plan: well formed, one arrow a message between the right ranks, labels with the content of messages
# that do not overlap, and refusals.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
svg=$scratch/plan.svg

# check_svg FILE PYTHON-EXPRESSION...: each is true of the picture. Variables:
#   arrows    (from, to, round sent, round received, label, text below it), in the file's order
#   lines     (from, to) from the heights of their ends; None if rows have different heights
#   classes   how many elements have each class; size: of the picture; words: all of its text
#   sends     (from, to, round) in a file of --json, sorted
#   meeting   labels that overlap others or leave the picture
check_svg() {
    local file=$1 wrong
    shift
    checks=$((checks + $#))
    wrong=$(python3 - "$file" "$@" 2>&1 <<'PYTHON'
import collections, json, re, sys
import xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg"
has = lambda element, name: name in (element.get("class") or "").split()
of = lambda top, tag, name: [e for e in top.iter(space + tag) if has(e, name)]
classes = collections.Counter(c for e in root.iter() for c in (e.get("class") or "").split())
size = float(root.get("width")), float(root.get("height"))
words = "\n".join(t.text for t in root.iter(space + "text"))
rows = {float(t.get("y")) - 4: int(t.text.split()[1]) for t in of(root, "text", "rank")}
gaps = {round(b - a, 1) for a, b in zip(sorted(rows), sorted(rows)[1:])}
arrows, lines, boxes = [], [], []
for group in of(root, "g", "message"):
    title = group.find(space + "title").text
    ends = [int(n) for n in re.match(r"rank (\d+) to rank (\d+)", title).groups()]
    rounds = [int(n) for n in re.findall(r" in round (\d+)", title)]
    texts = of(group, "text", "label")
    label, below = [next((t.text for t in texts if has(t, "below") == low), "") for low in (False, True)]
    arrows.append((*ends, *rounds, label, below))
    path = [float(n) for n in re.findall(r"[\d.]+", of(group, "path", "line")[0].get("d"))]
    nearest = lambda y: rows[min(rows, key=lambda row: abs(row - y))]
    lines.append((nearest(path[1]), nearest(path[-1])) if len(gaps) == 1 else None)
    for t in texts:
        x, y = float(t.get("x")), float(t.get("y"))
        width, height = (4.82, 6) if has(t, "below") else (6.02, 7.5)
        boxes.append((x, y - height, x + width * len(t.text), y, t.text))
meeting = [(a[4], b[4]) for i, a in enumerate(boxes) for b in boxes[:i]
           if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]]
meeting += [b[4] for b in boxes if b[0] < 0 or b[1] < 0 or b[2] > size[0] or b[3] > size[1]]
def sends(file):
    schedules = json.load(open(file))["plans"][0]["schedules"]
    return sorted((s["rank"], o["peer"], o["step"]) for s in schedules for o in s["operations"] if o["kind"] == "send")
known = dict(sends=sends, arrows=arrows, lines=lines, classes=classes, size=size, words=words, meeting=meeting)
for expression in sys.argv[2:]:
    if not eval(expression, known):
        print("not so:", expression, "; labels:", [a[4] for a in arrows][:20])
PYTHON
    ) || wrong="not a picture: $(tail -n 1 <<<"$wrong")"
    [ -z "$wrong" ] || failed "$file: $wrong"
}

# plan ARGUMENT...: draws it.
plan() {
    cctest plan "$@" --svg "$svg"
    check_status 0
    check_silent .
}

# Every algorithm, at 4, 6 or 16 ranks in turn: one arrow a message, between the right rows, in the rounds of the JSON.
sizes=(4 6 16) turn=0
while read -r collective algorithm _; do
    ranks=${sizes[turn++ % 3]}
    cctest plan "$collective" -a "$algorithm" --np "$ranks" --shape 2x$((ranks / 2)) --svg "$svg" --json "$scratch/plan.json"
    ! grep -q "power of two" "$err" || continue
    check_status 0
    check_svg "$svg" "sorted(a[:3] for a in arrows) == sends('$scratch/plan.json')" 'not meeting' \
        'all(line in (None, a[:2]) for line, a in zip(lines, arrows))' "classes['rank'] == $ranks" \
        'size[0] < 4500 and size[1] < 3500'
done < <(algorithms)

# Labels: block numbers, independent of where a block is stored, and the contributors of partial results.
plan allreduce -a ring --np 4
check_svg "$svg" 'len(arrows) == 24' 'classes["combined"] == 12 + 1' 'classes["fence"] == 0' \
    'all(a[3] == a[2] and a[1] == (a[0] + 1) % 4 for a in arrows)' \
    'all(int(a[4]) == (a[0] - a[2] - 1) % 4 for a in arrows)' \
    '[a[5] for a in arrows if a[0] == 2] == ["", "of 1,2", "of 0-2", "of all", "of all", "of all"]'
check_says 'sends 6 messages' "$svg"
check_says '24 messages, 24 elements, 6 rounds' "$svg"
plan scatter -a linear --np 4 -b 32
check_svg "$svg" '"sends 3 messages,\n6 elements" in words' 'words.count("sends 0 messages,\n0 elements") == 3'
plan alltoall -a bruck --np 4
check_svg "$svg" '[a[4] for a in arrows] == ["1,3", "0,3→2", "0,2", "0,1→3", "1,3", "1,2→0", "0,2", "2,3→1"]'
plan alltoall -a bruck --np 16
check_svg "$svg" '[a[4] for a in arrows][:4] == ["1,3,…,15", "0,15→2,6,…,14", "0,13-15→4,12", "0,9-15→8"]'
plan alltoall -a bruck:radix=2 --np 13
check_svg "$svg" '"0,2,…,6,9,11" in {a[4] for a in arrows}'
plan alltoall -a ring --np 6
check_svg "$svg" 'arrows[0][4] == "1-5"' '[a[4] for a in arrows if a[0] == 1][1] == "0→2-5"'
plan allgather -a ring --np 5
check_svg "$svg" 'all(int(a[4]) == (a[0] - a[2]) % 5 for a in arrows)' 'not any(a[5] for a in arrows)'
plan reduce -a binomial --np 4 -r 1
check_svg "$svg" '"root" in words.split("\n")' 'len(arrows) == 3' 'sorted(a[5] for a in arrows) == ["", "", "of 0,3"]'
plan allreduce -a hier --np 6 --shape 2x3
check_svg "$svg" '[a[4:] for a in arrows if a[0] == 4][2:4] == [("2", "of 3-5"), ("3", "of all")]'
plan alltoallv -a pairwise --np 4
check_svg "$svg" "sum(a[4] == '0,1' for a in arrows) == 4" '"own element 5" in words'
plan alltoall -a pairwise --np 6
check_svg "$svg" 'classes["fence"] == 6 * 4 + 1' 'all(int(a[4]) == a[1] for a in arrows)' 'classes["mark"] == 6 + 1'
plan allreduce -a ring --np 4 --channels 2
check_svg "$svg" 'len(arrows) == 48' '{a[4][:2] for a in arrows} == {"L0", "L1"}' '"lanes:" in words'
plan allreduce -a oneshot --np 4 --in-place
check_svg "$svg" 'classes["mark"] > 0' '"in-place" in words'

# Too many messages for labels: the legend says so, and tooltips show each.
plan alltoall -a linear --np 16
check_svg "$svg" 'len(arrows) == 240' 'classes["dense"] == 240' 'not any(a[4] for a in arrows)' \
    '"labels left out: 240 messages" in words'
check_says 'rank 3 to rank 7: 7 \(1 element\)' "$svg"
plan broadcast -a linear --np 16
check_svg "$svg" 'classes["dense"] == 0' 'len(arrows) == 15' 'all(a[4] == "0-15" for a in arrows)'

# One rank with its peers; one rank alone; the largest number of ranks.
plan allreduce -a rabenseifner --np 6 --rank 1
check_svg "$svg" 'len(arrows) == 10' 'all(1 in a[:2] for a in arrows)' 'classes["rank"] == 4' '"what rank 1 sends" in words'
for arguments in "allreduce --np 1" "allreduce --np 1 --in-place" "barrier --np 2" "alltoall -a linear --np 64"; do
    read -ra words <<<"$arguments"
    plan "${words[@]}"
    check_svg "$svg" 'size[0] > 0'
done

# The destination.
cctest plan alltoall --np 4
cp "$out" "$scratch/text"
plan alltoall --np 4
check "the text is that without a picture" cmp -s "$out" "$scratch/text"
cctest plan alltoall --np 4 --svg -
check_status 0
check "standard output is the picture" cmp -s "$out" "$svg"
echo kept >"$scratch/real.svg"
ln -s real.svg "$scratch/link.svg"
cctest plan alltoall --svg "$scratch/link.svg"
check "a symbolic link stays one" test -L "$scratch/link.svg"
check_svg "$scratch/real.svg" 'len(arrows) == 12'
cctest plan alltoall --svg "$scratch/none/plan.svg"
check_status 1
check_says "cannot write .*/none/plan.svg: No such file"
cctest plan alltoall --svg /dev/full
check_status 1
check_says "cannot write /dev/full: No space left"

# A refusal leaves the file as it was.
refused() { # refused REGEX ARGUMENT...
    echo kept >"$svg"
    cctest "${@:2}" --svg "$svg"
    check_status 2
    check_says "$1"
    check "one sentence" test "$(wc -l <"$err")" = 1
    check "the file is as it was" grep -qx kept "$svg"
}
refused 'has no option --svg' alltoall
refused 'has no option --svg' list
refused '--svg draws one algorithm.*name one' plan allreduce -a ring,mesh
refused '65 ranks is unreadable.*64' plan allreduce --np 65
refused 'picture of 16128 messages is unreadable' plan allreduce -a ring --np 64 --channels 2
refused 'too many: leave out -b' plan allreduce -b 1G
refused 'pairwise-xor.*power of two' plan alltoall -a pairwise-xor --np 6
cctest plan alltoall --json "$svg" --svg "$svg"
check_status 2
check_says '--json and --svg name the same file'
cctest plan alltoall --json - --svg -
check_status 2
check_says 'cannot both go to standard output'
check "no temporary file is left" test -z "$(find "$scratch" -name '*.tmp*')"

# The text ends in what the busiest rank sends.
cctest plan gather -a linear,binomial --np 5 -b 2000
check_says '^# gather linear, 5 ranks, size 2000 bytes, count 100 of float, out of place, root 0$' "$out"
check_says '^# gather linear: 1 step; rank 1 sends the most: 1 message, 100 elements \(400 bytes\)$' "$out"
check_says '^# gather binomial: 3 steps; rank 2 sends the most: 1 message, 200 elements \(800 bytes\)$' "$out"
finish

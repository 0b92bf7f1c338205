#!/usr/bin/env bash
# tier: deep; load: cpu1
# `cctest fit`, `cctest predict` and --model: a model of this machine predicts what was measured and what was not; a model of the
# textbook's numbers gives the textbook's times; 65,536 ranks; bad models.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1

# A model of nothing but 10 us a message, 1 ns a byte and 0.5 ns a combined byte, between hosts.
"$repository/tests/system/textbook.py" tcp network none 10 1 0.5 >textbook
keep_json textbook

predicted() { # predicted COLLECTIVE ALGORITHM SIZE ARGUMENT...: the time, in us
    "$CCTEST" predict "$1" -a "$2" -b "$3" -e "$3" --model textbook --chunk 0 "${@:4}" --json - 2>"$err" |
        python3 -c 'import json, sys; print("%.2f" % json.load(sys.stdin)["results"][0]["time_us"]["p50"])'
}
check "pairwise alltoall: 15 (a + b)" test "$(predicted alltoall pairwise 64000 --shape 16x1)" = "$(python3 -c 'print("%.2f" % (15 * (10 + 4)))')"
check "direct alltoall: a + b" test "$(predicted alltoall linear 64000 --shape 16x1)" = 14.00

cctest predict allreduce,broadcast -a all --shape 7x1 --model textbook -b 1000 -e 64K -f 64 --json all.json --csv all.csv
check_status 0
check_says '^# 7 ranks on 7 hosts, host 0 to host 6 \(predicted\); ' "$out"
check_says '^# predicted by the model textbook, made on nowhere, never: nothing has run$' "$out"
check "no word of iterations" sh -c "! grep -q warm-up '$out'"
check_json all.json 'all(line["predicted"] and line["iterations"] == 0 and line["time_us"]["p50"] > 0 for line in d["results"])' \
    'd["status"] == "ok"' 'len({line["algorithm"] for line in d["results"]}) > 15'
cctest predict broadcast -a binomial --shape 7x1 --model textbook -b 1K -e 1K --json one.json
check_json one.json '[line["simulated_ranks"] for line in d["results"]] == [7]'
cctest predict barrier -a all --shape 5x1 --model textbook
check_status 0
cctest predict alltoall --shape 5x1 --model textbook -b 1K -e 4K
check_status 0
check_says '^ +1040 +52 +linear +10\.21 ' "$out"
cctest predict sendrecv -a ring-shift:stride=2 --np 5 --model textbook --topology ring:5:latency=100 -b 1K -e 1K
check_status 0
check_says '^ +1024 +[0-9]+ +212\.05 ' "$out"
cctest predict alltoallv -a all --shape 13x1 --model textbook -b 0 -e 0
check_status 0

# Groups at the same time: each has the hosts of its ranks; they share ports and links; the slowest one is named.
for port in none node; do
    sed "s/\"port\": \"none\"/\"port\": \"$port\"/" textbook >ports
    cctest predict alltoall -a pairwise --shape 4x2 --split rail --model ports -b 64000 -e 64000 --chunk 0 --json "rails.$port"
    check_status 0
    check_says '^# 2 groups of 4 ranks at the same time \(--split rail\)' "$out"
    check_json "rails.$port" '[g["ranks"] for g in d["groups"]] == [[0, 2, 4, 6], [1, 3, 5, 7]]' \
        "[round(g['time_us']['p50'], 2) for g in d['results'][0]['groups']] == [3 * (10 + 16 * $([ $port = none ] && echo 1 || echo 2))] * 2"
done
sed 's/"network"/"same-cache"/' textbook >rows
printf '%s\n' 0,1 2,5 3-4 >groups
cctest predict sendrecv -a ring-shift --np 6 --split groups --model textbook --topology ring:6:latency=100 -b 1K -e 1K --json groups.json
check_status 0
check_says '^ +1024 +256 +312\.05 .* 112\.05 +111\.02 .* group 1 \(ranks 2, 5\)$' "$out"
check_says '^  host 3 -> host 4 +1 +2K +2K +200%$' "$out"
check_json groups.json '(d["results"][0]["slowest_group"], d["results"][0]["median_group"], d["results"][0]["fastest_group"]) == (1, 2, 0)'
cctest predict alltoall -a pairwise,linear --np 8 --shape 2x4 --split node --model rows -b 64000 -e 64000 --chunk 0 --json nodes.json --csv nodes.csv
check_status 0
check "each line has its own groups" test "$(awk '$3 == "pairwise" || $3 == "linear" { print $3, $4, $7, $8 }' "$out")" = "pairwise 78.00 78.00 78.00
linear 26.00 26.00 26.00"
check "in CSV, too" test "$(awk -F, 'NR > 1 { print $(NF - 3), $(NF - 2), $(NF - 1), $NF }' nodes.csv)" = "2 host 0 78.000 78.000
2 host 0 26.000 26.000"
check_json nodes.json '[[round(g["time_us"]["p50"]) for g in r["groups"]] for r in d["results"]] == [[78, 78], [26, 26]]'
cctest predict sendrecv -a pingpong --np 4 --split 2 --model rows -b 1000 -e 1000 --json there.json
check_status 0
check_json there.json '[round(g["time_us"]["p50"], 2) for g in d["results"][0]["groups"]] == [11, 11]' 'd["results"][0]["time_us"]["p50"] == d["results"][0]["groups"][0]["time_us"]["p50"]'
cctest predict allreduce --np 8 --shape 2x2 --split 4 --model rows
check_status 2
check_says '^cctest: --shape 2x2 is for 4 ranks, not 8, the ranks of all groups together: let them agree$' "$err"
cctest predict allreduce --shape 2x3 --np 4 --model textbook
check_status 2
check_says '^cctest: --shape 2x3 is for 6 ranks, not 4: let them agree$' "$err"
cctest predict allreduce --shape 2x3 --split 4 --model textbook
check_status 2
check_says 'ranks cannot be divided into groups of 4' "$err"

# Two rails, of which the second one takes three times as long for a byte: the two ranks of a host take one each, or both
# that which nic= names.
python3 - ports >railed <<'PYTHON'
import copy, json, sys
d = json.load(open(sys.argv[1]))
rails = [copy.deepcopy(d["model"]["links"][0]) for _ in "ab"]
for rail, name, slow in zip(rails, ("mlx5_0:1", "mlx5_1:1"), (1, 3)):
    rail.update(transport="verbs", rail=name)
    for path in rail["paths"]:
        path["wire_ns_per_byte"] *= slow
d["model"]["links"] = rails
print(json.dumps(d))
PYTHON
keep_json railed
for case in verbs:202 verbs:nic=mlx5_0:138 verbs:nic=mlx5_1:1:394 verbs:nic=mlx5_0+mlx5_1:202; do
    cctest predict sendrecv -a pairs --shape 2x2 --model railed -x "${case%:*}" -b 64000 -e 64000 --chunk 0 --json railed.json
    check_json railed.json "round(d['results'][0]['time_us']['p50'], 2) == ${case##*:}"
done

# Many ranks, each with few messages. One stands for all where they are alike.
spent() { # seconds of CPU time of all commands so far
    local -a stat
    read -r -a stat <"/proc/$$/stat"
    echo $(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}
started=$(spent)
RUN_LIMIT=120 cctest predict allreduce -a recursive-doubling --shape 1024x64 --model textbook -b 64K -e 64K
check_says 'the model has no link of these transports for ranks 0 and [0-9]+ \(same-cache\)' "$err"
sed 's/"network"/"same-cache"/' textbook >local
sed 's/"cores": 4096/"cores": 65536/' local >large
RUN_LIMIT=120 cctest predict allreduce,barrier -a recursive-doubling,dissemination --np 65536 --model large -b 64K -e 64K -v
check_status 0
check_says 'allreduce recursive-doubling, 65536 bytes: rank 0 stands for all, since the numbers of its peers differ in the same' "$err"
check_says 'barrier dissemination, [0-9]+ bytes: rank 0 stands for all, since the peers of each are as far around the ring' "$err"
check_says ' busbw +simulated$' "$out"
check_says '^ +65536 .* [0-9]+\.[0-9]+ +1$' "$out"
RUN_LIMIT=120 cctest predict broadcast -a binomial --np 65536 --model large -b 1M -e 1M --json many.json
check_status 0
check_json many.json '[line["simulated_ranks"] for line in d["results"]] == [65536]'
RUN_LIMIT=120 cctest predict allreduce -a ring --np 16384 --model large -b 1M -e 1M --json many.json
check_status 0
check_json many.json '[line["simulated_ranks"] for line in d["results"]] == [1]'
RUN_LIMIT=120 cctest predict allreduce -a recursive-doubling --np 2048 --model textbook --topology fat-tree:k=22 -b 64K -e 64K
check_status 0
RUN_LIMIT=120 cctest predict barrier -a dissemination --shape 65536x1 --model large
check_says 'the model has no link' "$err"
check "65,536 ranks in $(($(spent) - started)) s of CPU time" test $(($(spent) - started)) -lt 60

# What fit makes of this machine is a model, by which a run is predicted.
read -ra words < <(sed -nE 's/^    cctest (fit [^#]*).*/\1/p' "$repository/doc/predict.md")
check "the command of doc/predict.md is: ${words[*]}" test "${words[*]}" = "fit -o model.json"
RUN_LIMIT=240 cctest "${words[@]}"
check_status 0
check_says '^  shm bcopy, same-(cache|node) +[0-9]+ +[0-9.]+ % +[0-9.]+ %$' "$out"
check_says '^  combining ' "$out"
keep_json model.json
cp "$out" fit.out
check_json model.json '{link["transport"] for link in d["model"]["links"]} >= {"shm", "tcp"}' 'd["model"]["cores"] >= 1' \
    'len(d["model"]["residuals"]) > 100' 'max(r["bytes"] for r in d["model"]["residuals"] if r["of"].startswith("shm")) > 256 << 10'
# The table has the errors of the file, relative to what was measured.
python3 - fit.out model.json >"$out" <<'PYTHON'
import collections, json, re, statistics, sys
errors = collections.defaultdict(list)
for one in json.load(open(sys.argv[2]))["model"]["residuals"]:
    errors[one["of"]].append(100 * abs(one["predicted_us"] / one["measured_us"] - 1))
rows = re.findall(r"^  (\S.*?) +(\d+) +([\d.]+) % +([\d.]+) %$", open(sys.argv[1]).read(), re.M)
for name, count, median, most in rows:
    own = errors[name]
    if len(own) != int(count) or abs(statistics.median(own) - float(median)) > 0.06 or abs(max(own) - float(most)) > 0.06:
        print(name, "has", count, median, most, "in the table,", len(own), statistics.median(own), max(own), "in the file")
print(len(rows), "rows")
PYTHON
check_says '^[0-9]+ rows$' "$out"
check_silent 'in the file' "$out"
cctest allreduce -a ring,mesh --np 2 -b 1K -e 1M -f 32 --model model.json -v --json run.json
check_status 0
check_says 'predicted +measured/$' "$out"
check_json run.json 'all(line["predicted_us"] > 0 and not line["predicted"] for line in d["results"])'
check_json run.json 'all(len(r["step_ends"]) == 2 for r in d["results"] if r["algorithm"] == "ring")' \
    'all(0 < e["measured_us"] < 2 * r["time_us"]["max"] and 0 < e["predicted_us"] <= r["predicted_us"] for r in d["results"] for e in r["step_ends"])' \
    'all(max(e["predicted_us"] for e in r["step_ends"]) == r["predicted_us"] for r in d["results"])'
# There and back is one iteration, of which half counts, for the ends of its steps, too.
cctest sendrecv -a pingpong --np 2 -b 1K -e 1K --model model.json -v --json trip.json
check_status 0
check_json trip.json 'all(max(e["predicted_us"] for e in r["step_ends"]) == r["predicted_us"] for r in d["results"])'
cctest allreduce -a ring --np 3 -b 8 -e 64K -f 8192 --model model.json -v
check_says '^#   step [0-3] \(of 0 to 3\) differs most: it took [0-9.]+ us, predicted [0-9.]+$' "$out"
cctest allgather -a ring --np 4 --split 2 -b 1K -e 1K --model model.json --json groups.json
check_status 0
check_json groups.json 'd["results"][0]["predicted_us"] > 0' 'len(d["results"][0]["groups"]) == 2'
cctest predict allreduce -a ring,mesh --np 2 -b 1K -e 1M -f 32 --model model.json --json predicted.json
check_json predicted.json '[line["time_us"]["p50"] for line in d["results"]] == [line["predicted_us"] for line in __import__("json").load(open("run.json"))["results"]]'

# A model of another machine, or without the links of the job: said, and the run goes on.
cctest allreduce --np 2 -b 1K -e 1K --model local
check_status 0
check_says "the model local was made on nowhere, and rank 0 runs on " "$err"
cctest allreduce --np 2 -b 1K -e 1K --model textbook
check_status 0
check_says 'no prediction: the model has no link' "$err"

# The latency between the cores of the job is another than when the model was made, or the model has several: said. Only shm
# measures it, between ranks that have a core each.
if [ "$(nproc)" -ge 2 ]; then
    check_json model.json 'all(0 < link["one_way_least_ns"] <= link["one_way_most_ns"] for link in d["model"]["links"] if link["transport"] == "shm")'
    moved=$(python3 -c 'import json; print(any(link.get("one_way_most_ns", 0) > 2 * link.get("one_way_least_ns", 1) for link in json.load(open("model.json"))["model"]["links"]))')
    check "cores that moved during fit: $moved" test "$moved" = "$(grep -q '^# the cores moved, most likely: over ' fit.out && echo True || echo False)"
    run_with_latency() { # run_with_latency LEAST MOST: of the model, ns
        sed -E "s/(one_way_least_ns\": )[0-9.]+/\1$1/; s/(one_way_most_ns\": )[0-9.]+/\1$2/" model.json >other.json
        cctest allreduce --np 2 -b 1K -e 1K -x shm --model other.json
        check_status 0
    }
    run_with_latency 1 1
    check_says '^cctest: .*a cache line takes up to [0-9]+ ns one way over shm \(from rank [01] to [01]\), and took at most 1 when the model other.json was made: the cores are farther apart' "$err"
    run_with_latency 100000 100000
    check_says '^cctest: .*a cache line takes at most [0-9]+ ns one way over shm, and took at least 100000 when the model other.json was made: the cores are nearer' "$err"
    run_with_latency 1 100000
    check "neither farther nor nearer" sh -c "! grep -q 'a cache line takes' '$err'"
    check_says 'while the model other.json was made the cores moved, most likely: over shm, same-(cache|node), a cache line took 1 ns from core to core in one job, and 100000 in another' "$err"
    cctest predict barrier --np 2 --model other.json
    check_status 0
    check_says '^cctest: while the model other.json was made the cores moved' "$err"
else
    echo "not tested: the latency between cores: there is one CPU"
fi

# No bytes are a size. Ranks that share cores by the model, and a model that knows nothing of combining: said.
cctest predict allreduce -a ring --np 4 --model local -b 0 -e 16 --step-bytes 8 --json none.json
check_status 0
check_json none.json '[r["bytes"] for r in d["results"]] == [0, 8, 16]'
sed 's/"cores": 4096/"cores": 2/' local >two
cctest predict barrier --shape 2x3 --model two
check_says ': nothing has run; ranks share the 2 cores of a host, by the model$' "$out"
cctest predict barrier --shape 3x2 --model two
check_says ': nothing has run$' "$out"
sed 's/"combine": \[.*\], "links"/"combine": [], "links"/' local >uncombined
cctest predict barrier,allgather --np 2 --model uncombined
check_status 0
cctest predict allreduce --np 2 --model uncombined
check_status 2
check_says '^cctest: the model has no costs of combining elements, as allreduce needs' "$err"

# Bad input: one sentence, nothing is started.
refused() { # refused SENTENCE ARGUMENT...
    cctest "${@:2}"
    check_status 2
    check_says "$1" "$err"
    check "one line: $(cat "$err")" test "$(wc -l <"$err")" = 1
    check "nothing ran" test ! -s "$out"
}
predict() { refused "$1" predict allreduce --np 4 --model "$2"; }
refused 'which collective\? Write cctest predict' predict --np 4 --model local
refused 'a prediction needs the costs of a machine: give --model FILE' predict allreduce --np 4
refused 'a prediction needs the number of ranks: give --np N' predict allreduce --model local
refused '^cctest: cannot read nowhere: No such file' predict allreduce --np 4 --model nowhere
head -c 300 local >cut
predict '^cctest: cut is cut off: its JSON ends in line 1' cut
echo '{"schema": 1, "version": "0.1.0"}' >empty
predict '^cctest: empty: model is missing: make it again with cctest fit' empty
edited() { # edited SENTENCE EXPRESSION: of the model `m`
    python3 -c 'import json, sys
d = json.load(open("local")); m = d["model"]
exec(sys.argv[1])
json.dump(d, open("edited", "w"))' "$2"
    predict "^cctest: edited: $1" edited
    refused "^cctest: edited: $1" allreduce --np 2 --model edited
}
edited 'model.cores is no whole number from 1 to 65536' 'm["cores"] = 0'
edited 'model.cores is missing' 'del m["cores"]'
edited 'model.cores is no whole number' 'm["cores"] = 2.5'
edited 'model.host has a control character' 'm["host"] = "a\nb"'
edited 'model.links\[0\].rail is no text' 'm["links"][0]["rail"] = 7'
edited 'model.links\[0\].rail is of a link within a host' 'm["links"][0]["rail"] = "mlx5_0:1"'
edited 'model.links\[1\].distance is that of another link of tcp' 'm["links"] *= 2'
for rails in '("a:1", "a:1")' '("", "a:1")' '("a:1", "")'; do
    edited 'model.links\[1\].rail does not tell it from another link of tcp in the network' \
        "m['links'] = [dict(m['links'][0], distance='network', **({'rail': r} if r else {})) for r in $rails]"
done
edited 'model.links\[0\].one_way_most_ns is missing' 'm["links"][0]["one_way_least_ns"] = 20'
edited 'model.links\[0\].one_way_least_ns is missing' 'm["links"][0]["one_way_most_ns"] = 20'
edited 'model.links\[0\].one_way_most_ns is no number from 2007 ' 'm["links"][0].update(one_way_least_ns=2007, one_way_most_ns=2006)'
edited 'model.links\[0\].transport is no transport' 'm["links"][0]["transport"] = "pigeon"'
edited 'model.links\[0\].paths\[0\].latency_us is no number' 'm["links"][0]["paths"][0]["latency_us"] = -1'
edited 'model.links\[0\].paths\[0\].path is none of line, bcopy, zcopy, ll' 'm["links"][0]["paths"][0]["path"] = "bcoPy"'
edited 'model.links\[0\].paths\[0\].movement is none of push, pull, grant' 'm["links"][0]["paths"][0]["movement"] = "carry"'
edited 'model.links\[0\].paths\[0\].send_ns_per_byte has entry 1' 'm["links"][0]["paths"][0]["send_ns_per_byte"] = [[8, 1], [4, 1]]'
edited 'model.links\[0\].paths\[0\].send_ns_per_byte has entry 0' 'm["links"][0]["paths"][0]["send_ns_per_byte"] = [[1e-320, 1], [1e10, 2]]'
edited 'model.links\[0\].paths\[0\].window_bytes is less than 64' 'm["links"][0]["paths"][0]["window_bytes"] = 1'
edited 'model.links\[0\].paths\[1\].least_bytes is not above' 'm["links"][0]["paths"] *= 2'
edited 'model.links\[0\].paths is empty' 'm["links"][0]["paths"] = []'
edited 'model.combine is no array of at most 64' 'm["combine"] = {}'
edited 'model.copy_ns_per_byte is no array of at most 24' 'm["copy_ns_per_byte"] = [[n + 1, 1] for n in range(25)]'
refused 'a model knows the costs of host memory, and not those of -m cuda' predict allreduce --np 4 --model local -m cuda
cctest predict allgather -a neighbor --np 60000 --model large -b 1M -e 1M
check_status 2
check_says '60000 ranks have [0-9]+ operations or more, and there is memory to simulate [0-9]+: use fewer ranks' "$err"
refused "--json names local, which --model reads" predict allreduce --np 4 --model local --json local
rm edited empty cut
check "nothing is left behind" test -z "$(find . -name '*.tmp*')"
finish

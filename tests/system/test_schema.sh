#!/usr/bin/env bash
# tier: deep; load: cpu1
# The JSON Schema of --json: documents of each kind are valid, and one fault in any of their values is found. All system tests
# hold their JSON against it (check_schema of lib.sh); here that check fails where it must.
. "$(dirname "$0")/lib.sh"

mkdir "$scratch/made"
cd "$scratch/made" || exit 1
small=(-b 256K -e 256K -n 3 -w 1 -v)
cctest allreduce -a hier:inter=nhr,ring --shape 2x2 --np 4 "${small[@]}" --profile --json sweep
cctest alltoallv -x tcp --np 3 "${small[@]}" --json tcp
cctest broadcast -r all --np 3 -e 1K --inject corrupt:rank=1:iteration=1 --json wrong
cctest barrier --np 2 --inject delay:rank=1:us=3000,kill:rank=0:iteration=50 -n 20 -w 0 -c 2 --json killed
cctest sendrecv -a pingpong --np 2 --inject delay:rank=1:us=30000 -n 5 -b 8 -e 8 --json late
cctest allreduce --np 2 -n auto --budget 0.3 -b 8 -e 8 --json sampled
cctest reduce_scatter,allreduce -a ring,oneshot --np 7 -b 64 -e 64 -c 0 --json slow
cctest guidelines slow --json guidelines
cctest tune allreduce,barrier --np 3 --ranks 2,3 -b 1000 -e 1000 --budget 20 --json tuned
cctest allreduce --np 2 --tuning tuned -e 1K --json picked
cctest accept --np 3 --stages self --json accept
cctest alltoall -b 1X --json refused
cctest alltoall -x verbs --np 3 --json unavailable
cctest info --json info
cctest list alltoall bruck --json list
cctest list --json all
cctest plan allreduce -a ring --np 3 --json plan
cd "$scratch" || exit 1
check_json made/sweep 'd["seconds"] > 0' 'd["command_line"].startswith("cctest allreduce --algorithm hier:inter=nhr,ring --shape 2x2 ")' \
    'd["command_line"].endswith("--json sweep --profile --verbose")' 'len(d["began"]) == 20'
check_json made/refused 'd["command_line"] is None and d["seconds"] is None'
check_json made/killed 'd["seconds"] > 0 and "kill:rank=0" in d["command_line"]'
check_json made/unavailable 'd["command_line"] is None'
CCTEST_VERBOSE=2 cctest allreduce --np 2 -b 8 -e 8 -n 1 --samples "a 'b" --json made/counted
check_json made/counted 'd["command_line"].count(" --verbose") == 2' '"--samples \u0027a \u0027\\\u0027\u0027b\u0027" in d["command_line"]'

# Each object gets an unknown key, loses each key, and each value gets another type; once for each place, where places of a list
# are one. The validator of the schema's draft finds it, and so does the quick one of schema.py.
cat >"$scratch/faults.py" <<'PYTHON'
import copy, json, jsonschema, pathlib, subprocess, sys
sys.path.insert(0, sys.argv[2])
import schema
FREE = {"facts", "algorithm_options", "faults", "congested", "other", "counters", "gauges", "traffic"} # of any names
FREE_TO_MISS = {"transports", "profile", "peers", "gauges"}
SCHEMA = schema.schema_of(sys.argv[3])
CHECK = schema.validator(copy.deepcopy(SCHEMA)) # which it may change
jsonschema.Draft202012Validator.check_schema(SCHEMA)
JUDGE = jsonschema.Draft202012Validator(SCHEMA)
faults, missed = 0, []

# Every object takes its own keys alone, but for those of any facts, and needs known ones. Options are never renamed.
OPTIONS = {
    "options": """
        algorithm datatype op root in-place counts shape split min-bytes max-bytes step-factor step-bytes iterations budget
        warmup check start seed memory device transport executor protocol graph copy chunk channels slots slot-size
        interface np ranks-as bind rendezvous rank world timeout json csv samples tuning min-busbw profile verbose model
        inject""",
    "accept_options": """
        seed memory device transport interface np rendezvous rank world timeout stages quick false-alarms pairs switches
        duration good bad junit profile write-profile baseline json html verbose""",
    "tune_options": """
        datatype op root in-place min-bytes max-bytes step-factor step-bytes budget seed memory device transport executor
        protocol graph copy chunk channels slots slot-size interface np bind rendezvous rank world timeout model
        rank-counts tuning ompi mpich nccl json verbose"""}
for name, known in OPTIONS.items():
    for lost in set(known.split()) - set(SCHEMA["$defs"][name]["required"]):
        missed.append(f"the option {lost} of {name}")

def objects(node):
    if "properties" in node:
        yield node
    for inner in [*node.get("properties", {}).values(), *node.get("oneOf", []), node.get("items"), node.get("additionalProperties")]:
        if isinstance(inner, dict):
            yield from objects(inner)

for name, definition in SCHEMA["$defs"].items():
    for node in objects(definition):
        if "object" not in node["type"] or "additionalProperties" not in node or not set(node["required"]) <= set(node["properties"]):
            missed.append(f"an object of {name} that takes any keys")
        if any("optional" in inner for inner in node["properties"].values()):
            missed.append(f"a mark of {name} that is no schema's")
    if not set(definition) & {"type", "enum", "const", "oneOf", "properties", "$ref"}:
        missed.append(f"{name}, which has neither keys nor a type")
if '"const": 0.95\n' not in subprocess.check_output([sys.argv[3], "help", "schema.json"], text=True):
    missed.append("a share with the digits that documents have")

def places(value, path=()):
    yield path, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, path + (key,))

def refused(document, what):
    global faults
    faults += 1
    if JUDGE.is_valid(document):
        missed.append(what)
    if not schema.wrong_with(CHECK, json.dumps(document)):
        missed.append(what + ", quickly")

def is_free(path):
    return bool(path) and (path[-1] in FREE or path[-1] == "options" and "algorithm_options" in path)

def spoil(name, document, seen):
    for path, value in list(places(document)):
        place = tuple("*" if isinstance(key, int) else key for key in path)
        parent, last = document, path[-1] if path else None
        for key in path[:-1]:
            parent = parent[key]
        where = name + ": " + "/".join(place)
        if (place, type(value)) in seen:
            continue
        seen.add((place, type(value)))
        if isinstance(value, dict) and not is_free(path):
            value["unheard_of"] = 1
            refused(document, where + " has an unknown key")
            del value["unheard_of"]
        if last is None:
            continue
        named = isinstance(last, str) and not is_free(path[:-1])
        for other in ([], {}, -1.5):
            parent[last] = other
            if type(other) is not type(value) and not (last == "results" and other == []): # null and lists
                refused(document, f"{where} is {other}")
        parent[last] = value
        if named and last not in FREE_TO_MISS:
            kept = dict(parent)
            del parent[last]
            refused(document, where + " is missing")
            parent.clear()
            parent.update(kept)

seen = {name: set() for name in ("collectives", "plans", "topology", "command", "status")} # by a key that tells the kind of document
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    text = path.read_text(encoding="utf-8")
    for error in JUDGE.iter_errors(json.loads(text)):
        print(f"{path.name}: {error.json_path}: {error.message}")
    if path.name != "all": # it is long, and list has its kinds
        document = json.loads(text)
        spoil(path.name, document, seen[next(key for key in seen if key in document)])
for what in missed:
    print("not found:", what)
print(faults, "faults")
PYTHON
run /usr/bin/python3 -B "$scratch/faults.py" "$scratch/made" "$repository/tests/system" "$CCTEST"
check_status 0
check_silent '^not found|:' "$out"
faults=$(sed -n 's/ faults$//p' "$out")
check "only $faults faults" test "${faults:-0}" -gt 400

# ending SCRIPT: a test that makes JSON by this script.
# shellcheck disable=SC2016
ending() { run env "CCTEST=$CCTEST" bash -c '. "$(dirname "$0")/lib.sh"; eval "$1"; finish' "$repository/tests/system/test_schema.sh" "$1"; }
# shellcheck disable=SC2016
{
    ending 'cctest list --json "$scratch/list"; cctest list alltoall --json -; rm "$scratch/list"'
    check_status 0
    check_says '^2 checks, 0 failed' "$out"
    ending 'cctest list --json - && sed -i "s/\"summary\"/\"sumary\"/" "$out"'
    check_status 1
    check_says "out: data.collectives\[0\] lacks summary$"
    ending 'cctest list'
    check_status 1
    check_says 'FAILED: no JSON was checked against the schema'
}

finish

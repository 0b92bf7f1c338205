# shellcheck shell=bash
# lib.sh - shared by the system tests. A test sources it, runs the real binary ($CCTEST) and checks the results with
# check_*; `finish` at its end makes that the exit status. A failed check prints the command and its output, and the
# test goes on.
set -u
export LC_ALL=C
unset NO_COLOR CUDA_VISIBLE_DEVICES CUDA_STANDIN NVML_STANDIN "${!NCCL_@}" "${!CCTEST_@}" # settings of the caller are not part of the tests
# shellcheck disable=SC2034 # for the tests
repository=$(realpath -e -- "$(dirname -- "$0")/../..")
# The folder of the build that is tested. tests/run gives it to scripts that run with several ("builds: plain thread" in their head).
build=${TEST_BUILD:-build}
[[ $build = /* ]] || build=$repository/$build
CCTEST=$(realpath -e -- "${CCTEST:-$([ -n "${TEST_BUILD:-}" ] && echo "$build" || echo "$repository")/cctest}") || exit 1
script=$(realpath -e -- "$0") # a test may leave its folder
# shellcheck disable=SC2034 # for the tests; `make check CC="ccache gcc"` gives two words
read -ra compiler <<<"${CC:-gcc}"
# shellcheck disable=SC2034 # for the tests; mpirun may be MPICH's
openmpi=$(command -v mpirun.openmpi || echo mpirun)
# Without a private machine (below), leftovers are found by this name.
scratch=$(mktemp -d)
# A background command that is killed before its exec is still a copy of this shell: it must not remove the folder.
# (`case`, because with a test of a status bash returns a wrong status of the first command.)
trap 'case $BASHPID in $$) rm -rf -- "$scratch" ;; esac' EXIT
out=$scratch/out err=$scratch/err
kept=$scratch/kept
mkdir "$kept"
failures=0 checks=0 status=0 kept_count=0 ran=()

skip() {
    echo "skipped: $*"
    exit 77
}

# quote NAME FILE: the first and the last lines of a file, each behind the name.
quote() {
    if [ "$(stat -c %s -- "$2" 2>/dev/null || echo 0)" -le 8000 ]; then
        cat -- "$2" 2>/dev/null
    else
        head -c 3000 -- "$2"
        printf '\n[...]\n'
        tail -c 5000 -- "$2"
    fi | sed "s/^/  $1: /"
}

# Reports a failure, with the output of the last command and, if given, a file. FAIL_FAST=1: it is the end of the test.
failed() { # failed WHAT [FILE]
    failures=$((failures + 1))
    {
        echo "FAILED: $1"
        echo "  command: ${ran[*]}"
        echo "  status: $status"
        quote out "$out"
        quote err "$err"
        [ -z "${2:-}" ] || [ "$2" = "$out" ] || [ "$2" = "$err" ] || quote "${2##*/}" "$2"
    } >&2
    [ -z "${FAIL_FAST:-}" ] || verdict
}

# keep_json FILE: keeps what --json wrote, as it is now, for check_schema. It starts no process, since a test counts them.
keep_json() {
    local first text
    [ -f "$1" ] && read -rN 1 first <"$1" && [ "$first" = "{" ] || return 0
    IFS= read -rd '' text <"$1"
    kept_count=$((kept_count + 1))
    printf '%s' "$text" >"$kept/$BASHPID-$kept_count"
}

# Every JSON that the test made is valid by the schema that is installed: what was kept, and what is still in $scratch. A test
# that speaks of --json makes some.
check_schema() {
    local documents
    ran=("$repository/tests/system/schema.py" "$CCTEST" "$scratch") out=$scratch/schema.out err=$scratch/schema.err
    "${ran[@]}" >"$out" 2>"$err"
    status=$?
    documents=$(sed -n 's/ documents$//p' "$out")
    checks=$((checks + ${documents:-0}))
    [ $status = 0 ] || failed "JSON is not as the schema says"
    [ "${documents:-0}" -gt 0 ] || ! grep -q -- --json "$script" || failed "no JSON was checked against the schema"
}

verdict() {
    echo "$checks checks, $failures failed"
    exit $((failures > 0))
}

finish() {
    check_schema
    verdict
}

# run COMMAND...: output to $out and $err, exit status to $status. Kills a command that hangs (124).
run() {
    ran=("$@")
    timeout --kill-after=2 "${RUN_LIMIT:-120}" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    keep_json "$out"
    while shift; do
        [ "${1:-}" != --json ] || keep_json "${2:-}"
    done
}

# start NAME COMMAND...: in the background; output to $scratch/NAME.{out,err}.
declare -A pids
start() {
    local name=$1
    shift
    ran=("$@")
    timeout -k 2 "${RUN_LIMIT:-120}" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" </dev/null &
    pids[$name]=$!
}

# ended NAME STATUS [REGEX]: waits for a command of `start` and checks it.
ended() {
    wait "${pids[$1]}"
    status=$? out=$scratch/$1.out err=$scratch/$1.err
    check_status "$2" "$1"
    [ -z "${3:-}" ] || check_says "$3"
}

cctest() { run "$CCTEST" "$@"; }

check() { # check WHAT COMMAND...: the command succeeds
    checks=$((checks + 1))
    "${@:2}" || failed "$1"
}

check_status() { # check_status EXPECTED [WHAT]; a pattern, as "[15]"
    checks=$((checks + 1))
    # shellcheck disable=SC2053
    [[ $status == $1 ]] || failed "exit status $status, expected $1${2:+: $2}"
}

check_says() { # check_says REGEX [FILE]: a line matches (of standard error by default)
    checks=$((checks + 1))
    grep -Eq -- "$1" "${2:-$err}" || failed "no line matches: $1" "${2:-}"
}

check_silent() { # check_silent REGEX [FILE]: no line matches
    checks=$((checks + 1))
    ! grep -Eq -- "$1" "${2:-$err}" || failed "a line matches: $1" "${2:-}"
}

check_json() { # check_json FILE PYTHON-EXPRESSION...: each is true of the document `d`
    local file=$1 wrong
    shift
    keep_json "$file"
    checks=$((checks + $#))
    wrong=$(python3 - "$file" "$@" 2>&1 <<'PYTHON'
import json, sys
d = json.load(open(sys.argv[1]))
for expression in sys.argv[2:]:
    if not eval(expression, {"d": d}):
        print("not so:", expression)
PYTHON
    ) || wrong="not valid JSON: $(tail -n 1 <<<"$wrong")"
    [ -z "$wrong" ] || failed "$file: $wrong"
}

# json_of COMMAND...: what cctest says in JSON, which is also kept.
json_of() { "$CCTEST" "$@" --json - | tee "$(mktemp -p "$kept")"; }

# "collective algorithm rooted|- reduces|- counted|- ranks" of each of cctest's own algorithms, one a line; ranks are those of
# `cctest list`, with '-' for blanks: any, powers-of-2, groups, equal-groups ...
algorithms() {
    json_of list | python3 -c '
import json, sys
for c in json.load(sys.stdin)["collectives"]:
    for a in c["algorithms"]:
        a["vendor"] or print(c["name"], a["name"], *(k if c[k] else "-" for k in ("rooted", "reduces", "counted")),
              a["ranks"].replace(" ", "-"))'
}

# The collectives, one a line.
basis_collectives() { sed -n 's/^BASIS("\([^"]*\)".*/\1/p' "$repository/tests/basis.def" | uniq; }

# basis COLLECTIVE: its algorithms in tests/basis.def, for -a. Give a --shape, since most need several groups of equal size. Groups of
# several ranks (2x2, 3x2) show more of hierarchical algorithms than 3x1.
# TEST_CATALOGUE=all: all of the catalogue, for the night.
basis() {
    [ "${TEST_CATALOGUE:-}" != all ] || { echo all && return; }
    sed -n "s/^BASIS(\"$1\", \"\(.*\)\")/\1/p" "$repository/tests/basis.def" | paste -sd,
}

# "--np RANKS --shape SHAPE" of a shape: 2x3 has 6 ranks.
in_groups() { echo "--np $((${1/x/*})) --shape $1"; }

# Those that are here and move memory of the host.
transports() {
    json_of info | python3 -c '
import json, sys
print(*[t["name"] for t in json.load(sys.stdin)["transports"] if t["available"] and t["name"] != "cuda"])'
}

# Processes of session $1 (of a command that was started with setsid), without zombies.
session() { ps -s "$1" -o pid=,stat= | awk '$2 !~ /^Z/ { print $1 }'; }

# A secret without the slow hash: one of fewer than 32 characters costs each rank a tenth of a second and 64 MiB.
# shellcheck disable=SC2034 # for the tests
long_secret='open sesame, said somebody at some length'

# await SECONDS COMMAND...: waits until the command succeeds; false if it does not.
await() {
    local until=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    while ! "${@:2}"; do
        [ "${EPOCHREALTIME/[.,]/}" -lt "$until" ] || return 1
        sleep 0.02
    done
}

# build_other NAME VARIABLE=VALUE...: makes another cctest, $other, with these variables. Reuses all objects but those
# that contain the version.
build_other() {
    local parts=(src algorithms transports cli) source
    other=$scratch/$1/cctest
    mkdir "$scratch/$1"
    for source in "${parts[@]}"; do cp -a "$repository/build/$source" "$scratch/$1"; done 2>/dev/null
    for source in $(cd "$repository" && grep -rl CCTEST_VERSION "${parts[@]}"); do
        rm -f "$scratch/$1/${source%.c}.o"
    done
    ran=(make "${@:2}")
    make -s -C "$repository" "${@:2}" BUILD="$scratch/$1" binary="$other" -j2 "$other" >"$out" 2>"$err"
    status=$?
    check_status 0 "$1 is built"
    return $status
}

# Sets $stranger to what makes a command run as a user of no other test, so that nothing else counts for its limits.
another_user() {
    stranger_id=$((200000 + SRANDOM % 100000))
    # shellcheck disable=SC2034 # for the tests
    stranger=(setpriv --reuid "$stranger_id" --regid "$stranger_id" --clear-groups)
}

# Sets $port to a free one.
free_port() {
    # shellcheck disable=SC2034 # for the tests
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
}

# Continues the script in namespaces of its own, if the system allows it. Leftovers (processes, shared memory,
# sockets) are then seen exactly. $private tells whether it succeeded.
private=${TEST_PRIVATE:-}
[ -z "$private" ] || mount -t tmpfs none /dev/shm
private_machine() {
    local namespaces=(unshare --mount --pid --fork --kill-child --mount-proc --net)
    [ "$(id -u)" = 0 ] || namespaces+=(--map-root-user)
    if [ -n "$private" ]; then
        ip link set lo up
        return
    fi
    if "${namespaces[@]}" sh -c 'mount -t tmpfs none /dev/shm && ip link set lo up' 2>/dev/null; then
        rm -rf -- "$scratch"
        CCTEST=$CCTEST TEST_PRIVATE=1 exec "${namespaces[@]}" "$0" "$@"
    fi
    echo "without namespaces: leftovers are looked for in sessions only"
}

# Processes of cctest on this private machine.
strange_processes() {
    ps -e -o pid=,ppid=,stat=,comm= | awk -v me=$$ '$1 != me && $2 != me && $3 !~ /^Z/ && $4 == "cctest"'
}

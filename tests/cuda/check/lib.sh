# shellcheck shell=bash
# shellcheck disable=SC2154 # run sets $report, $total and $cctest
# lib.sh - for run: parts with a limit of time, what they find, bars, and the report.
set -u
export LC_ALL=C
unset NO_COLOR "${!CCTEST_@}"
scratch=$(mktemp -d)
trap 'case $BASHPID in $$) rm -rf -- "$scratch" ;; esac' EXIT
SECONDS=0
failed_parts=0 missed=0 unproven=0 part_end=0 faults=0 skipped=''

say() { # to the terminal and to the report
    echo "$*" | tee -a "$report/report.txt"
}

fault() { # fault WHAT [FILE]: the part fails; FILE: the end of which says why
    faults=$((faults + 1))
    say "    FAILED: $1"
    [ -z "${2:-}" ] || tail -n 5 -- "$2" | cut -c 1-300 | sed 's/^/      | /' | tee -a "$report/report.txt"
}

note() { say "    $*"; }

skip_part() { # skip_part WHY
    note "not run: $1"
    skipped=yes
    unproven=$((unproven + 1))
}

left() { # seconds that the part still has
    local end=$((part_end < total ? part_end : total))
    echo $((end > SECONDS ? end - SECONDS : 0))
}

# limited MOST COMMAND...: ends the command after MOST seconds, or when the part has no time left (status 124). Output goes
# to $scratch/out and $scratch/err.
limited() {
    local most=$1 seconds
    shift
    seconds=$(left)
    [ "$seconds" -gt 0 ] || return 124
    timeout --kill-after=3 "$((seconds < most ? seconds : most))" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

# part SECONDS TITLE FUNCTION. SECONDS hold on a machine with a GPU, and others have as long again: they may have other work.
part() {
    local begin=$SECONDS
    part_end=$((SECONDS + $1 * ${slack:-1})) faults=0 skipped=''
    say "$2"
    "$3"
    if [ -n "$skipped" ]; then
        return
    elif [ "$faults" = 0 ]; then
        say "    passed, $((SECONDS - begin)) s"
    else
        failed_parts=$((failed_parts + 1))
        say "    failed, $((SECONDS - begin)) s"
    fi
}

# bar DOUBT WHAT VALUE UNIT most|least LIMIT: DOUBT, if not empty, is why the value proves nothing here. A VALUE that is
# empty could not be measured.
bar() {
    local verdict=met
    if [ -n "$1" ]; then
        verdict="unproven ($1)"
        unproven=$((unproven + 1))
    elif [ -z "$3" ] || awk "BEGIN { exit !($3 $([ "$5" = most ] && echo '>' || echo '<') $6) }"; then
        verdict=MISSED
        missed=$((missed + 1))
    fi
    say "    bar: $2: ${3:-not measured}${3:+$4}; at $5 $6$4: $verdict"
}

# Of the result of the last size in a job's JSON.
busbw_of() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["results"][-1]["busbw_GBps"])' "$1" 2>/dev/null
}

transports_here() { # those that stage or reach memory of a GPU on one machine
    "$cctest" info --json - 2>/dev/null | python3 -c '
import json, sys
there = {t["name"] for t in json.load(sys.stdin)["transports"] if t["available"]}
print(*(name for name in ("tcp", "shm", "cuda") if name in there))'
}

#!/usr/bin/env bash
# AddressSanitizer and UndefinedBehaviorSanitizer with ranks as processes and with the unit tests; ThreadSanitizer with
# ranks as threads. Any report fails. The builds are kept, so the next run is shorter.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
[[ $CCTEST != */build-*/cctest ]] || skip "this is a sanitizer's build already"
echo 'int main(void) { return 0; }' >"$scratch/try.c"
for sanitizer in address,undefined thread; do
    if ! "${compiler[@]}" -fsanitize=$sanitizer -o "$scratch/try" "$scratch/try.c" 2>/dev/null || ! "$scratch/try"; then
        skip "the compiler has no -fsanitize=$sanitizer"
    fi
done
reports_to() { # reports_to FOLDER
    scratch=$1 out=$1/out err=$1/err
    mkdir -p "$1"
    export ASAN_OPTIONS=detect_leaks=1:log_path=$1/report
    export UBSAN_OPTIONS=print_stacktrace=1:log_path=$1/report
    export TSAN_OPTIONS=log_path=$1/report
}
RUN_LIMIT=120
# Suppresses only the known leaks of libpmix 4.2; a unit test may load it, too.
printf 'leak:%s\n' pmix_rte_init pmix_bfrops_base_value_load >"$scratch/libpmix"
export LSAN_OPTIONS=print_suppressions=0:suppressions=$scratch/libpmix

# sane STATUS COMMAND...: ends with STATUS, without any report.
sane() {
    rm -f "$scratch"/report.*
    run "${@:2}"
    check_status "$1"
    cat "$scratch"/report.* >"$scratch/reports" 2>/dev/null
    check "reported: $(head -n 40 "$scratch/reports")" test ! -s "$scratch/reports"
}

# matrix ARGUMENT...: every algorithm, over one transport with an odd number of ranks and over the other in groups; other
# options rotate.
matrix() {
    local turn=0 collective each words
    for collective in $(algorithms | cut -d' ' -f1 | uniq); do
        for run in "shm --np 5" "tcp --np 4 --shape 2x2"; do
            each=("--copy zcopy -m shared --channels 2" "--copy bcopy --chunk 64 --start back-to-back"
                "--in-place --chunk 0 -r all" "-d int8 -m shared" "-d double -o max --copy zcopy")
            [[ $run != shm* ]] || each+=("--copy ll -d int8 --channels 2" "--copy ll --slot-size 64")
            read -ra words <<<"$run ${each[turn++ % ${#each[@]}]}"
            sane 0 "$binary" "$collective" -a all -b 8 -e 40000 -f 5000 -n 1 -w 0 -c 2 -x "${words[@]}" "$@"
        done
    done
}

# faults ARGUMENT...: error paths
faults() {
    local small=(-b 64K -e 64K -n 2 -w 1 -c 2 --np 3)
    for transport in $(transports); do
        sane 3 "$binary" allreduce "${small[@]}" -x "$transport" --inject corrupt:rank=1:iteration=1 "$@"
        sane 3 "$binary" alltoall "${small[@]}" -x "$transport" --inject drop:rank=2:iteration=1 "$@"
        sane 0 "$binary" broadcast "${small[@]}" -x "$transport" -v --inject delay:rank=0:us=2000 "$@"
    done
    sane 1 "$binary" allreduce --np 2 -b 16T -e 16T "$@"
    sane 5 "$binary" allreduce "${small[@]}" --timeout 0.3 --inject delay:rank=1:us=1500000 "$@"
    sane 5 "$binary" allreduce "${small[@]}" --timeout 0.3 --inject silent:rank=1:iteration=3 "$@"
    check_says "rank 1 .* has not begun its iteration"
    sane 0 "$binary" allreduce "${small[@]}" --json "$scratch/sane.json" --csv "$scratch/sane.csv" "$@"
}

programs() { # programs unit|transport: the tests of that folder
    local source test
    for source in "$repository/tests/$1"/*.c; do
        test=${source##*/}
        RUN_LIMIT=500 sane 0 "$repository/build-address-undefined/tests/$1/${test%.c}"
    done
}

unit_tests() (
    trap - EXIT
    reports_to "$scratch/unit"
    programs unit
    verdict # JSON is held against the schema at the end of the test
)

began=$SECONDS
reports_to "$scratch/runs"
build_sanitized address,undefined tests
echo "build: $((SECONDS - began)) s"
unit_tests >"$scratch/units" 2>&1 & # about as long as all the rest
units=$!
binary=$repository/build-address-undefined/cctest
matrix
faults
for fault in kill stop; do
    sane 5 "$binary" allreduce -b 64K -e 64K --np 3 --timeout 2 --inject $fault:rank=1:iteration=1
done
for words in "0 list" "0 info" "0 plan alltoall -a bruck --np 7" "0 help alltoall" "2 alltoall -a pairwse" \
    "2 alltoall -b 1X" "2 alltoall -a pairwise-xor --np 6"; do
    read -ra words <<<"$words"
    sane "${words[0]}" "$binary" "${words[@]:1}"
    [ "${words[1]}" = help ] || sane "${words[0]}" "$binary" "${words[@]:1}" --json "$scratch/sane.json"
done
# shellcheck disable=SC2154 # lib.sh's
if ! [[ $("$openmpi" --version 2>/dev/null) =~ "Open MPI"|OpenRTE ]]; then
    echo "not tested: PMIx under sanitizers (Open MPI's mpirun is not here)"
elif "$binary" info | grep -Eq 'built without PMIx|libpmix.so.2 cannot be loaded'; then
    echo "not tested: PMIx under sanitizers (this cctest has none)"
else
    sane 0 "$openmpi" --allow-run-as-root --oversubscribe -np 3 "$binary" alltoall -b 1K -e 1K -n 3
    sane 2 env PMIX_NAMESPACE=none PMIX_RANK=0 "$binary" alltoall -b 1K -e 1K -n 3
fi
echo "processes: $((SECONDS - began)) s"

build_sanitized thread all
binary=$repository/build-thread/cctest
matrix --ranks-as threads
faults --ranks-as threads
echo "threads: $((SECONDS - began)) s"
programs transport
echo "transports: $((SECONDS - began)) s"

wait $units
status=$? ran=("unit tests")
check_status 0 "unit tests under address,undefined"
cat "$scratch/units"
echo "coverage: address,undefined and thread: $checks checks in $((SECONDS - began)) s"
finish

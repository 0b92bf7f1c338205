#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: address,undefined thread
# The program under AddressSanitizer and UndefinedBehaviorSanitizer with ranks as processes, and under ThreadSanitizer with ranks as
# threads: the basis of algorithms, injected faults, commands. tests/run gives the sanitizers' options; any report fails.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
RUN_LIMIT=120
as=()
[[ $build != *thread ]] || as=(--ranks-as threads)

# sane STATUS ARGUMENT...: ends with STATUS. Without tests/run a report goes to standard error.
sane() {
    cctest "${@:2}"
    check_status "$1"
    check_silent 'Sanitizer|runtime error'
}

# The basis over one transport with an odd number of ranks and over the other in groups; other options rotate.
matrix() {
    local turn=0 collective each words
    for collective in $(basis_collectives); do
        for run in "shm $(in_groups 5x1)" "tcp $(in_groups 2x2)"; do
            each=("--copy zcopy -m shared --channels 2" "--copy bcopy --chunk 64 --start back-to-back"
                "--in-place --chunk 0 -r all" "-d int8 -m shared" "-d double -o max --copy zcopy")
            [[ $run != shm* ]] || each+=("--copy ll -d int8 --channels 2" "--copy ll --slot-size 64")
            read -ra words <<<"$run ${each[turn++ % ${#each[@]}]}"
            sane 0 "$collective" -a "$(basis "$collective")" -b 8 -e 40000 -f 5000 -n 1 -w 0 -c 2 "${as[@]}" -x "${words[@]}"
        done
    done
}

# Error paths.
faults() {
    local small=(-b 64K -e 64K -n 2 -w 1 -c 2 --np 3)
    for transport in $(transports); do
        sane 3 allreduce "${small[@]}" -x "$transport" --inject corrupt:rank=1:iteration=1 "${as[@]}"
        sane 3 alltoall "${small[@]}" -x "$transport" --inject drop:rank=2:iteration=1 "${as[@]}"
        sane 0 broadcast "${small[@]}" -x "$transport" -v --inject delay:rank=0:us=2000 "${as[@]}"
    done
    sane 1 allreduce --np 2 -b 16T -e 16T "${as[@]}"
    sane 5 allreduce "${small[@]}" --timeout 0.3 --inject delay:rank=1:us=1500000 "${as[@]}"
    sane 5 allreduce "${small[@]}" --timeout 0.3 --inject silent:rank=1:iteration=3 "${as[@]}"
    check_says "rank 1 .* has not begun its iteration"
    sane 0 allreduce "${small[@]}" --json "$scratch/sane.json" --csv "$scratch/sane.csv" "${as[@]}"
}

matrix
faults
echo "coverage: $checks checks in $SECONDS s"
[ ${#as[@]} = 0 ] || finish

for fault in kill stop; do
    sane 5 allreduce -b 64K -e 64K --np 3 --timeout 2 --inject $fault:rank=1:iteration=1
done
for words in "0 list" "0 info" "0 plan alltoall -a bruck --np 7" "0 help alltoall" "2 alltoall -a pairwse" \
    "2 alltoall -b 1X" "2 alltoall -a pairwise-xor --np 6"; do
    read -ra words <<<"$words"
    sane "${words[0]}" "${words[@]:1}"
    [ "${words[1]}" = help ] || sane "${words[0]}" "${words[@]:1}" --json "$scratch/sane.json"
done
# shellcheck disable=SC2154 # lib.sh's
if ! [[ $("$openmpi" --version 2>/dev/null) =~ "Open MPI"|OpenRTE ]]; then
    echo "not tested: PMIx under sanitizers (Open MPI's mpirun is not here)"
elif "$CCTEST" info | grep -Eq 'built without PMIx|libpmix.so.2 cannot be loaded'; then
    echo "not tested: PMIx under sanitizers (this cctest has none)"
else
    run "$openmpi" --allow-run-as-root --oversubscribe -np 3 "$CCTEST" alltoall -b 1K -e 1K -n 3
    check_status 0 "mpirun"
    PMIX_NAMESPACE=none PMIX_RANK=0 sane 2 alltoall -b 1K -e 1K -n 3
fi
finish

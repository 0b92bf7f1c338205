# shellcheck shell=bash
# shellcheck disable=SC2154 # run and lib.sh set $report, $gpu, $cctest and $scratch
# sanitizer.sh - for run: memcheck and synccheck of compute-sanitizer, over both executors, at 64 KiB.

# Jobs, one a line: tool, how ranks run, and the arguments. The first ones must be reached: each tool over each executor and transport.
sanitizer_jobs() {
    local collective tool way
    for collective in allreduce alltoallv reduce_scatter broadcast alltoall sendrecv reduce allgather scatter gather; do
        for tool in memcheck synccheck; do
            echo "$tool threads $collective --executor device --channels 2"
            for way in cuda tcp shm; do
                # Memory of peers by CUDA IPC, once.
                echo "$tool $([ $collective/$way = allreduce/cuda ] && echo processes || echo threads) $collective --executor host -x $way"
            done
        done
    done
}
sanitizer_must=8

# sanitized RANKS TOOL AS ARGUMENT...: leaves what was found in memcheck.txt; the status is that of the program, and 98 if nothing was
# checked. `sanitizer` is the program.
sanitized() {
    local status
    limited 60 "$sanitizer" --tool "$2" --target-processes all --error-exitcode 99 "$cctest" "${@:4}" -a all -m cuda --np "$1" --device 0 \
        --ranks-as "$3" -b 64K -e 64K -n 1 -w 0 -c 1 --timeout 15
    status=$?
    [ "$status" != 0 ] || grep -q 'ERROR SUMMARY: 0 errors' "$scratch/out" || status=98
    { echo "status $status: $2, $1 ranks as $3: ${*:4}" && cat "$scratch/out" "$scratch/err"; } >>"$report/memcheck.txt"
    return $status
}

memcheck() {
    local run=0 tool as arguments ranks status sanitizer alone=''
    if [ -z "$gpu" ]; then
        skip_part "it needs a GPU"
        return
    fi
    sanitizer=$(PATH=$PATH:$(dirname -- "${TOOLKIT%% *}") command -v compute-sanitizer) || {
        fault "there is no compute-sanitizer, on the PATH or beside nvcc"
        return
    }
    while read -r tool as arguments; do
        [[ -n $alone && $arguments = *"--executor device"* ]] && ranks=1 || ranks=3
        # shellcheck disable=SC2086
        sanitized $ranks "$tool" "$as" $arguments
        status=$?
        # A sanitizer may let no two kernels run at once. Then the executor refuses, or its kernels wait till the end of --timeout.
        if [[ $ranks = 3 && $arguments = *"--executor device"* && ($status = 5 || $status = 77) ]]; then
            note "under $tool the kernels of 3 ranks did not run at once: $(tail -n 1 "$scratch/err" | cut -c 1-200)"
            [ -n "$alone" ] || unproven=$((unproven + 1))
            alone=yes
            # shellcheck disable=SC2086
            sanitized 1 "$tool" "$as" $arguments
            status=$?
        fi
        if [ "$status" = 124 ] && [ "$(left)" = 0 ]; then
            note "not reached in time: $tool of $arguments, and what follows"
            [ $run -ge $sanitizer_must ] || fault "not each executor and transport was checked"
            break
        fi
        [ "$status" = 0 ] || fault "status $status$([ "$status" != 98 ] || echo ' (it has checked nothing)'): $tool of $arguments" "$scratch/err"
        run=$((run + 1))
    done < <(sanitizer_jobs)
    note "$run jobs, each with all algorithms, at 64 KiB${alone:+; the device executor with one rank only}"
}

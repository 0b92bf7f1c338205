# shellcheck shell=bash disable=SC2034,SC2154 # variables are for the tests
# device.sh - shared by the tests of the device executor over the runtime for tests (tests/cuda/runtime.h), whose kernels wait for
# each other as those of GPUs do.
# shellcheck source=tests/system/cuda.sh
. "$repository/tests/system/cuda.sh"
unset CCTEST_EXECUTOR
RUN_LIMIT=60

# over SETTINGS STATUS OPTION...: a job over the runtime for tests; JSON goes to $scratch/json. No rule is broken, and no call
# waits for a kernel.
over() {
    rm -f "$scratch/json"
    CUDA_STANDIN=strict=yes,connections=32,threads=2,$1 run "$binary" "${@:3}" --json "$scratch/json"
    check_status "$2" "over CUDA_STANDIN=$1"
    check_silent 'cuda stand-in: violation|Sanitizer|runtime error'
}

# device OPTION...: run by the device, and right
device() {
    over "$settings" 0 "$@" -m cuda --executor device
    check_json "$scratch/json" 'd["results"]' 'all(r["executor"] == "device" and r["engine"] == "sm" and r["wrong"] == 0 and
        r["why_host"] is None and r["device_time_us"]["max"] > 0 for r in d["results"] if r["iterations"])'
}

# every_algorithm SHAPE OPTION...: the basis
every_algorithm() {
    local collective shape
    read -ra shape <<<"$(in_groups "$1")"
    for collective in $(basis_collectives); do
        device "$collective" -a "$(basis "$collective")" "${shape[@]}" "${short[@]}" "${@:2}"
    done
}

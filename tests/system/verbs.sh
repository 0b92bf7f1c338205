# shellcheck shell=bash disable=SC2034 # variables are for the tests
# verbs.sh - shared by the tests of the verbs transport over the strict provider of tests/verbs (provider.h), which takes the place
# of libibverbs and librdmacm: ranks are threads. The provider ends the process if the transport breaks a rule.
binary=$build/tests/verbs/cctest
[ -x "$binary" ] || skip "this cctest is built without verbs"
RUN_LIMIT=120
[ "$(ulimit -S -l)" != unlimited ] || ulimit -S -l 4000000 # refusals name the limit
export TEST_SECONDS=100

# over MODE STATUS COMMAND...: runs over the provider with these settings. No rule is broken, and no sanitizer reports. Sets
# $requests, and $since: the ms from the first fault to the end.
over() {
    VERBS_STRICT=$1,report=1 run "${@:3}"
    check_status "$2" "over VERBS_STRICT=$1"
    check_silent 'verbs provider: violation|Sanitizer|runtime error'
    requests=$(sed -n 's/^verbs provider: \([0-9]*\) requests.*/\1/p' "$err")
    since=$(sed -n 's/^verbs provider: \([0-9]*\) ms since the first fault/\1/p' "$err")
    echo "$requests" >>"$scratch/requests"
}

job() { # job MODE STATUS TRANSPORT ARGUMENT...: a collective with ranks as threads
    over "$1" "$2" "$binary" "${@:4}" -x "$3" --ranks-as threads
}

# Two NICs at once, and buffers of some MiB, take more locked memory than users usually may have. Bit 14: CAP_IPC_LOCK.
may_lock() {
    (($(ulimit -l) >= 65536)) || ((0x$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) >> 14 & 1))
}

small=(allreduce --np 3 -b 64K -e 64K -n 20 -w 1 -c 2 --timeout 20)

finish_verbs() {
    echo "coverage: $checks checks, $(($(sed '/^$/d' "$scratch/requests" | paste -sd+))) requests in $SECONDS s"
    finish
}

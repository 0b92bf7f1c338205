#!/usr/bin/env bash
# tier: deep; load: cpu2
# The tests of transports over verbs, in each of its ways to connect and to notice data, on a machine with an RDMA device.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machines_up 1 1
machine_as 1

passed=0 turn=0
for way in poll=cq poll=memory connect=rdmacm; do
    case $way in
    poll=cq) programs=(conformance eager peers processes) ;;
    poll=memory) programs=(conformance eager) ;;   # who is connected, and when, does not depend on it
    connect=rdmacm) programs=(eager processes) ;; # once connected, the queue pairs are the same
    esac
    # Verbs does not ask which kind of host memory it has, and an emulated CPU is slow.
    [ "${TEST_CATALOGUE:-}" = all ] || export TEST_COMBINATIONS=$((turn++ % 2))
    for program in "${programs[@]}"; do
        export TEST_TRANSPORT="verbs:$way"
        TEST_SECONDS=60 RUN_LIMIT=200 run "${as[@]}" "$repository/build/tests/transport/run" "$program"
        check_status 0 "$program over verbs:$way"
        check_silent '^\[ +SKIPPED' "$out"
        passed=$((passed + $(cat "$out" "$err" | grep -c '^\[ *OK')))
    done
done
machines_down
check "tests that passed: $passed" test $passed -ge 40
echo "coverage: $passed tests over verbs"
finish

#!/usr/bin/env bash
# Runs a program of tests/bench on a machine with an RDMA device (Soft-RoCE).
# usage: bench.sh PROGRAM [OPTION...]
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/../system/lib.sh"
# shellcheck source=tests/rdma/machines.sh
. "$repository/tests/rdma/machines.sh"
machines_ready || skip "$machines_missing"
machine_seconds=3600
machines_up 1 1
machine_on 1 "$@"
status=$?
machines_down
exit $status

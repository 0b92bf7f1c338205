#!/usr/bin/env bash
# tier: night; load: cpu1
# The parts that `make check-cuda` runs on a machine with a GPU, over the runtime for tests (cuda.sh).
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/cuda.sh
. "$repository/tests/system/cuda.sh"

RUN_LIMIT=600
CHECK_PARTS="elements bars tables" TOOLKIT='' run "$repository/tests/cuda/check/run" "$scratch/check-cuda"
check_status 0 "check-cuda over the stand-in"
check_says '# 410 rows, 0 differ' "$out"
check_says '0 parts failed, 0 bars missed, 21 unproven; the report has 4 files' "$out"
# At 2 ranks a ring combines half of the vector and receives half; of an allgather or alltoall half is copied, and half received.
check_says 'one GPU, device executor, allreduce of 256K: .*\(1310720 bytes read and written\)' "$out"
check_says 'one GPU, device executor, allgather of 256K: .*\(1048576 bytes read and written\)' "$out"
check_says 'two GPUs, device executor, alltoall of 256K: .*\(1048576 bytes read and written\), the copy engine [0-9.]+; of the ' "$out"
CHECK_PARTS=device TOOLKIT='' run "$repository/tests/cuda/check/run" "$scratch/check-cuda"
check_status 0 "the device executor's part of check-cuda"
check_says '40 checked iterations of 4 ranks, each in turn 200 us late' "$out"
check_says '45 of 45 jobs without a fault' "$out"
finish

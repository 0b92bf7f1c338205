# shellcheck shell=bash disable=SC2034 # variables are for the tests
# cuda.sh - shared by the tests of memory of GPUs over the runtime for tests of tests/cuda (runtime.h), which takes the place of
# CUDA's, with kernels that a C++ compiler made for the CPU. It ends the process if a rule of CUDA is broken.
binary=$build/tests/cuda/cctest
[ -x "$binary" ] || skip "there is no C++ compiler for kernels"
RUN_LIMIT=120
export CCTEST_EXECUTOR=host # test_device.sh is about the other one
export TEST_SECONDS=100

# over SETTINGS STATUS COMMAND...: runs over the runtime for tests with these settings. No rule is broken, no call blocks.
over() {
    CUDA_STANDIN=strict=yes,threads=3,$1 run "${@:3}"
    check_status "$2" "over CUDA_STANDIN=$1"
    check_silent 'cuda stand-in: violation|Sanitizer|runtime error'
}

short=(-b 4K -e 64K -f 16 -n 1 -w 0 -c 1)
[ "$build" = "$repository/build" ] || short=(-b 12K -e 12K -n 1 -w 0 -c 1)

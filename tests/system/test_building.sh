#!/usr/bin/env bash
# tier: night; load: cpu1
# How cctest is built: what make says of a compiler that does not run, what it keeps from one make to the next, which CUDA toolkit
# scripts/find-cuda takes, what scripts/setup --cuda says of a driver that is too old for it, that no test program stays that a build
# leaves out, and that cctest builds without any optional header.
# Compilers, toolkits, drivers and packages are scripts that this writes.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"

mkdir "$scratch/bin"

# script PATH LINE...
script() {
    mkdir -p "$(dirname -- "$1")"
    printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
    chmod +x "$1"
}

# toolkit VERSION FILE...: makes $folder, a toolkit with these files.
toolkit() {
    folder=$scratch/toolkit-$1
    rm -rf "$folder"
    # nvcc tells its folders on standard error.
    # shellcheck disable=SC2016 # the script's
    script "$folder/bin/nvcc" "folder=$folder" \
        "[ \$1 != --version ] || echo 'Cuda compilation tools, release ${1%.*}, V$1'" \
        '[ "$1" != -E ] || exec gcc "-I$folder/include" -include cuda_runtime_api.h -E -x c /dev/null -o /dev/null' \
        '[ "$1" = --version ] || printf "#$ INCLUDES=\"-I%s/include\"\n#$ LIBRARIES=\"-L%s/lib64\"\n" $folder $folder >&2'
    mkdir "$folder/include" "$folder/lib64"
    for file in "${@:2}"; do : >"$folder/$file"; done
}

whole=(include/cuda_runtime_api.h lib64/libcudart_static.a)

# found STATUS REGEX: of the toolkit in $folder
found() {
    run "$repository/scripts/find-cuda" "$folder"
    check_status "$1"
    if [ "$1" = 0 ]; then check_says "$2" "$out"; else check_says "$2"; fi
}

finding() {
    toolkit 12.0.140 "${whole[@]}"
    found 0 "^$folder/bin/nvcc 12\.0\.140 $folder/lib64/libcudart_static\.a -isystem $folder/include\$"
    toolkit 11.8.89 "${whole[@]}"
    found 1 'nvcc is older than CUDA 12$'
    toolkit 12.9.86 "${whole[0]}"
    found 1 'nvcc has no libcudart_static\.a$'
    toolkit 12.9.86 "${whole[1]}"
    [ -e /usr/include/cuda_runtime_api.h ] || found 1 'nvcc has no cuda_runtime_api\.h$'
    # shellcheck disable=SC2016 # the script's
    script "$folder/bin/nvcc" '[ "$1" = --version ] && echo "Cuda compilation tools, release 12.9, V12.9.86"'
    found 1 'nvcc finds no g\+\+$'
    toolkit 12.0.140 "${whole[@]}"
    echo '#error -- unsupported GNU version! gcc versions later than 12 are not supported! The nvcc flag ...' \
        >"$folder/include/cuda_runtime_api.h"
    found 1 'nvcc cannot compile: #error -- unsupported GNU version! gcc versions later than 12 are not supported!$'
    script "$folder/bin/nvcc" 'exit 127'
    found 1 'nvcc does not run$'
    folder=$scratch/nowhere
    found 1 "^cannot find $folder/bin/nvcc 12 or newer\$"
}

# setup_says DRIVER TOOLKIT [REGEX]: scripts/setup --cuda; without REGEX, it says nothing.
setup_says() {
    toolkit "$2" "${whole[@]}"
    script "$scratch/bin/nvidia-smi" "echo $1" "echo $1" # two GPUs
    script "$scratch/bin/dpkg-query" 'echo install ok installed'
    PATH=$scratch/bin:$PATH CUDA=$folder run "$repository/scripts/setup" --cuda
    check_status 0 "driver $1, CUDA $2"
    if [ $# = 3 ]; then check_says "$3"; else check_silent .; fi
}

drivers() {
    setup_says 550.54.15 13.0.88 "^setup: note: .*driver 550\.54\.15 is too old for CUDA 13\.0\.88, which needs 580 or newer: .*CUDA 12 "
    setup_says 550.54.15 12.4.131
    setup_says 580.65.06 13.5.37
    setup_says "" 13.0.88
}

# without PATH VARIABLE=VALUE TARGET: a program of an earlier build at this path goes.
without() {
    local old=$scratch/build/tests/$1
    mkdir -p "$scratch/build/tests/verbs" "$scratch/build/tests/cuda"
    : >"$old"
    RUN_LIMIT=1200 run make -C "$repository" CUDA=no BUILD="$scratch/build" "${@:2}"
    check_status 0 "make ${*:2}"
    check "make ${*:2} removes $1" test ! -e "$old"
}

left_out() {
    local note='the tests of tests/cuda are left out: no C\+\+ compiler'
    without cuda/cctest CXX=none over-cuda
    check_says "$note" "$out"
    without cuda/cctest-verbs CXX=none over-cuda
    without cuda/cctest-verbs VERBS=no over-verbs
    without verbs/cctest VERBS=no over-verbs
    check_silent "$note" "$out"
    run make -n -C "$repository" CUDA=no CXX=none BUILD="$scratch/build"
    check_status 0 "make without a C++ compiler"
    check_silent "$note" "$out"
}

# Where the headers of PMIx, libibverbs and CUDA are missing, the program and all tests that need none of them still compile.
without_headers() {
    local header poison=$scratch/poison
    mkdir -p "$poison/infiniband" "$poison/rdma"
    for header in pmix infiniband/verbs rdma/rdma_cma cuda cuda_runtime_api cuda_runtime nccl nvml; do
        echo "#error $header.h is missing" >"$poison/$header.h"
    done
    RUN_LIMIT=1200 run make -s -k -C "$repository" PMIX=no VERBS=no CUDA=no CXX=none "CPPFLAGS=-I$poison" CFLAGS=-O0 "BUILD=$scratch/bare" \
        "binary=$scratch/bare/cctest" tests
    check_status 0 "make tests without the optional headers"
    run "$scratch/bare/cctest" alltoall -a pairwise --np 2 -b 1K -e 1K -n 1
    check_status 0
}

# A compiler that does not run is no missing header.
compilers() {
    run make -n -C "$repository" "CC=no-such-wrapper gcc"
    check_status 2 "make with a compiler that is not there"
    check_says "cannot run the compiler 'no-such-wrapper gcc': status 127: .*no-such-wrapper: not found; "
    check_silent 'cannot find|left out'
    script "$scratch/bin/broken" 'echo broken: no license >&2' 'exit 3'
    run make -n -C "$repository" "CC=$scratch/bin/broken"
    check_status 2 "make with a compiler that ends at once"
    check_says "cannot run the compiler '$scratch/bin/broken': status 3: broken: no license; "
    run make -n -C "$repository" "CC=env gcc" CUDA=no BUILD="$scratch/build"
    check_status 0 "make with a compiler of two words"
    # shellcheck disable=SC2016 # the script's
    script "$scratch/bin/no_hwloc" 'text=$(cat)' 'case $text in *hwloc*) exit 1 ;; esac' 'header=${text#*<}' 'echo "-: /include/${header%>*}"'
    run make -n -C "$repository" "CC=$scratch/bin/no_hwloc"
    check_status 2 "make without a header"
    check_says 'cannot find hwloc\.h: run scripts/setup'
}

# What scripts/configure found is kept: a second make asks no compiler. A header that comes is seen.
kept() {
    local include=$scratch/include log=$scratch/asked
    local words=(-n -C "$repository" "CC=$scratch/bin/asked" PMIX=no CUDA=no "BUILD=$scratch/kept")
    mkdir -p "$include/infiniband" "$include/rdma"
    touch "$include"/{hwloc,jansson,sodium,expat,rdma/rdma_cma}.h
    # shellcheck disable=SC2016 # the script's
    script "$scratch/bin/asked" "include=$include" "echo \"\$*\" >>$log" 'case " $* " in *" -v "*)' \
        'printf "#include <...> search starts here:\n %s\nEnd of search list.\n" $include >&2; exit ;; esac' \
        'text=$(cat)' 'header=${text#*<}' 'header=${header%>*}' '[ ! -e "$include/$header" ] || echo "-: $include/$header"'
    run make "${words[@]}"
    check_status 0 "make without verbs.h"
    check_says '^the verbs transport is left out: ' "$out"
    check "the compiler was asked" test -s "$log"
    : >"$log"
    run make "${words[@]}"
    check_says '^the verbs transport is left out: ' "$out"
    check_says 'cli/main\.c' "$out"
    check "a second make asks the compiler: $(cat "$log")" test ! -s "$log"
    touch -d 1970-01-02 "$scratch/kept/config.mk"
    run make "${words[@]}"
    check "a newer scripts/configure asks it again" test -s "$log"
    touch "$include/infiniband/verbs.h"
    run make "${words[@]}"
    check_status 0 "make with verbs.h"
    check_silent '^the verbs transport is left out' "$out"
}

finding
drivers
kept
compilers
left_out
without_headers
finish

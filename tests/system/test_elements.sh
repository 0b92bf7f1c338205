#!/usr/bin/env bash
# tier: deep; load: cpu1
# Functions of single elements give the same bits from every compiler and at every optimization level, as C and as C++,
# which is how CUDA's compiler reads them (tests/elements/hashes.c).
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"

# hashes NAME COMMAND...: the results of what this command compiles are those of the first one.
hashes() {
    local name=$1
    shift
    if ! command -v "$1" >"$scratch/which"; then
        echo "not tested: elements as $name (no $1)"
        return
    fi
    run "$@" -Wall -Wextra -I "$repository/src" -o "$scratch/hashes" "$repository/tests/elements/hashes.c"
    check_status 0 "compiled as $name"
    run "$scratch/hashes"
    check_status 0 "run as $name"
    [ -s "$scratch/first" ] || cp "$out" "$scratch/first"
    check "as $name: other results" diff "$scratch/first" "$out"
}

hashes "C, not optimized" "${compiler[@]}" -std=c11 -O0
check "each operator, finish and value has a hash" test "$(wc -l <"$scratch/first")" = 108
hashes "C, optimized for this machine" "${compiler[@]}" -std=c11 -O3 -march=native -ffp-contract=off
hashes "C by clang" clang -std=c11 -O2 -ffp-contract=off
hashes "C++" "${CXX:-g++}" -x c++ -std=c++17 -O2 -ffp-contract=off
finish

#!/usr/bin/env bash
# tier: deep; load: cpu1; builds: plain address,undefined thread
# The device executor over the runtime for tests (device.sh): the basis of algorithms, by all ways; types and operators; late
# ranks.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/device.sh
. "$repository/tests/system/device.sh"

types_and_operators() {
    local type operator operators
    for type in float double float16 bfloat16 float8_e4m3 float8_e5m2 int8 int16 int32 int64 uint8 uint16 uint32 uint64 \
        float_int32 int32_int32 double_int64 int64_int64; do
        operators='sum prod min max avg'
        [[ $type != *int* ]] || operators+=' land lor lxor band bor bxor'
        [[ $type != *_*int* ]] || operators='maxloc minloc'
        for operator in $operators; do
            device allreduce --np 2 --ranks-as threads -d "$type" --op "$operator" -b 4080 -e 4080 -n 1 -w 0 -c 1
        done
    done
}

odd_jobs() {
    settings=mode=async,devices=2 device allreduce -a ring --np 13 --ranks-as threads "${short[@]}" -b 0 --channels 2
    device allreduce -a "$(basis allreduce)" --np 3 --shape 3x1 --ranks-as threads -b 1000 -e 1000 -n 1 -w 0 -c 1 --chunk 1
    device alltoall -a pairwise --np 7 --ranks-as threads -b 7001 -e 70001 -i 21000 -n 2 -w 1 -c 5 -d int8 --channels 3
    device broadcast -a "$(basis broadcast)" --np 5 --shape 5x1 --ranks-as threads --root all -c 6 -b 40K -e 40K -n 6 -w 0
    device reduce -a "$(basis reduce)" --np 4 --shape 2x2 --ranks-as threads --root 3 --in-place "${short[@]}" --op avg -d int32 --channels 3
    device allgatherv -a "$(basis allgatherv)" --np 3 --shape 3x1 --ranks-as threads --in-place --counts zipf:1.2 "${short[@]}" --start back-to-back -n 9
    device alltoallv -a linear --np 3 --ranks-as threads --in-place "${short[@]}" --channels 4
    device allreduce -a ring --np 3 --ranks-as threads -b 3M -e 3M -n 2 -w 1 -c 5 --slots 2 --slot-size 1000 --chunk 700
    device allreduce -a ring,rhd --np 1 "${short[@]}"
    device alltoall -a "$(basis alltoall)" --np 6 --split 3 --ranks-as threads "${short[@]}"
    every_algorithm 2x3 --ranks-as threads
    device broadcast -a hier --np 4 --shape 2x2 --root all --ranks-as threads "${short[@]}" -n 4
    device allreduce -a "$(basis allreduce)" --np 3 --shape 3x1 --ranks-as threads "${short[@]}" -n 3 --graph
    over "$settings" 0 allreduce -a ring,recursive-doubling --np 3 -m cuda --ranks-as threads "${short[@]}" -v --profile
    check_says '^# executor: device \(sm\)$' "$out"
    check_json "$scratch/json" 'len(d["results"]) == 4' 'all(abs(sum(r[k] for k in ("copying", "reducing", "waiting_peer",
        "waiting_credit", "bookkeeping")) - 1) < 0.01 and r["bookkeeping"] < 1 for l in d["results"] for r in l["profile"])' \
        'any(r["reducing"] > 0 for l in d["results"] for r in l["profile"])'
    local rank
    for rank in 0 1 2; do
        device allreduce -a ring --np 3 --ranks-as threads -b 16K -e 16K -n 0 -w 0 -c 40 --channels 2 \
            --inject delay:rank=$rank:us=200
    done
}

if [ "$build" != "$repository/build" ]; then
    settings=mode=async,devices=2
    every_algorithm 2x2 --ranks-as threads --channels 2
    device allreduce -a "$(basis allreduce)" --np 3 --shape 3x1 --ranks-as threads "${short[@]}" --protocol ll -c 3
    device alltoall -a "$(basis alltoall)" --np 3 --shape 3x1 --ranks-as threads "${short[@]}" --copy zcopy -c 3
    finish
fi
settings=mode=async
every_algorithm 3x1 --ranks-as threads
settings=mode=sync
every_algorithm 2x2 --ranks-as threads --copy zcopy --channels 2
settings=mode=async,devices=5
every_algorithm 5x1 --ranks-as processes --copy bcopy
settings=mode=async,devices=2
every_algorithm 3x1 --ranks-as threads --protocol ll --channels 3
settings=mode=async,devices=1,threads=3
odd_jobs
settings=mode=sync,threads=1
types_and_operators
finish

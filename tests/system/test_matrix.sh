#!/usr/bin/env bash
# Every collective x algorithm x transport x 1 to 7 ranks, every element checked. The other options rotate, each at a
# pace of its own, so that every value of each is used with every algorithm and every transport.
# shellcheck source=tests/system/lib.sh disable=SC2034,SC2317 # arrays are read by name; run_one is called by xargs
. "$(dirname -- "$0")/lib.sh"

# Every type and every operator.
kinds=("-d float -o sum" "-d double -o prod" "-d float16 -o avg" "-d bfloat16 -o sum" "-d float8_e4m3 -o max"
    "-d float8_e5m2 -o sum" "-d int8 -o land" "-d int16 -o avg" "-d int32 -o bxor" "-d int64 -o band" "-d uint8 -o lor"
    "-d uint16 -o prod" "-d uint32 -o lxor" "-d uint64 -o bor" "-d float_int32 -o maxloc" "-d int32_int32 -o minloc"
    "-d double_int64 -o minloc" "-d int64_int64 -o maxloc" "-d float -o min")
# Nothing; less than an element a block; odd; does not divide; several slots; larger than what zcopy starts at.
sizes=("-b 0 -e 0" "-b 1 -e 1" "-b 8 -e 40 -i 16" "-b 1000 -e 3001 -i 2001" "-b 32K -e 99999 -i 67231" "-b 300001 -e 300001"
    "-b 1M -e 1M")
ways=("--copy auto" "--copy bcopy" "--copy zcopy" "--copy ll")
memories=(host shared)
chunks=("" "--chunk 0" "--chunk 64" "--chunk 5000")
channels=(1 2 3 5)
starts=(barrier back-to-back)
places=("" "--in-place")

# pick NAME STEP PACE: $picked is an element of the array NAME; it changes after PACE steps.
pick() {
    local -n list=$1
    picked=${list[$2 / $3 % ${#list[@]}]}
}

# The options of step $1 of an algorithm, for $2 ranks over transport $3, in $options. Only shm has ll.
options_of() {
    local step=$1 np=$2 transport=$3 words=""
    local roots=(0 all $((np - 1)) $((np / 2)))
    pick sizes "$step" 1 && words+=" $picked"
    pick ways "$step" 1
    [ "$transport$picked" = "tcp--copy ll" ] || words+=" $picked"
    pick kinds "$step" 1 && words+=" $picked"
    pick memories "$((step + step / 6))" 1 && words+=" -m $picked"
    pick chunks "$((step + step / 12))" 1 && words+=" $picked"
    pick channels "$((step + step / 8))" 3 && words+=" --channels $picked"
    pick starts "$step" 5 && words+=" --start $picked"
    pick places "$((step + step / 2))" 1 && words+=" $picked"
    pick roots "$step" 3 && words+=" -r $picked"
    read -ra options <<<"$words"
}

# One line a run, in words of the command line.
list_runs() {
    local line=0 step words
    while read -r collective algorithm _; do
        step=$((line++ * 5))
        for transport in $(transports); do
            for np in 1 2 3 4 5 6 7; do
                for _ in 1 2 3; do
                    options_of $((step++)) $np "$transport"
                    echo "$collective -a $algorithm -x $transport --np $np ${options[*]}"
                done
            done
        done
        # Ranks beyond the cores, and ranks that are threads.
        words="$collective -a $algorithm -b 4000 -e 20000 -i 16000"
        echo "$words --np 16 --start back-to-back"
        echo "$words --np 5 --ranks-as threads --channels 2"
        [ "$collective" = barrier ] || echo "$words --np 3 --ranks-as threads -x tcp -m shared"
    done < <(algorithms)
    echo "allreduce -a ring --np 32 -b 4000 -e 4000"
    echo "alltoall -a bruck:radix=3 --np 32 -b 4000 -e 4000 -x tcp"
    echo "alltoall -a bruck:radix=5 --np 13 -b 40000 -e 40000 --channels 2"
    echo "alltoall -a fullmesh:concurrency=4 --np 9 -b 40000 -e 40000"
    echo "alltoall -a scattered:concurrency=3 --np 8 -b 40000 -e 40000"
    echo "barrier -a dissemination:radix=4 --np 11"
    echo "alltoall -a all --np 6 -b 1000 -e 9000"
    echo "allreduce -x shm,tcp --np 3 -b 4000 -e 4000"
    # More ranks than a sum of few bits can hold.
    echo "allreduce -d float8_e4m3 --np 12 -b 4000 -e 4000"
    echo "reduce_scatter -d float8_e5m2 -o avg --np 9 -b 40000 -e 40000"
    echo "reduce -d float_int32 -o maxloc -r all --np 5 -b 40000 -e 40000"
}

# Values of options that an algorithm is never run with over a transport: there must be none.
list_gaps() {
    printf '%s\n' "${kinds[@]}" "${sizes[@]}" "${ways[@]}" "${memories[@]/#/-m }" \
        "${chunks[@]:1}" "${channels[@]/#/--channels }" "${starts[@]/#/--start }" --in-place "-r all" "-r 0" |
        awk 'NR == FNR { values[$0]; next }
            $4 == "-x" && $6 == "--np" {
                pairs[$1 " " $3 " " $5]
                for (value in values)
                    if (index($0 " ", " " value " "))
                        seen[$1 " " $3 " " $5, value]
            }
            END {
                for (pair in pairs)
                    for (value in values)
                        if (!((pair, value) in seen) && !(pair ~ / tcp$/ && value == "--copy ll"))
                            print "no run: " pair " " value
            }' - "$scratch/runs"
}

# One run in a process of its own: prints nothing, "refused", or what is wrong.
run_one() {
    local words status told
    read -ra words <<<"$1"
    told=$(timeout -k 2 60 "$CCTEST" "${words[@]}" -n 2 -w 1 -c 2 --timeout 20 2>&1 </dev/null)
    status=$?
    if [ "$status" = 0 ]; then
        grep -q "^# status: ok" <<<"$told" || echo "no 'status: ok': $1"
    elif [ "$status" = 2 ] && [[ $1 == *pairwise-xor* ]] && grep -Eq "power of two, not [0-9]+ rank" <<<"$told"; then
        echo refused
    else
        echo "exit status $status: cctest $1"
        grep -v "^#" <<<"$told" | tail -n 8 | sed 's/^/    /'
    fi
}
export -f run_one
export CCTEST

list_runs >"$scratch/runs"
runs=$(wc -l <"$scratch/runs")
# shellcheck disable=SC2016
xargs -P 3 -d '\n' -I RUN bash -c 'run_one "$1"' run RUN <"$scratch/runs" >"$scratch/told"
refused=$(grep -c '^refused$' "$scratch/told")
list_gaps >>"$scratch/told"
grep -v '^refused$' "$scratch/told" | head -n 60
wrong=$(grep -Ec '^(exit status|no )' "$scratch/told")
# pairwise-xor: of 1 to 7 ranks, 3, 5, 6 and 7 are no powers of two; so are 5 and 3 threads.
expected=$(grep -- "-a pairwise-xor " "$scratch/runs" | grep -Ecv -- "--np (1|2|4|8|16) ")
[ "$refused" = "$expected" ] || wrong=$((wrong + 1))
echo "coverage: $(algorithms | wc -l) algorithms, $(transports | wc -w) transports, $runs runs, $refused refused ($expected to be), $wrong wrong"
exit $((wrong > 0))

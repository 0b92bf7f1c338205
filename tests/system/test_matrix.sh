#!/usr/bin/env bash
# Every collective x algorithm x transport, each on six numbers of ranks (or shapes of groups), every element checked.
# The other options rotate, each at a pace of its own, so that every value of each is used with every collective and
# every transport.
# shellcheck source=tests/system/lib.sh disable=SC2034,SC2317 # arrays are read by name; run_one is called by xargs
. "$(dirname -- "$0")/lib.sh"

# Types for what moves data only; pairs of type and operator for what combines.
types=(float double float16 bfloat16 float8_e4m3 float8_e5m2 int8 int16 int32 int64 uint8 uint16 uint32 uint64
    float_int32 int32_int32 double_int64 int64_int64)
integers=(int8 int16 int32 int64 uint8 uint16 uint32 uint64)
floats=(float double float16 bfloat16 float8_e4m3 float8_e5m2)
pairs=()
for op in sum prod max min avg land lor lxor band bor bxor; do
    for type in "${integers[@]}"; do pairs+=("-d $type -o $op"); done
done
for op in sum prod max min avg; do
    for type in "${floats[@]}"; do pairs+=("-d $type -o $op"); done
done
for op in maxloc minloc; do
    for type in float_int32 int32_int32 double_int64 int64_int64; do pairs+=("-d $type -o $op"); done
done
# Nothing; less than an element a block; odd; does not divide; several slots; larger than what zcopy starts at.
sizes=("-b 0 -e 0" "-b 1 -e 1" "-b 8 -e 40 -i 16" "-b 1000 -e 3001 -i 2001" "-b 32K -e 99999 -i 67231" "-b 300001 -e 300001"
    "-b 1M -e 1M")
ways=("--copy auto" "--copy bcopy" "--copy zcopy" "--copy ll")
memories=(host shared)
chunks=("" "--chunk 0" "--chunk 64" "--chunk 5000")
channels=(1 2 3 5)
starts=(barrier back-to-back)
places=("" "--in-place")
distributions=(spread uniform zipf:1.5 hot:0.8)
# Ranks, by what an algorithm takes; groups of one size, and of several for those that take them.
any=(2 7 4 3 8 5 1 6 13)
powers=(2 4 8 1 16)
even=(2 6 4 8 1)
shapes=("4 2x2" "6 2x3" "6 3x2" "8 2x4" "3 1x3" "9 3x3")
uneven=("5 2+3" "4 1+3" "7 3+1+3" "8 2+2+4" "3 2+1")

# pick NAME STEP PACE: $picked is an element of the array NAME; it changes after PACE steps.
pick() {
    local -n list=$1
    picked=${list[$2 / $3 % ${#list[@]}]}
}

# The options of step $1 of a collective (reducing? $2; with counts? $3) over transport $4, with $5 ranks, in $words. Only
# shm has ll.
options_of() {
    local step=$1 transport=$4
    local roots=(0 all $(($5 - 1)) $(($5 / 2)))
    words=""
    pick sizes "$step" 1 && words+=" $picked"
    pick ways "$((step + step / 7))" 1
    [ "$transport$picked" = "tcp--copy ll" ] || words+=" $picked"
    if [ "$2" = reduces ]; then
        pick pairs "$((step * 11 + step / 126))" 1 && words+=" $picked"
    else
        pick types "$((step * 5 + step / 18))" 1 && words+=" -d $picked"
    fi
    pick memories "$((step + step / 6))" 1 && words+=" -m $picked"
    pick chunks "$((step + step / 12))" 1 && words+=" $picked"
    pick channels "$((step + step / 8))" 3 && words+=" --channels $picked"
    pick starts "$step" 5 && words+=" --start $picked"
    pick places "$((step + step / 2))" 1 && words+=" $picked"
    pick roots "$step" 3 && words+=" -r $picked"
    [ "$3" != counted ] || { pick distributions "$((step + step / 4))" 1 && words+=" --counts $picked"; }
}

# The ranks of turn $2 of an algorithm that takes $1: $np, and $groups, in words of the command line.
ranks_of() {
    local entry
    groups=""
    case $1 in
    *groups)
        pick shapes "$2" 1
        [ "$1" = groups ] && [ $(($2 % 2)) = 1 ] && pick uneven "$2" 2
        read -r np entry <<<"$picked"
        case $entry in
        *x*) groups="--shape $entry" ;;
        *) groups=$entry ;;
        esac
        ;;
    "powers of 2") pick powers "$2" 1 && np=$picked ;;
    "1 or even") pick even "$2" 1 && np=$picked ;;
    *) pick any "$2" 1 && np=$picked ;;
    esac
    [ "$1$np" != "2 or more1" ] || np=2
    [ "$1" != "3 or more" ] || np=$((np < 3 ? 3 : np))
}

# All algorithms: collective, algorithm, reduces?, counted?, what ranks it takes.
catalogue() {
    "$CCTEST" list --json - | python3 -c '
import json, sys
for c in json.load(sys.stdin)["collectives"]:
    for a in c["algorithms"]:
        print(c["name"], a["name"], "reduces" if c["reduces"] and c["name"] != "barrier" else "-",
              "counted" if c["counted"] else "-", a["ranks"])'
}

# One line a run, in words of the command line.
list_runs() {
    local line=0 turn step=0 words np groups name
    while read -r collective algorithm reduces counted takes; do
        turn=$((line++ * 5))
        for transport in shm tcp; do
            for _ in 1 2 3 4 5 6; do
                ranks_of "$takes" $((turn++))
                options_of $((step++)) "$reduces" "$counted" "$transport" "$np"
                name=$algorithm
                [[ $groups != [0-9]* ]] || name=$algorithm:groups=$groups groups=""
                echo "$collective -a $name -x $transport --np $np $groups$words"
            done
        done
        ranks_of "$takes" $((turn++))
        [[ $groups != [0-9]* ]] || algorithm=$algorithm:groups=$groups groups=""
        echo "$collective -a $algorithm -b 4000 -e 20000 -i 16000 --np $np $groups --ranks-as threads --channels 2"
    done < <(catalogue)
    # Ranks beyond the cores, options of algorithms, and compositions.
    echo "allreduce -a ring --np 32 -b 4000 -e 4000"
    echo "alltoall -a bruck:radix=3 --np 32 -b 4000 -e 4000 -x tcp"
    echo "alltoall -a bruck:radix=5 --np 13 -b 40000 -e 40000 --channels 2"
    echo "alltoall -a fullmesh:concurrency=4 --np 9 -b 40000 -e 40000"
    echo "alltoall -a scattered:concurrency=3 --np 8 -b 40000 -e 40000"
    echo "barrier -a dissemination:radix=4 --np 11"
    echo "allreduce -a hier:intra=mesh:inter=nhr --np 16 --shape 4x4 -b 40000 -e 40000"
    echo "allreduce -a hier-leader:leader=diagonal:inter=ring-bidir --np 16 --shape 4x4 -b 40000 -e 40000"
    echo "allreduce -a ahc:intra=nb:inter=nhr:groups=2+5+3 --np 10 -b 40000 -e 40000"
    echo "allgather -a hier:inter=bruck:inter.radix=3:first=inter --np 9 --shape 3x3 -b 40000 -e 40000"
    echo "alltoall -a all --np 6 -b 1000 -e 9000"
    echo "allreduce -x shm,tcp --np 3 -b 4000 -e 4000"
}

# Values of options that a collective is never run with over a transport: there must be none. (Barriers have no data.)
list_gaps() {
    printf '%s\n' "${sizes[@]}" "${ways[@]}" "${memories[@]/#/-m }" "${chunks[@]:1}" "${channels[@]/#/--channels }" \
        "${starts[@]/#/--start }" --in-place "-r all" "-r 0" |
        awk 'NR == FNR { values[$0]; next }
            $4 == "-x" && $6 == "--np" {
                pairs[$1 " " $5]
                for (value in values)
                    if (index($0 " ", " " value " "))
                        seen[$1 " " $5, value]
            }
            END {
                for (pair in pairs)
                    for (value in values)
                        if (!((pair, value) in seen) && !(pair ~ / tcp$/ && value == "--copy ll"))
                            print "no run: " pair " " value
            }' - "$scratch/runs"
    for words in "${pairs[@]}"; do
        grep -q -- " $words " "$scratch/runs" || echo "no run: $words"
    done
}

# One run in a process of its own: prints nothing, or what is wrong.
run_one() {
    local words status told
    read -ra words <<<"$1"
    told=$(timeout -k 2 60 "$CCTEST" "${words[@]}" -n 2 -w 1 -c 2 --timeout 20 2>&1 </dev/null)
    status=$?
    if [ "$status" = 0 ]; then
        grep -q "^# status: ok" <<<"$told" || echo "no 'status: ok': $1"
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
list_gaps >>"$scratch/told"
head -n 60 "$scratch/told"
wrong=$(grep -Ec '^(exit status|no )' "$scratch/told")
echo "coverage: $(catalogue | wc -l) algorithms, shm and tcp, $runs runs, $wrong wrong"
exit $((wrong > 0))

#!/usr/bin/env bash
# Every collective x algorithm x transport x 1 to 7 ranks, with every element checked; hierarchical algorithms with 2 to 8
# ranks in all kinds of groups. Other options rotate, each at its own pace: every value runs with every algorithm, and
# every type and operator with every collective. A job runs several algorithms for the same ranks, because starting
# takes longer than running.
# shellcheck source=tests/system/lib.sh disable=SC2034,SC2317 # arrays are read by name; run_one is called by xargs
. "$(dirname -- "$0")/lib.sh"

# Every type and every operator.
kinds=("-d float -o sum" "-d double -o prod" "-d float16 -o avg" "-d bfloat16 -o sum" "-d float8_e4m3 -o max"
    "-d float8_e5m2 -o sum" "-d int8 -o land" "-d int16 -o avg" "-d int32 -o bxor" "-d int64 -o band" "-d uint8 -o lor"
    "-d uint16 -o prod" "-d uint32 -o lxor" "-d uint64 -o bor" "-d float_int32 -o maxloc" "-d int32_int32 -o minloc"
    "-d double_int64 -o minloc" "-d int64_int64 -o maxloc" "-d float -o min")
# Empty; less than an element a block; odd; does not divide; several slots; large enough for zcopy.
sizes=("-b 0 -e 0" "-b 1 -e 1" "-b 8 -e 40 -i 16" "-b 1000 -e 3001 -i 2001" "-b 32K -e 99999 -i 67231" "-b 300001 -e 300001"
    "-b 1M -e 1M")
ways=("--copy auto" "--copy bcopy" "--copy zcopy" "--copy ll")
memories=(host shared)
chunks=("" "--chunk 0" "--chunk 64" "--chunk 5000")
channels=(1 2 3 5)
starts=(barrier back-to-back)
places=("" "--in-place")
lengths=("--counts spread" "--counts zipf:1.2" "--counts FILE" "--counts hot:0.7" "--counts uniform" "--counts hot:1")
# Groups of 2 to 8 ranks.
equal=("--shape 2x1" "--shape 3x1" "--shape 2x2" "--shape 5x1" "--shape 3x2" "--shape 7x1" "--shape 2x4")
uneven=(1+1 1+2 3+1 2+3 1+2+3 4+3 1+5+2)

# pick NAME STEP PACE: sets $picked to an element of the array NAME, another one after PACE steps.
pick() {
    local -n list=$1
    picked=${list[$2 / $3 % ${#list[@]}]}
}

# "collective algorithms counted|- ranks", with a few comma-separated algorithms. An algorithm that refuses some ranks
# is alone in its line.
list_batches() {
    algorithms | sort -s -k 1,1 -k 6,6 | awk -v most=4 '
        function tell() { if (size) print collective, names, counted, ranks }
        $1 != collective || $6 != ranks || size == most || ranks !~ /^any$|groups$/ { tell(); size = 0; names = "" }
        { collective = $1; counted = $5; ranks = $6; names = names (size++ ? "," : "") $2 }
        END { tell() }'
}

# Sets $options for step $1 of a batch, $2 ranks and transport $3; $4: it has counts. Only shm has ll. A file of
# lengths determines the size.
options_of() {
    local step=$1 np=$2 transport=$3 counted=$4 words=""
    local roots=(0 all $((np - 1)) $((np / 2)))
    if [ "$counted" = counted ]; then
        pick lengths "$step" 1 && words+=" ${picked/FILE/$scratch/$collective.$np}"
    fi
    [[ $words = *"$scratch"* ]] || { pick sizes "$step" 1 && words+=" $picked"; }
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

# Writes files of lengths for the collective $1: a number for each rank, or for each pair (alltoallv); some are 0.
write_lengths() {
    local np row rows=1
    for np in 1 2 3 4 5 6 7 8; do
        [ "$1" != alltoallv ] || rows=$np
        for ((row = 0; row < rows; row++)); do
            seq -s ' ' -f '%.0f' $((row * 7)) 977 $((row * 7 + 977 * (np - 1)))
        done >"$scratch/$1.$np"
    done
}

# A run of hierarchical algorithms at step $1, for $3 ("groups", or "equal-groups") in groups of $2 ranks from the lists
# above: sets $np, $batch and $groups.
group_run() {
    local step=$1 index=$2
    np=$((index + 2)) groups="" batch=$names
    if [ "$3" = groups ] && [ $((step % 2)) = 0 ]; then
        batch=${names//,/:groups=${uneven[index]},}:groups=${uneven[index]}
    else
        groups=" ${equal[index]}"
    fi
}

# One line a run: the ranks that the algorithm accepts, then the command line.
list_runs() {
    local line=0 step words index turn times np groups batch names links
    links=$(transports)
    while read -r collective names counted ranks; do
        step=$((line++ * 5)) turn=0 times=1
        [ "$counted" = - ] || { times=2 && write_lengths "$collective"; }
        for transport in $links; do
            for ((index = 0; index < 7 * times; index++)); do
                groups="" batch=$names np=$(((index + 3 * turn) % 7 + 1))
                [[ $ranks = *groups ]] && group_run $step $((np - 1)) "$ranks"
                options_of $((step++)) $np "$transport" "$counted"
                echo "$ranks $collective -a $batch -x $transport --np $np$groups ${options[*]}"
            done
            turn=$((turn + 1))
        done
        # Many more ranks than cores (every third line), and ranks as threads.
        words="$collective -a $names -b 4000 -e 20000 -i 16000"
        [[ $ranks = *groups ]] && words+=" --shape 4x4"
        [ $((line % 3)) != 0 ] || echo "$ranks $words --np 16 --start back-to-back"
        echo "$ranks ${words/ 4x4/ 3x2} --np $([[ $ranks = *groups ]] && echo 6 || echo 5) --ranks-as threads --channels 2"
        [ "$collective" = barrier ] ||
            echo "$ranks ${words/ 4x4/ 2x2} --np $([[ $ranks = *groups ]] && echo 4 || echo 3) --ranks-as threads -x tcp -m shared"
    done < <(list_batches)
    while read -r words; do
        echo "any $words"
    done <<'RUNS'
allreduce -a ring --np 32 -b 4000 -e 4000
alltoall -a bruck:radix=3 --np 32 -b 4000 -e 4000 -x tcp
alltoall -a bruck:radix=5 --np 13 -b 40000 -e 40000 --channels 2
alltoall -a fullmesh:concurrency=4 --np 9 -b 40000 -e 40000
alltoall -a scattered:concurrency=3 --np 8 -b 40000 -e 40000
barrier -a dissemination:radix=4 --np 11
alltoall -a all --np 6 -b 1000 -e 9000
allreduce -a all --np 6 --shape 2x3 -b 1000 -e 9000
broadcast -a all --np 5 --shape 1x5 -b 1000 -e 9000 -r all
allreduce -x shm,tcp --np 3 -b 4000 -e 4000
allreduce -d float8_e4m3 --np 12 -b 4000 -e 4000
reduce_scatter -d float8_e5m2 -o avg --np 9 -b 40000 -e 40000
reduce -d float_int32 -o maxloc -r all --np 5 -b 40000 -e 40000
allreduce --np 6 --shape 3x2 -b 8 -e 1M -f 32
reduce -a auto,linear --np 5 -b 8 -e 1M -f 32 -r all
alltoallv -a auto --np 8 --shape 2x4 -b 0 -e 1M -i 300000
allgatherv -a auto --np 7 --counts zipf:2 -b 8 -e 4M -f 64
allreduce -a hier:intra=nhr:inter=recexch:inter.radix=3:groups=2 --np 12 -b 40000 -e 40000
allreduce -a ahc:inter=nb:groups=1+4+2 --np 7 -b 40000 -e 40000 --channels 2
RUNS
}

# Prints values of options that an algorithm never runs with (types and operators: a collective). There must be none.
list_gaps() {
    printf '%s\n' "${kinds[@]}" "${sizes[@]}" "${ways[@]}" "${memories[@]/#/-m }" "${chunks[@]:1}" \
        "${channels[@]/#/--channels }" "${starts[@]/#/--start }" --in-place "-r all" "-r 0" \
        "${lengths[@]/%FILE/$scratch}" |
        awk 'function runner(collective, name, value) {
                return value ~ "^-d " ? collective : collective " " name
            }
            NR == FNR { values[$0]; next }
            $5 == "-x" && $7 == "--np" {
                some = split($4, names, ",")
                for (i = 1; i <= some; i++) {
                    name = names[i]
                    sub(":.*", "", name)
                    counted[$2, name] = $0 ~ / --counts / || counted[$2, name]
                    for (value in values)
                        if (index($0 " ", " " value " ") || (value ~ "^--counts /" && index($0, " " value "/")))
                            seen[runner($2, name, value), value]
                }
            }
            END {
                for (pair in counted)
                    for (value in values) {
                        split(pair, part, SUBSEP)
                        subject = runner(part[1], part[2], value)
                        if (!((subject, value) in seen) && (value !~ "^--counts" || counted[pair]))
                            print "no run: " subject " " value
                    }
            }' - "$scratch/runs"
}

# Does an algorithm for the ranks $1 refuse $2 of them?
refuses_ranks() {
    case $1 in
    any | *groups) false ;;
    *-or-more) (($2 < ${1%%-*})) ;;
    powers-of-2) (($2 & ($2 - 1))) ;;
    even) (($2 % 2)) ;;
    1-and-even) (($2 > 1 && $2 % 2)) ;;
    not-2) (($2 == 2)) ;;
    *) echo "no run is planned for the ranks $1" ;;
    esac
}

# Runs one job: prints nothing, "refused" as expected, or what is wrong.
run_one() {
    local ranks words status output np
    read -r ranks words <<<"$1"
    np=${words#*--np }
    read -ra words <<<"$words"
    output=$(timeout -k 2 120 "$CCTEST" "${words[@]}" -n 2 -w 1 -c 2 --timeout 20 2>&1 </dev/null)
    status=$?
    if refuses_ranks "$ranks" "${np%% *}"; then
        if [ "$status" = 2 ]; then
            echo refused
        else
            echo "exit status $status, not 2: cctest ${words[*]}"
        fi
    elif [ "$status" = 0 ]; then
        grep -q "^# status: ok" <<<"$output" || echo "no 'status: ok': ${words[*]}"
    else
        echo "exit status $status: cctest ${words[*]}"
        grep -v "^#" <<<"$output" | tail -n 8 | sed 's/^/    /'
    fi
}
export -f refuses_ranks
export -f run_one
export CCTEST

list_runs >"$scratch/runs"
jobs=$(wc -l <"$scratch/runs")
runs=$(awk '{ runs += split($4, names, ",") } END { print runs }' "$scratch/runs")
# shellcheck disable=SC2016
xargs -P 3 -d '\n' -I RUN bash -c 'run_one "$1"' run RUN <"$scratch/runs" >"$scratch/results"
refused=$(grep -c '^refused$' "$scratch/results")
list_gaps >>"$scratch/results"
grep -v '^refused$' "$scratch/results" | head -n 60
wrong=$(grep -Ec '^(exit status|no )' "$scratch/results")
echo "coverage: $(algorithms | wc -l) algorithms, $(transports | wc -w) transports, $runs runs in $jobs jobs," \
    "$refused refused as expected, $wrong wrong"
exit $((wrong > 0))

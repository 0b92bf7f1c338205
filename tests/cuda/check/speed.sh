# shellcheck shell=bash
# shellcheck disable=SC2154 # run and lib.sh set $report, $root, $gpu, $doubt, $programs, $cctest and $scratch
# speed.sh - for run: bars of speed.

# best MEMORY ARGUMENT...: adds a measurement to the best one of this memory
best() {
    local now
    limited 40 "$cctest" "${@:2}" -m "$1" --json "$scratch/json" && now=$(busbw_of "$scratch/json") || return
    echo "$1 $now GB/s: cctest ${*:2}" >>"$report/bars.txt"
    [ "$(awk "BEGIN { print ($now > ${bests[$1]:-0}) }")" = 0 ] || bests[$1]=$now
}

# The memory of the GPU against that of the host, in turn, over tcp.
staged_bar() {
    local -A bests=()
    local turn turns=2 size=64M ratio=''
    [ -n "$gpu" ] || turns=1 size=1M
    for ((turn = 0; turn < turns; turn++)); do
        best host "$@" --ranks-as processes -x tcp -b $size -e $size -n 10 -w 3 -c 1
        best cuda "$@" --ranks-as processes -x tcp -b $size -e $size -n 10 -w 3 -c 1
    done
    local host=${bests[host]:-} cuda=${bests[cuda]:-}
    [ -z "$host" ] || [ -z "$cuda" ] || ratio=$(awk "BEGIN { printf \"%.2f\", $cuda / $host }")
    bar "$doubt" "$1 of $size over tcp, -m cuda (${cuda:-?} GB/s) beside -m host (${host:-?} GB/s)" "$ratio" '' least 0.85
}

# hooks_bar HOOK WHO WHAT: the slowest type, in ms. WHO: alone, or together with the other ranks
hooks_bar() {
    local slowest
    slowest=$(awk -v hook="$1" -v by="$2" '$1 == hook && $2 == by && $3 > most { most = $3; type = $8 }
        END { sub(",", "", type); if (type) print most " " type }' "$scratch/hooks")
    bar "$doubt" "$3 of ${slowest#* }" "${slowest% *}" " ms" most 100
}

# The memory of a GPU: what fills, makes and compares it, and how it is staged.
memory_bars() {
    local bytes=1G repeat=5 type
    [ -n "$gpu" ] || bytes=256K repeat=3
    staged_bar sendrecv --np 2
    staged_bar allreduce -a ring --np 4
    staged_bar alltoall -a pairwise --np 4
    for type in float int8 bfloat16; do
        limited 40 "$programs/hooks" cuda $bytes 8 $repeat $type || fault "hooks of $type: status $?" "$scratch/err"
        cat "$scratch/out" >>"$scratch/hooks"
    done
    cat "$scratch/hooks" >>"$report/bars.txt"
    hooks_bar fill alone "to fill $bytes"
    hooks_bar make alone "to make the inputs of one of 8 ranks, $bytes"
    hooks_bar compare alone "to check the sum of 8 ranks, $bytes"
    # The bar is for ranks with a GPU each. Eight on one GPU share what it can do.
    awk '$2 == "together" { print "    " $1 " of " $8 " by 8 ranks at once on one device: " $3 " ms" }' "$scratch/hooks" |
        tee -a "$report/report.txt"
}

# channels_row GPUS WHERE CHANNELS: busbw by size of two ranks on these GPUs, with so many channels
channels_row() {
    local range=(-b 64K -e 256M -f 16 -n 10)
    [ -n "$gpu" ] || range=(-b 64K -e 256K -f 4 -n 2 -w 1)
    limited 40 "$cctest" allreduce -a ring -m cuda --np 2 --ranks-as threads --device "$1" --executor device --channels "$3" \
        -c 1 "${range[@]}" --json "$scratch/json"
    case $? in
    0) ;;
    2) note "$2, --channels $3: $(grep -o 'the GPU of rank [^;]*' "$scratch/err" | head -1)" && return ;;
    *) fault "$2, --channels $3: no busbw" "$scratch/err" && return ;;
    esac
    cat "$scratch/out" >>"$report/bars.txt"
    note "$2, --channels $3, GB/s: $(python3 -c 'import json, sys
print(*("%.1f at %d KiB%s" % (r["busbw_GBps"], r["bytes"] >> 10, " by %d" % r["channels"] if sys.argv[2] == "auto" else "")
        for r in json.load(open(sys.argv[1]))["results"]), sep=", ")' "$scratch/json" "$3")"
}

# What the number that cctest chooses costs, beside others.
channels_rows() {
    local channels
    for channels in auto 1 8 32 64; do channels_row "$@" $channels; done
}

# rate_bars GPUS MEMORY LINK WHERE: busbw of two ranks on these GPUs (--device), whose memory reads and writes MEMORY GB/s
# together. LINK: GB/s of the copy engine between them; 0: it is one GPU.
rate_bars() {
    local each collective algorithm size sizes='256M 1G' turn turns=2 options=(-n 10 -w 3)
    if [ -z "$gpu" ]; then
        sizes='64K 256K' turns=1 options=(-n 3 -w 1)
    elif [ "$(free_memory)" -lt 24576 ]; then
        sizes=256M
        note "1G is left out: less than 24 GiB of a GPU's memory are free"
    fi
    for each in allreduce/ring allgather/ring alltoall/pairwise; do
        algorithm=${each#*/} collective=${each%/*}
        rm -f "$scratch"/rate.*
        for ((turn = 0; turn < turns; turn++)); do
            limited 40 "$cctest" "$collective" -a "$algorithm" -m cuda --np 2 --ranks-as threads --device "$1" --executor device \
                --copy zcopy -b "${sizes% *}" -e "${sizes#* }" -f 4 -c 1 "${options[@]}" \
                --json "$scratch/rate.$turn" || {
                fault "$4, $collective: status $?" "$scratch/err"
                rm -f "$scratch/rate.$turn"
            }
            cat "$scratch/out" >>"$report/bars.txt"
        done
        for size in $sizes; do rate_bar "$@"; done
    done
}

free_memory() { # MiB of the GPU that has least
    timeout 20 nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits 2>/dev/null | sort -n | head -1 | grep -E '^[0-9]+$' || echo 0
}

# rate_bar GPUS MEMORY LINK WHERE, of rate_bars' collective, algorithm and size: beside the lower of both limits
rate_bar() {
    local busbw='' memory='' link='' moved='' ratio='' limit=memory least=0.8
    "$cctest" plan "$collective" -a "$algorithm" --np 2 -b "$size" --json "$scratch/plan" >/dev/null 2>&1
    read -r busbw memory link moved < <("$root/tests/cuda/check/limit.py" "$scratch/plan" "$2" "$3" "$scratch"/rate.* 2>"$scratch/err")
    [ -n "$moved" ] || fault "$4, $collective of $size: no limit" "$scratch/err"
    if [ "$3" != 0 ] && [ -n "$link" ] && awk "BEGIN { exit !($link < $memory) }"; then
        limit=link least=0.85
    fi
    [ -z "$moved" ] || ratio=$(awk "BEGIN { printf \"%.3f\", $busbw / ${!limit} }")
    bar "$doubt" "$4, device executor, $collective of $size: ${busbw:-?} GB/s; memory allows ${memory:-?} (${moved:-?} bytes read and \
written)$([ "$3" = 0 ] || echo ", the copy engine ${link:-?}"); of the $limit's limit" "$ratio" '' least $least
}

# latency_bar RANKS MOST GPUS WHERE: p50 of an 8-byte allreduce, in us, by the best algorithm, protocol and launch; each is in bars.txt
latency_bar() {
    local variant best='' now way iterations=1000 algorithms=all
    [ -n "$gpu" ] || iterations=5 algorithms=recursive-doubling
    for variant in '--protocol ll' '--protocol ll --graph' '--protocol simple' '--protocol simple --graph'; do
        # shellcheck disable=SC2086
        limited 30 "$cctest" allreduce -a $algorithms -m cuda --np "$1" --ranks-as threads --device "$3" --executor device $variant \
            -b 8 -e 8 -n $iterations -w $((iterations / 5)) -c 1 --json "$scratch/json" || {
            fault "$4, 8 bytes, $1 ranks, $variant: status $?" "$scratch/err"
            continue
        }
        read -r now way < <(python3 -c '
import json, sys
line = min(json.load(open(sys.argv[1]))["results"], key=lambda r: r["time_us"]["p50"])
print(line["time_us"]["p50"], "%s; %s us by the clock of the device" % (line["algorithm"], line["device_time_us"]["p50"]))' "$scratch/json")
        note "$4, 8 bytes, $1 ranks, $variant: ${now:-?} us by ${way:-?}"
        cat "$scratch/out" >>"$report/bars.txt"
        [ -z "$now" ] || best=$(awk "BEGIN { least = $now < ${best:-1e9} ? $now : ${best:-1e9}; print least }")
    done
    bar "$doubt" "$4, device executor, p50 of an allreduce of 8 bytes by $1 ranks" "$best" " us" most "$2"
}

# The device executor beside what CUDA's runtime copies in the same run; between two GPUs, if two reach each other.
device_bars() {
    local bytes=1G rate pair='' between=''
    [ -n "$gpu" ] || bytes=256K
    limited 40 "$programs/copy" $bytes 5 || fault "copy: status $?" "$scratch/err"
    tee -a "$report/bars.txt" <"$scratch/out" >"$scratch/copies"
    rate=$(awk '$2 == $3 { print 2 * $4 }' "$scratch/copies")
    [ -n "$rate" ] || return
    note "a copy by the runtime within GPU 0: $rate GB/s read and written"
    channels_rows 0 "one GPU"
    rate_bars 0 "$rate" 0 "one GPU"
    latency_bar 2 15 0 "one GPU"
    latency_bar 8 25 0 "one GPU"
    read -r pair between < <(awk '$2 != $3 && (!between || $4 < between) { pair = $2 < $3 ? $2 "," $3 : $3 "," $2; between = $4 }
        END { if (pair) print pair, between }' "$scratch/copies")
    if [ -z "$pair" ]; then
        unproven=$((unproven + 1))
        note "unproven: the device executor between two GPUs, for here are no two with peer access"
        return
    fi
    note "a copy by the runtime between GPUs $pair: $between GB/s, in the slower direction"
    channels_rows "$pair" "two GPUs"
    rate_bars "$pair" "$(awk "BEGIN { print 2 * $rate }")" "$between" "two GPUs"
    latency_bar 2 15 "$pair" "two GPUs"
}

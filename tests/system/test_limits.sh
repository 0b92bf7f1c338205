#!/usr/bin/env bash
# tier: deep; load: wait
# Exhausted resources: one sentence, exit status 1 on all ranks, soon.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
small=(-b 1M -e 1M -n 1 -w 0 -c 1)
RUN_LIMIT=120

# limited LIMIT... -- REGEX ARGUMENT...: under these limits of ulimit, status 1 and a first line that matches.
limited() {
    local limits=()
    while [ "$1" != -- ]; do
        limits+=("$1")
        shift
    done
    local regex=$2
    shift 2
    # shellcheck disable=SC2016
    run bash -c 'n=$1; shift; ulimit "${@:1:n}" && shift "$n" && exec "$@"' limited ${#limits[@]} "${limits[@]}" \
        "$CCTEST" "$@"
    check_status 1 "${limits[*]}"
    head -n 1 "$err" >"$scratch/first"
    check_says "^cctest: .*$regex" "$scratch/first"
    check_silent 'killed by signal|Segmentation' "$err"
    [ -z "$private" ] || check "processes are left" test -z "$(strange_processes)"
}

# Memory: beyond the address space, the machine, the limit of the process.
for as in processes threads; do
    limited -c 0 -- "cannot allocate [0-9]+ MiB of host memory" allreduce --np 2 -b 64T -e 64T --ranks-as $as
done
free=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
for memory in host shared; do
    limited -c 0 -- "cannot allocate [0-9]+ MiB of $memory memory for 2 ranks .*are available; ask for smaller sizes" \
        allreduce --np 2 -m $memory -b "${free}M" -e "${free}M"
done
# The report names the cores all the same.
cctest allreduce --np 2 -b "${free}M" -e "${free}M" --json "$scratch/refused.json"
check_status 1 "buffers beyond the machine"
check_json "$scratch/refused.json" 'd["status"] == "error"' 'len(d["ranks"]) == 2' \
    'all(rank["core"] is not None for rank in d["ranks"])'
limited -v 400000 -- "cannot allocate [0-9]+ MiB of host memory: this process may have 400000 KiB of address .*\(ulimit -v\)" \
    allreduce --np 2 -b 256M -e 256M

limited -d 200000 -- "cannot allocate [0-9]+ MiB of host memory: this process may have 200000 KiB of data .*\(ulimit -d\)" \
    allreduce --np 2 -b 128M -e 128M --ranks-as processes

# Only the first set of buffers holds more than 4 MiB: longer checks have no others beside them, also where only the root has
# so much.
for collective in allreduce gather; do
    cctest "$collective" --np 2 -b 3M -e 6M -f 2 -n 1 -w 0 -c 3 --json "$scratch/sets.json"
    check_status 0 "checks of $collective with messages that are longer than the sets of buffers for several checks in a row"
    check_json "$scratch/sets.json" 'all(r["checked"] == 3 and r["wrong"] == 0 for r in d["results"])' 'len(d["results"]) == 2'
done
# The smallest stack: of a process, and of threads. The environment takes a part of it.
for as in processes threads; do
    for fault in "" corrupt:rank=1:iteration=1; do
        # shellcheck disable=SC2016
        run env -i bash -c 'ulimit -s 128 && exec "$@"' limited "$CCTEST" allreduce --np 2 -b 8K -e 8K --ranks-as $as \
            ${fault:+--inject $fault}
        check_status $((${#fault} > 0 ? 3 : 0)) "128 KiB of stack, $as $fault"
    done
done
run bash -c 'ulimit -s 127; exec "$@"' limited "$CCTEST" allreduce
check_status 2 "127 KiB of stack"
check_says "^cctest: a thread may have 127 KiB of stack, and cctest needs 128 KiB: raise that limit \(ulimit -s 8192\)$"
check "not one line on standard error" test "$(wc -l <"$err")" = 1

# A core that another program uses, too: a rank that waits sleeps, and does not yield again and again.
core=$(taskset -cp $$ | sed 's/.*[: ]\([0-9]*\).*/\1/')
timeout 90 taskset -c "$core" sh -c 'while :; do :; done' & # it ends, too, if this test is killed
hog=$!
start beside taskset -c "$core" "$CCTEST" allreduce --np 2 --inject stop:rank=1:iteration=1 --timeout 60
slept() { # of all main threads, how often; rank 1 is stopped
    local pid sum=0 times
    for pid in $(pgrep -P "$(pgrep -P "${pids[beside]}")"); do
        times=$(awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$pid/status") && sum=$((sum + times))
    done
    [ $sum -gt "$1" ]
}
check "a rank that waits beside a busy program does not sleep" await 55 slept 600
kill $hog "${pids[beside]}"
wait $hog "${pids[beside]}"

# Shared memory: the limit of file sizes applies to memfds.
limited -f 4000 -- "cannot allocate [0-9]+ MiB of shared memory: this process may have 4000 KiB in a file, .*\(ulimit -f\)" allreduce --np 2 -m shared -b 16M -e 16M
limited -f 100 -- "cannot allocate [0-9]+ KiB of shared memory for the shm transport: File too large" \
    allreduce --np 3 -x shm "${small[@]}"
run bash -c 'ulimit -f 100; exec "$@"' limited "$CCTEST" allreduce --np 3 -x tcp "${small[@]}"
check_status 0 "tcp needs no files"
cctest allreduce --np 2 -x shm --slots 65536 --slot-size 64M "${small[@]}"
check_status 2 "more slots than memory"
check_says "^cctest: .*of shared memory on a rank, which may have .*: give fewer --slots or a smaller --slot-size"

# Output beyond the limit of file sizes: a sentence on a pipe, which has no such limit.
too_large="a file may not be that large \(ulimit -f, or its file system\)"
for command in "list" "info" "help" "plan allreduce --np 8" "allreduce --np 2 -x tcp ${small[*]}"; do
    # shellcheck disable=SC2016,SC2086
    run bash -c '(ulimit -f 0 && exec "${@:2}" >"$1") 2>&1 | cat >&2; exit "${PIPESTATUS[0]}"' limited "$scratch/none" "$CCTEST" $command
    check_status 1 "$command, with a limit of file sizes"
    check_says "^cctest: .*cannot write .*: $too_large" "$err"
done
for option in "--json $scratch/large.json" "--csv $scratch/large.csv" "--json -" "--samples $scratch/large"; do
    # shellcheck disable=SC2016,SC2086
    run bash -c '(ulimit -f 0 && exec "$@" | cat) 2>&1 | cat >&2; exit "${PIPESTATUS[0]}"' limited "$CCTEST" allreduce --np 2 -x tcp "${small[@]}" $option
    check_says "^cctest: .*(cannot write .*: $too_large|cannot be read, .*ulimit -f)" "$err"
done

# Memory left by control groups: fake files, which need no privileges.
if [ -n "$private" ]; then
    # shellcheck disable=SC2016
    grouped=(unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup &&
        group=/sys/fs/cgroup$(sed -n "s,^0::,,p" /proc/self/cgroup) && mkdir -p "$group" && cd "$group" &&
        echo $(($0 + 100 << 20)) >memory.max && echo $((100 << 20)) >memory.current || exit
        ! grep -q ":memory:" /proc/self/cgroup || { # version 1 counts memory here
            group=/sys/fs/cgroup/memory$(sed -n "s,^[0-9]*:memory:,,p" /proc/self/cgroup) && mkdir -p "$group" && cd "$group" &&
            echo $(($0 + 100 << 20)) >memory.limit_in_bytes && echo $((100 << 20)) >memory.usage_in_bytes || exit; }
        exec "$@"')
    # 100 MiB for buffers: two ranks with 64 in all fit; four, with 32 each, do not.
    buffers=(-a linear -b 16M -e 16M -n 1 -w 0 -c 1 -x tcp)
    run "${grouped[@]}" 100 "$CCTEST" alltoall "${buffers[@]}" --np 2
    check_status 0 "two ranks in 100 MiB"
    for as in processes threads; do
        run "${grouped[@]}" 100 "$CCTEST" alltoall "${buffers[@]}" --np 4 --ranks-as $as
        check_status 1 "four ranks in 100 MiB"
        check_says "^cctest: .*cannot allocate 1[34][0-9] MiB of host memory for 4 ranks on this machine in the control group /.*,\
 whose limit is 200 MiB: 100 MiB are available; ask for smaller sizes \(-e\) or run fewer ranks on it, or raise the limit of\
 that group \(memory\.(max|limit_in_bytes)\)"
        check "not one line on standard error" test "$(wc -l <"$err")" = 1
    done
    # Rings take memory of the host: 8 MiB of each rank, if its link does not reach that of its GPU.
    over_cuda=$repository/build/tests/cuda/cctest
    rings=(env CUDA_STANDIN=threads=1 "$over_cuda" allreduce -a ring -m cuda -b 64K -e 64K -n 1 -w 0 -c 1 --np 2)
    if [[ $CCTEST != */build-*/cctest && -x $over_cuda ]]; then
        for as in processes threads; do
            run "${grouped[@]}" 22 "${rings[@]}" -x tcp --ranks-as $as
            check_status 0 "rings of two ranks in 22 MiB"
            run "${grouped[@]}" 10 "${rings[@]}" -x tcp --ranks-as $as
            check_status 1 "rings of two ranks in 10 MiB"
            check_says "^cctest: .*cannot allocate 16 MiB of host memory for the rings of 2 ranks on this machine in .*: 10 MiB are available; name transports that reach the buffers \(-x\) or run fewer ranks on it"
            run "${grouped[@]}" 10 "${rings[@]}" -x cuda --ranks-as $as
            check_status 0 "no rings in 10 MiB"
        done
    fi
    free_port
    for rank in 0 1 2 3; do
        CCTEST_SECRET=$long_secret start "own$rank" "${grouped[@]}" 100 "$CCTEST" alltoall "${buffers[@]}" \
            --rendezvous "127.0.0.1:$port" --rank $rank --world 4
    done
    for rank in 0 1 2 3; do ended "own$rank" 0; done # ranks in different groups do not share a limit
    out=$scratch/out err=$scratch/err
    slots=(allreduce --np 2 -x shm "${small[@]}" --slots 16 --slot-size 4M)
    run "${grouped[@]}" 400 "$CCTEST" "${slots[@]}"
    check_status 2 "more slots than the control group has left"
    check_says "would take 6[0-9] MiB of shared memory on a rank, which may have 50 MiB \(1/4 of what is available"
    cctest "${slots[@]}"
    check_status 0 "the machine has more"
    channels=(alltoall --np 8 -b 4K -e 4K -n 1 -w 0 -c 1)
    run "${grouped[@]}" 12 "$CCTEST" "${channels[@]}" -x shm --channels 64
    check_status 1 "more channels than the control group has memory for"
    check_says "^cctest: .*448 channels would take at least [67][0-9]{2} KiB of shared memory on a rank, which may have\
 384 KiB \(1/4 of what is available for the 8 ranks here\): use fewer --channels or ranks, or .*-x tcp"
    for fewer in "-x shm --channels 8" "-x tcp --channels 4"; do
        # shellcheck disable=SC2086
        run "${grouped[@]}" 12 "$CCTEST" "${channels[@]}" $fewer
        check_status 0 "with little memory, $fewer"
    done
    # `info` shows the least limit of the group of the process and of its ancestors.
    limit=memory.max
    groups_are() { # groups_are TEXT LINE-OF-/proc/self/cgroup [GROUP LIMIT]...
        # shellcheck disable=SC2016
        limit=$limit run unshare --mount bash -c 'mount -t tmpfs none /sys/fs/cgroup && printf "%b" "$2" >/sys/fs/cgroup/mine &&
            mount --bind /sys/fs/cgroup/mine /proc/$$/cgroup && cctest=$1 && shift 2 || exit
            for (( ; $#; )); do mkdir -p "/sys/fs/cgroup$1" && echo "$2" >"/sys/fs/cgroup$1/$limit"; shift 2; done
            exec "$cctest" info' groups "$CCTEST" "$2" "${@:3}"
        check_status 0 "info, groups $2"
        check_says "^  memory of the cgroup +$1 +bytes" "$out"
    }
    groups_are 4096 '0::/a/b\n' /a 4096 /a/b 8192 "" 16384
    groups_are 8192 '1:name=systemd:/\n0::/a/b\n' /a max /a/b 8192
    groups_are 4096 '0::/a/b\n' /a max /a/b max "" 4096 # in a container
    groups_are 4096 '0::/\n' "" 4096
    groups_are none '0::/a\n' /a max
    groups_are none '0::/\n'
    groups_are unknown '4:memory:/a\n0::/\n' /a 4096
    groups_are unknown '4:cpu,memory:/a\n'
    limit=memory.limit_in_bytes # of version 1, whose "no limit" is a number
    groups_are 4096 '5:cpu:/\n4:memory:/a/b\n0::/\n' /memory/a 4096 /memory/a/b 8192 /memory 9223372036854771712
    groups_are 8192 '0::/\n4:memory:/a/b\n' /memory/a 9223372036854771712 /memory/a/b 8192
    groups_are 4096 '4:memory:/docker/b\n' /memory 4096 # in a container
    groups_are none '4:memory:/a\n0::/\n' /memory/a 9223372036854771712
else
    echo "not tested: memory control groups that say so (no namespaces here)"
fi

# File descriptors: too few are reported before anything starts; with the number in the message it works.
few=0
for descriptors in 8 12 16 20 24 27 28 32; do
    for links in shm tcp auto; do
        if [ "$few" = 0 ] || [ $descriptors -lt "$few" ]; then
            run bash -c 'ulimit -n "$1"; exec "${@:2}"' limited $descriptors \
                "$CCTEST" allreduce --np 6 -x $links "${small[@]}" --timeout 20
            check_status 1 "$descriptors descriptors, $links"
            check_says "^cctest: 6 ranks need at least [0-9]+ open files, but only $descriptors are .*ulimit -n"
            check "not one line on standard error" test "$(wc -l <"$err")" = 1
            few=$(sed -n 's/.*need at least \([0-9]*\) open.*/\1/p' "$err")
        else
            run bash -c 'ulimit -n "$1"; exec "${@:2}"' limited $descriptors \
                "$CCTEST" allreduce --np 6 -x $links "${small[@]}" --timeout 20
            check_status 0 "$descriptors descriptors, $links"
        fi
    done
done
run bash -c 'ulimit -n 64; exec "$@"' limited "$CCTEST" allreduce --np 6 -x tcp "${small[@]}"
check_status 0 "64 descriptors are enough"

# Processes and threads, which are counted for each user. No other process runs as this user.
eight=(allreduce --np 8 "${small[@]}" --timeout 20)
another_user
if [ "$(id -u)" = 0 ] && "${stranger[@]}" true 2>/dev/null; then
    chmod 755 "$scratch"
    cp "$CCTEST" "$scratch/cctest"
    for as in threads processes; do
        for most in 1 4 9 12 16; do
            # shellcheck disable=SC2016
            run "${stranger[@]}" bash -c 'ulimit -u "$1"; exec "${@:2}"' limited $most \
                "$scratch/cctest" "${eight[@]}" --ranks-as $as
            check_status 1 "$most processes and threads, $as"
            check_says "^cctest: .*could not start .*: Resource temporarily unavailable; start fewer ranks, or raise .*ulimit -u"
            check_silent "interrupted|did not join|not be reached"
            [ $as = processes ] || check "not one line on standard error" test "$(wc -l <"$err")" = 1
        done
    done
    run "${stranger[@]}" bash -c 'ulimit -u 17; exec "$@"' limited "$scratch/cctest" "${eight[@]}"
    check_status 0 "each rank has two threads, and they a supervisor"
else
    echo "not tested: too few processes (no other user here)"
fi

# A real memory control group, of version 2 or 1.
groups=/sys/fs/cgroup limit=memory.max
[ ! -d /sys/fs/cgroup/memory ] || groups=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
group=$(mktemp -d $groups/cctest-XXXXXX 2>/dev/null)
trap 'case $BASHPID in $$) [ -z "$group" ] || rmdir "$group"; rm -rf -- "$scratch" ;; esac' EXIT
in_group() { # in_group MIB COMMAND...
    echo "$1M" >"$group/$limit"
    # shellcheck disable=SC2016
    run sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "${@:2}"
}
if [ "$group" ] && { echo 200M >"$group/$limit"; } 2>/dev/null; then
    in_group 200 "$CCTEST" allreduce --np 2 -m shared -b 128M -e 128M
    check_status 1 "control group"
    check_says "cannot allocate [0-9]+ MiB of shared memory for 2 ranks on .*control group /.*, whose limit is 200 MiB: 1[0-9]+ MiB are available"
    # A small group has room for a small job, also if files that it has written fill it.
    for job in "--np 2 -b 8 -e 64K -f 16" "--np 8 -b 8 -e 8" "--np 8 -b 8 -e 8 --ranks-as threads"; do
        # shellcheck disable=SC2016,SC2086
        in_group 100 sh -c 'dd if=/dev/zero of="$0" bs=1M count=120 conv=fsync 2>/dev/null && exec "$@"' "$scratch/file" \
            "$CCTEST" allreduce $job -n 10
        check_status 0 "$job in 100 MiB"
    done
    # The samples of all ranks count.
    in_group 200 "$CCTEST" allreduce --np 2 -b 8 -e 8 -c 0 -n 4000000
    check_status 1 "more samples than the control group has memory for"
    check_says "^cctest: .*cannot allocate 3[0-9]{2} MiB of host memory for the samples of 2 ranks on .*: 19[0-9] MiB are available; ask for fewer iterations \(-n\) or run fewer ranks on it, or raise the limit"
    in_group 150 "$CCTEST" sendrecv --np 1 -b 8 -e 8 -c 0 -n 4000000
    check_status 1 "more samples of one rank than the control group has memory for"
    in_group 90 "$CCTEST" allreduce --np 2 -b 8 -e 8 -c 0 -n 1000000 --samples "$scratch/samples"
    check_status 1 "the samples of all ranks at rank 0"
    in_group 90 "$CCTEST" allreduce --np 2 -b 8 -e 8 -c 0 -n 1000000 --start back-to-back
    check_status 0 "as many samples as the control group has memory for"
    in_group 2 "$CCTEST" allreduce --np 2 -b 8 -e 8
    check_status 1 "a control group for not even the ranks"
    check_says "cannot allocate [1-9] MiB of host memory for .*2 ranks on .*, whose limit is 2 MiB: [01] MiB are available"
else
    echo "not tested: a memory control group (none can be made here)"
fi

finish

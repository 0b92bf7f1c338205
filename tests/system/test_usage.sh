#!/usr/bin/env bash
# tier: check; load: wait
# Bad input: exit status 2, one sentence, and nothing was started.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"

# The number of processes and threads that this private machine has started so far: the pid of the last one.
born() { read -r _ _ _ _ last_born _ </proc/loadavg; }

born && before=$last_born
run true
born && own=$((last_born - before)) # processes of `run` itself

# refused REGEX ARGUMENT...: status 2, one sentence that matches, no other output, no child.
refused() {
    local regex=$1 before
    shift
    born && before=$last_born
    cctest "$@"
    born
    [ -z "$private" ] || check "something was started" test $((last_born - before)) = "$own"
    check_status 2
    check "standard output is not empty" test ! -s "$out"
    check "not one line on standard error" test "$(wc -l <"$err")" = 1
    check_says "^cctest: .*$regex"
}

# Names: the message lists the valid ones and the nearest.
refused "'altoall' is not a .*did you mean 'alltoall'\?$" altoall
refused "'xyzzyq' is not a .*: valid are " xyzzyq
refused "did you mean 'pairwise'\?$" alltoall -a pairwse
refused "'pairwise' is not an algorithm for allreduce \(.cctest list pairwise. says which have it\): valid are linear" allreduce -a pairwise
refused "did you mean 'radix'\?" alltoall -a bruck:radx=4
refused "'x' is not .*option of algorithm bruck" alltoall -a bruck:x=4
refused "has no option 'radix'" alltoall -a pairwise:radix=4
refused "is not KEY=VALUE" alltoall -a bruck:radix
refused "radix '1' of algorithm bruck is too small: give a whole number from 2" alltoall -a bruck:radix=1
refused "radix 'x' .*is not a number" alltoall -a bruck:radix=x
refused "option radix of algorithm bruck is given twice" alltoall -a bruck:radix=4:radix=5
refused "is not an algorithm" alltoall -a ""
refused "'ri.x1b\[31mng.x0a.x7f' is not an algorithm" allreduce -a $'ri\x1b[31mng\n\x7f' # a terminal obeys none of them
refused "is not an algorithm" alltoall -a pairwise,
refused "'smh' is not a transport: did you mean 'shm'\? valid are auto, cuda, shm, verbs, tcp" alltoall -x smh
refused "names a transport twice" alltoall -x tcp,tcp
# Of verbs too, on a machine without RDMA.
refused "gid '-1' of transport verbs is negative: give a whole number" sendrecv -x verbs:gid=-1
refused "'smh' is not a transport" sendrecv -x verbs,smh
refused "transport tcp has no option 'gid'" sendrecv -x verbs,tcp:gid=1
refused "--min-bytes 8K is more than --max-bytes 4K" sendrecv -x verbs -b 8K -e 4K
refused "transport verbs: nic= has '' where a NIC port stands: give NAME" sendrecv -x verbs:nic=a+
for nic in a:0 a:1:1; do
    refused "transport verbs: nic= has '$nic' where a NIC port stands" sendrecv -x "verbs:nic=$nic+b"
done
for nics in a:1+b+a:1 a+b+a:1 a:01+b+a:1; do
    refused "transport verbs: nic= names NIC a:1 twice: name it once" sendrecv -x "verbs:nic=$nics"
done
refused "transport verbs: nic= names NIC a twice: name it once" sendrecv -x verbs:nic=a:2+a
refused "transport verbs: nic= names more than 8 NIC ports: name fewer" sendrecv -x verbs:nic=1+2+3+4+5+6+7+8+9
refused "transport verbs: timeout=31 and retry=6 let .*: choose smaller ones, or a longer --timeout" sendrecv -x verbs:timeout=31
refused "did you mean 'shared'\? valid are host, shared" alltoall -m share
refused "'gpu' is not a kind of memory: the memory of GPUs is -m cuda" alltoall -m gpu
refused "'Device' is not a kind of memory: the memory of GPUs is -m cuda" alltoall -m Device
refused "did you mean 'float'\?$" alltoall -d flaot
refused "did you mean 'sum'\?$" allreduce -o summ
refused "'plus' is not an operation: valid are sum, prod, max, min, avg, land, .*minloc" allreduce -o plus
refused "--op bor does not go with --datatype float: bitwise operators need integers: choose " allreduce -o bor
refused "--op lxor does not go with --datatype bfloat16: logical operators need integers: choose " reduce -d bf16 -o lxor
refused "--op maxloc .* --datatype int32: it needs pairs .*: choose --datatype float_int32" allreduce -d int -o maxloc
refused "--op sum .* --datatype int64_int64: .*: choose --op maxloc or minloc" reduce_scatter -d 2long
refused "--op band does not go with --datatype float16" plan allreduce -d half -o band
refused "--op avg of int8 over 128 ranks is always 0: choose a wider" allreduce -d int8 -o avg --np 128
refused "did you mean 'zcopy'\?" alltoall --copy zcop
refused "did you mean 'barrier'\?" alltoall --start barier
refused "did you mean 'threads'\?" alltoall --ranks-as thread
refused "no option --algoritm: did you mean --algorithm\?" alltoall --algoritm ring
refused "no option -q" alltoall -q
refused "no option -q" alltoall -vq
refused "--in-place takes no value" alltoall --in-place=1
refused "--ra may be --rank" alltoall --ra 1
refused "--np needs a value" alltoall --np
refused "one word too many" alltoall pairwise
refused "one word too many: to choose an algorithm write -a pairwise" alltoall pairwise
refused "one word too many" alltoall a b c d e f
refused "-np is -n with the value 'p': .*write --np N" alltoall -np 4
refused "-np4 is -n with the value 'p4': .*write --np N" -np4 alltoall
run "$CCTEST"
check_status 2
check_says "^cctest: which collective\?" "$err"
check "cctest alone says how it is used: $(wc -l <"$out") lines" test "$(wc -l <"$out")" -ge 20 -a "$(wc -l <"$out")" -le 28
check "no line wraps" test "$(wc -L <"$out")" -le 80
check "as does --help" cmp -s "$out" <("$CCTEST" --help)
refused "which collective\?" plan
refused "--step-bytes 1 makes 1073741824 sizes from 1 to 1G: a sweep has 10000000 at most" allreduce --np 2 -i 1 -b 1 -e 1G -n 1
run timeout 20 "$CCTEST" fit --np 2 -o "$scratch/none/model" # it measures for longer
check_status 2
check_says "cannot write $scratch/none/model: No such file"
refused "is not a collective" plan altoall
run timeout 20 "$CCTEST" plan allreduce --np 4 --svg "$scratch/none/picture" # before the steps are printed
check_status 1
check_says "cannot write $scratch/none/picture: No such file"
check_silent "rank 0" "$out"
refused "'altoall' is not a collective, nor an algorithm of one: did you mean 'alltoall'\?" list altoall
refused "'rabenseifnr' is not a collective, nor an algorithm of one: did you mean 'rabenseifner'\?$" list rabenseifnr
refused "'bruk' is not a collective: " list allreduce,bruk
refused "'altoall' is not a collective: did you mean 'alltoall'\?" help allreduce,altoall
topologies=$(timeout 60 "$CCTEST" help topology)
check "cctest help topology names families and their keys" grep -qE '^ +:rate= ' <<<"$topologies"
refused "'versoin' is no command, .* or other word of cctest; did you mean 'version', [^,]*, [^,]*\?$" help versoin
refused "did you mean 'allreduce', 'reduce'\?$" help allreduc
refused "other word of cctest: see .cctest help.$" help xyzzyxyzzy
run "$CCTEST" help rank # the option and the term, and not the variable RANK of torchrun
check_silent torchrun "$out"
for words in np -n --min-bytes tcp fp32 maxloc torus slow 77 CCTEST_NP CCTEST_SECRET ring run reduce shm suspect srun HCCL p99; do
    run "$CCTEST" help "$words"
    check_status 0
    check "cctest help $words says nothing" test -s "$out"
    check "cctest help $words wraps" test "$(wc -L <"$out")" -le 120
done
check "help np has its form of plan" grep -q '^ *plan: *number of ranks (4)$' <("$CCTEST" help np)
check "help plan has it, too" grep -q '^ *--np N  *number of ranks (4)$' <("$CCTEST" help plan)
refused "'osu_latency' is a program of OSU: write cctest sendrecv -a pingpong" help osu_latency
refused "'list' is one word too many: write cctest version$" version list
refused "has no option --np" list --np 4
refused "has no option --min-bytes" info -b 4
refused "has no option --iterations" plan alltoall -n 4

# Options of algorithms: numbers, words, parts with options of their own, groups.
refused "radix '1' of algorithm knomial is too small: give a whole number from 2 to" broadcast -a knomial:radix=1
refused "radix '65537' of algorithm knomial is too large" broadcast -a knomial:radix=65537
refused "'frist' is not a value of leader of algorithm hier-leader: did you mean 'first'\?" allreduce -a hier-leader:leader=frist
refused "'mish' is not an algorithm for intra of algorithm hier: did you mean 'mesh'\? valid are .*mesh" allreduce -a hier:intra=mish
refused "'oneshot' is not an algorithm for intra of algorithm hier: valid are" allreduce -a hier:intra=oneshot
refused "'hier-leader' is not an algorithm for inter of algorithm hier: valid are .*recexch" allreduce -a hier:inter=hier-leader
refused "'radix' is not an option of algorithm ring: valid are order" allreduce -a hier:inter.radix=4
refused "algorithm mesh has no option 'radix'" allreduce -a hier:inter=mesh:inter.radix=4
refused "'x.radix' is not an option of algorithm hier: valid are intra, inter, groups" allreduce -a hier:x.radix=4
refused "'groups.radix' is not an option of algorithm hier" allreduce -a hier:groups.radix=4
refused "radix '1' of algorithm recexch is too small" allreduce -a hier:inter.radix=1:inter=recexch
refused "option inter.radix of algorithm hier is given twice" allreduce -a hier:inter=recexch:inter.radix=2:inter.radix=4
refused "option inter of algorithm hier is given twice" allreduce -a hier:inter=ring:inter=recexch
refused "'radix' behind algorithm knomial is not KEY=VALUE: write knomial:radix=VALUE" broadcast -a knomial:radix
refused "'groups' behind algorithm hier is not KEY=VALUE: write hier:groups=VALUE" allreduce -a hier:groups
refused "'' behind algorithm knomial is not KEY=VALUE" broadcast -a knomial:
refused "groups=0 of algorithm hier: '0' is too small: give ranks per group" allreduce -a hier:groups=0 --np 4
refused "groups=2\+ of algorithm hier: '' is empty" allreduce -a hier:groups=2+ --np 4
refused "groups=2x2 of algorithm hier: '2x2' has trailing junk" allreduce -a hier:groups=2x2 --np 4
refused "4 ranks cannot be divided into groups of 3: list the sizes, as in 2\+3" allreduce -a hier:groups=3 --np 4
refused "groups of 1\+2 ranks add up to 3, but there are 4 ranks: change the sizes" allreduce -a hier:groups=1+2 --np 4
refused "hier:groups=1\+3: it needs groups of one size" allreduce -a hier:groups=1+3 --np 4
refused "hier: it needs several groups of ranks, and all 4 are in one: give --shape NODESxRANKS" allreduce -a hier --np 4
refused "hier: it needs several groups" allreduce -a hier --shape 1x4 --np 4
refused "hier: it needs several groups" plan allreduce -a hier --np 4
refused "hier:inter=neighbor: inter=neighbor cannot serve a group of 3: " allgather -a hier:inter=neighbor --np 6 --shape 3x2
refused "'auto:x=1': auto takes no options" allreduce -a auto:x=1
refused "'all' .*write it alone" allreduce -a ring,all
refused "'all' .*without options" allreduce -a all:radix=2

# --shape.
refused "--shape 2x3 is for 6 ranks, not 4: let them agree" allreduce --shape 2x3 --np 4
refused "--shape 65536x65536 is for 4294967296 ranks, not 4" allreduce --shape 65536x65536 --np 4
refused "--shape 2x3 is for 6 ranks, not 4" plan allreduce --shape 2x3
for shape in 4 2x 2y2 0x4 2x-2 2x2x2 65537x1 ""; do
    refused "--shape '$shape' is not NODESxRANKS: give both from 1 to 65536, such as 2x4" allreduce --shape "$shape" --np 4
done

# --counts: words, and files by name and line.
refused "--counts 'zipf' is neither a distribution nor a file" alltoallv --counts zipf
refused "--counts '' is neither a distribution nor a file" alltoallv --counts ""
refused "--counts zipf:11 is not a number from 0 to 10" alltoallv --counts zipf:11
refused "--counts hot:1.5 is not a number from 0 to 1" gatherv --counts hot:1.5
refused "cannot read $scratch: Is a directory" alltoallv --counts "$scratch"
refused "allreduce has blocks of one length: leave --counts out$" allreduce --counts uniform
refused "alltoall has blocks of one length: leave --counts out, or run alltoallv" alltoall --counts uniform
refused "alltoall has blocks of one length" plan alltoall --counts uniform
counts=$scratch/counts
refused_counts() { # refused_counts REGEX TEXT COLLECTIVE: refuses a file with this text, for two ranks
    printf %b "$2" >"$counts"
    refused "$counts.*$1" "$3" --counts "$counts" --np 2
    refused "$counts.*$1" plan "$3" --counts "$counts" --np 2
}
refused_counts "holds no numbers: give one for each rank" "# none\n" alltoallv
refused_counts ":2: '-4' is negative" "1 2\n3 -4\n" alltoallv
refused_counts ":3: 'x' is not a number" "1 2\n\n3 x\n" alltoallv
refused_counts ":1: '1.5' is not a number" "1.5 2\n" allgatherv
refused_counts ":1: '99999999999999999999' is too large" "1 99999999999999999999\n" gatherv
refused_counts ":2: it has 1 numbers, but earlier lines have 2" "1 2\n3\n" alltoallv
refused_counts "holds 2 lines of 3 numbers, but 2 ranks need as many lines" "1 2 3\n4 5 6\n" alltoallv
refused_counts "holds 1 line of 2 numbers, but 2 ranks need as many lines" "1 2\n" alltoallv
refused_counts "holds 1 line of 3 numbers, but 2 ranks need one number each" "1 2 3\n" scatterv
refused_counts "holds a zero byte" "1 2\\0 3\n" allgatherv
refused_counts "sum of the numbers of rank 0 is too large" "200000000000000000 200000000000000000\n1 1\n" alltoallv
refused_counts "sum of what rank 1 receives is too large" "1 200000000000000000\n1 200000000000000000\n" alltoallv
printf '1 2\n3 4\n' >"$counts"
refused "$counts sets the block lengths: leave --min-bytes and --max-bytes out" alltoallv --counts "$counts" -b 4 --np 2
refused "$counts sets the block lengths" alltoallv --counts "$counts" -e 4 --np 2
refused "$counts sets the block lengths" plan alltoallv --counts "$counts" -b 4 --np 2

# Counts from a FIFO: with a slow writer, without a writer, and (in the background) with an endless one.
mkfifo "$counts.fifo" "$counts.held"
pair=(allgatherv --np 2 -n 1 -w 0)
(sleep 2 && echo 1, && sleep 2 && echo 2) >"$counts.fifo" &
(sleep 0.3 && exec >"$counts.held" && echo 1 2 && exec sleep 100) &
holder=$!
RUN_LIMIT=45 start held "$CCTEST" "${pair[@]}" --counts "$counts.held"
cctest "${pair[@]}" --counts "$counts.fifo"
check_status 0 "counts from a FIFO"
cctest "${pair[@]}" --counts <(sleep 2 && echo 1 2)
check_status 0 "counts from a process"
RUN_LIMIT=60 cctest "${pair[@]}" --counts "$counts.fifo"
check_status 1 "counts from a FIFO without a writer"
check_says "^cctest: $counts.fifo is a FIFO without a writer: start its writer first$"

# Numbers and sizes, of each option that has one.
for option in -b -e; do
    refused "'-1' is negative: give bytes from" alltoall "$option" -1
    refused "'1X' has trailing junk" alltoall "$option" 1X
    refused "'0.3K' is not a whole number of bytes" alltoall "$option" 0.3K
    refused "'99999999999G' is too large" alltoall "$option" 99999999999G
    refused "'99999999999999999999999' is too large" alltoall "$option" 99999999999999999999999
    refused "'' is empty" alltoall "$option" ""
    refused "'K' is not" alltoall "$option" K
    refused "' 4' is not" alltoall "$option" " 4"
    refused "'\+4' is not" alltoall "$option" +4
    refused "'4 K' has" alltoall "$option" "4 K"
    refused "'0x10' has" alltoall "$option" 0x10
done
refused "--min-bytes 8K is more than --max-bytes 4K" alltoall -b 8K -e 4K
refused "--step-factor '0' is too small: give a whole number from 2" alltoall -f 0
refused "--step-factor '1' is too small" alltoall -f 1
refused "--step-factor '-2' is negative" alltoall -f -2
refused "--step-factor '1.5' has a fraction" alltoall -f 1.5
refused "--step-bytes '0' is too small" alltoall -i 0
refused "--step-bytes '-4' is negative" alltoall -i -4
refused "both set the next size" alltoall -f 2 -i 4
refused "--np '0' is too small" alltoall --np 0
refused "--np '-3' is negative" alltoall --np -3
refused "--np 4097 is too large: one machine starts 4096 ranks at most; .cctest plan. takes up to 65536" alltoall --np 4097
refused "--np 4097 is too large" info --np 4097
refused "--np '65537' is too large" plan alltoall --np 65537
refused "the JSON of 65536 ranks with about 262140 operations each takes [0-9]+ MiB .*--rank R" \
    plan allreduce -a ring --np 65536 --json "$scratch/huge"
refused "--np '2x' has trailing junk" alltoall --np 2x
refused "--root '-1' is negative" broadcast -r -1
refused "--root 'al' is not a number: .*'all'" broadcast -r al
refused "[Rr]oot 4.*4 ranks" broadcast -r 4 --np 4
refused "[Rr]oot 7.*2 ranks" broadcast -r 7 --np 2
for option in -n -w -c; do
    refused "'-1' is negative" alltoall "$option" -1
    refused "'many' is not a number" alltoall "$option" many
    refused "'10000001' is too large" alltoall "$option" 10000001
done
refused "leave nothing to do" alltoall -n 0 -c 0
refused "--seed '-1' is negative" alltoall --seed -1
refused "--seed '9223372036854775808' is too large" alltoall --seed 9223372036854775808
refused "--chunk '-1' is negative" alltoall --chunk -1
refused "--chunk '4Q' has trailing junk" alltoall --chunk 4Q
refused "--channels '0' is too small" alltoall --channels 0
refused "--channels '65' is too large" alltoall --channels 65
refused "--slots '0' is too small: give a whole number from 1" alltoall --slots 0
refused "--slots '1K' has trailing junk" alltoall --slots 1K
refused "--slot-size '8' is too small: give bytes from 64" alltoall --slot-size 8
refused "--slot-size '1G' is too large" alltoall --slot-size 1G
refused "--timeout '0' is too small: give a number above 0" alltoall --timeout 0
refused "--timeout 0.1 is too short: .* at least 0.2 seconds" alltoall --timeout 0.1
refused "--timeout '-1'" alltoall --timeout -1
refused "--timeout 'nan'" alltoall --timeout nan
refused "--timeout 'inf'" alltoall --timeout inf
refused "--timeout '5s' has trailing junk" alltoall --timeout 5s
refused "--min-busbw '0'" allreduce --min-busbw 0
refused "--min-busbw 'fast' is not a number" allreduce --min-busbw fast
refused "needs timed iterations" allreduce --min-busbw 1 -n 0
refused "barrier moves no data" barrier --min-busbw 1

# Options that exclude each other, and reasons of algorithms.
refused "pairwise-xor.*power of two.*6" alltoall -a pairwise-xor --np 6
refused "pairwise-xor.*power of two.*6" plan alltoall -a pairwise-xor --np 6
refused "concurrency" alltoall -a fullmesh:concurrency=3 --np 6
refused "--rank 4 .*4" plan alltoall --np 4 --rank 4
refused "--rendezvous.*--rank" alltoall --rendezvous localhost:7777 --world 2
refused "--rendezvous.*--world" alltoall --rendezvous localhost:7777 --rank 0
refused "--rank and --world.*--rendezvous" alltoall --rank 0 --world 2
refused "--rank 2 is not .*count from 0 to 1" alltoall --rendezvous localhost:7777 --rank 2 --world 2
refused "--world '0' is too small" alltoall --rendezvous localhost:7777 --rank 0 --world 0
refused "give one of them" alltoall --rendezvous localhost:7777 --rank 0 --world 2 --np 2
refused "'localhost' is not HOST:PORT" alltoall --rendezvous localhost --rank 0 --world 2
refused "no valid port" alltoall --rendezvous localhost:0 --rank 0 --world 2
refused "no valid port" alltoall --rendezvous localhost:65536 --rank 0 --world 2
refused "no valid port" alltoall --rendezvous localhost: --rank 0 --world 2
refused "IPv6|HOST:PORT" alltoall --rendezvous fe80::1:7777 --rank 0 --world 2
refused "threads" alltoall --rendezvous localhost:7777 --rank 0 --world 2 --ranks-as threads
refused "'-x' looks like an option" alltoall --json -x
refused "is empty" alltoall --json ""
refused "name the same file" alltoall --json "$scratch/a" --csv "$scratch/a"
refused "--csv and --samples name the same file" alltoall --csv "$scratch/a" --samples "$scratch/./a"
ln -s new "$scratch/link-new"
refused "name the same file" alltoall --csv "$scratch/new" --samples "$scratch/link-new"
cd "$scratch" || exit 1
refused "name the same file" alltoall --csv a --samples "$scratch/a"
cd - >/dev/null || exit 1
touch "$scratch/made"
ln -s made "$scratch/link-made"
ln "$scratch/made" "$scratch/hard-made"
refused "name the same file" alltoall --csv "$scratch/link-made" --samples "$scratch/made"
refused "name the same file" alltoall --csv "$scratch/hard-made" --json "$scratch/made"
mkdir -p "$scratch/words/-" # a folder of this name is not standard output
cd "$scratch/words" || exit 1
refused "cannot both go to standard output" alltoall --csv - --samples -
cctest allreduce --np 2 -b 8 -e 8 --split node --csv node # a word is no file, nor is a number
check_status 0
cctest allreduce --np 2 -b 8 -e 8 --split 2 --csv 2
check_status 0
cctest alltoallv --np 2 -b 8 -e 8 --counts zipf:1.2 --csv zipf:1.2
check_status 0
printf '1 1\n1 1\n' >./-/counts
cctest alltoallv --np 2 --counts ./-/counts --csv -
check_status 0
refused "which --counts reads" alltoallv --np 2 --counts ./-/counts --csv ./-/../-/counts
cctest report ./-/counts --json ./-/counts # which report does not have
check_status 2
check "report replaces what it reads" grep -qx '1 1' ./-/counts
CCTEST_TUNING=./-/counts cctest tune allreduce --np 2 --budget x --json ./-/counts
check_status 2
check "a refused tune replaces what a run reads" grep -qx '1 1' ./-/counts
cd - >/dev/null || exit 1
refused "cannot write $scratch/none/a: No such file" alltoall --csv "$scratch/none/a" --samples "$scratch/none/b"
refused "cannot write $scratch/none/a: No such file" alltoall --json "$scratch/none/a"
refused "cannot write $scratch/none/a: No such file" alltoall --csv "$scratch/none/a"
refused "cannot write $scratch: Is a directory" alltoall --json "$scratch"

# Variables of launchers accept as many ranks as --world.
for ranks in 65537 99999; do
    refused "'?$ranks'? .*65536" alltoall --rendezvous localhost:7777 --rank 0 --world $ranks
    WORLD_SIZE=$ranks RANK=0 MASTER_ADDR=localhost MASTER_PORT=7777 \
        refused "cctest cannot run a job of $ranks ranks: start at most 65536" alltoall
done

# --np under a launcher: the first of several processes warns; a single process does not.
split="started 4 processes, and --np 2 makes each of them a job of its own"
warned() { # warned TIMES VARIABLE=VALUE...
    run env "${@:2}" "$CCTEST" barrier --np 2 -n 1 -w 0
    check_status 0 "${*:2}"
    check "said $(grep -c "$split" "$err") times, expected $1" test "$(grep -c "$split" "$err")" = "$1"
    check "nothing else is said" test "$(wc -l <"$err")" = "$1"
}
step=(SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=n1)
warned 1 "${step[@]}" SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4
warned 0 "${step[@]}" SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4
warned 0 "${step[@]}" SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 # srun --pty
warned 0 SLURM_PROCID=0 SLURM_JOB_ID=7 SLURM_NTASKS=4        # a batch script
warned 0 "${step[@]}" SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1
warned 1 RANK=0 WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=29500

# --interface.
for interface in nope localhost 127.0.0.2 "[127.0.0.1]" "[::1"; do
    refused "no network device or address '.*' is up on this host: give --interface one of .*lo.*, or an address of one of them" \
        allreduce --interface "$interface"
done

# --inject.
refused "did you mean 'corrupt'\?" allreduce --inject corupt:rank=0:iteration=0
refused "needs two keys" allreduce --inject corrupt:rank=0
refused "'iteration=1' of --inject delay is not one of its keys" allreduce --inject delay:rank=0:iteration=1
refused "'rank=x' .*is not a number" allreduce --inject drop:rank=x:iteration=0
refused "'rank=-1' .*is negative" allreduce --inject drop:rank=-1:iteration=0
refused "of --inject drop is given twice" allreduce --inject drop:rank=1:rank=1:iteration=0
refused "--inject is given twice: .*commas" allreduce --inject delay:rank=0:us=1 --inject delay:rank=1:us=1
refused "use processes" allreduce --inject kill:rank=0:iteration=0 --ranks-as threads
refused "rank 4.*4 ranks" allreduce --np 4 --inject kill:rank=4:iteration=0
refused "" allreduce --inject ""

# Environment variables work like options, and messages name them.
# A variable that no option has is told once, and those of the secret, of another command or of `help` are not.
for command in "list" "allreduce --np 3 -b 8 -e 8 -n 1" "allreduce --np 3 -b 8 -e 8 -n 1 --ranks-as threads"; do
    # shellcheck disable=SC2086
    CCTEST_ITERATION=3 CCTEST_SECRET=$long_secret cctest $command
    check_status 0
    check_says '^cctest: CCTEST_ITERATION in the environment is ignored: no option has that name; did you mean that of --iterations\?$'
    check "not one line on standard error" test "$(wc -l <"$err")" = 1
    # shellcheck disable=SC2086
    CCTEST_ITERATIONS=3 CCTEST_VERSION=1 CCTEST_SECRET=$long_secret CCTEST_SECRET_FILE=/none CCTEST_NOTHING='' cctest $command
    check_status 0
    check "a variable that is known is told" test ! -s "$err"
done
export CCTEST_MIN_BYTES=1X
refused "CCTEST_MIN_BYTES='1X' has trailing junk" alltoall
unset CCTEST_MIN_BYTES
export CCTEST_MIN_BYTES=1M
refused "--min-bytes 1M is more than --max-bytes 1K: .*\(--min-bytes is set: CCTEST_MIN_BYTES='1M'\)$" alltoall -e 1K
unset CCTEST_MIN_BYTES
export CCTEST_IN_PLACE=maybe
refused "CCTEST_IN_PLACE='maybe' is neither" alltoall
unset CCTEST_IN_PLACE

# A usage error still writes the JSON.
cctest alltoall -b 1X --json "$scratch/refused.json"
check_status 2
check_json "$scratch/refused.json" 'd["status"] == "usage"' 'd["errors"][0]["message"].startswith("--min-bytes")'

# It replaces the results of an earlier run, wherever the mistake stands.
stale=$scratch/stale.json
replaced() { # replaced STATUS WORD MESSAGE COMMAND...
    echo '{"status": "ok"}' >"$stale"
    run "${@:4}"
    check_status "$1"
    check "not one line on standard error" test "$(wc -l <"$err")" = 1
    check_json "$stale" "d['status'] == '$2'" "'$3' in d['errors'][0]['message']"
}
replaced 2 usage "no option --bogus" "$CCTEST" allreduce --bogus --json "$stale"
replaced 2 usage "no option --bogus" "$CCTEST" allreduce --bogus --bugos -b 1X --json "$stale"
replaced 2 usage "no option -g" "$CCTEST" allreduce -g 8 --json "$stale"
replaced 2 usage "-np is -n" "$CCTEST" allreduce -np 4 --json "$stale"
replaced 2 usage "which collective?" "$CCTEST" --json "$stale"
replaced 2 usage "one word too many" "$CCTEST" allreduce a b c d --json "$stale"
replaced 2 usage "has no option --np" "$CCTEST" list --np 2 --json "$stale"
replaced 2 usage "is not an algorithm" "$CCTEST" list allreduce bruck --json "$stale"
replaced 2 usage "cannot write $scratch/none/a" "$CCTEST" allreduce --np 2 --csv "$scratch/none/a" --json "$stale"
replaced 2 usage "no option --bogus" env CCTEST_JSON="$stale" "$CCTEST" allreduce --bogus
replaced 2 usage "which collective?" env CCTEST_JSON="$stale" "$CCTEST"
# What takes no --json writes no file of the environment.
for words in "help --bogus" "help bogus" "--version --bogus" "--help --bogus" "allreduce --help --bogus"; do
    read -ra words <<<"$words"
    echo kept >"$stale"
    run env CCTEST_JSON="$stale" "$CCTEST" "${words[@]}"
    check_status 2
    check "a file was written that nobody asked for" test "$(<"$stale")" = kept
done

# A link with the name of a program of nccl-tests or OSU names the collective.
for program in osu_bcast:broadcast all_reduce_perf:allreduce; do
    ln -s "$CCTEST" "$scratch/${program%:*}"
    run "$scratch/${program%:*}" --minbytes 8 --maxbytes 8 --iters 1 --np 2 --json "$scratch/named"
    check_status 0 "$program"
    check_json "$scratch/named" "d['command_line'].startswith('cctest ${program%:*} --min-bytes 8 ')"
    check_says "^# cctest .*: ${program#*:} " "$out"
    run "$scratch/${program%:*}" version
    check_status 2 "${program%:*} version"
    check_says "^cctest: 'version' is one word too many: the name of the program, ${program%:*}, is the collective; "
done

# collect.py and its results.
collect=$repository/scripts/slurm/collect.py
run "$collect"
check_status 2
check_says "^usage: collect.py FOLDER$"
run "$collect" "$scratch/none"
check_status 1
check_says "^collect.py: there is no folder '$scratch/none': "
check "not one line on standard error" test "$(wc -l <"$err")" = 1
check "standard output is not empty" test ! -s "$out"
mkdir "$scratch/array-1"
cctest alltoall -b 1K -e 1K --json "$scratch/array-1/0.json"
echo "0 alltoall" >"$scratch/array-1/0.status"
run "$collect" "$scratch/array-1"
check_status 0
check_says "^alltoall +1024 " "$out"

cctest alltoall --json - --csv -
check_status 2
check_says 'cannot both go to standard output'
check_json "$out" 'd["status"] == "usage"'

ended held 1 "^cctest: $counts.held is a pipe whose writer has written nothing for 20 s and has not ended: let it write"
kill $holder
finish

#!/usr/bin/env bash
# Bad input: exit status 2, one sentence, and nothing was started.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"

# Processes and threads that this private machine has had so far: the number of the last one.
born() { read -r _ _ _ _ last_born _ </proc/loadavg; }

born && before=$last_born
run true
born && own=$((last_born - before)) # what `run` itself starts

# refused REGEX ARGUMENT...: status 2, one sentence that matches, nothing else, no child.
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

# Names: the valid ones, and the nearest.
refused "'altoall' is not a .*did you mean 'alltoall'\? valid are .*allreduce.*barrier" altoall
refused "'xyzzyq' is not a .*: valid are " xyzzyq
refused "did you mean 'pairwise'\? valid are pairwise, pairwise-xor" alltoall -a pairwse
refused "is not an algorithm for allreduce: .*valid are ring" allreduce -a pairwise
refused "did you mean 'radix'\?" alltoall -a bruck:radx=4
refused "'x' is not .*option of algorithm bruck" alltoall -a bruck:x=4
refused "has no option 'radix'" alltoall -a pairwise:radix=4
refused "is not KEY=VALUE" alltoall -a bruck:radix
refused "radix '1' of algorithm bruck is too small: give a whole number from 2" alltoall -a bruck:radix=1
refused "radix 'x' .*is not a number" alltoall -a bruck:radix=x
refused "option radix of algorithm bruck is given twice" alltoall -a bruck:radix=4:radix=5
refused "is not an algorithm" alltoall -a ""
refused "is not an algorithm" alltoall -a pairwise,
refused "'smh' is not a transport: did you mean 'shm'\? valid are auto, shm, tcp" alltoall -x smh
refused "names a transport twice" alltoall -x tcp,tcp
refused "did you mean 'shared'\? valid are host, shared" alltoall -m share
refused "did you mean 'float'\? valid are .*uint64" alltoall -d flaot
refused "did you mean 'sum'\? valid are sum, prod, max, min, avg, land, .*minloc" allreduce -o summ
refused "--op bor does not go with --datatype float: only the bits of integers .*: choose " allreduce -o bor
refused "--op lxor does not go with --datatype bfloat16: only integers are true or false: choose " reduce -d bf16 -o lxor
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
refused "which collective\?"
refused "which collective\?" plan
refused "is not a collective" plan altoall
refused "is not a collective" list altoall
refused "has no option --np" list --np 4
refused "has no option --min-bytes" info -b 4
refused "has no option --iterations" plan alltoall -n 4

# Numbers and sizes, of each option that has one.
for option in -b -e; do
    refused "'-1' is negative: give bytes from" alltoall "$option" -1
    refused "'1X' has trailing junk" alltoall "$option" 1X
    refused "'1.5K' has a fraction|'1.5K' has trailing junk" alltoall "$option" 1.5K
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
refused "two ways to the next size" alltoall -f 2 -i 4
refused "--np '0' is too small" alltoall --np 0
refused "--np '-3' is negative" alltoall --np -3
refused "--np '4097' is too large" alltoall --np 4097
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
refused "--timeout '-1'" alltoall --timeout -1
refused "--timeout 'nan'" alltoall --timeout nan
refused "--timeout 'inf'" alltoall --timeout inf
refused "--timeout '5s' has trailing junk" alltoall --timeout 5s
refused "--min-busbw '0'" allreduce --min-busbw 0
refused "--min-busbw 'fast' is not a number" allreduce --min-busbw fast
refused "needs timed iterations" allreduce --min-busbw 1 -n 0
refused "barrier moves no data" barrier --min-busbw 1

# What does not go together; an algorithm's own reason.
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
refused "cannot write $scratch/none/a: No such file" alltoall --json "$scratch/none/a"
refused "cannot write $scratch/none/a: No such file" alltoall --csv "$scratch/none/a"
refused "cannot write $scratch: Is a directory" alltoall --json "$scratch"

# --inject.
refused "did you mean 'corrupt'\?" allreduce --inject corupt:rank=0:iteration=0
refused "needs both" allreduce --inject corrupt:rank=0
refused "'iteration=1' of --inject delay is not understood" allreduce --inject delay:rank=0:iteration=1
refused "'rank=x' .*is not a number" allreduce --inject drop:rank=x:iteration=0
refused "'rank=-1' .*is negative" allreduce --inject drop:rank=-1:iteration=0
refused "is the second of its kind" allreduce --inject drop:rank=1:rank=1:iteration=0
refused "--inject is given twice: .*commas" allreduce --inject delay:rank=0:us=1 --inject delay:rank=1:us=1
refused "use processes" allreduce --inject kill:rank=0:iteration=0 --ranks-as threads
refused "rank 4.*4 ranks" allreduce --np 4 --inject kill:rank=4:iteration=0
refused "" allreduce --inject ""

# The environment is read like flags, and named.
export CCTEST_MIN_BYTES=1X
refused "CCTEST_MIN_BYTES='1X' has trailing junk" alltoall
unset CCTEST_MIN_BYTES
export CCTEST_IN_PLACE=maybe
refused "CCTEST_IN_PLACE='maybe' is neither" alltoall
unset CCTEST_IN_PLACE

# Scripts that wait for JSON get it also then.
cctest alltoall -b 1X --json "$scratch/refused.json"
check_status 2
check_json "$scratch/refused.json" 'd["status"] == "usage"' 'd["errors"][0]["message"].startswith("--min-bytes")'

cctest alltoall --json - --csv -
check_status 2
check_says 'cannot both go to standard output'
check_json "$out" 'd["status"] == "usage"'

finish

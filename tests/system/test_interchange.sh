#!/usr/bin/env bash
# tier: deep; load: cpu1
# Schedules and other tools: what `cctest plan` writes in GOAL and in MSCCL's XML is right by the rules of LogGOPSim and
# of MSCCL (interchange.py); what a file has runs as any algorithm does; a file that is wrong starts nothing.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
free_port
private_machine "$@"
cd "$scratch" || exit 1

# judge WHAT goal|msccl FILE...: the other tool would run it, with the right result.
judge() {
    local says
    says=$("$repository/tests/system/interchange.py" "${@:2}" 2>&1)
    check "$1: $says" test -z "$says"
}

# Every algorithm, at 3, 4, 6 or 8 ranks in turn.
sizes=(3 4 6 8) turn=0 in_xml=0
while read -r collective algorithm _; do
    ranks=${sizes[turn++ % 4]}
    shape=(--shape "$((ranks % 2 ? 1 : 2))x$((ranks % 2 ? ranks : ranks / 2))")
    channels=(--channels $((1 + turn % 3 / 2)))
    cctest plan "$collective" -a "$algorithm" --np "$ranks" "${shape[@]}" "${channels[@]}" -b 4K --goal plan.goal --json plan.json
    [ $status = 0 ] || { check_says "power of two|it needs|groups" && continue; }
    judge "GOAL of $collective $algorithm, $ranks ranks" goal plan.goal plan.json
    cctest plan "$collective" -a "$algorithm" --np "$ranks" "${shape[@]}" "${channels[@]}" --msccl plan.xml
    if [ $status != 0 ]; then
        check_status 2
        check_says 'cctest: MSCCL (cannot say this algorithm|has no )'
        continue
    fi
    in_xml=$((in_xml + 1))
    judge "XML of $collective $algorithm, $ranks ranks" msccl plan.xml
done < <(algorithms)
check "many are written in XML: $in_xml" test "$in_xml" -ge 40

# A rank may send to 32 peers of a channel.
cctest plan alltoall -a pairwise --np 33 --msccl plan.xml
check_status 0
cctest plan alltoall -a pairwise --np 34 --msccl plan.xml
check_status 2
check_says 'sends to more than the 32 peers'
cctest plan broadcast -a linear --np 34 --msccl plan.xml
check_status 2
check_says 'rank 0 sends to more than the 32 peers'
cctest plan reduce -a linear --np 34 --msccl plan.xml
check_status 0

# A step may be of 71 chunks.
cctest plan allgather -a gather-bcast --np 71 --msccl plan.xml
check_status 0
cctest plan allgather -a gather-bcast --np 72 --msccl plan.xml
check_status 2
check_says 'is of more than 71 chunks'

# What the interpreter of the test would find.
cctest plan allreduce -a ring --np 4 --msccl plan.xml --goal plan.goal --json plan.json
check_status 0
sed '0,/depid="[0-9][0-9]*" deps="[0-9]*"/s//depid="-1" deps="-1"/' plan.xml >racy.xml
check "a missing order is found" grep -q 'without an order\|never written' <("$repository/tests/system/interchange.py" msccl racy.xml 2>&1)
sed '0,/l2 requires c1/s///' plan.goal >early.goal
check "a missing requirement is found" grep -q 'does not come after' <("$repository/tests/system/interchange.py" goal early.goal plan.json 2>&1)

# Times of local operations, and texts to standard output.
cctest plan allreduce -a mesh --np 3 -b 1200 --calc 0.5 --goal -
check_status 0
check_says '^c[0-9]+: calc (200|600)$' "$out"
check_silent 'rank 0: source' "$out"
cctest plan allreduce -a mesh --np 3 --msccl -
check_status 0
check_says '^<algo name="cctest-allreduce-mesh" .* ngpus="3" coll="allreduce" inplace="0">' "$out"

# Files run: both forms, with sizes that divide badly, and beside another algorithm. JSON says which file.
cctest plan allreduce -a rabenseifner --np 5 --json rab.json
cctest plan allreduce -a ring --np 5 --msccl ring.xml
cctest plan alltoallv -a linear --np 5 -b 4K --counts uniform --json linear.json
cctest plan sendrecv -a ring-shift:stride=2 --np 5 --json shift.json
cctest plan broadcast -a binomial --np 5 -r 3 --json bcast.json
cctest plan reduce_scatter -a ring --np 5 --in-place --json place.json
for transport in shm tcp; do
    cctest allreduce -a file:rab.json,file:ring.xml,ring --np 5 -x $transport -b 0 -e 300K -i 39996 -n 2 -w 0 -c 2 --json out.json
    check_status 0 "allreduce over $transport"
    check_json out.json '{r["wrong"] for r in d["results"]} == {0}' \
        '{(r["algorithm"], r["algorithm_options"].get("path")) for r in d["results"]} == {("file", "rab.json"), ("file", "ring.xml"), ("ring", None)}' \
        'd["options"]["algorithm"] == ["file:rab.json", "file:ring.xml", "ring"]'
done
cctest allreduce -a file:rab.json --np 5 -x shm -b 1M -e 1M -n 1 -d int8,bfloat16 -o avg,max --channels 3 --chunk 4K --copy zcopy -m shared
check_status 0 "options of any algorithm"
cctest alltoallv -a file:linear.json,linear --np 5 -x shm -b 4 -e 64K -n 1 --counts zipf:1.2
check_status 0 "counts"
cctest sendrecv -a file:shift.json --np 5 -x shm -b 4 -e 64K -n 1
check_status 0 "partners"
cctest broadcast -a file:bcast.json --np 5 -r 3 -x shm -e 64K -n 1
check_status 0 "root 3"
cctest reduce_scatter -a file:place.json --np 5 --in-place -x shm -e 64K -n 1
check_status 0 "in place"
cctest allreduce -a file:rab.json --np 5 -x shm -b 4 -e 4 -n 1 -c 1 --inject corrupt:rank=1:iteration=0
check_status 3 "a corrupted element of a file"
cctest plan allreduce -a file:ring.xml --svg ring.svg --json back.json
check_status 0
check_says '^# allreduce file:ring.xml, 5 ranks, size 20 bytes, count 5 of float' "$out"
check "a picture" grep -q 'allreduce file:ring.xml, 5 ranks' ring.svg
cctest allgather -a file:<("$CCTEST" plan allgather -a bruck --np 3 --json - 2>/dev/null) --np 3 -x shm -e 4K -n 1
check_status 0 "a pipe"
cctest allreduce -a file:five.json,ring --np 10 --split 5 -x shm -e 4K -n 1
check_status 2
ln -s rab.json five.json
cctest allreduce -a file:five.json,ring --np 10 --split 5 -x shm -e 4K -n 1
check_status 0 "groups"

# refused REGEX ARGUMENT...: status 2, one sentence, no rank was started, JSON says so.
refused() {
    cctest "${@:2}" --json refused.json
    check_status 2
    check_says "^cctest: $1"
    check "one sentence" test "$(wc -l <"$err")" = 1
    check_silent . "$out"
    check_json refused.json 'd["status"] == "usage"'
    rm -f refused.json
}
head -c 3000 rab.json >cut
head -n 9 ring.xml >cut.xml
: >empty
head -c 4096 /dev/zero >zero
sed '0,/"peer": *[0-9]*/s//"peer": 9/' rab.json >peer.json
sed '0,/srcbuf="o" srcoff="[0-9]*"/s//srcbuf="o" srcoff="4"/' ring.xml >lost.xml
{ echo '<algo>' && yes '<gpu/>' | head -n 1048580 && echo '</algo>'; } >many.xml
yes '                                                               ' | head -c 270000000 >huge
refused 'cannot read none.json: No such file or directory: each rank reads' allreduce -a file:none.json
refused 'cannot read \.: Is a directory' allreduce -a file:.
refused "'file' of --algorithm names no file" allreduce -a file
refused "'file:' of --algorithm names no file" allreduce -a ring,file:
refused 'cut:[0-9]+: this is no JSON: ' allreduce -a file:cut
refused 'cut.xml:10: this is no XML: no element found' allreduce -a file:cut.xml
refused 'empty:[0-9]+: this is no JSON: ' allreduce -a file:empty
refused 'zero holds a zero byte' allreduce -a file:zero
refused 'peer.json: plans\[0\].schedules\[0\].operations\[[0-9]+\].peer is no whole number from 0 to 4' allreduce -a file:peer.json
refused 'lost.xml is no right allreduce: rank [0-9].s .* line [0-9]+' allreduce -a file:lost.xml
refused 'many.xml:[0-9]+: the file has more than 1048576 elements' allreduce -a file:many.xml
refused 'huge is larger than 256M' allreduce -a file:huge
refused 'allreduce file:rab.json: it is written for 5 ranks, and these are 4: start as many \(--np 5\)' allreduce -a file:rab.json --np 4
refused 'allgather has no algorithm of --algorithm file:rab.json' allgather -a file:rab.json
refused 'broadcast file:bcast.json: it is written for root 3, not 0: give --root 3' broadcast -a file:bcast.json --np 5
refused 'bcast.json is written for root 3: give --root 3 instead of all' broadcast -a file:bcast.json --np 5 -r all
refused "'file' is not an algorithm for inter" allreduce -a hier:inter=file --np 4
cctest plan alltoallv -a linear --np 5 --json small.json
refused 'alltoallv file:small.json: it has no elements in block' alltoallv -a file:small.json --np 5
cctest plan allreduce -a ring,mesh --np 4 --json two.json
refused 'two.json has several plans of allreduce' allreduce -a file:two.json
cctest plan allreduce -a ring --np 4 --rank 1 --json one.json
refused 'one.json: plans\[0\].schedules has 1 of 4 ranks, as with --rank: correct it' allreduce -a file:one.json
for output in json goal msccl svg; do
    cp rab.json kept.json
    cctest plan allreduce -a file:kept.json --$output kept.json
    check_status 2 "--$output over the file"
    check "the file is as it was" cmp -s rab.json kept.json
done
for output in goal msccl; do
    cctest plan allreduce -a ring,mesh --$output two.out
    check_status 2
    check_says "^cctest: --$output writes one algorithm, and these are 2"
    cctest plan allreduce --$output /dev/full
    check_status 1
    check_says 'cannot write /dev/full'
done

rm cut

# A rank that reads another file, and one that has none.
export CCTEST_SECRET=$long_secret
cctest plan allreduce -a ring --np 2 --json first.json
cctest plan allreduce -a mesh --np 2 --json second.json
for other in second.json none.json; do
    out=$scratch/out err=$scratch/err
    start other "$CCTEST" allreduce -a file:$other --rendezvous "127.0.0.1:$port" --rank 1 --world 2 --timeout 5
    cctest allreduce -a file:first.json --rendezvous "127.0.0.1:$port" --rank 0 --world 2 --timeout 5
    if [ $other = none.json ]; then
        check_status 5 "rank 1 has not come"
        ended other 2 'cannot read none.json: No such file or directory: each rank reads the schedules'
    else
        check_status 2 "rank 1 has $other"
        check_says 'FILE \(schedules [0-9a-f]{16}\)'
        ended other 2
    fi
done
cp first.json copy.json
out=$scratch/out err=$scratch/err
start other "$CCTEST" allreduce -a file:copy.json --rendezvous "127.0.0.1:$port" --rank 1 --world 2 --timeout 5 -e 4K
cctest allreduce -a file:first.json --rendezvous "127.0.0.1:$port" --rank 0 --world 2 --timeout 5 -e 4K
check_status 0 "the same content at another path"
ended other 0

finish

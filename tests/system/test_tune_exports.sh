#!/usr/bin/env bash
# tier: deep; load: cpu1
# What `cctest tune` writes for Open MPI, MPICH and NCCL's tuner: the files, and the real Open MPI and MPICH with them.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
private_machine "$@"
cd "$scratch" || exit 1

# Winners, some of which the libraries lack.
python3 - <<'PYTHON'
import json
def cell(collective, ranks, size, *times, nodes=1):
    return {"collective": collective, "ranks": ranks, "nodes": nodes, "bytes": size, "rounds": 6, "margin": None, "wrong": [], "algorithms":
            [{"algorithm": name, "time_us": time, "low_us": time, "high_us": time, "rounds": 6} for name, time in times]}
cells = [cell("allreduce", ranks, 1024, ("recursive-doubling", 5), ("ring", 9)) for ranks in (2, 4)]
cells += [cell("allreduce", 4, 16384, ("nhr", 10), ("rabenseifner", 11), ("ring", 12)), cell("allreduce", 4, 1 << 20, ("nhr", 100))]
cells += [cell("allreduce", 16, 1024, ("dbt", 5), ("ring", 20))]
cells += [cell("allgather", 4, 16384, ("pat", 5), ("bruck:radix=2", 6), ("ring", 9)),
          cell("allgather", 8, 16384, ("pat", 5), ("ring", 9), nodes=8), cell("alltoall", 4, 1024, ("bruck:radix=2", 5)),
          cell("alltoall", 4, 16384, ("bruck:radix=4", 5), ("pairwise", 7)), cell("broadcast", 4, 1024, ("binomial", 5)),
          cell("broadcast", 4, 1 << 22, ("chain", 5)), cell("reduce", 4, 1024, ("rabenseifner", 5)), cell("gather", 4, 1024, ("binomial", 5)),
          cell("scatter", 4, 1024, ("linear", 5), ("binomial", 6)), cell("reduce_scatter", 4, 1024, ("ring", 5), ("rec-doubling", 6)),
          cell("barrier", 4, 1, ("dissemination:radix=2", 5)), cell("sendrecv", 4, 1024, ("pingpong", 5))]
json.dump({"schema": 1, "version": "0.1.0", "command": "tune", "machine": {}, "options": {"protocol": "auto"}, "cells": cells},
          open("tuned", "w"))
PYTHON
cctest tune alltoall --tuning tuned --ompi rules
check_status 2
check_says "^cctest: tune --tuning writes the winners of all collectives of tuned: leave 'alltoall' out" "$err"
check "nothing is written" test ! -e rules
cctest tune --tuning tuned --ompi rules --mpich mpich.json --nccl nccl.csv
check_status 0
check_silent . "$out"
check_says '^cctest: Open MPI lacks allreduce nhr, the fastest at 16K on 4 ranks \(gets rabenseifner, 1.10 times as long\), 1M on 4 ranks \(it decides\)$'
check_says '^cctest: Open MPI lacks alltoall bruck:radix=4, the fastest at 16K on 4 ranks \(gets pairwise, 1.40 times as long\)$'
check_says '^cctest: MPICH lacks scatter linear, the fastest at 1K on 4 ranks \(gets binomial, 1.20 times as long\)$'
check_says "^cctest: NCCL's tuner lacks allreduce recursive-doubling, the fastest at 1K on 2 ranks \(gets ring, 1.80 times as long\), 1K on 4 ranks"
check_says '^cctest: a line of NCCL.s file has a protocol, which was not measured: it is simple'
check "one line for each winner that is lacking" test "$(grep -c 'Open MPI lacks' "$err")" = 5
rm tuned # it has what is read of it, and no more

# Open MPI: collective ranks bytes algorithm. From the geometric mean of two sizes, or numbers of ranks, on.
run "$repository/tests/system/rules.py" rules
check_status 0
cat >expected <<'RULES'
0 4 0 2
0 6 0 4
2 2 0 3
2 3 0 3
2 3 4096 6
2 3 131072 0
2 8 0 4
3 4 0 3
3 4 4096 2
6 4 0 4
7 4 0 6
7 4 65536 3
9 4 0 2
11 4 0 7
12 4 0 3
13 4 0 2
15 4 0 1
RULES
check "the rules" cmp expected "$out"
check_says '^65536 3 0 1048576 # chain, 5 us at 4M$' rules # pipelined

# NCCL, asked as it asks: at sizes on both sides of the borders, and at numbers of ranks and nodes that were not measured. PAT is for
# one rank a node.
run "$repository/tests/system/nccl_tuner.py" nccl.csv broadcast:65535:1:4 broadcast:65536:1:4 broadcast:999999999999:1:4 reduce:1024:1:4 \
    allgather:1024:1:4 allgather:1024:8:8 reducescatter:1:1:4 allreduce:1:1:2 allreduce:4095:1:4 allreduce:131071:1:4 allreduce:131072:1:4 \
    allreduce:1024:1:8 allreduce:1024:2:16 allreduce:1024:1:16
check_status 0
cat >expected <<'ANSWERS'
broadcast:65535:1:4 -
broadcast:65536:1:4 ring simple
broadcast:999999999999:1:4 ring simple
reduce:1024:1:4 -
allgather:1024:1:4 ring simple
allgather:1024:8:8 pat simple
reducescatter:1:1:4 ring simple
allreduce:1:1:2 ring simple
allreduce:4095:1:4 ring simple
allreduce:131071:1:4 ring simple
allreduce:131072:1:4 -
allreduce:1024:1:8 -
allreduce:1024:2:16 -
allreduce:1024:1:16 tree simple
ANSWERS
check "NCCL's answers" cmp expected "$out"

# The real libraries do what the files say.
calls=("$(command -v python3)" "$repository/tests/system/mpi_calls.py")
mkdir "$scratch/tmp"
export TMPDIR=$scratch/tmp

# winners ompi|mpich: each size of a collective gets another winner, of the lines "COLLECTIVE ALGORITHM..." of the standard input, in
# the file winners. $winners and $named have them, with the sizes, for mpi_messages.py and mpi_calls.py.
winners() {
    local collective algorithms algorithm size
    winners=() named=()
    while read -r collective algorithms; do
        size=1024
        for algorithm in $algorithms; do
            winners+=("$collective:$algorithm:$size")
            named+=("$collective:$size")
            size=$((2 * size))
        done
    done
    python3 - "${winners[@]}" >tuned <<'PYTHON'
import json, sys
cells = []
for word in sys.argv[1:]:
    (collective, rest), size = word.split(":", 1), word.rsplit(":", 1)[1]
    times = [{"algorithm": rest[: -len(size) - 1], "time_us": 5, "low_us": 5, "high_us": 5, "rounds": 6}]
    cells.append({"collective": collective, "ranks": 8, "nodes": 1, "bytes": int(size), "rounds": 6, "margin": None, "pruned": [], "wrong": [],
                  "algorithms": times})
print(json.dumps({"schema": 1, "version": "0.1.0", "command": "tune", "machine": {}, "options": {"protocol": "auto"}, "cells": cells}))
PYTHON
    cctest tune --tuning tuned "--$1" winners
    check_status 0
    rm tuned
}
# They ran: every rank sent as many messages of every size to every rank as cctest's schedules of them do.
winners_ran() {
    check_status 0
    check_says '^right$' "$out"
    run "$repository/tests/system/mpi_messages.py" "$CCTEST" 8 "$scratch"/sent.* -- "${winners[@]}"
    check_status 0
    check_says '^[0-9]+ messages as scheduled$' "$out"
    rm -f "$scratch"/sent.* winners
}

# shellcheck disable=SC2154 # lib.sh's
if [[ $("$openmpi" --version 2>/dev/null) =~ "Open MPI"|OpenRTE ]] && "$openmpi" --allow-run-as-root -np 1 true; then
    mpirun=("$openmpi" --allow-run-as-root --oversubscribe --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename)
    for ranks in 4 3; do
        run "${mpirun[@]}" rules -np $ranks "${calls[@]}" openmpi 4 64 4000 32768 1048576
        check_status 0
        check_says '^right$' "$out"
    done

    # By Open MPI's own counts of messages.
    winners ompi <<'ALGORITHMS'
allreduce recursive-doubling ring rabenseifner linear
allgather ring bruck:radix=2 recursive-doubling neighbor
alltoall pairwise bruck:radix=2
barrier dissemination:radix=2
broadcast chain linear scatter-ring chain-k:fanout=4 split-binary binary knomial:radix=4 scatter-rd
reduce linear chain binary binomial in-order-binary rabenseifner
gather binomial linear
scatter linear binomial
reduce_scatter ring rec-halving butterfly
ALGORITHMS
    run "${mpirun[@]}" winners --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename "$scratch/sent" \
        -np 8 "${calls[@]}" openmpi "${named[@]}"
    winners_ran
else
    echo "not tested: the file in Open MPI (its mpirun does not run here: scripts/setup --tests)"
fi
if command -v mpiexec.hydra >/dev/null && ldconfig -p | grep -q libmpich.so.12; then
    export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=$scratch/mpich.json
    for ranks in 4 3 2; do
        run mpiexec.hydra -n $ranks "${calls[@]}" mpich 4 64 4000 16384 1048576
        check_status 0
        check_says '^right$' "$out"
    done
    # By what it sends.
    if ldd "$(ldconfig -p | sed -n 's/.*libmpich.so.12 .*=> //p' | head -1)" | grep -q libucp; then
        winners mpich <<'ALGORITHMS'
allreduce recursive-doubling rabenseifner
allgather ring bruck:radix=2 recursive-doubling
alltoall pairwise bruck:radix=2 scattered
broadcast binomial scatter-ring scatter-rd
reduce rabenseifner binomial
gather binomial
scatter binomial
reduce_scatter pairwise rec-halving
ALGORITHMS
        run "${compiler[@]}" -shared -fPIC -o ucx_messages.so "$repository/tests/system/ucx_messages.c" -ldl
        check_status 0
        run env MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE="$scratch/winners" MPIR_CVAR_NOLOCAL=1 UCX_TLS=posix,self MESSAGES_SENT="$scratch/sent" \
            mpiexec.hydra -genv LD_PRELOAD "$scratch/ucx_messages.so" -n 8 "${calls[@]}" mpich "${named[@]}"
        winners_ran
    else
        echo "not tested: the choices of MPICH (it does not send over UCX)"
    fi
    # MPICH reads it: a name that it does not have ends the job.
    sed -i 's/MPIR_Allreduce_intra_reduce_scatter_allgather/MPIR_Allreduce_intra_tango/' mpich.json
    run mpiexec.hydra -n 2 "${calls[@]}" mpich 64
    check "MPICH reads no JSON" test $status != 0
else
    echo "not tested: the file in MPICH (its mpiexec does not run here: scripts/setup --tests)"
fi
python3 - <<'PYTHON' >"$out" 2>"$err"
import json
def walk(node):
    for key, inner in node.items():
        if not key.startswith("algorithm="):
            assert inner, key
            assert key.startswith(("collective=", "comm_type=inter")) or list(node)[-1].endswith(("=any", "=no", "=inter")), key
        walk(inner)
d = json.load(open("mpich.json"))
walk(d)
assert len(d) == 44, len(d)
allreduce = d["collective=allreduce"]["comm_type=intra"]
assert list(allreduce) == ["comm_size<=2", "comm_size<=7", "comm_size=any"], list(allreduce)
assert list(allreduce["comm_size<=7"]) == ["avg_msg_size<=4095", "avg_msg_size<=131071", "avg_msg_size=any"]
reduce = d["collective=reduce"]["comm_type=intra"]["comm_size=any"]["avg_msg_size=any"]["is_op_built_in=yes"]
assert list(reduce["count<pow2"]) == ["algorithm=MPIR_Reduce_intra_binomial"], reduce
assert list(d["collective=alltoall"]["comm_type=intra"]["comm_size=any"]) == ["avg_msg_size<=1023", "avg_msg_size=any"] # of a block
PYTHON
status=$?
check_status 0 "MPICH's tree"
rm mpich.json # not cctest's schema

cctest tune --tuning nowhere --ompi x
check_status 2
finish

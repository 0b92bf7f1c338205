#!/usr/bin/env bash
# tier: deep; load: wait
# A real Slurm: a controller and four nodes, started for this test. Ranks of a step meet, whatever the distribution and
# whatever else runs there; other commands are not mistaken for a step; exit statuses reach Slurm.
# shellcheck source=tests/system/lib.sh
. "$(dirname -- "$0")/lib.sh"
# shellcheck source=tests/system/hosts.sh
. "$(dirname -- "$0")/hosts.sh"
# shellcheck source=tests/system/slurm.sh
. "$(dirname -- "$0")/slurm.sh"
private_machine "$@"
cd "$scratch" || exit # commands on hosts run here
slurm_up 4 || skip "$slurm_missing"
small=(allreduce -b 4K -e 4K -n 3 -w 1 -c 2 --timeout 20)
secret=$(head -c 32 /dev/urandom | base64)

# In a step, each task writes its node and its status: task N to N.node and N.status.
cat >task.sh <<'TASK'
trap : TERM # this shell waits for cctest to end
rm -f "$SLURM_PROCID".*
echo "$SLURMD_NODENAME" >"$SLURM_PROCID.node"
"$@"
status=$?
echo $status >"$SLURM_PROCID.status"
exit $status
TASK
task=(sh "$scratch/task.sh" "$CCTEST")

check_tasks() { # check_tasks COUNT STATUS: the first COUNT tasks have all ended with it
    local rank
    for ((rank = 0; rank < $1; rank++)); do
        check "task $rank ended with $(cat $rank.status 2>&1), not $2" grep -sqx "$2" $rank.status
    done
}

# check_ranks COUNT [PYTHON-EXPRESSION]: the job in job.json had COUNT ranks, each on the node of its task, and succeeded.
check_ranks() {
    check_json job.json "len(d['ranks']) == $1" "d['status'] == 'ok'" \
        "[r['host'] for r in d['ranks']] == [open('%d.node' % r).read().strip() for r in range($1)]" "${@:2}"
}

# Steps start at once in this allocation; separate jobs would wait for Slurm's scheduler.
slurm salloc --no-shell -N 3 --ntasks-per-node=8
check_status 0 salloc
job=$(sed -n 's/.*Granted job allocation \([0-9]*\).*/\1/p' "$err")
step() { slurm srun --jobid="$job" "$@"; }

# ---- steps of all shapes ----

for shape in "4 -n 4" "5 -N 2 -n 5" "7 -N 3 -n 7" "3 -N 1 -n 3" "6 -N 3 -n 6 -m cyclic" "6 -N 2 -n 6 -m plane=2" \
    "2 -N 2 -n 2 -w h2,h3" "5 -N 2 -n 5 --mpi=pmi2" "4 -N 1 -n 4 --mpi=pmix" "7 -N 3 -n 7 --mpi=pmix"; do
    read -r ranks words <<<"$shape"
    read -ra words <<<"$words"
    rm -f job.json
    step "${words[@]}" "${task[@]}" "${small[@]}" --json job.json
    check_status 0 "$shape"
    check_tasks "$ranks" 0
    check_says '^# status: ok' "$out"
    check "$shape: one table" test "$(grep -c '^# status' "$out")" = 1
    if [[ $shape = *pmix ]]; then
        check_ranks "$ranks" 'd["bootstrap"] == "pmix"'
        check_silent CCTEST_SECRET # each job has a secret
    else
        check_ranks "$ranks" 'd["bootstrap"] == "tcp"'
        [[ $shape = *"-N 1"* ]] || check_says 'rank 0: CCTEST_SECRET is not set: .*against accidents'
        [[ $shape != *"-N 1"* ]] || check_silent CCTEST_SECRET
    fi
done

# The README's lines, with small sizes and few iterations.
while read -ra words; do
    slurm env PATH="${CCTEST%/*}:$PATH" CCTEST_MAX_BYTES=4K CCTEST_ITERATIONS=5 "${words[@]}"
    check_status 0 "${words[*]}"
    check_says '^# 8 ranks on 2 hosts, h[1-4] to h[1-4] ' "$out"
    lines=$((${lines:-0} + 1))
done < <(sed -nE 's/^    (srun [^#]*).*/\1/p' "$repository/README.md")
check "the README has such lines" test "${lines:-0}" -ge 2

# A separate job, and a heterogeneous one. srun passes a secret on.
rm -f job.json
slurm env CCTEST_SECRET="$secret" srun -N 2 -n 3 "${task[@]}" "${small[@]}" --json job.json
check_status 0
check_ranks 3
check_silent CCTEST_SECRET
rm -f job.json
slurm srun -N 1 -n 2 "${task[@]}" "${small[@]}" --json job.json : -N 1 -n 1 "${task[@]}" "${small[@]}" --json job.json
check_status 0
check_ranks 3

# Jobs one after the other in one step have the same name and key.
# shellcheck disable=SC2016
step -N 3 -n 6 sh -c 'for i in 1 2 3 4 5; do "$@" >/dev/null || echo "run $i of $SLURM_PROCID: $?"; done' loop \
    "$CCTEST" "${small[@]}"
check_status 0
check_silent . "$out"
check_silent 'error'

# With an arbitrary distribution rank 0 may be on any node.
printf '%s\n' h3 h1 h3 h2 >places
step_placed() { slurm env SLURM_HOSTFILE=places srun --jobid="$job" -n 4 -m arbitrary "${task[@]}" "${small[@]}" "$@"; }
step_placed --json job.json
check_status 2
check_tasks 4 2
check_says 'srun -m arbitrary does not tell on which node rank 0 is: give --rendezvous NODE:PORT'
rm -f job.json
step_placed --json job.json --rendezvous h3:7777
check_status 0
check_ranks 4

# ---- several at once ----

slurm_as
for at_once in "--jobid=$job --overlap" ""; do
    for name in one two; do
        type=float
        [ $name = one ] || type=double
        # shellcheck disable=SC2086
        start $name "${as[@]}" CCTEST_SECRET="$secret" srun $at_once -w h1,h2 -N 2 -n 4 \
            "$CCTEST" "${small[@]}" -n 100 -d $type
    done
    for name in one two; do
        ended $name 0
        check_says '^# status: ok' "$out"
        check_says "^# 4 ranks on 2 hosts, h1 to h2 \\(tcp\\)" "$out"
    done
done

# ---- a rank that never comes ----

cat >absent.sh <<'ABSENT'
rank=$1
shift
[ "$SLURM_PROCID" != "$rank" ] || exec sleep 10
exec "$@"
ABSENT
for mpi in none pmix; do
    for rank in 2 0; do
        step --mpi=$mpi -N 2 -n 4 "${task[@]:0:2}" sh absent.sh $rank "$CCTEST" "${small[@]}" --timeout 3
        for other in 0 1 2 3; do
            [ $other = $rank ] || check "$mpi, rank $other: $(cat $other.status)" grep -qx 5 $other.status
        done
        if [ $rank = 2 ]; then
            check_says '1 of 4 ranks did not join within 3 s: rank 2;'
        else
            check_says 'rank 0 could not be reached'
        fi
    done
done
# Commands one after the other in a step do not use data that rank 0 published for the one before.
# shellcheck disable=SC2016
step --mpi=pmix -N 3 -n 6 sh -c 'for i in 1 2 3 4 5; do
    [ $SLURM_PROCID != 0 ] || sleep 0.2
    "$@" >/dev/null || echo "run $i of $SLURM_PROCID: $?"; done' loop "$CCTEST" "${small[@]}"
check_status 0
check_silent . "$out"
check_silent error

# ---- statuses ----

step -n 3 "${task[@]}" allreduce --np nonsense
check_status 2
check_tasks 3 2
step -N 2 -n 3 "${task[@]}" "${small[@]}" --inject corrupt:rank=1:iteration=0
check_status 3
check_tasks 3 3
step -N 2 -n 3 "${task[@]}" "${small[@]}" --min-busbw 1000000
check_status 4
check_tasks 3 4
step -w h1,h2 -N 2 -n 5 "${task[@]}" "${small[@]}" --inject kill:rank=1:iteration=2 --timeout 5
check_says 'rank 1 .*host h1'
for rank in 0 2 3 4; do check "rank $rank: $(cat $rank.status)" grep -qx 5 $rank.status; done
check "rank 1 was killed: $(cat 1.status)" grep -qx 137 1.status
check_status 137 "srun's own: the highest of its tasks"
# A stopped rank does not end by itself; srun --wait ends its step.
step --wait=1 -w h1,h2 -N 2 -n 3 "${task[@]}" "${small[@]}" --inject stop:rank=2:iteration=2 --timeout 4
check "srun's own with --wait: $status" test "$status" != 0
check_tasks 2 5
check_says 'rank 2 .*host h2'

# scancel: every rank ends with 130, before Slurm kills it (KillWait).
rm -f job.json
start victim "${as[@]}" srun -N 2 -n 3 -J victim "${task[@]}" "${small[@]}" -n 4000000 --json job.json
check "the victim runs" await 60 grep -qs running job.json
slurm scancel --name=victim
check_status 0
ended victim 130 SIGTERM
check_tasks 3 130

# ---- no step of several ranks: ranks are local ----

local_ranks='^# [0-9]+ ranks on h[1-4] \(local\)'
step -n 1 "$CCTEST" "${small[@]}"
check_status 0
check_silent 'this Slurm job has' "$err"
check_says "$local_ranks" "$out"
slurm salloc -N 2 -n 4 "$CCTEST" "${small[@]}"
check_status 0
check_says "$local_ranks" "$out"
check_says 'this Slurm job has 2 nodes, and the ranks use this one alone: start them on all of them by srun, or give --np' "$err"
slurm salloc -N 2 -n 4 "$CCTEST" info
check_silent 'this Slurm job has' "$err"
cat >batch.sh <<'BATCH'
#!/bin/bash
cctest=$1
shift
"$cctest" "$@" --np 3 || exit
srun "$cctest" "$@" || exit
exec "$cctest" "$@" --min-busbw 1000000
BATCH
slurm sbatch --wait -N 2 -n 3 -o batch.out batch.sh "$CCTEST" "${small[@]}"
check_status 4 "sbatch --wait"
check "three tables in batch.out" test "$(grep -c '^# status' batch.out)" = 3
check_says '^# 3 ranks on h[1-4] \(local\)' batch.out
check_says '^# 3 ranks on 2 hosts.* \(tcp\)' batch.out
slurm script -qec "srun --jobid=$job -n 1 --pty $CCTEST ${small[*]}" /dev/null
check_status 0
check_says "$local_ranks" "$out"
slurm script -qec "sh -c 'sleep 1; echo $CCTEST ${small[*]}; echo exit' | srun --jobid=$job -n 1 --pty sh" /dev/null
check_says "$local_ranks" "$out"

# ---- other launchers in a step ----

# An agent of torchrun on each node, which starts two ranks.
cat >agent.sh <<'AGENT'
for local in 0 1; do
    RANK=$((2 * SLURM_PROCID + local)) WORLD_SIZE=4 MASTER_ADDR=h1 MASTER_PORT=29500 "$@" &
done
wait
AGENT
step -N 2 -n 2 -w h1,h2 sh agent.sh "$CCTEST" "${small[@]}"
check_status 0
check_says '^# 4 ranks on 2 hosts, h1 to h2 \(tcp\)' "$out"
# MPI launchers start a step of agents, and ranks inherit the variables of the agents.
for launcher in "pmi:mpiexec.hydra" "pmix:mpirun.openmpi --allow-run-as-root"; do
    read -ra words <<<"${launcher#*:}"
    if command -v "${words[0]}" >/dev/null; then
        slurm salloc -N 2 --ntasks-per-node=2 "${words[@]}" "$CCTEST" "${small[@]}"
        check_status 0 "$launcher"
        check_says "^# 4 ranks on 2 hosts, h[1-4] to h[1-4] \\(${launcher%%:*}\\)" "$out"
    else
        echo "not tested: ${words[0]} in a Slurm job (it is not here)"
    fi
done

# ---- scripts/slurm ----

scripts=$repository/scripts/slurm
ln -s "$repository/scripts" scripts # as the heads of the scripts write it
batch() { # batch WORDS...: submits by sbatch, with "${variables[@]}" in the environment; output goes to ./printed
    slurm env CCTEST="$CCTEST" "${variables[@]}" sbatch --parsable -o printed "$@"
    check_status 0 sbatch
    slurm_wait "$(<"$out")"
}
slurm scancel "$job"

# An srun that loses the statuses of its tasks, as the real one does when a node is cut off. The JSON of rank 0 decides; it
# is incomplete if rank 0 itself is lost.
mkdir bin
printf '#!/bin/sh\n%s "$@"\nexit 0\n' "$(command -v srun)" >bin/srun
chmod +x bin/srun
variables=(PATH="$scratch/bin:$PATH" SIZE=4K COLLECTIVES=broadcast SIZES="-b 1K -e 1K" CCTEST_INJECT=kill:rank=1:iteration=0
    CCTEST_TIMEOUT=2)
batch -N 2 --ntasks-per-node=1 --array=0 "$scripts/array.sbatch"
check_status 5 "an array that lost rank 1"

# A job that fails below a bus bandwidth, if data is wrong, or if a rank is lost behind srun's back.
for case in 0:0.000001: 4:1000000: 3:0.000001:corrupt:rank=1:iteration=0 5:0.000001:kill:rank=1:iteration=0; do
    IFS=: read -r expected gbps inject <<<"$case"
    variables=(CCTEST_TIMEOUT=2 GBPS="$gbps" ${inject:+CCTEST_INJECT="$inject"})
    [ "$expected" != 5 ] || variables+=(PATH="$scratch/bin:$PATH")
    batch -N 2 --ntasks-per-node=1 "$scripts/busbw.sbatch" allreduce -a ring -b 1K -e 4K
    check_status "$expected" "busbw.sbatch of $gbps GB/s, $inject"
done

# The array and its evaluation, by the commands in the head of the script.
sed -n 's/-N 4/-N 2 --ntasks-per-node=2/; s/--wrap/--parsable -o collected &/; s/^#     //p' \
    "$scripts/array.sbatch" >lines
check "two lines" test "$(grep -c sbatch lines)" = 2
slurm env CCTEST="$CCTEST" CCTEST_ITERATIONS=5 SIZES="-b 1K -e 4K" sh lines
check_status 0 "two lines"
slurm_wait "$(<"$out")"
check_status 0 "array, and collect.py behind it"
check_says '^allreduce +4096 +ring ' collected
check_says '^alltoall +1024 +bruck ' collected
check "all that ran" test "$(grep -Ec '^[a-z_]+ +[0-9]+ ' collected)" = 22
array=$(dirname array-*/3.status)
echo "4 alltoall" >"$array/3.status"
rm "$array/2.status" "$array/1.json"
sed -i 's/^  "status": "ok"/  "status": "running"/' "$array/0.json"
run "$scripts/collect.py" "$array"
check_status 1 "collect.py of runs that failed"
check_says '0.json: allreduce .* ended with status 0; its JSON says: running' "$out"
check_says '1.json: allgather .* ended with status 0; its JSON says: not complete' "$out"
check_says '2.json: the run ended with status none; its JSON says: ok' "$out"
check_says '3.json: alltoall ended with status 4; its JSON says: ok' "$out"

check "ranks are left: $(strange_processes)" test -z "$(strange_processes)"
slurm_down
check "daemons are left: $(ps -e -o comm=)" slurm_is_gone
finish

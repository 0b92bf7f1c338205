# shellcheck shell=bash
# slurm.sh - a Slurm cluster for a system test, which sources it behind lib.sh and hosts.sh and calls private_machine
# first: munge, a controller on host 1, and a node on each of the hosts h1 .. hN of hosts.sh.
#
#     slurm_up 3 || skip "$slurm_missing"
#     slurm srun -N 3 ...             # on host 1, as `run`
#     slurm_down
#
# All its files are in $slurm_state; its daemons are in the test's PID namespace, so they end when the test is killed.

# shellcheck disable=SC2154 # $scratch, $err and $hosts_missing are those of the files above
slurm_missing='' slurm_state=$scratch/slurm
slurm_cpus=16 # of each node, as Slurm counts them; nothing is bound to them

# If Slurm reports that it could not start a task on a node, this is no failure of cctest: prints the evidence and
# repeats the command once.
slurm() {
    local as node nodes
    slurm_as
    run "${as[@]}" "$@"
    mapfile -t nodes < <(sed -n 's/^srun: error: Task launch for .* failed on node \(h[0-9]*\): .*/\1/p' "$err")
    [ ${#nodes[@]} != 0 ] || return 0
    { echo "${ran[*]}" && cat "$err" && slurm_evidence "${nodes[@]}"; } 2>&1 | sed 's/^/repeated: /'
    for node in "${nodes[@]}"; do
        slurm_pid "$node" >/dev/null || slurm_node "$node"
        await 60 slurm_reaches "$node"
    done
    await 60 slurm_is_up || failed "Slurm has not all of its nodes again"
    run "${as[@]}" "$@"
}

slurm_evidence() { # slurm_evidence NODE...
    local node
    host_on 1 ip -4 neigh
    for node; do
        echo "$node: slurmd is $(slurm_pid "$node" || echo gone), port 6818 $(slurm_reaches "$node" && echo open)"
        grep -v '\] \[' "$slurm_state/slurmd.$node.log" | tail -n 20 # all but the steps' own lines
    done
    tail -n 10 "$slurm_state/ctld.log"
    dmesg | grep slurm | tail -n 3
}

slurm_pid() { pgrep -f "^slurmd -D -N $1 "; }
slurm_reaches() { host_on 1 timeout 2 bash -c "exec 3<>/dev/tcp/$1/6818"; } 2>/dev/null

# Sets $as to what makes a command run on host 1, where Slurm's commands find the cluster.
slurm_as() {
    host_as 1
    as+=(env SLURM_CONF="$slurm_state/slurm.conf")
}

# Sets $slurm_missing to the first missing program, with its package.
slurm_lacks() {
    local need
    for need in munged:munge slurmctld:slurm-wlm slurmd:slurm-wlm srun:slurm-wlm; do
        command -v "${need%:*}" >/dev/null && continue
        slurm_missing="${need%:*} is not here: install ${need#*:} (scripts/setup --tests)"
        return
    done
    # The root of a user namespace cannot become other users.
    [ "$(awk '{ print $3 }' /proc/self/uid_map)" -gt 65535 ] ||
        slurm_missing="Slurm's daemons need the root of the machine: run the tests as root"
    [ -n "$slurm_missing" ]
}

# slurm_up N: on failure $slurm_missing is the reason. A daemon that does not start fails the test.
slurm_up() {
    local node count=$1 as
    slurm_missing=
    slurm_lacks && return 1
    # shellcheck disable=SC2154
    hosts_up "$count" || slurm_missing=$hosts_missing
    [ -z "$slurm_missing" ] || return
    mkdir -p "$slurm_state"/{munge,spool,state,pmix}
    chmod 755 "$scratch" "$slurm_state" # munge requires that no other user can write there
    slurm_configure "$count" >"$slurm_state/slurm.conf"
    # Nodes on one machine would share PMIx's folder in /tmp: slurm_node gives each of them its own.
    echo "PMIxCliTmpDirBase=$slurm_state/pmix" >"$slurm_state/mpi.conf"
    (umask 077 && head -c 128 /dev/urandom >"$slurm_state/munge/key")
    slurm_start munged --foreground --force --num-threads=2 --key-file="$slurm_state/munge/key" \
        --socket="$slurm_state/munge/socket" --pid-file="$slurm_state/munge/pid" \
        --log-file="$slurm_state/munge/log" --seed-file="$slurm_state/munge/seed"
    await 60 test -S "$slurm_state/munge/socket" || slurm_failed munged munge/log
    host_as 1
    slurm_start "${as[@]}" slurmctld -D -c -f "$slurm_state/slurm.conf"
    for ((node = 1; node <= count; node++)); do slurm_node "h$node"; done
    await 60 slurm_is_up || slurm_failed "the cluster" "*.log"
}

slurm_failed() { # slurm_failed DAEMON LOGS
    # shellcheck disable=SC2086,SC2154 # a pattern
    (cd "$slurm_state" && tail -n 3 $2) >"$err" 2>&1
    failed "$1 did not start"
    finish
}

# Starts a daemon, not as a job of this shell: tests wait for all of their jobs.
slurm_start() { ("$@" </dev/null >/dev/null 2>&1 &); }

slurm_node() { # slurm_node hI: its slurmd
    local as
    host_as "${1#h}"
    mkdir -p "$slurm_state/pmix-$1"
    # shellcheck disable=SC2016
    slurm_start "${as[@]}" unshare --mount sh -c 'mount --bind "$0/pmix-$1" "$0/pmix" &&
        exec slurmd -D -N "$1" -f "$0/slurm.conf"' "$slurm_state" "$1"
}

slurm_is_up() { # all nodes answer; sinfo appends a star to the state of others
    local as
    slurm_as
    [ "$("${as[@]}" sinfo -h -N -o %T 2>/dev/null | grep -Ecx 'idle|mixed|allocated|completing')" = ${#host_holder[@]} ]
}

# slurm_wait JOB: waits until the job has ended, more often than sbatch --wait, which polls every two seconds. Sets
# $status as sbatch --wait does: the highest of an array, 1 after a signal; 124 if the job does not end.
slurm_wait() {
    local as job=
    slurm_as
    await "${RUN_LIMIT:-120}" slurm_has_ended "$1" && job=$("${as[@]}" scontrol -o show job "$1")
    # shellcheck disable=SC2034 # for the tests
    status=$(sed -n 's/.* ExitCode=\([0-9]*\):\([0-9]*\).*/\1 \2/p' <<<"$job" |
        awk '{ ended = $2 ? 1 : $1 } ended > most { most = ended } END { print NR ? most + 0 : 124 }')
}

slurm_has_ended() {
    local left
    sleep 0.1 # squeue is expensive on a busy machine
    left=$("${as[@]}" squeue -h -j "$1" 2>&1) && [ -z "$left" ]
}

slurm_configure() {
    cat <<CONF
ClusterName=trial
SlurmctldHost=h1(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_state/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
StateSaveLocation=$slurm_state/state
SlurmdSpoolDir=$slurm_state/spool/%n
SlurmctldPidFile=$slurm_state/ctld.pid
SlurmdPidFile=$slurm_state/slurmd.%n.pid
SlurmctldLogFile=$slurm_state/ctld.log
SlurmdLogFile=$slurm_state/slurmd.%n.log
KillWait=10
# The controller then polls nodes every 20 seconds, including those that did not answer.
SlurmdTimeout=60
SlurmdDebug=debug2
# sbatch --wait then polls every two seconds; by default it waits four times as long after each poll.
MinJobAge=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SlurmdParameters=config_overrides
NodeName=h[1-$1] NodeAddr=10.77.0.[1-$1] CPUs=$slurm_cpus State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
CONF
}

# Ends all jobs, daemons and hosts.
slurm_down() {
    local node pid
    for node in "${!host_holder[@]}"; do
        slurm_pid "h$node" >/dev/null || slurm_evidence "h$node" # it should still run
    done
    hosts_down
    pid=$(cat "$slurm_state/munge/pid" 2>/dev/null) && kill "$pid"
    await 60 slurm_is_gone
}

slurm_is_gone() {
    ps -e -o stat=,comm= |
        awk '$1 !~ /^Z/ && $2 ~ /^(munged|slurmctld|slurmd|slurmstepd)$/ { found = 1 } END { exit found }'
}

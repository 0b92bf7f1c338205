/*
 * words.c - exit statuses, the variables of the environment that cctest reads, and terms.
 */
#include "cli/info/words.h"

#include <stddef.h>

const struct status_row status_rows[] = {
    {STATUS_OK, "success"},
    {STATUS_ERROR, "something failed at run time"},
    {STATUS_USAGE, "the command line is invalid; nothing was started"},
    {STATUS_WRONG_DATA, "a result is wrong"},
    {STATUS_SLOW, "slower than --min-busbw asks; accept: a host or link is slow; guidelines: a "
                  "collective is slower than its emulation"},
    {STATUS_TIMEOUT, "no rank progressed for --timeout, or a rank was lost"},
    {STATUS_UNAVAILABLE, "this machine lacks something that the command line names"},
    {STATUS_INTERRUPTED, "interrupted"},
    {STATUS_OK, NULL},
};

/* clang-format off */
const struct word_row variable_rows[] = {
    {{"CCTEST_SECRET"},
     "Shared secret of a rendezvous. Each rank proves that it knows it; other connections are dropped and counted. The "
     "secret itself is never sent. `srun` passes the variable on to its tasks.\n\n"
     "An attacker that listens between two ranks, or makes a rank connect to a listener of its own, can test guesses afterwards, so the secret should be random: `export "
     "CCTEST_SECRET=$(openssl rand -hex 32)`. A secret of fewer than 32 characters is strengthened by a slow hash, which costs each rank a tenth "
     "of a second and 64 MiB at its start; longer ones are taken to be random.\n\n"
     "Messages of the control plane are encrypted with keys derived from the secret. Messages of the collective are "
     "not, for speed: both ends of a connection prove only at its beginning that they know the secret."},
    {{"CCTEST_SECRET_FILE"},
     "File that contains the secret, which only its owner may access. CCTEST_SECRET overrides it. Ranks that meet "
     "through PMIx or PMI have a random secret besides; without any, a job is protected only against accidents, and "
     "rank 0 says so if there are several hosts."},
    {{"HWLOC_FSROOT"},
     "`cctest info --topology` shows the host whose /sys and /proc stand below this folder, as hwloc-gather-topology "
     "copies them. NVLinks are those of this host."},
    {{"CUDA_VISIBLE_DEVICES"}, "GPUs that CUDA shows, in its order: see --device."},
    {{"NCCL_MULTI_RANK_GPU_ENABLE"}, "Read before -a nccl runs several ranks on one GPU."},
    {{"NO_COLOR", "TERM"},
     "No colour if the first is set or the second is 'dumb'; with 'dumb' no line that says what runs, either. Open "
     "MPI's mpirun gives rank 0 a terminal whatever the output is, so there is no colour under it."},
    {{"SLURMD_NODENAME"}, "Slurm's name of the node, by which accept calls the host."},
    {{"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
     "A Slurm step. A batch script, a shell of `srun --pty` or `salloc`, and a step of one task are none: there, "
     "ranks are forked."},
    {{"SLURM_JOB_NUM_NODES"}, "Nodes of a Slurm job: if there are several, and ranks are forked on one, cctest says so."},
    {{"SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES", "SLURM_DISTRIBUTION", "SLURM_JOB_ID", "SLURM_CLUSTER_NAME",
      "SLURM_WORKING_CLUSTER"},
     "Where the ranks of a step meet, and what distinguishes it from others. Without PMIx, rank 0 listens on the first "
     "node of the step, at the first free one of 16 consecutive ports between 20000 and 30015, derived from cluster, "
     "job and step. If the node's name resolves to another network than --interface, give an address by --rendezvous. "
     "With `srun -m arbitrary` rank 0 may be on any node, so --rendezvous is required."},
    {{"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"},
     "A rank of torchrun: rank 0 listens on MASTER_ADDR, at a port derived from MASTER_PORT (which is torchrun's "
     "own) and the run."},
    {{"JOB_COMPLETION_INDEX"}, "A pod of an Indexed Job of Kubernetes: see --rendezvous."},
    {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_FD"},
     "Processes of an MPI launcher; MPICH's mpiexec sets the last four, and serves one command of each process."},
    {{"PMIX_NAMESPACE", "PMIX_RANK"},
     "Either means that the launcher offers PMIx. If libpmix.so.2 loads, its server answers, and the job has more than "
     "one rank, the ranks meet through it."},
    {{"PMIX_VERSION"}, "Version of that server: before version 4 it cannot tell which rank is missing."},
    {{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MPIRUN_RANK", "MPIRUN_NPROCS", "PMI_ID", "PALS_RANKID", "PALS_SIZE",
      "ALPS_APP_PE", "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
     "Launchers that are not supported. Unless the size is 1, they are an error that asks for --rendezvous or --np, as "
     "are variables of several ranks that contradict each other. A shell may have RANK, WORLD_SIZE or SLURM_PROCID alone, "
     "which is none."},
    {{NULL}, NULL},
};

const struct word_row term_rows[] = {
    {{"rank", "host", "node"},
     "A rank is one of the processes (or threads) of a job, numbered from 0; it sends and receives. A host is a "
     "machine with some of them; a node of --shape, or of a hierarchical algorithm, is a group of consecutive ranks."},
    {{"size", "count", "block"},
     "The size of a line is the bytes of the larger buffer of a rank, the count its elements in the collective's own "
     "measure: those of a block (alltoall, allgather, ...) or of the vector (allreduce, broadcast, ...)."},
    {{"p50", "p99", "median", "percentile"},
     "The time of an iteration is that of its slowest rank. p50 is the median of the timed iterations, p99 the time "
     "that 99% of them do not exceed; it has a column from 100 iterations on (-n 100, or -n auto)."},
    {{"algbw", "busbw", "bandwidth"},
     "algbw is the size divided by the p50, in GB/s (10^9 bytes a second). busbw is algbw times a factor that makes it "
     "comparable with the speed of a link: 2(n-1)/n for allreduce of n ranks, 1 for broadcast, reduce and sendrecv, "
     "(n-1)/n for the others."},
    {{"best", "place", "ranking"},
     "Where algorithms compete, `*` marks the one with the least p50 at each size, of those with right data. The "
     "ranking below the table has busbw and place at each size."},
    {{"step", "round", "schedule", "message", "source", "destination", "scratch"},
     "An algorithm writes a schedule for each rank: copies, combinations, sends and receives between the buffers "
     "source, destination and scratch. Steps, or rounds, number the phases of the algorithm. `cctest plan COLLECTIVE "
     "-a ALGORITHM --np N` prints them, and --svg draws them."},
    {{"launcher", "slurm", "srun", "sbatch", "mpirun", "mpiexec", "ssh", "secret"},
     "Started by srun, mpirun, mpiexec or torchrun, each process is a rank; in a batch script, too, ranks on all nodes "
     "need srun. Without a launcher, as by ssh, the same command runs on each host: CCTEST_SECRET_FILE=FILE cctest "
     "allreduce --rendezvous HOST0:29500 --world N --rank R. Alone, it forks ranks on this machine (--np). `cctest "
     "info` tells which of these applies. scripts/slurm has ready batch scripts."},
    {{"nccl-tests", "osu", "perftest"},
     "-b, -e, -f, -n, -w, -c, -d, -o and -r mean what they mean to nccl-tests. Ranks are processes: --np N takes the "
     "place of -g and -t, with -m cuda for memory of GPUs, one for each rank; -m, -a and -x have other meanings. "
     "doc/coming-from-nccl-tests.md (in share/doc/cctest) has all options of these programs."},
    {{"hccl", "ucc", "msccl", "mscclpp"},
     "Libraries whose algorithms cctest has: Huawei's HCCL, UCX's UCC, Microsoft's MSCCL and MSCCL++, beside NVIDIA's "
     "NCCL and the MPIs. `cctest list` says which uses which."},
    {{"good", "bad", "suspect", "unknown", "confirmed", "verdict", "drain", "action"},
     "Verdicts of `cctest accept` on a host: bad, if a fault of its own was confirmed; suspect, if one was not, if it "
     "is that of a link with two ends, or if an agent was ended; unknown, if it could not be judged; else good. A "
     "finding says what was measured, beside which threshold, and the action to take; lines that drain bad nodes in "
     "Slurm follow. FINDINGS in cctest-accept(1) has each kind."},
    {{"stage", "start", "inventory", "self", "pairs", "isolate", "halves", "soak"},
     "Stages of `cctest accept`: inventory compares the hosts' parts, self and node measure each host alone, pairs all "
     "hosts two by two, isolate the suspects again with others, halves and all many hosts at once; a soak (--duration) "
     "repeats them. `cctest help stages` and cctest-accept(1) say more."},
    {{NULL}, NULL},
};

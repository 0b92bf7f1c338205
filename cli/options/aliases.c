/*
 * aliases.c - the names that people bring from nccl-tests, OSU's benchmarks, perftest and launchers.
 *
 * To add one: a row here, and its name in the manual page's section about them (a test compares).
 */
#include "cli/options/internal.h"

#include <stddef.h>
#include <string.h>

#include "base/parse.h"

#define ONE_GPU "ranks are processes: write --np N, one for each GPU, and -m cuda for their memory"
#define HOSTS                                                                                      \
    "a launcher starts ranks on hosts: mpirun --hostfile FILE cctest, srun -w HOSTS cctest"
#define PER_NODE "write --np N for ranks on this machine; " LAUNCHERS
#define AT_ONCE  "all ranks connect at the same time: leave it out"
#define QUIET                                                                                      \
    "results alone go to standard output: write --csv - for numbers, >/dev/null for nothing"
#define LAUNCHERS "options of mpirun and srun stand before cctest's name"

/* clang-format off */
const struct alias option_aliases[] = {
    /* nccl-tests; --check, --datatype, --op, --root and --timeout are also names here. */
    {"minbytes", 0, "min-bytes", NULL},
    {"maxbytes", 0, "max-bytes", NULL},
    {"stepbytes", 0, "step-bytes", NULL},
    {"stepfactor", 0, "step-factor", NULL},
    {"iters", 0, "iterations", NULL},
    {"warmup_iters", 0, "warmup", NULL},
    {"output_file", 'J', "json", NULL},
    {NULL, 'T', "timeout", NULL},
    {"ngpus", 'g', NULL, ONE_GPU},
    {"nthreads", 't', NULL, ONE_GPU},
    {"agg_iters", 'm', NULL, "-m is the kind of memory; for OSU's sizes write -b MIN -e MAX, for "
     "iterations one behind the other, without a barrier, --start back-to-back"},
    {"average", 'a', NULL, "-a names algorithms; a time is that of the slowest rank, and --json has each "
     "rank's under samples"},
    {"cta_policy", 'x', NULL, "-x names transports; --channels N sets the blocks of threads of a GPU, "
     "-w N the warm-up iterations"},
    {"device_implementation", 'D', NULL, "--executor device runs the algorithm of -a inside GPUs"},
    {"device_cta_count", 0, NULL, "--channels N sets the blocks of threads of each GPU"},
    {"parallel_init", 'p', NULL, AT_ONCE},
    {"blocking", 'z', NULL, "each iteration is awaited: leave it out, or choose with --start barrier or "
     "back-to-back how the next begins"},
    {"stream_null", 'y', NULL, "each rank has a stream of its own: leave it out"},
    {"cudagraph", 'G', NULL, "write --graph, with -m cuda, to replay captured launches of kernels"},
    {"report_cputime", 'C', NULL, "times are the host's; --json has the GPU's under device_time_us"},
    {"report_timestamps", 'S', NULL, "lines appear as they are measured: pipe the table through ts"},
    {"local_register", 'R', NULL, "buffers are registered where a transport needs it; --copy says how "
     "messages travel"},
    {"memory_report", 'M', NULL, "memory is checked before a job allocates it; -v says what links take"},
    {"run_cycles", 0, NULL, "repeat the command in the shell: while cctest allreduce; do :; done"},
    {"unalign", 'u', NULL, "buffers begin at whole pages: leave it out"},
    /* OSU's benchmarks; --iterations, --warmup and --help are also names here. */
    {"message_size", 0, NULL, "write -b MIN -e MAX"},
    {"mem_limit", 0, NULL, "write -e MAX; memory is checked before a job allocates it"},
    {"full", 0, NULL, "--csv and --json have min, mean, p90 and max"},
    {"validation", 0, NULL, "write -c N: N checked iterations of each size, by default 2"},
    {"accelerator", 0, NULL, "write -m cuda"},
    {"window_size", 0, NULL, "write it behind the pattern: cctest sendrecv -a uni:window=64"},
    /* perftest; its -q is also everybody's. */
    {"size", 0, NULL, "write -b BYTES -e BYTES"},
    {"qp", 0, NULL, "write -x verbs:qps=N"},
    {"ib_dev", 0, NULL, "write -x verbs:nic=NAME, or NAME:PORT"},
    {"ib_port", 0, NULL, "write -x verbs:nic=NAME:PORT"},
    {"gid_index", 0, NULL, "write -x verbs:gid=INDEX"},
    {"mtu", 0, NULL, "write -x verbs:mtu=BYTES"},
    {"sl", 0, NULL, "write -x verbs:sl=N"},
    {"use_cuda", 0, NULL, "write -m cuda"},
    {"report_gbits", 0, NULL, "the table has GB/s, of 8 Gbit/s each"},
    {"bidirectional", 0, NULL, "write cctest sendrecv -a bidir"},
    {"tx_depth", 0, NULL, "write it behind the pattern: cctest sendrecv -a uni:window=64"},
    /* Launchers, and words for the number of ranks. */
    {"nranks", 0, "np", NULL},
    {"ranks", 0, "np", NULL},
    {"num_ranks", 0, "np", NULL},
    {"nprocs", 0, "np", NULL},
    {"nproc", 0, "np", NULL},
    {"ntasks", 0, "np", NULL},
    {"bind_to", 0, "bind", NULL},
    {"mca", 0, NULL, LAUNCHERS},
    {"map_by", 0, NULL, LAUNCHERS},
    {"oversubscribe", 0, NULL, LAUNCHERS},
    {"allow_run_as_root", 0, NULL, LAUNCHERS},
    {"npernode", 'N', NULL, PER_NODE},
    {"ppn", 0, NULL, PER_NODE},
    {"nodes", 0, NULL, PER_NODE},
    {"hostfile", 0, NULL, HOSTS},
    {"machinefile", 0, NULL, HOSTS},
    {"nodelist", 0, NULL, HOSTS},
    {"hosts", 0, NULL, HOSTS},
    {"host", 'H', NULL, HOSTS},
    /* Everybody's. */
    {"quiet", 'q', NULL, QUIET "; for perftest's queue pairs -x verbs:qps=N"},
    {"silent", 0, NULL, QUIET},
    {NULL, 'V', "version", NULL},
    {NULL, 0, NULL, NULL},
};
/* clang-format on */

const struct alias *alias_named(const char *name)
{
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++)
        if (alias->name && name_equal(name, alias->name))
            return alias;
    return NULL;
}

const struct alias *alias_lettered(int letter)
{
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++)
        if (alias->letter && alias->letter == letter)
            return alias;
    return NULL;
}

const char *program_way(const char *name)
{
    static const char *const programs[][2] = {
        {"osu_latency", "cctest sendrecv -a pingpong"},
        {"osu_bw", "cctest sendrecv -a uni:window=64"},
        {"osu_bibw", "cctest sendrecv -a bidir:window=64"},
        {"osu_mbw_mr", "cctest sendrecv -a pairs:window=64"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(name, programs[i][0]) == 0)
            return programs[i][1];
    return NULL;
}

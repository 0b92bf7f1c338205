/*
 * options.c - the rows of the option table, in the order of `--help`.
 *
 * To add an option: a row here, its paragraph in man/cctest.1 (a test compares the two), a field
 * in struct job, and another value of it in tests/unit/cli/test_options_compared.c.
 */
#include "cli/options/internal.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

const char *const option_group_titles[GROUPS] = {
    [GROUP_WHAT] = "What to run",       [GROUP_SWEEP] = "Sizes and iterations",
    [GROUP_LINKS] = "Memory and links", [GROUP_RANKS] = "Ranks",
    [GROUP_ACCEPT] = "Acceptance",      [GROUP_MODEL] = "Prediction",
    [GROUP_TUNE] = "Tuning",            [GROUP_RESULTS] = "Results",
    [GROUP_FAULTS] = "Fault injection",
};

#define SIZE_MOST  ((long long)1 << 46) /* 64T: sums over ranks cannot overflow */
#define COUNT_MOST 4000000              /* samples that fit into a rank's report */
#define SLOTS_MOST 65536
#define SLOT_LEAST 64         /* a cache line; also holds an element of any type */
#define SLOT_MOST  (64 << 20) /* a transport refuses more than all its lanes can have */

/* clang-format off */
#define FIELD(name) .field = offsetof(struct request, name), .width = sizeof(((struct request *)0)->name)

static const char *const counts_words[] = {"uniform", "zipf:", "hot:", "spread", NULL};
static const char *const split_words[] = {"node", "rail", NULL};
static const char *const place_words[] = {"block", "cyclic", "random:", NULL};
static const char *const start_words[] = {"barrier", "back-to-back", NULL};
static const char *const executor_words[] = {"auto", "host", "device", NULL};
static const char *const protocol_words[] = {"auto", "simple", "ll", NULL};
static const char *const bind_words[] = {"core", "none", NULL};
static const char *const pairs_words[] = {"some", "all", NULL};
static const char *const ranks_as_words[] = {"auto", "processes", "threads", NULL};

const struct option_row option_table[] = {
    {.name = "algorithm", .letter = 'a', .argument = "A[,B...]", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN, .kind = &kind_algorithm,
     .help = "algorithms to compare, each with its options: bruck:radix=4,pairwise; 'all': every "
             "algorithm of the collective; 'auto': one for each size, by a rule; 'file:PATH': the "
             "schedules of a file, proven first; of several collectives each runs those that it has",
     .standard_note = "auto"},
    {.name = "datatype", .letter = 'd', .argument = "TYPE[,TYPE...]", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_list, .table = &datatype_table, .standard = "float",
     .help = "types of the elements, one after the other; 'all': every type"},
    {.name = "op", .letter = 'o', .argument = "OP[,OP...]", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_list, .table = &reduction_table, .standard = "sum",
     .help = "operations that combine elements, if the collective combines; 'all': every operation, "
             "with the types that have it"},
    {.name = "root", .letter = 'r', .argument = "RANK|all", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_whole, FIELD(job.root), .standard = "0",
     .most = JOB_RANKS_MOST - 1, .word = "all", .word_value = ROOT_ALL,
     .advice = "give a rank's number, counted from 0, or 'all'",
     .help = "root of a rooted collective; 'all': the next rank in each iteration"},
    {.name = "in-place", .group = GROUP_WHAT, .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE,
     .kind = &kind_switch, FIELD(job.in_place),
     .help = "source and destination share memory"},

    {.name = "counts", .argument = "SPEC", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN, .kind = &kind_counts, .file = FILE_READ, .words = counts_words, .standard = "spread",
     .help = "block lengths of alltoallv and the other forms with counts: uniform, zipf:S, hot:F, "
             "spread, or a file with numbers of elements (a line for each sender)"},
    {.name = "shape", .argument = "NODESxRANKS", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN, .kind = &kind_shape,
     .help = "groups of consecutive ranks for hierarchical algorithms, instead of the real nodes; for predict, the hosts"},
    {.name = "split", .argument = "WAY|FILE", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT, .kind = &kind_split, .file = FILE_READ, .words = split_words,
     .help = "run the collective in many groups of ranks at the same time: 'node' (a group for each "
             "host), 'rail' (the ranks with the same place on their hosts), a number of ranks, or a "
             "file with a line for each group"},

    {.name = "min-bytes", .letter = 'b', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_size, FIELD(job.smallest), .most = SIZE_MOST,
     .standard = "1K", .help = "smallest size: bytes of the larger buffer of a rank"},
    {.name = "max-bytes", .letter = 'e', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_size, FIELD(job.largest), .most = SIZE_MOST,
     .standard = "16M", .help = "largest size"},
    {.name = "step-factor", .letter = 'f', .argument = "FACTOR", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_whole, FIELD(job.factor), .least = 2, .most = 1 << 20,
     .standard = "4", .help = "factor from one size to the next"},
    {.name = "step-bytes", .letter = 'i', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_size, FIELD(job.increment), .least = 1, .most = SIZE_MOST,
     .help = "bytes from one size to the next, instead of a factor"},
    {.name = "iterations", .letter = 'n', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_iterations, FIELD(job.iterations), .most = COUNT_MOST,
     .standard = "20", .word = "auto",
     .help = "timed iterations of each size; 'auto': until the 95% confidence interval of the median "
             "is within 2% of it, or --budget is spent"},
    {.name = "budget", .argument = "SECONDS", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_real, FIELD(job.budget), .most = 86400,
     .standard_note = "5; tune: 300",
     .help = "time for the iterations of a line that -n auto times; tune: for all measurements"},
    {.name = "warmup", .letter = 'w', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(job.warmup), .most = COUNT_MOST,
     .standard = "5", .help = "untimed iterations before the timed ones"},
    {.name = "check", .letter = 'c', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(job.checked), .most = COUNT_MOST,
     .standard = "2", .word = "all", .word_value = CHECKED_ALL,
     .help = "more iterations, in which every element is checked; 'all': the timed ones"},
    {.name = "start", .argument = "MODE", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(job.start), .words = start_words,
     .standard = "barrier",
     .help = "how iterations begin: after a 'barrier', or 'back-to-back'"},
    {.name = "seed", .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_ACCEPT | FOR_TUNE, .kind = &kind_whole, FIELD(job.seed), .most = INT64_MAX,
     .standard = "1", .help = "seed of the random inputs"},

    {.name = "memory", .letter = 'm', .argument = "KIND", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_ACCEPT | FOR_TUNE, .kind = &kind_memory, .table = &memory_table, .standard = "host",
     .help = "memory of the buffers: 'host' (private), 'shared' (peers read it in place), or 'cuda'"},
    {.name = "device", .argument = "GPU[,GPU...]", .group = GROUP_LINKS, .per_rank = true,
     .commands = FOR_RUN | FOR_ACCEPT | FOR_TUNE, .kind = &kind_memory_devices, FIELD(job.devices),
     .standard_note = "all, in turn",
     .help = "GPUs that the ranks of this host take in turn, by CUDA's number or by PCI address"},
    {.name = "transport", .letter = 'x', .argument = "X[,Y...]", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_transport, .standard = "auto",
     .help = "transports to use, each with its options; each pair of ranks takes the first that "
             "connects it; 'auto': any"},
    {.name = "executor", .argument = "WHAT", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_words, FIELD(job.executor), .words = executor_words,
     .standard = "auto",
     .help = "what runs the schedules: the 'host', which posts each operation; the 'device' (GPU) "
             "that has the buffers, by one kernel for each iteration; 'auto': the device where it can"},
    {.name = "protocol", .argument = "WHAT", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_words, FIELD(job.protocol), .words = protocol_words,
     .standard = "auto",
     .help = "how messages of the device executor pass that no device copies from buffer to buffer: "
             "'simple' (data, then a count), 'll' (all messages: data and flag in one word), 'auto' "
             "(short ones by ll)"},
    {.name = "graph", .group = GROUP_LINKS, .commands = FOR_RUN | FOR_TUNE, .kind = &kind_switch, FIELD(job.graph),
     .help = "capture the launch of a schedule's kernel once, as a CUDA graph, and replay it"},
    {.name = "copy", .argument = "WAY", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_words, FIELD(job.copy), .words = copy_names,
     .standard = "auto",
     .help = "how messages travel: 'bcopy' (through slots), 'zcopy' (directly to the destination), "
             "'ll' (shm: data and flag in one word), 'auto' (by length, memory and cores)"},
    {.name = "chunk", .argument = "SIZE", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_size, FIELD(job.chunk), .most = SIZE_MOST, .standard = "auto",
     .word = "auto", .word_value = (long long)GRAIN_AUTO,
     .help = "grain of pipelining, in bytes; 'auto': a quarter of the message, 128K to 1M; 0: no "
             "pipelining"},
    {.name = "channels", .argument = "N", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_whole, FIELD(job.channels), .least = 1,
     .most = CHANNELS_MOST, .standard = "auto", .word = "auto", .word_value = CHANNELS_AUTO,
     .help = "lanes for each pair of ranks; each carries a slice of every block; 'auto': 1; where "
             "devices run the schedules, 1 to 64 by size"},
    {.name = "slots", .argument = "N", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_whole, FIELD(job.slots), .least = 1, .most = SLOTS_MOST,
     .standard_note = "the transport's choice",
     .help = "slots of a lane, for messages that travel by bcopy over shm or verbs"},
    {.name = "slot-size", .argument = "SIZE", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_size, FIELD(job.slot_bytes), .least = SLOT_LEAST,
     .most = SLOT_MOST, .standard_note = "the transport's choice",
     .help = "payload bytes of a slot, for messages that travel by bcopy; over tcp also for "
             "messages that are combined"},
    {.name = "interface", .argument = "ADDRESS|DEVICE", .group = GROUP_LINKS, .per_rank = true,
     .commands = FOR_RUN | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_device, FIELD(job.bootstrap.interface),
     .standard_note = "any; loopback if all ranks are on one host",
     .help = "network address or device to listen on: for tcp, and at rank 0 for joining ranks"},

    {.name = "np", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_whole, FIELD(job.bootstrap.np),
     .least = 1, .most = JOB_RANKS_MOST, .standard_note = "one per core, 2 to 8; plan: 4",
     .help = "number of ranks to start on this machine; plan: number of ranks"},
    {.name = "ranks-as", .argument = "WHAT", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(job.bootstrap.ranks_as), .words = ranks_as_words,
     .standard = "auto",
     .help = "local ranks are 'processes', or 'threads' of one process; 'auto': threads where "
             "several ranks share a GPU"},
    {.name = "bind", .argument = "WHAT", .group = GROUP_RANKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_words, FIELD(job.bind), .words = bind_words,
     .standard = "core",
     .help = "bind each rank to a 'core', of its own if the host has enough, or to 'none'"},
    {.name = "rendezvous", .argument = "HOST:PORT", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_address, FIELD(job.bootstrap.rendezvous),
     .help = "join the job whose rank 0 listens there; needs --rank (but in an Indexed Job of Kubernetes) "
             "and --world"},
    {.name = "rank", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_PLAN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_whole, FIELD(job.bootstrap.rank),
     .most = JOB_RANKS_MOST - 1,
     .help = "this process's rank at the rendezvous; plan: show only this rank"},
    {.name = "world", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_whole, FIELD(job.bootstrap.world), .least = 1,
     .most = JOB_RANKS_MOST, .help = "number of ranks that meet at the rendezvous"},
    {.name = "timeout", .argument = "SECONDS", .group = GROUP_RANKS,
     .commands = FOR_RUN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_real, FIELD(job.bootstrap.timeout), .most = 86400,
     .standard = "30",
     .help = "end the job if no rank makes progress for so long; info: give up a driver that does "
             "not answer"},

    {.name = "stages", .argument = "STAGE[:SECONDS][,STAGE...]", .group = GROUP_ACCEPT,
     .commands = FOR_ACCEPT, .kind = &kind_stages,
     .standard_note = "all",
     .help = "what to do, and how long each may take, always in the order of the manual: start, inventory, self, "
             "node, pairs, isolate, halves, all"},
    {.name = "quick", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT, .kind = &kind_switch,
     FIELD(accept.quick), .help = "measure briefly, and end within two minutes of the start"},
    {.name = "false-alarms", .argument = "SHARE", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT,
     .kind = &kind_real, FIELD(accept.false_alarms), .most = 1, .standard = "0.01",
     .help = "the share of healthy fleets in which noise may be taken for a fault; less: larger faults alone "
             "are found"},
    {.name = "pairs", .argument = "WHICH", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT,
     .kind = &kind_words, FIELD(accept.all_pairs), .words = pairs_words, .standard = "some",
     .help = "'all': each host meets each other; 'some': each meets at least 7 and log2(hosts) "
             "others"},
    {.name = "switches", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_READ, FIELD(accept.switches),
     .help = "which hosts are behind which switches, at rank 0: Slurm's topology.conf, or lines as "
             "'s1: n[1-16,18]'"},
    {.name = "duration", .argument = "TIME", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT,
     .kind = &kind_duration, FIELD(accept.duration), .most = 30 * 86400,
     .help = "soak: repeat the stages from self on until so long (90s, 30m, 2h) after the start, and tell what "
             "drifts, dips or counts errors"},
    {.name = "good", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.good),
     .help = "write the hosts that are good, as a list that Slurm takes: n[1-16,18-64]"},
    {.name = "bad", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.bad),
     .help = "likewise those that are bad"},
    {.name = "junit", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.junit),
     .help = "write JUnit XML: a case for each host and stage"},
    {.name = "profile", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_READ, FIELD(accept.profile),
     .help = "hold hosts against what this file asks: least bandwidth, most latency, what they have"},
    {.name = "write-profile", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.write_profile),
     .help = "write such a file, of the hosts that are good"},
    {.name = "baseline", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_READ, FIELD(accept.baseline),
     .help = "hold hosts against an earlier run, whose JSON this is"},

    {.name = "model", .argument = "FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_file, .file = FILE_READ, FIELD(job.model),
     .help = "the costs of cores and links, as cctest fit writes them, from which times are predicted; a "
             "run shows them beside its own; tune leaves out what is predicted to be slow"},
    {.name = "topology", .argument = "SPEC|FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_PREDICT, .kind = &kind_file, .file = FILE_READ, FIELD(predict.topology),
     .help = "the network that the ranks share: fat-tree:k=8, leaf-spine:radix=32:oversubscription=2, "
             "rail:hosts=16:rails=8, torus:8x8x8, mesh:4x4, ring:16, dragonfly:a=4:h=2:p=2, Slurm's "
             "topology.conf, or the XML of a node by hwloc or NCCL; shows the load of its links"},
    {.name = "place", .argument = "WAY|FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_PREDICT, .kind = &kind_file, .file = FILE_READ, .words = place_words, FIELD(predict.place), .standard_note = "block",
     .help = "which rank sits where on the topology: block, cyclic, random:SEED, or a file with a line "
             "for each rank: a place's number, or a host"},
    {.name = "output", .letter = 'o', .argument = "FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_FIT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.output),
     .help = "write the model; '-': to standard output"},

    {.name = "rank-counts", .argument = "N[,N...]", .group = GROUP_TUNE, .commands = FOR_TUNE,
     .kind = &kind_rank_counts, .standard_note = "2, 3, 4, 6, 8, 12 ..., and all",
     .help = "numbers of ranks of which the fastest algorithms are sought"},
    {.name = "tuning", .argument = "FILE", .group = GROUP_TUNE,
     .commands = FOR_RUN | FOR_PLAN | FOR_TUNE, .kind = &kind_tuning, .file = FILE_READ,
     .help = "JSON of tune, by which 'auto' picks; tune: measure nothing, and write its winners as the "
             "next options say"},
    {.name = "ompi", .argument = "FILE", .group = GROUP_TUNE, .per_rank = true,
     .commands = FOR_TUNE, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(tune.ompi),
     .help = "write the winners as Open MPI's file of dynamic rules (coll_tuned_dynamic_rules_filename)"},
    {.name = "mpich", .argument = "FILE", .group = GROUP_TUNE, .per_rank = true,
     .commands = FOR_TUNE, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(tune.mpich),
     .help = "write them as MPICH's JSON (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)"},
    {.name = "nccl", .argument = "FILE", .group = GROUP_TUNE, .per_rank = true,
     .commands = FOR_TUNE, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(tune.nccl),
     .help = "write them as the CSV of NCCL's tuner plugin (NCCL_TUNER_CONFIG_FILE)"},

    {.name = "topology", .group = GROUP_RESULTS, .commands = FOR_INFO, .kind = &kind_switch,
     FIELD(predict.shows_topology),
     .help = "show the parts of this machine (packages, NUMA nodes, caches, PCIe bridges, GPUs, NICs), and "
             "how far they are apart"},
    {.name = "json", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_LIST | FOR_INFO | FOR_ACCEPT | FOR_GUIDELINES |
                 FOR_TUNE,
     .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.json),
     .help = "write JSON; '-': to standard output, then the table goes to standard error"},
    {.name = "csv", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.csv),
     .help = "write a CSV table; '-': to standard output"},
    {.name = "samples", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.samples),
     .help = "write each rank's time of each timed iteration, as CSV; '-': to standard output"},
    {.name = "svg", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN | FOR_PREDICT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.svg),
     .help = "draw the plan, or with --topology the load of links; '-': to standard output, without "
             "the text"},
    {.name = "goal", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(plan.goal),
     .help = "write the plan of all ranks in GOAL, for the simulator LogGOPSim; '-': to standard output, "
             "without the text"},
    {.name = "calc", .argument = "NS", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_real, FIELD(plan.calc), .most = 1000000,
     .standard_note = "0", .help = "nanoseconds that a byte of a copy or a reduction takes there"},
    {.name = "msccl", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(plan.msccl),
     .help = "write the plan of all ranks in MSCCL's XML; '-': to standard output, without the text"},
    {.name = "html", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_ACCEPT | FOR_REPORT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.html),
     .help = "write a page that a browser shows without network; '-': to standard output"},
    {.name = "min-busbw", .argument = "GB/S", .group = GROUP_RESULTS,
     .commands = FOR_RUN, .kind = &kind_real, FIELD(job.min_busbw), .most = 1000000,
     .help = "exit with status 4 if the best algorithm is slower than this at the largest size"},
    {.name = "profile", .group = GROUP_RESULTS, .commands = FOR_RUN,
     .kind = &kind_switch, FIELD(job.profile),
     .help = "show where each rank's time goes: copying, reducing, waiting, other"},
    {.name = "verbose", .letter = 'v', .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_ALL, .kind = &kind_whole, FIELD(job.bootstrap.verbosity), .most = 2,
     .help = "print more; twice: print everything"},
    {.name = "version", .group = GROUP_RESULTS, .commands = FOR_ALL, .kind = &kind_command,
     .help = "print the version"},
    {.name = "help", .letter = 'h', .group = GROUP_RESULTS, .commands = FOR_ALL,
     .kind = &kind_command, .help = "print this; see also `cctest help COMMAND`"},

    {.name = "inject", .argument = "FAULT[,...]", .group = GROUP_FAULTS,
     .commands = FOR_RUN, .kind = &kind_inject,
     .help = "inject faults, to show that cctest detects them: corrupt:rank=R:iteration=I, "
             "drop:rank=R:iteration=I, delay:rank=R:us=N, kill:rank=R:iteration=I, "
             "stop:rank=R:iteration=I or silent:rank=R:iteration=I"},
    {.name = NULL},
};
/* clang-format on */

_Static_assert(sizeof option_table / sizeof option_table[0] <= OPTIONS_MOST,
               "arrays of arguments have a place for each option");

const struct option_row *option_find(const char *name)
{
    for (const struct option_row *row = option_table; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const struct option_row *option_of(const char *name, unsigned takers)
{
    for (const struct option_row *row = option_table; row->name; row++)
        if ((row->commands & takers) && strcmp(row->name, name) == 0)
            return row;
    return option_find(name);
}

static void text_add_value(struct text *text, json_t *value)
{
    size_t index;
    const char *key, *separator = "";
    json_t *item;
    switch (json_typeof(value)) {
    case JSON_STRING:
        text_add(text, "%s", json_string_value(value));
        break;
    case JSON_INTEGER:
        text_add(text, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        text_add(text, "%.15g", json_real_value(value));
        break;
    case JSON_ARRAY:
        json_array_foreach(value, index, item)
        {
            text_add(text, "%s", index ? "," : "");
            text_add_value(text, item);
        }
        break;
    case JSON_OBJECT: /* "drop:rank=1:iteration=0" */
        json_object_foreach(value, key, item)
        {
            text_add(text, "%s%s%s", separator, json_is_string(item) ? "" : key,
                     json_is_string(item) ? "" : "=");
            text_add_value(text, item);
            separator = ":";
        }
        break;
    default:
        break;
    }
}

/* Was the option given, or has it a default? */
static bool has_value(const json_t *value)
{
    return value && !json_is_null(value) && !json_is_false(value) &&
           !(json_is_array(value) && json_array_size(value) == 0);
}

static void text_add_option(struct text *text, const struct option_row *row,
                            const struct request *request)
{
    json_t *value = (row->kind->compare ? row->kind->compare : row->kind->show)(row, request);
    if (has_value(value)) {
        if (row->letter)
            text_add(text, " -%c", row->letter);
        else
            text_add(text, " --%s", row->name);
        text_add(text, "%s", row->argument ? " " : "");
        text_add_value(text, value);
    }
    json_decref(value);
}

void options_compared(const struct request *request, unsigned command, char to[COMPARED_TEXT_MOST])
{
    struct text text = text_in(to, COMPARED_TEXT_MOST);
    char names[COLLECTIVES_TEXT_MOST];
    text_add(&text, "%s%s", command == FOR_ACCEPT ? "accept" : command == FOR_TUNE ? "tune " : "",
             collectives_text(request, names));
    for (const struct option_row *row = option_table; row->name; row++)
        if ((row->commands & command) && !row->per_rank && row->kind->show)
            text_add_option(&text, row, request);
}

json_t *json_options(const struct request *request, unsigned command)
{
    json_t *options = json_object();
    for (const struct option_row *row = option_table; row->name; row++)
        if (row->kind->show && (row->commands & command))
            json_object_set_new(options, row->name, row->kind->show(row, request));
    return options;
}

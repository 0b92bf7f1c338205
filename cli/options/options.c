/*
 * options.c - the rows of the option table, in the order of help and manual.
 *
 * To add an option: a row here, its field (of struct job, or of its command), and another value of it
 * in tests/unit/cli/test_options_compared.c.
 */
#include "cli/options/internal.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

const char *const option_group_titles[GROUPS] = {
    [GROUP_WHAT] = "What to run",
    [GROUP_SWEEP] = "Sizes and iterations",
    [GROUP_LINKS] = "Memory and links",
    [GROUP_RANKS] = "Ranks",
    [GROUP_ACCEPT] = "Acceptance",
    [GROUP_MODEL] = "Prediction",
    [GROUP_TUNE] = "Tuning",
    [GROUP_RESULTS] = "Results",
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
     .brief = "algorithms to compare; all: every one", .help = "algorithms to compare, each with its options: bruck:radix=4,pairwise; 'all': every "
             "algorithm of the collective; 'auto': one for each size, by a rule; 'file:PATH': the "
             "schedules of a file, proven first; of several collectives each runs those that it has",
     .standard_note = "auto",
     .text = "'all' leaves out the algorithms that do not support this number of ranks (-v lists "
             "them). 'auto' takes few steps for short messages, few bytes for long ones, and regards "
             "the nodes; with --tuning it takes what was measured. The table shows the choice and the "
             "reason. 'nccl' runs NVIDIA's library beside cctest's algorithms: see cctest-gpu(7). "
             "'file:PATH' runs schedules of a file: see cctest-plan(1).\n\n"
             "Options follow the name of an algorithm; `cctest list COLLECTIVE` shows them. The value "
             "of some is another algorithm, and the options of that part follow a dot: "
             "'hier:intra=mesh:inter=recexch:inter.radix=4'.\n\n"
             "Hierarchical algorithms group the ranks by node, by --shape, or by 'groups=4' or "
             "'groups=2+3' (consecutive ranks). Rings with 'order=auto' order the ranks so that near "
             "ones are neighbours: see cctest-plan(1). A collective that has no algorithm of the list is an error; 'all' in the place of collectives leaves it out."},
    {.name = "datatype", .letter = 'd', .argument = "TYPE[,TYPE...]", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_list, .table = &datatype_table, .standard = "float",
     .brief = "types of the elements", .help = "types of the elements, one after the other; 'all': every type",
     .text = "Floats of 8 and 16 bits are combined in float and rounded to nearest, ties to even, "
             "after every step. float8_e4m3 has no infinities: values beyond 448 become NaN. "
             "float_int32, int32_int32 (8 bytes), double_int64 and int64_int64 (16 bytes, without "
             "padding) are pairs of a value and an index, for maxloc and minloc. Other names are "
             "known, too: fp32, half, bf16, e4m3, i32, u8, byte, 2int."},
    {.name = "op", .letter = 'o', .argument = "OP[,OP...]", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_list, .table = &reduction_table, .standard = "sum",
     .help = "operations that combine elements, if the collective combines; 'all': every operation, "
             "with the types that have it",
     .text = "Each operation runs with the types of -d that have it; an operation that is named and "
             "has none is an error. avg is the sum, divided by the number of ranks once, at the end. "
             "An integer sum wraps, and the division rounds towards 0. land, lor and lxor (0 is false, "
             "results are 0 or 1) and band, bor and bxor need integers. maxloc and minloc need pairs; "
             "of equal values they take the smaller index. Collectives that combine nothing ignore "
             "this option."},
    {.name = "root", .letter = 'r', .argument = "RANK|all", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_whole, FIELD(job.root), .standard = "0",
     .most = JOB_RANKS_MOST - 1, .word = "all", .word_value = ROOT_ALL,
     .advice = "give a rank's number, counted from 0, or 'all'",
     .help = "root of a rooted collective; 'all': the next rank in each iteration",
     .forms = {{FOR_PLAN, "root of a rooted collective", NULL}}},
    {.name = "in-place", .group = GROUP_WHAT, .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE,
     .kind = &kind_switch, FIELD(job.in_place),
     .help = "source and destination share memory"},

    {.name = "counts", .argument = "SPEC", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN, .kind = &kind_counts, .file = FILE_READ, .words = counts_words, .standard = "spread",
     .help = "block lengths of alltoallv and the other forms with counts: uniform, zipf:S, hot:F, "
             "spread, or a file with numbers of elements (a line for each sender)",
     .text = "- uniform: all blocks are equal\n"
             "- zipf:S: the k-th most popular rank, drawn from the seed, gets 1/k^S of what the most "
             "popular one gets\n"
             "- hot:F: rank 0 gets the fraction F\n"
             "- spread: in proportion to the rank; where each pair has a block, to the distance from "
             "the sender: from nothing to twice the mean\n"
             "- FILE: a number of elements for each rank; for alltoallv a line for each sender with a "
             "number for each receiver. Blanks or commas separate numbers, and '#' begins a comment. A "
             "file sets the one size, so -b and -e are refused.\n\n"
             "Collectives with blocks of equal length refuse this option."},
    {.name = "shape", .argument = "NODESxRANKS", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN, .kind = &kind_shape,
     .help = "groups of consecutive ranks for hierarchical algorithms, instead of the real nodes",
     .forms = {{FOR_PREDICT, "hosts of the ranks, and ranks of each", NULL}},
     .text = "'2x4': two groups of four ranks each, on any nodes. Groups change what algorithms do and "
             "what 'auto' picks, but not which links are used."},
    {.name = "split", .argument = "WAY|FILE", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PREDICT, .kind = &kind_split, .file = FILE_READ, .words = split_words,
     .help = "run the collective in many groups of ranks at the same time: 'node' (a group for each "
             "host), 'rail' (the ranks with the same place on their hosts), a number of ranks, or a "
             "file with a line for each group",
     .text = "- node: a group for each host\n"
             "- rail: the ranks with the same place on their hosts: all the first, all the second, ...\n"
             "- K: ranks 0 to K-1, K to 2K-1, ...\n"
             "- FILE: a line for each group, with ranks and ranges such as '0-3,8' between blanks or "
             "commas; '#' begins a comment\n\n"
             "Each rank is in one group, and all groups have the same number of ranks. Groups are "
             "numbered in the order of their first ranks. All groups begin each iteration together and "
             "share links and cores. Each does the whole work on inputs of its own: --root, --shape "
             "and --counts hold for a group, whose ranks count from 0 there. --inject, --samples and "
             "sentences about faults name ranks as the job counts them. The option does not go with -a "
             "nccl. auto picks by the ranks of a group, and by its nodes if all groups have alike ones."},

    {.name = "min-bytes", .letter = 'b', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_size, FIELD(job.smallest), .most = SIZE_MOST,
     .standard = "1K", .brief = "first size", .help = "smallest size: bytes of the larger buffer of a rank",
     .forms = {{FOR_PLAN, "bytes of the larger buffer of a rank; without it a block is one element", ""}},
     .text = "The default is the largest size where that is smaller."},
    {.name = "max-bytes", .letter = 'e', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_size, FIELD(job.largest), .most = SIZE_MOST,
     .standard = "16M", .brief = "last size", .help = "largest size",
     .text = "The default is the smallest size where that is larger."},
    {.name = "step-factor", .letter = 'f', .argument = "FACTOR", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_whole, FIELD(job.factor), .least = 2, .most = 1 << 20,
     .standard = "4", .help = "factor from one size to the next",
     .text = "At least 2."},
    {.name = "step-bytes", .letter = 'i', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_size, FIELD(job.increment), .least = 1, .most = SIZE_MOST,
     .help = "bytes from one size to the next, instead of a factor"},
    {.name = "iterations", .letter = 'n', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_iterations, FIELD(job.iterations), .most = COUNT_MOST,
     .standard = "20", .word = "auto",
     .brief = "timed iterations of each size", .help = "timed iterations of each size; 'auto': until the 95% confidence interval of the median "
             "is within 2% of it, or --budget is spent",
     .text = "With 'auto' a line has 6 iterations at least and 100000 at most. The table shows the "
             "iterations, how far the interval reaches from the p50 ('+-%'), and whether the interval, "
             "the budget or the most iterations ended the line ('ended'). The interval is "
             "nonparametric (order statistics, binomial coverage) and takes iterations for "
             "independent; -v tells of a trend. Batches double: after each, the ranks reduce their "
             "times and rank 0 decides for all. Each rank keeps its samples, about 32 bytes each. Before each batch come the iterations of --warmup and a barrier. With -r all each root has as many iterations as the others, and with --split batches follow until the medians of all groups are known. Samples count in the memory that a job asks of its host, but not with -m cuda."},
    {.name = "budget", .argument = "SECONDS", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_real, FIELD(job.budget), .most = 86400,
     .standard_note = "5", .help = "time for the iterations of a line that -n auto times",
     .forms = {{FOR_TUNE, "time for all measurements", "300"}},
     .text = "The first batch always runs; another one runs if it fits into the time that is left. It adds an eighth of the iterations at least."},
    {.name = "warmup", .letter = 'w', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(job.warmup), .most = COUNT_MOST,
     .standard = "5", .help = "untimed iterations before the timed ones",
     .text = "NCCL may run more: see cctest-gpu(7)."},
    {.name = "check", .letter = 'c', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(job.checked), .most = COUNT_MOST,
     .standard = "2", .word = "all", .word_value = CHECKED_ALL,
     .help = "more iterations, in which every element is checked; 'all': the timed ones",
     .text = "Checked iterations precede the timed ones. With 'all' the timed iterations are checked, "
             "and no others: new inputs are made before, and results compared after the time of each; "
             "iterations take turns on up to four sets of buffers, which the check has touched, so "
             "times may be longer or shorter.\n\n"
             "A flipped bit shows in all data that is only moved, in sums, products and bxor of "
             "integers, and in band and bor within two checked iterations. Other operations can hide "
             "it: floats round small differences away; min, max, minloc and maxloc keep one value of "
             "many; land, lor and lxor see only whether a value is 0; avg of integers drops the "
             "remainder. 0: none."},
    {.name = "start", .argument = "MODE", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(job.start), .words = start_words,
     .standard = "barrier",
     .help = "how iterations begin: after a 'barrier', or 'back-to-back'",
     .text = "- barrier: a barrier before each iteration; the ranks of a host meet in shared memory, "
             "the first ranks of all hosts over the links\n"
             "- back-to-back: each rank begins when it has ended the iteration before\n\n"
             "The results differ by up to a factor of two."},
    {.name = "seed", .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_ACCEPT | FOR_TUNE, .kind = &kind_whole, FIELD(job.seed), .most = INT64_MAX,
     .standard = "1", .help = "seed of the random inputs"},

    {.name = "memory", .letter = 'm', .argument = "KIND", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_ACCEPT | FOR_TUNE, .kind = &kind_memory, .table = &memory_table, .standard = "host",
     .brief = "where buffers lie: host, shared, cuda", .help = "memory of the buffers: 'host' (private), 'shared' (peers read it in place), or 'cuda'",
     .text = "Each rank of a host takes the next GPU: see --device. The GPU makes the inputs, combines "
             "and checks. Messages over transports that do not reach its memory are staged: they pass "
             "through rings of pinned host memory; the table names such links. A GPU or host with too "
             "little memory is named, with how much it lacks, before anything is allocated. Without a driver, or if cctest was built without CUDA, the status is 77."},
    {.name = "device", .argument = "GPU[,GPU...]", .group = GROUP_LINKS, .per_rank = true,
     .commands = FOR_RUN | FOR_ACCEPT | FOR_TUNE, .kind = &kind_memory_devices, FIELD(job.devices),
     .standard_note = "all, in turn",
     .help = "GPUs that the ranks of this host take in turn, by CUDA's number or by PCI address",
     .text = "Rank i of a host takes entry i modulo the length of the list. An entry is a number, as "
             "CUDA counts the GPUs that CUDA_VISIBLE_DEVICES leaves, or a PCI address such as "
             "0000:3b:00.0, as nvidia-smi(1) shows it. CUDA may count in another order than nvidia-smi "
             "(CUDA_DEVICE_ORDER). Where a launcher gives each rank a CUDA_VISIBLE_DEVICES of its own, "
             "number 0 is another GPU in each rank; cctest tells them apart by PCI address and UUID. A GPU that is not there is a usage error."},
    {.name = "transport", .letter = 'x', .argument = "X[,Y...]", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_transport, .standard = "auto",
     .brief = "links to use: shm, tcp, verbs, cuda", .help = "transports to use, each with its options; each pair of ranks takes the first that "
             "connects it; 'auto': any",
     .text = "- cuda: GPUs of one host that map each other's memory, with -m cuda: see cctest-gpu(7)\n"
             "- shm: ranks of one host\n"
             "- verbs: RDMA NICs, with options such as 'verbs:gid=3:tclass=106': see cctest-rdma(7)\n"
             "- tcp: any two ranks that an IP network connects\n\n"
             "A rank that cannot use a transport of the list ends the job with status 77; 'auto' "
             "passes that transport over. All ranks give the same options, but for those that name "
             "something of one host. Connections of tcp inside a host use the congestion control reno."},
    {.name = "executor", .argument = "WHAT", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_words, FIELD(job.executor), .words = executor_words,
     .standard = "auto",
     .help = "what runs the schedules: the 'host', which posts each operation; the 'device' (GPU) "
             "that has the buffers, by one kernel for each iteration; 'auto': the device where it can",
     .text = "A line can run on the device if -x allows the transport cuda, all ranks that exchange "
             "messages map each other's memory, and the kernels of all ranks run at the same time: see "
             "cctest-gpu(7). A comment in the table says what ran, and why it was not the device. Channels that do not fit on a GPU are refused, with how many fit."},
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
             "'ll' (shm: data and flag in one word), 'auto' (by length, memory and cores)",
     .text = "'ll' (NCCL's LL protocol: 4 bytes of data and 4 of flag in each word) suits messages of "
             "up to some 100 bytes, and works only with shm and the device executor. With shm, 'auto' "
             "also regards the memory, the distance of the two cores, the other work of the sender, "
             "and whether the receiver combines. On processors of AMD zcopy passes through a buffer "
             "where the offset of the destination in its page exceeds that of the source by 1 to 15 "
             "bytes, since they copy such blocks slowly."},
    {.name = "chunk", .argument = "SIZE", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_size, FIELD(job.chunk), .most = SIZE_MOST, .standard = "auto",
     .word = "auto", .word_value = (long long)GRAIN_AUTO,
     .help = "grain of pipelining, in bytes; 'auto': a quarter of the message, 128K to 1M; 0: no "
             "pipelining",
     .text = "An operation that follows another advances in pieces of this size; a message for whose "
             "parts no operation waits is not cut. On a device it is what a block of threads moves at "
             "once: auto and 0 are 32K through slots, 256K from buffer to buffer."},
    {.name = "channels", .argument = "N", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_TUNE, .kind = &kind_whole, FIELD(job.channels), .least = 1,
     .most = CHANNELS_MOST, .standard = "auto", .word = "auto", .word_value = CHANNELS_AUTO,
     .help = "lanes for each pair of ranks; each carries a slice of every block; 'auto': 1; where "
             "devices run the schedules, 1 to 64 by size",
     .text = "Blocks of at least 128 N elements are cut at multiples of 128 elements. On a device "
             "'auto' is 1 below 64K, and from there one for each 32K of the size, as a power of two, "
             "up to 64, to what the GPUs of all ranks hold at once, and to what has room for its slots "
             "in 128 MiB of each rank."},
    {.name = "slots", .argument = "N", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_whole, FIELD(job.slots), .least = 1, .most = SLOTS_MOST,
     .standard_note = "the transport's choice",
     .help = "slots of a lane, for messages that travel by bcopy over shm or verbs",
     .text = "tcp has one slot on either side, and 'll' two regions; verbs rounds down to a power of "
             "two. --slots and --slot-size are for studies of their cost. All slots must fit a quarter "
             "of the memory that the machine and the control groups leave: where one of the two "
             "options is given, the other may become smaller to fit. Both, if given and too large, are refused."},
    {.name = "slot-size", .argument = "SIZE", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_size, FIELD(job.slot_bytes), .least = SLOT_LEAST,
     .most = SLOT_MOST, .standard_note = "the transport's choice",
     .help = "payload bytes of a slot, for messages that travel by bcopy; over tcp also for "
             "messages that are combined",
     .text = "shm rounds it up to whole cache lines, and keeps slots for short messages at 4K or less. "
             "With --copy ll it is the size of one region."},
    {.name = "interface", .argument = "ADDRESS|DEVICE", .group = GROUP_LINKS, .per_rank = true,
     .commands = FOR_RUN | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_device, FIELD(job.bootstrap.interface),
     .standard_note = "any; loopback if all ranks are on one host",
     .help = "network address or device to listen on: for tcp, and at rank 0 for joining ranks",
     .text = "A rank listens on no other, and so do the jobs of accept, fit and tune. The host of "
             "--rendezvous must resolve to an address of this device. Ranks may have different "
             "interfaces. A rendezvous host must not resolve to loopback; where rank 0's host resolves its own name so, ranks on it use --interface instead."},

    {.name = "np", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_whole, FIELD(job.bootstrap.np),
     .least = 1, .most = JOB_RANKS_MOST, .standard_note = "one per core, 2 to 8",
     .brief = "ranks to start on this machine", .help = "number of ranks to start on this machine",
     .forms = {{FOR_PLAN, "number of ranks", "4"},
               {FOR_PREDICT, "number of ranks; needed", ""},
               {FOR_ACCEPT | FOR_FIT, "number of agents to start on this machine", NULL}},
     .text = "At most 4096 (predict and plan: 65536). Under a launcher of several processes, each "
             "process runs a job of its own, with a warning."},
    {.name = "ranks-as", .argument = "WHAT", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(job.bootstrap.ranks_as), .words = ranks_as_words,
     .standard = "auto",
     .help = "local ranks are 'processes', or 'threads' of one process; 'auto': threads where "
             "several ranks share a GPU",
     .text = "Threads use a GPU at the same time; processes take turns on it, unless CUDA's "
             "Multi-Process Service runs. Ranks stay processes where --inject kills or stops one."},
    {.name = "bind", .argument = "WHAT", .group = GROUP_RANKS,
     .commands = FOR_RUN | FOR_TUNE, .kind = &kind_words, FIELD(job.bind), .words = bind_words,
     .standard = "core",
     .help = "bind each rank to a 'core', of its own if the host has enough, or to 'none'",
     .text = "On a host with fewer usable cores than ranks, they share cores evenly. The header of the "
             "table shows the result."},
    {.name = "rendezvous", .argument = "HOST:PORT", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_address, FIELD(job.bootstrap.rendezvous),
     .help = "join the job whose rank 0 listens there; needs --rank (but in an Indexed Job of Kubernetes) "
             "and --world",
     .text = "Rank 0 listens at any address that HOST resolves to; an IPv6 address is written in "
             "brackets: '[fd00::7]:7777'. In an Indexed Job of Kubernetes the completion index is the "
             "rank, and a host that no name server knows yet is waited for, up to --timeout. The "
             "secret of the job is that of CCTEST_SECRET. --rank overrides the completion index."},
    {.name = "rank", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_PLAN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_whole, FIELD(job.bootstrap.rank),
     .most = JOB_RANKS_MOST - 1,
     .help = "this process's rank at the rendezvous, from 0",
     .forms = {{FOR_PLAN, "show only this rank", NULL}}},
    {.name = "world", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_whole, FIELD(job.bootstrap.world), .least = 1,
     .most = JOB_RANKS_MOST, .help = "number of ranks that meet at the rendezvous"},
    {.name = "timeout", .argument = "SECONDS", .group = GROUP_RANKS,
     .commands = FOR_RUN | FOR_INFO | FOR_ACCEPT | FOR_FIT | FOR_TUNE, .kind = &kind_real, FIELD(job.bootstrap.timeout), .most = 86400,
     .standard = "30",
     .help = "end the job if no rank makes progress for so long",
     .forms = {{FOR_INFO, "give up a driver that does not answer for so long", NULL}},
     .text = "At least 0.2. A rank that sends no heartbeat for so long ends the job, too. Bytes that "
             "arrive for a later operation count as progress. A rank that is ready to run, and gets no "
             "core for half of the time, is waited for up to five times as long. So does the sorting of times."},

    {.name = "stages", .argument = "STAGE[:SECONDS][,STAGE...]", .group = GROUP_ACCEPT,
     .commands = FOR_ACCEPT, .kind = &kind_stages,
     .standard_note = "all",
     .help = "what to do, and how long each may take, always in this order: start, inventory, self, "
             "node, pairs, isolate, halves, all",
     .text = "Before any stage, 'start' has each agent start a worker that does nothing. When the time "
             "of a stage is over no further round begins, and its line says how much of it was done; a "
             "job that runs then is ended, and is no evidence against a host. Times, in seconds: start "
             "20, inventory 30, self 40, node 60, pairs and isolate 900, halves 180, all 120."},
    {.name = "quick", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT, .kind = &kind_switch,
     FIELD(accept.quick), .help = "measure briefly, and end within two minutes of the start",
     .text = "A stage for which no time is left is left out."},
    {.name = "false-alarms", .argument = "SHARE", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT,
     .kind = &kind_real, FIELD(accept.false_alarms), .most = 1, .standard = "0.01",
     .help = "the share of healthy fleets in which noise may be taken for a fault; less: larger faults alone "
             "are found",
     .text = "Thresholds follow from it, from how many numbers are judged, and from how far they "
             "spread. A value near a threshold is measured again until it is confirmed or cleared."},
    {.name = "pairs", .argument = "WHICH", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT,
     .kind = &kind_words, FIELD(accept.all_pairs), .words = pairs_words, .standard = "some",
     .help = "'all': each host meets each other; 'some': each meets at least 7 and log2(hosts) "
             "others",
     .text = "A small fleet's hosts meet all others. Each host has at least 6 readings."},
    {.name = "switches", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_READ, FIELD(accept.switches),
     .help = "which hosts are behind which switches, at rank 0: Slurm's topology.conf, or lines as "
             "'s1: n[1-16,18]'",
     .text = "A line is one of Slurm's topology.conf ('SwitchName=s1 Nodes=n[1-16]', 'SwitchName=spine "
             "Switches=s[1-4]'; other keys are skipped), or a switch and its hosts: 's1: n[1-16,18]'. "
             "'#' begins a comment. Hosts that are not in this run are skipped; each host of the run "
             "has one switch."},
    {.name = "duration", .argument = "TIME", .group = GROUP_ACCEPT, .commands = FOR_ACCEPT,
     .kind = &kind_duration, FIELD(accept.duration), .most = 30 * 86400,
     .help = "soak: repeat the stages from self on until so long (90s, 30m, 2h) after the start, and tell what "
             "drifts, dips or counts errors",
     .text = "1d is a day; seconds have no unit."},
    {.name = "good", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.good),
     .help = "write the hosts that are good, as a list that Slurm takes: n[1-16,18-64]"},
    {.name = "bad", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.bad),
     .help = "write the hosts that are bad, as such a list"},
    {.name = "junit", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.junit),
     .help = "write JUnit XML: a case for each host and stage"},
    {.name = "profile", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_READ, FIELD(accept.profile),
     .help = "compare hosts with what this file asks: least bandwidth, most latency, what they have",
     .text = "See PROFILES in cctest-accept(1). Rank 0 reads the file."},
    {.name = "write-profile", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(accept.write_profile),
     .help = "write a profile of the hosts that are good"},
    {.name = "baseline", .argument = "FILE", .group = GROUP_ACCEPT, .per_rank = true,
     .commands = FOR_ACCEPT, .kind = &kind_file, .file = FILE_READ, FIELD(accept.baseline),
     .help = "compare hosts with an earlier run, whose JSON this is",
     .text = "Rank 0 reads the file."},

    {.name = "model", .argument = "FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT | FOR_TUNE, .kind = &kind_file, .file = FILE_READ, FIELD(job.model),
     .help = "show predicted times beside the measured ones; FILE has the costs of cores and links, as "
             "cctest fit writes them",
     .forms = {{FOR_PREDICT, "the costs of cores and links, as cctest fit writes them", NULL},
               {FOR_TUNE, "do not measure what these costs predict to be slow", NULL}},
     .text = "The table of a run has two more columns: the predicted time, and the measured one "
             "divided by it. With -v the line below says which step of the schedule differs most; that "
             "takes a look at the clock at the end of each operation, some 25 ns. The run says if the "
             "model was made on another host, or for cores that are nearer or farther from each other. "
             "See cctest-predict(1) and cctest-fit(1). Rank 0 reads the file. Roots in turn have no steps to show. The cores are too far or too near if the latency of a cache line (only shm measures it) is more than twice the largest that fit met, or less than half of the least."},
    {.name = "topology", .argument = "SPEC|FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_PREDICT, .kind = &kind_file, .file = FILE_READ, FIELD(predict.topology),
     .help = "the network that the ranks share: fat-tree:k=8, leaf-spine:radix=32:oversubscription=2, "
             "rail:hosts=16:rails=8, torus:8x8x8, mesh:4x4, ring:16, dragonfly:a=4:h=2:p=2, Slurm's "
             "topology.conf, or the XML of a node by hwloc or NCCL; shows the load of its links",
     .text = "See TOPOLOGIES in cctest-predict(1)."},
    {.name = "place", .argument = "WAY|FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_PREDICT, .kind = &kind_file, .file = FILE_READ, .words = place_words, FIELD(predict.place), .standard_note = "block",
     .help = "which rank sits where on the topology: block, cyclic, random:SEED, or a file with a line "
             "for each rank: a place's number, or a host",
     .text = "- block: fills one host after the other\n"
             "- cyclic: gives each of these hosts one rank in turn\n"
             "- random:SEED: draws places of the whole topology\n"
             "- FILE: a line for each rank: the number of a place, or a host, whose first free place "
             "is taken; '#' begins a comment"},
    {.name = "output", .letter = 'o', .argument = "FILE", .group = GROUP_MODEL, .per_rank = true,
     .commands = FOR_FIT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.output),
     .help = "write the model; '-': to standard output"},

    {.name = "rank-counts", .argument = "N[,N...]", .group = GROUP_TUNE, .commands = FOR_TUNE,
     .kind = &kind_rank_counts, .standard_note = "2, 3, 4, 6, 8, 12 ..., and all",
     .help = "numbers of ranks to find the fastest algorithms for",
     .text = "The default is powers of two, the numbers halfway between two of them, and the number of "
             "all ranks."},
    {.name = "tuning", .argument = "FILE", .group = GROUP_TUNE,
     .commands = FOR_RUN | FOR_PLAN | FOR_TUNE, .kind = &kind_tuning, .file = FILE_READ,
     .help = "JSON of cctest tune, by which 'auto' picks",
     .forms = {{FOR_TUNE, "measure nothing, and write the winners of this JSON as the next options say", NULL}},
     .text = "See cctest-tune(1). tune takes no collectives then."},
    {.name = "ompi", .argument = "FILE", .group = GROUP_TUNE, .per_rank = true,
     .commands = FOR_TUNE, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(tune.ompi),
     .help = "write the winners as Open MPI's file of dynamic rules (coll_tuned_dynamic_rules_filename)"},
    {.name = "mpich", .argument = "FILE", .group = GROUP_TUNE, .per_rank = true,
     .commands = FOR_TUNE, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(tune.mpich),
     .help = "write the winners as MPICH's JSON (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)"},
    {.name = "nccl", .argument = "FILE", .group = GROUP_TUNE, .per_rank = true,
     .commands = FOR_TUNE, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(tune.nccl),
     .help = "write the winners as the CSV of NCCL's tuner plugin (NCCL_TUNER_CONFIG_FILE)"},

    {.name = "topology", .group = GROUP_RESULTS, .commands = FOR_INFO, .kind = &kind_switch,
     FIELD(predict.shows_topology),
     .help = "show the parts of this machine (packages, NUMA nodes, caches, PCIe bridges, GPUs, NICs), and "
             "how far they are apart",
     .text = "The way between two parts is in the words of 'nvidia-smi topo -m':\n\n"
             "- X: they are one\n"
             "- NV#: so many NVLinks, directly or by NVSwitches\n"
             "- PIX: one PCIe switch, or one bridge\n"
             "- PXB: several bridges behind one port of a host bridge\n"
             "- PHB: a host bridge\n"
             "- NODE: a NUMA node\n"
             "- SYS: the connection between NUMA nodes\n"
             "- same: one PCI device, which has both\n"
             "- unknown: firmware, or a virtual machine, does not tell where one of them is"},
    {.name = "json", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT | FOR_PLAN | FOR_LIST | FOR_INFO | FOR_ACCEPT | FOR_GUIDELINES |
                 FOR_TUNE,
     .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.json),
     .help = "write JSON; '-': to standard output, then the table goes to standard error",
     .text = "The file is valid at any time: its 'status' is 'running' until the end, then 'ok', "
             "'error', 'usage', 'wrong-data', 'slow', 'timeout' (also of a lost rank), 'unavailable' "
             "or 'interrupted'. It is replaced as a whole, after each line of the table or, if it is "
             "long, after several. A command line that is refused replaces it, too, with the status "
             "'usage'. The keys are in cctest-json(5). Names of descriptors (/dev/fd/3) and links are never replaced by files. CCTEST_JSON names no file for a command without results, such as help."},
    {.name = "csv", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN | FOR_PREDICT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.csv),
     .help = "write a CSV table; '-': to standard output",
     .text = "One line a result; the columns are in cctest-json(5). A refused command line leaves the "
             "file as it is. A file that standard output writes to is appended to, and the table goes to standard error."},
    {.name = "samples", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.samples),
     .help = "write each rank's time of each timed iteration, as CSV; '-': to standard output",
     .text = "A line for each rank and timed iteration: 'line' is the line of the table, from 0; "
             "'duration_ns' the time from the rank's release to its end, there and back where the "
             "collective goes so; 'late_ns' the time from its release to its beginning; 'device_ns' "
             "the GPU's time, 0 if no GPU ran it. A time of the table is that of the slowest rank, or half of it there and back. Without the option ranks keep their samples, and rank 0 gets the slowest rank of each iteration."},
    {.name = "svg", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN | FOR_PREDICT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.svg),
     .help = "draw the plan; '-': to standard output, without the text",
     .forms = {{FOR_PREDICT, "draw the load of the most loaded links of --topology, step by step; '-': to standard output", NULL}},
     .text = "The rows of a plan are ranks, its columns rounds, and messages are arrows, labelled with their blocks "
             "and, of partial results, the ranks that contributed. Up to 64 ranks, of one algorithm. "
             "'2->5' is the block of rank 2 for rank 5; '5' is the sender's own block for rank 5. With "
             "--rank, only the messages of that rank are drawn. With -b or --channels labels name elements. A round with very many messages has no labels; a browser shows the content of each under the pointer."},
    {.name = "goal", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(plan.goal),
     .help = "write the plan of all ranks in GOAL, for the simulator LogGOPSim; '-': to standard output, "
             "without the text",
     .text = "See SCHEDULE FILES in cctest-plan(1)."},
    {.name = "calc", .argument = "NS", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_real, FIELD(plan.calc), .most = 1000000,
     .standard_note = "0", .help = "nanoseconds that a byte of a copy or a reduction takes in the file of --goal"},
    {.name = "msccl", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(plan.msccl),
     .help = "write the plan of all ranks in MSCCL's XML; '-': to standard output, without the text",
     .text = "See SCHEDULE FILES in cctest-plan(1)."},
    {.name = "html", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_ACCEPT | FOR_REPORT, .kind = &kind_file, .file = FILE_WRITTEN, FIELD(files.html),
     .help = "write a page that a browser shows without network; '-': to standard output",
     .text = "See cctest-report(1)."},
    {.name = "min-busbw", .argument = "GB/S", .group = GROUP_RESULTS,
     .commands = FOR_RUN, .kind = &kind_real, FIELD(job.min_busbw), .most = 1000000,
     .help = "exit with status 4 if the best algorithm is slower than this at the largest size",
     .text = "Of several collectives, types or operations none may be slower; barrier has no "
             "bandwidth."},
    {.name = "profile", .group = GROUP_RESULTS, .commands = FOR_RUN,
     .kind = &kind_switch, FIELD(job.profile),
     .help = "show where each rank's time goes: copying, reducing, waiting, other",
     .text = "Below each line of the table each rank has its shares of the timed iterations, in "
             "percent:\n\n"
             "- copy: copying, also in system calls that moved bytes\n"
             "- reduce: combining elements\n"
             "- peer: waiting for a message of a peer, or for a peer to take one\n"
             "- credit: waiting to send, because the slots of the peer or the socket were full\n"
             "- other: scheduling operations, polling links, and the delay of --inject\n"
             "- us: the p50 of an iteration on that rank\n\n"
             "More than 16 ranks are shown as least, median and most. It slows sizes from 64K up by at "
             "most 3 percent, smaller ones by at most 15."},
    {.name = "verbose", .letter = 'v', .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_ALL, .kind = &kind_whole, FIELD(job.bootstrap.verbosity), .most = 2,
     .help = "print more; twice: print everything",
     .text = "Above the table: the links of each kind, the time of a cache line between two cores, the "
             "ways to peers' memory, the shared start barriers, and with 'order=auto' the order of the "
             "ranks on a ring. Below each line: the bottleneck, connections that lose packets, hosts "
             "that are far away, iterations that took far longer than the others (see "
             "cctest-diagnostics(7)), and the bytes of each way of copying. At the end, on standard "
             "error: how many connections did not belong to this job and were dropped. Twice: also "
             "where the buffers of each rank lie and the slots of shm, for a debugger's watchpoint.\n\n"
             "With -v or --json, tcp messages of 64K and more are acknowledged at once, and the start "
             "barrier has connections of its own."},
    {.name = "version", .group = GROUP_RESULTS, .commands = FOR_ALL, .kind = &kind_command,
     .help = "print the version",
     .text = "As does `cctest version`."},
    {.name = "help", .letter = 'h', .group = GROUP_RESULTS, .commands = FOR_ALL,
     .kind = &kind_command, .help = "explain the command; `cctest help WORD` explains any word"},

    {.name = "inject", .argument = "FAULT[,...]", .group = GROUP_FAULTS,
     .commands = FOR_RUN, .kind = &kind_inject,
     .help = "inject faults, to show that cctest detects them: corrupt:rank=R:iteration=I, "
             "drop:rank=R:iteration=I, delay:rank=R:us=N, kill:rank=R:iteration=I, "
             "stop:rank=R:iteration=I or silent:rank=R:iteration=I",
     .text = "Iterations of corrupt and drop count the checked ones of the whole job from 0; those of "
             "kill, stop and silent count all of the rank. A fault that never applies is an error.\n\n"
             "- corrupt:rank=R:iteration=I: flips one bit of the first element that rank R receives\n"
             "- drop:rank=R:iteration=I: ignores the first message that rank R receives. If then no "
             "result is wrong, the message was redundant, which is an error.\n"
             "- delay:rank=R:us=N: rank R begins every iteration N microseconds late\n"
             "- kill:rank=R:iteration=I: rank R is killed\n"
             "- stop:rank=R:iteration=I: rank R is stopped, as by SIGSTOP\n"
             "- silent:rank=R:iteration=I: rank R does not begin that iteration; it lives, sends "
             "heartbeats, and ends with the job. It may be a thread. Under min and max a flipped value may not matter. A dropped message is redundant in some barriers (double-ring), or where too few elements are reduced to show it."},
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

static const struct option_form *form_of(const struct option_row *row, unsigned command)
{
    for (int i = 0; i < OPTION_FORMS_MOST; i++)
        if (row->forms[i].commands & command)
            return &row->forms[i];
    return NULL;
}

const char *option_help(const struct option_row *row, unsigned command)
{
    const struct option_form *form = form_of(row, command);
    return form ? form->help : row->help;
}

const char *option_standard(const struct option_row *row, unsigned command)
{
    const struct option_form *form = form_of(row, command);
    if (form && form->standard)
        return form->standard[0] ? form->standard : NULL;
    return row->standard ? row->standard : row->standard_note;
}

bool option_block_next(const char **text, struct option_block *block)
{
    const char *at = *text;
    if (!at || !*at)
        return false;
    *block = (struct option_block){.is_first = *at == '\n'};
    at += *at == '\n';
    const char *end = strchrnul(at, '\n'),
               *colon = strncmp(at, "- ", 2) == 0 ? strstr(at, ": ") : NULL;
    if (colon) {
        block->word = at + 2;
        block->word_length = (int)(colon - block->word);
        at = colon + 2;
    }
    block->body = at;
    block->body_length = (int)(end - at);
    *text = *end ? end + 1 : end;
    return true;
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
    text_add(&text, "%s%s",
             command == FOR_ACCEPT ? "accept"
             : command == FOR_TUNE ? "tune "
                                   : "",
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

/* A number below the least is null: the option was not given, or another one takes its place. */
static json_t *number_schema(const struct option_row *row)
{
    bool nullable = row->argument && (!row->standard || (row->least > 0 && !row->word));
    json_t *number = json_pack("{s:I, s:I}", "minimum", (json_int_t)row->least, "maximum",
                               (json_int_t)row->most);
    json_object_set_new(number, "type",
                        nullable ? json_pack("[s, s]", "integer", "null") : json_string("integer"));
    return row->word ? json_pack("{s:[o, {s:s}]}", "oneOf", number, "const", row->word) : number;
}

static json_t *words_schema(const struct option_row *row)
{
    json_t *words = json_array();
    for (int i = 0; row->words[i]; i++)
        json_array_append_new(words, json_string(row->words[i]));
    return json_pack("{s:o}", "enum", words);
}

static json_t *type_schema(const struct option_row *row)
{
    json_t *type = json_pack("{s:s+}", "$ref", SCHEMA_DEFINITION, row->kind->type);
    if (row->most > 0)
        json_object_set_new(type, "maximum", json_integer(row->most));
    return type;
}

/* The option's sentence, with the unit of its value in JSON where the sentence has none. */
static json_t *meaning_of(const struct option_row *row, unsigned command)
{
    static const struct {
        const char *argument, *unit;
    } units[] = {{"SIZE", "bytes"},
                 {"SECONDS", "seconds"},
                 {"TIME", "seconds"},
                 {"GB/S", "10^9 bytes a second"}};
    const char *help = option_help(row, command);
    for (size_t i = 0; row->argument && i < sizeof units / sizeof *units; i++)
        if (strcmp(row->argument, units[i].argument) == 0 && !strstr(help, units[i].unit))
            return json_sprintf("%s; in %s", help, units[i].unit);
    return json_string(help);
}

json_t *json_options_schema(unsigned command)
{
    json_t *names = json_array(), *types = json_object();
    for (const struct option_row *row = option_table; row->name; row++) {
        if (!row->kind->show || !(row->commands & command))
            continue;
        json_t *type = row->kind->type ? type_schema(row)
                       : row->words    ? words_schema(row)
                                       : number_schema(row);
        json_object_set_new(type, "description", meaning_of(row, command));
        json_object_set_new(types, row->name, type);
        json_array_append_new(names, json_string(row->name));
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", false,
                     "required", names, "properties", types);
}

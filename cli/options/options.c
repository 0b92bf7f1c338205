/*
 * options.c - the rows of the option table, in the order of `--help`.
 *
 * To add an option: a row here, its paragraph in man/cctest.1 (a test compares the two), a field
 * in struct job, and another value of it in tests/unit/test_options_compared.c.
 */
#include "cli/options/options.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "cli/options/choices.h"
#include "cli/options/inject.h"
#include "cli/options/names.h"
#include "cli/options/values.h"

const char *const option_group_titles[GROUPS] = {
    [GROUP_WHAT] = "What to run",       [GROUP_SWEEP] = "Sizes and iterations",
    [GROUP_LINKS] = "Memory and links", [GROUP_RANKS] = "Ranks",
    [GROUP_RESULTS] = "Results",        [GROUP_FAULTS] = "Testing the tester",
};

#define SIZE_MOST  ((long long)1 << 46) /* 64T: beyond it sums over ranks could overflow */
#define COUNT_MOST 4000000              /* samples that fit into a rank's report */
#define SLOTS_MOST 65536
#define SLOT_LEAST 64         /* a cache line, and an element of any type */
#define SLOT_MOST  (64 << 20) /* a transport refuses what its lanes cannot have together */

/* clang-format off */
#define FIELD(name) .field = offsetof(struct job, name), .width = sizeof(((struct job *)0)->name)

static const char *const start_words[] = {"barrier", "back-to-back", NULL};
static const char *const bind_words[] = {"core", "none", NULL};
static const char *const ranks_as_words[] = {"processes", "threads", NULL};

const struct option_row option_table[] = {
    {.name = "algorithm", .letter = 'a', .argument = "A[,B...]", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_algorithm,
     .help = "algorithms, each with its options: bruck:radix=4,pairwise; 'all' for all of them; "
             "several are compared side by side; 'auto' picks one for each size by a rule",
     .standard_note = "auto"},
    {.name = "datatype", .letter = 'd', .argument = "TYPE", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_datatype, .standard = "float",
     .help = "type of the elements"},
    {.name = "op", .letter = 'o', .argument = "OP", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_reduction, .standard = "sum",
     .help = "how elements are combined, where the collective combines"},
    {.name = "root", .letter = 'r', .argument = "RANK|all", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_root, .standard = "0",
     .most = JOB_RANKS_MOST - 1,
     .help = "the root, where the collective has one; 'all' goes round with the iterations"},
    {.name = "in-place", .group = GROUP_WHAT, .commands = FOR_RUN | FOR_PLAN,
     .kind = &kind_switch, FIELD(in_place),
     .help = "source and destination share memory"},

    {.name = "counts", .argument = "SPEC", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_counts, .standard = "spread",
     .help = "how long the blocks of alltoallv and the other forms with counts are: uniform, "
             "zipf:S, hot:F, spread, or a file with elements (a line for each sender)"},
    {.name = "shape", .argument = "NODESxRANKS", .group = GROUP_WHAT,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_shape,
     .help = "groups of consecutive ranks for hierarchical algorithms, instead of the nodes that "
             "the ranks run on"},

    {.name = "min-bytes", .letter = 'b', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_size, FIELD(smallest), .most = SIZE_MOST,
     .standard = "1K", .help = "smallest size: bytes of the larger buffer of one rank"},
    {.name = "max-bytes", .letter = 'e', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_size, FIELD(largest), .most = SIZE_MOST,
     .standard = "16M", .help = "largest size"},
    {.name = "step-factor", .letter = 'f', .argument = "FACTOR", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(factor), .least = 2, .most = 1 << 20,
     .standard = "4", .help = "the next size is so many times this one"},
    {.name = "step-bytes", .letter = 'i', .argument = "SIZE", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_size, FIELD(increment), .least = 1, .most = SIZE_MOST,
     .help = "the next size is so many bytes more, instead of a factor"},
    {.name = "iterations", .letter = 'n', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(iterations), .most = COUNT_MOST,
     .standard = "20", .help = "timed iterations of each size"},
    {.name = "warmup", .letter = 'w', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(warmup), .most = COUNT_MOST,
     .standard = "5", .help = "iterations before them that are not timed"},
    {.name = "check", .letter = 'c', .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(checked), .most = COUNT_MOST,
     .standard = "2", .help = "iterations whose results are compared, every element; 0: none"},
    {.name = "start", .argument = "MODE", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(start), .words = start_words,
     .standard = "barrier",
     .help = "how iterations begin: 'barrier' (one before each) or 'back-to-back'"},
    {.name = "seed", .argument = "N", .group = GROUP_SWEEP,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(seed), .most = INT64_MAX,
     .standard = "1", .help = "the inputs are drawn from it"},

    {.name = "memory", .letter = 'm', .argument = "KIND", .group = GROUP_LINKS,
     .commands = FOR_RUN, .kind = &kind_memory, .standard = "host",
     .help = "where the buffers lie: 'host' (private) or 'shared' (peers can read it in place)"},
    {.name = "transport", .letter = 'x', .argument = "X[,Y...]", .group = GROUP_LINKS,
     .commands = FOR_RUN, .kind = &kind_transport, .standard = "auto",
     .help = "links that may be used; 'auto': for each pair of ranks the first that reaches"},
    {.name = "copy", .argument = "WAY", .group = GROUP_LINKS,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(copy), .words = copy_names,
     .standard = "auto",
     .help = "how messages travel: 'bcopy' (through slots), 'zcopy' (straight to where they go), "
             "'ll' (shm: as words with a flag each), 'auto' (by length, memory and cores)"},
    {.name = "chunk", .argument = "SIZE", .group = GROUP_LINKS,
     .commands = FOR_RUN, .kind = &kind_chunk, FIELD(chunk), .most = SIZE_MOST, .standard = "auto",
     .help = "grain of pipelining, bytes; 'auto': a quarter of the message, 128K to 1M; 0: whole "
             "messages, nothing is pipelined"},
    {.name = "channels", .argument = "N", .group = GROUP_LINKS,
     .commands = FOR_RUN | FOR_PLAN, .kind = &kind_whole, FIELD(channels), .least = 1, .most = 64,
     .standard = "1", .help = "slices of every block, each on a lane of its own"},
    {.name = "slots", .argument = "N", .group = GROUP_LINKS,
     .commands = FOR_RUN, .kind = &kind_whole, FIELD(slots), .least = 1, .most = SLOTS_MOST,
     .standard_note = "the transport's choice",
     .help = "slots of one lane at its receiver, for what travels by bcopy over shm"},
    {.name = "slot-size", .argument = "SIZE", .group = GROUP_LINKS,
     .commands = FOR_RUN, .kind = &kind_size, FIELD(slot_bytes), .least = SLOT_LEAST,
     .most = SLOT_MOST, .standard_note = "the transport's choice",
     .help = "payload bytes of one slot, for what travels by bcopy; over tcp also for what is "
             "combined"},
    {.name = "interface", .argument = "ADDRESS|DEVICE", .group = GROUP_LINKS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_device, FIELD(bootstrap.interface),
     .standard_note = "any; loopback if all ranks are on one host",
     .help = "network address or device to listen on: for tcp, and at rank 0 for all ranks to "
             "join"},

    {.name = "np", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_PLAN | FOR_INFO, .kind = &kind_whole, FIELD(bootstrap.np), .least = 1,
     .most = 4096, .standard_note = "one a core, 2 to 8; plan: 4",
     .help = "start so many ranks on this machine; plan: the number of ranks"},
    {.name = "ranks-as", .argument = "WHAT", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(bootstrap.as_threads), .words = ranks_as_words,
     .standard = "processes", .help = "local ranks are 'processes', or 'threads' of one process"},
    {.name = "bind", .argument = "WHAT", .group = GROUP_RANKS,
     .commands = FOR_RUN, .kind = &kind_words, FIELD(bind), .words = bind_words,
     .standard = "core",
     .help = "bind each rank to a 'core', of its own where a host has enough, or to 'none'"},
    {.name = "rendezvous", .argument = "HOST:PORT", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_INFO, .kind = &kind_address, FIELD(bootstrap.rendezvous),
     .help = "join a job whose rank 0 listens there, with --rank and --world"},
    {.name = "rank", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_PLAN | FOR_INFO, .kind = &kind_whole, FIELD(bootstrap.rank),
     .most = JOB_RANKS_MOST - 1,
     .help = "this rank's number at the rendezvous; plan: show only this rank"},
    {.name = "world", .argument = "N", .group = GROUP_RANKS, .per_rank = true,
     .commands = FOR_RUN | FOR_INFO, .kind = &kind_whole, FIELD(bootstrap.world), .least = 1,
     .most = JOB_RANKS_MOST, .help = "how many ranks meet at the rendezvous"},
    {.name = "timeout", .argument = "SECONDS", .group = GROUP_RANKS,
     .commands = FOR_RUN, .kind = &kind_real, FIELD(bootstrap.timeout), .most = 86400, .standard = "30",
     .help = "end the job when no rank of it has progressed for so long"},

    {.name = "json", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN | FOR_PLAN | FOR_LIST | FOR_INFO, .kind = &kind_file, FIELD(json),
     .help = "write JSON there; '-': to standard output, the table then goes to standard error"},
    {.name = "csv", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_RUN, .kind = &kind_file, FIELD(csv),
     .help = "write a CSV table there; '-': to standard output"},
    {.name = "svg", .argument = "FILE", .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_PLAN, .kind = &kind_file, FIELD(svg),
     .help = "draw the plan there; '-': to standard output, without the text"},
    {.name = "min-busbw", .argument = "GB/S", .group = GROUP_RESULTS,
     .commands = FOR_RUN, .kind = &kind_real, FIELD(min_busbw), .most = 1000000,
     .help = "exit with 4 if the best algorithm is slower than this at the largest size"},
    {.name = "profile", .group = GROUP_RESULTS, .commands = FOR_RUN,
     .kind = &kind_switch, FIELD(profile),
     .help = "show where each rank's time goes: copying, reducing, waiting, the rest"},
    {.name = "verbose", .letter = 'v', .group = GROUP_RESULTS, .per_rank = true,
     .commands = FOR_ALL, .kind = &kind_whole, FIELD(bootstrap.verbosity), .most = 2,
     .help = "say more; twice: say everything"},
    {.name = "version", .group = GROUP_RESULTS, .commands = FOR_ALL, .kind = &kind_command,
     .help = "print the version"},
    {.name = "help", .letter = 'h', .group = GROUP_RESULTS, .commands = FOR_ALL,
     .kind = &kind_command, .help = "print this; `cctest help COMMAND` says more"},

    {.name = "inject", .argument = "FAULT[,...]", .group = GROUP_FAULTS,
     .commands = FOR_RUN, .kind = &kind_inject,
     .help = "inflict a fault, to see that it is found: corrupt:rank=R:iteration=I, "
             "drop:rank=R:iteration=I, delay:rank=R:us=N, kill:rank=R:iteration=I or "
             "stop:rank=R:iteration=I"},
    {.name = NULL},
};
/* clang-format on */

const struct option_row *option_find(const char *name)
{
    for (const struct option_row *row = option_table; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
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

static void text_add_option(struct text *text, const struct option_row *row, const struct job *job)
{
    json_t *value = (row->kind->compare ? row->kind->compare : row->kind->show)(row, job);
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

void options_compared(const struct job *job, char to[COMPARED_TEXT_MOST])
{
    struct text text = text_in(to, COMPARED_TEXT_MOST);
    text_add(&text, "%s", job->collective->name);
    for (const struct option_row *row = option_table; row->name; row++)
        if ((row->commands & FOR_RUN) && !row->per_rank && row->kind->show)
            text_add_option(&text, row, job);
}

/*
 * collective.c - the contracts of all collectives: a table, and the few rules that read it.
 */
#include "collective/collective.h"

#include <string.h>

const char *const buffer_names[] = {[BUFFER_SOURCE] = "source",
                                    [BUFFER_DESTINATION] = "destination",
                                    [BUFFER_SCRATCH] = "scratch",
                                    NULL};

#define BLOCKS                                                                                     \
    {                                                                                              \
        .blocks = true                                                                             \
    }
#define AT_ROOT                                                                                    \
    {                                                                                              \
        .root_only = true                                                                          \
    }
#define BLOCKS_AT_ROOT                                                                             \
    {                                                                                              \
        .blocks = true, .root_only = true                                                          \
    }

/* clang-format off */
static const struct collective table[] = {
    {.id = COLLECTIVE_ALLREDUCE, .name = "allreduce",
     .aliases = {"all-reduce", "all_reduce", "MPI_Allreduce", "ncclAllReduce", "HcclAllReduce"},
     .summary = "every rank gets the combination of all ranks' vectors",
     .reduces = true, .sized = true},
    {.id = COLLECTIVE_ALLGATHER, .name = "allgather",
     .aliases = {"all-gather", "all_gather", "MPI_Allgather", "ncclAllGather", "HcclAllGather"},
     .summary = "every rank gets every rank's block",
     .destination = BLOCKS, .sized = true},
    {.id = COLLECTIVE_REDUCE_SCATTER, .name = "reduce_scatter",
     .aliases = {"reducescatter", "reduce-scatter", "reduce_scatter_block",
                 "MPI_Reduce_scatter_block", "ncclReduceScatter", "HcclReduceScatter"},
     .summary = "rank r gets block r of the combination of all ranks' vectors",
     .source = BLOCKS, .reduces = true, .sized = true},
    {.id = COLLECTIVE_ALLTOALL, .name = "alltoall",
     .aliases = {"all-to-all", "all_to_all", "a2a", "MPI_Alltoall", "ncclAlltoAll", "HcclAlltoAll"},
     .summary = "rank r gets block r of every rank",
     .source = BLOCKS, .destination = BLOCKS, .sized = true},
    {.id = COLLECTIVE_BROADCAST, .name = "broadcast",
     .aliases = {"bcast", "MPI_Bcast", "ncclBroadcast", "ncclBcast", "HcclBroadcast"},
     .summary = "every rank gets the root's vector",
     .source = AT_ROOT, .rooted = true, .sized = true},
    {.id = COLLECTIVE_REDUCE, .name = "reduce",
     .aliases = {"MPI_Reduce", "ncclReduce", "HcclReduce"},
     .summary = "the root gets the combination of all ranks' vectors",
     .destination = AT_ROOT, .reduces = true, .rooted = true, .sized = true},
    {.id = COLLECTIVE_GATHER, .name = "gather",
     .aliases = {"MPI_Gather", "ncclGather"},
     .summary = "the root gets every rank's block",
     .destination = BLOCKS_AT_ROOT, .rooted = true, .sized = true},
    {.id = COLLECTIVE_SCATTER, .name = "scatter",
     .aliases = {"MPI_Scatter", "ncclScatter", "HcclScatter"},
     .summary = "rank r gets block r of the root",
     .source = BLOCKS_AT_ROOT, .rooted = true, .sized = true},
    {.id = COLLECTIVE_ALLTOALLV, .name = "alltoallv",
     .aliases = {"all-to-allv", "all_to_allv", "a2av", "MPI_Alltoallv", "HcclAlltoAllV",
                 "alltoallvc"},
     .summary = "rank r gets its block of every rank, each of a length of its own",
     .source = BLOCKS, .destination = BLOCKS, .counted = true, .sized = true},
    {.id = COLLECTIVE_ALLGATHERV, .name = "allgatherv",
     .aliases = {"all-gatherv", "all_gatherv", "MPI_Allgatherv", "HcclAllGatherV"},
     .summary = "every rank gets every rank's block, each of a length of its own",
     .destination = BLOCKS, .counted = true, .sized = true},
    {.id = COLLECTIVE_REDUCE_SCATTERV, .name = "reduce_scatterv",
     .aliases = {"reducescatterv", "reduce-scatterv", "MPI_Reduce_scatter", "HcclReduceScatterV"},
     .summary = "rank r gets block r, of a length of its own, of the combination",
     .source = BLOCKS, .counted = true, .reduces = true, .sized = true},
    {.id = COLLECTIVE_GATHERV, .name = "gatherv",
     .aliases = {"MPI_Gatherv"},
     .summary = "the root gets every rank's block, each of a length of its own",
     .destination = BLOCKS_AT_ROOT, .counted = true, .rooted = true, .sized = true},
    {.id = COLLECTIVE_SCATTERV, .name = "scatterv",
     .aliases = {"MPI_Scatterv"},
     .summary = "rank r gets block r, of a length of its own, of the root",
     .source = BLOCKS_AT_ROOT, .counted = true, .rooted = true, .sized = true},
    /* Each algorithm is a pattern: it defines the partners of the ranks. */
    {.id = COLLECTIVE_SENDRECV, .name = "sendrecv",
     .aliases = {"send-recv", "send_recv", "MPI_Sendrecv", "ncclSend", "p2p"},
     .summary = "ranks send to one partner and receive from one, in a pattern",
     .sized = true},
    /* A short allreduce with bor: a rank cannot have its result before every other rank has
     * entered. */
    {.id = COLLECTIVE_BARRIER, .name = "barrier",
     .aliases = {"MPI_Barrier", "HcclBarrier"},
     .summary = "no rank leaves before every rank has entered",
     .reduces = true},
};

const struct collective *const collectives[] = {
    &table[0], &table[1], &table[2], &table[3], &table[4], &table[5], &table[6], &table[7],
    &table[8], &table[9], &table[10], &table[11], &table[12], &table[13], &table[14], NULL,
};
/* clang-format on */

const struct collective *collective_of(enum collective_id id)
{
    int i = 0;
    while (collectives[i]->id != id)
        i++;
    return collectives[i];
}

/* The programs of other tools have the name of a collective between these. */
static const struct program_name {
    const char *before, *behind;
} program_names[] = {
    {"", ""},      /* no program */
    {"osu_", ""},  /* OSU's benchmarks: osu_bcast */
    {"", "_perf"}, /* nccl-tests: all_reduce_perf */
};

static bool is_between(const char *name, const char *inner, const struct program_name *program)
{
    size_t before = strlen(program->before), length = strlen(inner);
    return strncmp(name, program->before, before) == 0 &&
           strncmp(name + before, inner, length) == 0 &&
           strcmp(name + before + length, program->behind) == 0;
}

static bool is_named(const struct collective *collective, const char *name,
                     const struct program_name *program)
{
    bool found = is_between(name, collective->name, program);
    for (int a = 0; a < COLLECTIVE_ALIASES_MOST && collective->aliases[a]; a++)
        found |= is_between(name, collective->aliases[a], program);
    return found;
}

const struct collective *collective_find(const char *name)
{
    for (int i = 0; collectives[i]; i++)
        for (size_t p = 0; p < sizeof program_names / sizeof *program_names; p++)
            if (is_named(collectives[i], name, &program_names[p]))
                return collectives[i];
    return NULL;
}

static const struct extent_side *side_of(const struct collective *collective, enum buffer buffer)
{
    return buffer == BUFFER_SOURCE ? &collective->source : &collective->destination;
}

int collective_blocks(const struct collective *collective, enum buffer buffer, int ranks)
{
    return side_of(collective, buffer)->blocks ? ranks : 1;
}

/* A block of the matrix. */
static size_t matrix_block(const struct problem *problem, int rank, enum buffer buffer, int index,
                           size_t *offset)
{
    return buffer == BUFFER_SOURCE ? counts_sent(problem->counts, rank, index, offset)
                                   : counts_received(problem->counts, index, rank, offset);
}

size_t collective_block(const struct problem *problem, int rank, enum buffer buffer, int index,
                        size_t *offset)
{
    bool blocks = side_of(problem->collective, buffer)->blocks;
    const struct counts *counts = problem->counts;
    *offset = blocks ? (size_t)index * problem->count : 0;
    if (!counts)
        return problem->count;
    if (counts->kind == COUNTS_MATRIX)
        return matrix_block(problem, rank, buffer, index, offset);
    if (counts->kind == COUNTS_VECTOR) {
        const size_t *before = &counts->before[blocks ? index : rank];
        *offset = blocks ? before[0] : 0;
        return before[1] - before[0];
    }
    const int *partner = buffer == BUFFER_SOURCE ? counts->to : counts->from;
    return partner[rank] >= 0 ? problem->count : 0;
}

size_t collective_extent(const struct problem *problem, int rank, enum buffer buffer)
{
    const struct extent_side *side = side_of(problem->collective, buffer);
    if (side->root_only && rank != problem->root)
        return 0;
    size_t offset, length = collective_block(problem, rank, buffer,
                                             side->blocks ? problem->ranks - 1 : 0, &offset);
    return offset + length;
}

enum buffer collective_alias(const struct problem *problem, int rank, size_t *offset)
{
    size_t source = collective_extent(problem, rank, BUFFER_SOURCE);
    size_t destination = collective_extent(problem, rank, BUFFER_DESTINATION);
    enum buffer inside = source < destination ? BUFFER_SOURCE : BUFFER_DESTINATION;
    enum buffer around = source < destination ? BUFFER_DESTINATION : BUFFER_SOURCE;
    *offset = 0;
    if (source > 0 && destination > 0 && side_of(problem->collective, around)->blocks &&
        !side_of(problem->collective, inside)->blocks)
        collective_block(problem, rank, around, rank, offset);
    return inside;
}

/* The rank of the source. */
static int expected_rank(const struct problem *problem, int rank, int index)
{
    if (problem->collective->reduces)
        return EVERY_RANK;
    if (problem->collective->destination.blocks)
        return index;
    if (problem->collective->rooted)
        return problem->root;
    return problem->counts->from[rank];
}

bool collective_expects(const struct problem *problem, int rank, int index,
                        struct expectation *expectation)
{
    const struct collective *collective = problem->collective;
    if (collective_extent(problem, rank, BUFFER_DESTINATION) == 0 ||
        index >= collective_blocks(collective, BUFFER_DESTINATION, problem->ranks))
        return false;
    *expectation = (struct expectation){.rank = expected_rank(problem, rank, index)};
    expectation->length =
        collective_block(problem, rank, BUFFER_DESTINATION, index, &expectation->at);
    int from = expectation->rank == EVERY_RANK ? 0 : expectation->rank;
    if (collective->source.blocks)
        collective_block(problem, from, BUFFER_SOURCE, rank, &expectation->from);
    return true;
}

bool collective_is_uniform(const struct collective *collective)
{
    return !collective->destination.root_only && !collective->source.blocks &&
           collective->id != COLLECTIVE_SENDRECV;
}

/* Blocks of the larger buffer, whose size the user chooses. */
static size_t size_blocks(const struct collective *collective, int ranks)
{
    return collective->source.blocks || collective->destination.blocks ? (size_t)ranks : 1;
}

size_t collective_count(const struct collective *collective, size_t bytes, size_t element,
                        int ranks)
{
    if (!collective->sized)
        return (size_t)(ranks < BARRIER_COUNT_MOST ? ranks : BARRIER_COUNT_MOST);
    size_t unit = element * size_blocks(collective, ranks);
    return bytes / unit + (bytes % unit != 0);
}

size_t collective_bytes(const struct problem *problem, size_t element)
{
    const struct collective *collective = problem->collective;
    if (!collective->sized)
        return 0;
    if (!collective->counted)
        return problem->count * size_blocks(collective, problem->ranks) * element;
    size_t most = 0;
    for (int r = 0; r < problem->ranks; r++)
        for (enum buffer b = BUFFER_SOURCE; b <= BUFFER_DESTINATION; b++) {
            size_t extent = collective_extent(problem, r, b);
            most = extent > most ? extent : most;
        }
    return most * element;
}

int problem_rank(const struct problem *problem, int member)
{
    int low = 0, high = problem->ranks - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (problem_member(problem, middle) < member)
            low = middle + 1;
        else
            high = middle;
    }
    return problem_member(problem, low) == member ? low : -1;
}

double collective_bus_factor(const struct collective *collective, int ranks)
{
    double n = ranks;
    if (!collective->sized)
        return 0;
    if (collective->id == COLLECTIVE_ALLREDUCE)
        return 2 * (n - 1) / n;
    return collective->source.blocks || collective->destination.blocks ? (n - 1) / n : 1;
}

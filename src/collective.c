/*
 * collective.c - the contracts of all collectives.
 */
#include "collective.h"

#include <string.h>

static const struct collective allreduce = {
    .id = COLLECTIVE_ALLREDUCE,
    .name = "allreduce",
    .aliases = {"all-reduce", "all_reduce"},
    .summary = "every rank gets the combination of all ranks' vectors",
    .reduces = true,
    .sized = true,
};

static const struct collective allgather = {
    .id = COLLECTIVE_ALLGATHER,
    .name = "allgather",
    .aliases = {"all-gather", "all_gather"},
    .summary = "every rank gets every rank's block",
    .sized = true,
};

static const struct collective reduce_scatter = {
    .id = COLLECTIVE_REDUCE_SCATTER,
    .name = "reduce_scatter",
    .aliases = {"reducescatter", "reduce-scatter"},
    .summary = "rank r gets block r of the combination of all ranks' vectors",
    .reduces = true,
    .sized = true,
};

static const struct collective alltoall = {
    .id = COLLECTIVE_ALLTOALL,
    .name = "alltoall",
    .aliases = {"all-to-all", "all_to_all", "a2a"},
    .summary = "rank r gets block r of every rank",
    .sized = true,
};

static const struct collective broadcast = {
    .id = COLLECTIVE_BROADCAST,
    .name = "broadcast",
    .aliases = {"bcast"},
    .summary = "every rank gets the root's vector",
    .rooted = true,
    .sized = true,
};

static const struct collective reduce = {
    .id = COLLECTIVE_REDUCE,
    .name = "reduce",
    .summary = "the root gets the combination of all ranks' vectors",
    .reduces = true,
    .rooted = true,
    .sized = true,
};

/* Nobody leaves before all have entered: a one-byte allreduce with bor, since what leaves a rank
 * then depends on what entered every other. */
static const struct collective barrier = {
    .id = COLLECTIVE_BARRIER,
    .name = "barrier",
    .summary = "no rank leaves before every rank has entered",
    .reduces = true,
};

const struct collective *const collectives[] = {
    &allreduce, &allgather, &reduce_scatter, &alltoall, &broadcast, &reduce, &barrier, NULL,
};

const struct collective *collective_find(const char *name)
{
    for (int i = 0; collectives[i]; i++) {
        if (strcmp(collectives[i]->name, name) == 0)
            return collectives[i];
        for (int a = 0; a < 4 && collectives[i]->aliases[a]; a++)
            if (strcmp(collectives[i]->aliases[a], name) == 0)
                return collectives[i];
    }
    return NULL;
}

size_t collective_extent(const struct problem *problem, int rank, enum buffer buffer)
{
    size_t all = problem->count * (size_t)problem->ranks;
    bool source = buffer == BUFFER_SOURCE;
    switch (problem->collective->id) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_BARRIER:
        return problem->count;
    case COLLECTIVE_BROADCAST:
        return source && rank != problem->root ? 0 : problem->count;
    case COLLECTIVE_REDUCE:
        return !source && rank != problem->root ? 0 : problem->count;
    case COLLECTIVE_ALLGATHER:
        return source ? problem->count : all;
    case COLLECTIVE_REDUCE_SCATTER:
        return source ? all : problem->count;
    case COLLECTIVE_ALLTOALL:
        return all;
    }
    return 0;
}

enum buffer collective_alias(const struct problem *problem, int rank, size_t *offset)
{
    enum buffer inside = BUFFER_DESTINATION;
    *offset = 0;
    switch (problem->collective->id) {
    case COLLECTIVE_ALLGATHER:
        inside = BUFFER_SOURCE;
        *offset = (size_t)rank * problem->count;
        break;
    case COLLECTIVE_BROADCAST: /* only the root has a source; the destination is the larger one */
        inside = BUFFER_SOURCE;
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        *offset = (size_t)rank * problem->count;
        break;
    default:
        break;
    }
    return inside;
}

bool collective_expects(const struct problem *problem, int rank, int index,
                        struct expectation *expectation)
{
    size_t count = problem->count, mine = (size_t)rank * count;
    if (collective_extent(problem, rank, BUFFER_DESTINATION) == 0 ||
        index >= collective_blocks(problem->collective, BUFFER_DESTINATION, problem->ranks))
        return false;
    *expectation = (struct expectation){.at = (size_t)index * count, .length = count};
    switch (problem->collective->id) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_BARRIER:
        expectation->rank = EVERY_RANK;
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        expectation->rank = EVERY_RANK;
        expectation->from = mine;
        break;
    case COLLECTIVE_BROADCAST:
        expectation->rank = problem->root;
        break;
    case COLLECTIVE_ALLGATHER:
        expectation->rank = index;
        break;
    case COLLECTIVE_ALLTOALL:
        expectation->rank = index;
        expectation->from = mine;
        break;
    }
    return true;
}

bool collective_is_uniform(const struct collective *collective)
{
    return collective->id != COLLECTIVE_REDUCE_SCATTER && collective->id != COLLECTIVE_ALLTOALL &&
           collective->id != COLLECTIVE_REDUCE;
}

int collective_blocks(const struct collective *collective, enum buffer buffer, int ranks)
{
    switch (collective->id) {
    case COLLECTIVE_ALLTOALL:
        return ranks;
    case COLLECTIVE_ALLGATHER:
        return buffer == BUFFER_DESTINATION ? ranks : 1;
    case COLLECTIVE_REDUCE_SCATTER:
        return buffer == BUFFER_SOURCE ? ranks : 1;
    default:
        return 1;
    }
}

/* Blocks of the larger buffer, which is the size that users name. */
static size_t size_blocks(const struct collective *collective, int ranks)
{
    int source = collective_blocks(collective, BUFFER_SOURCE, ranks);
    int destination = collective_blocks(collective, BUFFER_DESTINATION, ranks);
    return (size_t)(source > destination ? source : destination);
}

size_t collective_count(const struct collective *collective, size_t bytes, size_t element,
                        int ranks)
{
    if (!collective->sized)
        return 1;
    size_t unit = element * size_blocks(collective, ranks);
    return bytes / unit + (bytes % unit != 0);
}

size_t collective_bytes(const struct problem *problem, size_t element)
{
    size_t blocks = size_blocks(problem->collective, problem->ranks);
    return problem->collective->sized ? problem->count * blocks * element : 0;
}

double collective_bus_factor(const struct collective *collective, int ranks)
{
    double n = ranks;
    switch (collective->id) {
    case COLLECTIVE_ALLREDUCE:
        return 2 * (n - 1) / n;
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALLTOALL:
        return (n - 1) / n;
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
        return 1;
    case COLLECTIVE_BARRIER:
        break;
    }
    return 0;
}

/*
 * mpich.c - the winners as MPICH's JSON of selections.
 *
 * The file is a tree of nested keys, which MPICH (4.0 and later, src/mpi/coll/src/csel.c) tries in
 * order: "collective=bcast", "comm_type=intra", "comm_size<=6", "avg_msg_size<=4096", and so on down to
 * "algorithm=MPIR_Bcast_intra_binomial"; a key that ends in "=any" fits always, and stands last. The
 * file replaces MPICH's own choices, so it has every collective, or MPICH would find no algorithm: those
 * that were not measured get one that suits any communicator. An algorithm that does not suit all calls
 * stands behind a guard, with one that does beside it.
 *
 * avg_msg_size is defined for allreduce, bcast, reduce (the vector) and alltoall (a block);
 * total_msg_size for allgather and the two reduce_scatters (all blocks). gather and scatter have one
 * algorithm.
 */
#include "cli/tune/export/internal.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The condition that a call must meet for an algorithm. */
enum guard {
    GUARD_NONE,
    GUARD_COUNT, /* an operator of MPI's own, and as many elements as the largest power of two of
                          ranks */
    GUARD_COMMUTATIVE, /* the operator */
    GUARD_POWER,       /* a power of two of ranks */
    GUARD_APART,       /* two buffers */
};

/* clang-format off */
static const struct counterpart mpich_table[] = {
    {COLLECTIVE_ALLREDUCE, "recursive-doubling", NULL, 0, "Allreduce_intra_recursive_doubling"},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", NULL, 0, "Allreduce_intra_reduce_scatter_allgather"},
    {COLLECTIVE_ALLGATHER, "recursive-doubling", NULL, 0, "Allgather_intra_recursive_doubling"},
    {COLLECTIVE_ALLGATHER, "bruck", "radix", 2, "Allgather_intra_brucks"},
    {COLLECTIVE_ALLGATHER, "ring", "order", 0, "Allgather_intra_ring"},
    {COLLECTIVE_ALLTOALL, "bruck", "radix", 2, "Alltoall_intra_brucks"},
    {COLLECTIVE_ALLTOALL, "scattered", NULL, 0, "Alltoall_intra_scattered"},
    {COLLECTIVE_ALLTOALL, "pairwise", NULL, 0, "Alltoall_intra_pairwise"},
    {COLLECTIVE_BROADCAST, "binomial", NULL, 0, "Bcast_intra_binomial"},
    {COLLECTIVE_BROADCAST, "scatter-rd", NULL, 0, "Bcast_intra_scatter_recursive_doubling_allgather"},
    {COLLECTIVE_BROADCAST, "scatter-ring", "order", 0, "Bcast_intra_scatter_ring_allgather"},
    {COLLECTIVE_REDUCE, "binomial", NULL, 0, "Reduce_intra_binomial"},
    {COLLECTIVE_REDUCE, "rabenseifner", NULL, 0, "Reduce_intra_reduce_scatter_gather"},
    {COLLECTIVE_REDUCE_SCATTER, "rec-halving", NULL, 0, "_intra_recursive_halving"},
    {COLLECTIVE_REDUCE_SCATTER, "rec-doubling", NULL, 0, "_intra_recursive_doubling"},
    {COLLECTIVE_REDUCE_SCATTER, "pairwise", NULL, 0, "_intra_pairwise"},
    {COLLECTIVE_GATHER, "binomial", NULL, 0, "Gather_intra_binomial"},
    {COLLECTIVE_SCATTER, "binomial", NULL, 0, "Scatter_intra_binomial"},
    {.algorithm = NULL},
};
static const struct peer_library mpich = {.name = "MPICH", .table = mpich_table};

static const struct {
    const char *algorithm; /* the end of its name */
    enum guard guard;
} guards[] = {
    {"Allreduce_intra_reduce_scatter_allgather", GUARD_COUNT},
    {"Reduce_intra_reduce_scatter_gather", GUARD_COUNT},
    {"_intra_recursive_halving", GUARD_COMMUTATIVE},
    {"_intra_pairwise", GUARD_COMMUTATIVE}, /* of reduce_scatter */
    {"Allgather_intra_recursive_doubling", GUARD_POWER},
    {"Bcast_intra_scatter_recursive_doubling_allgather", GUARD_POWER},
    {"Alltoall_intra_brucks", GUARD_APART},
    {"Alltoall_intra_scattered", GUARD_APART},
    {"Alltoall_intra_pairwise", GUARD_APART},
};

/* The measured ones. `prefix` stands before an algorithm that two collectives share. */
static const struct {
    enum collective_id collective;
    const char *name, *prefix, *size; /* the key of sizes; NULL: they do not matter */
    const char *safe;                 /* suits every call of an intracommunicator */
    const char *inter;                /* and of an intercommunicator */
} measured[] = {
    {COLLECTIVE_ALLREDUCE, "allreduce", "", "avg_msg_size", "Allreduce_intra_recursive_doubling", "Allreduce_allcomm_nb"},
    {COLLECTIVE_ALLGATHER, "allgather", "", "total_msg_size", "Allgather_intra_ring", "Allgather_allcomm_nb"},
    {COLLECTIVE_ALLTOALL, "alltoall", "", "avg_msg_size", "Alltoall_intra_pairwise_sendrecv_replace", "Alltoall_allcomm_nb"},
    {COLLECTIVE_BROADCAST, "bcast", "", "avg_msg_size", "Bcast_intra_binomial", "Bcast_allcomm_nb"},
    {COLLECTIVE_REDUCE, "reduce", "", "avg_msg_size", "Reduce_intra_binomial", "Reduce_allcomm_nb"},
    {COLLECTIVE_REDUCE_SCATTER, "reduce_scatter", "Reduce_scatter", "total_msg_size", "Reduce_scatter_intra_recursive_doubling", "Reduce_scatter_allcomm_nb"},
    {COLLECTIVE_REDUCE_SCATTER, "reduce_scatter_block", "Reduce_scatter_block", "total_msg_size", "Reduce_scatter_block_intra_recursive_doubling", "Reduce_scatter_block_allcomm_nb"},
    {COLLECTIVE_GATHER, "gather", "", NULL, "Gather_intra_binomial", "Gather_allcomm_nb"},
    {COLLECTIVE_SCATTER, "scatter", "", NULL, "Scatter_intra_binomial", "Scatter_allcomm_nb"},
};

/* All others: the algorithm within a communicator, and between two. */
static const struct {
    const char *name, *intra, *inter;
    const char *replacing; /* for MPI_IN_PLACE, where that differs; NULL: it does not */
} others[] = {
    {"barrier", "Barrier_allcomm_nb", "Barrier_allcomm_nb", NULL},
    {"allgatherv", "Allgatherv_intra_ring", "Allgatherv_allcomm_nb", NULL},
    {"alltoallv", "Alltoallv_allcomm_nb", "Alltoallv_allcomm_nb", NULL},
    {"alltoallw", "Alltoallw_allcomm_nb", "Alltoallw_allcomm_nb", NULL},
    {"gatherv", "Gatherv_allcomm_linear", "Gatherv_allcomm_linear", NULL},
    {"scatterv", "Scatterv_allcomm_linear", "Scatterv_allcomm_linear", NULL},
    {"scan", "Scan_intra_recursive_doubling", "Scan_intra_recursive_doubling", NULL},
    {"exscan", "Exscan_intra_recursive_doubling", "Exscan_intra_recursive_doubling", NULL},
    {"neighbor_allgather", "Neighbor_allgather_allcomm_nb", "Neighbor_allgather_allcomm_nb", NULL},
    {"neighbor_allgatherv", "Neighbor_allgatherv_allcomm_nb", "Neighbor_allgatherv_allcomm_nb", NULL},
    {"neighbor_alltoall", "Neighbor_alltoall_allcomm_nb", "Neighbor_alltoall_allcomm_nb", NULL},
    {"neighbor_alltoallv", "Neighbor_alltoallv_allcomm_nb", "Neighbor_alltoallv_allcomm_nb", NULL},
    {"neighbor_alltoallw", "Neighbor_alltoallw_allcomm_nb", "Neighbor_alltoallw_allcomm_nb", NULL},
    {"ibarrier", "Ibarrier_intra_sched_recursive_doubling", "Ibarrier_inter_sched_bcast", NULL},
    {"iallreduce", "Iallreduce_intra_sched_recursive_doubling", "Iallreduce_inter_sched_remote_reduce_local_bcast", NULL},
    {"iallgather", "Iallgather_intra_sched_ring", "Iallgather_inter_sched_local_gather_remote_bcast", NULL},
    {"iallgatherv", "Iallgatherv_intra_sched_ring", "Iallgatherv_inter_sched_remote_gather_local_bcast", NULL},
    {"ibcast", "Ibcast_intra_sched_binomial", "Ibcast_inter_sched_flat", NULL},
    {"ireduce", "Ireduce_intra_sched_binomial", "Ireduce_inter_sched_local_reduce_remote_send", NULL},
    {"ireduce_scatter", "Ireduce_scatter_intra_sched_recursive_doubling", "Ireduce_scatter_inter_sched_remote_reduce_local_scatterv", NULL},
    {"ireduce_scatter_block", "Ireduce_scatter_block_intra_sched_recursive_doubling", "Ireduce_scatter_block_inter_sched_remote_reduce_local_scatterv", NULL},
    {"igather", "Igather_intra_sched_binomial", "Igather_inter_sched_long", NULL},
    {"iscatter", "Iscatter_intra_sched_binomial", "Iscatter_inter_sched_linear", NULL},
    {"igatherv", "Igatherv_allcomm_sched_linear", "Igatherv_allcomm_sched_linear", NULL},
    {"iscatterv", "Iscatterv_allcomm_sched_linear", "Iscatterv_allcomm_sched_linear", NULL},
    {"iscan", "Iscan_intra_sched_recursive_doubling", "Iscan_intra_sched_recursive_doubling", NULL},
    {"iexscan", "Iexscan_intra_sched_recursive_doubling", "Iexscan_intra_sched_recursive_doubling", NULL},
    {"ineighbor_allgather", "Ineighbor_allgather_allcomm_sched_linear", "Ineighbor_allgather_allcomm_sched_linear", NULL},
    {"ineighbor_allgatherv", "Ineighbor_allgatherv_allcomm_sched_linear", "Ineighbor_allgatherv_allcomm_sched_linear", NULL},
    {"ineighbor_alltoall", "Ineighbor_alltoall_allcomm_sched_linear", "Ineighbor_alltoall_allcomm_sched_linear", NULL},
    {"ineighbor_alltoallv", "Ineighbor_alltoallv_allcomm_sched_linear", "Ineighbor_alltoallv_allcomm_sched_linear", NULL},
    {"ineighbor_alltoallw", "Ineighbor_alltoallw_allcomm_sched_linear", "Ineighbor_alltoallw_allcomm_sched_linear", NULL},
    {"ialltoall", "Ialltoall_intra_sched_pairwise", "Ialltoall_inter_sched_pairwise_exchange", "Ialltoall_intra_sched_inplace"},
    {"ialltoallv", "Ialltoallv_intra_sched_blocked", "Ialltoallv_inter_sched_pairwise_exchange", "Ialltoallv_intra_sched_inplace"},
    {"ialltoallw", "Ialltoallw_intra_sched_blocked", "Ialltoallw_inter_sched_pairwise_exchange", "Ialltoallw_intra_sched_inplace"},
};
/* clang-format on */

static json_t *algorithm_json(const char *prefix, const char *name)
{
    char key[120];
    snprintf(key, sizeof key, "algorithm=MPIR_%s%s", prefix, name);
    return json_pack("{s:{}}", key);
}

static enum guard guard_of(const char *algorithm)
{
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++)
        if (strcmp(guards[i].algorithm, algorithm) == 0)
            return guards[i].guard;
    return GUARD_NONE;
}

/* Two branches, which are taken over. */
static json_t *two_json(const char *key, json_t *branch, const char *other_key, json_t *other)
{
    json_t *tree = json_object();
    json_object_set_new(tree, key, branch);
    json_object_set_new(tree, other_key, other);
    return tree;
}

/* An algorithm behind its guard. */
static json_t *guarded_json(size_t index, const char *algorithm)
{
    json_t *fast = algorithm_json(measured[index].prefix, algorithm);
    json_t *safe = algorithm_json("", measured[index].safe);
    switch (guard_of(algorithm)) {
    case GUARD_COUNT:
        fast = two_json("count<pow2", json_incref(safe), "count=any", fast);
        return two_json("is_op_built_in=yes", fast, "is_op_built_in=no", safe);
    case GUARD_COMMUTATIVE:
        return two_json("is_commutative=yes", fast, "is_commutative=no", safe);
    case GUARD_POWER:
        return two_json("comm_size=pow2", fast, "comm_size=any", safe);
    case GUARD_APART:
        return two_json("is_sendbuf_inplace=yes", safe, "is_sendbuf_inplace=no", fast);
    default:
        json_decref(safe);
        return fast;
    }
}

/* Adds a branch up to `most`, or without an end, and takes it over. */
static void branch_add(json_t *tree, const char *key, size_t most, bool ends, json_t *branch)
{
    char text[64];
    if (ends)
        snprintf(text, sizeof text, "%s<=%zu", key, most);
    else
        snprintf(text, sizeof text, "%s=any", key);
    json_object_set_new(tree, text, branch);
}

/* An alltoall compares blocks. */
static size_t compared_size(const struct tuned_cell *cell)
{
    return cell->collective->id == COLLECTIVE_ALLTOALL ? cell->bytes / (size_t)cell->ranks
                                                       : cell->bytes;
}

/* The picks of one number of ranks, by size. */
static json_t *sizes_json(size_t index, const struct export_pick *picks, int count)
{
    json_t *tree = json_object();
    for (int i = 0, last = count - 1; i <= last; i++) {
        bool ends = i < last;
        size_t next =
            ends ? export_boundary(compared_size(picks[i].cell), compared_size(picks[i + 1].cell))
                 : 0;
        const struct counterpart *theirs = picks[i].counterpart;
        json_t *branch =
            theirs ? guarded_json(index, theirs->theirs) : algorithm_json("", measured[index].safe);
        if (!measured[index].size) {
            json_decref(tree);
            return branch;
        }
        if (next > INT_MAX) /* no larger number is compared */
            last = i;
        branch_add(tree, measured[index].size, next - 1, i < last, branch);
    }
    return tree;
}

/* All numbers of ranks; NULL: nothing was measured of the collective. */
static json_t *ranks_json(const struct tuned *tuned, size_t index)
{
    int ranks[EXPORT_RANKS_MOST];
    int count = export_ranks(tuned, measured[index].collective, ranks);
    json_t *tree = count > 0 ? json_object() : NULL;
    for (int r = 0; r < count; r++) {
        struct export_pick *picks;
        bool ends = r + 1 < count;
        int sizes = export_picks(tuned, &mpich, measured[index].collective, ranks[r], &picks);
        size_t next = ends ? export_boundary((size_t)ranks[r], (size_t)ranks[r + 1]) : 0;
        branch_add(tree, "comm_size", next - 1, ends, sizes_json(index, picks, sizes));
        free(picks);
    }
    return tree;
}

static void collective_add(json_t *document, const char *name, json_t *intra, json_t *inter)
{
    char key[64];
    snprintf(key, sizeof key, "collective=%s", name);
    json_object_set_new(document, key,
                        two_json("comm_type=intra", intra, "comm_type=inter", inter));
}

/* With one buffer a rank replaces what it sends. */
static json_t *other_json(size_t index)
{
    json_t *intra = algorithm_json("", others[index].intra);
    return others[index].replacing
               ? two_json("is_sendbuf_inplace=yes", algorithm_json("", others[index].replacing),
                          "is_sendbuf_inplace=no", intra)
               : intra;
}

json_t *mpich_json(const struct tuned *tuned)
{
    json_t *document = json_object();
    if (!document)
        return NULL;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        json_t *intra = ranks_json(tuned, i);
        collective_add(document, measured[i].name,
                       intra ? intra : algorithm_json("", measured[i].safe),
                       algorithm_json("", measured[i].inter));
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        collective_add(document, others[i].name, other_json(i),
                       algorithm_json("", others[i].inter));
    export_say_lacking(tuned, &mpich);
    return document;
}

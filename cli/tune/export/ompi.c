/*
 * ompi.c - the winners as Open MPI's file of dynamic rules.
 *
 * The file is a list of numbers, with comments behind '#': how many collectives; of each its number
 * and how many numbers of ranks; of each of these the number and how many sizes; of each of these the
 * size, the algorithm, its fan-out and its segment size (Open MPI, docs/tuning-apps/coll-tuned.rst; the
 * numbers of algorithms as `ompi_info --param coll tuned --level 9` has them, the same in versions 4.1 and
 * 5). A rule holds from its number of ranks and its size upwards, up to the next one, and the sizes of a
 * rule begin at 0. Algorithm 0 leaves the decision to Open MPI.
 *
 * Sizes are bytes of the larger buffer of a rank, as cctest's. So the winners of reduce_scatter are rules
 * of both MPI_Reduce_scatter and MPI_Reduce_scatter_block. The forms with counts are left out: there Open
 * MPI compares other sizes.
 */
#include "cli/tune/export/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

#define SEGMENT_LEAST                                                                              \
    ((size_t)128 << 10)                /* cctest's grain of pipelining: a quarter of the message, */
#define SEGMENT_MOST ((size_t)1 << 20) /* in these bounds */

/* clang-format off */
static const struct counterpart mpi_table[] = {
    {COLLECTIVE_ALLREDUCE, "linear", NULL, 0, "1"},
    {COLLECTIVE_ALLREDUCE, "recursive-doubling", NULL, 0, "3"},
    {COLLECTIVE_ALLREDUCE, "ring", "order", 0, "4"},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", NULL, 0, "6"},
    {COLLECTIVE_ALLGATHER, "gather-bcast", NULL, 0, "1"},
    {COLLECTIVE_ALLGATHER, "bruck", "radix", 2, "2"},
    {COLLECTIVE_ALLGATHER, "recursive-doubling", NULL, 0, "3"},
    {COLLECTIVE_ALLGATHER, "ring", "order", 0, "4"},
    {COLLECTIVE_ALLGATHER, "neighbor", NULL, 0, "5"},
    {COLLECTIVE_ALLTOALL, "linear", NULL, 0, "1"},
    {COLLECTIVE_ALLTOALL, "pairwise", NULL, 0, "2"},
    {COLLECTIVE_ALLTOALL, "bruck", "radix", 2, "3"},
    {COLLECTIVE_ALLTOALL, "scattered", NULL, 0, "4"},
    {COLLECTIVE_BARRIER, "central", NULL, 0, "1"},
    {COLLECTIVE_BARRIER, "double-ring", NULL, 0, "2"},
    {COLLECTIVE_BARRIER, "recursive-doubling", NULL, 0, "3"},
    {COLLECTIVE_BARRIER, "dissemination", "radix", 2, "4"},
    {COLLECTIVE_BARRIER, "tree", NULL, 0, "6"},
    {COLLECTIVE_BROADCAST, "linear", "concurrency", 0, "1"},
    {COLLECTIVE_BROADCAST, "chain-k", "fanout", 4, "2"},
    {COLLECTIVE_BROADCAST, "chain", NULL, 0, "3"},
    {COLLECTIVE_BROADCAST, "split-binary", NULL, 0, "4"},
    {COLLECTIVE_BROADCAST, "binary", NULL, 0, "5"},
    {COLLECTIVE_BROADCAST, "binomial", NULL, 0, "6"},
    {COLLECTIVE_BROADCAST, "knomial", "radix", 4, "7"},
    {COLLECTIVE_BROADCAST, "scatter-rd", NULL, 0, "8"},
    {COLLECTIVE_BROADCAST, "scatter-ring", "order", 0, "9"},
    {COLLECTIVE_REDUCE, "linear", NULL, 0, "1"},
    {COLLECTIVE_REDUCE, "chain", NULL, 0, "3"},
    {COLLECTIVE_REDUCE, "binary", NULL, 0, "4"},
    {COLLECTIVE_REDUCE, "binomial", NULL, 0, "5"},
    {COLLECTIVE_REDUCE, "in-order-binary", NULL, 0, "6"},
    {COLLECTIVE_REDUCE, "rabenseifner", NULL, 0, "7"},
    {COLLECTIVE_REDUCE_SCATTER, "linear", NULL, 0, "1"},
    {COLLECTIVE_REDUCE_SCATTER, "rec-halving", NULL, 0, "2"},
    {COLLECTIVE_REDUCE_SCATTER, "ring", "order", 0, "3"},
    {COLLECTIVE_REDUCE_SCATTER, "butterfly", NULL, 0, "4"},
    {COLLECTIVE_GATHER, "linear", NULL, 0, "1"},
    {COLLECTIVE_GATHER, "binomial", NULL, 0, "2"},
    {COLLECTIVE_SCATTER, "linear", NULL, 0, "1"},
    {COLLECTIVE_SCATTER, "binomial", NULL, 0, "2"},
    {.algorithm = NULL},
};
/* MPI_Reduce_scatter_block has other numbers, and no ring. */
static const struct counterpart block_table[] = {
    {COLLECTIVE_REDUCE_SCATTER, "linear", NULL, 0, "1"},
    {COLLECTIVE_REDUCE_SCATTER, "rec-doubling", NULL, 0, "2"},
    {COLLECTIVE_REDUCE_SCATTER, "rec-halving", NULL, 0, "3"},
    {COLLECTIVE_REDUCE_SCATTER, "butterfly", NULL, 0, "4"},
    {.algorithm = NULL},
};
static const struct peer_library open_mpi = {.name = "Open MPI", .table = mpi_table};
static const struct peer_library open_mpi_block = {.name = "Open MPI's MPI_Reduce_scatter_block",
                                                   .table = block_table};

/* The collectives by Open MPI's numbers. */
static const struct {
    int number;
    enum collective_id collective;
    const char *name;
    const struct peer_library *library;
} theirs[] = {
    {0, COLLECTIVE_ALLGATHER, "MPI_Allgather", &open_mpi},
    {2, COLLECTIVE_ALLREDUCE, "MPI_Allreduce", &open_mpi},
    {3, COLLECTIVE_ALLTOALL, "MPI_Alltoall", &open_mpi},
    {6, COLLECTIVE_BARRIER, "MPI_Barrier", &open_mpi},
    {7, COLLECTIVE_BROADCAST, "MPI_Bcast", &open_mpi},
    {9, COLLECTIVE_GATHER, "MPI_Gather", &open_mpi},
    {11, COLLECTIVE_REDUCE, "MPI_Reduce", &open_mpi},
    {12, COLLECTIVE_REDUCE_SCATTER, "MPI_Reduce_scatter", &open_mpi},
    {13, COLLECTIVE_REDUCE_SCATTER, "MPI_Reduce_scatter_block", &open_mpi_block},
    {15, COLLECTIVE_SCATTER, "MPI_Scatter", &open_mpi},
};
#define THEIRS (sizeof theirs / sizeof theirs[0])
/* clang-format on */

/* Trees and chains are pipelined by segments. */
static size_t segment_of(const struct export_pick *pick)
{
    static const char *const pipelined[] = {"chain", "chain-k", "binary", "in-order-binary",
                                            "split-binary"};
    size_t quarter = pick->cell->bytes / 4;
    for (size_t i = 0; i < sizeof pipelined / sizeof pipelined[0]; i++)
        if (strcmp(pick->counterpart->algorithm, pipelined[i]) == 0)
            return quarter < SEGMENT_LEAST ? 0 : quarter > SEGMENT_MOST ? SEGMENT_MOST : quarter;
    return 0;
}

static void rule_write(FILE *out, const struct export_pick *pick, size_t from)
{
    char size[SIZE_TEXT_MOST];
    if (!pick->counterpart) {
        fprintf(out, "%zu 0 0 0 # Open MPI's own decision\n", from);
        return;
    }
    int fanout = pick->counterpart->option && strcmp(pick->counterpart->option, "fanout") == 0
                     ? (int)pick->counterpart->value
                     : 0;
    fprintf(out, "%zu %s %d %zu # %s, %.4g us at %s\n", from, pick->counterpart->theirs, fanout,
            segment_of(pick), pick->algorithm->text, pick->algorithm->time,
            size_format(pick->cell->bytes, size));
}

static void ranks_write(FILE *out, const struct export_pick *picks, int count, int from)
{
    fprintf(out, "%d # from so many ranks on, as measured on %d\n%d # sizes\n", from,
            picks[0].cell->ranks, count);
    for (int i = 0; i < count; i++)
        rule_write(out, &picks[i],
                   i == 0 ? 0 : export_boundary(picks[i - 1].cell->bytes, picks[i].cell->bytes));
}

static void collective_write(FILE *out, const struct tuned *tuned, size_t index)
{
    int ranks[EXPORT_RANKS_MOST];
    int count = export_ranks(tuned, theirs[index].collective, ranks);
    fprintf(out, "%d # %s\n%d # numbers of ranks\n", theirs[index].number, theirs[index].name,
            count);
    for (int r = 0; r < count; r++) {
        struct export_pick *picks;
        int sizes =
            export_picks(tuned, theirs[index].library, theirs[index].collective, ranks[r], &picks);
        if (sizes > 0)
            ranks_write(out, picks, sizes,
                        r == 0 ? ranks[0]
                               : (int)export_boundary((size_t)ranks[r - 1], (size_t)ranks[r]));
        free(picks);
    }
}

void ompi_write(FILE *out, const struct tuned *tuned)
{
    int ranks[EXPORT_RANKS_MOST], collectives_there = 0;
    for (size_t i = 0; i < THEIRS; i++)
        collectives_there += export_ranks(tuned, theirs[i].collective, ranks) > 0;
    fprintf(out,
            "# Written by cctest %s. mpirun --mca coll_tuned_use_dynamic_rules 1 "
            "--mca coll_tuned_dynamic_rules_filename THIS_FILE\n%d # collectives\n",
            CCTEST_VERSION, collectives_there);
    for (size_t i = 0; i < THEIRS; i++)
        if (export_ranks(tuned, theirs[i].collective, ranks) > 0)
            collective_write(out, tuned, i);
    export_say_lacking(tuned, &open_mpi);
}

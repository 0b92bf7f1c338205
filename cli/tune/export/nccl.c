/*
 * nccl.c - the winners as the CSV of NCCL's tuner plugin.
 *
 * A line is colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
 * (NCCL, plugins/tuner/example/README.md); -1 is any. The first line that fits counts. It fits the exact
 * number of ranks and nodes only. Sizes are bytes of the larger buffer of a rank, as cctest's. NCCL (2.30,
 * src/graph/tuning.cc) runs PAT with one rank a node only, by the simple protocol; where it does not run
 * what a line names, the line has no effect.
 */
#include "cli/tune/export/internal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* clang-format off */
static const struct counterpart nccl_table[] = {
    {COLLECTIVE_ALLREDUCE, "ring", NULL, 0, "ring"},
    {COLLECTIVE_ALLREDUCE, "ring-multi", NULL, 0, "ring"},
    {COLLECTIVE_ALLREDUCE, "dbt", NULL, 0, "tree"},
    {COLLECTIVE_ALLGATHER, "ring", NULL, 0, "ring"},
    {COLLECTIVE_ALLGATHER, "pat", NULL, 0, "pat"},
    {COLLECTIVE_REDUCE_SCATTER, "ring", NULL, 0, "ring"},
    {COLLECTIVE_REDUCE_SCATTER, "pat", NULL, 0, "pat"},
    {COLLECTIVE_BROADCAST, "chain", NULL, 0, "ring"},
    {COLLECTIVE_REDUCE, "chain", NULL, 0, "ring"},
    {.algorithm = NULL},
};

static bool nccl_runs(const struct counterpart *counterpart, const struct tuned *tuned,
                      const struct tuned_cell *cell)
{
    return strcmp(counterpart->theirs, "pat") != 0 ||
           (cell->nodes == cell->ranks && strcmp(tuned->protocol, "ll") != 0);
}

static const struct peer_library nccl = {
    .name = "NCCL's tuner", .table = nccl_table, .runs = nccl_runs};

static const struct {
    enum collective_id collective;
    const char *name;
} theirs[] = {
    {COLLECTIVE_BROADCAST, "broadcast"},
    {COLLECTIVE_REDUCE, "reduce"},
    {COLLECTIVE_ALLGATHER, "allgather"},
    {COLLECTIVE_REDUCE_SCATTER, "reducescatter"},
    {COLLECTIVE_ALLREDUCE, "allreduce"},
};
/* clang-format on */

/* The picks of one number of ranks. Where NCCL lacks all algorithms of a size, it decides by itself. */
static void picks_write(FILE *out, const char *name, const struct export_pick *picks, int count,
                        const char *protocol)
{
    for (int i = 0; i < count; i++) {
        size_t from = i == 0 ? 0 : export_boundary(picks[i - 1].cell->bytes, picks[i].cell->bytes);
        size_t to = i + 1 == count
                        ? (size_t)INT64_MAX
                        : export_boundary(picks[i].cell->bytes, picks[i + 1].cell->bytes) - 1;
        if (picks[i].counterpart)
            fprintf(out, "%s,%zu,%zu,%s,%s,-1,%d,%d,-1,-1\n", name, from, to,
                    picks[i].counterpart->theirs, protocol, picks[i].cell->nodes,
                    picks[i].cell->ranks);
    }
}

void nccl_write(FILE *out, const struct tuned *tuned)
{
    bool measured = strcmp(tuned->protocol, "simple") == 0 || strcmp(tuned->protocol, "ll") == 0;
    int ranks[EXPORT_RANKS_MOST];
    fprintf(out,
            "# Written by cctest %s, for NCCL_TUNER_PLUGIN=libnccl-tuner-example.so "
            "NCCL_TUNER_CONFIG_FILE=THIS_FILE\n"
            "# colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
            "regBuff\n",
            CCTEST_VERSION);
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++)
        for (int r = 0, count = export_ranks(tuned, theirs[i].collective, ranks); r < count; r++) {
            struct export_pick *picks;
            int sizes = export_picks(tuned, &nccl, theirs[i].collective, ranks[r], &picks);
            picks_write(out, theirs[i].name, picks, sizes, measured ? tuned->protocol : "simple");
            free(picks);
        }
    export_say_lacking(tuned, &nccl);
    if (!measured)
        say("a line of NCCL's file has a protocol, which was not measured: it is simple; measure "
            "with "
            "--protocol to tell");
}

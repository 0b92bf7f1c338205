/*
 * export.c - the winners of `cctest tune` in the forms that other libraries read.
 */
#include "cli/tune/export/internal.h"

#include "base/io/io.h"
#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/parse.h"
#include "base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static enum status text_export(const char *path,
                               void (*writer)(FILE *out, const struct tuned *tuned),
                               const struct tuned *tuned)
{
    struct draft text;
    writer(draft_open(&text), tuned);
    return draft_put(&text, STATUS_OK, path);
}

static enum status mpich_export(const char *path, const struct tuned *tuned)
{
    json_t *document = mpich_json(tuned);
    enum status status =
        document ? json_put(document, path) : fail(STATUS_ERROR, "out of memory for %s", path);
    json_decref(document);
    return status;
}

enum status export_write(const struct tune_options *tune, const struct tuned *tuned)
{
    enum status status = STATUS_OK;
    if (tune->ompi)
        status = text_export(tune->ompi, ompi_write, tuned);
    if (tune->mpich && status == STATUS_OK)
        status = mpich_export(tune->mpich, tuned);
    if (tune->nccl && status == STATUS_OK)
        status = text_export(tune->nccl, nccl_write, tuned);
    return status;
}

/*
 * The counterpart of a winner in another library.
 */
#define PLACES_SHOWN 6 /* of a winner that a library lacks */

static const struct counterpart *counterpart_find(const struct tuned *tuned,
                                                  const struct peer_library *library,
                                                  const struct tuned_cell *cell,
                                                  const struct choice *choice)
{
    for (const struct counterpart *counterpart = library->table; counterpart->algorithm;
         counterpart++)
        if (counterpart->collective == cell->collective->id &&
            strcmp(counterpart->algorithm, choice->algorithm->name) == 0 &&
            (!counterpart->option ||
             choice_option(choice, counterpart->option) == counterpart->value) &&
            (!library->runs || library->runs(counterpart, tuned, cell)))
            return counterpart;
    return NULL;
}

/* The fastest that the library has. */
static struct export_pick pick_of(const struct tuned *tuned, const struct peer_library *library,
                                  const struct tuned_cell *cell)
{
    struct export_pick pick = {.cell = cell};
    for (int a = 0; a < cell->count && !pick.counterpart; a++) {
        pick.algorithm = &cell->algorithms[a];
        pick.counterpart = counterpart_find(tuned, library, cell, &cell->algorithms[a].choice);
    }
    if (!pick.counterpart)
        pick.algorithm = NULL;
    return pick;
}

static int pick_compare(const void *a, const void *b)
{
    const struct export_pick *x = a, *y = b;
    return COMPARE(x->cell->bytes, y->cell->bytes);
}

int export_picks(const struct tuned *tuned, const struct peer_library *library,
                 enum collective_id collective, int ranks, struct export_pick **picks)
{
    int count = 0;
    *picks = new_array(tuned->count + 1, sizeof **picks);
    for (size_t c = 0; c < tuned->count; c++)
        if (tuned->cells[c].collective->id == collective && tuned->cells[c].ranks == ranks)
            (*picks)[count++] = pick_of(tuned, library, &tuned->cells[c]);
    qsort(*picks, (size_t)count, sizeof **picks, pick_compare);
    return count;
}

int export_ranks(const struct tuned *tuned, enum collective_id collective,
                 int ranks[EXPORT_RANKS_MOST])
{
    int count = 0;
    for (size_t c = 0; c < tuned->count; c++) {
        int at = 0, mine = tuned->cells[c].ranks;
        if (tuned->cells[c].collective->id != collective)
            continue;
        while (at < count && ranks[at] < mine)
            at++;
        if ((at < count && ranks[at] == mine) || count == EXPORT_RANKS_MOST)
            continue;
        memmove(&ranks[at + 1], &ranks[at], (size_t)(count - at) * sizeof *ranks);
        ranks[at] = mine;
        count++;
    }
    return count;
}

size_t export_boundary(size_t below, size_t above)
{
    size_t middle = (size_t)ceil(sqrt((double)below * (double)above));
    return middle > below ? middle : below + 1;
}

/* The winner that the library lacks, or NULL. */
static const struct tuned_algorithm *lacking_in(const struct tuned *tuned,
                                                const struct peer_library *library,
                                                const struct tuned_cell *cell)
{
    const struct tuned_algorithm *winner = &cell->algorithms[0];
    return pick_of(tuned, library, cell).algorithm == winner ? NULL : winner;
}

/* "64K on 4 ranks (ring, 1.12 times as long)". */
static void place_add(struct text *text, const struct tuned *tuned,
                      const struct peer_library *library, const struct tuned_cell *cell)
{
    struct export_pick pick = pick_of(tuned, library, cell);
    char size[SIZE_TEXT_MOST];
    text_add(text, "%s%s on %d ranks", text->used > 0 ? ", " : "",
             cell->collective->sized ? size_format(cell->bytes, size) : "any", cell->ranks);
    if (pick.algorithm)
        text_add(text, " (gets %s, %.2f times as long)", pick.algorithm->text,
                 pick.algorithm->time / cell->algorithms[0].time);
    else
        text_add(text, " (it decides)");
}

/* All cells of a collective that the same winner has, said once, at the first. */
static void lacking_say(const struct tuned *tuned, const struct peer_library *library, size_t first)
{
    const struct tuned_cell *cell = &tuned->cells[first];
    const struct tuned_algorithm *winner = lacking_in(tuned, library, cell);
    char places[600] = "";
    struct text text = text_in(places, sizeof places);
    int shown = 0;
    for (size_t c = 0; winner && c < tuned->count; c++) {
        const struct tuned_cell *other = &tuned->cells[c];
        const struct tuned_algorithm *algorithm = lacking_in(tuned, library, other);
        if (!algorithm || other->collective != cell->collective ||
            strcmp(algorithm->text, winner->text) != 0)
            continue;
        if (c < first)
            return;
        if (shown++ < PLACES_SHOWN)
            place_add(&text, tuned, library, other);
    }
    if (shown > PLACES_SHOWN)
        text_add(&text, " and %d more", shown - PLACES_SHOWN);
    if (winner)
        say("%s lacks %s %s, the fastest at %s", library->name, cell->collective->name,
            winner->text, places);
}

void export_say_lacking(const struct tuned *tuned, const struct peer_library *library)
{
    for (size_t c = 0; c < tuned->count; c++)
        lacking_say(tuned, library, c);
}

/*
 * The winners as the CSV of NCCL's tuner plugin.
 *
 * A line is colltype,minbytes,maxbytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff
 * (NCCL, plugins/tuner/example/README.md); -1 is any. The first line that fits counts. It fits the exact
 * number of ranks and nodes only. Sizes are bytes of the larger buffer of a rank, as cctest's. NCCL (2.30,
 * src/graph/tuning.cc) runs PAT with one rank a node only, by the simple protocol; where it does not run
 * what a line names, the line has no effect.
 */
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

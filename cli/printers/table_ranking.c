/*
 * table_ranking.c - the end of the table, where several algorithms ran: which was how fast, and in
 * which place, by size.
 *
 *     #                  1K #         64K #          1M #
 *     # ring          0.176 3       2.421 1       9.870 1
 *     # oneshot       0.350 1       1.213 2       1.020 2
 *
 * The best in the mean of its places comes first. Many sizes stand in several blocks.
 */
#include "cli/printers/table_ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"

#define SIZES_IN_A_BLOCK 6

struct ranking {
    FILE *out;
    const struct job *job;
    const struct ranked *cells; /* in the order in which they ran: size by size */
    size_t count;
    int order[CANDIDATES_MOST]; /* choices, the best first */
    int width;                  /* of the longest name */
};

/* The cell of a choice among the cells of the size that begins at `first`; NULL: it has none. */
static const struct ranked *cell_find(const struct ranking *ranking, size_t first, int choice)
{
    size_t asked = ranking->cells[first].asked;
    for (size_t i = first; i < ranking->count && ranking->cells[i].asked == asked; i++)
        if (ranking->cells[i].choice == choice)
            return &ranking->cells[i];
    return NULL;
}

static bool cell_counts(const struct ranked *cell)
{
    return cell && cell->time > 0 && !cell->wrong;
}

/* From 1; 0: it has none. */
static int place_of(const struct ranking *ranking, size_t first, const struct ranked *cell)
{
    int place = 1;
    if (!cell_counts(cell))
        return 0;
    for (size_t i = first; i < ranking->count && ranking->cells[i].asked == cell->asked; i++)
        place += cell_counts(&ranking->cells[i]) && ranking->cells[i].time < cell->time;
    return place;
}

/* The first cell of the next size. */
static size_t next_size(const struct ranking *ranking, size_t first)
{
    size_t i = first;
    while (i < ranking->count && ranking->cells[i].asked == ranking->cells[first].asked)
        i++;
    return i;
}

/* Its mean place; one that never counted, or was wrong anywhere, comes last. */
static double mean_place(const struct ranking *ranking, int choice)
{
    int places = 0, sizes = 0;
    for (size_t i = 0; i < ranking->count; i = next_size(ranking, i)) {
        const struct ranked *cell = cell_find(ranking, i, choice);
        int place = place_of(ranking, i, cell);
        if (cell && cell->wrong)
            return CANDIDATES_MOST + 1;
        places += place;
        sizes += place > 0;
    }
    return sizes ? (double)places / sizes : CANDIDATES_MOST + 1;
}

static void order_find(struct ranking *ranking)
{
    double means[CANDIDATES_MOST];
    for (int c = 0; c < ranking->job->candidate_count; c++) {
        int at = c, length = (int)strlen(ranking->job->candidates[c].text);
        double mean = mean_place(ranking, c);
        for (; at > 0 && means[at - 1] > mean; at--) {
            means[at] = means[at - 1];
            ranking->order[at] = ranking->order[at - 1];
        }
        means[at] = mean;
        ranking->order[at] = c;
        ranking->width = length > ranking->width ? length : ranking->width;
    }
}

static void print_cell(const struct ranking *ranking, size_t first, int choice)
{
    const struct ranked *cell = cell_find(ranking, first, choice);
    bool sized = ranking->job->collective->sized;
    if (cell_counts(cell))
        fprintf(ranking->out, "  %10.*f %-3d", sized ? 3 : 2, sized ? cell->busbw : cell->time,
                place_of(ranking, first, cell));
    else
        fprintf(ranking->out, "  %10s    ", cell && cell->wrong ? "wrong" : "-");
}

/* Some sizes, beginning with the one at `first`. Returns where the next block begins. */
static size_t print_block(const struct ranking *ranking, size_t first)
{
    size_t sizes[SIZES_IN_A_BLOCK];
    int count = 0;
    bool sized = ranking->job->collective->sized;
    fprintf(ranking->out, "#\n# %*s", ranking->width, "");
    for (; first < ranking->count && count < SIZES_IN_A_BLOCK; first = next_size(ranking, first)) {
        char text[SIZE_TEXT_MOST];
        sizes[count++] = first;
        fprintf(ranking->out, "  %10s #  ",
                sized ? size_format(ranking->cells[first].bytes, text) : "");
    }
    fputc('\n', ranking->out);
    for (int c = 0; c < ranking->job->candidate_count; c++) {
        fprintf(ranking->out, "# %-*s", ranking->width,
                ranking->job->candidates[ranking->order[c]].text);
        for (int i = 0; i < count; i++)
            print_cell(ranking, sizes[i], ranking->order[c]);
        fputc('\n', ranking->out);
    }
    return first;
}

void ranking_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count)
{
    struct ranking ranking = {.out = out, .job = job, .cells = cells, .count = count};
    bool several = false;
    for (size_t i = 1; i < count; i++)
        several |= cells[i].asked == cells[i - 1].asked;
    if (!several || job->iterations == 0)
        return;
    order_find(&ranking);
    fprintf(out, "#\n# %s and place, by algorithm and size; the best in the mean first:\n",
            job->collective->sized ? "busbw in GB/s" : "p50 in us");
    for (size_t first = 0; first < count;)
        first = print_block(&ranking, first);
}

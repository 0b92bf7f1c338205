/*
 * table_ranking.c - the end of the table, where several algorithms ran: which was how fast, and in
 * which place, by size.
 *
 *     #                  1K   #        64K   #         1M   #
 *     # ring          0.176   3      2.421   1      9.870   1
 *     # oneshot       0.350   1      1.213   2      1.020   2
 *
 * The best in the mean of its places comes first. Many sizes stand in several blocks. Each
 * collective has a ranking of its own; datatypes and operators stand below the sizes.
 */
#include "cli/run/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/parse.h"

#define TABLE_WIDTH 80
#define CELL_WIDTH  15
#define CELLS_MOST  (TABLE_WIDTH / CELL_WIDTH) /* of a block: sizes */

/* An algorithm, as named; one that was named twice is in two rows. */
struct ranked_row {
    const char *text;
    int nth; /* of those that compete and are named so */
    double mean;
};

/* The ranking of the algorithms of one collective. */
struct ranking {
    FILE *out;
    const struct job *job;
    const struct ranked *cells; /* in the order in which they ran: contest by contest */
    size_t count;
    struct ranked_row *rows; /* the best first */
    int row_count;
    int width; /* of the longest name */
};

static const struct candidate *candidate_of(const struct ranking *ranking, size_t cell)
{
    return &ranking->job->candidates[ranking->cells[cell].choice];
}

/* The first cell behind those of the contest that begins at `first`: one size, with one datatype
 * and operator. */
static size_t contest_end(const struct ranking *ranking, size_t first)
{
    size_t i = first;
    while (i < ranking->count && ranking->cells[i].asked == ranking->cells[first].asked &&
           candidates_compete(candidate_of(ranking, i), candidate_of(ranking, first)))
        i++;
    return i;
}

static struct ranked_row row_of(const struct ranking *ranking, size_t cell)
{
    const struct candidate *candidate = candidate_of(ranking, cell);
    struct ranked_row row = {.text = candidate->text};
    for (const struct candidate *other = candidate;
         other > ranking->job->candidates && candidates_compete(other - 1, candidate); other--)
        row.nth += strcmp(other[-1].text, candidate->text) == 0;
    return row;
}

static bool row_is(const struct ranked_row *a, const struct ranked_row *b)
{
    return a->nth == b->nth && strcmp(a->text, b->text) == 0;
}

/* The cell of a row in the contest that begins at `first`; NULL: it has none. */
static const struct ranked *cell_find(const struct ranking *ranking, size_t first,
                                      const struct ranked_row *row)
{
    for (size_t i = first, end = contest_end(ranking, first); i < end; i++) {
        const struct ranked_row other = row_of(ranking, i);
        if (row_is(&other, row))
            return &ranking->cells[i];
    }
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
    for (size_t i = first, end = contest_end(ranking, first); i < end; i++)
        place += cell_counts(&ranking->cells[i]) && ranking->cells[i].time < cell->time;
    return place;
}

/* Its mean place; one that never counted, or was wrong anywhere, comes last. */
static double mean_place(const struct ranking *ranking, const struct ranked_row *row)
{
    int places = 0, contests = 0;
    double last = ranking->row_count + 1;
    for (size_t i = 0; i < ranking->count; i = contest_end(ranking, i)) {
        const struct ranked *cell = cell_find(ranking, i, row);
        int place = place_of(ranking, i, cell);
        if (cell && cell->wrong)
            return last;
        places += place;
        contests += place > 0;
    }
    return contests ? (double)places / contests : last;
}

/* Finds the rows, in the order in which they first ran. */
static void rows_find(struct ranking *ranking)
{
    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked_row row = row_of(ranking, i);
        int at = 0, length = (int)strlen(row.text);
        while (at < ranking->row_count && !row_is(&ranking->rows[at], &row))
            at++;
        if (at == ranking->row_count)
            ranking->rows[ranking->row_count++] = row;
        ranking->width = length > ranking->width ? length : ranking->width;
    }
}

static void rows_sort(struct ranking *ranking)
{
    for (int r = 0; r < ranking->row_count; r++)
        ranking->rows[r].mean = mean_place(ranking, &ranking->rows[r]);
    for (int r = 1; r < ranking->row_count; r++) {
        const struct ranked_row row = ranking->rows[r];
        int at = r;
        for (; at > 0 && ranking->rows[at - 1].mean > row.mean; at--)
            ranking->rows[at] = ranking->rows[at - 1];
        ranking->rows[at] = row;
    }
}

static bool is_sized(const struct ranking *ranking)
{
    return candidate_of(ranking, 0)->collective->sized;
}

static void print_cell(const struct ranking *ranking, size_t first, const struct ranked_row *row)
{
    const struct ranked *cell = cell_find(ranking, first, row);
    bool sized = is_sized(ranking);
    if (!cell_counts(cell))
        fprintf(ranking->out, "  %9s   -", cell && cell->wrong ? "wrong" : "-");
    else if (sized && cell->busbw == 0) /* of one rank */
        fprintf(ranking->out, "  %9s %3d", "-", place_of(ranking, first, cell));
    else
        fprintf(ranking->out, "  %9.*f %3d", sized ? 3 : 2, sized ? cell->busbw : cell->time,
                place_of(ranking, first, cell));
}

/* The datatypes and operators of some contests, where the job has several. */
static void print_work(const struct ranking *ranking, const size_t *contests, int count)
{
    const struct job *job = ranking->job;
    for (int row = 0; row < 2 && is_sized(ranking); row++) {
        bool types = row == 0;
        if (types ? !job->datatypes[1]
                  : !job->reductions[1] || !candidate_of(ranking, 0)->reduction)
            continue;
        fprintf(ranking->out, "# %*s", ranking->width, "");
        for (int i = 0; i < count; i++) {
            const struct candidate *candidate = candidate_of(ranking, contests[i]);
            fprintf(ranking->out, "  %13s",
                    types ? candidate->datatype->name : candidate->reduction->name);
        }
        fputc('\n', ranking->out);
    }
}

/* Some contests, beginning with the one at `first`. Returns where the next block begins. */
static size_t print_block(const struct ranking *ranking, size_t first)
{
    size_t contests[CELLS_MOST];
    int count = 0, room = (TABLE_WIDTH - 2 - ranking->width) / CELL_WIDTH;
    fprintf(ranking->out, "#\n# %*s", ranking->width, "");
    for (; first < ranking->count && (count < room || count == 0);
         first = contest_end(ranking, first)) {
        char text[SIZE_TEXT_MOST];
        contests[count++] = first;
        fprintf(ranking->out, "  %9s   #",
                is_sized(ranking) ? size_format(ranking->cells[first].bytes, text) : "");
    }
    fputc('\n', ranking->out);
    print_work(ranking, contests, count);
    for (int r = 0; r < ranking->row_count; r++) {
        fprintf(ranking->out, "# %-*s", ranking->width, ranking->rows[r].text);
        for (int i = 0; i < count; i++)
            print_cell(ranking, contests[i], &ranking->rows[r]);
        fputc('\n', ranking->out);
    }
    return first;
}

/* One collective. */
static void collective_print(struct ranking *ranking)
{
    const struct job *job = ranking->job;
    bool several = false;
    for (size_t i = 0; i < ranking->count; i = contest_end(ranking, i))
        several |= contest_end(ranking, i) > i + 1;
    if (!several)
        return;
    ranking->rows = new_array(ranking->count, sizeof *ranking->rows);
    rows_find(ranking);
    rows_sort(ranking);
    fprintf(ranking->out,
            "#\n# %s%s%s and place, by algorithm and size; the best mean place first:\n",
            job->collectives[1] ? candidate_of(ranking, 0)->collective->name : "",
            job->collectives[1] ? ": " : "", is_sized(ranking) ? "busbw in GB/s" : "p50 in us");
    for (size_t first = 0; first < ranking->count;)
        first = print_block(ranking, first);
    free(ranking->rows);
}

void ranking_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count)
{
    for (size_t first = 0, end; first < count && job->iterations > 0; first = end) {
        const struct collective *collective = job->candidates[cells[first].choice].collective;
        for (end = first; end < count; end++)
            if (job->candidates[cells[end].choice].collective != collective)
                break;
        struct ranking ranking = {
            .out = out, .job = job, .cells = &cells[first], .count = end - first};
        collective_print(&ranking);
    }
}

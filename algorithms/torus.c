/*
 * torus.c - allreduce on a grid of ranks: rings along the rows, rings along the columns.
 *
 *      0 - 1 - 2      1. each row: reduce_scatter of the vector, cut into a part for each column
 *      |   |   |      2. each column: allreduce of its part, cut into a block for each row
 *      3 - 4 - 5      3. each row: allgather of the parts
 *
 * With X columns and Y rows: the bytes of a ring of all ranks, in 2(X-1) + 2(Y-1) steps instead of
 * 2(p-1): about sqrt(p) hops instead of p. No scratch.
 *
 *   torus2d   the grid is full: X Y = p. channels=2 gives half of the vector to a second allreduce
 *             with rows and columns exchanged. Both run at the same time, so that links in both
 *             dimensions are busy; a step is then one of each.
 *   nhr-v1    any p. A grid of a x c = p if c-a < 5. Else floor(sqrt p) columns and as many rows,
 *             or one row more if the rest fills it; each rank that is left extends one of the first
 *             rows. It takes part in the rings of its row with an empty part, and in no column:
 *
 *                  p = 7:  0 1 2
 *                          3 4
 *                          5 6
 *
 *   name      steps                 sent
 *   torus2d   2(X-1) + 2(Y-1)       2(p-1)b
 *   nhr-v1    about 4 sqrt(p)       the same on a full grid, else (2X-1)/X n + 2(Y-1)/(XY) n
 *
 * Used by: nhr-v1 HCCL, formerly. Sources of the torus: Mikami et al., "Massively distributed SGD",
 * 2018; Ying et al., "Image classification at supercomputer scale", 2018.
 */
#include "algorithms/algorithms.h"

#include <stdio.h>

#include "algorithms/common/common.h"

/* Rows of `columns` ranks; the first `longer` rows have one more. `down` and `right`: the distance
 * from a rank to the one below it, and to its right; in longer rows it is one more down. */
struct grid {
    int rows, columns, longer;
    int down, right;
};

static int grid_length(const struct grid *grid, int row)
{
    return grid->columns + (row < grid->longer);
}

static int grid_rank(const struct grid *grid, int row, int column)
{
    return row * grid->down + column * grid->right + (row < grid->longer ? row : grid->longer);
}

/* The columns of the most square full grid of p ranks: no fewer than rows. */
static int columns_square(int p)
{
    int rows = 1;
    for (int a = 1; a * a <= p; a++)
        rows = p % a == 0 ? a : rows;
    return p / rows;
}

static struct grid grid_nhr(int p)
{
    int columns = columns_square(p), rows = p / columns;
    if (columns - rows >= 5) {
        for (columns = 1; (columns + 1) * (columns + 1) <= p;)
            columns++;
        rows = p - columns * columns >= columns ? columns + 1 : columns;
    }
    return (struct grid){rows, columns, p - rows * columns, .down = columns, .right = 1};
}

/* The row and column of a group rank. */
static void grid_find(const struct grid *grid, int rank, int *row, int *column)
{
    for (*row = 0; *row < grid->rows; (*row)++)
        for (*column = 0; *column < grid_length(grid, *row); (*column)++)
            if (grid_rank(grid, *row, *column) == rank)
                return;
}

/* A part of `whole` for each column, and an empty one for the rank beyond the last column. */
static struct view grid_parts(struct builder *b, const struct view *whole, const struct grid *grid,
                              int length)
{
    struct view cut = view_cut(b, whole, grid->columns);
    struct message *parts = message_array(b, length);
    for (int i = 0; parts && i < length; i++)
        parts[i] = i < grid->columns ? view_block(&cut, i) : (struct message){0};
    return (struct view){parts, parts ? length : 0};
}

/* The allreduce of one part among the ranks of a column. A rank in no column counts its steps. */
static void column_allreduce(struct builder *b, const struct call *call, const struct grid *grid,
                             int column, const struct view *parts)
{
    int which = column < grid->columns ? column : 0;
    int *members = index_array(b, grid->rows);
    if (!members)
        return;
    for (int i = 0; i < grid->rows; i++)
        members[i] = grid_rank(grid, i, which);
    struct group group = group_part(b, call->group, members, grid->rows);
    struct call inner = *call;
    inner.group = &group;
    inner.source = inner.destination = view_of(b, view_block(parts, which));
    compose_allreduce(b, &inner, ring_reduce_scatter_on, ring_allgather_on);
}

static void grid_allreduce(struct builder *b, const struct call *call, const struct grid *grid)
{
    const struct group *g = call->group;
    int row = 0, column = 0;
    grid_find(grid, g->rank, &row, &column);
    int length = grid_length(grid, row), *members = index_array(b, length);
    if (!members)
        return;
    for (int i = 0; i < length; i++)
        members[i] = grid_rank(grid, row, i);
    struct group group = group_part(b, g, members, length);
    struct view source = grid_parts(b, &call->source, grid, length);
    struct view parts = grid_parts(b, &call->destination, grid, length);
    bool waits = grid->longer > 0 && row >= grid->longer; /* longer rows have one more step */

    if (length == 1)
        put_copy(b, g, view_all(b, &parts), view_all(b, &source));
    ring_reduce_scatter_on(b, &group, &source, &parts);
    if (waits)
        put_step(b, g);
    column_allreduce(b, call, grid, column, &parts);
    ring_allgather_on(b, &group, &parts);
    if (waits)
        put_step(b, g);
}

static int torus_columns(const struct choice *choice, int p)
{
    long columns = choice_option(choice, "columns");
    return columns > 0 ? (int)columns : columns_square(p);
}

static void torus_allreduce(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, x = torus_columns(call->choice, p), y = p / x;
    int channels = (int)call_option(call, "channels");
    const struct grid grids[2] = {{y, x, 0, .down = x, .right = 1},
                                  {x, y, 0, .down = 1, .right = x}};
    struct group groups[2] = {*g, channels > 1 ? group_on_lane(b, g) : *g};
    for (int c = 0; c < channels; c++) {
        struct call share = *call;
        share.group = &groups[c];
        share.source = view_channel(b, &call->source, c, channels);
        share.destination = view_channel(b, &call->destination, c, channels);
        grid_allreduce(b, &share, &grids[c]);
        group_join(b, g, &groups[c]);
    }
}

static void nhr_v1_allreduce(struct builder *b, const struct call *call)
{
    struct grid grid = grid_nhr(call->group->size);
    grid_allreduce(b, call, &grid);
}

static const char *torus_refuses(const struct problem *problem, const struct choice *choice,
                                 char *why, size_t size)
{
    int columns = torus_columns(choice, problem->ranks);
    if (problem->ranks % columns == 0)
        return NULL;
    snprintf(why, size, "%d ranks do not fill rows of %d: give columns= a divisor of %d",
             problem->ranks, columns, problem->ranks);
    return why;
}

const struct algorithm allreduce_torus2d = {
    .name = "torus2d",
    .collectives = SERVES(ALLREDUCE),
    .summary = "rings along the rows of a grid of ranks, rings along its columns",
    .rounds = "2(X-1) + 2(Y-1)",
    .sent = "2(p-1)b",
    .users = "Mikami et al., Ying et al.",
    .options = {{"columns", 0, 65536, 0, "X: ranks in a row; 0: the most square grid"},
                {"channels", 1, 2, 1, "2: half of the vector goes along the columns first"}},
    .refuses = torus_refuses,
    .write = torus_allreduce,
};

const struct algorithm allreduce_nhr_v1 = {
    .name = "nhr-v1",
    .collectives = SERVES(ALLREDUCE),
    .summary = "rings on an almost square grid, whose first rows may have one more rank",
    .rounds = "about 4 sqrt(p)",
    .sent = "about 2n",
    .users = "HCCL (formerly)",
    .write = nhr_v1_allreduce,
};

/*
 * cells.c - numbers sorted into cells.
 */
#include "screening/cells.h"

#include <stdlib.h>

bool cells_create(struct excess_cells *cells, int count)
{
    *cells = (struct excess_cells){.count = count,
                                   .start = calloc((size_t)count + 1, sizeof *cells->start),
                                   .used = calloc((size_t)count, sizeof *cells->used)};
    return cells->start && cells->used;
}

void cells_count(struct excess_cells *cells, int cell)
{
    cells->start[cell + 1]++;
}

bool cells_reserve(struct excess_cells *cells)
{
    for (int c = 0; c < cells->count; c++)
        cells->start[c + 1] += cells->start[c];
    cells->of = calloc(cells->start[cells->count] + 1, sizeof *cells->of);
    return cells->of;
}

void cells_put(struct excess_cells *cells, int cell, double number)
{
    cells->of[cells->start[cell] + cells->used[cell]++] = number;
}

void cells_free(struct excess_cells *cells)
{
    free(cells->start);
    free(cells->used);
    free(cells->of);
}

double *cells_of(const struct excess_cells *cells, int cell)
{
    return cells->of + cells->start[cell];
}

size_t cells_size(const struct excess_cells *cells, int cell)
{
    return cells->used[cell];
}

/*
 * cells.h - numbers sorted into cells, which lie one behind the other in one array.
 */
#ifndef CCTEST_SCREENING_CELLS_H
#define CCTEST_SCREENING_CELLS_H

#include <stdbool.h>
#include <stddef.h>

struct excess_cells {
    int count;
    size_t *start; /* [count + 1]: where each cell begins in `of` */
    size_t *used;  /* [count] */
    double *of;
};

/* Two passes fill cells: cells_count() of each number's cell, cells_reserve(), cells_put() of each
 * number. False: out of memory. */
bool cells_create(struct excess_cells *cells, int count);
void cells_count(struct excess_cells *cells, int cell);
bool cells_reserve(struct excess_cells *cells);
void cells_put(struct excess_cells *cells, int cell, double number);
void cells_free(struct excess_cells *cells);

/* The numbers of a cell; how many. */
double *cells_of(const struct excess_cells *cells, int cell);
size_t cells_size(const struct excess_cells *cells, int cell);

#endif

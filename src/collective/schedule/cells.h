/*
 * cells.h - cuts a storage into cells at the ends of runs, so that every run covers whole cells.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_CELLS_H
#define CCTEST_COLLECTIVE_SCHEDULE_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cells {
    size_t *starts; /* ascending; cell i is [starts[i], starts[i + 1]); the last is only an end */
    size_t count;   /* of starts */
    /* For many cuts, else NULL. Bit e: element e begins a cell. before[w]: the number of cells that
     * begin before word w. */
    uint64_t *begins;
    uint32_t *before;
    size_t words;
};

/* cells_open -> cells_cut ... -> cells_order -> cells_find ... -> cells_free, which is allowed at
 * any time. `cells` must be zero before. `elements`: of the storage; `ends`: the most cuts. False:
 * out of memory. */
bool cells_open(struct cells *cells, size_t elements, size_t ends);
void cells_cut(struct cells *cells, size_t start, size_t end); /* at both ends of a run */
bool cells_order(struct cells *cells);
/* The cell that begins at element `start`, where there was a cut. */
size_t cells_find(const struct cells *cells, size_t start);
void cells_free(struct cells *cells);

#endif

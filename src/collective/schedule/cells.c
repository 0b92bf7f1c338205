/*
 * cells.c - cuts a storage into cells, in one of two ways.
 *
 * A storage with many cuts for its size has a bit for each element: no sorting, and a cell is found
 * by counting bits. Another one has a sorted list of cuts, and a cell is found by binary search.
 */
#include "collective/schedule/internal.h"

#include <stdlib.h>

bool cells_open(struct cells *cells, size_t elements, size_t ends)
{
    size_t words = elements / 64 + 1;
    if (words > ends) {
        cells->starts = malloc((ends + 1) * sizeof *cells->starts);
        return cells->starts;
    }
    cells->words = words;
    cells->begins = calloc(words, sizeof *cells->begins);
    cells->before = malloc(words * sizeof *cells->before);
    return cells->begins && cells->before;
}

void cells_cut(struct cells *cells, size_t start, size_t end)
{
    if (cells->begins) {
        cells->begins[start / 64] |= (uint64_t)1 << start % 64;
        cells->begins[end / 64] |= (uint64_t)1 << end % 64;
    } else {
        cells->starts[cells->count++] = start;
        cells->starts[cells->count++] = end;
    }
}

static int size_compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Sorts the list and drops duplicates. Programs often have it in order already. */
static void cells_sort(struct cells *cells)
{
    size_t *starts = cells->starts, kept = 0;
    bool ascending = true;
    for (size_t i = 1; i < cells->count && ascending; i++)
        ascending = starts[i - 1] <= starts[i];
    if (!ascending)
        qsort(starts, cells->count, sizeof *starts, size_compare);
    for (size_t i = 0; i < cells->count; i++)
        if (kept == 0 || starts[i] != starts[kept - 1])
            starts[kept++] = starts[i];
    cells->count = kept;
}

bool cells_order(struct cells *cells)
{
    if (!cells->begins) {
        cells_sort(cells);
        return true;
    }
    for (size_t w = 0; w < cells->words; w++) {
        cells->before[w] = (uint32_t)cells->count;
        cells->count += (size_t)__builtin_popcountll(cells->begins[w]);
    }
    cells->starts = malloc((cells->count + 1) * sizeof *cells->starts);
    if (!cells->starts)
        return false;
    size_t cell = 0;
    for (size_t w = 0; w < cells->words; w++)
        for (uint64_t bits = cells->begins[w]; bits; bits &= bits - 1)
            cells->starts[cell++] = w * 64 + (size_t)__builtin_ctzll(bits);
    return true;
}

size_t cells_find(const struct cells *cells, size_t start)
{
    if (cells->begins) {
        uint64_t earlier = cells->begins[start / 64] & ~(~(uint64_t)0 << start % 64);
        return cells->before[start / 64] + (size_t)__builtin_popcountll(earlier);
    }
    size_t low = 0, high = cells->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (cells->starts[middle] <= start)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void cells_free(struct cells *cells)
{
    free(cells->starts);
    free(cells->begins);
    free(cells->before);
}

/*
 * counts.h - the lengths of blocks, and the partners of sendrecv.
 *
 * The forms with counts (alltoallv, allgatherv, gatherv, scatterv, reduce_scatterv) take the
 * lengths of their blocks from a distribution or a file. The patterns of sendrecv define each
 * rank's partners. All ranks hold the same counts.
 */
#ifndef CCTEST_COLLECTIVE_COUNTS_H
#define CCTEST_COLLECTIVE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum counts_kind {
    COUNTS_VECTOR,   /* one number for each rank: the length of its block */
    COUNTS_MATRIX,   /* one for each pair: the length of the block from `from` to `to` */
    COUNTS_PARTNERS, /* sendrecv: the rank that each rank sends to, and receives from */
};

struct counts {
    enum counts_kind kind;
    int ranks;
    size_t *before; /* one row, [ranks + 1]: elements of all blocks before each, and of all. It is
                         the vector, or the row of every sender of a matrix. A matrix of a file has
                         a row for each sender: [from][ranks + 1] */
    size_t
        *received; /* matrix of a file: [to][ranks + 1], elements for `to` of ranks before `from` */
    bool rotated;  /* matrix of one row: its index is the distance, (to - from) mod ranks */
    int *to, *from; /* partners: -1: none */
};

enum distribution {
    DISTRIBUTION_UNIFORM, /* the same for all */
    DISTRIBUTION_ZIPF,    /* the k-th most popular rank gets 1/k^S of the most popular one's */
    DISTRIBUTION_HOT,     /* rank 0 gets the fraction F of everything, the others the rest */
    DISTRIBUTION_SPREAD,  /* rank r gets in proportion to r; in a matrix, to the distance from the
                             sender: from nothing to twice the mean */
    DISTRIBUTION_FILE,    /* elements, from a file: a line for each sender with a number for each
                             receiver (matrix), or a number for each rank (vector) */
};

/* The argument of --counts. */
struct counts_spec {
    enum distribution distribution;
    double parameter;     /* S or F */
    const char *path;     /* of a file */
    size_t *numbers;      /* of a file, in its order */
    size_t rows, columns; /* of a file: lines with numbers, numbers in each */
};

/* "uniform", "zipf:S" (S from 0 to 10), "hot:F" (F from 0 to 1), "spread", or the path of a file,
 * which is read: whole numbers between blanks or commas, as many in each line that has any; '#'
 * begins a comment. Errors: STATUS_USAGE, with the file and the line; STATUS_ERROR for a FIFO
 * without a writer, or whose writer neither writes nor ends for some time. spec->path is `text`;
 * spec->numbers is the caller's, to be freed with free(). */
enum status counts_read(const char *text, struct counts_spec *spec);

/* Counts for `ranks` ranks, with `total` elements in all blocks together (vector), or in the blocks
 * of each sender (matrix); a file has its own totals. Zipf draws the popular ranks from the seed.
 * STATUS_USAGE if the file does not fit the number of ranks. Free with counts_free(). */
enum status counts_create(const struct counts_spec *spec, enum counts_kind kind, int ranks,
                          size_t total, uint64_t seed, struct counts **counts);
/* Of kind COUNTS_PARTNERS: partner(r) is the rank that r sends to, -1: none. No two ranks send to
 * the same one. */
enum status counts_of_partners(int ranks, int (*partner)(const void *context, int rank, int ranks),
                               const void *context, struct counts **counts);
void counts_free(struct counts *counts); /* NULL is allowed */

/* Elements in all blocks together, divided by their number, rounded up. Vector or matrix. */
size_t counts_mean(const struct counts *counts);

/* A number that differs where the contents of two files differ. */
uint64_t counts_fingerprint(const struct counts_spec *spec);

/* Elements of `count` blocks of the one row from `first` on, wrapping round at its end. */
static inline size_t counts_of_row(const struct counts *counts, int first, int count)
{
    const size_t *before = counts->before;
    int p = counts->ranks, end = first + count;
    if (end <= p)
        return before[end] - before[first];
    return before[p] - before[first] + before[end - p];
}

/* Matrix: the length of the block from `from` to `to`. *offset: where it begins in the source of
 * `from` (counts_sent) or in the destination of `to` (counts_received). */
static inline size_t counts_sent(const struct counts *counts, int from, int to, size_t *offset)
{
    int p = counts->ranks, first = counts->rotated ? (p - from) % p : 0;
    if (counts->received) {
        const size_t *row = counts->before + (size_t)from * ((size_t)p + 1);
        *offset = row[to];
        return row[to + 1] - row[to];
    }
    *offset = counts_of_row(counts, first, to);
    return counts_of_row(counts, (first + to) % p, 1);
}

static inline size_t counts_received(const struct counts *counts, int from, int to, size_t *offset)
{
    int p = counts->ranks;
    if (counts->received) {
        const size_t *column = counts->received + (size_t)to * ((size_t)p + 1);
        *offset = column[from];
        return column[from + 1] - column[from];
    }
    if (counts->rotated) { /* ranks 0, 1, ... are at the distances to, to - 1, ... */
        *offset = counts_of_row(counts, (to - from + 1 + p) % p, from);
        return counts_of_row(counts, (to - from + p) % p, 1);
    }
    size_t length = counts_of_row(counts, to, 1);
    *offset = (size_t)from * length;
    return length;
}

#endif

/*
 * counts.h - who has how much for whom, where the collective alone does not say.
 *
 * The forms with counts (alltoallv, allgatherv, gatherv, scatterv, reduce_scatterv) take them from
 * a distribution or a file, and sendrecv's patterns say who sends to whom. All ranks hold the same.
 */
#ifndef CCTEST_COLLECTIVE_COUNTS_H
#define CCTEST_COLLECTIVE_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum counts_kind {
    COUNTS_VECTOR,   /* one number for each rank: how long its block is */
    COUNTS_MATRIX,   /* one for each pair: what `from` has for `to` */
    COUNTS_PARTNERS, /* sendrecv: whom each rank sends to, and whom it receives from */
};

struct counts {
    enum counts_kind kind;
    int ranks;
    size_t *before; /* one row, [ranks + 1]: elements of all blocks before each, and of all. It is
                         the vector, or every sender's row of a matrix. A matrix of a file has a row
                         for each sender: [from][ranks + 1] */
    size_t
        *received;  /* matrix of a file: [to][ranks + 1], what ranks before `from` have for `to` */
    bool rotated;   /* matrix of one row: it goes by the distance, (to - from) mod ranks */
    int *to, *from; /* partners: -1: none */
};

enum distribution {
    DISTRIBUTION_UNIFORM, /* the same for all */
    DISTRIBUTION_ZIPF,    /* the k-th most popular rank gets 1/k^S of the most popular one's */
    DISTRIBUTION_HOT,     /* rank 0 gets the fraction F of everything, the others the rest */
    DISTRIBUTION_SPREAD,  /* rank r gets in proportion to r; in a matrix, to the distance from the
                             sender: from nothing to twice the mean */
    DISTRIBUTION_FILE,    /* elements, as in a file: ranks lines of as many numbers (matrix), or
                             as many numbers as ranks (vector) */
};

/* --counts, read. */
struct counts_spec {
    enum distribution distribution;
    double parameter;     /* S or F */
    const char *path;     /* of a file */
    size_t *numbers;      /* of a file, in its order */
    size_t rows, columns; /* of a file: lines with numbers, numbers in each */
};

/* "uniform", "zipf:S" (S from 0 to 10), "hot:F" (F from 0 to 1), "spread", or the path of a file,
 * which is read: whole numbers between blanks or commas, as many in each line that has any; '#'
 * begins a comment. STATUS_USAGE, in a sentence that names the file and the line; STATUS_ERROR of a
 * FIFO that nobody writes, or whose writer neither writes nor ends for some time. spec->path is
 * `text`; spec->numbers is the caller's, to be freed with free(). */
enum status counts_read(const char *text, struct counts_spec *spec);

/* Counts for `ranks` ranks: `total` elements in all blocks together (vector), or in those of each
 * sender (matrix); a file has its own. Zipf's popular ranks are drawn from the seed. STATUS_USAGE
 * if the file does not suit the number of ranks. Free with counts_free(). */
enum status counts_create(const struct counts_spec *spec, enum counts_kind kind, int ranks,
                          size_t total, uint64_t seed, struct counts **counts);
/* Of kind COUNTS_PARTNERS: partner(r) is whom r sends to, -1: nobody; nobody is sent to twice. */
enum status counts_of_partners(int ranks, int (*partner)(const void *context, int rank, int ranks),
                               const void *context, struct counts **counts);
void counts_free(struct counts *counts); /* NULL is allowed */

/* Elements in all blocks together, divided by their number, rounded up. Vector or matrix. */
size_t counts_mean(const struct counts *counts);

/* A number that differs where the contents of two files differ. */
uint64_t counts_fingerprint(const struct counts_spec *spec);

/* Of the one row, `count` blocks from `first` on, round its end. */
static inline size_t counts_of_row(const struct counts *counts, int first, int count)
{
    const size_t *before = counts->before;
    int p = counts->ranks, end = first + count;
    if (end <= p)
        return before[end] - before[first];
    return before[p] - before[first] + before[end - p];
}

/* Elements that `from` has for `to`, and where they begin in from's source and to's destination.
 * Matrix. */
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
    if (counts->rotated) { /* of the ranks before: the distances to, to - 1, ... */
        *offset = counts_of_row(counts, (to - from + 1 + p) % p, from);
        return counts_of_row(counts, (to - from + p) % p, 1);
    }
    size_t length = counts_of_row(counts, to, 1);
    *offset = (size_t)from * length;
    return length;
}

#endif

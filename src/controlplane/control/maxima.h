/*
 * maxima.h - an array of words of each rank, whose element-wise maximum goes up the tree.
 *
 * Each relay waits a moment for the words of all ranks behind it, and sends their maxima on. So
 * each connection carries one array, and rank 0 holds one, however many ranks there are. A maximum
 * may take in a rank twice, so words that come on two ways do no harm.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_MAXIMA_H
#define CCTEST_CONTROLPLANE_CONTROL_MAXIMA_H

#include "base/bytes.h"

/* The content of MAXIMA, as a rank sends it: which exchange (the sender's count of them), the ranks
 * whose words these are the maxima of, ascending, and the words. */
struct maxima_message {
    uint32_t number;
    int ranks;                /* how many; at least one */
    struct reader rank, word; /* a u32 of each rank; the words, u64 each; both in the content */
};

/* The words of `rank` alone. */
void maxima_encode(uint32_t number, int rank, const uint64_t *words, size_t count,
                   struct bytes *bytes);
/* False: no rank of a job of `ranks` sends this. */
bool maxima_decode(const void *data, size_t size, int ranks, struct maxima_message *message);

/* Maxima of some ranks' words. */
struct maxima {
    uint32_t number; /* of the exchange */
    int held;        /* ranks whose words are in it; 0: none, and the rest has no meaning */
    bool *has;       /* by rank */
    int ranks;       /* of the job */
    size_t count;    /* words */
    uint64_t *words;
};

/* False: out of memory. */
bool maxima_open(struct maxima *maxima, int ranks);
void maxima_close(struct maxima *maxima);

enum maxima_fit {
    MAXIMA_TAKEN,
    MAXIMA_DIFFER, /* it is of another exchange, or has another number of words */
    MAXIMA_NO_MEMORY,
};

/* Takes a message in. */
enum maxima_fit maxima_take(struct maxima *maxima, const struct maxima_message *message);
/* As a message. */
void maxima_encode_held(const struct maxima *maxima, struct bytes *bytes);
/* None are held any more. */
void maxima_drop(struct maxima *maxima);

#endif

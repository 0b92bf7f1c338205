/*
 * fallback.h - why pairs of ranks run over a transport that they do not prefer, grouped by reason.
 *
 * A pair that silently runs over TCP is the classic wrong result of an acceptance test.
 */
#ifndef CCTEST_DATAPLANE_TRANSPORT_FALLBACK_H
#define CCTEST_DATAPLANE_TRANSPORT_FALLBACK_H

#include "base/bytes.h"
#include "dataplane/transport/transport.h"
#include "base/rank_state.h"

enum fallback_cause {
    FALLBACK_ABSENT,      /* a rank's machine does not have the preferred transport */
    FALLBACK_REFUSED,     /* it has, but cannot use it */
    FALLBACK_UNREACHABLE, /* both use it, and it does not connect them: attach() */
    FALLBACK_CAUSES
};

/* Pairs of ranks with the same two transports and the same reason. */
struct fallback {
    enum fallback_cause cause;
    char preferred[16], taken[16];
    char reason[TRANSPORT_REASON_MOST]; /* "": several reasons, which are not told apart */
    uint64_t pairs;
    int low, high; /* one of the pairs: low < high */
    int rank;      /* that gives the reason: one of this pair */
    bool others;   /* other ranks give it, too */
};

#define FALLBACKS_MOST 8

struct fallbacks {
    struct fallback list[FALLBACKS_MOST];
    int count;
    struct fallback further; /* of all further reasons; pairs 0: there are none */
};

/* Adds pairs to the group of their reason, or to that of all further reasons. */
void fallbacks_add(struct fallbacks *fallbacks, const struct fallback *more);

void fallbacks_encode(const struct fallbacks *fallbacks, struct bytes *share);
/* Adds another rank's, of a job of `ranks` ranks. False: they are invalid. */
bool fallbacks_decode(struct fallbacks *fallbacks, int ranks, struct reader *reader);

#define FALLBACK_TEXT_MOST (TRANSPORT_REASON_MOST + 384)
/* "12 pairs of ranks run over tcp, such as ranks 0 and 3, because verbs cannot be used on rank 3
 * (n07): no port is active". `members`: of the job. Returns `text`. */
const char *fallback_text(const struct fallback *fallback, const struct member *members,
                          char text[FALLBACK_TEXT_MOST]);

#endif

/*
 * internal.h - for the files of dataplane/transport/ alone.
 */
#ifndef CCTEST_DATAPLANE_TRANSPORT_INTERNAL_H
#define CCTEST_DATAPLANE_TRANSPORT_INTERNAL_H

#include "dataplane/transport/transport.h"

/* ---- transport.c ---- */

#define OFFER_MOST TRANSPORT_ADDRESS_MOST

struct transport_offer {
    enum {
        OFFER_NONE,
        OFFER_ADDRESS,
        OFFER_ABSENT,  /* the reason of unavailable() */
        OFFER_REFUSED, /* that of open(), or of unavailable() though devices are present() */
        OFFERS
    } kind;
    uint32_t size; /* of a reason: without a 0 */
    char data[OFFER_MOST];
};

void offer_code(struct codec codec, struct transport_offer *offer);

/* The offers of all ranks for each of `count` transports. An address may be long, and there are
 * many ranks: those of peers are kept, each in as many bytes as it has, and the others are only
 * counted. */
struct offers {
    int rank, ranks, count;
    struct transport_offer *mine;    /* of `rank` */
    struct transport_offer **theirs; /* by rank and transport; NULL: not kept */
    int *addresses;                  /* of each transport: how many ranks have one */
};
void offers_open(struct offers *offers, int rank, int ranks, int count);
/* Counts what a rank offers for transport `i`, and keeps it if it is a peer's. Once for each rank;
 * this one's own offer is in `mine` by then. */
void offers_take(struct offers *offers, int rank, int i, const struct transport_offer *offer,
                 bool is_peer);
/* The offer of this rank or of a peer; OFFER_NONE: there is none. */
const struct transport_offer *offers_of(const struct offers *offers, int rank, int i);
void offers_close(struct offers *offers);

#endif

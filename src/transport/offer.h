/*
 * offer.h - what a rank says of one of its transports: its address, or why it cannot be used.
 */
#ifndef CCTEST_TRANSPORT_OFFER_H
#define CCTEST_TRANSPORT_OFFER_H

#include "base/bytes.h"
#include "transport/transport.h"

#define OFFER_MOST TRANSPORT_ADDRESS_MOST

struct transport_offer {
    enum {
        OFFER_NONE,
        OFFER_ADDRESS,
        OFFER_ABSENT,  /* the reason of unavailable() */
        OFFER_REFUSED, /* that of open(), or of unavailable() though devices are present() */
        OFFERS
    } kind;
    size_t size; /* of a reason: without a 0 */
    char data[OFFER_MOST];
};

void offer_encode(const struct transport_offer *offer, struct bytes *share);
bool offer_decode(struct transport_offer *offer, struct reader *reader); /* false: invalid */

#endif

/*
 * offer.c - what a rank says of one of its transports: its address, or why it cannot be used.
 */
#include "transport/offer.h"

#include <string.h>

void offer_encode(const struct transport_offer *offer, struct bytes *share)
{
    bytes_put_u32(share, offer->kind);
    bytes_put_u32(share, (uint32_t)offer->size);
    bytes_put(share, offer->data, offer->size);
}

bool offer_decode(struct transport_offer *offer, struct reader *reader)
{
    uint32_t kind = read_u32(reader), size = read_u32(reader);
    const unsigned char *data = read_bytes(reader, size);
    if (!data || size > sizeof offer->data || kind == OFFER_NONE || kind >= OFFERS)
        return false;
    offer->kind = kind;
    offer->size = size;
    memcpy(offer->data, data, size);
    return true;
}

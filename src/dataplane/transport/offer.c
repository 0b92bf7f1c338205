/*
 * offer.c - what a rank says of one of its transports: its address, or why it cannot be used.
 */
#include "dataplane/transport/internal.h"

#include <stddef.h>
#include <stdlib.h>
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

bool offers_open(struct offers *offers, int rank, int ranks, int count)
{
    size_t all = (size_t)ranks * (size_t)count;
    *offers = (struct offers){.rank = rank,
                              .ranks = ranks,
                              .count = count,
                              .mine = calloc((size_t)count + 1, sizeof *offers->mine),
                              .theirs = calloc(all + 1, sizeof *offers->theirs),
                              .addresses = calloc((size_t)count + 1, sizeof *offers->addresses)};
    return offers->mine && offers->theirs && offers->addresses;
}

void offers_take(struct offers *offers, int rank, int i, const struct transport_offer *offer,
                 bool is_peer)
{
    offers->addresses[i] += offer->kind == OFFER_ADDRESS;
    if (rank == offers->rank || !is_peer)
        return;
    struct transport_offer **kept =
        &offers->theirs[(size_t)rank * (size_t)offers->count + (size_t)i];
    size_t size = offsetof(struct transport_offer, data) + offer->size;
    free(*kept);
    *kept = calloc(1, size);
    if (*kept)
        memcpy(*kept, offer, size);
    else
        offers->lacks_memory = true;
}

const struct transport_offer *offers_of(const struct offers *offers, int rank, int i)
{
    static const struct transport_offer none = {.kind = OFFER_NONE};
    const struct transport_offer *kept =
        offers->theirs[(size_t)rank * (size_t)offers->count + (size_t)i];
    return rank == offers->rank ? &offers->mine[i] : kept ? kept : &none;
}

void offers_close(struct offers *offers)
{
    size_t all = (size_t)offers->ranks * (size_t)offers->count;
    for (size_t i = 0; offers->theirs && i < all; i++)
        free(offers->theirs[i]);
    free(offers->theirs);
    free(offers->mine);
    free(offers->addresses);
    *offers = (struct offers){0};
}

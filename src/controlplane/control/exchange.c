/*
 * exchange.c - an exchange from encoding to decoding.
 */
#include "controlplane/control/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum status exchange_decode(struct control *control, enum exchange kind, struct bytes *share,
                            const char *what,
                            bool (*decode)(void *argument, int rank, struct reader *reader),
                            void *argument)
{
    struct blobs blobs;
    enum status status = control_exchange(control, kind, share, what, &blobs);
    if (status == STATUS_OK)
        status = blobs_read(&blobs, control_rank(control), what, decode, argument);
    blobs_free(&blobs);
    return status;
}

enum status exchange_maximum(struct control *control, words_lay *lay, const void *argument,
                             size_t count, const char *what, uint64_t *words)
{
    size_t done = 0, piece = 0, most = count < CONTROL_WORDS_MOST ? count : CONTROL_WORDS_MOST;
    bool holds_all = control_rank(control) == 0;
    uint64_t *own = holds_all ? NULL : malloc((most + 1) * sizeof *own);
    enum status status;
    if (!holds_all && !own)
        return fail(STATUS_ERROR, "out of memory for %zu words of the %s data", most, what);
    do {
        uint64_t *part = holds_all ? words + done : own;
        piece = count - done < most ? count - done : most;
        lay(argument, done, piece, part);
        status = control_maximum(control, part, piece, what);
        done += piece;
    } while (status == STATUS_OK && done < count);
    free(own);
    return status;
}

/* A peer, and its place in the caller's list. */
struct addressee {
    int peer, place;
};

static int addressee_compare(const void *a, const void *b)
{
    return ((const struct addressee *)a)->peer - ((const struct addressee *)b)->peer;
}

/* The parcels that a rank sends and receives, as its caller lays them out. */
struct parcel_exchange {
    struct addressee *addressees; /* ascending */
    int count;
    const char *mine;
    char *theirs;
    size_t each;
    const char *what;
};

/* False: out of memory. */
static bool exchange_encode(const struct parcel_exchange *exchange, struct bytes *share)
{
    struct parcel *parcels = calloc((size_t)exchange->count + 1, sizeof *parcels);
    if (!parcels)
        return false;
    for (int i = 0; i < exchange->count; i++) {
        const struct addressee *to = &exchange->addressees[i];
        const char *parcel = exchange->mine + (size_t)to->place * exchange->each;
        parcels[i] = (struct parcel){to->peer, (const unsigned char *)parcel};
    }
    parcels_encode(parcels, exchange->count, exchange->each, share);
    free(parcels);
    return true;
}

#define RUN_SAME "check that all ranks run the same version of cctest"

/* The parcels have come from the peers to which this rank sent its own, and no others. */
static enum status exchange_take(const struct parcel_exchange *exchange, struct parcels *parcels,
                                 int rank)
{
    for (int i = 0; i < exchange->count || parcels->left > 0; i++) {
        const struct addressee *from = &exchange->addressees[i];
        struct parcel parcel = {.peer = -1};
        bool came = parcels_take(parcels, &parcel);
        int peer = parcel.peer;
        if (i < exchange->count && (!came || from->peer < peer))
            return fail_peer(REASON_PEER_INVALID, from->peer,
                             "rank %d sent no %s data to rank %d, which sent it some: " RUN_SAME,
                             from->peer, exchange->what, rank);
        if (i == exchange->count || peer < from->peer)
            return fail_peer(REASON_PEER_INVALID, peer,
                             "rank %d sent %s data to rank %d, which sent it none: " RUN_SAME, peer,
                             exchange->what, rank);
        memcpy(exchange->theirs + (size_t)from->place * exchange->each, parcel.data,
               exchange->each);
    }
    return STATUS_OK;
}

static enum status parcels_exchange(struct control *control, const struct parcel_exchange *exchange)
{
    struct bytes share = {0};
    struct blobs blobs;
    struct parcels parcels;
    int rank = control_rank(control);
    if (!exchange_encode(exchange, &share))
        return fail(STATUS_ERROR, "out of memory for the %s data of %d peers", exchange->what,
                    exchange->count);
    enum status status = control_exchange(control, EXCHANGE_PEERS, &share, exchange->what, &blobs);
    if (status == STATUS_OK) {
        bool valid =
            parcels_decode(blobs.data[0], blobs.size[0], rank, control_ranks(control), &parcels) &&
            (exchange->count == 0 || parcels.count == 0 || parcels.each == exchange->each);
        status = valid ? exchange_take(exchange, &parcels, rank)
                       : fail(STATUS_ERROR, "rank 0 delivered invalid %s data: " RUN_SAME,
                              exchange->what);
    }
    blobs_free(&blobs);
    return status;
}

enum status exchange_with_peers(struct control *control, const int *peers, int count,
                                const void *mine, size_t each, void *theirs, const char *what)
{
    const size_t most = FRAME_MOST / 2;
    if (count > 0 && each > most / (size_t)count)
        return fail(STATUS_ERROR,
                    "%zu bytes of %s data for each of %d peers are more than the control plane "
                    "carries at once (%zu)",
                    each, what, count, most);
    struct addressee *addressees = calloc((size_t)count + 1, sizeof *addressees);
    if (!addressees)
        return fail(STATUS_ERROR, "out of memory for the %s data of %d peers", what, count);
    for (int i = 0; i < count; i++)
        addressees[i] = (struct addressee){peers[i], i};
    qsort(addressees, (size_t)count, sizeof *addressees, addressee_compare);
    const struct parcel_exchange exchange = {addressees, count, mine, theirs, each, what};
    enum status status = parcels_exchange(control, &exchange);
    free(addressees);
    return status;
}

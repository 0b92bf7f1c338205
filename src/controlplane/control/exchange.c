/*
 * exchange.c - an exchange from encoding to decoding.
 */
#include "controlplane/control/internal.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

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
    uint64_t *own = holds_all ? NULL : new_array(most, sizeof *own);
    enum status status;
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

static void exchange_encode(const struct parcel_exchange *exchange, struct bytes *share)
{
    struct parcel *parcels = new_array((size_t)exchange->count + 1, sizeof *parcels);
    for (int i = 0; i < exchange->count; i++) {
        const struct addressee *to = &exchange->addressees[i];
        const char *parcel = exchange->mine + (size_t)to->place * exchange->each;
        parcels[i] = (struct parcel){to->peer, (const unsigned char *)parcel};
    }
    parcels_encode(parcels, exchange->count, exchange->each, share);
    free(parcels);
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
    exchange_encode(exchange, &share);
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
    struct addressee *addressees = new_array((size_t)count + 1, sizeof *addressees);
    for (int i = 0; i < count; i++)
        addressees[i] = (struct addressee){peers[i], i};
    qsort(addressees, (size_t)count, sizeof *addressees, addressee_compare);
    const struct parcel_exchange exchange = {addressees, count, mine, theirs, each, what};
    enum status status = parcels_exchange(control, &exchange);
    free(addressees);
    return status;
}

/*
 * The result of an exchange: bytes of each rank, and how they are read.
 */
void blobs_free(struct blobs *blobs)
{
    for (int i = 0; blobs->data && i < blobs->count; i++)
        free(blobs->data[i]);
    free(blobs->data);
    free(blobs->size);
    *blobs = (struct blobs){0};
}

#define INVALID "rank %d sent invalid %s data: check that all ranks run the same version of cctest"

enum status blobs_read(const struct blobs *blobs, int own, const char *what,
                       bool (*decode)(void *argument, int rank, struct reader *reader),
                       void *argument)
{
    for (int rank = 0; rank < blobs->count; rank++) {
        struct reader reader = {.at = blobs->data[rank], .left = blobs->size[rank]};
        if (!decode(argument, rank, &reader) || reader.bad || reader.left > 0)
            return rank == own ? fail(STATUS_ERROR, INVALID, rank, what)
                               : fail_peer(REASON_PEER_INVALID, rank, INVALID, rank, what);
    }
    return STATUS_OK;
}

/*
 * Parcels: bytes of one size that a rank sends to each of some peers, or gets from each.
 */
#define RUN_HEAD 12 /* bytes in front of a run: its first peer, how many they are, whether alike */

/* The number of parcels, from the first one on, whose peers follow each other and whose bytes are
 * the same. */
static int parcels_alike(const struct parcel *parcels, int count, size_t each)
{
    int alike = 1;
    while (alike < count && parcels[alike].peer == parcels[0].peer + alike &&
           (each == 0 || memcmp(parcels[alike].data, parcels[0].data, each) == 0))
        alike++;
    return alike;
}

/* Are so many parcels shorter as a run of their own? */
static bool is_worth_a_run(int alike, size_t each)
{
    return (size_t)(alike - 1) * each > 2 * RUN_HEAD; /* one cut may make two heads */
}

static void run_encode(const struct parcel *parcels, int count, bool alike, size_t each,
                       struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)parcels[0].peer);
    bytes_put_u32(bytes, (uint32_t)count);
    bytes_put_u32(bytes, alike);
    for (int i = 0; i < (alike ? 1 : count); i++)
        bytes_put(bytes, parcels[i].data, each);
}

void parcels_encode(const struct parcel *parcels, int count, size_t each, struct bytes *bytes)
{
    if (count > 0)
        bytes_put_u32(bytes, (uint32_t)each);
    for (int first = 0, end; first < count; first = end) {
        int alike = parcels_alike(parcels + first, count - first, each);
        bool is_run = is_worth_a_run(alike, each);
        end = first + alike;
        while (!is_run && end < count && parcels[end].peer == parcels[end - 1].peer + 1) {
            alike = parcels_alike(parcels + end, count - end, each);
            if (is_worth_a_run(alike, each))
                break;
            end += alike;
        }
        run_encode(parcels + first, end - first, is_run, each, bytes);
    }
}

/* Reads the head of the next run; false: it is invalid, or (left 0) there is none. */
static bool run_begin(struct parcels *parcels)
{
    struct reader *rest = &parcels->rest;
    parcels->left = 0;
    if (rest->left == 0)
        return !rest->bad;
    uint32_t first = read_u32(rest), count = read_u32(rest), alike = read_u32(rest);
    parcels->next = (struct parcel){(int)first, rest->at};
    parcels->alike = alike == 1;
    if (rest->bad || first > INT32_MAX || count == 0 || count > INT32_MAX - first || alike > 1)
        return false;
    if (!alike && parcels->each > 0 && count > rest->left / parcels->each)
        return false;
    parcels->left = (int)count;
    return read_bytes(rest, parcels->each * (alike ? 1 : count)) != NULL;
}

bool parcels_decode(const void *data, size_t size, int rank, int ranks, struct parcels *parcels)
{
    *parcels = (struct parcels){.rest = {.at = data, .left = size}};
    if (size == 0)
        return true;
    parcels->each = read_u32(&parcels->rest);
    struct parcels walk = *parcels;
    int last = -1;
    for (;;) {
        if (!run_begin(&walk))
            return false;
        if (walk.left == 0)
            break;
        int first = walk.next.peer, behind = first + walk.left;
        if (first <= last || behind > ranks || (first <= rank && rank < behind))
            return false;
        parcels->count += walk.left;
        last = behind - 1;
    }
    return run_begin(parcels) && parcels->count > 0;
}

bool parcels_take(struct parcels *parcels, struct parcel *parcel)
{
    if (parcels->left == 0)
        return false;
    *parcel = parcels->next;
    parcels->next.peer++;
    if (!parcels->alike)
        parcels->next.data += parcels->each;
    if (--parcels->left == 0)
        run_begin(parcels);
    return true;
}

void parcels_rebase(struct parcels *parcels, const unsigned char *to)
{
    parcels->rest.at = to + (parcels->rest.at - parcels->next.data);
    parcels->next.data = to;
}

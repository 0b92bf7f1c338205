/*
 * root_exchange.c - exchanges between all ranks, through rank 0.
 *
 * Each rank sends its share and waits; when rank 0 has the shares of all, it sends all what the
 * exchange gives, or (EXCHANGE_PEERS) each rank what is addressed to it. A rank is in one exchange
 * at a time, so there is one share of each at most.
 */
#include "controlplane/control/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

#define RESULT_HEAD 8 /* bytes of a result in front of its data */

static const char *const exchange_names[EXCHANGES] = {
    [EXCHANGE_ALLGATHER] = "an allgather of the control plane",
    [EXCHANGE_GATHER] = "a gather of the control plane",
    [EXCHANGE_PEERS] = "an exchange with its peers over the control plane",
    [EXCHANGE_MAXIMUM] = "a maximum over the control plane",
};

static void share_drop(struct peer *peer)
{
    free(peer->share);
    peer->share = NULL;
    peer->share_size = 0;
}

/* Moves all shares one behind the other, each with its size. */
static void shares_join(struct root *root, struct bytes *bytes)
{
    bytes_put_u32(bytes, (uint32_t)root->ranks);
    for (int rank = 0; rank < root->ranks; rank++) {
        struct peer *peer = &root->peers[rank];
        blobs_encode_next(peer->share, peer->share_size, bytes);
        share_drop(peer); /* all together may be large */
    }
}

/* To all ranks, or to rank 0 alone: the others then get an empty one, which lets them go on. */
static void send_result(struct root *root, bool all, const void *data, size_t size)
{
    const struct peer *self = &root->peers[0];
    struct share result = {self->share_kind, self->share_number, data, size};
    struct bytes bytes = {0};
    control_deliver(root->control, &result);
    result.size = all ? size : 0;
    share_encode(&result, &bytes);
    root_send_all(root, FRAME_RESULT, bytes.data, bytes.size);
    bytes_free(&bytes);
}

/* Begins to read the parcels of each rank: they have one size, or the ranks do not mean the same
 * exchange. */
static bool parcels_agree(struct root *root, struct parcels *from, size_t *each)
{
    int first = -1;
    for (int rank = 0; rank < root->ranks; rank++) {
        const struct peer *peer = &root->peers[rank];
        parcels_decode(peer->share, peer->share_size, rank, root->ranks, &from[rank]);
        if (from[rank].count == 0)
            continue;
        if (first < 0) {
            first = rank;
            *each = from[rank].each;
        } else if (from[rank].each != *each) {
            char text[256];
            snprintf(text, sizeof text,
                     "it exchanges %zu bytes with each of its peers, and rank %d exchanges %zu: "
                     "check that all ranks run the same version of cctest",
                     from[rank].each, first, *each);
            root_blame(root, rank, CAUSE_FAILED, STATUS_ERROR, text);
            return false;
        }
    }
    return true;
}

/* Frees what was read of a share, now and then: all together may be large, and what is sent of them
 * waits in memory, too. */
static void share_trim(struct peer *peer, struct parcels *parcels)
{
    if (parcels->left == 0) {
        share_drop(peer);
        return;
    }
    size_t read = (size_t)(parcels->next.data - peer->share), kept = peer->share_size - read;
    unsigned char *rest = read > kept ? malloc(kept ? kept : 1) : NULL;
    if (!rest)
        return;
    memcpy(rest, parcels->next.data, kept);
    parcels_rebase(parcels, rest);
    free(peer->share);
    peer->share = rest;
    peer->share_size = kept;
}

/* The parcels of all ranks to `rank`, in ascending order. Each call is of a greater rank than the
 * last, so what a rank has for this one is what it has next. */
static void parcels_to(struct root *root, int rank, struct parcels *from, struct parcel *list,
                       size_t each, struct bytes *bytes)
{
    int count = 0;
    for (int sender = 0; sender < root->ranks; sender++)
        if (from[sender].left > 0 && from[sender].next.peer == rank)
            list[count++] = (struct parcel){sender, from[sender].next.data};
    parcels_encode(list, count, each, bytes);
    for (int i = 0; i < count; i++) {
        struct parcel taken;
        int sender = list[i].peer;
        parcels_take(&from[sender], &taken);
        share_trim(&root->peers[sender], &from[sender]);
    }
}

static void send_delivery(struct root *root, int rank, const struct bytes *parcels)
{
    const struct peer *self = &root->peers[0];
    struct bytes result = {0}, bytes = {0};
    bytes_put_u32(&result, 1);
    blobs_encode_next(parcels->data, parcels->size, &result);
    struct share share = {self->share_kind, self->share_number, result.data, result.size};
    delivery_encode(rank, &share, &bytes);
    if (bytes.size > FRAME_MOST)
        root_blame(root, rank, CAUSE_FAILED, STATUS_ERROR,
                   "its peers send it more at once than the control plane carries");
    else if (rank == 0)
        control_deliver(root->control, &share);
    else
        root_send_to(root, rank, FRAME_DELIVERY, bytes.data, bytes.size);
    bytes_free(&result);
    bytes_free(&bytes);
}

static void send_parcels(struct root *root)
{
    size_t each = 0, ranks = (size_t)root->ranks;
    struct parcels *from = new_array(ranks, sizeof *from);
    struct parcel *list = new_array(ranks, sizeof *list);
    bool good = parcels_agree(root, from, &each);
    for (int rank = 0; good && rank < root->ranks; rank++) {
        struct bytes parcels = {0};
        parcels_to(root, rank, from, list, each, &parcels);
        send_delivery(root, rank, &parcels);
        bytes_free(&parcels);
    }
    free(from);
    free(list);
}

static void send_results(struct root *root, uint32_t kind)
{
    struct bytes all = {0};
    shares_join(root, &all);
    if (kind == EXCHANGE_ALLGATHER && all.size > FRAME_MOST - RESULT_HEAD)
        root_blame(root, 0, CAUSE_FAILED, STATUS_ERROR,
                   "the shares of all ranks together are more than the control plane carries");
    else
        send_result(root, kind == EXCHANGE_ALLGATHER, all.data, all.size);
    bytes_free(&all);
}

/* To rank 0 alone. */
static void send_maxima(struct root *root)
{
    struct bytes words = {0};
    bytes_reserve(&words, root->maxima.count * sizeof *root->maxima.words);
    for (size_t i = 0; i < root->maxima.count; i++)
        bytes_put_u64(&words, root->maxima.words[i]);
    send_result(root, false, words.data, words.size);
    bytes_free(&words);
}

/* Are all ranks in the same one? */
static bool shares_agree(struct root *root)
{
    const struct peer *self = &root->peers[0];
    for (int rank = 1; rank < root->ranks; rank++) {
        const struct peer *peer = &root->peers[rank];
        if (peer->share_kind == self->share_kind && peer->share_number == self->share_number)
            continue;
        char text[256];
        snprintf(text, sizeof text, "it is in %s (number %u) while rank 0 is in %s (number %u)",
                 exchange_names[peer->share_kind], peer->share_number,
                 exchange_names[self->share_kind], self->share_number);
        root_blame(root, rank, CAUSE_FAILED, STATUS_ERROR, text);
        return false;
    }
    return true;
}

static void exchange_complete(struct root *root)
{
    uint32_t kind = root->peers[0].share_kind;
    bool agree = shares_agree(root);
    if (agree && kind == EXCHANGE_PEERS)
        send_parcels(root);
    else if (agree && kind == EXCHANGE_MAXIMUM)
        send_maxima(root);
    else if (agree)
        send_results(root, kind);
    root->shares = 0;
    maxima_drop(&root->maxima);
    for (int rank = 0; rank < root->ranks; rank++) {
        share_drop(&root->peers[rank]);
        root->peers[rank].standing.exchange = NULL;
    }
}

/* A rank's part of an exchange has come: which, by its own count. */
static void share_note(struct root *root, int rank, enum exchange kind, uint32_t number)
{
    struct peer *peer = &root->peers[rank];
    peer->shares_taken = number + 1;
    peer->share_kind = kind;
    peer->share_number = number;
    peer->standing.exchange = exchange_names[kind];
    root->shares++;
}

/* Has it come before, on another way? */
static bool share_is_old(const struct peer *peer, uint32_t number)
{
    return number < peer->shares_taken;
}

/* A rank is in one exchange at a time, and in none after its end. */
static bool share_may_come(const struct peer *peer)
{
    return !peer->standing.exchange && !peer->standing.finished;
}

bool root_take_share(struct root *root, int rank, const unsigned char *data, size_t size)
{
    struct peer *peer = &root->peers[rank];
    struct share share;
    struct parcels parcels;
    if (!share_decode(data, size, &share) || share.kind >= EXCHANGE_MAXIMUM)
        return false;
    if (share.kind == EXCHANGE_PEERS &&
        !parcels_decode(share.data, share.size, rank, root->ranks, &parcels))
        return false;
    if (share_is_old(peer, share.number))
        return true;
    if (!share_may_come(peer))
        return false;
    peer->share_size = share.size;
    peer->share = malloc(share.size ? share.size : 1);
    if (!peer->share) {
        root_blame(root, rank, CAUSE_FAILED, STATUS_ERROR, "rank 0 has no memory for its share");
        peer->share_size = 0;
        return true;
    }
    if (share.size > 0)
        memcpy(peer->share, share.data, share.size);
    share_note(root, rank, share.kind, share.number);
    if (root->shares == root->ranks)
        exchange_complete(root);
    return true;
}

/* The number of these ranks whose part is new; -1: one of them may not send it now. */
static int maxima_news(const struct root *root, const struct maxima_message *message)
{
    int news = 0;
    for (struct reader list = message->rank; list.left > 0;) {
        const struct peer *peer = &root->peers[read_u32(&list)];
        if (share_is_old(peer, message->number))
            continue;
        if (!share_may_come(peer))
            return -1;
        news++;
    }
    return news;
}

bool root_take_maxima(struct root *root, int rank, const unsigned char *data, size_t size)
{
    struct maxima_message message;
    if (!maxima_decode(data, size, root->ranks, &message))
        return false;
    int news = maxima_news(root, &message);
    if (news <= 0)
        return news == 0;
    enum maxima_fit fit = maxima_take(&root->maxima, &message);
    if (fit == MAXIMA_DIFFER)
        root_blame(
            root, rank, CAUSE_FAILED, STATUS_ERROR,
            "its share of a maximum does not match the shares of the other ranks in "
            "exchange or number of words: check that all ranks run the same version of cctest");
    if (fit != MAXIMA_TAKEN)
        return true;
    for (struct reader list = message.rank; list.left > 0;) {
        int rank_of_share = (int)read_u32(&list);
        if (!share_is_old(&root->peers[rank_of_share], message.number))
            share_note(root, rank_of_share, EXCHANGE_MAXIMUM, message.number);
    }
    if (root->shares == root->ranks)
        exchange_complete(root);
    return true;
}

/*
 * root_exchange.c - exchanges between all ranks, through rank 0.
 *
 * Each rank sends its share and waits; when rank 0 has the shares of all, it sends all what the
 * exchange gives. A rank is in one exchange at a time, so there is one share of each at most.
 */
#include "control/root_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESULT_HEAD 8 /* bytes of a result in front of its data */

static const char *const exchange_names[EXCHANGES] = {
    [EXCHANGE_ALLGATHER] = "an allgather of the control plane",
    [EXCHANGE_GATHER] = "a gather of the control plane",
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
    blobs_encode_count(root->ranks, bytes);
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
    if (bytes.failed)
        root_blame(root, 0, CAUSE_FAILED, STATUS_ERROR, "rank 0 has no memory for an exchange");
    else
        root_send_all(root, FRAME_RESULT, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static void send_results(struct root *root, uint32_t kind)
{
    struct bytes all = {0};
    shares_join(root, &all);
    if (all.failed || (kind == EXCHANGE_ALLGATHER && all.size > FRAME_MOST - RESULT_HEAD))
        root_blame(root, 0, CAUSE_FAILED, STATUS_ERROR,
                   "the shares of all ranks together are more than the control plane carries");
    else
        send_result(root, kind == EXCHANGE_ALLGATHER, all.data, all.size);
    bytes_free(&all);
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
    if (shares_agree(root))
        send_results(root, root->peers[0].share_kind);
    root->shares = 0;
    for (int rank = 0; rank < root->ranks; rank++) {
        share_drop(&root->peers[rank]);
        root->peers[rank].standing.exchange = NULL;
    }
}

bool root_take_share(struct root *root, int rank, const unsigned char *data, size_t size)
{
    struct peer *peer = &root->peers[rank];
    struct share share;
    if (!share_decode(data, size, &share) || share.kind >= EXCHANGES)
        return false;
    if (share.number < peer->shares_taken)
        return true; /* it came on two ways */
    if (peer->standing.exchange || peer->standing.finished)
        return false;
    peer->shares_taken = share.number + 1;
    peer->share_kind = share.kind;
    peer->share_number = share.number;
    peer->share_size = share.size;
    peer->share = malloc(share.size ? share.size : 1);
    if (!peer->share) {
        root_blame(root, rank, CAUSE_FAILED, STATUS_ERROR, "rank 0 has no memory for its share");
        peer->share_size = 0;
        return true;
    }
    if (share.size > 0)
        memcpy(peer->share, share.data, share.size);
    peer->standing.exchange = exchange_names[share.kind];
    if (++root->shares == root->ranks)
        exchange_complete(root);
    return true;
}

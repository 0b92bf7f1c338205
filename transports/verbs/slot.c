/*
 * slot.c - short messages, and messages that are combined: through the receiver's slots.
 *
 * A receiver takes a slot only while it can post the credit for it. So one that is done owes its
 * sender nothing that the sender needs. (Credits of segments: channel.c.)
 */
#include "transports/verbs/internal.h"

#include <string.h>

#define INLINE_MOST 256 /* bytes that the NIC takes with the request */

/* The message lies in staging, or inline in the request, as it will lie in the peer's slot. */
enum status verbs_slot_send(struct verbs_sender *out, struct cursor *from, size_t bytes)
{
    const struct verbs_lane *lane = verbs_lane_of(&out->base);
    struct verbs_pair *pair = verbs_pair_of(&out->base);
    const struct verbs_grants *theirs = &out->grants, *own = &lane->grants;
    struct verbs_chain chain;
    char inline_room[INLINE_MOST];
    size_t at = verbs_payload_at(theirs, bytes);
    size_t whole = out->peer_polls ? verbs_slot_stride(theirs) - at : bytes;
    bool is_inline = whole <= pair->inline_most && whole <= sizeof inline_room;
    char *room = is_inline ? inline_room : verbs_staging_take(out, pair, pair->posted + 1);
    uint64_t slot = out->remote + verbs_slots_at(theirs) +
                    verbs_ring_at(out->slots_sent, theirs->slots) * verbs_slot_stride(theirs);
    if (out->peer_polls) {
        struct verbs_trailer trailer = {(uint64_t)(out->slots_sent + 1) << 32 | bytes};
        char *end = room + whole - sizeof trailer;
        memset(end - 8, 0, 8); /* between message and trailer there are up to 15 bytes */
        if (whole > 16)
            memset(end - 16, 0, 8);
        memcpy(end, &trailer, sizeof trailer);
    }
    cursor_gather(from, room, bytes);
    chain.count = 0;
    struct ibv_send_wr *write =
        verbs_chain_add(&chain, slot + at, out->remote_keys[pair->remote_rail]);
    verbs_chain_gather(&chain, room, whole,
                       is_inline ? 0 : lane->arena->mrs[pair->rail->index]->lkey);
    write->send_flags = is_inline ? IBV_SEND_INLINE : 0;
    out->slots_sent++;
    pair->rail->bytes += bytes;
    out->base.endpoint->traffic.copied_sending += bytes;
    /* A completion frees staging: of one queue pair, one in half a ring is enough. Where a lane has
     * several, segments that are packed for the others advance staging_next, too, so that no slot
     * might ever hit that place. */
    bool signals =
        !is_inline && (lane->pair_count > 1 || out->staging_next % ((own->slots + 1) / 2) == 0);
    return verbs_pair_post(pair, &chain, out->peer_polls ? VERBS_NO_NOTICE : VERBS_NOTICE_SLOT,
                           bytes, NULL, signals);
}

/*
 * Short messages, each whole in one slot.
 *
 * Where slots are polled in memory, neither end touches its completion queue on the way: the
 * sender does when it lacks room.
 */
size_t verbs_eager_most(const struct channel *base)
{
    const struct verbs_sender *out = &verbs_lane_of(base)->out;
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base->endpoint;
    size_t most = endpoint->gdr == VERBS_GDR_AUTO ? verbs_slot_bytes(out, 1) : 0;
    while (most > 0 && verbs_is_zcopy(base, most))
        most /= 2;
    return most;
}

static enum status eager_send(struct verbs_sender *out, const struct transfer *transfer,
                              bool *moved)
{
    enum status status = STATUS_OK;
    *moved = verbs_slot_is_free(out);
    if (!*moved) {
        status = verbs_rail_poll(verbs_pair_of(&out->base)->rail);
        *moved = status == STATUS_OK && verbs_slot_is_free(out);
    }
    if (!*moved) {
        profile_starve(transfer->profile);
        return status;
    }
    struct cursor from;
    cursor_start(&from, transfer->from);
    profile_enter(transfer->profile, PROFILE_COPY);
    status = verbs_slot_send(out, &from, transfer->length);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    out->base.endpoint->traffic.sent[PATH_BCOPY] += transfer->length;
    return status;
}

/* The message comes in one slot, or in several from a sender that had to post it. */
static enum status eager_receive(struct verbs_receiver *in, const struct transfer *transfer,
                                 bool *moved)
{
    struct traffic *traffic = &in->base.endpoint->traffic;
    enum status status = STATUS_OK;
    for (*moved = false; status == STATUS_OK && !*moved;) {
        if (!in->polls && !verbs_slot_is_there(in))
            status = verbs_rail_poll(verbs_pair_of(&in->base)->rail);
        if (status != STATUS_OK || !verbs_slot_is_there(in))
            return status;
        if (!verbs_has_credit_room(in))
            status = verbs_rail_poll(verbs_pair_of(&in->base)->rail);
        if (status != STATUS_OK || !verbs_has_credit_room(in))
            return status;
        size_t bytes;
        const char *slot = verbs_slot_arrived(in, &bytes);
        if (!slot || bytes > transfer->length - in->arrived)
            return verbs_too_long(&in->base);
        profile_enter(transfer->profile, transfer_activity(transfer));
        transfer_place(transfer, in->arrived, slot, bytes);
        profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
        in->arrived += bytes;
        traffic->received[PATH_BCOPY] += bytes;
        traffic->copied_receiving += bytes;
        *moved = in->arrived == transfer->length;
        status = verbs_slot_taken(in);
    }
    in->arrived = *moved ? 0 : in->arrived;
    return status;
}

enum status verbs_eager_move(struct channel *base, const struct transfer *transfer, bool *moved)
{
    return base->sends ? eager_send((struct verbs_sender *)base, transfer, moved)
                       : eager_receive((struct verbs_receiver *)base, transfer, moved);
}

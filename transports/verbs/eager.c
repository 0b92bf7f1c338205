/*
 * eager.c - short messages, each whole in one slot.
 *
 * Where slots are polled in memory, neither end touches its completion queue on the way: the
 * sender does when it lacks room.
 */
#include "transports/verbs/internal.h"


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

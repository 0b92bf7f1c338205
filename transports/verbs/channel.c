/*
 * channel.c - the data path of verbs: which way a message goes.
 *
 * Short messages go through slots (bcopy, slot.c), and long ones straight into place (zcopy.c). A
 * message that the receiver combines, or whose pieces there are short, goes through slots, too,
 * whatever its length: its offer says so. Memory that no CPU reads goes straight into place only.
 */
#include "transports/verbs/internal.h"

/* Sending. */

/* Sends what a slot holds. *bytes: how many; 0: there is no room. */
static enum status send_through_slot(struct verbs_sender *out, struct transfer *transfer,
                                     size_t *bytes)
{
    *bytes = 0;
    if (!verbs_slot_is_free(out)) {
        profile_starve(transfer->profile);
        return STATUS_OK;
    }
    size_t most = verbs_slot_bytes(out, transfer->element);
    size_t left = transfer->limit - transfer->issued;
    *bytes = left < most ? left : most;
    profile_enter(transfer->profile, PROFILE_COPY);
    enum status status = verbs_slot_send(out, &transfer->cursor, *bytes);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    transfer->issued += *bytes;
    transfer_advance(transfer, *bytes);
    return status;
}

enum status verbs_send_progress(struct verbs_sender *out)
{
    struct traffic *traffic = &out->base.endpoint->traffic;
    bool forced = out->base.endpoint->config.copy == COPY_ZCOPY;
    enum status status = STATUS_OK;
    size_t bytes = 1;
    for (struct transfer *transfer; status == STATUS_OK && bytes > 0 &&
                                    (transfer = out->base.first) &&
                                    transfer->issued < transfer->limit;) {
        bool zcopy = verbs_is_zcopy(&out->base, transfer->length);
        if (zcopy && !verbs_offer_take(out, transfer, &status))
            break;
        bool by_slots = !zcopy || out->offer.times == 0;
        status = verbs_require_reach(&out->base, transfer, by_slots);
        if (status != STATUS_OK)
            break;
        if (!by_slots) {
            status = verbs_segment_send(out, transfer, &bytes);
            traffic->sent[PATH_ZCOPY] += bytes;
        } else {
            status = send_through_slot(out, transfer, &bytes);
            traffic->sent[zcopy && forced ? PATH_ZCOPY : PATH_BCOPY] += bytes;
        }
        if (transfer->issued == transfer->length) {
            out->has_offer = false;
            channel_pop(&out->base);
        }
    }
    return status;
}

/* Receiving. */

static void place(struct transfer *transfer, const char *bytes, size_t count)
{
    if (transfer->kind == TRANSFER_RECV)
        cursor_scatter(&transfer->cursor, bytes, count);
    else
        cursor_reduce(&transfer->cursor, &transfer->with_cursor, bytes, count, transfer->reduce,
                      transfer->element);
}

/* Takes what has come in slots and the limit allows. *bytes: how many; 0: nothing. */
static enum status receive_from_slot(struct verbs_receiver *in, struct transfer *transfer,
                                     size_t *bytes)
{
    *bytes = 0;
    if (in->left == 0) {
        if (!verbs_has_credit_room(in) || !verbs_slot_is_there(in))
            return STATUS_OK;
        in->bytes = verbs_slot_arrived(in, &in->left);
        if (!in->bytes)
            return verbs_too_long(&in->base);
    }
    if (in->left > transfer->length - transfer->issued)
        return verbs_too_long(&in->base);
    size_t allowed = transfer->limit - transfer->issued;
    *bytes = in->left < allowed ? in->left : allowed;
    profile_enter(transfer->profile, transfer_activity(transfer));
    place(transfer, in->bytes, *bytes);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
    in->bytes += *bytes;
    in->left -= *bytes;
    transfer->issued += *bytes;
    transfer_advance(transfer, *bytes);
    in->base.endpoint->traffic.copied_receiving += *bytes;
    return in->left == 0 ? verbs_slot_taken(in) : STATUS_OK;
}

enum status verbs_receive_progress(struct verbs_receiver *in)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)in->base.endpoint;
    struct traffic *traffic = &endpoint->base.traffic;
    bool forced = endpoint->base.config.copy == COPY_ZCOPY, moved = false;
    enum status status = verbs_offers_make(in);
    /* Credits of segments go out behind the offer, for which the sender waits. It needs them only
     * for a message that this rank receives, so a receiver that is done owes none. Not in the
     * middle of a slot: the place that was free when it began is for the credit at its end. */
    if (status == STATUS_OK && in->left == 0 && verbs_has_credit_room(in))
        status = verbs_credits_return(in);
    size_t bytes = 1;
    for (struct transfer *transfer; status == STATUS_OK && bytes > 0 &&
                                    (transfer = in->base.first) &&
                                    transfer->issued < transfer->limit;) {
        bool zcopy = verbs_is_zcopy(&in->base, transfer->length);
        bool by_slots = !zcopy || verbs_takes_slots(&in->base, transfer);
        status = verbs_require_reach(&in->base, transfer, by_slots);
        if (status != STATUS_OK)
            break;
        if (!by_slots) {
            status = verbs_segment_receive(in, transfer, &bytes);
            traffic->received[PATH_ZCOPY] += bytes;
        } else {
            status = receive_from_slot(in, transfer, &bytes);
            traffic->received[zcopy && forced ? PATH_ZCOPY : PATH_BCOPY] += bytes;
        }
        moved = moved || bytes > 0;
        endpoint->arrived += bytes;
        if (transfer->issued == transfer->length) {
            verbs_offers_end(in, transfer);
            channel_pop(&in->base);
        }
    }
    verbs_starve_note(in, moved);
    return status;
}

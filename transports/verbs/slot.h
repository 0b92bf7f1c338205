/*
 * slot.h - short messages, and messages that are combined: through the receiver's slots.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_SLOT_H
#define CCTEST_TRANSPORTS_VERBS_SLOT_H

#include "transports/verbs/block.h"
#include "transports/verbs/lane.h"

/* Is there room to send a slot? If not, completions or credits may bring it. */
static inline bool verbs_slot_is_free(struct verbs_sender *out)
{
    if (out->slots_sent - out->slots_credited >= out->grants.slots)
        verbs_credits_read(out);
    return out->slots_sent - out->slots_credited < out->grants.slots &&
           verbs_pair_room(verbs_pair_of(&out->base)) > VERBS_RESERVE + 2 &&
           verbs_staging_is_free(out);
}

/* Sends `bytes` bytes of the message at `from` (at most a slot, not 0), and advances. A slot is
 * free. */
enum status verbs_slot_send(struct verbs_sender *out, struct cursor *from, size_t bytes);

/* Receiver: the next slot is the one that slots_taken says. */
static inline void verbs_slot_await(struct verbs_receiver *in)
{
    const struct verbs_lane *lane = verbs_lane_of(&in->base);
    const struct verbs_grants *grants = &lane->grants;
    in->slot = lane->block + verbs_slots_at(grants) +
               verbs_ring_at(in->slots_taken, grants->slots) * verbs_slot_stride(grants);
    in->trailer = in->slot + verbs_trailer_at(grants);
}

/* Has the next slot arrived? */
static inline bool verbs_slot_is_there(const struct verbs_receiver *in)
{
    return in->polls ? verbs_word_read(in->trailer) >> 32 == in->slots_taken + 1
                     : in->slots_arrived != in->slots_taken;
}

/* The bytes of the next slot, which has arrived: *bytes of them. NULL: no slot holds so many, or
 * none. */
static inline const char *verbs_slot_arrived(const struct verbs_receiver *in, size_t *bytes)
{
    const struct verbs_grants *grants = &verbs_lane_of(&in->base)->grants;
    *bytes = in->polls ? (uint32_t)verbs_word_read(in->trailer)
                       : in->slot_lengths[verbs_ring_at(in->slots_taken, grants->slots)];
    bool valid = *bytes > 0 && *bytes <= grants->slot_bytes;
    return valid ? in->slot + verbs_payload_at(grants, *bytes) : NULL;
}

/* The next slot is taken. There was room for its credit when it began (lane.h), and none has been
 * written since. */
static inline enum status verbs_slot_taken(struct verbs_receiver *in)
{
    in->slots_taken++;
    verbs_slot_await(in);
    return verbs_credits_return(in);
}

#endif

/*
 * lane.h - what the two ways of a lane share: its queue pairs, credits and staging.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_LANE_H
#define CCTEST_TRANSPORTS_VERBS_LANE_H

#include "transports/verbs/block.h"
#include "transports/verbs/work.h"

/* By the length, --copy and lane->direct, which both ends know. */
bool verbs_is_zcopy(const struct channel *channel, size_t length);

/* The lane that a channel belongs to, and the queue pair for slots, credits and offers. */
static inline struct verbs_lane *verbs_lane_of(const struct channel *channel)
{
    size_t offset = channel->sends ? offsetof(struct verbs_lane, out.base)
                                   : offsetof(struct verbs_lane, in.base);
    return (struct verbs_lane *)((uintptr_t)channel - offset);
}

static inline struct verbs_pair *verbs_pair_of(const struct channel *channel)
{
    return &verbs_lane_of(channel)->pairs[0];
}

/* Is there room to post offers and limits, and credits too? */
static inline bool verbs_has_control_room(const struct channel *channel)
{
    return verbs_pair_room(verbs_pair_of(channel)) >= VERBS_RESERVE;
}

static inline bool verbs_has_credit_room(const struct verbs_receiver *in)
{
    return verbs_has_control_room(&in->base) &&
           verbs_words_are_free(verbs_pair_of(&in->base), &in->credits);
}

/* Sender: reads the credits that the peer has written. */
void verbs_credits_read(struct verbs_sender *out);

/* Tells the sender what has been taken. There is room. */
enum status verbs_credits_write(struct verbs_receiver *in);

/* The same, if that is half of what was granted. */
static inline enum status verbs_credits_return(struct verbs_receiver *in)
{
    const struct verbs_grants *grants = &verbs_lane_of(&in->base)->grants;
    uint32_t slots = in->slots_taken - in->slots_returned;
    uint32_t segments = in->segments_taken - in->segments_returned;
    bool due = slots >= (grants->slots + 1) / 2 || segments >= (grants->segments + 1) / 2;
    return due ? verbs_credits_write(in) : STATUS_OK;
}

/* Tells the sender all that has been taken, if the receiver is idle. */
enum status verbs_credits_return_rest(struct verbs_receiver *in);

/* Bytes of a message that fit into a slot at both ends: whole elements. */
size_t verbs_slot_bytes(const struct verbs_sender *out, size_t element);

/* Is the next staging slot free? */
static inline bool verbs_staging_is_free(const struct verbs_sender *out)
{
    const struct verbs_grants *grants = &verbs_lane_of(&out->base)->grants;
    const struct verbs_staged *staged =
        &out->staged[verbs_ring_at(out->staging_next, grants->slots)];
    return !staged->pair || verbs_pair_is_past(staged->pair, staged->position);
}

/* A staging slot, in use until the pair's requests in front of `position` are complete; NULL: the
 * next one is in use still. */
char *verbs_staging_take(struct verbs_sender *out, const struct verbs_pair *pair,
                         uint64_t position);

/* Fails: the peer sent a longer message than this rank expects. */
enum status verbs_too_long(const struct channel *channel);

#endif

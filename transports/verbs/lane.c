/*
 * lane.c - what the two ways of a lane share: its queue pairs, credits and staging.
 */
#include "transports/verbs/internal.h"

#include "base/log.h"

#define ZCOPY_THRESHOLD 16384 /* --copy auto: longer messages go zcopy */

/* A credit word has so many bits of the slots that were taken, and of the segments. */
#define COUNT_BITS 24
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

bool verbs_is_zcopy(const struct channel *channel, size_t length)
{
    enum copy_policy copy = channel->endpoint->config.copy;
    if (verbs_lane_of(channel)->direct)
        return true;
    return copy == COPY_AUTO ? length > ZCOPY_THRESHOLD : copy == COPY_ZCOPY;
}

/* How far the low bits of a count are ahead of `known`; 0: they are behind it. */
static uint32_t count_ahead(uint32_t count, uint32_t known)
{
    uint32_t ahead = (count - known) & COUNT_MASK;
    return ahead <= COUNT_MASK / 2 ? ahead : 0;
}

void verbs_credits_read(struct verbs_sender *out)
{
    const uint64_t *words = (const uint64_t *)verbs_lane_of(&out->base)->block;
    for (int i = 0; i < VERBS_WORDS; i++) {
        uint64_t word;
        if (!verbs_word_value(verbs_word_read(&words[i]), &word))
            continue;
        out->slots_credited += count_ahead((uint32_t)word, out->slots_credited);
        out->segments_credited +=
            count_ahead((uint32_t)(word >> COUNT_BITS), out->segments_credited);
    }
}

enum status verbs_too_long(const struct channel *channel)
{
    return fail_peer(REASON_PEER_INVALID, channel->peer,
                     "rank %d sent a longer message than this rank expects", channel->peer);
}

size_t verbs_slot_bytes(const struct verbs_sender *out, size_t element)
{
    uint32_t theirs = out->grants.slot_bytes, own = verbs_lane_of(&out->base)->grants.slot_bytes;
    size_t most = theirs < own ? theirs : own;
    return most - most % element;
}

char *verbs_staging_take(struct verbs_sender *out, const struct verbs_pair *pair, uint64_t position)
{
    const struct verbs_lane *lane = verbs_lane_of(&out->base);
    const struct verbs_grants *grants = &lane->grants;
    uint32_t index = verbs_ring_at(out->staging_next, grants->slots);
    if (!verbs_staging_is_free(out))
        return NULL;
    out->staging_next++;
    out->staged[index] = (struct verbs_staged){.pair = pair, .position = position};
    return lane->block + verbs_staging_at(grants) + index * verbs_slot_stride(grants);
}

enum status verbs_credits_write(struct verbs_receiver *in)
{
    const struct verbs_lane *lane = verbs_lane_of(&in->base);
    uint64_t word =
        (uint64_t)(in->segments_taken & COUNT_MASK) << COUNT_BITS | (in->slots_taken & COUNT_MASK);
    in->slots_returned = in->slots_taken;
    in->segments_returned = in->segments_taken;
    return verbs_pair_write_word(verbs_pair_of(&in->base), &in->credits, verbs_word_of(word),
                                 lane->out.remote);
}

enum status verbs_credits_return_rest(struct verbs_receiver *in)
{
    if (in->base.first ||
        (in->slots_taken == in->slots_returned && in->segments_taken == in->segments_returned))
        return STATUS_OK;
    return verbs_has_credit_room(in) ? verbs_credits_write(in) : STATUS_OK;
}

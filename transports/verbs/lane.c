/*
 * lane.c - what the two ways of a lane share: its queue pairs, credits and staging.
 */
#include "transports/verbs/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "host/host.h"

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

/*
 * How many slots, offers and segments a receiver grants on each lane.
 */
#define NODE_BYTES    ((size_t)192 << 20) /* of slots and staging, all ranks of a host together */
#define RECEIVES_MOST ((size_t)16384)     /* of the new lanes on a rail */

#define SLOT_LEAST      64 /* holds an element of any type */
#define SLOT_BYTES_MOST ((size_t)1 << 29)
#define COUNT_MOST      65536

static const struct verbs_grants wanted = {
    .slots = 32, .slot_bytes = 16 << 10, .offers = 16, .segments = 32};
static const struct verbs_grants least = {
    .slots = 2, .slot_bytes = 256, .offers = 2, .segments = 2};

size_t verbs_grants_receives(const struct verbs_grants *grants, const struct verbs_demand *demand)
{
    return (size_t)demand->pairs * grants->segments +
           (size_t)demand->firsts * (grants->slots + grants->offers);
}

/* The largest power of two that is not more than `number`, which is not 0. */
static uint32_t power_below(uint32_t number)
{
    return (uint32_t)1 << (31 - __builtin_clz(number));
}

/* Halves one that the user did not set; false: all are at their least. */
static bool shrink(const struct transport_config *config, struct verbs_grants *grants)
{
    if (!config->slot_bytes && grants->slot_bytes > 16 * least.slot_bytes)
        grants->slot_bytes /= 2;
    else if (!config->slots && grants->slots > least.slots)
        grants->slots /= 2;
    else if (!config->slot_bytes && grants->slot_bytes > least.slot_bytes)
        grants->slot_bytes /= 2;
    else
        return false;
    return true;
}

/* Has each rail the receives for them? */
static bool receives_fit(const struct verbs_endpoint *endpoint, const struct verbs_grants *grants,
                         const struct verbs_demand *demands)
{
    for (int i = 0; i < endpoint->rail_count; i++) {
        const struct verbs_rail *rail = &endpoint->rails[i];
        size_t left = rail->receives_most - rail->receives;
        if (verbs_grants_receives(grants, &demands[i]) >
            (left < RECEIVES_MOST ? left : RECEIVES_MOST))
            return false;
    }
    return true;
}

/* The rest of this rank's share behind earlier lanes. */
static size_t bytes_left(const struct verbs_endpoint *endpoint)
{
    int ranks = endpoint->base.config.local_ranks;
    size_t left = NODE_BYTES / (size_t)(ranks > 1 ? ranks : 1);
    for (const struct verbs_arena *arena = endpoint->arenas; arena; arena = arena->next)
        left -= arena->bytes < left ? arena->bytes : left;
    return left;
}

size_t verbs_memory_share(const struct verbs_endpoint *endpoint)
{
    int ranks = endpoint->base.config.local_ranks;
    return memory_available() / VERBS_MEMORY_PART / (size_t)(ranks > 1 ? ranks : 1);
}

struct verbs_grants verbs_grants_choose(const struct verbs_endpoint *endpoint, size_t lanes,
                                        const struct verbs_demand *demands, size_t memory)
{
    const struct transport_config *config = &endpoint->base.config;
    struct verbs_grants grants = wanted;
    size_t left = bytes_left(endpoint), share = left < memory ? left : memory;
    if (config->slots)
        grants.slots = power_below((uint32_t)config->slots);
    if (config->slot_bytes)
        grants.slot_bytes =
            (uint32_t)(config->slot_bytes < SLOT_LEAST ? SLOT_LEAST : config->slot_bytes);
    while (lanes * verbs_block_bytes(&grants) > share && shrink(config, &grants))
        ;
    while (!receives_fit(endpoint, &grants, demands) && grants.segments > least.segments) {
        grants.segments /= 2;
        grants.offers = grants.offers > least.offers ? grants.offers / 2 : grants.offers;
        if (!config->slots && grants.slots > least.slots)
            grants.slots /= 2;
    }
    return grants;
}

static bool count_valid(uint32_t count)
{
    return count >= 1 && count <= COUNT_MOST && (count & (count - 1)) == 0;
}

bool verbs_grants_valid(const struct verbs_grants *grants)
{
    return count_valid(grants->slots) && count_valid(grants->offers) &&
           count_valid(grants->segments) && grants->slot_bytes >= SLOT_LEAST &&
           grants->slot_bytes <= SLOT_BYTES_MOST;
}

/*
 * The waits of a lane, and its state while nothing moves.
 *
 * The NIC sends again by itself and keeps no count per queue pair, so `resent` stays 0: the
 * counters of the port tell it.
 */
void verbs_busy_begin(struct verbs_sender *out)
{
    if (out->base.endpoint->config.watches && !out->busy_since)
        out->busy_since = clock_ns();
}

void verbs_busy_end(struct verbs_sender *out)
{
    if (out->busy_since)
        out->busy += clock_ns() - out->busy_since;
    out->busy_since = 0;
}

void verbs_starve_note(struct verbs_receiver *in, bool moved)
{
    const struct transfer *first = in->base.first;
    bool waits = in->base.endpoint->watched && !moved && first &&
                 first->length >= WAIT_STATS_LEAST && first->issued < first->limit;
    if (waits && !in->starved_since)
        in->starved_since = clock_ns();
    if (waits || !in->starved_since)
        return;
    in->starved += clock_ns() - in->starved_since;
    in->starved_since = 0;
}

void verbs_wait_stats(const struct channel *base, struct wait_stats *wait_stats)
{
    *wait_stats = (struct wait_stats){0};
    if (base->sends)
        wait_stats->busy = ((const struct verbs_sender *)base)->busy;
    else
        wait_stats->starved = ((const struct verbs_receiver *)base)->starved;
}

static void pair_note(struct verbs_pair *pair)
{
    pair->stalled =
        pair->posted != pair->retired + pair->unsignaled && pair->retired == pair->seen_retired;
    pair->seen_retired = pair->retired;
}

void verbs_stalls_note(struct verbs_endpoint *endpoint)
{
    for (int rank = 0; rank < endpoint->base.config.ranks; rank++)
        for (struct verbs_pair *pair = NULL;
             (pair = verbs_peer_next(&endpoint->peers[rank], pair));)
            pair_note(pair);
}

/* A request that asked for a completion, and has none since the check() before, is not
 * acknowledged. */
void verbs_idle_report(const struct endpoint *base, struct idle_report *idle)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    for (int rank = 0; rank < base->config.ranks; rank++)
        for (const struct verbs_pair *pair = NULL;
             (pair = verbs_peer_next(&endpoint->peers[rank], pair));)
            if (pair->stalled && idle->unheard < 0)
                idle->unheard = rank;
    idle->arrived += endpoint->arrived;
}

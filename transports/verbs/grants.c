/*
 * grants.c - how many slots, offers and segments a receiver grants on each lane.
 */
#include "transports/verbs/grants.h"

#include "transports/verbs/block.h"

#define NODE_BYTES    ((size_t)192 << 20) /* of slots and staging, all ranks of a host together */
#define RECEIVES_MOST ((size_t)16384)     /* of the new lanes on a rail */

#define SLOT_LEAST      64 /* holds an element of any type */
#define SLOT_BYTES_MOST ((size_t)1 << 29)
#define COUNT_MOST      65536

static const struct verbs_grants wanted = {
    .slots = 32, .slot_bytes = 16 << 10, .offers = 16, .segments = 32};
static const struct verbs_grants least = {
    .slots = 2, .slot_bytes = 256, .offers = 2, .segments = 2};

uint32_t verbs_grants_receives(const struct verbs_grants *grants, int path)
{
    return grants->segments + (path == 0 ? grants->slots + grants->offers : 0);
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

/* The receives that the rail with the fewest has left for new lanes. */
static size_t receives_left(const struct verbs_endpoint *endpoint)
{
    size_t left = RECEIVES_MOST;
    for (int i = 0; i < endpoint->rail_count; i++) {
        const struct verbs_rail *rail = &endpoint->rails[i];
        size_t of_rail =
            rail->srq ? rail->receives_most - rail->receives : (size_t)rail->device.max_srq_wr;
        left = of_rail < left ? of_rail : left;
    }
    return left;
}

struct verbs_grants verbs_grants_choose(const struct verbs_endpoint *endpoint, size_t lanes)
{
    const struct transport_config *config = &endpoint->base.config;
    struct verbs_grants grants = wanted;
    size_t share = NODE_BYTES / (size_t)(config->local_ranks > 1 ? config->local_ranks : 1);
    size_t receives = receives_left(endpoint);
    if (config->slots)
        grants.slots = power_below((uint32_t)config->slots);
    if (config->slot_bytes)
        grants.slot_bytes =
            (uint32_t)(config->slot_bytes < SLOT_LEAST ? SLOT_LEAST : config->slot_bytes);
    while (lanes * verbs_block_bytes(&grants) > share && shrink(config, &grants))
        ;
    while (lanes * verbs_grants_receives(&grants, 0) > receives &&
           grants.segments > least.segments) {
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

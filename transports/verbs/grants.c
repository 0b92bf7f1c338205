/*
 * grants.c - how many slots, offers and segments a receiver grants on each lane.
 */
#include "transports/verbs/internal.h"

#include "host/host.h"

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

/* What earlier lanes have left of this rank's share. */
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

/*
 * grants.c - how many slots, offers and segments a receiver grants on each lane.
 */
#include "transports/verbs/grants.h"

#include "transports/verbs/block.h"

#define NODE_BYTES ((size_t)192 << 20) /* of slots and staging, all ranks of a host together */
#define RECEIVES   12000               /* of all lanes on a rail */

#define SLOT_LEAST      64 /* holds an element of any type */
#define SLOT_BYTES_MOST ((size_t)1 << 29)
#define COUNT_MOST      65536

static const struct verbs_grants wanted = {
    .slots = 8, .slot_bytes = 32 << 10, .offers = 16, .segments = 32};
static const struct verbs_grants least = {
    .slots = 2, .slot_bytes = 256, .offers = 2, .segments = 2};

uint32_t verbs_grants_receives(const struct verbs_grants *grants, int path)
{
    return grants->segments + (path == 0 ? grants->slots + grants->offers : 0);
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

void verbs_grants_choose(const struct transport_config *config, int peers, int lanes,
                         struct verbs_grants *grants)
{
    size_t total = (size_t)peers * (size_t)lanes;
    size_t share = NODE_BYTES / (size_t)(config->local_ranks > 1 ? config->local_ranks : 1);
    *grants = wanted;
    if (config->slots)
        grants->slots = (uint32_t)config->slots;
    if (config->slot_bytes)
        grants->slot_bytes =
            (uint32_t)(config->slot_bytes < SLOT_LEAST ? SLOT_LEAST : config->slot_bytes);
    while (total * verbs_block_bytes(grants) > share && shrink(config, grants))
        ;
    while (total * verbs_grants_receives(grants, 0) > RECEIVES &&
           grants->segments > least.segments) {
        grants->segments /= 2;
        grants->offers = grants->offers > least.offers ? grants->offers / 2 : grants->offers;
        if (!config->slots && grants->slots > least.slots)
            grants->slots /= 2;
    }
}

static bool count_valid(uint32_t count)
{
    return count >= 1 && count <= COUNT_MOST;
}

bool verbs_grants_valid(const struct verbs_grants *grants)
{
    return count_valid(grants->slots) && count_valid(grants->offers) &&
           count_valid(grants->segments) && grants->slot_bytes >= SLOT_LEAST &&
           grants->slot_bytes <= SLOT_BYTES_MOST;
}

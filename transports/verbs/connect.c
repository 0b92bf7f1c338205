/*
 * connect.c - makes the lanes between this rank and its peers.
 *
 * Both ends create the queue pairs of their lanes and register a block for each lane. They exchange
 * the numbers of the queue pairs, and the addresses and keys of the blocks, over the control plane.
 * Then each queue pair is made ready to receive and to send. A second exchange tells that, because
 * a WRITE that arrives at a queue pair that is not ready would be sent again only after a timeout.
 */
#include "transports/verbs/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

#define DEPTH_LEAST 16

/* One call of connect(). */
struct verbs_round {
    struct verbs_endpoint *endpoint;
    const int *peers;
    int count, lanes;
    struct verbs_grants grants; /* of the new lanes */
    struct verbs_demand demands[VERBS_RAILS_MOST];
    size_t each; /* bytes that are exchanged with a peer */
    unsigned char *mine, *theirs;
};

/* Paths: the queue pairs of a lane. */

static int most_of(int a, int b)
{
    return a > b ? a : b;
}

static int paths_of(const struct verbs_endpoint *endpoint, const struct verbs_peer *peer)
{
    int each = endpoint->settings[VERBS_QPS].given ? (int)endpoint->settings[VERBS_QPS].number : 1;
    int rails = most_of(endpoint->rail_count, peer->address.rail_count);
    if (endpoint->matches)
        return each;
    /* As many on each rail. Both ends have refused more than fits their own rails. */
    each = each * rails <= VERBS_PATHS_MOST ? each : VERBS_PATHS_MOST / rails;
    return each * (rails < peer->rail_pair_count ? rails : peer->rail_pair_count);
}

/* The rails at the two ends of a path. rails=match: the rail that the lower rank is nearest to. */
static void path_rails(const struct verbs_endpoint *endpoint, const struct verbs_peer *peer,
                       int lane, int path, int *mine, int *theirs)
{
    int home =
        endpoint->base.config.rank < peer->rank ? endpoint->address.home : peer->address.home;
    int number = endpoint->matches ? home : peer->rail_pairs[(lane + path) % peer->rail_pair_count];
    *mine = number % endpoint->rail_count;
    *theirs = number % peer->address.rail_count;
}

/* Lanes. */

static void lane_free(struct verbs_lane *lane)
{
    if (!lane)
        return;
    for (int i = 0; i < lane->pair_count; i++) {
        verbs_pair_destroy(&lane->pairs[i]);
        verbs_cm_disconnect(&lane->pairs[i]);
    }
    free(lane->out.staged);
    free(lane->out.segments);
    free(lane->in.slot_lengths);
    free(lane->in.offered);
    free(lane->pairs);
    free(lane);
}

static void lane_allocate(struct verbs_lane *lane, int paths)
{
    const struct verbs_grants *grants = &lane->grants;
    lane->pairs = new_array((size_t)paths, sizeof *lane->pairs);
    lane->out.staged = new_array(grants->slots, sizeof *lane->out.staged);
    lane->in.slot_lengths = new_array(grants->slots, sizeof *lane->in.slot_lengths);
}

static void channel_init(struct channel *channel, struct verbs_endpoint *endpoint,
                         const struct verbs_lane *lane, bool sends)
{
    *channel = (struct channel){.endpoint = &endpoint->base,
                                .peer = lane->peer->rank,
                                .lane = lane->number,
                                .sends = sends};
}

/* The peer's next lane. */
static enum status lane_create(const struct verbs_round *round, struct verbs_peer *peer,
                               char *block, uint32_t depth)
{
    struct verbs_endpoint *endpoint = round->endpoint;
    struct verbs_lane *lane = new_array(1, sizeof *lane);
    int number = peer->lane_count, paths = paths_of(endpoint, peer);
    lane->grants = round->grants;
    lane_allocate(lane, paths);
    peer->lanes[peer->lane_count++] = lane; /* from here on it is freed with the peer */
    lane->peer = peer;
    lane->number = number;
    lane->direct = verbs_is_direct(endpoint) || peer->address.direct;
    lane->block = block;
    lane->arena = endpoint->arenas;
    channel_init(&lane->out.base, endpoint, lane, true);
    channel_init(&lane->in.base, endpoint, lane, false);
    verbs_slot_await(&lane->in);
    enum status status = STATUS_OK;
    for (int path = 0; status == STATUS_OK && path < paths; path++) {
        struct verbs_pair *pair = &lane->pairs[lane->pair_count++];
        int mine;
        path_rails(endpoint, peer, number, path, &mine, &pair->remote_rail);
        pair->lane = lane;
        pair->path = path;
        pair->rail = &endpoint->rails[mine];
        status = verbs_pair_create(pair, depth);
        if (!tick_on(endpoint->base.config.tick))
            return STATUS_INTERRUPTED;
    }
    return status;
}

/* Memory. */

/* Do the blocks fit into `most` bytes? The kernel would not refuse the memory, but kill a rank. */
static enum status arena_check(const struct verbs_endpoint *endpoint,
                               const struct verbs_grants *grants, size_t lanes, size_t most)
{
    const struct transport_config *config = &endpoint->base.config;
    size_t wanted = lanes * verbs_block_bytes(grants);
    if (wanted <= most)
        return STATUS_OK;
    bool given = config->slots || config->slot_bytes;
    return fail_option(
        given ? STATUS_USAGE : STATUS_ERROR, given ? "slots slot-size" : "channels",
        "%u slots of %u bytes for each lane, %zu lanes, would take %zu MiB on a rank (verbs), "
        "which may have %zu MiB (1/%d of what is available for the ranks here): %s",
        grants->slots, grants->slot_bytes, lanes, wanted >> 20, most >> 20, VERBS_MEMORY_PART,
        given ? "give fewer --slots or a smaller --slot-size"
              : "use fewer --channels or ranks, or another transport");
}

/* Registers so many bytes for blocks; they are those of endpoint->arenas then. */
static enum status arena_make(struct verbs_endpoint *endpoint, size_t bytes)
{
    struct verbs_arena *arena = new_array(1, sizeof *arena);
    arena->bytes = bytes;
    arena->base = mmap(NULL, arena->bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (arena->base == MAP_FAILED) {
        free(arena);
        return fail(STATUS_ERROR, "no memory for %zu bytes of slots: %s", bytes, strerror(errno));
    }
    arena->next = endpoint->arenas;
    endpoint->arenas = arena;
    for (int i = 0; i < endpoint->rail_count; i++) {
        arena->mrs[i] = verbs_register_polled(&endpoint->rails[i], arena->base, arena->bytes);
        if (!arena->mrs[i])
            return log_current()->failure.status;
    }
    return STATUS_OK;
}

/* Counts. */

/* Counts the lanes that the round makes, and their queue pairs on each rail. */
static size_t round_count(struct verbs_round *round)
{
    struct verbs_endpoint *endpoint = round->endpoint;
    size_t lanes = 0;
    for (int i = 0; i < round->count; i++) {
        const struct verbs_peer *peer = &endpoint->peers[round->peers[i]];
        for (int lane = peer->lane_count; lane < round->lanes; lane++, lanes++)
            for (int path = 0; path < paths_of(endpoint, peer); path++) {
                int mine, theirs;
                path_rails(endpoint, peer, lane, path, &mine, &theirs);
                round->demands[mine].pairs++;
                round->demands[mine].firsts += path == 0;
            }
    }
    return lanes;
}

static enum status rails_prepare(const struct verbs_round *round, uint32_t *depth)
{
    struct verbs_endpoint *endpoint = round->endpoint;
    enum status status = STATUS_OK;
    *depth = VERBS_DEPTH;
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++) {
        struct verbs_rail *rail = &endpoint->rails[i];
        const struct verbs_demand *demand = &round->demands[i];
        uint32_t wanted = verbs_pair_depth(rail->pair_count + demand->pairs);
        size_t receives = verbs_grants_receives(&round->grants, demand);
        status = verbs_rail_prepare(rail, (uint32_t)receives, demand->pairs * wanted);
        if (status != STATUS_OK || demand->pairs == 0)
            continue;
        uint32_t left = rail->completions < rail->completions_most
                            ? rail->completions_most - rail->completions
                            : 0;
        uint32_t share = left / demand->pairs;
        if (share < DEPTH_LEAST)
            return fail_option(
                STATUS_UNAVAILABLE, "channels",
                "NIC %s has room for %u completions, too few for %u queue pairs more: use "
                "an algorithm with fewer peers, or fewer --channels",
                rail->port.name, rail->completions_most, demand->pairs);
        wanted = share < wanted ? share : wanted;
        *depth = wanted < *depth ? wanted : *depth;
        if ((uint32_t)rail->device.max_qp_wr < *depth)
            *depth = (uint32_t)rail->device.max_qp_wr;
    }
    while (*depth & (*depth - 1)) /* down to a power of 2 */
        *depth &= *depth - 1;
    return status;
}

/* Room for the new lanes and their channels. */
static void room_make(struct verbs_endpoint *endpoint, const struct verbs_round *round,
                      size_t lanes)
{
    size_t channels = (size_t)endpoint->channel_count + 2 * lanes;
    endpoint->active = reallocarray(endpoint->active, channels + 1, sizeof *endpoint->active);
    if (!endpoint->active)
        memory_end();
    endpoint->channel_count = (int)channels;
    for (int i = 0; i < round->count; i++) {
        struct verbs_peer *peer = &endpoint->peers[round->peers[i]];
        size_t most = (size_t)most_of(round->lanes, peer->lane_count);
        peer->lanes = reallocarray(peer->lanes, most + 1, sizeof *peer->lanes);
        if (!peer->lanes)
            memory_end();
    }
}

static enum status round_create(struct verbs_round *round)
{
    struct verbs_endpoint *endpoint = round->endpoint;
    uint32_t depth;
    size_t lanes = round_count(round), memory = verbs_memory_share(endpoint);
    round->grants = verbs_grants_choose(endpoint, lanes, round->demands, memory);
    room_make(endpoint, round, lanes);
    if (lanes == 0)
        return STATUS_OK;
    enum status status = arena_check(endpoint, &round->grants, lanes, memory);
    if (status == STATUS_OK)
        status = verbs_regions_register(endpoint);
    if (status == STATUS_OK)
        status = rails_prepare(round, &depth);
    if (status == STATUS_OK)
        status = arena_make(endpoint, lanes * verbs_block_bytes(&round->grants));
    char *block = status == STATUS_OK ? endpoint->arenas->base : NULL;
    for (int i = 0; status == STATUS_OK && i < round->count; i++) {
        struct verbs_peer *peer = &endpoint->peers[round->peers[i]];
        while (status == STATUS_OK && peer->lane_count < round->lanes) {
            status = lane_create(round, peer, block, depth);
            block += verbs_block_bytes(&round->grants);
        }
    }
    return status;
}

/* The messages between the ends of a lane. */

#define PATH_BYTES 8 /* number of a queue pair, and its first packet number */
#define LANE_HEAD  (8 + 4 * VERBS_RAILS_MOST)
#define PEER_HEAD  16

static void lane_encode(const struct verbs_lane *lane, struct bytes *bytes)
{
    bytes_put_u64(bytes, (uintptr_t)lane->block);
    for (int i = 0; i < VERBS_RAILS_MOST; i++)
        bytes_put_u32(bytes, lane->arena->mrs[i] ? lane->arena->mrs[i]->rkey : 0);
    for (int path = 0; path < VERBS_PATHS_MOST; path++) {
        const struct verbs_pair *pair = &lane->pairs[path];
        bytes_put_u32(bytes, path < lane->pair_count ? pair->qp->qp_num : 0);
        bytes_put_u32(bytes, path < lane->pair_count ? pair->first_packet : 0);
    }
}

static void round_encode(struct verbs_round *round, int fresh[])
{
    struct bytes bytes = {0};
    for (int i = 0; i < round->count; i++) {
        struct verbs_endpoint *endpoint = round->endpoint;
        const struct verbs_peer *peer = &endpoint->peers[round->peers[i]];
        const struct verbs_grants *grants = &round->grants;
        size_t begin = bytes.size;
        bytes_put_u32(&bytes, grants->slots);
        bytes_put_u32(&bytes, grants->slot_bytes);
        bytes_put_u32(&bytes, grants->offers);
        bytes_put_u32(&bytes, grants->segments);
        for (int lane = fresh[i]; lane < round->lanes; lane++)
            lane_encode(peer->lanes[lane], &bytes);
        while (bytes.size < begin + round->each)
            bytes_put_u32(&bytes, 0);
    }
    if (bytes.size > 0)
        memcpy(round->mine, bytes.data, bytes.size);
    bytes_free(&bytes);
}

static bool lane_decode(struct verbs_lane *lane, const struct verbs_grants *grants,
                        struct reader *reader)
{
    struct verbs_sender *out = &lane->out;
    out->grants = *grants;
    out->remote = read_u64(reader);
    for (int i = 0; i < VERBS_RAILS_MOST; i++)
        out->remote_keys[i] = read_u32(reader);
    for (int path = 0; path < VERBS_PATHS_MOST; path++) {
        uint32_t number = read_u32(reader), packet = read_u32(reader);
        if (path < lane->pair_count) {
            lane->pairs[path].remote_number = number;
            lane->pairs[path].remote_packet = packet;
        }
    }
    out->segments = new_array(grants->segments, sizeof *out->segments);
    lane->in.offered = new_array(grants->offers, sizeof *lane->in.offered);
    return true;
}

static enum status peer_decode(struct verbs_round *round, int i, const int fresh[])
{
    struct verbs_peer *peer = &round->endpoint->peers[round->peers[i]];
    struct reader reader = {.at = round->theirs + (size_t)i * round->each, .left = round->each};
    struct verbs_grants grants = {.slots = read_u32(&reader), .slot_bytes = read_u32(&reader)};
    grants.offers = read_u32(&reader);
    grants.segments = read_u32(&reader);
    bool good = verbs_grants_valid(&grants);
    for (int lane = fresh[i]; good && lane < round->lanes; lane++)
        good = lane_decode(peer->lanes[lane], &grants, &reader);
    return good && !reader.bad
               ? STATUS_OK
               : fail_peer(REASON_PEER_INVALID, peer->rank,
                           "rank %d sent invalid queue pair data: check that all ranks run the "
                           "same version of cctest",
                           peer->rank);
}

/* The lanes from number `first` on. */
static enum status lanes_connect(const struct verbs_endpoint *endpoint,
                                 const struct verbs_peer *peer, int first)
{
    enum status status = STATUS_OK;
    for (struct verbs_pair *pair = NULL;
         status == STATUS_OK && (pair = verbs_peer_next(peer, pair));) {
        if (pair->lane->number < first)
            continue;
        status = verbs_pair_connect(pair);
        if (!tick_on(endpoint->base.config.tick))
            return STATUS_INTERRUPTED;
    }
    return status;
}

static enum status round_connect(struct verbs_round *round, const int fresh[])
{
    struct verbs_endpoint *endpoint = round->endpoint;
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < round->count; i++) {
        status = peer_decode(round, i, fresh);
        if (status == STATUS_OK && !endpoint->cm)
            status = lanes_connect(endpoint, &endpoint->peers[round->peers[i]], fresh[i]);
    }
    if (status == STATUS_OK && endpoint->cm)
        status = verbs_cm_connect(endpoint, round->peers, round->count);
    return status;
}

static enum status round_exchange(const struct verbs_round *round)
{
    const struct peer_exchange *exchange = round->endpoint->base.config.exchange;
    return exchange->call(exchange->argument, round->peers, round->count, round->mine, round->each,
                          round->theirs);
}

/* Ready to receive; and for each lane, whether this rank polls memory. */
static enum status round_ready(struct verbs_round *round, const int fresh[])
{
    round->each = (size_t)round->lanes;
    for (int i = 0; i < round->count; i++) {
        const struct verbs_peer *peer = &round->endpoint->peers[round->peers[i]];
        for (int lane = 0; lane < round->lanes; lane++)
            round->mine[(size_t)i * round->each + (size_t)lane] =
                lane >= fresh[i] && verbs_pair_polls_memory(&peer->lanes[lane]->pairs[0]);
    }
    enum status status = round_exchange(round);
    for (int i = 0; status == STATUS_OK && i < round->count; i++) {
        struct verbs_peer *peer = &round->endpoint->peers[round->peers[i]];
        for (int lane = fresh[i]; lane < round->lanes; lane++) {
            size_t at = (size_t)i * round->each + (size_t)lane;
            peer->lanes[lane]->in.polls = round->mine[at] != 0;
            peer->lanes[lane]->out.peer_polls = round->theirs[at] != 0;
        }
    }
    return status;
}

static enum status round_run(struct verbs_round *round, int fresh[])
{
    for (int i = 0; i < round->count; i++)
        fresh[i] = round->endpoint->peers[round->peers[i]].lane_count;
    TRY(round_create(round));
    round_encode(round, fresh);
    TRY(round_exchange(round));
    TRY(round_connect(round, fresh));
    TRY(round_ready(round, fresh));
    return round->endpoint->cm ? verbs_cm_greet(round->endpoint, round->peers, round->count)
                               : STATUS_OK;
}

enum status verbs_connect(struct endpoint *base, const int *peers, int count, int lanes)
{
    struct verbs_round round = {
        .endpoint = (struct verbs_endpoint *)base, .peers = peers, .count = count, .lanes = lanes};
    uint64_t begin = clock_ns();
    round.each = PEER_HEAD + (size_t)lanes * (LANE_HEAD + VERBS_PATHS_MOST * PATH_BYTES);
    round.mine = new_array((size_t)count + 1, round.each);
    round.theirs = new_array((size_t)count + 1, round.each);
    int *fresh = new_array((size_t)count + 1, sizeof *fresh);
    enum status status = round_run(&round, fresh);
    free(round.mine);
    free(round.theirs);
    free(fresh);
    round.endpoint->connecting_ns += clock_ns() - begin;
    return status;
}

void verbs_disconnect(struct verbs_peer *peer)
{
    for (int lane = 0; lane < peer->lane_count; lane++)
        lane_free(peer->lanes[lane]);
    free(peer->lanes);
    peer->lanes = NULL;
    peer->lane_count = 0;
}

/*
 * shm.c - requirements for shm alone: the path that --copy auto takes, by where the ranks run and
 * what else they do; the description of a link; a peer that sends too much, and one whose memory
 * holds garbage.
 * tier: check; load: cpu1
 */
#include "transports/shm/internal.h"

#include "pair.h"

/* The inputs of --copy auto. */
struct policy {
    const struct memory_kind *memory;
    unsigned coreless; /* ranks that share their core, a bit for each */
    bool combines, one_way;
    bool far; /* ranks that have a core: how far these are apart */
};

enum traffic_kind { ONE_DIRECTION, TWO_LANES, BOTH_DIRECTIONS, TRAFFIC_KINDS };

struct post {
    enum traffic_kind kind;
    size_t length, run; /* bytes; of each piece */
    size_t grain;
};

#define TRANSFER_MOST MIB

/* Does this message go through slots? The rules of transports/shm/channel.c, written again. */
static bool goes_through_slots(const struct policy *policy, const struct post *post)
{
    bool shared = policy->memory == memory_find("shared");
    size_t covers = post->run < post->length ? post->length / post->run * post->run : post->length;
    if (post->grain < covers)
        covers = post->grain;
    if (shared)
        return post->length <= 8 << 10 || covers < 4 << 10;
    if (policy->combines && (policy->coreless == 0 || policy->one_way))
        return true;
    bool far = policy->coreless > 0 || policy->far;
    if (!far && post->kind == ONE_DIRECTION)
        return true;
    return post->length <= (size_t)(far ? 32 << 10 : 64 << 10) || covers < 8 << 10 ||
           post->run < 1 << 10;
}

static void message_make(struct rank *me, struct transfer *transfer, struct piece *piece,
                         const struct post *post, bool sends)
{
    const struct policy *policy = pair_of(me)->argument;
    char *base = rank_take(me, 2 * post->length);
    memset(base, '#', 2 * post->length);
    *transfer = transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, piece, base, post->length);
    transfer->grain = post->grain;
    transfer->combines = policy->combines;
    transfer->one_way = policy->one_way;
    if (post->run < post->length) {
        piece->run = post->run;
        piece->stride = 2 * post->run;
        piece->times = post->length / post->run;
    }
    char text[TRANSFER_MOST];
    struct cursor cursor;
    cursor_start(&cursor, transfer->from);
    text_write(post->length, 0, text, post->length);
    if (sends)
        cursor_scatter(&cursor, text, post->length);
}

static void message_check(struct rank *me, const struct transfer *transfer)
{
    char text[TRANSFER_MOST];
    struct cursor cursor;
    cursor_start(&cursor, transfer->to);
    cursor_gather(&cursor, text, transfer->length);
    require(me, text_is(transfer->length, text, transfer->length));
    require(me, gaps_are_intact(transfer->to.pieces, 1));
}

/* All bytes went by the expected path. */
static void path_check(struct rank *me, const uint64_t before[PATHS], const uint64_t after[PATHS],
                       const struct post *post, size_t bytes)
{
    const struct policy *policy = pair_of(me)->argument;
    enum path expected = goes_through_slots(policy, post) ? PATH_BCOPY : PATH_ZCOPY;
    if (after[expected] - before[expected] == bytes)
        return;
    char what[300];
    snprintf(what, sizeof(what),
             "%zu bytes in runs of %zu, grain %zu, traffic %d, coreless %u, combines %d, one way "
             "%d, far %d: %zu of %zu bytes went by %s",
             post->length, post->run, post->grain, (int)post->kind, policy->coreless,
             policy->combines, policy->one_way, policy->far,
             (size_t)(after[expected] - before[expected]), bytes, path_names[expected]);
    rank_fail(me, __FILE__, __LINE__, what);
}

static void message_travels(struct rank *me, const struct post *post)
{
    struct transfer transfers[2];
    struct piece pieces[2];
    bool begins = me->number == 0, both = post->kind == BOTH_DIRECTIONS;
    size_t count = post->kind == ONE_DIRECTION ? 1 : 2;
    me->taken = 0;
    /* Receives are posted first: the decision how to send depends on them. */
    for (size_t i = 0; i < count; i++) {
        message_make(me, &transfers[i], &pieces[i], post, both ? i == 1 : begins);
        rank_post(me, !me->number, both ? 0 : (int)i, &transfers[i]);
    }
    struct traffic before = me->endpoint->traffic;
    if (!rank_complete(me, transfers, count))
        return;
    const struct traffic *after = &me->endpoint->traffic;
    if (begins || both)
        path_check(me, before.sent, after->sent, post, both ? post->length : count * post->length);
    if (!begins || both)
        path_check(me, before.received, after->received, post,
                   both ? post->length : count * post->length);
    for (size_t i = 0; i < count; i++) {
        if (transfers[i].kind == TRANSFER_RECV)
            message_check(me, &transfers[i]);
    }
}

static void policy_is_kept(struct rank *me)
{
    static const size_t lengths[] = {4 << 10,        8 << 10,        (8 << 10) + 8,
                                     32 << 10,       (32 << 10) + 8, 64 << 10,
                                     (64 << 10) + 8, 256 << 10,      TRANSFER_MOST};
    const struct policy *policy = pair_of(me)->argument;
    struct shm_peer *peer = ((struct shm_endpoint *)me->endpoint)->peers[!me->number];
    require(me, (peer->distance == SHM_CORELESS) == (policy->coreless != 0));
    require(me, peer->distance >= SHM_NEAR);
    require(me, peer->it_reads && peer->we_read);
    if (policy->coreless == 0)
        peer->distance = policy->far ? SHM_FAR : SHM_NEAR; /* wherever these two run */
    for (int kind = 0; kind < TRAFFIC_KINDS; kind++) {
        struct post post = {.kind = (enum traffic_kind)kind, .grain = SIZE_MAX};
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
            post.length = post.run = lengths[i];
            message_travels(me, &post);
        }
        post.length = 128 << 10; /* few cells, all sent in one go */
        for (post.run = 512; post.run <= 2 << 10; post.run *= 2)
            message_travels(me, &post);
        post.run = post.length;
        for (post.grain = 4 << 10; post.grain <= 8 << 10; post.grain *= 2)
            message_travels(me, &post);
        if (me->world->failed)
            return;
    }
    require(me, pair_meet(me));
}

static void policy_run(const void *state, const struct policy *policy)
{
    struct pair *pair = malloc(sizeof(*pair));
    *pair = (struct pair){.world = world_make(state, 0, 2), .argument = policy};
    pair->world.memory = policy->memory;
    pair->world.coreless = policy->coreless;
    pair->world.lanes = 2;
    pair->world.body = policy_is_kept;
    assert_true(pair_run(pair));
    free(pair);
}

static void test_auto(void **state)
{
    for (const struct memory_kind *const *memory = memory_kinds; *memory && (*memory)->host_reads;
         memory++) {
        for (unsigned bits = 0; bits < 32; bits++) {
            struct policy policy = {.memory = *memory,
                                    .coreless = bits >> 3,
                                    .combines = bits & 1,
                                    .one_way = bits & 2,
                                    .far = bits & 4};
            if (policy.coreless == 0 || !policy.far) /* else they are far in any case */
                policy_run(*state, &policy);
        }
    }
}

/* A far link has a higher latency than a near one, and shared cores are not measured. */
enum { DESCRIBED = 3, NEAR_MOST_NS = 90 };
static void described(struct rank *me)
{
    unsigned coreless = me->world->coreless;
    for (int peer = 0; peer < DESCRIBED; peer++) {
        uint64_t ns = UINT64_MAX;
        if (peer == me->number)
            continue;
        const char *treated = me->world->transport->describe(me->endpoint, peer, &ns);
        bool shared = (coreless >> me->number | coreless >> peer) & 1;
        require(me, shared == (strstr(treated, "cores shared") != NULL));
        require(me, shared == (ns == 0));
        require(me, (ns > 0 && ns <= NEAR_MOST_NS) == (strstr(treated, "near") != NULL));
        require(me, (ns == 0 || ns > NEAR_MOST_NS) == (strstr(treated, "far") != NULL));
    }
}

static void test_described(void **state)
{
    static const unsigned coreless[] = {0, 7, 4, 1};
    for (size_t i = 0; i < sizeof(coreless) / sizeof(coreless[0]); i++) {
        struct world *world = malloc(sizeof(*world));
        *world = world_make(*state, 0, DESCRIBED);
        world->coreless = coreless[i];
        world->body = described;
        assert_true(world_run(world));
        free(world);
    }
}

/* A peer whose message is longer than the receiver's is refused, and no more is written than is
 * expected: whether all of it is in one cell, or a first part, shorter than the receiver's, in a
 * cell of its own. The piece goes on behind the message, so that it takes what comes too much. */
enum { EXPECTED = 24, LONGER = 40, ROOM = 64 };

static void longer_is_sent(struct rank *me, size_t first)
{
    struct channel *channel = me->endpoint->transport->channel(me->endpoint, 1, 0, true);
    struct piece piece;
    char *text = rank_take(me, ROOM);
    struct transfer transfer = transfer_make(me, TRANSFER_SEND, &piece, text, LONGER);
    bool moved = false;
    memset(text, 'a', ROOM);
    if (first == 0) {
        require(me, channel_move(channel, &transfer, &moved) == STATUS_OK && moved);
        return;
    }
    transfer.limit = first;
    channel_post(channel, &transfer);
    while (transfer.done < first && rank_turn(me))
        continue;
    transfer.limit = LONGER;
    rank_complete(me, &transfer, 1);
}

static void longer_is_refused(struct rank *me)
{
    size_t first = atomic_load(&me->world->shared[0]);
    struct channel *channel = me->endpoint->transport->channel(me->endpoint, 0, 0, false);
    struct piece piece;
    if (me->number == 0) {
        longer_is_sent(me, first);
        return;
    }
    char *text = rank_take(me, ROOM);
    struct transfer transfer = transfer_make(me, TRANSFER_RECV, &piece, text, ROOM);
    enum status status = STATUS_OK;
    bool moved = false;
    transfer.length = transfer.limit = EXPECTED;
    memset(text, '#', ROOM);
    while (!moved && status == STATUS_OK && text[EXPECTED] == '#' && clock_seconds() < me->deadline)
        status = channel_move(channel, &transfer, &moved);
    require(me, text[first] == '#' && text[EXPECTED] == '#');
    require(me, status != STATUS_OK && !moved && me->log.failure.peer == 0 &&
                    me->log.failure.reason == REASON_PEER_INVALID);
}

static void test_longer_is_refused(void **state)
{
    for (size_t first = 0; first < EXPECTED; first += 16) {
        struct world *world = malloc(sizeof(*world));
        *world = world_make(*state, 0, 2);
        atomic_store(&world->shared[0], first);
        world->body = longer_is_refused;
        assert_true(world_run(world));
        free(world);
    }
}

/* Rank 0 tells of values in the header of rank 1 that no rank writes, with the name of the other
 * end. */
static void garbage_is_told(struct rank *me)
{
    const struct transport *transport = me->endpoint->transport;
    struct shm_endpoint *endpoint = (struct shm_endpoint *)me->endpoint;
    const int peer = !me->number;
    bool offers = atomic_load(&me->world->shared[0]);
    if (me->number == 1) {
        struct shm_header *header = endpoint->segment->header;
        atomic_store(offers ? &header->connect_slots[peer].offered : &header->closed, 5);
        return;
    }
    enum status status = STATUS_OK;
    struct piece piece;
    struct transfer transfer = transfer_make(me, TRANSFER_RECV, &piece, rank_take(me, 64), 64);
    if (offers) {
        status = transport->connect(me->endpoint, &peer, 1, 2); /* the other end makes no second */
    } else {
        channel_post(transport->channel(me->endpoint, peer, 0, false), &transfer);
        transport->activate(transport->channel(me->endpoint, peer, 0, false));
    }
    while (!offers && status == STATUS_OK && clock_seconds() < me->deadline)
        status = transport->check(me->endpoint);
    require(me, status != STATUS_OK && me->log.failure.reason == REASON_PEER_INVALID &&
                    me->log.failure.peer == peer);
    require(me, strstr(me->log.failure.text, "that no rank writes") != NULL);
}

static void test_garbage_is_told(void **state)
{
    for (int offers = 0; offers < 2; offers++) {
        struct world *world = malloc(sizeof(*world));
        *world = world_make(*state, 0, 2);
        atomic_store(&world->shared[0], (size_t)offers);
        world->body = garbage_is_told;
        assert_true(world_run(world));
        free(world);
    }
}

int main(void)
{
    const struct transport *shm = transport_find("shm");
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_described),
        cmocka_unit_test(test_longer_is_refused),
        cmocka_unit_test(test_garbage_is_told),
    };
    enum { ALL = sizeof(all) / sizeof(all[0]) };
    struct CMUnitTest list[ALL];
    for (int i = 0; i < ALL; i++) {
        list[i] = all[i];
        memcpy(&list[i].initial_state, &shm, sizeof(shm));
        if (shm->unavailable())
            list[i].test_func = test_unavailable;
    }
    return cmocka_run_group_tests_name("shm", list, NULL, NULL);
}

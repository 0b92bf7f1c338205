/*
 * test_protocol.c - two ends of a lane that differ in what they grant, whose numbers wrap, or one
 * of which breaks the protocol; and what a rank says and frees when something fails. Over the
 * provider.
 * tier: deep; load: wait
 */
#include "../transport/world.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider.h"
#include "transports/transports.h"
#include "transports/verbs/internal.h"

static struct verbs_endpoint *verbs_of(const struct rank *me)
{
    return (struct verbs_endpoint *)(void *)me->endpoint;
}

static struct verbs_lane *lane_of(const struct rank *me)
{
    return verbs_of(me)->peers[!me->number].lanes[0];
}

/* Two ranks, which a test may change. */
static struct world *world_of(enum verbs_poll poll, void (*body)(struct rank *))
{
    static struct transport_setting settings[TRANSPORT_OPTIONS_MOST];
    struct world *world = malloc(sizeof(*world));
    assert_non_null(world);
    settings[VERBS_POLL] = (struct transport_setting){.given = true, .number = poll};
    *world = world_make(&transport_verbs, 0, 2);
    world->config.settings = settings;
    world->body = body;
    return world;
}

static void run(struct world *world, const char *provider)
{
    provider_configure(provider);
    assert_true(world_run(world));
    free(world);
}

/* ---- grants ---- */

#define MESSAGES      12
#define MESSAGE_BYTES ((size_t)64 << 10)

/* The NIC of rank 1 has few receives, so rank 1 grants less than rank 0: fewer than it posts
 * together. */
static void few_receives(struct rank *me)
{
    if (me->number == 1)
        verbs_of(me)->rails[0].receives_most = VERBS_RECEIVE_BATCH - 4;
}

/* Rank 1 offers as much as rank 0 grants, before rank 0 takes the first. */
static void many_offers(struct rank *me)
{
    struct transfer transfers[MESSAGES];
    struct piece pieces[MESSAGES];
    char *bytes[MESSAGES];
    const struct verbs_lane *lane = lane_of(me);
    require(me, me->number == 1 || lane->grants.offers >= MESSAGES);
    require(me, me->number == 1 || lane->out.grants.offers < MESSAGES);
    while (me->number == 0 && lane->out.offers_arrived < MESSAGES)
        if (!rank_turn(me))
            return;
    for (int i = 0; i < MESSAGES; i++) {
        bytes[i] = rank_take(me, MESSAGE_BYTES);
        if (me->number == 0)
            text_write((uint64_t)i, 0, bytes[i], MESSAGE_BYTES);
        transfers[i] = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &pieces[i],
                                     bytes[i], MESSAGE_BYTES);
        rank_post(me, !me->number, 0, &transfers[i]);
    }
    if (!rank_complete(me, transfers, MESSAGES))
        return;
    for (int i = 0; i < MESSAGES; i++)
        require(me, text_is((uint64_t)i, bytes[i], MESSAGE_BYTES));
}

static void test_grants(void **state)
{
    (void)state;
    struct world *world = world_of(VERBS_POLL_CQ, many_offers);
    world->before_connect = few_receives;
    world->config.copy = COPY_ZCOPY;
    run(world, "");
}

/* A completion queue has room for all completions, also where a receive queue may be longer. */
static void short_completions(struct rank *me)
{
    const struct verbs_rail *rail = &verbs_of(me)->rails[0];
    require(me, rail->completions <= rail->completions_most);
    rank_try(me, !me->number);
}

static void test_completions(void **state)
{
    (void)state;
    run(world_of(VERBS_POLL_CQ, short_completions), "entries=2048,receives=1048576");
}

/* ---- numbers that wrap ---- */

/* As if 2^32 slots, less a few, had gone over the lane. */
static void nearly_wrapped(struct rank *me)
{
    uint32_t number = UINT32_MAX - 20;
    struct verbs_lane *lane = lane_of(me);
    lane->out.slots_sent = lane->out.slots_credited = lane->out.staging_next = number;
    lane->in.slots_taken = lane->in.slots_returned = lane->in.slots_arrived = number;
    verbs_slot_await(&lane->in);
    pthread_barrier_wait(&me->world->barrier);
}

#define STREAM_BYTES ((size_t)50 * 4096)

static void stream_both_ways(struct rank *me)
{
    struct transfer transfers[2];
    struct piece pieces[2];
    char *to = rank_take(me, STREAM_BYTES), *from = rank_take(me, STREAM_BYTES);
    text_write((uint64_t)me->number, 0, from, STREAM_BYTES);
    transfers[0] = transfer_make(me, TRANSFER_RECV, &pieces[0], to, STREAM_BYTES);
    transfers[1] = transfer_make(me, TRANSFER_SEND, &pieces[1], from, STREAM_BYTES);
    rank_post(me, !me->number, 0, &transfers[0]);
    rank_post(me, !me->number, 0, &transfers[1]);
    if (rank_complete(me, transfers, 2))
        require(me, text_is((uint64_t)!me->number, to, STREAM_BYTES));
}

static void test_wrap(void **state)
{
    (void)state;
    for (int poll = VERBS_POLL_MEMORY; poll <= VERBS_POLL_CQ; poll++)
        for (int slots = 3; slots <= 12; slots += 3) {
            struct world *world = world_of((enum verbs_poll)poll, stream_both_ways);
            world->after_connect = nearly_wrapped;
            world->config.copy = COPY_BCOPY;
            world->config.slots = slots;
            world->config.slot_bytes = 4096;
            run(world, "");
        }
}

/* ---- staging ---- */

#define TURNS       24
#define SHORT_BYTES ((size_t)4096) /* goes through a slot: more than fits inline */
#define LONG_RUNS   ((size_t)100)  /* goes into place, and its pieces are packed: */
#define LONG_RUN    ((size_t)200)
#define LONG_BYTES  (LONG_RUNS * LONG_RUN)

/* Short messages and packed ones take turns: both take staging, and each on queue pairs of its
 * own. */
static void slots_and_packs(struct rank *me)
{
    struct transfer transfers[TURNS];
    struct piece pieces[TURNS];
    enum transfer_kind kind = me->number ? TRANSFER_RECV : TRANSFER_SEND;
    for (int i = 0; i < TURNS; i++) {
        size_t bytes = i % 2 ? LONG_BYTES : SHORT_BYTES;
        char *base = rank_take(me, 2 * bytes);
        transfers[i] = transfer_make(me, kind, &pieces[i], base, bytes);
        if (i % 2 && me->number == 0)
            pieces[i] = (struct piece){
                .base = base, .run = LONG_RUN, .stride = 2 * LONG_RUN, .times = LONG_RUNS};
        rank_post(me, !me->number, 0, &transfers[i]);
    }
    rank_complete(me, transfers, TURNS);
}

static void test_staging(void **state)
{
    (void)state;
    for (int poll = VERBS_POLL_MEMORY; poll <= VERBS_POLL_CQ; poll++)
        for (int qps = 1; qps <= 4; qps++) {
            struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {
                [VERBS_POLL] = {.given = true, .number = poll},
                [VERBS_QPS] = {.given = true, .number = qps}};
            struct world *world = world_of(VERBS_POLL_CQ, slots_and_packs);
            world->config.settings = settings;
            world->config.slots = 4;
            world->config.slot_bytes = 32768;
            run(world, "");
        }
}

/* Requests that are outstanding stall, however many were complete before. */
static void test_stalls(void **state)
{
    (void)state;
    uint64_t many = (uint64_t)1 << 32;
    struct verbs_lane lane = {.pair_count = 1}, *lanes[] = {&lane};
    struct verbs_pair pair = {.lane = &lane, .posted = many + 5, .retired = many + 3};
    struct verbs_peer peer = {.lane_count = 1, .lanes = lanes};
    struct verbs_endpoint endpoint = {.base.config.ranks = 1, .peers = &peer};
    lane.pairs = &pair;
    verbs_stalls_note(&endpoint);
    assert_false(pair.stalled);
    verbs_stalls_note(&endpoint);
    assert_true(pair.stalled);
}

/* ---- a peer that breaks the protocol ---- */

/* Rank 0 sends a slot of no bytes: rank 1 does not wait for ever. */
static void empty_slot(struct rank *me)
{
    struct transfer transfer;
    struct piece piece;
    struct cursor cursor;
    transfer = transfer_make(me, TRANSFER_RECV, &piece, rank_take(me, 100), 100);
    if (me->number == 0) {
        cursor_start(&cursor, transfer.to);
        require(me, verbs_slot_send(&lane_of(me)->out, &cursor, 0) == STATUS_OK);
        while (!me->world->shared[0])
            if (!rank_turn(me))
                return;
        return;
    }
    enum status status = STATUS_OK;
    rank_post(me, 0, 0, &transfer);
    while (status == STATUS_OK && clock_seconds() < me->deadline)
        status = transport_verbs.progress(me->endpoint);
    me->world->shared[0] = 1;
    require(me, status != STATUS_OK);
    require(me, me->log.failure.reason == REASON_PEER_INVALID);
}

static void test_empty_slot(void **state)
{
    (void)state;
    run(world_of(VERBS_POLL_MEMORY, empty_slot), "");
    run(world_of(VERBS_POLL_CQ, empty_slot), "");
}

/* ---- credits ---- */

/* A receiver that has begun a slot writes no credit before its end, whatever is due: the place that
 * was free is for the credit of the slot. */
static void begun_slot(struct rank *me)
{
    struct verbs_receiver *in = &lane_of(me)->in;
    struct transfer transfer;
    struct piece piece;
    transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece,
                             rank_take(me, 1000), 1000);
    transfer.limit = me->number ? 1 : 1000;
    rank_post(me, !me->number, 0, &transfer);
    if (me->number == 0) {
        rank_complete(me, &transfer, 1);
        return;
    }
    while (transfer.done == 0)
        if (!rank_turn(me))
            return;
    uint64_t written = in->credits.written;
    in->segments_returned -= lane_of(me)->grants.segments;
    for (int i = 0; i < 100 && rank_turn(me); i++)
        ;
    require(me, in->left > 0 && in->credits.written == written);
    transfer.limit = transfer.length;
    require(me, rank_complete(me, &transfer, 1));
    require(me, in->credits.written == written + 1);
}

static void test_begun_slot(void **state)
{
    (void)state;
    for (int poll = VERBS_POLL_MEMORY; poll <= VERBS_POLL_CQ; poll++)
        run(world_of(poll, begun_slot), "delay=0");
}

/* ---- failures ---- */

/* How long ago a completion of this peer was good, whatever the NIC does for others. */
static void fails_late(struct rank *me)
{
    struct verbs_pair *pair = &lane_of(me)->pairs[0];
    const struct ibv_wc wc = {.status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x81};
    rank_try(me, !me->number);
    require(me, me->number == 0 || pair->last_success > 0);
    pair->last_success = clock_ns() - 6000000000u;
    require(me, verbs_completion_failed(pair->rail, pair, &wc) != STATUS_OK);
    const char *text = me->log.failure.text;
    require(me, strstr(text, "failed 6."));
    require(me, strstr(text, " s after the last success with status 12 (transport retry"));
    require(me, strstr(text, ", vendor error 0x81)"));
}

static void test_words(void **state)
{
    (void)state;
    run(world_of(VERBS_POLL_CQ, fails_late), "");
}

static enum tick_answer tick_of_ended(void *argument, int peer)
{
    (void)argument, (void)peer;
    return TICK_ENDED;
}

/* From now on what is freed is unmapped, if it has some pages. */
static void heap_exhaust(void)
{
    const char *taken;
    mallopt(M_TOP_PAD, 0);
    mallopt(M_MMAP_THRESHOLD, 16384);
    do
        taken = malloc(16384);
    while (taken && taken < (const char *)sbrk(0));
}

/* The job ends while the driver registers memory: what it uses stays open and mapped. */
static void close_while_registering(const char *provider)
{
    static const unsigned char secret[32];
    static const int self = 1;
    struct tick tick = {.call = tick_of_ended};
    struct transport_config config = {
        .ranks = 2, .local_ranks = 1, .secret = secret, .timeout = 10, .tick = &tick};
    struct endpoint *endpoint;
    char reason[TRANSPORT_REASON_MOST], address[TRANSPORT_ADDRESS_MOST];
    struct log log;
    log_init(&log, 0, 0);
    log_attach(&log);
    heap_exhaust();
    provider_configure(provider);
    if (transport_verbs.open(&config, &endpoint, reason) != STATUS_OK)
        _exit(1);
    size_t size = transport_verbs.address(endpoint, address);
    if (transport_verbs.attach(endpoint, self, address, size))
        _exit(2);
    if (transport_verbs.connect(endpoint, &self, 1, 1) == STATUS_OK)
        _exit(3);
    transport_verbs.close(endpoint);
    while (provider_counts().regions == 0)
        usleep(1000);
    _exit(0);
}

static void test_abandoned(void **state)
{
    (void)state;
    static const char *const providers[] = {"stall=2000", "stall=2000,iwarp=1"};
    for (int i = 0; i < 2; i++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            close_while_registering(providers[i]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* close() ticks behind each call that may take long. */
static _Thread_local unsigned ticked_at; /* provider_destroyed(), at the last tick */
static _Atomic unsigned untold, ticks;   /* the most calls between two ticks; ticks in close() */
static enum tick_answer tick_counted(void *argument, int peer)
{
    unsigned calls = provider_destroyed() - ticked_at, most = untold;
    ticked_at += calls;
    while (calls > most && !atomic_compare_exchange_weak(&untold, &most, calls))
        ;
    ticks++;
    return rank_tick(argument, peer);
}

static void forget_ticks(struct rank *me)
{
    rank_try(me, !me->number);
    pthread_barrier_wait(&me->world->barrier);
    ticked_at = provider_destroyed();
    untold = ticks = 0;
    pthread_barrier_wait(&me->world->barrier);
}

static void test_close(void **state)
{
    (void)state;
    for (int connect = VERBS_CONNECT_EXCHANGE; connect <= VERBS_CONNECT_RDMACM; connect++) {
        struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {
            [VERBS_QPS] = {.given = true, .number = 2},
            [VERBS_CONNECT] = {.given = true, .number = connect}};
        struct world *world = world_of(VERBS_POLL_CQ, forget_ticks);
        world->config.settings = settings;
        world->lanes = 3;
        world->tick = tick_counted;
        run(world, "");
        assert_true(ticks >= 2 * 3 * 2);
        assert_int_equal(untold, 1);
    }
}

/* A neighbour's address that is not found at once is looked up again. */
static void connected(struct rank *me)
{
    rank_try(me, !me->number);
}

static void test_second_try(void **state)
{
    (void)state;
    run(world_of(VERBS_POLL_CQ, connected), "fail=modify_etimedout:3+modify_etimedout:4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grants),     cmocka_unit_test(test_completions),
        cmocka_unit_test(test_wrap),       cmocka_unit_test(test_staging),
        cmocka_unit_test(test_stalls),     cmocka_unit_test(test_empty_slot),
        cmocka_unit_test(test_words),      cmocka_unit_test(test_abandoned),
        cmocka_unit_test(test_close),      cmocka_unit_test(test_second_try),
        cmocka_unit_test(test_begun_slot),
    };
    return cmocka_run_group_tests_name("the protocol of verbs", tests, NULL, NULL);
}

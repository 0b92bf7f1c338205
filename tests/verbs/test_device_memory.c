/*
 * test_device_memory.c - messages between regions that no CPU reads, which stand in for a GPU's
 * (card.h): of all lengths and layouts, by each way in which NICs reach them.
 *
 * An access by a CPU ends the test with a signal. With flush=1 bytes are not seen in the region
 * before it is flushed, so each received prefix is looked at as soon as it is reported.
 * tier: deep; load: cpu1
 */
#include "../transport/world.h"

#include "card.h"
#include "dataplane/memory/memory.h"
#include "options.h"
#include "provider.h"
#include "transports/transports.h"

/* Runs and the gaps between them; run 0: all in one. */
static const struct spacing {
    size_t run, gap;
} spacings[] = {{0, 0}, {1, 2}, {7, 9}, {100, 28}, {511, 1}, {600, 100}, {5000, 3192}};
#define SPACINGS (sizeof spacings / sizeof *spacings)

static const size_t lengths[] = {1,    2,     3,     8,     63,      64,     512,
                                 4095, 16384, 16385, 65537, 1048583, 3500000};
#define LENGTHS (sizeof lengths / sizeof *lengths)

struct mode {
    const char *provider;
    const char *options[3];
    const struct memory_kind *memory; /* NULL: the card */
    const struct memory_kind *second; /* NULL: there is no second region */
    enum copy_policy copy;
    int lanes;   /* 0: 1 */
    size_t step; /* 0: limits are open from the start; else they move by less than so much */
};

/* A delivery, or what this rank receives of one. */
struct delivery {
    struct transfer transfer;
    struct piece pieces[2];
    uint64_t text;
    size_t seen; /* receiving: bytes that were found right */
};

static void delivery_lay(struct rank *me, struct delivery *delivery, enum transfer_kind kind,
                         size_t length, const struct spacing *spacing)
{
    size_t run = spacing->run > 0 && spacing->run < length ? spacing->run : length;
    size_t stride = run + spacing->gap, times = length / run, rest = length % run;
    char *base = rank_take(me, (times + 1) * stride);
    memset(card_view(base), '#', (times + 1) * stride);
    delivery->transfer = transfer_make(me, kind, &delivery->pieces[0], base, length);
    delivery->pieces[0] =
        (struct piece){.base = base, .run = run, .stride = stride, .times = times};
    delivery->pieces[1] = (struct piece){
        .base = base + times * stride, .run = rest, .stride = stride, .times = rest > 0};
    struct layout layout = {.pieces = delivery->pieces, .count = rest > 0 ? 2 : 1};
    delivery->transfer.from = delivery->transfer.to = layout;
}

/* Writes the text into bytes [from, to) of the delivery, or finds it there. */
static bool delivery_walk(const struct delivery *delivery, size_t from, size_t to, bool writes)
{
    static _Thread_local char expected[4 << 20];
    size_t at = 0;
    for (size_t p = 0; p < delivery->transfer.to.count; p++) {
        const struct piece *piece = &delivery->pieces[p];
        char *view = card_view(piece->base);
        for (size_t i = 0; i < piece->times; i++, at += piece->run, view += piece->stride) {
            size_t begin = from > at ? from - at : 0;
            size_t end = to < at + piece->run ? to - (to > at ? at : to) : piece->run;
            if (begin >= end)
                continue;
            text_write(delivery->text, at + begin, writes ? view + begin : expected, end - begin);
            if (!writes && memcmp(view + begin, expected, end - begin) != 0)
                return false;
        }
    }
    return true;
}

static bool delivery_gaps_are_intact(const struct delivery *delivery)
{
    struct piece views[2];
    for (int i = 0; i < 2; i++) {
        views[i] = delivery->pieces[i];
        views[i].base = card_view(views[i].base);
    }
    return gaps_are_intact(views, delivery->transfer.to.count);
}

static size_t mode_step; /* of the mode that runs */

static void delivery_raise(struct rank *me, struct delivery *delivery)
{
    struct transfer *transfer = &delivery->transfer;
    size_t left = transfer->length - transfer->limit, more = random_below(&me->random, mode_step);
    transfer->limit += more < left ? more : left;
}

static void delivery_post(struct rank *me, struct delivery *delivery, int lane)
{
    if (mode_step > 0)
        delivery->transfer.limit = 0;
    rank_post(me, !me->number, lane, &delivery->transfer);
}

/* Both ranks send and receive one. */
static bool exchange(struct rank *me, size_t length, const struct spacing *from,
                     const struct spacing *to)
{
    static uint64_t texts[2];
    struct delivery out = {.text = 2 * texts[me->number] + (uint64_t)me->number};
    struct delivery in = {.text = 2 * texts[me->number]++ + (uint64_t)!me->number};
    int lane = (int)(out.text / 2 % (uint64_t)me->world->lanes);
    me->taken = 0;
    delivery_lay(me, &out, TRANSFER_SEND, length, from);
    delivery_lay(me, &in, TRANSFER_RECV, length, to);
    delivery_walk(&out, 0, length, true);
    delivery_post(me, &in, lane);
    delivery_post(me, &out, lane);
    while (out.transfer.done < length || in.seen < length) {
        if (mode_step > 0) {
            delivery_raise(me, &out);
            delivery_raise(me, &in);
        }
        if (!rank_turn(me))
            return false;
        bool right = delivery_walk(&in, in.seen, in.transfer.done, false);
        in.seen = in.transfer.done;
        if (!right) {
            rank_fail(me, __FILE__, __LINE__, "what was reported has not arrived");
            return false;
        }
    }
    return delivery_gaps_are_intact(&in);
}

/* All layouts at both ends of short messages; long ones take turns, without runs that are short. */
static void all_messages(struct rank *me)
{
    for (size_t i = 0; i < LENGTHS; i++)
        for (size_t from = 0; from < SPACINGS; from++)
            for (size_t to = 0; to < SPACINGS; to++) {
                bool small = lengths[i] <= 4096;
                bool tiny = (spacings[to].run > 0 && spacings[to].run < 500) ||
                            (spacings[from].run > 0 && spacings[from].run < 100);
                if (!small && (tiny || (from + to + i) % 3 != 0))
                    continue;
                require(me, exchange(me, lengths[i], &spacings[from], &spacings[to]));
            }
    const struct traffic *traffic = &me->endpoint->traffic;
    require(me, traffic->copied_sending == 0 && traffic->copied_receiving == 0);
    require(me, traffic->sent[PATH_BCOPY] == 0 && traffic->received[PATH_BCOPY] == 0);
}

static struct world *world_of(const struct mode *mode, struct transport_setting *settings)
{
    struct world *world = malloc(sizeof *world);
    provider_configure(mode->provider);
    for (int i = 0; i < 3 && mode->options[i]; i++)
        option_set(settings, mode->options[i]);
    *world = world_make(&transport_verbs, 0, 2);
    world->config.copy = mode->copy;
    world->config.settings = settings;
    world->memory = mode->memory ? mode->memory : &memory_card;
    world->second = mode->second;
    world->lanes = mode->lanes > 0 ? mode->lanes : 1;
    world->bytes = 16 * MIB;
    world->grain = SIZE_MAX;
    mode_step = mode->step;
    return world;
}

static void run_mode(const struct mode *mode, void (*body)(struct rank *))
{
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST] = {{0}};
    struct world *world = world_of(mode, settings);
    world->body = body;
    assert_true(world_run(world));
    free(world);
    provider_check();
}

/* Rank 0 of two has host memory, and rank 1 a card. */
static enum status mixed_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    static _Atomic unsigned turn;
    return (turn++ % 2 ? &memory_card : memory_kinds[0])->allocate(bytes, tick, region);
}

static void mixed_release(struct region *region)
{
    region->kind->release(region);
}

static const struct memory_kind memory_mixed = {
    .name = "host and card", .allocate = mixed_allocate, .release = mixed_release};

static void modes_run(const struct mode *modes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = card_flushes();
        run_mode(&modes[i], all_messages);
        assert_true(card_flushes() > before);
    }
}

static void test_ways(void **state)
{
    static const struct mode modes[] = {
        {.provider = "order=1,flush=1"},
        {.provider = "order=0,overlap=4,flush=1", .options = {"poll=cq"}, .lanes = 2},
        {.provider = "order=1,flush=1,sges=1,inline=128",
         .options = {"poll=memory"},
         .copy = COPY_ZCOPY},
        {.provider = "dmabuf=0,peermem=1,flush=1"},
        {.provider = "order=0,peermem=1,flush=1", .options = {"gdr=peermem"}, .copy = COPY_ZCOPY},
        {.provider = "iwarp=1,flush=1"},
        {.provider = "link=ib,flush=1", .memory = &memory_mixed},
    };
    (void)state;
    modes_run(modes, sizeof modes / sizeof *modes);
}

static void test_rails(void **state)
{
    static const struct mode modes[] = {
        {.provider = "devices=2,flush=1",
         .options = {"nic=strict0+strict1", "poll=memory", "qps=2"},
         .copy = COPY_ZCOPY,
         .lanes = 2},
        {.provider = "devices=2,flush=1,order=0",
         .options = {"nic=strict0+strict1", "poll=cq"},
         .lanes = 2},
    };
    (void)state;
    modes_run(modes, sizeof modes / sizeof *modes);
}

static void test_creeping_limits(void **state)
{
    static const struct mode modes[] = {
        {.provider = "order=0,flush=1", .step = 40000},
        {.provider = "order=1,flush=1,devices=2",
         .options = {"nic=strict0+strict1", "poll=cq"},
         .lanes = 2,
         .step = 9000},
    };
    (void)state;
    modes_run(modes, sizeof modes / sizeof *modes);
}

/* ---- combining ---- */

static void delivery_combine(struct delivery *delivery, char *host)
{
    delivery->transfer.kind = TRANSFER_RECV_REDUCE;
    delivery->transfer.reduce = reduce_kernel(datatype_find("uint8"), reduction_find("sum"));
    delivery->transfer.with = delivery->transfer.to;
    if (host)
        delivery->pieces[0].base = host;
}

/* Beside a card, host memory is combined as ever: the start barrier's is. */
static void combine_in_host_memory(struct rank *me)
{
    char *host = me->regions[1].base;
    for (size_t length = 1; length < 100000; length = length * 5 + 1) {
        struct delivery out = {0}, in = {0};
        me->taken = 0;
        delivery_lay(me, &out, TRANSFER_SEND, length, &spacings[0]);
        delivery_lay(me, &in, TRANSFER_RECV, length, &spacings[0]);
        out.pieces[0].base = host + MIB;
        delivery_combine(&in, host);
        memset(host, 1, length);
        memset(host + MIB, 2, length);
        rank_post(me, !me->number, 0, &in.transfer);
        rank_post(me, !me->number, 0, &out.transfer);
        require(me, rank_complete(me, &in.transfer, 1) && rank_complete(me, &out.transfer, 1));
        for (size_t i = 0; i < length; i++)
            require(me, host[i] == 3);
    }
    for (size_t i = 0; i < LENGTHS; i++)
        require(me, exchange(me, lengths[i], &spacings[0], &spacings[0]));
}

static void test_second_region(void **state)
{
    const struct mode mode = {.provider = "order=0,flush=1", .second = memory_kinds[0]};
    (void)state;
    run_mode(&mode, combine_in_host_memory);
}

/* ---- what must not be asked for ---- */

/* Rank 1 fails with `says`; rank 0 has nothing to say. */
static void fail_alone(struct rank *me, struct delivery *delivery, const char *says)
{
    const struct transport *transport = me->endpoint->transport;
    _Atomic size_t *over = &me->world->shared[0];
    enum status status = STATUS_OK;
    for (int sends = 0; sends < 2; sends++)
        require(me, transport->eager_most(
                        transport->channel(me->endpoint, !me->number, 0, sends)) == 0);
    if (delivery->transfer.length > 0)
        rank_post(me, !me->number, 0, &delivery->transfer);
    while (!*over && status == STATUS_OK && clock_seconds() < me->deadline) {
        status = transport->progress(me->endpoint);
        sched_yield();
    }
    if (me->number == 1) {
        require(me, status == STATUS_ERROR);
        require(me, strstr(me->log.failure.text, says) != NULL);
        *over = 1;
    }
    require(me, *over && (me->number == 1 || status == STATUS_OK));
}

static void combine_in_card(struct rank *me)
{
    struct delivery delivery = {0};
    if (me->number == 1) {
        delivery_lay(me, &delivery, TRANSFER_RECV, 100, &spacings[0]);
        delivery_combine(&delivery, NULL);
    }
    fail_alone(me, &delivery,
               "a message from rank 0 lies in card memory, which a CPU cannot combine");
}

static void send_unreached(struct rank *me)
{
    struct delivery delivery = {0};
    if (me->number == 1)
        delivery_lay(me, &delivery, TRANSFER_SEND, 8, &spacings[0]);
    fail_alone(me, &delivery, "a message to rank 0 lies in card memory, which a CPU cannot copy");
}

static void receive_length(struct rank *me, size_t length)
{
    struct delivery delivery = {0};
    if (me->number == 1)
        delivery_lay(me, &delivery, TRANSFER_RECV, length, &spacings[0]);
    fail_alone(me, &delivery, "a message from rank 0 lies in card memory, which a CPU cannot copy");
}

static void receive_unreached(struct rank *me)
{
    receive_length(me, 8);
}

static void receive_unreached_by_zcopy(struct rank *me)
{
    receive_length(me, 80000);
}

static void test_faults(void **state)
{
    static const struct mode direct = {.provider = "order=1"};
    static const struct mode staged = {.provider = "order=1", .options = {"gdr=staged"}};
    (void)state;
    run_mode(&direct, combine_in_card);
    run_mode(&staged, combine_in_card);
    run_mode(&staged, send_unreached);
    run_mode(&staged, receive_unreached);
    run_mode(&staged, receive_unreached_by_zcopy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),
        cmocka_unit_test(test_rails),
        cmocka_unit_test(test_creeping_limits),
        cmocka_unit_test(test_second_region),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

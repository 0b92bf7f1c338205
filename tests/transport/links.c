/*
 * links.c - the choice of a transport for each pair of ranks. Data of other ranks is checked before
 * it is used. A transport that refuses is passed over, with its reason, or ends the job.
 * tier: check; load: cpu1
 */
#include "dataplane/transport/transport.h"

#include <pthread.h>
#include <string.h>

#include "world.h"

/* The invalid data that the other rank sends. */
enum spoil {
    SPOIL_OFFER_COUNT,
    SPOIL_OFFER_KIND,
    SPOIL_OFFER_SIZE,
    SPOIL_OFFER_SHORT,
    SPOIL_WISHES,
    SPOIL_LANES,
    SPOIL_LANES_NEGATIVE,
    SPOIL_NOTHING,
    SPOILS
};

static bool decode(struct links *links, const struct bytes *share, size_t size,
                   bool (*function)(struct links *, int, struct reader *))
{
    struct reader reader = {.at = share->data, .left = size};
    return function(links, 1, &reader) && !reader.bad && reader.left == 0;
}

/* The other rank has the same transports at the same addresses. */
static bool offers_accepted(struct links *links, enum spoil spoil)
{
    struct bytes share = {0};
    links_encode_offers(links, &share);
    unsigned char *lanes = share.data, *wishes = lanes + 4, *count = wishes + 4, *kind = count + 4,
                  *offer_size = kind + 4;
    size_t size = share.size - (spoil == SPOIL_OFFER_SHORT);
    if (spoil == SPOIL_OFFER_COUNT)
        *count = 200;
    else if (spoil == SPOIL_OFFER_KIND)
        *kind = 0;
    else if (spoil == SPOIL_OFFER_SIZE)
        offer_size[1] = 255;
    else if (spoil == SPOIL_WISHES)
        *wishes = 4;
    else if (spoil == SPOIL_LANES)
        lanes[3] = 1;
    else if (spoil == SPOIL_LANES_NEGATIVE)
        memset(lanes, 255, 4);
    bool accepted = decode(links, &share, size, links_decode_offers);
    bytes_free(&share);
    return accepted;
}

static void test_invalid_data(void **state)
{
    (void)state;
    const struct transport_choice allowed[] = {{.transport = transport_find("tcp")}, {0}};
    const struct transport_config config = {
        .ranks = 2, .local_ranks = 2, .secret = world_secret, .timeout = 1};
    for (enum spoil spoil = 0; spoil < SPOILS; spoil++) {
        struct links *links = NULL;
        assert_int_equal(links_open(allowed, &config, &links), STATUS_OK);
        assert_int_equal(offers_accepted(links, spoil), spoil == SPOIL_NOTHING);
        links_close(links);
    }
}

/* A transport that does not reach the memory of this rank's buffers is passed over, or refuses. */
static void test_unreached_memory(void **state)
{
    (void)state;
    static const struct memory_kind card = {.name = "card"};
    static const struct region regions[] = {{.kind = &card}, {.kind = &card, .bytes = 1}};
    struct transport_choice allowed[] = {{.transport = transport_find("tcp")}, {0}};
    struct transport_config config = {.ranks = 2,
                                      .local_ranks = 2,
                                      .regions = regions,
                                      .region_count = 2,
                                      .secret = world_secret,
                                      .timeout = 1};
    for (int named = 0; named < 2; named++) {
        struct links *links = NULL;
        struct log log;
        log_init(&log, 0, 0);
        log_attach(&log);
        allowed[0].named = named;
        assert_int_equal(links_open(allowed, &config, &links),
                         named ? STATUS_UNAVAILABLE : STATUS_OK);
        assert_string_equal(
            log.failure.text,
            named ? "transport tcp cannot be used here: it does not reach card memory" : "");
        links_close(links);
        log_attach(NULL);
    }
    config.region_count = 1; /* without bytes, it lies nowhere */
    struct links *links = NULL;
    allowed[0].named = true;
    assert_int_equal(links_open(allowed, &config, &links), STATUS_OK);
    links_close(links);
}

/* A rank that allows another number of transports is not reached; the sentence names both. */
static void test_other_transports(void **state)
{
    (void)state;
    static const struct member members[2] = {{.host = "here"}, {.host = "there"}};
    const struct transport_choice allowed[] = {{.transport = transport_find("tcp")}, {0}};
    const struct transport_config config = {
        .ranks = 2, .local_ranks = 2, .secret = world_secret, .timeout = 1};
    const unsigned char wishes[] = {0, LINKS_WISHED};
    struct links *links = NULL;
    struct bytes share = {0};
    struct log log;
    log_init(&log, 0, 0);
    log_attach(&log);
    assert_int_equal(links_open(allowed, &config, &links), STATUS_OK);
    links_wish(links, wishes, 1);
    bytes_put_u32(&share, 1);            /* lanes */
    bytes_put_u32(&share, LINKS_WISHED); /* by any rank */
    bytes_put_u32(&share, 0);            /* offers */
    assert_true(decode(links, &share, share.size, links_decode_offers));
    bytes_free(&share);
    links_attach(links);
    assert_int_equal(links_choose(links, members), STATUS_UNAVAILABLE);
    assert_non_null(strstr(log.failure.text, "rank 0 on here and rank 1 on there"));
    assert_non_null(strstr(log.failure.text, "tcp: it allows other transports"));
    links_close(links);
    log_attach(NULL);
}

/* ---- three ranks, and a transport that some of them cannot use ---- */

#define TRIO 3

/* The endings of choosy transports, by rank: a bit for each. They move data as another one does. */
static struct {
    const struct transport *real;
    unsigned absent;     /* unavailable(); of all ranks */
    bool present;        /* its devices are there even so */
    unsigned refusing;   /* open() */
    unsigned unattached; /* attach() to rank 0 */
    bool stages;         /* no transport reaches the memory of any rank */
    struct transport_setting seen[TRIO];
} choosy;

static const char *choosy_unavailable(void)
{
    return choosy.absent ? "its library is missing" : NULL;
}

static bool choosy_present(void)
{
    return choosy.present;
}

static enum status choosy_open(const struct transport_config *config, struct endpoint **endpoint,
                               char *reason)
{
    choosy.seen[config->rank] = config->settings[1];
    if (!(choosy.refusing >> config->rank & 1))
        return choosy.real->open(config, endpoint, reason);
    snprintf(reason, TRANSPORT_REASON_MOST, "port %d is down", config->rank < 2 ? 1 : 2);
    return STATUS_UNAVAILABLE;
}

static const char *choosy_attach(struct endpoint *endpoint, int peer, const void *blob, size_t size)
{
    if (peer == 0 && choosy.unattached >> endpoint->config.rank & 1)
        return "no route";
    return choosy.real->attach(endpoint, peer, blob, size);
}

struct trio {
    struct transport preferred;
    struct transport_choice allowed[3];
    struct member members[TRIO];
    struct links *links[TRIO];
    enum status opened[TRIO], connected[TRIO];
    struct log log[TRIO];
    struct fallbacks fallbacks; /* of all ranks, as rank 0 adds them up */
    pthread_t thread[TRIO];
};

struct trio_rank {
    struct trio *trio;
    int rank;
};

static void *trio_connect(void *argument)
{
    const struct trio_rank *rank = argument;
    struct trio *trio = rank->trio;
    log_attach(&trio->log[rank->rank]);
    struct links *links = trio->links[rank->rank];
    enum status status = links_choose(links, trio->members);
    trio->connected[rank->rank] =
        status == STATUS_OK ? links_connect(links, trio->members) : status;
    log_attach(NULL);
    return NULL;
}

static void trio_open(struct trio *trio)
{
    static const struct memory_kind card = {.name = "card"};
    static const struct region far = {.kind = &card, .bytes = 1, .fd = -1}, none = {.fd = -1};
    for (int r = 0; r < TRIO; r++) {
        const struct transport_config config = {.rank = r,
                                                .stages = choosy.stages,
                                                .ranks = TRIO,
                                                .local_ranks = TRIO,
                                                .regions = choosy.stages ? &far : &none,
                                                .region_count = 1,
                                                .secret = world_secret,
                                                .timeout = 5};
        log_init(&trio->log[r], r, 0);
        log_attach(&trio->log[r]);
        trio->opened[r] = links_open(trio->allowed, &config, &trio->links[r]);
    }
    log_attach(NULL);
}

/* Hands the offers of all ranks to all ranks; each wishes for the two others. */
static void trio_offer(struct trio *trio)
{
    for (int r = 0; r < TRIO; r++) {
        unsigned char wishes[TRIO] = {LINKS_WISHED, LINKS_WISHED, LINKS_WISHED};
        wishes[r] = 0;
        links_wish(trio->links[r], wishes, 1);
    }
    for (int r = 0; r < TRIO; r++) {
        struct bytes share = {0};
        links_encode_offers(trio->links[r], &share);
        for (int to = 0; to < TRIO; to++) {
            struct reader reader = {.at = share.data, .left = share.size};
            assert_true(links_decode_offers(trio->links[to], r, &reader));
        }
        bytes_free(&share);
    }
}

/* Tells each rank which transports reach it from the two others. */
static void trio_reach(struct trio *trio)
{
    int peers[TRIO][TRIO];
    unsigned char here[TRIO][TRIO], back[TRIO - 1];
    for (int r = 0; r < TRIO; r++) {
        links_attach(trio->links[r]);
        assert_int_equal(links_encode_reach(trio->links[r], peers[r], here[r]), TRIO - 1);
    }
    for (int r = 0; r < TRIO; r++) {
        for (int i = 0; i < TRIO - 1; i++) {
            int peer = peers[r][i];
            back[i] = here[peer][peers[peer][0] == r ? 0 : 1];
        }
        links_decode_reach(trio->links[r], peers[r], TRIO - 1, back);
    }
}

static void trio_run(struct trio *trio)
{
    struct trio_rank ranks[TRIO];
    trio_open(trio);
    for (int r = 0; r < TRIO; r++)
        assert_int_equal(trio->opened[r], STATUS_OK);
    trio_offer(trio);
    trio_reach(trio);
    for (int r = 0; r < TRIO; r++) {
        ranks[r] = (struct trio_rank){trio, r};
        pthread_create(&trio->thread[r], NULL, trio_connect, &ranks[r]);
    }
    for (int r = 0; r < TRIO; r++)
        pthread_join(trio->thread[r], NULL);
    for (int r = 0; r < TRIO; r++) {
        struct bytes share = {0};
        assert_int_equal(trio->connected[r], STATUS_OK);
        fallbacks_encode(links_fallbacks(trio->links[r]), &share);
        struct reader reader = {.at = share.data, .left = share.size};
        assert_true(fallbacks_decode(&trio->fallbacks, TRIO, &reader));
        assert_int_equal(reader.left, 0);
        bytes_free(&share);
    }
}

static void trio_close(struct trio *trio)
{
    for (int r = 0; r < TRIO; r++)
        links_close(trio->links[r]);
    choosy.absent = choosy.refusing = choosy.unattached = 0;
}

/* A choosy one that moves data as `real` does, in front of `next`. `nodes`: how many there are. */
static struct trio trio_of(const char *real, const char *next, int nodes)
{
    struct trio trio = {.preferred = *transport_find(real)};
    static const struct transport_option options[] = {{.name = "a"}, {.name = "b"}, {.name = NULL}};
    choosy.real = transport_find(real);
    trio.preferred.name = "choosy";
    trio.preferred.local = false;
    trio.preferred.options = options;
    trio.preferred.unavailable = choosy_unavailable;
    trio.preferred.present = choosy_present;
    trio.preferred.open = choosy_open;
    trio.preferred.attach = choosy_attach;
    trio.allowed[0].settings[1] = (struct transport_setting){.given = true, .number = 7};
    trio.allowed[1].transport = transport_find(next);
    for (int r = 0; r < TRIO; r++) {
        trio.members[r] = (struct member){.rank = r, .node = r % nodes};
        snprintf(trio.members[r].host, sizeof trio.members[r].host, "n%d", r % nodes);
    }
    return trio;
}

static void assert_served(const struct trio *trio, int low, int high, const char *name)
{
    assert_string_equal(links_transport(trio->links[low], high)->name, name);
    assert_string_equal(links_transport(trio->links[high], low)->name, name);
    assert_non_null(links_channel(trio->links[low], high, 0, true));
}

static void assert_told(const struct trio *trio, int index, const char *wanted)
{
    char text[FALLBACK_TEXT_MOST];
    assert_true(index < trio->fallbacks.count);
    assert_string_equal(fallback_text(&trio->fallbacks.list[index], trio->members, text), wanted);
}

static const char *const reals[] = {"tcp", "shm"};

/* Rank 1 cannot use it, the others can. */
static void test_one_refuses(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct trio trio = trio_of(reals[i], "tcp", 2);
        trio.allowed[0].transport = &trio.preferred;
        choosy.refusing = 1 << 1;
        trio_run(&trio);
        assert_served(&trio, 0, 2, "choosy");
        assert_served(&trio, 0, 1, "tcp");
        assert_served(&trio, 1, 2, "tcp");
        assert_int_equal(trio.fallbacks.count, 1);
        assert_int_equal(trio.fallbacks.list[0].cause, FALLBACK_REFUSED);
        assert_told(&trio, 0,
                    "2 pairs of ranks run over tcp, such as ranks 0 (n0) and 1 (n1), "
                    "because choosy cannot be used on rank 1: port 1 is down");
        trio_close(&trio);
    }
}

static void test_all_refuse(void **state)
{
    (void)state;
    struct trio trio = trio_of("tcp", "tcp", 3);
    trio.allowed[0].transport = &trio.preferred;
    choosy.refusing = 7;
    trio_run(&trio);
    assert_int_equal(trio.fallbacks.count, 1); /* the reason of rank 2 is never the first */
    assert_told(&trio, 0,
                "3 pairs of ranks run over tcp, such as ranks 0 (n0) and 1 (n1), "
                "because choosy cannot be used on rank 0 and others: port 1 is down");
    trio_close(&trio);
}

/* With devices and no library, it is a fault. */
static void test_absent(void **state)
{
    (void)state;
    for (int present = 0; present < 2; present++) {
        struct trio trio = trio_of("tcp", "tcp", 1);
        trio.allowed[0].transport = &trio.preferred;
        choosy.absent = 1;
        choosy.present = present;
        trio_run(&trio);
        assert_int_equal(trio.fallbacks.count, 1);
        assert_int_equal(trio.fallbacks.list[0].cause,
                         present ? FALLBACK_REFUSED : FALLBACK_ABSENT);
        assert_int_equal(trio.fallbacks.list[0].pairs, 3);
        trio_close(&trio);
    }
}

/* Only one end knows that it does not reach the other. */
static void test_one_way(void **state)
{
    (void)state;
    struct trio trio = trio_of("tcp", "tcp", 3);
    trio.allowed[0].transport = &trio.preferred;
    choosy.unattached = 1 << 2;
    trio_run(&trio);
    assert_served(&trio, 0, 1, "choosy");
    assert_served(&trio, 0, 2, "tcp");
    assert_int_equal(trio.fallbacks.count, 1);
    assert_told(&trio, 0,
                "ranks 0 (n0) and 2 (n2) run over tcp, because choosy does not connect "
                "them: no route");
    trio_close(&trio);
}

/* A pair that shm serves is served as well as can be. A transport that only serves a host is not
 * missed between hosts. */
static void test_local(void **state)
{
    (void)state;
    struct trio trio = trio_of("tcp", "shm", 1);
    trio.allowed[0].transport = &trio.preferred;
    choosy.refusing = 7;
    trio_run(&trio);
    assert_served(&trio, 0, 1, "shm");
    assert_int_equal(trio.fallbacks.count, 0);
    trio_close(&trio);
    for (int nodes = 1; nodes <= 3; nodes += 2) {
        trio = trio_of("shm", "tcp", nodes);
        trio.preferred.local = true;
        trio.allowed[0].transport = &trio.preferred;
        choosy.unattached = 7;
        trio_run(&trio);
        assert_served(&trio, 0, 1, "tcp");
        assert_int_equal(trio.fallbacks.count, nodes == 1);
        trio_close(&trio);
    }
}

/* But where it stages, the reason is told, and the links say so. */
static void test_staged(void **state)
{
    (void)state;
    for (int stages = 0; stages < 2; stages++) {
        struct trio trio = trio_of("tcp", "shm", 1);
        trio.allowed[0].transport = &trio.preferred;
        choosy.refusing = 7;
        choosy.stages = stages;
        trio_run(&trio);
        assert_served(&trio, 0, 1, "shm");
        assert_int_equal(links_stages(trio.links[0], 1), stages);
        assert_int_equal(trio.fallbacks.count, stages);
        if (stages)
            assert_told(&trio, 0,
                        "3 pairs of ranks run over shm, such as ranks 0 (n0) and 1 (n0), because "
                        "choosy cannot be used on rank 0 and others: port 1 is down");
        trio_close(&trio);
    }
}

/* It ends the job if the user named it. */
static void test_named(void **state)
{
    (void)state;
    for (int absent = 0; absent < 2; absent++) {
        struct trio trio = trio_of("tcp", "tcp", 1);
        trio.allowed[0].transport = &trio.preferred;
        trio.allowed[0].named = trio.allowed[1].named = true;
        choosy.refusing = 1 << 2;
        choosy.absent = (unsigned)absent;
        trio_open(&trio);
        for (int r = 0; r < TRIO; r++) {
            bool refuses = absent || r == 2;
            assert_int_equal(trio.opened[r], refuses ? STATUS_UNAVAILABLE : STATUS_OK);
            assert_int_equal(trio.log[r].failure.status, trio.opened[r]);
        }
        assert_string_equal(trio.log[2].failure.text,
                            absent ? "transport choosy cannot be used here: its library is "
                                     "missing"
                                   : "transport choosy cannot be used here: port 2 is down");
        trio_close(&trio);
    }
}

/* Each endpoint has the settings of its transport. */
static void test_settings(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct trio trio = trio_of(reals[i], "tcp", 1);
        trio.allowed[0].transport = &trio.preferred;
        trio_run(&trio);
        for (int r = 0; r < TRIO; r++) {
            const struct endpoint *endpoint = links_endpoint(trio.links[r], 0);
            assert_true(choosy.seen[r].given);
            assert_int_equal(choosy.seen[r].number, 7);
            assert_false(endpoint->config.settings[0].given);
            assert_int_equal(endpoint->config.settings[1].number, 7);
        }
        assert_int_equal(trio.fallbacks.count, 0);
        trio_close(&trio);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_data), cmocka_unit_test(test_other_transports),
        cmocka_unit_test(test_one_refuses),  cmocka_unit_test(test_all_refuse),
        cmocka_unit_test(test_absent),       cmocka_unit_test(test_one_way),
        cmocka_unit_test(test_local),        cmocka_unit_test(test_named),
        cmocka_unit_test(test_settings),     cmocka_unit_test(test_unreached_memory),
        cmocka_unit_test(test_staged)};
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}

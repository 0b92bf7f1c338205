/*
 * test_links_exchange.c - transports that exchange with their peers while they connect, over the
 * control plane: all ranks take part in the same exchanges, whatever they have to connect.
 * tier: check; load: cpu1
 */
#include "tests/unit/jobs.h"

#include "dataplane/transport/transport.h"

#define RANKS_MOST 7
enum { NEAR, FAR, LONELY, FAKES };

/* The deeds of each rank. */
static struct deeds {
    int exchanges;        /* in which it took part, for any transport */
    int connects[FAKES];  /* calls of connect(), */
    int connected[FAKES]; /* and the peers in them */
} deeds[RANKS_MOST];

/* The message that two peers send each other. */
struct greeting {
    int from, to, fake, lanes;
};

static const struct transport fakes[FAKES];

static int fake_number(const struct endpoint *endpoint)
{
    return (int)(endpoint->transport - fakes);
}

static enum status fake_open(const struct transport *transport,
                             const struct transport_config *config, struct endpoint **endpoint)
{
    *endpoint = calloc(1, sizeof **endpoint);
    assert_non_null(*endpoint);
    (*endpoint)->transport = transport;
    (*endpoint)->config = *config;
    return STATUS_OK;
}

/* Rank 1 has none. */
static enum status near_open(const struct transport_config *config, struct endpoint **endpoint,
                             char *reason)
{
    strcpy(reason, "rank 1 has none");
    return config->rank == 1 ? STATUS_UNAVAILABLE : fake_open(&fakes[NEAR], config, endpoint);
}

static enum status far_open(const struct transport_config *config, struct endpoint **endpoint,
                            char *reason)
{
    (void)reason;
    return fake_open(&fakes[FAR], config, endpoint);
}

/* Only rank 0 has one. */
static enum status lonely_open(const struct transport_config *config, struct endpoint **endpoint,
                               char *reason)
{
    strcpy(reason, "only rank 0 has it");
    return config->rank != 0 ? STATUS_UNAVAILABLE : fake_open(&fakes[LONELY], config, endpoint);
}

static size_t fake_address(struct endpoint *endpoint, void *blob)
{
    (void)endpoint;
    memcpy(blob, "here", 4);
    return 4;
}

/* Every other rank is near: in a ring of an odd number, the first and the last. */
static const char *fake_attach(struct endpoint *endpoint, int peer, const void *blob, size_t size)
{
    if (size != 4 || memcmp(blob, "here", 4) != 0)
        return "its address is another one";
    bool reaches = fake_number(endpoint) == FAR || (endpoint->config.rank - peer) % 2 == 0;
    return reaches ? NULL : "it is not near";
}

static enum status fake_connect(struct endpoint *endpoint, const int *peers, int count, int lanes)
{
    struct greeting mine[RANKS_MOST] = {0}, theirs[RANKS_MOST];
    const struct transport_config *config = &endpoint->config;
    int fake = fake_number(endpoint);
    deeds[config->rank].connects[fake]++;
    deeds[config->rank].connected[fake] += count;
    for (int i = 0; i < count; i++)
        mine[i] = (struct greeting){config->rank, peers[i], fake, lanes};
    enum status status = config->exchange->call(config->exchange->argument, peers, count, mine,
                                                sizeof mine[0], theirs);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        const struct greeting expected = {peers[i], config->rank, fake, lanes};
        if (memcmp(&theirs[i], &expected, sizeof expected) != 0)
            status = fail(STATUS_WRONG_DATA, "rank %d greets wrongly", peers[i]);
    }
    return status;
}

static void fake_close(struct endpoint *endpoint)
{
    free(endpoint);
}

#define FAKE(word, function)                                                                       \
    {                                                                                              \
        .name = word, .exchanges = true, .open = function, .address = fake_address,                \
        .attach = fake_attach, .connect = fake_connect, .close = fake_close                        \
    }
static const struct transport fakes[FAKES] = {
    [NEAR] = FAKE("near", near_open),
    [FAR] = FAKE("far", far_open),
    [LONELY] = FAKE("lonely", lonely_open),
};

static enum status counted_exchange(void *control, const int *peers, int count, const void *mine,
                                    size_t each, void *theirs)
{
    deeds[control_rank(control)].exchanges++;
    return exchange_with_peers(control, peers, count, mine, each, theirs, "greeting");
}

static bool offers_decode(void *links, int rank, struct reader *reader)
{
    return links_decode_offers(links, rank, reader);
}

/* A ring; rank 0 and rank 1 want one lane more, if the job says so. */
static enum status links_life(struct control *control, struct job_of_ranks *job)
{
    int rank = control_rank(control), ranks = control_ranks(control);
    const struct transport_choice allowed[] = {{.transport = &fakes[LONELY]},
                                               {.transport = &fakes[NEAR]},
                                               {.transport = &fakes[FAR]},
                                               {0}};
    const struct peer_exchange exchange = {.call = counted_exchange, .argument = control};
    const struct transport_config config = {.rank = rank, .ranks = ranks, .exchange = &exchange};
    unsigned char wishes[RANKS_MOST] = {0}, here[RANKS_MOST], back[RANKS_MOST];
    struct links *links = NULL;
    struct bytes share = {0};
    wishes[(rank + 1) % ranks] = wishes[(rank + ranks - 1) % ranks] = LINKS_WISHED;
    if (job->victim && rank < 2 && ranks > 1)
        wishes[!rank] |= LINKS_ONE_MORE;
    wishes[rank] = 0;
    enum status status = links_open(allowed, &config, &links);
    links_wish(links, wishes, 3);
    links_encode_offers(links, &share);
    if (status == STATUS_OK)
        status =
            exchange_decode(control, EXCHANGE_ALLGATHER, &share, "address", offers_decode, links);
    links_attach(links);
    int peers[RANKS_MOST], count = links_encode_reach(links, peers, here);
    if (status == STATUS_OK)
        status = exchange_with_peers(control, peers, count, here, 1, back, "connection");
    links_decode_reach(links, peers, count, back);
    if (status == STATUS_OK)
        status = links_choose(links, control_members(control));
    if (status == STATUS_OK)
        status = links_connect(links, control_members(control));
    if (status == STATUS_OK)
        status = all_meet(control);
    status = status == STATUS_OK ? control_finish(control, status) : control_fail(control, status);
    links_close(links);
    return status;
}

/* Each pair of neighbours is connected once, and one more lane of the first two ranks. */
static void check_deeds(int ranks, int rounds, bool more)
{
    int connected[FAKES] = {0}, pairs = ranks == 2 ? 1 : ranks > 2 ? ranks : 0;
    for (int rank = 0; rank < ranks; rank++) {
        const struct deeds *did = &deeds[rank];
        assert_int_equal(rounds * ((ranks > 1) + (ranks > 2)), did->exchanges);
        assert_int_equal(0, did->connects[LONELY]);
        assert_int_equal(rank != 1 && ranks > 2 ? rounds : 0, did->connects[NEAR]);
        assert_int_equal(ranks > 1 ? rounds : 0, did->connects[FAR]);
        for (int fake = 0; fake < FAKES; fake++)
            connected[fake] += did->connected[fake];
    }
    assert_int_equal(ranks > 2 && ranks % 2 ? 2 : 0, connected[NEAR]);
    assert_int_equal(2 * (pairs + (more && ranks > 1)), connected[NEAR] + connected[FAR]);
}

static void test_all_take_part(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= RANKS_MOST; ranks++)
        for (int more = 0; more < 2; more++) {
            struct job_of_ranks *job = job_create(ranks, 2, 10);
            memset(deeds, 0, sizeof deeds);
            job->victim = more;
            job->life = links_life;
            job_expect(job, STATUS_OK);
            check_deeds(ranks, 1 + more, more);
            job_free(job);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_take_part)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * links.c - data that other ranks send before ranks connect is checked before it is used.
 */
#include "transport/links.h"

#include <string.h>

#include "world.h"

/* What the other rank sends in place of valid data. */
enum spoil {
    SPOIL_OFFER_COUNT,
    SPOIL_OFFER_KIND,
    SPOIL_OFFER_SIZE,
    SPOIL_OFFER_SHORT,
    SPOIL_WISHES_SHORT,
    SPOIL_WISHES_NONE,
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
    unsigned char *count = share.data, *kind = count + 4, *offer_size = kind + 4;
    size_t size = share.size - (spoil == SPOIL_OFFER_SHORT);
    if (spoil == SPOIL_OFFER_COUNT)
        *count = 200;
    else if (spoil == SPOIL_OFFER_KIND)
        *kind = 0;
    else if (spoil == SPOIL_OFFER_SIZE)
        offer_size[1] = 255;
    bool accepted = decode(links, &share, size, links_decode_offers);
    bytes_free(&share);
    return accepted;
}

/* It reaches this rank by all transports that reach it from here, and wishes the same. */
static bool wishes_accepted(struct links *links, enum spoil spoil)
{
    const unsigned char wishes[] = {LINKS_WISHED, LINKS_WISHED};
    struct bytes share = {0};
    links_attach(links);
    links_encode_wishes(links, wishes, 1, &share);
    share.data[4] = share.data[5];
    if (spoil == SPOIL_LANES)
        share.data[3] = 1;
    else if (spoil == SPOIL_LANES_NEGATIVE)
        memset(share.data, 255, 4);
    size_t size = spoil == SPOIL_WISHES_SHORT  ? share.size - 1
                  : spoil == SPOIL_WISHES_NONE ? 0
                                               : share.size;
    bool accepted = decode(links, &share, size, links_decode_wishes);
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
        bool accepted = offers_accepted(links, spoil);
        assert_int_equal(accepted, spoil > SPOIL_OFFER_SHORT);
        if (accepted)
            assert_int_equal(wishes_accepted(links, spoil), spoil == SPOIL_NOTHING);
        links_close(links);
    }
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
    bytes_put_u32(&share, 0);
    assert_true(decode(links, &share, share.size, links_decode_offers));
    bytes_free(&share);
    links_attach(links);
    links_encode_wishes(links, wishes, 1, &share);
    assert_true(decode(links, &share, share.size, links_decode_wishes));
    bytes_free(&share);
    assert_int_equal(links_connect(links, members), STATUS_UNAVAILABLE);
    assert_non_null(strstr(log.failure.text, "rank 0 on here and rank 1 on there"));
    assert_non_null(strstr(log.failure.text, "tcp: it allows other transports"));
    links_close(links);
    log_attach(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_invalid_data),
                                       cmocka_unit_test(test_other_transports)};
    return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}

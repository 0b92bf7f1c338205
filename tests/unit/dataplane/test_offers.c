/*
 * test_offers.c - a rank keeps the offers of its peers, each in as many bytes as it has: there are
 * many ranks, and an address may be long.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <malloc.h>
#include <string.h>
#include <cmocka.h>

#include "dataplane/transport/internal.h"

enum { OWN = 1, PEER, OTHER, FEWER, RANKS };

static void test_peers_are_kept(void **state)
{
    struct offers offers;
    struct transport_offer offer = {.kind = OFFER_ADDRESS, .size = 40};
    (void)state;
    memset(offer.data, 'x', offer.size);
    offers_open(&offers, OWN, RANKS, 2);
    offers.mine[0] = offer;
    offers.mine[1].kind = OFFER_REFUSED;
    for (int rank = 0; rank < FEWER; rank++)
        for (int i = 0; i < 2; i++) {
            offer.kind = i == 0 ? OFFER_ADDRESS : OFFER_ABSENT;
            offer.data[0] = (char)rank;
            offers_take(&offers, rank, i, rank == OWN ? &offers.mine[i] : &offer,
                        rank == PEER || rank == OWN);
        }
    assert_int_equal(FEWER, offers.addresses[0]);
    assert_int_equal(0, offers.addresses[1]);
    assert_ptr_equal(&offers.mine[1], offers_of(&offers, OWN, 1));
    assert_int_equal(OFFER_ADDRESS, offers_of(&offers, PEER, 0)->kind);
    assert_int_equal(OFFER_ABSENT, offers_of(&offers, PEER, 1)->kind);
    assert_int_equal(40, offers_of(&offers, PEER, 0)->size);
    assert_memory_equal("\2xxx", offers_of(&offers, PEER, 0)->data, 4);
    assert_int_equal(OFFER_NONE, offers_of(&offers, FEWER, 0)->kind);
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < 2; i++) {
            struct transport_offer *kept = offers.theirs[rank * 2 + i];
            assert_int_equal(rank == PEER, kept != NULL);
            assert_true(!kept || malloc_usable_size(kept) < 200);
        }
    offers_close(&offers);
    assert_null(offers.theirs);
    offers_close(&offers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_peers_are_kept)};
    return cmocka_run_group_tests_name("offers", tests, NULL, NULL);
}

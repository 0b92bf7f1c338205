/*
 * test_fallback.c - reasons why pairs of ranks run over another transport: grouped, bounded, and
 * checked when they come from another rank.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "dataplane/transport/transport.h"

#define RANKS 12

static struct fallback reason(int number, int rank)
{
    struct fallback fallback = {.cause = FALLBACK_REFUSED,
                                .preferred = "verbs",
                                .taken = "tcp",
                                .pairs = 1,
                                .low = rank,
                                .high = rank + 1,
                                .rank = rank};
    snprintf(fallback.reason, sizeof fallback.reason, "reason %d", number);
    return fallback;
}

static void same_reasons_are_one(void **state)
{
    (void)state;
    struct fallbacks all = {.count = 0};
    const struct fallback first = reason(1, 3);
    struct fallback other = reason(1, 4);
    for (int i = 0; i < 3; i++)
        fallbacks_add(&all, &first);
    assert_int_equal(all.count, 1);
    assert_int_equal(all.list[0].pairs, 3);
    assert_false(all.list[0].others);
    fallbacks_add(&all, &other);
    assert_int_equal(all.count, 1);
    assert_true(all.list[0].others);
    assert_int_equal(all.list[0].rank, 3);
    snprintf(other.taken, sizeof other.taken, "shm");
    fallbacks_add(&all, &other);
    other.cause = FALLBACK_ABSENT;
    fallbacks_add(&all, &other);
    snprintf(other.preferred, sizeof other.preferred, "cuda");
    fallbacks_add(&all, &other);
    assert_int_equal(all.count, 4);
    assert_int_equal(all.further.pairs, 0);
}

/* As rank 0 adds up the shares of two ranks: no pair is lost. */
static void many_reasons_are_summed_up(void **state)
{
    (void)state;
    struct fallbacks one = {.count = 0}, all = {.count = 0};
    struct bytes share = {0};
    for (int i = 0; i < FALLBACKS_MOST + 5; i++) {
        struct fallback fallback = reason(i, i % 3);
        fallbacks_add(&one, &fallback);
    }
    assert_int_equal(one.count, FALLBACKS_MOST);
    assert_int_equal(one.further.pairs, 5);
    fallbacks_encode(&one, &share);
    for (int turn = 0; turn < 2; turn++) {
        struct reader reader = {.at = share.data, .left = share.size};
        assert_true(fallbacks_decode(&all, RANKS, &reader));
        assert_int_equal(reader.left, 0);
    }
    assert_int_equal(all.count, FALLBACKS_MOST);
    for (int i = 0; i < FALLBACKS_MOST; i++)
        assert_int_equal(all.list[i].pairs, 2);
    assert_int_equal(all.further.pairs, 10);
    assert_string_equal(all.further.reason, "");
    /* The sum of the rest comes before this rank's own reasons. */
    struct fallbacks late = {.count = 0};
    fallbacks_add(&late, &one.further);
    assert_int_equal(late.count, 0);
    assert_int_equal(late.further.pairs, 5);
    bytes_free(&share);
}

/* Invalid numbers that another rank sends. */
static void invalid_ones_are_refused(void **state)
{
    (void)state;
    struct fallback bad[10];
    const struct fallback good = reason(1, 3);
    for (int i = 0; i < 10; i++)
        bad[i] = good;
    bad[0].cause = FALLBACK_CAUSES;
    bad[1].pairs = 0;
    bad[2].pairs = UINT64_MAX;
    bad[3].low = -1;
    bad[4].low = bad[4].high;
    bad[5].high = RANKS;
    bad[6].rank = 0;
    bad[7].rank = RANKS;
    bad[8].low = bad[8].rank = 7;
    bad[9].high = -5;
    for (int i = -1; i < 10; i++) {
        struct fallbacks own = {.list = {i < 0 ? good : bad[i]}, .count = 1}, all = {.count = 0};
        struct bytes share = {0};
        fallbacks_encode(&own, &share);
        struct reader reader = {.at = share.data, .left = share.size};
        if (fallbacks_decode(&all, RANKS, &reader) != (i < 0))
            print_error("case %d\n", i);
        assert_int_equal(all.count, i < 0);
        struct reader shorter = {.at = share.data, .left = share.size - 1};
        assert_false(fallbacks_decode(&all, RANKS, &shorter));
        share.data[0] = FALLBACKS_MOST + 2; /* their number */
        reader = (struct reader){.at = share.data, .left = share.size};
        assert_false(fallbacks_decode(&all, RANKS, &reader));
        bytes_free(&share);
    }
}

static void sentences_name_reason_and_pair(void **state)
{
    (void)state;
    struct member members[RANKS] = {{0}};
    char text[FALLBACK_TEXT_MOST];
    struct fallback fallback = reason(1, 3);
    for (int i = 0; i < RANKS; i++)
        snprintf(members[i].host, sizeof members[i].host, "n%02d", i);
    assert_string_equal(fallback_text(&fallback, members, text),
                        "ranks 3 (n03) and 4 (n04) run over tcp, because verbs cannot be used on "
                        "rank 3: reason 1");
    fallback.pairs = 12;
    fallback.rank = 4;
    fallback.others = true;
    assert_string_equal(fallback_text(&fallback, members, text),
                        "12 pairs of ranks run over tcp, such as ranks 3 (n03) and 4 (n04), "
                        "because verbs cannot be used on rank 4 and others: reason 1");
    fallback.cause = FALLBACK_UNREACHABLE;
    assert_string_equal(fallback_text(&fallback, members, text),
                        "12 pairs of ranks run over tcp, such as ranks 3 (n03) and 4 (n04), "
                        "because verbs does not connect them: reason 1");
    fallback.reason[0] = '\0';
    assert_string_equal(fallback_text(&fallback, members, text),
                        "12 more pairs of ranks, such as ranks 3 (n03) and 4 (n04), run over "
                        "another transport than they prefer, for further reasons");
    memset(fallback.reason, 'x', sizeof fallback.reason - 1);
    fallback.reason[sizeof fallback.reason - 1] = '\0';
    memset(members[3].host, 'h', sizeof members[3].host - 1);
    memset(members[4].host, 'h', sizeof members[4].host - 1);
    fallback.pairs = UINT64_MAX;
    fallback_text(&fallback, members, text);
    assert_string_equal(strchr(text, 'x'), fallback.reason); /* it fits */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_reasons_are_one),
        cmocka_unit_test(many_reasons_are_summed_up),
        cmocka_unit_test(invalid_ones_are_refused),
        cmocka_unit_test(sentences_name_reason_and_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

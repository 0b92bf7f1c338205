/*
 * test_exact.c - the inputs keep what the table at the head of inputs.c promises, for each type
 * and operator: every order and bracketing of a reduction gives the same bits, and a contribution
 * that is missing, doubled or stale shows, in the fraction of elements that the table gives.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/memory/memory.h"

#define STRIP       128 /* elements at a time */
#define STRIP_BYTES ((size_t)STRIP * DATATYPE_SIZE_MOST)
#define RANKS_MOST  1024

static const int rank_counts[] = {1, 2, 3, 5, 8, 16, 17, 64, 256, 257, RANKS_MOST};
#define RANK_COUNTS (sizeof rank_counts / sizeof *rank_counts)

static const char *const fault_names[] = {"", "missing", "doubled", "stale"};

static struct inputs inputs_of(const struct datatype *type, const struct reduction *op, int ranks)
{
    return (struct inputs){
        .datatype = type,
        .reduction = op,
        .ranks = ranks,
        .seed = 1234,
        .iteration = 3,
    };
}

static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 32) * bound >> 32);
}

/* Calls `test` for every type and operator that go together, and every number of ranks. */
static void for_each(void (*test)(const struct datatype *, const struct reduction *, int))
{
    for (const struct datatype *const *type = datatypes; *type; type++)
        for (const struct reduction *const *op = reductions; *op; op++)
            for (size_t i = 0; i < RANK_COUNTS && reduce_kernel(*type, *op); i++)
                if (rank_counts[i] <= reduce_ranks_most(*type, *op))
                    test(*type, *op, rank_counts[i]);
}

static void finish(const struct inputs *inputs, char *result, size_t count)
{
    finish_function *function = finish_kernel(inputs->datatype, inputs->reduction);
    if (function)
        function(result, result, count, inputs->ranks);
}

/* Combines two random partial results after another, until one is left: a random tree. */
static void orders_agree(const struct datatype *type, const struct reduction *op, int ranks)
{
    enum { COUNT = 40 };
    struct inputs inputs = inputs_of(type, op, ranks);
    reduce_function *reduce = reduce_kernel(type, op);
    size_t first = 4090, bytes = COUNT * type->size; /* over the border of a page */
    char *values = malloc((size_t)ranks * bytes), *parts = malloc((size_t)ranks * bytes);
    char expected[COUNT * DATATYPE_SIZE_MOST];
    uint64_t random = 99;
    assert_true(inputs_combine(&inputs, NULL, first, COUNT, expected));
    for (int rank = 0; rank < ranks; rank++)
        inputs_make(&inputs, rank, first, COUNT, values + (size_t)rank * bytes);
    for (int order = 0; order < 4; order++) {
        memcpy(parts, values, (size_t)ranks * bytes);
        for (int left = ranks; left > 1; left--) {
            /* The first order is a chain backwards, the others are trees. */
            uint32_t a = order ? random_below(&random, (uint32_t)left) : (uint32_t)left - 2;
            uint32_t b = order ? random_below(&random, (uint32_t)left - 1) : (uint32_t)left - 1;
            b += order && b >= a;
            reduce(parts + a * bytes, parts + b * bytes, parts + a * bytes, COUNT);
            memmove(parts + b * bytes, parts + ((size_t)left - 1) * bytes, bytes);
        }
        finish(&inputs, parts, COUNT);
        if (memcmp(parts, expected, bytes) != 0)
            fail_msg("%s %s, %d ranks: order %d gives other bits", type->name, op->name, ranks,
                     order);
    }
    free(values);
    free(parts);
}

/* Does the flip of a bit of one rank change the result? */
static bool flip_shows(const struct inputs *inputs, int rank, size_t at, size_t bit)
{
    reduce_function *reduce = reduce_kernel(inputs->datatype, inputs->reduction);
    char value[DATATYPE_SIZE_MOST], result[DATATYPE_SIZE_MOST], right[DATATYPE_SIZE_MOST];
    inputs_combine(inputs, NULL, at, 1, right);
    inputs_make(inputs, rank, at, 1, result);
    result[bit / 8] ^= (char)(1 << bit % 8);
    for (int other = 0; other < inputs->ranks; other++) {
        if (other == rank)
            continue;
        inputs_make(inputs, other, at, 1, value);
        reduce(result, result, value, 1);
    }
    return memcmp(result, right, inputs->datatype->size) != 0;
}

/* A flipped bit shows always, or in one of two iterations. */
static void test_flips_show(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool always;
    } operators[] = {
        {"sum", true}, {"prod", true}, {"bxor", true}, {"band", false}, {"bor", false}};
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
            struct inputs inputs = inputs_of(*type, reduction_find(operators[i].name), 5);
            bool integer = (*type)->kind == DATATYPE_SIGNED || (*type)->kind == DATATYPE_UNSIGNED;
            for (size_t at = 0; integer && at < 20; at++) {
                for (size_t flip = 0; flip < 5 * 8 * (*type)->size; flip++) {
                    inputs.iteration = 6;
                    bool shows = flip_shows(&inputs, (int)(flip % 5), at, flip / 5);
                    inputs.iteration = 7;
                    bool later = flip_shows(&inputs, (int)(flip % 5), at, flip / 5);
                    assert_true(operators[i].always ? shows && later : shows || later);
                }
            }
        }
    }
}

static void test_every_order_gives_the_same(void **state)
{
    (void)state;
    for_each(orders_agree);
}

/* The table: the least fraction of elements in which the fault of one rank shows. 0: it cannot. */
static double fraction(const struct datatype *type, const struct reduction *op, int ranks,
                       enum contribution how)
{
    double p = ranks, bits = 8.0 * (double)type->size, few;
    bool missing = how == CONTRIBUTION_MISSING, stale = how == CONTRIBUTION_STALE;
    if (missing && ranks == 1)
        return 1; /* nothing enters at all */
    if (how == CONTRIBUTION_DOUBLED && op->idempotent)
        return 0;
    switch (op->id) {
    case REDUCTION_SUM:
    case REDUCTION_AVG:
        if (type->kind != DATATYPE_FLOAT)
            return op->finishes ? 1 - p / (reduce_ranks_most(type, op) + 1.0) : 1 - exp2(-bits);
        few = exp2(type->exact_bits - 1) / p; /* of the ranks contribute; each has +-1 .. +-few */
        if (few < 1)
            return stale ? few / 2 : few;
        few = exp2(floor(log2(few)));
        return (stale ? 1 - 1 / (2 * (few < 1 << 30 ? few : 1 << 30)) : 1) *
               (op->finishes ? .9 : 1);
    case REDUCTION_PROD:
        return type->kind == DATATYPE_FLOAT ? 0.5 : 1 - exp2(1 - bits);
    case REDUCTION_BXOR:
        return 1 - exp2(-bits);
    case REDUCTION_LXOR:
        return 0.5;
    case REDUCTION_LAND:
    case REDUCTION_LOR:
        return missing ? 1 / (2 * p) : 1 / (4 * p);
    default:
        return missing ? 1 / p : 1 / (2 * p);
    }
}

/* All ranks' values of a strip, and what a fault of one of them makes of the result. */
struct strip {
    struct inputs inputs;
    size_t first;
    char *values; /* a row of STRIP elements for each rank */
    char right[STRIP_BYTES];
};

static void strip_fill(struct strip *strip, size_t first)
{
    const struct inputs *inputs = &strip->inputs;
    size_t bytes = STRIP * inputs->datatype->size;
    strip->first = first;
    for (int rank = 0; rank < inputs->ranks; rank++)
        inputs_make(inputs, rank, first, STRIP, strip->values + (size_t)rank * bytes);
    assert_true(inputs_combine(inputs, NULL, first, STRIP, strip->right));
}

/* Elements of the strip that show the fault. */
static int strip_shows(const struct strip *strip, int faulty, enum contribution how)
{
    const struct inputs *inputs = &strip->inputs;
    struct inputs before = *inputs;
    before.iteration--;
    reduce_function *reduce = reduce_kernel(inputs->datatype, inputs->reduction);
    size_t size = inputs->datatype->size, bytes = STRIP * size;
    char wrong[STRIP_BYTES], old[STRIP_BYTES];
    int shown = 0;
    if (how == CONTRIBUTION_MISSING && inputs->ranks == 1)
        return STRIP;
    inputs_make(&before, faulty, strip->first, STRIP, old);
    /* Begins behind the faulty rank, and ends with it. */
    for (int i = 1; i <= inputs->ranks; i++) {
        int rank = (faulty + i) % inputs->ranks;
        const char *value = strip->values + (size_t)rank * bytes;
        if (rank == faulty && how == CONTRIBUTION_MISSING)
            continue;
        if (rank == faulty && how == CONTRIBUTION_STALE)
            value = old;
        if (i == 1)
            memcpy(wrong, value, bytes);
        else
            reduce(wrong, wrong, value, STRIP);
        if (rank == faulty && how == CONTRIBUTION_DOUBLED)
            reduce(wrong, wrong, value, STRIP);
    }
    finish(inputs, wrong, STRIP);
    for (size_t i = 0; i < STRIP; i++)
        shown += memcmp(wrong + i * size, strip->right + i * size, size) != 0;
    return shown;
}

/* Each fault of three ranks shows within a few times the elements in which it is expected to, the
 * absence of a rank that decides within two passes. */
static void no_fault_hides(const struct datatype *type, const struct reduction *op, int ranks)
{
    struct strip strip = {.inputs = inputs_of(type, op, ranks)};
    const int sample[] = {0, ranks / 3, ranks - 1};
    size_t shown[3][4] = {{0}}, limit[4], left = 9;
    bool logical = op->id == REDUCTION_LAND || op->id == REDUCTION_LOR;
    for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++) {
        double share = fraction(type, op, ranks, (enum contribution)how);
        limit[how] = share > 0 ? (size_t)(12 / share) + STRIP : STRIP;
        if (how == CONTRIBUTION_MISSING && op->idempotent)
            limit[how] = (size_t)ranks * (logical ? 4 : 2) + STRIP;
    }
    strip.values = malloc((size_t)ranks * STRIP * type->size);
    for (size_t at = 0; left > 0; at += STRIP) {
        strip_fill(&strip, 8192 + at);
        left = 0;
        for (int i = 0; i < 9; i++) {
            int rank = i / 3, how = 1 + i % 3;
            if (shown[rank][how] > 0 || at >= limit[how])
                continue;
            shown[rank][how] = (size_t)strip_shows(&strip, sample[rank], (enum contribution)how);
            left += shown[rank][how] == 0;
        }
    }
    for (int i = 0; i < 9; i++) {
        int rank = i / 3, how = 1 + i % 3;
        bool shows = fraction(type, op, ranks, (enum contribution)how) > 0;
        /* One rank's own value is no result of land or lor yet: 5, and doubled 1. */
        if (!shows && logical && ranks == 1)
            continue;
        if (shows != (shown[rank][how] > 0))
            fail_msg("%s %s, %d ranks: rank %d's contribution %s %s in %zu elements", type->name,
                     op->name, ranks, sample[rank], fault_names[how],
                     shows ? "does not show" : "shows, which it cannot,", limit[how]);
    }
    free(strip.values);
}

static void test_no_fault_hides(void **state)
{
    (void)state;
    for_each(no_fault_hides);
}

/* The fractions themselves, counted over two pages. */
static void fractions_hold(const struct datatype *type, const struct reduction *op, int ranks)
{
    enum { ELEMENTS = 8192 };
    struct strip strip = {.inputs = inputs_of(type, op, ranks)};
    size_t shown[4] = {0};
    if (ranks == 1 || ranks > 64)
        return;
    strip.values = malloc((size_t)ranks * STRIP * type->size);
    for (size_t at = 0; at < ELEMENTS; at += STRIP) {
        strip_fill(&strip, at);
        for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++)
            shown[how] += (size_t)strip_shows(&strip, ranks / 2, (enum contribution)how);
    }
    free(strip.values);
    for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++) {
        double expected = ELEMENTS * fraction(type, op, ranks, (enum contribution)how);
        double noise = 4 * sqrt(expected * (1 - expected / ELEMENTS)) + 1;
        if ((double)shown[how] < expected - noise)
            fail_msg("%s %s, %d ranks: %s shows in %zu of %d elements, fewer than %.0f", type->name,
                     op->name, ranks, fault_names[how], shown[how], ELEMENTS, expected);
    }
}

static void test_fractions(void **state)
{
    (void)state;
    for_each(fractions_hold);
}

/* Elements from `first` on, whole strips, that show the fault. */
static size_t count_shown(const char *type, const char *op, int ranks, int faulty,
                          enum contribution how, size_t elements)
{
    struct strip strip = {.inputs = inputs_of(datatype_find(type), reduction_find(op), ranks)};
    size_t shown = 0;
    strip.values = malloc((size_t)ranks * STRIP_BYTES);
    for (size_t at = 0; at < elements; at += STRIP) {
        strip_fill(&strip, at);
        shown += (size_t)strip_shows(&strip, faulty, how);
    }
    free(strip.values);
    return shown;
}

/* Coins are dealt so that each rank has both in two passes, and not only probably. */
static void test_coins(void **state)
{
    (void)state;
    for (int rank = 0; rank < 64; rank++) {
        assert_true(count_shown("int8", "land", 64, rank, CONTRIBUTION_MISSING, 2 * 64) > 0);
        assert_true(count_shown("int64", "lor", 64, rank, CONTRIBUTION_MISSING, 2 * 64) > 0);
    }
}

/* Over many ranks the quotient of a small float is one of few: it must not lose what sums show. */
static void test_averages_lose_little(void **state)
{
    (void)state;
    static const char *const types[] = {"float16", "bfloat16", "float8_e4m3", "float8_e5m2"};
    for (int i = 0; i < 4; i++) {
        size_t sum = count_shown(types[i], "sum", RANKS_MOST, 7, CONTRIBUTION_MISSING, 8192);
        size_t avg = count_shown(types[i], "avg", RANKS_MOST, 7, CONTRIBUTION_MISSING, 8192);
        assert_true(sum > 0);
        if (avg * 10 < sum * 9)
            fail_msg("%s: avg shows %zu, sum %zu", types[i], avg, sum);
    }
}

/* Contributions as inputs_combine() lets them enter are those that were tried above, and all of
 * them doubled are still exact: hypotheses predict such results, in any order. */
static void doubling_all_is_exact(const struct datatype *type, const struct reduction *op,
                                  int ranks)
{
    enum { COUNT = 64 };
    static unsigned char twice[RANKS_MOST];
    struct inputs inputs = inputs_of(type, op, ranks);
    reduce_function *reduce = reduce_kernel(type, op);
    size_t bytes = COUNT * type->size;
    char want[COUNT * DATATYPE_SIZE_MOST], value[COUNT * DATATYPE_SIZE_MOST],
        other[COUNT * DATATYPE_SIZE_MOST];
    memset(twice, CONTRIBUTION_DOUBLED, sizeof twice);
    assert_true(inputs_combine(&inputs, twice, 100, COUNT, want));
    /* All once, and then all again. */
    for (int i = 0; i < 2 * ranks; i++) {
        inputs_make(&inputs, i % ranks, 100, COUNT, value);
        if (i == 0)
            memcpy(other, value, bytes);
        else
            reduce(other, other, value, COUNT);
    }
    finish(&inputs, other, COUNT);
    if (memcmp(want, other, bytes) != 0)
        fail_msg("%s %s, %d ranks: all doubled depends on the order", type->name, op->name, ranks);
}

static void test_doubling_all_is_exact(void **state)
{
    (void)state;
    for_each(doubling_all_is_exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_gives_the_same),
        cmocka_unit_test(test_flips_show),
        cmocka_unit_test(test_no_fault_hides),
        cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_coins),
        cmocka_unit_test(test_averages_lose_little),
        cmocka_unit_test(test_doubling_all_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

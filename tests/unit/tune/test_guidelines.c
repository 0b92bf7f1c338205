/*
 * test_guidelines.c - what must not be, in lists of times that break one guideline each.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tune/tune.h"

/* An interval of one percent to each side. */
static struct timed_line line_of(enum collective_id collective, const char *algorithm, size_t bytes,
                                 double time)
{
    const struct collective *it = collective_of(collective);
    return (struct timed_line){.collective = it,
                               .algorithm = algorithm,
                               .setting = "4 ranks, float",
                               .op = it->reduces ? "sum" : "",
                               .ranks = 4,
                               .bytes = bytes,
                               .element = 4,
                               .time = time,
                               .low = 0.99 * time,
                               .high = 1.01 * time};
}

static struct violation *check(const struct timed_line *lines, size_t count, size_t *found)
{
    struct violation *violations;
    assert_int_equal(guidelines_check(lines, count, &violations, found), STATUS_OK);
    return violations;
}

/* The only violation of these lines, worded. */
static void assert_text(const struct timed_line *lines, size_t count, const char *expected)
{
    size_t found;
    char text[VIOLATION_TEXT_MOST];
    struct violation *violations = check(lines, count, &found);
    assert_int_equal(found, 1);
    assert_string_equal(violation_text(lines, violations, text), expected);
    free(violations);
}

static void assert_none(const struct timed_line *lines, size_t count)
{
    size_t found;
    free(check(lines, count, &found));
    assert_int_equal(found, 0);
}

static void test_sequence(void **state)
{
    (void)state;
    struct timed_line lines[] = {line_of(COLLECTIVE_ALLREDUCE, "ring", 65536, 812),
                                 line_of(COLLECTIVE_ALLREDUCE, "nhr", 65536, 900),
                                 line_of(COLLECTIVE_REDUCE, "binomial", 65536, 500),
                                 line_of(COLLECTIVE_REDUCE, "rabenseifner", 65536, 320),
                                 line_of(COLLECTIVE_BROADCAST, "chain", 65536, 251)};
    assert_text(lines, 5,
                "allreduce 64K, 4 ranks, float sum: 812 us (ring), 1.42 times reduce then "
                "broadcast, 571 us: use reduce rabenseifner then broadcast chain");
    assert_none(lines, 4); /* without a broadcast */
    struct timed_line other = lines[4];
    other.setting = "4 ranks, double";
    lines[4] = other;
    assert_none(lines, 5);
}

/* Every emulation of the table, with a time that breaks it and one that does not. A row that is
 * wrong in what it emulates would show in test_sizes or below. */
static void test_table(void **state)
{
    (void)state;
    size_t rows = 0;
    for (const struct emulation *it = emulations; it->second != EMULATIONS_END; it++, rows++) {
        double parts = it->second < 0 ? 10 : 20;
        struct timed_line lines[3] = {line_of(it->whole, "slow", 4096, parts * 1.2),
                                      line_of(it->first, "first", 4096, 10)};
        size_t count = 2, found;
        if (it->second >= 0)
            lines[count++] = line_of((enum collective_id)it->second, "second", 4096, 10);
        struct violation *violations = check(lines, count, &found);
        assert_int_equal(found, 1);
        assert_int_equal(violations->line, 0);
        assert_int_equal(violations->instead_count, count - 1);
        assert_true(violations->ratio > 1.19 && violations->ratio < 1.21);
        free(violations);
        lines[0] = line_of(it->whole, "fast", 4096, parts * 1.04); /* within the margin */
        assert_none(lines, count);
    }
    assert_int_equal(rows, 11);
}

/* Blocks are whole: 1024 bytes of allreduce are 1032 of reduce_scatter on 3 ranks. */
static void test_sizes(void **state)
{
    (void)state;
    struct timed_line lines[] = {line_of(COLLECTIVE_REDUCE_SCATTER, "ring", 1032, 100),
                                 line_of(COLLECTIVE_ALLREDUCE, "ring", 1024, 50)};
    assert_text(lines, 2,
                "reduce_scatter 1032, 4 ranks, float sum: 100 us (ring), 2.00 times "
                "allreduce, 50 us: use allreduce ring of 1K");
    lines[1].bytes = 1000; /* less work */
    assert_none(lines, 2);
    lines[1].bytes = 1032 - 4 * 4; /* by a block of each rank */
    assert_none(lines, 2);
    lines[1].bytes = 4096; /* more work, and faster all the same */
    size_t found;
    free(check(lines, 2, &found));
    assert_int_equal(found, 1);
}

static void test_own_kind(void **state)
{
    (void)state;
    struct timed_line lines[] = {line_of(COLLECTIVE_GATHER, "ring", 1024, 30),
                                 line_of(COLLECTIVE_GATHER, "ring", 4096, 20),
                                 line_of(COLLECTIVE_GATHER, "linear", 4096, 10),
                                 line_of(COLLECTIVE_GATHER, "linear", 1024, 5)};
    assert_text(lines, 4,
                "gather 1K, 4 ranks, float: 30 us (ring), 1.50 times 4K, 20 us: use linear, "
                "5 us");
    assert_text(lines, 2,
                "gather 1K, 4 ranks, float: 30 us (ring), 1.50 times 4K, 20 us: use ring of "
                "4K");
    struct timed_line split[] = {line_of(COLLECTIVE_GATHER, "ring", 3000, 50),
                                 line_of(COLLECTIVE_GATHER, "linear", 1024, 10)};
    assert_text(split, 2,
                "gather 3000, 4 ranks, float: 50 us (ring), 1.67 times 3 times 1K, 30 us: "
                "use linear of 1K, 3 times");
    split[1].high = 17; /* three of them may take longer */
    assert_none(split, 2);
    split[1].high = 16;
    size_t found;
    free(check(split, 2, &found));
    assert_int_equal(found, 1);
    split[0].bytes = 1024 * 65; /* too many parts */
    split[0].time = split[0].low = split[0].high = 1e6;
    assert_none(split, 2);
}

/* A message in parts: their number is rounded up, and 64 are the most. */
static void test_parts(void **state)
{
    (void)state;
    static const struct {
        size_t whole, part;
        int times; /* 0: no split */
    } cases[] = {{1025, 1024, 2},
                 {2048, 1024, 2},
                 {2049, 1024, 3},
                 {3072, 1024, 3},
                 {2, 1, 2},
                 {64 * 1024, 1024, 64},
                 {63 * 1024 + 1, 1024, 64},
                 {64 * 1024 + 1, 1024, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct timed_line lines[] = {line_of(COLLECTIVE_GATHER, "ring", cases[i].whole, 1e6),
                                           line_of(COLLECTIVE_GATHER, "linear", cases[i].part, 10)};
        size_t found;
        struct violation *violations = check(lines, 2, &found);
        assert_int_equal(found, cases[i].times > 0);
        if (found > 0) {
            assert_int_equal(violations->guideline, GUIDELINE_SPLIT);
            assert_int_equal(violations->times, cases[i].times);
            assert_true(violations->bound == 10.0 * cases[i].times);
        }
        free(violations);
    }
}

/* The first of equal times is the best, and of equal ratios the first line comes first, and then
 * the first guideline. */
static void test_ties(void **state)
{
    (void)state;
    const struct timed_line best[] = {line_of(COLLECTIVE_GATHER, "ring", 1024, 30),
                                      line_of(COLLECTIVE_GATHER, "linear", 1024, 30),
                                      line_of(COLLECTIVE_GATHER, "ring", 4096, 20)};
    assert_text(best, 3,
                "gather 1K, 4 ranks, float: 30 us (ring), 1.50 times 4K, 20 us: use ring of 4K");
    const struct timed_line equal[] = {line_of(COLLECTIVE_REDUCE, "ring", 1024, 30),
                                       line_of(COLLECTIVE_GATHER, "ring", 1024, 30),
                                       line_of(COLLECTIVE_SCATTER, "ring", 1024, 30),
                                       line_of(COLLECTIVE_SCATTER, "ring", 2048, 20),
                                       line_of(COLLECTIVE_GATHER, "ring", 2048, 20),
                                       line_of(COLLECTIVE_REDUCE, "ring", 2048, 20)};
    size_t found;
    struct violation *violations = check(equal, 6, &found);
    assert_int_equal(found, 3);
    for (size_t i = 0; i < found; i++)
        assert_int_equal(violations[i].line, i);
    free(violations);
    const struct timed_line both[] = {line_of(COLLECTIVE_GATHER, "ring", 2048, 30),
                                      line_of(COLLECTIVE_GATHER, "ring", 1024, 10),
                                      line_of(COLLECTIVE_GATHER, "ring", 4096, 20)};
    violations = check(both, 3, &found);
    assert_int_equal(found, 2);
    assert_int_equal(violations[0].guideline, GUIDELINE_SMALLER);
    assert_int_equal(violations[1].guideline, GUIDELINE_SPLIT);
    free(violations);
}

/* The fastest of several lines that could be run instead is told, wherever it stands. */
static void test_worst(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct timed_line lines[] = {line_of(COLLECTIVE_GATHER, "ring", 1024, 30),
                                     line_of(COLLECTIVE_GATHER, "ring", 4096, 20),
                                     line_of(COLLECTIVE_GATHER, "ring", 8192, 10)};
        lines[1 + swapped] = line_of(COLLECTIVE_GATHER, "ring", 4096, 20);
        lines[2 - swapped] = line_of(COLLECTIVE_GATHER, "ring", 8192, 10);
        size_t found;
        struct violation *violations = check(lines, 3, &found);
        assert_int_equal(found, 2); /* 1K, and 4K beside 8K */
        assert_int_equal(violations[0].line, 0);
        assert_int_equal(violations[0].instead[0], 2 - swapped);
        assert_true(violations[0].ratio == 3);
        free(violations);
    }
}

/* Within noise, zero bytes, a barrier, another operator, other ranks. */
static void test_not_compared(void **state)
{
    (void)state;
    struct timed_line lines[] = {line_of(COLLECTIVE_REDUCE, "ring", 1024, 30),
                                 line_of(COLLECTIVE_ALLREDUCE, "ring", 1024, 20)};
    lines[0].low = 15;
    assert_none(lines, 2);
    lines[0].low = lines[1].high;
    assert_none(lines, 2);
    lines[0].low = 29;
    lines[1].op = "max";
    assert_none(lines, 2);
    lines[1].op = "sum";
    lines[1].ranks = 5;
    assert_none(lines, 2);
    struct timed_line none[] = {line_of(COLLECTIVE_BROADCAST, "a", 1024, 30),
                                line_of(COLLECTIVE_BROADCAST, "a", 0, 10)};
    assert_none(none, 2);
    struct timed_line barriers[] = {line_of(COLLECTIVE_BARRIER, "a", 1, 30),
                                    line_of(COLLECTIVE_BARRIER, "a", 2, 10)};
    assert_none(barriers, 2);
    assert_none(NULL, 0);
}

static void test_order(void **state)
{
    (void)state;
    const struct timed_line lines[] = {line_of(COLLECTIVE_REDUCE, "ring", 1024, 30),
                                       line_of(COLLECTIVE_ALLREDUCE, "ring", 1024, 20),
                                       line_of(COLLECTIVE_GATHER, "ring", 1024, 90),
                                       line_of(COLLECTIVE_ALLGATHER, "ring", 1024, 20)};
    size_t found;
    struct violation *violations = check(lines, 4, &found);
    assert_int_equal(found, 2);
    assert_int_equal(violations[0].line, 2);
    assert_int_equal(violations[1].line, 0);
    free(violations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence), cmocka_unit_test(test_table),
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_own_kind),
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_ties),
        cmocka_unit_test(test_worst),    cmocka_unit_test(test_not_compared),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

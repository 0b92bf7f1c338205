/*
 * test_counts.c - counts per sender and receiver: distributions add up exactly and have the form
 * that their names promise; files are read as they are written, or refused by name and line.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "collective/collective.h"

#include <cmocka.h> /* last: its fail() is not that of log.h */

static const int rank_numbers[] = {1, 2, 3, 5, 8, 17, 64};
static const size_t totals[] = {0, 1, 7, 64, 1000003, (size_t)1 << 43};

#define FOR_EACH(i, array) for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

static struct counts_spec spec_of(const char *text)
{
    struct counts_spec spec;
    assert_int_equal(counts_read(text, &spec), STATUS_OK);
    return spec;
}

static struct counts *counts_of(const char *text, enum counts_kind kind, int ranks, size_t total,
                                uint64_t seed)
{
    struct counts_spec spec = spec_of(text);
    struct counts *counts;
    assert_int_equal(counts_create(&spec, kind, ranks, total, seed, &counts), STATUS_OK);
    assert_int_equal(counts->kind, kind);
    assert_int_equal(counts->ranks, ranks);
    free(spec.numbers);
    return counts;
}

/* Length of a block: of one row of a matrix, or of a vector. */
static size_t block(const struct counts *counts, int row, int index)
{
    size_t offset;
    if (counts->kind == COUNTS_MATRIX)
        return counts_sent(counts, row, index, &offset);
    assert_true(counts->before[index] <= counts->before[index + 1]);
    return counts->before[index + 1] - counts->before[index];
}

static void they_add_up(void **state)
{
    static const char *const specs[] = {"uniform", "spread",  "zipf:0", "zipf:1.2",
                                        "zipf:10", "hot:0.5", "hot:0",  "hot:1"};
    (void)state;
    FOR_EACH(s, specs)
    FOR_EACH(r, rank_numbers)
    FOR_EACH(t, totals)
    for (enum counts_kind kind = COUNTS_VECTOR; kind <= COUNTS_MATRIX; kind++) {
        int p = rank_numbers[r], rows = kind == COUNTS_MATRIX ? p : 1;
        struct counts *counts = counts_of(specs[s], kind, p, totals[t], 1);
        for (int row = 0; row < rows; row++) {
            size_t sum = 0;
            for (int i = 0; i < p; i++)
                sum += block(counts, row, i);
            assert_int_equal(sum, totals[t]);
        }
        assert_int_equal(counts_mean(counts), totals[t] / (size_t)p + (totals[t] % (size_t)p != 0));
        counts_free(counts);
    }
}

/* Sender and receiver agree on every block, and a block begins where those before it end. */
static void both_sides_agree(void **state)
{
    (void)state;
    static const char *const specs[] = {"zipf:1.1", "spread", "uniform"};
    FOR_EACH(s, specs)
    FOR_EACH(r, rank_numbers)
    {
        int p = rank_numbers[r];
        struct counts *counts = counts_of(specs[s], COUNTS_MATRIX, p, 12345, 7);
        for (int to = 0; to < p; to++) {
            size_t end = 0;
            for (int from = 0; from < p; from++) {
                size_t here, there, sent = counts_sent(counts, from, to, &there);
                assert_int_equal(counts_received(counts, from, to, &here), sent);
                assert_int_equal(here, end);
                size_t row = 0;
                for (int before = 0; before < to; before++)
                    row += block(counts, from, before);
                assert_int_equal(there, row);
                end += sent;
            }
        }
        counts_free(counts);
    }
}

static void uniform_is_even(void **state)
{
    (void)state;
    struct counts *counts = counts_of("uniform", COUNTS_VECTOR, 5, 5003, 1);
    for (int i = 0; i < 5; i++)
        assert_in_range(block(counts, 0, i), 1000, 1001);
    counts_free(counts);
}

/* From nothing to twice the mean. In a matrix each rank has nothing for itself. */
static void spread_is_spread(void **state)
{
    (void)state;
    FOR_EACH(r, rank_numbers)
    {
        int p = rank_numbers[r];
        size_t mean = 1000, total = mean * (size_t)p;
        if (p == 1)
            continue;
        struct counts *vector = counts_of("spread", COUNTS_VECTOR, p, total, 1);
        assert_int_equal(block(vector, 0, 0), 0);
        assert_in_range(block(vector, 0, p - 1), 2 * mean - 1, 2 * mean + 1);
        for (int i = 1; i < p; i++)
            assert_true(block(vector, 0, i) > block(vector, 0, i - 1));
        counts_free(vector);
        struct counts *matrix = counts_of("spread", COUNTS_MATRIX, p, total, 1);
        for (int from = 0; from < p; from++) {
            assert_int_equal(block(matrix, from, from), 0);
            assert_in_range(block(matrix, from, (from + p - 1) % p), 2 * mean - 1, 2 * mean + 1);
        }
        counts_free(matrix);
    }
}

static void hot_has_its_share(void **state)
{
    static const double shares[] = {0, 0.25, 0.5, 0.9, 1};
    (void)state;
    FOR_EACH(s, shares)
    {
        char text[32];
        snprintf(text, sizeof text, "hot:%g", shares[s]);
        struct counts *counts = counts_of(text, COUNTS_MATRIX, 5, 1 << 20, 1);
        for (int from = 0; from < 5; from++) {
            double rest = (1 - shares[s]) * (1 << 20) / 4;
            assert_true(
                llabs((long long)block(counts, from, 0) - (long long)(shares[s] * (1 << 20))) <= 2);
            for (int i = 1; i < 5; i++)
                assert_true(llabs((long long)block(counts, from, i) - (long long)rest) <= 2);
        }
        counts_free(counts);
        counts = counts_of(text, COUNTS_VECTOR, 1, 99, 1); /* a single rank has all */
        assert_int_equal(block(counts, 0, 0), 99);
        counts_free(counts);
    }
}

static int descending(const void *x, const void *y)
{
    const size_t *a = x, *b = y;
    return (*a < *b) - (*a > *b);
}

/* The k-th largest is 1/k^S of the largest; whose it is follows from the seed. */
static void zipf_falls_by_popularity(void **state)
{
    enum { RANKS = 16 };
    size_t sorted[RANKS];
    int first_at[2 * RANKS] = {0}, places = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * RANKS; seed++) {
        struct counts *counts = counts_of("zipf:1", COUNTS_VECTOR, RANKS, 10000000, seed);
        struct counts *again = counts_of("zipf:1", COUNTS_VECTOR, RANKS, 10000000, seed);
        size_t most = 0;
        for (int i = 0; i < RANKS; i++) {
            sorted[i] = block(counts, 0, i);
            assert_int_equal(sorted[i], block(again, 0, i));
            if (sorted[i] > most)
                most = sorted[i], first_at[seed - 1] = i;
        }
        qsort(sorted, RANKS, sizeof *sorted, descending);
        for (int k = 1; k < RANKS; k++) {
            assert_true(sorted[k] < sorted[k - 1]);
            assert_true(llabs((long long)(sorted[k] * (size_t)(k + 1)) - (long long)most) <=
                        2 * RANKS);
        }
        counts_free(counts);
        counts_free(again);
    }
    for (int place = 0; place < RANKS; place++)
        for (int s = 0; s < 2 * RANKS; s++)
            if (first_at[s] == place) {
                places++;
                break;
            }
    assert_true(places > RANKS / 2); /* 32 seeds favour more than half of 16 ranks */
}

static int next_but_last(const void *context, int rank, int ranks)
{
    (void)context;
    return rank == ranks - 1 ? -1 : rank + 1;
}

static void partners_know_each_other(void **state)
{
    struct counts *counts;
    (void)state;
    assert_int_equal(counts_of_partners(4, next_but_last, NULL, &counts), STATUS_OK);
    static const int to[] = {1, 2, 3, -1}, from[] = {-1, 0, 1, 2};
    assert_memory_equal(counts->to, to, sizeof to);
    assert_memory_equal(counts->from, from, sizeof from);
    counts_free(counts);
    counts_free(NULL);
}

/* Files. */

static char path[] = "/tmp/cctest-counts-XXXXXX";

static const char *file_with(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void files_are_read(void **state)
{
    (void)state;
    struct counts *matrix = counts_of(file_with("# from\\to\n0 1 2\n\n  3,4 ,\t5 # own\r\n6 7 8"),
                                      COUNTS_MATRIX, 3, 999, 1);
    const struct problem problem = {
        .collective = collective_of(COLLECTIVE_ALLTOALLV), .ranks = 3, .counts = matrix};
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            size_t offset;
            assert_int_equal(counts_sent(matrix, from, to, &offset), 3 * from + to);
            /* A line of the file is a sender, in both buffers of alltoallv. */
            assert_int_equal(collective_block(&problem, from, BUFFER_SOURCE, to, &offset),
                             3 * from + to);
            assert_int_equal(collective_block(&problem, to, BUFFER_DESTINATION, from, &offset),
                             3 * from + to);
        }
    assert_int_equal(counts_mean(matrix), 4);
    counts_free(matrix);
    static const char *const vectors[] = {"5 0 7", "5\n0\n7\n", "#\n5,0,7#\n"};
    FOR_EACH(i, vectors)
    {
        struct counts *vector = counts_of(file_with(vectors[i]), COUNTS_VECTOR, 3, 999, 1);
        assert_int_equal(block(vector, 0, 0), 5);
        assert_int_equal(block(vector, 0, 1), 0);
        assert_int_equal(block(vector, 0, 2), 7);
        counts_free(vector);
    }
}

/* Bytes are those of the larger buffer. A part of an element is a whole one. */
static void sizes_are_rounded_up(void **state)
{
    (void)state;
    static const struct {
        enum collective_id id;
        size_t bytes, count;
    } cases[] = {{COLLECTIVE_ALLREDUCE, 16, 4}, {COLLECTIVE_ALLREDUCE, 17, 5},
                 {COLLECTIVE_ALLREDUCE, 0, 0},  {COLLECTIVE_ALLTOALL, 24, 2},
                 {COLLECTIVE_ALLTOALL, 25, 3},  {COLLECTIVE_GATHER, 1, 1},
                 {COLLECTIVE_BARRIER, 17, 3}};
    FOR_EACH(i, cases)
    {
        const struct collective *collective = collective_of(cases[i].id);
        const struct problem problem = {
            .collective = collective, .ranks = 3, .count = cases[i].count};
        assert_int_equal(collective_count(collective, cases[i].bytes, 4, 3), cases[i].count);
        assert_true(!collective->sized || collective_bytes(&problem, 4) >= cases[i].bytes);
    }
}

/* An element for each rank: with fewer, an iteration does not show that one of them is missing. */
static void barrier_has_an_element_for_each_rank(void **state)
{
    (void)state;
    const struct collective *barrier = collective_of(COLLECTIVE_BARRIER);
    assert_int_equal(collective_count(barrier, 1, 1, 1), 1);
    assert_int_equal(collective_count(barrier, 1, 1, BARRIER_COUNT_MOST), BARRIER_COUNT_MOST);
    assert_int_equal(collective_count(barrier, 1, 1, 1000), BARRIER_COUNT_MOST);
}

static uint64_t fingerprint(const char *text)
{
    struct counts_spec spec = spec_of(file_with(text));
    uint64_t number = counts_fingerprint(&spec);
    free(spec.numbers);
    return number;
}

static void fingerprints_differ(void **state)
{
    static const char *const files[] = {"1 2 3 4", "1 2\n3 4", "1\n2\n3\n4", "1 2 3 5", "2 1 3 4",
                                        "0 0 0 0", "0 0 0",    "0",          "4 3 2 1"};
    (void)state;
    FOR_EACH(i, files)
    FOR_EACH(j, files)
    assert_int_equal(fingerprint(files[i]) == fingerprint(files[j]), i == j);
    assert_int_equal(fingerprint("1 2 # x\n\n3,4"), fingerprint("1 2\n3 4\n"));
}

/* The failure of reading a file, or of making counts for three ranks. */
static void refuses(const char *text, enum counts_kind kind, const char *says)
{
    struct log log;
    struct counts_spec spec;
    struct counts *counts = NULL;
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status = counts_read(text, &spec);
    if (status == STATUS_OK)
        status = counts_create(&spec, kind, 3, 30, 1, &counts);
    free(spec.numbers);
    log_attach(NULL);
    assert_null(counts);
    if (status != STATUS_USAGE || !strstr(log.failure.text, says))
        print_error("%s: status %d, %s\n", text, status, log.failure.text);
    assert_int_equal(status, STATUS_USAGE);
    assert_non_null(strstr(log.failure.text, says));
    assert_null(strchr(log.failure.text, '\n'));
}

static void bad_files_say_where(void **state)
{
    static const struct {
        const char *text, *says;
        enum counts_kind kind;
    } cases[] = {
        {"", "holds no numbers", COUNTS_VECTOR},
        {"# only this\n\n", "holds no numbers", COUNTS_VECTOR},
        {"1 2 3\n4 -5 6\n", ":2: '-5' is negative", COUNTS_MATRIX},
        {"1 2 3\n4 5 x6\n", ":2: 'x6' is not a number", COUNTS_MATRIX},
        {"1 2 3x\n", ":1: '3x' is not a number", COUNTS_VECTOR},
        {"1 2 3.5\n", ":1: '3.5' is not a number", COUNTS_VECTOR},
        {"1 +2 3\n", ":1: '+2' is not a number", COUNTS_VECTOR},
        {"0x10 2 3\n", ":1: '0x10' is not a number", COUNTS_VECTOR},
        {"\n\n1 2 99999999999999999999\n", ":3: '99999999999999999999' is too large",
         COUNTS_VECTOR},
        {"1 2 288230376151711745\n", "is too large", COUNTS_VECTOR},
        {"1 2 3\n# 4 5\n6 7\n", ":3: it has 2 numbers, but earlier lines have 3", COUNTS_MATRIX},
        {"1 2 3\n4 5 6\n", "holds 2 lines of 3 numbers, but 3 ranks", COUNTS_MATRIX},
        {"1 2\n3 4\n5 6\n", "holds 3 lines of 2 numbers, but 3 ranks", COUNTS_MATRIX},
        {"1 2 3\n", "holds 1 line of 3 numbers, but 3 ranks", COUNTS_MATRIX},
        {"1 2 3 4\n", "holds 1 line of 4 numbers, but 3 ranks", COUNTS_VECTOR},
        {"1 2 3\n4 5 6\n7 8 9\n", "holds 3 lines of 3 numbers, but 3 ranks", COUNTS_VECTOR},
        {"200000000000000000 200000000000000000 1\n", "sum of the numbers of rank 0 is too large",
         COUNTS_VECTOR},
        {"0 0 0\n200000000000000000 200000000000000000 1\n0 0 0\n",
         "sum of the numbers of rank 1 is too large", COUNTS_MATRIX},
        {"0 200000000000000000 0\n0 200000000000000000 0\n0 0 0\n",
         "sum of what rank 1 receives is too large", COUNTS_MATRIX},
    };
    (void)state;
    FOR_EACH(i, cases)
    {
        refuses(file_with(cases[i].text), cases[i].kind, cases[i].says);
        refuses(path, cases[i].kind, path);
    }
}

static void bad_words_say_what_there_is(void **state)
{
    (void)state;
    refuses("zipf", COUNTS_VECTOR, "'zipf' is neither a distribution nor a file");
    refuses("zipf:", COUNTS_VECTOR, "--counts zipf: is not a number from 0 to 10");
    refuses("zipf:-1", COUNTS_VECTOR, "zipf:-1 is not a number");
    refuses("zipf:10.5", COUNTS_VECTOR, "zipf:10.5 is not a number from 0 to 10");
    refuses("zipf:nan", COUNTS_VECTOR, "zipf:nan is not a number");
    refuses("zipf:1x", COUNTS_VECTOR, "zipf:1x is not a number");
    refuses("hot:1.01", COUNTS_VECTOR, "hot:1.01 is not a number from 0 to 1");
    refuses("hot:inf", COUNTS_VECTOR, "hot:inf is not a number");
    refuses("Uniform", COUNTS_VECTOR, "give uniform, zipf:S, hot:F, spread, or a file");
    refuses("/", COUNTS_VECTOR, "cannot read /: Is a directory");
}

static int file_make(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int file_drop(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_add_up),
        cmocka_unit_test(both_sides_agree),
        cmocka_unit_test(uniform_is_even),
        cmocka_unit_test(spread_is_spread),
        cmocka_unit_test(hot_has_its_share),
        cmocka_unit_test(zipf_falls_by_popularity),
        cmocka_unit_test(partners_know_each_other),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(sizes_are_rounded_up),
        cmocka_unit_test(barrier_has_an_element_for_each_rank),
        cmocka_unit_test(fingerprints_differ),
        cmocka_unit_test(bad_files_say_where),
        cmocka_unit_test(bad_words_say_what_there_is),
    };
    return cmocka_run_group_tests(tests, file_make, file_drop);
}

/*
 * test_check.c - faults that are put into results by hand must be found, and named as what they
 * are: data that went astray, corruption, and what no single fault explains. Ranks whose share of a
 * reduction is wrong: test_check_reductions.c.
 * tier: check; load: cpu1
 */
#include "dataplane/memory/memory.h"
#include "tests/unit/spoiled.h"

static void test_right(void **state)
{
    (void)state;
    struct bench bench;
    static const char *const names[] = {"allreduce", "reduce_scatter", "reduce",
                                        "allgather", "alltoall",       "broadcast"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int ranks = 1; ranks < 5; ranks++) {
            bench_open(&bench, names[i], "int16", i < 3 ? "max" : NULL, ranks, ranks - 1, 333);
            bench_check(&bench);
            assert_int_equal(bench.finding.wrong, 0);
            assert_string_equal(bench.sentence, "");
            bench_close(&bench);
        }
    }
}

static void test_movement(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        struct bench bench;
        struct pattern before;
        bench_open(&bench, "alltoall", (*type)->name, NULL, 5, 2, 400);
        before = bench.pattern;
        before.inputs.iteration--;

        memset(bench_at(&bench, 1200), PATTERN_POISON, 400 * bench.size);
        expect_hypothesis(
            &bench,
            "data from rank 3 is missing (never written, poison stands there) in elements 12");
        assert_non_null(strstr(bench.sentence, "suspect rank 3, or the path from it to rank 2"));
        memset(bench_at(&bench, 0), PATTERN_POISON, 400 * bench.size);
        expect_hypothesis(&bench, "data from ranks 0, 3 is missing");
        memcpy(bench.destination, bench.right, bench.count * bench.size);

        inputs_make(&before.inputs, 4, 800, 400, bench_at(&bench, 1600));
        expect_hypothesis(&bench,
                          "data from rank 4 is of the iteration before (stale) in elements 1");
        /* Elements of another rank; of another block; not at a block's beginning; of the past. */
        inputs_make(&bench.pattern.inputs, 1, 800, 400, bench_at(&bench, 1600));
        expect_hypothesis(
            &bench, "elements of rank 1 stand where those of rank 4 belong, +0 away in elements 1");
        inputs_make(&bench.pattern.inputs, 4, 1200, 400, bench_at(&bench, 1600));
        expect_hypothesis(&bench,
                          "elements of rank 4 stand where those of rank 4 belong, +400 away");
        inputs_make(&bench.pattern.inputs, 4, 793, 400, bench_at(&bench, 1600));
        expect_hypothesis(&bench, "elements of rank 4 stand where those of rank 4 belong, -7 away");
        inputs_make(&before.inputs, 0, 800, 400, bench_at(&bench, 1600));
        expect_hypothesis(&bench, "elements of rank 0 (of the iteration before) stand where");
        bench_close(&bench);
    }
}

static void test_movement_of_much(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allgather", "int32", NULL, 64, 2, 300000);
    inputs_make(&bench.pattern.inputs, 17, 0, 300000, bench_at(&bench, 3 * 300000));
    expect_hypothesis(&bench, "elements of rank 17 stand where those of rank 3 belong, +0 away");
    bench_close(&bench);
}

static void test_corruption(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        struct bench bench;
        bench_open(&bench, "broadcast", (*type)->name, NULL, 4, 1, 5000);
        *bench_at(&bench, 77) ^= 4;
        expect_hypothesis(&bench, "corrupted on the way or in memory: element 77 from rank 0 is ");
        assert_non_null(strstr(bench.sentence, "(flipped bit 2)"));
        *bench_at(&bench, 4000) ^= 8;
        expect_hypothesis(&bench, "element 4000");
        bench_close(&bench);

        for (const struct reduction *const *op = reductions; *op; op++) {
            if (!reduce_kernel(*type, *op))
                continue;
            bench_open(&bench, "allreduce", (*type)->name, (*op)->name, 4, 1, 50000);
            *bench_at(&bench, 30000) ^= 4;
            expect_hypothesis(&bench, "corrupted on the way or in memory: element 30000 is ");
            bench_close(&bench);
        }
    }
}

static void test_corruption_before_combining(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "int32", "sum", 4, 1, 5000);
    int32_t value = 0x0ffffffc;
    memcpy(bench.right + 400, &value, 4); /* so that adding 4 carries */
    pattern_expect(&bench.pattern, 1, 0, 5000, bench.destination);
    bool carried = false;
    for (size_t i = 0; i < 5000 && !carried; i++) {
        memcpy(&value, bench_at(&bench, i), 4);
        carried = (value & 12) == 4;
        value += 4;
        if (carried)
            memcpy(bench_at(&bench, i), &value, 4);
    }
    pattern_expect(&bench.pattern, 1, 0, 5000, bench.right);
    expect_hypothesis(&bench, "off by +4: one bit flipped before it was combined");
    bench_close(&bench);
}

static void test_one_bit_everywhere(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "broadcast", "uint64", NULL, 4, 1, 50000);
    for (size_t i = 3; i < 50000; i += 512)
        *bench_at(&bench, i) ^= 32;
    expect_hypothesis(&bench, "corrupted on the way or in memory: element 3 ");
    assert_non_null(strstr(bench.sentence, "more like it"));
    bench_close(&bench);
}

static void test_ambiguous(void **state)
{
    (void)state;
    struct bench bench;
    /* One element of one byte: too little to tell 60 sets of ranks apart. */
    bench_open(&bench, "allreduce", "uint8", "sum", 8, 1, 1);
    spoil(&bench, 0, 1, 0x4, CONTRIBUTION_MISSING);
    bench_check(&bench);
    assert_int_equal(bench.finding.wrong, 1);
    assert_non_null(strstr(bench.sentence, "ambiguous: either "));
    assert_non_null(strstr(bench.sentence, ", or "));
    assert_null(strstr(bench.sentence, "suspect"));
    bench_close(&bench);

    /* A factor that is -1 is missing or doubled, which is the same, as long as no other shows. */
    bench_open(&bench, "allreduce", "float", "prod", 2, 1, 1);
    float value;
    memcpy(&value, bench.destination, 4);
    value = -value;
    memcpy(bench.destination, &value, 4);
    bench_check(&bench);
    assert_true(strstr(bench.sentence, "ambiguous: either ") ||
                strstr(bench.sentence, "corrupted"));
    bench_close(&bench);
}

static void test_no_hypothesis(void **state)
{
    (void)state;
    struct bench bench;
    uint64_t random = 88172645463325252u;
    for (int reduces = 0; reduces < 2; reduces++) {
        bench_open(&bench, reduces ? "allreduce" : "allgather", "int32", reduces ? "sum" : NULL, 8,
                   1, 4000);
        for (size_t i = 100; i < 2000; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            memcpy(bench_at(&bench, i), &random, 4);
        }
        expect_hypothesis(&bench, "no single fault explains it");
        assert_null(strstr(bench.sentence, "suspect"));
        bench_close(&bench);
    }
}

static void test_fault_beside_corruption(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "double", "sum", 8, 1, 4000);
    spoil(&bench, 500, 500, 0x10, CONTRIBUTION_DOUBLED);
    *bench_at(&bench, 3000) ^= 1;
    expect_hypothesis(&bench, "the contribution of rank 4 is doubled in elements 500..99");
    assert_non_null(strstr(bench.sentence, "element 3000 is "));
    for (size_t i = 3001; i < 3020; i++)
        *bench_at(&bench, i) ^= 3;
    expect_hypothesis(&bench, "the contribution of rank 4 is doubled in elements 500..99");
    assert_non_null(strstr(bench.sentence, "no explanation fits "));
    bench_close(&bench);
}

static void test_values_are_readable(void **state)
{
    (void)state;
    struct bench bench;
    float value = 1.5f;
    bench_open(&bench, "allreduce", "float", "sum", 2, 0, 10);
    memcpy(bench_at(&bench, 6), &value, 4);
    bench_check(&bench);
    assert_int_equal(bench.finding.first.at, 6);
    assert_non_null(strstr(bench.sentence, ", got 1.5; "));
    memcpy(&value, bench.right + 24, 4);
    assert_true(strtof(strstr(bench.sentence, "expected ") + 9, NULL) == value);
    bench_close(&bench);

    bench_open(&bench, "allreduce", "int8", "max", 2, 0, 10);
    *bench_at(&bench, 2) = -3;
    bench_check(&bench);
    assert_non_null(strstr(bench.sentence, ", got -3; "));
    bench_close(&bench);
}

/* Memory whose elements are wrong when they are counted, and right when they are selected. */
static enum status count_all(const struct memory *memory, const struct comparison *comparison,
                             size_t *wrong)
{
    (void)memory;
    *wrong = comparison->count;
    return STATUS_OK;
}

/* A result that something still writes is not taken for a right one. */
static void test_late_write(void **state)
{
    (void)state;
    struct bench bench;
    const struct memory_kind kind = {
        .compare = count_all, .select = memory_host.select, .read = memory_host.read};
    const struct memory memory = {.kind = &kind};
    bench_open(&bench, "alltoall", "int16", NULL, 3, 1, 500);
    assert_int_equal(check_result(&memory, &bench.pattern, 1, bench.destination, &bench.finding),
                     STATUS_OK);
    assert_int_equal(bench.finding.wrong, 1500);
    bench_say(&bench);
    assert_string_equal(bench.sentence,
                        "1500 elements were wrong in checked iteration 7, and changed during "
                        "the check: a late transfer or another process still writes there");
    /* It is no evidence, and rank 0 takes it behind that of an earlier iteration. */
    const struct wrong_element *element;
    struct evidence_log log = {0}, got = {0};
    struct bytes bytes = {0};
    evidence_log_add(&log, &(struct iteration_evidence){.iteration = 3});
    evidence_log_add(&log, &bench.finding.evidence);
    evidence_log_code(codec_to(&bytes), 3, &log);
    struct reader reader = {.at = bytes.data, .left = bytes.size};
    evidence_log_code(codec_from(&reader), 3, &got);
    assert_true(!reader.bad && reader.left == 0);
    assert_int_equal(evidence_log_ask(&got, 7, 0, &element), EVIDENCE_SILENT);
    bytes_free(&bytes);
    bench_close(&bench);
}

/* The job ends after so many calls. */
static enum tick_answer end_after(void *calls, int peer)
{
    (void)peer;
    return --*(int *)calls < 0 ? TICK_ENDED : TICK_GO_ON;
}

/* Nobody needs the findings of a job that has ended, and no comparison is complete. */
static void test_ended_job(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "int32", "sum", 3, 1, 20000);
    memset(bench.destination, 0, 40000);
    for (int calls = 0; calls < 12; calls++) {
        int left = calls;
        const struct tick tick = {.call = end_after, .argument = &left};
        const struct memory memory = {.kind = in_host.kind, .tick = &tick};
        assert_int_equal(
            check_result(&memory, &bench.pattern, 1, bench.destination, &bench.finding), STATUS_OK);
        assert_int_equal(bench.finding.kind, left < 0 ? FINDING_NONE : FINDING_RESULT);
    }
    bench_close(&bench);
}

/* The changes of a source that lies where bench_open() puts destinations. */
static size_t source_changes(const struct bench *bench, size_t first, size_t count)
{
    size_t changed;
    assert_int_equal(check_source(&in_host, &bench->pattern, bench->rank, bench->destination, first,
                                  count, &changed),
                     STATUS_OK);
    return changed;
}

static void test_source(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "alltoall", "int16", NULL, 3, 1, 10000);
    inputs_make(&bench.pattern.inputs, 1, 0, 30000, bench.destination);
    assert_int_equal(source_changes(&bench, 0, 30000), 0);
    *bench_at(&bench, 5) ^= 1;
    *bench_at(&bench, 29999) ^= 1;
    assert_int_equal(source_changes(&bench, 0, 30000), 2);
    assert_int_equal(source_changes(&bench, 6, 29993), 0);
    assert_int_equal(source_changes(&bench, 29999, 1), 1);
    bench_close(&bench);
}

static void test_barrier(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "barrier", "uint8", "bor", 5, 1, 1);
    bench_check(&bench);
    assert_int_equal(bench.finding.wrong, 0);
    memset(bench.destination, PATTERN_POISON, 1);
    expect_hypothesis(&bench, "poison stands there");
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_movement),
        cmocka_unit_test(test_movement_of_much),
        cmocka_unit_test(test_corruption),
        cmocka_unit_test(test_corruption_before_combining),
        cmocka_unit_test(test_one_bit_everywhere),
        cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_no_hypothesis),
        cmocka_unit_test(test_fault_beside_corruption),
        cmocka_unit_test(test_values_are_readable),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_late_write),
        cmocka_unit_test(test_ended_job),
        cmocka_unit_test(test_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

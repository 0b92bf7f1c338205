/*
 * test_contents.c - each kind of memory fills, makes, compares, scans, reads and writes what it is
 * asked to, and nothing beside it.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/card_memory.h"

#define BYTES    ((size_t)1 << 20)
#define ELEMENTS 40000u /* more than are compared at a time, of every type */
#define FIRST    5000u  /* of the inputs */
#define EDGE     64u    /* bytes beside what is touched, which must stay */

CARD_KIND(card)

/* The memory of this run: a region of a kind, and what its bytes must be. */
static struct memory memory;
static struct region region;
static _Alignas(16) char model[BYTES];

static int region_open(void **state)
{
    (void)state;
    return memory.kind->allocate(BYTES, NULL, &region) != STATUS_OK;
}

static int region_close(void **state)
{
    (void)state;
    memory.kind->release(&region);
    return 0;
}

static void expect_model(void)
{
    char *there = malloc(BYTES);
    assert_non_null(there);
    assert_int_equal(memory.kind->read(&memory, region.base, BYTES, there), STATUS_OK);
    assert_memory_equal(there, model, BYTES);
    free(there);
}

static void fill(size_t at, unsigned char byte, size_t bytes)
{
    assert_int_equal(memory.kind->fill(&memory, region.base + at, byte, bytes), STATUS_OK);
    memset(model + at, byte, bytes);
}

static void fill_and_scan(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 3, 4096, 4097, 100001};
    fill(0, 0x11, BYTES);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct damage damage;
        size_t at = 4096 * i + i, length = lengths[i];
        fill(at, 0xd5, length);
        expect_model();
        assert_int_equal(memory.kind->scan(&memory, region.base + at, 0xd5, length, &damage),
                         STATUS_OK);
        assert_int_equal(damage.bytes, 0);
        if (length < 3)
            continue;
        fill(at + 1, 0xd4, 1);
        fill(at + length - 1, 0, 1);
        assert_int_equal(memory.kind->scan(&memory, region.base + at, 0xd5, length, &damage),
                         STATUS_OK);
        assert_int_equal(damage.bytes, 2);
        assert_int_equal(damage.first, 1);
    }
}

static void write_and_read(void **state)
{
    (void)state;
    const char text[] = "some bytes";
    char back[sizeof text];
    fill(0, 0x22, BYTES);
    assert_int_equal(memory.kind->write(&memory, text, sizeof text, region.base + 4095), STATUS_OK);
    memcpy(model + 4095, text, sizeof text);
    expect_model();
    assert_int_equal(memory.kind->read(&memory, region.base + 4095, sizeof text, back), STATUS_OK);
    assert_memory_equal(back, text, sizeof text);
}

/* Makes the elements of `rank`, or the combination of all, at EDGE in region and model. */
static void place(const struct inputs *inputs, int rank)
{
    size_t bytes = ELEMENTS * inputs->datatype->size;
    inputs_expect(inputs, rank, FIRST, ELEMENTS, model + EDGE);
    if (rank < 0)
        assert_int_equal(memory.kind->write(&memory, model + EDGE, bytes, region.base + EDGE),
                         STATUS_OK);
    else
        assert_int_equal(
            memory.kind->make(&memory, inputs, rank, FIRST, ELEMENTS, region.base + EDGE),
            STATUS_OK);
    expect_model();
}

/* Flips a bit of one element. */
static void spoil(const struct inputs *inputs, size_t element)
{
    char *at = model + EDGE + element * inputs->datatype->size;
    *at ^= 1;
    assert_int_equal(
        memory.kind->write(&memory, at, 1, region.base + EDGE + element * inputs->datatype->size),
        STATUS_OK);
}

static void expect_selection(const struct comparison *comparison, const size_t *wrong, size_t count,
                             size_t skip, size_t stride, size_t most)
{
    size_t at[16], n = 0;
    struct selection selection = {.skip = skip, .stride = stride, .most = most, .at = at};
    assert_int_equal(memory.kind->select(&memory, comparison, &selection), STATUS_OK);
    for (size_t i = skip; i < count && n < most; i += stride, n++)
        assert_int_equal(at[n], wrong[i]);
    assert_int_equal(selection.count, n);
    assert_int_equal(selection.wrong, count);
    assert_true(count == 0 || selection.last == wrong[count - 1]);
}

/* All selections in the first type, whose rule is that of all types, and one in the others. */
static void expect_wrong(const struct comparison *comparison, const size_t *wrong, size_t count)
{
    size_t found;
    assert_int_equal(memory.kind->compare(&memory, comparison, &found), STATUS_OK);
    assert_int_equal(found, count);
    if (comparison->inputs->datatype != datatypes[0] || comparison->rank < 0) {
        expect_selection(comparison, wrong, count, 1, 2, 3);
        return;
    }
    for (size_t stride = 1; stride <= 3; stride++)
        for (size_t skip = 0; skip <= count; skip++)
            for (size_t most = 1; most <= 16; most += 5)
                expect_selection(comparison, wrong, count, skip, stride, most);
}

static void make_and_compare(void **state)
{
    (void)state;
    static const size_t wrong[] = {0, 1, 2, 4095, 4096, 16384, 16385, 39998, 39999};
    const size_t count = sizeof wrong / sizeof *wrong;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        const char *op = (*type)->kind == DATATYPE_PAIR ? "maxloc" : "sum";
        for (int rank = -1; rank < 3; rank += 3) {
            const struct inputs inputs = {.datatype = *type,
                                          .reduction = reduction_find(op),
                                          .ranks = 3,
                                          .seed = 9,
                                          .iteration = 4};
            const struct comparison comparison = {.inputs = &inputs,
                                                  .rank = rank,
                                                  .first = FIRST,
                                                  .count = ELEMENTS,
                                                  .at = region.base + EDGE};
            fill(0, 0x33, BYTES);
            place(&inputs, rank);
            expect_wrong(&comparison, wrong, 0);
            for (size_t i = 0; i < count; i++)
                spoil(&inputs, wrong[i]);
            expect_wrong(&comparison, wrong, count);
        }
    }
}

static enum tick_answer ended(void *calls, int peer)
{
    (void)peer;
    ++*(int *)calls;
    return TICK_ENDED;
}

/* A job that has ended is not kept waiting: each hook asks once, and does nothing. */
static void long_work_ends_with_the_job(void **state)
{
    (void)state;
    int calls = 0;
    const struct tick tick = {.call = ended, .argument = &calls};
    const struct memory ending = {.kind = memory.kind, .engine = memory.engine, .tick = &tick};
    size_t wrong, at;
    const struct inputs inputs = {.datatype = datatype_find("float"), .ranks = 2};
    const struct comparison comparison = {.inputs = &inputs, .count = ELEMENTS, .at = region.base};
    struct selection selection = {.stride = 1, .most = 1, .at = &at};
    fill(0, 0x44, BYTES);
    assert_int_equal(memory.kind->fill(&ending, region.base, 1, BYTES), STATUS_OK);
    assert_int_equal(memory.kind->make(&ending, &inputs, 0, 0, ELEMENTS, region.base), STATUS_OK);
    expect_model();
    assert_int_equal(memory.kind->compare(&ending, &comparison, &wrong), STATUS_OK);
    assert_int_equal(memory.kind->select(&ending, &comparison, &selection), STATUS_OK);
    assert_int_equal(calls, 4);
}

#define GRANULE ((size_t)64 << 10) /* more than what a driver adds to allocations */

/* The bytes that are left of each pool that is exact. */
static void pools_look(size_t left[MEMORY_POOLS])
{
    struct memory_pool pools[MEMORY_POOLS] = {{.which = 0}};
    if (memory.kind->look)
        memory.kind->look(pools);
    for (int i = 0; i < MEMORY_POOLS; i++)
        left[i] = pools[i].which && pools[i].is_exact ? pools[i].left : 0;
}

/* By which the ranks of a device add up what they will take, before they take it. */
static void engine_takes_what_its_kind_says(void **state)
{
    (void)state;
    for (int use = ENGINE_MOVES; use <= ENGINE_CONTENTS; use++) {
        size_t before[MEMORY_POOLS], after[MEMORY_POOLS];
        size_t takes = use == ENGINE_CONTENTS ? memory.kind->engine_bytes : 0;
        struct engine *engine;
        pools_look(before);
        assert_int_equal(memory.kind->engine_open((enum engine_use)use, NULL, &engine), STATUS_OK);
        pools_look(after);
        for (int i = 0; i < MEMORY_POOLS; i++)
            assert_int_equal((before[i] - after[i] + GRANULE - 1) / GRANULE,
                             before[i] > 0 ? (takes + GRANULE - 1) / GRANULE : 0);
        memory.kind->engine_close(engine);
        pools_look(after);
        assert_memory_equal(before, after, sizeof before);
    }
}

static int run_tests_in(const struct memory_kind *kind, const struct CMUnitTest *tests,
                        size_t count)
{
    struct memory_device device;
    if ((kind->settle && kind->settle(NULL, 0, NULL, &device) != STATUS_OK) ||
        memory_open(kind, NULL, &memory) != STATUS_OK)
        return 1;
    int failed = _cmocka_run_group_tests(kind->name, tests, count, region_open, region_close);
    memory_close(&memory);
    return failed;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_and_scan),
        cmocka_unit_test(write_and_read),
        cmocka_unit_test(make_and_compare),
        cmocka_unit_test(long_work_ends_with_the_job),
        cmocka_unit_test(engine_takes_what_its_kind_says),
    };
    int failed = run_tests_in(&card, tests, sizeof tests / sizeof *tests);
    for (int k = 0; memory_kinds[k]; k++)
        if (!memory_kinds[k]->unavailable || !memory_kinds[k]->unavailable())
            failed += run_tests_in(memory_kinds[k], tests, sizeof tests / sizeof *tests);
    return failed;
}

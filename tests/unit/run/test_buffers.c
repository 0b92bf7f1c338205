/*
 * test_buffers.c - buffers lie where they should, and every overwritten canary is named.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/unit/card_memory.h"
#include "run/run.h"

#include <cmocka.h> /* last: it makes a macro of fail() */

static const size_t capacity[BUFFERS] = {
    [BUFFER_SOURCE] = 5000, [BUFFER_DESTINATION] = 8192, [BUFFER_SCRATCH] = 0};

CARD_KIND(card)

/* The kinds of memory that each test is run in, and the one of this run. */
static const struct memory_kind *kinds[4];
static struct memory memory;

static void open_buffers(struct buffers *buffers, size_t spare)
{
    assert_int_equal(buffers_allocate(memory.kind, capacity, spare, NULL, buffers), STATUS_OK);
}

static void fill(char *at, unsigned char byte, size_t bytes)
{
    assert_int_equal(memory.kind->fill(&memory, at, byte, bytes), STATUS_OK);
}

static void expect_filled(const char *at, unsigned char byte, size_t bytes)
{
    struct damage damage;
    assert_int_equal(memory.kind->scan(&memory, at, byte, bytes, &damage), STATUS_OK);
    assert_int_equal(damage.bytes, 0);
}

static void guard(struct buffers *buffers, const size_t used[BUFFERS])
{
    assert_int_equal(buffers_guard(&memory, buffers, used), STATUS_OK);
}

static size_t damaged(const struct buffers *buffers, const size_t used[BUFFERS],
                      struct overrun *overrun)
{
    assert_int_equal(buffers_overrun(&memory, buffers, used, overrun), STATUS_OK);
    return overrun->bytes;
}

static void test_layout(void **state)
{
    (void)state;
    struct buffers buffers;
    open_buffers(&buffers, 0);
    for (int b = 0; b < BUFFERS; b++) {
        assert_int_equal((uintptr_t)buffers.base[b] % 4096, 0);
        assert_int_equal(buffers.bytes[b], capacity[b]);
        fill(buffers.base[b], (unsigned char)(b + 1), capacity[b]);
    }
    for (int b = 0; b < BUFFERS; b++)
        expect_filled(buffers.base[b], (unsigned char)(b + 1), capacity[b]);
    buffers_release(&buffers);
    assert_null(buffers.region.base);
}

/* The damage is found; then the canaries are whole again. */
static void expect_overrun(struct buffers *buffers, const size_t used[BUFFERS], enum buffer buffer,
                           size_t bytes, int64_t first)
{
    struct overrun overrun;
    assert_int_equal(damaged(buffers, used, &overrun), bytes);
    assert_int_equal(overrun.buffer, buffer);
    assert_int_equal(overrun.first, first);
    guard(buffers, used);
}

static void test_guard(void **state)
{
    (void)state;
    struct buffers buffers;
    struct overrun overrun;
    size_t used[BUFFERS] = {[BUFFER_SOURCE] = 5000, [BUFFER_DESTINATION] = 8192};
    open_buffers(&buffers, 0);
    guard(&buffers, used);
    /* Used bytes are not guarded, and guards of one buffer do not lie in another. */
    for (int b = 0; b < BUFFERS; b++)
        fill(buffers.base[b], 1, used[b]);
    assert_int_equal(damaged(&buffers, used, &overrun), 0);

    fill(buffers.base[BUFFER_DESTINATION] + 8192, 0, 3);
    expect_overrun(&buffers, used, BUFFER_DESTINATION, 3, 8192);
    fill(buffers.base[BUFFER_SOURCE] - 1, 0, 1);
    expect_overrun(&buffers, used, BUFFER_SOURCE, 1, -1);
    fill(buffers.base[BUFFER_SCRATCH] + 4095, 0, 1);
    expect_overrun(&buffers, used, BUFFER_SCRATCH, 1, 4095);
    buffers_release(&buffers);
}

static void test_guards_move(void **state)
{
    (void)state;
    struct buffers buffers;
    struct overrun overrun;
    open_buffers(&buffers, 0);
    for (size_t bytes = 0; bytes <= 8192; bytes += 1021) {
        size_t used[BUFFERS] = {
            [BUFFER_SOURCE] = bytes < 5000 ? bytes : 5000, [BUFFER_DESTINATION] = bytes};
        guard(&buffers, used);
        fill(buffers.base[BUFFER_DESTINATION], 7, bytes);
        assert_int_equal(damaged(&buffers, used, &overrun), 0);
        fill(buffers.base[BUFFER_DESTINATION] + bytes, 7, 1);
        assert_int_equal(damaged(&buffers, used, &overrun), 1);
    }
    buffers_release(&buffers);
}

/* The spare area lies behind all canaries, to the region's last byte. */
static void test_spare(void **state)
{
    (void)state;
    enum { SPARE = 10000 };
    struct buffers buffers;
    struct overrun overrun;
    open_buffers(&buffers, SPARE);
    assert_ptr_equal(buffers.spare + SPARE, buffers.region.base + buffers.region.bytes);
    guard(&buffers, capacity);
    fill(buffers.spare, 1, SPARE);
    assert_int_equal(damaged(&buffers, capacity, &overrun), 0);
    guard(&buffers, capacity);
    expect_filled(buffers.spare, 1, SPARE);
    buffers_release(&buffers);
}

static void test_too_large(void **state)
{
    (void)state;
    struct buffers buffers;
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    const size_t sizes[BUFFERS] = {SIZE_MAX - 5, 0, 0},
                 halves[BUFFERS] = {SIZE_MAX / 2, SIZE_MAX / 2, 9};
    assert_int_equal(buffers_allocate(memory.kind, sizes, 0, NULL, &buffers), STATUS_ERROR);
    assert_non_null(strstr(log.failure.text, "does not fit"));
    assert_int_equal(buffers_allocate(memory.kind, halves, 0, NULL, &buffers), STATUS_ERROR);
    const size_t none[BUFFERS] = {0};
    assert_int_equal(buffers_allocate(memory.kind, none, SIZE_MAX - 5, NULL, &buffers),
                     STATUS_ERROR);
    assert_non_null(strstr(log.failure.text, "does not fit"));
    buffers_release(&buffers);
    log_attach(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),      cmocka_unit_test(test_guard),
        cmocka_unit_test(test_guards_move), cmocka_unit_test(test_spare),
        cmocka_unit_test(test_too_large),
    };
    kinds[0] = memory_find("host");
    kinds[1] = memory_find("shared");
    kinds[2] = &card;
    int failed = 0;
    for (int k = 0; kinds[k]; k++) {
        memory = (struct memory){.kind = kinds[k]};
        failed += cmocka_run_group_tests_name(kinds[k]->name, tests, NULL, NULL);
    }
    return failed;
}

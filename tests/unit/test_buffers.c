/*
 * test_buffers.c - buffers lie where they should, and every overwritten canary is named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "run/buffers.h"

#include <cmocka.h> /* last: it makes a macro of fail() */

static const size_t capacity[BUFFERS] = {
    [BUFFER_SOURCE] = 5000, [BUFFER_DESTINATION] = 8192, [BUFFER_SCRATCH] = 0};

static void open_buffers(struct buffers *buffers, const char *kind)
{
    assert_int_equal(buffers_allocate(memory_find(kind), capacity, 0, NULL, buffers), STATUS_OK);
}

static void test_layout(void **state)
{
    (void)state;
    static const char *const kinds[] = {"host", "shared"};
    for (int k = 0; k < 2; k++) {
        struct buffers buffers;
        open_buffers(&buffers, kinds[k]);
        for (int b = 0; b < BUFFERS; b++) {
            assert_int_equal((uintptr_t)buffers.base[b] % 4096, 0);
            assert_int_equal(buffers.bytes[b], capacity[b]);
            memset(buffers.base[b], b + 1, capacity[b]);
        }
        for (int b = 0; b < BUFFERS; b++) {
            for (size_t i = 0; i < capacity[b]; i++)
                assert_int_equal(buffers.base[b][i], b + 1);
        }
        buffers_release(&buffers);
        assert_null(buffers.region.base);
    }
}

/* The damage is found; then the canaries are whole again. */
static void expect_overrun(struct buffers *buffers, const size_t used[BUFFERS], enum buffer buffer,
                           size_t bytes, int64_t first)
{
    struct overrun overrun;
    assert_true(buffers_overrun(buffers, used, &overrun));
    assert_int_equal(overrun.buffer, buffer);
    assert_int_equal(overrun.bytes, bytes);
    assert_int_equal(overrun.first, first);
    buffers_guard(buffers, used);
}

static void test_guard(void **state)
{
    (void)state;
    struct buffers buffers;
    struct overrun overrun;
    size_t used[BUFFERS] = {[BUFFER_SOURCE] = 5000, [BUFFER_DESTINATION] = 8192};
    open_buffers(&buffers, "host");
    buffers_guard(&buffers, used);
    /* What is used is not guarded, and guards of one buffer do not lie in another. */
    for (int b = 0; b < BUFFERS; b++)
        memset(buffers.base[b], 1, used[b]);
    assert_false(buffers_overrun(&buffers, used, &overrun));

    memset(buffers.base[BUFFER_DESTINATION] + 8192, 0, 3);
    expect_overrun(&buffers, used, BUFFER_DESTINATION, 3, 8192);
    buffers.base[BUFFER_SOURCE][-1] = 0;
    expect_overrun(&buffers, used, BUFFER_SOURCE, 1, -1);
    buffers.base[BUFFER_SCRATCH][4095] = 0;
    expect_overrun(&buffers, used, BUFFER_SCRATCH, 1, 4095);
    buffers_release(&buffers);
}

static void test_guards_move(void **state)
{
    (void)state;
    struct buffers buffers;
    struct overrun overrun;
    open_buffers(&buffers, "host");
    for (size_t bytes = 0; bytes <= 8192; bytes += 1021) {
        size_t used[BUFFERS] = {
            [BUFFER_SOURCE] = bytes < 5000 ? bytes : 5000, [BUFFER_DESTINATION] = bytes};
        buffers_guard(&buffers, used);
        memset(buffers.base[BUFFER_DESTINATION], 7, bytes);
        assert_false(buffers_overrun(&buffers, used, &overrun));
        buffers.base[BUFFER_DESTINATION][bytes] = 7;
        assert_true(buffers_overrun(&buffers, used, &overrun));
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
    assert_int_equal(buffers_allocate(memory_find("host"), capacity, SPARE, NULL, &buffers),
                     STATUS_OK);
    assert_ptr_equal(buffers.spare + SPARE, buffers.region.base + buffers.region.bytes);
    buffers_guard(&buffers, capacity);
    memset(buffers.spare, 1, SPARE);
    assert_false(buffers_overrun(&buffers, capacity, &overrun));
    buffers_guard(&buffers, capacity);
    for (int i = 0; i < SPARE; i++)
        assert_int_equal(buffers.spare[i], 1);
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
    assert_int_equal(buffers_allocate(memory_find("host"), sizes, 0, NULL, &buffers), STATUS_ERROR);
    assert_non_null(strstr(log.failure.text, "does not fit"));
    assert_int_equal(buffers_allocate(memory_find("host"), halves, 0, NULL, &buffers),
                     STATUS_ERROR);
    const size_t none[BUFFERS] = {0};
    assert_int_equal(buffers_allocate(memory_find("host"), none, SIZE_MAX - 5, NULL, &buffers),
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
    return cmocka_run_group_tests(tests, NULL, NULL);
}

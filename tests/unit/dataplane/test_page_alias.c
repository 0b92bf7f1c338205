/*
 * test_page_alias.c - which offsets in pages make copies slow, and copies between such offsets.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/memory/memory.h"

#define BYTES 10001 /* several pages, and more than the C library copies by vectors */

static char memory[4 * ALIAS_PAGE + 2 * BYTES];

static void test_offsets(void **state)
{
    (void)state;
    static const struct {
        int apart; /* of the target, behind the source, in bytes */
        bool alias;
    } cases[] = {{0, false},    {1, true},     {4, true},      {15, true},    {16, false},
                 {64, false},   {4080, false}, {4095, false},  {4096, false}, {4097, true},
                 {8207, true},  {8208, false}, {-1, false},    {-15, false},  {-4080, false},
                 {-4081, true}, {-4095, true}, {-4096, false}, {-8191, true}};
    const char *from = memory + 2 * ALIAS_PAGE + 4;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(page_offsets_alias(from + cases[i].apart, from), cases[i].alias);
        assert_true(cases[i].alias || !page_alias(from + cases[i].apart, from));
    }
}

/* Every byte arrives, and none beside them changes. */
static void test_copies(void **state)
{
    (void)state;
    for (size_t shift = 0; shift <= 17; shift++) {
        char *from = memory, *to = memory + 3 * ALIAS_PAGE + shift;
        for (size_t i = 0; i < BYTES; i++)
            from[i] = (char)(i * 131 + i / 256 + shift);
        to[-1] = to[BYTES] = 77;
        const struct piece source = {from, BYTES, BYTES, 1}, target = {to, BYTES, BYTES, 1};
        struct cursor out, in;
        cursor_start(&out, (struct layout){.pieces = &target, .count = 1});
        cursor_start(&in, (struct layout){.pieces = &source, .count = 1});
        cursor_copy(&out, &in, BYTES);
        assert_memory_equal(to, from, BYTES);
        assert_true(to[-1] == 77 && to[BYTES] == 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_offsets),
                                       cmocka_unit_test(test_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

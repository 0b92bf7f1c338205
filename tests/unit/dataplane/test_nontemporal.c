/*
 * test_nontemporal.c - copies and reductions past the cache equal plain loops, at every alignment
 * and at lengths around those of lines and blocks, and touch no other byte.
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

#define LINE 64
#define MOST 20000 /* bytes: several times the distance of the prefetch */
#define EDGE 64    /* bytes around targets that must stay */

static _Alignas(LINE) unsigned char from[2][MOST + 2 * LINE], to[MOST + 2 * LINE + 2 * EDGE],
    want[MOST];

static void fill(void)
{
    uint32_t random = 11;
    for (size_t i = 0; i < sizeof from; i++) {
        random = random * 1664525 + 1013904223;
        ((unsigned char *)from)[i] = (unsigned char)(random >> 24);
    }
}

/* A target `shift` bytes behind the start of a line, among bytes that check() compares, too. */
static unsigned char *target(size_t shift, size_t bytes)
{
    memset(to + shift, 0x5a, bytes + 2 * EDGE);
    return to + shift + EDGE;
}

static void check(size_t shift, size_t bytes)
{
    unsigned char edge[EDGE];
    memset(edge, 0x5a, sizeof edge);
    assert_memory_equal(to + shift, edge, EDGE);
    assert_memory_equal(to + shift + EDGE, want, bytes);
    assert_memory_equal(to + shift + EDGE + bytes, edge, EDGE);
}

static void copy(size_t bytes, size_t to_shift, size_t from_shift)
{
    memcpy(want, from[0] + from_shift, bytes);
    nontemporal_copy(target(to_shift, bytes), from[0] + from_shift, bytes);
    check(to_shift, bytes);
}

static void test_copy(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < LINE; shift++) {
        for (size_t bytes = 0; bytes <= 4 * LINE; bytes++)
            copy(bytes, shift, (shift * 7 + bytes) % LINE);
        for (size_t bytes = 4096 - LINE; bytes <= 4096 + 3 * LINE; bytes += 13)
            copy(bytes, shift, (shift * 7 + bytes) % LINE);
        copy(MOST, shift, shift * 5 % LINE);
    }
}

/* `shift`: of the target and of both operands, in elements. */
static void reduce(const struct datatype *type, const struct reduction *op, size_t elements,
                   const size_t shift[3])
{
    reduce_function *kernel = reduce_kernel(type, op);
    size_t size = type->size, bytes = elements * size;
    const unsigned char *a = from[0] + shift[1] * size, *b = from[1] + shift[2] * size;
    kernel(want, a, b, elements);
    nontemporal_reduce(kernel, size, target(shift[0] * size, bytes), a, b, elements);
    check(shift[0] * size, bytes);
    unsigned char *in_place = target(shift[0] * size, bytes);
    memcpy(in_place, a, bytes);
    nontemporal_reduce(kernel, size, in_place, in_place, b, elements);
    check(shift[0] * size, bytes);
    memcpy(in_place, b, bytes);
    nontemporal_reduce(kernel, size, in_place, a, in_place, elements);
    check(shift[0] * size, bytes);
}

static void reduce_lengths(const struct datatype *type, const struct reduction *op)
{
    size_t line = LINE / type->size, most = MOST / type->size;
    for (size_t s = 0; s < line; s += 3) {
        const size_t shift[] = {s, s * 5 % line, (s + 1) % line};
        for (size_t elements = 0; elements <= 3 * line; elements += elements < line ? 1 : 7)
            reduce(type, op, elements, shift);
        for (size_t elements = most / 16; elements <= most; elements += most / 7 + 1)
            reduce(type, op, elements, shift);
    }
}

static void test_reduce(void **state)
{
    (void)state;
    static const char *const names[] = {[DATATYPE_SIGNED] = "sum",
                                        [DATATYPE_UNSIGNED] = "sum",
                                        [DATATYPE_FLOAT] = "min",
                                        [DATATYPE_PAIR] = "maxloc"};
    for (const struct datatype *const *type = datatypes; *type; type++)
        reduce_lengths(*type, reduction_find(names[(*type)->kind]));
}

/* An element that does not divide a line: three bytes, of which the kernel keeps the larger. */
static void largest(void *out, const void *a, const void *b, size_t elements)
{
    for (size_t i = 0; i < elements; i++) {
        const unsigned char *x = (const unsigned char *)a + 3 * i;
        const unsigned char *y = (const unsigned char *)b + 3 * i;
        memmove((unsigned char *)out + 3 * i, memcmp(x, y, 3) < 0 ? y : x, 3);
    }
}

static void test_odd_element(void **state)
{
    (void)state;
    size_t elements = 1001, bytes = 3 * elements;
    largest(want, from[0], from[1], elements);
    nontemporal_reduce(largest, 3, target(0, bytes), from[0], from[1], elements);
    check(0, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_odd_element),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

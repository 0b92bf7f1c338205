/*
 * test_nccl_refusal.c - what NCCL cannot do is refused before anything runs, and nothing else is.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/reference/nccl/refusal.h"

/* `expected`: a part of the reason; NULL: it is not refused. */
static void expect(const char *type, const char *operator, int ranks, const char *expected)
{
    char why[VENDOR_WHY_MOST] = "";
    const struct vendor_task task = {.collective = collective_of(COLLECTIVE_ALLREDUCE),
                                     .datatype = datatype_find(type),
                                     .reduction = reduction_find(operator),
                                     .ranks = ranks};
    const char *reason = nccl_refuses(&task, why);
    if (!expected)
        assert_null(reason);
    else
        assert_non_null(reason && strstr(reason, expected) ? reason : NULL);
}

static void test_types_and_operators(void **state)
{
    (void)state;
    expect("float", "sum", 3, NULL);
    expect("bfloat16", "max", 5, NULL);
    expect("int16", "sum", 2, "NCCL has no type int16");
    expect("int32", "bxor", 2, "NCCL has no operator bxor");
}

/* The average of floats: 1/n has to be a value of the type. That of integers is exact. */
static void test_averages(void **state)
{
    (void)state;
    static const char *const types[] = {"float", "double", "float16", "float8_e4m3", "float8_e5m2"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        expect(types[i], "avg", 1, NULL);
        expect(types[i], "avg", 3, "by 1/3");
        expect(types[i], "avg", 6, "by 1/6");
        expect(types[i], "avg", 512, NULL);
        expect(types[i], "avg", 1024, strstr(types[i], "e4m3") ? "512 at most" : NULL);
    }
    expect("int32", "avg", 3, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types_and_operators),
                                       cmocka_unit_test(test_averages)};
    return cmocka_run_group_tests_name("nccl refusal", tests, NULL, NULL);
}

/*
 * test_small_float.c - the conversions of floats of 8 and 16 bits: all of their values, and
 * rounding on both sides of every boundary.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "dataplane/memory/small_float.h"
#include "tests/unit/oracle.h"

static float widen(enum datatype_id type, uint32_t code)
{
    switch (type) {
    case TYPE_FLOAT16:
        return float16_widen((uint16_t)code);
    case TYPE_BFLOAT16:
        return bfloat16_widen((uint16_t)code);
    case TYPE_E4M3:
        return e4m3_widen((uint8_t)code);
    default:
        return e5m2_widen((uint8_t)code);
    }
}

static uint32_t narrow(enum datatype_id type, float value)
{
    switch (type) {
    case TYPE_FLOAT16:
        return float16_narrow(value);
    case TYPE_BFLOAT16:
        return bfloat16_narrow(value);
    case TYPE_E4M3:
        return e4m3_narrow(value);
    default:
        return e5m2_narrow(value);
    }
}

static void test_all_values(void **state)
{
    (void)state;
    for (const struct format *format = formats; format < formats + FORMATS; format++) {
        for (uint32_t code = 0; code < 2 * format_sign(format); code++) {
            double value = format_value(format, code);
            float got = widen(format->type, code);
            if (isnan(value)) {
                assert_true(isnan(got));
                assert_true(isnan(format_value(format, narrow(format->type, got))));
            } else {
                assert_true((double)got == value && !signbit(got) == !signbit(value));
                assert_int_equal(narrow(format->type, got), code);
            }
        }
    }
}

static void rounds(const struct format *format, float value)
{
    uint32_t got = narrow(format->type, value), want = format_round(format, (double)value);
    bool nan = isnan(format_value(format, want));
    if (nan ? !isnan(format_value(format, got)) : got != want)
        fail_msg("type %d: %a becomes 0x%x instead of 0x%x", format->type, (double)value, got,
                 want);
    assert_int_equal(got & format_sign(format), want & format_sign(format));
}

/* Each value, the middle between it and the next, and the floats beside these. */
static void test_rounding(void **state)
{
    (void)state;
    for (const struct format *format = formats; format < formats + FORMATS; format++) {
        for (uint32_t magnitude = 0; magnitude < format_end(format); magnitude++) {
            double low = magnitude_value(format, magnitude),
                   high = magnitude_value(format, magnitude + 1);
            const float marks[] = {(float)low, (float)((low + high) / 2)};
            for (int i = 0; i < 2; i++) {
                const float near[] = {marks[i], nextafterf(marks[i], INFINITY),
                                      nextafterf(marks[i], -INFINITY)};
                for (int n = 0; n < 3; n++) {
                    rounds(format, near[n]);
                    rounds(format, -near[n]);
                }
            }
        }
        uint32_t bits = 1;
        for (int i = 0; i < 1 << 20; i++) {
            bits = bits * 1664525 + 1013904223;
            rounds(format, float_of(bits));
        }
        rounds(format, INFINITY);
        rounds(format, -INFINITY);
        rounds(format, NAN);
    }
}

/* The characteristic numbers of the formats. */
static void test_known_values(void **state)
{
    (void)state;
    assert_true(e4m3_widen(0x7e) == 448 && e4m3_widen(0x01) == 0x1p-9f);
    assert_true(isnan(e4m3_widen(0x7f)) && isnan(e4m3_widen(0xff)));
    assert_int_equal(e4m3_narrow(464), 0x7e);
    assert_int_equal(e4m3_narrow(465), 0x7f);
    assert_true(e5m2_widen(0x7b) == 57344 && e5m2_widen(0x01) == 0x1p-16f);
    assert_true(isinf(e5m2_widen(0x7c)));
    assert_true(float16_widen(0x7bff) == 65504 && float16_widen(0x0001) == 0x1p-24f);
    assert_true(bfloat16_widen(0x3f80) == 1);
    assert_int_equal(float16_narrow(65520), 0x7c00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_values),
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * oracle.h - the small floats by their definition: a table of formats, the number
 * that a code stands for, and the code that is nearest to a number. It shares nothing with
 * small_float.h, which it tests.
 */
#ifndef CCTEST_TEST_ORACLE_H
#define CCTEST_TEST_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/memory/datatype.h"

struct format {
    enum datatype_id type;
    int exponent, mantissa; /* bits */
    bool has_infinity;
};

static const struct format formats[] = {
    {TYPE_FLOAT16, 5, 10, true},
    {TYPE_BFLOAT16, 8, 7, true},
    {TYPE_E4M3, 4, 3, false},
    {TYPE_E5M2, 5, 2, true},
};
#define FORMATS (sizeof formats / sizeof *formats)

/* NULL: the type is none of them. */
static inline const struct format *format_of(enum datatype_id type)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].type == type)
            return &formats[i];
    return NULL;
}

/* The first magnitude that is no number. */
static inline uint32_t format_end(const struct format *format)
{
    uint32_t top = (1u << (format->exponent + format->mantissa)) - 1;
    return format->has_infinity ? top - ((1u << format->mantissa) - 1) : top;
}

static inline uint32_t format_sign(const struct format *format)
{
    return 1u << (format->exponent + format->mantissa);
}

/* The magnitude's value if all exponents were those of numbers. */
static inline double magnitude_value(const struct format *format, uint32_t magnitude)
{
    int bias = (1 << (format->exponent - 1)) - 1;
    int exponent = (int)(magnitude >> format->mantissa);
    double fraction = magnitude & ((1u << format->mantissa) - 1);
    if (exponent > 0)
        fraction += 1 << format->mantissa;
    return ldexp(fraction, (exponent > 0 ? exponent : 1) - bias - format->mantissa);
}

static inline double format_value(const struct format *format, uint32_t code)
{
    uint32_t sign = format_sign(format), magnitude = code & (sign - 1);
    double value = magnitude_value(format, magnitude);
    if (magnitude >= format_end(format))
        value = format->has_infinity && magnitude == format_end(format) ? INFINITY : NAN;
    return code & sign ? -value : value;
}

/* The nearest code; of two that are as near, the even one. */
static inline uint32_t format_round(const struct format *format, double value)
{
    uint32_t sign = signbit(value) ? format_sign(format) : 0, low = 0, high = format_end(format);
    value = fabs(value);
    if (isnan(value))
        return sign | (format_sign(format) - 1);
    if (value >= magnitude_value(format, high))
        return sign | high;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (magnitude_value(format, middle) <= value)
            low = middle;
        else
            high = middle;
    }
    double below = value - magnitude_value(format, low);
    double above = magnitude_value(format, high) - value;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

#endif

/*
 * reduce_element.h - what each operator makes of two elements, and what finishes a result.
 *
 * Integers are combined in unsigned arithmetic, where wrapping is defined. To the logical
 * operators 0 is false and all else is true; they give 0 or 1.
 *
 * An average of integers is divided as in C, towards 0. Quotients of up to 32 bits are computed in
 * floating point, many times faster than by integer division, and exactly: a quotient that is not
 * a whole number is farther from one than the rounding error.
 *
 * Each pair of small floats is combined in float and rounded back at once (small_float.h), as
 * hardware with these types does. The sum, the product and the quotient of two of them in float
 * are exact, or so near that rounding twice equals rounding once. The greater of two is found
 * without floats: the bits of a float without its sign, read as an integer, are ordered as the
 * floats are. So -0 is below 0, NaN is beyond the infinities, and the order of combining does not
 * matter.
 *
 * Of pairs, the greatest or least value wins, with the index that came with it; of equal values,
 * the smaller index.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_REDUCE_ELEMENT_H
#define CCTEST_DATAPLANE_MEMORY_REDUCE_ELEMENT_H

#include "dataplane/memory/small_float.h"

#define REDUCE_ELEMENT(name, type, expression)                                                     \
    ELEMENT type name(type x, type y)                                                              \
    {                                                                                              \
        return (type)(expression);                                                                 \
    }

/* `n`: the number of ranks, in the type that the result is divided in. */
#define FINISH_ELEMENT(name, type, divisor, expression)                                            \
    ELEMENT type name(type x, divisor n)                                                           \
    {                                                                                              \
        return (type)(expression);                                                                 \
    }

/* Integers. `wide`: an unsigned type that is no narrower than unsigned int, so that nothing is
 * promoted to a signed type, whose products may overflow. */
#define WRAPPING_ELEMENTS(bits, type, wide)                                                        \
    REDUCE_ELEMENT(sum_##bits, type, (wide)x + (wide)y)                                            \
    REDUCE_ELEMENT(prod_##bits, type, (wide)x *(wide)y)                                            \
    REDUCE_ELEMENT(land_##bits, type, (x != 0) & (y != 0))                                         \
    REDUCE_ELEMENT(lor_##bits, type, (x | y) != 0)                                                 \
    REDUCE_ELEMENT(lxor_##bits, type, (x != 0) ^ (y != 0))                                         \
    REDUCE_ELEMENT(band_##bits, type, x &y)                                                        \
    REDUCE_ELEMENT(bor_##bits, type, x | y)                                                        \
    REDUCE_ELEMENT(bxor_##bits, type, x ^ y)

WRAPPING_ELEMENTS(8, uint8_t, uint32_t)
WRAPPING_ELEMENTS(16, uint16_t, uint32_t)
WRAPPING_ELEMENTS(32, uint32_t, uint32_t)
WRAPPING_ELEMENTS(64, uint64_t, uint64_t)

#define ORDERED_ELEMENTS(name, type)                                                               \
    REDUCE_ELEMENT(min_##name, type, x < y ? x : y)                                                \
    REDUCE_ELEMENT(max_##name, type, x > y ? x : y)

ORDERED_ELEMENTS(int8, int8_t)
ORDERED_ELEMENTS(int16, int16_t)
ORDERED_ELEMENTS(int32, int32_t)
ORDERED_ELEMENTS(int64, int64_t)
ORDERED_ELEMENTS(uint8, uint8_t)
ORDERED_ELEMENTS(uint16, uint16_t)
ORDERED_ELEMENTS(uint32, uint32_t)
ORDERED_ELEMENTS(uint64, uint64_t)
FINISH_ELEMENT(finish_int8, int8_t, float, (int)((float)x / n))
FINISH_ELEMENT(finish_int16, int16_t, float, (int)((float)x / n))
FINISH_ELEMENT(finish_int32, int32_t, double, (double)x / n)
FINISH_ELEMENT(finish_int64, int64_t, int64_t, x / n)
FINISH_ELEMENT(finish_uint8, uint8_t, float, (int)((float)x / n))
FINISH_ELEMENT(finish_uint16, uint16_t, float, (int)((float)x / n))
FINISH_ELEMENT(finish_uint32, uint32_t, double, (double)x / n)
FINISH_ELEMENT(finish_uint64, uint64_t, uint64_t, x / n)

/* Floats that the machine computes with. */
#define FLOAT_ELEMENTS(type)                                                                       \
    REDUCE_ELEMENT(sum_##type, type, x + y)                                                        \
    REDUCE_ELEMENT(prod_##type, type, x *y)                                                        \
    ORDERED_ELEMENTS(type, type)                                                                   \
    FINISH_ELEMENT(finish_##type, type, type, x / n)

FLOAT_ELEMENTS(float)
FLOAT_ELEMENTS(double)

/* Small floats. KEY: an integer that is ordered as the floats are; x ^ its magnitude's bits where
 * the sign is set. */
#define KEY_8(x)  ((int8_t)((x) ^ ((uint8_t)((int8_t)(x) >> 7) & 0x7f)))
#define KEY_16(x) ((int16_t)((x) ^ ((uint16_t)((int16_t)(x) >> 15) & 0x7fff)))

#define SMALL_ELEMENTS(format, type, KEY)                                                          \
    REDUCE_ELEMENT(sum_##format, type, format##_narrow(format##_widen(x) + format##_widen(y)))     \
    REDUCE_ELEMENT(prod_##format, type, format##_narrow(format##_widen(x) * format##_widen(y)))    \
    REDUCE_ELEMENT(min_##format, type, KEY(x) < KEY(y) ? x : y)                                    \
    REDUCE_ELEMENT(max_##format, type, KEY(x) > KEY(y) ? x : y)                                    \
    FINISH_ELEMENT(finish_##format, type, float, format##_narrow(format##_widen(x) / n))

SMALL_ELEMENTS(float16, uint16_t, KEY_16)
SMALL_ELEMENTS(bfloat16, uint16_t, KEY_16)
SMALL_ELEMENTS(e4m3, uint8_t, KEY_8)
SMALL_ELEMENTS(e5m2, uint8_t, KEY_8)

/* Pairs, in two words: does the one of value x win over the one of value y? `at`, `other`: their
 * indices. VALUE: what a word says; index: the signed type of its size. */
#define PAIR_ELEMENT(name, word, index, VALUE, better)                                             \
    ELEMENT int name(word x, word at, word y, word other)                                          \
    {                                                                                              \
        /* Numbers, not conditions: of conditions compilers make branches, or warn. */             \
        const int wins = VALUE(x) better VALUE(y), equal = VALUE(x) == VALUE(y);                   \
        const int first = (index)at <= (index)other;                                               \
        return wins | (equal & first);                                                             \
    }

#define PAIR_ELEMENTS(name, word, index, VALUE)                                                    \
    PAIR_ELEMENT(maxloc_##name, word, index, VALUE, >)                                             \
    PAIR_ELEMENT(minloc_##name, word, index, VALUE, <)

PAIR_ELEMENTS(float_int32, uint32_t, int32_t, float_of)
PAIR_ELEMENTS(int32_int32, uint32_t, int32_t, (int32_t))
PAIR_ELEMENTS(double_int64, uint64_t, int64_t, double_of)
PAIR_ELEMENTS(int64_int64, uint64_t, int64_t, (int64_t))

/* The operators of a kind of type: X(operator, function, type of the elements). Those that combine
 * integers of either sign have one function for both. */
#define WRAPPING_OPERATORS(X, bits)                                                                \
    X(SUM, sum_##bits, uint##bits##_t)                                                             \
    X(PROD, prod_##bits, uint##bits##_t)                                                           \
    X(LAND, land_##bits, uint##bits##_t)                                                           \
    X(LOR, lor_##bits, uint##bits##_t)                                                             \
    X(LXOR, lxor_##bits, uint##bits##_t)                                                           \
    X(BAND, band_##bits, uint##bits##_t)                                                           \
    X(BOR, bor_##bits, uint##bits##_t)                                                             \
    X(BXOR, bxor_##bits, uint##bits##_t)
#define ORDERED_OPERATORS(X, name, type)                                                           \
    X(MIN, min_##name, type)                                                                       \
    X(MAX, max_##name, type)
#define INTEGER_OPERATORS(X, name, bits)                                                           \
    WRAPPING_OPERATORS(X, bits)                                                                    \
    X(AVG, sum_##bits, uint##bits##_t)                                                             \
    ORDERED_OPERATORS(X, name, name##_t)
#define FLOAT_OPERATORS(X, name, type)                                                             \
    X(SUM, sum_##name, type)                                                                       \
    X(PROD, prod_##name, type)                                                                     \
    ORDERED_OPERATORS(X, name, type)
#define FLOATING_OPERATORS(X, name, type)                                                          \
    FLOAT_OPERATORS(X, name, type)                                                                 \
    X(AVG, sum_##name, type)
#define PAIR_OPERATORS(X, name, word)                                                              \
    X(MAXLOC, maxloc_##name, word)                                                                 \
    X(MINLOC, minloc_##name, word)

/* All functions that finish a result: X(function, type, divisor). */
#define NATIVE_FINISHES(X)                                                                         \
    X(finish_int8, int8_t, float)                                                                  \
    X(finish_int16, int16_t, float)                                                                \
    X(finish_int32, int32_t, double)                                                               \
    X(finish_int64, int64_t, int64_t)                                                              \
    X(finish_uint8, uint8_t, float)                                                                \
    X(finish_uint16, uint16_t, float)                                                              \
    X(finish_uint32, uint32_t, double)                                                             \
    X(finish_uint64, uint64_t, uint64_t)                                                           \
    X(finish_float, float, float)                                                                  \
    X(finish_double, double, double)
#define SMALL_FINISHES(X)                                                                          \
    X(finish_float16, uint16_t, float)                                                             \
    X(finish_bfloat16, uint16_t, float)                                                            \
    X(finish_e4m3, uint8_t, float)                                                                 \
    X(finish_e5m2, uint8_t, float)

#endif

/*
 * small_float.h - floats of 8 and 16 bits, to float and back.
 *
 *                exponent  mantissa  bias   largest   not finite
 *   float16         5         10      15     65504    infinities, NaN
 *   bfloat16        8          7     127     3.4e38   infinities, NaN
 *   float8_e4m3     4          3       7       448    one NaN of each sign, 0x7f and 0xff ("fn")
 *   float8_e5m2     5          2      15     57344    infinities, NaN
 *
 * Every small float is exactly a float. The conversion back rounds to nearest, ties to even; a
 * value that is too large becomes infinite, in e4m3 NaN. There are no branches, so that loops over
 * elements become vector code: each of the three conversions (normal, subnormal, not finite) is
 * computed, and one is selected.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_SMALL_FLOAT_H
#define CCTEST_DATAPLANE_MEMORY_SMALL_FLOAT_H

#include "dataplane/memory/element.h"

/* A format: bits of exponent and mantissa, the magnitude from which on it is not finite, and its
 * NaN. */
#define FORMAT_FLOAT16 5, 10, 0x7c00, 0x7e00
#define FORMAT_E4M3    4, 3, 0x7f, 0x7f
#define FORMAT_E5M2    5, 2, 0x7c, 0x7e

ELEMENT float small_widen(uint32_t bits, int exponent, int mantissa, int32_t infinite, int32_t nan)
{
    const int bias = (1 << (exponent - 1)) - 1, shift = 23 - mantissa;
    const int32_t least = (127 - bias + 1) << 23; /* the smallest normal number, as a float */
    int32_t magnitude = (int32_t)(bits & ((1u << (exponent + mantissa)) - 1));
    int32_t normal = (magnitude << shift) + ((127 - bias) << 23);
    /* A number with the exponent of the smallest normal one, less that one: exact. */
    int32_t subnormal = (int32_t)bits_of(float_of((uint32_t)((magnitude << shift) + least)) -
                                         float_of((uint32_t)least));
    int32_t special = choose(magnitude == infinite && infinite != nan, 0x7f800000, 0x7fc00000);
    int32_t value = choose(magnitude < 1 << mantissa, subnormal, normal);
    value = choose(magnitude >= infinite, special, value);
    return float_of((uint32_t)value | (bits >> (exponent + mantissa) & 1) << 31);
}

ELEMENT uint32_t small_narrow(float value, int exponent, int mantissa, int32_t infinite,
                              int32_t nan)
{
    const int bias = (1 << (exponent - 1)) - 1, shift = 23 - mantissa;
    const int32_t least = (127 - bias + 1) << 23;
    /* Its last bit has the value of the last bit of a subnormal: to add it rounds to that. */
    const int32_t magic = (127 - bias + 1 + shift) << 23;
    uint32_t bits = bits_of(value);
    int32_t magnitude = (int32_t)(bits & 0x7fffffff);
    int32_t odd = magnitude >> shift & 1;
    int32_t normal =
        (int32_t)((uint32_t)magnitude + ((1u << (shift - 1)) - 1) + (uint32_t)odd) >> shift;
    int32_t subnormal =
        (int32_t)bits_of(float_of((uint32_t)magnitude) + float_of((uint32_t)magic)) - magic;
    int32_t small = normal - ((127 - bias) << mantissa);
    small = choose(small < infinite, small, infinite);
    small = choose(magnitude < least, subnormal, small);
    small = choose(magnitude > 0x7f800000, nan, small);
    return (uint32_t)small | bits >> 31 << (exponent + mantissa);
}

ELEMENT float float16_widen(uint16_t bits)
{
    return small_widen(bits, FORMAT_FLOAT16);
}

ELEMENT uint16_t float16_narrow(float value)
{
    return (uint16_t)small_narrow(value, FORMAT_FLOAT16);
}

ELEMENT float e4m3_widen(uint8_t bits)
{
    return small_widen(bits, FORMAT_E4M3);
}

ELEMENT uint8_t e4m3_narrow(float value)
{
    return (uint8_t)small_narrow(value, FORMAT_E4M3);
}

ELEMENT float e5m2_widen(uint8_t bits)
{
    return small_widen(bits, FORMAT_E5M2);
}

ELEMENT uint8_t e5m2_narrow(float value)
{
    return (uint8_t)small_narrow(value, FORMAT_E5M2);
}

/* The upper half of a float. */
ELEMENT float bfloat16_widen(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

ELEMENT uint16_t bfloat16_narrow(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)choose((int32_t)(bits & 0x7fffffff) > 0x7f800000, (int32_t)(bits >> 16 | 0x40),
                            (int32_t)rounded);
}

#endif

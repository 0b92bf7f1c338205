/*
 * reduce_native.c - the kernels of the types that the machine computes with: integers, float and
 * double.
 *
 * Integers are combined in unsigned arithmetic, where wrapping is defined. To the logical operators
 * 0 is false and all else is true; they give 0 or 1.
 *
 * An average of integers is divided as in C, towards 0. Quotients of up to 32 bits are computed in
 * floating point, many times faster than by integer division, and exactly: a quotient that is not a
 * whole number is farther from one than the rounding error.
 */
#include "memory/reduce_kernels.h"

/* `wide`: an unsigned type that is no narrower than unsigned int, so that nothing is promoted to a
 * signed type, whose products may overflow. */
#define KERNELS_WRAPPING(suffix, type, wide)                                                       \
    KERNEL(sum_##suffix, type, (wide)x + (wide)y)                                                  \
    KERNEL(prod_##suffix, type, (wide)x *(wide)y)                                                  \
    KERNEL(land_##suffix, type, (x != 0) & (y != 0))                                               \
    KERNEL(lor_##suffix, type, (x | y) != 0)                                                       \
    KERNEL(lxor_##suffix, type, (x != 0) ^ (y != 0))                                               \
    KERNEL(band_##suffix, type, x &y)                                                              \
    KERNEL(bor_##suffix, type, x | y)                                                              \
    KERNEL(bxor_##suffix, type, x ^ y)

#define KERNELS_ORDERED(suffix, type)                                                              \
    KERNEL(min_##suffix, type, x < y ? x : y)                                                      \
    KERNEL(max_##suffix, type, x > y ? x : y)

KERNELS_WRAPPING(8, uint8_t, uint32_t)
KERNELS_WRAPPING(16, uint16_t, uint32_t)
KERNELS_WRAPPING(32, uint32_t, uint32_t)
KERNELS_WRAPPING(64, uint64_t, uint64_t)

#define INTEGER(name, sign, bits, type, divisor, expression)                                       \
    KERNELS_ORDERED(sign##bits, type)                                                              \
    FINISHES(finish_##sign##bits, type, divisor, expression)                                       \
    const struct kernels kernels_##name = {                                                        \
        .reduce = {[REDUCTION_SUM] = sum_##bits,                                                   \
                   [REDUCTION_PROD] = prod_##bits,                                                 \
                   [REDUCTION_MAX] = max_##sign##bits,                                             \
                   [REDUCTION_MIN] = min_##sign##bits,                                             \
                   [REDUCTION_AVG] = sum_##bits,                                                   \
                   [REDUCTION_LAND] = land_##bits,                                                 \
                   [REDUCTION_LOR] = lor_##bits,                                                   \
                   [REDUCTION_LXOR] = lxor_##bits,                                                 \
                   [REDUCTION_BAND] = band_##bits,                                                 \
                   [REDUCTION_BOR] = bor_##bits,                                                   \
                   [REDUCTION_BXOR] = bxor_##bits},                                                \
        .finish = finish_##sign##bits,                                                             \
    };

INTEGER(int8, i, 8, int8_t, float, (int)((float)x / n))
INTEGER(int16, i, 16, int16_t, float, (int)((float)x / n))
INTEGER(int32, i, 32, int32_t, double, (double)x / n)
INTEGER(int64, i, 64, int64_t, int64_t, x / n)
INTEGER(uint8, u, 8, uint8_t, float, (int)((float)x / n))
INTEGER(uint16, u, 16, uint16_t, float, (int)((float)x / n))
INTEGER(uint32, u, 32, uint32_t, double, (double)x / n)
INTEGER(uint64, u, 64, uint64_t, uint64_t, x / n)

#define FLOATING(type)                                                                             \
    KERNEL(sum_##type, type, x + y)                                                                \
    KERNEL(prod_##type, type, x *y)                                                                \
    KERNELS_ORDERED(type, type)                                                                    \
    FINISHES(finish_##type, type, type, x / n)                                                     \
    const struct kernels kernels_##type = {                                                        \
        .reduce = {[REDUCTION_SUM] = sum_##type,                                                   \
                   [REDUCTION_PROD] = prod_##type,                                                 \
                   [REDUCTION_MAX] = max_##type,                                                   \
                   [REDUCTION_MIN] = min_##type,                                                   \
                   [REDUCTION_AVG] = sum_##type},                                                  \
        .finish = finish_##type,                                                                   \
    };

FLOATING(float)
FLOATING(double)

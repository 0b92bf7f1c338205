/*
 * reduce_native.c - the kernels of the types that the machine computes with: integers, float and
 * double.
 */
#include "memory/reduce_kernels.h"

WRAPPING_OPERATORS(KERNEL, 8)
WRAPPING_OPERATORS(KERNEL, 16)
WRAPPING_OPERATORS(KERNEL, 32)
WRAPPING_OPERATORS(KERNEL, 64)

#define INTEGER(name, bits, divisor)                                                               \
    ORDERED_OPERATORS(KERNEL, name, name##_t)                                                      \
    FINISH_KERNEL(finish_##name, name##_t, divisor)                                                \
    const struct kernels kernels_##name = {                                                        \
        .reduce = {INTEGER_OPERATORS(KERNEL_ENTRY, name, bits)},                                   \
        .finish = finish_##name##_kernels,                                                         \
    };

INTEGER(int8, 8, float)
INTEGER(int16, 16, float)
INTEGER(int32, 32, double)
INTEGER(int64, 64, int64_t)
INTEGER(uint8, 8, float)
INTEGER(uint16, 16, float)
INTEGER(uint32, 32, double)
INTEGER(uint64, 64, uint64_t)

#define FLOATING(type)                                                                             \
    FLOAT_OPERATORS(KERNEL, type, type)                                                            \
    FINISH_KERNEL(finish_##type, type, type)                                                       \
    const struct kernels kernels_##type = {                                                        \
        .reduce = {FLOATING_OPERATORS(KERNEL_ENTRY, type, type)},                                  \
        .finish = finish_##type##_kernels,                                                         \
    };

FLOATING(float)
FLOATING(double)

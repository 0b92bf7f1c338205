/*
 * reduce_native.c - the kernels of the types that the machine computes with: integers, float and
 * double.
 */
#include "dataplane/memory/internal.h"

WRAPPING_OPERATORS(KERNEL, 8)
WRAPPING_OPERATORS(KERNEL, 16)
WRAPPING_OPERATORS(KERNEL, 32)
WRAPPING_OPERATORS(KERNEL, 64)
NATIVE_FINISHES(FINISH_KERNEL)

#define INTEGER(name, bits)                                                                        \
    ORDERED_OPERATORS(KERNEL, name, name##_t)                                                      \
    const struct kernels kernels_##name = {                                                        \
        .reduce = {INTEGER_OPERATORS(KERNEL_ENTRY, name, bits)},                                   \
        .finish = finish_##name##_kernels,                                                         \
    };

INTEGER(int8, 8)
INTEGER(int16, 16)
INTEGER(int32, 32)
INTEGER(int64, 64)
INTEGER(uint8, 8)
INTEGER(uint16, 16)
INTEGER(uint32, 32)
INTEGER(uint64, 64)

#define FLOATING(type)                                                                             \
    FLOAT_OPERATORS(KERNEL, type, type)                                                            \
    const struct kernels kernels_##type = {                                                        \
        .reduce = {FLOATING_OPERATORS(KERNEL_ENTRY, type, type)},                                  \
        .finish = finish_##type##_kernels,                                                         \
    };

FLOATING(float)
FLOATING(double)

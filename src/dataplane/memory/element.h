/*
 * element.h - how a function of single elements is written, so that C and CUDA's C++ compile the
 * same text.
 *
 * Such headers are C11 and C++17: no designated initializers, compound literals, unions that are
 * read as another type, implicit casts from void *, or restrict. Results are the same to the bit
 * as long as no compiler contracts a product and a sum (-ffp-contract=off, nvcc -fmad=false).
 */
#ifndef CCTEST_DATAPLANE_MEMORY_ELEMENT_H
#define CCTEST_DATAPLANE_MEMORY_ELEMENT_H

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define ELEMENT static __host__ __device__ __forceinline__
#else
#define ELEMENT static inline __attribute__((always_inline))
#endif

ELEMENT float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

ELEMENT uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ELEMENT double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* `yes` if `flag` (0 or 1), else `no`: by bits, because compilers make branches of ?:. */
ELEMENT int32_t choose(int32_t flag, int32_t yes, int32_t no)
{
    return no ^ ((no ^ yes) & -flag);
}

#endif

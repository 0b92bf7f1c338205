/*
 * word.h - words through which threads, of a CPU or of a GPU, tell each other how far they are.
 *
 * A load acquires and a store releases: what the storing thread read and wrote before it is over
 * for the thread that loads the word. A put orders nothing. C11 and C++17, for the host and for
 * CUDA's compiler.
 */
#ifndef CCTEST_BASE_WORD_H
#define CCTEST_BASE_WORD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define HOST_DEVICE static __host__ __device__ inline
#else
#define HOST_DEVICE static inline
#endif

HOST_DEVICE size_t word_load(const size_t *word)
{
#ifdef __CUDA_ARCH__
    size_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

HOST_DEVICE void word_store(size_t *word, size_t value)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.release.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
#else
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

HOST_DEVICE void word_put(size_t *word, size_t value)
{
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.sys.u64 [%0], %1;" : : "l"(word), "l"(value) : "memory");
#else
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

#endif

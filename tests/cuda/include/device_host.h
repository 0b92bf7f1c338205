/*
 * device_host.h - lets g++ compile a file of kernels for the CPU, where the stand-in (../runtime.h)
 * runs them: one thread of one block after the other, or all threads at the same time if the launch
 * is cooperative. The compiler includes it first.
 */
#ifndef CCTEST_TEST_CUDA_DEVICE_HOST_H
#define CCTEST_TEST_CUDA_DEVICE_HOST_H

#include <cuda_runtime_api.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__        inline __attribute__((always_inline))
#define __launch_bounds__(...) /* limits registers, of which a CPU's thread has its own */

/* Where the running thread of a kernel is; launch.c defines them. */
extern "C" {
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
}

/* cooperative.c defines these. Only kernels that are launched cooperatively, whose threads run at
 * the same time, have barriers of a block and shared memory. */
extern "C" {
void __syncthreads(void);
int __syncthreads_and(int vote); /* do all vote yes? */
char *device_shared(void);       /* of the block, as many bytes as the launch says; aligned to 16 */
void __nanosleep(unsigned nanoseconds); /* gives the CPU to other threads */
void __threadfence_system(void);
void __trap(void); /* a violation */
long long clock64(void);
unsigned long long device_nanoseconds(void); /* of the clock that all devices share */
}

template <typename T> static inline T device_host_add(T *at, T value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T device_host_min(T *at, T value)
{
    T old = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (value < old &&
           !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    return old;
}

static inline unsigned atomicAdd(unsigned *at, unsigned value)
{
    return device_host_add(at, value);
}

static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long value)
{
    return device_host_add(at, value);
}

static inline unsigned atomicOr(unsigned *at, unsigned value)
{
    return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}

static inline unsigned atomicMin(unsigned *at, unsigned value)
{
    return device_host_min(at, value);
}

static inline unsigned long long atomicMin(unsigned long long *at, unsigned long long value)
{
    return device_host_min(at, value);
}

#endif

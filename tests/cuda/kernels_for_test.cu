/*
 * kernels_for_test.cu - kernels for the stand-in's own tests.
 */
#include "kernels_for_test.h"

#include <string.h>

static __device__ __forceinline__ test_work work_of(const device_work &work)
{
    test_work values;
    static_assert(sizeof values <= sizeof work, "the argument has room");
    memcpy(&values, &work, sizeof values);
    return values;
}

__global__ void kernel_add(struct device_work work)
{
    const test_work values = work_of(work);
    uint32_t *to = (uint32_t *)values.to;
    const uint32_t *from = (const uint32_t *)values.from;
    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < values.count;
         i += gridDim.x * blockDim.x)
        to[i] = from[i] + (uint32_t)values.value;
}

__global__ void kernel_count(struct device_work work)
{
    const test_work values = work_of(work);
    unsigned long long *to = (unsigned long long *)values.to;
    unsigned number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    number += block * blockDim.x * blockDim.y * blockDim.z + (unsigned)values.value;
    atomicAdd((unsigned *)&to[0], (unsigned)values.value);
    atomicAdd(&to[1], (unsigned long long)values.value);
    atomicMin((unsigned *)&to[2], number);
    atomicMin(&to[3], (unsigned long long)number);
    to[4] = blockDim.x * blockDim.y * blockDim.z;
}

__global__ void kernel_order(struct device_work work)
{
    const test_work values = work_of(work);
    if (threadIdx.x == 0)
        ((uint32_t *)values.to)[atomicAdd((unsigned *)values.from, 1u)] = blockIdx.x;
}

__global__ void kernel_gate(struct device_work work)
{
    const test_work values = work_of(work);
    while (__atomic_load_n((const uint32_t *)values.from, __ATOMIC_ACQUIRE) != values.value)
        continue;
}

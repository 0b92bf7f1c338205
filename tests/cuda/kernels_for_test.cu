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

__global__ void kernel_asks(struct device_work work)
{
    const test_work values = work_of(work);
    if (values.value == 0)
        __syncthreads();
    else if (values.value == 1)
        device_shared();
    else
        __trap();
}

static __device__ __forceinline__ uint32_t word_at(uint64_t address)
{
    return __atomic_load_n((const uint32_t *)address, __ATOMIC_ACQUIRE);
}

__global__ void kernel_meet(void *argument)
{
    const test_meeting *meeting = (const test_meeting *)argument;
    if (!argument)
        return;
    __threadfence_system();
    __atomic_store_n((uint32_t *)meeting->to, (uint32_t)meeting->value, __ATOMIC_RELEASE);
    while (word_at(meeting->from) != (uint32_t)meeting->value)
        __nanosleep(100);
}

__global__ void kernel_neighbours(void *argument)
{
    test_meeting *meeting = (test_meeting *)argument;
    uint32_t *words = (uint32_t *)device_shared();
    for (uint32_t turn = 0; turn < meeting->value; turn++) {
        words[threadIdx.x] = turn + threadIdx.x;
        __syncthreads();
        uint32_t next = (threadIdx.x + 1) % blockDim.x;
        if (words[next] != turn + next)
            atomicAdd(&meeting->wrong, 1u);
        __syncthreads();
    }
    atomicAdd(&meeting->result, 1u);
}

__global__ void kernel_vote(void *argument)
{
    test_meeting *meeting = (test_meeting *)argument;
    for (uint32_t turn = 0; turn < meeting->value; turn++) {
        bool all = turn % 3 == 0;
        if ((__syncthreads_and(all || turn % blockDim.x != threadIdx.x) != 0) != all)
            atomicAdd(&meeting->wrong, 1u);
    }
    if (threadIdx.x > 1)
        return;
    if (!__syncthreads_and(1) || __syncthreads_and(threadIdx.x == 1))
        atomicAdd(&meeting->wrong, 1u);
    atomicAdd(&meeting->result, 1u);
}

__global__ void kernel_apart(void *argument)
{
    test_meeting *meeting = (test_meeting *)argument;
    unsigned char *shared = (unsigned char *)device_shared();
    if (threadIdx.x == 0 && ((uintptr_t)shared % 16 != 0 || shared[0] != 0xa5))
        atomicAdd(&meeting->wrong, 1u);
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < meeting->value; i += blockDim.x)
        shared[i] = (unsigned char)blockIdx.x;
    __atomic_fetch_add((uint32_t *)meeting->to, 1u, __ATOMIC_ACQ_REL);
    while (word_at(meeting->to) != gridDim.x * blockDim.x)
        __nanosleep(2000);
    for (uint64_t i = 0; i < meeting->value; i++)
        if (shared[i] != (unsigned char)blockIdx.x)
            atomicAdd(&meeting->wrong, 1u);
    atomicAdd(&meeting->result, 1u);
}

__global__ void kernel_divide(void *)
{
    if (threadIdx.x == 0)
        __syncthreads();
    else
        __syncthreads_and(1);
}

__global__ void kernel_present(void *argument)
{
    test_meeting *meeting = (test_meeting *)argument;
    unsigned number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    atomicOr((unsigned *)meeting->to, 1u << (number + block * (unsigned)meeting->value));
    atomicAdd(&meeting->result, 1u);
    if (blockDim.x * blockDim.y * blockDim.z != meeting->value || clock64() <= 0 ||
        device_nanoseconds() == 0)
        atomicAdd(&meeting->wrong, 1u);
}

/*
 * fabric_card.h - what tests of memory with fabric handles begin with: the driver's functions.
 */
#ifndef CCTEST_TEST_CUDA_FABRIC_CARD_H
#define CCTEST_TEST_CUDA_FABRIC_CARD_H

#include "card.h"
#include "dataplane/memory/cuda/internal.h"

#define UNIT ((size_t)2 << 20)

static struct fabric_calls calls;

static inline void *entry(const char *name, unsigned version,
                          enum cudaDriverEntryPointQueryResult *result)
{
    void *found = NULL;
    assert_cuda(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, result),
                Success);
    return found;
}

static inline void calls_find(void)
{
#define ENTRY(name, member) {name, &calls.member},
    const struct {
        const char *name;
        void *function;
    } entries[] = {FABRIC_ENTRIES(ENTRY)};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        enum cudaDriverEntryPointQueryResult result;
        void *found = entry(entries[i].name, FABRIC_DRIVER_VERSION, &result);
        assert_int_equal(result, cudaDriverEntryPointSuccess);
        memcpy(entries[i].function, &found, sizeof found);
    }
}

static inline struct fabric_properties properties_of(int device)
{
    return (struct fabric_properties){.type = FABRIC_PINNED,
                                      .handle_types = FABRIC_HANDLE_TYPE,
                                      .location = {FABRIC_ON_DEVICE, device}};
}

static inline int create(int device, size_t bytes, unsigned long long *handle)
{
    const struct fabric_properties properties = properties_of(device);
    return calls.create(handle, bytes, &properties, 0);
}

static inline int access_give(const void *at, size_t bytes, int device)
{
    const struct fabric_access access = {{FABRIC_ON_DEVICE, device}, FABRIC_READ_WRITE};
    return calls.access((uintptr_t)at, bytes, &access, 1);
}

/* Gives the memory addresses, which device 0 reaches. */
static inline void *place(unsigned long long handle, size_t bytes)
{
    unsigned long long at;
    assert_int_equal(calls.reserve(&at, bytes, 0, 0, 0), 0);
    assert_int_equal(calls.map(at, bytes, 0, handle, 0), 0);
    assert_int_equal(access_give((void *)(uintptr_t)at, bytes, 0), 0);
    return (void *)(uintptr_t)at;
}

static inline void take_away(void *at, size_t bytes)
{
    assert_int_equal(calls.unmap((uintptr_t)at, bytes), 0);
    assert_int_equal(calls.unreserve((uintptr_t)at, bytes), 0);
}

#endif

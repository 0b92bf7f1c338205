/*
 * test_runtime_fabric.c - memory of the stand-in that has fabric handles: its functions, and what
 * other processes do with the handles. test_runtime_fabric_rules.c has the rules.
 * tier: deep; load: cpu1
 */
#include <sys/socket.h>

#include "fabric_card.h"

static int attribute(int number, int device)
{
    int value = -1;
    assert_int_equal(calls.attribute(&value, number, device), 0);
    return value;
}

/* A name that the driver does not have, or does not have yet. */
static void entries(void **state)
{
    (void)state;
    enum cudaDriverEntryPointQueryResult result;
    runtime_configure("dmabuf=absent");
    assert_null(entry("cuMemNothing", 12040, &result));
    assert_int_equal(result, cudaDriverEntryPointSymbolNotFound);
    assert_null(entry("cuMemGetHandleForAddressRange", 12040, &result));
    assert_int_equal(result, cudaDriverEntryPointSymbolNotFound);
    assert_non_null(entry("cuMemRetainAllocationHandle", 10020, &result));
    assert_int_equal(result, cudaDriverEntryPointVersionNotSufficent);
    int value;
    assert_int_equal(calls.attribute(&value, FABRIC_ATTRIBUTE_HANDLES, 2), cudaErrorInvalidDevice);
    assert_int_equal(calls.attribute(&value, 1, 0), cudaErrorInvalidValue);
}

/* Memory is made, mapped, used by copies and kernels, and given back. */
static void memory(void **state)
{
    for (int mode = 0; mode < 2; mode++) {
        (void)state;
        struct card card =
            card_open(mode ? "fabric=yes,mode=async,seed=3" : "fabric=yes,mode=sync");
        const struct fabric_properties properties = properties_of(0);
        unsigned long long handle, same;
        size_t unit, left, total, before;
        assert_int_equal(calls.granularity(&unit, &properties, FABRIC_GRANULARITY), 0);
        assert_int_equal(unit, UNIT);
        assert_cuda(cudaMemGetInfo(&before, &total), Success);
        assert_int_equal(create(0, 2 * UNIT, &handle), 0);
        assert_cuda(cudaMemGetInfo(&left, &total), Success);
        assert_int_equal(left, before - 2 * UNIT);
        uint32_t *base = place(handle, 2 * UNIT);
        assert_int_equal((uintptr_t)base % UNIT, 0);
        assert_int_equal(*(unsigned char *)runtime_view(base), 0xa5);
        assert_int_equal(calls.release(handle), 0);
        assert_int_equal(calls.retain(&same, base + 77), 0);
        assert_int_equal(same, handle);
        assert_int_equal(calls.release(same), 0);
        words_fill(card.pinned, 0);
        assert_cuda(
            cudaMemcpyAsync(base, card.pinned, CARD_BYTES, cudaMemcpyHostToDevice, card.stream),
            Success);
        assert_cuda(card_add(&card, base + CARD_WORDS, base, 5), Success);
        assert_cuda(cudaStreamSynchronize(card.stream), Success);
        assert_int_equal(words_wrong((uint32_t *)runtime_view(base) + CARD_WORDS, 5), 0);
        struct cudaPointerAttributes is;
        assert_cuda(cudaPointerGetAttributes(&is, base), Success);
        assert_int_equal(is.type, cudaMemoryTypeDevice);
        take_away(base, 2 * UNIT);
        assert_cuda(cudaMemGetInfo(&left, &total), Success);
        assert_int_equal(left, before);
        card_close(&card);
    }
}

static int borrower(int socket, const char *settings)
{
    unsigned char lent[FABRIC_HANDLE_BYTES];
    unsigned long long handle;
    struct card card = card_open(settings);
    assert_int_equal(read(socket, lent, sizeof lent), sizeof lent);
    assert_int_equal(calls.borrow(&handle, lent, FABRIC_HANDLE_TYPE), 0);
    uint32_t *base = place(handle, UNIT);
    assert_int_equal(calls.release(handle), 0);
    assert_int_equal(write(socket, "", 1), 1); /* the owner gives it back now */
    assert_int_equal(read(socket, lent, 1), 1);
    assert_cuda(card_add(&card, card.memory, base, 1), Success);
    assert_cuda(
        cudaMemcpyAsync(card.pinned, card.memory, CARD_BYTES, cudaMemcpyDefault, card.stream),
        Success);
    assert_cuda(cudaStreamSynchronize(card.stream), Success);
    assert_int_equal(words_wrong(card.pinned, 101), 0);
    take_away(base, UNIT);
    card_close(&card);
    return 0;
}

/* Another process maps the memory, and keeps it when this one has given it back. */
static void lent(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        const char *settings = mode ? "fabric=yes,mode=async" : "fabric=yes";
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        pid_t child = fork();
        if (child == 0)
            _exit(borrower(ends[1], settings));
        struct card card = card_open(settings);
        unsigned char lent[FABRIC_HANDLE_BYTES], answer;
        unsigned long long handle, again;
        assert_int_equal(create(0, UNIT, &handle), 0);
        assert_int_equal(calls.lend(lent, handle, FABRIC_HANDLE_TYPE, 0), 0);
        assert_int_equal(calls.borrow(&again, lent, FABRIC_HANDLE_TYPE), 0); /* also here */
        assert_int_equal(calls.release(handle), 0);
        size_t left, total, before;
        assert_cuda(cudaMemGetInfo(&before, &total), Success);
        uint32_t *base = place(again, UNIT);
        assert_int_equal(calls.release(again), 0);
        words_fill(runtime_view(base), 100);
        assert_int_equal(write(ends[0], lent, sizeof lent), sizeof lent);
        assert_int_equal(read(ends[0], &answer, 1), 1);
        take_away(base, UNIT);
        assert_cuda(cudaMemGetInfo(&left, &total), Success);
        assert_int_equal(left, before + UNIT); /* it was this memory that counted */
        /* Nor by what has the number of its file now. */
        assert_int_equal(create(0, UNIT, &handle), 0);
        assert_int_equal(calls.borrow(&again, lent, FABRIC_HANDLE_TYPE), cudaErrorInvalidValue);
        assert_int_equal(calls.release(handle), 0);
        assert_int_equal(write(ends[0], "", 1), 1);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        close(ends[0]);
        close(ends[1]);
        card_close(&card);
    }
}

/* Memory that is mapped twice lives until both are gone, and out of memory is an error. */
static void mapped_twice(void **state)
{
    (void)state;
    runtime_configure("fabric=yes,memory=4194304");
    unsigned long long handle, more;
    assert_int_equal(create(0, 2 * UNIT, &handle), 0);
    assert_int_equal(create(0, UNIT, &more), cudaErrorMemoryAllocation);
    assert_int_equal(create(1, UNIT, &more), 0);
    assert_int_equal(calls.release(more), 0);
    uint32_t *one = place(handle, 2 * UNIT), *two = place(handle, 2 * UNIT);
    assert_int_equal(calls.release(handle), 0);
    *(uint32_t *)runtime_view(one) = 4711;
    take_away(one, 2 * UNIT);
    assert_int_equal(*(uint32_t *)runtime_view(two), 4711);
    assert_int_equal(create(0, UNIT, &more), cudaErrorMemoryAllocation);
    take_away(two, 2 * UNIT);
    assert_int_equal(create(0, 2 * UNIT, &more), 0);
    assert_int_equal(calls.release(more), 0);
    assert_int_equal(create(2, UNIT, &more), cudaErrorInvalidDevice);
    runtime_check();
}

/* Another device of the process is given access, unless there is none between the two. */
static void peers(void **state)
{
    (void)state;
    for (int reached = 0; reached < 2; reached++) {
        runtime_configure(reached ? "fabric=yes" : "fabric=yes,peer=no");
        unsigned long long handle;
        assert_int_equal(create(1, UNIT, &handle), 0);
        unsigned long long at;
        assert_int_equal(calls.reserve(&at, UNIT, 0, 0, 0), 0);
        assert_int_equal(calls.map(at, UNIT, 0, handle, 0), 0);
        void *base = (void *)(uintptr_t)at;
        assert_int_equal(access_give(base, UNIT, 1), 0);
        assert_int_equal(access_give(base, UNIT, 0), reached ? 0 : cudaErrorInvalidDevice);
        assert_int_equal(access_give(base, UNIT, 2), cudaErrorInvalidDevice);
        assert_int_equal(calls.release(handle), 0);
        take_away(base, UNIT);
        runtime_check();
    }
}

/* fail= knows each function. */
static void failures(void **state)
{
    (void)state;
    runtime_configure("fabric=yes,fail=cuMemGetAllocationGranularity:1+cuMemCreate:1+"
                      "cuMemRelease:1+cuMemAddressReserve:1+cuMemAddressFree:1+cuMemMap:1+"
                      "cuMemUnmap:1+cuMemSetAccess:1+cuMemRetainAllocationHandle:1+"
                      "cuMemExportToShareableHandle:1+cuMemImportFromShareableHandle:1");
    const struct fabric_properties properties = properties_of(0);
    unsigned char lent[FABRIC_HANDLE_BYTES];
    unsigned long long handle, again, at;
    size_t unit;
    assert_int_not_equal(calls.granularity(&unit, &properties, FABRIC_GRANULARITY), 0);
    assert_int_equal(create(0, UNIT, &handle), cudaErrorMemoryAllocation);
    assert_int_equal(create(0, UNIT, &handle), 0);
    assert_int_not_equal(calls.lend(lent, handle, FABRIC_HANDLE_TYPE, 0), 0);
    assert_int_equal(calls.lend(lent, handle, FABRIC_HANDLE_TYPE, 0), 0);
    assert_int_not_equal(calls.borrow(&again, lent, FABRIC_HANDLE_TYPE), 0);
    assert_int_not_equal(calls.reserve(&at, UNIT, 0, 0, 0), 0);
    assert_int_equal(calls.reserve(&at, UNIT, 0, 0, 0), 0);
    assert_int_not_equal(calls.map(at, UNIT, 0, handle, 0), 0);
    assert_int_equal(calls.map(at, UNIT, 0, handle, 0), 0);
    void *base = (void *)(uintptr_t)at;
    assert_int_not_equal(access_give(base, UNIT, 0), 0);
    assert_int_not_equal(calls.retain(&again, base), 0);
    assert_int_not_equal(calls.release(handle), 0);
    assert_int_equal(calls.release(handle), 0);
    assert_int_not_equal(calls.unmap(at, UNIT), 0);
    assert_int_equal(calls.unmap(at, UNIT), 0);
    assert_int_not_equal(calls.unreserve(at, UNIT), 0);
    assert_int_equal(calls.unreserve(at, UNIT), 0);
    runtime_check();
}

static int forked_work(void *unused)
{
    (void)unused;
    runtime_configure("fabric=yes");
    unsigned long long handle;
    return create(0, UNIT, &handle) == 0 && calls.release(handle) == 0 ? 0 : 1;
}

/* A child that begins anew forgets what its parent has, and the parent keeps it. */
static void forked(void **state)
{
    (void)state;
    unsigned long long handle;
    runtime_configure("fabric=yes");
    assert_int_equal(create(0, UNIT, &handle), 0);
    void *base = place(handle, UNIT);
    assert_int_equal(calls.release(handle), 0);
    assert_int_equal(child_run(forked_work, NULL)->status, 0);
    take_away(base, UNIT);
    runtime_check();
}

/* Settings refuse to make a handle, and to open one. */
static void settings(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        int attribute, make, open;
    } list[] = {
        {"fabric=no", 0, cudaErrorNotSupported, cudaErrorNotSupported},
        {"fabric=channel", 1, cudaErrorNotPermitted, cudaErrorNotPermitted},
        {"fabric=yes", 1, 0, 0},
        {"fabric=daemon", 1, 0, 0}, /* on the same host */
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        unsigned char handle[FABRIC_HANDLE_BYTES] = "";
        unsigned long long memory, again;
        runtime_configure(list[i].settings);
        assert_int_equal(attribute(FABRIC_ATTRIBUTE_HANDLES, 1), list[i].attribute);
        assert_int_equal(attribute(FABRIC_ATTRIBUTE_RDMA, 1), 1);
        assert_int_equal(create(1, UNIT, &memory), list[i].make);
        if (!list[i].make)
            assert_int_equal(calls.lend(handle, memory, FABRIC_HANDLE_TYPE, 0), 0);
        assert_int_equal(calls.borrow(&again, handle, FABRIC_HANDLE_TYPE), list[i].open);
        if (!list[i].make) {
            assert_int_equal(calls.release(memory), 0);
            assert_int_equal(calls.release(again), 0);
        }
        runtime_check();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),      cmocka_unit_test(memory),   cmocka_unit_test(lent),
        cmocka_unit_test(mapped_twice), cmocka_unit_test(peers),    cmocka_unit_test(failures),
        cmocka_unit_test(forked),       cmocka_unit_test(settings),
    };
    runtime_configure("");
    calls_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

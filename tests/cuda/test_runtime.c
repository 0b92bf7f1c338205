/*
 * test_runtime.c - the stand-in of the CUDA runtime works: devices, memory, failures, other
 * processes.
 * tier: deep; load: cpu1
 */
#include <pthread.h>
#include <sys/socket.h>

#include "card.h"

static const char *const modes[] = {"mode=sync", "mode=async,seed=3"};

/* Devices are what the settings say; an attribute that is not known is an error. */
static void devices(void **state)
{
    (void)state;
    runtime_configure("devices=3");
    int value;
    assert_cuda(cudaGetDeviceCount(&value), Success);
    assert_int_equal(value, 3);
    assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 2), Success);
    assert_int_equal(value, 1024);
    assert_cuda(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0), ErrorInvalidValue);
    assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 3), ErrorInvalidDevice);
    char id[16];
    for (int i = 0; i < 3; i++) {
        unsigned domain, bus, device;
        int found = -1;
        assert_cuda(cudaDeviceGetPCIBusId(id, sizeof id, i), Success);
        assert_cuda(cudaDeviceGetByPCIBusId(&found, id), Success);
        assert_int_equal(found, i);
        assert_int_equal(sscanf(id, "%x:%x:%x.0", &domain, &bus, &device), 3);
        assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, i), Success);
        assert_int_equal(value, bus);
    }
    assert_cuda(cudaDeviceGetPCIBusId(id, 12, 0), ErrorInvalidValue);
    assert_cuda(cudaDeviceGetByPCIBusId(&value, "0000:FF:00.0"), ErrorInvalidDevice);
    assert_cuda(cudaSetDevice(3), ErrorInvalidDevice);
    assert_cuda(cudaSetDevice(2), Success);
    assert_cuda(cudaGetDevice(&value), Success);
    assert_int_equal(value, 2);
    assert_cuda(cudaDeviceCanAccessPeer(&value, 0, 1), Success);
    assert_int_equal(value, 1);
    assert_cuda(cudaDeviceCanAccessPeer(&value, 1, 1), Success);
    assert_int_equal(value, 0);
    assert_cuda(cudaDeviceEnablePeerAccess(1, 0), Success);
    assert_cuda(cudaDeviceEnablePeerAccess(1, 0), ErrorPeerAccessAlreadyEnabled);
    assert_cuda(cudaDeviceEnablePeerAccess(2, 0), ErrorInvalidDevice);
    runtime_configure("peer=no");
    assert_cuda(cudaDeviceCanAccessPeer(&value, 0, 1), Success);
    assert_int_equal(value, 0);
    assert_cuda(cudaDeviceEnablePeerAccess(1, 0), ErrorPeerAccessUnsupported);
}

static void *device_of_thread(void *device)
{
    if (cudaGetDevice(device) != cudaSuccess)
        *(int *)device = -1;
    return NULL;
}

/* Each thread has a device of its own, at first 0. */
static void device_per_thread(void **state)
{
    (void)state;
    runtime_configure("");
    assert_cuda(cudaSetDevice(1), Success);
    int device = -1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, device_of_thread, &device), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(device, 0);
}

/* Without a driver every call says so, and leaves its results alone. */
static void no_driver(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        cudaError_t error;
        int version;
    } list[] = {{"driver=none", cudaErrorInsufficientDriver, 0},
                {"driver=old", cudaErrorInsufficientDriver, 11040},
                {"devices=0", cudaErrorNoDevice, CUDART_VERSION}};
    for (int i = 0; i < 3; i++) {
        runtime_configure(list[i].settings);
        int value = 77;
        void *pointer = &value;
        assert_int_equal(cudaGetDeviceCount(&value), list[i].error);
        assert_int_equal(cudaGetLastError(), list[i].error);
        assert_int_equal(cudaMalloc(&pointer, 1), list[i].error);
        assert_int_equal(cudaSetDevice(0), list[i].error);
        assert_int_equal(value, 77);
        assert_ptr_equal(pointer, &value);
        assert_cuda(cudaDriverGetVersion(&value), Success);
        assert_int_equal(value, list[i].version);
        assert_cuda(cudaRuntimeGetVersion(&value), Success);
        assert_int_equal(value, CUDART_VERSION);
    }
}

/* Memory has a size, begins with garbage, is aligned to 256 bytes; its addresses never return. */
static void memory(void **state)
{
    (void)state;
    runtime_configure("memory=1048576");
    char *first, *second;
    size_t left, total;
    assert_cuda(cudaMalloc((void **)&first, 4095), Success);
    assert_int_equal((uintptr_t)first % 256, 0);
    const unsigned char *view = runtime_view(first);
    assert_int_equal(view[0], 0xa5);
    assert_int_equal(view[4094], 0xa5);
    assert_cuda(cudaMemGetInfo(&left, &total), Success);
    assert_int_equal(total, 1 << 20);
    assert_int_equal(left, total - 4096);
    assert_cuda(cudaMalloc((void **)&second, left + 1), ErrorMemoryAllocation);
    assert_cuda(cudaMalloc((void **)&second, SIZE_MAX), ErrorMemoryAllocation);
    assert_cuda(cudaGetLastError(), ErrorMemoryAllocation);
    assert_cuda(cudaGetLastError(), Success);
    assert_cuda(cudaSetDevice(1), Success);
    assert_cuda(cudaMemGetInfo(&left, &total), Success);
    assert_int_equal(left, total);
    assert_cuda(cudaFree(first), Success);
    for (int i = 0; i < 50; i++) {
        assert_cuda(cudaMalloc((void **)&second, 4095), Success);
        assert_ptr_not_equal(first, second);
        assert_cuda(cudaFree(second), Success);
    }
    assert_cuda(cudaMemGetInfo(&left, &total), Success);
    assert_int_equal(left, total);
    assert_cuda(cudaMalloc((void **)&first, 0), Success);
    assert_null(first);
    assert_cuda(cudaFree(NULL), Success);
    assert_cuda(cudaFreeHost(NULL), Success);
}

/* The attributes of an address. */
static void pointers(void **state)
{
    (void)state;
    struct card card = card_open("");
    char pageable[256];
    struct cudaPointerAttributes is;
    assert_cuda(cudaPointerGetAttributes(&is, (char *)card.memory + 7), Success);
    assert_int_equal(is.type, cudaMemoryTypeDevice);
    assert_int_equal(is.device, 0);
    assert_null(is.hostPointer);
    assert_cuda(cudaPointerGetAttributes(&is, card.pinned), Success);
    assert_int_equal(is.type, cudaMemoryTypeHost);
    assert_ptr_equal(is.hostPointer, card.pinned);
    assert_cuda(cudaPointerGetAttributes(&is, pageable), Success);
    assert_int_equal(is.type, cudaMemoryTypeUnregistered);
    void *there;
    assert_cuda(cudaHostRegister(pageable, sizeof pageable, cudaHostRegisterMapped), Success);
    assert_cuda(cudaHostRegister(pageable + 8, 8, 0), ErrorHostMemoryAlreadyRegistered);
    assert_cuda(cudaHostGetDevicePointer(&there, pageable + 9, 0), Success);
    assert_ptr_equal(there, pageable + 9);
    assert_cuda(cudaHostUnregister(pageable), Success);
    uint64_t offset;
    int file = runtime_file(card.memory + 5, &offset);
    uint32_t word = 1234, came = 0;
    assert_int_equal(pwrite(file, &word, sizeof word, (off_t)offset), sizeof word);
    assert_cuda(
        cudaMemcpyAsync(&came, card.memory + 5, sizeof came, cudaMemcpyDefault, card.stream),
        Success);
    assert_int_equal(came, word);
    assert_int_equal(runtime_file(card.pinned, &offset), -1);
    card_close(&card);
}

/* The n-th call of a function fails, with a fitting error, once. */
static void failures(void **state)
{
    (void)state;
    runtime_configure("fail=cudaMalloc:2+cudaStreamCreateWithFlags:1+cudaGetDeviceCount:1");
    int count;
    void *one, *two = NULL;
    cudaStream_t stream;
    assert_cuda(cudaMalloc(&one, 8), Success);
    assert_cuda(cudaMalloc(&two, 8), ErrorMemoryAllocation);
    assert_null(two);
    assert_cuda(cudaPeekAtLastError(), ErrorMemoryAllocation);
    assert_cuda(cudaMalloc(&two, 8), Success);
    assert_cuda(cudaStreamCreateWithFlags(&stream, 0), ErrorMemoryAllocation);
    assert_cuda(cudaStreamCreateWithFlags(&stream, 0), Success);
    assert_cuda(cudaGetDeviceCount(&count), ErrorSystemNotReady);
    assert_cuda(cudaGetDeviceCount(&count), Success);
    assert_cuda(cudaFree(one), Success);
    assert_cuda(cudaFree(two), Success);
    assert_cuda(cudaStreamDestroy(stream), Success);
    runtime_check();
}

/* After the n-th launch all calls fail, and nothing else is done. */
static void sticky(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        char settings[64];
        snprintf(settings, sizeof settings, "%s,sticky=2", modes[mode]);
        struct card card = card_open(settings);
        words_fill(card.pinned, 0);
        assert_cuda(
            cudaMemcpyAsync(card.memory, card.pinned, CARD_BYTES, cudaMemcpyDefault, card.stream),
            Success);
        const uint32_t *view = runtime_view(card.memory);
        assert_cuda(card_add(&card, card.memory, card.memory, 1), Success);
        assert_cuda(card_add(&card, card.memory, card.memory, 1), Success);
        assert_cuda(cudaStreamSynchronize(card.stream), ErrorIllegalAddress);
        assert_cuda(cudaGetLastError(), ErrorIllegalAddress);
        assert_cuda(cudaGetLastError(), ErrorIllegalAddress);
        assert_cuda(cudaEventQuery(card.event), ErrorIllegalAddress);
        assert_cuda(cudaFree(card.memory), ErrorIllegalAddress);
        assert_cuda(card_add(&card, card.memory, card.memory, 1), ErrorIllegalAddress);
        assert_int_equal(words_wrong(view, 1), 0);
        runtime_check();
    }
    runtime_configure("");
    int count;
    assert_cuda(cudaGetDeviceCount(&count), Success);
}

/* The other process: reads a handle, adds 1 to the memory by a kernel, and answers. */
static int ipc_peer(int socket, const char *settings)
{
    cudaIpcMemHandle_t handle;
    void *memory, *again;
    struct card card = card_open(settings);
    assert_int_equal(read(socket, &handle, sizeof handle), sizeof handle);
    assert_cuda(cudaIpcOpenMemHandle(&memory, handle, 0), ErrorInvalidValue);
    assert_cuda(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess), Success);
    assert_cuda(cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess), Success);
    assert_ptr_equal(memory, again);
    assert_cuda(card_add(&card, card.memory, memory, 1), Success);
    assert_cuda(cudaMemcpyAsync(memory, card.memory, CARD_BYTES, cudaMemcpyDefault, card.stream),
                Success);
    assert_cuda(cudaStreamSynchronize(card.stream), Success);
    assert_cuda(cudaIpcCloseMemHandle(memory), Success);
    assert_cuda(cudaIpcCloseMemHandle(memory), Success);
    card_close(&card);
    return write(socket, "", 1) == 1 ? 0 : 1;
}

static void ipc(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        pid_t child = fork();
        if (child == 0)
            _exit(ipc_peer(ends[1], modes[mode]));
        struct card card = card_open(modes[mode]);
        words_fill(runtime_view(card.memory), 100);
        cudaIpcMemHandle_t handle;
        void *memory;
        char answer;
        assert_cuda(cudaIpcGetMemHandle(&handle, card.memory), Success);
        assert_cuda(cudaIpcOpenMemHandle(&memory, handle, 1), ErrorDeviceUninitialized);
        assert_int_equal(write(ends[0], &handle, sizeof handle), sizeof handle);
        assert_int_equal(read(ends[0], &answer, 1), 1);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(words_wrong(runtime_view(card.memory), 101), 0);
        close(ends[0]);
        close(ends[1]);
        card_close(&card);
    }
    struct card card = card_open("ipc=no");
    cudaIpcMemHandle_t handle;
    assert_cuda(cudaIpcGetMemHandle(&handle, card.memory), ErrorNotSupported);
    card_close(&card);
}

/* The devices that CUDA_VISIBLE_DEVICES leaves: each by bus and part, as "22.0". */
static const char *cards_seen(const char *visible)
{
    static char list[64];
    int count = 0, used = 0;
    setenv("CUDA_STANDIN", "devices=3", 1);
    setenv("CUDA_VISIBLE_DEVICES", visible, 1);
    runtime_configure(NULL);
    unsetenv("CUDA_STANDIN");
    unsetenv("CUDA_VISIBLE_DEVICES");
    list[0] = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        return "none";
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp about;
        char id[16];
        assert_cuda(cudaGetDeviceProperties(&about, i), Success);
        assert_cuda(cudaDeviceGetPCIBusId(id, sizeof id, i), Success);
        used += snprintf(list + used, sizeof list - (size_t)used, "%s%.2s.%d", i ? " " : "", id + 5,
                         about.uuid.bytes[15]);
    }
    struct cudaDeviceProp about;
    assert_cuda(cudaGetDeviceProperties(&about, count), ErrorInvalidDevice);
    return list;
}

static void visible(void **state)
{
    (void)state;
    assert_string_equal(cards_seen("0,1,2"), "1A.0 22.0 2A.0");
    assert_string_equal(cards_seen("2,0"), "2A.0 1A.0");
    assert_string_equal(cards_seen("1,3,0"), "22.0");
    assert_string_equal(cards_seen("1,1,0"), "22.0");
    assert_string_equal(cards_seen("MIG-2,MIG-1"), "1A.2 1A.1");
    assert_string_equal(cards_seen(""), "none");
    assert_string_equal(cards_seen("-1"), "none");
    runtime_configure("devices=1"); /* settings of a test are not cut down */
}

static int forked_work(void *unused)
{
    (void)unused;
    int count = 77;
    void *memory;
    return cudaGetDeviceCount(&count) == cudaErrorInitializationError && count == 77 &&
                   cudaMalloc(&memory, 8) == cudaErrorInitializationError &&
                   cudaGetLastError() == cudaErrorInitializationError
               ? 0
               : 1;
}

/* A child of a process that has called cannot call. */
static void forked(void **state)
{
    (void)state;
    int count;
    runtime_configure("");
    assert_cuda(cudaGetDeviceCount(&count), Success);
    assert_int_equal(child_run(forked_work, NULL)->status, 0);
    assert_cuda(cudaGetDeviceCount(&count), Success);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices),   cmocka_unit_test(device_per_thread),
        cmocka_unit_test(no_driver), cmocka_unit_test(memory),
        cmocka_unit_test(pointers),  cmocka_unit_test(failures),
        cmocka_unit_test(sticky),    cmocka_unit_test(ipc),
        cmocka_unit_test(forked),    cmocka_unit_test(visible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

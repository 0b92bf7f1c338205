/*
 * kind.c - memory of an NVIDIA GPU, as a kind of memory. The device is the calling thread's.
 */
#include <cuda_runtime_api.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "host/nvml/gpus.h"
#include "dataplane/memory/cuda/internal.h"
#include "dataplane/memory/cuda/kernels.h"

#define GRAIN_LEAST ((size_t)512 << 10)

/* Ranks that are threads share the queues of their process to a GPU. CUDA makes 8 unless told
 * otherwise, and a kernel may wait behind one of another rank that is in the same queue. */
static void cuda_prepare(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

static void cuda_release(struct region *region)
{
    if (region->reserved > 0)
        fabric_give(region->base, region->reserved);
    else if (region->base)
        cudaFree(region->base);
    *region = (struct region){.fd = -1};
}

/* By a stream of its own: there may be no engine yet. *busy: the GPU still clears, although the job
 * has ended. */
static enum status region_clear(const struct region *region, const struct tick *tick, bool *busy)
{
    cudaStream_t stream;
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot make a stream");
    cudaError_t error = cudaMemsetAsync(region->base, 0, region->bytes, stream);
    enum status status = error == cudaSuccess
                             ? cuda_wait_stream(stream, tick)
                             : cuda_failed(error, "cannot clear memory of the GPU");
    *busy = status != STATUS_OK && cudaStreamQuery(stream) == cudaErrorNotReady;
    cudaStreamDestroy(stream);
    return status;
}

/* A GPU in an NVLink domain has memory that the others there can map, if it can make such. */
static enum status region_take(struct region *region)
{
    const struct memory_device *device = cuda_current();
    void *base = NULL;
    if (device->domain[0] &&
        fabric_take(device->number, region->bytes, &base, &region->reserved) == 0) {
        region->base = base;
        return STATUS_OK;
    }
    region->reserved = 0;
    enum status status = cuda_take(region->bytes, &base);
    region->base = base;
    return status;
}

static enum status cuda_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    bool busy = false;
    *region = (struct region){.kind = &memory_cuda, .bytes = bytes, .fd = -1};
    enum status status = region_take(region);
    if (status == STATUS_OK && bytes > 0)
        status = region_clear(region, tick, &busy);
    if (busy) /* to free the memory would wait for the GPU: the end of the process does */
        *region = (struct region){.fd = -1};
    else if (status != STATUS_OK)
        cuda_release(region);
    return status;
}

/* Kernels take the address that the CPU has, as is possible wherever addresses are unified. */
static enum status cuda_pin(void *base, size_t bytes)
{
    void *address = NULL;
    cudaError_t error =
        cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess)
        return cuda_pin_failed(
            error, bytes,
            "through which messages are staged: run fewer ranks here, or use fewer channels");
    error = cudaHostGetDevicePointer(&address, base, 0);
    if (error == cudaSuccess && address == base)
        return STATUS_OK;
    cudaHostUnregister(base);
    if (error != cudaSuccess)
        return cuda_failed(error, "cannot map pinned memory");
    return fail(STATUS_UNAVAILABLE, "no GPU can be used: this one maps memory of the host at other "
                                    "addresses than the CPU");
}

static void cuda_unpin(void *base)
{
    cudaHostUnregister(base);
}

/* Memory that is left on the thread's device. */
static void cuda_look(struct memory_pool *pools)
{
    const struct memory_device *device = cuda_current();
    size_t left = 0, total = 0;
    pools[0] = pools[1] = (struct memory_pool){.which = 0};
    if (cudaMemGetInfo(&left, &total) != cudaSuccess)
        return;
    pools[0] = (struct memory_pool){
        .which = memory_device_identity(device), .left = left, .is_exact = true};
    memory_device_text(device, pools[0].where);
}

static reduce_function *cuda_reduce(const struct datatype *type, const struct reduction *reduction)
{
    const void *kernel = device_reduce_kernel(type->id, reduction->id);
    reduce_function *function;
    memcpy(&function, &kernel, sizeof function);
    return function;
}

static finish_function *cuda_finish(const struct datatype *type, const struct reduction *reduction)
{
    const void *kernel = reduction->finishes ? device_finish_kernel(type->id) : NULL;
    finish_function *function;
    memcpy(&function, &kernel, sizeof function);
    return function;
}

/*
 * Kernels fill, make and compare; the host waits for their answer, and polls for it. All of it goes
 * through the queue of the kernels, in order.
 */
/* Inputs that a launch makes to compare them, so that the GPU serves other ranks in between, and
 * how many launches to begin before a wait: one blocks if too many are queued. */
#define INPUTS_MOST   ((size_t)1 << 32)
#define LAUNCHES_MOST 256

static struct cuda_queue *contents_queue(const struct memory *memory)
{
    return &cuda_engine_of(memory->engine)->queues[QUEUE_KERNELS];
}

static enum status await(const struct memory *memory)
{
    return cuda_wait_stream(contents_queue(memory)->stream, memory->tick);
}

static enum status cuda_fill(const struct memory *memory, void *to, unsigned char byte,
                             size_t bytes)
{
    if (bytes == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    CUDA_TRY(cudaMemsetAsync(to, byte, bytes, contents_queue(memory)->stream),
             "cannot fill memory");
    return await(memory);
}

/* Launches a kernel whose blocks take a page of inputs at a time. */
static enum status pages_launch(const struct memory *memory, const void *kernel,
                                struct device_work *work)
{
    const size_t first = work->first / INPUT_PAGE;
    const size_t end = (work->first + work->count + INPUT_PAGE - 1) / INPUT_PAGE;
    return cuda_launch(contents_queue(memory), kernel, end - first, 1, work);
}

static enum status cuda_make(const struct memory *memory, const struct inputs *inputs, int rank,
                             size_t first, size_t count, void *to)
{
    if (count == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    struct device_work work = {
        .by = inputs_rule(inputs), .rank = rank, .first = first, .count = count, .at = to};
    TRY(pages_launch(memory, device_make_kernel(inputs->datatype->id), &work));
    return await(memory);
}

/* Nothing is counted yet, and the least offset is as large as can be. */
static enum status answers_clear(const struct memory *memory)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    engine->answers_host->total = 0;
    engine->answers_host->least = ULLONG_MAX;
    CUDA_TRY(cudaMemcpyAsync(engine->answers, engine->answers_host, sizeof *engine->answers_host,
                             cudaMemcpyHostToDevice, contents_queue(memory)->stream),
             "cannot copy");
    return STATUS_OK;
}

static enum status answers_read(const struct memory *memory)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    CUDA_TRY(cudaMemcpyAsync(engine->answers_host, engine->answers, sizeof *engine->answers_host,
                             cudaMemcpyDeviceToHost, contents_queue(memory)->stream),
             "cannot copy");
    return await(memory);
}

/* Compares elements [at, at + count). `bits`: on the device, zeroed; NULL: not asked for. */
static enum status compare_begin(const struct memory *memory, const struct comparison *comparison,
                                 size_t at, size_t count, unsigned *bits)
{
    const struct inputs *inputs = comparison->inputs;
    const bool is_combined = comparison->rank < 0;
    struct device_work work = {.by = inputs_rule(inputs),
                               .rank = is_combined ? 0 : comparison->rank,
                               .ranks = is_combined ? inputs->ranks : 1,
                               .reduction = is_combined ? inputs->reduction->id : 0,
                               .finishes = is_combined && inputs->reduction->finishes,
                               .first = comparison->first + at,
                               .count = count,
                               .at =
                                   (char *)(uintptr_t)comparison->at + at * inputs->datatype->size,
                               .total = &cuda_engine_of(memory->engine)->answers->total,
                               .bits = bits};
    return pages_launch(memory, device_compare_kernel(inputs->datatype->id), &work);
}

static enum status cuda_compare(const struct memory *memory, const struct comparison *comparison,
                                size_t *wrong)
{
    *wrong = 0;
    if (comparison->count == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    TRY(answers_clear(memory));
    const size_t most =
        INPUTS_MOST / (size_t)(comparison->rank < 0 ? comparison->inputs->ranks : 1);
    int launches = 0;
    for (size_t at = 0, count; at < comparison->count; at += count) {
        count = comparison->count - at < most ? comparison->count - at : most;
        TRY(compare_begin(memory, comparison, at, count, NULL));
        if (++launches % LAUNCHES_MOST == 0)
            TRY(await(memory));
    }
    TRY(answers_read(memory));
    *wrong = cuda_engine_of(memory->engine)->answers_host->total;
    return STATUS_OK;
}

/* The wrong elements of a part that begins at `at`, by their bits. Words of 32 elements of which
 * none is asked for are only counted. */
static void bits_select(const unsigned *bits, size_t at, size_t count, size_t *next,
                        struct selection *selection)
{
    for (size_t i = 0; i < (count + 31) / 32; i++) {
        unsigned left = bits[i];
        if (left == 0)
            continue;
        const size_t wrong = selection->wrong;
        selection->wrong += (size_t)__builtin_popcount(left);
        selection->last = at + 32 * i + 31 - (size_t)__builtin_clz(left);
        for (size_t number = wrong; *next < selection->wrong && selection->count < selection->most;
             number++, left &= left - 1) {
            if (number != *next)
                continue;
            selection->at[selection->count++] = at + 32 * i + (size_t)__builtin_ctz(left);
            *next += selection->stride;
        }
    }
}

static enum status part_select(const struct memory *memory, const struct comparison *comparison,
                               size_t at, size_t count, size_t *next, struct selection *selection)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    cudaStream_t stream = contents_queue(memory)->stream;
    size_t bytes = (count + 31) / 32 * sizeof *engine->bits;
    TRY(answers_clear(memory));
    CUDA_TRY(cudaMemsetAsync(engine->bits, 0, bytes, stream), "cannot fill memory");
    TRY(compare_begin(memory, comparison, at, count, engine->bits));
    TRY(answers_read(memory));
    if (engine->answers_host->total == 0)
        return STATUS_OK;
    CUDA_TRY(
        cudaMemcpyAsync(engine->bits_host, engine->bits, bytes, cudaMemcpyDeviceToHost, stream),
        "cannot copy");
    TRY(await(memory));
    bits_select(engine->bits_host, at, count, next, selection);
    return STATUS_OK;
}

static enum status cuda_select(const struct memory *memory, const struct comparison *comparison,
                               struct selection *selection)
{
    size_t next = selection->skip;
    selection->count = selection->wrong = 0;
    for (size_t at = 0, count; at < comparison->count && tick_on(memory->tick); at += count) {
        count = comparison->count - at < CUDA_SELECTED ? comparison->count - at : CUDA_SELECTED;
        TRY(part_select(memory, comparison, at, count, &next, selection));
    }
    return STATUS_OK;
}

static enum status cuda_scan(const struct memory *memory, const void *at, unsigned char byte,
                             size_t bytes, struct damage *damage)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    struct device_work work = {.at = (char *)(uintptr_t)at,
                               .byte = byte,
                               .count = bytes,
                               .total = &engine->answers->total,
                               .least = &engine->answers->least};
    TRY(answers_clear(memory));
    if (bytes > 0)
        TRY(cuda_launch(contents_queue(memory), device_scan_kernel(), cuda_blocks(bytes), 1,
                        &work));
    TRY(answers_read(memory));
    *damage =
        (struct damage){.bytes = engine->answers_host->total, .first = engine->answers_host->least};
    return STATUS_OK;
}

/* By way of pinned memory, in parts: from pageable memory the runtime may block. */
static enum status exchange(const struct memory *memory, char *device, char *host, size_t bytes,
                            bool reads)
{
    char *pinned = (char *)cuda_engine_of(memory->engine)->bits_host;
    for (size_t at = 0, part; at < bytes; at += part) {
        part = bytes - at < CUDA_BITS_BYTES ? bytes - at : CUDA_BITS_BYTES;
        if (!reads)
            memcpy(pinned, host + at, part);
        CUDA_TRY(cudaMemcpyAsync(reads ? pinned : device + at, reads ? device + at : pinned, part,
                                 cudaMemcpyDefault, contents_queue(memory)->stream),
                 "cannot copy");
        TRY(await(memory));
        if (reads)
            memcpy(host + at, pinned, part);
    }
    return STATUS_OK;
}

static enum status cuda_read(const struct memory *memory, const void *at, size_t bytes, void *to)
{
    return exchange(memory, (char *)(uintptr_t)at, to, bytes, true);
}

static enum status cuda_write(const struct memory *memory, const void *from, size_t bytes, void *at)
{
    return exchange(memory, at, (char *)(uintptr_t)from, bytes, false);
}

/*
 * Memory of a GPU that a kernel or a copy of another rank reads.
 *
 * Ranks that are threads of one process use the same addresses. If they use several GPUs, these
 * need peer access. Ranks of other processes open a fabric handle if the memory has one, on this
 * host or on another; else, on this host, a CUDA IPC handle, which asks for peer access itself.
 */
#define BUS_MOST      24
#define IMEX_CHANNELS "/dev/nvidia-caps-imex-channels"

/* The content of a handle. */
struct cuda_handle {
    uint64_t base, bytes;
    uint64_t reserved; /* bytes, which `fabric` names; 0: `ipc` does */
    uint64_t host, process;
    int32_t device;         /* the GPU's number in the process */
    int32_t refusal;        /* cudaError_t: why there is no `ipc`; 0: there is one */
    int32_t fabric_refusal; /* CUresult: why there is no `fabric`; 0: there is one */
    char bus[BUS_MOST];     /* the GPU's PCI address */
    union {
        cudaIpcMemHandle_t ipc;
        struct fabric_handle fabric;
    };
};
_Static_assert(sizeof(struct cuda_handle) <= MEMORY_HANDLE_MOST, "a handle has room");

/* Names no GPU: pairs of ranks with the same reason are reported together. */
static const char no_peer_access[] =
    "their GPUs have no peer access to each other (nvidia-smi topo -p2p r shows which have)";

/* The thread's GPU. */
static enum status own_gpu(int *device, char bus[BUS_MOST])
{
    CUDA_TRY(cudaGetDevice(device), "cannot use a GPU");
    CUDA_TRY(cudaDeviceGetPCIBusId(bus, BUS_MOST, *device), "cannot use a GPU");
    return STATUS_OK;
}

/* A lack of handles matters only to ranks of other processes, or of other hosts. */
static enum status cuda_lend(const struct region *region, struct memory_handle *handle)
{
    struct cuda_handle lent = {.base = (uintptr_t)region->base,
                               .bytes = region->bytes,
                               .reserved = region->reserved,
                               .host = host_identity(),
                               .process = host_process_identity()};
    int device = 0;
    TRY(own_gpu(&device, lent.bus));
    lent.device = device;
    if (region->reserved > 0) {
        lent.fabric_refusal = fabric_lend(region->base, &lent.fabric);
    } else {
        lent.refusal = (int32_t)cudaIpcGetMemHandle(&lent.ipc, region->base);
        lent.fabric_refusal = cuda_current()->domain[0] ? fabric_try(device) : FABRIC_NOT_SUPPORTED;
        if (!lent.fabric_refusal) /* it had no room for such memory, which comes in large units */
            lent.fabric_refusal = cudaErrorMemoryAllocation;
        cudaGetLastError();
    }
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &lent, sizeof lent);
    return STATUS_OK;
}

static enum status map_same_process(const struct cuda_handle *lent, int device, char *reason)
{
    void *base = (void *)(uintptr_t)lent->base;
    int can = 0;
    if (lent->device == device)
        return STATUS_OK;
    CUDA_TRY(cudaDeviceCanAccessPeer(&can, device, lent->device), "cannot ask for peer access");
    if (!can) {
        snprintf(reason, MEMORY_REASON_MOST, "%s", no_peer_access);
        return STATUS_UNAVAILABLE;
    }
    cudaError_t error = lent->reserved > 0
                            ? (cudaError_t)fabric_open(device, base, lent->reserved)
                            : cudaDeviceEnablePeerAccess(lent->device, cudaPeerAccessDefault);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
        error = cudaSuccess;
    cudaGetLastError();
    if (error == cudaSuccess)
        return STATUS_OK;
    snprintf(reason, MEMORY_REASON_MOST, "its GPU gets no peer access to the other's memory: %s",
             cudaGetErrorString(error));
    return STATUS_UNAVAILABLE;
}

static enum status map_ipc(const struct cuda_handle *lent, void **base, char *reason)
{
    if (lent->refusal != cudaSuccess) {
        snprintf(reason, MEMORY_REASON_MOST,
                 "its process cannot share memory of its GPU (CUDA IPC): %s",
                 cudaGetErrorString((cudaError_t)lent->refusal));
        return STATUS_UNAVAILABLE;
    }
    cudaError_t error = cudaIpcOpenMemHandle(base, lent->ipc, cudaIpcMemLazyEnablePeerAccess);
    if (error == cudaSuccess)
        return STATUS_OK;
    cudaGetLastError();
    if (error == cudaErrorPeerAccessUnsupported)
        snprintf(reason, MEMORY_REASON_MOST, "%s", no_peer_access);
    else
        snprintf(reason, MEMORY_REASON_MOST,
                 "memory of its GPU cannot be mapped (CUDA IPC): %s; MIG parts cannot map each "
                 "other's, and containers need the same IPC and PID namespaces",
                 cudaGetErrorString(error));
    return STATUS_UNAVAILABLE;
}

static void no_handle(int error, char *reason)
{
    if (error == FABRIC_NOT_PERMITTED)
        snprintf(reason, MEMORY_REASON_MOST,
                 "its GPU makes no fabric handle, since its process has no IMEX channel: make "
                 "one that the user may open (" IMEX_CHANNELS "/channel0)");
    else if (error == cudaErrorMemoryAllocation)
        snprintf(reason, MEMORY_REASON_MOST,
                 "its GPU has no room for memory with a fabric handle, which comes in units of 2 "
                 "MiB: ask for smaller sizes (-e)");
    else
        snprintf(reason, MEMORY_REASON_MOST,
                 "its GPU makes no fabric handle that can be opened: %s; nvidia-imex has to run on "
                 "its host",
                 cudaGetErrorString((cudaError_t)error));
}

static enum status map_fabric(const struct cuda_handle *lent, int device, void **base, char *reason)
{
    int error = fabric_map(device, &lent->fabric, lent->reserved, base);
    if (error == 0)
        return STATUS_OK;
    if (error == FABRIC_NOT_PERMITTED)
        snprintf(reason, MEMORY_REASON_MOST,
                 "a fabric handle cannot be opened without the IMEX channel of its process: give "
                 "the user the same one on all hosts (" IMEX_CHANNELS "/channel0)");
    else
        snprintf(reason, MEMORY_REASON_MOST,
                 "memory of its GPU cannot be mapped (fabric handle): %s%s",
                 cudaGetErrorString((cudaError_t)error),
                 lent->host == host_identity() ? ""
                                               : "; nvidia-imex has to run on both hosts, and to "
                                                 "know both (nvidia-imex-ctl -N)");
    return STATUS_UNAVAILABLE;
}

static enum status map_other_process(const struct cuda_handle *lent, int device,
                                     struct memory_mapping *mapping, char *reason)
{
    void *base = NULL;
    bool same_host = lent->host == host_identity();
    enum status status = STATUS_UNAVAILABLE;
    if (lent->reserved > 0 && !lent->fabric_refusal)
        status = map_fabric(lent, device, &base, reason);
    else if (lent->reserved == 0 && same_host)
        status = map_ipc(lent, &base, reason);
    else
        no_handle(lent->fabric_refusal, reason);
    mapping->base = base;
    mapping->is_opened = status == STATUS_OK;
    mapping->reserved = lent->reserved;
    return status;
}

static enum status cuda_map(const struct memory_handle *handle, struct memory_mapping *mapping,
                            char *reason)
{
    struct cuda_handle lent;
    char bus[BUS_MOST] = "";
    int device = 0;
    memcpy(&lent, handle, sizeof lent);
    lent.bus[BUS_MOST - 1] = '\0';
    *mapping = (struct memory_mapping){.bytes = lent.bytes};
    TRY(own_gpu(&device, bus));
    bool same_gpu = lent.host == host_identity() && strcmp(bus, lent.bus) == 0;
    if (lent.process == host_process_identity()) {
        mapping->base = (char *)(uintptr_t)lent.base;
        mapping->words = same_gpu ? "same GPU" : "peer access";
        return map_same_process(&lent, device, reason);
    }
    mapping->words = lent.reserved > 0 ? same_gpu ? "fabric handle, same GPU" : "fabric handle"
                     : same_gpu        ? "CUDA IPC, same GPU"
                                       : "CUDA IPC, peer access";
    return map_other_process(&lent, device, mapping, reason);
}

static void cuda_unmap(struct memory_mapping *mapping)
{
    if (mapping->is_opened && mapping->reserved > 0)
        fabric_give(mapping->base, mapping->reserved);
    else if (mapping->is_opened)
        cudaIpcCloseMemHandle(mapping->base);
    *mapping = (struct memory_mapping){.base = NULL};
}

const struct memory_kind memory_cuda = {
    .name = "cuda",
    .summary = "memory of an NVIDIA GPU",
    .unavailable = cuda_driver_missing,
    .prepare = cuda_prepare,
    .grain_least = GRAIN_LEAST,
    .grain_most = CUDA_GRAIN_MOST,
    .devices_taken = cuda_devices_taken,
    .settle = cuda_settle,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .look = cuda_look,
    .engine_bytes = CUDA_ENGINE_BYTES,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .engine_open = cuda_engine_open,
    .engine_post = cuda_engine_post,
    .engine_progress = cuda_engine_progress,
    .engine_busy = cuda_engine_busy,
    .engine_close = cuda_engine_close,
    .engine_forget = cuda_engine_forget,
    .reduce = cuda_reduce,
    .finish = cuda_finish,
    .fill = cuda_fill,
    .make = cuda_make,
    .compare = cuda_compare,
    .select = cuda_select,
    .scan = cuda_scan,
    .read = cuda_read,
    .write = cuda_write,
    .devices = cuda_devices,
    .rank_devices = cuda_rank_devices,
    .device_meter = gpu_meter_open,
    .share = cuda_share,
    .flush = cuda_flush,
    .lend = cuda_lend,
    .map = cuda_map,
    .unmap = cuda_unmap,
};

/*
 * gpu_measure.c - how fast each GPU of this host copies: by the engine that collectives use.
 */
#include "accept/internal.h"

#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "host/host.h"
#include "dataplane/memory/memory.h"

#define GPUS_MOST 64
#define DEVICE_MOST                                                                                \
    ((size_t)256 << 20) /* bytes of a buffer on the GPU, more than its caches hold, */
#define HOST_MOST    ((size_t)64 << 20) /* and of the pinned one */
#define BUFFER_LEAST ((size_t)1 << 20)
#define MEMORY_SHARE 8 /* a buffer takes at most one in so many of the bytes that are left */
#define HALVES       2 /* of a buffer, copied at the same time: the engine's queue is never empty */
#define STUCK        5.0  /* seconds after which a copy hangs, */
#define STUCK_OPEN   12.0 /* and a GPU that is opened */

enum gpu_work { WORK_COPY, WORK_TO_DEVICE, WORK_TO_HOST, WORKS };

static const struct part_work works[WORKS] = {
    [WORK_COPY] = {"gpu-copy", "GBps", 1e9, PARTS_EACH},
    [WORK_TO_DEVICE] = {"host-to-device", "GBps", 1e9, PARTS_EACH},
    [WORK_TO_HOST] = {"device-to-host", "GBps", 1e9, PARTS_EACH},
};

/* Ends what waits for a GPU that is opened. `argument`: when, by clock_seconds(). */
static enum tick_answer deadline_call(void *argument, int peer)
{
    const double *until = argument;
    (void)peer;
    return clock_seconds() < *until ? TICK_GO_ON : TICK_ENDED;
}

/* A GPU's own. */
struct gpu {
    struct region to, from, host;
    bool is_pinned; /* `host` */
    struct engine *engine;
};

static size_t bytes_choose(const struct memory_kind *kind, size_t most)
{
    struct memory_pool pools[MEMORY_POOLS];
    size_t bytes = most;
    kind->look(pools);
    for (int i = 0; i < MEMORY_POOLS; i++)
        if (pools[i].which != 0 && pools[i].left / MEMORY_SHARE < bytes)
            bytes = pools[i].left / MEMORY_SHARE;
    return bytes & ~(BUFFER_LEAST - 1);
}

/* The GPU's buffers, and a pinned one of the host. */
static enum status buffers_make(struct gpu *gpu, const char *name, const struct tick *tick)
{
    const struct memory_kind *host = memory_find("host");
    size_t bytes = bytes_choose(&memory_cuda, DEVICE_MOST);
    size_t pinned = bytes_choose(host, bytes < HOST_MOST ? bytes : HOST_MOST);
    if (pinned < BUFFER_LEAST)
        return fail(STATUS_ERROR, "%s, or its host, has too little memory left to be measured",
                    name);
    enum status status = memory_cuda.allocate(bytes, tick, &gpu->to);
    if (status == STATUS_OK)
        status = memory_cuda.allocate(bytes, tick, &gpu->from);
    if (status == STATUS_OK)
        status = host->allocate(pinned, NULL, &gpu->host);
    if (status == STATUS_OK)
        status = memory_cuda.pin(gpu->host.base, pinned);
    gpu->is_pinned = status == STATUS_OK;
    return status;
}

/* The pinned buffer is near the GPU, if its thread is when it makes it. */
static void thread_place(const struct memory_device *device)
{
    cpu_set_t cpus;
    if (pci_cpus("/sys", device->bus, &cpus))
        sched_setaffinity(0, sizeof cpus, &cpus);
}

static enum status gpu_open(struct part_at_work *part)
{
    struct memory_device device;
    struct gpu *gpu = calloc(1, sizeof *gpu);
    double until = clock_seconds() + STUCK_OPEN;
    const struct tick tick = {.call = deadline_call, .argument = &until};
    part->own = gpu;
    if (!gpu)
        return fail(STATUS_ERROR, "out of memory for GPU %d", part->number);
    enum status status = memory_cuda.settle(NULL, part->number, &tick, &device);
    if (status != STATUS_OK)
        return status;
    memory_device_text(&device, part->name);
    thread_place(&device);
    status = buffers_make(gpu, part->name, &tick);
    return status == STATUS_OK ? memory_cuda.engine_open(ENGINE_MOVES, &tick, &gpu->engine)
                               : status;
}

static void gpu_close(struct part_at_work *part)
{
    struct gpu *gpu = part->own;
    if (!gpu || (gpu->engine && memory_cuda.engine_busy(gpu->engine)))
        return; /* to free what a GPU uses that hangs would wait for it: the end of the process does */
    if (gpu->engine)
        memory_cuda.engine_close(gpu->engine);
    if (gpu->is_pinned)
        memory_cuda.unpin(gpu->host.base);
    if (gpu->host.kind)
        gpu->host.kind->release(&gpu->host);
    memory_cuda.release(&gpu->to);
    memory_cuda.release(&gpu->from);
    free(gpu);
}

/* Copies a whole buffer, in halves. */
static enum status gpu_step(struct part_at_work *part, int work, double *done)
{
    struct gpu *gpu = part->own;
    const struct region *to = work == WORK_TO_HOST ? &gpu->host : &gpu->to;
    const struct region *from = work == WORK_TO_DEVICE ? &gpu->host : &gpu->from;
    size_t bytes = (to->bytes < from->bytes ? to->bytes : from->bytes) / HALVES;
    struct piece to_pieces[HALVES], from_pieces[HALVES];
    struct transfer copies[HALVES];
    struct moved_list moved = {NULL};
    for (int i = 0; i < HALVES; i++) {
        to_pieces[i] = (struct piece){to->base + (size_t)i * bytes, bytes, bytes, 1};
        from_pieces[i] = (struct piece){from->base + (size_t)i * bytes, bytes, bytes, 1};
        copies[i] = (struct transfer){.kind = TRANSFER_COPY,
                                      .to = {.pieces = &to_pieces[i], .count = 1},
                                      .from = {.pieces = &from_pieces[i], .count = 1},
                                      .element = 1,
                                      .length = bytes,
                                      .grain = bytes,
                                      .limit = bytes,
                                      .moved = &moved};
        memory_cuda.engine_post(gpu->engine, &copies[i]);
    }
    enum status status = STATUS_OK;
    double begin = clock_seconds();
    while (status == STATUS_OK && (copies[0].done < bytes || copies[1].done < bytes)) {
        status = memory_cuda.engine_progress(gpu->engine);
        if (status == STATUS_OK && clock_seconds() - begin > STUCK)
            status = fail(STATUS_TIMEOUT, "%s does not end a copy (%s) of %zu bytes", part->name,
                          works[work].name, bytes);
    }
    *done = (double)(HALVES * bytes);
    return status;
}

/* How many there are, whoever may use them. */
static int gpus_present(void)
{
    struct device_list list = {0};
    pci_gpus("/sys", &list);
    int count = list.count;
    device_list_free(&list);
    return count;
}

/* No GPU can be measured; if there are any, why. */
static enum status none_write(const char *why, int fd)
{
    json_t *document = json_pack("{s:s, s:[], s:s}", "status", "ok", "results", "note",
                                 gpus_present() > 0 ? why : "");
    bool written = document && json_dumpfd(document, fd, JSON_COMPACT) == 0;
    json_decref(document);
    return written ? STATUS_OK : fail(STATUS_ERROR, "the numbers of this host cannot be written");
}

enum status gpu_measure(double seconds, int fd)
{
    const struct parts_at_work kind = {.works = works,
                                       .work_count = WORKS,
                                       .seconds = seconds / WORKS,
                                       .open = gpu_open,
                                       .step = gpu_step,
                                       .close = gpu_close};
    int numbers[GPUS_MOST], count = 0;
    char note[80] = "";
    const char *why = memory_cuda.unavailable();
    if (why)
        return none_write(why, fd);
    if (memory_cuda.prepare)
        memory_cuda.prepare();
    for (int all = memory_cuda.devices_taken(NULL); count < all && count < GPUS_MOST; count++)
        numbers[count] = count;
    if (count == 0)
        return none_write("CUDA shows its first agent no GPU", fd);
    if (count < gpus_present())
        snprintf(note, sizeof note, "CUDA shows its first agent %d of %d GPUs", count,
                 gpus_present());
    return parts_measure(&kind, numbers, count, note, fd);
}

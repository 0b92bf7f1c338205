/*
 * machine.c - an NVIDIA GPU that runs flat plans: one cooperative launch for each run.
 *
 * No call that may wait for a kernel comes between the first launch of a line and its last: memory
 * is allocated and code is loaded before, and a copy of a plan is made from pinned memory.
 */
#include <cuda_runtime_api.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "dataplane/execute/cuda/step_kernel.h"
#include "dataplane/execute/execute.h"
#include "dataplane/memory/cuda/cuda.h"

#define ABORT_SECONDS 2.0 /* until a run has seen the abort word */

struct cuda_machine {
    struct device_machine base;
    struct machine_config config;
    int device; /* as CUDA numbers it in this process */
    const void *kernel;
    cudaStream_t stream;
    cudaEvent_t begun, ended;
    size_t *pinned;                  /* the abort word, then the whereabouts */
    char *room, *home;               /* plans: the host's copy, and the device's */
    size_t bytes;                    /* of both */
    size_t wanted;                   /* while it changes */
    bool is_abandoned;               /* a call that has not returned may still use the machine */
    char reason[MEMORY_REASON_MOST]; /* why it cannot be opened */
};

static struct cuda_machine *machine_of(struct device_machine *machine)
{
    return (struct cuda_machine *)(void *)machine;
}

static const char words_use[] =
    "through which its kernels and the host tell each other where they are: run fewer ranks here";
static const char plans_use[] = "from which its GPU copies schedules: run fewer ranks here";

static enum status machine_pin(size_t bytes, const char *use, void **memory)
{
    cudaError_t error = cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
    return error == cudaSuccess ? STATUS_OK : cuda_pin_failed(error, bytes, use);
}

/* `plan`: in memory of the device; NULL: the kernel does nothing. */
static enum status kernel_launch(const struct cuda_machine *machine, char *plan, uint32_t blocks)
{
    void *arguments[] = {&plan};
    const dim3 grid = {blocks, 1, 1}, block = {STEP_THREADS, 1, 1};
    CUDA_TRY(cudaLaunchCooperativeKernel(machine->kernel, grid, block, arguments, STEP_SHARED,
                                         machine->stream),
             "cannot launch a kernel");
    return STATUS_OK;
}

static bool machine_works(const struct cuda_machine *machine)
{
    return machine->stream && cudaStreamQuery(machine->stream) == cudaErrorNotReady;
}

/* Opening. */

static enum status machine_refuse(struct cuda_machine *machine, const char *why)
{
    snprintf(machine->reason, sizeof machine->reason, "%s", why);
    return STATUS_UNAVAILABLE;
}

static enum status machine_survey(struct cuda_machine *machine)
{
    struct cudaFuncAttributes about;
    int cooperates = 0, multiprocessors = 0, each = 0, mps = 0;
    cudaError_t error = cudaFuncGetAttributes(&about, machine->kernel);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
        cudaGetLastError();
        return machine_refuse(machine, "this cctest has no kernel for its GPU: build it with "
                                       "CUDA_ARCHS for that one");
    }
    CUDA_TRY(error, "cannot load a kernel");
    CUDA_TRY(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, machine->device),
             "cannot read the properties of a GPU");
    if (!cooperates)
        return machine_refuse(machine, "its GPU launches no kernels whose blocks all run at once");
    CUDA_TRY(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, machine->device),
        "cannot read the properties of a GPU");
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, machine->kernel, STEP_THREADS,
                                                           STEP_SHARED),
             "cannot read how many blocks a GPU holds");
    if (cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, machine->device) != cudaSuccess)
        cudaGetLastError(); /* of a driver that does not know it */
    machine->base.blocks_most = (uint32_t)(multiprocessors * each);
    machine->base.shares = mps != 0;
    return STATUS_OK;
}

/* The first launch of a kernel allocates the stacks of its threads, and may wait for all work of
 * the device. So it comes before any kernel waits for another. */
static enum status machine_warm(const struct cuda_machine *machine)
{
    uint32_t blocks = machine->config.blocks, most = machine->base.blocks_most;
    if (blocks > most)
        blocks = most;
    return blocks > 0 ? kernel_launch(machine, NULL, blocks) : STATUS_OK;
}

static enum status machine_prepare(void *preparing)
{
    struct cuda_machine *machine = preparing;
    void *memory = NULL;
    TRY(machine_survey(machine));
    size_t places = machine->config.blocks * sizeof *machine->base.words.whereabouts;
    TRY(machine_pin(128 + places, words_use, &memory));
    machine->pinned = memory;
    memset(memory, 0, 128 + places);
    machine->base.words.abort = machine->pinned;
    machine->base.words.whereabouts = (struct whereabouts *)(void *)((char *)memory + 128);
    CUDA_TRY(cudaStreamCreateWithFlags(&machine->stream, cudaStreamNonBlocking),
             "cannot make a stream");
    CUDA_TRY(cudaEventCreateWithFlags(&machine->begun, cudaEventDefault), "cannot make an event");
    CUDA_TRY(cudaEventCreateWithFlags(&machine->ended, cudaEventDefault), "cannot make an event");
    return machine_warm(machine);
}

static void machine_close(struct device_machine *closing, bool frees);

static enum status machine_open(const struct machine_config *config, struct device_machine **opened,
                                char *reason)
{
    struct cuda_machine *machine = new_array(1, sizeof *machine);
    bool abandoned;
    *opened = NULL;
    machine->base.hooks = &device_machine_cuda;
    machine->config = *config;
    machine->device = cuda_current()->number;
    machine->kernel = step_kernel();
    enum status status =
        cuda_wait_call(machine_prepare, machine, config->tick, "cannot load kernels", &abandoned);
    if (status == STATUS_OK)
        status = cuda_wait_stream(machine->stream, config->tick);
    if (status == STATUS_OK)
        *opened = &machine->base;
    if (status == STATUS_UNAVAILABLE)
        memcpy(reason, machine->reason, sizeof machine->reason);
    if (status != STATUS_OK && !abandoned)
        machine_close(&machine->base, !machine_works(machine));
    return status;
}

/* Plans. */

static enum status room_change(void *changing)
{
    struct cuda_machine *machine = changing;
    void *memory = NULL;
    CUDA_TRY(cudaFree(machine->home), "cannot free memory of the GPU");
    machine->home = NULL;
    CUDA_TRY(cudaFreeHost(machine->room), "cannot free pinned memory");
    machine->room = NULL;
    machine->bytes = 0;
    TRY(cuda_take(machine->wanted, &memory));
    machine->home = memory;
    TRY(machine_pin(machine->wanted, plans_use, &memory));
    machine->room = memory;
    machine->bytes = machine->wanted;
    return STATUS_OK;
}

static enum status machine_reserve(struct device_machine *base, size_t bytes, char **room)
{
    struct cuda_machine *machine = machine_of(base);
    enum status status = STATUS_OK;
    machine->wanted = bytes + bytes / 2;
    if (bytes > machine->bytes)
        status = cuda_wait_call(room_change, machine, machine->config.tick,
                                "cannot allocate memory for plans", &machine->is_abandoned);
    *room = machine->room;
    return status;
}

static enum status machine_upload(struct device_machine *base, size_t at, size_t bytes)
{
    struct cuda_machine *machine = machine_of(base);
    CUDA_TRY(cudaMemcpyAsync(machine->home + at, machine->room + at, bytes, cudaMemcpyHostToDevice,
                             machine->stream),
             "cannot copy a plan");
    return STATUS_OK;
}

static enum status machine_settle(struct device_machine *base)
{
    struct cuda_machine *machine = machine_of(base);
    return cuda_wait_stream(machine->stream, machine->config.tick);
}

/* Runs. */

static enum status run_launch(const struct cuda_machine *machine, const struct machine_run *run)
{
    return kernel_launch(machine, machine->home + run->at, run->blocks);
}

static enum status run_capture(const struct cuda_machine *machine, const struct machine_run *run,
                               cudaGraph_t *graph)
{
    CUDA_TRY(cudaStreamBeginCapture(machine->stream, cudaStreamCaptureModeThreadLocal),
             "cannot capture a launch");
    enum status status = run_launch(machine, run);
    cudaError_t error = cudaStreamEndCapture(machine->stream, graph);
    if (status == STATUS_OK && error != cudaSuccess)
        status = cuda_failed(error, "cannot capture a launch");
    return status;
}

/* Else the first launch does it, and may wait for kernels that wait for this one. */
static enum status graph_upload(const struct cuda_machine *machine, cudaGraphExec_t ready)
{
    CUDA_TRY(cudaGraphUpload(ready, machine->stream), "cannot copy a graph to the GPU");
    return STATUS_OK;
}

static enum status machine_prepare_run(struct device_machine *base, struct machine_run *run)
{
    const struct cuda_machine *machine = machine_of(base);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t ready = NULL;
    if (!machine->config.replays)
        return STATUS_OK;
    enum status status = run_capture(machine, run, &graph);
    if (status == STATUS_OK) {
        cudaError_t error = cudaGraphInstantiate(&ready, graph, 0);
        status = error == cudaSuccess ? STATUS_OK
                                      : cuda_failed(error, "cannot make a graph of a launch");
    }
    if (status == STATUS_OK)
        status = graph_upload(machine, ready);
    if (graph)
        cudaGraphDestroy(graph);
    run->graph = ready;
    return status;
}

static void machine_forget(struct device_machine *base, struct machine_run *run)
{
    (void)base;
    if (run->graph)
        cudaGraphExecDestroy(run->graph);
    run->graph = NULL;
}

static enum status machine_launch(struct device_machine *base, const struct machine_run *run)
{
    const struct cuda_machine *machine = machine_of(base);
    CUDA_TRY(cudaEventRecord(machine->begun, machine->stream), "cannot record an event");
    if (run->graph)
        CUDA_TRY(cudaGraphLaunch(run->graph, machine->stream), "cannot replay a launch");
    else
        TRY(run_launch(machine, run));
    CUDA_TRY(cudaEventRecord(machine->ended, machine->stream), "cannot record an event");
    return STATUS_OK;
}

static enum status machine_poll(struct device_machine *base, bool *complete, uint64_t *ns)
{
    struct cuda_machine *machine = machine_of(base);
    float ms = 0;
    *complete = false;
    cudaError_t error = cudaEventQuery(machine->ended);
    if (error == cudaErrorNotReady)
        return STATUS_OK;
    CUDA_TRY(error, "a kernel failed");
    CUDA_TRY(cudaEventElapsedTime(&ms, machine->begun, machine->ended), "cannot read an event");
    *ns = (uint64_t)((double)ms * 1e6);
    *complete = true;
    return STATUS_OK;
}

/* Closing. */

/* In a thread of its own, which has no device yet. */
static void machine_release(void *releasing)
{
    const struct cuda_machine *machine = releasing;
    if (cudaSetDevice(machine->device) != cudaSuccess)
        return;
    if (machine->begun)
        cudaEventDestroy(machine->begun);
    if (machine->ended)
        cudaEventDestroy(machine->ended);
    if (machine->stream)
        cudaStreamDestroy(machine->stream);
    cudaFree(machine->home);
    cudaFreeHost(machine->room);
    cudaFreeHost(machine->pinned);
}

static bool machine_rest(struct device_machine *base)
{
    const struct cuda_machine *machine = machine_of(base);
    double until = clock_seconds() + ABORT_SECONDS;
    while (machine_works(machine) && clock_seconds() < until)
        sched_yield();
    return !machine_works(machine);
}

static void machine_close(struct device_machine *closing, bool frees)
{
    struct cuda_machine *machine = machine_of(closing);
    if (!machine->is_abandoned && (!frees || cuda_give_back(machine_release, machine)))
        free(machine);
}

const struct machine_hooks device_machine_cuda = {
    .kind = &memory_cuda,
    .open = machine_open,
    .reserve = machine_reserve,
    .upload = machine_upload,
    .settle = machine_settle,
    .prepare = machine_prepare_run,
    .forget = machine_forget,
    .launch = machine_launch,
    .poll = machine_poll,
    .rest = machine_rest,
    .close = machine_close,
};

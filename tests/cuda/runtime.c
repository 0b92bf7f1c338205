/*
 * runtime.c - how a call begins and ends: the lock, the settings, the failures, the last error.
 */
#include "runtime.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

struct standin standin = {.lock = PTHREAD_MUTEX_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

static _Thread_local cudaError_t last_error;
static _Thread_local int current_device;
static _Thread_local uint64_t current_generation; /* that the device was set in */
static _Thread_local int captures;                /* streams that the thread captures */
static _Thread_local uint64_t captures_generation;

static void standin_exit(int status, void *unused)
{
    (void)unused;
    if (status == 0 && standin.pid == getpid())
        runtime_check();
}

/* The lock is held. */
static void standin_begin(const char *text, const char *visible)
{
    static bool registered;
    standin_parse(&standin.config, text);
    standin_cards_see(&standin.config, standin.cards, visible);
    standin.generation++;
    standin.sticky = cudaSuccess;
    standin.random = (uint64_t)standin.config.seed * 0x9e3779b97f4a7c15u + 1;
    memset(standin.calls, 0, sizeof(standin.calls));
    memset(standin.used, 0, sizeof(standin.used));
    memset(standin.peers, 0, sizeof(standin.peers));
    memset(standin.kernels, 0, sizeof(standin.kernels));
    memset(standin.open, 0, sizeof(standin.open));
    memset(standin.cooperative, 0, sizeof(standin.cooperative));
    memset(standin.resident, 0, sizeof(standin.resident));
    standin.counts = (struct runtime_counts){0};
    if (!registered)
        on_exit(standin_exit, NULL);
    registered = true;
    __atomic_store_n(&standin.pid, getpid(), __ATOMIC_RELEASE);
    const char *connections = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    if (standin.config.connections &&
        (!connections || atol(connections) != standin.config.connections))
        standin_violation(cudaErrorUnknown, "CUDA_DEVICE_MAX_CONNECTIONS is %s",
                          connections ? connections : "not set");
}

static _Atomic int lock_waiters;

/* A thread that polls would take the lock again and again, before one that waits for it runs. */
void standin_lock(void)
{
    if (pthread_mutex_trylock(&standin.lock) == 0)
        return;
    atomic_fetch_add(&lock_waiters, 1);
    pthread_mutex_lock(&standin.lock);
    atomic_fetch_sub(&lock_waiters, 1);
}

void standin_unlock(void)
{
    pthread_mutex_unlock(&standin.lock);
    if (atomic_load(&lock_waiters) > 0)
        sched_yield();
}

/* Is this a child of a process that has called? A thread that is not here may hold its lock. */
static bool standin_forked(void)
{
    pid_t pid = __atomic_load_n(&standin.pid, __ATOMIC_ACQUIRE);
    return pid != 0 && pid != getpid();
}

static cudaError_t standin_fault(enum standin_call call)
{
    uint64_t number = ++standin.calls[call];
    for (int i = 0; i < standin.config.fault_count; i++)
        if (standin.config.faults[i].call == call && standin.config.faults[i].at == number)
            return standin.config.faults[i].error;
    return cudaSuccess;
}

/* A thread that has chosen no device has device 0, and makes a context there, which takes memory
 * of a GPU that is not its own. */
static void device_check(enum standin_call call)
{
    if (standin.config.strict && standin.config.devices > 1 &&
        call >= CALL_cudaDeviceEnablePeerAccess && current_generation != standin.generation)
        standin_violation(cudaErrorUnknown, "%s in a thread that has not called cudaSetDevice()",
                          standin_call_name(call));
}

void standin_captures(int change)
{
    captures = (captures_generation == standin.generation ? captures : 0) + change;
    captures_generation = standin.generation;
}

/* The calls that a thread may make while it captures a stream. */
static cudaError_t capture_check(enum standin_call call)
{
    static const enum standin_call allowed[] = {
        CALL_cudaGetDevice,          CALL_cudaSetDevice,
        CALL_cudaDeviceGetAttribute, CALL_cudaMemsetAsync,
        CALL_cudaMemcpyAsync,        CALL_cudaMemcpy2DAsync,
        CALL_cudaEventRecord,        CALL_cudaEventRecordWithFlags,
        CALL_cudaLaunchKernel,       CALL_cudaLaunchCooperativeKernel,
        CALL_cudaStreamBeginCapture, CALL_cudaStreamEndCapture,
    };
    if (captures == 0 || captures_generation != standin.generation)
        return cudaSuccess;
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (allowed[i] == call)
            return cudaSuccess;
    return standin_violation(cudaErrorStreamCaptureUnsupported,
                             "%s in a thread that captures a stream", standin_call_name(call));
}

cudaError_t standin_enter(enum standin_call call)
{
    if (standin_forked())
        return last_error = cudaErrorInitializationError;
    standin_lock();
    if (standin.pid == 0)
        standin_begin(getenv("CUDA_STANDIN"), getenv("CUDA_VISIBLE_DEVICES"));
    cudaError_t error = standin.sticky;
    if (standin.config.driver != DRIVER_NEW)
        error = cudaErrorInsufficientDriver;
    else if (standin.config.devices == 0)
        error = cudaErrorNoDevice;
    else if (error == cudaSuccess)
        error = standin_fault(call);
    if (error == cudaSuccess)
        device_check(call);
    if (error == cudaSuccess)
        error = capture_check(call);
    return error == cudaSuccess ? cudaSuccess : standin_leave(error);
}

void standin_blocks(const char *call)
{
    standin.counts.waits++;
    if (standin.config.strict)
        standin_violation(cudaErrorUnknown, "%s blocks", call);
}

cudaError_t standin_leave(cudaError_t error)
{
    standin_unlock();
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

cudaError_t standin_violation(cudaError_t error, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "cuda stand-in: violation: %s\n", text);
    standin.counts.violations++;
    if (standin.config.aborts)
        abort();
    return error;
}

uint64_t standin_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t standin_random(uint64_t *state, uint64_t below)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return below ? (x ^ (x >> 31)) % below : 0;
}

void *standin_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "cuda stand-in: out of memory\n");
        abort();
    }
    return memory;
}

int standin_device(void)
{
    return current_generation == standin.generation ? current_device : 0;
}

static void counts_take(struct runtime_counts *counts)
{
    *counts = standin.counts;
    for (struct standin_block *each = standin.blocks; each; each = each->next)
        counts->blocks++;
    for (struct CUstream_st *each = standin.streams; each; each = each->next)
        counts->streams++;
    for (struct CUevent_st *each = standin.events; each; each = each->next)
        counts->events++;
    for (struct standin_graph *each = standin.graphs; each; each = each->next)
        counts->graphs++;
    for (struct standin_graph *each = standin.ready_graphs; each; each = each->next)
        counts->graphs++;
}

struct runtime_counts runtime_counts(void)
{
    struct runtime_counts counts;
    standin_lock();
    counts_take(&counts);
    standin_unlock();
    return counts;
}

static void check(void)
{
    struct runtime_counts counts;
    counts_take(&counts);
    /* After a sticky error nothing can be given back, and while a launch hangs nothing is. */
    bool hangs = standin.config.hang > 0 && counts.launches >= (uint64_t)standin.config.hang;
    if (standin.sticky == cudaSuccess && !hangs &&
        counts.blocks + counts.streams + counts.events + counts.graphs > 0)
        standin_violation(cudaErrorUnknown,
                          "at the end there are %" PRIu64 " pieces of memory, %" PRIu64
                          " streams, %" PRIu64 " events and %" PRIu64 " graphs",
                          counts.blocks, counts.streams, counts.events, counts.graphs);
    else if (standin.sticky == cudaSuccess && !hangs && standin_fabric_is_left())
        standin_violation(cudaErrorUnknown,
                          "at the end there are addresses or handles of memory of the driver");
}

void runtime_check(void)
{
    standin_lock();
    check();
    standin_unlock();
}

void runtime_configure(const char *text)
{
    if (standin_forked()) {
        pthread_mutex_init(&standin.lock, NULL);
        pthread_cond_init(&standin.finished, NULL);
        standin.blocks = NULL, standin.streams = standin.old_streams = NULL;
        standin_fabric_forget();
        standin.events = NULL, standin.graphs = standin.ready_graphs = NULL;
    }
    standin_lock();
    check();
    standin_streams_forget();
    standin_graphs_forget();
    standin_blocks_forget();
    standin_fabric_forget();
    standin_begin(text ? text : getenv("CUDA_STANDIN"),
                  text ? NULL : getenv("CUDA_VISIBLE_DEVICES"));
    standin_unlock();
    last_error = cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    if (standin_forked())
        return last_error;
    standin_lock();
    cudaError_t error = standin.sticky != cudaSuccess ? standin.sticky : last_error;
    standin_unlock();
    return error;
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = standin_enter(CALL_cudaGetDevice);
    if (error != cudaSuccess)
        return error;
    *device = standin_device();
    return standin_leave(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = standin_enter(CALL_cudaSetDevice);
    if (error != cudaSuccess)
        return error;
    if (device < 0 || device >= standin.config.devices)
        return standin_leave(cudaErrorInvalidDevice);
    current_device = device;
    current_generation = standin.generation;
    return standin_leave(cudaSuccess);
}

/*
 * wait.c - polls a stream, or waits for a thread, and ticks.
 */
#include "dataplane/memory/cuda/cuda.h"

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/timed_call.h"

#define ASK_NS 2000000 /* between two questions to the job */
/* Seconds that a call may take: kernels are compiled for a GPU that is newer than cctest. */
#define CALL_SECONDS    60.0
#define RELEASE_SECONDS 5.0

enum status cuda_wait_stream(cudaStream_t stream, const struct tick *tick)
{
    cudaError_t error;
    char gpu[MEMORY_DEVICE_TEXT];
    uint64_t asked = clock_ns();
    while ((error = cudaStreamQuery(stream)) == cudaErrorNotReady) {
        sched_yield();
        if (clock_ns() - asked < ASK_NS)
            continue;
        asked = clock_ns();
        enum tick_answer answer = tick_wait(tick, -1);
        if (answer == TICK_ENDED)
            return fail(STATUS_ERROR, "the job ended while a GPU worked");
        if (answer == TICK_LATE)
            return fail_option(
                STATUS_TIMEOUT, "timeout",
                "%s has not ended a kernel or a copy for the whole --timeout: it or its "
                "driver hangs; look for Xid in the kernel's log",
                memory_device_text(cuda_current(), gpu));
    }
    CUDA_TRY(error, "a kernel or a copy failed");
    tick_on(tick);
    return STATUS_OK;
}

struct long_call {
    enum status (*work)(void *argument);
    void *argument;
    struct memory_device device; /* of the thread that waits */
    enum status status;
};

static enum status call_try(const struct long_call *call)
{
    cuda_current_set(&call->device);
    if (call->device.number >= 0)
        CUDA_TRY(cudaSetDevice(call->device.number), "cannot use the GPU");
    return call->work(call->argument);
}

static void call_work(void *argument)
{
    struct long_call *call = argument;
    call->status = call_try(call);
}

static enum status call_end(const struct long_call *call, int end, const char *what)
{
    char text[64], gpu[MEMORY_DEVICE_TEXT];
    if (end == ETIMEDOUT)
        return fail(STATUS_TIMEOUT,
                    "%s: the driver of %s does not answer: it hangs; look for Xid in the kernel's "
                    "log",
                    what,
                    call->device.number < 0 ? "the GPUs" : memory_device_text(&call->device, gpu));
    if (end != 0)
        return fail(STATUS_ERROR, "%s: %s", what, timed_call_text(end, text, sizeof text));
    return call->status;
}

enum status cuda_wait_call(enum status (*work)(void *argument), void *argument,
                           const struct tick *tick, const char *what, bool *abandoned)
{
    struct long_call *call = new_array(1, sizeof *call);
    *call = (struct long_call){.work = work, .argument = argument, .device = *cuda_current()};
    int end = timed_call_ticking(call_work, call, tick, CALL_SECONDS);
    enum status status = call_end(call, end, what);
    *abandoned = timed_call_is_abandoned(end);
    if (!*abandoned)
        free(call);
    return status;
}

static enum tick_answer release_give_up(void *until, int peer)
{
    (void)peer;
    return clock_seconds() < *(const double *)until ? TICK_GO_ON : TICK_ENDED;
}

bool cuda_give_back(void (*work)(void *argument), void *argument)
{
    double until = clock_seconds() + RELEASE_SECONDS;
    const struct tick give_up = {.call = release_give_up, .argument = &until};
    return !timed_call_is_abandoned(timed_call_ticking(work, argument, &give_up, RELEASE_SECONDS));
}

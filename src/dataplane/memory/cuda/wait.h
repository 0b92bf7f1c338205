/*
 * wait.h - waits for a GPU outside of a run, so that the job's deadline and its end are heeded.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_WAIT_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_WAIT_H

#include <cuda_runtime_api.h>

#include "base/status.h"
#include "base/tick.h"

/* Waits until the stream has done all that was begun, polling. After a failure the GPU may still be
 * at work: what it uses must stay. */
enum status cuda_wait_stream(cudaStream_t stream, const struct tick *tick);

/* Runs work(argument) in another thread, on this thread's device if it has one: a call that may
 * block for seconds, as the first on a device does. `what`: "cannot open the GPU". *abandoned: the
 * call has not returned, which is a failure; it may still use the argument, which must stay. */
enum status cuda_wait_call(enum status (*work)(void *argument), void *argument,
                           const struct tick *tick, const char *what, bool *abandoned);

/* Runs work(argument), which gives back what a GPU has, in another thread that has no device yet,
 * for some seconds at most: it waits for all work on the GPU, for ever if any of it hangs. False: it
 * has not returned, so the argument must stay. */
bool cuda_give_back(void (*work)(void *argument), void *argument);

#endif

/*
 * failure.h - failures of CUDA's runtime, in words.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_FAILURE_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_FAILURE_H

#include <cuda_runtime_api.h>

#include <stddef.h>

#include "base/status.h"

/* Why no GPU of this machine can be used (one clause); NULL: the error is about something else. */
const char *cuda_lack(cudaError_t error);

/* Records the failure of a call. `what`: "cannot copy". STATUS_UNAVAILABLE: there is no GPU that
 * can be used; else STATUS_ERROR, which names the thread's GPU. */
enum status cuda_failed(cudaError_t error, const char *what);

/* Records the failure of a call that pins memory of the host. `use`: what it is
 * for, and what to do ("into which ...: run fewer ranks here"). */
enum status cuda_pin_failed(cudaError_t error, size_t bytes, const char *use);

/* Evaluates a call of the runtime; returns from the caller with the failure. */
#define CUDA_TRY(call, what)                                                                       \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess)                                                                 \
            return cuda_failed(error_, what);                                                      \
    } while (0)

#endif

/*
 * cuda.h - the interface of dataplane/memory/cuda/.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_CUDA_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_CUDA_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/tick.h"
#include "dataplane/memory/cuda/work.h"
#include "dataplane/memory/memory.h"

/* ---- Which GPU a rank takes. ---- */

/* The PCI address of the GPU that has this number for CUDA. False, and "": it is not known. */
bool cuda_bus(int number, char bus[16]);

/* The hooks of memory.h. */
int cuda_devices_taken(const char *choices);
enum status cuda_settle(const char *choices, int local_rank, const struct tick *tick,
                        struct memory_device *device);

/* ---- The calling thread's GPU, by name. ---- */

/* Its number is -1 until one is chosen (cuda.h). Calls nothing of CUDA, which after some failures
 * does not even tell a name. */
const struct memory_device *cuda_current(void);
void cuda_current_set(const struct memory_device *device);

/* ---- The engine of GPU memory: launches kernels and copies into streams, polls events. ---- */

#define CUDA_SELECTED   ((size_t)8 << 20) /* elements compared at a time to select wrong ones */
#define CUDA_BITS_BYTES (CUDA_SELECTED / 8)
#define CUDA_EVENTS     64 /* of a stream under way */
#define CUDA_GRAIN_MOST ((size_t)16 << 20)

/* Bytes of the GPU's memory for contents: bits and answers. */
#define CUDA_ENGINE_BYTES (CUDA_BITS_BYTES + sizeof(struct cuda_answers))

/* Work in a stream, up to byte `end` of a transfer. */
struct cuda_step {
    struct transfer *transfer;
    size_t end;
    cudaEvent_t event;
};

/* A stream, in which steps are done in the order in which they were begun. */
struct cuda_queue {
    cudaStream_t stream;
    struct transfer *first, **end; /* posted, and not wholly begun */
    struct cuda_step steps[CUDA_EVENTS];
    unsigned begun, ended;
};

/* The copy engines of a GPU have a queue for each direction. */
enum cuda_queue_use { QUEUE_KERNELS, QUEUE_TO_DEVICE, QUEUE_TO_HOST, CUDA_QUEUES };

/* The answers of the kernels to the hooks for contents. */
struct cuda_answers {
    unsigned long long total, least;
};

struct cuda_engine {
    int device; /* as CUDA numbers it in this process */
    struct cuda_queue queues[CUDA_QUEUES];
    enum engine_use use;
    /* For contents; else all NULL. */
    struct cuda_answers *answers;      /* on the device */
    struct cuda_answers *answers_host; /* their copy, in pinned memory */
    unsigned *bits;                    /* of wrong elements, on the device */
    unsigned *bits_host;               /* in pinned memory */
};

/* The engine behind the name that those of all kinds have. */
static inline struct cuda_engine *cuda_engine_of(struct engine *engine)
{
    return (struct cuda_engine *)(void *)engine;
}

/* Allocates memory of the thread's GPU, for cudaFree(). *memory is NULL after a failure. */
enum status cuda_take(size_t bytes, void **memory);

/* How many blocks share the work of moving or reading that many bytes. */
size_t cuda_blocks(size_t bytes);

/* Launches a kernel into a queue, in `rows` rows of `blocks` blocks, or fewer if that is more than
 * a GPU keeps busy: each thread goes on until nothing is left. */
enum status cuda_launch(const struct cuda_queue *queue, const void *kernel, size_t blocks,
                        unsigned rows, struct device_work *work);

/* The hooks of memory.h. The engine works on the calling thread's device. open() loads all kernels
 * and allocates all that lasts: either may wait for a kernel that waits for another rank. */
enum status cuda_engine_open(enum engine_use use, const struct tick *tick, struct engine **opened);
void cuda_engine_post(struct engine *posted, struct transfer *transfer);
enum status cuda_engine_progress(struct engine *moving);
bool cuda_engine_busy(const struct engine *asked);
void cuda_engine_close(struct engine *closing);
void cuda_engine_forget(struct engine *forgotten);

/* ---- Failures of CUDA's runtime, in words. ---- */

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

/* ---- Waits for a GPU outside of a run, so that the job's deadline and its end are heeded. ---- */

/* Waits until the stream has done all that was begun, polling. After a failure the GPU may still be
 * at work: what it uses must stay. */
enum status cuda_wait_stream(cudaStream_t stream, const struct tick *tick);

/* Runs work(argument) in another thread, on this thread's device if it has one: a call that may
 * block for seconds, as the first on a device does. `what`: "cannot open the GPU". *abandoned: the
 * call has not returned, which is a failure; it may still use the argument, which must stay. */
enum status cuda_wait_call(enum status (*work)(void *argument), void *argument,
                           const struct tick *tick, const char *what, bool *abandoned);

/* Runs work(argument), which gives back what a GPU has, in another thread that has no device yet,
 * for some seconds at most: it waits for all work on the GPU, for ever if any of it hangs. False:
 * it has not returned, so the argument must stay. */
bool cuda_give_back(void (*work)(void *argument), void *argument);

#endif

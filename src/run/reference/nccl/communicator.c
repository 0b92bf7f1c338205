/*
 * communicator.c - makes a communicator of all ranks, and ends it.
 *
 * The communicator is of NCCL's blocking kind, as in nccl-tests. In one of the other kind, each
 * collective starts a thread (since 2.23, group.cc): it is slower, and not what users measure. So
 * another thread makes the calls that wait for other ranks (the communicator, and the first run of
 * a collective, which connects it), while this one ticks. All other calls only put a kernel into a
 * stream.
 */
#include "run/reference/nccl/internal.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/timed_call.h"
#include "controlplane/control/control.h"
#include "dataplane/memory/cuda/cuda.h"

#define INIT_SECONDS  10.0 /* in which a communicator is expected to be there */
#define ABORT_SECONDS 5.0
#define POLL_NS       1000000
#define BUS_MOST      16

enum status nccl_failed(const struct nccl_communicator *communicator, int result, const char *what)
{
    const char *last = communicator->api.GetLastError(communicator->comm);
    return fail(STATUS_ERROR,
                "NCCL cannot %s: %s%s%.300s (NCCL_DEBUG=WARN in the environment "
                "tells more)",
                what, communicator->api.GetErrorString(result), last && *last ? ": " : "",
                last ? last : "");
}

/* Slow calls. */

static void slow_call_make(void *argument)
{
    struct nccl_slow_call *slow = argument;
    cudaSetDevice(slow->communicator->device); /* a device is a thread's */
    slow->result = slow->make(slow->argument);
}

static enum status nccl_is_late(const char *what)
{
    return fail_option(
        STATUS_TIMEOUT, "timeout",
        "NCCL did not %s before the deadline (--timeout): a rank is missing in it, or "
        "hosts do not reach each other (NCCL_DEBUG=INFO in the environment tells more)",
        what);
}

enum status nccl_call_slowly(struct nccl_communicator *communicator, int (*make)(void *argument),
                             void *argument, const char *what, double seconds, int *result)
{
    struct nccl_slow_call *slow = &communicator->slow;
    char text[160];
    *slow =
        (struct nccl_slow_call){.communicator = communicator, .make = make, .argument = argument};
    int end = timed_call_ticking(slow_call_make, slow, communicator->tick, seconds);
    communicator->is_abandoned = timed_call_is_abandoned(end);
    if (end == ETIMEDOUT)
        return nccl_is_late(what);
    if (end)
        return fail(STATUS_ERROR, "NCCL did not %s: %s", what,
                    timed_call_text(end, text, sizeof text));
    *result = slow->result;
    return *result == NCCL_SUCCESS || *result == NCCL_IN_PROGRESS
               ? STATUS_OK
               : nccl_failed(communicator, *result, what);
}

/* Who takes part. */

struct nccl_member {
    int rank, node, version;
    char bus[BUS_MOST]; /* PCI address of its GPU */
    /* UUID of its GPU, or of its part of one (MIG). Zeros where NCCL does not tell parts apart. */
    cudaUUID_t part;
};

/* From 2.30 on NCCL tells GPUs apart by their UUIDs, before by their PCI addresses. */
static enum status member_place(int device, struct nccl_member *member)
{
    struct cudaDeviceProp properties;
    if (!cuda_bus(device, member->bus))
        return fail(STATUS_ERROR, "CUDA does not tell the PCI address of GPU %d", device);
    CUDA_TRY(cudaGetDeviceProperties(&properties, device), "cannot ask for the facts of a GPU");
    if (member->version >= NCCL_SHARES_GPU)
        member->part = properties.uuid;
    return STATUS_OK;
}

struct nccl_members {
    struct nccl_communicator *communicator;
    struct nccl_member *members; /* by rank */
};

static bool member_decode(void *argument, int rank, struct reader *reader)
{
    struct nccl_members *members = argument;
    struct nccl_member *member = &members->members[rank];
    member->version = (int)read_u32(reader);
    read_text(reader, member->bus, sizeof member->bus);
    const unsigned char *part = read_bytes(reader, sizeof member->part);
    const unsigned char *id = read_bytes(reader, sizeof members->communicator->id);
    if (part)
        memcpy(&member->part, part, sizeof member->part);
    if (rank == 0 && id)
        memcpy(&members->communicator->id, id, sizeof members->communicator->id);
    return part && id;
}

/* All ranks find the same, and say the same. */
static enum status members_agree(const struct nccl_members *members, const struct member *of_job)
{
    char first[32], other[32];
    const struct nccl_member *list = members->members;
    nccl_version_text(list[0].version, first, sizeof first);
    for (int r = 1; r < members->communicator->ranks; r++) {
        nccl_version_text(list[r].version, other, sizeof other);
        if (list[r].version != list[0].version)
            return fail(STATUS_ERROR,
                        "rank 0 (%s) has NCCL %s, rank %d (%s) has %s: give all hosts one version",
                        of_job[0].host, first, r, of_job[r].host, other);
    }
    return STATUS_OK;
}

static enum status members_share(const struct nccl_member *one, const struct nccl_member *other,
                                 const struct member *of_job)
{
    char version[32];
    const char *set = getenv("NCCL_MULTI_RANK_GPU_ENABLE"), *host = of_job[one->rank].host;
    nccl_version_text(one->version, version, sizeof version);
    if (one->version < NCCL_SHARES_GPU)
        return fail_option(
            STATUS_USAGE, "np",
            "ranks %d and %d share GPU %s of %s, which NCCL %s refuses: give each rank a "
            "GPU of its own (--np), or install NCCL 2.30 or newer",
            one->rank, other->rank, one->bus, host, version);
    if (!set || strcmp(set, "1") != 0)
        return fail_option(
            STATUS_USAGE, "np",
            "ranks %d and %d share GPU %s of %s, which NCCL %s refuses unless it is told "
            "otherwise: set NCCL_MULTI_RANK_GPU_ENABLE=1 for all ranks, or give each a GPU "
            "of its own (--np)",
            one->rank, other->rank, one->bus, host, version);
    return STATUS_OK;
}

static int compare_gpus(const struct nccl_member *one, const struct nccl_member *other)
{
    if (one->node != other->node)
        return one->node < other->node ? -1 : 1;
    int order = strcmp(one->bus, other->bus);
    return order ? order : memcmp(&one->part, &other->part, sizeof one->part);
}

/* By GPU, then by rank. */
static int compare_members(const void *one, const void *other)
{
    const struct nccl_member *a = one, *b = other;
    return compare_gpus(a, b) ?: COMPARE(a->rank, b->rank);
}

static enum status members_check(const struct nccl_members *members, const struct member *of_job)
{
    struct nccl_member *list = members->members;
    int ranks = members->communicator->ranks;
    enum status status = members_agree(members, of_job);
    for (int r = 0; r < ranks; r++) {
        list[r].rank = r;
        list[r].node = of_job[r].node;
    }
    qsort(list, (size_t)ranks, sizeof *list, compare_members);
    for (int i = 1; i < ranks && status == STATUS_OK; i++)
        if (compare_gpus(&list[i - 1], &list[i]) == 0)
            status = members_share(&list[i - 1], &list[i], of_job);
    return status;
}

static int id_make(void *argument)
{
    struct nccl_communicator *communicator = argument;
    return communicator->api.GetUniqueId(&communicator->id);
}

/* Tells all ranks the id of the communicator, which rank 0 makes. */
static enum status members_exchange(struct nccl_communicator *communicator, struct control *control)
{
    struct bytes share = {0};
    struct nccl_members members = {
        .communicator = communicator,
        .members = new_array((size_t)communicator->ranks, sizeof *members.members)};
    struct nccl_member mine = {.version = communicator->version};
    int result;
    enum status status = STATUS_OK;
    if (communicator->rank == 0)
        status = nccl_call_slowly(communicator, id_make, communicator, "make an id", INIT_SECONDS,
                                  &result);
    if (status == STATUS_OK)
        status = member_place(communicator->device, &mine);
    if (status == STATUS_OK) {
        bytes_put_u32(&share, (uint32_t)mine.version);
        bytes_put_text(&share, mine.bus);
        bytes_put(&share, &mine.part, sizeof mine.part);
        bytes_put(&share, &communicator->id, sizeof communicator->id);
        status =
            exchange_decode(control, EXCHANGE_ALLGATHER, &share, "NCCL", member_decode, &members);
    }
    if (status == STATUS_OK)
        status = members_check(&members, control_members(control));
    free(members.members);
    return status;
}

/* Opening. */

static int communicator_init(void *argument)
{
    struct nccl_communicator *communicator = argument;
    struct nccl_config config = {.size = sizeof config,
                                 .magic = NCCL_MAGIC,
                                 .version = NCCL_VERSION(2, 14, 0),
                                 .blocking = 1};
    return communicator->api.CommInitRankConfig(&communicator->comm, communicator->ranks,
                                                communicator->id, communicator->rank, &config);
}

/* NCCL_COMM_BLOCKING=0 in the environment overrides the config. */
static enum status communicator_await(const struct nccl_communicator *communicator)
{
    const struct timespec nap = {.tv_nsec = POLL_NS};
    for (;;) {
        int state = NCCL_SUCCESS;
        int result = communicator->api.CommGetAsyncError(communicator->comm, &state);
        if (result != NCCL_SUCCESS || (state != NCCL_SUCCESS && state != NCCL_IN_PROGRESS))
            return nccl_failed(communicator, result != NCCL_SUCCESS ? result : state,
                               "make its communicator");
        if (state == NCCL_SUCCESS)
            return STATUS_OK;
        enum tick_answer answer = tick_wait(communicator->tick, -1);
        if (answer == TICK_ENDED)
            return fail(STATUS_ERROR, "the job ended before NCCL had made its communicator");
        if (answer == TICK_LATE)
            return nccl_is_late("make its communicator");
        nanosleep(&nap, NULL);
    }
}

static enum status communicator_make(struct nccl_communicator *communicator,
                                     struct control *control)
{
    int result;
    CUDA_TRY(cudaGetDevice(&communicator->device), "cannot use a GPU");
    CUDA_TRY(cudaStreamCreateWithFlags(&communicator->stream, cudaStreamNonBlocking),
             "cannot make a stream");
    CUDA_TRY(cudaEventCreateWithFlags(&communicator->event, cudaEventDisableTiming),
             "cannot make an event");
    TRY(members_exchange(communicator, control));
    TRY(nccl_call_slowly(communicator, communicator_init, communicator, "make its communicator",
                         INIT_SECONDS, &result));
    return communicator_await(communicator);
}

static int communicator_abort(void *argument)
{
    struct nccl_communicator *communicator = argument;
    return communicator->api.CommAbort(communicator->comm);
}

void nccl_close(struct vendor_session *session)
{
    struct nccl_communicator *communicator = nccl_of(session);
    if (!communicator || communicator->is_abandoned)
        return;
    communicator->slow = (struct nccl_slow_call){
        .communicator = communicator, .make = communicator_abort, .argument = communicator};
    int end =
        communicator->comm ? timed_call_run(slow_call_make, &communicator->slow, ABORT_SECONDS) : 0;
    timed_call_reraise(end);
    if (timed_call_is_abandoned(end))
        return; /* the process ends soon, and the thread may still use all of this */
    if (communicator->event)
        cudaEventDestroy(communicator->event);
    if (communicator->stream)
        cudaStreamDestroy(communicator->stream);
    free(communicator);
}

/* NCCL's reductions of 8-bit floats are compiled for compute capability 9.0 and later only. */
static enum status task_check(const struct nccl_communicator *communicator,
                              const struct vendor_task *task)
{
    int device = 0, major = 0;
    if (communicator->version < nccl_type_since(task->datatype)) {
        char version[32];
        nccl_version_text(communicator->version, version, sizeof version);
        return fail(STATUS_UNAVAILABLE, "NCCL %s has no type %s: install 2.24 or newer", version,
                    task->datatype->name);
    }
    if (!task->collective->reduces ||
        (task->datatype->id != TYPE_E4M3 && task->datatype->id != TYPE_E5M2))
        return STATUS_OK;
    CUDA_TRY(cudaGetDevice(&device), "cannot use a GPU");
    CUDA_TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "cannot ask for the compute capability of a GPU");
    return major >= 9 ? STATUS_OK
                      : fail(STATUS_UNAVAILABLE,
                             "NCCL combines %s on GPUs of compute capability 9.0 and later, this "
                             "one has %d: choose another type",
                             task->datatype->name, major);
}

enum status nccl_open(struct control *control, const struct vendor_task *tasks, int count,
                      const struct tick *tick, struct vendor_session **session)
{
    char why[VENDOR_WHY_MOST];
    struct nccl_communicator *communicator = new_array(1, sizeof *communicator);
    *session = NULL;
    communicator->tick = tick;
    communicator->rank = control_rank(control);
    communicator->ranks = control_ranks(control);
    enum status status = STATUS_OK;
    if (nccl_load(&communicator->api, &communicator->version, why))
        status = fail(STATUS_UNAVAILABLE, "NCCL cannot be used here: %s", why);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = task_check(communicator, &tasks[i]);
    if (status == STATUS_OK)
        status = communicator_make(communicator, control);
    if (status == STATUS_OK)
        *session = (struct vendor_session *)(void *)communicator;
    else
        nccl_close((struct vendor_session *)(void *)communicator);
    return status;
}

/*
 * nccl.c - NVIDIA's library of collectives, as a vendor's: loads it at run time, so that the binary
 * starts without it, makes a communicator of all ranks, and runs collectives in it.
 *
 * The communicator is of NCCL's blocking kind, as in nccl-tests. In one of the other kind, each
 * collective starts a thread (since 2.23, group.cc): it is slower, and not what users measure. So
 * another thread makes the calls that wait for other ranks (the communicator, and the first run of
 * a collective, which connects it), while this one ticks. All other calls only put a kernel into a
 * stream.
 */
#include "run/reference/nccl/internal.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/rank_state.h"
#include "base/timed_call.h"
#include "controlplane/control/control.h"
#include "dataplane/memory/cuda/cuda.h"

/*
 * Loads NCCL.
 */
#define NCCL_LIBRARY "libnccl.so.2"

/* "2.28.3" */
static void nccl_version_text(int version, char *text, size_t size)
{
    if (version < 10000) /* before 2.9 */
        snprintf(text, size, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
    else
        snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

/* Finds all calls; returns the name of one that is missing, or NULL. */
static const char *calls_find(void *library, struct nccl_api *api)
{
    void *found;
#define NCCL_FIND(result, name, parameters)                                                        \
    found = dlsym(library, "nccl" #name);                                                          \
    if (!found)                                                                                    \
        return "nccl" #name;                                                                       \
    memcpy(&api->name, &found, sizeof found);
    NCCL_CALLS(NCCL_FIND)
#undef NCCL_FIND
    return NULL;
}

/* Loads the library for good: it has threads of its own. Returns why it cannot (one clause, written
 * into `why`), or NULL. Initializes nothing of CUDA. */
static const char *nccl_load(struct nccl_api *api, int *version, char why[VENDOR_WHY_MOST])
{
    void *library = dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    *version = 0;
    if (!library) {
        snprintf(why, VENDOR_WHY_MOST,
                 "its library cannot be loaded (%.120s): install the package libnccl2 (pip: "
                 "nvidia-nccl-cu12 or -cu13), and name its folder in LD_LIBRARY_PATH",
                 dlerror());
        return why;
    }
    int (*get_version)(int *) = NULL;
    void *found = dlsym(library, "ncclGetVersion");
    memcpy(&get_version, &found, sizeof found);
    if (!get_version || get_version(version) != NCCL_SUCCESS || *version < NCCL_OLDEST) {
        char text[32];
        nccl_version_text(*version, text, sizeof text);
        snprintf(why, VENDOR_WHY_MOST, "%s is NCCL %s: install 2.14 or newer", NCCL_LIBRARY, text);
        return why;
    }
    const char *missing = calls_find(library, api);
    if (missing)
        snprintf(why, VENDOR_WHY_MOST, "%s has no %s: install NVIDIA's", NCCL_LIBRARY, missing);
    return missing ? why : NULL;
}

/* vendor->unavailable and vendor->version. */
static const char *nccl_unavailable(char why[VENDOR_WHY_MOST])
{
    struct nccl_api api;
    int version;
    return nccl_load(&api, &version, why);
}

static void nccl_version(char *text, size_t size)
{
    struct nccl_api api;
    int version;
    char why[VENDOR_WHY_MOST];
    text[0] = '\0';
    if (!nccl_load(&api, &version, why))
        nccl_version_text(version, text, size);
}

/*
 * One rank's part of a communicator.
 */
/* A call that may take long, or for ever if another rank is lost: made by another thread. */
struct nccl_slow_call {
    const struct nccl_communicator *communicator;
    int (*make)(void *argument); /* returns NCCL's result */
    void *argument;
    int result;
};

struct nccl_communicator {
    struct nccl_api api;
    int version;
    int rank, ranks, device;
    const struct tick *tick;
    struct ncclComm *comm; /* NULL: there is none yet */
    cudaStream_t stream;   /* of all collectives */
    cudaEvent_t event;     /* behind the collective that runs */
    struct nccl_slow_call slow;
    bool is_abandoned; /* a thread is still in a call: it may use all that the session has */
    struct nccl_unique_id id;
};

/* The communicator behind the name that the sessions of all vendors have. */
static struct nccl_communicator *nccl_of(struct vendor_session *session)
{
    return (struct nccl_communicator *)(void *)session;
}

#define INIT_SECONDS  10.0 /* in which a communicator is expected to be there */
#define ABORT_SECONDS 5.0
#define POLL_NS       1000000
#define BUS_MOST      16

/* Records the failure of a call, in NCCL's words. `what`: "start allreduce". */
static enum status nccl_failed(const struct nccl_communicator *communicator, int result,
                               const char *what)
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

/* Runs make(argument) in a thread on this rank's device, and waits for it. For `seconds` it counts
 * as work, then as a wait for other ranks. The argument must stay if the communicator is abandoned.
 * NCCL_IN_PROGRESS is a success. */
static enum status nccl_call_slowly(struct nccl_communicator *communicator,
                                    int (*make)(void *argument), void *argument, const char *what,
                                    double seconds, int *result)
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

/* The state of the communicator, as NCCL's threads say. */
static int communicator_state(const struct nccl_communicator *communicator)
{
    int state = NCCL_SUCCESS;
    int result = communicator->api.CommGetAsyncError(communicator->comm, &state);
    return result == NCCL_SUCCESS ? state : result;
}

/* The ranks that take part. */

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
        int state = communicator_state(communicator);
        if (state != NCCL_SUCCESS && state != NCCL_IN_PROGRESS)
            return nccl_failed(communicator, state, "make its communicator");
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

static void nccl_close(struct vendor_session *session)
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

static enum status nccl_open(struct control *control, const struct vendor_task *tasks, int count,
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

/*
 * Puts a collective into a stream, and polls for its end. A collective that NCCL has no function
 * for is a group of its sends and receives, as in nccl-tests.
 */
#define CONNECT_SECONDS 1.0 /* in which the first run is expected to be in the stream */

enum nccl_call_state {
    CALL_IDLE,
    CALL_ENTERED, /* NCCL has not put it into the stream yet: only where its calls do not block */
    CALL_RUNS,    /* an event stands behind it in the stream */
};

/* A message of a group. */
struct nccl_message {
    bool sends;
    int peer;
    size_t at;    /* bytes from the beginning of the source or the destination */
    size_t count; /* elements */
};

/* A run reads nothing but this, the communicator and the buffers: the thread of an abandoned run
 * may still read them when the test case is gone. */
struct nccl_call {
    struct execution execution;
    struct nccl_communicator *communicator;
    enum collective_id collective;
    int root;
    const char *source;
    char *destination;
    size_t count;        /* elements, as struct problem has them */
    size_t bytes;        /* as tables print them */
    int type, reduction; /* NCCL's numbers */
    bool is_connected;   /* it has run before */
    enum nccl_call_state state;
    char what[64];              /* "run allreduce" */
    int message_count;          /* of a group */
    struct nccl_message list[]; /* of messages */
};

static struct nccl_call *call_of(const struct execution *execution)
{
    return (struct nccl_call *)(uintptr_t)execution;
}

/* Sends and receives. */

/* Has NCCL a function for it? */
static bool has_function(enum collective_id collective)
{
    return collective == COLLECTIVE_ALLREDUCE || collective == COLLECTIVE_BROADCAST ||
           collective == COLLECTIVE_REDUCE || collective == COLLECTIVE_ALLGATHER ||
           collective == COLLECTIVE_REDUCE_SCATTER;
}

/* Is there a message from one rank to another? */
static bool ranks_are_joined(const struct problem *problem, int from, int to)
{
    const struct collective *collective = problem->collective;
    if (collective->id == COLLECTIVE_SENDRECV)
        return problem->counts->to[from] == to;
    return (!collective->source.root_only || from == problem->root) &&
           (!collective->destination.root_only || to == problem->root);
}

/* The message that `rank` sends to `peer`, or receives from it. False: there is none. */
static bool call_message_find(const struct problem *problem, int rank, int peer, bool sends,
                              struct nccl_message *message)
{
    bool is_there_already = problem->in_place && peer == rank;
    *message = (struct nccl_message){.sends = sends, .peer = peer};
    if (is_there_already ||
        !(sends ? ranks_are_joined(problem, rank, peer) : ranks_are_joined(problem, peer, rank)))
        return false;
    message->count = collective_block(problem, rank, sends ? BUFFER_SOURCE : BUFFER_DESTINATION,
                                      peer, &message->at);
    return message->count > 0;
}

/* Writes the messages of `rank`, if there is a list to write to. Returns their number. */
static int messages_list(const struct problem *problem, int rank, size_t element,
                         struct nccl_message *list)
{
    struct nccl_message message;
    int count = 0;
    for (int peer = 0; peer < problem->ranks; peer++)
        for (int sends = 1; sends >= 0; sends--)
            if (call_message_find(problem, rank, peer, sends, &message)) {
                message.at *= element;
                if (list)
                    list[count] = message;
                count++;
            }
    return count;
}

static int message_enqueue(const struct nccl_call *call, const struct nccl_message *message)
{
    const struct nccl_communicator *communicator = call->communicator;
    return message->sends
               ? communicator->api.Send(call->source + message->at, message->count, call->type,
                                        message->peer, communicator->comm, communicator->stream)
               : communicator->api.Recv(call->destination + message->at, message->count, call->type,
                                        message->peer, communicator->comm, communicator->stream);
}

static int group_enqueue(const struct nccl_call *call)
{
    const struct nccl_api *api = &call->communicator->api;
    int result = api->GroupStart();
    if (result != NCCL_SUCCESS)
        return result;
    for (int i = 0; i < call->message_count && result == NCCL_SUCCESS; i++) {
        result = message_enqueue(call, &call->list[i]);
        result = result == NCCL_IN_PROGRESS ? NCCL_SUCCESS : result;
    }
    int end = api->GroupEnd();
    return result == NCCL_SUCCESS ? end : result;
}

/* Any collective. */

static int call_enqueue(void *argument)
{
    const struct nccl_call *call = argument;
    const struct nccl_communicator *communicator = call->communicator;
    const struct nccl_api *api = &communicator->api;
    const void *from = call->source;
    void *to = call->destination;
    switch (call->collective) {
    case COLLECTIVE_ALLREDUCE:
        return api->AllReduce(from, to, call->count, call->type, call->reduction,
                              communicator->comm, communicator->stream);
    case COLLECTIVE_BROADCAST:
        return api->Broadcast(from, to, call->count, call->type, call->root, communicator->comm,
                              communicator->stream);
    case COLLECTIVE_REDUCE:
        return api->Reduce(from, to, call->count, call->type, call->reduction, call->root,
                           communicator->comm, communicator->stream);
    case COLLECTIVE_ALLGATHER:
        return api->AllGather(from, to, call->count, call->type, communicator->comm,
                              communicator->stream);
    case COLLECTIVE_REDUCE_SCATTER:
        return api->ReduceScatter(from, to, call->count, call->type, call->reduction,
                                  communicator->comm, communicator->stream);
    default:
        return group_enqueue(call);
    }
}

/* Puts the event behind the collective, if NCCL has put that into the stream. */
static enum status call_follow(struct nccl_call *call, int result)
{
    call->state = CALL_ENTERED;
    if (result == NCCL_IN_PROGRESS)
        return STATUS_OK;
    if (result != NCCL_SUCCESS)
        return nccl_failed(call->communicator, result, call->what);
    CUDA_TRY(cudaEventRecord(call->communicator->event, call->communicator->stream),
             "cannot record an event");
    call->state = CALL_RUNS;
    return STATUS_OK;
}

static enum status call_start(struct execution *execution)
{
    struct nccl_call *call = call_of(execution);
    int result = NCCL_SUCCESS;
    if (call->is_connected)
        result = call_enqueue(call);
    else
        TRY(nccl_call_slowly(call->communicator, call_enqueue, call, call->what, CONNECT_SECONDS,
                             &result));
    call->is_connected = true;
    return call_follow(call, result);
}

static enum status call_progress(struct execution *execution, bool *moved, bool *complete)
{
    struct nccl_call *call = call_of(execution);
    *moved = *complete = false;
    if (call->state == CALL_ENTERED)
        return call_follow(call, communicator_state(call->communicator));
    cudaError_t error = cudaEventQuery(call->communicator->event);
    if (error == cudaErrorNotReady)
        return STATUS_OK;
    CUDA_TRY(error, "a collective of NCCL failed");
    call->state = CALL_IDLE;
    *moved = *complete = true;
    return STATUS_OK;
}

static enum status call_check(const struct execution *execution)
{
    const struct nccl_call *call = call_of(execution);
    int state = communicator_state(call->communicator);
    return state == NCCL_SUCCESS || state == NCCL_IN_PROGRESS
               ? STATUS_OK
               : nccl_failed(call->communicator, state, call->what);
}

static void call_position(const struct execution *execution, struct position *position)
{
    *position = (struct position){
        .kind = OPERATION_COPY,
        .peer = -1,
        .step = STEP_VENDOR,
        .length = call_of(execution)->bytes,
    };
}

static void call_destroy(struct execution *execution)
{
    struct nccl_call *call = call_of(execution);
    if (!call->communicator->is_abandoned)
        free(call);
}

static enum status nccl_prepare(struct vendor_session *session, const struct vendor_call *asked,
                                struct execution **execution)
{
    static const struct execution_hooks hooks = {
        .start = call_start,
        .progress = call_progress,
        .check = call_check,
        .position = call_position,
        .destroy = call_destroy,
    };
    const struct problem *problem = &asked->problem;
    struct nccl_communicator *communicator = nccl_of(session);
    int rank = communicator->rank, messages = 0;
    size_t element = asked->datatype->size;
    if (!has_function(problem->collective->id))
        messages = messages_list(problem, rank, element, NULL);
    struct nccl_call *call = new_array(1, sizeof *call + (size_t)messages * sizeof *call->list);
    *call = (struct nccl_call){
        .execution = {&hooks},
        .communicator = communicator,
        .collective = problem->collective->id,
        .root = problem->root,
        .source = asked->source,
        .destination = asked->destination,
        .count = problem->count,
        .bytes = collective_bytes(problem, element),
        .type = nccl_type(asked->datatype),
        .reduction = asked->reduction ? nccl_operator(asked->reduction) : 0,
        .message_count = messages,
    };
    if (messages > 0)
        messages_list(problem, rank, element, call->list);
    snprintf(call->what, sizeof call->what, "run %s", problem->collective->name);
    *execution = &call->execution;
    return STATUS_OK;
}

const struct vendor vendor_nccl = {
    .name = "nccl",
    .title = "NCCL",
    .memory = &memory_cuda,
    .unavailable = nccl_unavailable,
    .version = nccl_version,
    .refuses = nccl_refuses,
    .open = nccl_open,
    .prepare = nccl_prepare,
    .close = nccl_close,
};

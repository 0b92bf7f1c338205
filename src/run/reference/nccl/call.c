/*
 * call.c - puts a collective of NCCL into a stream, and polls for its end.
 *
 * A collective that NCCL has no function for is a group of its sends and receives, as in
 * nccl-tests.
 */
#include "run/reference/nccl/internal.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "collective/collective.h"
#include "dataplane/memory/cuda/cuda.h"
#include "base/rank_state.h"

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

/* What `rank` sends to `peer`, or receives from it. False: nothing. */
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
    enum status status = STATUS_OK;
    if (call->is_connected)
        result = call_enqueue(call);
    else
        status = nccl_call_slowly(call->communicator, call_enqueue, call, call->what,
                                  CONNECT_SECONDS, &result);
    call->is_connected = true;
    return status == STATUS_OK ? call_follow(call, result) : status;
}

/* What NCCL's threads say of the communicator. */
static int communicator_state(const struct nccl_communicator *communicator)
{
    int state = NCCL_SUCCESS;
    int result = communicator->api.CommGetAsyncError(communicator->comm, &state);
    return result == NCCL_SUCCESS ? state : result;
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

enum status nccl_prepare(struct vendor_session *session, const struct vendor_call *asked,
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

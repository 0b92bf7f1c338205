/*
 * call.c - puts a collective of NCCL into a stream, and polls for its end.
 *
 * A collective that NCCL has no function for is a group of its sends and receives, as in
 * nccl-tests.
 */
#include "vendor/nccl/call.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "collective/counts.h"
#include "memory/cuda/failure.h"
#include "vendor/nccl/communicator.h"
#include "vendor/nccl/refusal.h"
#include "verdict/rank_state.h"

#define CONNECT_SECONDS 1.0 /* in which the first run is expected to be in the stream */

enum nccl_call_state {
    CALL_IDLE,
    CALL_ENTERED, /* NCCL has not put it into the stream yet: only where its calls do not block */
    CALL_RUNS,    /* an event stands behind it in the stream */
};

struct nccl_call {
    struct execution execution;
    struct nccl_communicator *communicator;
    struct vendor_call asked;
    int type, reduction; /* NCCL's numbers */
    bool is_connected;   /* it has run before */
    enum nccl_call_state state;
    char what[64]; /* "run allreduce" */
};

static struct nccl_call *call_of(const struct execution *execution)
{
    return (struct nccl_call *)(uintptr_t)execution;
}

/* Sends and receives. */

/* Is there a message from one rank to another? */
static bool call_joins(const struct problem *problem, int from, int to)
{
    const struct collective *collective = problem->collective;
    if (collective->id == COLLECTIVE_SENDRECV)
        return problem->counts->to[from] == to;
    return (!collective->source.root_only || from == problem->root) &&
           (!collective->destination.root_only || to == problem->root);
}

/* What this rank sends to `peer`, and receives from it. In place its own block is there already. */
static int peer_enqueue(const struct nccl_call *call, int peer)
{
    const struct nccl_communicator *communicator = call->communicator;
    const struct problem *problem = &call->asked.problem;
    int rank = communicator->rank, result = NCCL_SUCCESS;
    size_t element = call->asked.datatype->size, at, count;
    bool own = problem->in_place && peer == rank;
    if (!own && call_joins(problem, rank, peer)) {
        count = collective_block(problem, rank, BUFFER_SOURCE, peer, &at);
        if (count > 0)
            result = communicator->api.Send(call->asked.source + at * element, count, call->type,
                                            peer, communicator->comm, communicator->stream);
    }
    if (result == NCCL_SUCCESS && !own && call_joins(problem, peer, rank)) {
        count = collective_block(problem, rank, BUFFER_DESTINATION, peer, &at);
        if (count > 0)
            result =
                communicator->api.Recv(call->asked.destination + at * element, count, call->type,
                                       peer, communicator->comm, communicator->stream);
    }
    return result;
}

static int group_enqueue(const struct nccl_call *call)
{
    const struct nccl_api *api = &call->communicator->api;
    int result = api->GroupStart();
    for (int peer = 0; peer < call->communicator->ranks && result == NCCL_SUCCESS; peer++) {
        result = peer_enqueue(call, peer);
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
    const void *from = call->asked.source;
    void *to = call->asked.destination;
    const struct problem *problem = &call->asked.problem;
    switch (problem->collective->id) {
    case COLLECTIVE_ALLREDUCE:
        return api->AllReduce(from, to, problem->count, call->type, call->reduction,
                              communicator->comm, communicator->stream);
    case COLLECTIVE_BROADCAST:
        return api->Broadcast(from, to, problem->count, call->type, problem->root,
                              communicator->comm, communicator->stream);
    case COLLECTIVE_REDUCE:
        return api->Reduce(from, to, problem->count, call->type, call->reduction, problem->root,
                           communicator->comm, communicator->stream);
    case COLLECTIVE_ALLGATHER:
        return api->AllGather(from, to, problem->count, call->type, communicator->comm,
                              communicator->stream);
    case COLLECTIVE_REDUCE_SCATTER:
        return api->ReduceScatter(from, to, problem->count, call->type, call->reduction,
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
    const struct vendor_call *asked = &call_of(execution)->asked;
    *position = (struct position){
        .kind = OPERATION_COPY,
        .peer = -1,
        .step = STEP_VENDOR,
        .length = collective_bytes(&asked->problem, asked->datatype->size),
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
    struct nccl_call *call = calloc(1, sizeof *call);
    if (!call)
        return fail(STATUS_ERROR, "out of memory for a collective of NCCL");
    *call = (struct nccl_call){
        .execution = {&hooks},
        .communicator = nccl_of(session),
        .asked = *asked,
        .type = nccl_type(asked->datatype),
        .reduction = asked->reduction ? nccl_operator(asked->reduction) : 0,
    };
    snprintf(call->what, sizeof call->what, "run %s", asked->problem.collective->name);
    *execution = &call->execution;
    return STATUS_OK;
}

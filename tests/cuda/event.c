/*
 * event.c - events.
 */
#include "standin.h"

cudaError_t standin_event_check(cudaEvent_t event)
{
    const struct CUevent_st *each = standin.events, *old = standin.old_events;
    while (each && each != event)
        each = each->next;
    while (old && old != event)
        old = old->next;
    if (each)
        return cudaSuccess;
    return standin_violation(cudaErrorInvalidResourceHandle, "an event is used that was %s",
                             old ? "destroyed" : "never made");
}

static struct standin_work *event_work(enum work_kind kind, cudaEvent_t event)
{
    struct standin_work *work = standin_allocate(sizeof *work);
    work->kind = kind;
    work->event = event;
    work->number = event->recorded; /* of a record: not yet */
    return work;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaEventCreateWithFlags);
    if (error != cudaSuccess)
        return error;
    if (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming))
        return standin_leave(cudaErrorInvalidValue);
    struct CUevent_st *made = standin_allocate(sizeof *made);
    made->flags = flags;
    made->device = standin_device();
    made->next = standin.events;
    standin.events = made;
    *event = made;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = standin_enter(CALL_cudaEventDestroy);
    if (error != cudaSuccess)
        return error;
    error = standin_event_check(event);
    if (error == cudaSuccess) {
        struct CUevent_st **link = &standin.events;
        while (*link != event)
            link = &(*link)->next;
        *link = event->next;
        event->next = standin.old_events;
        standin.old_events = event;
    }
    return standin_leave(error);
}

/* The lock is held. */
static cudaError_t event_record(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    cudaError_t error = standin_stream_check(stream);
    if (error == cudaSuccess && stream->capture && flags == cudaEventRecordDefault)
        error = standin_violation(cudaErrorStreamCaptureUnsupported,
                                  "a captured record without cudaEventRecordExternal records "
                                  "nothing");
    if (error == cudaSuccess && !stream->capture && flags != cudaEventRecordDefault)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = standin_event_check(event);
    if (error == cudaSuccess && stream->device != event->device)
        error = standin_violation(cudaErrorInvalidResourceHandle,
                                  "an event is recorded on a stream of another device");
    if (error == cudaSuccess)
        standin_submit(stream, event_work(WORK_RECORD, event));
    return error;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaEventRecord);
    return error == cudaSuccess ? standin_leave(event_record(event, stream, cudaEventRecordDefault))
                                : error;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaEventRecordWithFlags);
    return error == cudaSuccess ? standin_leave(event_record(event, stream, flags)) : error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaStreamWaitEvent);
    if (error != cudaSuccess)
        return error;
    error = flags ? cudaErrorInvalidValue : standin_stream_check(stream);
    if (error == cudaSuccess)
        error = standin_event_check(event);
    if (error == cudaSuccess)
        standin_submit(stream, event_work(WORK_WAIT, event));
    return standin_leave(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t error = standin_enter(CALL_cudaEventQuery);
    if (error != cudaSuccess)
        return error;
    error = standin_event_check(event);
    if (error == cudaSuccess && event->done < event->recorded)
        error = cudaErrorNotReady;
    return standin_leave(error);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = standin_enter(CALL_cudaEventSynchronize);
    if (error != cudaSuccess)
        return error;
    error = standin_event_check(event);
    standin_blocks("cudaEventSynchronize");
    if (error == cudaSuccess) {
        uint64_t number = event->recorded;
        while (event->done < number && standin.sticky == cudaSuccess)
            pthread_cond_wait(&standin.finished, &standin.lock);
        error = standin.sticky;
    }
    return standin_leave(error);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t error = standin_enter(CALL_cudaEventElapsedTime);
    if (error != cudaSuccess)
        return error;
    error = standin_event_check(start);
    if (error == cudaSuccess)
        error = standin_event_check(end);
    if (error != cudaSuccess)
        return standin_leave(error);
    if (((start->flags | end->flags) & cudaEventDisableTiming) || start->recorded == 0 ||
        end->recorded == 0)
        error = cudaErrorInvalidResourceHandle;
    else if (start->done < start->recorded || end->done < end->recorded)
        error = cudaErrorNotReady;
    else
        *ms = (float)((double)end->at - (double)start->at) / 1e6f;
    return standin_leave(error);
}

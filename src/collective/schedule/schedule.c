/*
 * schedule.c - what all interpreters of schedules share.
 */
#include "collective/schedule/schedule.h"

#include <string.h>

size_t operation_limit(const struct operation *operation, const size_t *done, size_t unit,
                       size_t *first, uint32_t *waiting_for)
{
    return limit_of_waits(operation->length, operation->waits, operation->wait_count, done, unit, 0,
                          first, waiting_for);
}

void schedule_bytes(const struct schedule *schedule, size_t element, size_t bytes[BUFFERS])
{
    memset(bytes, 0, BUFFERS * sizeof *bytes);
    for (int b = 0; b < BUFFERS; b++) {
        size_t end = (schedule->base[b] + schedule->extent[b]) * element;
        size_t *room = &bytes[schedule->storage[b]];
        *room = end > *room ? end : *room;
    }
}

size_t message_length(struct message message)
{
    size_t length = 0;
    for (size_t i = 0; i < message.count; i++)
        length += message.spans[i].run * message.spans[i].times;
    return length;
}

void schedule_add_peers(const struct schedule *schedule, uint64_t times, struct peer_use *use)
{
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        if (operation->peer < 0)
            continue;
        struct peer_use *peer = &use[operation->peer];
        *(operation->kind == OPERATION_SEND ? &peer->sent : &peer->received) +=
            operation->length * times;
        if (peer->lanes == 0 || operation->length < peer->shortest)
            peer->shortest = operation->length;
        if (operation->lane >= peer->lanes)
            peer->lanes = operation->lane + 1;
    }
}

const char *const operation_names[] = {
    [OPERATION_COPY] = "copy",
    [OPERATION_REDUCE] = "reduce",
    [OPERATION_SEND] = "send",
    [OPERATION_RECV] = "recv",
    [OPERATION_RECV_REDUCE] = "recv_reduce",
    [OPERATION_FINISH] = "finish",
    NULL,
};

bool operation_travels(enum operation_kind kind)
{
    return kind == OPERATION_SEND || kind == OPERATION_RECV || kind == OPERATION_RECV_REDUCE;
}

void schedule_free(struct schedule *schedule)
{
    if (schedule)
        arena_free(schedule->memory); /* the schedule itself lies in it */
}

/*
 * Walks a schedule backwards, from a destination element to its receive.
 */
size_t message_find(const struct schedule *schedule, struct message message, int storage, size_t at)
{
    size_t position = 0;
    for (size_t s = 0; s < message.count; s++) {
        const struct span *span = &message.spans[s];
        size_t start = schedule->base[span->buffer] + span->offset;
        if (schedule->storage[span->buffer] == storage && at >= start) {
            /* A single run may be longer than its stride, which says nothing. */
            size_t time = span->times > 1 ? (at - start) / span->stride : 0;
            size_t within = at - start - time * span->stride;
            if (time < span->times && within < span->run)
                return position + time * span->run + within;
        }
        position += span->run * span->times;
    }
    return SIZE_MAX;
}

void message_locate(const struct schedule *schedule, struct message message, size_t position,
                    int *storage, size_t *at)
{
    const struct span *span = message.spans;
    for (; position >= span->run * span->times; span++)
        position -= span->run * span->times;
    *storage = schedule->storage[span->buffer];
    *at = schedule->base[span->buffer] + span->offset + position / span->run * span->stride +
          position % span->run;
}

int provenance_of(const struct schedule *schedule, size_t element)
{
    int storage = schedule->storage[BUFFER_DESTINATION];
    size_t at = schedule->base[BUFFER_DESTINATION] + element;
    for (size_t i = schedule->count; i-- > 0;) {
        const struct operation *operation = &schedule->operations[i];
        if (operation->to.count == 0)
            continue;
        size_t position = message_find(schedule, operation->to, storage, at);
        if (position == SIZE_MAX)
            continue;
        if (operation_travels(operation->kind))
            return (int)i;
        message_locate(schedule, operation->from, position, &storage, &at);
    }
    return -1;
}

/*
 * provenance.c - walks a schedule backwards, from a destination element to its receive.
 */
#include "collective/schedule/schedule.h"

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

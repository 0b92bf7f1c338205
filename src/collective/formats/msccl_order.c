/*
 * msccl_order.c - steps of MSCCL that touch the same chunk although nothing orders them.
 *
 * Each step has a vector clock: of each thread block, how many steps have ended before it begins.
 */
#include "collective/formats/internal.h"

#include <stdio.h>
#include <string.h>

#define CLOCKS_MOST (1 << 24) /* steps of a GPU times its thread blocks */

/* A step that has touched a chunk. */
struct chunk_use {
    int step;
    struct chunk_use *next;
};

struct msccl_order {
    struct msccl_reading *reading;
    int *clocks;  /* [step * blocks + block] */
    int **writer; /* [buffer][chunk]: 1 + the step that wrote it last */
    size_t extent[BUFFERS];
    struct chunk_use **readers[BUFFERS]; /* of each chunk, since it was written */
};

enum status msccl_order_open(struct msccl_reading *reading, struct msccl_order **order)
{
    size_t steps = (size_t)reading->step_count, blocks = (size_t)reading->block_count;
    *order = NULL;
    if (steps * blocks > CLOCKS_MOST || reading->plan->note)
        return STATUS_OK;
    struct msccl_order *made = msccl_take(reading, 1, sizeof *made);
    if (!made)
        return msccl_no_memory(reading);
    made->reading = reading;
    made->clocks = msccl_take(reading, steps * blocks, sizeof *made->clocks);
    made->writer = msccl_take(reading, BUFFERS, sizeof *made->writer);
    bool good = made->clocks && made->writer;
    for (int b = 0; b < BUFFERS && good; b++) {
        made->extent[b] = b == BUFFER_SCRATCH ? reading->scratch
                                              : collective_extent(&reading->plan->problem,
                                                                  reading->rank, (enum buffer)b);
        made->writer[b] = msccl_take(reading, made->extent[b], sizeof(int));
        made->readers[b] = msccl_take(reading, made->extent[b], sizeof(struct chunk_use *));
        good = made->writer[b] && made->readers[b];
    }
    *order = good ? made : NULL;
    return good ? STATUS_OK : msccl_no_memory(reading);
}

void msccl_order_add(struct msccl_order *order, int index)
{
    if (!order)
        return;
    const struct msccl_reading *reading = order->reading;
    const struct msccl_step *step = &reading->steps[index];
    int blocks = reading->block_count, first = reading->blocks[step->block].first;
    int *clock = &order->clocks[(size_t)index * (size_t)blocks];
    const int before[] = {index > first ? index - 1 : -1, step->waits_for};
    for (int i = 0; i < 2; i++) {
        if (before[i] < 0)
            continue;
        const struct msccl_step *other = &reading->steps[before[i]];
        const int *past = &order->clocks[(size_t)before[i] * (size_t)blocks];
        for (int b = 0; b < blocks; b++)
            clock[b] = past[b] > clock[b] ? past[b] : clock[b];
        int ended = before[i] - reading->blocks[other->block].first + 1;
        clock[other->block] = ended > clock[other->block] ? ended : clock[other->block];
    }
}

static bool comes_after(const struct msccl_order *order, int index, int earlier)
{
    const struct msccl_reading *reading = order->reading;
    int block = reading->steps[earlier].block;
    const int *clock = &order->clocks[(size_t)index * (size_t)reading->block_count];
    return block == reading->steps[index].block ||
           clock[block] > earlier - reading->blocks[block].first;
}

static void note_open(struct msccl_order *order, int earlier, int index, enum buffer buffer,
                      size_t chunk)
{
    struct msccl_reading *reading = order->reading;
    char *note = reading->plan->note ? NULL : msccl_take(reading, 300, 1);
    if (!note)
        return;
    snprintf(
        note, 300,
        "nothing orders the steps of lines %d and %d, which touch chunk %zu of rank %d's %s: MSCCL "
        "may run them in either order, and here the first comes first",
        reading->steps[earlier].element->line, reading->steps[index].element->line, chunk,
        reading->rank, buffer_names[buffer]);
    reading->plan->note = note;
}

static void chunk_touch(struct msccl_order *order, int index, enum buffer buffer, size_t chunk,
                        bool writes)
{
    struct chunk_use **readers = &order->readers[buffer][chunk];
    int *writer = &order->writer[buffer][chunk];
    if (*writer > 0 && !comes_after(order, index, *writer - 1))
        note_open(order, *writer - 1, index, buffer, chunk);
    for (struct chunk_use *use = *readers; writes && use; use = use->next)
        if (!comes_after(order, index, use->step))
            note_open(order, use->step, index, buffer, chunk);
    if (writes) {
        *writer = index + 1;
        *readers = NULL;
        return;
    }
    struct chunk_use *use = msccl_take(order->reading, 1, sizeof *use);
    if (use)
        *use = (struct chunk_use){.step = index, .next = *readers};
    *readers = use ? use : *readers;
}

void msccl_order_touch(struct msccl_order *order, int index, const struct message *chunks,
                       bool writes)
{
    if (!order)
        return;
    for (size_t s = 0; s < chunks->count; s++)
        for (size_t i = 0; i < chunks->spans[s].run; i++)
            if (chunks->spans[s].offset + i < order->extent[chunks->spans[s].buffer])
                chunk_touch(order, index, chunks->spans[s].buffer, chunks->spans[s].offset + i,
                            writes);
}

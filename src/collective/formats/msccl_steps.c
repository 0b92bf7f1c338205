/*
 * msccl_steps.c - the steps of a GPU in MSCCL's XML, and the operations that they are.
 *
 * A step comes after the one before it in its thread block, and after the one that it waits for. Its
 * level is how many operations come before it that way. Operations are written by levels, so that a
 * level is a round.
 */
#include "collective/formats/internal.h"

#include <string.h>


static const struct step_type step_types[] = {
    {"s", .sends = true},
    {"r", .receives = true, .stores = true},
    {"rcs", .receives = true, .stores = true, .sends = true},
    {"rrc", .receives = true, .combines = true, .stores = true},
    {"rrs", .receives = true, .combines = true, .sends = true},
    {"rrcs", .receives = true, .combines = true, .stores = true, .sends = true},
    {"cpy", .local = true, .stores = true},
    {"re", .local = true, .combines = true, .stores = true},
    {.name = "nop"},
};

static enum status buffer_read(const struct msccl_reading *reading,
                               const struct xml_element *element, const char *name,
                               enum buffer *buffer)
{
    static const char *const names[BUFFERS] = {"i", "o", "s"};
    const char *text = xml_attribute(element, name);
    for (int b = 0; b < BUFFERS; b++)
        if (text && strcmp(text, names[b]) == 0) {
            *buffer = (enum buffer)b;
            return STATUS_OK;
        }
    return msccl_refuse(reading, element, "%s of <step> is none of i, o and s", name);
}

static enum status step_type_read(const struct msccl_reading *reading, struct msccl_step *step)
{
    const char *type = xml_attribute(step->element, "type");
    for (size_t i = 0; type && i < sizeof step_types / sizeof step_types[0]; i++)
        if (strcmp(type, step_types[i].name) == 0)
            step->type = &step_types[i];
    return step->type ? STATUS_OK
                      : msccl_refuse(
                            reading, step->element,
                            "type of <step> is none of s, r, rcs, rrc, rrs, rrcs, cpy, re and nop");
}

static bool reads_local(const struct step_type *type)
{
    return type->combines || type->local || (type->sends && !type->receives);
}

static enum status step_read(struct msccl_reading *reading, int index, struct msccl_step *step)
{
    const struct xml_element *element = step->element;
    const struct thread_block *block = &reading->blocks[step->block];
    int place;
    enum status status = msccl_int(reading, element, "s", 0, MSCCL_CHUNKS_MOST, &place);
    if (status == STATUS_OK && place != index)
        return msccl_refuse(reading, element, "s of <step> is %d, where %d follows", place, index);
    if (status == STATUS_OK)
        status = step_type_read(reading, step);
    if (status != STATUS_OK || strcmp(step->type->name, "nop") == 0)
        return status;
    status = xml_number(&reading->xml, element, "cnt", 1, MSCCL_CHUNKS_MOST, &step->count);
    if (status == STATUS_OK && reads_local(step->type))
        status = xml_number(&reading->xml, element, "srcoff", 0, MSCCL_CHUNKS_MOST, &step->source);
    if (status == STATUS_OK && reads_local(step->type))
        status = buffer_read(reading, element, "srcbuf", &step->from);
    if (status == STATUS_OK && step->type->stores)
        status =
            xml_number(&reading->xml, element, "dstoff", 0, MSCCL_CHUNKS_MOST, &step->destination);
    if (status == STATUS_OK && step->type->stores)
        status = buffer_read(reading, element, "dstbuf", &step->to);
    if (status == STATUS_OK && step->type->sends && block->send < 0)
        return msccl_refuse(reading, element,
                            "the step sends, but its <tb> has no peer to send to");
    if (status == STATUS_OK && step->type->receives && block->receive < 0)
        return msccl_refuse(reading, element,
                            "the step receives, but its <tb> has no peer to receive from");
    return status;
}

static enum status dependency_read(const struct msccl_reading *reading, struct msccl_step *step)
{
    int block, place;
    step->waits_for = -1;
    enum status status =
        msccl_int(reading, step->element, "depid", -1, reading->block_count - 1, &block);
    if (status != STATUS_OK || block < 0)
        return status;
    status = msccl_int(reading, step->element, "deps", 0, reading->blocks[block].steps - 1, &place);
    step->waits_for = reading->blocks[block].first + place;
    return status;
}

enum status msccl_steps_read(struct msccl_reading *reading)
{
    enum status status = STATUS_OK;
    reading->steps = msccl_take(reading, (size_t)reading->step_count, sizeof *reading->steps);
    if (!reading->steps)
        return msccl_no_memory(reading);
    for (int b = 0; b < reading->block_count; b++) {
        const struct xml_element *element = reading->blocks[b].element->children;
        for (int s = 0; element && status == STATUS_OK; element = element->next, s++) {
            struct msccl_step *step = &reading->steps[reading->blocks[b].first + s];
            *step = (struct msccl_step){.element = element, .block = b};
            status = step_read(reading, s, step);
            if (status == STATUS_OK)
                status = dependency_read(reading, step);
        }
    }
    return status;
}

/* A step comes after the one before it in its thread block, and after the one that it waits for. */
struct level_order {
    int *first_waiter, *next_waiter; /* steps that wait for a step; -1: none */
    int *ready, ready_count;
    unsigned char *left; /* how many of the two have no level yet */
};

static void order_open(const struct msccl_reading *reading, struct level_order *order)
{
    memset(order->first_waiter, 0xff, (size_t)reading->step_count * sizeof *order->first_waiter);
    for (int i = reading->step_count - 1; i >= 0; i--) {
        const struct msccl_step *step = &reading->steps[i];
        order->left[i] =
            (unsigned char)((reading->blocks[step->block].first < i) + (step->waits_for >= 0));
        if (step->waits_for >= 0) {
            order->next_waiter[i] = order->first_waiter[step->waits_for];
            order->first_waiter[step->waits_for] = i;
        }
        if (order->left[i] == 0)
            order->ready[order->ready_count++] = i;
    }
}

/* A step before `index` has this level. */
static void order_settle(const struct msccl_reading *reading, struct level_order *order, int index,
                         int level)
{
    struct msccl_step *step = &reading->steps[index];
    step->level = level > step->level ? level : step->level;
    if (--order->left[index] == 0)
        order->ready[order->ready_count++] = index;
}

static enum status levels_find(struct msccl_reading *reading, struct msccl_order *clocks,
                               int *highest)
{
    size_t count = (size_t)reading->step_count;
    struct level_order order = {.first_waiter = msccl_take(reading, count, sizeof(int)),
                                .next_waiter = msccl_take(reading, count, sizeof(int)),
                                .ready = msccl_take(reading, count, sizeof(int)),
                                .left = msccl_take(reading, count, 1)};
    if (!order.first_waiter || !order.next_waiter || !order.ready || !order.left)
        return msccl_no_memory(reading);
    order_open(reading, &order);
    *highest = 0;
    for (int r = 0; r < order.ready_count; r++) {
        int index = order.ready[r];
        msccl_order_add(clocks, index);
        struct msccl_step *step = &reading->steps[index];
        const struct thread_block *block = &reading->blocks[step->block];
        int level = step->level + (strcmp(step->type->name, "nop") != 0);
        if (index + 1 < block->first + block->steps)
            order_settle(reading, &order, index + 1, level);
        for (int w = order.first_waiter[index]; w >= 0; w = order.next_waiter[w])
            order_settle(reading, &order, w, level);
        *highest = step->level > *highest ? step->level : *highest;
    }
    for (int i = 0; i < reading->step_count; i++)
        if (order.left[i] > 0)
            return msccl_refuse(
                reading, reading->steps[i].element,
                "the step waits for itself, by the steps before it and those that they wait for");
    return STATUS_OK;
}

/* Operations. */

/* In place, what is written to the input lands in the output, as far as the two are one. */
static void chunk_place(const struct msccl_reading *reading, enum buffer *buffer, size_t *at)
{
    struct problem problem = reading->plan->problem;
    size_t offset, extent;
    problem.in_place = reading->plan->in_place;
    if (!problem.in_place || *buffer != BUFFER_SOURCE)
        return;
    enum buffer inside = collective_alias(&problem, reading->rank, &offset);
    extent = collective_extent(&problem, reading->rank, BUFFER_DESTINATION);
    size_t there = inside == BUFFER_SOURCE ? *at + offset : *at - offset;
    if ((inside == BUFFER_SOURCE || *at >= offset) && there < extent) {
        *buffer = BUFFER_DESTINATION;
        *at = there;
    }
}

/* The chunks from `first` on that lie one after the other in the rank's buffers, `most` at most. */
static struct span chunks_run(const struct msccl_reading *reading, enum buffer buffer, size_t first,
                              size_t most)
{
    struct span run = {.buffer = buffer, .offset = first, .times = 1};
    chunk_place(reading, &run.buffer, &run.offset);
    while (run.run < most) {
        enum buffer there = buffer;
        size_t at = first + run.run;
        chunk_place(reading, &there, &at);
        if (there != run.buffer || at != run.offset + run.run)
            break;
        run.run++;
    }
    run.stride = run.run;
    return run;
}

/* The chunks of a step in a buffer from `first` on. */
#define RUNS_MOST 3 /* in place, what lies before the other buffer, inside it, and behind it */
static enum status chunks_message(struct msccl_reading *reading, const struct msccl_step *step,
                                  enum buffer buffer, int64_t first, struct message *message)
{
    struct problem problem = reading->plan->problem;
    struct span *spans = msccl_take(reading, RUNS_MOST, sizeof *spans);
    size_t count = (size_t)step->count, used = 0;
    size_t extent = buffer == BUFFER_SCRATCH ? reading->scratch
                                             : collective_extent(&problem, reading->rank, buffer);
    if (!spans)
        return msccl_no_memory(reading);
    if ((size_t)first + count > extent)
        return msccl_refuse(reading, step->element,
                            "the step touches chunk %zu of %s, which has %zu",
                            (size_t)first + count - 1, buffer_names[buffer], extent);
    for (size_t done = 0; done < count && used < RUNS_MOST; done += spans[used++].run)
        spans[used] = chunks_run(reading, buffer, (size_t)first + done, count - done);
    *message = (struct message){.spans = spans, .count = used};
    return STATUS_OK;
}

/* The result of a step that sends it on without storing it. */
static enum status chunks_unstored(struct msccl_reading *reading, const struct msccl_step *step,
                                   struct message *message)
{
    size_t first = reading->scratch;
    reading->scratch += (size_t)step->count;
    return chunks_message(reading, step, BUFFER_SCRATCH, (int64_t)first, message);
}

static void operation_add(struct msccl_reading *reading, const struct msccl_step *step,
                          struct operation operation)
{
    struct file_rank *rank = &reading->plan->ranks[reading->rank];
    operation.step = step->level;
    operation.length = (size_t)step->count;
    rank->lines[rank->count] = step->element->line;
    rank->operations[rank->count++] = operation;
}

static bool messages_same(struct message a, struct message b)
{
    bool same = a.count == b.count;
    for (size_t i = 0; same && i < a.count; i++)
        same = a.spans[i].buffer == b.spans[i].buffer && a.spans[i].offset == b.spans[i].offset &&
               a.spans[i].run == b.spans[i].run;
    return same;
}

static void step_write(struct msccl_reading *reading, const struct msccl_step *step,
                       struct message from, struct message to)
{
    const struct thread_block *block = &reading->blocks[step->block];
    const struct step_type *type = step->type;
    bool combines = type->combines;
    if (type->local && (combines || !messages_same(to, from)))
        operation_add(reading, step,
                      (struct operation){.kind = combines ? OPERATION_REDUCE : OPERATION_COPY,
                                         .peer = -1,
                                         .to = to,
                                         .from = from,
                                         .with = combines ? to : (struct message){0}});
    if (type->receives)
        operation_add(reading, step,
                      (struct operation){.kind = combines ? OPERATION_RECV_REDUCE : OPERATION_RECV,
                                         .peer = block->receive,
                                         .lane = block->channel,
                                         .to = to,
                                         .with = combines ? from : (struct message){0}});
    if (type->sends)
        operation_add(reading, step,
                      (struct operation){.kind = OPERATION_SEND,
                                         .peer = block->send,
                                         .lane = block->channel,
                                         .from = type->receives ? to : from});
}

static enum status step_convert(struct msccl_reading *reading, struct msccl_order *clocks,
                                int index)
{
    const struct msccl_step *step = &reading->steps[index];
    struct message from = {0}, to = {0};
    enum status status = STATUS_OK;
    reading->moved += (size_t)step->count;
    if (reading->moved > FILE_MOVED_MOST)
        return msccl_refuse(reading, step->element,
                            "with this step more than %d chunks are moved, which are not proven",
                            FILE_MOVED_MOST);
    if (reads_local(step->type))
        status = chunks_message(reading, step, step->from, step->source, &from);
    if (status == STATUS_OK && step->type->stores)
        status = chunks_message(reading, step, step->to, step->destination, &to);
    else if (status == STATUS_OK && step->type->receives)
        status = chunks_unstored(reading, step, &to);
    if (status != STATUS_OK)
        return status;
    msccl_order_touch(clocks, index, &from, false);
    msccl_order_touch(clocks, index, &to, true);
    step_write(reading, step, from, to);
    return STATUS_OK;
}

/* By levels, each in the order of the file. */
static enum status levels_convert(struct msccl_reading *reading, struct msccl_order *clocks,
                                  int highest)
{
    size_t count = (size_t)reading->step_count;
    int *next = msccl_take(reading, (size_t)highest + 1, sizeof *next),
        *order = msccl_take(reading, count, sizeof *order);
    if (!next || !order)
        return msccl_no_memory(reading);
    for (int i = 0; i < reading->step_count; i++)
        next[reading->steps[i].level]++;
    for (int l = 1; l <= highest; l++)
        next[l] += next[l - 1];
    for (int i = reading->step_count - 1; i >= 0; i--)
        order[--next[reading->steps[i].level]] = i;
    enum status status = STATUS_OK;
    for (int i = 0; i < reading->step_count && status == STATUS_OK; i++)
        if (strcmp(reading->steps[order[i]].type->name, "nop") != 0)
            status = step_convert(reading, clocks, order[i]);
    return status;
}

enum status msccl_steps_convert(struct msccl_reading *reading)
{
    struct msccl_order *clocks;
    int highest;
    enum status status = msccl_order_open(reading, &clocks);
    if (status == STATUS_OK)
        status = levels_find(reading, clocks, &highest);
    return status == STATUS_OK ? levels_convert(reading, clocks, highest) : status;
}

/*
 * msccl_read.c - reads the schedule of an algorithm from the XML of MSCCL.
 *
 * There a GPU has thread blocks, each with a list of steps on chunks of three buffers. The steps of
 * a thread block run in their order, and a step may wait for one of another thread block (depid,
 * deps). Here a rank has one list of operations, in an order that keeps both; the builder finds
 * from their buffers which of them may run at the same time. A thread block's connections are the
 * lane of its channel to its peers. A chunk is a part.
 */
#include "collective/formats/internal.h"

#include "base/log.h"
#include "base/xml.h"

#include <stdarg.h>
#include <string.h>

#define MSCCL_CHUNKS_MOST (1 << 22)

struct thread_block {
    const struct xml_element *element;
    int send, receive, channel; /* peers, -1: none */
    int first, steps;           /* of the GPU's steps */
};

/* The work of a step, by its type. */
struct step_type {
    const char *name;
    bool receives, combines, stores, sends, local;
};

struct msccl_step {
    const struct xml_element *element;
    const struct step_type *type;
    int block;                          /* its thread block, as an index */
    int waits_for;                      /* a step of the GPU; -1: none */
    int level;                          /* operations before it, one after the other, at least */
    int64_t source, destination, count; /* chunks */
    enum buffer from, to;
};

struct msccl_reading {
    struct xml xml;
    struct arena *arena;
    struct file_plan *plan;
    int rank; /* the GPU that is being read */
    struct thread_block *blocks;
    struct msccl_step *steps;
    int block_count, step_count;
    size_t scratch, moved; /* chunks; those that all steps move */
};

/* STATUS_USAGE, with the file and the line of the element. */
__attribute__((format(printf, 3, 4))) static enum status
msccl_refuse(const struct msccl_reading *reading, const struct xml_element *element,
             const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const struct failure_place place = {.file = reading->xml.path, .line = element->line};
    return fail_at(STATUS_USAGE, &place, "%s", what);
}

/* `count` things of `size` bytes, all zero, as long as the plan; NULL: out of memory. */
static void *msccl_take(struct msccl_reading *reading, size_t count, size_t size)
{
    void *taken = arena_take(reading->arena, (count + 1) * size);
    return taken ? memset(taken, 0, (count + 1) * size) : NULL;
}

static enum status msccl_no_memory(const struct msccl_reading *reading)
{
    return fail(STATUS_ERROR, "out of memory for %.200s", reading->xml.path);
}

/* xml_number() of an int. */
static enum status msccl_int(const struct msccl_reading *reading, const struct xml_element *element,
                             const char *name, int least, int most, int *value)
{
    int64_t number = 0;
    enum status status = xml_number(&reading->xml, element, name, least, most, &number);
    *value = (int)number;
    return status;
}

/* How many children of this name an element has. */
static int msccl_children(const struct xml_element *element, const char *name)
{
    int count = 0;
    for (const struct xml_element *child = element->children; child; child = child->next)
        count += strcmp(child->name, name) == 0;
    return count;
}

/*
 * Steps that touch the same chunk although nothing orders them.
 *
 * MSCCL runs the thread blocks of a GPU side by side, and may run such steps in either order. Here
 * they run in the order of the levels, since the conflict rule orders all that touch the same
 * memory.
 *
 * Each step has a vector clock: of each thread block, how many steps have ended before it begins.
 */
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

/* The facts of the GPU that is being read. NULL with status STATUS_OK: it has too many steps to be
 * looked at. */
static enum status msccl_order_open(struct msccl_reading *reading, struct msccl_order **order)
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

/* Adds a step, after the one before it in its thread block and the one that it waits for. NULL is
 * allowed, here and below. */
static void msccl_order_add(struct msccl_order *order, int index)
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

/* A step that was added reads or writes these chunks, after those that were told of. The first two
 * steps without an order become the note of the plan. */
static void msccl_order_touch(struct msccl_order *order, int index, const struct message *chunks,
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

/*
 * The steps of a GPU, and the operations that they are.
 *
 * A step comes after the one before it in its thread block, and after the one that it waits for.
 * Its level is how many operations come before it that way. Operations are written by levels, so
 * that a level is a round.
 */
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

/* Reads the steps of the thread blocks, whose fields are filled in. */
static enum status msccl_steps_read(struct msccl_reading *reading)
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

/* Adds their operations to those of the rank, which has room for two a step, and their scratch to
 * reading->scratch. */
static enum status msccl_steps_convert(struct msccl_reading *reading)
{
    struct msccl_order *clocks;
    int highest;
    TRY(msccl_order_open(reading, &clocks));
    TRY(levels_find(reading, clocks, &highest));
    return levels_convert(reading, clocks, highest);
}

/*
 * The GPUs with their thread blocks, and the algorithm.
 */
#define BLOCKS_MOST  4096 /* thread blocks of a GPU */
#define CHANNEL_MOST 4095

static enum status children_check(const struct msccl_reading *reading,
                                  const struct xml_element *element, const char *name)
{
    for (const struct xml_element *child = element->children; child; child = child->next)
        if (strcmp(child->name, name) != 0)
            return msccl_refuse(reading, child, "<%.40s> stands in <%s>, where <%s> belongs",
                                child->name, element->name, name);
    return STATUS_OK;
}

/* GPUs. */

static enum status block_read(struct msccl_reading *reading, const struct xml_element *element,
                              int index)
{
    struct thread_block *block = &reading->blocks[index];
    int id, most = reading->plan->problem.ranks - 1;
    enum status status = msccl_int(reading, element, "id", 0, BLOCKS_MOST, &id);
    if (status == STATUS_OK && id != index)
        return msccl_refuse(reading, element, "id of <tb> is %d, where %d follows", id, index);
    if (status == STATUS_OK)
        status = msccl_int(reading, element, "send", -1, most, &block->send);
    if (status == STATUS_OK)
        status = msccl_int(reading, element, "recv", -1, most, &block->receive);
    if (status == STATUS_OK)
        status = msccl_int(reading, element, "chan", -1, CHANNEL_MOST, &block->channel);
    if (status != STATUS_OK)
        return status;
    if (block->send == reading->rank || block->receive == reading->rank)
        return msccl_refuse(reading, element, "the peer of <tb> is its own GPU");
    block->channel = block->channel < 0 ? 0 : block->channel;
    for (int i = 0; i < index; i++) {
        const struct thread_block *other = &reading->blocks[i];
        if (other->channel == block->channel &&
            ((block->send >= 0 && other->send == block->send) ||
             (block->receive >= 0 && other->receive == block->receive)))
            return msccl_refuse(
                reading, element,
                "<tb> %d has the same peer and the same channel, so the order of their messages "
                "is open",
                i);
    }
    block->element = element;
    block->first = reading->step_count;
    block->steps = msccl_children(element, "step");
    reading->step_count += block->steps;
    if (reading->plan->lanes <= block->channel)
        reading->plan->lanes = block->channel + 1;
    return children_check(reading, element, "step");
}

static enum status blocks_read(struct msccl_reading *reading, const struct xml_element *gpu)
{
    reading->block_count = msccl_children(gpu, "tb");
    reading->step_count = 0;
    if (reading->block_count > BLOCKS_MOST)
        return msccl_refuse(reading, gpu, "<gpu> has more than %d thread blocks", BLOCKS_MOST);
    reading->blocks = msccl_take(reading, (size_t)reading->block_count, sizeof *reading->blocks);
    if (!reading->blocks)
        return msccl_no_memory(reading);
    enum status status = children_check(reading, gpu, "tb");
    const struct xml_element *element = gpu->children;
    for (int i = 0; status == STATUS_OK && element; element = element->next)
        status = block_read(reading, element, i++);
    return status;
}

static enum status gpu_read(struct msccl_reading *reading, const struct xml_element *gpu)
{
    struct file_rank *rank = &reading->plan->ranks[reading->rank];
    int id, scratch;
    enum status status = msccl_int(reading, gpu, "id", 0, FILE_RANKS_MOST, &id);
    if (status == STATUS_OK && id != reading->rank)
        return msccl_refuse(reading, gpu, "id of <gpu> is %d, where %d follows", id, reading->rank);
    if (status == STATUS_OK)
        status = msccl_int(reading, gpu, "s_chunks", 0, MSCCL_CHUNKS_MOST, &scratch);
    if (status != STATUS_OK)
        return status;
    reading->scratch = (size_t)scratch;
    status = blocks_read(reading, gpu);
    if (status == STATUS_OK)
        status = msccl_steps_read(reading);
    if (status != STATUS_OK)
        return status;
    rank->operations =
        msccl_take(reading, 2 * (size_t)reading->step_count, sizeof *rank->operations);
    rank->lines = msccl_take(reading, 2 * (size_t)reading->step_count, sizeof *rank->lines);
    rank->epochs = msccl_take(reading, 1, sizeof *rank->epochs);
    if (!rank->operations || !rank->lines || !rank->epochs)
        return msccl_no_memory(reading);
    rank->epochs[0].previous = rank->epochs[0].next = -1;
    rank->epoch_count = 1;
    status = msccl_steps_convert(reading);
    rank->scratch = reading->scratch;
    return status;
}

/* The algorithm. */

static enum status collective_read(struct msccl_reading *reading)
{
    static const enum collective_id known[] = {COLLECTIVE_ALLREDUCE,      COLLECTIVE_ALLGATHER,
                                               COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLTOALL,
                                               COLLECTIVE_BROADCAST,      COLLECTIVE_REDUCE};
    const char *name = xml_attribute(reading->xml.root, "coll");
    for (size_t i = 0; name && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(collective_of(known[i])->name, name) == 0)
            reading->plan->problem.collective = collective_of(known[i]);
    return reading->plan->problem.collective
               ? STATUS_OK
               : msccl_refuse(reading, reading->xml.root,
                              "coll of <algo> is '%.40s', which has no contract here: it is one of "
                              "allreduce, "
                              "allgather, reduce_scatter, alltoall, broadcast and reduce",
                              name ? name : "");
}

static enum status algorithm_read(struct msccl_reading *reading)
{
    const struct xml_element *algo = reading->xml.root;
    struct problem *problem = &reading->plan->problem;
    int ranks, chunks, in_place, root = 0;
    enum status status = msccl_int(reading, algo, "ngpus", 1, FILE_RANKS_MOST, &ranks);
    if (status == STATUS_OK)
        status = msccl_int(reading, algo, "nchunksperloop", 1, MSCCL_CHUNKS_MOST, &chunks);
    if (status == STATUS_OK)
        status = msccl_int(reading, algo, "inplace", 0, 1, &in_place);
    if (status == STATUS_OK && xml_attribute(algo, "root"))
        status = msccl_int(reading, algo, "root", 0, ranks - 1, &root);
    if (status == STATUS_OK)
        status = collective_read(reading);
    if (status != STATUS_OK)
        return status;
    int blocks =
        problem->collective->source.blocks || problem->collective->destination.blocks ? ranks : 1;
    if (chunks % blocks != 0)
        return msccl_refuse(reading, algo,
                            "nchunksperloop of <algo> is %d, which %d ranks do not divide", chunks,
                            blocks);
    problem->ranks = ranks;
    problem->count = (size_t)(chunks / blocks);
    problem->root = problem->collective->rooted ? root : 0;
    reading->plan->in_place = in_place;
    if (msccl_children(algo, "gpu") != ranks)
        return msccl_refuse(reading, algo, "<algo> has %d <gpu>, and %d ranks need one each",
                            msccl_children(algo, "gpu"), ranks);
    return children_check(reading, algo, "gpu");
}

enum status msccl_plan_read(const char *path, const char *text, size_t size, struct arena *arena,
                            struct file_plan **plans, size_t *count)
{
    struct msccl_reading reading = {.arena = arena};
    *plans = NULL;
    *count = 0;
    enum status status = xml_parse(path, text, size, arena, &reading.xml);
    if (status != STATUS_OK)
        return status;
    if (strcmp(reading.xml.root->name, "algo") != 0)
        return msccl_refuse(&reading, reading.xml.root,
                            "<%.40s> is no algorithm of MSCCL, which begins with <algo>",
                            reading.xml.root->name);
    *plans = reading.plan = msccl_take(&reading, 1, sizeof **plans);
    if (!reading.plan)
        return msccl_no_memory(&reading);
    *reading.plan = (struct file_plan){.path = path, .lanes = 1};
    status = algorithm_read(&reading);
    if (status != STATUS_OK)
        return status;
    reading.plan->ranks =
        msccl_take(&reading, (size_t)reading.plan->problem.ranks, sizeof *reading.plan->ranks);
    if (!reading.plan->ranks)
        return msccl_no_memory(&reading);
    *count = 1;
    const struct xml_element *gpu = reading.xml.root->children;
    for (; gpu && status == STATUS_OK; gpu = gpu->next, reading.rank++)
        status = gpu_read(&reading, gpu);
    return status;
}

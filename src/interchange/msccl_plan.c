/*
 * msccl_plan.c - reads the schedule of an algorithm from the XML of MSCCL.
 *
 * There a GPU has thread blocks, each with a list of steps on chunks of three buffers. The steps of a
 * thread block run in their order, and a step may wait for one of another thread block (depid, deps).
 * Here a rank has one list of operations, in an order that keeps both; the builder finds from their
 * buffers which of them may run at the same time. A thread block's connections are the lane of its
 * channel to its peers. A chunk is a part.
 */
#include "interchange/msccl_plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/xml.h"

#define CHUNKS_MOST  (1 << 22)
#define BLOCKS_MOST  4096 /* thread blocks of a GPU */
#define CHANNEL_MOST 4095

struct thread_block {
    const struct xml_element *element;
    int send, receive, channel; /* peers, -1: none */
    int first, steps;           /* of the GPU's steps */
};

/* What a step does, by its type. */
struct step_type {
    const char *name;
    bool receives, combines, stores, sends, local;
};

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

struct msccl_step {
    const struct xml_element *element;
    const struct step_type *type;
    int block;                          /* its thread block, as an index */
    int waits_for;                      /* a step of the GPU; -1: none */
    int level;                          /* 1 + that of the steps before it; 0: not known yet */
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
    size_t scratch;
};

__attribute__((format(printf, 3, 4))) static enum status refuse(const struct msccl_reading *reading,
                                                                const struct xml_element *element,
                                                                const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "%.200s:%d: %s", reading->xml.path, element->line, what);
}

static void *take(struct msccl_reading *reading, size_t count, size_t size)
{
    void *taken = arena_take(reading->arena, (count + 1) * size);
    return taken ? memset(taken, 0, (count + 1) * size) : NULL;
}

static enum status no_memory(const struct msccl_reading *reading)
{
    return fail(STATUS_ERROR, "out of memory for %.200s", reading->xml.path);
}

static enum status int_read(const struct msccl_reading *reading, const struct xml_element *element,
                            const char *name, int least, int most, int *value)
{
    int64_t number = 0;
    enum status status = xml_number(&reading->xml, element, name, least, most, &number);
    *value = (int)number;
    return status;
}

static int children_named(const struct xml_element *element, const char *name)
{
    int count = 0;
    for (const struct xml_element *child = element->children; child; child = child->next)
        count += strcmp(child->name, name) == 0;
    return count;
}

static enum status children_check(const struct msccl_reading *reading,
                                  const struct xml_element *element, const char *name)
{
    for (const struct xml_element *child = element->children; child; child = child->next)
        if (strcmp(child->name, name) != 0)
            return refuse(reading, child, "<%.40s> stands in <%s>, where <%s> belongs", child->name,
                          element->name, name);
    return STATUS_OK;
}

/* Steps. */

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
    return refuse(reading, element, "%s of <step> is none of i, o and s", name);
}

static enum status step_type_read(const struct msccl_reading *reading, struct msccl_step *step)
{
    const char *type = xml_attribute(step->element, "type");
    for (size_t i = 0; type && i < sizeof step_types / sizeof step_types[0]; i++)
        if (strcmp(type, step_types[i].name) == 0)
            step->type = &step_types[i];
    return step->type
               ? STATUS_OK
               : refuse(reading, step->element,
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
    enum status status = int_read(reading, element, "s", 0, CHUNKS_MOST, &place);
    if (status == STATUS_OK && place != index)
        return refuse(reading, element, "s of <step> is %d, where %d follows", place, index);
    if (status == STATUS_OK)
        status = step_type_read(reading, step);
    if (status != STATUS_OK || strcmp(step->type->name, "nop") == 0)
        return status;
    status = xml_number(&reading->xml, element, "cnt", 1, CHUNKS_MOST, &step->count);
    if (status == STATUS_OK && reads_local(step->type))
        status = xml_number(&reading->xml, element, "srcoff", 0, CHUNKS_MOST, &step->source);
    if (status == STATUS_OK && reads_local(step->type))
        status = buffer_read(reading, element, "srcbuf", &step->from);
    if (status == STATUS_OK && step->type->stores)
        status = xml_number(&reading->xml, element, "dstoff", 0, CHUNKS_MOST, &step->destination);
    if (status == STATUS_OK && step->type->stores)
        status = buffer_read(reading, element, "dstbuf", &step->to);
    if (status == STATUS_OK && step->type->sends && block->send < 0)
        return refuse(reading, element, "the step sends, but its <tb> has no peer to send to");
    if (status == STATUS_OK && step->type->receives && block->receive < 0)
        return refuse(reading, element,
                      "the step receives, but its <tb> has no peer to receive from");
    return status;
}

static enum status dependency_read(const struct msccl_reading *reading, struct msccl_step *step)
{
    int block, place;
    step->waits_for = -1;
    enum status status =
        int_read(reading, step->element, "depid", -1, reading->block_count - 1, &block);
    if (status != STATUS_OK || block < 0)
        return status;
    status = int_read(reading, step->element, "deps", 0, reading->blocks[block].steps - 1, &place);
    step->waits_for = reading->blocks[block].first + place;
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

static enum status levels_find(struct msccl_reading *reading, int *highest)
{
    size_t count = (size_t)reading->step_count;
    struct level_order order = {.first_waiter = take(reading, count, sizeof(int)),
                                .next_waiter = take(reading, count, sizeof(int)),
                                .ready = take(reading, count, sizeof(int)),
                                .left = take(reading, count, 1)};
    if (!order.first_waiter || !order.next_waiter || !order.ready || !order.left)
        return no_memory(reading);
    order_open(reading, &order);
    *highest = 0;
    for (int r = 0; r < order.ready_count; r++) {
        int index = order.ready[r];
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
            return refuse(
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

/* `count` chunks of a buffer from `first` on. */
static enum status chunks_message(struct msccl_reading *reading, const struct msccl_step *step,
                                  enum buffer buffer, int64_t first, struct message *message)
{
    struct span *spans = take(reading, (size_t)step->count, sizeof *spans);
    struct problem problem = reading->plan->problem;
    if (!spans)
        return no_memory(reading);
    size_t used = 0, extent = buffer == BUFFER_SCRATCH
                                  ? reading->scratch
                                  : collective_extent(&problem, reading->rank, buffer);
    for (int64_t i = 0; i < step->count; i++) {
        enum buffer there = buffer;
        size_t at = (size_t)(first + i);
        struct span *last = used ? &spans[used - 1] : NULL;
        chunk_place(reading, &there, &at);
        if (there == buffer && at >= extent)
            return refuse(reading, step->element, "the step touches chunk %zu of %s, which has %zu",
                          at, buffer_names[buffer], extent);
        if (last && last->buffer == there && last->offset + last->run == at)
            last->stride = ++last->run;
        else
            spans[used++] =
                (struct span){.buffer = there, .offset = at, .run = 1, .stride = 1, .times = 1};
    }
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

static enum status step_convert(struct msccl_reading *reading, const struct msccl_step *step)
{
    struct message from = {0}, to = {0};
    enum status status = STATUS_OK;
    if (reads_local(step->type))
        status = chunks_message(reading, step, step->from, step->source, &from);
    if (status == STATUS_OK && step->type->stores)
        status = chunks_message(reading, step, step->to, step->destination, &to);
    else if (status == STATUS_OK && step->type->receives)
        status = chunks_unstored(reading, step, &to);
    if (status == STATUS_OK)
        step_write(reading, step, from, to);
    return status;
}

/* By levels, each in the order of the file. */
static enum status steps_convert(struct msccl_reading *reading, int highest)
{
    size_t count = (size_t)reading->step_count;
    int *next = take(reading, (size_t)highest + 1, sizeof *next),
        *order = take(reading, count, sizeof *order);
    if (!next || !order)
        return no_memory(reading);
    for (int i = 0; i < reading->step_count; i++)
        next[reading->steps[i].level]++;
    for (int l = 1; l <= highest; l++)
        next[l] += next[l - 1];
    for (int i = reading->step_count - 1; i >= 0; i--)
        order[--next[reading->steps[i].level]] = i;
    enum status status = STATUS_OK;
    for (int i = 0; i < reading->step_count && status == STATUS_OK; i++)
        if (strcmp(reading->steps[order[i]].type->name, "nop") != 0)
            status = step_convert(reading, &reading->steps[order[i]]);
    return status;
}

/* GPUs. */

static enum status block_read(struct msccl_reading *reading, const struct xml_element *element,
                              int index)
{
    struct thread_block *block = &reading->blocks[index];
    int id, most = reading->plan->problem.ranks - 1;
    enum status status = int_read(reading, element, "id", 0, BLOCKS_MOST, &id);
    if (status == STATUS_OK && id != index)
        return refuse(reading, element, "id of <tb> is %d, where %d follows", id, index);
    if (status == STATUS_OK)
        status = int_read(reading, element, "send", -1, most, &block->send);
    if (status == STATUS_OK)
        status = int_read(reading, element, "recv", -1, most, &block->receive);
    if (status == STATUS_OK)
        status = int_read(reading, element, "chan", -1, CHANNEL_MOST, &block->channel);
    if (status != STATUS_OK)
        return status;
    if (block->send == reading->rank || block->receive == reading->rank)
        return refuse(reading, element, "the peer of <tb> is its own GPU");
    block->channel = block->channel < 0 ? 0 : block->channel;
    for (int i = 0; i < index; i++) {
        const struct thread_block *other = &reading->blocks[i];
        if (other->channel == block->channel &&
            ((block->send >= 0 && other->send == block->send) ||
             (block->receive >= 0 && other->receive == block->receive)))
            return refuse(
                reading, element,
                "<tb> %d has the same peer and the same channel, so the order of their messages "
                "is open",
                i);
    }
    block->element = element;
    block->first = reading->step_count;
    block->steps = children_named(element, "step");
    reading->step_count += block->steps;
    if (reading->plan->lanes <= block->channel)
        reading->plan->lanes = block->channel + 1;
    return children_check(reading, element, "step");
}

static enum status blocks_read(struct msccl_reading *reading, const struct xml_element *gpu)
{
    reading->block_count = children_named(gpu, "tb");
    reading->step_count = 0;
    if (reading->block_count > BLOCKS_MOST)
        return refuse(reading, gpu, "<gpu> has more than %d thread blocks", BLOCKS_MOST);
    reading->blocks = take(reading, (size_t)reading->block_count, sizeof *reading->blocks);
    if (!reading->blocks)
        return no_memory(reading);
    enum status status = children_check(reading, gpu, "tb");
    const struct xml_element *element = gpu->children;
    for (int i = 0; status == STATUS_OK && element; element = element->next)
        status = block_read(reading, element, i++);
    return status;
}

static enum status steps_read(struct msccl_reading *reading)
{
    enum status status = STATUS_OK;
    reading->steps = take(reading, (size_t)reading->step_count, sizeof *reading->steps);
    if (!reading->steps)
        return no_memory(reading);
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

static enum status gpu_read(struct msccl_reading *reading, const struct xml_element *gpu)
{
    struct file_rank *rank = &reading->plan->ranks[reading->rank];
    int id, scratch, highest;
    enum status status = int_read(reading, gpu, "id", 0, FILE_RANKS_MOST, &id);
    if (status == STATUS_OK && id != reading->rank)
        return refuse(reading, gpu, "id of <gpu> is %d, where %d follows", id, reading->rank);
    if (status == STATUS_OK)
        status = int_read(reading, gpu, "s_chunks", 0, CHUNKS_MOST, &scratch);
    if (status != STATUS_OK)
        return status;
    reading->scratch = (size_t)scratch;
    status = blocks_read(reading, gpu);
    if (status == STATUS_OK)
        status = steps_read(reading);
    if (status == STATUS_OK)
        status = levels_find(reading, &highest);
    if (status != STATUS_OK)
        return status;
    rank->operations = take(reading, 2 * (size_t)reading->step_count, sizeof *rank->operations);
    rank->lines = take(reading, 2 * (size_t)reading->step_count, sizeof *rank->lines);
    rank->epochs = take(reading, 1, sizeof *rank->epochs);
    if (!rank->operations || !rank->lines || !rank->epochs)
        return no_memory(reading);
    rank->epochs[0].previous = rank->epochs[0].next = -1;
    rank->epoch_count = 1;
    status = steps_convert(reading, highest);
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
               : refuse(reading, reading->xml.root,
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
    enum status status = int_read(reading, algo, "ngpus", 1, FILE_RANKS_MOST, &ranks);
    if (status == STATUS_OK)
        status = int_read(reading, algo, "nchunksperloop", 1, CHUNKS_MOST, &chunks);
    if (status == STATUS_OK)
        status = int_read(reading, algo, "inplace", 0, 1, &in_place);
    if (status == STATUS_OK && xml_attribute(algo, "root"))
        status = int_read(reading, algo, "root", 0, ranks - 1, &root);
    if (status == STATUS_OK)
        status = collective_read(reading);
    if (status != STATUS_OK)
        return status;
    int blocks =
        problem->collective->source.blocks || problem->collective->destination.blocks ? ranks : 1;
    if (chunks % blocks != 0)
        return refuse(reading, algo, "nchunksperloop of <algo> is %d, which %d ranks do not divide",
                      chunks, blocks);
    problem->ranks = ranks;
    problem->count = (size_t)(chunks / blocks);
    problem->root = problem->collective->rooted ? root : 0;
    reading->plan->in_place = in_place;
    if (children_named(algo, "gpu") != ranks)
        return refuse(reading, algo, "<algo> has %d <gpu>, and %d ranks need one each",
                      children_named(algo, "gpu"), ranks);
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
        return refuse(&reading, reading.xml.root,
                      "<%.40s> is no algorithm of MSCCL, which begins with <algo>",
                      reading.xml.root->name);
    *plans = reading.plan = take(&reading, 1, sizeof **plans);
    if (!reading.plan)
        return no_memory(&reading);
    *reading.plan = (struct file_plan){.path = path, .lanes = 1};
    status = algorithm_read(&reading);
    if (status != STATUS_OK)
        return status;
    reading.plan->ranks =
        take(&reading, (size_t)reading.plan->problem.ranks, sizeof *reading.plan->ranks);
    if (!reading.plan->ranks)
        return no_memory(&reading);
    *count = 1;
    const struct xml_element *gpu = reading.xml.root->children;
    for (; gpu && status == STATUS_OK; gpu = gpu->next, reading.rank++)
        status = gpu_read(&reading, gpu);
    return status;
}

/*
 * msccl_plan.c - reads the schedule of an algorithm from the XML of MSCCL.
 *
 * There a GPU has thread blocks, each with a list of steps on chunks of three buffers. The steps of a
 * thread block run in their order, and a step may wait for one of another thread block (depid, deps).
 * Here a rank has one list of operations, in an order that keeps both; the builder finds from their
 * buffers which of them may run at the same time. A thread block's connections are the lane of its
 * channel to its peers. A chunk is a part.
 */
#include "collective/formats/internal.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * What the readers of MSCCL's XML share.
 */
enum status msccl_refuse(const struct msccl_reading *reading, const struct xml_element *element,
                         const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "%.200s:%d: %s", reading->xml.path, element->line, what);
}

void *msccl_take(struct msccl_reading *reading, size_t count, size_t size)
{
    void *taken = arena_take(reading->arena, (count + 1) * size);
    return taken ? memset(taken, 0, (count + 1) * size) : NULL;
}

enum status msccl_no_memory(const struct msccl_reading *reading)
{
    return fail(STATUS_ERROR, "out of memory for %.200s", reading->xml.path);
}

enum status msccl_int(const struct msccl_reading *reading, const struct xml_element *element,
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
 * Steps of MSCCL that touch the same chunk although nothing orders them.
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

/*
 * Reads the schedule of an algorithm from the XML of MSCCL.
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

/*
 * msccl.c - schedules in the XML of MSCCL, which runs them inside GPUs.
 *
 * A chunk is the greatest common divisor of all offsets and lengths. The messages to a peer on a
 * lane are a thread block, those from a peer on a lane another one, and all local operations a last
 * one: a thread block runs its steps one after the other, and so no message waits for one of
 * another peer. A step that waits for several has a `nop` for each but the last.
 */
#include "collective/formats/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/numbers.h"

/* Limits of MSCCL's interpreter. */
#define CHANNELS_LIMIT 32
#define BLOCKS_LIMIT   216
#define PEERS_LIMIT    32 /* thread blocks of a channel */
#define STEPS_LIMIT    256
#define CHUNKS_LIMIT   71 /* of a step */

struct xml_step {
    const char *type;
    const struct span *source, *destination; /* NULL: it has none */
    size_t length;
    int block, step; /* that it waits for; -1: none */
    bool waited_for;
};

struct xml_block {
    int send, receive, channel;
    int count;
    struct xml_step steps[STEPS_LIMIT];
    int known
        [BLOCKS_LIMIT]; /* steps of each block that are complete before the next step; -1: none */
};

/* Where an operation ends. */
struct step_place {
    int block, step;
};

struct msccl_writer {
    FILE *out;
    const struct schedule *schedule;
    size_t chunk;
    struct arena *arena;
    struct xml_block *blocks[BLOCKS_LIMIT];
    int block_count;
    struct step_place *ends; /* of each operation */
};

/* Sentences. */

static enum status refuse_operation(const struct schedule *schedule, size_t index, const char *why)
{
    const struct operation *operation = &schedule->operations[index];
    return fail(STATUS_USAGE, "MSCCL cannot say this algorithm: rank %d's operation %zu (%s) %s",
                schedule->rank, index, operation_names[operation->kind], why);
}

static enum status no_memory(void)
{
    return fail(STATUS_ERROR, "out of memory for MSCCL's XML: free some");
}

/* The chunk. */

static enum status chunk_of_message(const struct schedule *schedule, size_t index,
                                    const struct message *message, size_t *chunk)
{
    if (message->count == 0)
        return STATUS_OK;
    if (message->count > 1 || message->spans[0].times > 1)
        return refuse_operation(schedule, index,
                                "is on several spans, and a step of MSCCL is on one");
    *chunk = (size_t)common_divisor((long)*chunk, (long)message->spans[0].offset);
    *chunk = (size_t)common_divisor((long)*chunk, (long)message->spans[0].run);
    return STATUS_OK;
}

static enum status chunk_find(const struct schedule *const *schedules, size_t *chunk)
{
    enum status status = STATUS_OK;
    *chunk = schedules[0]->problem.count;
    for (int r = 0; r < schedules[0]->problem.ranks; r++)
        for (size_t i = 0; i < schedules[r]->count && status == STATUS_OK; i++) {
            const struct operation *operation = &schedules[r]->operations[i];
            status = chunk_of_message(schedules[r], i, &operation->to, chunk);
            if (status == STATUS_OK)
                status = chunk_of_message(schedules[r], i, &operation->from, chunk);
            if (status == STATUS_OK)
                status = chunk_of_message(schedules[r], i, &operation->with, chunk);
        }
    return status;
}

static enum status check_lengths(const struct schedule *const *schedules, size_t chunk)
{
    for (int r = 0; r < schedules[0]->problem.ranks; r++)
        for (size_t i = 0; i < schedules[r]->count; i++)
            if (schedules[r]->operations[i].length / chunk > CHUNKS_LIMIT)
                return refuse_operation(
                    schedules[r], i,
                    "is of more than 71 chunks, the most that a step of MSCCL has: "
                    "give a smaller size (-b)");
    return STATUS_OK;
}

/* Thread blocks. */

static struct xml_block *block_add(struct msccl_writer *w, int send, int receive, int channel)
{
    struct xml_block *block =
        w->block_count < BLOCKS_LIMIT ? arena_take(w->arena, sizeof *block) : NULL;
    if (!block)
        return NULL;
    memset(block, 0, sizeof *block);
    memset(block->known, 0xff, sizeof block->known);
    block->send = send;
    block->receive = receive;
    block->channel = channel;
    return w->blocks[w->block_count++] = block;
}

/* The thread block of an operation; -1: there is no room for one more. */
static int block_of(struct msccl_writer *w, const struct operation *operation)
{
    bool travels = operation_travels(operation->kind), sends = operation->kind == OPERATION_SEND;
    int send = sends ? operation->peer : -1, receive = travels && !sends ? operation->peer : -1;
    for (int b = 0; b < w->block_count; b++)
        if (w->blocks[b]->send == send && w->blocks[b]->receive == receive &&
            w->blocks[b]->channel == operation->lane)
            return b;
    return block_add(w, send, receive, operation->lane) ? w->block_count - 1 : -1;
}

static struct xml_step *step_add(struct xml_block *block, const char *type)
{
    if (block->count == STEPS_LIMIT)
        return NULL;
    struct xml_step *step = &block->steps[block->count++];
    *step = (struct xml_step){.type = type, .block = -1, .step = -1};
    return step;
}

/* For each block the last step that operation `index` waits for; -1: none that is not known. */
static void find_dependencies(const struct msccl_writer *w, size_t index, int own,
                              int last[BLOCKS_LIMIT])
{
    const struct operation *operation = &w->schedule->operations[index];
    int before = w->schedule->epochs[operation->epoch].previous;
    const struct epoch *epoch = before >= 0 ? &w->schedule->epochs[before] : NULL;
    size_t fenced = epoch ? epoch->operations : 0;
    memset(last, 0xff, BLOCKS_LIMIT * sizeof *last);
    for (size_t i = 0; i < operation->wait_count + fenced; i++) {
        size_t on = i < operation->wait_count ? operation->waits[i].operation
                                              : epoch->members[i - operation->wait_count];
        struct step_place end = w->ends[on];
        if (end.block != own && end.step > last[end.block] &&
            end.step > w->blocks[own]->known[end.block])
            last[end.block] = end.step;
    }
}

/* The step of an operation, and nops for what it waits for beside the last. NULL: too many
 * steps. */
static struct xml_step *step_wait(struct msccl_writer *w, size_t index, int own, const char *type)
{
    int last[BLOCKS_LIMIT], left = 0;
    find_dependencies(w, index, own, last);
    for (int b = 0; b < w->block_count; b++)
        left += last[b] >= 0;
    struct xml_step *step = left == 0 ? step_add(w->blocks[own], type) : NULL;
    for (int b = 0; b < w->block_count && left > 0; b++) {
        if (last[b] < 0)
            continue;
        step = step_add(w->blocks[own], --left == 0 ? type : "nop");
        if (!step)
            return NULL;
        step->block = b;
        step->step = last[b];
        w->blocks[own]->known[b] = last[b];
        w->blocks[b]->steps[last[b]].waited_for = true;
    }
    return step;
}

static bool span_same(const struct span *a, const struct span *b)
{
    return a->buffer == b->buffer && a->offset == b->offset;
}

/* to = from (+) with, where `to` is neither, is a copy and a reduction. */
static struct xml_step *put_reduction(struct msccl_writer *w, size_t index, int own)
{
    const struct operation *operation = &w->schedule->operations[index];
    const struct span *to = operation->to.spans, *from = operation->from.spans,
                      *with = operation->with.spans;
    bool apart = !span_same(to, from) && !span_same(to, with);
    struct xml_step *step = step_wait(w, index, own, apart ? "cpy" : "re");
    if (step && apart) {
        *step = (struct xml_step){.type = "cpy",
                                  .source = with,
                                  .destination = to,
                                  .length = operation->length,
                                  .block = step->block,
                                  .step = step->step};
        step = step_add(w->blocks[own], "re");
    }
    if (step) {
        step->source = span_same(to, from) ? with : from;
        step->destination = to;
    }
    return step;
}

static struct xml_step *put_step_of(struct msccl_writer *w, size_t index, int own)
{
    const struct operation *operation = &w->schedule->operations[index];
    static const char *const types[] = {
        [OPERATION_COPY] = "cpy", [OPERATION_REDUCE] = "re",       [OPERATION_SEND] = "s",
        [OPERATION_RECV] = "r",   [OPERATION_RECV_REDUCE] = "rrc", [OPERATION_FINISH] = "nop"};
    if (operation->kind == OPERATION_REDUCE)
        return put_reduction(w, index, own);
    struct xml_step *step = step_wait(w, index, own, types[operation->kind]);
    if (step) {
        step->source = operation->kind == OPERATION_RECV_REDUCE ? operation->with.spans
                       : operation->from.count                  ? operation->from.spans
                                                                : NULL;
        step->destination = operation->to.count ? operation->to.spans : NULL;
    }
    return step;
}

static enum status operation_put(struct msccl_writer *w, size_t index)
{
    const struct operation *operation = &w->schedule->operations[index];
    int own = block_of(w, operation);
    if (own < 0)
        return refuse_operation(w->schedule, index,
                                "needs more than the 216 thread blocks of MSCCL");
    struct xml_step *step = put_step_of(w, index, own);
    if (!step)
        return refuse_operation(w->schedule, index,
                                "comes after the 256 steps of a thread block of MSCCL");
    step->length = operation->length;
    w->ends[index] = (struct step_place){own, w->blocks[own]->count - 1};
    return STATUS_OK;
}

static enum status check_peers(const struct msccl_writer *w)
{
    int peers[CHANNELS_LIMIT] = {0};
    for (int b = 0; b < w->block_count; b++)
        if (w->blocks[b]->send >= 0 && ++peers[w->blocks[b]->channel] > PEERS_LIMIT)
            return fail(
                STATUS_USAGE,
                "MSCCL cannot say this algorithm: rank %d sends to more than the %d peers of a "
                "channel of MSCCL",
                w->schedule->rank, PEERS_LIMIT);
    return STATUS_OK;
}

/* Text. */

static void print_side(const struct msccl_writer *w, const char *side, char otherwise,
                       const struct span *span)
{
    static const char buffers[BUFFERS] = {'i', 'o', 's'};
    fprintf(w->out, " %sbuf=\"%c\" %soff=\"%lld\"", side, span ? buffers[span->buffer] : otherwise,
            side, span ? (long long)(span->offset / w->chunk) : -1LL);
}

static void print_blocks(const struct msccl_writer *w)
{
    const size_t *extent = w->schedule->extent;
    size_t scratch = (extent[BUFFER_SCRATCH] + w->chunk - 1) / w->chunk;
    fprintf(w->out, "  <gpu id=\"%d\" i_chunks=\"%zu\" o_chunks=\"%zu\" s_chunks=\"%zu\">\n",
            w->schedule->rank, extent[BUFFER_SOURCE] / w->chunk,
            extent[BUFFER_DESTINATION] / w->chunk, scratch);
    for (int b = 0; b < w->block_count; b++) {
        const struct xml_block *block = w->blocks[b];
        fprintf(w->out, "    <tb id=\"%d\" send=\"%d\" recv=\"%d\" chan=\"%d\">\n", b, block->send,
                block->receive, block->channel);
        for (int s = 0; s < block->count; s++) {
            const struct xml_step *step = &block->steps[s];
            fprintf(w->out, "      <step s=\"%d\" type=\"%s\"", s, step->type);
            print_side(w, "src", 'i', step->source);
            print_side(w, "dst", 'o', step->destination);
            fprintf(w->out, " cnt=\"%zu\" depid=\"%d\" deps=\"%d\" hasdep=\"%d\"/>\n",
                    step->length / w->chunk, step->block, step->step, step->waited_for);
        }
        fputs("    </tb>\n", w->out);
    }
    fputs("  </gpu>\n", w->out);
}

static enum status gpu_write(FILE *out, const struct schedule *schedule, size_t chunk)
{
    struct msccl_writer w = {
        .out = out, .schedule = schedule, .chunk = chunk, .arena = arena_create()};
    w.ends = w.arena ? arena_take(w.arena, (schedule->count + 1) * sizeof *w.ends) : NULL;
    enum status status = w.ends ? STATUS_OK : no_memory();
    for (size_t i = 0; i < schedule->count && status == STATUS_OK; i++)
        if (schedule->operations[i].kind != OPERATION_FINISH)
            status = operation_put(&w, i);
    if (status == STATUS_OK)
        status = check_peers(&w);
    if (status == STATUS_OK)
        print_blocks(&w);
    arena_free(w.arena);
    return status;
}

static enum status check_collective(const struct schedule *schedule)
{
    static const enum collective_id known[] = {COLLECTIVE_ALLREDUCE,      COLLECTIVE_ALLGATHER,
                                               COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLTOALL,
                                               COLLECTIVE_BROADCAST,      COLLECTIVE_REDUCE};
    bool knows = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        knows |= schedule->problem.collective->id == known[i];
    if (!knows)
        return fail(STATUS_USAGE,
                    "MSCCL has no %s: it knows allreduce, allgather, reduce_scatter, "
                    "alltoall, broadcast and reduce",
                    schedule->problem.collective->name);
    if (schedule->lanes > CHANNELS_LIMIT)
        return fail(STATUS_USAGE,
                    "MSCCL cannot say this algorithm: it has %d lanes, and MSCCL %d channels",
                    schedule->lanes, CHANNELS_LIMIT);
    if (schedule->problem.count == 0)
        return fail(STATUS_USAGE, "MSCCL cannot say an algorithm of no elements: give a size (-b)");
    return STATUS_OK;
}

enum status msccl_write(FILE *out, const char *name, const struct schedule *const *schedules)
{
    const struct problem *problem = &schedules[0]->problem;
    const struct collective *collective = problem->collective;
    bool blocks = collective->source.blocks || collective->destination.blocks;
    size_t chunk;
    enum status status = check_collective(schedules[0]);
    if (status == STATUS_OK)
        status = chunk_find(schedules, &chunk);
    if (status == STATUS_OK)
        status = check_lengths(schedules, chunk);
    if (status != STATUS_OK)
        return status;
    fprintf(
        out,
        "<algo name=\"%s\" proto=\"Simple\" nchannels=\"%d\" nchunksperloop=\"%zu\" ngpus=\"%d\" "
        "coll=\"%s\" inplace=\"%d\"",
        name, schedules[0]->lanes, problem->count / chunk * (blocks ? (size_t)problem->ranks : 1),
        problem->ranks, collective->name, problem->in_place);
    if (problem->root)
        fprintf(out, " root=\"%d\"", problem->root);
    fputs(">\n", out);
    for (int r = 0; r < problem->ranks && status == STATUS_OK; r++)
        status = gpu_write(out, schedules[r], chunk);
    fputs("</algo>\n", out);
    return status;
}

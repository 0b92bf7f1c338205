/*
 * builder.c - turns what an algorithm writes into a schedule.
 */
#include "builder.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "conflict.h"
#include "log.h"

struct scope {
    int epoch; /* the one that operations go into; -1: none yet */
    int step;  /* label of the round; -1 before the first put_step() */
    bool fenced; /* the next operation begins an epoch */
};

struct builder {
    struct schedule *schedule; /* in `memory` */
    struct arena *memory;
    struct operation *operations;
    size_t count, room;
    struct epoch *epochs;
    size_t epoch_count, epoch_room;
    struct scope *scopes;
    int scope_count;
    enum status status; /* the first failure; everything after it is ignored */
};

/* Arrays that grow by doubling. Returns false, and fails the builder, when memory ran out. */
static bool array_reserve(struct builder *b, void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 64;
    void *grown = realloc(*array, more * size);
    if (!grown) {
        b->status = fail(STATUS_ERROR, "out of memory while writing a schedule");
        return false;
    }
    *array = grown;
    *room = more;
    return true;
}

static void *builder_take(struct builder *b, size_t bytes)
{
    if (b->status != STATUS_OK)
        return NULL;
    void *taken = arena_take(b->memory, bytes);
    if (!taken)
        b->status = fail(STATUS_ERROR, "out of memory while writing a schedule");
    return taken;
}

static void builder_refuse(struct builder *b, const char *what)
{
    if (b->status == STATUS_OK)
        b->status = fail(STATUS_ERROR, "the schedule of rank %d for %s is malformed: operation %zu %s",
                         b->schedule->rank, b->schedule->problem.collective->name, b->count, what);
}

static void builder_place_buffers(struct builder *b)
{
    struct schedule *schedule = b->schedule;
    for (int buffer = 0; buffer < BUFFERS; buffer++)
        schedule->storage[buffer] = buffer;
    for (int buffer = 0; buffer < BUFFER_SCRATCH; buffer++)
        schedule->extent[buffer] =
            collective_extent(&schedule->problem, schedule->rank, (enum buffer)buffer);
    if (schedule->problem.in_place) {
        size_t offset;
        enum buffer inside = collective_alias(&schedule->problem, schedule->rank, &offset);
        enum buffer around =
            inside == BUFFER_SOURCE ? BUFFER_DESTINATION : BUFFER_SOURCE;
        schedule->storage[inside] = schedule->storage[around];
        schedule->base[inside] = offset;
    }
}

struct builder *builder_create(const struct problem *problem, int rank)
{
    struct builder *b = calloc(1, sizeof *b);
    struct arena *memory = arena_create();
    struct schedule *schedule = memory ? arena_take(memory, sizeof *schedule) : NULL;
    struct scope *scopes = malloc(sizeof *scopes);
    if (!b || !schedule || !scopes) {
        free(b);
        free(scopes);
        arena_free(memory);
        fail(STATUS_ERROR, "out of memory while writing a schedule");
        return NULL;
    }
    memset(schedule, 0, sizeof *schedule);
    schedule->problem = *problem;
    schedule->rank = rank;
    schedule->lanes = 1;
    schedule->memory = memory;
    scopes[0] = (struct scope){.epoch = -1, .step = -1};
    *b = (struct builder){
        .schedule = schedule, .memory = memory, .scopes = scopes, .scope_count = 1};
    builder_place_buffers(b);
    return b;
}

struct group builder_group(struct builder *b)
{
    return (struct group){.size = b->schedule->problem.ranks, .rank = b->schedule->rank};
}

struct group group_on_lane(struct builder *b, const struct group *group)
{
    struct group other = *group;
    struct scope *scopes = realloc(b->scopes, ((size_t)b->scope_count + 1) * sizeof *scopes);
    if (!scopes) {
        if (b->status == STATUS_OK)
            b->status = fail(STATUS_ERROR, "out of memory while writing a schedule");
        return other;
    }
    b->scopes = scopes;
    scopes[b->scope_count] = (struct scope){.epoch = -1, .step = scopes[group->scope].step};
    other.scope = b->scope_count++;
    other.lane = b->schedule->lanes++;
    return other;
}

/* Views and messages. */

struct view builder_view(struct builder *b, enum buffer buffer, int blocks)
{
    struct span *spans = builder_take(b, (size_t)blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    size_t run = b->schedule->extent[buffer] / (size_t)blocks;
    for (int i = 0; i < blocks; i++)
        spans[i] = (struct span){.buffer = buffer,
                                 .offset = (size_t)i * run,
                                 .run = run,
                                 .stride = run,
                                 .times = 1};
    return (struct view){.spans = spans, .blocks = blocks};
}

struct span *span_array(struct builder *b, int count)
{
    return builder_take(b, (size_t)count * sizeof(struct span));
}

static int index_wrap(int index, int blocks)
{
    index %= blocks;
    return index < 0 ? index + blocks : index;
}

struct message view_block(const struct view *view, int index)
{
    if (view->blocks == 0)
        return (struct message){0};
    return (struct message){.spans = &view->spans[index_wrap(index, view->blocks)], .count = 1};
}

struct message view_blocks(struct builder *b, const struct view *view, int first, int step, int count)
{
    struct span *spans = builder_take(b, (size_t)count * sizeof *spans);
    if (!spans || view->blocks == 0)
        return (struct message){0};
    int at = index_wrap(first, view->blocks), by = index_wrap(step, view->blocks);
    for (int i = 0; i < count; i++) {
        spans[i] = view->spans[at];
        at += by;
        if (at >= view->blocks)
            at -= view->blocks;
    }
    return (struct message){.spans = spans, .count = (size_t)count};
}

struct message view_all(const struct view *view)
{
    return (struct message){.spans = view->spans, .count = (size_t)view->blocks};
}

struct message message_join(struct builder *b, struct message first, struct message second)
{
    struct span *spans = builder_take(b, (first.count + second.count) * sizeof *spans);
    if (!spans)
        return (struct message){0};
    if (first.count)
        memcpy(spans, first.spans, first.count * sizeof *spans);
    if (second.count)
        memcpy(spans + first.count, second.spans, second.count * sizeof *spans);
    return (struct message){.spans = spans, .count = first.count + second.count};
}

size_t message_length(struct message message)
{
    size_t length = 0;
    for (size_t i = 0; i < message.count; i++)
        length += message.spans[i].run * message.spans[i].times;
    return length;
}

/* Part `part` of `parts` of a contiguous span, by the slice rule. */
static struct span span_slice(const struct span *whole, int part, int parts)
{
    size_t count = whole->run * whole->times, index = (size_t)part;
    size_t base = count / (size_t)parts, extra = count % (size_t)parts;
    struct span slice = {.buffer = whole->buffer, .times = 1};
    slice.offset = whole->offset + index * base + (index < extra ? index : extra);
    slice.run = slice.stride = base + (index < extra);
    return slice;
}

struct view view_cut(struct builder *b, const struct view *whole, int blocks)
{
    struct span *spans = builder_take(b, (size_t)blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    if (whole->blocks != 1 || whole->spans[0].times != 1) {
        builder_refuse(b, "cuts a view that is not one contiguous block");
        return (struct view){0};
    }
    for (int i = 0; i < blocks; i++)
        spans[i] = span_slice(&whole->spans[0], i, blocks);
    return (struct view){.spans = spans, .blocks = blocks};
}

/* Slice `channel` of every block: what one of several channels works on. */
static struct view view_channel(struct builder *b, const struct view *view, int channel, int channels)
{
    struct span *spans = builder_take(b, (size_t)view->blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    for (int i = 0; i < view->blocks; i++)
        spans[i] = span_slice(&view->spans[i], channel, channels);
    return (struct view){.spans = spans, .blocks = view->blocks};
}

struct view view_scratch(struct builder *b, const struct view *like)
{
    struct span *spans = builder_take(b, (size_t)like->blocks * sizeof *spans);
    if (!spans)
        return (struct view){0};
    for (int i = 0; i < like->blocks; i++) {
        size_t length = message_length(view_block(like, i));
        spans[i] = (struct span){.buffer = BUFFER_SCRATCH,
                                 .offset = b->schedule->extent[BUFFER_SCRATCH],
                                 .run = length,
                                 .stride = length,
                                 .times = 1};
        b->schedule->extent[BUFFER_SCRATCH] += length;
    }
    return (struct view){.spans = spans, .blocks = like->blocks};
}

struct view view_scratch_block(struct builder *b, size_t elements)
{
    struct span span = {.run = elements, .stride = elements, .times = 1};
    return view_scratch(b, &(struct view){.spans = &span, .blocks = 1});
}

struct view view_source_apart(struct builder *b, const struct call *call)
{
    if (!call->in_place)
        return call->source;
    struct view copy = view_scratch(b, &call->source);
    put_copy(b, call->group, view_all(&copy), view_all(&call->source));
    return copy;
}

/* Operations. */

static bool span_inside(const struct builder *b, const struct span *span)
{
    size_t end = span->offset + (span->times - 1) * span->stride + span->run;
    return end <= b->schedule->extent[span->buffer] && (span->times == 1 || span->stride >= span->run);
}

/* A copy of the message without empty spans, and with neighbours joined. */
static struct message message_tidy(struct builder *b, struct message message)
{
    struct span *spans = builder_take(b, message.count * sizeof *spans);
    if (!spans)
        return (struct message){0};
    size_t kept = 0;
    for (size_t i = 0; i < message.count; i++) {
        struct span span = message.spans[i];
        if (span.run == 0 || span.times == 0)
            continue;
        if (!span_inside(b, &span)) {
            builder_refuse(b, "touches what lies outside its buffer");
            return (struct message){0};
        }
        if (span.times > 1 && span.stride == span.run)
            span.run *= span.times, span.times = 1;
        struct span *last = kept ? &spans[kept - 1] : NULL;
        if (last && last->times == 1 && span.times == 1 && last->buffer == span.buffer &&
            last->offset + last->run == span.offset)
            last->run += span.run;
        else
            spans[kept++] = span;
    }
    return (struct message){.spans = spans, .count = kept};
}

/* The epoch that the next operation of a scope belongs to. */
static int scope_epoch(struct builder *b, struct scope *scope)
{
    if (scope->epoch >= 0 && !scope->fenced)
        return scope->epoch;
    if (!array_reserve(b, (void **)&b->epochs, &b->epoch_room, b->epoch_count, sizeof *b->epochs))
        return 0;
    int epoch = (int)b->epoch_count++;
    b->epochs[epoch] = (struct epoch){.previous = scope->epoch, .next = -1};
    if (scope->epoch >= 0)
        b->epochs[scope->epoch].next = epoch;
    scope->epoch = epoch;
    scope->fenced = false;
    return epoch;
}

static void put(struct builder *b, const struct group *g, struct operation operation)
{
    if (b->status != STATUS_OK)
        return;
    bool writes = operation.kind != OPERATION_SEND, reads = operation.kind != OPERATION_RECV &&
                                                            operation.kind != OPERATION_RECV_REDUCE;
    bool combines = operation.kind == OPERATION_REDUCE || operation.kind == OPERATION_RECV_REDUCE;
    size_t length = message_length(writes ? operation.to : operation.from);
    if ((reads && message_length(operation.from) != length) ||
        (combines && message_length(operation.with) != length)) {
        builder_refuse(b, "has operands of different lengths");
        return;
    }
    if (length == 0)
        return;
    if (!array_reserve(b, (void **)&b->operations, &b->room, b->count, sizeof operation))
        return;
    struct scope *scope = &b->scopes[g->scope];
    operation.length = length;
    operation.to = message_tidy(b, operation.to);
    operation.from = message_tidy(b, operation.from);
    operation.with = message_tidy(b, operation.with);
    operation.step = scope->step < 0 ? 0 : scope->step;
    operation.epoch = (uint32_t)scope_epoch(b, scope);
    if (b->status != STATUS_OK)
        return;
    b->epochs[operation.epoch].operations++;
    b->operations[b->count++] = operation;
    if (operation.step >= b->schedule->steps)
        b->schedule->steps = operation.step + 1;
}

static int group_peer(struct builder *b, const struct group *g, int peer)
{
    if (peer < 0 || peer >= g->size || peer == g->rank) {
        builder_refuse(b, "names a peer that is not another rank of its group");
        return -1;
    }
    return g->ranks ? g->ranks[peer] : peer;
}

/* Do both messages name the same memory, element by element? Spans that were cut in the same places
 * are recognised, which is how algorithms meet this (in-place). */
static bool message_same(const struct builder *b, struct message x, struct message y)
{
    const struct schedule *s = b->schedule;
    if (x.count != y.count)
        return false;
    for (size_t i = 0; i < x.count; i++) {
        const struct span *p = &x.spans[i], *q = &y.spans[i];
        if (s->storage[p->buffer] != s->storage[q->buffer] ||
            s->base[p->buffer] + p->offset != s->base[q->buffer] + q->offset || p->run != q->run ||
            p->times != q->times || (p->times > 1 && p->stride != q->stride))
            return false;
    }
    return true;
}

void put_copy(struct builder *b, const struct group *g, struct message to, struct message from)
{
    if (message_same(b, to, from))
        return;
    put(b, g, (struct operation){.kind = OPERATION_COPY, .peer = -1, .to = to, .from = from});
}

void put_reduce(struct builder *b, const struct group *g, struct message to, struct message from,
                struct message with)
{
    put(b, g,
        (struct operation){
            .kind = OPERATION_REDUCE, .peer = -1, .to = to, .from = from, .with = with});
}

void put_send(struct builder *b, const struct group *g, int peer, struct message from)
{
    put(b, g,
        (struct operation){.kind = OPERATION_SEND,
                           .peer = group_peer(b, g, peer),
                           .lane = g->lane,
                           .from = from});
}

void put_recv(struct builder *b, const struct group *g, int peer, struct message to)
{
    put(b, g,
        (struct operation){
            .kind = OPERATION_RECV, .peer = group_peer(b, g, peer), .lane = g->lane, .to = to});
}

void put_recv_reduce(struct builder *b, const struct group *g, int peer, struct message to,
                     struct message with)
{
    put(b, g,
        (struct operation){.kind = OPERATION_RECV_REDUCE,
                           .peer = group_peer(b, g, peer),
                           .lane = g->lane,
                           .to = to,
                           .with = with});
}

void put_finish(struct builder *b, const struct group *g, struct message to, struct message from)
{
    put(b, g, (struct operation){.kind = OPERATION_FINISH, .peer = -1, .to = to, .from = from});
}

void put_fence(struct builder *b, const struct group *g)
{
    b->scopes[g->scope].fenced = true;
}

void put_step(struct builder *b, const struct group *g)
{
    b->scopes[g->scope].step++;
}

/* Finishing. */

static enum status builder_freeze(struct builder *b)
{
    struct schedule *schedule = b->schedule;
    struct operation *operations = builder_take(b, b->count * sizeof *operations);
    struct epoch *epochs = builder_take(b, b->epoch_count * sizeof *epochs);
    if (b->status != STATUS_OK)
        return b->status;
    if (b->count) {
        memcpy(operations, b->operations, b->count * sizeof *operations);
        memcpy(epochs, b->epochs, b->epoch_count * sizeof *epochs);
    }
    schedule->operations = operations;
    schedule->count = b->count;
    schedule->epochs = epochs;
    schedule->epoch_count = b->epoch_count;
    return conflict_find(schedule, operations, b->count, b->memory);
}

enum status builder_finish(struct builder *b, struct schedule **schedule)
{
    enum status status = b->status == STATUS_OK ? builder_freeze(b) : b->status;
    *schedule = status == STATUS_OK ? b->schedule : NULL;
    if (status != STATUS_OK)
        arena_free(b->memory);
    free(b->operations);
    free(b->epochs);
    free(b->scopes);
    free(b);
    return status;
}

enum status schedule_build(const struct choice *choice, const struct problem *problem, int rank,
                           int channels, struct schedule **schedule)
{
    const struct algorithm *algorithm = choice->algorithm;
    char why[200];
    const char *refusal = algorithm->refuses ? algorithm->refuses(problem->ranks, choice->options,
                                                                  why, sizeof why)
                                             : NULL;
    if (refusal)
        return fail(STATUS_USAGE, "%s %s: %s", problem->collective->name, algorithm->name, refusal);
    struct builder *b = builder_create(problem, rank);
    if (!b)
        return STATUS_ERROR;

    enum collective_id id = problem->collective->id;
    bool source_blocks = id == COLLECTIVE_ALLTOALL || id == COLLECTIVE_REDUCE_SCATTER;
    bool destination_blocks = id == COLLECTIVE_ALLTOALL || id == COLLECTIVE_ALLGATHER;
    struct group world = builder_group(b);
    struct view source = builder_view(b, BUFFER_SOURCE, source_blocks ? problem->ranks : 1);
    struct view destination =
        builder_view(b, BUFFER_DESTINATION, destination_blocks ? problem->ranks : 1);
    for (int c = 0; c < channels && b->status == STATUS_OK; c++) {
        struct group group = c == 0 ? world : group_on_lane(b, &(struct group){
                                                  .size = world.size, .rank = world.rank});
        struct call call = {
            .group = &group,
            .source = channels == 1 ? source : view_channel(b, &source, c, channels),
            .destination = channels == 1 ? destination : view_channel(b, &destination, c, channels),
            .root = problem->root,
            .in_place = problem->in_place,
            .algorithm = algorithm,
            .options = choice->options,
        };
        algorithm->write(b, &call);
    }
    return builder_finish(b, schedule);
}

long call_option(const struct call *call, const char *name)
{
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && call->algorithm->options[i].name; i++)
        if (strcmp(call->algorithm->options[i].name, name) == 0)
            return call->options[i];
    return 0;
}

const struct algorithm *algorithm_find(enum collective_id collective, const char *name)
{
    for (int i = 0; algorithms[i]; i++) {
        if (algorithms[i]->collective != collective)
            continue;
        if (strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
        for (int a = 0; a < 6 && algorithms[i]->aliases[a]; a++)
            if (strcmp(algorithms[i]->aliases[a], name) == 0)
                return algorithms[i];
    }
    return NULL;
}

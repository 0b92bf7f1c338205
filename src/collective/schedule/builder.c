/*
 * builder.c - collects the operations that an algorithm writes, and makes the schedule of them.
 */
#include "collective/schedule/internal.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/*
 * Memory of a builder, and how a builder fails. The first failure is kept.
 */
/* Fails the builder for lack of memory. */
static void builder_fail_memory(struct builder *b)
{
    if (b->status == STATUS_OK)
        b->status = fail(STATUS_ERROR, "out of memory while writing a schedule");
}

/* Makes room for element `count` of an array that grows by doubling; `room`: elements allocated,
 * `size`: bytes of one. Returns false, and fails the builder, when memory runs out. */
static bool array_reserve(struct builder *b, void **array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room ? 2 * *room : 64;
    more = more > count ? more : count + 1;
    void *grown = realloc(*array, more * size);
    if (!grown) {
        builder_fail_memory(b);
        return false;
    }
    *array = grown;
    *room = more;
    return true;
}

static void *builder_take_from(struct builder *b, struct arena *arena, size_t bytes)
{
    if (b->status != STATUS_OK)
        return NULL;
    void *taken = arena_take(arena, bytes);
    if (!taken)
        builder_fail_memory(b);
    return taken;
}

void *builder_draft(struct builder *b, size_t bytes)
{
    return builder_take_from(b, b->drafts, bytes);
}

/* Likewise memory that lives as long as the schedule. */
static void *builder_take(struct builder *b, size_t bytes)
{
    return builder_take_from(b, b->memory, bytes);
}

/* Fails the builder because the operation at hand is malformed; `what` follows "operation N". */
static void builder_refuse(struct builder *b, const char *what)
{
    if (b->status == STATUS_OK)
        b->status =
            fail(STATUS_ERROR, "the schedule of rank %d for %s is malformed: operation %zu %s",
                 b->schedule->rank, b->schedule->problem.collective->name, b->count, what);
}

void builder_stop(struct builder *b, enum status status)
{
    if (b->status == STATUS_OK)
        b->status = status;
}

/*
 * Collects the operations that an algorithm writes.
 */
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
        enum buffer around = inside == BUFFER_SOURCE ? BUFFER_DESTINATION : BUFFER_SOURCE;
        schedule->storage[inside] = schedule->storage[around];
        schedule->base[inside] = offset;
    }
}

struct builder *builder_create(const struct problem *problem, int rank)
{
    struct builder *b = calloc(1, sizeof *b);
    struct arena *memory = arena_create(), *drafts = arena_create();
    struct schedule *schedule = memory ? arena_take(memory, sizeof *schedule) : NULL;
    struct scope *scopes = malloc(sizeof *scopes);
    if (!b || !schedule || !scopes || !drafts) {
        free(b);
        free(scopes);
        arena_free(memory);
        arena_free(drafts);
        fail(STATUS_ERROR, "out of memory while writing a schedule");
        return NULL;
    }
    memset(schedule, 0, sizeof *schedule);
    schedule->problem = *problem;
    schedule->rank = rank;
    schedule->lanes = 1;
    schedule->channels = 1;
    schedule->memory = memory;
    scopes[0] = (struct scope){.epoch = -1, .step = -1};
    *b = (struct builder){.schedule = schedule,
                          .memory = memory,
                          .drafts = drafts,
                          .scopes = scopes,
                          .scope_count = 1};
    builder_place_buffers(b);
    return b;
}

struct group builder_group(struct builder *b)
{
    const struct problem *problem = &b->schedule->problem;
    return (struct group){
        .size = problem->ranks, .rank = b->schedule->rank, .ranks = problem->members};
}

struct group group_beside(struct builder *b, const struct group *group)
{
    struct group other = *group;
    struct scope *scopes = realloc(b->scopes, ((size_t)b->scope_count + 1) * sizeof *scopes);
    if (!scopes) {
        builder_fail_memory(b);
        return other;
    }
    b->scopes = scopes;
    scopes[b->scope_count] = (struct scope){.epoch = -1, .step = scopes[group->scope].step};
    other.scope = b->scope_count++;
    return other;
}

void group_join(struct builder *b, const struct group *group, const struct group *beside)
{
    struct scope *scope = &b->scopes[group->scope];
    int reached = b->scopes[beside->scope].step;
    scope->step = reached > scope->step ? reached : scope->step;
}

struct group group_on_lane(struct builder *b, const struct group *group)
{
    struct group other = group_beside(b, group);
    other.lane = b->schedule->lanes++;
    return other;
}

int builder_lanes(const struct builder *b)
{
    return b->schedule->lanes;
}

void builder_set_lanes(struct builder *b, int lanes)
{
    b->schedule->lanes = lanes;
}

struct group group_part(struct builder *b, const struct group *group, const int *places, int count)
{
    struct group part = *group;
    int *ranks = index_array(b, count);
    part.size = count;
    part.ranks = ranks;
    part.rank = 0;
    part.absent = true;
    for (int i = 0; ranks && i < count; i++) {
        ranks[i] = group->ranks ? group->ranks[places[i]] : places[i];
        if (places[i] == group->rank) {
            part.rank = i;
            part.absent = group->absent;
        }
    }
    return part;
}

/* Operations. */

static bool span_inside(const struct builder *b, const struct span *span)
{
    size_t end = span->offset + (span->times - 1) * span->stride + span->run;
    return end <= b->schedule->extent[span->buffer] &&
           (span->times == 1 || span->stride >= span->run);
}

/* A copy of the message, without empty spans and with adjacent spans joined. */
static struct message message_tidy(struct builder *b, struct message message)
{
    if (!array_reserve(b, (void **)&b->spans, &b->span_room, message.count, sizeof *b->spans))
        return (struct message){0};
    struct span *spans = b->spans;
    size_t kept = 0;
    for (size_t i = 0; i < message.count; i++) {
        struct span span = message.spans[i];
        if (span.run == 0 || span.times == 0)
            continue;
        if (!span_inside(b, &span)) {
            builder_refuse(b, "touches an element outside its buffer");
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
    struct span *copy = builder_take(b, kept * sizeof *copy);
    if (!copy)
        return (struct message){0};
    memcpy(copy, spans, kept * sizeof *copy);
    return (struct message){.spans = copy, .count = kept};
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
    if (b->status != STATUS_OK || g->absent)
        return;
    bool writes = operation.kind != OPERATION_SEND,
         reads = operation.kind != OPERATION_RECV && operation.kind != OPERATION_RECV_REDUCE;
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
    operation.channel = b->channel;
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

/* Do both messages name the same memory, element by element? Recognises only spans that are cut at
 * the same elements; that covers algorithms that run in place. */
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
        (struct operation){
            .kind = OPERATION_SEND, .peer = group_peer(b, g, peer), .lane = g->lane, .from = from});
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
    if (!g->absent)
        b->scopes[g->scope].fenced = true;
}

void put_step(struct builder *b, const struct group *g)
{
    b->scopes[g->scope].step++;
}

/* Finishing. */

/* Lists the operations of each epoch in program order. */
static void epochs_list(const struct builder *b, struct epoch *epochs, uint32_t *members)
{
    size_t first = 0;
    for (size_t e = 0; e < b->epoch_count; e++) {
        epochs[e].members = members + first;
        first += epochs[e].operations;
        epochs[e].operations = 0;
    }
    for (size_t i = 0; i < b->count; i++) {
        struct epoch *epoch = &epochs[b->operations[i].epoch];
        members[epoch->members - members + epoch->operations++] = (uint32_t)i;
    }
}

/* The schedule, but for the waits of its operations. */
static enum status builder_freeze(struct builder *b, struct operation **result)
{
    struct schedule *schedule = b->schedule;
    struct operation *operations = builder_take(b, b->count * sizeof *operations);
    struct epoch *epochs = builder_take(b, b->epoch_count * sizeof *epochs);
    uint32_t *members = builder_take(b, b->count * sizeof *members);
    if (b->status != STATUS_OK)
        return b->status;
    if (b->count) {
        memcpy(operations, b->operations, b->count * sizeof *operations);
        memcpy(epochs, b->epochs, b->epoch_count * sizeof *epochs);
        epochs_list(b, epochs, members);
    }
    scratch_compact(b, operations);
    if (b->status != STATUS_OK)
        return b->status;
    schedule->operations = operations;
    schedule->count = b->count;
    schedule->epochs = epochs;
    schedule->epoch_count = b->epoch_count;
    *result = operations;
    return STATUS_OK;
}

enum status builder_finish(struct builder *b, bool runs, struct schedule **schedule)
{
    struct operation *operations;
    enum status status = b->status == STATUS_OK ? builder_freeze(b, &operations) : b->status;
    if (status == STATUS_OK && runs)
        status = conflict_find(b->schedule, operations, b->count, b->memory);
    *schedule = status == STATUS_OK ? b->schedule : NULL;
    if (status != STATUS_OK)
        arena_free(b->memory);
    arena_free(b->drafts);
    free(b->spans);
    free(b->operations);
    free(b->epochs);
    free(b->scopes);
    free(b);
    return status;
}

/*
 * file_algorithm.c - the algorithm that a file is: writes the schedules of a proven file for the
 * elements of a run.
 *
 * A file cuts a block into parts, and a run cuts its blocks into as many by the slice rule, so some
 * parts are longer by one element. Where a part lies follows from its place in a source or a
 * destination. In scratch it may lie anywhere, and its length follows from what it is: the proof
 * tells from which source element of the file each part comes.
 */
#include "collective/formats/internal.h"

#include "base/log.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/*
 * Writes the operations of a schedule once more, through a builder, which finds their
 * conflicts anew.
 *
 * Epochs that follow each other are one scope of the builder, with fences between them.
 */
struct replay_scope {
    struct group group;
    int step;  /* of its last operation */
    int epoch; /* likewise; -1: none yet */
};

struct replayer {
    struct builder *builder;
    const struct replay *replay;
    int *scope_of, *lanes; /* of each epoch; the builder's, of each lane */
    struct replay_scope *scopes;
};

static bool replayer_open(struct replayer *r, const struct group *group)
{
    const struct replay *replay = r->replay;
    size_t epochs = replay->epoch_count + 1;
    int count = 0;
    r->scope_of = builder_draft(r->builder, epochs * sizeof *r->scope_of);
    r->lanes = builder_draft(r->builder, (size_t)replay->lanes * sizeof *r->lanes);
    r->scopes = builder_draft(r->builder, epochs * sizeof *r->scopes);
    if (!r->scope_of || !r->lanes || !r->scopes)
        return false;
    for (int l = 0; l < replay->lanes; l++)
        r->lanes[l] = l == 0 ? group->lane : group_on_lane(r->builder, group).lane;
    for (size_t e = 0; e < replay->epoch_count; e++) {
        int previous = replay->epochs[e].previous;
        if (previous >= 0) {
            r->scope_of[e] = r->scope_of[previous];
            continue;
        }
        r->scopes[count] = (struct replay_scope){
            .group = count ? group_beside(r->builder, group) : *group, .step = -1, .epoch = -1};
        r->scope_of[e] = count++;
    }
    return true;
}

static void put_again(struct builder *b, const struct group *g, const struct operation *operation,
                      struct message to, struct message from, struct message with)
{
    switch (operation->kind) {
    case OPERATION_COPY:
        put_copy(b, g, to, from);
        break;
    case OPERATION_REDUCE:
        put_reduce(b, g, to, from, with);
        break;
    case OPERATION_SEND:
        put_send(b, g, operation->peer, from);
        break;
    case OPERATION_RECV:
        put_recv(b, g, operation->peer, to);
        break;
    case OPERATION_RECV_REDUCE:
        put_recv_reduce(b, g, operation->peer, to, with);
        break;
    case OPERATION_FINISH:
        put_finish(b, g, to, from);
        break;
    }
}

static struct message message_at(const struct replay *replay, size_t index, enum operand operand,
                                 struct message message)
{
    return replay->map && message.count > 0 ? replay->map(replay->context, index, operand, message)
                                            : message;
}

void replay_put(struct builder *b, const struct group *group, const struct replay *replay)
{
    struct replayer r = {.builder = b, .replay = replay};
    if (!replayer_open(&r, group))
        return;
    for (size_t i = 0; i < replay->count; i++) {
        const struct operation *operation = &replay->operations[i];
        struct replay_scope *scope = &r.scopes[r.scope_of[operation->epoch]];
        if (scope->epoch >= 0 && scope->epoch != (int)operation->epoch)
            put_fence(b, &scope->group);
        scope->epoch = (int)operation->epoch;
        for (; scope->step < operation->step; scope->step++)
            put_step(b, &scope->group);
        struct group g = scope->group;
        g.lane = r.lanes[operation->lane];
        put_again(b, &g, operation, message_at(replay, i, OPERAND_TO, operation->to),
                  message_at(replay, i, OPERAND_FROM, operation->from),
                  message_at(replay, i, OPERAND_WITH, operation->with));
    }
}

/*
 * The algorithm that a file is.
 */
/* A block of the problem that has elements, but no part in the file. */
static const char *refuses_blocks(const struct file_plan *plan, const struct problem *problem,
                                  enum buffer buffer, char why[FILE_WHY_MOST])
{
    int blocks = collective_blocks(problem->collective, buffer, problem->ranks);
    for (int r = 0; r < problem->ranks; r++)
        for (int i = 0; i < blocks && collective_extent(problem, r, buffer) > 0; i++) {
            size_t offset, length = collective_block(problem, r, buffer, i, &offset);
            if (length == 0 || collective_block(&plan->problem, r, buffer, i, &offset) > 0)
                continue;
            snprintf(
                why, FILE_WHY_MOST,
                "it has no elements in block %d of rank %d's %s, and here there are %zu: write it "
                "for more elements, so that each block has one at least",
                i, r, buffer_names[buffer], length);
            return why;
        }
    return NULL;
}

/* In place, several channels of a form with counts copy their source first, since slices of unequal
 * blocks overlap: then nothing is in place. */
static bool channels_copy(const struct problem *problem, int channels)
{
    const struct collective *collective = problem->collective;
    return channels > 1 && problem->in_place && collective->counted && collective->source.blocks &&
           collective->destination.blocks;
}

const char *file_plan_refuses(const struct file_plan *plan, const struct problem *problem,
                              int channels, char why[FILE_WHY_MOST])
{
    const struct file_proof *proof = plan->proof;
    const char *refusal = refuses_blocks(plan, problem, BUFFER_SOURCE, why);
    if (!refusal)
        refusal = refuses_blocks(plan, problem, BUFFER_DESTINATION, why);
    if (!refusal && channels_copy(problem, channels))
        return "it is proven for buffers in place, which several channels would copy: give "
               "--channels 1";
    if (refusal || proof->uneven_rank < 0 ||
        (channels == 1 && problem->count % plan->problem.count == 0))
        return refusal;
    snprintf(why, FILE_WHY_MOST,
             "rank %d's operation %zu moves an element to another place in its block, so the file "
             "serves blocks of a multiple of %zu elements on one channel; this block has %zu "
             "elements, on %d channel%s",
             proof->uneven_rank, proof->uneven_operation, plan->problem.count, problem->count,
             channels, plural(channels));
    return why;
}

/* Where a part of a buffer lies in the run. */
struct part_place {
    enum buffer buffer;
    size_t at, length;
};

struct part_places {
    struct builder *builder;
    const struct file_plan *plan;
    const struct schedule *schedule;    /* of parts */
    struct part_place *places[BUFFERS]; /* by the offset in the file's buffer */
    size_t *lengths;                    /* of each source element of all ranks */
    const uint32_t *origins;            /* as file_proof has them */
    size_t *first;                      /* [operation]: of its parts in `origins` */
    struct span *spans[OPERANDS];       /* the message that is being mapped */
};

/* Parts of a block of `length` elements that is cut into `count`. */
static struct slice part_slice(size_t length, size_t count, size_t index)
{
    size_t each = length / count, longer = length % count;
    return (struct slice){.first = index * each + (index < longer ? index : longer),
                          .length = each + (index < longer)};
}

/* The parts of all blocks of a source or destination. */
static bool places_lay(struct part_places *places, const struct call *call, enum buffer buffer,
                       const struct view *view)
{
    const struct problem *parts = &places->schedule->problem;
    int rank = places->schedule->rank;
    size_t extent = places->schedule->extent[buffer];
    bool there = collective_extent(call->problem, rank, buffer) > 0;
    struct part_place *place = builder_draft(places->builder, (extent + 1) * sizeof *place);
    places->places[buffer] = place;
    for (int i = 0; place && there && i < view->blocks; i++) {
        size_t offset, count = extent ? collective_block(parts, rank, buffer, i, &offset) : 0;
        struct message block = view_block(view, i);
        size_t length = message_length(block);
        for (size_t p = 0; p < count; p++) {
            struct slice slice = part_slice(length, count, p);
            place[offset + p] = (struct part_place){.length = slice.length};
            if (length > 0) {
                place[offset + p].buffer = block.spans[0].buffer;
                place[offset + p].at = block.spans[0].offset + slice.first;
            }
        }
    }
    return place;
}

/* How long the parts of all ranks' sources are in this run. */
static bool places_measure(struct part_places *places, const struct call *call)
{
    const struct problem *parts = &places->schedule->problem;
    size_t total = 0, offset;
    for (int r = 0; r < parts->ranks; r++)
        total += collective_extent(parts, r, BUFFER_SOURCE);
    size_t *length = places->lengths = builder_draft(places->builder, (total + 1) * sizeof *length);
    int blocks = collective_blocks(parts->collective, BUFFER_SOURCE, parts->ranks);
    for (int r = 0; length && r < parts->ranks; r++) {
        for (int i = 0; i < blocks && collective_extent(parts, r, BUFFER_SOURCE) > 0; i++) {
            size_t count = collective_block(parts, r, BUFFER_SOURCE, i, &offset);
            size_t whole = collective_block(call->problem, r, BUFFER_SOURCE, i, &offset);
            whole = channel_slice(whole, call->channel, call->channels).length;
            for (size_t p = 0; p < count; p++)
                *length++ = part_slice(whole, count, p).length;
        }
    }
    return places->lengths;
}

/* Each part of scratch is as long as the longest that is ever put there. */
static bool places_lay_scratch(struct part_places *places)
{
    const struct schedule *schedule = places->schedule;
    size_t extent = schedule->extent[BUFFER_SCRATCH], total = 0;
    struct part_place *place = builder_draft(places->builder, (extent + 1) * sizeof *place);
    places->places[BUFFER_SCRATCH] = place;
    if (!place)
        return false;
    memset(place, 0, (extent + 1) * sizeof *place);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct message *to = &schedule->operations[i].to;
        const uint32_t *origin = &places->origins[places->first[i]];
        for (size_t s = 0; s < to->count; s++) {
            const struct span *span = &to->spans[s];
            for (size_t x = 0; x < span->run * span->times; x++, origin++) {
                size_t at = span_element(span, x);
                size_t length = places->lengths[*origin];
                if (span->buffer == BUFFER_SCRATCH && place[at].length < length)
                    place[at].length = length;
            }
        }
    }
    for (size_t i = 0; i < extent; i++) {
        place[i].buffer = BUFFER_SCRATCH;
        place[i].at = total;
        total += place[i].length;
    }
    struct view view = view_scratch_block(places->builder, total);
    struct message block = view_block(&view, 0);
    for (size_t i = 0; i < extent && block.count > 0; i++)
        place[i].at += block.spans[0].offset;
    return true;
}

/* Runs of one length at equal distances become one span. Returns how many spans are left. */
static size_t spans_stride(struct span *spans, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct span *last = kept ? &spans[kept - 1] : NULL;
        const struct span run = spans[i];
        bool follows = last && last->buffer == run.buffer && last->run == run.run &&
                       run.offset >= last->offset + last->run;
        if (follows && last->times == 1)
            last->stride = run.offset - last->offset;
        if (follows && run.offset == last->offset + last->times * last->stride)
            last->times++;
        else
            spans[kept++] = run;
    }
    return kept;
}

static struct message places_map(void *context, size_t index, enum operand operand,
                                 struct message message)
{
    struct part_places *places = context;
    const uint32_t *origin = &places->origins[places->first[index]];
    struct span *spans = places->spans[operand];
    size_t count = 0;
    for (size_t s = 0; s < message.count; s++) {
        const struct span *span = &message.spans[s];
        for (size_t x = 0; x < span->run * span->times; x++, origin++) {
            size_t at = span_element(span, x);
            const struct part_place *place = &places->places[span->buffer][at];
            size_t length = places->lengths[*origin];
            struct span *last = count ? &spans[count - 1] : NULL;
            if (length > place->length) {
                builder_stop(places->builder,
                             fail(STATUS_USAGE,
                                  "%.200s puts an element where one of a shorter block belongs "
                                  "(rank %d's operation %zu): give blocks of one length",
                                  places->plan->path, places->schedule->rank, index));
                return (struct message){0};
            }
            if (length == 0)
                continue;
            if (last && last->buffer == place->buffer && last->offset + last->run == place->at)
                last->run += length;
            else
                spans[count++] = (struct span){.buffer = place->buffer,
                                               .offset = place->at,
                                               .run = length,
                                               .stride = length,
                                               .times = 1};
        }
    }
    return (struct message){.spans = spans, .count = spans_stride(spans, count)};
}

static bool places_open(struct part_places *places, const struct call *call)
{
    struct builder *b = places->builder;
    const struct schedule *schedule = places->schedule;
    size_t longest = 1, parts = 0;
    places->first = builder_draft(b, (schedule->count + 1) * sizeof *places->first);
    for (size_t i = 0; places->first && i < schedule->count; i++) {
        size_t length = schedule->operations[i].length;
        longest = length > longest ? length : longest;
        places->first[i] = parts;
        parts += length;
    }
    for (int o = 0; o < OPERANDS; o++)
        places->spans[o] = builder_draft(b, longest * sizeof(struct span));
    return places->first && places->spans[OPERANDS - 1] &&
           places_lay(places, call, BUFFER_SOURCE, &call->source) &&
           places_lay(places, call, BUFFER_DESTINATION, &call->destination) &&
           places_measure(places, call) && places_lay_scratch(places);
}

static void file_write(struct builder *b, const struct call *call)
{
    const struct file_plan *plan = call->choice->file;
    const struct file_proof *proof = plan->proof;
    const struct schedule *schedule = proof->schedules[call->group->rank];
    char why[FILE_WHY_MOST];
    const char *refusal = file_plan_refuses(plan, call->problem, call->channels, why);
    if (refusal) {
        builder_stop(b, fail(STATUS_USAGE, "%.200s: %s", plan->path, refusal));
        return;
    }
    struct part_places places = {.builder = b,
                                 .plan = plan,
                                 .schedule = schedule,
                                 .origins = proof->origins[call->group->rank]};
    if (places_open(&places, call))
        replay_put(b, call->group,
                   &(struct replay){.operations = schedule->operations,
                                    .count = schedule->count,
                                    .epochs = schedule->epochs,
                                    .epoch_count = schedule->epoch_count,
                                    .lanes = plan->lanes,
                                    .map = places_map,
                                    .context = &places});
}

static const char *file_refuses(const struct problem *problem, const struct choice *choice,
                                char *why, size_t size)
{
    const struct problem *parts = &choice->file->problem;
    if (problem->ranks != parts->ranks)
        snprintf(why, size, "it is written for %d ranks, and these are %d: start as many (--np %d)",
                 parts->ranks, problem->ranks, parts->ranks);
    else if (problem->collective->rooted && problem->root != parts->root)
        snprintf(why, size, "it is written for root %d, not %d: give --root %d", parts->root,
                 problem->root, parts->root);
    else
        return NULL;
    return why;
}

static int file_partner(const struct choice *choice, int rank, int ranks)
{
    const struct file_plan *plan = choice->file;
    return rank < plan->problem.ranks && plan->partners[rank] < ranks ? plan->partners[rank] : -1;
}

#define OF_FILE                                                                                    \
    .name = "file", .summary = "the schedules of a file, proven before they run",                  \
    .rounds = "as written", .sent = "as written", .users = "synthesisers of algorithms",           \
    .refuses = file_refuses, .write = file_write

static const struct algorithm file_collective = {OF_FILE};
static const struct algorithm file_pattern = {OF_FILE, .partner = file_partner};

struct choice file_plan_choice(struct file_plan *plan)
{
    struct choice choice = choice_of(plan->partners ? &file_pattern : &file_collective);
    choice.file = plan;
    return choice;
}

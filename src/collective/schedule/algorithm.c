/*
 * algorithm.c - from an algorithm that the user chose to a schedule.
 */
#include "collective/schedule/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/parse.h"

/* Names. */

bool algorithm_serves(const struct algorithm *algorithm, enum collective_id collective)
{
    return algorithm->collectives >> collective & 1;
}

/* The name or alias of `algorithm` that equals `name`; NULL: none. */
static const char *algorithm_called(const struct algorithm *algorithm, const char *name)
{
    if (name_equal(algorithm->name, name))
        return algorithm->name;
    for (int a = 0; a < ALGORITHM_ALIASES_MOST && algorithm->aliases[a]; a++)
        if (name_equal(algorithm->aliases[a], name))
            return algorithm->aliases[a];
    return NULL;
}

const struct algorithm *algorithm_find(enum collective_id collective, const char *name)
{
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective) && algorithm_called(algorithms[i], name))
            return algorithms[i];
    return NULL;
}

/* Options. */

static int option_index(const struct algorithm *algorithm, const char *name)
{
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        if (strcmp(algorithm->options[i].name, name) == 0)
            return i;
    return -1;
}

static enum collective_id first_of(unsigned set)
{
    return (enum collective_id)__builtin_ctz(set);
}

/* The part's algorithm for one of the collectives that it serves. */
static const struct algorithm *part_algorithm(const struct part *part,
                                              enum collective_id collective)
{
    const struct algorithm *called = algorithm_find(collective, part->name);
    return called ? called : algorithm_find(collective, part->algorithm->name);
}

struct part part_of(const struct algorithm_option *option, const char *name)
{
    struct part part = {.algorithm = algorithm_find(first_of(option->collectives), name)};
    const struct algorithm *algorithm = part.algorithm;
    if (!algorithm)
        return part;
    part.name = algorithm_called(algorithm, name);
    if (algorithm->vendor)
        part.algorithm = NULL;
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        part.options[i] = algorithm->options[i].standard;
        if (algorithm->options[i].kind != OPTION_NUMBER &&
            algorithm->options[i].kind != OPTION_WORD)
            part.algorithm = NULL;
    }
    for (unsigned left = option->collectives; part.algorithm && left; left &= left - 1) {
        const struct algorithm *same = part_algorithm(&part, first_of(left));
        if (!same || same->grouped)
            part.algorithm = NULL;
    }
    return part;
}

bool algorithm_is_part(const struct algorithm *algorithm, const struct algorithm_option *option)
{
    return part_of(option, algorithm->name).algorithm == algorithm;
}

struct choice choice_of(const struct algorithm *algorithm)
{
    struct choice choice = {.algorithm = algorithm};
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        choice.options[i] = option->standard;
        if (option->kind == OPTION_PART)
            choice.parts[i] = part_of(option, option->standard_part);
    }
    return choice;
}

long choice_option(const struct choice *choice, const char *name)
{
    int index = option_index(choice->algorithm, name);
    return index < 0 ? 0 : choice->options[index];
}

long call_option(const struct call *call, const char *name)
{
    return choice_option(call->choice, name);
}

/* The part's choice for one of the collectives that it serves. */
static struct choice part_choice(const struct part *part, enum collective_id collective)
{
    struct choice choice = choice_of(part_algorithm(part, collective));
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && part->algorithm->options[i].name; i++) {
        int index = option_index(choice.algorithm, part->algorithm->options[i].name);
        if (index >= 0)
            choice.options[index] = part->options[i];
    }
    return choice;
}

static int choice_partner(const void *context, int rank, int ranks)
{
    const struct choice *choice = context;
    return choice->algorithm->partner(choice, rank, ranks);
}

enum status choice_partners(const struct choice *choice, int ranks, struct counts **counts)
{
    return counts_of_partners(ranks, choice_partner, choice, counts);
}

/* Refusing. */

static const char *shape_refuses(const struct choice *choice, const struct problem *problem,
                                 char *why, size_t size)
{
    if (!choice->algorithm->grouped || (problem->shape && problem->shape->groups > 1))
        return NULL;
    if (problem->shape && choice->group_count > 0)
        return NULL; /* one group, and the user asked for it */
    snprintf(why, size,
             "it needs several groups of ranks, and all %d are in one: give --shape NODESxRANKS, "
             "such as 2x4, or groups= after its name",
             problem->ranks);
    return why;
}

/* Gives the problem the groups of the choice's groups= option, if any: the caller then frees *shape
 * with shape_free(), else it is NULL. Returns why the choice cannot serve the problem, or NULL. */
static const char *choice_shape(const struct choice *choice, struct problem *problem,
                                struct shape **shape, char *why, size_t size)
{
    const struct algorithm *algorithm = choice->algorithm;
    *shape = NULL;
    if (choice->group_count > 0) {
        *shape = shape_of_sizes(choice->groups, choice->group_count, problem->ranks, why, size);
        if (!*shape)
            return why;
        problem->shape = *shape;
    }
    const char *refusal = shape_refuses(choice, problem, why, size);
    if (!refusal && algorithm->refuses)
        refusal = algorithm->refuses(problem, choice, why, size);
    return refusal;
}

const char *choice_refuses(const struct choice *choice, const struct problem *problem, char *why,
                           size_t size)
{
    struct problem shaped = *problem;
    struct shape *shape;
    const char *refusal = choice_shape(choice, &shaped, &shape, why, size);
    shape_free(shape);
    return refusal;
}

const char *part_refuses(const struct choice *choice, const char *option, int ranks, char *why,
                         size_t size)
{
    int index = option_index(choice->algorithm, option);
    unsigned left = choice->algorithm->options[index].collectives;
    for (; left; left &= left - 1) {
        enum collective_id collective = first_of(left);
        struct problem problem = {.collective = collective_of(collective), .ranks = ranks};
        struct choice inner = part_choice(&choice->parts[index], collective);
        char reason[160];
        const char *refusal = choice_refuses(&inner, &problem, reason, sizeof reason);
        if (!refusal)
            continue;
        snprintf(why, size, "%s=%s cannot serve a group of %d: %s", option,
                 choice->parts[index].name, ranks, refusal);
        return why;
    }
    return NULL;
}

/* Writing. */

/* A copy of a view in new scratch memory. */
static struct view view_copied(struct builder *b, const struct group *g, const struct view *view)
{
    struct view copy = view_scratch(b, view);
    put_copy(b, g, view_all(b, &copy), view_all(b, view));
    return copy;
}

struct view view_source_apart(struct builder *b, const struct call *call)
{
    return call->in_place ? view_copied(b, call->group, &call->source) : call->source;
}

size_t call_length(const struct call *call, int from, int to)
{
    if (!call->problem
             ->counts) /* all blocks have one length, also in parts of composed algorithms */
        return message_length(view_block(&call->source, to));
    if (call->order) {
        from = call->order[from];
        to = call->order[to];
    }
    size_t offset, length = collective_block(call->problem, from, BUFFER_SOURCE, to, &offset);
    return channel_slice(length, call->channel, call->channels).length;
}

/* ---- the order of a ring ---- */

const char *const order_words[] = {"natural", "auto", NULL};

static bool is_ordered(const struct algorithm *algorithm, const long *options)
{
    int option = option_index(algorithm, "order");
    return option >= 0 && options[option] != 0;
}

bool choice_orders(const struct choice *choice)
{
    bool orders = is_ordered(choice->algorithm, choice->options);
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST; i++)
        if (choice->parts[i].algorithm)
            orders |= is_ordered(choice->parts[i].algorithm, choice->parts[i].options);
    return orders;
}

/* A group rank, and its place on the ring. */
struct ring_member {
    int place, rank;
};

static int ring_members_compare(const void *a, const void *b)
{
    const struct ring_member *x = a, *y = b;
    return COMPARE(x->place, y->place);
}

/* The group ranks by their places. NULL: the builder has failed. */
static int *ring_members(struct builder *b, const struct group *group, const int *place)
{
    int *members = index_array(b, group->size);
    struct ring_member *sorted = builder_draft(b, (size_t)group->size * sizeof *sorted);
    if (!members || !sorted)
        return NULL;
    for (int r = 0; r < group->size; r++)
        sorted[r] = (struct ring_member){place[group->ranks ? group->ranks[r] : r], r};
    qsort(sorted, (size_t)group->size, sizeof *sorted, ring_members_compare);
    for (int i = 0; i < group->size; i++)
        members[i] = sorted[i].rank;
    return members;
}

/* A view of one block is of the whole vector; others have one for each rank. */
static struct view view_ordered(struct builder *b, const struct view *view, const int *members)
{
    return view->blocks > 1 ? view_select(b, view, members, view->blocks) : *view;
}

/* Lets the algorithm of the choice write, with the ranks in the order that it is to have. */
static void call_write(struct builder *b, const struct choice *choice, const struct call *call)
{
    const int *place = call->problem->ring_place;
    if (!place || !is_ordered(choice->algorithm, choice->options)) {
        choice->algorithm->write(b, call);
        return;
    }
    int *members = ring_members(b, call->group, place);
    if (!members)
        return;
    struct group group = group_part(b, call->group, members, call->group->size);
    struct call ordered = *call;
    ordered.group = &group;
    ordered.order = members;
    ordered.source = view_ordered(b, &call->source, members);
    ordered.destination = view_ordered(b, &call->destination, members);
    for (int i = 0; i < group.size; i++)
        if (members[i] == call->root)
            ordered.root = i;
    choice->algorithm->write(b, &ordered);
}

/* ---- parts ---- */

/* In each storage the memory from the first to the last element that a view touches. */
struct hull {
    size_t low[BUFFERS], high[BUFFERS]; /* low >= high: nothing */
};

static struct hull view_hull(const struct builder *b, const struct view *view)
{
    struct hull hull = {.low = {SIZE_MAX, SIZE_MAX, SIZE_MAX}};
    for (int i = 0; i < view->blocks; i++)
        for (size_t s = 0; s < view->messages[i].count; s++) {
            const struct span *span = &view->messages[i].spans[s];
            if (span->run == 0 || span->times == 0)
                continue;
            int storage = b->schedule->storage[span->buffer];
            size_t at = b->schedule->base[span->buffer] + span->offset;
            size_t end = at + (span->times - 1) * span->stride + span->run;
            size_t *low = &hull.low[storage], *high = &hull.high[storage];
            *low = at < *low ? at : *low;
            *high = end > *high ? end : *high;
        }
    return hull;
}

/* Do two views share memory? Compares hulls, so it may say yes wrongly, but never no. */
static bool views_overlap(const struct builder *b, const struct view *x, const struct view *y)
{
    struct hull p = view_hull(b, x), q = view_hull(b, y);
    for (int s = 0; s < BUFFERS; s++)
        if (p.low[s] < p.high[s] && q.low[s] < q.high[s] && p.low[s] < q.high[s] &&
            q.low[s] < p.high[s])
            return true;
    return false;
}

/* The view of a rank outside the part's group: the right number of blocks, all empty. */
static struct view view_nothing(struct builder *b, int blocks)
{
    static const struct span nothing = {.times = 1};
    struct message *messages = message_array(b, blocks);
    for (int i = 0; messages && i < blocks; i++)
        messages[i] = (struct message){.spans = &nothing, .count = 1};
    return (struct view){messages, messages ? blocks : 0};
}

void call_part(struct builder *b, const struct call *call, const char *option,
               enum collective_id collective, const struct call *part)
{
    int index = option_index(call->choice->algorithm, option), size = part->group->size;
    struct choice choice = part_choice(&call->choice->parts[index], collective);
    struct problem problem = {.collective = collective_of(collective),
                              .ranks = size,
                              .root = part->root,
                              .count = 1,
                              .ring_place = call->problem->ring_place};
    struct call inner = {
        .problem = &problem,
        .group = part->group,
        .source = part->source,
        .destination = part->destination,
        .root = part->root,
        .choice = &choice,
        .channels = 1,
    };
    if (part->group->absent) {
        inner.source = view_nothing(b, collective_blocks(problem.collective, BUFFER_SOURCE, size));
        inner.destination =
            view_nothing(b, collective_blocks(problem.collective, BUFFER_DESTINATION, size));
    }
    inner.in_place = views_overlap(b, &inner.source, &inner.destination);
    call_write(b, &choice, &inner);
}

/* In place, a channel's slices of source and destination share memory if their blocks have equal
 * lengths. With counts, lengths differ on the two sides, and one channel would overwrite data that
 * another one has yet to send. */
static bool channels_collide(const struct problem *problem, int channels)
{
    const struct collective *collective = problem->collective;
    return channels > 1 && problem->in_place && collective->counted && collective->source.blocks &&
           collective->destination.blocks;
}

/* The schedule keeps a copy of the problem, but neither its shape nor its ring, which may be freed
 * earlier. */
static enum status write_shaped(const struct choice *choice, const struct problem *problem,
                                int rank, int channels, bool runs, struct schedule **schedule)
{
    struct builder *b = builder_create(problem, rank);
    if (!b)
        return STATUS_ERROR;
    struct view source = builder_view(b, BUFFER_SOURCE);
    struct view destination = builder_view(b, BUFFER_DESTINATION);
    /* All lanes first: the rounds of every channel count from 0. */
    struct group *groups = builder_draft(b, (size_t)channels * sizeof *groups);
    for (int c = 0; c < channels && groups; c++)
        groups[c] = c == 0 ? builder_group(b) : group_on_lane(b, &groups[0]);
    b->schedule->channels = channels;
    bool apart = channels_collide(problem, channels);
    if (apart && groups)
        source = view_copied(b, &groups[0], &source);
    for (int c = 0; c < channels && choice->algorithm->write && b->status == STATUS_OK; c++) {
        struct call call = {
            .problem = problem,
            .group = &groups[c],
            .source = channels == 1 ? source : view_channel(b, &source, c, channels),
            .destination = channels == 1 ? destination : view_channel(b, &destination, c, channels),
            .root = problem->root,
            .in_place = problem->in_place && !apart,
            .choice = choice,
            .channel = c,
            .channels = channels,
        };
        b->channel = (uint32_t)c;
        call_write(b, choice, &call);
        if (problem->finishes)
            put_finish(b, call.group, view_all(b, &call.destination),
                       view_all(b, &call.destination));
    }
    b->schedule->problem.shape = NULL;
    b->schedule->problem.ring_place = NULL;
    return builder_finish(b, runs, schedule);
}

enum status schedule_build(const struct choice *choice, const struct problem *problem, int rank,
                           int channels, bool runs, struct schedule **schedule)
{
    char why[256];
    struct problem shaped = *problem;
    struct shape *shape;
    const char *refusal = choice_shape(choice, &shaped, &shape, why, sizeof why);
    enum status status;
    if (refusal)
        status = fail(STATUS_USAGE, "%s %s: %s", problem->collective->name, choice->algorithm->name,
                      refusal);
    else
        status = write_shaped(choice, &shaped, rank, channels, runs, schedule);
    shape_free(shape);
    return status;
}

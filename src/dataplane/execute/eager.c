/*
 * eager.c - the executor of short messages: a list of ready operations, and which follow which.
 */
#include "dataplane/execute/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"

#define TRIES 16 /* of the only operation that can move */

struct eager {
    const struct schedule *schedule;
    const struct memory_kind *memory;
    struct step_clock *clock; /* NULL: none */
    struct eager_step *steps;
    /* The followers of operation i: follower[first[i]] .. follower[first[i + 1] - 1]. */
    uint32_t *first, *follower;
    uint32_t *needs;      /* of each operation: how many it follows; a fence counts as one */
    uint32_t *left;       /* the same in this run, counted down */
    uint32_t *epoch_left; /* of each epoch: operations that are not complete in this run */
    uint32_t *ready;      /* operations that may move, in the order in which they became ready */
    uint32_t ready_count;
};

bool eager_serves(const struct schedule *schedule, const struct eager_step *steps,
                  const struct memory_kind *memory)
{
    if (!memory->engine_now || schedule->count >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct channel *channel = steps[i].channel;
        if (!channel)
            continue;
        const struct transport *transport = channel->endpoint->transport;
        if (!transport->eager_most || steps[i].transfer->length > transport->eager_most(channel))
            return false;
    }
    return true;
}

/* The operations that depend on another one. */
struct follows {
    uint32_t before, after;
};

static int follows_compare(const void *a, const void *b)
{
    const struct follows *x = a, *y = b;
    return COMPARE(x->before, y->before) ?: COMPARE(x->after, y->after);
}

struct use {
    const struct channel *channel;
    uint32_t operation;
};

static int use_compare(const void *a, const void *b)
{
    const struct use *x = a, *y = b;
    return COMPARE(x->channel, y->channel) ?: COMPARE(x->operation, y->operation);
}

/* Adds the order of messages on each channel. Returns how many pairs; SIZE_MAX: out of memory. */
static size_t follows_on_channels(const struct eager *eager, struct follows *follows)
{
    struct use *uses = malloc((eager->schedule->count + 1) * sizeof *uses);
    if (!uses)
        return SIZE_MAX;
    size_t count = 0, made = 0;
    for (uint32_t i = 0; i < eager->schedule->count; i++)
        if (eager->steps[i].channel)
            uses[count++] = (struct use){.channel = eager->steps[i].channel, .operation = i};
    qsort(uses, count, sizeof *uses, use_compare);
    for (size_t u = 1; u < count; u++)
        if (uses[u].channel == uses[u - 1].channel)
            follows[made++] = (struct follows){uses[u - 1].operation, uses[u].operation};
    free(uses);
    return made;
}

/* Makes the followers, from conflicts and channels. Fences are counted by epoch. */
static bool eager_link(struct eager *eager)
{
    const struct schedule *schedule = eager->schedule;
    size_t room = schedule->count + 1, count = 0;
    for (size_t i = 0; i < schedule->count; i++)
        room += schedule->operations[i].wait_count;
    struct follows *follows = malloc(room * sizeof *follows);
    eager->follower = malloc(room * sizeof *eager->follower);
    if (!follows || !eager->follower || (count = follows_on_channels(eager, follows)) == SIZE_MAX) {
        free(follows);
        return false;
    }
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        for (size_t w = 0; w < operation->wait_count; w++)
            follows[count++] = (struct follows){operation->waits[w].operation, i};
        eager->needs[i] = schedule->epochs[operation->epoch].previous >= 0;
    }
    qsort(follows, count, sizeof *follows, follows_compare);
    uint32_t made = 0, before = 0;
    for (size_t f = 0; f < count; f++) {
        if (f > 0 && follows_compare(&follows[f - 1], &follows[f]) == 0)
            continue;
        while (before < follows[f].before)
            eager->first[++before] = made;
        eager->follower[made++] = follows[f].after;
        eager->needs[follows[f].after]++;
    }
    while (before < schedule->count)
        eager->first[++before] = made;
    free(follows);
    return true;
}

enum status eager_create(const struct schedule *schedule, struct eager_step *steps,
                         const struct memory_kind *memory, struct step_clock *clock,
                         struct eager **made)
{
    struct eager *eager = calloc(1, sizeof *eager);
    *made = eager;
    for (size_t i = 0; i < schedule->count; i++)
        if (steps[i].channel)
            channel_require_regions(steps[i].channel, steps[i].transfer);
    if (eager) {
        size_t count = schedule->count + 1;
        *eager =
            (struct eager){.schedule = schedule, .memory = memory, .clock = clock, .steps = steps};
        eager->first = calloc(count, sizeof *eager->first);
        eager->needs = calloc(count, sizeof *eager->needs);
        eager->left = calloc(count, sizeof *eager->left);
        eager->ready = calloc(count, sizeof *eager->ready);
        eager->epoch_left = calloc(schedule->epoch_count + 1, sizeof *eager->epoch_left);
    } else {
        free(steps);
    }
    if (eager && eager->first && eager->needs && eager->left && eager->ready && eager->epoch_left &&
        eager_link(eager))
        return STATUS_OK;
    eager_destroy(eager);
    *made = NULL;
    return fail(STATUS_ERROR, "out of memory for an executor of %zu operations", schedule->count);
}

void eager_destroy(struct eager *eager)
{
    if (!eager)
        return;
    free(eager->steps);
    free(eager->first);
    free(eager->follower);
    free(eager->needs);
    free(eager->left);
    free(eager->epoch_left);
    free(eager->ready);
    free(eager);
}

void eager_start(struct eager *eager)
{
    const struct schedule *schedule = eager->schedule;
    eager->ready_count = 0;
    for (uint32_t i = 0; i < schedule->count; i++) {
        eager->left[i] = eager->needs[i];
        if (eager->needs[i] == 0)
            eager->ready[eager->ready_count++] = i;
    }
    for (size_t e = 0; e < schedule->epoch_count; e++)
        eager->epoch_left[e] = schedule->epochs[e].operations;
}

static void eager_release(struct eager *eager, uint32_t operation)
{
    if (--eager->left[operation] == 0)
        eager->ready[eager->ready_count++] = operation;
}

/* Removes the fence before an epoch. */
static void eager_open(struct eager *eager, uint32_t epoch)
{
    const struct epoch *open = &eager->schedule->epochs[epoch];
    for (uint32_t i = 0; i < open->operations; i++)
        eager_release(eager, open->members[i]);
}

static void eager_complete(struct eager *eager, uint32_t operation)
{
    step_clock_note(eager->clock, eager->schedule->operations[operation].step);
    for (uint32_t f = eager->first[operation]; f < eager->first[operation + 1]; f++)
        eager_release(eager, eager->follower[f]);
    uint32_t epoch = eager->schedule->operations[operation].epoch;
    if (--eager->epoch_left[epoch] == 0 && eager->schedule->epochs[epoch].next >= 0)
        eager_open(eager, (uint32_t)eager->schedule->epochs[epoch].next);
}

/* Moves an operation, if it can. If it is `alone`, it is tried again at once: what happens between
 * two calls of eager_progress() takes as long as several looks for a message. */
static enum status eager_move(const struct eager *eager, const struct eager_step *step, bool alone,
                              bool *done)
{
    enum status status = STATUS_OK;
    if (!step->channel) {
        eager->memory->engine_now(step->transfer);
        *done = true;
        return STATUS_OK;
    }
    int tries = alone ? TRIES : 1;
    for (*done = false; status == STATUS_OK && !*done && tries > 0; tries--)
        status = step->move(step->channel, step->transfer, done);
    return status;
}

enum status eager_progress(struct eager *eager, bool *moved, bool *complete)
{
    enum status status = STATUS_OK;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < eager->ready_count; i++) { /* which grows meanwhile */
        uint32_t operation = eager->ready[i];
        bool done = false;
        if (status == STATUS_OK)
            status = eager_move(eager, &eager->steps[operation],
                                kept == 0 && i + 1 == eager->ready_count, &done);
        if (done)
            eager_complete(eager, operation);
        else
            eager->ready[kept++] = operation;
    }
    *moved = kept < eager->ready_count;
    *complete = kept == 0;
    eager->ready_count = kept;
    return status;
}

int eager_position(const struct eager *eager)
{
    uint32_t earliest = UINT32_MAX;
    for (uint32_t i = 0; i < eager->ready_count; i++)
        if (eager->ready[i] < earliest)
            earliest = eager->ready[i];
    return (int)earliest;
}

void eager_await(const struct eager *eager)
{
    for (uint32_t i = 0; i < eager->ready_count; i++) {
        struct channel *channel = eager->steps[eager->ready[i]].channel;
        if (channel)
            channel->endpoint->transport->eager_await(channel);
    }
}

/*
 * joint_schedule.c - the schedules of all ranks side by side: pairing, numbering, waking, deadlock.
 */
#include "prove/joint_schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OUT_OF_MEMORY "out of memory while the ranks' schedules were put side by side"

bool joint_fail(struct joint_schedule *joint, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(joint->error, joint->error_size, format, arguments);
    va_end(arguments);
    return false;
}

struct title joint_title(const struct joint_schedule *joint, uint32_t operation)
{
    const struct operation *it = joint_operation(joint, operation);
    int rank = joint->rank[operation];
    char lane[24] = "", peer[48] = "";
    struct title title;

    if (joint->schedules[rank]->lanes > 1)
        snprintf(lane, sizeof(lane), ", lane %d", it->lane);
    if (operation_travels(it->kind))
        snprintf(peer, sizeof(peer), " %s rank %d%s", it->kind == OPERATION_SEND ? "to" : "from",
                 it->peer, lane);
    snprintf(title.text, sizeof(title.text), "rank %d's operation %u (%s%s)", rank,
             operation - joint->first[rank], operation_name(it->kind), peer);
    return title;
}

/* Form: what one schedule must be by itself. */

static bool check_message(struct joint_schedule *e, uint32_t g, const char *name,
                          const struct message *message, bool used)
{
    const struct schedule *schedule = e->schedules[e->rank[g]];
    size_t wanted = used ? joint_operation(e, g)->length : 0, length = 0;
    static const char *const buffers[BUFFERS] = {"source", "destination", "scratch"};

    for (size_t i = 0; i < message->count; i++) {
        const struct span *span = &message->spans[i];

        if (span->run == 0 || span->times == 0)
            continue;
        size_t last = span->offset + (span->times - 1) * span->stride + span->run;
        if (last > schedule->extent[span->buffer])
            return joint_fail(e, "%s touches %s element %zu, which is outside: there are %zu",
                              joint_title(e, g).text, buffers[span->buffer], last - 1,
                              schedule->extent[span->buffer]);
        length += span->run * span->times;
    }
    if (length != wanted)
        return joint_fail(e, "%s is of length %zu, but its '%s' of length %zu",
                          joint_title(e, g).text, wanted, name, length);
    return true;
}

static bool check_waits(struct joint_schedule *e, uint32_t g)
{
    const struct operation *operation = joint_operation(e, g);
    uint32_t first = e->first[e->rank[g]];

    for (size_t i = 0; i < operation->wait_count; i++) {
        const struct wait *wait = &operation->waits[i];

        if (wait->operation >= g - first)
            return joint_fail(e, "%s waits for operation %u, which is not before it",
                              joint_title(e, g).text, wait->operation);
        if (wait->at + wait->length > operation->length ||
            wait->past + wait->length > joint_operation(e, first + wait->operation)->length ||
            (i && wait->at < wait[-1].at))
            return joint_fail(e, "%s has a malformed wait for operation %u", joint_title(e, g).text,
                              wait->operation);
    }
    return true;
}

static bool check_operation(struct joint_schedule *e, uint32_t g)
{
    const struct operation *operation = joint_operation(e, g);
    const struct schedule *schedule = e->schedules[e->rank[g]];
    enum operation_kind kind = operation->kind;
    bool with = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    bool from = kind != OPERATION_RECV && kind != OPERATION_RECV_REDUCE;

    if (operation_travels(kind)) {
        if (operation->peer < 0 || operation->peer >= e->ranks || operation->lane < 0 ||
            operation->lane >= schedule->lanes)
            return joint_fail(e, "%s has a peer or a lane that does not exist",
                              joint_title(e, g).text);
        if (operation->peer == e->rank[g])
            return joint_fail(e, "%s has its own rank as peer", joint_title(e, g).text);
    }
    if (operation->length == 0 || operation->epoch >= schedule->epoch_count)
        return joint_fail(e, "%s has no elements, or no epoch", joint_title(e, g).text);
    return check_message(e, g, "to", &operation->to, kind != OPERATION_SEND) &&
           check_message(e, g, "from", &operation->from, from) &&
           check_message(e, g, "with", &operation->with, with) && check_waits(e, g);
}

static bool check_schedule(struct joint_schedule *e, int rank)
{
    const struct schedule *schedule = e->schedules[rank];

    if (schedule->rank != rank || schedule->problem.ranks != e->ranks)
        return joint_fail(e, "schedule %d of %d is that of rank %d of %d", rank, e->ranks,
                          schedule->rank, schedule->problem.ranks);
    if (schedule->lanes != e->schedules[0]->lanes)
        return joint_fail(e, "rank %d and rank 0 disagree about the number of lanes: %d and %d",
                          rank, schedule->lanes, e->schedules[0]->lanes);
    for (int b = 0; b < BUFFER_SCRATCH; b++)
        if (schedule->extent[b] != collective_extent(&schedule->problem, rank, (enum buffer)b))
            return joint_fail(e, "rank %d's %s has %zu elements, where the contract has %zu", rank,
                              b == BUFFER_SOURCE ? "source" : "destination", schedule->extent[b],
                              collective_extent(&schedule->problem, rank, (enum buffer)b));
    for (uint32_t g = e->first[rank]; g < e->first[rank + 1]; g++)
        if (!check_operation(e, g))
            return false;
    return true;
}

static bool check_epochs(struct joint_schedule *e, int rank)
{
    const struct schedule *schedule = e->schedules[rank];

    for (size_t i = 0; i < schedule->epoch_count; i++) {
        uint32_t epoch = e->epoch_first[rank] + (uint32_t)i;
        uint32_t members = e->members.start[epoch + 1] - e->members.start[epoch];

        if (members != schedule->epochs[i].operations)
            return joint_fail(e, "rank %d's epoch %zu should have %u operations and has %u", rank,
                              i, schedule->epochs[i].operations, members);
    }
    return true;
}

/* Putting together. */

static void *take(struct joint_schedule *e, size_t count, size_t size)
{
    return arena_take(e->memory, (count + 1) * size);
}

/* A table of the ensemble; NULL: out of memory. */
#define TAKE(table, count) (e->table = take(e, count, sizeof(*e->table)))

/* Makes an index of `things` things with room for `items` items, from how many each has, counted in
 * start[i + 2]; then start[i + 1] is where the next item of i goes. */
static bool index_open(struct joint_schedule *e, struct index *index, size_t things)
{
    for (size_t i = 2; i < things + 2; i++)
        index->start[i] += index->start[i - 1];
    index->items = take(e, index->start[things + 1], sizeof(*index->items));
    return index->items;
}

static bool index_create(struct joint_schedule *e, struct index *index, size_t things)
{
    index->start = take(e, things + 1, sizeof(*index->start));
    if (index->start)
        memset(index->start, 0, (things + 2) * sizeof(*index->start));
    return index->start;
}

static bool index_operations(struct joint_schedule *e, size_t epochs)
{
    if (!index_create(e, &e->dependents, e->count) || !index_create(e, &e->members, epochs))
        return joint_fail(e, OUT_OF_MEMORY);
    for (int filling = 0; filling < 2; filling++) {
        for (uint32_t g = 0; g < e->count; g++) {
            const struct operation *operation = joint_operation(e, g);
            uint32_t first = e->first[e->rank[g]];

            if (filling)
                e->members.items[e->members.start[e->epoch[g] + 1]++] = g;
            else
                e->members.start[e->epoch[g] + 2]++;
            for (size_t i = 0; i < operation->wait_count; i++) {
                uint32_t on = first + operation->waits[i].operation;

                if (filling)
                    e->dependents.items[e->dependents.start[on + 1]++] = g;
                else
                    e->dependents.start[on + 2]++;
            }
        }
        if (!filling &&
            (!index_open(e, &e->dependents, e->count) || !index_open(e, &e->members, epochs)))
            return joint_fail(e, OUT_OF_MEMORY);
    }
    return true;
}

/* Numbers operations, epochs and memory over all ranks. */
static bool number_ranks(struct joint_schedule *e)
{
    uint64_t operations = 0, epochs = 0;

    if (!TAKE(first, (size_t)e->ranks) || !TAKE(epoch_first, (size_t)e->ranks) ||
        !TAKE(start, (size_t)e->ranks * BUFFERS))
        return joint_fail(e, OUT_OF_MEMORY);
    for (int r = 0; r < e->ranks; r++) {
        const struct schedule *schedule = e->schedules[r];
        size_t extent[BUFFERS] = {0}, at[BUFFERS];

        e->first[r] = (uint32_t)operations;
        e->epoch_first[r] = (uint32_t)epochs;
        operations += schedule->count;
        epochs += schedule->epoch_count;
        for (int b = 0; b < BUFFERS; b++) {
            size_t end = schedule->base[b] + schedule->extent[b];

            if (end > extent[schedule->storage[b]])
                extent[schedule->storage[b]] = end;
        }
        for (int s = 0; s < BUFFERS; s++) {
            at[s] = e->places;
            e->places += extent[s];
        }
        for (int b = 0; b < BUFFERS; b++)
            e->start[r * BUFFERS + b] = at[schedule->storage[b]] + schedule->base[b];
    }
    if (operations >= NOBODY || epochs >= NOBODY)
        return joint_fail(e, "too many operations to be put side by side");
    e->count = e->first[e->ranks] = (uint32_t)operations;
    e->epoch_first[e->ranks] = (uint32_t)epochs;
    return true;
}

static void list_operations(struct joint_schedule *e, int rank)
{
    const struct schedule *schedule = e->schedules[rank];
    uint32_t first = e->first[rank], epoch_first = e->epoch_first[rank];

    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];

        e->operation[first + i] = operation;
        e->length[first + i] = operation->length;
        e->rank[first + i] = rank;
        e->epoch[first + i] = epoch_first + operation->epoch;
    }
    for (size_t i = 0; i < schedule->epoch_count; i++) {
        const struct epoch *epoch = &schedule->epochs[i];

        e->epoch_before[epoch_first + i] =
            epoch->previous < 0 ? NOBODY : epoch_first + (uint32_t)epoch->previous;
        e->epoch_after[epoch_first + i] =
            epoch->next < 0 ? NOBODY : epoch_first + (uint32_t)epoch->next;
    }
}

static bool take_tables(struct joint_schedule *e)
{
    size_t count = e->count, epochs = e->epoch_first[e->ranks];

    if (!TAKE(previous, count) || !TAKE(next, count) || !TAKE(partner, count) ||
        !TAKE(channel, count) || !TAKE(epoch, count) || !TAKE(runnable[0].items, count) ||
        !TAKE(runnable[1].items, count) || !TAKE(seat, count) || !TAKE(operation, count) ||
        !TAKE(length, count) || !TAKE(rank, count) || !TAKE(done, count) || !TAKE(lazy, count) ||
        !TAKE(epoch_left, epochs) || !TAKE(epoch_before, epochs) || !TAKE(epoch_after, epochs))
        return joint_fail(e, OUT_OF_MEMORY);
    memset(e->lazy, 0, count);
    for (int r = 0; r < e->ranks; r++)
        list_operations(e, r);
    return true;
}

/* The two ends of a (from, to, lane), while their messages are being met. */
struct ends {
    uint32_t first[2], last[2], count[2]; /* 0: sends, 1: receives */
};

static bool pair_channel(struct joint_schedule *e, const struct ends *ends)
{
    uint32_t send = ends->first[0], recv = ends->first[1];

    for (; send != NOBODY && recv != NOBODY; send = e->next[send], recv = e->next[recv]) {
        size_t sent = joint_operation(e, send)->length;
        size_t expected = joint_operation(e, recv)->length;

        if (sent != expected)
            return joint_fail(e, "%s and %s disagree about the message's length: %zu and %zu",
                              joint_title(e, send).text, joint_title(e, recv).text, sent, expected);
        e->partner[send] = recv;
        e->partner[recv] = send;
        e->channel[send] = e->channel[recv] = e->channels;
    }
    if (send != NOBODY || recv != NOBODY)
        return joint_fail(e,
                          "%s meets no %s: such messages are %u on the sending and %u on the "
                          "receiving side",
                          joint_title(e, send != NOBODY ? send : recv).text,
                          send != NOBODY ? "receive" : "send", ends->count[0], ends->count[1]);
    e->channels++;
    return true;
}

static bool pair_messages(struct joint_schedule *e)
{
    size_t ranks = (size_t)e->ranks, lanes = (size_t)e->schedules[0]->lanes;
    size_t count = ranks * ranks * lanes;
    struct ends *all = take(e, count, sizeof(*all));

    if (!all)
        return joint_fail(e, OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++)
        all[i] = (struct ends){.first = {NOBODY, NOBODY}, .last = {NOBODY, NOBODY}};
    for (uint32_t g = 0; g < e->count; g++) {
        const struct operation *operation = joint_operation(e, g);
        size_t mine = (size_t)e->rank[g], peer = (size_t)operation->peer;
        bool receives = operation->kind != OPERATION_SEND;

        e->previous[g] = e->next[g] = e->partner[g] = e->channel[g] = NOBODY;
        if (!operation_travels(operation->kind))
            continue;
        struct ends *ends = &all[((receives ? peer * ranks + mine : mine * ranks + peer) * lanes) +
                                 (size_t)operation->lane];
        e->previous[g] = ends->last[receives];
        if (ends->last[receives] == NOBODY)
            ends->first[receives] = g;
        else
            e->next[ends->last[receives]] = g;
        ends->last[receives] = g;
        ends->count[receives]++;
    }
    for (size_t i = 0; i < count; i++)
        if ((all[i].count[0] || all[i].count[1]) && !pair_channel(e, &all[i]))
            return false;
    return true;
}

struct joint_schedule *joint_create(const struct schedule *const *schedules, int ranks, char *error,
                                    size_t size)
{
    struct arena *memory = arena_create();
    struct joint_schedule *e = memory ? arena_take(memory, sizeof(*e)) : NULL;

    if (!e) {
        snprintf(error, size, OUT_OF_MEMORY);
        arena_free(memory);
        return NULL;
    }
    memset(e, 0, sizeof(*e));
    e->schedules = schedules;
    e->ranks = ranks;
    e->memory = memory;
    e->error = error;
    e->error_size = size;

    bool right = number_ranks(e) && take_tables(e);
    for (int r = 0; right && r < ranks; r++)
        right = check_schedule(e, r);
    right = right && index_operations(e, e->epoch_first[ranks]);
    for (int r = 0; right && r < ranks; r++)
        right = check_epochs(e, r);
    if (!right || !pair_messages(e)) {
        joint_free(e);
        return NULL;
    }
    return e;
}

void joint_free(struct joint_schedule *joint)
{
    if (joint)
        arena_free(joint->memory);
}

/* Running. */

void joint_reset(struct joint_schedule *e)
{
    for (uint32_t i = 0; i < e->epoch_first[e->ranks]; i++)
        e->epoch_left[i] = e->members.start[i + 1] - e->members.start[i];
    memset(e->done, 0, e->count * sizeof(*e->done));
    e->runnable[0].count = e->runnable[1].count = 0;
    memset(e->seat, 0xff, e->count * sizeof(*e->seat));
    for (uint32_t g = 0; g < e->count; g++)
        joint_wake(e, g);
}

uint32_t joint_closed_by(const struct joint_schedule *e, uint32_t g)
{
    uint32_t before = e->epoch_before[e->epoch[g]];

    if (e->previous[g] != NOBODY && !joint_complete(e, e->previous[g]))
        return e->previous[g];
    /* An epoch opens only when the one before it is complete, so looking at that one is enough. */
    if (before != NOBODY && e->epoch_left[before])
        for (uint32_t i = e->members.start[before]; i < e->members.start[before + 1]; i++)
            if (!joint_complete(e, e->members.items[i]))
                return e->members.items[i];
    return NOBODY;
}

void joint_wake(struct joint_schedule *e, uint32_t g)
{
    struct runnable_set *runnable = &e->runnable[e->lazy[g]];

    if (e->seat[g] != NOBODY || joint_complete(e, g))
        return;
    e->seat[g] = runnable->count;
    runnable->items[runnable->count++] = g;
}

void joint_sleep(struct joint_schedule *e, uint32_t g)
{
    struct runnable_set *runnable = &e->runnable[e->lazy[g]];
    uint32_t seat = e->seat[g];

    if (seat == NOBODY)
        return;
    uint32_t last = runnable->items[--runnable->count];
    runnable->items[seat] = last;
    e->seat[last] = seat;
    e->seat[g] = NOBODY;
}

static void wake_epoch_after(struct joint_schedule *e, uint32_t g)
{
    uint32_t after = e->epoch_after[e->epoch[g]];

    if (after == NOBODY)
        return;
    for (uint32_t i = e->members.start[after]; i < e->members.start[after + 1]; i++)
        joint_wake(e, e->members.items[i]);
}

void joint_advanced(struct joint_schedule *e, uint32_t g)
{
    for (uint32_t i = e->dependents.start[g]; i < e->dependents.start[g + 1]; i++)
        joint_wake(e, e->dependents.items[i]);
    if (e->partner[g] != NOBODY)
        joint_wake(e, e->partner[g]);
    if (!joint_complete(e, g))
        return;
    joint_sleep(e, g);
    if (e->next[g] != NOBODY)
        joint_wake(e, e->next[g]);
    if (--e->epoch_left[e->epoch[g]] == 0)
        wake_epoch_after(e, g);
}

/* Deadlock. */

#define CIRCLE_SHOWN 4

bool joint_fail_deadlock(struct joint_schedule *e, const char *how, holds_back_function *holds_back,
                         void *context)
{
    uint32_t *order = take(e, e->count, sizeof(*order)), length = 0, g = 0;
    char text[512];
    size_t used = 0;

    if (!order)
        return joint_fail(e, OUT_OF_MEMORY);
    memset(order, 0xff, e->count * sizeof(*order));
    while (joint_complete(e, g))
        g++;
    for (; g != NOBODY && order[g] == NOBODY; g = holds_back(context, g))
        order[g] = length++;
    if (g == NOBODY)
        return joint_fail(e, "%s: nothing moves, and an operation waits for nothing", how);

    /* Every operation waits for one other, so the walk has run into a circle; g is on it. */
    uint32_t circle = length - order[g], at = g;
    for (uint32_t i = 0; i < circle && i < CIRCLE_SHOWN; i++, at = holds_back(context, at))
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 i == 0   ? ""
                                 : i == 1 ? " waits for "
                                          : ", which waits for ",
                                 joint_title(e, at).text);
    if (circle > CIRCLE_SHOWN)
        return joint_fail(e, "%s: %s, and so on in a circle of %u operations", how, text, circle);
    return joint_fail(e, "%s: %s, which waits for the first", how, text);
}

/*
 * joint_schedule.c - checks, numbers and pairs the schedules of all ranks; wakes operations; words
 * deadlocks.
 */
#include "collective/prove/prove.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool joint_fail(struct joint_schedule *joint, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(joint->error, joint->error_size, format, arguments);
    va_end(arguments);
    return false;
}

struct title joint_title(const struct joint_schedule *joint, uint32_t number)
{
    const struct operation *operation = joint_operation(joint, number);
    int rank = joint->rank[number];
    const struct schedule *schedule = joint->schedules[rank];
    char lane[24] = "", peer[48] = "", line[24] = "";
    uint32_t index = number - joint->first[rank];
    struct title title;

    if (schedule->lanes > 1)
        snprintf(lane, sizeof(lane), ", lane %d", operation->lane);
    if (operation_travels(operation->kind))
        snprintf(peer, sizeof(peer), " %s rank %d%s",
                 operation->kind == OPERATION_SEND ? "to" : "from", operation->peer, lane);
    if (schedule->lines)
        snprintf(line, sizeof(line), ", line %d", schedule->lines[index]);
    snprintf(title.text, sizeof(title.text), "rank %d's operation %u (%s%s%s)", rank, index,
             operation_names[operation->kind], peer, line);
    return title;
}

/* The form of each schedule. */

static bool check_message(struct joint_schedule *joint, uint32_t g, const char *name,
                          const struct message *message, bool used)
{
    const struct schedule *schedule = joint->schedules[joint->rank[g]];
    size_t wanted = used ? joint_operation(joint, g)->length : 0, length = 0;

    for (size_t i = 0; i < message->count; i++) {
        const struct span *span = &message->spans[i];

        if (span->run == 0 || span->times == 0)
            continue;
        size_t last = span->offset + (span->times - 1) * span->stride + span->run;
        if (last > schedule->extent[span->buffer])
            return joint_fail(joint, "%s touches %s element %zu, which is outside: there are %zu",
                              joint_title(joint, g).text, buffer_names[span->buffer], last - 1,
                              schedule->extent[span->buffer]);
        length += span->run * span->times;
    }
    if (length != wanted)
        return joint_fail(joint, "%s is of length %zu, but its '%s' of length %zu",
                          joint_title(joint, g).text, wanted, name, length);
    return true;
}

static bool check_waits(struct joint_schedule *joint, uint32_t g)
{
    const struct operation *operation = joint_operation(joint, g);
    uint32_t first = joint->first[joint->rank[g]];

    for (size_t i = 0; i < operation->wait_count; i++) {
        const struct wait *wait = &operation->waits[i];

        if (wait->operation >= g - first)
            return joint_fail(joint, "%s waits for operation %u, which is not before it",
                              joint_title(joint, g).text, wait->operation);
        if (wait->at + wait->length > operation->length ||
            wait->past + wait->length > joint_operation(joint, first + wait->operation)->length ||
            (i && wait->at < wait[-1].at))
            return joint_fail(joint, "%s has a malformed wait for operation %u",
                              joint_title(joint, g).text, wait->operation);
    }
    return true;
}

static bool check_operation(struct joint_schedule *joint, uint32_t g)
{
    const struct operation *operation = joint_operation(joint, g);
    const struct schedule *schedule = joint->schedules[joint->rank[g]];
    enum operation_kind kind = operation->kind;
    bool with = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    bool from = kind != OPERATION_RECV && kind != OPERATION_RECV_REDUCE;

    if (operation_travels(kind)) {
        if (operation->peer < 0 || operation->peer >= joint->ranks || operation->lane < 0 ||
            operation->lane >= schedule->lanes)
            return joint_fail(joint, "%s has a peer or a lane that does not exist",
                              joint_title(joint, g).text);
        if (operation->peer == joint->rank[g])
            return joint_fail(joint, "%s has its own rank as peer", joint_title(joint, g).text);
    }
    if (operation->length == 0 || operation->epoch >= schedule->epoch_count)
        return joint_fail(joint, "%s has no elements, or no epoch", joint_title(joint, g).text);
    return check_message(joint, g, "to", &operation->to, kind != OPERATION_SEND) &&
           check_message(joint, g, "from", &operation->from, from) &&
           check_message(joint, g, "with", &operation->with, with) && check_waits(joint, g);
}

static bool check_schedule(struct joint_schedule *joint, int rank)
{
    const struct schedule *schedule = joint->schedules[rank];

    if (schedule->rank != rank || schedule->problem.ranks != joint->ranks)
        return joint_fail(joint, "schedule %d of %d is that of rank %d of %d", rank, joint->ranks,
                          schedule->rank, schedule->problem.ranks);
    if (schedule->lanes != joint->schedules[0]->lanes)
        return joint_fail(joint, "rank %d and rank 0 disagree about the number of lanes: %d and %d",
                          rank, schedule->lanes, joint->schedules[0]->lanes);
    for (int b = 0; b < BUFFER_SCRATCH; b++)
        if (schedule->extent[b] != collective_extent(&schedule->problem, rank, (enum buffer)b))
            return joint_fail(joint, "rank %d's %s has %zu elements, where the contract has %zu",
                              rank, b == BUFFER_SOURCE ? "source" : "destination",
                              schedule->extent[b],
                              collective_extent(&schedule->problem, rank, (enum buffer)b));
    for (uint32_t g = joint->first[rank]; g < joint->first[rank + 1]; g++)
        if (!check_operation(joint, g))
            return false;
    return true;
}

static bool check_epochs(struct joint_schedule *joint, int rank)
{
    const struct schedule *schedule = joint->schedules[rank];

    for (size_t i = 0; i < schedule->epoch_count; i++) {
        uint32_t epoch = joint->epoch_first[rank] + (uint32_t)i;
        uint32_t members = joint->members.start[epoch + 1] - joint->members.start[epoch];

        if (members != schedule->epochs[i].operations)
            return joint_fail(joint, "rank %d's epoch %zu should have %u operations and has %u",
                              rank, i, schedule->epochs[i].operations, members);
    }
    return true;
}

/* Numbering and pairing. */

static void *take(struct joint_schedule *joint, size_t count, size_t size)
{
    return arena_take(joint->memory, (count + 1) * size);
}

/* Allocates a table of the joint schedule; NULL: out of memory. */
#define TAKE(table, count) (joint->table = take(joint, count, sizeof(*joint->table)))

/* Turns the lengths of `things` lists, counted in start[i + 2], into offsets: start[i + 1] is then
 * where the next item of list i goes. Allocates the items. */
static bool index_open(struct joint_schedule *joint, struct index *index, size_t things)
{
    for (size_t i = 2; i < things + 2; i++)
        index->start[i] += index->start[i - 1];
    index->items = take(joint, index->start[things + 1], sizeof(*index->items));
    return index->items;
}

static bool index_create(struct joint_schedule *joint, struct index *index, size_t things)
{
    index->start = take(joint, things + 1, sizeof(*index->start));
    if (index->start)
        memset(index->start, 0, (things + 2) * sizeof(*index->start));
    return index->start;
}

static bool index_operations(struct joint_schedule *joint, size_t epochs)
{
    if (!index_create(joint, &joint->dependents, joint->count) ||
        !index_create(joint, &joint->members, epochs))
        return joint_fail(joint, OUT_OF_MEMORY);
    for (int filling = 0; filling < 2; filling++) {
        for (uint32_t g = 0; g < joint->count; g++) {
            const struct operation *operation = joint_operation(joint, g);
            uint32_t first = joint->first[joint->rank[g]];

            if (filling)
                joint->members.items[joint->members.start[joint->epoch[g] + 1]++] = g;
            else
                joint->members.start[joint->epoch[g] + 2]++;
            for (size_t i = 0; i < operation->wait_count; i++) {
                uint32_t on = first + operation->waits[i].operation;

                if (filling)
                    joint->dependents.items[joint->dependents.start[on + 1]++] = g;
                else
                    joint->dependents.start[on + 2]++;
            }
        }
        if (!filling && (!index_open(joint, &joint->dependents, joint->count) ||
                         !index_open(joint, &joint->members, epochs)))
            return joint_fail(joint, OUT_OF_MEMORY);
    }
    return true;
}

/* Numbers operations, epochs and memory over all ranks. */
static bool number_ranks(struct joint_schedule *joint)
{
    uint64_t operations = 0, epochs = 0;

    if (!TAKE(first, (size_t)joint->ranks) || !TAKE(epoch_first, (size_t)joint->ranks) ||
        !TAKE(start, (size_t)joint->ranks * BUFFERS))
        return joint_fail(joint, OUT_OF_MEMORY);
    for (int r = 0; r < joint->ranks; r++) {
        const struct schedule *schedule = joint->schedules[r];
        size_t extent[BUFFERS] = {0}, at[BUFFERS];

        joint->first[r] = (uint32_t)operations;
        joint->epoch_first[r] = (uint32_t)epochs;
        operations += schedule->count;
        epochs += schedule->epoch_count;
        for (int b = 0; b < BUFFERS; b++) {
            size_t end = schedule->base[b] + schedule->extent[b];

            if (end > extent[schedule->storage[b]])
                extent[schedule->storage[b]] = end;
        }
        for (int s = 0; s < BUFFERS; s++) {
            at[s] = joint->elements;
            joint->elements += extent[s];
        }
        for (int b = 0; b < BUFFERS; b++)
            joint->start[r * BUFFERS + b] = at[schedule->storage[b]] + schedule->base[b];
    }
    if (operations >= NO_OPERATION || epochs >= NO_OPERATION)
        return joint_fail(joint, "too many operations to put side by side");
    joint->count = joint->first[joint->ranks] = (uint32_t)operations;
    joint->epoch_first[joint->ranks] = (uint32_t)epochs;
    return true;
}

static void list_operations(struct joint_schedule *joint, int rank)
{
    const struct schedule *schedule = joint->schedules[rank];
    uint32_t first = joint->first[rank], epoch_first = joint->epoch_first[rank];

    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];

        joint->operation[first + i] = operation;
        joint->length[first + i] = operation->length;
        joint->rank[first + i] = rank;
        joint->epoch[first + i] = epoch_first + operation->epoch;
    }
    for (size_t i = 0; i < schedule->epoch_count; i++) {
        const struct epoch *epoch = &schedule->epochs[i];

        joint->epoch_before[epoch_first + i] =
            epoch->previous < 0 ? NO_OPERATION : epoch_first + (uint32_t)epoch->previous;
        joint->epoch_after[epoch_first + i] =
            epoch->next < 0 ? NO_OPERATION : epoch_first + (uint32_t)epoch->next;
    }
}

static bool take_tables(struct joint_schedule *joint)
{
    size_t count = joint->count, epochs = joint->epoch_first[joint->ranks];

    if (!TAKE(previous, count) || !TAKE(next, count) || !TAKE(partner, count) ||
        !TAKE(channel, count) || !TAKE(epoch, count) || !TAKE(runnable[0].items, count) ||
        !TAKE(runnable[1].items, count) || !TAKE(slot, count) || !TAKE(operation, count) ||
        !TAKE(length, count) || !TAKE(rank, count) || !TAKE(done, count) || !TAKE(lazy, count) ||
        !TAKE(epoch_left, epochs) || !TAKE(epoch_before, epochs) || !TAKE(epoch_after, epochs))
        return joint_fail(joint, OUT_OF_MEMORY);
    memset(joint->lazy, 0, count);
    for (int r = 0; r < joint->ranks; r++)
        list_operations(joint, r);
    return true;
}

/* The two ends of a (from, to, lane), while messages are paired. */
struct ends {
    uint32_t first[2], last[2], count[2]; /* 0: sends, 1: receives */
};

static bool pair_channel(struct joint_schedule *joint, const struct ends *ends)
{
    uint32_t send = ends->first[0], recv = ends->first[1];

    for (; send != NO_OPERATION && recv != NO_OPERATION;
         send = joint->next[send], recv = joint->next[recv]) {
        size_t sent = joint_operation(joint, send)->length;
        size_t expected = joint_operation(joint, recv)->length;

        if (sent != expected)
            return joint_fail(joint, "%s and %s disagree about the message's length: %zu and %zu",
                              joint_title(joint, send).text, joint_title(joint, recv).text, sent,
                              expected);
        joint->partner[send] = recv;
        joint->partner[recv] = send;
        joint->channel[send] = joint->channel[recv] = joint->channels;
    }
    if (send != NO_OPERATION || recv != NO_OPERATION)
        return joint_fail(joint,
                          "%s meets no %s: such messages are %u on the sending and %u on the "
                          "receiving side",
                          joint_title(joint, send != NO_OPERATION ? send : recv).text,
                          send != NO_OPERATION ? "receive" : "send", ends->count[0],
                          ends->count[1]);
    joint->channels++;
    return true;
}

static bool pair_messages(struct joint_schedule *joint)
{
    size_t ranks = (size_t)joint->ranks, lanes = (size_t)joint->schedules[0]->lanes;
    size_t count = ranks * ranks * lanes;
    struct ends *all = take(joint, count, sizeof(*all));

    if (!all)
        return joint_fail(joint, OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++)
        all[i] = (struct ends){.first = {NO_OPERATION, NO_OPERATION},
                               .last = {NO_OPERATION, NO_OPERATION}};
    for (uint32_t g = 0; g < joint->count; g++) {
        const struct operation *operation = joint_operation(joint, g);
        size_t mine = (size_t)joint->rank[g], peer = (size_t)operation->peer;
        bool receives = operation->kind != OPERATION_SEND;

        joint->previous[g] = joint->next[g] = joint->partner[g] = joint->channel[g] = NO_OPERATION;
        if (!operation_travels(operation->kind))
            continue;
        struct ends *ends = &all[((receives ? peer * ranks + mine : mine * ranks + peer) * lanes) +
                                 (size_t)operation->lane];
        joint->previous[g] = ends->last[receives];
        if (ends->last[receives] == NO_OPERATION)
            ends->first[receives] = g;
        else
            joint->next[ends->last[receives]] = g;
        ends->last[receives] = g;
        ends->count[receives]++;
    }
    for (size_t i = 0; i < count; i++)
        if ((all[i].count[0] || all[i].count[1]) && !pair_channel(joint, &all[i]))
            return false;
    return true;
}

struct joint_schedule *joint_create(const struct schedule *const *schedules, int ranks, char *error,
                                    size_t size)
{
    struct arena *memory = arena_create();
    struct joint_schedule *joint = memory ? arena_take(memory, sizeof(*joint)) : NULL;

    if (!joint) {
        snprintf(error, size, OUT_OF_MEMORY);
        arena_free(memory);
        return NULL;
    }
    memset(joint, 0, sizeof(*joint));
    joint->schedules = schedules;
    joint->ranks = ranks;
    joint->memory = memory;
    joint->error = error;
    joint->error_size = size;

    bool right = number_ranks(joint) && take_tables(joint);
    for (int r = 0; right && r < ranks; r++)
        right = check_schedule(joint, r);
    right = right && index_operations(joint, joint->epoch_first[ranks]);
    for (int r = 0; right && r < ranks; r++)
        right = check_epochs(joint, r);
    if (!right || !pair_messages(joint)) {
        joint_free(joint);
        return NULL;
    }
    return joint;
}

void joint_free(struct joint_schedule *joint)
{
    if (joint)
        arena_free(joint->memory);
}

/* Running. */

void joint_reset(struct joint_schedule *joint)
{
    for (uint32_t i = 0; i < joint->epoch_first[joint->ranks]; i++)
        joint->epoch_left[i] = joint->members.start[i + 1] - joint->members.start[i];
    memset(joint->done, 0, joint->count * sizeof(*joint->done));
    joint->runnable[0].count = joint->runnable[1].count = 0;
    memset(joint->slot, 0xff, joint->count * sizeof(*joint->slot));
    for (uint32_t g = 0; g < joint->count; g++)
        joint_wake(joint, g);
}

uint32_t joint_closed_by(const struct joint_schedule *joint, uint32_t g)
{
    uint32_t before = joint->epoch_before[joint->epoch[g]];

    if (joint->previous[g] != NO_OPERATION && !joint_complete(joint, joint->previous[g]))
        return joint->previous[g];
    /* An epoch opens only when the one before it is complete, so that one is enough. */
    if (before != NO_OPERATION && joint->epoch_left[before])
        for (uint32_t i = joint->members.start[before]; i < joint->members.start[before + 1]; i++)
            if (!joint_complete(joint, joint->members.items[i]))
                return joint->members.items[i];
    return NO_OPERATION;
}

void joint_wake(struct joint_schedule *joint, uint32_t g)
{
    struct runnable_set *runnable = &joint->runnable[joint->lazy[g]];

    if (joint->slot[g] != NO_OPERATION || joint_complete(joint, g))
        return;
    joint->slot[g] = runnable->count;
    runnable->items[runnable->count++] = g;
}

void joint_sleep(struct joint_schedule *joint, uint32_t g)
{
    struct runnable_set *runnable = &joint->runnable[joint->lazy[g]];
    uint32_t slot = joint->slot[g];

    if (slot == NO_OPERATION)
        return;
    uint32_t last = runnable->items[--runnable->count];
    runnable->items[slot] = last;
    joint->slot[last] = slot;
    joint->slot[g] = NO_OPERATION;
}

static void wake_epoch_after(struct joint_schedule *joint, uint32_t g)
{
    uint32_t after = joint->epoch_after[joint->epoch[g]];

    if (after == NO_OPERATION)
        return;
    for (uint32_t i = joint->members.start[after]; i < joint->members.start[after + 1]; i++)
        joint_wake(joint, joint->members.items[i]);
}

void joint_advanced(struct joint_schedule *joint, uint32_t g)
{
    for (uint32_t i = joint->dependents.start[g]; i < joint->dependents.start[g + 1]; i++)
        joint_wake(joint, joint->dependents.items[i]);
    if (joint->partner[g] != NO_OPERATION)
        joint_wake(joint, joint->partner[g]);
    if (!joint_complete(joint, g))
        return;
    joint_sleep(joint, g);
    if (joint->next[g] != NO_OPERATION)
        joint_wake(joint, joint->next[g]);
    if (--joint->epoch_left[joint->epoch[g]] == 0)
        wake_epoch_after(joint, g);
}

/* Deadlock. */

#define CIRCLE_SHOWN 4

bool joint_fail_deadlock(struct joint_schedule *joint, const char *how,
                         holds_back_function *holds_back, void *context)
{
    uint32_t *order = take(joint, joint->count, sizeof(*order)), length = 0, g = 0;
    char circle_text[512];
    struct text text = text_in(circle_text, sizeof(circle_text));

    if (!order)
        return joint_fail(joint, OUT_OF_MEMORY);
    memset(order, 0xff, joint->count * sizeof(*order));
    while (joint_complete(joint, g))
        g++;
    for (; g != NO_OPERATION && order[g] == NO_OPERATION; g = holds_back(context, g))
        order[g] = length++;
    if (g == NO_OPERATION)
        return joint_fail(joint, "%s: nothing moves, and an operation waits for nothing", how);

    /* Every operation waits for another one, so the walk ends in a circle; g is on it. */
    uint32_t circle = length - order[g], at = g;
    for (uint32_t i = 0; i < circle && i < CIRCLE_SHOWN; i++, at = holds_back(context, at))
        text_add(&text, "%s%s",
                 i == 0   ? ""
                 : i == 1 ? " waits for "
                          : ", which waits for ",
                 joint_title(joint, at).text);
    if (circle > CIRCLE_SHOWN)
        return joint_fail(joint, "%s: %s, and so on in a circle of %u operations", how, circle_text,
                          circle);
    return joint_fail(joint, "%s: %s, which waits for the first", how, circle_text);
}

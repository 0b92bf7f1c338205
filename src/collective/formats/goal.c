/*
 * goal.c - schedules in GOAL, the text format of the simulator LogGOPSim.
 *
 * Each operation has a label, l and its index. What a message is combined with is a `calc` of its
 * own, c and the index, and so is a fence, f and the epoch. An operation requires those that it
 * waits for, and the fence of its epoch. A message starts after the one before it on its lane
 * (irequires); its tag is its number on the lane times the lanes, plus the lane, so that no two
 * messages of a pair have the same.
 */
#include "collective/formats/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/log.h"

/* The messages between this rank and one peer on one lane, one way. */
struct goal_lane {
    uint64_t messages;
    size_t last; /* the operation, if there are messages */
};

struct goal_rank {
    FILE *out;
    const struct schedule *schedule;
    size_t element;
    double calc;
    struct goal_lane *lanes; /* [peer * lanes + lane] of what is sent; then of what is received */
    size_t *required;        /* [operation]: 1 + the last operation that requires it */
};

void goal_begin(FILE *out, const char *title, int ranks)
{
    fprintf(out,
            "// %s\n// Written by cctest. l: an operation, c: its combining, f: a "
            "fence.\nnum_ranks %d\n",
            title, ranks);
}

static uint64_t calc_time(const struct goal_rank *g, const struct operation *operation)
{
    return (uint64_t)ceil((double)operation->length * (double)g->element * g->calc);
}

static bool combines_message(const struct operation *operation)
{
    return operation->kind == OPERATION_RECV_REDUCE;
}

/* The label that is complete when the operation is. */
static void put_label(const struct goal_rank *g, size_t index)
{
    fprintf(g->out, "%c%zu", combines_message(&g->schedule->operations[index]) ? 'c' : 'l', index);
}

static void put_message(const struct goal_rank *g, size_t index)
{
    const struct schedule *schedule = g->schedule;
    const struct operation *operation = &schedule->operations[index];
    bool sends = operation->kind == OPERATION_SEND;
    size_t lanes = (size_t)schedule->lanes, ranks = (size_t)schedule->problem.ranks;
    struct goal_lane *lane = &g->lanes[(sends ? 0 : ranks * lanes) +
                                       (size_t)operation->peer * lanes + (size_t)operation->lane];
    fprintf(g->out, "l%zu: %s %zub %s %d tag %" PRIu64 "\n", index, sends ? "send" : "recv",
            operation->length * g->element, sends ? "to" : "from", operation->peer,
            lane->messages * lanes + (size_t)operation->lane);
    if (lane->messages > 0)
        fprintf(g->out, "l%zu irequires l%zu\n", index, lane->last);
    lane->messages++;
    lane->last = index;
}

static void put_requirements(const struct goal_rank *g, size_t index)
{
    const struct operation *operation = &g->schedule->operations[index];
    for (size_t w = 0; w < operation->wait_count; w++) {
        size_t on = operation->waits[w].operation;
        if (g->required[on] == index + 1)
            continue;
        g->required[on] = index + 1;
        fprintf(g->out, "l%zu requires ", index);
        put_label(g, on);
        putc('\n', g->out);
    }
    if (g->schedule->epochs[operation->epoch].previous >= 0)
        fprintf(g->out, "l%zu requires f%" PRIu32 "\n", index, operation->epoch);
}

/* The fence before an epoch. */
static void put_fence_label(const struct goal_rank *g, uint32_t epoch)
{
    int before = g->schedule->epochs[epoch].previous;
    fprintf(g->out, "f%" PRIu32 ": calc 0\n", epoch);
    for (uint32_t i = 0; i < g->schedule->epochs[before].operations; i++) {
        fprintf(g->out, "f%" PRIu32 " requires ", epoch);
        put_label(g, g->schedule->epochs[before].members[i]);
        putc('\n', g->out);
    }
}

static void put_operation(const struct goal_rank *g, size_t index)
{
    const struct operation *operation = &g->schedule->operations[index];
    const struct epoch *epoch = &g->schedule->epochs[operation->epoch];
    if (epoch->previous >= 0 && epoch->members[0] == index)
        put_fence_label(g, operation->epoch);
    if (operation_travels(operation->kind))
        put_message(g, index);
    else
        fprintf(g->out, "l%zu: calc %" PRIu64 "\n", index, calc_time(g, operation));
    put_requirements(g, index);
    if (combines_message(operation))
        fprintf(g->out, "c%zu: calc %" PRIu64 "\nc%zu requires l%zu\n", index,
                calc_time(g, operation), index, index);
}

enum status goal_rank(FILE *out, const struct schedule *schedule, size_t element, double calc)
{
    size_t lanes = 2 * (size_t)schedule->problem.ranks * (size_t)schedule->lanes;
    struct goal_rank g = {.out = out,
                          .schedule = schedule,
                          .element = element,
                          .calc = calc,
                          .lanes = calloc(lanes, sizeof *g.lanes),
                          .required = calloc(schedule->count + 1, sizeof *g.required)};
    bool good = g.lanes && g.required;
    if (good) {
        fprintf(out, "\nrank %d {\n", schedule->rank);
        for (size_t i = 0; i < schedule->count; i++)
            put_operation(&g, i);
        fputs("}\n", out);
    }
    free(g.lanes);
    free(g.required);
    return good ? STATUS_OK
                : fail(STATUS_ERROR, "out of memory for the GOAL text of rank %d", schedule->rank);
}

/*
 * show.c - one schedule as text that a student can follow, and as JSON.
 */
#include "cli/plan/internal.h"

#include <inttypes.h>

#include "base/io/io.h"
#include "base/text.h"
#include "collective/collective.h"
#include "collective/formats/formats.h"

/* Text. */

#define RUNS_SHOWN 4

/* "source[0..2)"; a strided one "source[0..2) [4..6) [8..10)", long ones with "..." in the middle.
 */
static void print_span(FILE *out, const struct span *span)
{
    fputs(buffer_names[span->buffer], out);
    for (size_t t = 0; t < span->times; t++) {
        bool skips = span->times > RUNS_SHOWN && t == 2;
        if (skips) {
            fputs(" ...", out);
            t = span->times - 1;
        }
        size_t from = span->offset + t * span->stride;
        fprintf(out, "%s[%zu..%zu)", t ? " " : "", from, from + span->run);
    }
    if (span->times > RUNS_SHOWN)
        fprintf(out, " (%zu runs, %zu apart)", span->times, span->stride);
}

void plan_print_message(FILE *out, struct message message)
{
    for (size_t i = 0; i < message.count; i++) {
        if (i)
            fputs(", ", out);
        print_span(out, &message.spans[i]);
    }
}

static void print_operation(const struct schedule *schedule, size_t index)
{
    const struct operation *operation = &schedule->operations[index];
    static const char *const arrows[] = {
        [OPERATION_SEND] = "-> ", [OPERATION_RECV] = "<- ", [OPERATION_RECV_REDUCE] = "<-+"};
    printf("  %5zu  ", index);
    if (operation_travels(operation->kind)) {
        printf("%s %-4d ", arrows[operation->kind], operation->peer);
        if (schedule->lanes > 1)
            printf("lane %-2d ", operation->lane);
    } else {
        printf("%-8s ", operation_name(operation->kind));
        if (schedule->lanes > 1)
            printf("%-7s ", "");
    }
    if (operation->kind == OPERATION_SEND) {
        plan_print_message(stdout, operation->from);
    } else {
        plan_print_message(stdout, operation->to);
        if (operation->kind != OPERATION_RECV)
            printf(" = ");
        if (operation->kind == OPERATION_RECV_REDUCE)
            printf("message");
        else if (operation->kind != OPERATION_RECV)
            plan_print_message(stdout, operation->from);
        if (operation->kind == OPERATION_REDUCE || operation->kind == OPERATION_RECV_REDUCE) {
            printf(" + ");
            plan_print_message(stdout, operation->with);
        }
    }
    putchar('\n');
}

static void print_waits(const struct operation *operation)
{
    for (size_t w = 0; w < operation->wait_count; w++) {
        const struct wait *wait = &operation->waits[w];
        printf("%18swaits for %" PRIu32 ": its %zu..%zu before this one's %zu..%zu\n", "",
               wait->operation, wait->past, wait->past + wait->length - 1, wait->at,
               wait->at + wait->length - 1);
    }
}

static void print_rank_head(const struct schedule *schedule)
{
    printf("\nrank %d:", schedule->rank);
    for (int b = 0; b < BUFFERS; b++)
        if (schedule->extent[b])
            printf(" %s[0..%zu)", buffer_names[b], schedule->extent[b]);
    if (schedule->problem.in_place &&
        schedule->storage[BUFFER_SOURCE] == schedule->storage[BUFFER_DESTINATION])
        printf("; source[0] is where destination[0] %+td is",
               (ptrdiff_t)schedule->base[BUFFER_SOURCE] -
                   (ptrdiff_t)schedule->base[BUFFER_DESTINATION]);
    putchar('\n');
}

/* Messages and elements that this rank sends. */
static void plan_totals(const struct schedule *schedule, size_t *messages, size_t *elements)
{
    *messages = *elements = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        if (schedule->operations[i].kind != OPERATION_SEND)
            continue;
        *messages += 1;
        *elements += schedule->operations[i].length;
    }
}

void plan_print(const struct schedule *schedule, bool waits)
{
    print_rank_head(schedule);
    int step = -1;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        bool fenced = i && operation->epoch != schedule->operations[i - 1].epoch &&
                      schedule->epochs[operation->epoch].previous >= 0;
        if (operation->step != step)
            printf(" step %d%s\n", operation->step,
                   fenced ? " (starts when all earlier operations are complete)" : "");
        else if (fenced)
            puts("  ----- fence: later operations start when all earlier ones are complete");
        step = operation->step;
        print_operation(schedule, i);
        if (waits)
            print_waits(operation);
    }
    size_t messages, elements;
    plan_totals(schedule, &messages, &elements);
    printf(" sends %zu message%s, %zu element%s, in %d step%s\n", messages,
           plural(messages), elements, plural(elements), schedule->steps,
           plural(schedule->steps));
}

/* JSON. */

static json_t *message_json(struct message message)
{
    json_t *spans = json_array();
    for (size_t i = 0; i < message.count; i++) {
        const struct span *span = &message.spans[i];
        json_array_append_new(
            spans, json_pack("{s:s, s:I, s:I, s:I, s:I}", "buffer", buffer_names[span->buffer],
                             "offset", (json_int_t)span->offset, "run", (json_int_t)span->run,
                             "stride", (json_int_t)span->stride, "times", (json_int_t)span->times));
    }
    return spans;
}

static json_t *operation_json(const struct operation *operation, size_t index)
{
    json_t *waits = json_array();
    for (size_t w = 0; w < operation->wait_count; w++) {
        const struct wait *wait = &operation->waits[w];
        json_array_append_new(waits, json_pack("{s:I, s:I, s:I, s:I}", "operation",
                                               (json_int_t)wait->operation, "at",
                                               (json_int_t)wait->at, "past", (json_int_t)wait->past,
                                               "length", (json_int_t)wait->length));
    }
    json_t *line = json_pack("{s:I, s:s, s:i, s:I, s:I, s:o}", "index", (json_int_t)index, "kind",
                             operation_name(operation->kind), "step", operation->step, "epoch",
                             (json_int_t)operation->epoch, "length", (json_int_t)operation->length,
                             "waits", waits);
    if (operation_travels(operation->kind)) {
        json_object_set_new(line, "peer", json_integer(operation->peer));
        json_object_set_new(line, "lane", json_integer(operation->lane));
    }
    if (operation->kind != OPERATION_SEND)
        json_object_set_new(line, "to", message_json(operation->to));
    if (operation->kind != OPERATION_RECV && operation->kind != OPERATION_RECV_REDUCE)
        json_object_set_new(line, "from", message_json(operation->from));
    if (operation->kind == OPERATION_REDUCE || operation->kind == OPERATION_RECV_REDUCE)
        json_object_set_new(line, "with", message_json(operation->with));
    return line;
}

/* For each epoch the one before it in its scope; -1: none. */
static json_t *epochs_json(const struct schedule *schedule)
{
    json_t *epochs = json_array();
    for (size_t e = 0; e < schedule->epoch_count; e++)
        json_array_append_new(epochs, json_integer(schedule->epochs[e].previous));
    return epochs;
}

json_t *plan_json(const struct schedule *schedule)
{
    size_t messages, elements;
    plan_totals(schedule, &messages, &elements);
    json_t *operations = json_array(), *extents = json_object();
    for (int b = 0; b < BUFFERS; b++)
        json_object_set_new(extents, buffer_names[b],
                            json_integer((json_int_t)schedule->extent[b]));
    for (size_t i = 0; i < schedule->count; i++)
        json_array_append_new(operations, operation_json(&schedule->operations[i], i));
    return json_pack("{s:i, s:o, s:i, s:i, s:{s:I, s:I}, s:o, s:o}", "rank", schedule->rank,
                     "extents", extents, "lanes", schedule->lanes, "steps", schedule->steps, "sent",
                     "messages", (json_int_t)messages, "elements", (json_int_t)elements, "epochs",
                     epochs_json(schedule), "operations", operations);
}

/* Elements of the blocks, for forms with counts: a list, or one for each sender. */
static json_t *counts_json(const struct problem *problem)
{
    const struct collective *collective = problem->collective;
    bool matrix = collective->source.blocks && collective->destination.blocks;
    enum buffer side = collective->source.blocks ? BUFFER_SOURCE : BUFFER_DESTINATION;
    json_t *rows = json_array(), *row = rows;
    for (int from = 0; from < (matrix ? problem->ranks : 1); from++) {
        size_t offset;
        if (matrix)
            json_array_append_new(rows, row = json_array());
        for (int to = 0; to < problem->ranks; to++)
            json_array_append_new(
                row, json_integer((json_int_t)collective_block(problem, from, side, to, &offset)));
    }
    return rows;
}

static json_t *partners_json(const struct problem *problem)
{
    json_t *partners = json_array();
    for (int r = 0; r < problem->ranks; r++)
        json_array_append_new(partners, json_integer(problem->counts->to[r]));
    return partners;
}

json_t *plan_head_json(const struct choice *choice, const struct problem *problem,
                       const struct datatype *datatype, int channels)
{
    json_t *plan =
        json_pack("{s:s, s:s, s:o, s:i, s:I, s:I, s:s, s:i, s:b, s:i, s:[]}", "collective",
                  problem->collective->name, "algorithm", choice->algorithm->name,
                  "algorithm_options", choice_json(choice), "ranks", problem->ranks, "count",
                  (json_int_t)problem->count, "bytes",
                  (json_int_t)collective_bytes(problem, datatype->size), "datatype", datatype->name,
                  "root", problem->root, "in_place", problem->in_place, "channels", channels,
                  "schedules");
    if (problem->collective->counted)
        json_object_set_new(plan, "counts", counts_json(problem));
    else if (problem->counts)
        json_object_set_new(plan, "partners", partners_json(problem));
    return plan;
}

/*
 * show.c - one schedule as text that a student can follow.
 */
#include "cli/plan/internal.h"

#include <inttypes.h>

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
        printf("%-8s ", operation_names[operation->kind]);
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
    struct sent sent = schedule_sent(schedule);
    printf(" sends %zu message%s, %zu element%s, in %d step%s\n", sent.messages,
           plural(sent.messages), sent.elements, plural(sent.elements), schedule->steps,
           plural(schedule->steps));
}

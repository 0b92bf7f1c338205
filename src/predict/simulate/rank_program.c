/*
 * rank_program.c - one rank's schedule without addresses.
 */
#include "predict/simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

/* Elements of the shortest run of memory of a message. */
static size_t shortest_run(struct message message)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < message.count; i++)
        if (message.spans[i].run > 0 && message.spans[i].run < shortest)
            shortest = message.spans[i].run;
    return shortest == SIZE_MAX ? 0 : shortest;
}

static size_t elements_of(const struct schedule *schedule)
{
    size_t each[BUFFERS], sum = 0;
    schedule_bytes(schedule, 1, each);
    for (int b = 0; b < BUFFERS; b++)
        sum += each[b];
    return sum;
}

/* All in one piece of memory: the widest first, so that each part is aligned. */
static struct rank_program *program_create(const struct schedule *schedule, size_t waits)
{
    size_t at_waits = sizeof(struct rank_program);
    size_t at_operations = at_waits + waits * sizeof(struct wait);
    size_t at_epochs = at_operations + (schedule->count + 1) * sizeof(struct program_operation);
    size_t at_members = at_epochs + schedule->epoch_count * sizeof(struct program_epoch);
    size_t bytes = at_members + schedule->count * sizeof(uint32_t);
    char *memory = calloc(1, bytes);
    if (!memory)
        return NULL;
    struct rank_program *program = (struct rank_program *)(void *)memory;
    *program = (struct rank_program){
        .count = (uint32_t)schedule->count,
        .wait_count = (uint32_t)waits,
        .epoch_count = (uint32_t)schedule->epoch_count,
        .lanes = schedule->lanes,
        .elements = elements_of(schedule),
        .operations = (void *)(memory + at_operations),
        .waits = (void *)(memory + at_waits),
        .epochs = (void *)(memory + at_epochs),
        .members = (void *)(memory + at_members),
    };
    return program;
}

static void operations_fill(const struct schedule *schedule, struct program_operation *operations,
                            struct wait *waits, int32_t *peers)
{
    uint32_t wait = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *from = &schedule->operations[i];
        operations[i] = (struct program_operation){
            .length = from->length,
            .run = from->kind == OPERATION_SEND ? shortest_run(from->from) : 0,
            .first_wait = wait,
            .epoch = from->epoch,
            .step = from->step,
            .lane = (uint16_t)from->lane,
            .kind = (uint8_t)from->kind,
        };
        peers[i] = from->peer;
        for (size_t w = 0; w < from->wait_count; w++) {
            waits[wait++] = from->waits[w];
            operations[from->waits[w].operation].awaited = 1;
        }
    }
    operations[schedule->count].first_wait = wait;
}

static void epochs_fill(const struct schedule *schedule, struct program_epoch *epochs,
                        uint32_t *members)
{
    uint32_t member = 0;
    for (size_t e = 0; e < schedule->epoch_count; e++) {
        const struct epoch *from = &schedule->epochs[e];
        epochs[e] = (struct program_epoch){.previous = from->previous,
                                           .next = from->next,
                                           .operations = from->operations,
                                           .first_member = member};
        memcpy(members + member, from->members, from->operations * sizeof *members);
        member += from->operations;
    }
}

struct rank_program *rank_program_of(const struct schedule *schedule, int32_t **peers)
{
    size_t waits = 0;
    for (size_t i = 0; i < schedule->count; i++)
        waits += schedule->operations[i].wait_count;
    struct rank_program *program = program_create(schedule, waits);
    *peers = malloc((schedule->count + 1) * sizeof **peers);
    if (!program || !*peers) {
        free(program);
        free(*peers);
        *peers = NULL;
        return NULL;
    }
    operations_fill(schedule, program->operations, program->waits, *peers);
    epochs_fill(schedule, program->epochs, program->members);
    return program;
}

static bool waits_equal(const struct rank_program *a, const struct rank_program *b)
{
    for (uint32_t i = 0; i < a->wait_count; i++) {
        const struct wait *x = &a->waits[i], *y = &b->waits[i];
        if (x->operation != y->operation || x->at != y->at || x->past != y->past ||
            x->length != y->length)
            return false;
    }
    return true;
}

/* Operations and epochs have no padding. */
_Static_assert(sizeof(struct program_operation) == 2 * sizeof(size_t) + 4 * sizeof(uint32_t),
               "operations are compared as bytes");

bool rank_programs_equal(const struct rank_program *a, const struct rank_program *b)
{
    return a->count == b->count && a->wait_count == b->wait_count &&
           a->epoch_count == b->epoch_count && a->lanes == b->lanes &&
           a->elements == b->elements &&
           memcmp(a->operations, b->operations, (a->count + 1) * sizeof *a->operations) == 0 &&
           memcmp(a->epochs, b->epochs, a->epoch_count * sizeof *a->epochs) == 0 &&
           memcmp(a->members, b->members, a->count * sizeof *a->members) == 0 && waits_equal(a, b);
}

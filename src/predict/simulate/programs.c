/*
 * programs.c - the programs of all ranks, and whether one of them stands for all.
 */
#include "predict/simulate/simulate.h"

#include "base/log.h"
#include "base/numbers.h"
#include "collective/collective.h"

#include <stdlib.h>
#include <string.h>

/*
 * One rank's schedule without addresses.
 */
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

/* The program of a schedule, to be freed with free(); *peers: of each operation, -1 for local ones,
 * likewise. NULL: out of memory. */
static struct rank_program *rank_program_of(const struct schedule *schedule, int32_t **peers)
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

/* Do they differ in nothing? Then ranks of both do the same but for their peers. */
static bool rank_programs_equal(const struct rank_program *a, const struct rank_program *b)
{
    return a->count == b->count && a->wait_count == b->wait_count &&
           a->epoch_count == b->epoch_count && a->lanes == b->lanes && a->elements == b->elements &&
           memcmp(a->operations, b->operations, (a->count + 1) * sizeof *a->operations) == 0 &&
           memcmp(a->epochs, b->epochs, a->epoch_count * sizeof *a->epochs) == 0 &&
           memcmp(a->members, b->members, a->count * sizeof *a->members) == 0 && waits_equal(a, b);
}

/*
 * The programs of all ranks.
 */
int symmetry_peer(const struct programs *programs, enum symmetry symmetry, int rank, int peer)
{
    const struct shape *shape = programs->shape;
    int ranks = programs->ranks;
    switch (symmetry) {
    case SYMMETRY_RING:
        return (peer - rank + ranks) % ranks;
    case SYMMETRY_XOR:
        return peer ^ rank;
    case SYMMETRY_GROUPS: {
        int size = shape_size(shape, 0);
        int group = (shape->group[peer] - shape->group[rank] + shape->groups) % shape->groups;
        int place = (shape->local_rank[peer] - shape->local_rank[rank] + size) % size;
        return shape_rank(shape, group, place);
    }
    default:
        return peer;
    }
}

static bool symmetry_is_possible(const struct programs *programs, enum symmetry symmetry)
{
    const struct shape *shape = programs->shape;
    int ranks = programs->ranks;
    switch (symmetry) {
    case SYMMETRY_RING:
        return true;
    case SYMMETRY_XOR: /* else a flipped bit may lead out of the ranks */
        return (ranks & (ranks - 1)) == 0;
    case SYMMETRY_GROUPS:
        return shape && shape->uniform && shape_rank(shape, 0, 0) == 0;
    default:
        return false;
    }
}

/* The program of a rank of a group. */
static enum status program_build(const struct program_source *source, int group, int rank,
                                 struct rank_program **program, int32_t **peers)
{
    struct schedule *schedule;
    TRY(schedule_build(source->choice, &source->problem[group], rank, source->channels, true,
                       &schedule));
    *program = schedule->count < UINT32_MAX ? rank_program_of(schedule, peers) : NULL;
    schedule_free(schedule);
    return *program ? STATUS_OK
                    : fail(STATUS_ERROR, "out of memory for the programs of %d ranks: use fewer",
                           source->problem->ranks);
}

/* Does the rank do what rank 0 does, under this symmetry? */
static bool peers_match(const struct programs *programs, const struct program_source *source,
                        enum symmetry symmetry, int rank, const int32_t *peers)
{
    const struct rank_program *program = programs->program[0];
    const int32_t *first = programs->peers[0];
    for (uint32_t i = 0; i < program->count; i++) {
        if ((first[i] < 0) != (peers[i] < 0))
            return false;
        if (peers[i] < 0)
            continue;
        if (symmetry_peer(programs, symmetry, rank, peers[i]) != first[i] ||
            (source->kind && source->kind(source->context, 0, first[i]) !=
                                 source->kind(source->context, rank, peers[i])))
            return false;
    }
    return true;
}

/* The peer of a rank that is as far from it as rank 0's peer `first` from rank 0. */
static int peer_at(const struct programs *programs, enum symmetry symmetry, int rank, int first)
{
    const struct shape *shape = programs->shape;
    switch (symmetry) {
    case SYMMETRY_RING:
        return (rank + first) % programs->ranks;
    case SYMMETRY_XOR:
        return rank ^ first;
    case SYMMETRY_GROUPS:
        return shape_rank(shape, (shape->group[rank] + shape->group[first]) % shape->groups,
                          (shape->local_rank[rank] + shape->local_rank[first]) %
                              shape_size(shape, 0));
    default:
        return first;
    }
}

/* Are the peers of all ranks, at the distances of rank 0's, of the kinds of rank 0's? */
static bool kinds_match(const struct programs *programs, const struct program_source *source,
                        enum symmetry symmetry)
{
    const struct rank_program *program = programs->program[0];
    const int32_t *first = programs->peers[0];
    bool *met = calloc((size_t)programs->ranks, sizeof *met), match = met != NULL;
    for (uint32_t i = 0; i < program->count && match; i++) {
        if (first[i] < 0 || met[first[i]])
            continue;
        met[first[i]] = true;
        int kind = source->kind(source->context, 0, first[i]);
        for (int rank = 1; rank < programs->ranks && match; rank++)
            match = source->kind(source->context, rank,
                                 peer_at(programs, symmetry, rank, first[i])) == kind;
    }
    free(met);
    return match;
}

/* The programs that are compared with rank 0's: of an algorithm that says that its ranks are alike,
 * few of them are. */
#define COMPARED_MOST 16
static bool all_are_compared(const struct program_source *source)
{
    const struct problem *problem = source->problem;
    return !source->choice->algorithm->alike || problem->counts || problem->ring_place ||
           problem->ranks <= COMPARED_MOST;
}

/* The next rank that is compared, behind this one: of few, the first and the last ones, and some
 * between them, both odd and even. */
static int next_compared(const struct program_source *source, int rank)
{
    int ranks = source->problem->ranks, few = COMPARED_MOST / 4;
    if (all_are_compared(source) || rank < few || rank >= ranks - few)
        return rank + 1;
    int apart = ranks / (COMPARED_MOST / 2) | 1;
    return rank + apart < ranks - few ? rank + apart : ranks - few;
}

/* Finds a symmetry that holds for all ranks; keeps only the program of rank 0. */
static enum status symmetry_find(const struct program_source *source, struct programs *programs)
{
    bool holds[SYMMETRIES];
    int left = 0;
    for (int s = 0; s < SYMMETRIES; s++)
        left += holds[s] = symmetry_is_possible(programs, (enum symmetry)s);
    for (int rank = 1; rank < programs->ranks && left > 0; rank = next_compared(source, rank)) {
        struct rank_program *program;
        int32_t *peers;
        TRY(program_build(source, 0, rank, &program, &peers));
        bool equal = rank_programs_equal(program, programs->program[0]);
        for (int s = 0; s < SYMMETRIES; s++)
            if (holds[s] &&
                (!equal || !peers_match(programs, source, (enum symmetry)s, rank, peers))) {
                holds[s] = false;
                left--;
            }
        free(program);
        free(peers);
    }
    bool few = source->kind && !all_are_compared(source);
    for (int s = SYMMETRIES - 1; s >= 0; s--)
        if (holds[s] && (!few || kinds_match(programs, source, (enum symmetry)s)))
            programs->symmetry = (enum symmetry)s;
    return STATUS_OK;
}

/* The programs of ranks that are equal are held once: a table by their hash, with open
 * addressing. */
struct known {
    struct rank_program **slots;
    size_t size; /* a power of two; at most half of it is full */
};

static uint64_t program_hash(const struct rank_program *program)
{
    uint64_t hash = hash_bytes(HASH_BEGIN, &program->count, sizeof program->count);
    for (uint32_t i = 0; i < program->count; i++) { /* enough to tell most programs apart */
        const struct program_operation *operation = &program->operations[i];
        uint64_t word = operation->length ^ (uint64_t)operation->kind << 60 ^
                        (uint64_t)operation->first_wait << 32;
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

/* The program that is known and equal, else this one, which is known from now on. */
static struct rank_program *known_add(struct known *known, struct rank_program *program)
{
    size_t at = program_hash(program) & (known->size - 1);
    while (known->slots[at] && !rank_programs_equal(known->slots[at], program))
        at = (at + 1) & (known->size - 1);
    if (!known->slots[at])
        known->slots[at] = program;
    return known->slots[at];
}

static enum status operations_check(const struct program_source *source, int ranks,
                                    size_t operations)
{
    if (operations <= source->operations_most)
        return STATUS_OK;
    return fail(STATUS_USAGE,
                "%d rank%s %zu operations or more, and there is memory to simulate %zu: use fewer "
                "ranks",
                ranks, ranks == 1 ? " has" : "s have", operations, source->operations_most);
}

#define ESTIMATE_MARGIN                                                                            \
    2 /* what comes near to the limit is counted while the programs are written */

/* Before all programs are written: by the fewest operations of some ranks. Rank 0, as a root, may
 * have many more than others. */
static enum status operations_estimate(const struct program_source *source,
                                       const struct programs *programs)
{
    size_t fewest = programs->program[0]->count, ranks = (size_t)programs->ranks;
    int last = source->problem->ranks - 1;
    for (int i = 1; i <= 3 && fewest * ranks > source->operations_most; i++) {
        struct rank_program *program;
        int32_t *peers;
        TRY(program_build(source, 0, (int)((long)i * last / 3), &program, &peers));
        fewest = program->count < fewest ? program->count : fewest;
        free(program);
        free(peers);
    }
    return operations_check(source, programs->ranks, fewest * ranks / ESTIMATE_MARGIN);
}

/* Keeps the programs of the ranks of a group, each at its place among the job's. */
static enum status group_hold(const struct program_source *source, int group, struct known *known,
                              struct programs *programs)
{
    const struct problem *problem = &source->problem[group];
    enum status status = STATUS_OK;
    for (int rank = 0; rank < problem->ranks && status == STATUS_OK; rank++) {
        int member = problem_member(problem, rank);
        struct rank_program *program;
        if (programs->program[member]) /* rank 0's */
            continue;
        status = program_build(source, group, rank, &program, &programs->peers[member]);
        if (status != STATUS_OK)
            break;
        programs->program[member] = known_add(known, program);
        if (programs->program[member] == program)
            programs->distinct[programs->distinct_count++] = program;
        else
            free(program);
        programs->held++;
        programs->operations += programs->program[member]->count;
        status = operations_check(source, programs->ranks, programs->operations);
    }
    return status;
}

static enum status programs_hold(const struct program_source *source, struct programs *programs)
{
    struct known known = {.size = 4};
    while (known.size < 2 * (size_t)programs->ranks)
        known.size *= 2;
    known.slots = calloc(known.size, sizeof *known.slots);
    if (!known.slots)
        return fail(STATUS_ERROR, "out of memory for the programs of %d ranks", programs->ranks);
    enum status status = STATUS_OK;
    known_add(&known, programs->program[0]);
    for (int group = 0; group < source->groups && status == STATUS_OK; group++)
        status = group_hold(source, group, &known, programs);
    free(known.slots);
    return status;
}

enum status programs_open(const struct program_source *source, struct programs *programs)
{
    size_t ranks = (size_t)source->problem->ranks * (size_t)source->groups;
    *programs = (struct programs){.ranks = (int)ranks,
                                  .program = calloc(ranks, sizeof *programs->program),
                                  .peers = calloc(ranks, sizeof *programs->peers),
                                  .distinct = calloc(ranks, sizeof *programs->distinct),
                                  .shape = source->problem->shape};
    enum status status = STATUS_OK;
    if (!programs->program || !programs->peers || !programs->distinct)
        status = fail(STATUS_ERROR, "out of memory for the programs of %zu ranks", ranks);
    if (status == STATUS_OK) /* the groups are in the order of their first ranks */
        status = program_build(source, 0, 0, &programs->program[0], &programs->peers[0]);
    if (status == STATUS_OK) {
        programs->distinct[programs->distinct_count++] = programs->program[0];
        programs->held = 1;
        programs->operations = programs->program[0]->count;
        if (source->symmetric && ranks > 1 && source->groups == 1)
            status = symmetry_find(source, programs);
    }
    if (status == STATUS_OK)
        status = programs->symmetry == SYMMETRY_NONE
                     ? operations_estimate(source, programs)
                     : operations_check(source, 1, programs->operations);
    if (status == STATUS_OK && programs->symmetry == SYMMETRY_NONE)
        status = programs_hold(source, programs);
    if (status != STATUS_OK)
        programs_close(programs);
    return status;
}

void programs_close(struct programs *programs)
{
    for (int i = 0; programs->distinct && i < programs->distinct_count; i++)
        free(programs->distinct[i]);
    for (int i = 0; programs->peers && i < programs->ranks; i++)
        free(programs->peers[i]);
    free(programs->distinct);
    free(programs->program);
    free(programs->peers);
    *programs = (struct programs){0};
}

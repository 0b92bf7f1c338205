/*
 * verify.c - runs the schedules of all ranks on symbols, with unbuffered channels and whole
 * operations.
 *
 * A message moves when both of its ends are ready. So a schedule that completes here needs no
 * buffers on its links. By the streaming rule (schedule.h) it then completes, with the same data,
 * on links of any kind.
 */
#include "collective/prove/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verifier {
    struct joint_schedule *joint;
    struct symbols *symbols;
    uint32_t *sources;    /* [rank]: the symbol of its source's element 0 */
    uint32_t *memory;     /* the symbols of all elements of all ranks */
    uint32_t *in[2];      /* an operation's inputs */
    uint32_t *mark;       /* [element of memory]: the operation + 1 that last wrote it */
    size_t *position;     /* ... and the index in its target */
    uint32_t *waits_past; /* [operation]: how many of its waits are known to be over */
    uint32_t *combined;   /* [source element]: all ranks' combined; 0: not seen yet */
    uint32_t **origins;   /* [operation]: of its elements; NULL: nobody asks */
};

/* Preparation. */

static bool prepare_sources(struct verifier *v)
{
    struct joint_schedule *joint = v->joint;
    uint64_t next = 1;

    for (int r = 0; r < joint->ranks; r++) {
        size_t extent = joint->schedules[r]->extent[BUFFER_SOURCE];
        size_t index = joint->start[r * BUFFERS + BUFFER_SOURCE];

        v->sources[r] = (uint32_t)next;
        if (extent >= SYMBOL_FAILED / 2 - next)
            return joint_fail(joint, "too many elements to be verified: use a smaller count");
        for (size_t i = 0; i < extent; i++)
            v->memory[index + i] = (uint32_t)next++;
    }
    v->sources[joint->ranks] = (uint32_t)next;
    return true;
}

static bool prepare(struct verifier *v, bool idempotent)
{
    struct joint_schedule *joint = v->joint;
    size_t longest = 0, source = 0;

    for (uint32_t g = 0; g < joint->count; g++)
        longest = joint->length[g] > longest ? joint->length[g] : longest;
    for (int r = 0; r < joint->ranks; r++)
        if (joint->schedules[r]->extent[BUFFER_SOURCE] > source)
            source = joint->schedules[r]->extent[BUFFER_SOURCE];

    size_t words =
        (size_t)joint->ranks + 1 + 2 * joint->elements + 2 * longest + joint->count + source;
    uint32_t *word = arena_take(joint->memory, words * sizeof(*word));
    v->position = arena_take(joint->memory, joint->elements * sizeof(*v->position));
    if (!word || !v->position)
        return joint_fail(joint, OUT_OF_MEMORY);
    memset(word, 0, words * sizeof(*word)); /* SYMBOL_UNWRITTEN everywhere */
    v->sources = word;
    v->memory = v->sources + joint->ranks + 1;
    v->mark = v->memory + joint->elements;
    v->in[0] = v->mark + joint->elements;
    v->in[1] = v->in[0] + longest;
    v->waits_past = v->in[1] + longest;
    v->combined = v->waits_past + joint->count;
    if (!prepare_sources(v))
        return false;
    v->symbols = symbols_create(joint->memory, v->sources[joint->ranks] - 1, idempotent);
    return v->symbols || joint_fail(joint, OUT_OF_MEMORY);
}

/* "destination element 5": an element of a message, by its buffer. */
static struct title element_title(const struct message *message, size_t element)
{
    const struct span *span = message->spans;
    struct title title;

    while (element >= span->run * span->times) {
        element -= span->run * span->times;
        span++;
    }
    snprintf(title.text, sizeof(title.text), "%s element %zu", buffer_names[span->buffer],
             span_element(span, element));
    return title;
}

/* Operations. */

static bool read_message(struct verifier *v, uint32_t g, const struct message *message,
                         uint32_t *to)
{
    struct joint_schedule *joint = v->joint;
    struct walk walk = joint_walk(joint, joint->rank[g], message);
    size_t length = joint->length[g];

    for (size_t i = 0; i < length; i++) {
        to[i] = v->memory[walk_next(&walk)];
        if (to[i] == SYMBOL_UNWRITTEN)
            return joint_fail(joint, "%s reads %s, which was never written",
                              joint_title(joint, g).text, element_title(message, i).text);
    }
    return true;
}

static bool combine_inputs(struct verifier *v, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        v->in[0][i] = symbol_union(v->symbols, v->in[0][i], v->in[1][i]);
        if (v->in[0][i] == SYMBOL_FAILED)
            return joint_fail(v->joint, OUT_OF_MEMORY);
    }
    return true;
}

/* A target equals an input of the operation or is disjoint from it. */
static bool target_apart(struct verifier *v, uint32_t g, const struct message *input,
                         const char *name)
{
    struct joint_schedule *joint = v->joint;
    struct walk walk = joint_walk(joint, joint->rank[g], input);
    size_t length = joint->length[g], shared = 0;

    if (!input->count)
        return true;
    for (size_t i = 0; i < length; i++) {
        size_t index = walk_next(&walk);

        if (v->mark[index] != g + 1)
            continue;
        shared++;
        if (v->position[index] != i)
            return joint_fail(joint,
                              "%s writes over its own input: %s is element %zu of its target "
                              "and element %zu of its '%s'",
                              joint_title(joint, g).text, element_title(input, i).text,
                              v->position[index], i, name);
    }
    if (shared && shared < length)
        return joint_fail(joint,
                          "%s has a target that is partly its '%s': it must be all or nothing",
                          joint_title(joint, g).text, name);
    return true;
}

static bool write_target(struct verifier *v, uint32_t g)
{
    struct joint_schedule *joint = v->joint;
    const struct operation *operation = joint_operation(joint, g);
    struct walk walk = joint_walk(joint, joint->rank[g], &operation->to);

    for (size_t i = 0; i < operation->to.count; i++)
        if (operation->to.spans[i].buffer == BUFFER_SOURCE)
            return joint_fail(
                joint, "%s writes source element %zu, but only the destination is for results",
                joint_title(joint, g).text, operation->to.spans[i].offset);
    for (size_t i = 0; i < operation->length; i++) {
        size_t index = walk_next(&walk);

        if (v->mark[index] == g + 1)
            return joint_fail(joint, "%s writes %s twice", joint_title(joint, g).text,
                              element_title(&operation->to, i).text);
        v->mark[index] = g + 1;
        v->position[index] = i;
        v->memory[index] = v->in[0][i];
    }
    return target_apart(v, g, &operation->from, "from") &&
           target_apart(v, g, &operation->with, "with");
}

/* Notes where the elements of an operation come from: what it reads is in in[0]. */
static void note_origins(struct verifier *v, uint32_t g)
{
    size_t length = v->joint->length[g], terms;

    for (size_t i = 0; v->origins && i < length; i++)
        v->origins[g][i] = symbol_terms(v->symbols, v->in[0][i], &terms)->contribution - 1;
}

/* Executes a ready operation; a send together with its receive. */
static bool execute(struct verifier *v, uint32_t g)
{
    struct joint_schedule *joint = v->joint;
    uint32_t partner = joint->partner[g];
    bool sends = joint_operation(joint, g)->kind == OPERATION_SEND;
    uint32_t reader = partner == NO_OPERATION || sends ? g : partner;
    uint32_t writer = partner == NO_OPERATION || !sends ? g : partner;
    const struct operation *target = joint_operation(joint, writer);

    if (!read_message(v, reader, &joint_operation(joint, reader)->from, v->in[0]))
        return false;
    note_origins(v, g);
    if (partner != NO_OPERATION)
        note_origins(v, partner);
    if (target->with.count &&
        (!read_message(v, writer, &target->with, v->in[1]) || !combine_inputs(v, target->length)))
        return false;
    if (!write_target(v, writer))
        return false;
    joint->done[g] = target->length;
    if (partner != NO_OPERATION)
        joint->done[partner] = target->length;
    joint_advanced(joint, g);
    if (partner != NO_OPERATION)
        joint_advanced(joint, partner);
    return true;
}

/* The operation of the same rank that keeps this one from being ready; NO_OPERATION: none. */
static uint32_t held_back_here(struct verifier *v, uint32_t g)
{
    struct joint_schedule *joint = v->joint;
    const struct operation *operation = joint_operation(joint, g);
    uint32_t closed_by = joint_closed_by(joint, g), first = joint->first[joint->rank[g]];

    if (closed_by != NO_OPERATION)
        return closed_by;
    for (uint32_t *i = &v->waits_past[g]; *i < operation->wait_count; ++*i)
        if (!joint_complete(joint, first + operation->waits[*i].operation))
            return first + operation->waits[*i].operation;
    return NO_OPERATION;
}

static uint32_t held_back(void *context, uint32_t g)
{
    struct verifier *v = context;
    uint32_t here = held_back_here(v, g);

    return here != NO_OPERATION ? here : v->joint->partner[g];
}

static bool run(struct verifier *v)
{
    struct joint_schedule *joint = v->joint;
    uint32_t complete = 0;

    joint_reset(joint);
    while (joint->runnable[0].count) {
        uint32_t g = joint->runnable[0].items[joint->runnable[0].count - 1],
                 partner = joint->partner[g];

        joint_sleep(joint, g);
        if (held_back_here(v, g) != NO_OPERATION ||
            (partner != NO_OPERATION && held_back_here(v, partner) != NO_OPERATION))
            continue;
        if (!execute(v, g))
            return false;
        complete += partner == NO_OPERATION ? 1 : 2;
    }
    return complete == joint->count || joint_fail_deadlock(joint, "deadlock", held_back, v);
}

/* The contract. */

static int contribution_rank(const struct verifier *v, uint32_t contribution)
{
    int rank = 0;

    while (v->sources[rank + 1] <= contribution)
        rank++;
    return rank;
}

/* "rank 3's source element 5" */
static struct title contribution_title(const struct verifier *v, uint32_t contribution)
{
    struct title title;
    int rank = contribution_rank(v, contribution);

    snprintf(title.text, sizeof(title.text), "rank %d's source element %u", rank,
             contribution - v->sources[rank]);
    return title;
}

/* Words the difference between a destination element and its expectation. `missing` and `foreign`
 * are contributions, 0: none. */
static bool fail_element(struct verifier *v, int rank, size_t element, uint32_t missing,
                         uint32_t foreign)
{
    struct joint_schedule *joint = v->joint;

    if (!foreign)
        return joint_fail(joint,
                          "rank %d's destination element %zu: the contribution of rank %d is "
                          "missing (%s)",
                          rank, element, contribution_rank(v, missing),
                          contribution_title(v, missing).text);
    if (!missing)
        return joint_fail(joint,
                          "rank %d's destination element %zu holds %s, which does not belong "
                          "there",
                          rank, element, contribution_title(v, foreign).text);
    bool element_only = contribution_rank(v, missing) == contribution_rank(v, foreign);
    return joint_fail(joint,
                      "rank %d's destination element %zu holds %s, of the wrong %s: the "
                      "contract wants %s",
                      rank, element, contribution_title(v, foreign).text,
                      element_only ? "element" : "rank", contribution_title(v, missing).text);
}

/* Compares one element with ranks first .. last's source element `from`, each once. */
static bool check_element(struct verifier *v, int rank, size_t element, int first, int last,
                          size_t from)
{
    struct joint_schedule *joint = v->joint;
    uint32_t value = v->memory[joint->start[rank * BUFFERS + BUFFER_DESTINATION] + element];
    uint32_t missing = 0, foreign = 0;
    size_t count, i = 0;

    if (value == SYMBOL_UNWRITTEN)
        return joint_fail(joint, "rank %d's destination element %zu was never written", rank,
                          element);
    const struct term *terms = symbol_terms(v->symbols, value, &count);
    for (int r = first; r <= last || i < count;) {
        uint32_t wanted = r <= last ? v->sources[r] + (uint32_t)from : UINT32_MAX;
        uint32_t held = i < count ? terms[i].contribution : UINT32_MAX;

        if (wanted < held) {
            /* Prefer a missing contribution of the same rank as the foreign one. */
            if (!missing || (foreign && contribution_rank(v, foreign) == r))
                missing = wanted;
        } else if (held < wanted) {
            foreign = foreign ? foreign : held;
        } else if (terms[i].times > 1) {
            return joint_fail(joint,
                              "rank %d's destination element %zu: the contribution of rank %d "
                              "is in it %u times (%s)",
                              rank, element, contribution_rank(v, held), terms[i].times,
                              contribution_title(v, held).text);
        }
        r += wanted <= held;
        i += held <= wanted;
    }
    return (!missing && !foreign) || fail_element(v, rank, element, missing, foreign);
}

static bool check_contract(struct verifier *v, int rank)
{
    const struct problem *problem = &v->joint->schedules[rank]->problem;
    const uint32_t *memory = &v->memory[v->joint->start[rank * BUFFERS + BUFFER_DESTINATION]];
    struct expectation expected;

    for (int i = 0; collective_expects(problem, rank, i, &expected); i++) {
        bool every = expected.rank == EVERY_RANK;
        int first = every ? 0 : expected.rank, last = every ? v->joint->ranks - 1 : expected.rank;

        for (size_t k = 0; k < expected.length; k++) {
            size_t from = expected.from + k;
            uint32_t value = memory[expected.at + k];

            /* Fast path: equal symbols have equal numbers, and most elements repeat. */
            if (value && value == (every ? v->combined[from] : v->sources[first] + (uint32_t)from))
                continue;
            if (!check_element(v, rank, expected.at + k, first, last, from))
                return false;
            if (every)
                v->combined[from] = value;
        }
    }
    return true;
}

static bool count_traffic(const struct schedule *const *schedules, int ranks,
                          struct verification *verification)
{
    verification->messages = calloc((size_t)ranks, sizeof(*verification->messages));
    verification->elements = calloc((size_t)ranks, sizeof(*verification->elements));
    if (!verification->messages || !verification->elements)
        return false;
    for (int r = 0; r < ranks; r++) {
        if (schedules[r]->steps > verification->steps)
            verification->steps = schedules[r]->steps;
        for (size_t i = 0; i < schedules[r]->count; i++)
            if (schedules[r]->operations[i].kind == OPERATION_SEND) {
                verification->messages[r]++;
                verification->elements[r] += schedules[r]->operations[i].length;
            }
    }
    return true;
}

/* Each operation's part of its rank's array. */
static bool prepare_origins(struct verifier *v, uint32_t *const *origins)
{
    struct joint_schedule *joint = v->joint;

    if (!origins)
        return true;
    v->origins = arena_take(joint->memory, (joint->count + 1) * sizeof(*v->origins));
    for (int r = 0; v->origins && r < joint->ranks; r++) {
        uint32_t *at = origins[r];

        for (uint32_t g = joint->first[r]; g < joint->first[r + 1]; at += joint->length[g++])
            v->origins[g] = at;
    }
    return v->origins || joint_fail(joint, OUT_OF_MEMORY);
}

void verify_origins(const struct schedule *const *schedules, int ranks, bool idempotent,
                    uint32_t *const *origins, struct verification *verification)
{
    memset(verification, 0, sizeof(*verification));
    if (!count_traffic(schedules, ranks, verification)) {
        snprintf(verification->error, sizeof(verification->error), OUT_OF_MEMORY);
        return;
    }
    struct verifier v = {
        .joint = joint_create(schedules, ranks, verification->error, sizeof(verification->error))};
    if (!v.joint)
        return;
    verification->right = prepare(&v, idempotent) && prepare_origins(&v, origins) && run(&v);
    for (int r = 0; r < ranks && verification->right; r++)
        verification->right = check_contract(&v, r);
    joint_free(v.joint);
}

void verify(const struct schedule *const *schedules, int ranks, bool idempotent,
            struct verification *verification)
{
    verify_origins(schedules, ranks, idempotent, NULL, verification);
}

void verification_free(struct verification *verification)
{
    free(verification->messages);
    free(verification->elements);
    verification->messages = verification->elements = NULL;
}

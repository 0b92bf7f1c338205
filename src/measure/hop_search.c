/*
 * hop_search.c - follows one element back through the schedules of all ranks, and computes it again
 * with a flipped bit.
 */
#include "measure/hop_search.h"

#include <stdlib.h>
#include <string.h>

#include "check/pattern.h"
#include "memory/reduce.h"
#include "schedule/provenance.h"

#define RANKS_MOST 64 /* jobs of more are not looked into: the schedules of all are built */
#define NODES_MOST 4096
#define TRIES_MOST 20000000 /* nodes that are computed in all */

enum node_kind { NODE_SOURCE, NODE_HOP, NODE_COMBINE, NODE_FINISH };

/* What an operation has made of the element. */
struct node {
    enum node_kind kind;
    int rank;
    size_t operation, position; /* NODE_SOURCE: the element, in `position` */
    int from, with;             /* nodes; they stand before this one */
    _Alignas(16) unsigned char value[DATATYPE_SIZE_MOST];
};

struct retrace {
    const struct hop_question *question;
    struct schedule *schedules[RANKS_MOST];
    int roots[RANKS_MOST]; /* nodes; -1: the rank is no witness */
    struct node *nodes;
    int count;
    bool is_complete; /* every element has come from somewhere, and there was room */
};

static int retrace_find(const struct retrace *retrace, const struct node *like)
{
    for (int i = 0; i < retrace->count; i++) {
        const struct node *node = &retrace->nodes[i];
        if (node->kind == like->kind && node->rank == like->rank &&
            node->operation == like->operation && node->position == like->position)
            return i;
    }
    return -1;
}

static int retrace_add(struct retrace *retrace, const struct node *node)
{
    if (retrace->count == NODES_MOST) {
        retrace->is_complete = false;
        return 0;
    }
    retrace->nodes[retrace->count] = *node;
    return retrace->count++;
}

/* The send that belongs to a receive: the one of the same number on its lane. */
static size_t send_of(const struct retrace *retrace, int rank, size_t receive)
{
    const struct schedule *schedule = retrace->schedules[rank];
    const struct operation *operation = &schedule->operations[receive];
    const struct schedule *other = retrace->schedules[operation->peer];
    size_t number = 0, i;
    for (i = 0; i < receive; i++)
        number += operation_travels(schedule->operations[i].kind) &&
                  schedule->operations[i].kind != OPERATION_SEND &&
                  schedule->operations[i].peer == operation->peer &&
                  schedule->operations[i].lane == operation->lane;
    for (i = 0; i < other->count; i++)
        if (other->operations[i].kind == OPERATION_SEND && other->operations[i].peer == rank &&
            other->operations[i].lane == operation->lane && number-- == 0)
            break;
    return i;
}

static int node_of_place(struct retrace *retrace, int rank, size_t before, int storage, size_t at);

/* What stands at `position` of a message that operation `index` of `rank` reads. */
static int node_of_message(struct retrace *retrace, int rank, size_t index, struct message message,
                           size_t position)
{
    int storage;
    size_t at;
    message_locate(retrace->schedules[rank], message, position, &storage, &at);
    return node_of_place(retrace, rank, index, storage, at);
}

static int node_of_hop(struct retrace *retrace, int rank, size_t index, size_t position)
{
    const struct operation *operation = &retrace->schedules[rank]->operations[index];
    struct node node = {.kind = NODE_HOP, .rank = rank, .operation = index, .position = position};
    int known = retrace_find(retrace, &node);
    if (known >= 0)
        return known;
    size_t send = send_of(retrace, rank, index);
    const struct schedule *other = retrace->schedules[operation->peer];
    if (send == other->count) {
        retrace->is_complete = false;
        return 0;
    }
    node.from =
        node_of_message(retrace, operation->peer, send, other->operations[send].from, position);
    return retrace_add(retrace, &node);
}

/* What operation `index` has written at `position`. */
static int node_of_operation(struct retrace *retrace, int rank, size_t index, size_t position)
{
    const struct operation *operation = &retrace->schedules[rank]->operations[index];
    struct node node = {.rank = rank, .operation = index, .position = position};
    switch (operation->kind) {
    case OPERATION_COPY:
        return node_of_message(retrace, rank, index, operation->from, position);
    case OPERATION_RECV:
        return node_of_hop(retrace, rank, index, position);
    case OPERATION_FINISH:
        node.kind = NODE_FINISH;
        break;
    default:
        node.kind = NODE_COMBINE;
    }
    int known = retrace_find(retrace, &node);
    if (known >= 0)
        return known;
    if (node.kind == NODE_COMBINE)
        node.with = node_of_message(retrace, rank, index, operation->with, position);
    node.from = operation->kind == OPERATION_RECV_REDUCE
                    ? node_of_hop(retrace, rank, index, position)
                    : node_of_message(retrace, rank, index, operation->from, position);
    return retrace_add(retrace, &node);
}

/* What stands in a storage before operation `before`. */
static int node_of_place(struct retrace *retrace, int rank, size_t before, int storage, size_t at)
{
    const struct schedule *schedule = retrace->schedules[rank];
    if (!retrace->is_complete)
        return 0;
    for (size_t i = before; i-- > 0;) {
        size_t position = message_find(schedule, schedule->operations[i].to, storage, at);
        if (position != SIZE_MAX)
            return node_of_operation(retrace, rank, i, position);
    }
    struct node node = {
        .kind = NODE_SOURCE, .rank = rank, .position = at - schedule->base[BUFFER_SOURCE]};
    if (storage != schedule->storage[BUFFER_SOURCE] ||
        node.position >= schedule->extent[BUFFER_SOURCE])
        retrace->is_complete = false;
    int known = retrace_find(retrace, &node);
    return known >= 0 ? known : retrace_add(retrace, &node);
}

/* Does the combination take the message of this node as it arrives? */
static bool node_takes(const struct retrace *retrace, const struct node *node, int hop)
{
    const struct operation *operation =
        &retrace->schedules[node->rank]->operations[node->operation];
    return operation->kind == OPERATION_RECV_REDUCE && node->from == hop;
}

#define WHOLE (-1) /* in place of a bit: nothing happens */
#define LOST  (-2) /* the message does not arrive */

/* Computes the nodes from `first` on, to which this happens: the flip of a bit, or what stands
 * above. A message that is not combined leaves the other operand. */
static void retrace_compute(struct retrace *retrace, int first, int bit)
{
    const struct inputs *inputs = retrace->question->inputs;
    const struct datatype *type = inputs->datatype;
    reduce_function *reduce = reduce_kernel(type, inputs->reduction);
    finish_function *finish = finish_kernel(type, inputs->reduction);
    for (int i = first; i < retrace->count; i++) {
        struct node *node = &retrace->nodes[i];
        const unsigned char *from = retrace->nodes[node->from].value;
        if (node->kind == NODE_SOURCE)
            inputs_make(inputs, node->rank, node->position, 1, node->value);
        else if (node->kind == NODE_HOP)
            memcpy(node->value, from, type->size);
        else if (node->kind == NODE_COMBINE && bit == LOST && node_takes(retrace, node, first))
            memcpy(node->value, retrace->nodes[node->with].value, type->size);
        else if (node->kind == NODE_COMBINE)
            reduce(node->value, retrace->nodes[node->with].value, from, 1);
        else
            finish(node->value, from, 1, inputs->ranks);
        if (i == first && bit == LOST)
            memset(node->value, PATTERN_POISON, type->size);
        else if (i == first && bit >= 0)
            node->value[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

/* Has each witness what it should, by what was computed? */
static bool retrace_agrees(const struct retrace *retrace, bool flipped)
{
    const struct hop_question *question = retrace->question;
    const struct wrong_element *element = question->element;
    size_t size = question->inputs->datatype->size;
    for (int r = 0; r < question->problem->ranks; r++) {
        bool wrong = flipped && question->witnesses[r] == WITNESS_WRONG;
        if (retrace->roots[r] >= 0 && memcmp(retrace->nodes[retrace->roots[r]].value,
                                             wrong ? element->got : element->expected, size) != 0)
            return false;
    }
    return true;
}

static bool retrace_open(struct retrace *retrace)
{
    const struct hop_question *question = retrace->question;
    int ranks = question->problem->ranks;
    bool good = ranks <= RANKS_MOST && !question->choice->algorithm->vendor;
    retrace->nodes = good ? malloc(NODES_MOST * sizeof *retrace->nodes) : NULL;
    retrace->is_complete = retrace->nodes != NULL;
    for (int r = 0; r < ranks && retrace->is_complete; r++)
        retrace->is_complete =
            schedule_build(question->choice, question->problem, r, question->channels, false,
                           &retrace->schedules[r]) == STATUS_OK;
    for (int r = 0; r < ranks && retrace->is_complete; r++) {
        const struct schedule *schedule = retrace->schedules[r];
        size_t at = question->element->at;
        retrace->roots[r] = -1;
        if (question->witnesses[r] != WITNESS_NONE && at < schedule->extent[BUFFER_DESTINATION])
            retrace->roots[r] =
                node_of_place(retrace, r, schedule->count, schedule->storage[BUFFER_DESTINATION],
                              schedule->base[BUFFER_DESTINATION] + at);
    }
    return retrace->is_complete;
}

static void retrace_close(struct retrace *retrace)
{
    for (int r = 0; r < RANKS_MOST; r++)
        schedule_free(retrace->schedules[r]);
    free(retrace->nodes);
}

/* Keeps the message if what may have happened to it explains the element. */
static void retrace_try(struct retrace *retrace, int index, struct hop_answer *answer)
{
    const struct node *node = &retrace->nodes[index];
    const struct operation *operation =
        &retrace->schedules[node->rank]->operations[node->operation];
    bool lost = retrace->question->fault == HOP_LOST;
    int bits = lost ? LOST + 1 : 8 * (int)retrace->question->inputs->datatype->size;
    for (int bit = lost ? LOST : 0; bit < bits; bit++) {
        retrace_compute(retrace, index, bit);
        if (!retrace_agrees(retrace, true))
            continue;
        if (answer->count < HOPS_MOST)
            answer->hops[answer->count] =
                (struct suspect_hop){.from = node->kind == NODE_HOP ? operation->peer : HOP_LOCAL,
                                     .to = node->rank,
                                     .step = operation->step,
                                     .bit = bit};
        answer->count++;
        break;
    }
    retrace_compute(retrace, index, WHOLE);
}

/* Tries the nodes of a kind. */
static void retrace_try_all(struct retrace *retrace, enum node_kind kind, struct hop_answer *answer)
{
    uint64_t many = 0, bits = 8 * retrace->question->inputs->datatype->size;
    for (int i = 0; i < retrace->count; i++)
        many += retrace->nodes[i].kind == kind;
    bool few = many * bits * (uint64_t)retrace->count <= TRIES_MOST;
    for (int i = 0; i < retrace->count && few; i++)
        if (retrace->nodes[i].kind == kind)
            retrace_try(retrace, i, answer);
}

struct hop_answer hop_search(const struct hop_question *question)
{
    struct retrace retrace = {.question = question};
    struct hop_answer answer = {.count = 0};
    if (retrace_open(&retrace)) {
        retrace_compute(&retrace, 0, WHOLE);
        bool understood = retrace_agrees(&retrace, false);
        if (understood)
            retrace_try_all(&retrace, NODE_HOP, &answer);
        if (understood && answer.count == 0 && question->fault == HOP_FLIPPED)
            retrace_try_all(&retrace, NODE_COMBINE, &answer);
    }
    retrace_close(&retrace);
    return answer;
}

static int hops_kept(const struct hop_answer *answer)
{
    return answer->count < HOPS_MOST ? answer->count : HOPS_MOST;
}

struct hop_answer hops_common(const struct hop_answer *some, const struct hop_answer *others)
{
    struct hop_answer answer = {.count = 0};
    for (int i = 0; i < hops_kept(some); i++) {
        bool common = false;
        for (int j = 0; j < hops_kept(others); j++)
            common |= some->hops[i].from == others->hops[j].from &&
                      some->hops[i].to == others->hops[j].to;
        if (common)
            answer.hops[answer.count++] = some->hops[i];
    }
    return answer;
}

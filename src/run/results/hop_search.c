/*
 * hop_search.c - follows one element back through the schedules of all ranks, and computes it again
 * with a flipped bit.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/memory/memory.h"

#define RANKS_MOST 64 /* jobs of more are not looked into: the schedules of all are built */
#define NODES_MOST 4096
#define TRIES_MOST 20000000 /* nodes that are computed in all */

#define TICK_NODES 65536 /* computed between two looks at the job */

enum node_kind { NODE_SOURCE, NODE_HOP, NODE_COMBINE, NODE_FINISH };

#define NO_NODE (-1)

/* What an operation has made of the element. */
struct node {
    enum node_kind kind;
    int rank;
    size_t operation, position; /* NODE_SOURCE: the element, in `position` */
    int from, with;             /* the nodes that it is made of, or NO_NODE */
    _Alignas(16) unsigned char value[DATATYPE_SIZE_MOST];
};

struct suspects {
    int count;
    struct suspect_hop hops[NODES_MOST];
};

struct retrace {
    const struct hop_question *question;
    struct schedule *schedules[RANKS_MOST];
    int computed; /* nodes, since the last look at the job */
    bool ended;   /* the job has, and with it the search */

    const struct wrong_element *element; /* that is followed, which leads to what is below */
    bool is_complete;      /* every part of it has come from somewhere, and there was room */
    int roots[RANKS_MOST]; /* nodes; NO_NODE: the rank has no evidence */
    int count;
    struct node nodes[NODES_MOST], sorted[NODES_MOST];
    int places[NODES_MOST], path[NODES_MOST]; /* of nodes_sort() */
};

static int node_add(struct retrace *retrace, const struct node *like)
{
    for (int i = 0; i < retrace->count; i++) {
        const struct node *node = &retrace->nodes[i];
        if (node->kind == like->kind && node->rank == like->rank &&
            node->operation == like->operation && node->position == like->position)
            return i;
    }
    if (retrace->count == NODES_MOST) {
        retrace->is_complete = false;
        return NO_NODE;
    }
    struct node *node = &retrace->nodes[retrace->count];
    *node = *like;
    node->from = node->with = NO_NODE;
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

/* What stands in a storage before operation `before`: what the last one has made that wrote there. A
 * copy has made nothing. */
static int node_of_place(struct retrace *retrace, int rank, size_t before, int storage, size_t at)
{
    static const enum node_kind kinds[] = {[OPERATION_RECV] = NODE_HOP,
                                           [OPERATION_REDUCE] = NODE_COMBINE,
                                           [OPERATION_RECV_REDUCE] = NODE_COMBINE,
                                           [OPERATION_FINISH] = NODE_FINISH};
    const struct schedule *schedule = retrace->schedules[rank];
    for (size_t i = before; i-- > 0;) {
        const struct operation *operation = &schedule->operations[i];
        size_t position = message_find(schedule, operation->to, storage, at);
        if (position == SIZE_MAX)
            continue;
        if (operation->kind != OPERATION_COPY)
            return node_add(retrace, &(struct node){.kind = kinds[operation->kind],
                                                    .rank = rank,
                                                    .operation = i,
                                                    .position = position});
        message_locate(schedule, operation->from, position, &storage, &at);
    }
    struct node node = {
        .kind = NODE_SOURCE, .rank = rank, .position = at - schedule->base[BUFFER_SOURCE]};
    retrace->is_complete &= storage == schedule->storage[BUFFER_SOURCE] &&
                            node.position < schedule->extent[BUFFER_SOURCE];
    return node_add(retrace, &node);
}

/* What stands at `position` of a message that operation `index` of `rank` reads. */
static int node_of_message(struct retrace *retrace, int rank, size_t index, struct message message,
                           size_t position)
{
    int storage;
    size_t at;
    message_locate(retrace->schedules[rank], message, position, &storage, &at);
    return node_of_place(retrace, rank, index, storage, at);
}

/* What the sender has sent there. */
static int node_of_sent(struct retrace *retrace, const struct node *hop)
{
    int peer = retrace->schedules[hop->rank]->operations[hop->operation].peer;
    const struct schedule *other = retrace->schedules[peer];
    size_t send = send_of(retrace, hop->rank, hop->operation);
    if (send < other->count)
        return node_of_message(retrace, peer, send, other->operations[send].from, hop->position);
    retrace->is_complete = false;
    return NO_NODE;
}

/* Finds what a node is made of. */
static void node_follow(struct retrace *retrace, struct node *node)
{
    if (node->kind == NODE_SOURCE)
        return;
    if (node->kind == NODE_HOP) {
        node->from = node_of_sent(retrace, node);
        return;
    }
    const struct operation *operation =
        &retrace->schedules[node->rank]->operations[node->operation];
    if (node->kind == NODE_COMBINE)
        node->with =
            node_of_message(retrace, node->rank, node->operation, operation->with, node->position);
    struct node hop = {.kind = NODE_HOP,
                       .rank = node->rank,
                       .operation = node->operation,
                       .position = node->position};
    node->from = operation->kind == OPERATION_RECV_REDUCE
                     ? node_add(retrace, &hop)
                     : node_of_message(retrace, node->rank, node->operation, operation->from,
                                       node->position);
}

/* A part of the node that is not yet sorted. */
static int node_next(const struct retrace *retrace, const struct node *node)
{
    const int parts[] = {node->with, node->from};
    for (int i = 0; i < 2; i++)
        if (parts[i] != NO_NODE && retrace->places[parts[i]] == NO_NODE)
            return parts[i];
    return NO_NODE;
}

/* Puts each node behind those that it is made of. Without recursion: a path may lead through all
 * ranks, and stacks may be small. */
static void nodes_sort(struct retrace *retrace)
{
    int sorted = 0, depth = 0;
    memset(retrace->places, NO_NODE, sizeof retrace->places);
    for (int i = 0; i < retrace->count; i++) {
        if (retrace->places[i] == NO_NODE)
            retrace->path[depth++] = i;
        while (depth > 0) {
            const struct node *node = &retrace->nodes[retrace->path[depth - 1]];
            int next = node_next(retrace, node);
            if (next != NO_NODE) {
                retrace->path[depth++] = next;
                continue;
            }
            retrace->places[retrace->path[--depth]] = sorted;
            retrace->sorted[sorted++] = *node;
        }
    }
    for (int i = 0; i < sorted; i++) {
        struct node *node = &retrace->nodes[i];
        *node = retrace->sorted[i];
        node->from = node->from == NO_NODE ? NO_NODE : retrace->places[node->from];
        node->with = node->with == NO_NODE ? NO_NODE : retrace->places[node->with];
    }
    for (int r = 0; r < retrace->question->problem->ranks; r++)
        if (retrace->roots[r] != NO_NODE)
            retrace->roots[r] = retrace->places[retrace->roots[r]];
}

/* Follows an element back to the sources. */
static void retrace_follow(struct retrace *retrace, const struct wrong_element *element)
{
    const struct hop_question *question = retrace->question;
    retrace->element = element;
    retrace->is_complete = true;
    retrace->count = 0;
    for (int r = 0; r < question->problem->ranks; r++) {
        const struct schedule *schedule = retrace->schedules[r];
        retrace->roots[r] = NO_NODE;
        if (question->evidence[r] != EVIDENCE_NONE &&
            element->at < schedule->extent[BUFFER_DESTINATION])
            retrace->roots[r] =
                node_of_place(retrace, r, schedule->count, schedule->storage[BUFFER_DESTINATION],
                              schedule->base[BUFFER_DESTINATION] + element->at);
    }
    for (int i = 0; i < retrace->count && retrace->is_complete; i++)
        node_follow(retrace, &retrace->nodes[i]);
    if (retrace->is_complete)
        nodes_sort(retrace);
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
        const unsigned char *from = node->from == NO_NODE ? NULL : retrace->nodes[node->from].value;
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
    retrace->computed += retrace->count - first;
    if (retrace->computed >= TICK_NODES) {
        retrace->ended |= !tick_on(retrace->question->tick);
        retrace->computed = 0;
    }
}

/* Has each rank the value that was computed for it, right or wrong? */
static bool retrace_agrees(const struct retrace *retrace, bool flipped)
{
    const struct hop_question *question = retrace->question;
    const struct wrong_element *element = retrace->element;
    size_t size = question->inputs->datatype->size;
    for (int r = 0; r < question->problem->ranks; r++) {
        bool wrong = flipped && question->evidence[r] == EVIDENCE_WRONG;
        if (retrace->roots[r] != NO_NODE &&
            memcmp(retrace->nodes[retrace->roots[r]].value,
                   wrong ? element->got : element->expected, size) != 0)
            return false;
    }
    return true;
}

static void retrace_close(struct retrace *retrace)
{
    for (int r = 0; retrace && r < RANKS_MOST; r++)
        schedule_free(retrace->schedules[r]);
    free(retrace);
}

/* NULL: the job is too large for it, not cctest's own algorithm, or memory is short. */
static struct retrace *retrace_open(const struct hop_question *question)
{
    bool good = question->problem->ranks <= RANKS_MOST && !question->choice->algorithm->vendor;
    struct retrace *retrace = good ? calloc(1, sizeof *retrace) : NULL;
    for (int r = 0; retrace && r < question->problem->ranks; r++) {
        retrace->question = question;
        if (tick_on(question->tick) &&
            schedule_build(question->choice, question->problem, r, question->channels, false,
                           &retrace->schedules[r]) == STATUS_OK)
            continue;
        retrace_close(retrace);
        retrace = NULL;
    }
    return retrace;
}

/* Adds the message, if what may have happened to it explains the element. */
static void retrace_try(struct retrace *retrace, int index, struct suspects *suspects)
{
    const struct node *node = &retrace->nodes[index];
    const struct operation *operation =
        &retrace->schedules[node->rank]->operations[node->operation];
    bool lost = retrace->question->fault == HOP_LOST;
    int bits = lost ? LOST + 1 : 8 * (int)retrace->question->inputs->datatype->size;
    for (int bit = lost ? LOST : 0; bit < bits && !retrace->ended; bit++) {
        retrace_compute(retrace, index, bit);
        if (!retrace_agrees(retrace, true))
            continue;
        suspects->hops[suspects->count++] =
            (struct suspect_hop){.from = node->kind == NODE_HOP ? operation->peer : HOP_LOCAL,
                                 .to = node->rank,
                                 .step = operation->step,
                                 .bit = bit};
        break;
    }
    retrace_compute(retrace, index, WHOLE);
}

/* Tries the nodes of a kind. False: they are too many. */
static bool retrace_try_all(struct retrace *retrace, enum node_kind kind, struct suspects *suspects)
{
    uint64_t many = 0, bits = 8 * retrace->question->inputs->datatype->size;
    for (int i = 0; i < retrace->count; i++)
        many += retrace->nodes[i].kind == kind;
    bool few = many * bits * (uint64_t)retrace->count <= TRIES_MOST;
    for (int i = 0; i < retrace->count && few && !retrace->ended; i++)
        if (retrace->nodes[i].kind == kind)
            retrace_try(retrace, i, suspects);
    return few;
}

/* What explains this element. */
static void retrace_search(struct retrace *retrace, const struct wrong_element *element,
                           struct suspects *suspects)
{
    suspects->count = 0;
    retrace_follow(retrace, element);
    if (!retrace->is_complete)
        return;
    retrace_compute(retrace, 0, WHOLE);
    if (!retrace_agrees(retrace, false))
        return;
    bool tried = retrace_try_all(retrace, NODE_HOP, suspects);
    if (tried && suspects->count == 0 && retrace->question->fault == HOP_FLIPPED)
        retrace_try_all(retrace, NODE_COMBINE, suspects);
}

/* Leaves the messages between two ranks between which `others` has one, too. */
static void suspects_intersect(struct suspects *suspects, const struct suspects *others)
{
    int count = 0;
    for (int i = 0; i < suspects->count; i++) {
        const struct suspect_hop *hop = &suspects->hops[i];
        bool common = false;
        for (int j = 0; j < others->count && !common; j++)
            common = hop->from == others->hops[j].from && hop->to == others->hops[j].to;
        if (common)
            suspects->hops[count++] = *hop;
    }
    suspects->count = count;
}

struct hop_answer hop_search(const struct hop_question *question)
{
    struct hop_answer answer = {.count = 0};
    struct retrace *retrace = retrace_open(question);
    struct suspects *suspects = malloc(2 * sizeof *suspects);
    if (retrace && suspects) {
        struct suspects *others = suspects + 1;
        retrace_search(retrace, &question->finding->first, suspects);
        for (int i = 0; i < finding_elements(question->finding) && suspects->count > 0; i++) {
            retrace_search(retrace, &question->finding->elements[i], others);
            suspects_intersect(suspects, others);
        }
        answer.count = retrace->ended ? 0 : suspects->count;
        memcpy(answer.hops, suspects->hops,
               (size_t)(answer.count < HOPS_MOST ? answer.count : HOPS_MOST) * sizeof *answer.hops);
    }
    free(suspects);
    retrace_close(retrace);
    return answer;
}

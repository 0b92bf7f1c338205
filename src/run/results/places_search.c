/*
 * places_search.c - in which places one altered value explains what all ranks have.
 *
 * A candidate is a value that an operation has made, as it is read: by all operations that read it
 * (a message, or memory from its writing on), by one (an operand that was read wrong), or by those
 * whose work leads to wrong ranks (memory that changed between two uses). It is altered, and all
 * that is made of it is computed again. It explains the element if every rank of which something is
 * known gets what it has, right or wrong.
 *
 * Most candidates fail by the ranks that they reach. The others are first computed along the way to
 * one wrong result.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#define WORK_MOST  5000000 /* nodes that are computed in a search: some 0.1 s */
#define TICK_NODES 65536   /* between two looks at the job */
#define BATCH      64      /* alterations that are computed together, a power of two; so much as: */
#define BATCH_WORK 4       /* nodes */

#define STEP_UNSET   (-2)
#define STEP_SEVERAL (-1)

/* Places, by bit. */
struct place_set {
    uint64_t links[GRAPH_RANKS_MOST]; /* of a sender: the receivers */
    uint64_t own;                     /* ranks whose own work or memory explains it */
    uint64_t share;                   /* ranks with a part in an explanation, of either kind */
};

/* The operations that read another value than the one that was made. */
enum altered_readers {
    READERS_ALL,
    READERS_ONE,
    READERS_WRONG, /* those whose work leads to a wrong rank */
};

/* How a place came in. */
struct place_origin {
    int step; /* STEP_UNSET: it has not */
    enum place_work work;
};

/* Values side by side, as an operator takes them. */
struct value_batch {
    _Alignas(16) unsigned char values[BATCH * DATATYPE_SIZE_MOST];
};

struct place_search {
    struct element_graph *graph;
    const struct place_evidence *evidence; /* of the element */
    bool lost;
    int64_t work;                    /* nodes that may still be computed */
    int quiet;                       /* computed since the last look at the job */
    bool ended;                      /* the job has, or the work */
    bool is_open;                    /* all places are tried, not only those that are left */
    int elements, explained;         /* as in struct place_list */
    struct place_set all, flips;     /* so far: what explains each element */
    struct place_set now, now_flips; /* this element */
    struct place_origin links[GRAPH_RANKS_MOST][GRAPH_RANKS_MOST], ranks[GRAPH_RANKS_MOST];

    uint64_t wrong;               /* ranks */
    int nearest;                  /* the wrong result with the fewest nodes before it */
    bool leads[GRAPH_NODES_MOST]; /* to that one */

    /* A candidate: */
    int node;
    enum altered_readers readers;
    size_t reads; /* READERS_ONE: by this operation */
    int cone_count, path_count;
    int cone[GRAPH_NODES_MOST],
        path[GRAPH_NODES_MOST]; /* made of it; the part that leads to `nearest` */
    bool in_cone[GRAPH_NODES_MOST];
    union element_value altered, values[GRAPH_NODES_MOST];
    int batch_count; /* alterations that are to be tried, and what becomes of them along the path */
    struct value_batch batch, batches[GRAPH_NODES_MOST];
};

static bool has_bit(uint64_t set, int bit)
{
    return (set >> bit & 1) != 0;
}

/* Does the node read something else there than what was made? */
static bool is_altered(const struct place_search *search, int part,
                       const struct element_node *reader)
{
    const struct element_graph *graph = search->graph;
    if (part != search->node)
        return false;
    if (search->readers == READERS_WRONG)
        return (graph->reach[reader - graph->nodes] & search->wrong) != 0;
    return search->readers == READERS_ALL || reader->reads == search->reads;
}

static const union element_value *value_for(const struct place_search *search, int part,
                                            const struct element_node *reader)
{
    if (part == NO_NODE)
        return NULL;
    if (is_altered(search, part, reader))
        return &search->altered;
    return search->in_cone[part] ? &search->values[part] : &search->graph->values[part];
}

/* Is the lost message combined as it arrives? Then the other operand is left. */
static bool is_skipped(const struct place_search *search, const struct element_node *node)
{
    return search->lost && node->kind == NODE_COMBINE && node->from == search->node &&
           search->graph->schedules[node->rank]->operations[node->operation].kind ==
               OPERATION_RECV_REDUCE;
}

/* Does the rank have this value? */
static bool rank_has(const struct place_search *search, const struct element_node *result,
                     const union element_value *value)
{
    const struct place_evidence *evidence = search->evidence;
    size_t size = search->graph->inputs.datatype->size;
    if (evidence->has[result->rank] == EVIDENCE_SILENT)
        return true;
    bool wrong = evidence->has[result->rank] == EVIDENCE_WRONG;
    return memcmp(value, wrong ? evidence->got[result->rank] : evidence->expected, size) == 0;
}

static void work_count(struct place_search *search, int nodes)
{
    search->work -= nodes;
    search->quiet += nodes;
    if (search->quiet >= TICK_NODES) {
        search->ended |= !tick_on(search->graph->tick);
        search->quiet = 0;
    }
    search->ended |= search->work <= 0;
}

/* Computes these nodes again, and stops at a rank that has something else. */
static bool nodes_agree(struct place_search *search, const int *nodes, int count)
{
    const struct element_graph *graph = search->graph;
    int i = 0;
    bool agree = true;
    for (; i < count && agree; i++) {
        const struct element_node *node = &graph->nodes[nodes[i]];
        union element_value *value = &search->values[nodes[i]];
        const union element_value *with = value_for(search, node->with, node);
        if (is_skipped(search, node))
            *value = *with;
        else
            node_make(graph, node, value_for(search, node->from, node), with, value, 1);
        agree = node->kind != NODE_RESULT || rank_has(search, node, value);
    }
    work_count(search, i);
    return agree;
}

/* The value that a node reads, for each alteration of the batch. `room`: for one that is the same
 * for all. */
static const void *batch_for(const struct place_search *search, int part,
                             const struct element_node *reader, struct value_batch *room)
{
    size_t size = search->graph->inputs.datatype->size;
    if (part == NO_NODE)
        return NULL;
    if (is_altered(search, part, reader))
        return &search->batch;
    if (search->in_cone[part])
        return &search->batches[part];
    memcpy(room->values, &search->graph->values[part], size);
    for (size_t i = 1; i < (size_t)search->batch_count; i *= 2)
        memcpy(room->values + i * size, room->values, i * size);
    return room;
}

/* Tries the alterations of the batch: along the path, and in full those that bring `nearest` what
 * it has. Empties it. */
static bool batch_fits(struct place_search *search)
{
    const struct element_graph *graph = search->graph;
    size_t size = graph->inputs.datatype->size, count = (size_t)search->batch_count;
    struct value_batch from, with;
    bool fits = false;
    for (int i = 0; i < search->path_count; i++) {
        const struct element_node *node = &graph->nodes[search->path[i]];
        node_make(graph, node, batch_for(search, node->from, node, &from),
                  batch_for(search, node->with, node, &with), &search->batches[search->path[i]],
                  count);
    }
    work_count(search, BATCH_WORK * search->path_count);
    const struct element_node *result = &graph->nodes[search->nearest];
    const unsigned char *got = search->evidence->got[result->rank];
    for (size_t i = 0; i < count && !fits; i++) {
        if (memcmp(search->batches[search->nearest].values + i * size, got, size) != 0)
            continue;
        memcpy(&search->altered, search->batch.values + i * size, size);
        fits = nodes_agree(search, search->cone, search->cone_count);
    }
    search->batch_count = 0;
    return fits;
}

/* Adds an alteration, and tries the batch when it is full. */
static bool alteration_fits(struct place_search *search, const union element_value *value)
{
    size_t size = search->graph->inputs.datatype->size;
    memcpy(search->batch.values + (size_t)search->batch_count * size, value, size);
    return ++search->batch_count == BATCH && batch_fits(search);
}

/* Does one flipped bit of the candidate explain the element? */
static bool flip_fits(struct place_search *search)
{
    const union element_value *whole = &search->graph->values[search->node];
    int bits = 8 * (int)search->graph->inputs.datatype->size;
    bool fits = false;
    search->batch_count = 0;
    for (int bit = 0; bit < bits && !fits && !search->ended; bit++) {
        union element_value value = *whole;
        value.bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        fits = alteration_fits(search, &value);
    }
    return fits || batch_fits(search);
}

/* Does another value in its place, the very one that arrived or one with another byte? */
static bool change_fits(struct place_search *search)
{
    const union element_value *whole = &search->graph->values[search->node];
    size_t size = search->graph->inputs.datatype->size;
    union element_value value;
    bool fits = false;
    search->batch_count = 0;
    memcpy(&value, search->evidence->got[search->graph->nodes[search->nearest].rank], size);
    fits = alteration_fits(search, &value);
    for (size_t byte = 0; byte < size; byte++) {
        value = *whole;
        for (int change = 3; change < 256 && !fits && !search->ended; change++) {
            value.bytes[byte] = whole->bytes[byte] ^ (unsigned char)change;
            fits = (change & (change - 1)) != 0 && alteration_fits(search, &value);
        }
    }
    return fits || batch_fits(search);
}

static bool loss_fits(struct place_search *search)
{
    memset(&search->altered, PATTERN_POISON, sizeof search->altered);
    return nodes_agree(search, search->cone, search->cone_count);
}

/* All that is made of the candidate. False: it does not reach all wrong ranks. */
static bool cone_make(struct place_search *search)
{
    const struct element_graph *graph = search->graph;
    int begin = graph->count;
    uint64_t reach = 0;
    for (int i = graph->readers[search->node]; i < graph->readers[search->node + 1]; i++) {
        int reader = graph->reader[i];
        if (!is_altered(search, search->node, &graph->nodes[reader]))
            continue;
        reach |= graph->reach[reader];
        begin = reader < begin ? reader : begin;
    }
    if ((search->wrong & ~reach) != 0)
        return false;
    memset(search->in_cone, 0, (size_t)graph->count * sizeof *search->in_cone);
    search->cone_count = search->path_count = 0;
    for (int i = begin; i < graph->count; i++) {
        const struct element_node *node = &graph->nodes[i];
        const int parts[] = {node->from, node->with};
        for (int p = 0; p < 2 && !search->in_cone[i]; p++)
            search->in_cone[i] = parts[p] != NO_NODE &&
                                 (search->in_cone[parts[p]] || is_altered(search, parts[p], node));
        if (!search->in_cone[i])
            continue;
        search->cone[search->cone_count++] = i;
        if (search->leads[i])
            search->path[search->path_count++] = i;
    }
    search->work -= (graph->count - begin) / 16;
    return true;
}

static void origin_note(struct place_origin *origin, int step, enum place_work work)
{
    bool is_new = origin->step == STEP_UNSET;
    origin->step = is_new || origin->step == step ? step : STEP_SEVERAL;
    origin->work = is_new || origin->work == work ? work : WORK_HOLD;
}

/* Notes the place of a candidate that explains the element. */
static void place_add(struct place_search *search, int rank, int from, int step,
                      enum place_work work, bool flips)
{
    uint64_t to = UINT64_C(1) << rank, both = to | UINT64_C(1) << from;
    for (int f = 0; f <= (int)flips; f++) {
        struct place_set *set = f ? &search->now_flips : &search->now;
        if (from == rank)
            set->own |= to;
        else
            set->links[from] |= to;
        set->share |= both;
    }
    if (from == rank)
        origin_note(&search->ranks[rank], step, work);
    else
        origin_note(&search->links[from][rank], step, work);
}

/* May the place still be one that explains all? */
static bool place_counts(const struct place_search *search, int rank, int from)
{
    return search->is_open || ((search->all.share >> rank | search->all.share >> from) & 1) != 0;
}

/* Tries a node for a place: a message from `from`, or the rank's own work. */
static void candidate_try(struct place_search *search, int node, int from, int step,
                          enum place_work work)
{
    int rank = search->graph->nodes[node].rank;
    search->node = node;
    if (search->ended || !place_counts(search, rank, from) || !cone_make(search))
        return;
    bool flips = search->lost ? loss_fits(search) : flip_fits(search);
    if (flips || (!search->lost && change_fits(search)))
        place_add(search, rank, from, step, work, flips);
}

/* Tries what a node has made, whichever operations read it. */
static void whole_try(struct place_search *search, int index)
{
    static const enum place_work works[] = {[NODE_COPY] = WORK_COPY,
                                            [NODE_HOP] = WORK_HOLD,
                                            [NODE_COMBINE] = WORK_COMBINE,
                                            [NODE_FINISH] = WORK_FINISH};
    const struct element_graph *graph = search->graph;
    const struct element_node *node = &graph->nodes[index];
    search->readers = READERS_ALL;
    if (node->kind == NODE_SOURCE) {
        candidate_try(search, index, node->rank, STEP_SEVERAL, WORK_CONTRIBUTE);
        return;
    }
    const struct operation *operation = &graph->schedules[node->rank]->operations[node->operation];
    candidate_try(search, index, node->kind == NODE_HOP ? operation->peer : node->rank,
                  operation->step, works[node->kind]);
}

/* Tries what single operations of the rank read of a node. */
static void readers_try(struct place_search *search, int index)
{
    const struct element_graph *graph = search->graph;
    int rank = graph->nodes[index].rank;
    search->readers = READERS_ONE;
    for (int i = graph->readers[index]; i < graph->readers[index + 1]; i++) {
        const struct element_node *reader = &graph->nodes[graph->reader[i]];
        search->reads = reader->reads;
        if (reader->kind == NODE_RESULT)
            candidate_try(search, index, rank, STEP_SEVERAL, WORK_HOLD);
        else if (reader->kind == NODE_COMBINE || reader->kind == NODE_FINISH)
            candidate_try(search, index, rank,
                          graph->schedules[rank]->operations[reader->reads].step, WORK_COMBINE);
    }
}

/* Tries what those operations read whose work leads to wrong ranks, if they are neither all nor
 * one. */
static void wrong_readers_try(struct place_search *search, int index)
{
    const struct element_graph *graph = search->graph;
    const int *readers = graph->readers;
    int wrong = 0;
    for (int i = readers[index]; i < readers[index + 1]; i++)
        wrong += (graph->reach[graph->reader[i]] & search->wrong) != 0;
    search->readers = READERS_WRONG;
    if (wrong > 1 && wrong < readers[index + 1] - readers[index])
        candidate_try(search, index, graph->nodes[index].rank, STEP_SEVERAL, WORK_HOLD);
}

/* Tries a node in all ways. A source that is what it was is read wrong by single operations at
 * most. */
static void node_try(struct place_search *search, int index)
{
    const struct element_graph *graph = search->graph;
    const struct element_node *node = &graph->nodes[index];
    bool hop = node->kind == NODE_HOP, source = node->kind == NODE_SOURCE;
    bool changes = !source || has_bit(search->evidence->changed, node->rank);
    bool many = graph->readers[index + 1] - graph->readers[index] > 1;
    if (node->kind == NODE_RESULT || (search->lost && !hop))
        return;
    if (changes)
        whole_try(search, index);
    if (search->lost || (changes && !many))
        return; /* the one that reads it reads the whole */
    readers_try(search, index);
    if (changes)
        wrong_readers_try(search, index);
}

/* Finds the ranks that are wrong, and the nodes that lead to the nearest of them. False: the
 * element does not become what belongs there, or nothing is wrong. */
static bool element_begin(struct place_search *search)
{
    const struct element_graph *graph = search->graph;
    const struct place_evidence *evidence = search->evidence;
    size_t size = graph->inputs.datatype->size;
    search->wrong = 0;
    search->nearest = NO_NODE;
    for (int r = 0; r < graph->problem.ranks; r++) {
        int result = graph->results[r];
        if (result == NO_NODE)
            continue;
        if (memcmp(&graph->values[result], evidence->expected, size) != 0)
            return false;
        if (evidence->has[r] != EVIDENCE_WRONG)
            continue;
        search->wrong |= UINT64_C(1) << r;
        if (search->nearest == NO_NODE || graph->depth[result] < graph->depth[search->nearest])
            search->nearest = result;
    }
    if (search->nearest == NO_NODE)
        return false;
    memset(search->leads, 0, (size_t)graph->count * sizeof *search->leads);
    search->leads[search->nearest] = true;
    for (int i = search->nearest; i >= 0; i--) {
        const struct element_node *node = &graph->nodes[i];
        if (search->leads[i] && node->from != NO_NODE)
            search->leads[node->from] = true;
        if (search->leads[i] && node->with != NO_NODE)
            search->leads[node->with] = true;
    }
    return true;
}

static void set_intersect(struct place_set *set, const struct place_set *other)
{
    for (int r = 0; r < GRAPH_RANKS_MOST; r++)
        set->links[r] &= other->links[r];
    set->own &= other->own;
    set->share &= other->share;
}

/* The candidates that explain the element: of the places that are left, or of all. */
static void candidates_try(struct place_search *search, bool all)
{
    search->is_open = all;
    search->now = search->now_flips = (struct place_set){.own = 0};
    for (int i = 0; i < search->graph->count && !search->ended; i++)
        if (search->leads[i])
            node_try(search, i);
}

/* Leaves the places that explain this element, too. One that is too much work is left out, and so
 * is one that no place explains: a bad link may have altered it twice. */
static void element_search(struct place_search *search)
{
    const struct place_evidence *evidence = search->evidence;
    if (!element_graph_follow(search->graph, evidence->root, evidence->iteration, evidence->at,
                              evidence->rank) ||
        !element_begin(search))
        return;
    candidates_try(search, search->explained == 0);
    if (search->now.share == 0 && search->explained > 0)
        candidates_try(search, true); /* another fault? */
    if (search->ended)
        return;
    search->elements++;
    if (search->now.share == 0)
        return;
    if (search->explained++ == 0) {
        search->all = search->now;
        search->flips = search->now_flips;
    } else {
        set_intersect(&search->all, &search->now);
        set_intersect(&search->flips, &search->now_flips);
    }
}

static void list_add(struct place_list *list, const struct place *place)
{
    int at = list->count++;
    if (place->flips)
        at = list->flipping++;
    if (at >= PLACES_MOST)
        return;
    int behind = (list->count < PLACES_MOST ? list->count : PLACES_MOST) - at - 1;
    memmove(&list->of[at + 1], &list->of[at], (size_t)behind * sizeof *list->of);
    list->of[at] = *place;
}

/* The rank has a part in each element, and no place that is listed names it. */
static bool is_only_share(const struct place_search *search, int rank)
{
    bool named = has_bit(search->all.own, rank) || search->all.links[rank] != 0;
    for (int from = 0; from < GRAPH_RANKS_MOST; from++)
        named |= has_bit(search->all.links[from], rank);
    return has_bit(search->all.share, rank) && !named;
}

static void places_list(const struct place_search *search, struct place_list *list)
{
    for (int from = 0; from < GRAPH_RANKS_MOST; from++)
        for (int to = 0; to < GRAPH_RANKS_MOST; to++)
            if (has_bit(search->all.links[from], to))
                list_add(list, &(struct place){.kind = PLACE_MESSAGE,
                                               .rank = to,
                                               .from = from,
                                               .step = search->links[from][to].step,
                                               .flips = has_bit(search->flips.links[from], to)});
    for (int rank = 0; rank < GRAPH_RANKS_MOST; rank++) {
        bool share = is_only_share(search, rank);
        uint64_t flips = share ? search->flips.share : search->flips.own;
        if (share || has_bit(search->all.own, rank))
            list_add(list, &(struct place){.kind = PLACE_RANK,
                                           .work = share ? WORK_SHARE : search->ranks[rank].work,
                                           .rank = rank,
                                           .from = rank,
                                           .step = share ? STEP_SEVERAL : search->ranks[rank].step,
                                           .flips = has_bit(flips, rank)});
    }
}

/* NULL: there is too little memory. What is of an element or a candidate is not set. */
static struct place_search *search_open(struct element_graph *graph, bool lost)
{
    struct place_search *search = malloc(sizeof *search);
    if (!search)
        return NULL;
    search->graph = graph;
    search->lost = lost;
    search->work = WORK_MOST;
    search->quiet = 0;
    search->ended = false;
    search->elements = search->explained = 0;
    search->all = search->flips = (struct place_set){.own = 0};
    for (int from = 0; from < GRAPH_RANKS_MOST; from++) {
        search->ranks[from].step = STEP_UNSET;
        for (int to = 0; to < GRAPH_RANKS_MOST; to++)
            search->links[from][to].step = STEP_UNSET;
    }
    return search;
}

struct place_list places_search(struct element_graph *graph, const struct place_evidence *evidence,
                                int count, bool lost)
{
    struct place_list list = {.lost = lost};
    struct place_search *search = search_open(graph, lost);
    if (!search)
        return list;
    for (int i = 0; i < count && !search->ended; i++) {
        if (search->explained > 0 && search->all.share == 0)
            break;
        search->evidence = &evidence[i];
        element_search(search);
    }
    list.elements = search->elements;
    list.explained = search->explained;
    list.searched = search->elements > 0;
    places_list(search, &list);
    free(search);
    return list;
}

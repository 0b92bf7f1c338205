/*
 * test_waits.c - waits are exact, and the shaker notices each one that is taken away.
 *
 * Exact: on random programs, every two touches of one element of which one writes are ordered by
 * the waits, directly or through others, and every wait is between such touches.
 *
 * Noticed: from the schedules of all ranks a graph is drawn of what comes before what, element by
 * element: an operation's elements ascend, a message's elements arrive after they were sent,
 * messages of a lane and epochs follow each other, and waits wait. Some waits say only what the
 * rest of the graph says already (a ring's rank cannot receive over a block before it has sent it,
 * since what comes in has been caused by what went out); without such a wait every order is as
 * right as before, and the shaker must say so. Any other wait, taken away, admits an order in which
 * two conflicting touches change places, and the shaker must find one.
 */
#include "schedules.h"

#include <stdlib.h>

/* What comes before what. */

struct graph {
    uint32_t nodes;
    uint32_t *head; /* per node: its first edge; NONE: no more */
    struct edge {
        uint32_t to, next;
    } *edges;
    uint32_t count, room;
    unsigned char *seen;
    uint32_t *stack;
};
#define NONE UINT32_MAX

static void graph_open(struct graph *graph, uint32_t nodes)
{
    *graph = (struct graph){.nodes = nodes,
                            .head = malloc(nodes * sizeof(uint32_t)),
                            .seen = malloc(nodes),
                            .stack = malloc(nodes * sizeof(uint32_t))};
    assert_true(graph->head && graph->seen && graph->stack);
    memset(graph->head, 0xff, nodes * sizeof(uint32_t));
}

static void graph_close(struct graph *graph)
{
    free(graph->head);
    free(graph->edges);
    free(graph->seen);
    free(graph->stack);
}

static void graph_add(struct graph *graph, uint32_t before, uint32_t after)
{
    if (graph->count == graph->room) {
        graph->room = graph->room ? 2 * graph->room : 1024;
        graph->edges = realloc(graph->edges, graph->room * sizeof(*graph->edges));
        assert_non_null(graph->edges);
    }
    graph->edges[graph->count] = (struct edge){.to = after, .next = graph->head[before]};
    graph->head[before] = graph->count++;
}

/* Is `before` before `after`, without the `without` edges from `without_first` on? */
static bool graph_orders(struct graph *graph, uint32_t before, uint32_t after,
                         uint32_t without_first, size_t without)
{
    uint32_t depth = 0;

    memset(graph->seen, 0, graph->nodes);
    graph->stack[depth++] = before;
    while (depth > 0) {
        uint32_t node = graph->stack[--depth];

        if (node == after)
            return true;
        for (uint32_t i = graph->head[node]; i != NONE; i = graph->edges[i].next) {
            uint32_t to = graph->edges[i].to;

            if (!graph->seen[to] && !(i >= without_first && i - without_first < without)) {
                graph->seen[to] = 1;
                graph->stack[depth++] = to;
            }
        }
    }
    return false;
}

#define OPERATIONS_MOST 256

/* The node of element 0 of each operation. */
struct places {
    uint32_t of[RANKS_MOST][OPERATIONS_MOST];
};

static uint32_t places_number(struct places *places, const struct program *program)
{
    uint32_t nodes = 0;

    for (int r = 0; r < program->ranks; r++) {
        const struct schedule *schedule = program->schedules[r];

        assert_true(schedule->count <= OPERATIONS_MOST);
        for (size_t i = 0; i < schedule->count; i++) {
            places->of[r][i] = nodes;
            nodes += (uint32_t)schedule->operations[i].length;
        }
    }
    return nodes;
}

static void add_ascent(struct graph *graph, const struct operation *operation, uint32_t place)
{
    for (size_t k = 0; k + 1 < operation->length; k++)
        graph_add(graph, place + (uint32_t)k, place + (uint32_t)k + 1);
}

static void add_waits(struct graph *graph, const struct places *places, int rank,
                      const struct operation *operation, uint32_t place)
{
    for (size_t w = 0; w < operation->wait_count; w++) {
        const struct wait *wait = &operation->waits[w];

        for (size_t k = 0; k < wait->length; k++)
            graph_add(graph, places->of[rank][wait->operation] + (uint32_t)(wait->past + k),
                      place + (uint32_t)(wait->at + k));
    }
}

static bool same_direction(const struct operation *a, const struct operation *b)
{
    return operation_travels(a->kind) && operation_travels(b->kind) &&
           (a->kind == OPERATION_SEND) == (b->kind == OPERATION_SEND);
}

/* What comes before operation i of a rank by lane and epoch; returns its message's number. */
static int add_order(struct graph *graph, const struct places *places,
                     const struct schedule *schedule, size_t i)
{
    const struct operation *operation = &schedule->operations[i];
    const uint32_t *place = places->of[schedule->rank];
    int previous = schedule->epochs[operation->epoch].previous, number = 0;

    for (size_t j = 0; j < schedule->count; j++) {
        const struct operation *other = &schedule->operations[j];
        bool on_lane = j < i && same_direction(operation, other) &&
                       other->peer == operation->peer && other->lane == operation->lane;

        number += on_lane;
        if (on_lane || (int)other->epoch == previous)
            graph_add(graph, place[j] + (uint32_t)other->length - 1, place[i]);
    }
    return number;
}

static void add_message(struct graph *graph, const struct places *places,
                        const struct program *program, int rank, size_t i, int number)
{
    const struct operation *send = &program->schedules[rank]->operations[i];
    const struct schedule *peer = program->schedules[send->peer];

    for (size_t j = 0; j < peer->count; j++) {
        const struct operation *other = &peer->operations[j];

        if (operation_travels(other->kind) && other->kind != OPERATION_SEND &&
            other->peer == rank && other->lane == send->lane && number-- == 0)
            for (uint32_t k = 0; k < send->length; k++)
                graph_add(graph, places->of[rank][i] + k, places->of[send->peer][j] + k);
    }
}

/* The graph of all ranks; first_wait[rank][operation] is the edge of its first wait's first
 * element. */
static void graph_draw(struct graph *graph, struct places *places, struct places *first_wait,
                       const struct program *program)
{
    graph_open(graph, places_number(places, program));
    for (int r = 0; r < program->ranks; r++) {
        const struct schedule *schedule = program->schedules[r];

        for (size_t i = 0; i < schedule->count; i++) {
            const struct operation *operation = &schedule->operations[i];
            int number = add_order(graph, places, schedule, i);

            add_ascent(graph, operation, places->of[r][i]);
            if (operation->kind == OPERATION_SEND)
                add_message(graph, places, program, r, i, number);
            first_wait->of[r][i] = graph->count;
            add_waits(graph, places, r, operation, places->of[r][i]);
        }
    }
}

/* Each wait taken away. */

#define SEEDS_TO_FIND  4000
#define SEEDS_TO_TRUST 100

struct tally {
    int waits, implied, noticed, worst;
};

static void take_away(struct program *program, struct graph *graph, const struct places *places,
                      int rank, struct operation *operation, uint32_t place, size_t index,
                      uint32_t edge, struct tally *tally)
{
    struct operation whole = *operation;
    const struct wait *wait = &whole.waits[index];
    struct wait *fewer = malloc(whole.wait_count * sizeof(*fewer));
    bool implied = true;
    char error[512];

    assert_non_null(fewer);
    for (size_t k = 0; k < wait->length && implied; k++)
        implied =
            graph_orders(graph, places->of[rank][wait->operation] + (uint32_t)(wait->past + k),
                         place + (uint32_t)(wait->at + k), edge, wait->length);
    operation->wait_count = 0;
    for (size_t i = 0; i < whole.wait_count; i++)
        if (i != index)
            fewer[operation->wait_count++] = whole.waits[i];
    operation->waits = fewer;
    int seed =
        program_shatters(program, implied ? SEEDS_TO_TRUST : SEEDS_TO_FIND, error, sizeof(error));
    *operation = whole;
    free(fewer);

    tally->waits++;
    if (implied && seed >= 0)
        fail_msg("a wait of %s on operation %u of rank %d says nothing new, but without it: %s",
                 operation_name(whole.kind), wait->operation, rank, error);
    if (!implied && seed < 0)
        fail_msg("a wait of %s on operation %u of rank %d is gone, and %d seeds did not notice",
                 operation_name(whole.kind), wait->operation, rank, SEEDS_TO_FIND);
    tally->implied += implied;
    tally->noticed += !implied;
    tally->worst = seed > tally->worst ? seed : tally->worst;
}

static const struct {
    enum collective_id collective;
    const char *algorithm;
    int ranks;
    size_t count;
    bool in_place;
    int channels;
} samples[] = {
    {COLLECTIVE_ALLREDUCE, "ring", 4, 8, false, 1},
    {COLLECTIVE_ALLREDUCE, "ring", 3, 7, true, 2},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", 5, 6, true, 1},
    {COLLECTIVE_ALLREDUCE, "recursive-doubling", 6, 4, false, 1},
    {COLLECTIVE_ALLREDUCE, "mesh", 4, 6, true, 1},
    {COLLECTIVE_ALLREDUCE, "oneshot", 4, 3, true, 1},
    {COLLECTIVE_REDUCE_SCATTER, "ring", 5, 3, false, 1},
    {COLLECTIVE_REDUCE_SCATTER, "mesh", 4, 3, true, 1},
    {COLLECTIVE_ALLGATHER, "ring", 4, 3, false, 2},
    {COLLECTIVE_ALLTOALL, "ring", 4, 2, true, 1},
    {COLLECTIVE_ALLTOALL, "bruck", 6, 2, false, 1},
    {COLLECTIVE_ALLTOALL, "pairwise", 4, 3, true, 1},
    {COLLECTIVE_BROADCAST, "chain", 4, 5, false, 1},
    {COLLECTIVE_BROADCAST, "binomial", 6, 3, false, 1},
    {COLLECTIVE_REDUCE, "binomial", 6, 3, true, 1},
    {COLLECTIVE_BARRIER, "dissemination", 5, 1, false, 1},
};

static void each_wait_is_noticed(void **state)
{
    static struct places places, first_wait;

    (void)state;
    for (size_t s = 0; s < sizeof(samples) / sizeof(*samples); s++) {
        struct program program;
        struct graph graph;
        struct tally tally = {0};

        program_build(&program, samples[s].collective, samples[s].algorithm, samples[s].ranks,
                      samples[s].count, samples[s].in_place, samples[s].channels);
        graph_draw(&graph, &places, &first_wait, &program);
        for (int r = 0; r < program.ranks; r++) {
            struct operation *operations = program_open(&program, r);

            for (size_t i = 0; i < program.schedules[r]->count; i++) {
                uint32_t edge = first_wait.of[r][i];

                for (size_t w = 0; w < operations[i].wait_count; w++) {
                    take_away(&program, &graph, &places, r, &operations[i], places.of[r][i], w,
                              edge, &tally);
                    edge += (uint32_t)operations[i].waits[w].length;
                }
            }
        }
        print_message("    %s %s, %d ranks%s: of %d waits %d say nothing new; the shaker noticed "
                      "each of the other %d when it was gone, by seed number %d at the latest\n",
                      collective_of(samples[s].collective)->name, samples[s].algorithm,
                      samples[s].ranks, samples[s].in_place ? ", in place" : "", tally.waits,
                      tally.implied, tally.noticed, tally.worst + 1);
        assert_true(tally.noticed > 0);
        graph_close(&graph);
        program_free(&program);
    }
}

/* Random programs. */

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

#define COUNT  8 /* elements of a block */
#define RANKS  3
#define LENGTH 6 /* of every message here */
#define PIECES 3

/* A message of one to three spans, some of them strided, that has no element twice. */
static struct message random_message(uint64_t *state, struct span spans[PIECES], bool writes)
{
    size_t extent[BUFFERS] = {COUNT, RANKS * COUNT, COUNT};
    size_t left = LENGTH, count = 0;
    enum buffer buffer = (enum buffer)draw(state, BUFFERS);

    if (writes && buffer == BUFFER_SOURCE)
        buffer = BUFFER_DESTINATION;
    size_t least = 0; /* spans of a buffer ascend, so they do not overlap */
    while (left > 0) {
        size_t room = extent[buffer] - least, most = left < 3 ? left : 3;
        size_t run = count == PIECES - 1 ? left : 1 + draw(state, (unsigned)most);
        size_t stride = run + draw(state, 2);
        size_t times = count < PIECES - 1 && 2 * run <= left && stride + run + left <= room
                           ? 1 + draw(state, 2)
                           : 1;
        size_t used = (times - 1) * stride + run;
        size_t slack = room - used - (left - run * times);

        spans[count] = (struct span){.buffer = buffer,
                                     .offset = least + draw(state, (unsigned)slack / 2 + 1),
                                     .run = run,
                                     .stride = stride,
                                     .times = times};
        least = spans[count].offset + used;
        left -= run * times;
        count++;
    }
    return (struct message){spans, count};
}

/* The places that a message's elements have in memory: source and destination share one. */
static void message_places(const struct schedule *schedule, struct message message,
                           size_t at[LENGTH])
{
    size_t i = 0;

    for (size_t s = 0; s < message.count; s++)
        for (size_t t = 0; t < message.spans[s].times; t++)
            for (size_t k = 0; k < message.spans[s].run; k++, i++)
                at[i] = (size_t)schedule->storage[message.spans[s].buffer] * 1000 +
                        schedule->base[message.spans[s].buffer] + message.spans[s].offset +
                        t * message.spans[s].stride + k;
    for (; i < LENGTH; i++)
        at[i] = SIZE_MAX - i; /* nowhere */
}

static bool apart(const size_t a[LENGTH], const size_t b[LENGTH])
{
    for (int i = 0; i < LENGTH; i++)
        for (int j = 0; j < LENGTH; j++)
            if (a[i] == b[j])
                return false;
    return true;
}

static struct message message_scale(struct message message, struct span *spans, size_t scale)
{
    for (size_t s = 0; s < message.count; s++) {
        spans[s] = message.spans[s];
        spans[s].offset *= scale;
        spans[s].run *= scale;
        spans[s].stride *= scale;
    }
    return (struct message){spans, message.count};
}

/* Allgather in place, where the source lies inside the destination, so that buffers overlap. The
 * other rank's program is of no interest. Each element stands for `scale` of them. */
static struct schedule *random_program(uint64_t seed, unsigned operations, size_t scale)
{
    struct problem problem = {.collective = collective_of(COLLECTIVE_ALLGATHER),
                              .ranks = RANKS,
                              .count = COUNT * scale,
                              .in_place = true};
    struct builder *b = builder_create(&problem, 1);
    struct group g = builder_group(b);
    struct schedule *schedule, where = {.base = {COUNT, 0, 0}, .storage = {1, 1, 2}};

    view_scratch_block(b, COUNT * scale);
    for (unsigned n = 0; n < operations; n++) {
        struct span spans[3][PIECES], scaled[3][PIECES];
        size_t at[3][LENGTH];
        struct message to = random_message(&seed, spans[0], true);
        struct message from = random_message(&seed, spans[1], false);
        struct message with = draw(&seed, 3) ? random_message(&seed, spans[2], false) : to;
        unsigned kind = draw(&seed, 5);

        message_places(&where, to, at[0]);
        message_places(&where, from, at[1]);
        message_places(&where, with, at[2]);
        if (!apart(at[0], at[1]) || (with.spans != to.spans && !apart(at[0], at[2])))
            continue;
        to = message_scale(to, scaled[0], scale);
        from = message_scale(from, scaled[1], scale);
        with = message_scale(with, scaled[2], scale);
        if (kind == 0)
            put_copy(b, &g, to, from);
        else if (kind == 1)
            put_send(b, &g, 0, from);
        else if (kind == 2)
            put_recv(b, &g, 2, to);
        else if (kind == 3)
            put_recv_reduce(b, &g, 2, to, with);
        else
            put_reduce(b, &g, to, from, with);
    }
    assert_int_equal(builder_finish(b, &schedule), STATUS_OK);
    return schedule;
}

static bool touch(const size_t places[3][LENGTH], size_t element, size_t place, bool *writes)
{
    *writes = places[0][element] == place;
    return *writes || places[1][element] == place || places[2][element] == place;
}

/* Do the two elements touch one place, and one of them writes it? */
static bool conflict(const size_t a[3][LENGTH], size_t i, const size_t b[3][LENGTH], size_t j)
{
    for (int m = 0; m < 3; m++) {
        size_t place = a[m][i];
        bool a_writes, b_writes;

        if (place < SIZE_MAX - LENGTH && touch(b, j, place, &b_writes) &&
            touch(a, i, place, &a_writes) && (a_writes || b_writes))
            return true;
    }
    return false;
}

static int check_random_program(struct schedule *schedule)
{
    static size_t at[OPERATIONS_MOST][3][LENGTH];
    static struct places places;
    struct program program = {.ranks = 1, .schedules = {schedule}};
    struct graph graph;
    int conflicts = 0;

    graph_open(&graph, places_number(&places, &program));
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];

        message_places(schedule, operation->to, at[i][0]);
        message_places(schedule, operation->from, at[i][1]);
        message_places(schedule, operation->with, at[i][2]);
        add_ascent(&graph, operation, places.of[0][i]);
        add_waits(&graph, &places, 0, operation, places.of[0][i]);
        for (size_t w = 0; w < operation->wait_count; w++) {
            const struct wait *wait = &operation->waits[w];

            for (size_t k = 0; k < wait->length; k++)
                assert_true(conflict(at[wait->operation], wait->past + k, at[i], wait->at + k));
        }
        for (size_t j = 0; j < i; j++)
            for (size_t x = 0; x < LENGTH; x++)
                for (size_t y = 0; y < LENGTH; y++)
                    if (conflict(at[j], x, at[i], y)) {
                        conflicts++;
                        assert_true(graph_orders(&graph, places.of[0][j] + (uint32_t)x,
                                                 places.of[0][i] + (uint32_t)y, 0, 0));
                    }
    }
    graph_close(&graph);
    return conflicts;
}

static void waits_are_exact(void **state)
{
    int conflicts = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct schedule *schedule = random_program(seed, 40, 1);

        conflicts += check_random_program(schedule);
        schedule_free(schedule);
    }
    print_message("    300 random programs with %d conflicting touches\n", conflicts);
    assert_true(conflicts > 10000);
}

/* Ends that are far apart are found in another way than those that are near each other. */
static void waits_scale(void **state)
{
    const size_t scale = 1000;
    size_t waits = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct schedule *near = random_program(seed, 40, 1), *far = random_program(seed, 40, scale);

        assert_int_equal(near->count, far->count);
        for (size_t i = 0; i < near->count; i++) {
            const struct operation *a = &near->operations[i], *b = &far->operations[i];

            assert_int_equal(a->wait_count, b->wait_count);
            for (size_t w = 0; w < a->wait_count; w++, waits++) {
                assert_int_equal(a->waits[w].operation, b->waits[w].operation);
                assert_int_equal(a->waits[w].at * scale, b->waits[w].at);
                assert_int_equal(a->waits[w].past * scale, b->waits[w].past);
                assert_int_equal(a->waits[w].length * scale, b->waits[w].length);
            }
        }
        schedule_free(near);
        schedule_free(far);
    }
    assert_true(waits > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wait_is_noticed),
        cmocka_unit_test(waits_are_exact),
        cmocka_unit_test(waits_scale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

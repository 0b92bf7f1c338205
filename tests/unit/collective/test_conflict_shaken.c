/*
 * test_conflict_shaken.c - the shaker notices each wait that is taken away.
 *
 * From the schedules of all ranks a graph is drawn of what comes before what, element by element:
 * an operation's elements ascend, a message's elements arrive after they were sent, messages of a
 * lane and epochs follow each other, and waits wait. Some waits say only what the rest of the graph
 * says already (a ring's rank cannot receive over a block before it has sent it, since what comes
 * in has been caused by what went out); without such a wait every order is as right as before, and
 * the shaker must say so. Any other wait, taken away, admits an order in which two conflicting
 * touches change places, and the shaker must find one.
 * tier: check; load: cpu1
 */
#include "tests/unit/order_graph.h"

static bool same_direction(const struct operation *a, const struct operation *b)
{
    return operation_travels(a->kind) && operation_travels(b->kind) &&
           (a->kind == OPERATION_SEND) == (b->kind == OPERATION_SEND);
}

/* Adds edges to operation i of a rank, from those before it by lane and epoch. Returns its
 * message's number. */
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
                 operation_names[whole.kind], wait->operation, rank, error);
    if (!implied && seed < 0)
        fail_msg("a wait of %s on operation %u of rank %d is gone, and %d seeds did not notice",
                 operation_names[whole.kind], wait->operation, rank, SEEDS_TO_FIND);
    tally->implied += implied;
    tally->noticed += !implied;
    tally->worst = seed > tally->worst ? seed : tally->worst;
}

static const struct schedule_sample samples[] = {
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

        sample_build(&program, &samples[s]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wait_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_tree_shapes.c - the shapes of trees match worked examples of their namesakes; what they list
 * as children are the ranks whose parent a rank is. Reduces that claim it combine in the order of
 * the ranks; the verifier does not check this, since all operators of today commute.
 * tier: check; load: cpu1
 */
#include <stdlib.h>

#include "tests/unit/schedules.h"

#include "algorithms/common/common.h"

#define ORDERED_MOST  33 /* ranks */
#define CHILDREN_MOST 130

/* Parents of the relative ranks 0, 1, ... and the rounds in which they receive from them, as
 * digits; '-' is the root's. */
static const struct example {
    const char *name;
    const struct tree_shape *shape;
    int k;
    const char *parents, *rounds;
} examples[] = {
    {"star", &tree_chains, TREE_STAR, "-00000", "-00000"},
    {"chain", &tree_chains, 1, "-01234", "-01234"},
    {"two chains", &tree_chains, 2, "-01204", "-01201"},
    {"binomial", &tree_knomial, 2, "-00204", "-21202"},
    {"knomial, 3", &tree_knomial, 3, "-00033", "-11011"},
    {"knomial, 4", &tree_knomial, 4, "-00004", "-11101"},
    {"binomial, near first", &tree_binomial_near, 0, "-00101", "-01122"},
    {"level", &tree_level, 0, "-00121", "-00111"},
    {"heap", &tree_heap, 0, "-00112", "-00111"},
    {"in order", &tree_in_order, 0, "22545-", "11010-"},
    {"in order, 9", &tree_in_order, 0, "13385778-", "21102110-"},
    {"NCCL", &tree_nccl, 0, "-24204", "-21201"},
    {"NCCL, 5", &tree_nccl, 0, "-2420", "-2120"},
    {"second", &tree_second, 0, "15313-", "10212-"},
    {"second, 5", &tree_second, 0, "1-303", "0-212"},
    {"second below", &tree_second_below, 0, "-53130", "-13230"},
};

static char digit(int number)
{
    return number < 0 ? '-' : (char)('0' + number);
}

static void shapes_as_drawn(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
        const struct example *example = &examples[i];
        int p = (int)strlen(example->parents);
        char parents[16] = "", rounds[16] = "";

        for (int v = 0; v < p; v++) {
            struct uplink up = example->shape->up(v, p, example->k);

            parents[v] = digit(up.parent);
            rounds[v] = digit(up.round);
        }
        if (strcmp(parents, example->parents) != 0 || strcmp(rounds, example->rounds) != 0)
            fail_msg("%s: parents %s in rounds %s, not %s in %s", example->name, parents, rounds,
                     example->parents, example->rounds);
    }
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The children that a shape lists are those that have this parent. */
static void check_children(const struct example *example, int p, int v)
{
    int listed[CHILDREN_MOST + 1], expected[CHILDREN_MOST], count = 0;
    int most = example->shape->children(v, p, example->k, NULL);
    int found = example->shape->children(v, p, example->k, listed);

    for (int child = 0; child < p; child++)
        if (example->shape->up(child, p, example->k).parent == v)
            expected[count++] = child;
    qsort(listed, (size_t)found, sizeof *listed, ascending);
    if (found > most || found != count ||
        memcmp(listed, expected, (size_t)count * sizeof *listed) != 0)
        fail_msg("%s: %d ranks, rank %d: %d children of %d", example->name, p, v, found, count);
}

static void children_have_this_parent(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
        for (int p = 1; p <= CHILDREN_MOST; p++) {
            const struct example *example = &examples[i];
            int rounds = 0;

            for (int v = 0; v < p; v++) {
                int round = example->shape->up(v, p, example->k).round;

                rounds = round >= rounds ? round + 1 : rounds;
                check_children(example, p, v);
            }
            if (example->shape->rounds(p, example->k) != rounds)
                fail_msg("%s: %d ranks: %d rounds, not %d", example->name, p,
                         example->shape->rounds(p, example->k), rounds);
        }
}

/* Algorithms that say that they combine in the order of the ranks, for every root or for root 0. */
static const struct orderly {
    enum collective_id collective;
    const char *name;
    bool every_root;
} orderly[] = {
    {COLLECTIVE_REDUCE, "linear", true},       {COLLECTIVE_REDUCE, "in-order-binary", true},
    {COLLECTIVE_REDUCE, "chain", false},       {COLLECTIVE_REDUCE, "binomial", false},
    {COLLECTIVE_REDUCE, "knomial", false},     {COLLECTIVE_ALLREDUCE, "linear", false},
    {COLLECTIVE_ALLREDUCE, "binomial", false}, {COLLECTIVE_ALLREDUCE, "knomial", false},
};

/* Ranks first .. last. */
struct run {
    int first, last;
};

/* Whose contributions `rank` has in the end, of a tree; what it combines must be runs of ranks
 * that meet. */
static bool run_combined(const struct program *program, int rank, struct run *run)
{
    const struct schedule *schedule = program->schedules[rank];

    *run = (struct run){rank, rank};
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        struct run other;

        if (operation->kind != OPERATION_RECV_REDUCE)
            continue;
        if (!run_combined(program, operation->peer, &other))
            return false;
        if (other.first == run->last + 1)
            run->last = other.last;
        else if (other.last == run->first - 1)
            run->first = other.first;
        else
            return false;
    }
    return true;
}

static void check_order(const struct orderly *row, int p, int root)
{
    struct choice choice = choice_of(algorithm_find(row->collective, row->name));
    struct problem problem = {
        .collective = collective_of(row->collective), .ranks = p, .root = root, .count = 1};
    struct program program = {.ranks = p};
    bool orderly_all = true, complete = false;

    for (int r = 0; r < p; r++)
        assert_int_equal(schedule_build(&choice, &problem, r, 1, true, &program.schedules[r]),
                         STATUS_OK);
    for (int r = 0; r < p; r++) {
        struct run run;

        orderly_all &= run_combined(&program, r, &run);
        complete |= run.first == 0 && run.last == p - 1;
    }
    program_free(&program);
    if (!orderly_all || !complete)
        fail_msg("%s %s, %d ranks, root %d: not in the order of the ranks",
                 problem.collective->name, row->name, p, root);
}

static void combined_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(orderly) / sizeof(*orderly); i++)
        for (int p = 1; p <= ORDERED_MOST; p++)
            for (int root = 0; root < (orderly[i].every_root ? p : 1); root++)
                check_order(&orderly[i], p, root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_as_drawn),
        cmocka_unit_test(children_have_this_parent),
        cmocka_unit_test(combined_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

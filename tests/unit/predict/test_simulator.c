/*
 * test_simulator.c - the simulator: textbook parameters give the textbook's formulas exactly, one
 * rank stands for all where it may, and every algorithm comes to its end.
 *
 * The formulas are those of HCCL's documentation and of Thakur, Rabenseifner and Gropp
 * ("Optimization of collective communication operations in MPICH", 2005): a message of m bytes
 * takes a + m b, and combining them m c; with several ports all messages of a rank travel at once.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collective/collective.h"
#include "predict/simulate/internal.h"
#include "tests/unit/textbook.h"

/* p ranks; n bytes of the vector, or of all blocks; b of one of p blocks; q rounds. */
struct scale {
    double p, n, b, q;
};

#define FORMULA(name, value)                                                                       \
    static double name(struct scale s)                                                             \
    {                                                                                              \
        (void)s;                                                                                   \
        return value;                                                                              \
    }
FORMULA(ring_gather, (s.p - 1) * (ALPHA + s.b * BETA))
FORMULA(ring_scatter, (s.p - 1) * (ALPHA + s.b * (BETA + GAMMA)))
FORMULA(ring_both, 2 * (s.p - 1) * (ALPHA + s.b * BETA) + (s.p - 1) * s.b * GAMMA)
FORMULA(mesh_gather, ALPHA + s.b * BETA)
FORMULA(mesh_scatter, ALPHA + s.b * BETA + (s.p - 1) * s.b * GAMMA)
FORMULA(mesh_both, 2 * ALPHA + 2 * s.b * BETA + (s.p - 1) * s.b * GAMMA)
FORMULA(star, ALPHA + s.n * BETA)
FORMULA(chain, (s.p - 1) * (ALPHA + s.n * BETA))
FORMULA(tree, s.q *(ALPHA + s.n * BETA))
FORMULA(doubling, s.q *(ALPHA + s.n * (BETA + GAMMA)))
FORMULA(halving, s.q *ALPHA + (s.p - 1) * s.b * (BETA + GAMMA))
FORMULA(halving_doubling, 2 * s.q * ALPHA + 2 * (s.p - 1) * s.b * BETA + (s.p - 1) * s.b * GAMMA)
FORMULA(logarithmic_gather, s.q *ALPHA + (s.p - 1) * s.b * BETA)
FORMULA(pairs, (s.p - 1) * (ALPHA + s.b * BETA))
FORMULA(bruck, s.q *(ALPHA + s.n / 2 * BETA))

static const struct row {
    enum collective_id collective;
    const char *algorithm;
    bool power_of_two;
    double (*formula)(struct scale scale);
} rows[] = {
    {COLLECTIVE_ALLGATHER, "ring", false, ring_gather},
    {COLLECTIVE_REDUCE_SCATTER, "ring", false, ring_scatter},
    {COLLECTIVE_ALLREDUCE, "ring", false, ring_both},
    {COLLECTIVE_ALLGATHER, "mesh", false, mesh_gather},
    {COLLECTIVE_REDUCE_SCATTER, "mesh", false, mesh_scatter},
    {COLLECTIVE_ALLREDUCE, "mesh", false, mesh_both},
    {COLLECTIVE_BROADCAST, "linear", false, star},
    {COLLECTIVE_BROADCAST, "chain", false, chain},
    {COLLECTIVE_BROADCAST, "binomial", true, tree},
    {COLLECTIVE_ALLREDUCE, "recursive-doubling", true, doubling},
    {COLLECTIVE_REDUCE_SCATTER, "rec-halving", true, halving},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", true, halving_doubling},
    {COLLECTIVE_ALLREDUCE, "rhd-far", true, halving_doubling},
    {COLLECTIVE_ALLGATHER, "recursive-doubling", true, logarithmic_gather},
    {COLLECTIVE_ALLGATHER, "bruck", true, logarithmic_gather},
    {COLLECTIVE_ALLGATHER, "nhr", true, logarithmic_gather},
    {COLLECTIVE_ALLGATHER, "nb", true, logarithmic_gather},
    {COLLECTIVE_REDUCE_SCATTER, "nhr", true, halving},
    {COLLECTIVE_REDUCE_SCATTER, "nb", true, halving},
    {COLLECTIVE_ALLREDUCE, "nhr", true, halving_doubling},
    {COLLECTIVE_ALLREDUCE, "nb", true, halving_doubling},
    {COLLECTIVE_ALLTOALL, "pairwise", false, pairs},
    {COLLECTIVE_ALLTOALL, "linear", false, mesh_gather},
    {COLLECTIVE_ALLTOALL, "bruck", true, bruck},
};

/* Elements of the problem's count for COUNT elements of all blocks together. */
static size_t count_of(enum collective_id collective, int ranks)
{
    bool whole = collective == COLLECTIVE_ALLREDUCE || collective == COLLECTIVE_BROADCAST;
    return whole ? COUNT : COUNT / (size_t)ranks;
}

static void textbook_formulas_come_out(void **state)
{
    (void)state;
    const struct model *model = textbook(PORT_NONE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int p = 2; p <= 16; p++) {
            bool power = (p & (p - 1)) == 0;
            if (COUNT % p != 0 || (rows[i].power_of_two && !power))
                continue;
            const struct algorithm *algorithm =
                algorithm_find(rows[i].collective, rows[i].algorithm);
            assert_non_null(algorithm);
            struct choice choice = choice_of(algorithm);
            struct problem problem =
                problem_of(rows[i].collective, p, count_of(rows[i].collective, p));
            const struct simulation simulation = simulation_of(model, &choice, &problem);
            const struct scale scale = {p, COUNT * 4, COUNT * 4 / p, ceil(log2(p))};
            double expected = rows[i].formula(scale), time = time_of(&simulation);
            if (fabs(time / expected - 1) > 1e-9)
                print_error("%s %s, %d ranks: %.6f us, and the formula says %.6f\n",
                            problem.collective->name, rows[i].algorithm, p, time, expected);
            assert_true(fabs(time / expected - 1) <= 1e-9);
        }
    }
}

/* Rank 0 stands for all, or all are simulated: the same time. Does it stand for all? */
static bool one_as_all(const struct choice *choice, struct problem *problem, const int *node)
{
    struct model *model = textbook(node ? PORT_NODE : PORT_RANK);
    struct counts *counts = NULL;
    model->start = 0.7;
    model->copy = (struct curve){1, {{1, 0.002}}};
    model->links[0].paths[0].send_overhead = 1.5;
    model->links[0].paths[0].receive_overhead = 2.5;
    model->links[1] = model->links[0];
    model->links[1].distance = DISTANCE_NETWORK;
    model->links[1].paths[0].latency = 3 * ALPHA;
    model->link_count = 2;
    if (choice->algorithm->partner)
        assert_int_equal(STATUS_OK, choice_partners(choice, problem->ranks, &counts));
    problem->counts = counts;
    struct simulation simulation = simulation_of(model, choice, problem);
    struct simulated one, each;
    simulation.node = node;
    assert_int_equal(STATUS_OK, simulate(&simulation, &one));
    simulation.each_rank = true;
    assert_int_equal(STATUS_OK, simulate(&simulation, &each));
    if (fabs(one.time - each.time) > 1e-6)
        print_error("%s %s, %d ranks: %.6f us by one, %.6f by all\n", problem->collective->name,
                    choice->algorithm->name, problem->ranks, one.time, each.time);
    assert_float_equal(one.time, each.time, 1e-6);
    assert_int_equal(each.symmetry, SYMMETRY_NONE);
    counts_free(counts);
    return one.symmetry != SYMMETRY_NONE;
}

/* Every algorithm ends, and where rank 0 stands for all, it takes as long as with all ranks:
 * `shape` NULL: those without groups, on one host. Returns for how many problems it stands for
 * all. */
static int algorithms_try(const struct shape *shape, int ranks, const int *node, int *all)
{
    int found = 0;
    for (int i = 0; algorithms[i]; i++) {
        struct choice choice = choice_of(algorithms[i]);
        for (int c = 0; c < COLLECTIVES; c++) {
            char why[256];
            struct problem problem = problem_of((enum collective_id)c, ranks, COUNT);
            problem.shape = shape;
            if (!algorithm_serves(algorithms[i], (enum collective_id)c) || algorithms[i]->vendor ||
                problem.collective->counted || (algorithms[i]->grouped && !shape) ||
                choice_refuses(&choice, &problem, why, sizeof why))
                continue;
            found += one_as_all(&choice, &problem, node);
            ++*all;
        }
    }
    return found;
}

static void one_rank_stands_for_all(void **state)
{
    (void)state;
    int all = 0, found = 0;
    for (int p = 2; p <= 9; p++)
        found += algorithms_try(NULL, p, NULL, &all);
    print_message("%d of %d problems have a rank that stands for all\n", found, all);
    assert_true(all > 500 && found > 100);
}

/* The same with groups, each on a host of its own, whose ranks share its port. */
static void one_rank_stands_for_all_groups(void **state)
{
    (void)state;
    static const int sizes[][2] = {{2, 2}, {2, 4}, {3, 2}, {4, 2}, {3, 3}};
    int all = 0, found = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int node[16], ranks = sizes[i][0] * sizes[i][1];
        for (int r = 0; r < ranks; r++)
            node[r] = r / sizes[i][1];
        struct shape *shape = shape_create(node, ranks);
        assert_non_null(shape);
        found += algorithms_try(shape, ranks, node, &all);
        shape_free(shape);
    }
    print_message("%d of %d problems have a rank that stands for all\n", found, all);
    assert_true(all > 400 && found > 20);
}

/* Algorithms that say that their ranks are alike: the programs of all ranks, of up to 16, are so;
 * of more ranks some are looked at. Rank 0 stands for all, where all are as far from each other,
 * and not where one of them has a host of its own. */
static void ranks_are_alike(void **state)
{
    (void)state;
    int found = 0;
    for (int i = 0; algorithms[i]; i++)
        for (int c = 0; c < COLLECTIVES && algorithms[i]->alike; c++) {
            struct choice choice = choice_of(algorithms[i]);
            int node[33] = {[22] = 1};
            if (!algorithm_serves(algorithms[i], (enum collective_id)c) ||
                collective_of((enum collective_id)c)->counted)
                continue;
            for (int p = 2; p <= 33; p++) {
                char why[256];
                struct problem problem = problem_of((enum collective_id)c, p, (size_t)p * 12);
                if (choice_refuses(&choice, &problem, why, sizeof why))
                    continue;
                bool alike = one_as_all(&choice, &problem, NULL);
                bool elsewhere = p > 22 && one_as_all(&choice, &problem, node);
                if (!alike || elsewhere)
                    print_error("%s %s, %d ranks\n", problem.collective->name, algorithms[i]->name,
                                p);
                assert_true(alike && !elsewhere);
                found++;
            }
        }
    print_message("%d problems have ranks that are alike\n", found);
    assert_true(found > 600);
}

/* The start barrier releases the last of two hosts at once, and the other by a message of one byte,
 * which costs all that a message costs. */
static void a_release_costs_a_message(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1};
    struct model *model = textbook(PORT_NODE);
    struct path_cost *cost = &model->links[0].paths[0];
    const struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
    const struct problem problem = problem_of(COLLECTIVE_ALLREDUCE, 3, COUNT);
    struct simulation simulation = simulation_of(model, &choice, &problem);
    double released[3] = {3, 0, 100};
    model->links[0].distance = DISTANCE_NETWORK;
    cost->send_overhead = 1;
    cost->gap = 2;
    cost->wire = 4;
    cost->latency = 8;
    cost->receive_overhead = 16;
    simulation.node = node;
    assert_true(release_find(&simulation, released, released));
    assert_true(released[0] == 31 && released[1] == 31 && released[2] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(textbook_formulas_come_out),     cmocka_unit_test(one_rank_stands_for_all),
        cmocka_unit_test(one_rank_stands_for_all_groups), cmocka_unit_test(ranks_are_alike),
        cmocka_unit_test(a_release_costs_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_simulator.c - the simulator: textbook parameters give the textbook's formulas exactly, one rank
 * stands for all where it may, and every algorithm comes to its end.
 *
 * The formulas are those of HCCL's documentation and of Thakur, Rabenseifner and Gropp ("Optimization
 * of collective communication operations in MPICH", 2005): a message of m bytes takes a + m b, and
 * combining them m c; with several ports all messages of a rank travel at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collective/counts.h"
#include "collective/shape.h"
#include "simulate/simulator.h"

#define ALPHA 10.0 /* us */
#define BETA  0.01 /* us per byte */
#define GAMMA 0.003
#define COUNT 5040 /* elements: 2 to 10 and 12, 14, 15, 16 divide it */

/* A machine with nothing but a, b and c. */
static struct model *textbook(enum port_kind port)
{
    static struct model model;
    model = (struct model){
        .cores = 64,
        .combines = {{.datatype = "float", .reduction = "sum", .byte = {1, {{1, GAMMA}}}}},
        .combine_count = 1,
        .links = {{.transport = "tcp",
                   .distance = DISTANCE_CACHE,
                   .port = port,
                   .paths = {{.path = PATH_BCOPY,
                              .movement = MOVEMENT_PUSH,
                              .latency = ALPHA,
                              .wire = BETA}},
                   .path_count = 1}},
        .link_count = 1,
    };
    return &model;
}

static const struct transport_choice *tcp(void)
{
    static struct transport_choice choices[2];
    choices[0].transport = transport_find("tcp");
    return choices;
}

static struct simulation simulation_of(const struct model *model, const struct choice *choice,
                                       const struct problem *problem)
{
    return (struct simulation){.model = model,
                               .choice = choice,
                               .problem = problem,
                               .groups = 1,
                               .channels = 1,
                               .datatype = datatype_find("float"),
                               .reduction = problem->collective->reduces ? reduction_find("sum")
                                                                         : NULL,
                               .memory = memory_find("host"),
                               .transports = tcp(),
                               .chunk = 0,
                               .pieces = 1};
}

static double time_of(const struct simulation *simulation)
{
    struct simulated simulated;
    assert_int_equal(STATUS_OK, simulate(simulation, &simulated));
    double time = simulated.time;
    return time;
}

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
FORMULA(mesh_gather, ALPHA + s.b *BETA)
FORMULA(mesh_scatter, ALPHA + s.b *BETA + (s.p - 1) * s.b * GAMMA)
FORMULA(mesh_both, 2 * ALPHA + 2 * s.b * BETA + (s.p - 1) * s.b * GAMMA)
FORMULA(star, ALPHA + s.n *BETA)
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

static struct problem problem_of(enum collective_id collective, int ranks, size_t count)
{
    return (struct problem){
        .collective = collective_of(collective), .ranks = ranks, .count = count};
}

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
            const struct algorithm *algorithm = algorithm_find(rows[i].collective, rows[i].algorithm);
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

/* With one port, the messages of a rank share it: all blocks of a star leave one after the other, or
 * all at a part of the rate. */
static void messages_share_a_port(void **state)
{
    (void)state;
    for (int p = 2; p <= 9; p++) {
        struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
        struct problem problem = problem_of(COLLECTIVE_BROADCAST, p, COUNT);
        const struct simulation simulation =
            simulation_of(textbook(PORT_RANK), &choice, &problem);
        assert_float_equal(time_of(&simulation), ALPHA + (p - 1) * COUNT * 4 * BETA, 1e-6);
    }
}

/* Ranks of one host share its port; those of others do not. */
static void hosts_share_a_port(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 0, 1, 1, 1};
    struct model *model = textbook(PORT_NODE);
    model->links[0].distance = DISTANCE_NETWORK;
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_SENDRECV, "pairs"));
    struct problem problem = problem_of(COLLECTIVE_SENDRECV, 6, COUNT);
    struct counts *partners;
    assert_int_equal(STATUS_OK, choice_partners(&choice, 6, &partners));
    problem.counts = partners;
    struct simulation simulation = simulation_of(model, &choice, &problem);
    simulation.node = node;
    assert_float_equal(time_of(&simulation), ALPHA + 3 * COUNT * 4 * BETA, 1e-6);
    counts_free(partners);
}

/* Groups that run at the same time share their hosts' ports. */
static void groups_share_a_port(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1, 1}, members[][2] = {{0, 2}, {1, 3}};
    struct model *model = textbook(PORT_NODE);
    model->links[0].distance = DISTANCE_NETWORK;
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problems[2];
    for (int g = 0; g < 2; g++) {
        problems[g] = problem_of(COLLECTIVE_BROADCAST, 2, COUNT);
        problems[g].members = members[g];
    }
    struct simulation simulation = simulation_of(model, &choice, problems);
    simulation.node = node;
    simulation.groups = 2;
    assert_float_equal(time_of(&simulation), ALPHA + 2 * COUNT * 4 * BETA, 1e-6);
}

/* On a ring of five, messages to the rank after the next one cross two links, each of which carries two
 * of them; a link of half the rate takes twice as long. */
static void messages_share_links(void **state)
{
    (void)state;
    static const int seats[] = {0, 1, 2, 3, 4};
    static const char *const specs[] = {"ring:5", "ring:5:rate=0.5", "ring:5:latency=3"};
    static const double expected[] = {ALPHA + 2 * COUNT * 4 * BETA, ALPHA + 4 * COUNT * 4 * BETA,
                                      ALPHA + 2 * 3 + 2 * COUNT * 4 * BETA};
    struct model *model = textbook(PORT_NODE);
    model->links[0].distance = DISTANCE_NETWORK;
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_SENDRECV, "ring-shift"));
    choice.options[0] = 2;
    for (int i = 0; i < 3; i++) {
        struct problem problem = problem_of(COLLECTIVE_SENDRECV, 5, COUNT);
        struct counts *partners;
        struct topology *topology;
        assert_int_equal(STATUS_OK, choice_partners(&choice, 5, &partners));
        assert_int_equal(STATUS_OK, topology_parse(specs[i], &topology));
        problem.counts = partners;
        struct simulation simulation = simulation_of(model, &choice, &problem);
        simulation.node = simulation.end = seats;
        simulation.topology = topology;
        double time = time_of(&simulation);
        if (fabs(time - expected[i]) > 1e-6)
            print_error("%s: %.3f us, expected %.3f\n", specs[i], time, expected[i]);
        assert_float_equal(time, expected[i], 1e-6);
        topology_free(topology);
        counts_free(partners);
    }
}

/* Two ranks on one core take turns; on two they work at the same time. Each looks for work in its turn, so
 * what arrives waits for it; a byte may cost more there. */
static void ranks_share_a_core(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLGATHER, "ring"));
    struct problem problem = problem_of(COLLECTIVE_ALLGATHER, 2, COUNT);
    model->links[0].paths[0] = (struct path_cost){.path = PATH_BCOPY, .send_overhead = 5};
    model->core_switch = 2;
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    model->cores = 2;
    assert_float_equal(time_of(&simulation), 5, 1e-9);
    /* The first rank sends, then the second sends and receives, then the first receives. */
    model->cores = 1;
    assert_float_equal(time_of(&simulation), 5 + 2 + 5 + 2, 1e-9);
    model->core_switch = 0;
    assert_float_equal(time_of(&simulation), 10, 1e-9);
    model->links[0].paths[0].send_byte = (struct curve){1, {{1, BETA}}};
    double message = (double)COUNT * 4 * BETA;
    assert_float_equal(time_of(&simulation), 2 * (5 + message), 1e-9);
    model->links[0].paths[0].sharing = 3;
    assert_float_equal(time_of(&simulation), 2 * (5 + 3 * message), 1e-9);
    model->cores = 2;
    assert_float_equal(time_of(&simulation), 5 + message, 1e-9);
}

/* Ranks on cores of several caches: those that share none are farther from each other. */
static void caches_part_ranks(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_SENDRECV, "uni"));
    struct problem problem = problem_of(COLLECTIVE_SENDRECV, 2, COUNT);
    const int far[] = {0, 2};
    struct counts *partners = NULL;
    assert_int_equal(STATUS_OK, choice_partners(&choice, 2, &partners));
    problem.counts = partners;
    struct simulation simulation = simulation_of(model, &choice, &problem);
    model->links[0] = (struct link_model){.transport = "tcp", .distance = DISTANCE_CACHE, .path_count = 1};
    model->links[0].paths[0] = (struct path_cost){.path = PATH_BCOPY, .latency = 1};
    model->links[model->link_count++] = model->links[0];
    model->links[model->link_count - 1].distance = DISTANCE_NODE;
    model->links[model->link_count - 1].paths[0].latency = 4;
    model->cores = 4;
    model->caches = model->cache_cores = 2;
    assert_float_equal(time_of(&simulation), 1, 1e-9);
    simulation.core = far;
    assert_float_equal(time_of(&simulation), 4, 1e-9);
    simulation.core = NULL;
    model->cache_cores = 1;
    assert_float_equal(time_of(&simulation), 4, 1e-9);
    counts_free(partners);
}

/* Cores that are at work share the memory of their host: a byte takes as long as all of them need, where
 * one alone is faster. */
static void cores_share_memory(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLGATHER, "ring"));
    struct problem problem = problem_of(COLLECTIVE_ALLGATHER, 2, COUNT);
    const double message = (double)COUNT * 4;
    model->links[0].paths[0] = (struct path_cost){.path = PATH_BCOPY, .send_byte = {1, {{1, BETA}}}};
    struct simulation simulation = simulation_of(model, &choice, &problem);
    model->bus = (struct curve){1, {{1, BETA / 4}}};
    assert_float_equal(time_of(&simulation), BETA * message, 1e-9); /* 2 cores: BETA / 2 */
    simulation.beside = 6;
    assert_float_equal(time_of(&simulation), 2 * BETA * message, 1e-9);
}

/* A port takes a gap for each message, beyond its bytes: also of those that wait for it. */
static void messages_keep_a_gap(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_RANK);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 4, COUNT);
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    double before = time_of(&simulation);
    model->links[0].paths[0].gap = 2;
    assert_float_equal(time_of(&simulation), before + 3 * 2, 1e-9);
}

/* What waits for the same operation follows it in the order of the program, as in a run: each rank of a
 * tree sends to the largest subtree first, or a step would take longer. */
static void followers_keep_their_order(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "binomial"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 8, COUNT);
    model->links[0].paths[0] = (struct path_cost){
        .path = PATH_BCOPY, .latency = ALPHA, .send_overhead = 1, .receive_overhead = 1};
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    assert_float_equal(time_of(&simulation), 3 * (1 + ALPHA + 1), 1e-9);
}

/* With default costs, of which each of the n - 1 bytes after the first takes `gap`. */
static double loggopsim_time(enum collective_id collective, const char *algorithm, int ranks,
                             size_t count, double gap)
{
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(collective, algorithm));
    struct problem problem = problem_of(collective, ranks, count);
    model->combine_count = 0;
    model->links[0].paths[0] = (struct path_cost){.path = PATH_BCOPY,
                                                  .latency = 2.5,
                                                  .send_overhead = 1.5,
                                                  .receive_overhead = 1.5 - gap,
                                                  .receive_byte = {1, {{1, gap}}}};
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    return time_of(&simulation);
}

/* The examples of LogGOPSim's documentation (README.md, doc/README): 1,024 bytes are reduced on 8 hosts,
 * and 16 hosts exchange single bytes by dissemination. */
static void published_cases_come_out(void **state)
{
    (void)state;
    assert_float_equal(loggopsim_time(COLLECTIVE_REDUCE, "binomial", 8, 256, 0.006), 34.914, 1e-9);
    assert_float_equal(loggopsim_time(COLLECTIVE_BARRIER, "dissemination", 16, 1, 0), 22, 1e-9);
}

/* Where all messages of a rank are short its run does not stream: what is sent on waits for all of what
 * it consists of. Else the own block goes ahead. */
static void short_messages_move_whole(void **state)
{
    (void)state;
    static struct transport_choice shm[2];
    shm[0].transport = transport_find("shm");
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_GATHER, "binomial"));
    struct problem problem = problem_of(COLLECTIVE_GATHER, 8, 2);
    model->links[0].paths[0] = (struct path_cost){
        .path = PATH_BCOPY, .latency = ALPHA, .send_overhead = 1, .receive_overhead = 1};
    strcpy(model->links[0].transport, "shm");
    struct simulation simulation = simulation_of(model, &choice, &problem);
    simulation.transports = shm;
    simulation.pieces = 16;
    double whole = 3 * (1 + ALPHA + 1);
    assert_float_equal(time_of(&simulation), whole, 1e-9);
    problem.count = 256; /* the last message: four blocks, 4 KiB */
    assert_float_equal(time_of(&simulation), whole, 1e-9);
    problem.count = 257;
    assert_true(time_of(&simulation) < whole);
    problem.count = 2;
    simulation.chunk = 4;
    assert_true(time_of(&simulation) < whole);
}

/* A chain of whole messages takes (p-1)(a + m b); a streamed one little more than one message. */
static void long_messages_stream(void **state)
{
    (void)state;
    const struct model *model = textbook(PORT_RANK);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "chain"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 8, 4 << 20);
    struct simulation simulation = simulation_of(model, &choice, &problem);
    double message = (16 << 20) * BETA, whole = time_of(&simulation);
    assert_float_equal(whole, 7 * (ALPHA + message), 1e-3);
    simulation.chunk = 64 << 10;
    simulation.pieces = 256;
    double streamed = time_of(&simulation), part = (64 << 10) * BETA;
    assert_true(streamed > message && streamed < 7 * ALPHA + message + 6.5 * part);
}

/* A sender that may not be ahead waits for its receiver. */
static void windows_hold_senders_back(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct path_cost *path = &model->links[0].paths[0];
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 2, 256 << 10);
    *path = (struct path_cost){.path = PATH_BCOPY,
                               .send_byte = {1, {{1, BETA}}},
                               .receive_byte = {1, {{1, BETA}}}};
    struct simulation simulation = simulation_of(model, &choice, &problem);
    simulation.pieces = 64;
    double free_time = time_of(&simulation);
    path->window = 16 << 10;
    double held = time_of(&simulation), message = (1 << 20) * BETA;
    assert_true(free_time < 1.1 * message);
    assert_float_equal(held, 2 * message, 1e-3);
    /* Short messages, which move whole where the window lets them: two fit, or less than one. */
    problem = problem_of(COLLECTIVE_BROADCAST, 2, 512);
    const struct transport_choice shm[] = {{.transport = transport_find("shm")}, {NULL}};
    snprintf(model->links[0].transport, sizeof model->links[0].transport, "shm");
    simulation.transports = shm;
    for (path->window = 512; path->window <= 3 * 1024; path->window += 512)
        assert_true(time_of(&simulation) >= 2048 * BETA);
}

/* A message that is pulled: the sender says so once, the receiver's core has all the work, and the
 * sender's memory is free a latency later. */
static void receivers_pull(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct path_cost *path = &model->links[0].paths[0];
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 2, 256 << 10);
    *path = (struct path_cost){.path = PATH_BCOPY,
                               .movement = MOVEMENT_PULL,
                               .latency = ALPHA,
                               .send_overhead = 5,
                               .receive_overhead = 3,
                               .receive_byte = {1, {{1, BETA}}}};
    struct simulation simulation = simulation_of(model, &choice, &problem);
    double message = (1 << 20) * BETA;
    assert_float_equal(time_of(&simulation), 5 + ALPHA + 3 + message + ALPHA, 1e-6);
    simulation.pieces = 64;
    assert_float_equal(time_of(&simulation), 5 + ALPHA + 3 + message + ALPHA, 1e-6);
}

/* A message that needs a grant begins when its receiver is ready, and costs its receiver's core no byte. A
 * row of another path does not matter. */
static void receivers_grant(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 2, COUNT);
    model->start = 2;
    model->links[0].paths[1] = (struct path_cost){.path = PATH_ZCOPY,
                                                  .movement = MOVEMENT_GRANT,
                                                  .latency = ALPHA,
                                                  .send_overhead = 5,
                                                  .receive_overhead = 3,
                                                  .wire = BETA};
    model->links[0].path_count = 2;
    model->links[0].paths[0].latency = 1000;
    struct simulation simulation = simulation_of(model, &choice, &problem);
    simulation.copy = COPY_ZCOPY;
    assert_float_equal(time_of(&simulation), 2 + ALPHA + 5 + COUNT * 4 * BETA + ALPHA + 3 + ALPHA,
                       1e-6);
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

/* Every algorithm ends, and where rank 0 stands for all, it takes as long as with all ranks: `shape`
 * NULL: those without groups, on one host. Returns for how many problems it stands for all. */
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

/* Those that say that their ranks are alike: the programs of all ranks, of up to 16, are so; of more
 * ranks, of which some are looked at, rank 0 stands for all, where all are as far from each other, and
 * not where one of them has a host of its own. */
static void ranks_are_alike(void **state)
{
    (void)state;
    int found = 0;
    for (int i = 0; algorithms[i]; i++)
        for (int c = 0; c < COLLECTIVES && algorithms[i]->alike; c++) {
            struct choice choice = choice_of(algorithms[i]);
            int node[33] = {[23] = 1};
            if (!algorithm_serves(algorithms[i], (enum collective_id)c) ||
                collective_of((enum collective_id)c)->counted)
                continue;
            for (int p = 2; p <= 33; p++) {
                char why[256];
                struct problem problem = problem_of((enum collective_id)c, p, (size_t)p * 12);
                if (choice_refuses(&choice, &problem, why, sizeof why))
                    continue;
                bool alike = one_as_all(&choice, &problem, NULL);
                bool elsewhere = p > 23 && one_as_all(&choice, &problem, node);
                if (!alike || elsewhere)
                    print_error("%s %s, %d ranks\n", problem.collective->name,
                                algorithms[i]->name, p);
                assert_true(alike && !elsewhere);
                found++;
            }
        }
    print_message("%d problems have ranks that are alike\n", found);
    assert_true(found > 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(textbook_formulas_come_out),
        cmocka_unit_test(messages_share_a_port),
        cmocka_unit_test(hosts_share_a_port),
        cmocka_unit_test(groups_share_a_port),
        cmocka_unit_test(messages_share_links),
        cmocka_unit_test(ranks_share_a_core),
        cmocka_unit_test(caches_part_ranks),
        cmocka_unit_test(cores_share_memory),
        cmocka_unit_test(messages_keep_a_gap),
        cmocka_unit_test(followers_keep_their_order),
        cmocka_unit_test(published_cases_come_out),
        cmocka_unit_test(short_messages_move_whole),
        cmocka_unit_test(long_messages_stream),
        cmocka_unit_test(windows_hold_senders_back),
        cmocka_unit_test(receivers_pull),
        cmocka_unit_test(receivers_grant),
        cmocka_unit_test(one_rank_stands_for_all),
        cmocka_unit_test(one_rank_stands_for_all_groups),
        cmocka_unit_test(ranks_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

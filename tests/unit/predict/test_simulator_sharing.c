/*
 * test_simulator_sharing.c - the simulator: what messages and ranks share, ports, links, cores and
 * memory, and how messages move: in pieces or whole, pushed, pulled or granted.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collective/collective.h"
#include "base/numbers.h"
#include "predict/simulate/internal.h"
#include "tests/unit/textbook.h"

/* With one port, the messages of a rank share it: all blocks of a star leave one after the other,
 * or all at a part of the rate. */
static void messages_share_a_port(void **state)
{
    (void)state;
    for (int p = 2; p <= 9; p++) {
        struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
        struct problem problem = problem_of(COLLECTIVE_BROADCAST, p, COUNT);
        const struct simulation simulation = simulation_of(textbook(PORT_RANK), &choice, &problem);
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

/* Two hosts with two rails, of which the second one's bytes take `slow` times as long. */
static struct model *two_rails(double slow)
{
    struct model *model = textbook(PORT_NODE);
    model->links[0].distance = DISTANCE_NETWORK;
    strcpy(model->links[0].transport, "verbs");
    model->links[1] = model->links[0];
    model->link_count = 2;
    strcpy(model->links[0].rail, "a:1");
    strcpy(model->links[1].rail, "b:1");
    model->links[1].paths[0].wire *= slow;
    return model;
}

/* The first and the last of three ranks share the first rail. With nic= only the rails that it
 * names count, unless the model has none of them. */
static void ranks_take_rails_in_turn(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 0, 1, 1, 1};
    static const struct {
        const char *nic;
        double slow, times;
    } cases[] = {{NULL, 1.5, 2}, {NULL, 3, 3},  {"b", 1.5, 4.5},
                 {"a:1", 3, 3},  {"a+b", 3, 3}, {"b:2+c", 3, 3}};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_SENDRECV, "pairs"));
    struct problem problem = problem_of(COLLECTIVE_SENDRECV, 6, COUNT);
    struct counts *partners;
    assert_int_equal(STATUS_OK, choice_partners(&choice, 6, &partners));
    problem.counts = partners;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct transport_choice verbs[2] = {{.transport = transport_find("verbs")}};
        assert_string_equal(verbs[0].transport->options[0].name, "nic");
        if (cases[i].nic)
            verbs[0].settings[0] = (struct transport_setting){.given = true, .text = cases[i].nic};
        struct simulation simulation = simulation_of(two_rails(cases[i].slow), &choice, &problem);
        simulation.node = node;
        simulation.transports = verbs;
        assert_float_equal(time_of(&simulation), ALPHA + cases[i].times * COUNT * 4 * BETA, 1e-6);
        for (int rail = 0; rail < 5 && !cases[i].nic; rail++)
            assert_ptr_equal(model_link(simulation.model, verbs, DISTANCE_NETWORK, rail),
                             &simulation.model->links[rail % 2]);
    }
    counts_free(partners);
}

/* A message from a fast rail to a slow one is as slow as that. */
static void a_slow_rail_receives_slowly(void **state)
{
    (void)state;
    static const int node[] = {0, 1, 1};
    const struct transport_choice verbs[2] = {{.transport = transport_find("verbs")}};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 3, COUNT);
    struct simulation simulation = simulation_of(two_rails(3), &choice, &problem);
    simulation.node = node;
    simulation.transports = verbs;
    assert_float_equal(time_of(&simulation), ALPHA + 3 * COUNT * 4 * BETA, 1e-6);
}

/* A link of a topology carries its multiple of the fastest rail, whichever is wired first. */
static void rails_share_links(void **state)
{
    (void)state;
    static const int node[] = {0, 0, 1, 1}, seats[] = {0, 0, 1, 1};
    const struct transport_choice verbs[2] = {{.transport = transport_find("verbs")}};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_SENDRECV, "pairs"));
    struct problem problem = problem_of(COLLECTIVE_SENDRECV, 4, COUNT);
    struct counts *partners;
    struct topology *topology;
    assert_int_equal(STATUS_OK, choice_partners(&choice, 4, &partners));
    problem.counts = partners;
    assert_int_equal(STATUS_OK, topology_parse("ring:3", &topology));
    for (int first = 0; first < 2; first++) {
        const int rail[] = {first, !first, first, !first};
        struct simulation simulation = simulation_of(two_rails(3), &choice, &problem);
        simulation.node = node;
        simulation.rail = rail;
        simulation.transports = verbs;
        simulation.topology = topology;
        simulation.end = seats;
        assert_float_equal(time_of(&simulation), ALPHA + 3 * COUNT * 4 * BETA, 1e-6);
    }
    topology_free(topology);
    counts_free(partners);
}

/* Rank 0 stands for all only where each has the same rail of its host. */
static void rails_part_ranks(void **state)
{
    (void)state;
    static const int apart[] = {0, 1, 2, 3, 4, 5, 6, 7}, pairs[] = {0, 0, 1, 1, 2, 2, 3, 3};
    const struct transport_choice verbs[2] = {{.transport = transport_find("verbs")}};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLTOALL, "pairwise"));
    struct problem problem = problem_of(COLLECTIVE_ALLTOALL, 8, COUNT);
    for (int i = 0; i < 2; i++) {
        struct model *model = two_rails(3);
        struct simulated some, all;
        model->links[2] = model->links[0];
        model->links[2].distance = DISTANCE_CACHE;
        model->link_count = 3;
        struct simulation simulation = simulation_of(model, &choice, &problem);
        simulation.node = i ? pairs : apart;
        simulation.transports = verbs;
        assert_int_equal(STATUS_OK, simulate(&simulation, &some));
        simulation.each_rank = true;
        assert_int_equal(STATUS_OK, simulate(&simulation, &all));
        assert_int_equal(some.ranks, i ? 8 : 1);
        assert_float_equal(some.time, all.time, 1e-6);
    }
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

/* On a ring of five, messages to the rank after the next one cross two links, each of which carries
 * two of them; a link of half the rate takes twice as long. */
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

/* Two ranks on one core take turns; on two they work at the same time. Each looks for work in its
 * turn, so what arrives waits for it; a byte may cost more there. */
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
    /* So do the bytes that a core receives, and those of both kinds. */
    model->links[0].paths[0].receive_byte = (struct curve){1, {{1, 2 * BETA}}};
    assert_float_equal(time_of(&simulation), 5 + 3 * message, 1e-9);
    model->cores = 1;
    assert_float_equal(time_of(&simulation), 2 * (5 + 3 * 3 * message), 1e-9);
    model->links[0].paths[0].send_byte.count = 0;
    assert_float_equal(time_of(&simulation), 2 * (5 + 2 * 3 * message), 1e-9);
    model->links[0].paths[0].sharing = 0; /* as alone */
    assert_float_equal(time_of(&simulation), 2 * (5 + 2 * message), 1e-9);
}

/* The cost of a byte grows with the bytes of all ranks of a core, which share its cache: by BETA
 * with each doubling of them. */
static void ranks_share_the_cache_of_a_core(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLGATHER, "ring"));
    struct problem problem = problem_of(COLLECTIVE_ALLGATHER, 2, COUNT);
    const double message = (double)COUNT * 4;
    model->links[0].paths[0] =
        (struct path_cost){.path = PATH_BCOPY, .send_byte = {2, {{1, BETA}, {1 << 30, 31 * BETA}}}};
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    model->cores = 2;
    double apart = time_of(&simulation);
    assert_true(apart > message * BETA);
    model->cores = 1;
    assert_float_equal(time_of(&simulation), 2 * (apart + message * BETA), 1e-6);
}

static int compare_times(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return COMPARE(*x, *y);
}

/* The time of ranks that share cores is the median over five places in the rounds of the cores. */
static void the_median_phase_counts(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLTOALL, "pairwise"));
    struct problem problem = problem_of(COLLECTIVE_ALLTOALL, 5, COUNT);
    struct simulation simulation = simulation_of(model, &choice, &problem);
    const struct program_source source = {.choice = &choice,
                                          .problem = &problem,
                                          .groups = 1,
                                          .channels = 1,
                                          .operations_most = 1000};
    struct programs programs;
    double times[5];
    model->cores = 2;
    model->core_switch = 7;
    model->links[0].paths[0].send_overhead = 3;
    simulation.events_most = 100000;
    assert_int_equal(programs_open(&source, &programs), STATUS_OK);
    for (int phase = 0; phase < 5; phase++) {
        struct sim_engine engine;
        assert_int_equal(engine_open(&simulation, &programs, phase / 5.0, &engine), STATUS_OK);
        engine_run(&engine);
        times[phase] = 0;
        for (uint32_t r = 0; r < engine.ranks; r++)
            times[phase] = fmax(times[phase], engine.rank[r].end - engine.rank[r].begun);
        engine_close(&engine);
    }
    programs_close(&programs);
    qsort(times, 5, sizeof *times, compare_times);
    assert_true(times[0] < times[2] && times[2] < times[4]);
    assert_float_equal(time_of(&simulation), times[2], 1e-9);
}

/* The ends of steps are those of the phase whose time counts, not of phases before it. */
static void steps_end_anew_in_each_phase(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
    struct problem problem = problem_of(COLLECTIVE_ALLREDUCE, 3, COUNT);
    struct simulation simulation = simulation_of(model, &choice, &problem);
    double step_end[8], last = 0, time = 0;
    model->cores = 1;
    simulation.step_end = step_end;
    simulation.steps = 8;
    for (size_t count = 64 * COUNT; count >= COUNT; count /= 64) {
        problem.count = count;
        time = time_of(&simulation);
    }
    for (int step = 0; step < 8; step++)
        last = fmax(last, step_end[step]);
    assert_float_equal(last, time, 1e-9 * time);
}

/* Messages that arrive wait for the turn of their rank: those of two ranks on a core are two
 * switches apart. */
static void messages_wait_for_a_turn(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 4, COUNT);
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    model->links[0].paths[0] = (struct path_cost){.path = PATH_BCOPY, .latency = 5};
    model->cores = 2;
    assert_true(time_of(&simulation) <= 5);
    model->core_switch = 2;
    double time = time_of(&simulation);
    assert_true(time > 0);
    assert_float_equal(time, 4 * round(time / 4), 1e-9);
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
    model->links[0] =
        (struct link_model){.transport = "tcp", .distance = DISTANCE_CACHE, .path_count = 1};
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

/* Cores that are at work share the memory of their host: a byte takes as long as all of them need,
 * where one alone is faster. */
static void cores_share_memory(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLGATHER, "ring"));
    struct problem problem = problem_of(COLLECTIVE_ALLGATHER, 2, COUNT);
    const double message = (double)COUNT * 4;
    model->links[0].paths[0] =
        (struct path_cost){.path = PATH_BCOPY, .send_byte = {1, {{1, BETA}}}};
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

/* Operations that wait for the same one follow it in the order of the program, as in a run: each
 * rank of a tree sends to the largest subtree first, or a step would take longer. */
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

/* The examples of LogGOPSim's documentation (README.md, doc/README): 1,024 bytes are reduced on 8
 * hosts, and 16 hosts exchange single bytes by dissemination. */
static void published_cases_come_out(void **state)
{
    (void)state;
    assert_float_equal(loggopsim_time(COLLECTIVE_REDUCE, "binomial", 8, 256, 0.006), 34.914, 1e-9);
    assert_float_equal(loggopsim_time(COLLECTIVE_BARRIER, "dissemination", 16, 1, 0), 22, 1e-9);
}

/* Where all messages of a rank are short its run does not stream: what is sent on waits for all of
 * what it consists of. Else the own block goes ahead. */
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
    model->links[0].paths[0].window = 4096;
    assert_float_equal(time_of(&simulation), whole, 1e-9);
    model->links[0].paths[0].window = 4095; /* it does not fit */
    assert_true(time_of(&simulation) < whole);
    model->links[0].paths[0].window = 0;
    problem.count = 257;
    assert_true(time_of(&simulation) < whole);
    problem.count = 2;
    simulation.chunk = 4;
    assert_true(time_of(&simulation) < whole);
}

/* The last of two hosts that comes to the barrier is released a latency before the other. With that
 * lead two latencies pass until a message of the host that is behind arrives, there and back as
 * well as in two steps of an exchange; without the barrier one passes for each step. The last step
 * ends with the last rank, whose time begins at its release. */
static void hosts_are_released_apart(void **state)
{
    (void)state;
    static const struct {
        enum collective_id collective;
        const char *algorithm;
        double together, apart;
    } cases[] = {{COLLECTIVE_SENDRECV, "uni", 1, 2},
                 {COLLECTIVE_SENDRECV, "pingpong", 2, 2},
                 {COLLECTIVE_BROADCAST, "linear", 1, 2},
                 {COLLECTIVE_ALLREDUCE, "recursive-doubling", 1, 2},
                 {COLLECTIVE_ALLREDUCE, "rabenseifner", 2, 2}};
    static const int node[] = {0, 1};
    struct model *model = textbook(PORT_NONE);
    model->links[0].distance = DISTANCE_NETWORK;
    model->links[0].paths[0] = (struct path_cost){.path = PATH_BCOPY, .latency = ALPHA};
    model->combines[0].byte.count = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct choice choice = choice_of(algorithm_find(cases[i].collective, cases[i].algorithm));
        struct problem problem = problem_of(cases[i].collective, 2, COUNT);
        struct counts *partners = NULL;
        if (choice.algorithm->partner)
            assert_int_equal(STATUS_OK, choice_partners(&choice, 2, &partners));
        problem.counts = partners;
        struct simulation simulation = simulation_of(model, &choice, &problem);
        double step_end[4], last = 0;
        simulation.node = node;
        assert_float_equal(time_of(&simulation), cases[i].together * ALPHA, 1e-9);
        simulation.barrier = true;
        simulation.step_end = step_end;
        simulation.steps = 4;
        assert_float_equal(time_of(&simulation), cases[i].apart * ALPHA, 1e-9);
        for (int step = 0; step < 4; step++)
            last = fmax(last, step_end[step]);
        assert_float_equal(last, cases[i].apart * ALPHA, 1e-9);
        counts_free(partners);
    }
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

/* The cost of an operation beside its bytes counts once, in however many pieces it moves. */
static void pieces_begin_once(void **state)
{
    (void)state;
    for (int pieces = 1; pieces <= 64; pieces *= 4) {
        struct model *model = textbook(PORT_NONE);
        struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
        struct problem problem = problem_of(COLLECTIVE_BROADCAST, 2, 256 << 10);
        const double bytes = 1 << 20;
        model->links[0].paths[0] = (struct path_cost){
            .path = PATH_BCOPY, .send_overhead = 5, .send_byte = {1, {{1, BETA}}}};
        struct simulation simulation = simulation_of(model, &choice, &problem);
        simulation.pieces = pieces;
        simulation.chunk = 16 << 10;
        assert_float_equal(time_of(&simulation), 5 + bytes * BETA, 1e-6);
        choice = choice_of(algorithm_find(COLLECTIVE_ALLGATHER, "ring"));
        problem = problem_of(COLLECTIVE_ALLGATHER, 1, 256 << 10); /* a copy alone */
        model->copy_overhead = 3;
        model->copy = (struct curve){1, {{1, BETA}}};
        assert_float_equal(time_of(&simulation), 3 + bytes * BETA, 1e-6);
    }
}

/* Combining takes the place of a copy, unless the path combines apart. Where copying takes longer
 * than combining, a core has no time back. */
static void combining_takes_the_place_of_a_copy(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "recursive-doubling"));
    struct problem problem = problem_of(COLLECTIVE_ALLREDUCE, 2, COUNT);
    struct path_cost *path = &model->links[0].paths[0];
    *path = (struct path_cost){.path = PATH_BCOPY, .receive_byte = {1, {{1, BETA}}}};
    const struct simulation simulation = simulation_of(model, &choice, &problem);
    for (int apart = 0; apart < 2; apart++) {
        for (int times = 0; times <= 3; times++) {
            double copy = times * GAMMA / 2, message = (double)COUNT * 4;
            model->copy = (struct curve){1, {{1, copy}}};
            path->combines_apart = apart;
            assert_float_equal(time_of(&simulation),
                               message * (BETA + fmax(GAMMA - (apart ? 0 : copy), 0)), 1e-6);
        }
    }
}

/* The first transport that has links counts. Within a host the other distance is better than none;
 * across hosts none is. */
static void links_of_a_distance(void **state)
{
    (void)state;
    const struct transport_choice both[3] = {{.transport = transport_find("tcp")},
                                             {.transport = transport_find("shm")}};
    struct model *model = textbook(PORT_NONE);
    model->links[1] = model->links[0];
    strcpy(model->links[1].transport, "shm");
    model->link_count = 2;
    for (enum rank_distance has = DISTANCE_CACHE; has <= DISTANCE_NETWORK; has++) {
        for (enum rank_distance asked = DISTANCE_CACHE; asked <= DISTANCE_NETWORK; asked++) {
            bool none = (has == DISTANCE_NETWORK) != (asked == DISTANCE_NETWORK);
            model->links[0].distance = model->links[1].distance = has;
            for (int first = 0; first < 2; first++)
                assert_ptr_equal(model_link(model, &both[first], asked, 0),
                                 none ? NULL : &model->links[first]);
        }
    }
}

/* The row of a path with the largest least bytes that a message has, or else its first one. Of a
 * path without rows: of the nearest one below it. */
static void rows_of_a_path(void **state)
{
    (void)state;
    enum { ROWS = 4 };
    static const struct {
        enum path path;
        size_t bytes;
        int row;
    } cases[] = {{PATH_BCOPY, 0, 0},       {PATH_BCOPY, 4095, 0},  {PATH_BCOPY, 4096, 1},
                 {PATH_BCOPY, 1 << 20, 1}, {PATH_ZCOPY, 65535, 2}, {PATH_ZCOPY, 65536, 2},
                 {PATH_ZCOPY, 1 << 20, 3}};
    struct link_model link = {.path_count = ROWS};
    link.paths[0] = (struct path_cost){.path = PATH_BCOPY};
    link.paths[1] = (struct path_cost){.path = PATH_BCOPY, .least = 4096};
    link.paths[2] = (struct path_cost){.path = PATH_ZCOPY, .least = 65536};
    link.paths[3] = (struct path_cost){.path = PATH_ZCOPY, .least = 1 << 20};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_ptr_equal(link_path(&link, cases[i].path, cases[i].bytes),
                         &link.paths[cases[i].row]);
    link.path_count = 2;
    assert_ptr_equal(link_path(&link, PATH_ZCOPY, 4095), &link.paths[0]);
    assert_ptr_equal(link_path(&link, PATH_ZCOPY, 4096), &link.paths[1]);
}

/* The row of the datatype counts, of those the row of the operator, and without one of the datatype
 * that of the operator. */
static void rows_of_a_combination(void **state)
{
    (void)state;
    static const struct {
        const char *datatype, *reduction;
        int row;
    } cases[] = {{"float32", "sum", 0}, {"float32", "max", 1}, {"int32", "max", 2},
                 {"int32", "sum", 2},   {"int8", "max", 1},    {"int8", "sum", 0},
                 {"int8", "min", 0}};
    struct model model = {.combine_count = 3,
                          .combines = {{.datatype = "float32", .reduction = "sum"},
                                       {.datatype = "float32", .reduction = "max"},
                                       {.datatype = "int32", .reduction = "max"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_ptr_equal(model_combine(&model, datatype_find(cases[i].datatype),
                                       reduction_find(cases[i].reduction)),
                         &model.combines[cases[i].row].byte);
    model.combine_count = 0;
    assert_null(model_combine(&model, datatype_find("int8"), reduction_find("sum")));
}

/* A core moves whole elements: pieces of 16 KiB at least, which grow to what has gone before, to
 * half of what is left, and to a fifth of the message. */
static void pieces_have_whole_elements(void **state)
{
    (void)state;
    enum { ELEMENT = 16, ELEMENTS = 100003, PIECES = 5, LEAST = 16 << 10 };
    struct program_operation send = {.kind = OPERATION_SEND, .length = ELEMENTS};
    const struct rank_program program = {.operations = &send, .count = 1};
    struct sim_rank rank = {.program = &program};
    struct sim_operation operation = {.rank = 0};
    const struct simulation simulation = {.pieces = PIECES};
    const struct sim_engine engine = {
        .simulation = &simulation, .element = ELEMENT, .rank = &rank, .operations = &operation};
    const size_t length = (size_t)ELEMENT * ELEMENTS;
    for (size_t piece; operation.done < length; operation.done += piece) {
        size_t gone = operation.done, left = length - gone, most = length / PIECES;
        most = gone < most ? gone : most;
        most = left / 2 < most ? left / 2 : most;
        most = most < LEAST ? LEAST : most;
        piece = cost_piece(&engine, 0, left);
        assert_int_equal(piece, left <= most ? left : most / ELEMENT * ELEMENT);
    }
}

/* A sender that may not be ahead waits for its receiver. */
static void windows_hold_senders_back(void **state)
{
    (void)state;
    struct model *model = textbook(PORT_NONE);
    struct path_cost *path = &model->links[0].paths[0];
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "linear"));
    struct problem problem = problem_of(COLLECTIVE_BROADCAST, 2, 256 << 10);
    *path = (struct path_cost){
        .path = PATH_BCOPY, .send_byte = {1, {{1, BETA}}}, .receive_byte = {1, {{1, BETA}}}};
    struct simulation simulation = simulation_of(model, &choice, &problem);
    simulation.pieces = 64;
    double free_time = time_of(&simulation);
    path->window = 16 << 10;
    double held = time_of(&simulation), message = (1 << 20) * BETA;
    assert_true(free_time < 1.1 * message);
    assert_float_equal(held, 2 * message, 1e-3);
    /* Short messages, which move whole where the window lets them: two fit, or less than one. */
    problem = problem_of(COLLECTIVE_BROADCAST, 2, 512);
    const struct transport_choice shm[] = {{.transport = transport_find("shm")},
                                           {.transport = NULL}};
    snprintf(model->links[0].transport, sizeof model->links[0].transport, "shm");
    simulation.transports = shm;
    for (path->window = 512; path->window <= 3 * 1024; path->window += 512)
        assert_true(time_of(&simulation) >= 2048 * BETA);
}

/* By --copy auto a rank of shm copies a message of some length into slots if it has nothing else to
 * do, and refers to it if it receives one meanwhile. The path shows in the latency. */
static void senders_that_receive_refer(void **state)
{
    (void)state;
    static const struct {
        enum collective_id collective;
        const char *algorithm;
        size_t bytes; /* of a message */
        bool refers;
    } cases[] = {{COLLECTIVE_BROADCAST, "linear", 256 << 10, false},
                 {COLLECTIVE_BROADCAST, "linear", 8 << 20, true},
                 {COLLECTIVE_ALLGATHER, "ring", 64 << 10, false},
                 {COLLECTIVE_ALLGATHER, "ring", 256 << 10, true}};
    const struct transport_choice shm[] = {{.transport = transport_find("shm")},
                                           {.transport = NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct model *model = textbook(PORT_NONE);
        struct choice choice = choice_of(algorithm_find(cases[c].collective, cases[c].algorithm));
        struct problem problem = problem_of(cases[c].collective, 2, cases[c].bytes / 4);
        struct simulation simulation = simulation_of(model, &choice, &problem);
        strcpy(model->links[0].transport, "shm");
        model->links[0].paths[0].wire = 0;
        model->links[0].paths[1] =
            (struct path_cost){.path = PATH_ZCOPY, .movement = MOVEMENT_PUSH, .latency = 1000};
        model->links[0].path_count = 2;
        simulation.transports = shm;
        simulation.copy = COPY_AUTO;
        assert_float_equal(time_of(&simulation), cases[c].refers ? 1000 : ALPHA, 1e-6);
    }
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

/* A message that needs a grant begins when its receiver is ready, and costs its receiver's core no
 * byte. A row of another path does not matter. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_share_a_port),
        cmocka_unit_test(hosts_share_a_port),
        cmocka_unit_test(ranks_take_rails_in_turn),
        cmocka_unit_test(a_slow_rail_receives_slowly),
        cmocka_unit_test(rails_share_links),
        cmocka_unit_test(rails_part_ranks),
        cmocka_unit_test(groups_share_a_port),
        cmocka_unit_test(messages_share_links),
        cmocka_unit_test(ranks_share_a_core),
        cmocka_unit_test(steps_end_anew_in_each_phase),
        cmocka_unit_test(the_median_phase_counts),
        cmocka_unit_test(messages_wait_for_a_turn),
        cmocka_unit_test(caches_part_ranks),
        cmocka_unit_test(cores_share_memory),
        cmocka_unit_test(messages_keep_a_gap),
        cmocka_unit_test(followers_keep_their_order),
        cmocka_unit_test(published_cases_come_out),
        cmocka_unit_test(short_messages_move_whole),
        cmocka_unit_test(hosts_are_released_apart),
        cmocka_unit_test(long_messages_stream),
        cmocka_unit_test(windows_hold_senders_back),
        cmocka_unit_test(senders_that_receive_refer),
        cmocka_unit_test(receivers_pull),
        cmocka_unit_test(receivers_grant),
        cmocka_unit_test(pieces_begin_once),
        cmocka_unit_test(ranks_share_the_cache_of_a_core),
        cmocka_unit_test(links_of_a_distance),
        cmocka_unit_test(rows_of_a_path),
        cmocka_unit_test(rows_of_a_combination),
        cmocka_unit_test(pieces_have_whole_elements),
        cmocka_unit_test(combining_takes_the_place_of_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

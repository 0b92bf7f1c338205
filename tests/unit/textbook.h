/*
 * textbook.h - simulations on a machine with nothing but the textbook's a, b and c, for tests of
 * the simulator.
 */
#ifndef CCTEST_TESTS_UNIT_TEXTBOOK_H
#define CCTEST_TESTS_UNIT_TEXTBOOK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include "predict/simulate/simulate.h"

#define ALPHA 10.0 /* us */
#define BETA  0.01 /* us per byte */
#define GAMMA 0.003
#define COUNT 5040 /* elements: 2 to 10 and 12, 14, 15, 16 divide it */

/* A machine with nothing but a, b and c. */
static inline struct model *textbook(enum port_kind port)
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

static inline const struct transport_choice *tcp(void)
{
    static struct transport_choice choices[2];
    choices[0].transport = transport_find("tcp");
    return choices;
}

static inline struct simulation
simulation_of(const struct model *model, const struct choice *choice, const struct problem *problem)
{
    return (struct simulation){.model = model,
                               .choice = choice,
                               .problem = problem,
                               .groups = 1,
                               .channels = 1,
                               .datatype = datatype_find("float"),
                               .reduction =
                                   problem->collective->reduces ? reduction_find("sum") : NULL,
                               .memory = memory_find("host"),
                               .transports = tcp(),
                               .chunk = 0,
                               .pieces = 1};
}

static inline double time_of(const struct simulation *simulation)
{
    struct simulated simulated;
    assert_int_equal(STATUS_OK, simulate(simulation, &simulated));
    double time = simulated.time;
    return time;
}

static inline struct problem problem_of(enum collective_id collective, int ranks, size_t count)
{
    return (struct problem){
        .collective = collective_of(collective), .ranks = ranks, .count = count};
}

#endif

/*
 * test_flows.c - flows through shared resources: the rates of small cases by hand, and of many
 * random ones by progressive filling of all flows at each change, as the textbook has it (Bertsekas
 * and Gallager, Data Networks, 1992, section 6.5.2).
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "predict/simulate/internal.h"

/* Three links in a row; one flow along all, one on each, and two more on the last one. The last
 * link gives each of its four flows a quarter; the others what is left of theirs. */
static void flows_share_fairly(void **state)
{
    (void)state;
    static const double capacities[] = {1, 1, 1};
    static const uint32_t along[] = {0, 1, 2}, single[] = {0, 1, 2, 2, 2};
    struct flows *flows = flows_create(capacities, 3, 3);
    assert_non_null(flows);
    assert_true(flows_start(flows, 0, 1, 10, along, 3, 100));
    for (uint32_t i = 0; i < 5; i++)
        assert_true(flows_start(flows, 0, 1, 10, &single[i], 1, i));
    flows_settle(flows, 0);
    assert_float_equal(flows_next(flows), 4.0 / 3, 1e-9); /* the rest of links 0 and 1: 3/4 */
    assert_true(flows_end(flows) <= 1);
    assert_true(flows_end(flows) <= 1);
    flows_settle(flows, 4.0 / 3);
    assert_float_equal(flows_next(flows), 4, 1e-9);
    for (int i = 0; i < 4; i++)
        flows_end(flows);
    assert_true(flows_next(flows) == INFINITY);
    flows_free(flows);
}

/* A flow that has less than its share leaves the rest to others. */
static void a_slow_flow_leaves_the_rest(void **state)
{
    (void)state;
    static const double capacity = 1;
    static const uint32_t resource = 0;
    struct flows *flows = flows_create(&capacity, 1, 1);
    assert_non_null(flows);
    assert_true(flows_start(flows, 0, 1, 0.1, &resource, 1, 0));
    assert_true(flows_start(flows, 0, 0.9, 10, &resource, 1, 1));
    flows_settle(flows, 0);
    assert_float_equal(flows_next(flows), 1, 1e-9);
    assert_int_equal(flows_end(flows), 1);
    flows_settle(flows, 1);
    assert_float_equal(flows_next(flows), 10, 1e-9);
    flows_free(flows);
}

/* A flow that shares nothing has its own limit. */
static void a_flow_alone_has_its_limit(void **state)
{
    (void)state;
    struct flows *flows = flows_create(NULL, 0, 0);
    assert_non_null(flows);
    assert_true(flows_start(flows, 1, 6, 2, NULL, 0, 5));
    flows_settle(flows, 1);
    assert_float_equal(flows_next(flows), 4, 1e-9);
    assert_int_equal(flows_end(flows), 5);
    flows_free(flows);
}

/* ---- random networks ---- */

#define RESOURCES 9
#define FLOWS     40 /* at the same time */
#define HOPS      4
#define NETWORKS  400
#define CHANGES   120

struct plain_flow {
    double left, rate, most;
    uint32_t resources[HOPS], count;
    bool runs, fills;
};

struct plain {
    double capacities[RESOURCES];
    struct plain_flow flows[FLOWS];
    double now;
};

static bool plain_crosses(const struct plain_flow *flow, uint32_t resource)
{
    for (uint32_t h = 0; h < flow->count; h++)
        if (flow->resources[h] == resource)
            return true;
    return false;
}

/* All rates rise together from 0; those through a full resource, and those at their limit, stop. */
static void plain_fill(struct plain *plain)
{
    double left[RESOURCES], level = 0;
    for (uint32_t r = 0; r < RESOURCES; r++)
        left[r] = plain->capacities[r];
    for (uint32_t f = 0; f < FLOWS; f++)
        plain->flows[f].fills = plain->flows[f].runs;
    for (;;) {
        double step = INFINITY, share[RESOURCES];
        for (uint32_t r = 0; r < RESOURCES; r++) {
            uint32_t filling = 0;
            for (uint32_t f = 0; f < FLOWS; f++)
                filling += plain->flows[f].fills && plain_crosses(&plain->flows[f], r);
            share[r] = filling ? left[r] / filling : INFINITY;
            step = fmin(step, share[r]);
        }
        for (uint32_t f = 0; f < FLOWS; f++)
            if (plain->flows[f].fills)
                step = fmin(step, plain->flows[f].most - level);
        if (step == INFINITY)
            return;
        level += step;
        for (uint32_t f = 0; f < FLOWS; f++) {
            struct plain_flow *flow = &plain->flows[f];
            if (!flow->fills)
                continue;
            for (uint32_t h = 0; h < flow->count; h++) {
                left[flow->resources[h]] -= step;
                flow->fills &= share[flow->resources[h]] > step * (1 + 1e-10) + 1e-15;
            }
            flow->fills &= flow->most > level * (1 + 1e-10);
            flow->rate = level;
        }
    }
}

static double plain_next(const struct plain *plain)
{
    double next = INFINITY;
    for (uint32_t f = 0; f < FLOWS; f++)
        if (plain->flows[f].runs)
            next = fmin(next, plain->now + plain->flows[f].left / plain->flows[f].rate);
    return next;
}

static void plain_advance(struct plain *plain, double to)
{
    for (uint32_t f = 0; f < FLOWS; f++)
        if (plain->flows[f].runs)
            plain->flows[f].left -= plain->flows[f].rate * (to - plain->now);
    plain->now = to;
}

static double uniform(uint64_t *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* Starts a flow in both, if there is room. */
static void random_start(struct plain *plain, struct flows *flows, uint64_t *random)
{
    for (uint32_t f = 0; f < FLOWS; f++) {
        struct plain_flow *flow = &plain->flows[f];
        if (flow->runs)
            continue;
        *flow = (struct plain_flow){.left = 0.5 + uniform(random), .runs = true};
        flow->most = random_below(random, 3) ? 1 : 0.2 * (1 + (double)random_below(random, 3));
        uint32_t wanted = (uint32_t)random_below(random, HOPS + 1);
        while (flow->count < wanted) {
            uint32_t resource = (uint32_t)random_below(random, RESOURCES);
            if (!plain_crosses(flow, resource))
                flow->resources[flow->count++] = resource;
        }
        assert_true(flows_start(flows, plain->now, flow->left, flow->most, flow->resources,
                                flow->count, f));
        return;
    }
}

static void network_try(uint64_t seed)
{
    struct plain plain = {.now = 0};
    uint64_t random = seed;
    for (uint32_t r = 0; r < RESOURCES; r++) /* some alike, and some that are never full */
        plain.capacities[r] = random_below(&random, 3) ? 1 + (double)random_below(&random, 3)
                                                       : 0.5 + 5 * uniform(&random);
    struct flows *flows = flows_create(plain.capacities, RESOURCES, HOPS);
    assert_non_null(flows);
    for (int change = 0; change < CHANGES; change++) {
        double next = flows_next(flows), expected = plain_next(&plain);
        if (next != expected && !(fabs(next - expected) <= 1e-9 * expected)) {
            print_error("network %llu, change %d: the next flow ends at %.15g, not at %.15g\n",
                        (unsigned long long)seed, change, next, expected);
            assert_true(false);
        }
        uint64_t starts = random_below(&random, 4);
        if (next < INFINITY && (starts == 0 || change > 3 * CHANGES / 4)) {
            plain_advance(&plain, next);
            uint32_t tag = flows_end(flows);
            assert_true(plain.flows[tag].runs && fabs(plain.flows[tag].left) < 1e-8);
            plain.flows[tag].runs = false;
        }
        for (; starts > 0 && change <= 3 * CHANGES / 4; starts--)
            random_start(&plain, flows, &random);
        flows_settle(flows, plain.now);
        plain_fill(&plain);
    }
    flows_free(flows);
}

static void random_flows_share_fairly(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= NETWORKS; seed++)
        network_try(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_share_fairly),
        cmocka_unit_test(a_slow_flow_leaves_the_rest),
        cmocka_unit_test(a_flow_alone_has_its_limit),
        cmocka_unit_test(random_flows_share_fairly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

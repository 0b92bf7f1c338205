/*
 * test_cpu_binding.c - which core each rank is assigned, on synthetic machines.
 * tier: check; load: cpu1
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "host/host.h"
#include "run/run.h"

#define RANKS_MOST 8

static cpu_set_t masks[RANKS_MOST];
static int ranks;

/* A machine as hwloc describes it; binding on it does nothing, and reports success. */
static void machine(const char *words)
{
    assert_int_equal(0, setenv("HWLOC_SYNTHETIC", words, 1));
    ranks = 0;
}

/* One more rank, which may use the hardware threads `first` to `last`. */
static void rank_may(int first, int last)
{
    CPU_ZERO(&masks[ranks]);
    for (int thread = first; thread <= last; thread++)
        CPU_SET((size_t)thread, &masks[ranks]);
    ranks++;
}

static struct cpu_binding binding_of(int rank)
{
    struct cpu_binding binding;
    cpu_binding_find(masks, ranks, rank, true, &binding);
    return binding;
}

static void test_one_each(void **state)
{
    (void)state;
    machine("pack:1 l3:2 core:2 pu:1");
    for (int rank = 0; rank < 4; rank++)
        rank_may(0, 3);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(rank, binding_of(rank).core);
        assert_int_equal(1, binding_of(rank).sharing);
    }
}

static void test_in_turn(void **state)
{
    (void)state;
    machine("pack:1 l3:1 core:2 pu:1");
    for (int rank = 0; rank < 5; rank++)
        rank_may(0, 1);
    for (int rank = 0; rank < 5; rank++) {
        assert_int_equal(rank % 2, binding_of(rank).core);
        assert_int_equal(rank % 2 ? 2 : 3, binding_of(rank).sharing);
        assert_int_equal(1, binding_of(rank).threads);
    }
}

/* A rank without a choice is served before one with a choice, whatever its number. */
static void test_different_masks(void **state)
{
    (void)state;
    machine("pack:1 l3:1 core:4 pu:1");
    rank_may(0, 3);
    rank_may(0, 1);
    rank_may(0, 0);
    rank_may(0, 1);
    static const int cores[] = {2, 1, 0, 0};
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(cores[rank], binding_of(rank).core);
    assert_int_equal(2, binding_of(2).sharing);
    assert_int_equal(1, binding_of(0).sharing);
}

/* Two hardware threads of a core serve two ranks, unless no rank may use one of them. */
static void test_hardware_threads(void **state)
{
    (void)state;
    machine("pack:1 l3:1 core:2 pu:2");
    rank_may(0, 0);
    rank_may(1, 1);
    rank_may(2, 2);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(0, binding_of(rank).core);
        assert_int_equal(2, binding_of(rank).sharing);
        assert_int_equal(2, binding_of(rank).threads);
    }
    assert_int_equal(1, binding_of(2).core);
    assert_int_equal(1, binding_of(2).threads);
}

static void test_nothing_to_assign(void **state)
{
    (void)state;
    machine("pack:1 l3:1 core:2 pu:1");
    rank_may(0, 1);
    rank_may(1, 0); /* its mask is not known */
    assert_int_equal(-1, binding_of(1).core);
    struct cpu_binding binding;
    cpu_binding_find(masks, ranks, 0, false, &binding);
    assert_int_equal(-1, binding.core);
}

/* No rank is really bound, so every cache of the machine is in reach. */
static void test_caches(void **state)
{
    (void)state;
    machine("pack:1 l3:1(size=8388608) core:4 pu:1");
    rank_may(0, 3);
    assert_int_equal(0, binding_of(0).cache);
    assert_int_equal(8 << 20, binding_of(0).cache_bytes);
    machine("pack:1 l3:2(size=8388608) core:2 pu:1");
    rank_may(0, 3);
    assert_int_equal(-1, binding_of(0).cache);
    assert_int_equal(16 << 20, binding_of(0).cache_bytes);
    machine("pack:1 core:2 pu:1");
    rank_may(0, 1);
    assert_int_equal(-1, binding_of(0).cache);
    assert_int_equal(0, binding_of(0).cache_bytes);
}

static struct host_place place_of(int rank, bool binds)
{
    hwloc_topology_t loaded;
    assert_true(machine_load(&loaded));
    struct host_place place = cpu_place_find(loaded, masks, ranks, rank, binds);
    hwloc_topology_destroy(loaded);
    return place;
}

/* The parts that ranks share, from the smallest up; a rank that is not bound is in all that it may
 * use. */
static void test_places(void **state)
{
    (void)state;
    struct host_place places[5];
    machine("pack:2 [numa] l3:2 core:2 pu:1");
    for (int rank = 0; rank < 5; rank++)
        rank_may(0, 7);
    for (int rank = 0; rank < 5; rank++) {
        places[rank] = place_of(rank, true);
        assert_int_equal(rank, places[rank].at[CPU_CORE]);
        assert_int_equal(rank / 2, places[rank].at[CPU_CACHE]);
        assert_int_equal(rank / 4, places[rank].at[CPU_NUMA]);
        assert_int_equal(rank / 4, places[rank].at[CPU_PACKAGE]);
    }
    assert_int_equal(CPU_CORE, host_place_shared(&places[0], &places[0]));
    assert_int_equal(CPU_CACHE, host_place_shared(&places[0], &places[1]));
    assert_int_equal(CPU_NUMA, host_place_shared(&places[1], &places[2]));
    assert_int_equal(PLACE_LEVELS, host_place_shared(&places[3], &places[4]));
    machine("pack:2 [numa] l3:2 core:2 pu:1");
    rank_may(0, 3);
    places[0] = place_of(0, false);
    assert_int_equal(PLACE_UNKNOWN, places[0].at[CPU_CACHE]);
    assert_int_equal(0, places[0].at[CPU_PACKAGE]);
    rank_may(0, 7);
    places[1] = place_of(1, false);
    assert_int_equal(PLACE_LEVELS, host_place_shared(&places[0], &places[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_each),
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_different_masks),
        cmocka_unit_test(test_hardware_threads),
        cmocka_unit_test(test_nothing_to_assign),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_shape.c - groups of ranks: from sizes, from the nodes of the ranks in any order, and refused
 * where they do not add up.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collective/collective.h"

#define FOR_EACH(i, array) for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

/* The rules of every shape: each rank is the member at its own place of its own group, members
 * ascend, and groups are numbered by their first ranks. */
static void check(const struct shape *shape)
{
    int members = 0;
    bool uniform = true;
    assert_int_equal(shape->start[0], 0);
    assert_int_equal(shape->start[shape->groups], shape->ranks);
    for (int g = 0; g < shape->groups; g++) {
        assert_true(shape_size(shape, g) > 0);
        uniform &= shape_size(shape, g) == shape_size(shape, 0);
        for (int place = 0; place < shape_size(shape, g); place++, members++) {
            int rank = shape_rank(shape, g, place);
            assert_in_range(rank, 0, shape->ranks - 1);
            assert_int_equal(shape->group[rank], g);
            assert_int_equal(shape->local_rank[rank], place);
            assert_true(place == 0 || rank > shape_rank(shape, g, place - 1));
        }
        assert_true(g == 0 || shape_rank(shape, g, 0) > shape_rank(shape, g - 1, 0));
    }
    assert_int_equal(members, shape->ranks);
    assert_int_equal(shape->uniform, uniform);
}

static void sizes_make_consecutive_groups(void **state)
{
    static const struct {
        int sizes[4], count, ranks, groups;
        bool uniform;
    } cases[] = {
        {{4}, 1, 4, 1, true},           {{4}, 1, 12, 3, true},    {{1}, 1, 5, 5, true},
        {{2, 3}, 2, 5, 2, false},       {{3, 3}, 2, 6, 2, true},  {{1, 1, 1}, 3, 3, 3, true},
        {{1, 4, 2, 1}, 4, 8, 4, false}, {{5, 1}, 2, 6, 2, false}, {{1}, 1, 1, 1, true},
    };
    (void)state;
    FOR_EACH(i, cases)
    {
        char why[160] = "";
        struct shape *shape =
            shape_of_sizes(cases[i].sizes, cases[i].count, cases[i].ranks, why, sizeof why);
        assert_non_null(shape);
        assert_string_equal(why, "");
        check(shape);
        assert_int_equal(shape->ranks, cases[i].ranks);
        assert_int_equal(shape->groups, cases[i].groups);
        assert_int_equal(shape->uniform, cases[i].uniform);
        for (int g = 0; g < shape->groups; g++)
            assert_int_equal(shape_size(shape, g), cases[i].sizes[cases[i].count == 1 ? 0 : g]);
        for (int r = 0; r < shape->ranks; r++)
            assert_int_equal(shape->members[r], r);
        shape_free(shape);
    }
}

static void groups_need_not_be_consecutive(void **state)
{
    static const int node[] = {7, 3, 7, -1, 3, 7, -1, 100000};
    static const int group[] = {0, 1, 0, 2, 1, 0, 2, 3};
    static const int place[] = {0, 0, 1, 0, 1, 2, 1, 0};
    static const int members[] = {0, 2, 5, 1, 4, 3, 6, 7};
    (void)state;
    struct shape *shape = shape_create(node, 8);
    assert_non_null(shape);
    check(shape);
    assert_int_equal(shape->groups, 4);
    assert_memory_equal(shape->group, group, sizeof group);
    assert_memory_equal(shape->local_rank, place, sizeof place);
    assert_memory_equal(shape->members, members, sizeof members);
    assert_false(shape->uniform);
    shape_free(shape);
    shape_free(NULL);
}

static void nodes_in_any_order(void **state)
{
    (void)state;
    srand(1);
    for (int trial = 0; trial < 2000; trial++) {
        int node[40], ranks = 1 + rand() % 40, nodes = 1 + rand() % 8, seen[8] = {0}, groups = 0;
        for (int r = 0; r < ranks; r++) {
            node[r] = rand() % nodes;
            groups += !seen[node[r]]++;
        }
        struct shape *shape = shape_create(node, ranks);
        assert_non_null(shape);
        check(shape);
        assert_int_equal(shape->groups, groups);
        for (int r = 0; r < ranks; r++)
            for (int s = 0; s < r; s++)
                assert_int_equal(shape->group[r] == shape->group[s], node[r] == node[s]);
        shape_free(shape);
    }
}

static void what_does_not_add_up_is_refused(void **state)
{
    static const struct {
        int sizes[3], count, ranks;
        const char *why;
    } cases[] = {
        {{3}, 1, 4, "4 ranks cannot be divided into groups of 3: list the sizes, as in 2+3"},
        {{5}, 1, 4, "4 ranks cannot be divided into groups of 5: list the sizes, as in 2+3"},
        {{1, 2}, 2, 4, "groups of 1+2 ranks add up to 3, but there are 4 ranks: change the sizes"},
        {{2, 2, 1},
         3,
         4,
         "groups of 2+2+1 ranks add up to 5, but there are 4 ranks: change the sizes"},
        {{65536, 65536, 65536},
         3,
         4,
         "groups of 65536+65536+65536 ranks add up to 196608, but there are 4 ranks: change the "
         "sizes"},
    };
    (void)state;
    FOR_EACH(i, cases)
    {
        char why[160];
        assert_null(
            shape_of_sizes(cases[i].sizes, cases[i].count, cases[i].ranks, why, sizeof why));
        assert_string_equal(why, cases[i].why);
    }
    /* A list that is too long to be shown is cut. */
    int sizes[64];
    char why[160];
    for (int i = 0; i < 64; i++)
        sizes[i] = 1000;
    assert_null(shape_of_sizes(sizes, 64, 5, why, sizeof why));
    assert_non_null(strstr(why, "ranks add up to 64000, but there are 5 ranks: change the sizes"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_make_consecutive_groups),
        cmocka_unit_test(groups_need_not_be_consecutive),
        cmocka_unit_test(nodes_in_any_order),
        cmocka_unit_test(what_does_not_add_up_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_auto.c - the choice of `-a auto`: always an algorithm that accepts, with a reason, and on
 * either side of every boundary the one of the table in algorithms/auto.c.
 * tier: check; load: cpu1
 */
#include "base/log.h"
#include "collective/schedule/schedule.h"
#include "tests/unit/problems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define K          ((size_t)1024)
#define M          (K * K)
#define RANKS_MOST 64

/* Shapes of `ranks` ranks: by number, until there are no more (false). *shape NULL: not known. */
static bool shape_nth(int number, int ranks, struct shape **shape)
{
    int group[RANKS_MOST];
    *shape = NULL;
    if (number == 0)
        return true;
    for (int r = 0; r < ranks; r++)
        switch (number) {
        case 1: /* one node */
            group[r] = 0;
            break;
        case 2: /* a node for each */
            group[r] = r;
            break;
        case 3: /* two nodes, even where they can be */
            group[r] = r >= (ranks + 1) / 2;
            break;
        case 4: /* nodes of four, the last one of the rest */
            group[r] = r / 4;
            break;
        case 5: /* round robin over three */
            group[r] = r % 3;
            break;
        case 6: /* a node of one, and the rest */
            group[r] = r > 0;
            break;
        default:
            return false;
        }
    *shape = shape_create(group, ranks);
    assert_non_null(*shape);
    return true;
}

static void something_is_picked_that_accepts(void **state)
{
    (void)state;
    for (int c = 0; collectives[c]; c++)
        for (int ranks = 1; ranks <= RANKS_MOST; ranks++) {
            struct shape *shape;
            for (int number = 0; shape_nth(number, ranks, &shape); number++) {
                struct problem problem = {
                    .collective = collectives[c], .ranks = ranks, .shape = shape};
                for (size_t bytes = 0; bytes <= 1024 * M; bytes = bytes ? 2 * bytes : 1) {
                    const char *why = NULL;
                    const struct algorithm *algorithm = algorithm_auto(&problem, bytes, &why);
                    if (!algorithm)
                        print_error("%s: nothing for %d ranks, %zu bytes, shape %d\n",
                                    collectives[c]->name, ranks, bytes, number);
                    assert_non_null(algorithm);
                    assert_true(algorithm_serves(algorithm, collectives[c]->id));
                    assert_true(why && *why);
                    struct choice choice = choice_of(algorithm);
                    assert_true(choice_serves(&choice, &problem));
                }
                shape_free(shape);
            }
        }
}

/* `nodes`: sizes of the nodes, all of one if one is given, as groups= has them. `most`: the largest
 * size, in bytes as the table prints them, at which `algorithm` is picked; `next` above. */
static const struct {
    enum collective_id collective;
    int ranks, nodes[3];
    size_t most;
    const char *algorithm, *next;
} boundaries[] = {
#define ROW(name) COLLECTIVE_##name
    {ROW(ALLREDUCE), 8, {8}, 8 * K, "oneshot", "recursive-doubling"},
    {ROW(ALLREDUCE), 8, {8}, 32 * K, "recursive-doubling", "rabenseifner"},
    {ROW(ALLREDUCE), 9, {9}, 8 * K, "recursive-doubling", "recursive-doubling"},
    {ROW(ALLREDUCE), 9, {9}, 32 * K, "recursive-doubling", "nhr"},
    {ROW(ALLREDUCE), 9, {9}, 512 * K, "nhr", "ring"},
    {ROW(ALLREDUCE), 8, {4}, 512 * K, "rabenseifner", "hier"},
    {ROW(ALLREDUCE), 8, {3, 5}, 512 * K, "rabenseifner", "ahc"},
    {ROW(ALLREDUCE), 8, {1}, 512 * K, "rabenseifner", "ring"}, /* each on a node of its own */
    {ROW(ALLGATHER), 8, {8}, 32 * K, "mesh", "nhr"},
    {ROW(ALLGATHER), 9, {9}, 32 * K, "nhr", "nhr"},
    {ROW(ALLGATHERV), 8, {8}, 512 * K, "nhr", "ring"},
    {ROW(REDUCE_SCATTER), 9, {3}, 512 * K, "nhr", "hier"},
    {ROW(REDUCE_SCATTERV), 9, {3, 6}, 512 * K, "nhr", "ahc"},
    {ROW(BROADCAST), 8, {8}, 32 * K, "binomial", "chain"},
    {ROW(BROADCAST), 8, {4}, 32 * K, "binomial", "hier"},
    {ROW(BROADCAST), 8, {3, 5}, 32 * K, "binomial", "hier-leader"},
    {ROW(REDUCE), 8, {8}, 32 * K, "binomial", "rabenseifner"},
    {ROW(REDUCE), 8, {4}, 32 * K, "binomial", "hier"},
    {ROW(REDUCE), 8, {3, 5}, 32 * K, "binomial", "hier-leader"},
    /* From here sizes are those of a block. */
    {ROW(GATHER), 8, {8}, 2 * K * 8 + 7, "binomial", "linear"},
    {ROW(GATHERV), 8, {8}, 2 * K * 8 + 7, "binomial", "linear"},
    {ROW(SCATTER), 8, {4}, 2 * K * 8 + 7, "binomial", "linear"},
    {ROW(SCATTERV), 9, {9}, 2 * K * 9 + 8, "binomial", "linear"},
    {ROW(ALLTOALL), 8, {8}, 512 * 8 + 7, "linear", "scattered"},
    {ROW(ALLTOALL), 9, {9}, 512 * 9 + 8, "bruck", "scattered"},
    {ROW(ALLTOALL), 8, {8}, 32 * K * 8 + 7, "scattered", "pairwise"},
    {ROW(ALLTOALL), 16, {4}, 512 * 16 + 15, "bruck", "staged"},
    {ROW(ALLTOALL), 16, {4}, 8 * K * 16 + 15, "staged", "scattered"},
    {ROW(ALLTOALL), 16, {7, 9}, 512 * 16 + 15, "bruck", "scattered"},
    {ROW(ALLTOALLV), 8, {8}, 512 * 8 + 7, "linear", "scattered"},
    {ROW(ALLTOALLV), 9, {9}, 32 * K * 9 + 8, "scattered", "pairwise"},
    {ROW(SENDRECV), 8, {4}, 1024 * M, "ring-shift", "ring-shift"},
    {ROW(BARRIER), 8, {4}, 1, "dissemination", "dissemination"},
};

static void boundaries_are_where_they_are_said_to_be(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof boundaries / sizeof *boundaries; i++) {
        char why_not[160];
        const char *why;
        int count = 0;
        while (count < 3 && boundaries[i].nodes[count])
            count++;
        struct shape *shape = shape_of_sizes(boundaries[i].nodes, count, boundaries[i].ranks,
                                             why_not, sizeof why_not);
        assert_non_null(shape);
        struct problem problem = {.collective = collective_of(boundaries[i].collective),
                                  .ranks = boundaries[i].ranks,
                                  .shape = shape};
        const char *at = algorithm_auto(&problem, boundaries[i].most, &why)->name;
        const char *above = algorithm_auto(&problem, boundaries[i].most + 1, &why)->name;
        if (strcmp(at, boundaries[i].algorithm) != 0 || strcmp(above, boundaries[i].next) != 0)
            print_error("%s, %d ranks, %zu bytes: %s, then %s\n", problem.collective->name,
                        problem.ranks, boundaries[i].most, at, above);
        assert_string_equal(at, boundaries[i].algorithm);
        assert_string_equal(above, boundaries[i].next);
        shape_free(shape);
    }
}

/* Every name and alias means one algorithm of a collective: also what auto and parts go by. */
static void names_are_given_once(void **state)
{
    (void)state;
    for (int c = 0; collectives[c]; c++)
        for (int i = 0; algorithms[i]; i++) {
            const struct algorithm *algorithm = algorithms[i];
            enum collective_id id = collectives[c]->id;
            if (!algorithm_serves(algorithm, id))
                continue;
            assert_ptr_equal(algorithm_find(id, algorithm->name), algorithm);
            assert_string_not_equal(algorithm->name, "auto");
            assert_string_not_equal(algorithm->name, "all");
            for (int a = 0; a < ALGORITHM_ALIASES_MOST && algorithm->aliases[a]; a++) {
                if (algorithm_find(id, algorithm->aliases[a]) != algorithm)
                    print_error("%s %s: %s is taken\n", collectives[c]->name, algorithm->name,
                                algorithm->aliases[a]);
                assert_ptr_equal(algorithm_find(id, algorithm->aliases[a]), algorithm);
            }
        }
}

/* Other libraries' spellings, and one name that means another algorithm in each half of a part. */
static void names_of_others_are_known(void **state)
{
    (void)state;
    static const struct algorithm_option halves = {
        .kind = OPTION_PART, .collectives = SERVES(REDUCE_SCATTER) | SERVES(ALLGATHER)};
    assert_ptr_equal(algorithm_find(COLLECTIVE_ALLREDUCE, "Segmented_Ring"),
                     algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
    assert_null(algorithm_find(COLLECTIVE_ALLREDUCE, "rin"));
    assert_null(algorithm_find(COLLECTIVE_ALLREDUCE, "rings"));
    assert_string_equal(algorithm_find(COLLECTIVE_REDUCE_SCATTER, "RHD")->name, "rec-halving");
    assert_string_equal(part_of(&halves, "RHD").algorithm->name, "recursive-doubling");
    assert_string_equal(part_of(&halves, "RHD").name, "rhd");
    assert_null(part_of(&halves, "hier").algorithm);
    assert_null(part_of(&halves, "neighbor").algorithm);
}

/* A part that is standard can be a part; and of each that can there is one for every collective. */
static void standard_parts_can_be_parts(void **state)
{
    int parts = 0;
    (void)state;
    for (int i = 0; algorithms[i]; i++)
        for (int o = 0; o < ALGORITHM_OPTIONS_MOST && algorithms[i]->options[o].name; o++) {
            const struct algorithm_option *option = &algorithms[i]->options[o];
            bool standard = false;
            if (option->kind != OPTION_PART)
                continue;
            parts++;
            for (int j = 0; algorithms[j]; j++)
                standard |= algorithm_is_part(algorithms[j], option) &&
                            strcmp(algorithms[j]->name, option->standard_part) == 0;
            if (!standard)
                print_error("%s: %s=%s\n", algorithms[i]->name, option->name,
                            option->standard_part);
            assert_true(standard);
        }
    assert_true(parts > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(something_is_picked_that_accepts),
        cmocka_unit_test(boundaries_are_where_they_are_said_to_be),
        cmocka_unit_test(names_are_given_once),
        cmocka_unit_test(names_of_others_are_known),
        cmocka_unit_test(standard_parts_can_be_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_ranks.c - which ranks, roots and shapes each algorithm accepts, with all options. One that
 * refuses is not proved there, so a check that refuses too much would pass everywhere else; one
 * that accepts what it is not made for would say so only late.
 * tier: check; load: cpu1
 */
#include "tests/unit/trials.h"

#define RANKS_ASKED  33
#define SHAPED_MOST  12
#define COMBINATIONS 8

/* The problems that an algorithm must accept, and no others. */
typedef bool promise(const struct choice *choice, const struct problem *problem);

static bool powers_of_two(const struct choice *choice, const struct problem *problem)
{
    (void)choice;
    return (problem->ranks & (problem->ranks - 1)) == 0;
}

static bool one_and_even(const struct choice *choice, const struct problem *problem)
{
    (void)choice;
    return problem->ranks == 1 || problem->ranks % 2 == 0;
}

static bool two_or_more(const struct choice *choice, const struct problem *problem)
{
    (void)choice;
    return problem->ranks >= 2;
}

static bool not_oneself(const struct choice *choice, const struct problem *problem)
{
    return problem->ranks == 1 || choice_option(choice, "stride") % problem->ranks != 0;
}

static bool whole_pairs(const struct choice *choice, const struct problem *problem)
{
    long concurrency = choice_option(choice, "concurrency");

    (void)problem;
    return concurrency == 1 || concurrency % 2 == 0;
}

/* Rings of different strides: those that have no divisor in common with the ranks. Standard: not
 * 2 ranks. */
static bool rings_enough(const struct choice *choice, const struct problem *problem)
{
    long rings = 0;

    for (int stride = 1; stride < problem->ranks; stride++) {
        int divisor = stride;

        while (problem->ranks % divisor || stride % divisor)
            divisor--;
        rings += divisor == 1;
    }
    return problem->ranks == 1 || choice_option(choice, "channels") <= rings;
}

/* Standard: any, since the most square grid is looked for. */
static bool full_rows(const struct choice *choice, const struct problem *problem)
{
    long columns = choice_option(choice, "columns");

    return columns == 0 || problem->ranks % columns == 0;
}

static bool equal_groups(const struct choice *choice, const struct problem *problem)
{
    (void)choice;
    for (int g = 1; g < problem->shape->groups; g++)
        if (shape_size(problem->shape, g) != shape_size(problem->shape, 0))
            return false;
    return true;
}

/* All others accept everything, the grouped ones all shapes of several groups. */
static const struct row {
    const char *name;
    unsigned collectives;
    promise *accepts;
} rows[] = {
    {"swing-lat", SERVES(ALLREDUCE), powers_of_two},
    {"swing", SERVES(BROADCAST), powers_of_two},
    {"pairwise-xor", SERVES(ALLTOALL) | SERVES(ALLTOALLV), powers_of_two},
    {"neighbor", SERVES(ALLGATHER) | SERVES(ALLGATHERV), one_and_even},
    {"pingpong", SERVES(SENDRECV), two_or_more},
    {"uni", SERVES(SENDRECV), two_or_more},
    {"bidir", SERVES(SENDRECV), two_or_more},
    {"pairs", SERVES(SENDRECV), two_or_more},
    {"ring-shift", SERVES(SENDRECV), not_oneself},
    {"fullmesh", SERVES(ALLTOALL) | SERVES(ALLTOALLV), whole_pairs},
    {"ring-multi", SERVES(ALLREDUCE), rings_enough},
    {"torus2d", SERVES(ALLREDUCE), full_rows},
    {"hier", ~0u, equal_groups},
    {"pipeline", ~0u, equal_groups},
    {"staged", ~0u, equal_groups},
    {"hier-relay", ~0u, equal_groups},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* NULL: everything. */
static const struct row *row_find(const struct algorithm *algorithm)
{
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].name, algorithm->name) && rows[i].collectives & algorithm->collectives)
            return &rows[i];
    return NULL;
}

/* Does part `i` of the choice accept a group of `ranks`, in each collective that it serves there?
 * Parts have the standard options. */
static bool part_accepts(const struct choice *choice, int i, int ranks)
{
    const struct algorithm_option *option = &choice->algorithm->options[i];

    for (int c = 0; collectives[c]; c++) {
        if (!(option->collectives >> collectives[c]->id & 1))
            continue;
        struct choice part =
            choice_of(algorithm_find(collectives[c]->id, choice->parts[i].algorithm->name));
        struct problem problem = {.collective = collectives[c], .ranks = ranks};
        const struct row *row = row_find(part.algorithm);

        if (row && !row->accepts(&part, &problem))
            return false;
    }
    return true;
}

static bool accepts(const struct choice *choice, const struct problem *problem)
{
    const struct row *row = row_find(choice->algorithm);
    bool accepted = !row || row->accepts(choice, problem);

    if (choice->algorithm->grouped && problem->shape->groups < 2)
        return false;
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && choice->algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &choice->algorithm->options[i];

        if (option->kind != OPTION_PART)
            continue;
        if (!strcmp(option->name, "inter"))
            accepted &= part_accepts(choice, i, problem->shape->groups);
        for (int g = 0; g < problem->shape->groups && strcmp(option->name, "inter") != 0; g++)
            accepted &= part_accepts(choice, i, shape_size(problem->shape, g));
    }
    return accepted;
}

static void check_choice(const struct trial *trial)
{
    char text[TRIAL_TEXT], room[512];
    bool should = accepts(&trial->choice, &trial->problem);
    const char *reason = choice_refuses(&trial->choice, &trial->problem, room, sizeof(room));

    if (!reason == should)
        return;
    trial_text(trial, text);
    fail_msg("%s: %s", text, reason ? reason : "should be refused");
}

/* Each root with the standard options, and one with each combination of others; of many, some take
 * turns. Adds to `asked`. */
static void check_problem(struct trial *trial, long *asked)
{
    struct problem *problem = &trial->problem;
    long combinations = choice_set(&trial->choice, problem->ranks, 0);
    long apart = 1 + combinations / COMBINATIONS;
    int roots = problem->collective->rooted ? problem->ranks : 1;

    for (problem->root = 0; problem->root < roots; problem->root++, ++*asked)
        check_choice(trial);
    for (long i = 1 + *asked % apart; i < combinations; i += apart, ++*asked) {
        choice_set(&trial->choice, problem->ranks, i);
        problem->root = (int)(i % roots);
        check_choice(trial);
    }
}

static void check_shapes(struct trial *trial, long *asked)
{
    int group[SHAPED_MOST];

    for (int nth = 0; shape_plan(trial->problem.ranks, nth, group); nth++) {
        struct shape *shape = shape_create(group, trial->problem.ranks);

        assert_non_null(shape);
        trial->problem.shape = shape;
        check_problem(trial, asked);
        shape_free(shape);
    }
}

static void accepted_as_promised(void **state)
{
    long asked = 0;

    (void)state;
    for (int c = 0; collectives[c]; c++)
        for (int a = 0; algorithms[a]; a++) {
            bool grouped = algorithms[a]->grouped;

            if (!algorithm_serves(algorithms[a], collectives[c]->id) || algorithms[a]->vendor)
                continue;
            for (int p = 1; p <= (grouped ? SHAPED_MOST : RANKS_ASKED); p++) {
                struct trial trial = {.choice = choice_of(algorithms[a]),
                                      .problem = {.collective = collectives[c], .ranks = p},
                                      .channels = 1};

                if (grouped)
                    check_shapes(&trial, &asked);
                else
                    check_problem(&trial, &asked);
            }
        }
    print_message("coverage: asked %ld times\n", asked);
}

static void every_row_has_an_algorithm(void **state)
{
    bool used[ROWS] = {false};

    (void)state;
    for (int a = 0; algorithms[a]; a++)
        if (row_find(algorithms[a]))
            used[row_find(algorithms[a]) - rows] = true;
    for (size_t i = 0; i < ROWS; i++)
        if (!used[i])
            fail_msg("%s is no algorithm", rows[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_an_algorithm),
        cmocka_unit_test(accepted_as_promised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_costs.c - the counted costs of every algorithm equal those of costs.def: rounds, and
 * messages and elements of the busiest rank. An algorithm without a row fails, and so does a row
 * without an algorithm.
 * tier: check; load: cpu1; sanitizers: none
 */
#include "collective/prove/prove.h"
#include "tests/unit/costs.h"
#include "tests/unit/trials.h"

#include <stdlib.h>

#define ROW_SECONDS   60 /* of CPU time; then it stands still */
#define RANKS_COUNTED (SANITIZED ? 5 : 17)
#define GROUPED_MOST  (SANITIZED ? 8 : 24)
#define ROOTS_COUNTED 8 /* ranks, up to which every root is counted; beyond: 0, 1 and the last */

/* The table. Each row becomes a function, named for its line, and a place in rows[]. */

struct cost {
    long rounds, messages, elements;
};

/* The variables of the formulas. */
struct scale {
    long p, n, k, k2, N, L;
};

#define JOIN(a, b)    a##b
#define COST_AT(line) JOIN(cost_at_, line)
#define COST(collective, name, rounds, messages, elements)                                         \
    static struct cost COST_AT(__LINE__)(const struct scale *scale)                                \
    {                                                                                              \
        long p = scale->p, n = scale->n, k = scale->k, k2 = scale->k2, N = scale->N, L = scale->L; \
        long P = power2_down(p), fold = P < p;                                                     \
                                                                                                   \
        (void)n, (void)k, (void)k2, (void)N, (void)L, (void)fold;                                  \
        return (struct cost){rounds, messages, elements};                                          \
    }
#include "tests/unit/costs.def"
#undef COST

#define COST(collective, name, rounds, messages, elements)                                         \
    {COLLECTIVE_##collective, name, COST_AT(__LINE__)},
static const struct row {
    enum collective_id collective;
    const char *name;
    struct cost (*cost)(const struct scale *scale);
} rows[] = {
#include "tests/unit/costs.def"
};
#undef COST

#define ROWS (sizeof(rows) / sizeof(*rows))

/* Counting. */

/* Both ends of a message say the same round: labels that drift apart would be counted wrongly. */
static bool rounds_agree(const struct program *program, char why[TRIAL_WHY])
{
    char error[TRIAL_WHY];
    struct joint_schedule *joint = joint_create(PROGRAM(program), error, sizeof(error));
    bool agree = joint;

    snprintf(why, TRIAL_WHY, "%s", error);
    for (uint32_t g = 0; agree && g < joint->count; g++) {
        if (joint->partner[g] == NO_OPERATION)
            continue;
        int here = joint_operation(joint, g)->step;
        int there = joint_operation(joint, joint->partner[g])->step;

        agree = here == there;
        if (!agree)
            snprintf(why, TRIAL_WHY, "%s is of round %d, its other end of round %d",
                     joint_title(joint, g).text, here, there);
    }
    joint_free(joint);
    return agree;
}

/* Algorithms that limit contention by rounds: nothing of a round starts before the one before it is
 * complete. */
static bool rounds_are_fenced(const struct program *program, char why[TRIAL_WHY])
{
    for (int r = 0; r < program->ranks; r++) {
        const struct operation *last = NULL;

        for (size_t i = 0; i < program->schedules[r]->count; i++) {
            const struct operation *operation = &program->schedules[r]->operations[i];

            if (!operation_travels(operation->kind))
                continue;
            if (last && (operation->step == last->step) != (operation->epoch == last->epoch)) {
                snprintf(why, TRIAL_WHY, "rank %d: no fence before its operation %zu", r, i);
                return false;
            }
            last = operation;
        }
    }
    return true;
}

static bool is_fenced(const struct trial *trial)
{
    static const char *const fenced[] = {"pairwise", "pairwise-xor", "pairwise-factor",
                                         "fullmesh", "scattered",    "staged"};
    enum collective_id id = trial->problem.collective->id;

    if (id != COLLECTIVE_ALLTOALL && id != COLLECTIVE_ALLTOALLV)
        return false;
    for (size_t i = 0; i < sizeof(fenced) / sizeof(*fenced); i++)
        if (!strcmp(trial->choice.algorithm->name, fenced[i]))
            return true;
    return false;
}

/* Raises `cost` to the maximum of it and the costs of the trial. */
static bool trial_cost(const struct trial *trial, struct cost *cost, char why[TRIAL_WHY])
{
    struct program program;
    struct verification verification;

    if (!trial_build(trial, &program, why))
        return false;
    verify(PROGRAM(&program), trial_idempotent(trial), &verification);
    snprintf(why, TRIAL_WHY, "%s", verification.error);
    cost->rounds = most(cost->rounds, verification.steps);
    for (int r = 0; r < program.ranks; r++) {
        cost->messages = most(cost->messages, (long)verification.messages[r]);
        cost->elements = most(cost->elements, (long)verification.elements[r]);
    }
    bool right = verification.right && rounds_agree(&program, why);
    if (right && is_fenced(trial) && trial->channels == 1)
        right = rounds_are_fenced(&program, why);
    verification_free(&verification);
    program_free(&program);
    return right;
}

/* The cost at the worst root. */
static bool roots_cost(struct trial *trial, struct cost *cost, char why[TRIAL_WHY])
{
    int p = trial->problem.ranks;
    int roots = trial->problem.collective->rooted ? p : 1;
    bool right = true;

    *cost = (struct cost){0};
    for (int root = 0; root < roots && right; root++) {
        if (p > ROOTS_COUNTED && root > 1 && root < p - 1)
            continue;
        trial->problem.root = root;
        right = trial_cost(trial, cost, why);
    }
    trial->problem.root = 0;
    return right;
}

/* The `index`th option that has a number or a word as value. */
static long option_value(const struct choice *choice, int index)
{
    const struct algorithm_option *options = choice->algorithm->options;

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && options[i].name; i++)
        if ((options[i].kind == OPTION_NUMBER || options[i].kind == OPTION_WORD) && index-- == 0)
            return choice->options[i];
    return 0;
}

static bool cost_right(const struct row *row, struct trial *trial, char why[TRIAL_WHY])
{
    const struct shape *shape = trial->problem.shape;
    struct scale scale = {
        .p = trial->problem.ranks,
        .n = (long)trial->problem.count,
        .k = option_value(&trial->choice, 0),
        .k2 = option_value(&trial->choice, 1),
        .N = shape ? shape->groups : 1,
        .L = shape ? shape_size(shape, 0) : trial->problem.ranks,
    };
    struct cost is, beside = {0}, should = row->cost(&scale);

    trial->channels = 1;
    if (!roots_cost(trial, &is, why))
        return false;
    if (is.rounds != should.rounds || is.messages != should.messages ||
        is.elements != should.elements) {
        snprintf(why, TRIAL_WHY, "%ld rounds, %ld messages, %ld elements instead of %ld, %ld, %ld",
                 is.rounds, is.messages, is.elements, should.rounds, should.messages,
                 should.elements);
        return false;
    }
    trial->channels = 2; /* side by side: the rounds are those of the longer slice */
    scale.n = most((long)channel_slice(trial->problem.count, 0, 2).length,
                   (long)channel_slice(trial->problem.count, 1, 2).length);
    should = row->cost(&scale);
    if (!trial_cost(trial, &beside, why))
        return false;
    snprintf(why, TRIAL_WHY, "%ld rounds instead of %ld", beside.rounds, should.rounds);
    return beside.rounds == should.rounds;
}

/* Are all parts the standard ones? Formulas are about those. */
static bool parts_standard(const struct choice *choice)
{
    const struct choice standard = choice_of(choice->algorithm);

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST; i++)
        if (choice->parts[i].algorithm != standard.parts[i].algorithm)
            return false;
    return true;
}

/* Does the algorithm cut the vector into channels of its own? */
static bool has_channels(const struct choice *choice)
{
    const struct algorithm_option *options = choice->algorithm->options;

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && options[i].name; i++)
        if (strcmp(options[i].name, "channels") == 0)
            return choice->options[i] > 1;
    return false;
}

/* One that formulas can divide, and that two channels of the algorithm halve. */
static size_t count_of(const struct trial *trial)
{
    const struct collective *collective = trial->problem.collective;
    long p = trial->problem.ranks, count = power2_down(p);

    if (!collective->sized)
        return 1;
    if (!collective->source.blocks && !collective->destination.blocks)
        count *= p * power_down(p, option_value(&trial->choice, 0));
    while (has_channels(&trial->choice) && count > CHANNEL_UNIT && count % (2 * CHANNEL_UNIT))
        count *= 2;
    return (size_t)count;
}

/* With all options. Returns how many trials the row was compared with; -1: one of them costs
 * something else. */
static int check_options(const struct row *row, struct trial *trial)
{
    static const struct counts_spec uniform = {.distribution = DISTRIBUTION_UNIFORM};
    int p = trial->problem.ranks, checked = 0;
    char text[TRIAL_TEXT], why[TRIAL_WHY];
    long combinations = choice_set(&trial->choice, p, 0);

    for (long i = 0; i < combinations; i++) {
        choice_set(&trial->choice, p, i);
        if (!parts_standard(&trial->choice))
            continue;
        trial->problem.count = count_of(trial);
        enum refusal refusal = trial_refused(trial, why);
        if (refusal == REFUSED)
            continue;
        struct counts *counts = problem_counts(&trial->problem, &trial->choice, &uniform);
        bool right = refusal == SERVED && cost_right(row, trial, why);
        trial->problem.counts = NULL;
        counts_free(counts);
        if (!right) {
            trial_text(trial, text);
            print_message("    %s: %s\n", text, why);
            return -1;
        }
        checked++;
    }
    return checked;
}

/* In all shapes of equal groups, for an algorithm that needs some. */
static int check_shapes(const struct row *row, struct trial *trial)
{
    int p = trial->problem.ranks, group[GROUPED_MOST], checked = 0, here = 0;

    if (!trial->choice.algorithm->grouped)
        return check_options(row, trial);
    for (int each = 2; each <= p / 2 && here >= 0; each++) {
        if (p % each)
            continue;
        for (int r = 0; r < p; r++)
            group[r] = r / each;
        struct shape *shape = shape_create(group, p);
        assert_non_null(shape);
        trial->problem.shape = shape;
        here = check_options(row, trial);
        shape_free(shape);
        checked += here;
    }
    return here < 0 ? -1 : checked;
}

static int check_collective(const struct row *row, const struct algorithm *algorithm,
                            const struct collective *collective)
{
    int checked = 0, here = 0;

    for (int p = 2; here >= 0 && p <= (algorithm->grouped ? GROUPED_MOST : RANKS_COUNTED); p++) {
        struct trial trial = {.choice = choice_of(algorithm),
                              .problem = {.collective = collective, .ranks = p}};

        here = check_shapes(row, &trial);
        checked += here;
    }
    return here < 0 ? -1 : checked;
}

static void costs_as_documented(void **state)
{
    int checked = 0, wrong = 0;

    (void)state;
    for (size_t row = 0; row < ROWS; row++) {
        const struct algorithm *algorithm = algorithm_find(rows[row].collective, rows[row].name);

        if (!algorithm)
            print_message("    costs.def names %s, which no algorithm is\n", rows[row].name);
        wrong += !algorithm;
        limit_cpu_time(ROW_SECONDS);
        for (int c = 0; algorithm && collectives[c]; c++) {
            if (!algorithm_serves(algorithm, collectives[c]->id))
                continue;
            int here = check_collective(&rows[row], algorithm, collectives[c]);
            if (!here)
                print_message("    %s %s refuses everything\n", collectives[c]->name,
                              algorithm->name);
            wrong += here <= 0;
            checked += here > 0 ? here : 0;
        }
    }
    print_message("coverage: %zu rows compared with %d trials, %d wrong\n", ROWS, checked, wrong);
    assert_int_equal(wrong, 0);
}

/* Unequal groups, with the standard options: rounds and elements. */

#define UNEQUAL_MOST  (SANITIZED ? 6 : 8) /* ranks */
#define UNEQUAL_COUNT 5040                /* what formulas divide by divides it */

/* G groups of m to M ranks; n as in costs.def. */
struct unequal {
    const struct shape *shape;
    long p, n, G, m, M;
};

static struct cost ahc_allreduce_cost(const struct unequal *u)
{
    return (struct cost){.rounds = 2 * ceil_log2(u->M) + 2 * (u->G - 1),
                         .elements = 2 * (u->n - u->n / (u->G * u->M))};
}

/* The first m of each group own everything. In a large group the last of them sends all but its own
 * share, then exchanges that with other groups, then sends all: its neighbour owns nothing. */
static struct cost ahc_broke_cost(const struct unequal *u)
{
    return (struct cost){.rounds = 2 * (u->M - 1) + 2 * (u->G - 1),
                         .elements = 2 * u->n + (u->G - 2) * (u->n / (u->G * u->m))};
}

static struct cost ahc_reduce_scatter_cost(const struct unequal *u)
{
    return (struct cost){.rounds = ceil_log2(u->M) + u->G - 1, .elements = (u->p - 1) * u->n};
}

/* A ring sends all but what its neighbour has: for 1/m of the blocks, those of the next group. */
static struct cost ahc_allgather_cost(const struct unequal *u)
{
    long spared = u->n;

    for (int g = 0; g < u->G; g++) {
        long next = shape_size(u->shape, (g + 1) % (int)u->G);

        spared = least(spared, next * u->n / shape_size(u->shape, g));
    }
    return (struct cost){.rounds = ceil_log2(u->M) + u->G - 1, .elements = u->p * u->n - spared};
}

static struct cost leader_allreduce_cost(const struct unequal *u)
{
    return (struct cost){.rounds = 2 * ceil_log2(u->M) + 2 * (u->G - 1),
                         .elements = ceil_log2(u->M) * u->n + 2 * (u->G - 1) * (u->n / u->G)};
}

static struct cost leader_broadcast_cost(const struct unequal *u)
{
    return (struct cost){.rounds = ceil_log2(u->G) + ceil_log2(u->M),
                         .elements = (ceil_log2(u->G) + ceil_log2(u->M)) * u->n};
}

static struct cost leader_reduce_cost(const struct unequal *u)
{
    return (struct cost){.rounds = ceil_log2(u->G) + ceil_log2(u->M), .elements = u->n};
}

static const struct unequal_row {
    enum collective_id collective;
    const char *name;
    struct cost (*cost)(const struct unequal *unequal);
} unequal_rows[] = {
    {COLLECTIVE_ALLREDUCE, "ahc", ahc_allreduce_cost},
    {COLLECTIVE_ALLREDUCE, "ahc-broke", ahc_broke_cost},
    {COLLECTIVE_REDUCE_SCATTER, "ahc", ahc_reduce_scatter_cost},
    {COLLECTIVE_ALLGATHER, "ahc", ahc_allgather_cost},
    {COLLECTIVE_ALLREDUCE, "hier-leader", leader_allreduce_cost},
    {COLLECTIVE_BROADCAST, "hier-leader", leader_broadcast_cost},
    {COLLECTIVE_REDUCE, "hier-leader", leader_reduce_cost},
};

static void check_unequal(const struct unequal_row *row, const struct shape *shape)
{
    struct unequal unequal = {.shape = shape,
                              .p = shape->ranks,
                              .n = UNEQUAL_COUNT,
                              .G = shape->groups,
                              .m = shape->ranks};
    struct trial trial = {.choice = choice_of(algorithm_find(row->collective, row->name)),
                          .problem = {.collective = collective_of(row->collective),
                                      .ranks = shape->ranks,
                                      .count = (size_t)unequal.n,
                                      .shape = shape},
                          .channels = 1};
    char text[TRIAL_TEXT], why[TRIAL_WHY];
    struct cost is;

    for (int g = 0; g < shape->groups; g++) {
        unequal.m = least(unequal.m, shape_size(shape, g));
        unequal.M = most(unequal.M, shape_size(shape, g));
    }
    struct cost should = row->cost(&unequal);
    trial_text(&trial, text);
    if (!roots_cost(&trial, &is, why))
        fail_msg("%s: %s", text, why);
    if (is.rounds != should.rounds || is.elements != should.elements)
        fail_msg("%s: %ld rounds, %ld elements instead of %ld, %ld", text, is.rounds, is.elements,
                 should.rounds, should.elements);
}

static void unequal_groups_as_documented(void **state)
{
    size_t count = sizeof(unequal_rows) / sizeof(*unequal_rows);
    int group[UNEQUAL_MOST], checked = 0;

    (void)state;
    limit_cpu_time(ROW_SECONDS);
    for (int p = 2; p <= UNEQUAL_MOST; p++)
        for (int nth = 0; shape_plan(p, nth, group); nth++) {
            struct shape *shape = shape_create(group, p);

            assert_non_null(shape);
            for (size_t i = 0; i < count && !shape->uniform; i++, checked++)
                check_unequal(&unequal_rows[i], shape);
            shape_free(shape);
        }
    print_message("coverage: %zu rows compared with %d trials\n", count, checked);
    assert_true(checked > 0);
}

static void every_algorithm_has_a_row(void **state)
{
    int missing = 0;

    (void)state;
    for (int i = 0; algorithms[i]; i++) {
        size_t row = 0;

        while (row < ROWS && algorithm_find(rows[row].collective, rows[row].name) != algorithms[i])
            row++;
        if (row < ROWS || algorithms[i]->vendor)
            continue;
        for (int c = 0; collectives[c]; c++)
            if (algorithm_serves(algorithms[i], collectives[c]->id))
                print_message("    %s %s has no row in costs.def\n", collectives[c]->name,
                              algorithms[i]->name);
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_a_row),
        cmocka_unit_test(costs_as_documented),
        cmocka_unit_test(unequal_groups_as_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

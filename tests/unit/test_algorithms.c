/*
 * test_algorithms.c - every algorithm, proved: by the verifier for 1 to 33 ranks, by the shaker for
 * 1 to 17, with counts that divide badly, all kinds of roots, in place and not, several channels,
 * and each option at its limits and between. A new algorithm is proved without being named here;
 * only the table of what it should cost, at the end, is written by hand.
 */
#include "schedules.h"

#include <stdlib.h>
#include <time.h>

#define SHAKEN_MOST   17 /* ranks */
#define CHANNELS_MOST 3

struct coverage {
    long verified, shaken, refused;
    double seconds;
};

struct trial {
    struct choice choice;
    struct problem problem;
    int channels;
};

static void shape_text(const struct trial *shape, char *text, size_t size)
{
    const struct algorithm *algorithm = shape->choice.algorithm;
    const struct problem *problem = &shape->problem;
    int used = snprintf(text, size, "%s %s", problem->collective->name, algorithm->name);

    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        used += snprintf(text + used, size - (size_t)used, ":%s=%ld", algorithm->options[i].name,
                         shape->choice.options[i]);
    snprintf(text + used, size - (size_t)used, ", %d ranks, count %zu, root %d, %s, %d channels",
             problem->ranks, problem->count, problem->root,
             problem->in_place ? "in place" : "out of place", shape->channels);
}

static void shape_fails(const struct trial *shape, const char *error)
{
    char text[256];

    shape_text(shape, text, sizeof(text));
    fail_msg("%s: %s", text, error);
}

static void shape_build(const struct trial *shape, struct program *program)
{
    program->ranks = shape->problem.ranks;
    for (int r = 0; r < program->ranks; r++) {
        struct log log;

        log_init(&log, -1, 0);
        log_attach(&log);
        if (schedule_build(&shape->choice, &shape->problem, r, shape->channels,
                           &program->schedules[r]) != STATUS_OK)
            shape_fails(shape, log.message);
        log_attach(NULL);
    }
}

/* An algorithm that refuses a shape says why in a sentence, and schedule_build() passes it on. */
static bool shape_refused(const struct trial *shape)
{
    char why[512] = "";
    struct log log;
    struct schedule *schedule = NULL;

    const char *reason = choice_refuses(&shape->choice, &shape->problem, why, sizeof(why));
    if (!reason)
        return false;
    if (!strchr(reason, ' '))
        shape_fails(shape, "refused without a sentence");
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status =
        schedule_build(&shape->choice, &shape->problem, 0, shape->channels, &schedule);
    log_attach(NULL);
    if (status != STATUS_USAGE || !strstr(log.message, reason))
        shape_fails(shape, "refused, but schedule_build() does not say so");
    return true;
}

static void shape_prove(const struct trial *shape, struct coverage *coverage)
{
    struct program program;
    struct verification verification;
    bool idempotent = shape->problem.collective->id == COLLECTIVE_BARRIER;
    char error[512];

    shape_build(shape, &program);
    verify(PROGRAM(&program), idempotent, &verification);
    if (!verification.right)
        shape_fails(shape, verification.error);
    verification_free(&verification);
    coverage->verified++;

    uint64_t seed = (uint64_t)coverage->verified * 3;
    for (int i = 0; i < 3 && program.ranks <= SHAKEN_MOST; i++, coverage->shaken++)
        if (!shake(PROGRAM(&program), seed + (uint64_t)i, error, sizeof(error)))
            shape_fails(shape, error);
    program_free(&program);
}

/* What to try. */

static size_t counts_of(const struct trial *shape, size_t counts[])
{
    size_t p = (size_t)shape->problem.ranks, n = 0;
    const size_t wanted[] = {0, 1, 3, p - 1, p, p + 1, 2 * p + 3};

    if (!shape->problem.collective->sized) {
        counts[0] = 1;
        return 1;
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        bool known = false;

        for (size_t j = 0; j < n; j++)
            known |= counts[j] == wanted[i];
        if (!known)
            counts[n++] = wanted[i];
    }
    return n;
}

static bool root_wanted(const struct problem *problem, int root)
{
    if (!problem->collective->rooted)
        return root == 0;
    return problem->ranks <= 8 || root <= 1 || root == problem->ranks - 1;
}

static void prove_choice(struct trial *shape, struct coverage *coverage)
{
    size_t counts[8], count = counts_of(shape, counts);

    for (int root = 0; root < shape->problem.ranks; root++) {
        shape->problem.root = root;
        if (!root_wanted(&shape->problem, root))
            continue;
        for (size_t i = 0; i < 2 * count; i++) {
            shape->problem.count = counts[i / 2];
            shape->problem.in_place = i % 2;
            for (int channels = 1; channels <= CHANNELS_MOST; channels++) {
                shape->channels = channels;
                shape_prove(shape, coverage);
            }
        }
    }
}

/* The `index`th value to try for an option; false: no more. */
static bool option_value(const struct algorithm_option *option, int ranks, int index, long *value)
{
    const long wanted[] = {option->standard, option->least, option->least + 1, 3, 4, 8, ranks,
                           option->most};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        bool known = wanted[i] < option->least || wanted[i] > option->most;

        for (size_t j = 0; j < i; j++)
            known |= wanted[j] == wanted[i];
        if (!known && index-- == 0) {
            *value = wanted[i];
            return true;
        }
    }
    return false;
}

/* All combinations of option values from option `next` on. */
static void prove_options(struct trial *shape, int next, struct coverage *coverage)
{
    const struct algorithm_option *option = &shape->choice.algorithm->options[next];

    if (next == ALGORITHM_OPTIONS_MOST || !option->name) {
        if (shape_refused(shape))
            coverage->refused++;
        else
            prove_choice(shape, coverage);
        return;
    }
    for (int i = 0; option_value(option, shape->problem.ranks, i, &shape->choice.options[next]);
         i++)
        prove_options(shape, next + 1, coverage);
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void prove_algorithm(const struct collective *collective, const struct algorithm *algorithm,
                            struct coverage *all)
{
    struct coverage one = {.seconds = -seconds_now()};

    for (int p = 1; p <= RANKS_MOST; p++) {
        struct trial shape = {
            .choice = choice_of(algorithm),
            .problem = {.collective = collective, .ranks = p, .count = 1},
            .channels = 1,
        };
        prove_options(&shape, 0, &one);
    }
    one.seconds += seconds_now();
    print_message("    %-14s %-20s %6ld shapes verified, %6ld runs shaken, %3ld refused, %.1f s\n",
                  collective->name, algorithm->name, one.verified, one.shaken, one.refused,
                  one.seconds);
    assert_true(one.verified > 0);
    all->verified += one.verified;
    all->shaken += one.shaken;
    all->refused += one.refused;
    all->seconds += one.seconds;
}

static void every_algorithm(void **state)
{
    struct coverage all = {0};
    int count = 0;

    (void)state;
    for (int c = 0; collectives[c]; c++)
        for (int a = 0; algorithms[a]; a++) {
            if (!algorithm_serves(algorithms[a], collectives[c]->id))
                continue;
            prove_algorithm(collectives[c], algorithms[a], &all);
            count++;
        }
    print_message(
        "    coverage: %d algorithms, %ld shapes verified, %ld runs shaken, %ld refused with "
        "a reason, %.1f s\n",
        count, all.verified, all.shaken, all.refused, all.seconds);
}

/* What it costs: rounds, and messages and elements of the busiest rank, as formulas. p ranks, k the
 * option, b the count; n = b where the count is that of the whole vector. */

static long log2_up(long p)
{
    long q = 0;

    while (1L << q < p)
        q++;
    return q;
}

static long power2_down(long p)
{
    long power = 1;

    while (2 * power <= p)
        power *= 2;
    return power;
}

static long log_up(long p, long k)
{
    long q = 0;

    for (long w = 1; w < p; w *= k)
        q++;
    return q;
}

/* Messages of the Bruck pattern: for each weight, the digits that occur. */
static long bruck_messages(long p, long k)
{
    long messages = 0;

    for (long w = 1; w < p; w *= k)
        for (long j = 1; j < k && j * w < p; j++)
            messages++;
    return messages;
}

/* A block travels once for each digit of its distance that is not 0. */
static long bruck_blocks(long p, long k)
{
    long blocks = 0;

    for (long i = 0; i < p; i++)
        for (long rest = i; rest > 0; rest /= k)
            blocks += rest % k != 0;
    return blocks;
}

static long divide_up(long a, long b)
{
    return (a + b - 1) / b;
}

struct cost {
    long rounds, messages, elements;
};

static struct cost round_trip(long p, long k, long b)
{
    (void)k;
    return (struct cost){p - 1, p - 1, (p - 1) * b};
}

static struct cost one_round(long p, long k, long b)
{
    (void)k;
    return (struct cost){1, p - 1, (p - 1) * b};
}

static struct cost alltoall_fullmesh_cost(long p, long k, long b)
{
    long rounds = k == 1 ? p - 1 : divide_up(p / 2, k / 2);

    return (struct cost){rounds, p - 1, (p - 1) * b};
}

static struct cost alltoall_scattered_cost(long p, long k, long b)
{
    return (struct cost){divide_up(p - 1, k), p - 1, (p - 1) * b};
}

static struct cost alltoall_ring_cost(long p, long k, long b)
{
    (void)k;
    return (struct cost){p - 1, p - 1, p * (p - 1) / 2 * b};
}

static struct cost alltoall_bruck_cost(long p, long k, long b)
{
    return (struct cost){log_up(p, k), bruck_messages(p, k), bruck_blocks(p, k) * b};
}

static struct cost allreduce_ring_cost(long p, long k, long n)
{
    (void)k;
    return (struct cost){2 * (p - 1), 2 * (p - 1), 2 * (p - 1) * (n / p)};
}

static struct cost allreduce_mesh_cost(long p, long k, long n)
{
    (void)k;
    return (struct cost){2, 2 * (p - 1), 2 * (p - 1) * (n / p)};
}

static struct cost recursive_doubling_cost(long p, long k, long n)
{
    long power = power2_down(p), log = log2_up(power), fold = power < p;

    (void)k;
    return (struct cost){log + 2 * fold, log + fold, n * (log + fold)};
}

static struct cost rabenseifner_cost(long p, long k, long n)
{
    long power = power2_down(p), log = log2_up(power), fold = power < p;

    (void)k;
    return (struct cost){2 * log + 2 * fold, 2 * log + fold,
                         2 * (power - 1) * (n / power) + fold * n};
}

static struct cost broadcast_chain_cost(long p, long k, long n)
{
    (void)k;
    return (struct cost){p - 1, 1, n};
}

static struct cost broadcast_binomial_cost(long p, long k, long n)
{
    (void)k;
    return (struct cost){log2_up(p), log2_up(p), log2_up(p) * n};
}

static struct cost reduce_binomial_cost(long p, long k, long n)
{
    (void)k;
    return (struct cost){log2_up(p), 1, n};
}

static struct cost dissemination_cost(long p, long k, long n)
{
    return (struct cost){log_up(p, k), bruck_messages(p, k), bruck_messages(p, k) * n};
}

static const struct {
    enum collective_id collective;
    const char *name;
    struct cost (*cost)(long p, long k, long b);
} costs[] = {
    {COLLECTIVE_ALLTOALL, "pairwise", round_trip},
    {COLLECTIVE_ALLTOALL, "pairwise-xor", round_trip},
    {COLLECTIVE_ALLTOALL, "linear", one_round},
    {COLLECTIVE_ALLTOALL, "fullmesh", alltoall_fullmesh_cost},
    {COLLECTIVE_ALLTOALL, "scattered", alltoall_scattered_cost},
    {COLLECTIVE_ALLTOALL, "ring", alltoall_ring_cost},
    {COLLECTIVE_ALLTOALL, "bruck", alltoall_bruck_cost},
    {COLLECTIVE_ALLREDUCE, "ring", allreduce_ring_cost},
    {COLLECTIVE_ALLREDUCE, "recursive-doubling", recursive_doubling_cost},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", rabenseifner_cost},
    {COLLECTIVE_ALLREDUCE, "mesh", allreduce_mesh_cost},
    {COLLECTIVE_ALLREDUCE, "oneshot", one_round},
    {COLLECTIVE_REDUCE_SCATTER, "ring", round_trip},
    {COLLECTIVE_REDUCE_SCATTER, "mesh", one_round},
    {COLLECTIVE_ALLGATHER, "ring", round_trip},
    {COLLECTIVE_ALLGATHER, "mesh", one_round},
    {COLLECTIVE_BROADCAST, "linear", one_round},
    {COLLECTIVE_BROADCAST, "chain", broadcast_chain_cost},
    {COLLECTIVE_BROADCAST, "binomial", broadcast_binomial_cost},
    {COLLECTIVE_REDUCE, "binomial", reduce_binomial_cost},
    {COLLECTIVE_BARRIER, "dissemination", dissemination_cost},
};

static struct cost shape_cost(const struct trial *shape)
{
    struct program program;
    struct verification verification;

    shape_build(shape, &program);
    verify(PROGRAM(&program), shape->problem.collective->id == COLLECTIVE_BARRIER, &verification);
    if (!verification.right)
        shape_fails(shape, verification.error);
    struct cost cost = {.rounds = verification.steps};
    for (int r = 0; r < program.ranks; r++) {
        long messages = (long)verification.messages[r], elements = (long)verification.elements[r];

        cost.messages = messages > cost.messages ? messages : cost.messages;
        cost.elements = elements > cost.elements ? elements : cost.elements;
    }
    verification_free(&verification);
    program_free(&program);
    return cost;
}

static void check_cost(size_t row, int p, int option)
{
    const struct algorithm *algorithm = algorithm_find(costs[row].collective, costs[row].name);
    struct trial shape = {
        .choice = {.algorithm = algorithm},
        .problem = {.collective = collective_of(costs[row].collective), .ranks = p},
        .channels = 1,
    };
    long k = 0;

    assert_non_null(algorithm);
    if (algorithm->options[0].name && !option_value(&algorithm->options[0], p, option, &k))
        return;
    shape.choice.options[0] = k;
    shape.problem.count =
        shape.problem.collective->sized ? (size_t)p * (size_t)power2_down(p) : 1; /* divides well */
    if (shape_refused(&shape))
        return;

    struct cost is = shape_cost(&shape);
    struct cost should = costs[row].cost(p, k, (long)shape.problem.count);
    if (is.rounds != should.rounds || is.messages != should.messages ||
        is.elements != should.elements) {
        char text[256];

        snprintf(text, sizeof(text),
                 "%ld rounds, %ld messages, %ld elements instead of %ld, %ld, %ld", is.rounds,
                 is.messages, is.elements, should.rounds, should.messages, should.elements);
        shape_fails(&shape, text);
    }
    shape.channels = 2; /* side by side: the rounds are the same ones */
    if (shape_cost(&shape).rounds != should.rounds)
        shape_fails(&shape, "two channels do not have the rounds of one");
}

static void costs_as_documented(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(costs) / sizeof(*costs); row++)
        for (int p = 2; p <= 17; p++)
            for (int option = 0; option < 8; option++)
                check_cost(row, p, option);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_as_documented),
        cmocka_unit_test(every_algorithm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

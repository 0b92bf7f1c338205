/*
 * test_screening_fleets.c - screening of simulated fleets (simulated_fleet.h): is what is faulty
 * named, and nothing else?
 *
 *     test_screening_fleets              a sample, as a test
 *     test_screening_fleets RUNS [SEED [HOSTS]]
 *                                        the table of so many runs of each kind (make fleets)
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/simulated_fleet.h"

#define FAULTY_SHARE 100 /* one host in so many, at most; at least one */

/* Beyond SEEDED_KINDS: two of different kinds in each run; 3 to MANY_MOST of any kinds, on a
 * quarter of the hosts at most; half of the hosts slow in one way; and healthy fleets. */
enum { KIND_TWO = SEEDED_KINDS, KIND_MANY, KIND_HALF, KIND_NONE, KINDS };
#define MANY_MOST 16
#define HALF_MOST 0.82 /* of the bandwidth that half of the hosts have left */

struct tally_of_runs {
    int runs, faults, named, about; /* named: the right place; about: the right host at least */
    int alarms;                     /* runs that name a host or link that is not faulty */
    int rounds, rounds_most;
    double seconds;
};

/* Is the host or link of a fault the seeded one? */
static bool is_about(const struct fleet_fault *s, const struct seeded *seeded)
{
    if (seeded->peer < 0)
        return s->place == PLACE_HOST && s->host == seeded->host;
    return s->place == PLACE_LINK && ((s->host == seeded->host && s->peer == seeded->peer) ||
                                      (s->host == seeded->peer && s->peer == seeded->host));
}

static bool is_named(const struct fleet_fault *s, const struct seeded *seeded, int rails)
{
    static const enum direction directions[SEEDED_KINDS] = {
        [SEEDED_HOST] = DIRECTION_ANY,        [SEEDED_SEND] = DIRECTION_SEND,
        [SEEDED_RECEIVE] = DIRECTION_RECEIVE, [SEEDED_NIC] = DIRECTION_ANY,
        [SEEDED_LINK] = DIRECTION_ANY,        [SEEDED_ONE_WAY] = DIRECTION_SEND,
        [SEEDED_DUPLEX] = DIRECTION_ANY,      [SEEDED_LATENCY] = DIRECTION_ANY,
        [SEEDED_FLAKY] = DIRECTION_ANY,       [SEEDED_LOST] = DIRECTION_ANY,
        [SEEDED_WRONG] = DIRECTION_SEND,      [SEEDED_SLIGHT] = DIRECTION_ANY,
        [SEEDED_LOSSY] = DIRECTION_ANY,       [SEEDED_LOSSY_SEND] = DIRECTION_SEND,
        [SEEDED_LOSSY_LINK] = DIRECTION_ANY,  [SEEDED_LOSSY_WAY] = DIRECTION_SEND};
    enum reading_outcome outcome = seeded->kind == SEEDED_LOST    ? READING_LOST
                                   : seeded->kind == SEEDED_WRONG ? READING_WRONG
                                                                  : READING_VALUE;
    enum fleet_fault_kind kind = seeded->kind == SEEDED_LATENCY  ? FLEET_FAULT_LATENCY
                                 : seeded->kind == SEEDED_DUPLEX ? FLEET_FAULT_DUPLEX
                                 : seeded_loses(seeded->kind)    ? FLEET_FAULT_LOSS
                                 : outcome != READING_VALUE      ? FLEET_FAULT_FAILURE
                                                                 : FLEET_FAULT_SLOW;
    int rail = seeded->kind == SEEDED_NIC && rails > 1 ? seeded->rail : -1;
    return is_about(s, seeded) && s->kind == kind && s->worst->outcome == outcome && s->confirmed &&
           s->rail == rail && s->direction == directions[seeded->kind] &&
           ((seeded->kind != SEEDED_ONE_WAY && seeded->kind != SEEDED_LOSSY_WAY) ||
            s->host == seeded->host);
}

static void judge(struct tally_of_runs *tally, const struct simulated *f,
                  const struct screened *screened)
{
    bool alarms = false;
    for (int i = 0; i < screened->found->count; i++) {
        bool faulty = false;
        for (int k = 0; k < f->fault_count; k++)
            faulty = faulty || is_about(&screened->found->items[i], &f->faults[k]);
        alarms = alarms || !faulty;
    }
    for (int k = 0; k < f->fault_count; k++) {
        bool named = false, about = false;
        for (int i = 0; i < screened->found->count; i++) {
            named = named || is_named(&screened->found->items[i], &f->faults[k], f->rails);
            about = about || is_about(&screened->found->items[i], &f->faults[k]);
        }
        tally->named += named;
        tally->about += about;
    }
    tally->runs++;
    tally->faults += f->fault_count;
    tally->alarms += alarms;
    tally->rounds += screened->rounds;
    tally->rounds_most =
        screened->rounds > tally->rounds_most ? screened->rounds : tally->rounds_most;
}

/* Seeds one fault; a link is one that the plan measures, since others cannot be found. */
static void seed_one(struct simulated *f, const struct rounds *plan, int count,
                     enum seeded_kind kind)
{
    struct host_pair *pairs = malloc(((size_t)f->hosts / 2 + 1) * sizeof *pairs);
    bool *present = malloc((size_t)f->hosts * sizeof *present);
    memset(present, true, (size_t)f->hosts * sizeof *present);
    int n = rounds_pairs(plan, (int)random_below(&f->random, (uint64_t)count), present, pairs);
    bool seeded = false;
    for (int tries = 0; !seeded && tries < 1000; tries++) { /* small fleets may have no room */
        struct host_pair pair = pairs[random_below(&f->random, (uint64_t)n)];
        seeded = simulated_seed(f, kind, pair.a, pair.b);
    }
    free(pairs);
    free(present);
}

/* How many faults a run of a kind has. */
static int faults_draw(struct simulated *f, int kind)
{
    int most = f->hosts / FAULTY_SHARE > 1 ? f->hosts / FAULTY_SHARE : 1;
    int many = f->hosts / 4 < MANY_MOST ? f->hosts / 4 : MANY_MOST;
    if (kind == KIND_MANY)
        return many <= 3 ? many : 3 + (int)random_below(&f->random, (uint64_t)(many - 2));
    return kind == KIND_NONE  ? 0
           : kind == KIND_TWO ? 2
                              : 1 + (int)random_below(&f->random, (uint64_t)most);
}

/* Seeds the faults of a kind. */
static void seed_some(struct simulated *f, const struct rounds *plan, int count, int kind)
{
    int faults = faults_draw(f, kind), first = (int)random_below(&f->random, SEEDED_SLIGHT);
    int other = (first + 1 + (int)random_below(&f->random, SEEDED_SLIGHT - 1)) % SEEDED_SLIGHT;
    for (int i = 0; i < faults; i++) {
        int any = (int)random_below(&f->random, SEEDED_SLIGHT);
        int one = kind == KIND_MANY ? any : kind == KIND_TWO ? (i ? other : first) : kind;
        seed_one(f, plan, count, (enum seeded_kind)one);
    }
}

/* Half of the hosts send slowly, receive slowly, or both, each at a rate of its own. */
static void seed_half(struct simulated *f)
{
    enum seeded_kind kind = (enum seeded_kind)(SEEDED_HOST + random_below(&f->random, 3));
    int faults = f->hosts / 2 < FAULTS_MOST ? f->hosts / 2 : FAULTS_MOST;
    while (f->fault_count < faults) {
        int host = (int)random_below(&f->random, (uint64_t)f->hosts);
        if (simulated_seed(f, kind, host, -1)) {
            struct seeded *seeded = &f->faults[f->fault_count - 1];
            seeded->factor = fmin(seeded->factor, HALF_MOST);
        }
    }
}

/* So many hosts are behind each switch, in turn; NULL: switches are not known. */
static int *switches_make(int hosts, int behind)
{
    int *switches = behind > 0 ? calloc((size_t)hosts, sizeof *switches) : NULL;
    for (int h = 0; switches && h < hosts; h++)
        switches[h] = h / behind;
    return switches;
}

struct fleet_kind {
    int hosts, rails, behind; /* each switch; 0: switches are not known */
};

static void run(struct tally_of_runs *tally, struct fleet_kind fleet, int kind, uint64_t seed)
{
    const int hosts = fleet.hosts, rails = fleet.rails;
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    struct simulated f;
    simulated_create(&f, hosts, rails, seed);
    int *switches = switches_make(hosts, fleet.behind);
    f.switches = switches;
    int count = rounds_enough(hosts);
    struct rounds *plan = rounds_plan(hosts, count, seed);
    if (kind == KIND_HALF)
        seed_half(&f);
    else
        seed_some(&f, plan, count, kind);
    struct references references = references_default();
    struct screened screened = simulated_screen(&f, plan, count, &references, seed);
    judge(tally, &f, &screened);
    screened_free(&screened);
    rounds_free(plan);
    simulated_free(&f);
    free(switches);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    tally->seconds +=
        (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
}

static const char *kind_name(int kind)
{
    static const char *const names[KINDS] = {[KIND_TWO] = "two at once",
                                             [KIND_MANY] = "3 to 16",
                                             [KIND_HALF] = "half slow",
                                             [KIND_NONE] = "(healthy)"};
    return kind < SEEDED_KINDS ? seeded_names[kind] : names[kind];
}

/* hosts_only: 0: fleets of all sizes. */
static void table(int runs, uint64_t seed, int hosts_only)
{
    static const struct fleet_kind fleets[] = {
        {3, 1, 0},  {4, 1, 0},   {5, 1, 0},  {8, 1, 0},   {8, 1, 4},    {16, 1, 0},  {64, 1, 0},
        {64, 4, 0}, {64, 1, 16}, {64, 1, 2}, {512, 1, 0}, {512, 1, 32}, {4096, 1, 0}};
    printf("%6s %5s %6s  %-14s %6s %6s %8s %8s %9s %14s %7s\n", "hosts", "rails", "behind", "kind",
           "runs", "faults", "named", "about", "alarms", "rounds", "ms/run");
    for (size_t i = 0; i < sizeof fleets / sizeof *fleets; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            struct tally_of_runs tally = {0};
            if ((kind == SEEDED_NIC && fleets[i].rails == 1) ||
                (hosts_only != 0 && fleets[i].hosts != hosts_only))
                continue;
            for (int r = 0; r < runs; r++)
                run(&tally, fleets[i], kind, seed + (uint64_t)r);
            double faults = tally.faults > 0 ? tally.faults : 1;
            printf("%6d %5d %6d  %-14s %6d %6d %7.2f%% %7.2f%% %9d %2d + %4.1f (%2d) %7.1f\n",
                   fleets[i].hosts, fleets[i].rails, fleets[i].behind, kind_name(kind), runs,
                   tally.faults, 100 * tally.named / faults, 100 * tally.about / faults,
                   tally.alarms, rounds_enough(fleets[i].hosts), (double)tally.rounds / runs,
                   tally.rounds_most, 1e3 * tally.seconds / runs);
            fflush(stdout);
        }
}

/* So many runs of each kind. Returns those of all faulty fleets together. */
static struct tally_of_runs sample(struct fleet_kind fleet, int runs)
{
    struct tally_of_runs all = {0};
    for (int kind = 0; kind < KIND_NONE; kind++) {
        struct tally_of_runs tally = {0};
        for (int r = 0; r < runs && kind != KIND_HALF && (fleet.rails > 1 || kind != SEEDED_NIC);
             r++)
            run(&tally, fleet, kind, (uint64_t)r + 1);
        all.faults += tally.faults;
        all.named += tally.named;
        all.about += tally.about;
        all.runs += tally.runs;
        all.alarms += tally.alarms;
    }
    return all;
}

static void check_sample(struct fleet_kind fleet, int runs)
{
    struct tally_of_runs all = sample(fleet, runs);
    print_message("%d hosts, %d rails, %d behind a switch: %d of %d named in %d runs, %d with a "
                  "false alarm\n",
                  fleet.hosts, fleet.rails, fleet.behind, all.named, all.faults, all.runs,
                  all.alarms);
    assert_true(all.named >= 0.95 * all.faults);
    assert_true(all.alarms <= 0.05 * all.runs);
}

static void test_faulty_fleets(void **state)
{
    (void)state;
    check_sample((struct fleet_kind){64, 1, 0}, 20);
    check_sample((struct fleet_kind){64, 4, 0}, 10);
    check_sample((struct fleet_kind){512, 1, 0}, 4);
}

/* Pairs of one switch have half the latency. Behind switches of two hosts they are too few for a
 * median of their bandwidths. */
static void test_switches(void **state)
{
    (void)state;
    check_sample((struct fleet_kind){64, 1, 16}, 20);
    check_sample((struct fleet_kind){64, 1, 2}, 20);
}

/* A host that is slow now and then makes slow links, which are not to be blamed. */
static void test_now_and_then(void **state)
{
    (void)state;
    struct tally_of_runs tally = {0};
    for (int r = 0; r < 200; r++)
        run(&tally, (struct fleet_kind){64, 1, 0}, SEEDED_FLAKY, (uint64_t)r + 1);
    print_message("now and then: %d of %d named, %d with a false alarm\n", tally.named,
                  tally.faults, tally.alarms);
    assert_true(tally.named >= 0.9 * tally.faults);
    assert_true(tally.alarms <= 0.04 * tally.runs);
}

/* A few hosts meet again and again: what differs among 3 or 4 of them tells of no spread. */
static void test_few_hosts(void **state)
{
    (void)state;
    for (int hosts = 3; hosts <= 5; hosts++) {
        struct tally_of_runs tally = sample((struct fleet_kind){hosts, 1, 0}, 20);
        print_message("%d hosts: %d of %d named, %d of %d runs with a false alarm\n", hosts,
                      tally.named, tally.faults, tally.alarms, tally.runs);
        assert_true(tally.named >= (hosts == 3 ? 0.85 : 0.93) * tally.faults);
        assert_true(tally.alarms <= 0.03 * tally.runs);
    }
}

/* Half of the hosts send or receive slowly: most partners of a good host may be slow. Without them
 * the lower median of its readings, and the fleet's median, are those of slow hosts. */
static void test_half(void **state)
{
    (void)state;
    static const int sizes[] = {8, 64};
    for (int i = 0; i < 2; i++) {
        struct tally_of_runs tally = {0};
        for (int r = 0; r < 40; r++)
            run(&tally, (struct fleet_kind){sizes[i], 1, 0}, KIND_HALF, (uint64_t)r + 1);
        print_message("half of %d hosts: %d of %d named, %d runs with a false alarm\n", sizes[i],
                      tally.named, tally.faults, tally.alarms);
        assert_true(tally.named >= 0.9 * tally.faults);
        assert_true(tally.alarms <= 1);
    }
}

/* Faults of all kinds at once. */
static void test_many(void **state)
{
    (void)state;
    struct tally_of_runs tally = {0};
    for (int r = 0; r < 40; r++)
        run(&tally, (struct fleet_kind){64, 1, 0}, KIND_MANY, (uint64_t)r + 1);
    print_message("3 to 16 faults: %d of %d named, %d runs with a false alarm\n", tally.named,
                  tally.faults, tally.alarms);
    assert_true(tally.named >= 0.95 * tally.faults);
    assert_true(tally.alarms <= 2);
}

/* As large as a run may be: some 40 faulty hosts. */
static void test_large_fleet(void **state)
{
    (void)state;
    struct tally_of_runs tally = {0};
    run(&tally, (struct fleet_kind){4096, 1, 0}, SEEDED_SEND, 1);
    assert_true(tally.named >= 0.95 * tally.faults && tally.alarms == 0);
    assert_in_range(tally.rounds_most, 2, 16);
}

static void test_healthy_fleets(void **state)
{
    (void)state;
    struct tally_of_runs tally = {0};
    for (int r = 0; r < 100; r++) {
        static const int sizes[] = {3, 5, 8, 64, 64, 130};
        const struct fleet_kind fleet = {sizes[r % 6], 1 + r % 2, r / 6 % 2 ? 0 : 2 + r % 5};
        run(&tally, fleet, KIND_NONE, (uint64_t)r + 1);
    }
    assert_true(tally.alarms <= 1);
}

/* Few packets are lost by chance: one host of 8 had losses of 0% to 4%, each other none but with
 * it. The noise of its readings is none of the others', which are its threshold. */
static void test_chancy_losses(void **state)
{
    (void)state;
    enum { LOSES = 3 };
    static const double lost[] = {4, 0.2, 0, 0, 4.1, 0, 2, 2.9};
    const struct fleet_config config = {.hosts = 8, .rails = 1};
    const struct references references = references_default();
    struct reading readings[2 * 8 * 7];
    size_t count = 0;
    for (int from = 0; from < 8; from++)
        for (int to = 0; to < 8; to++)
            for (int metric = METRIC_ALONE; metric <= METRIC_LOSS && from != to; metric += 2)
                readings[count++] = (struct reading){.from = from,
                                                     .to = to,
                                                     .metric = (enum metric)metric,
                                                     .value = metric == METRIC_ALONE ? BANDWIDTH
                                                              : from == LOSES        ? lost[to]
                                                              : to == LOSES ? lost[7 - from]
                                                                            : 0};
    struct fleet *fleet = fleet_create(&config, readings, count);
    struct isolation *isolation = isolation_create(fleet, &references, readings, count, 1);
    for (int h = 0; h < 8; h++)
        assert_int_equal(isolation->hosts[h].suspects != NULL, h == LOSES);
    isolation_free(isolation);
    fleet_free(fleet);
}

/* Parts of a fleet are inferred anew in each rotation: the caller's switches go. */
static void test_switches_are_kept(void **state)
{
    (void)state;
    int switches[] = {0, 1};
    const struct fleet_config config = {.hosts = 2, .rails = 1, .switches = switches};
    struct fleet *fleet = fleet_create(&config, NULL, 0);
    switches[0] = switches[1] = -1;
    assert_true(fleet->config.switches[0] == 0 && fleet->config.switches[1] == 1);
    fleet_free(fleet);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faulty_fleets),  cmocka_unit_test(test_switches),
        cmocka_unit_test(test_now_and_then),   cmocka_unit_test(test_large_fleet),
        cmocka_unit_test(test_healthy_fleets), cmocka_unit_test(test_half),
        cmocka_unit_test(test_few_hosts),      cmocka_unit_test(test_many),
        cmocka_unit_test(test_chancy_losses),  cmocka_unit_test(test_switches_are_kept),
    };
    if (argc == 1)
        return cmocka_run_group_tests(tests, NULL, NULL);
    table(atoi(argv[1]), argc > 2 ? strtoull(argv[2], NULL, 10) : 1, argc > 3 ? atoi(argv[3]) : 0);
    return 0;
}

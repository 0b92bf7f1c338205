/*
 * test_step.c - the interpreter that is a step: every algorithm in random order, and with one
 * wait, fence or credit less.
 *
 *   test_step [WORDS]   only algorithms whose "COLLECTIVE ALGORITHM" contains WORDS
 * tier: check; load: cpu1
 */
#include "tests/unit/step_world.h"
#include "tests/unit/sweep.h"

#define TRIALS_OF_UNIT (SANITIZED ? 1 : 30)
#define RUNS           3
#define SEEDS          12 /* in which a mutation has to show */

static const char *wanted = "";

struct survey {
    long number, every, built, crossing, moves, moves_by[FLAT_PASSIVE], ahead;
};

/* Channels. */

/* The copy of the source that all channels of an in-place alltoallv read. */
static bool waits_across(const struct trial *trial, const struct operation *operation,
                         uint32_t awaited)
{
    const struct collective *collective = trial->problem.collective;
    return trial->problem.in_place && collective->counted && collective->source.blocks &&
           collective->destination.blocks && awaited == 0 && operation->channel > 0;
}

/* Operations of a channel stand together. A lane and an epoch belong to one channel, lane c to
 * channel c. No wait crosses channels but those for that copy. Returns how many do. */
static long assert_channels(const struct trial *trial, const struct program *program)
{
    int of_lane[1024];
    long crossing = 0;
    memset(of_lane, -1, sizeof of_lane);
    for (int r = 0; r < program->ranks; r++) {
        const struct schedule *schedule = program->schedules[r];
        assert_int_equal(schedule->channels, trial->channels);
        assert_true(schedule->lanes <= 1024);
        for (size_t i = 0; i < schedule->count; i++) {
            const struct operation *operation = &schedule->operations[i];
            const struct epoch *epoch = &schedule->epochs[operation->epoch];
            assert_true(operation->channel < (uint32_t)trial->channels);
            assert_true(i == 0 || operation[-1].channel <= operation->channel);
            assert_int_equal(schedule->operations[epoch->members[0]].channel, operation->channel);
            if (operation_travels(operation->kind)) {
                int *lane = &of_lane[operation->lane];
                assert_true(*lane < 0 || *lane == (int)operation->channel);
                assert_true(operation->lane >= trial->channels ||
                            operation->lane == (int)operation->channel);
                *lane = (int)operation->channel;
            }
            for (size_t w = 0; w < operation->wait_count; w++) {
                uint32_t awaited = operation->waits[w].operation;
                if (schedule->operations[awaited].channel == operation->channel)
                    continue;
                assert_true(waits_across(trial, operation, awaited));
                crossing++;
            }
        }
    }
    return crossing;
}

/* All algorithms. */

static struct world_settings settings_of(uint64_t seed, const struct program *program)
{
    static const size_t slots[] = {1, 2, 8}, zcopy_least[] = {SIZE_MAX, 0, 24, 24};
    uint64_t random = seed * 0x9e3779b97f4a7c15u, high = random >> 40;
    random = (random & (((uint64_t)1 << 40) - 1)) >> 8;
    struct world_settings settings = {
        .split = random % 4 != 0,
        .slots = slots[random / 4 % 3],
        .slot_bytes = 4 + random / 12 % 31, /* odd ones, too */
        .chunk = 4 + random / 372 % 23,
        .zcopy_least = zcopy_least[high % 4], /* never, always, and both on a lane */
        .zcopy_chunk = 4 + high / 4 % 60,
        .pushes = high / 240 % 2,
        .ll_bytes = high / 480 % 2 ? 4 + high / 960 % 27 : 0,
        .ll_most = high / 480 % 4 == 1 ? 20 : SIZE_MAX,
        .runs = RUNS,
        .seed = seed,
        .lazy_rank = -1,
    };
    int rank = (int)(random / 10000 % (uint64_t)program->ranks);
    if (random / 100000 % 2 && program->schedules[rank]->count) {
        settings.lazy_rank = rank;
        settings.lazy_operation = (uint32_t)(random % program->schedules[rank]->count);
    }
    return settings;
}

static bool count_trial(void *context, const struct trial *trial, long number)
{
    struct survey *survey = context;
    (void)trial;
    survey->number = number + 1;
    return true;
}

static bool step_trial(void *context, const struct trial *planned, long number)
{
    struct survey *survey = context;
    struct trial trial = *planned;
    struct program program;
    char why[TRIAL_WHY], text[TRIAL_TEXT];
    uint64_t seed = (uint64_t)survey->built * 977 + (uint64_t)number;
    if (number % survey->every != trial.problem.ranks % survey->every ||
        trial_refused(&trial, why) != SERVED)
        return true;
    trial.channels = 1 + (int)(seed % 4);
    trial.problem.finishes =
        trial.problem.collective->reduces && trial.problem.collective->sized && seed % 3 == 0;
    struct counts *counts = problem_counts(&trial.problem, &trial.choice, &trial.spec);
    trial_text(&trial, text);
    if (!trial_build(&trial, &program, why))
        fail_msg("%s: %s", text, why);
    survey->built++;
    survey->crossing += assert_channels(&trial, &program);
    struct world_settings settings = settings_of(seed, &program);
    struct world world;
    world_open(&world, &trial.problem, &program, &settings);
    world_start(&world);
    if (!world_run(&world))
        fail_msg("%s, %zu slots of %zu bytes, chunk %zu, zcopy from %zu, ll to %zu in %zu, pushes "
                 "%d, seed %llu: %s",
                 text, settings.slots, settings.slot_bytes, settings.chunk, settings.zcopy_least,
                 settings.ll_most, settings.ll_bytes, settings.pushes, (unsigned long long)seed,
                 world.why);
    survey->moves += world.moves;
    survey->ahead += world.ahead;
    for (int path = 0; path < FLAT_PASSIVE; path++)
        survey->moves_by[path] += world.moves_by[path];
    world_close(&world);
    counts_free(counts);
    return true;
}

static void every_algorithm(void **state)
{
    struct survey survey = {0};
    int rows = 0;
    (void)state;
    for (int c = 0; collectives[c]; c++)
        for (int a = 0; algorithms[a]; a++) {
            char name[128];
            snprintf(name, sizeof name, "%s %s", collectives[c]->name, algorithms[a]->name);
            if (!algorithm_serves(algorithms[a], collectives[c]->id) || algorithms[a]->vendor ||
                !strstr(name, wanted))
                continue;
            rows++;
            for (int p = 2; p <= WORLD_RANKS; p++) {
                struct unit unit = {
                    .algorithm = algorithms[a], .collective = collectives[c], .ranks = p};
                sweep_unit(&unit, count_trial, &survey);
                survey.every = 1 + survey.number / TRIALS_OF_UNIT;
                sweep_unit(&unit, step_trial, &survey);
            }
        }
    print_message("    %d algorithms, %ld trials, %ld moves; %ld waits across channels\n", rows,
                  survey.built, survey.moves, survey.crossing);
    print_message("    local %ld, by slots %ld, by lines %ld, by zcopy %ld; granted ahead %ld\n",
                  survey.moves_by[FLAT_LOCAL], survey.moves_by[FLAT_SLOTS],
                  survey.moves_by[FLAT_LINES], survey.moves_by[FLAT_ACTIVE], survey.ahead);
    assert_true(rows > 0);
    assert_true(survey.ahead > 0 || wanted[0]);
    assert_true(survey.crossing > 0 || wanted[0]);
}

/* Mutations. */

/* Changes a world before it starts. */
typedef void mutation(struct world *world, uint32_t nth);

/* Does some seed notice it? Each operation of `rank` is lazy in turn. */
static bool is_noticed(const struct schedule_sample *sample, const struct world_settings *given,
                       mutation *mutate, uint32_t nth, int rank, uint32_t lazy_operation)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct world world;
        struct counts *counts;
        struct world_settings settings = *given;
        settings.seed = seed;
        settings.lazy_rank = seed % 4 ? rank : -1;
        settings.lazy_operation = lazy_operation;
        sample_open(&world, sample, &counts, &settings);
        world_start(&world);
        if (mutate)
            mutate(&world, nth);
        bool right = world_run(&world);
        world_close(&world);
        counts_free(counts);
        if (!right)
            return true;
    }
    return false;
}

static void remove_wait(struct world *world, uint32_t nth)
{
    struct wait *wait = &flat_waits(world->ranks[0].plan)[nth];
    wait->past = wait->length = 0;
}

/* Does the shaker notice that rank 0's operation lacks a wait? Some waits are implied by others,
 * and by messages that come only after the other end has received something. */
static bool shaker_notices(const struct schedule_sample *sample, uint32_t index, size_t nth)
{
    struct trial trial;
    struct counts *counts;
    struct program program;
    char error[512];
    bool right = true;
    sample_trial(sample, &trial, &counts, &program);
    struct operation *operation = &program_open(&program, 0)[index];
    struct wait *waits =
        arena_take(program.schedules[0]->memory, operation->wait_count * sizeof *waits);
    uint32_t awaited = operation->waits[nth].operation;
    memcpy(waits, operation->waits, operation->wait_count * sizeof *waits);
    memmove(&waits[nth], &waits[nth + 1], (--operation->wait_count - nth) * sizeof *waits);
    operation->waits = waits;
    for (uint64_t seed = 0; seed < SEEDS && right; seed++) {
        struct shaking shaking = {.seed = seed,
                                  .slots = seed % 2 ? 8 : 1,
                                  .slot_bytes = 3,
                                  .most = 2,
                                  .lazy_rank = 0,
                                  .lazy_operation = (int)awaited};
        right = shake_as(PROGRAM(&program), &shaking, error, sizeof error);
    }
    program_free(&program);
    counts_free(counts);
    return !right;
}

/* Every wait of rank 0, one after the other. The operation that it names is lazy. */
static void assert_waits_noticed(const struct schedule_sample *sample,
                                 const struct world_settings *settings)
{
    struct world world;
    struct counts *counts;
    uint32_t noticed = 0, shaken = 0, crossing = 0, crossing_noticed = 0;
    sample_open(&world, sample, &counts, settings);
    const struct schedule *schedule = world.program.schedules[0];
    for (uint32_t i = 0; i < schedule->count; i++)
        for (uint32_t w = 0; w < schedule->operations[i].wait_count; w++) {
            uint32_t awaited = schedule->operations[i].waits[w].operation;
            uint32_t nth = flat_operations(world.ranks[0].plan)[i].waits.first + w;
            bool crosses = schedule->operations[awaited].channel != schedule->operations[i].channel;
            bool seen = is_noticed(sample, settings, remove_wait, nth, 0, awaited);
            bool shatters = shaker_notices(sample, i, w);
            assert_true(seen || !shatters || settings->zcopy_least == 0);
            noticed += seen;
            shaken += shatters;
            crossing += crosses;
            crossing_noticed += crosses && seen;
        }
    print_message("    %s: %u of %u waits noticed (by the shaker %u); across channels %u of %u\n",
                  sample->algorithm, noticed, world.ranks[0].plan->wait_count, shaken,
                  crossing_noticed, crossing);
    assert_true(noticed > 0);
    assert_true(crossing == 0 || crossing_noticed > 0);
    assert_false(is_noticed(sample, settings, NULL, 0, 0, 0));
    world_close(&world);
    counts_free(counts);
}

static void a_wait_less(void **state)
{
    static const struct schedule_sample samples[] = {
        {COLLECTIVE_ALLREDUCE, "ring", 3, 24, true, 2},
        {COLLECTIVE_ALLREDUCE, "tree", 4, 24, false, 1},
        {COLLECTIVE_ALLTOALLV, "pairwise", 3, 12, true, 2}, /* waits cross channels */
    };
    (void)state;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
        assert_waits_noticed(&samples[s], &narrow);
}

/* In zcopy, where a grant waits. A message that its receiver has not pulled is not sent: that
 * implies more of the waits. */
static void a_wait_less_in_zcopy(void **state)
{
    static const struct schedule_sample samples[] = {
        {COLLECTIVE_ALLREDUCE, "ring", 3, 24, true, 2},
        {COLLECTIVE_ALLTOALLV, "pairwise", 3, 12, true, 2},
    };
    (void)state;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
        for (int pushes = 0; pushes < 2; pushes++) {
            struct world_settings settings = narrow;
            settings.zcopy_least = 0;
            settings.pushes = pushes;
            assert_waits_noticed(&samples[s], &settings);
        }
}

static void remove_fence(struct world *world, uint32_t nth)
{
    flat_epochs(world->ranks[0].plan)[nth].previous = FLAT_NONE;
}

static void a_fence_less(void **state)
{
    static const struct schedule_sample sample = {COLLECTIVE_ALLTOALL, "pairwise", 4, 24, false, 1};
    (void)state;
    assert_false(is_noticed(&sample, &narrow, NULL, 0, 0, 0));
    assert_true(is_noticed(&sample, &narrow, remove_fence, 1, 0, 0));
}

/* The receiver never gave the sender of this wire its only slot. */
static void lose_credit(struct world *world, uint32_t nth)
{
    (void)nth;
    world_half(world, 0, 1, 0, true)->slots--;
}

/* The sender of this wire takes a slot that it was not given. */
static void forge_credit(struct world *world, uint32_t nth)
{
    struct world_rank *sender = &world->ranks[0];
    (void)nth;
    while (world_half(world, 0, 1, 0, false)->slots == 0)
        world_step(world, sender, 0, true);
    world_half(world, 0, 1, 0, true)->slots++;
    world_step(world, sender, 0, true);
}

static void a_credit_less(void **state)
{
    static const struct schedule_sample sample = {
        COLLECTIVE_BROADCAST, "binomial", 2, 24, false, 1};
    (void)state;
    assert_false(is_noticed(&sample, &narrow, NULL, 0, 0, 0));
    assert_true(is_noticed(&sample, &narrow, lose_credit, 0, 0, 0));
    assert_true(is_noticed(&sample, &narrow, forge_credit, 0, 0, 0));
}

/* A rank that does not begin: the others wait, say where, and end when the abort word says so. */
static void an_abort(void **state)
{
    static const struct schedule_sample sample = {COLLECTIVE_ALLREDUCE, "ring", 3, 24, false, 1};
    struct world world;
    struct counts *counts;
    (void)state;
    sample_open(&world, &sample, &counts, &narrow);
    for (int r = 0; r < 2; r++) {
        rank_prepare(&world.ranks[r]);
        rank_start(&world.ranks[r]);
    }
    for (bool moved = true; moved;)
        moved = world_step(&world, &world.ranks[0], 0, true) == STEP_MOVED ||
                world_step(&world, &world.ranks[1], 0, true) == STEP_MOVED;
    for (int idle = 0; idle < STEP_PATIENCE; idle++)
        assert_int_equal(world_step(&world, &world.ranks[0], 0, true), STEP_WAITS);
    const struct whereabouts *at = world.ranks[0].whereabouts;
    const struct schedule *schedule = world.program.schedules[0];
    assert_true(at->operation < schedule->count);
    assert_true(at->done < at->length);
    assert_int_equal(at->length, schedule->operations[at->operation].length * sizeof(int32_t));
    world.abort_word = 1;
    enum step_result result = STEP_WAITS;
    for (int idle = 0; idle < STEP_PATIENCE && result == STEP_WAITS; idle++)
        result = world_step(&world, &world.ranks[0], 0, true);
    assert_int_equal(result, STEP_ABORTED);
    world_close(&world);
    counts_free(counts);
}

static bool is_incoming(const struct flat_operation *operation)
{
    return operation->kind == OPERATION_RECV || operation->kind == OPERATION_RECV_REDUCE;
}

/* A fault strikes the message of its number, and no other. */
static void a_fault_strikes_one_message(void **state)
{
    static const struct schedule_sample sample = {COLLECTIVE_ALLREDUCE, "ring", 3, 24, false, 1};
    struct world world;
    struct counts *counts;
    int incoming = 0;
    (void)state;
    sample_open(&world, &sample, &counts, &narrow);
    struct flat_plan *plan = world.ranks[0].plan;
    const struct flat_operation *operations = flat_operations(plan);
    for (uint32_t i = 0; i < plan->operation_count; i++)
        incoming += is_incoming(&operations[i]);
    assert_true(incoming > 2);
    for (int nth = 0; nth <= incoming; nth++) {
        int met = 0;
        assert_int_equal(flat_plan_inject(plan, FAULT_DROP, nth), nth < incoming);
        for (uint32_t i = 0; i < plan->operation_count; i++) {
            bool struck = is_incoming(&operations[i]) && met++ == nth;
            assert_int_equal(operations[i].fault, struck ? FAULT_DROP : FAULT_NONE);
        }
    }
    world_close(&world);
    counts_free(counts);
}

/* A message whose two ends differ by one element has no counterpart. */
static void a_counterpart_of_another_length_is_refused(void **state)
{
    static const struct schedule_sample sample = {COLLECTIVE_ALLREDUCE, "ring", 3, 24, false, 1};
    (void)state;
    for (int more = -1; more <= 1; more += 2) {
        struct trial trial;
        struct counts *counts;
        struct program program;
        struct flat_plan *plan = NULL;
        sample_trial(&sample, &trial, &counts, &program);
        struct operation *operations = program_open(&program, 1);
        for (size_t i = 0; i < program.schedules[1]->count; i++)
            if (operations[i].kind == OPERATION_RECV || operations[i].kind == OPERATION_RECV_REDUCE)
                operations[i].length += (size_t)more;
        const struct flat_config config = {
            .schedule = program.schedules[0],
            .element = sizeof(int32_t),
            .peers = (const struct schedule *const *)program.schedules,
        };
        assert_int_equal(flat_plan_create(&config, &plan), STATUS_ERROR);
        assert_null(plan);
        program_free(&program);
        counts_free(counts);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm),
        cmocka_unit_test(a_wait_less),
        cmocka_unit_test(a_wait_less_in_zcopy),
        cmocka_unit_test(a_fence_less),
        cmocka_unit_test(a_credit_less),
        cmocka_unit_test(an_abort),
        cmocka_unit_test(a_fault_strikes_one_message),
        cmocka_unit_test(a_counterpart_of_another_length_is_refused),
    };
    wanted = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_checker.c - whatever is damaged in a checked iteration is found, told and counted: in the
 * source, the destination and every canary, of every iteration of a burst and of every root.
 *
 * Whole jobs, whose ranks are threads. The kind of their memory is the real one, with hooks in
 * front of it. These see where the buffers of an iteration lie, and damage one byte of them when
 * its comparison begins: by then all that ran is over.
 * tier: check; load: cpu1
 */
#include "tests/transport/session_of.h"

#include "run/check/check.h"
#include "dataplane/memory/memory.h"
#include "run/run.h"

#define RANKS      3
#define ITERATIONS 6 /* more than one burst, and each root twice */
#define CANARY     4096
#define ALL        (-1)

enum spot {
    DESTINATION_FIRST,
    DESTINATION_LAST,
    SOURCE_FIRST,
    SOURCE_LAST,
    CANARIES, /* from here on: of each buffer before and behind it, near it and far */
    PLACES = CANARIES + BUFFERS * 4
};

static bool is_canary(enum spot place)
{
    return place >= CANARIES;
}

/* A collective, and which ranks have a source and a destination. */
struct subject {
    const char *words;
    bool source_at_root, destination_at_root; /* alone; else every rank has one */
    bool rotates;                             /* each iteration has another root */
    bool surrounds; /* in place, the destination is block `rank` of the source */
    bool timed;     /* the timed iterations are checked */
};

static const struct subject subjects[] = {
    {.words = "allreduce"},
    {.words = "allgather --start back-to-back", .timed = true},
    {.words = "alltoall --start back-to-back"},
    {.words = "broadcast -r all", .source_at_root = true, .rotates = true},
    {.words = "gather -r all", .destination_at_root = true, .rotates = true},
    {.words = "reduce -r all --start back-to-back", .destination_at_root = true, .rotates = true},
    {.words = "scatter -r all --in-place",
     .source_at_root = true,
     .rotates = true,
     .surrounds = true},
    {.words = "reduce_scatter --in-place", .surrounds = true},
};

/* The buffers of one iteration of a rank. */
struct set {
    uint64_t iteration;
    int rank;
    char *base[BUFFERS], *source;
    size_t used[BUFFERS], source_bytes;
    bool is_spared; /* it is damaged already */
};

struct filled {
    char *at;
    size_t bytes;
};

/* The damage to do, and what the ranks of a job have seen. */
static struct {
    const struct subject *subject;
    enum spot place;
    int iteration, rank;             /* ALL: each */
    _Atomic int sources[ITERATIONS]; /* the ranks that have one, as bits */
    _Atomic bool is_strange;         /* buffers are not filled as this file expects */
} world;

static struct memory_kind kind;
static const struct memory_kind *inner;

/* The buffers of the rank that is this thread. */
static _Thread_local struct {
    struct filled filled[3 * BUFFERS];
    int count;
    struct set sets[BUFFER_SETS_MOST];
    int next;
} mine;

static int root_of(int iteration)
{
    return world.subject->rotates ? iteration % RANKS : 0;
}

/* Is there anything to damage? What the destination covers of a source is its own. */
static bool place_exists(enum spot place, int iteration, int rank)
{
    const struct subject *subject = world.subject;
    bool is_root = rank == root_of(iteration);
    bool source = is_root || !subject->source_at_root;
    bool destination = is_root || !subject->destination_at_root;
    if (is_canary(place))
        return true;
    if (place == DESTINATION_FIRST || place == DESTINATION_LAST)
        return destination && !subject->surrounds;
    return source && (!subject->surrounds || rank != (place == SOURCE_FIRST ? 0 : RANKS - 1));
}

static char *place_find(enum spot place, const struct set *set)
{
    unsigned canary = (unsigned)place - CANARIES, buffer = canary / 4;
    char *destination = set->base[BUFFER_DESTINATION];
    if (!is_canary(place))
        return place == DESTINATION_FIRST  ? destination
               : place == DESTINATION_LAST ? destination + set->used[BUFFER_DESTINATION] - 1
               : place == SOURCE_FIRST     ? set->source
                                           : set->source + set->source_bytes - 1;
    if (canary / 2 % 2)
        return set->base[buffer] + set->used[buffer] + (canary % 2 ? CANARY - 1 : 0);
    return set->base[buffer] - (canary % 2 ? CANARY : 1);
}

/* Hooks. */

static enum status kind_fill(const struct memory *memory, void *to, unsigned char byte,
                             size_t bytes)
{
    if (mine.count < 3 * BUFFERS)
        mine.filled[mine.count] = (struct filled){.at = to, .bytes = bytes};
    mine.count++;
    world.is_strange |= byte != PATTERN_POISON;
    return inner->fill(memory, to, byte, bytes);
}

/* The source is made last. What was filled before are the buffers, then the canaries of each. */
static enum status kind_make(const struct memory *memory, const struct inputs *inputs, int rank,
                             size_t first, size_t count, void *to)
{
    struct set *set = &mine.sets[mine.next++ % BUFFER_SETS_MOST];
    *set = (struct set){.iteration = inputs->iteration,
                        .rank = rank,
                        .source = to,
                        .source_bytes = count * inputs->datatype->size};
    world.is_strange |= mine.count != 3 * BUFFERS || inputs->iteration >= ITERATIONS;
    for (int b = 0; b < BUFFERS; b++) {
        set->base[b] = mine.filled[b].at;
        set->used[b] = mine.filled[b].bytes;
        world.is_strange |= mine.filled[BUFFERS + 2 * b].at != set->base[b] - CANARY ||
                            mine.filled[BUFFERS + 2 * b + 1].at != set->base[b] + set->used[b];
    }
    mine.count = 0;
    if (inputs->iteration < ITERATIONS && count > 0)
        world.sources[inputs->iteration] |= 1 << rank;
    return inner->make(memory, inputs, rank, first, count, to);
}

static enum status kind_compare(const struct memory *memory, const struct comparison *comparison,
                                size_t *wrong)
{
    for (int i = 0; i < BUFFER_SETS_MOST; i++) {
        struct set *set = &mine.sets[i];
        int iteration = (int)set->iteration;
        if (!set->source || set->iteration != comparison->inputs->iteration || set->is_spared)
            continue;
        set->is_spared = true;
        if ((world.iteration == ALL || world.iteration == iteration) &&
            (world.rank == ALL || world.rank == set->rank) &&
            place_exists(world.place, iteration, set->rank))
            *place_find(world.place, set) ^= 4;
    }
    return inner->compare(memory, comparison, wrong);
}

/* Tests. */

/* The lowest rank that is hurt is told first, with the first iteration in which it is. */
static int iteration_told(int iterations)
{
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < iterations && world.iteration == ALL; i++)
            if (place_exists(world.place, i, r))
                return i;
    return world.iteration;
}

static void expect_told(const char *error, int iteration)
{
    char words[100];
    if (is_canary(world.place)) {
        unsigned canary = (unsigned)world.place - CANARIES;
        snprintf(words, sizeof words, "in checked iteration %d 1 byte %s the %s buffer was",
                 iteration, canary / 2 % 2 ? "behind" : "before", buffer_names[canary / 4]);
    } else if (world.place == SOURCE_FIRST || world.place == SOURCE_LAST) {
        snprintf(words, sizeof words, "of the source was overwritten in checked iteration %d",
                 iteration);
    } else {
        snprintf(words, sizeof words, "is wrong in checked iteration %d", iteration);
    }
    if (!strstr(error, words))
        fail_msg("%s, place %d: \"%s\" does not say \"%s\"", world.subject->words, world.place,
                 error, words);
}

/* Each iteration has the sources of its root. */
static void expect_roots(int iterations)
{
    const int each = (1 << RANKS) - 1;
    for (int i = 0; i < iterations; i++)
        assert_int_equal(world.sources[i], world.subject->source_at_root ? 1 << root_of(i) : each);
}

/* Asks for `asked` iterations; `iterations` must run. */
static void damage(int asked, int iterations, enum spot place, int iteration, int rank)
{
    static struct job job;
    char text[200];
    struct listener listener;
    size_t expected = 0;
    world.place = place;
    world.iteration = iteration;
    world.rank = rank;
    memset(world.sources, 0, sizeof world.sources);
    for (int i = 0; i < iterations; i++)
        for (int r = 0; r < RANKS; r++)
            expected += (iteration == ALL || iteration == i) && (rank == ALL || rank == r) &&
                        place_exists(place, i, r);
    snprintf(text, sizeof text, "%s -b 3K -e 3K -w 0 %s %d --np %d --bind none -x shm",
             world.subject->words, world.subject->timed ? "-c all -n" : "-n 0 -c", asked, RANKS);
    job_read(&job, text);
    job.memory = &kind;
    enum status status = job_run(&job, &listener);
    assert_false(world.is_strange);
    expect_roots(iterations);
    if (status != (expected ? STATUS_WRONG_DATA : STATUS_OK) || listener.wrong != expected)
        fail_msg("%s, place %d of iteration %d at rank %d: status %d, %zu wrong, %zu expected: %s",
                 world.subject->words, place, iteration, rank, status, listener.wrong, expected,
                 listener.error);
    assert_int_equal(listener.time_us > 0, world.subject->timed);
    if (expected)
        expect_told(listener.error, iteration_told(iterations));
}

/* In one iteration of one rank, another for each place: the sentence names the iteration. Then in
 * all. */
static void test_damage(void **state)
{
    world.subject = *state;
    inner = memory_find("host");
    kind = *inner;
    kind.fill = kind_fill;
    kind.make = kind_make;
    kind.compare = kind_compare;
    for (int place = 0; place < PLACES; place++)
        damage(ITERATIONS, ITERATIONS, (enum spot)place, place % ITERATIONS, place % RANKS);
    damage(ITERATIONS, ITERATIONS, DESTINATION_LAST, ALL, ALL);
    damage(ITERATIONS, ITERATIONS, SOURCE_FIRST, ALL, ALL);
    damage(ITERATIONS, ITERATIONS, SOURCE_LAST, ALL, ALL);
    damage(ITERATIONS, ITERATIONS, PLACES - 1, ALL, ALL);
    if (world.subject->rotates) /* every root at least once */
        damage(1, RANKS, SOURCE_LAST, ALL, ALL);
}

int main(void)
{
    enum { COUNT = sizeof subjects / sizeof *subjects };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const void *subject = &subjects[i];
        tests[i] = (struct CMUnitTest){.name = subjects[i].words, .test_func = test_damage};
        memcpy(&tests[i].initial_state, &subject, sizeof subject);
    }
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}

/*
 * scale.c - the cost of many ranks: time and memory of the schedule and the executor of one rank.
 * It starts no other rank: a schedule belongs to one rank, and the links below are stubs.
 *
 *     scale [--ranks P,...] [--limit SECONDS] [--only WORD]
 *
 * Prints a line of JSON with the worst of a few ranks for each algorithm that supports so many
 * ranks with its default options. A schedule that would exceed the limit, as extrapolated, is left
 * out, and its line says so. scale.py makes tables of it.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "collective/collective.h"
#include "dataplane/execute/execute.h"
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "collective/schedule/schedule.h"

#define RANKS_LISTED  16
#define BUILDS_MOST   9                 /* repetitions for one rank */
#define BUILDS_NS     200000000         /* begin no more builds after this time */
#define MEMORY_MOST   ((double)6e9)     /* bytes; larger ones are left out */
#define BLOCK         4                 /* elements of one block */
#define EAGER_BYTES   ((size_t)4 << 10) /* as shm offers for short messages */
#define RANKS_CHECKED 4

/* Stubs of links; the linker prefers them to the real ones. */

struct links {
    struct endpoint endpoint;
    struct channel *channels[2]; /* [sends][peer], all of lane 0 */
};

static size_t nowhere_eager_most(const struct channel *channel)
{
    (void)channel;
    return EAGER_BYTES;
}

static enum status nowhere_eager_move(struct channel *channel, const struct transfer *transfer,
                                      bool *moved)
{
    (void)channel, (void)transfer;
    *moved = false;
    return STATUS_OK;
}

static const struct transport transport_nowhere = {
    .name = "nowhere", .eager_most = nowhere_eager_most, .eager_move = nowhere_eager_move};

struct channel *links_channel(struct links *links, int peer, int lane, bool sends)
{
    struct channel *channel = &links->channels[sends][peer];
    *channel =
        (struct channel){.endpoint = &links->endpoint, .peer = peer, .lane = lane, .sends = sends};
    return channel;
}

enum status links_progress(struct links *links)
{
    (void)links;
    return STATUS_OK;
}

enum status links_check(struct links *links)
{
    (void)links;
    return STATUS_OK;
}

/* Measuring. */

struct cost {
    double ms, executor_ms;
    size_t operations, messages, spans, waits; /* messages: sent ones */
    size_t bytes, executor_bytes;
    int rank;
};

static size_t bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void die(const char *what)
{
    fprintf(stderr, "scale: %s: %s\n", what, log_current()->failure.text);
    exit(1);
}

static int ns_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Builds a few times; keeps the last result and the median time. */
static struct schedule *measure_build(const struct choice *choice, const struct problem *problem,
                                      int rank, struct cost *cost)
{
    uint64_t took[BUILDS_MOST], sum = 0;
    int builds = 0;
    struct schedule *schedule = NULL;
    while (builds < BUILDS_MOST && sum < BUILDS_NS) {
        schedule_free(schedule);
        size_t before = bytes_in_use();
        uint64_t begun = clock_ns();
        if (schedule_build(choice, problem, rank, 1, true, &schedule) != STATUS_OK)
            die(choice->algorithm->name);
        took[builds] = clock_ns() - begun;
        cost->bytes = bytes_in_use() - before;
        sum += took[builds++];
    }
    qsort(took, (size_t)builds, sizeof *took, ns_compare);
    cost->ms = (double)took[builds / 2] * 1e-6;
    return schedule;
}

static void count_operations(const struct schedule *schedule, struct cost *cost)
{
    cost->operations = schedule->count;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        cost->messages += operation->kind == OPERATION_SEND;
        cost->spans += operation->to.count + operation->from.count + operation->with.count;
        cost->waits += operation->wait_count;
    }
}

static void measure_executor(const struct schedule *schedule, struct links *links,
                             struct cost *cost)
{
    struct executor_config config = {
        .schedule = schedule,
        .element = sizeof(float),
        .reduce = reduce_kernel(datatype_find("float"), reduction_find("sum")),
        .chunk = GRAIN_AUTO,
        .nontemporal_least = SIZE_MAX,
        .memory = {.kind = memory_kinds[0]},
        .links = links,
    };
    struct execution *executor;
    size_t before = bytes_in_use();
    uint64_t begun = clock_ns();
    if (executor_create(&config, &executor) != STATUS_OK)
        die("plan");
    cost->executor_ms = (double)(clock_ns() - begun) * 1e-6;
    cost->executor_bytes = bytes_in_use() - before;
    execution_destroy(executor);
}

/* The worst of a few ranks, for each number separately. */
static struct cost measure(const struct choice *choice, const struct problem *problem,
                           struct links *links)
{
    int p = problem->ranks, ranks[RANKS_CHECKED] = {0, 1, p / 2 + 1, p - 1};
    struct cost worst = {0};
    for (int i = 0; i < RANKS_CHECKED; i++) {
        struct cost cost = {0};
        struct schedule *schedule = measure_build(choice, problem, ranks[i], &cost);
        count_operations(schedule, &cost);
        measure_executor(schedule, links, &cost);
        schedule_free(schedule);
        malloc_trim(0);
#define WORSE(field) worst.field = cost.field > worst.field ? cost.field : worst.field
        worst.rank = cost.ms > worst.ms ? ranks[i] : worst.rank;
        WORSE(ms), WORSE(executor_ms), WORSE(operations), WORSE(messages), WORSE(spans),
            WORSE(waits);
        WORSE(bytes), WORSE(executor_bytes);
#undef WORSE
    }
    return worst;
}

/* Extrapolates to `later` ranks from the growth between `early` and `middle`. */
static double extrapolate(double at_early, double at_middle, int early, int middle, int later)
{
    double power = at_early > 0 && at_middle > at_early
                       ? log(at_middle / at_early) / log((double)middle / early)
                       : 1;
    return at_middle * pow((double)later / middle, power < 1 ? 1 : power);
}

struct listed {
    int ranks[RANKS_LISTED], count;
};

static void measure_algorithm(const struct algorithm *algorithm, const struct listed *listed,
                              double limit, struct links *links)
{
    const struct collective *collective = NULL;
    struct cost costs[RANKS_LISTED];
    struct choice choice = choice_of(algorithm);
    int known = 0;
    for (int i = 0; !collective; i++)
        collective = algorithm_serves(algorithm, collectives[i]->id) ? collectives[i] : NULL;
    for (int i = 0; i < listed->count; i++) {
        int p = listed->ranks[i];
        char why[200];
        struct shape *shape = shape_of_sizes(&(int){p % 8 ? p : 8}, 1, p, why, sizeof why);
        struct problem problem = {.collective = collective, .ranks = p, .shape = shape};
        if (choice_refuses(&choice, &problem, why, sizeof why)) {
            shape_free(shape);
            continue;
        }
        printf("{\"collective\": \"%s\", \"algorithm\": \"%s\", \"ranks\": %d, ", collective->name,
               algorithm->name, p);
        if (i >= 2 && known == i) {
            const struct cost *a = &costs[i - 2], *b = &costs[i - 1];
            int early = listed->ranks[i - 2], middle = listed->ranks[i - 1];
            double seconds = extrapolate(a->ms, b->ms, early, middle, p) * 1e-3;
            double bytes = extrapolate((double)a->bytes, (double)b->bytes, early, middle, p);
            if (seconds > limit || bytes > MEMORY_MOST) {
                printf("\"left_out\": {\"seconds\": %.3g, \"bytes\": %.3g}}\n", seconds, bytes);
                shape_free(shape);
                return;
            }
        }
        bool is_vector = collective_blocks(collective, BUFFER_SOURCE, p) == 1 &&
                         collective_blocks(collective, BUFFER_DESTINATION, p) == 1;
        struct counts *counts = NULL;
        problem.count = !collective->sized ? 1 : is_vector ? (size_t)p * BLOCK : BLOCK;
        if (algorithm->partner && choice_partners(&choice, p, &counts) != STATUS_OK)
            exit(1);
        problem.counts = counts;
        costs[i] = measure(&choice, &problem, links);
        counts_free(counts);
        shape_free(shape);
        known = i + 1;
        printf("\"ms\": %.4f, \"operations\": %zu, \"messages\": %zu, \"spans\": %zu, "
               "\"waits\": %zu, \"schedule_bytes\": %zu, \"plan_ms\": %.4f, \"plan_bytes\": %zu, "
               "\"rank\": %d}\n",
               costs[i].ms, costs[i].operations, costs[i].messages, costs[i].spans, costs[i].waits,
               costs[i].bytes, costs[i].executor_ms, costs[i].executor_bytes, costs[i].rank);
        fflush(stdout);
    }
}

static struct listed listed_read(const char *text)
{
    struct listed listed = {.count = 0};
    while (*text && listed.count < RANKS_LISTED) {
        char *end;
        long ranks = strtol(text, &end, 10);
        if (end == text || ranks < 4 || ranks > 1 << 24) {
            fprintf(stderr, "scale: --ranks are numbers from 4, separated by commas\n");
            exit(2);
        }
        listed.ranks[listed.count++] = (int)ranks;
        text = *end == ',' ? end + 1 : end;
    }
    return listed;
}

int main(int argc, char **argv)
{
    struct listed listed = {.ranks = {64, 1024, 4096, 65536}, .count = 4};
    double limit = 1.5;
    const char *only = NULL;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--ranks") == 0)
            listed = listed_read(value);
        else if (strcmp(argv[i], "--limit") == 0)
            limit = atof(value);
        else if (strcmp(argv[i], "--only") == 0)
            only = value;
        else
            return fprintf(stderr, "usage: scale [--ranks P,...] [--limit S] [--only WORD]\n"), 2;
    }
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    int most = 0;
    for (int i = 0; i < listed.count; i++)
        most = listed.ranks[i] > most ? listed.ranks[i] : most;
    struct links links = {.endpoint.transport = &transport_nowhere};
    for (int sends = 0; sends < 2; sends++)
        if (!(links.channels[sends] = calloc((size_t)most, sizeof(struct channel))))
            die("channels");
    for (int i = 0; algorithms[i]; i++)
        if (!algorithms[i]->vendor && (!only || strcmp(only, algorithms[i]->name) == 0))
            measure_algorithm(algorithms[i], &listed, limit, &links);
    free(links.channels[0]);
    free(links.channels[1]);
    return 0;
}

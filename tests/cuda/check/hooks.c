/*
 * hooks.c - how long a kind of memory takes to fill, to make inputs and to compare a result.
 *
 * usage: hooks KIND BYTES RANKS REPEAT [TYPE]. A line for each hook: alone, one rank uses the
 * device; together, RANKS of them do at once, each with BYTES, as threads; the time is that of the
 * slowest. The result that is compared is the combination of RANKS ranks, by sum. ms: the median.
 * Status 77: the kind cannot be used here.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "dataplane/memory/memory.h"
#include "local.h"

#define REPEAT_MOST 32

enum hook { HOOK_FILL, HOOK_MAKE, HOOK_COMPARE, HOOKS };

static const char *const hook_names[HOOKS] = {"fill", "make", "compare"};

struct study {
    const struct memory_kind *kind;
    struct inputs inputs;
    size_t bytes;
    int repeat;
    int running; /* ranks that work at once */
    pthread_barrier_t barrier;
    double ms[HOOKS][REPEAT_MOST]; /* of the slowest rank; written between barriers */
    pthread_mutex_t lock;
};

struct worker {
    struct study *study;
    pthread_t thread;
    int rank;
};

static size_t study_count(const struct study *study)
{
    return study->bytes / study->inputs.datatype->size;
}

/* Puts the combination of all ranks into the first region. */
static void result_make(const struct study *study, struct local *local)
{
    const size_t count = study_count(study);
    const struct transfer like = {
        .kind = TRANSFER_REDUCE,
        .reduce = study->kind->reduce(study->inputs.datatype, study->inputs.reduction),
        .element = study->inputs.datatype->size};
    char *to = local->regions[0].base, *next = local->regions[1].base;
    must(study->kind->make(&local->memory, &study->inputs, 0, 0, count, to));
    for (int rank = 1; rank < study->inputs.ranks; rank++) {
        must(study->kind->make(&local->memory, &study->inputs, rank, 0, count, next));
        local_do(local, &like, to, to, next, count * like.element);
    }
}

/* Fills the second region, makes inputs there, or compares the first. Returns what is wrong
 * there. */
static size_t hook_do(const struct study *study, const struct local *local, enum hook hook,
                      int rank)
{
    const struct comparison comparison = {.inputs = &study->inputs,
                                          .rank = -1,
                                          .count = study_count(study),
                                          .at = local->regions[0].base};
    size_t wrong = 0;
    if (hook == HOOK_FILL)
        must(study->kind->fill(&local->memory, local->regions[1].base, 0xd5, study->bytes));
    else if (hook == HOOK_MAKE)
        must(study->kind->make(&local->memory, &study->inputs, rank, 0, study_count(study),
                               local->regions[1].base));
    else
        must(study->kind->compare(&local->memory, &comparison, &wrong));
    return wrong;
}

static void expect_wrong(const struct study *study, const struct local *local, size_t expected)
{
    size_t wrong = hook_do(study, local, HOOK_COMPARE, 0);
    if (wrong == expected)
        return;
    fprintf(stderr, "%zu elements are wrong, not %zu: the comparison, or the result, is wrong\n",
            wrong, expected);
    exit(1);
}

/* Flips a bit of the last element. */
static void result_spoil(const struct study *study, const struct local *local)
{
    char byte, *at = local->regions[0].base + study_count(study) * study->inputs.datatype->size - 1;
    must(study->kind->read(&local->memory, at, 1, &byte));
    byte ^= 1;
    must(study->kind->write(&local->memory, &byte, 1, at));
}

/* The first time of each hook is not counted. */
static void worker_time(struct worker *worker, const struct local *local)
{
    struct study *study = worker->study;
    for (int hook = 0; hook < HOOKS; hook++)
        for (int i = -1; i < study->repeat; i++) {
            pthread_barrier_wait(&study->barrier);
            const uint64_t begin = clock_ns();
            hook_do(study, local, (enum hook)hook, worker->rank);
            const double ms = (double)(clock_ns() - begin) * 1e-6;
            pthread_mutex_lock(&study->lock);
            if (i >= 0 && study->ms[hook][i] < ms)
                study->ms[hook][i] = ms;
            pthread_mutex_unlock(&study->lock);
        }
}

static void *worker_run(void *argument)
{
    struct worker *worker = argument;
    struct study *study = worker->study;
    struct local local;
    local_open(&local, study->kind, 0, 2, study->bytes);
    result_make(study, &local);
    expect_wrong(study, &local, 0);
    pthread_barrier_wait(&study->barrier);
    worker_time(worker, &local);
    result_spoil(study, &local);
    expect_wrong(study, &local, 1);
    local_close(&local);
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ranks of one process, on one device. */
static void study_run(struct study *study, int running, const char *name)
{
    struct worker *workers = calloc((size_t)running, sizeof *workers);
    if (!workers)
        exit(1);
    memset(study->ms, 0, sizeof study->ms);
    pthread_barrier_init(&study->barrier, NULL, (unsigned)running);
    pthread_mutex_init(&study->lock, NULL);
    for (int rank = 0; rank < running; rank++) {
        workers[rank] = (struct worker){.study = study, .rank = rank};
        if (pthread_create(&workers[rank].thread, NULL, worker_run, &workers[rank]) != 0)
            exit(1);
    }
    for (int rank = 0; rank < running; rank++)
        pthread_join(workers[rank].thread, NULL);
    for (int hook = 0; hook < HOOKS; hook++) {
        qsort(study->ms[hook], (size_t)study->repeat, sizeof(double), by_value);
        printf("%-8s %-8s %10.2f ms  %zu bytes of %s, %d of %d ranks\n", hook_names[hook], name,
               study->ms[hook][study->repeat / 2], study->bytes, study->inputs.datatype->name,
               running, study->inputs.ranks);
    }
    free(workers);
}

int main(int count, char **words)
{
    struct study study = {.inputs = {.reduction = reduction_find("sum"), .seed = 1}};
    if (count < 5 || size_parse(words[2], &study.bytes)) {
        fprintf(stderr, "usage: hooks KIND BYTES RANKS REPEAT [TYPE]\n");
        return 2;
    }
    study.inputs.ranks = atoi(words[3]);
    study.repeat = atoi(words[4]);
    study.inputs.datatype = datatype_find(count > 5 ? words[5] : "float");
    if (!study.inputs.datatype || study.inputs.ranks < 1 || study.repeat < 1 ||
        study.repeat > REPEAT_MOST)
        return 2;
    study.kind = local_kind(words[1]);
    study_run(&study, 1, "alone");
    study_run(&study, study.inputs.ranks, "together");
    return 0;
}

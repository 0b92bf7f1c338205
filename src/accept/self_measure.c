/*
 * self_measure.c - how fast this host is by itself.
 *
 * All threads work at the same time, each on buffers of its own that no cache holds. A thread counts
 * what it has done until the time is over. So a slow CPU does not make the others wait, and shows as
 * the least count.
 */
#include "accept/self_measure.h"

#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "memory/memory_limits.h"
#include "memory/nontemporal.h"
#include "memory/reduce.h"

#define BUFFER_MOST  ((size_t)64 << 20) /* bytes of one of the three buffers of a thread */
#define BUFFER_LEAST ((size_t)1 << 20)
#define MEMORY_SHARE 4 /* the buffers take one in so many of the bytes that are left */
#define BUFFERS_EACH 3
#define PIECE        ((size_t)1 << 20)
#define STEPS        100000 /* between two looks at the clock */

enum self_work { WORK_CORE, WORK_COPY, WORK_SUM, WORKS };

static const struct {
    const char *name, *key;
    bool least; /* of the threads; else their sum */
    double unit;
} works[WORKS] = {[WORK_CORE] = {"core", "Msteps", true, 1e6},
                  [WORK_COPY] = {"copy", "GBps", false, 1e9},
                  [WORK_SUM] = {"sum", "GBps", false, 1e9}};

struct self_run {
    size_t bytes;   /* of a buffer */
    double seconds; /* of each work */
    pthread_barrier_t barrier;
    reduce_function *sum;
    _Atomic bool failed; /* a thread has no memory */
};

struct self_thread {
    struct self_run *run;
    pthread_t thread;
    int cpu;
    char *buffers; /* BUFFERS_EACH of them */
    double rates[WORKS];
    uint64_t state; /* what the steps have made, so that they are done */
};

static double core_work(struct self_thread *self)
{
    for (int i = 0; i < STEPS; i++)
        self->state = random_next(&self->state); /* each step needs the last one */
    return STEPS;
}

/* One piece after the other, around the buffers. */
static double memory_work(struct self_thread *self, enum self_work work, size_t *at)
{
    char *to = self->buffers + *at, *a = to + self->run->bytes, *b = a + self->run->bytes;
    if (work == WORK_COPY)
        nontemporal_copy(to, a, PIECE);
    else
        nontemporal_reduce(self->run->sum, sizeof(float), to, a, b, PIECE / sizeof(float));
    *at = (*at + PIECE) % self->run->bytes;
    return (double)PIECE;
}

static double work_rate(struct self_thread *self, enum self_work work)
{
    double done = 0, begin = clock_seconds(), now = begin;
    size_t at = 0;
    while (now - begin < self->run->seconds) {
        done += work == WORK_CORE ? core_work(self) : memory_work(self, work, &at);
        now = clock_seconds();
    }
    return done / (now - begin);
}

static void *self_main(void *argument)
{
    struct self_thread *self = argument;
    struct self_run *run = self->run;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(self->cpu, &cpu);
    sched_setaffinity(0, sizeof cpu, &cpu);
    self->buffers = malloc(BUFFERS_EACH * run->bytes); /* here: near the thread's CPU */
    if (self->buffers)
        memset(self->buffers, 0, BUFFERS_EACH * run->bytes);
    else
        atomic_store(&run->failed, true);
    for (int work = 0; work < WORKS; work++) {
        pthread_barrier_wait(&run->barrier);
        if (!atomic_load(&run->failed))
            self->rates[work] = work_rate(self, (enum self_work)work);
    }
    free(self->buffers);
    return NULL;
}

/* Threads wait for each other: if one cannot be started, the others wait until this process ends. */
static enum status threads_run(struct self_run *run, struct self_thread *threads, int count)
{
    int error = pthread_barrier_init(&run->barrier, NULL, (unsigned)count);
    for (int i = 0; i < count && !error; i++)
        error = pthread_create(&threads[i].thread, NULL, self_main, &threads[i]);
    if (error)
        return fail(STATUS_ERROR, "could not start a thread for each of %d CPUs: %s", count,
                    strerror(error));
    for (int i = 0; i < count; i++)
        pthread_join(threads[i].thread, NULL);
    pthread_barrier_destroy(&run->barrier);
    return atomic_load(&run->failed) ? fail(STATUS_ERROR, "no memory for %d times %zu MiB", count,
                                            BUFFERS_EACH * run->bytes >> 20)
                                     : STATUS_OK;
}

static enum status self_write(const struct self_thread *threads, int count, int fd)
{
    json_t *results = json_array();
    for (int w = 0; w < WORKS; w++) {
        double rate = threads[0].rates[w];
        for (int i = 1; i < count; i++) {
            double other = threads[i].rates[w];
            rate = !works[w].least ? rate + other : other < rate ? other : rate;
        }
        json_array_append_new(results, json_pack("{s:s, s:i, s:i, s:f}", "collective",
                                                 works[w].name, "ranks", count, "bytes", 1,
                                                 works[w].key, rate / works[w].unit));
    }
    json_t *document = json_pack("{s:s, s:o}", "status", "ok", "results", results);
    bool written = document && json_dumpfd(document, fd, JSON_COMPACT) == 0;
    json_decref(document);
    return written ? STATUS_OK : fail(STATUS_ERROR, "the numbers of this host cannot be written");
}

/* The CPUs that this process may have: a launcher may have bound it to some of them. */
static int cpus_find(cpu_set_t *cpus)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all); /* the kernel takes those that the control group has */
    return sched_getaffinity(0, sizeof *cpus, cpus) == 0 ? CPU_COUNT(cpus) : 0;
}

enum status self_measure(double seconds, int fd)
{
    cpu_set_t cpus;
    int count = cpus_find(&cpus), filled = 0;
    struct self_thread *threads = calloc((size_t)count + 1, sizeof *threads);
    size_t left = memory_available() / MEMORY_SHARE / BUFFERS_EACH / (size_t)(count + 1);
    struct self_run run = {
        .bytes = (left < BUFFER_MOST ? left : BUFFER_MOST) & ~(PIECE - 1),
        .seconds = seconds / WORKS,
        .sum = reduce_kernel(datatype_find("float"), reduction_find("sum")),
    };
    if (count == 0 || !threads || run.bytes < BUFFER_LEAST) {
        free(threads);
        return fail(STATUS_ERROR, "no CPU, or too little memory, to measure this host by itself");
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            threads[filled++] = (struct self_thread){.run = &run, .cpu = cpu};
    enum status status = threads_run(&run, threads, count);
    if (status == STATUS_OK)
        status = self_write(threads, count, fd);
    free(threads);
    return status;
}

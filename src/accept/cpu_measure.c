/*
 * cpu_measure.c - how fast this host's CPUs are, each at work on buffers of its own that no cache holds.
 */
#include "accept/internal.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "dataplane/memory/memory.h"
#include "host/host.h"

#define BUFFER_MOST  ((size_t)64 << 20) /* bytes of one of the three buffers of a CPU */
#define BUFFER_LEAST ((size_t)1 << 20)
#define MEMORY_SHARE 4 /* the buffers take one in so many of the bytes that are left */
#define BUFFERS_EACH 3
#define PIECE        ((size_t)1 << 20)
#define STEPS        100000 /* between two looks at the clock */

enum cpu_work { WORK_CORE, WORK_COPY, WORK_SUM, WORKS };

static const struct part_work works[WORKS] = {
    [WORK_CORE] = {"core", "Msteps", 1e6, PARTS_SLOWEST},
    [WORK_COPY] = {"copy", "GBps", 1e9, PARTS_TOGETHER},
    [WORK_SUM] = {"sum", "GBps", 1e9, PARTS_TOGETHER},
};

/* The same of all CPUs. */
struct cpu_kind {
    struct parts_at_work parts;
    size_t bytes; /* of a buffer */
    reduce_function *sum;
};

/* A CPU's own. */
struct cpu {
    size_t at;      /* where the next piece is */
    uint64_t state; /* what the steps have made, so that they are done */
    char buffers[]; /* BUFFERS_EACH of them */
};

static const struct cpu_kind *kind_of(const struct part_at_work *part)
{
    return (const struct cpu_kind *)(const void *)part->kind;
}

static enum status cpu_open(struct part_at_work *part)
{
    cpu_set_t cpus;
    size_t bytes = sizeof(struct cpu) + BUFFERS_EACH * kind_of(part)->bytes;
    CPU_ZERO(&cpus);
    CPU_SET(part->number, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    snprintf(part->name, sizeof part->name, "CPU %d", part->number);
    part->own = malloc(bytes); /* here: near the thread's CPU */
    if (!part->own)
        return fail(STATUS_ERROR, "no memory for %zu MiB of each CPU", bytes >> 20);
    memset(part->own, 0, bytes);
    return STATUS_OK;
}

static void cpu_close(struct part_at_work *part)
{
    free(part->own);
}

/* One piece after the other, around the buffers. */
static void memory_step(const struct cpu_kind *kind, struct cpu *cpu, int work)
{
    char *to = cpu->buffers + cpu->at, *a = to + kind->bytes, *b = a + kind->bytes;
    if (work == WORK_COPY)
        nontemporal_copy(to, a, PIECE);
    else
        nontemporal_reduce(kind->sum, sizeof(float), to, a, b, PIECE / sizeof(float));
    cpu->at = (cpu->at + PIECE) % kind->bytes;
}

static enum status cpu_step(struct part_at_work *part, int work, double *done)
{
    struct cpu *cpu = part->own;
    if (work != WORK_CORE)
        memory_step(kind_of(part), cpu, work);
    for (int i = 0; work == WORK_CORE && i < STEPS; i++)
        cpu->state = random_next(&cpu->state); /* each step needs the last one */
    *done = work == WORK_CORE ? STEPS : (double)PIECE;
    return STATUS_OK;
}

/* The CPUs that this process may have: a launcher may have bound it to some of them. */
static int cpus_find(int numbers[CPU_SETSIZE])
{
    cpu_set_t cpus;
    int count = 0;
    memset(&cpus, 0xff, sizeof cpus);
    sched_setaffinity(0, sizeof cpus,
                      &cpus); /* the kernel takes those that the control group has */
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            numbers[count++] = cpu;
    return count;
}

enum status cpu_measure(double seconds, int fd)
{
    int numbers[CPU_SETSIZE], count = cpus_find(numbers);
    size_t left = memory_available() / MEMORY_SHARE / BUFFERS_EACH / (size_t)(count + 1);
    const struct cpu_kind kind = {
        .parts = {.works = works,
                  .work_count = WORKS,
                  .seconds = seconds / WORKS,
                  .open = cpu_open,
                  .step = cpu_step,
                  .close = cpu_close},
        .bytes = (left < BUFFER_MOST ? left : BUFFER_MOST) & ~(PIECE - 1),
        .sum = reduce_kernel(datatype_find("float"), reduction_find("sum")),
    };
    if (count == 0 || kind.bytes < BUFFER_LEAST)
        return fail(STATUS_ERROR, "no CPU, or too little memory, to measure this host by itself");
    return parts_measure(&kind.parts, numbers, count, "", fd);
}

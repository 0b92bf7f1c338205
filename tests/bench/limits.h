/*
 * limits.h - the parts of the program `limits`, which measures the limits of the machine, and how
 * it runs its processes.
 */
#ifndef CCTEST_BENCH_LIMITS_H
#define CCTEST_BENCH_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

#define RANKS_MOST  64
#define ROUNDS_MOST 101

/* Options. */
struct limits {
    int ranks;
    int cpus[RANKS_MOST], cpu_count; /* one a core */
    int rounds;
    size_t bytes; /* of one buffer, in the tests of memory */
};

/* One process of a part. */
struct process {
    const struct limits *limits;
    int rank, ranks;
    long spins; /* polls before it yields the core */
    struct node_barrier node_barrier;
    double *seconds; /* of each process, in memory that all share */
};

/* One number of a measurement, over its rounds. */
struct series {
    double values[ROUNDS_MOST];
    int count;
};

/* The idle step of a wait after `looks` polls. */
void process_idle(const struct process *process, long looks);

/* A barrier of all processes of the part. */
void process_meet(struct process *process);

/* The longest time of all processes, returned on all. */
double process_slowest(struct process *process, double seconds);

/* Runs `part` in `ranks` processes, each bound to a core if there are enough. `argument` is made
* before the fork. Process 0 prints. */
void processes_run(const struct limits *limits, int ranks,
                   void (*part)(struct process *process, void *argument), void *argument);

void series_add(struct series *series, double value);
double series_median(const struct series *series);
double series_best(const struct series *series, bool largest);

/* Prints `"name": {"median": ..., "best": ..., "values": [...]}`. */
void series_print(const char *name, const struct series *series, bool largest);

void die(const char *what) __attribute__((noreturn));

/* The parts. Each prints members of a JSON object, without the braces. */
void limits_memory(const struct limits *limits);
void limits_line(const struct limits *limits);
void limits_tcp(const struct limits *limits);

#endif

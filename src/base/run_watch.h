/*
 * run_watch.h - when this process did not run: it was stopped, or its group of processes was
 * throttled; and how long a thread waits for its core.
 *
 * A thread wants to run every few milliseconds, and notes when it could not. Where others have only
 * the core of the process, the thread may run elsewhere, and notes nothing. Its signals are
 * blocked.
 */
#ifndef CCTEST_BASE_RUN_WATCH_H
#define CCTEST_BASE_RUN_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RUN_GAPS_MOST 256 /* that are kept, the last ones */

/* By clock_ns(). */
struct run_gap {
    uint64_t began, ended;
};

/* All zero: it has not been started, and knows no gap. It stays where it is while it runs. */
struct run_watch {
    pthread_t thread;
    bool runs;
    atomic_bool ends;
    uint64_t least;                       /* ns: of a gap that counts */
    uint32_t pause;                       /* ns: between two runs of the thread */
    _Atomic uint64_t gaps, gap_us;        /* so far: how many, and microseconds in all */
    pthread_mutex_t lock;                 /* of what follows */
    struct run_gap recent[RUN_GAPS_MOST]; /* gap number n at n modulo their number */
};

/* Notes gaps of `least` seconds and more from now on, up to `pause` seconds too short: so often
 * (< 1) the thread looks. Where no thread can be started, none is known. A watch that runs goes
 * on. */
void run_watch_start(struct run_watch *watch, double least, double pause);
void run_watch_stop(struct run_watch *watch); /* one that does not run is allowed */

/* ns between `begin` and `end` in which the process did not run, of the gaps that are kept. */
uint64_t run_watch_gaps_within(struct run_watch *watch, uint64_t begin, uint64_t end);

/* ---- How long a thread waits for its core. ---- */

/* All zero: it was not opened, or the kernel does not tell. */
struct wait_meter {
    bool known;
    int file;
};

void wait_meter_open(struct wait_meter *meter); /* of the calling thread */
void wait_meter_close(struct wait_meter *meter);

/* ns since the thread began in which it could run and others had its core; -1: not known. It takes
 * about a microsecond. */
int64_t wait_meter_ns(const struct wait_meter *meter);

#endif

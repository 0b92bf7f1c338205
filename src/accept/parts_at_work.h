/*
 * parts_at_work.h - how fast the parts of this host are, CPUs or GPUs, all at work at the same time.
 *
 * Each part has a thread, which counts what it has done until the time is over. So a slow part does not
 * make the others wait.
 */
#ifndef CCTEST_ACCEPT_PARTS_AT_WORK_H
#define CCTEST_ACCEPT_PARTS_AT_WORK_H

#include "base/status.h"

#define PART_WORKS_MOST 4

/* What becomes lines of the results. */
enum part_lines {
    PARTS_TOGETHER, /* one: the sum */
    PARTS_SLOWEST,  /* one: that of the slowest part, with its name */
    PARTS_EACH,     /* one for each part, with its name */
};

struct part_work {
    const char *name, *key; /* of the line, and of its number: "copy", "GBps" */
    double unit;            /* that the number counts */
    enum part_lines lines;
};

struct part_at_work {
    const struct parts_at_work *kind;
    int number;                    /* of the CPU or GPU */
    char name[48];                 /* "CPU 3" */
    void *own;                     /* of the hooks */
    double rates[PART_WORKS_MOST]; /* a second */
};

/* The hooks run in the thread of their part, and fail with fail(): then the others end, too. */
struct parts_at_work {
    const struct part_work *works;
    int work_count;
    double seconds; /* of each work */
    enum status (*open)(struct part_at_work *part);
    /* Does a piece of the work, of some milliseconds at most; *done: how much that was. */
    enum status (*step)(struct part_at_work *part, int work, double *done);
    void (*close)(struct part_at_work *part); /* also after a failure */
};

/* Measures these parts, at least one, and writes the results, as JSON, to `fd`; with a "note" if it is not
 * "". Fails, after fail(), with the first hook that does, or if there is no memory, thread or reader. */
enum status parts_measure(const struct parts_at_work *kind, const int *numbers, int count,
                          const char *note, int fd);

#endif

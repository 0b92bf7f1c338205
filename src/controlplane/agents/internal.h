/*
 * internal.h - for the files of controlplane/agents/ alone.
 */
#ifndef CCTEST_CONTROLPLANE_AGENTS_INTERNAL_H
#define CCTEST_CONTROLPLANE_AGENTS_INTERNAL_H

#include <pthread.h>

#include "controlplane/agents/agents.h"

/* ---- Rank 0's heartbeats while it does not turn: it judges, or waits for a disk or a terminal.
 *
 * A thread that sends, and reads nothing. While it runs no other thread may touch the connections, or
 * fork.
 * ---- */

struct pulse {
    struct child_links *links;
    double seconds; /* between two heartbeats */
    double beat; /* clock_seconds() at the last one, or the start; to be read once it has stopped */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool runs, stops;
};

#endif

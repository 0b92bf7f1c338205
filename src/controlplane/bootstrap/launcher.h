/*
 * launcher.h - which launcher started this process, and as which rank, by the environment.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_LAUNCHER_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "controlplane/control/membership.h"

/* A launcher that describes its ranks by environment variables. */
struct launcher {
    const char *name;        /* "torchrun" */
    const char *rank, *size; /* variables; size NULL: none, so --world gives it, and --rendezvous
                                the meeting point */
    bool nested;             /* its ranks may also inherit the variables of an outer launcher */
    bool pmi;                /* it is a process manager that speaks PMI-1 */
    bool terminal;           /* it gives a rank a terminal of its own, wherever its output goes */
    bool names_late;         /* name servers learn the names of its hosts only as these start */
    /* Finds rank 0's host and ports from the launcher's other variables, and a text that all ranks
     * of this job share and no other job has. NULL: the variables name no host, so --rendezvous
     * must. */
    enum status (*meet)(struct membership *membership, char *shared, size_t size);
};

/* How this process was started. */
struct launch {
    const struct launcher *launcher; /* NULL: no known launcher, or a job of one rank */
    int rank, ranks;                 /* rank -1: not known */
};

/* A whole non-negative number of at most 10,000,000; -1: `text` is no such number, or NULL. */
long number_parse(const char *text);

/* Finds the launcher that started this process as one of several. `world`: their number, where the
 * launcher does not give it; -1: unknown. */
struct launch launcher_detect(int world);

/* Does a launcher say that it started this process alone? */
bool launcher_of_one(void);

/* Did a launcher start this process that gives ranks a terminal where the user has none? */
bool launcher_makes_terminal(void);

/* Used when no launcher was detected. Describes variables that speak of several ranks but are
 * incomplete, contradict each other or `world` (as above), or belong to a launcher that cctest does
 * not support. NULL: there are none. Local ranks would be the classic silent failure: N jobs of one
 * rank. */
const char *launcher_incomplete(int world, char *text, size_t size);

/* The first host of a Slurm node list (base/host_list.h): "node[07-09,12],other" -> "node07". False,
 * and "": `list` is no node list. */
bool nodelist_first(const char *list, char *host, size_t size);

#endif

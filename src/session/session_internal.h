/*
 * session_internal.h - one rank's session, as its stages see it: setup.c, sweep.c and session.c.
 */
#ifndef CCTEST_SESSION_SESSION_INTERNAL_H
#define CCTEST_SESSION_SESSION_INTERNAL_H

#include "control/membership.h"
#include "measure/results.h"
#include "run/cpu_binding.h"
#include "run/runner.h"
#include "session/checked_run.h"

struct session {
    struct job job; /* a copy: algorithms that refuse the ranks are left out of `-a all` */
    const struct membership *membership;
    struct report *report; /* rank 0; else NULL */
    struct control *control;
    struct runner runner;
    struct checked_run checked; /* the buffers, and the checked iterations on them */
    struct results results;
    size_t need[BUFFERS];  /* bytes, the most of any line */
    unsigned char *wishes; /* of each rank, as for links_connect() */
    int lanes;
    struct cpu_binding *places; /* by rank */
    int local_ranks;            /* on this host */
    bool has_core;              /* that no other rank runs on */
    uint64_t strangers;         /* rank 0: that came while all ranks connected to each other */
};

#endif

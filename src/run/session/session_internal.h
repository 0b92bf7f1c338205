/*
 * session_internal.h - the state of one rank's session, for setup.c, sweep.c and session.c.
 */
#ifndef CCTEST_RUN_SESSION_SESSION_INTERNAL_H
#define CCTEST_RUN_SESSION_SESSION_INTERNAL_H

#include "controlplane/control/membership.h"
#include "run/results/connectivity.h"
#include "run/results/device_watch.h"
#include "run/results/results.h"
#include "run/cpu_binding.h"
#include "run/memory_check.h"
#include "run/runner.h"
#include "run/session/checker.h"
#include "run/session/postmortem.h"
#include "run/session/survey.h"

struct session {
    struct job job; /* a copy: algorithms that refuse these ranks are left out of `-a all` */
    const struct membership *membership;
    struct report *report; /* rank 0; else NULL */
    struct control *control;
    struct runner runner;
    struct checker checker; /* owns the buffers */
    struct results results;
    struct region regions[BUFFER_SETS_MOST + 2]; /* all that transfers name, until the links close:
                                                    of wires, buffers, start barrier and rings */
    struct region *rings;                        /* among them; NULL: no link can need any */
    struct needs needs;                          /* of all test cases */
    enum memory_use takes;                       /* of its host: what most of that memory is for */
    struct cpu_binding *bindings;                /* by rank */
    struct memory_device device, *devices; /* of this rank; by rank, once the places are known */
    bool has_core;                         /* that no other rank runs on */
    struct peer_exchange exchange;         /* its transports' */
    struct peer_witness witness;
    struct connectivity connectivity; /* rank 0's, once all ranks are connected */
    struct device_watch watch;        /* of the NICs of its transports, and its GPU */
    struct postmortem postmortem;     /* rank 0's, of a job that has failed */
};

#endif

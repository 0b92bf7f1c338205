/*
 * reference.h - the interface of a vendor's library of collectives, which runs beside cctest's own
 * algorithms: on the same buffers, with the same inputs, checks, start barrier and clock.
 *
 * The library is opaque. It shows no schedule, and brings links of its own.
 */
#ifndef CCTEST_RUN_REFERENCE_REFERENCE_H
#define CCTEST_RUN_REFERENCE_REFERENCE_H

#include "controlplane/control/control.h"
#include "dataplane/execute/execute.h"
#include "dataplane/memory/memory.h"

#define VENDOR_WHY_MOST 320 /* bytes of a reason */

struct vendor_session; /* one rank's part of the library's communicator */

/* The collective that a job asks of the library. */
struct vendor_task {
    const struct collective *collective;
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the collective combines nothing */
    int ranks;                         /* 0: not known yet */
    bool in_place;
};

/* One collective of one size. */
struct vendor_call {
    struct problem problem;
    const struct datatype *datatype;
    const struct reduction *reduction;
    const char *source;
    char *destination;
};

struct vendor {
    const char *name;                 /* as struct algorithm's `vendor` has it */
    const char *title;                /* in sentences: "NCCL" */
    const struct memory_kind *memory; /* where its buffers lie */

    /* Why it cannot be used here, and what to do (one clause, written into `why`); NULL: it may
     * well be. Runs before ranks are forked, and leaves nothing that a fork breaks. */
    const char *(*unavailable)(char why[VENDOR_WHY_MOST]);
    /* Its version: "2.28.3"; "" where it is unavailable. */
    void (*version)(char *text, size_t size);
    /* The reason why no version of it can do this task, as one sentence, static or written into
     * `why`; NULL: it can. */
    const char *(*refuses)(const struct vendor_task *task, char why[VENDOR_WHY_MOST]);

    /* Joins the communicator of all ranks, which all call it together, for `count` tasks, one at
     * least, all of which the machine must be able to do. The calling thread has settled on its
     * device, and makes all later calls. Waits by `tick`. */
    enum status (*open)(struct control *control, const struct vendor_task *tasks, int count,
                        const struct tick *tick, struct vendor_session **session);
    /* Makes a collective ready to run on these buffers, one run at a time in a session. It keeps
     * nothing of the problem: a run that was abandoned may last longer than that. The buffers must
     * stay until the process ends if a run failed. The first run may connect the ranks, and is not
     * to be timed. */
    enum status (*prepare)(struct vendor_session *session, const struct vendor_call *call,
                           struct execution **execution);
    /* Leaves the communicator without the other ranks, and aborts what still runs. NULL is
     * allowed. */
    void (*close)(struct vendor_session *session);
};

extern const struct vendor vendor_nccl;

extern const struct vendor *const vendors[];        /* ended by NULL */
const struct vendor *vendor_find(const char *name); /* NULL if unknown */

#endif

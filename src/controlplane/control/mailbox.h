/*
 * mailbox.h - what the two threads of a rank share.
 *
 * The main thread calls control.h. The helper thread owns all sockets (root.c at rank 0, relay.c at
 * the others). The main thread queues its frames in the outbox; the helper delivers at most one
 * answer at a time. At rank 0 the frames of its own main thread are handled like frames of any
 * other rank, only without a socket.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_MAILBOX_H
#define CCTEST_CONTROLPLANE_CONTROL_MAILBOX_H

#include <pthread.h>

#include "base/log.h"
#include "base/status.h"
#include "base/write_watch.h"
#include "controlplane/control/blobs.h"
#include "controlplane/control/membership.h"
#include "controlplane/control/messages.h"
#include "controlplane/control/root_address.h"
#include "controlplane/control/starvation.h"
#include "base/net/address.h"
#include "base/rank_state.h"

#define GRACE_SECONDS   0.2  /* for further causes to come in before the verdict */
#define LINGER_SECONDS  2.0  /* for the others to learn the verdict before rank 0 closes, */
#define DEAF_SECONDS    1.5  /* unless they have been silent for so long */
#define SILENT_SECONDS  1.0  /* the shortest silence that counts, even if the deadline is shorter */
#define REFUSAL_SECONDS 1.0  /* for ranks that start later to learn that there is no job, */
#define REFUSER_SECONDS 5.0  /* or where rank 0 knew it before any had called */
#define VERDICT_SECONDS 3.0  /* that a failing rank waits for the verdict */
#define UNFIT_SECONDS   2.0  /* for a rank that cannot take part to find rank 0, and tell it */
#define STUCK_SECONDS   1.5  /* that a main thread may ignore the end of the job without a tick, */
#define FREE_SECONDS    15.0 /* or, where the job went through, be busy with its own end */
#ifndef CONTROL_FAN_OUT
#define CONTROL_FAN_OUT 32 /* ranks that are connected to one, at most */
#endif

#define SIGNAL_ORPHANED (-1) /* as good as a signal: the supervisor has ended */

/* How far the job is, as this rank knows. */
enum job_state {
    JOB_JOINING,
    JOB_RUNNING, /* all ranks have joined */
    JOB_LATE,    /* no rank has progressed for the timeout: the verdict follows */
    JOB_REFUSED, /* it ended before all ranks had joined, */
    JOB_ENDED    /* or after that */
};

enum main_state {
    MAIN_ACTIVE,
    MAIN_INFORMED, /* it knows that the job has ended, and how */
    MAIN_CLOSING   /* it waits for the helper to end */
};

/* Where the helper's loop runs. */
enum helper_place { HELPER_NOWHERE, HELPER_IN_THREAD, HELPER_IN_MAIN };

/* A frame's type and content on its way between the two threads. */
struct queued_frame {
    struct queued_frame *next;
    int type;
    size_t size;
    unsigned char data[];
};

/* Both threads', all of it under `lock`. */
struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* `answer`, or control->state */
    enum main_state main;
    enum status status; /* the job's, once it has ended */
    struct queued_frame *outbox, **outbox_end;
    int64_t awaited; /* the exchange whose result the main thread waits for; -1: none */
    struct queued_frame *answer;
    struct blobs postmortems; /* rank 0: of the ranks; no arrays before the first has come */
    char **algorithms;
    int algorithm_count;
};

/* The helper's. */
struct helper {
    struct listeners listeners; /* of rank 0, or of a rank that may get children, */
    struct address_list home;   /* and their addresses */
    struct root_address root;   /* the others */
    double now;           /* seconds; stands still while the process is stopped */
    double woken;         /* when it last went on after a long stop; 0: never */
    double last_clock, ended_at;
    double reacted_at; /* by main_reacted_at(); 0: the job has not ended */
    double hurried_at; /* when the main thread was told to wait for no reader; 0: it was not */
    struct write_watch write_watch; /* on the main thread, */
    uint64_t writing_progress;      /* and its progress at the last look */
    double ending_at; /* when the helper first tried to end the process; 0: it did not */
    uint64_t reacted; /* the main thread's ticks then */
    int signal;       /* the last that came; 0: none */
    int lost;         /* a rank that died, as the supervisor says; -1: none */
    struct starvation starvation; /* of the main thread, */
    double looked_at;             /* and when it was last looked for */
    /* The most that it held at once. Tests compare them with the tree's bounds. */
    _Atomic int sockets_most, child_links_most;
};

struct control {
    /* Set before the helper starts, then read only. */
    struct membership membership;
    struct control_config config;
    char *options;
    struct log *log;
    pthread_t thread; /* the helper's, if it has one */
    enum helper_place helper_place;
    int wake;         /* eventfd: the main thread has something for the helper */
    int signals;      /* signalfd of the signals that end a job; -1: another rank reads them */
    double look;      /* seconds between two looks at the main thread's progress */
    double heartbeat; /* seconds between two heartbeats, at most */
    double gap; /* seconds between two looks at the clock: after more, the process was stopped */

    /* The main thread's. */
    clockid_t main_clock; /* of the CPU time that it has had */
    bool has_main_clock;
    struct progress progress;             /* the helper reads it */
    uint32_t exchanges;                   /* how many it has begun */
    enum status (*watch)(void *argument); /* of control_watch(), or NULL */
    void *watched;

    struct mailbox mailbox;
    struct helper helper;
    _Atomic enum job_state state; /* written under mailbox.lock */
    _Atomic uint64_t rejected;    /* connections that were none of the job's, so far */
    _Atomic bool *lost;           /* by rank: it is known to be dead; written by the helper */

    /* Written by the helper before `state` says RUNNING (members) or REFUSED or ENDED (errors),
     * then read only. */
    struct member *members;
    struct job_error *errors;
    int error_count;
};

static inline bool job_ended(const struct control *control)
{
    return atomic_load(&control->state) >= JOB_REFUSED;
}

/* Have all ranks joined? Stays true when the job has ended. */
static inline bool job_begun(const struct control *control)
{
    enum job_state state = atomic_load(&control->state);
    return state != JOB_JOINING && state != JOB_REFUSED;
}

/* For the helper. */
void control_count_sockets(struct control *control, int children, int pending);
void control_advance_clock(struct control *control);
void control_read_events(struct control *control); /* empties `wake` and `signals` */
struct queued_frame *control_take_outbox(struct control *control); /* the caller frees them */
/* The result of an exchange; one that the main thread does not wait for is dropped. */
void control_deliver(struct control *control, const struct share *result);
/* JOINING becomes RUNNING, and the main thread goes on. */
void control_set_joined(struct control *control);
/* Rank 0: what a rank adds after the job has failed. The first of each rank counts. */
void control_keep_postmortem(struct control *control, int rank, const void *data, size_t size);
void control_set_late(struct control *control); /* RUNNING becomes LATE */
/* The rank has died, or the connection to it broke; does nothing once the job has ended. */
void control_set_lost(struct control *control, int rank);
/* The job has ended with this status. The first call counts. */
void control_conclude(struct control *control, enum status status);
bool control_is_closing(struct control *control);
/* Rank 0: for how many seconds its main thread has been in one write to a file (a JSON document is
 * one) that waits for neither a reader nor a CPU. It may be on a server that does not answer, so a
 * long one is said. */
double control_writing_seconds(struct control *control);
/* Ends the process if its main thread does not notice that the job has ended, or does not come to
 * its own end. Each tick of the main thread (tick_on()) gives it more time. A rank other than 0 that
 * has noticed the end is left to its supervisor, if it has one.
 *
 * Rank 0 may be writing results. After a job that failed, it is told to wait no longer for a reader;
 * after one that went through, it may wait for a reader until a signal comes, and for a file
 * FILE_SECONDS.
 *
 * The process ends with the job's own status. Where rank 0 has not reported, that is an error. If
 * this process writes the status, it does so first. A status that was written stays. */
void control_watch_main(struct control *control);
const char *control_signal_name(const struct control *control); /* "interrupted by SIGINT" */

/* For the main thread. */
/* Queues a frame for the helper; takes it. NULL is allowed: out of memory. */
enum status control_post(struct control *control, struct queued_frame *queued);
/* Marks that the main thread knows how the job ended: returns that. Called with the lock held. */
enum status control_notice_end(struct control *control);
/* A frame of this content; takes `bytes`. NULL: out of memory. */
struct queued_frame *queued_frame_take(int type, struct bytes *bytes);

/* NULL: out of memory. */
struct queued_frame *queued_frame_create(int type, const void *data, size_t size);
void queued_frames_free(struct queued_frame *queued); /* and all behind it; NULL: none */
void progress_read(struct progress *progress, struct progress_snapshot *snapshot);
/* The same of this rank's main thread, for rank 0: that it starves counts as progress. */
void control_snapshot(struct control *control, struct progress_snapshot *snapshot);

#endif

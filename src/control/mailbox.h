/*
 * mailbox.h - what the files of the control plane share.
 *
 * A rank has two threads here: the main thread, which calls control.h, and the helper thread, which
 * owns all sockets (root.c at rank 0, relay.c at the others). They exchange
 * letters: the main thread puts its own into the outbox, the helper delivers at most one answer at
 * a time. At rank 0 a letter to rank 0 takes the same way as one from any other rank, only without
 * a socket.
 */
#ifndef CCTEST_CONTROL_MAILBOX_H
#define CCTEST_CONTROL_MAILBOX_H

#include <pthread.h>

#include "base/log.h"
#include "base/status.h"
#include "control/membership.h"
#include "control/messages.h"
#include "net/address.h"
#include "verdict/rank_state.h"

#define GRACE_SECONDS   0.2  /* for further causes to come in before the verdict */
#define LINGER_SECONDS  2.0  /* for the others to learn the verdict before rank 0 closes, */
#define DEAF_SECONDS    1.5  /* unless they have been silent for so long */
#define SILENT_SECONDS  1.0  /* of a rank mean nothing yet, even if the deadline is shorter */
#define REFUSAL_SECONDS 1.0  /* for ranks that start a little later to learn that there is no job */
#define VERDICT_SECONDS 3.0  /* that a failing rank waits for the verdict */
#define UNFIT_SECONDS   2.0  /* for a rank that cannot take part to find rank 0, and tell it */
#define STUCK_SECONDS   1.5  /* that a main thread may ignore the end of the job, */
#define REPORT_SECONDS  15.0 /* or rank 0 may take to report one that went through */
#ifndef CONTROL_FAN_OUT
#define CONTROL_FAN_OUT 32 /* ranks that are connected to one, at most */
#endif

#define SIGNAL_ORPHANED (-1) /* as good as a signal: the supervisor has ended */

/* A frame's type and content on its way between the two threads. */
struct queued_frame {
    struct queued_frame *next;
    int type;
    size_t size;
    unsigned char data[];
};

enum exchange { EXCHANGE_ALLGATHER, EXCHANGE_GATHER, EXCHANGES };

struct control {
    struct membership membership;
    struct control_config config;
    char *options;
    struct log *log;
    struct progress progress;
    atomic_bool ended, late;
    _Atomic uint64_t strangers;
    uint32_t exchanges; /* the main thread's count of them */

    pthread_t helper;
    bool helper_runs;
    bool helperless; /* it cannot run: the main thread does its work, to say so to rank 0 */
    int wake;        /* eventfd: the main thread has something for the helper */
    int signals;     /* signalfd of what ends a job; -1: not this rank's business */

    pthread_mutex_t lock; /* all of this: */
    pthread_cond_t changed;
    bool joined;
    bool closing;
    bool noticed; /* the main thread knows the verdict */
    enum status verdict;
    struct queued_frame *outbox, **outbox_end;
    bool awaits; /* the main thread, the answer to exchange number `awaited` */
    uint32_t awaited;
    struct queued_frame *answer;
    char **algorithms;
    int algorithm_count;

    /* Written by the helper before `joined` or `ended`, then read only. */
    struct member *members;
    struct job_error *errors;
    int error_count;

    /* How often the helper does what; all of it follows from the deadline. */
    double look;      /* between two looks at what the main thread does */
    double heartbeat; /* a pulse is sent at least that often */
    double gap;       /* without a look at the clock: longer means that this process was stopped */

    /* The helper's. */
    struct listeners listeners;            /* of rank 0, or of one that may have children, */
    struct address_list home;              /* and where they are */
    struct address routes[ADDRESSES_MOST]; /* the others: to rank 0, */
    int route_count;
    char root_place[320]; /* for a human: "node1 port 4711" */
    double now;           /* seconds; stands still while the process is stopped */
    double woken;         /* when it last went on after it had been, for long; 0: never */
    double last_clock, ended_at;
    int signal; /* the last one that came; 0: none */
    int lost;   /* a rank that has died, as the supervisor says; -1: none */
    /* What it held at once, at most: of sockets, and of ranks among them. The tests hold it against
     * what the tree is to bound. */
    _Atomic int sockets_most, child_links_most;
};

/* For the helper. */
void control_count_sockets(struct control *control, int children, int pending);
void control_advance_clock(struct control *control);
void control_read_events(struct control *control); /* empties `wake` and `signals` */
struct queued_frame *control_take_outbox(struct control *control); /* the caller frees them */
/* The result of an exchange; one that the main thread does not wait for is dropped. */
void control_deliver(struct control *control, const struct share *result);
/* Lets the main thread go on, unless the job has ended meanwhile. */
void control_set_joined(struct control *control);
/* The job has this status now; the first call counts. */
void control_conclude(struct control *control, enum status status);
bool control_is_closing(struct control *control);
/* Ends the process if its main thread does not see that the job has ended, or, at rank 0, cannot
 * bring its report to an end: what it writes to may be a pipe that nobody reads. */
void control_watch_main(struct control *control);
const char *control_signal_name(const struct control *control); /* "interrupted by SIGINT" */

/* NULL: out of memory. */
struct queued_frame *queued_frame_create(int type, const void *data, size_t size);
void queued_frames_free(struct queued_frame *queued); /* and all behind it; NULL: none */
/* What a pulse says now. */
void progress_read(struct progress *progress, struct progress_snapshot *snapshot);

#endif

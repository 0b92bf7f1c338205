/*
 * internal.h - for the files of controlplane/control/ alone.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_INTERNAL_H
#define CCTEST_CONTROLPLANE_CONTROL_INTERNAL_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "controlplane/control/control.h"
#include "controlplane/verdict/verdict.h"

/* ---- Does a thread wait for a core?
 *
 * On a loaded machine a thread may stand ready to run for seconds and get no core. Nothing is stuck
 * then, so the helper counts it as progress: the deadline begins anew. A rank that waits for others
 * gets a core now and then, in which it moves nothing, so it is never taken for one that starves.
 * ---- */

/* Starving counts for so many deadlines after the last progress of its own. Nothing hangs. */
#define STARVATION_DEADLINES 4

/* A thread as of one moment. */
struct thread_sight {
    double now;        /* seconds */
    uint64_t cpu_ns;   /* that it has had */
    uint64_t progress; /* that it has made */
    bool ready;        /* it runs, or waits for nothing but a core */
};

struct starvation {
    double ready_since; /* it was ready at each look since then, and has had no core */
    double progressed;  /* when its progress last grew */
    uint64_t cpu_ns, progress;
    uint64_t count; /* looks at which it starved */
};

/* To be called some times in a deadline (seconds). After half of one without a core the thread
 * starves. */
void starvation_look(struct starvation *starvation, const struct thread_sight *sight,
                     double deadline);

/* ---- What the two threads of a rank share.
 *
 * The main thread calls control.h. The helper thread owns all sockets (root.c at rank 0, relay.c at
 * the others). The main thread queues its frames in the outbox; the helper delivers at most one
 * answer at a time. At rank 0 the frames of its own main thread are handled like frames of any
 * other rank, only without a socket.
 * ---- */

#define GRACE_SECONDS   0.2 /* for further causes to come in before the verdict */
#define LATE_SHARE      0.1 /* a longer grace where no rank progressed: a share of that time, */
#define LATE_GRACE_MOST 1.0 /* at most so many seconds */
#define LINGER_SECONDS  2.0 /* for the others to learn the verdict before rank 0 closes, */
#define DEAF_SECONDS    1.5 /* unless they have been silent for so long */
#define SILENT_SECONDS  1.0 /* the shortest silence that counts, even if the deadline is shorter */
#define REFUSAL_SECONDS 1.0 /* for ranks that start later to learn that there is no job, */
#define REFUSER_SECONDS 5.0 /* or where rank 0 knew it before any had called */
#define VERDICT_SECONDS 3.0 /* that a failing rank waits for the verdict */
#define UNFIT_SECONDS   2.0 /* for a rank that cannot take part to find rank 0, and tell it */
#define STUCK_SECONDS   1.5 /* that a main thread may ignore the end of the job without a tick */
/* A main thread that knows the end may be busy so long with its report or with memory. It is less
 * than the supervisor's BUSY_SECONDS, so that the helper of rank 0 writes the status before the
 * supervisor kills it. */
#define FREE_SECONDS 12.0
#ifndef CONTROL_FAN_OUT
#define CONTROL_FAN_OUT 32 /* ranks that are connected to one, at most */
#endif

#define SIGNAL_ORPHANED (-1) /* as good as a signal: the supervisor has ended */

/* How far the job is, as this rank knows. */
enum job_state {
    JOB_JOINING,
    JOB_RUNNING, /* all ranks have joined */
    JOB_LATE,    /* no rank has progressed for the timeout: the verdict follows */
    JOB_REFUSED, /* it ended before all ranks had joined */
    JOB_ENDED    /* it ended after all ranks had joined */
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
    double now;                 /* seconds; stands still while the process is stopped */
    double woken;               /* when it last went on after a long stop; 0: never */
    double last_clock, ended_at;
    double reacted_at; /* by main_reacted_at(); 0: the job has not ended */
    double ending_at;  /* when the helper first tried to end the process; 0: it did not */
    uint64_t reacted;  /* the main thread's ticks then */
    int signal;        /* the last that came; 0: none */
    int lost;          /* a rank that died, as the supervisor says; -1: none */
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
    pid_t main_thread;
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
void control_advance_clock(struct control *control);
/* Fills the first two of `own`, for `wake` and `signals`, waits with child_links_poll(), and reads
 * these two. */
#define CONTROL_POLLS 2
void control_poll(struct control *control, struct child_links *children,
                  const struct acceptor *acceptor, struct pollfd *own, int count, int milliseconds);
/* Accepts ranks at the control's listeners. */
void control_accept(struct control *control, struct rank_acceptor *rank_acceptor,
                    rank_acceptor_admit *admit, void *argument);
struct queued_frame *control_take_outbox(struct control *control); /* the caller frees them */
/* The result of an exchange; one that the main thread does not wait for is dropped. */
void control_deliver(struct control *control, const struct share *result);
/* Moves the job from one state to the next, which the main thread sees; does nothing where the job
 * is in another. */
void control_advance(struct control *control, enum job_state from, enum job_state to);
/* Rank 0: what a rank adds after the job has failed. The first of each rank counts. */
void control_keep_postmortem(struct control *control, int rank, const void *data, size_t size);
/* The rank has died, or the connection to it broke; does nothing once the job has ended. */
void control_set_lost(struct control *control, int rank);
/* The job has ended with this status. The first call counts. */
void control_conclude(struct control *control, enum status status);
bool control_is_closing(struct control *control);
/* Ends the process if its main thread does not notice that the job has ended, or does not come to
 * its own end. Each tick of the main thread (tick_on()) gives it more time. A rank other than 0
 * that has noticed the end is left to its supervisor, if it has one.
 *
 * The process ends with the job's own status. Where rank 0 has not reported, that is an error. If
 * this process writes the status, it does so first. A status that was written stays. */
void control_watch_main(struct control *control);
const char *control_signal_name(const struct control *control); /* "interrupted by SIGINT" */

/* For the main thread. */
/* Queues a frame for the helper; takes it. */
void control_post(struct control *control, struct queued_frame *queued);
/* Marks that the main thread knows how the job ended: returns that. Called with the lock held. */
enum status control_notice_end(struct control *control);
/* A frame of this content; takes `bytes`. */
struct queued_frame *queued_frame_take(int type, struct bytes *bytes);

struct queued_frame *queued_frame_create(int type, const void *data, size_t size);
void queued_frames_free(struct queued_frame *queued); /* and all behind it; NULL: none */
void progress_read(struct progress *progress, struct progress_snapshot *snapshot);
/* The same of this rank's main thread, for rank 0: that it starves counts as progress. */
void control_snapshot(struct control *control, struct progress_snapshot *snapshot);

/* ---- root_address.c ---- */

/* Rank 0 listens, unless it does already. Any other rank finds its routes to rank 0, and listens if
 * it may get children. Fails with a sentence. */
enum status control_prepare(struct control *control);

/* ---- An array of words of each rank, whose element-wise maximum goes up the tree.
 *
 * Each relay waits a moment for the words of all ranks behind it, and sends their maxima on. So
 * each connection carries one array, and rank 0 holds one, however many ranks there are. A maximum
 * may take in a rank twice, so words that come on two ways do no harm.
 * ---- */

/* The content of MAXIMA, as a rank sends it: which exchange (the sender's count of them), the ranks
 * whose words these are the maxima of, ascending, and the words. */
struct maxima_message {
    uint32_t number;
    int ranks;                /* how many; at least one */
    struct reader rank, word; /* a u32 of each rank; the words, u64 each; both in the content */
};

/* The words of `rank` alone. */
void maxima_encode(uint32_t number, int rank, const uint64_t *words, size_t count,
                   struct bytes *bytes);
/* False: no rank of a job of `ranks` sends this. */
bool maxima_decode(const void *data, size_t size, int ranks, struct maxima_message *message);

/* Maxima of some ranks' words. */
struct maxima {
    uint32_t number; /* of the exchange */
    int held;        /* ranks whose words are in it; 0: none, and the rest has no meaning */
    bool *has;       /* by rank */
    int ranks;       /* of the job */
    size_t count;    /* words */
    uint64_t *words;
};

void maxima_open(struct maxima *maxima, int ranks);
void maxima_close(struct maxima *maxima);

enum maxima_fit {
    MAXIMA_TAKEN,
    MAXIMA_DIFFER, /* it is of another exchange, or has another number of words */
};

/* Takes a message in. */
enum maxima_fit maxima_take(struct maxima *maxima, const struct maxima_message *message);
/* None are held any more. */
void maxima_drop(struct maxima *maxima);

/* ---- What a rank sends to each of some peers, or gets from each: bytes of one size.
 *
 * Encoded: nothing, or the size of a parcel and then runs of peers that follow each other. A run
 * has a parcel for each of its peers, or one that is the same for all: in a job in which each rank
 * has all others as peers, these are mostly alike. Peers are ascending. Pure, as control.h.
 * ---- */

struct parcel {
    int peer; /* to which it goes, or from which it comes */
    const unsigned char *data;
};

/* `count` parcels of `each` bytes. */
void parcels_encode(const struct parcel *parcels, int count, size_t each, struct bytes *bytes);

/* Encoded parcels, which are read in turn. Points into what was decoded. */
struct parcels {
    int count;   /* parcels in all */
    size_t each; /* bytes of one */
    struct reader rest;
    struct parcel next; /* of the run that is being read, */
    int left;           /* which has so many more, itself included; 0: all were read */
    bool alike;
};

/* Parcels of `rank`, one of `ranks`: it has none for itself. False: no rank sends this. */
bool parcels_decode(const void *data, size_t size, int rank, int ranks, struct parcels *parcels);
/* Takes the next one; false: there is none. parcels->next is the one behind it, if left > 0. */
bool parcels_take(struct parcels *parcels, struct parcel *parcel);
/* The bytes from parcels->next.data on were copied to `to`, where they are read from now on. */
void parcels_rebase(struct parcels *parcels, const unsigned char *to);

/* ---- The helper thread of every rank but 0. ---- */

/* Its whole life: returns when the rank may close. */
void relay_run(struct control *control);

/* ---- The connection of every rank but 0 towards rank 0, and the state that goes with it. ---- */

/* Where a rank stands on its way to rank 0. The state says which connections it has; only
 * uplink.c changes both.
 *
 *               `up` to  `direct` to  what leads on
 *     FIRST     -        -            rank 0 answers: ASKED
 *     ASKED     rank 0   -            its place is there: DIRECT; elsewhere: SENT
 *     SENT      -        -            the parent answers: BELOW; it does not: AGAIN
 *     AGAIN     -        -            rank 0 answers: ASKED
 *     DIRECT    rank 0   -
 *     BELOW     parent   -            the parent is silent, and rank 0 answers: BOTH
 *     BOTH      parent   rank 0       the parent brings heartbeats again: RETURNING
 *     RETURNING parent   rank 0       rank 0 closes `direct`: BELOW
 *     ORPHAN    -        -            rank 0 answers: DIRECT
 *     ISOLATED  any      any          the connections stay: rank 0 may only have been stopped
 *
 * When `up` breaks, or an isolated parent says so before the job has ended, DIRECT (and ASKED)
 * becomes ISOLATED, BOTH becomes DIRECT, and all others become ORPHAN. When `direct` breaks, BOTH
 * becomes BELOW, or ORPHAN if the job has ended. Any state becomes ISOLATED when rank 0 is silent
 * for the deadline, or no process listens there when ORPHAN or BELOW call again.
 *
 * FIRST, AGAIN and ORPHAN call rank 0 again and again, BELOW does while the parent is silent; SENT
 * calls the parent. From DIRECT on, the rank is placed: it may send, and is not sent elsewhere.
 *
 * BOTH keeps the parent's connection because a stopped parent that goes on delivers what lies in
 * it, in both directions; RETURNING, because rank 0 would else keep a connection of every rank
 * after it was stopped itself. */
enum uplink_state {
    UPLINK_FIRST,
    UPLINK_ASKED,
    UPLINK_SENT,
    UPLINK_AGAIN,
    UPLINK_DIRECT,
    UPLINK_BELOW,
    UPLINK_BOTH,
    UPLINK_RETURNING,
    UPLINK_ORPHAN,
    UPLINK_ISOLATED
};

/* GOODBYE is due when the rank is isolated or knows how the job ended. It is sent once the children
 * know it, too. */
enum leave { LEAVE_NONE, LEAVE_DUE, LEAVE_SENT };

struct relay {
    struct control *control;
    struct child_links children;
    struct rank_acceptor rank_acceptor;
    int *behind;          /* by rank: the child through which its last share came; 0: none did */
    struct maxima maxima; /* of ranks behind this one, and of itself; they wait for the others */
    double maxima_since;  /* when the first of them came */

    enum uplink_state uplink;
    struct wire up;                              /* fd -1: what is sent waits until there is one */
    struct wire direct;                          /* fd -1: none */
    struct connector connector;                  /* to rank 0, or in SENT to the parent */
    double call_until;                           /* when rank 0 must have been reached */
    double call_again;                           /* not sooner */
    double wait;                                 /* before the call after the next failure */
    unsigned seed;                               /* of the jitter that shortens it */
    int refusals;                                /* calls in a row at which no process listened, */
    int rejections;                              /* or that another program or job answered */
    const char *outcomes[ADDRESSES_MOST];        /* of the calls at rank 0's addresses, */
    const char *parent_outcomes[ADDRESSES_MOST]; /* and at the addresses of the parent */
    char foreign[160];         /* what was found at one of rank 0's possible ports in its place */
    char parent_isolated[120]; /* why the parent is isolated, as it said; "": it is not. One more
                                  call to rank 0 shows whether this rank is, too */

    enum leave leave;
    double heard, parent_heard;    /* when rank 0 was, and when it was through the parent */
    double interrupted;            /* when a signal was passed on; 0: none */
    double closing_at;             /* 0: not yet */
    double heartbeat_at;           /* of the last heartbeat, */
    struct progress_snapshot sent; /* and its content */
    struct bytes failure;          /* the content of FAILED, if this rank sent it */
};

/* Is this rank one of the few that say what all notice about rank 0? */
bool relay_reports(const struct relay *relay);

static inline bool relay_is_placed(const struct relay *relay)
{
    return relay->uplink >= UPLINK_DIRECT;
}

/* Is rank 0 its parent? */
static inline bool relay_is_direct(const struct relay *relay)
{
    return relay->uplink == UPLINK_ASKED || relay->uplink == UPLINK_DIRECT;
}

/* To rank 0, in the name of `rank`. */
void relay_send(struct relay *relay, int rank, int type, const void *data, size_t size);
void relay_must_leave(struct relay *relay); /* GOODBYE is due */

/* The first call to rank 0. */
void relay_begin(struct relay *relay);
/* Rank 0 has said where the place of this rank is. */
void relay_follow(struct relay *relay, const struct redirect *redirect);
/* `up` is broken, or the parent has no way to rank 0; `why` says what is known of it. */
void relay_lose_parent(struct relay *relay, const char *why);
void relay_lose_direct(struct relay *relay);
/* Rank 0 cannot be reached any more: tells the children, and ends the job for this rank. */
void relay_isolate(struct relay *relay, const char *why);
/* Goes on with all of that, after poll(). */
void relay_tend_uplink(struct relay *relay, short connector_events);

/* ---- maxima.c ---- */

/* Takes the content of MAXIMA, of this rank or of ranks behind it; false: it is malformed. */
bool relay_take_maxima(struct relay *relay, const void *data, size_t size);

/* Sends them on when they are whole. A rank that does not come, or has another way by now, holds
 * the others up for a moment only. */
void relay_tend_maxima(struct relay *relay);

/* ---- The helper thread of rank 0. ---- */

/* Its whole life: returns when rank 0 may close. */
void root_run(struct control *control);

/* ---- Rank 0's table of ranks, and how a job ends. ---- */

enum peer_state {
    PEER_ABSENT,
    PEER_SENT, /* to a parent, which may be rank 0, and where it has not arrived yet */
    PEER_JOINED,
    PEER_DIRECT, /* it has joined, and sends to rank 0 itself while its parent is silent */
    PEER_LEFT
};

struct peer {
    enum peer_state state; /* rank 0 itself: JOINED */
    double heard;          /* when its last frame came */
    double gone;           /* SENT: when its connection to rank 0 broke; 0: it did not */
    struct join_request request;
    int parent;       /* 0: it stays with rank 0 */
    int children;     /* ranks that were sent to it */
    int misses;       /* parents that it could not reach */
    bool unreachable; /* a rank that was sent to it could not reach it */
    bool catches_up;  /* its next progress was made while rank 0 did not hear it */
    bool has_cause;   /* one of root.causes is this rank's */
    struct standing standing;
    unsigned char *share; /* of the exchange that is under way; exchange set in standing */
    size_t share_size;
    uint32_t share_kind, share_number, shares_taken;
};

/* It is connected, through its parent or itself. */
static inline bool peer_is_joined(const struct peer *peer)
{
    return peer->state == PEER_JOINED || peer->state == PEER_DIRECT;
}

struct root {
    struct control *control;
    int ranks;
    struct peer *peers;
    struct child_links children;
    struct rank_acceptor rank_acceptor;
    int *order;           /* ranks in the order in which they called: */
    int ordered, parents; /* how many, and the first that may have a free place */
    int joined;           /* ranks that have joined, or that know why they cannot */
    int shares;           /* ranks whose share of the exchange is here */
    struct maxima maxima; /* of EXCHANGE_MAXIMUM, so far */
    int finished;         /* ranks that have finished, */
    enum status status;   /* and the worst of their statuses */
    bool interrupted;
    enum status refusal; /* why the job does not begin; OK: it does */
    double progressed;   /* when any rank last did */
    bool late;           /* no rank progressed for too long, or one was silent: a verdict is due */
    double stalled;      /* seconds in which no rank had progressed then; 0: others did */
    double verdict_at;   /* 0: none is due */
    double heartbeat_at, closing_at;
    int end_type;             /* FRAME_REFUSED or FRAME_VERDICT: how the job ended, */
    struct notice end_notice; /* for ranks that call later */
    struct cause *causes;     /* in the order in which they came, at most one of each rank */
    int cause_count;
    struct standing *standings; /* for the verdict */
    struct verdict verdict;
};

/* To all other ranks. */
void root_send_all(struct root *root, int type, const void *data, size_t size);
/* To one other rank, on each connection that leads to it. */
void root_send_to(struct root *root, int rank, int type, const void *data, size_t size);
/* The same for what rank 0 finds itself. */
void root_blame(struct root *root, int rank, enum cause_kind kind, enum status status,
                const char *message);
/* Tells all ranks how the job ended (FRAME_VERDICT), or that it does not begin (FRAME_REFUSED). */
void root_end(struct root *root, int type, enum status status, const char *text);
/* The same with root->verdict, which is printed first. */
void root_pronounce(struct root *root, int type);
void root_repeat(struct root *root); /* sends that again, for a rank that has called since */

/* ---- Exchanges between all ranks, through rank 0. ---- */

/* Takes a rank's share, and sends the result when it was the last; false: it is malformed. */
bool root_take_share(struct root *root, int rank, const unsigned char *data, size_t size);

/* The same for a part of EXCHANGE_MAXIMUM, of some ranks, which `rank` sends. */
bool root_take_maxima(struct root *root, int rank, const unsigned char *data, size_t size);

/* ---- root_join.c ---- */

void root_begin(struct root *root);
/* A rank_acceptor_admit: takes in the process at the other end, sends it to a parent or refuses
 * it. */
void root_admit(void *root, struct wire *wire, const struct join_request *request);
/* A rank that was sent to a parent has arrived there. */
void root_attach(struct root *root, int rank);
/* While ranks join: begins the job when all have, gives it up when one fails or is late. */
void root_check_joining(struct root *root);

#endif

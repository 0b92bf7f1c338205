/*
 * control.h - the control plane: how the ranks of a job communicate outside of what is measured.
 *
 * The ranks are a tree of authenticated connections with rank 0 at its root, so that no rank is
 * connected to all. Each rank has a helper thread for its connections, so it reports, and forwards
 * the reports of its children, also while its main thread is stuck. Up the tree go shares of
 * exchanges, results, failures and heartbeats, from which rank 0 knows which rank is slow, silent
 * or dead. Down it go the results of exchanges and the end of the job. A rank whose parent is dead
 * or silent connects to rank 0 itself.
 *
 * The end. The first failure ends the job: rank 0 waits a moment for further reports, prints the
 * cause on stderr, and sends all ranks the verdict: one exit status for all survivors. Each call
 * below returns the verdict's status as soon as there is one. No call waits for ever: the deadline
 * limits the time in which no rank progresses, a rank that cannot reach rank 0 any more ends by
 * itself, and the helper thread ends a process whose main thread does not react to the end. A main
 * thread that ticks reacts: it may be freeing much.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_CONTROL_H
#define CCTEST_CONTROLPLANE_CONTROL_CONTROL_H

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/failure.h"
#include "base/host.h"
#include "base/net/net.h"
#include "base/rank_state.h"
#include "base/status.h"

/* ---- exchange.c ---- */

#define POSTMORTEM_MOST ((size_t)64 << 10) /* bytes that a rank adds after the job has failed */

enum exchange {
    EXCHANGE_ALLGATHER,
    EXCHANGE_GATHER,
    EXCHANGE_PEERS,   /* each rank gets what is addressed to it, and nothing else */
    EXCHANGE_MAXIMUM, /* control_maximum() */
    EXCHANGES
};

/* One rank's share of an exchange each, in rank order; of EXCHANGE_PEERS one blob, this rank's
 * parcels (parcels.h). Freed with blobs_free(). */
struct blobs {
    int count;
    void **data; /* NULL where the size is 0 */
    size_t *size;
};
void blobs_free(struct blobs *blobs);

/* Calls `decode` for the share of each rank in turn. It returns false for invalid data, as does a
 * share that is too short or too long for it; then fails with "rank 3 sent invalid <what> data".
 * Rank 3 is the reason, unless it is `own`, the rank that reads. */
enum status blobs_read(const struct blobs *blobs, int own, const char *what,
                       bool (*decode)(void *argument, int rank, struct reader *reader),
                       void *argument);

/* ---- What a bootstrap gives a rank, and what else it needs to join its job. ---- */

/* A rank's place in its job, and its way to rank 0, as the bootstrap gives them. */
struct membership {
    int rank, ranks;
    /* Where rank 0's control plane listens: as it said itself, or (root_home.count 0) at a host and
     * a port that all ranks know. */
    struct address_list root_home;
    char root_host[256];
    int root_port;
    int spare_ports; /* so many further ones after root_port may be tried, in their order: rank 0
                        listens at the first that is free, and the others look for it at all */
    const char *interface;      /* the only one at which ranks may listen; NULL: any */
    struct listeners listeners; /* rank 0: the listeners that are open already */
    unsigned char secret[SECRET_BYTES];
    bool has_secret;       /* false: protects against accidents only */
    bool own_process;      /* the rank is a process of its own: it kills and watches signals itself
                                 (of ranks that are threads, rank 0 watches for all) */
    bool started_here;     /* by the process whose exit status the job's is; else it is rank 0's */
    bool by_hand;          /* the user started it as this rank, perhaps in a terminal of its own */
    bool names_late;       /* name servers learn the names of the job's hosts only as these start */
    pid_t supervisor;      /* the parent: the rank ends when it does; 0: the rank goes on */
    const char *bootstrap; /* "local", "tcp", "pmix", "pmi" */
    /* This rank's place among the ranks of its node, and how many they are, as the launcher counts
     * them; node_ranks 0: it did not say. */
    int node_rank, node_ranks;
    /* Called at rank 0 when all ranks have joined; NULL: not called. */
    void (*joined)(void *argument);
    void *joined_argument;
};

struct control_config {
    double timeout;      /* seconds without progress of any rank, at most */
    const char *options; /* canonical text of everything that all ranks must agree on */
    int fan_out; /* ranks that are connected to one, at most; 0: the usual (tests want others) */
    /* Rank 0: why there can be no job, which it has said, and now tells all ranks that call; or
     * NULL. control_join() returns its status then. */
    const struct failure *refusal;
    /* Rank 0: called by the helper, again and again, with what its main thread does; or NULL. */
    void (*running)(void *argument, const struct progress_snapshot *now);
    void *running_argument;
    /* Where this process writes the status of the job: called before the helper ends it. Writes
     * the status, unless one was written, and returns what was. */
    enum status (*conclude)(void *argument, enum status status);
    void *conclude_argument;
};

struct control;

/* Joins the job: rank 0 listens, the others connect, both prove the secret, and all agree on
 * version, options and world size. Blocks until all ranks have joined, or for the deadline after
 * the last that did. Errors: said in one sentence by the rank that finds it (port taken, host
 * unknown, no process there, a wrong secret, another version, options that differ, rank taken
 * twice, ranks missing: which). At rank 0 *control is there even so, for control_errors(),
 * control_rejected() and control_close() only; else it is NULL. bootstrap_run() has initialised
 * libsodium. */
enum status control_join(const struct membership *membership, const struct control_config *config,
                         struct control **control);

int control_rank(const struct control *control);
int control_ranks(const struct control *control);
const struct member *control_members(const struct control *control); /* control_ranks() of them */

/* Sends `share`, this rank's <what> data, to all ranks, or (EXCHANGE_GATHER) to rank 0. `blobs` is
 * empty at the others then. EXCHANGE_PEERS: see exchange_with_peers(). Frees the bytes of `share`.
 * All ranks call it in the same order. It blocks until all ranks have called it, whatever the kind,
 * and returns the verdict's status when the job ends meanwhile. */
enum status control_exchange(struct control *control, enum exchange kind, struct bytes *share,
                             const char *what, struct blobs *blobs);

/* At rank 0 each word becomes the greatest that any rank has in its place; the others keep theirs.
 * All ranks have equally many words: at most CONTROL_WORDS_MOST (exchange_maximum() has no limit).
 * The ranks between a rank and rank 0 reduce them on the way, so no rank holds the words of many.
 * Called and ended as control_exchange(). */
#define CONTROL_WORDS_MOST ((size_t)32 << 10)
enum status control_maximum(struct control *control, uint64_t *words, size_t count,
                            const char *what);

/* From now on an exchange that waits calls watch(argument) every 20 ms. If that fails, with fail(),
 * the exchange returns its status at once. NULL: no longer. */
void control_watch(struct control *control, enum status (*watch)(void *argument), void *argument);

/* Has the job ended? Cheap: one relaxed load. */
bool control_ended(const struct control *control);

/* Has no rank of the job progressed for the timeout? A rank that waits outside of a schedule then
 * fails, and names the rank that it waits for: rank 0 gives the verdict in a moment. */
bool control_is_late(const struct control *control);

/* Is `peer` known to be dead? Cheap: one relaxed load. Rank 0 knows it of every rank, another one
 * of its children and of what its supervisor reports. All others learn it from the verdict, which
 * follows within a moment and ends the job. */
bool control_lost(const struct control *control, int peer);
struct progress *control_progress(struct control *control);
/* Enters a phase, and reports it to rank 0 at once: the rank may die in it. */
void control_enter(struct control *control, enum phase phase);

/* Names an algorithm choice for reports: "alltoall pairwise". Called before the run by each
 * rank. */
void control_name_algorithm(struct control *control, int index, const char *text);

/* This rank failed (its log holds the sentence): tells rank 0 and waits for the verdict. Returns
 * the job's status. */
enum status control_fail(struct control *control, enum status status);

/* This rank is finished, with its own status (STATUS_OK, WRONG_DATA, SLOW). Waits until all are, or
 * the job ends otherwise. Returns the job's status, the same on every rank: the worst. One of
 * these three says that all ranks have finished. */
enum status control_finish(struct control *control, enum status status);

/* After the job has failed: sends rank 0 what this rank can add, at most POSTMORTEM_MOST bytes.
 * Best effort. Frees the bytes of `share`. */
void control_send_postmortem(struct control *control, struct bytes *share);

/* The same at rank 0: waits for what each rank r with from[r] adds, for `seconds` at most. A rank
 * that sends nothing in this time has size 0. The bytes are to be checked. */
void control_gather_postmortems(struct control *control, const bool *from, double seconds,
                                struct blobs *blobs);

/* The job's errors, for JSON: at rank 0, after control_finish() or control_fail(), or after
 * control_join() has failed. Owned by control. */
int control_errors(const struct control *control, const struct job_error **errors);

/* Connections that were none of the job's, and that this rank's control plane rejected so far.
 * Ranks other than 0 listen only while ranks join. */
uint64_t control_rejected(const struct control *control);

/* Ends the helper thread and closes the connection. NULL is allowed. */
void control_close(struct control *control);

/* ---- Messages of a known length over a non-blocking socket.
 *
 * A frame is four bytes of length, four that name the rank that it comes from, one byte of type,
 * and that many bytes of content, all encrypted but the length (see base/net/net.h). A frame may
 * pass through other ranks, so the rank that it comes from need not be the one at the other end.
 * What cannot be sent yet waits in memory, so that the helper thread never blocks on a peer.
 * ---- */

#define FRAME_MOST ((size_t)64 << 20) /* bytes of one frame's content */

/* A number keeps its meaning: a frame that went leaves a gap, and a new one gets the next. */
enum frame_type {
    FRAME_WELCOME = 1, /* from rank 0: all have joined; the list of them */
    FRAME_REFUSED,     /* from rank 0: the job does not begin; why */
    FRAME_HEARTBEAT,   /* both ways: I live; to rank 0: and this is my progress */
    FRAME_SHARE,       /* to rank 0: my part of an exchange */
    FRAME_RESULT,      /* from rank 0: what the exchange gave */
    FRAME_FAILED,      /* to rank 0: my failure */
    FRAME_FINISHED,    /* to rank 0: I am through, with this status */
    FRAME_VERDICT,     /* from rank 0: the job has ended, with this status */
    FRAME_GOODBYE,     /* to rank 0: I know that the job has ended; my closing is no loss */
    FRAME_REDIRECT,    /* from rank 0: the parent, and where it listens */
    FRAME_ATTACHED,    /* to rank 0: I am connected to my parent (perhaps rank 0 itself) */
    FRAME_LOST,       /* to rank 0, in the name of a rank whose connection to its parent broke; with
                          a byte: it carried data that failed authentication. Of a fleet: why, and
                          whether its process or connection ended */
    FRAME_RETURNED,   /* to rank 0: my parent speaks again; you may close this connection */
    FRAME_ISOLATED,   /* from a parent: it cannot reach rank 0 any more; why */
    FRAME_LATE = 16,  /* from rank 0: no rank has progressed for the timeout; the verdict follows */
    FRAME_DELIVERY,   /* from rank 0, to one rank: what the exchange gave for it alone */
    FRAME_POSTMORTEM, /* to rank 0, after the job has failed: what I can add */
    FRAME_MAXIMA,     /* to rank 0: the part of some ranks in an exchange of maxima */
    FRAME_AGENT,      /* of a fleet, to rank 0: where my workers listen */
    FRAME_ORDER,      /* of a fleet, from rank 0, to one agent: start a worker */
    FRAME_CANCEL,     /* of a fleet, from rank 0, to one agent: end that worker */
    FRAME_REPORT,     /* of a fleet, to rank 0: my worker has ended */
    FRAME_TYPES
};

struct frame {
    int type, rank; /* that it comes from */
    const unsigned char *data;
    size_t size;
};

enum frame_state {
    FRAME_PART,   /* more bytes are needed */
    FRAME_WHOLE,  /* *frame is set */
    FRAME_BAD,    /* no rank sends this */
    FRAME_FORGED, /* it failed authentication: the connection counts as broken */
};

/* The words for data in that state. */
#define FORGED                                                                                     \
    "failed authentication (changed on the way by a faulty NIC, by memory, or by an attacker)"

struct wire {
    int fd;
    struct aead_keys keys;
    struct bytes in, out;
    size_t encrypted; /* bytes of `out` that are encrypted; the ones behind them wait */
    size_t sent;      /* bytes of `out` that have left */
    size_t taken;     /* bytes of `in` that were given out as frames */
};

/* Moves the wire to this socket, which it takes, with the keys that the handshake there gave.
 * Frames that were put before go first, unless another socket has begun to send them. */
void wire_connect(struct wire *wire, int fd, const struct aead_keys *keys);
/* Queues a frame; false: it is larger than FRAME_MOST. Only what rank 0 gathers can be. */
bool wire_put(struct wire *wire, int rank, int type, const void *data, size_t size);
/* Is there anything that has not been sent? */
bool wire_pending(const struct wire *wire);
/* Sends what the socket takes now; false: the connection is broken. */
bool wire_flush(struct wire *wire);
/* Receives what is there now; false: the connection is closed or broken (frames that came before
 * can still be taken). */
bool wire_fill(struct wire *wire);
/* The next frame, valid until the next call. */
enum frame_state wire_take(struct wire *wire, struct frame *frame);
/* Sends a frame to a process that does not stay, and closes the connection. */
void wire_dismiss(struct wire *wire, int type, const struct bytes *bytes);
void wire_close(struct wire *wire); /* socket and memory; fd -1 is allowed */

/* ---- The ranks that are connected to this one, each with the ranks behind it.
 *
 * The ranks form a tree, so that no rank holds the connections of all. A frame from a child may
 * come from any rank behind it; a frame to a child goes to all of them.
 * ---- */

enum link_state {
    LINK_NEW, /* no frame has come */
    LINK_KNOWN,
    LINK_THROUGH /* the rank and all behind it know that the job has ended */
};

struct child_link {
    struct wire wire;
    int rank;     /* whose connection it is */
    double heard; /* when its last frame came */
    enum link_state state;
    bool direct; /* at rank 0: the rank has a parent, which was silent */
    bool broken; /* nothing can be sent any more; received frames are still to be read */
};

struct child_links {
    struct child_link *list;
    int count;
    /* The last child_links_poll() made these: */
    struct pollfd *polls;   /* of all sockets; valid until the next child_links_poll(), as are */
    struct pollfd *pending; /* the acceptor's, a part of them, */
    struct pollfd *below;   /* and those of the ranks, the first `watched` of `list` */
    int watched;
    int room; /* of `polls` */
};

/* Takes the wire that is in `like`. The link stays at its place until the next
 * child_links_poll(). */
struct child_link *child_links_add(struct child_links *children, const struct child_link *like);
/* poll() for the caller's `own` sockets, for those of `acceptor`, which acceptor_serve() finds at
 * `pending`, and for those of the ranks. */
void child_links_poll(struct child_links *children, const struct acceptor *acceptor,
                      struct pollfd *own, int count, int milliseconds, double now);
/* The events of this wire for poll(); `sends`: also that its socket takes what was put. */
struct pollfd wire_watch(const struct wire *wire, bool sends);
/* To one, or to all of them, in the name of `rank`. */
void child_link_send(struct child_link *child, int rank, int type, const void *data, size_t size);
void child_links_send(struct child_links *children, int rank, int type, const void *data,
                      size_t size);
void child_links_flush(struct child_links *children);

/* Why a connection ends. */
enum link_end {
    LINK_BROKE,
    LINK_INVALID, /* a frame that no rank sends */
    LINK_FORGED,  /* data that failed authentication */
};

struct child_link_ops {
    /* A frame came; false: it is invalid. */
    bool (*received)(void *argument, struct child_link *child, const struct frame *frame);
    /* Nothing more can be read. It is closed after this. */
    void (*lost)(void *argument, struct child_link *child, enum link_end end);
};
/* Reads the frames of the children, after child_links_poll(). */
void child_links_serve(struct child_links *children, double now, const struct child_link_ops *ops,
                       void *argument);
/* The connection of `rank`; NULL: there is none. */
struct child_link *child_links_find(const struct child_links *children, int rank);
/* Closes the connection of `rank`, if there is one. */
void child_links_drop(struct child_links *children, int rank);
/* Does each know that the job has ended, or has it been silent for `deaf` seconds? */
bool child_links_through(const struct child_links *children, double now, double deaf);
bool child_links_pending(
    const struct child_links *children); /* is there anything that was not sent? */
void child_links_close(struct child_links *children);

/* ---- An exchange from encoding to decoding: what ranks say of themselves before and
 * between the measurements.
 * ---- */

/* control_exchange(), then blobs_read(): nothing is decoded where the exchange gives nothing. */
enum status exchange_decode(struct control *control, enum exchange kind, struct bytes *share,
                            const char *what,
                            bool (*decode)(void *argument, int rank, struct reader *reader),
                            void *argument);

/* Writes this rank's words [first, first + count) to `to`. */
typedef void words_lay(const void *argument, size_t first, size_t count, uint64_t *to);

/* As control_maximum(), for any number of words: piece by piece, since each connection of a relay
 * holds one in its buffer. `words`: room for `count` maxima, at rank 0; the others hold a piece of
 * their words at a time. */
enum status exchange_maximum(struct control *control, words_lay *lay, const void *argument,
                             size_t count, const char *what, uint64_t *words);

/* Sends `each` bytes of <what> data to each of `peers`, in their order in `mine`, and receives as
 * many from each into `theirs`. Each parcel goes to its peer alone, so a few peers of each rank
 * cost little in jobs of any size. All ranks call it in the same order as their other exchanges, if
 * need be with no peers. Errors: a peer that does not exchange with this rank, naming it; else as
 * control_exchange(). */
enum status exchange_with_peers(struct control *control, const int *peers, int count,
                                const void *mine, size_t each, void *theirs, const char *what);

/* ---- What a rank sends to join: version, rank, host and options; and whether it fits. ---- */

/* The purpose of connections whose hellos are join requests (base/net/net.h). */
#define CONTROL_PURPOSE "control"

/* Why a rank calls rank 0. */
enum join_reason {
    JOIN_FIRST,
    JOIN_AGAIN,    /* the parent that it was sent to could not be reached */
    JOIN_ORPHANED, /* its parent is silent or gone */
    JOIN_REASONS
};

struct join_request {
    char version[32];
    int ranks, rank;
    struct host_id host;
    long pid;
    unsigned char digest[32]; /* of the whole text of the options */
    char options[600];        /* its beginning */
    struct address_list home; /* where it listens for ranks to be below it; count 0: nowhere */
    enum join_reason reason;
};

/* All but where it listens, which is left at nowhere, and why it comes. */
void join_request_fill(struct join_request *request, const struct membership *membership,
                       const char *options);
/* Writes at most HANDSHAKE_HELLO_MOST bytes; returns how many. */
size_t join_request_encode(const struct join_request *request, unsigned char *bytes);
bool join_request_decode(const void *bytes, size_t size, struct join_request *request);

/* Is the hello a join request of `rank`? */
bool join_request_is_of(int rank, const void *hello, size_t size);

/* Are both of the same process? */
bool join_request_same(const struct join_request *a, const struct join_request *b);
/* Does `pending` fit rank 0, which is `root`? If not: a sentence for both, and the status. */
enum status join_request_check(const struct join_request *root, const struct join_request *pending,
                               char *refusal, size_t size);

/* ---- rank_acceptor.c ---- */

#define RANKS_PENDING_MOST 128 /* connections that a rank acceptor authenticates at a time */

typedef void rank_acceptor_admit(void *argument, struct wire *wire,
                                 const struct join_request *request);
struct rank_acceptor {
    /* Set by the owner before rank_acceptor_open(); of the acceptor its listeners, secret, purpose
     * and `rejected`: */
    struct acceptor acceptor;
    rank_acceptor_admit *admit; /* takes the wire of a process that knows the secret */
    void *argument;
};
/* `request`: the owner's own, for its hello. */
void rank_acceptor_open(struct rank_acceptor *rank_acceptor, const struct join_request *request,
                        double now);
/* Closes the listeners and drops all pending connections. Allowed more than once. */
void rank_acceptor_close(struct rank_acceptor *rank_acceptor);

/* ---- The content of the control plane's frames: encoded and decoded.
 *
 * Pure, so that every byte that comes from elsewhere is judged in one place, and that place can be
 * fuzzed. Each *_decode() returns false unless the bytes are exactly one message that a rank of
 * this job may have written; what it fills in is then within its bounds.
 * ---- */

/* FAILED: what went wrong on `rank`, one of `ranks`. */
void failure_encode(const struct failure *failure, struct bytes *bytes);
bool failure_decode(const void *data, size_t size, int rank, int ranks, struct failure *failure);

/* A status and a sentence about it: FINISHED, REFUSED, VERDICT and ISOLATED. */
struct notice {
    enum status status;
    bool personal;           /* REFUSED: this rank is the cause and reports it; else rank 0 does */
    char text[MESSAGE_MOST]; /* "": nothing */
};
void notice_encode(const struct notice *notice, struct bytes *bytes);
bool notice_decode(const void *data, size_t size, struct notice *notice);

/* WELCOME: the list of all ranks. `members`: room for `ranks`. */
void members_encode(const struct member *members, int ranks, struct bytes *bytes);
bool members_decode(const void *data, size_t size, int ranks, struct member *members);

/* HEARTBEAT, from a rank. */
void snapshot_encode(const struct progress_snapshot *snapshot, struct bytes *bytes);
bool snapshot_decode(const void *data, size_t size, struct progress_snapshot *snapshot);

/* REDIRECT: the parent of the rank, and where that parent listens; 0: rank 0. */
struct redirect {
    int parent;
    struct address_list home;
};
void redirect_encode(const struct redirect *redirect, struct bytes *bytes);
bool redirect_decode(const void *data, size_t size, int ranks, struct redirect *redirect);

/* SHARE, and RESULT: what stands in front of a rank's part of an exchange, and of what comes of it.
 */
struct share {
    uint32_t kind, number; /* enum exchange; the rank's count of exchanges */
    const unsigned char *data;
    size_t size;
};
void share_encode(const struct share *share, struct bytes *bytes);
bool share_decode(const void *data, size_t size, struct share *share); /* points into `data` */

/* DELIVERY: the rank that it is for, and its result. */
void delivery_encode(int to, const struct share *result, struct bytes *bytes);
bool delivery_decode(const void *data, size_t size, int ranks, int *to, struct share *result);

/* A RESULT's data: `count` shares, written one after the other behind their number (a u32). What
 * was decoded is freed with blobs_free(), also after false. */
void blobs_encode_next(const void *data, size_t size, struct bytes *bytes);
bool blobs_decode(const void *data, size_t size, int count, struct blobs *blobs);

/* ---- root_address.c ---- */

struct root_address {
    const struct membership *membership;
    struct address routes[ADDRESSES_MOST];
    int count;
    int spare_port;  /* which of rank 0's spare ports `routes` have; 0: its first */
    char place[320]; /* for a human: "node1 port 4711" */
};

/* Finds them; `membership` stays the caller's. A name server has `seconds` to answer. Fails with a
 * sentence. */
enum status root_address_find(const struct membership *membership, double seconds,
                              struct root_address *root);

/* Rank 0 listens where the others look for it, unless membership->listeners do already. */
enum status root_address_listen(const struct membership *membership, struct listeners *listeners);

/* Turns to the next of rank 0's spare ports; false: all were tried, or there are none, and the
 * first is next. */
bool root_address_next_port(struct root_address *root);

#endif

/*
 * root_state.h - rank 0's table of ranks, and how a job ends.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_ROOT_STATE_H
#define CCTEST_CONTROLPLANE_CONTROL_ROOT_STATE_H

#include <poll.h>

#include "controlplane/control/children.h"
#include "controlplane/control/join_request.h"
#include "controlplane/control/mailbox.h"
#include "controlplane/control/maxima.h"
#include "controlplane/control/messages.h"
#include "controlplane/control/rank_acceptor.h"
#include "controlplane/verdict/verdict.h"

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
    struct pollfd *polls;
    int polls_room;
    int *order;           /* ranks in the order in which they called: */
    int ordered, parents; /* how many, and the first that may have a free place */
    int joined;           /* ranks that have joined, or that know why they cannot */
    int shares;           /* ranks whose share of the exchange is here */
    struct maxima maxima; /* of EXCHANGE_MAXIMUM, so far */
    int finished;         /* ranks that have finished, */
    enum status status;   /* and the gravest of their statuses */
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
/* Remembers what is wrong with a rank; the verdict follows after a moment. The first cause of each
 * rank counts. */
void root_add_cause(struct root *root, int rank, enum cause_kind kind,
                    const struct failure *failure);
/* The same for what rank 0 finds itself. */
void root_blame(struct root *root, int rank, enum cause_kind kind, enum status status,
                const char *message);
/* Tells all ranks how the job ended (FRAME_VERDICT), or that it does not begin (FRAME_REFUSED). */
void root_end(struct root *root, int type, enum status status, const char *text);
/* The same with root->verdict, which is printed first. */
void root_pronounce(struct root *root, int type);
void root_repeat(struct root *root); /* sends that again, for a rank that has called since */
/* Closes the listeners once no rank may turn to rank 0 any more. Allowed more than once. */
void root_tend_rank_acceptor(struct root *root);

#endif

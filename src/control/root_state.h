/*
 * root_state.h - rank 0's table of ranks, and how a job ends.
 */
#ifndef CCTEST_CONTROL_ROOT_STATE_H
#define CCTEST_CONTROL_ROOT_STATE_H

#include <poll.h>

#include "control/children.h"
#include "control/join_request.h"
#include "control/mailbox.h"
#include "control/messages.h"
#include "control/rank_acceptor.h"
#include "verdict/verdict.h"

enum peer_state {
    PEER_ABSENT,
    PEER_SENT, /* to another rank, below which it has a place */
    PEER_JOINED,
    PEER_LEFT
};

struct peer {
    enum peer_state state; /* rank 0 itself: JOINED */
    bool blamed;           /* it has a cause already */
    double heard;          /* when it last gave a sign of life */
    struct join_request request;
    int parent;    /* where it was sent; 0: it stays with rank 0 */
    int children;  /* that were sent to it */
    int misses;    /* parents that it could not reach */
    bool avoided;  /* somebody could not reach it */
    bool adopted;  /* it speaks to rank 0 itself, since its parent does not */
    bool returned; /* what it says first was done while it could not be heard */
    struct standing standing;
    unsigned char *share; /* of the exchange that is under way; exchange set in standing */
    size_t share_size;
    uint32_t share_kind, share_number, shares_taken;
};

struct root {
    struct control *control;
    int ranks;
    struct peer *peers;
    struct child_links children;
    struct rank_acceptor rank_acceptor;
    struct pollfd *polls;
    int polls_room;
    int *order;           /* ranks in the order in which they came: */
    int ordered, parents; /* how many, and the first that may have a free place */
    int joined;           /* ranks that have, or that know why they cannot */
    int shares;           /* ranks whose share of the exchange is here */
    int finished;         /* ranks that have, */
    enum status status;   /* and what they said, combined */
    bool interrupted;
    enum status refusal; /* there is no job: its status (OK: none) */
    double progressed;   /* when any rank last did */
    bool late;           /* for too long none had, or one was silent: the verdict is due, */
    double stalled;      /* and for how long none had (0: they do progress) */
    double verdict_at;   /* 0: none is due */
    double beat, closing_at;
    int last_type;           /* FRAME_REFUSED or FRAME_VERDICT: how it ended, */
    struct notice last_word; /* for those who turn up later */
    struct cause *causes;    /* at most one of each rank */
    int cause_count;
    struct standing *standings; /* for the verdict */
    struct verdict verdict;
};

/* To all other ranks. */
void root_send_all(struct root *root, int type, const void *data, size_t size);
/* Remembers what is wrong with a rank; the verdict follows after a moment. The first cause of each
 * rank counts. */
void root_add_cause(struct root *root, int rank, enum cause_kind kind,
                    const struct failure *failure);
/* The same for what rank 0 finds itself. */
void root_blame(struct root *root, int rank, enum cause_kind kind, enum status status,
                const char *message);
/* Tells all ranks how the job ended (FRAME_VERDICT), or that it does not begin (FRAME_REFUSED). */
void root_end(struct root *root, int type, enum status status, const char *text);
/* The same of what stands in the verdict, which the user is told first. */
void root_pronounce(struct root *root, int type);
void root_repeat(struct root *root); /* tells it again, for one who has come meanwhile */
/* Closes the listeners once no rank may turn to rank 0 any more. Allowed more than once. */
void root_tend_rank_acceptor(struct root *root);

#endif

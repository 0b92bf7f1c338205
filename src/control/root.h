/*
 * root.h - what the files of rank 0's side share: root.c (the ranks, the verdict,
 * the loop), root_join.c (who may join) and root_exchange.c (allgather and its like).
 */
#ifndef CCTEST_CONTROL_ROOT_H
#define CCTEST_CONTROL_ROOT_H

#include "control/children.h"
#include "control/mailbox.h"

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
    int parent;         /* where it was sent; 0: it stays with rank 0 */
    int children;       /* that were sent to it */
    int misses;         /* parents that it could not reach */
    bool avoided;       /* somebody could not reach it */
    bool adopted;       /* it speaks to rank 0 itself, since its parent does not */
    bool returned;      /* what it says first was done while it could not be heard */
    uint64_t strangers; /* that it has told of */
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
/* Remembers what is wrong with a rank; the verdict follows after a moment. */
void root_blame(struct root *root, int rank, enum cause_kind kind, enum status status,
                const char *message);
/* Tells all ranks how the job ended (FRAME_VERDICT), or that it does not begin (FRAME_REFUSED). */
void root_end(struct root *root, int type, enum status status, const char *text);
/* The same of what stands in the verdict, which the user is told first. */
void root_pronounce(struct root *root, int type);
void root_repeat(struct root *root); /* tells it again, for one who has come meanwhile */

/* root_join.c */
void root_begin(struct root *root);
void root_admit(void *root, struct wire *wire,
                const struct join_request *request); /* a rank_acceptor_admit */
void root_check_joining(struct root *root);
/* A rank that was sent away has arrived. */
void root_attach(struct root *root, int rank);

/* root_exchange.c: takes a rank's share; false: it is malformed. */
bool exchange_share(struct root *root, int rank, const unsigned char *data, size_t size);

#endif

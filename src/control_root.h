/*
 * control_root.h - what the files of rank 0's side share: control_root.c (the ranks, the verdict,
 * the loop), control_root_join.c (who may join) and control_exchange.c (allgather and its like).
 */
#ifndef CCTEST_CONTROL_ROOT_H
#define CCTEST_CONTROL_ROOT_H

#include "control_internal.h"

enum peer_state { PEER_ABSENT, PEER_JOINED, PEER_LEFT };

struct peer {
    enum peer_state state; /* rank 0 itself: JOINED, without a wire */
    struct wire wire;
    bool broken;  /* it cannot be sent to any more */
    bool blamed;  /* it has a cause already */
    double heard; /* when it last gave a sign of life */
    struct hello hello;
    struct standing standing;
    unsigned char *share; /* of the exchange that is under way; exchange set in standing */
    size_t share_size;
    uint32_t share_kind, share_number;
};

struct root {
    struct control *control;
    int ranks;
    struct peer *peers;
    struct lobby *lobby;
    struct pollfd *polls;
    int joined;         /* ranks that have, or that know why they cannot */
    int shares;         /* ranks whose share of the exchange is here */
    int finished;       /* ranks that have, */
    enum status status; /* and what they said, combined */
    bool interrupted;
    enum status refusal;     /* there is no job: its status (OK: none), */
    char refusal_text[1024]; /* and why */
    double progressed;       /* when any rank last did */
    double verdict_at;       /* 0: none is due */
    double beat, closing_at;
    struct cause *causes; /* at most one of each rank */
    int cause_count;
    struct standing *standings; /* for the verdict */
    struct verdict verdict;
};

void root_send(struct root *root, int rank, int type, const void *data, size_t size);
void root_send_all(struct root *root, int type, const void *data, size_t size);
void root_flush(struct root *root);
/* Remembers what is wrong with a rank; the verdict follows after a moment. */
void root_blame(struct root *root, int rank, enum cause_kind kind, enum status status,
                const char *message);
/* Tells all ranks how the job ended. */
void root_end(struct root *root, enum status status, const char *headline);

/* control_root_join.c */
void root_begin(struct root *root);
void root_admit(void *root, int fd, const struct hello *hello); /* a lobby_admit */
void root_check_joining(struct root *root);

/* control_exchange.c: takes a rank's share; false: it is malformed. */
bool exchange_share(struct root *root, int rank, const unsigned char *data, size_t size);

#endif

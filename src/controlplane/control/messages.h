/*
 * messages.h - the content of the control plane's frames: encoded and decoded.
 *
 * Pure, so that every byte that comes from elsewhere is judged in one place, and that place can be
 * fuzzed. Each *_decode() returns false unless the bytes are exactly one message that a rank of
 * this job may have written; what it fills in is then within its bounds.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_MESSAGES_H
#define CCTEST_CONTROLPLANE_CONTROL_MESSAGES_H

#include "base/bytes.h"
#include "base/failure.h"
#include "base/status.h"
#include "controlplane/control/blobs.h"
#include "base/net/address.h"
#include "base/rank_state.h"

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

/* A RESULT's data: `count` shares, written one after the other behind blobs_encode_count(). What
 * was decoded is freed with blobs_free(), also after false (it may be memory that lacks). */
void blobs_encode_count(int count, struct bytes *bytes);
void blobs_encode_next(const void *data, size_t size, struct bytes *bytes);
bool blobs_decode(const void *data, size_t size, int count, struct blobs *blobs);

#endif

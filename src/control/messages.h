/*
 * messages.h - what stands in the frames of the control plane: to bytes and back.
 *
 * Pure, so that every byte that comes from elsewhere is judged in one place, and that place can be
 * fuzzed. Each *_decode() returns false unless the bytes are exactly one message that a rank of
 * this job may have written; what it fills in is then within its bounds.
 */
#ifndef CCTEST_CONTROL_MESSAGES_H
#define CCTEST_CONTROL_MESSAGES_H

#include "base/bytes.h"
#include "base/failure.h"
#include "base/status.h"
#include "control/blobs.h"
#include "net/address.h"
#include "verdict/rank_state.h"

/* FAILED: what went wrong on `rank`, one of `ranks`. */
void failure_encode(const struct failure *failure, struct bytes *bytes);
bool failure_decode(const void *data, size_t size, int rank, int ranks, struct failure *failure);

/* A status and a sentence about it: FINISHED, REFUSED, VERDICT and ISOLATED. */
struct notice {
    enum status status;
    bool personal; /* REFUSED: it is this rank's own doing; if not, rank 0 says it for all */
    char text[MESSAGE_MOST]; /* "": nothing */
};
void notice_encode(const struct notice *notice, struct bytes *bytes);
bool notice_decode(const void *data, size_t size, struct notice *notice);

/* WELCOME: who all are. `members`: room for `ranks`. */
void members_encode(const struct member *members, int ranks, struct bytes *bytes);
bool members_decode(const void *data, size_t size, int ranks, struct member *members);

/* PULSE, from a rank. */
void snapshot_encode(const struct progress_snapshot *snapshot, struct bytes *bytes);
bool snapshot_decode(const void *data, size_t size, struct progress_snapshot *snapshot);

/* REDIRECT: under which rank there is a place, and where that rank listens. 0: it stays here. */
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

/* A RESULT's data: `count` shares, written one after the other behind blobs_encode_count(). What
 * was decoded is freed with blobs_free(), also after false (it may be memory that lacks). */
void blobs_encode_count(int count, struct bytes *bytes);
void blobs_encode_next(const void *data, size_t size, struct bytes *bytes);
bool blobs_decode(const void *data, size_t size, int count, struct blobs *blobs);

#endif

/*
 * file_plan.h - the schedules of all ranks for one collective, as a file has them.
 *
 * An element of a file is a *part*: the files of cctest and of MSCCL cut a vector, or each block,
 * into `count` parts, and a run cuts its own in the same way by the slice rule (view.h). So a
 * schedule that was written for 4 elements serves every size.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_FILE_PLAN_H
#define CCTEST_COLLECTIVE_FORMATS_FILE_PLAN_H

#include "collective/counts.h"
#include "collective/schedule/schedule.h"

/* Limits of a file. What is larger would not be proven in seconds. All count over all ranks. */
#define FILE_BYTES_MOST      ((size_t)256 << 20)
#define FILE_OPERATIONS_MOST (1 << 20)
#define FILE_PARTS_MOST      (1 << 22) /* of all buffers */
#define FILE_MOVED_MOST      (1 << 24) /* parts that all operations move */
#define FILE_CHANNELS_MOST   (1 << 22) /* pairs of ranks, times lanes */
#define FILE_RANKS_MOST      2048

/* What one rank does. Offsets and lengths are in parts. */
struct file_rank {
    struct operation *operations; /* in program order, without waits */
    size_t count;
    struct epoch *epochs; /* `previous` only: an epoch follows that one */
    size_t epoch_count;
    int *lines;     /* of the file, for each operation; NULL: it tells operations by numbers */
    size_t scratch; /* parts */
};

/* What was proven, with buffers that share memory or not. */
struct file_proof {
    struct schedule **schedules; /* of parts, one for each rank */
    /* For each rank a number for each part of each operation, as verify_origins() has them. */
    uint32_t **origins;
    /* An operation that puts a part of a block where another part of it belongs. The lengths of the
     * two differ where the parts do not divide a block. uneven_rank is NO_RANK if there is none. */
    int uneven_rank;
    size_t uneven_operation;
};

struct file_plan {
    const char *path;       /* of the file */
    uint64_t fingerprint;   /* differs where the texts of two files differ */
    struct problem problem; /* of parts: its count is that of a block, or of the vector */
    bool in_place;          /* it was written for buffers that share memory */
    int lanes;              /* of each pair of ranks */
    struct file_rank *ranks;
    const int *partners;      /* sendrecv: the rank that each rank sends to, -1: none; else NULL */
    struct counts *counts;    /* of `problem`; NULL where blocks have one length */
    const char *note;         /* what a user should know of it: one clause; NULL: nothing */
    struct file_proof *proof; /* NULL before file_plan_prove() */
};

#endif

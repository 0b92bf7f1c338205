/*
 * split.h - the groups of ranks in which a job runs its collective at the same time (--split).
 *
 * A job that is not split has one group, of all ranks. All groups have the same number of ranks. They
 * are numbered in the order of their first ranks, and the ranks of a group are in ascending order.
 */
#ifndef CCTEST_RUN_SPLIT_H
#define CCTEST_RUN_SPLIT_H

#include "base/rank_list.h"
#include "base/status.h"
#include "collective/shape.h"
#include "base/rank_state.h"

enum split_kind {
    SPLIT_NONE,
    SPLIT_NODE, /* the ranks of one host */
    SPLIT_RAIL, /* the ranks with the same place on their hosts */
    SPLIT_SIZE, /* so many consecutive ranks */
    SPLIT_FILE, /* a line of a file for each group */
};

/* The argument of --split. */
struct split_spec {
    enum split_kind kind;
    const char *text; /* as the user wrote it */
    int size;         /* SPLIT_SIZE: ranks of a group */
    int *group;       /* SPLIT_FILE: of each rank, numbered by the lines */
    int ranks;        /* SPLIT_FILE: that the file names */
};

/* "node", "rail", a number, or the path of a file, which is read: ranks and ranges (0-3) between
 * blanks or commas; '#' begins a comment. Errors: STATUS_USAGE, with the file and the line, else as
 * text_file_read(). spec->text is `text`; spec->group is the caller's, to be freed with free(). */
enum status split_read(const char *text, struct split_spec *spec);

/* A number that differs where two files make different groups. */
uint64_t split_fingerprint(const struct split_spec *spec);

/* The groups of so many ranks. `node`: the node of each rank, or NULL if it is not known yet; then
 * *groups is NULL where that decides. STATUS_USAGE if the ranks cannot be split so. Free with
 * shape_free(). */
enum status split_groups(const struct split_spec *spec, int ranks, const int *node,
                         struct shape **groups);

/* All groups. */
struct split {
    struct shape *groups; /* of the job's ranks; NULL: not known before the nodes are */
    struct shape **nodes; /* by group: the nodes among its ranks; NULL: not known yet, as above */
    int *ring_place;      /* of each of the job's ranks: problem->ring_place; NULL: not known */
};
void split_free(struct split *split); /* zeroed is allowed */

/* One of them. */
struct rank_group {
    int number;
    int ranks;                 /* in it */
    const int *members;        /* the job's ranks that these are */
    const struct shape *nodes; /* NULL: not known yet */
    const int *ring_place;     /* as in struct split */
};

/* The groups are known. */
static inline struct rank_group split_group(const struct split *split, int number)
{
    const struct shape *groups = split->groups;
    return (struct rank_group){.number = number,
                               .ranks = shape_size(groups, number),
                               .members = groups->members + groups->start[number],
                               .nodes = split->nodes ? split->nodes[number] : NULL,
                               .ring_place = split->ring_place};
}

/* The nodes among the ranks of each group, if that is the same for all; else NULL. */
const struct shape *split_common_nodes(const struct split *split);

/* "n17", "rail 3", "group 2 (ranks 8..11)". `members`: of the job, by rank. */
#define GROUP_NAME_MOST (RANK_LIST_MOST + 30)
void split_name(const struct split_spec *spec, const struct rank_group *group,
                const struct member *members, char text[GROUP_NAME_MOST]);

#endif

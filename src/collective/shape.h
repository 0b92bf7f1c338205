/*
 * shape.h - groups of ranks: the ranks of a node, or any other group.
 *
 * Hierarchical algorithms treat ranks of one group differently from ranks of another. The groups
 * come from where the ranks run, from --shape, or from an algorithm's own groups= option.
 */
#ifndef CCTEST_COLLECTIVE_SHAPE_H
#define CCTEST_COLLECTIVE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

struct shape {
    int ranks, groups;
    int *group;      /* of each rank */
    int *local_rank; /* of each rank: its index among the ranks of its group */
    int *start; /* groups + 1: group g's ranks are members[start[g]] .. members[start[g + 1] - 1] */
    int *members; /* ranks by group, ascending in each group */
    bool uniform; /* all groups have the same size */
};

/* From the group of each rank, as any numbers: equal numbers mean the same group. The shape numbers
 * groups in the order of their first ranks. NULL: out of memory. */
struct shape *shape_create(const int *group_of_rank, int ranks);

/* Groups of consecutive ranks, of `count` sizes (1 at least); one size stands for all groups. NULL,
 * with a sentence in `why`: the sizes do not add up to `ranks`, or memory ran out. */
struct shape *shape_of_sizes(const int *sizes, int count, int ranks, char *why, size_t size);

/* The same groups of the same ranks? */
bool shape_equal(const struct shape *a, const struct shape *b);

void shape_free(struct shape *shape); /* NULL is allowed */

static inline int shape_size(const struct shape *shape, int group)
{
    return shape->start[group + 1] - shape->start[group];
}

/* The world rank of a local rank of a group. */
static inline int shape_rank(const struct shape *shape, int group, int local_rank)
{
    return shape->members[shape->start[group] + local_rank];
}

#endif

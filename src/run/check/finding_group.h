/*
 * finding_group.h - groups the findings of all ranks by the fault that they show.
 *
 * One fault makes many ranks wrong: a wrong block is passed on, or each receiver lacks another
 * block of one sender. Two findings show one fault if they have the same explanation: the same kind
 * about the same ranks, whatever elements and values they show. Data that did not arrive, or is
 * stale, is one fault where the findings have a sender in common.
 */
#ifndef CCTEST_RUN_CHECK_FINDING_GROUP_H
#define CCTEST_RUN_CHECK_FINDING_GROUP_H

#include "run/check/finding.h"

struct finding_group {
    const struct finding *finding; /* of the first rank that shows the fault */
    int rank;                      /* that rank */
    const int *ranks;              /* all ranks that show it, ascending */
    int count;
    uint64_t wrong;    /* elements, over all of them */
    bool alike;        /* all have the same range of elements, and the same values */
    bool same_senders; /* all lack data of the same senders */
};

struct finding_groups {
    struct finding_group *list; /* by their first rank */
    int count;
    int *ranks; /* what the groups point to */
};

/* The fault as this rank alone shows it. */
struct finding_group finding_group_of_rank(const struct finding *finding, const int *rank);

/* `findings[r]`: of rank r; they must outlive the groups. False: out of memory. Either way the
 * groups are given back with finding_groups_free(). */
bool finding_groups_make(const struct finding *const *findings, int ranks,
                         struct finding_groups *groups);
void finding_groups_free(struct finding_groups *groups);

#endif

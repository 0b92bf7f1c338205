/*
 * fault.h - the n-th request, call or moment that fails.
 */
#ifndef CCTEST_TEST_VERBS_FAULT_H
#define CCTEST_TEST_VERBS_FAULT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* The requests, receives and calls that are counted, one by one. */
enum fault_count {
    COUNT_REQUEST,
    COUNT_RECEIVE,
    COUNT_OPEN,
    COUNT_ALLOC_PD,
    COUNT_REG_MR,
    COUNT_CREATE_CQ,
    COUNT_CREATE_SRQ,
    COUNT_CREATE_QP,
    COUNT_QUERY_PORT,
    COUNT_MODIFY,
    COUNT_POST_SEND,
    COUNT_POST_RECV,
    COUNT_POLL_CQ,
    COUNT_CONNECT,
    COUNT_RESOLVE,
    COUNTS,
};

struct fault_counts {
    uint64_t of[COUNTS];
};

/* The kind's number, or -1. */
int fault_find(const char *name);

/* Counts one; returns the error of the fault that strikes it (an errno, or a status for requests
 * and receives), or 0. */
int fails_now(enum fault_count count);

/* Does what faults that are events do at the request that was counted last. */
void fault_events(struct ibv_qp *qp);

/* Sends the event that a fault has put off, if its moment has come; returns that moment. */
uint64_t fault_later(uint64_t now);

#endif

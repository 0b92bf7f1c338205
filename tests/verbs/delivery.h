/*
 * delivery.h - the wire: a thread that delivers what queue pairs have posted.
 */
#ifndef CCTEST_TEST_VERBS_DELIVERY_H
#define CCTEST_TEST_VERBS_DELIVERY_H

#include <infiniband/verbs.h>

struct strict_qp;

/* The lock is held in all of these. The wire ends when no context is open. */
void wire_start(void);
/* Waits until it has ended, if no context is open. */
void wire_await(void);
/* Delivers a little, in a thread that waits for something. Called without the lock. */
void wire_help(void);
/* The queue pair has something to deliver. */
void wire_add(struct strict_qp *pair);
/* It is destroyed. */
void wire_remove(struct strict_qp *pair);

/* Moves the queue pair to the state ERR: flushes what it has. */
void pair_break(struct strict_qp *pair);
/* Frees all requests of a queue pair without completions. */
void pair_drop(struct strict_qp *pair);

#endif

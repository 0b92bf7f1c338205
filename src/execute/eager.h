/*
 * eager.h - the executor of short messages: for plans each of whose messages fits one cell of its
 * channel, so that it moves whole or not at all.
 *
 * Nothing streams then, so there are no limits, no grain and no watchers: an operation is ready
 * when those before it that conflict with it are complete, and a ready operation is one call. What
 * goes over the wire is the same as without it, so ranks need not agree on it.
 */
#ifndef CCTEST_EXECUTE_EAGER_H
#define CCTEST_EXECUTE_EAGER_H

#include "memory/memory.h"
#include "schedule/schedule.h"
#include "transport/transport.h"

/* What one operation moves: a transfer that is never posted. */
struct eager_step {
    const struct transfer *transfer;
    struct channel *channel;                                                /* NULL: local */
    enum status (*move)(struct channel *, const struct transfer *, bool *); /* eager_move */
};

struct eager;

/* Would each of these messages move whole? `steps`: one for each operation of the schedule. */
bool eager_serves(const struct schedule *schedule, const struct eager_step *steps,
                  const struct memory_kind *memory);

/* `steps` becomes the eager's own, also on failure; schedule and memory must outlive it. */
enum status eager_create(const struct schedule *schedule, struct eager_step *steps,
                         const struct memory_kind *memory, struct eager **eager);
void eager_destroy(struct eager *eager); /* NULL is allowed */

/* As in plan.h. */
void eager_start(struct eager *eager);
enum status eager_progress(struct eager *eager, bool *moved, bool *complete);

/* The earliest operation that is not complete; -1: none. */
int eager_where(const struct eager *eager);

/* Tells the transports which channels are waited for, for their check(). */
void eager_await(const struct eager *eager);

#endif

/*
 * internal.h - for the files of dataplane/execute/ alone.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_INTERNAL_H
#define CCTEST_DATAPLANE_EXECUTE_INTERNAL_H

#include "dataplane/execute/execute.h"

/* ---- The executor of short messages: for schedules each of whose messages fits into one cell
 * of its channel, so that it moves whole or not at all.
 *
 * No streaming: there are no limits, no grain and no watchers. An operation is ready as soon as all
 * operations that it depends on are complete, and a ready operation is one call. The same bytes
 * travel as without it, so ranks need not agree on it.
 * ---- */

/* The transfer of one operation, which is never posted. */
struct eager_step {
    const struct transfer *transfer;
    struct channel *channel;                                                /* NULL: local */
    enum status (*move)(struct channel *, const struct transfer *, bool *); /* eager_move */
};

struct eager;

/* Does each of these messages move whole? `steps`: one for each operation of the schedule. */
bool eager_serves(const struct schedule *schedule, const struct eager_step *steps,
                  const struct memory_kind *memory);

/* Takes `steps`, also on failure, and requires that they stay inside the regions of their
 * endpoints. Schedule, memory and clock (NULL: none) must last longer than it. */
enum status eager_create(const struct schedule *schedule, struct eager_step *steps,
                         const struct memory_kind *memory, struct step_clock *clock,
                         struct eager **eager);
void eager_destroy(struct eager *eager); /* NULL is allowed */

/* As in execute.h. */
void eager_start(struct eager *eager);
enum status eager_progress(struct eager *eager, bool *moved, bool *complete);

/* The first incomplete operation, in program order; -1: none. */
int eager_position(const struct eager *eager);

/* Before check(): tells the transports for which channels the run waits. */
void eager_await(const struct eager *eager);

/* ---- The byte form of a schedule's span. ---- */

/* `buffer`: their addresses. `element`: bytes. */
static inline struct piece span_piece(const struct span *span, char *const buffer[BUFFERS],
                                      size_t element)
{
    return (struct piece){.base = buffer[span->buffer] + span->offset * element,
                          .run = span->run * element,
                          .stride = span->stride * element,
                          .times = span->times};
}

#endif

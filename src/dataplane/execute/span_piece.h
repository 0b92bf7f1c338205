/*
 * span_piece.h - the byte form of a schedule's span.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_SPAN_PIECE_H
#define CCTEST_DATAPLANE_EXECUTE_SPAN_PIECE_H

#include "dataplane/memory/cursor.h"
#include "collective/schedule/schedule.h"

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

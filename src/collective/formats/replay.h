/*
 * replay.h - writes the operations of a schedule once more, through a builder.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_REPLAY_H
#define CCTEST_COLLECTIVE_FORMATS_REPLAY_H

#include "collective/schedule/builder.h"

/* What an operation is told by in a mapping. */
enum operand { OPERAND_TO, OPERAND_FROM, OPERAND_WITH, OPERANDS };

/* Where a message of operation `index` lies in the builder's buffers. The spans need not outlive the
 * next message of the same operand. */
typedef struct message replay_map(void *context, size_t index, enum operand operand,
                                  struct message message);

/* Operations to write: `lanes` lanes, of which the first is that of the group. Their steps, epochs
 * and lanes stay as they are. */
struct replay {
    const struct operation *operations;
    size_t count;
    const struct epoch *epochs; /* of each `previous` is read */
    size_t epoch_count;
    int lanes;
    replay_map *map; /* NULL: messages stay where they are */
    void *context;
};

void replay_put(struct builder *builder, const struct group *group, const struct replay *replay);

#endif

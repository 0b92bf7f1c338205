/*
 * builder_internal.h - the state of a builder, for the files that work on it.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_BUILDER_INTERNAL_H
#define CCTEST_COLLECTIVE_SCHEDULE_BUILDER_INTERNAL_H

#include "base/status.h"
#include "collective/schedule/schedule.h"

struct scope {
    int epoch;   /* of the next operation; -1: none yet */
    int step;    /* label of the round; -1 before the first put_step() */
    bool fenced; /* the next operation begins an epoch */
};

struct builder {
    struct schedule *schedule; /* in `memory` */
    struct arena *memory;      /* lives as long as the schedule */
    struct arena *drafts;      /* views and messages of algorithms; operations have copies */
    struct span *spans;        /* the message that is being tidied */
    size_t span_room;
    struct operation *operations;
    size_t count, room;
    struct epoch *epochs;
    size_t epoch_count, epoch_room;
    struct scope *scopes;
    int scope_count;
    uint32_t channel;   /* of the next operations */
    enum status status; /* the first failure; all later calls are ignored */
};

#endif

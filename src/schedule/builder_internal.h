/*
 * builder_internal.h - what the parts of the builder share: operations (builder.c), views (view.c)
 * and whole algorithms (algorithm.c).
 */
#ifndef CCTEST_SCHEDULE_BUILDER_INTERNAL_H
#define CCTEST_SCHEDULE_BUILDER_INTERNAL_H

#include "schedule/builder.h"

struct scope {
    int epoch;   /* the one that operations go into; -1: none yet */
    int step;    /* label of the round; -1 before the first put_step() */
    bool fenced; /* the next operation begins an epoch */
};

struct builder {
    struct schedule *schedule; /* in `memory` */
    struct arena *memory;
    struct arena *drafts; /* what algorithms compose messages of; the schedule has copies */
    struct span *spans;   /* the message that is being tidied */
    size_t span_room;
    struct operation *operations;
    size_t count, room;
    struct epoch *epochs;
    size_t epoch_count, epoch_room;
    struct scope *scopes;
    int scope_count;
    enum status status; /* the first failure; everything after it is ignored */
};

/* Memory that lives until the schedule is finished; NULL when the builder has failed, or fails
 * now. */
void *builder_draft(struct builder *b, size_t bytes);

/* Fails the builder: the operation that is being written "does what it must not". */
void builder_refuse(struct builder *b, const char *what);

/* A copy in new scratch. */
struct view view_copied(struct builder *b, const struct group *group, const struct view *view);

/* Moves the scratch that the finished operations touch together, and forgets the rest. */
void scratch_compact(struct builder *b, struct operation *operations);

#endif

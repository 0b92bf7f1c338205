/*
 * builder.h - writes the schedule of one rank: groups of ranks, and the operations.
 *
 * An algorithm writes for a group (an ordered list of ranks, one of which is this rank) and
 * addresses data through views (view.h). It writes a sequential program; the builder finds what may
 * run concurrently. Operations of no elements vanish, on both sides alike.
 *
 * Nothing here returns an error. A builder that runs out of memory, or is given an impossible
 * operation (operands of different lengths, a peer outside the group, an element outside its
 * buffer), remembers the failure and ignores all further calls; builder_finish() reports it.
 *
 * An operation copies the spans that it is given, so they may be used again.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_BUILDER_H
#define CCTEST_COLLECTIVE_SCHEDULE_BUILDER_H

#include "base/status.h"
#include "collective/schedule/schedule.h"

struct builder;

/* builder_create -> put_... -> builder_finish, which frees the builder in any case. On success the
 * schedule is the caller's, to be freed with schedule_free(). builder_create: NULL if memory ran
 * out. `runs`: the schedule is to be executed. Else it has no waits. */
struct builder *builder_create(const struct problem *problem, int rank);
enum status builder_finish(struct builder *builder, bool runs, struct schedule **schedule);

/* An ordered list of ranks. A "group rank" is an index into it. Peers of the put_ functions are
 * group ranks. The operations of a group form one scope for fences, and its messages use one
 * lane. */
struct group {
    int size;         /* ranks in it */
    int rank;         /* this rank's group rank; see group_part() for a rank outside the group */
    const int *ranks; /* ranks of the job by group rank; NULL: they are the same */
    int lane;
    int scope;
    bool absent; /* this rank is outside the group: its operations are ignored, its steps count */
};

/* All ranks of the problem. */
struct group builder_group(struct builder *builder);

/* A copy of `group` on a lane, and so a scope, of its own: its messages are not ordered with the
 * messages of `group`, and its fences are its own. Every rank must ask for the same lanes in the
 * same order. */
struct group group_on_lane(struct builder *builder, const struct group *group);

/* The group of members[0], members[1], ... (group ranks of `group`), on the same lane and in the
 * same scope. A rank outside it gets group rank 0 of a group that is absent: it may write the same
 * operations as the members. Only their steps count, so that all ranks agree on the rounds. */
struct group group_part(struct builder *builder, const struct group *group, const int *members,
                        int count);

/* For parts that run side by side: a copy of `group` with a scope of its own on the same lane,
 * whose rounds begin at the current round of `group`. Afterwards group_join() lets `group` continue
 * after the last round of either. */
struct group group_beside(struct builder *builder, const struct group *group);
void group_join(struct builder *builder, const struct group *group, const struct group *beside);

/* The number of lanes in use, and that number set back. One rank may have more parts side by side
 * than another. If each part begins with the same number, the parts use the same lanes, and the
 * ranks agree. The last number set must be the same on all ranks, and cover all parts. */
int builder_lanes(const struct builder *builder);
void builder_set_lanes(struct builder *builder, int lanes);

/* The operations. The messages of one operation must have the same length, and so must a send and
 * its recv. A copy between the same memory vanishes. */
void put_copy(struct builder *b, const struct group *g, struct message to, struct message from);
void put_reduce(struct builder *b, const struct group *g, struct message to, struct message from,
                struct message with);
void put_send(struct builder *b, const struct group *g, int peer, struct message from);
void put_recv(struct builder *b, const struct group *g, int peer, struct message to);
void put_recv_reduce(struct builder *b, const struct group *g, int peer, struct message to,
                     struct message with);
void put_finish(struct builder *b, const struct group *g, struct message to, struct message from);

/* Later operations of this group's scope start only when all earlier ones are complete here. */
void put_fence(struct builder *b, const struct group *g);
/* A new round begins: a label for counting, drawing and reporting. */
void put_step(struct builder *b, const struct group *g);

#endif

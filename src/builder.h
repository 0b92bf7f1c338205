/*
 * builder.h - what an algorithm needs to write a schedule. It includes nothing else of cctest.
 *
 * An algorithm writes for a group (an ordered list of ranks, and this rank's place in it) and
 * addresses data through views (block i -> span). It writes a sequential program; what may run at
 * the same time is found by the builder. Operations of no elements vanish, on both sides alike.
 *
 * Nothing here returns an error: a builder that ran out of memory, or was told something that
 * cannot be (spans of different lengths, a peer outside the group, an element outside its buffer),
 * remembers it, ignores what follows, and schedule_build() reports it.
 *
 * Memory that these functions return belongs to the builder and lives until the schedule is
 * finished. An operation copies the spans that it is given, so they may be used again.
 */
#ifndef CCTEST_BUILDER_H
#define CCTEST_BUILDER_H

#include "schedule.h"
#include "status.h"

struct builder;
struct call; /* below: what an algorithm is asked to write */

/* An ordered list of ranks. Peers in the put_ functions are places in it. Its operations form one
 * scope for fences, and its messages use one lane. */
struct group {
    int size;         /* ranks in it */
    int rank;         /* this rank's place, 0 .. size - 1 */
    const int *ranks; /* world rank of each place; NULL: place i is rank i */
    int lane;
    int scope;
};

/* A copy of `group` on a lane, and so a scope, of its own: what it sends is not ordered with the
 * messages of `group`, and its fences are its own. Every rank must ask for the same lanes in the
 * same order. */
struct group group_on_lane(struct builder *builder, const struct group *group);

/* Block i of some data. */
struct view {
    const struct span *spans; /* one for each block */
    int blocks;
};

/* Block `index`; any integer: it is taken modulo the number of blocks. */
struct message view_block(const struct view *view, int index);
/* Blocks first, first + step, first + 2 step, ... (`count` of them), modulo the number of
 * blocks. */
struct message view_blocks(struct builder *builder, const struct view *view, int first, int step,
                           int count);
/* All blocks in their order, as one message. */
struct message view_all(const struct view *view);
/* Elements of a message. */
size_t message_length(struct message message);

/* A view of one contiguous block, cut into `blocks` blocks by the slice rule: base = count /
 * blocks, the first count mod blocks of them have one more element. */
struct view view_cut(struct builder *builder, const struct view *whole, int blocks);
/* New scratch memory with blocks of the same lengths as those of `like`. */
struct view view_scratch(struct builder *builder, const struct view *like);
/* New scratch memory of `elements` elements as one block. */
struct view view_scratch_block(struct builder *builder, size_t elements);

/* Room for `count` spans, for an algorithm that composes a view of its own: fill them in and use
 * (struct view){spans, count}. NULL when the builder has failed; then simply return. */
struct span *span_array(struct builder *builder, int count);

/* The source as it was before anything is written to the destination: in place a copy in scratch,
 * else call->source itself. For algorithms that write blocks before they have read all of them. */
struct view view_source_apart(struct builder *builder, const struct call *call);

/* The operations. Lengths of the messages must agree, and those of a send and its recv. */
void put_copy(struct builder *b, const struct group *g, struct message to, struct message from);
void put_reduce(struct builder *b, const struct group *g, struct message to, struct message from,
                struct message with);
void put_send(struct builder *b, const struct group *g, int peer, struct message from);
void put_recv(struct builder *b, const struct group *g, int peer, struct message to);
void put_recv_reduce(struct builder *b, const struct group *g, int peer, struct message to,
                     struct message with);
void put_finish(struct builder *b, const struct group *g, struct message to, struct message from);

/* What comes after, in this group's scope, starts only when what stands before is complete here. */
void put_fence(struct builder *b, const struct group *g);
/* A new round begins: a label for counting, drawing and reporting. */
void put_step(struct builder *b, const struct group *g);

/* What an algorithm is asked to write. Blocks of the views, by collective (p = group size):
 *   allreduce       source 1, destination 1 (the whole vector)
 *   broadcast       source 1 (empty unless root), destination 1
 *   reduce          source 1, destination 1 (empty unless root)
 *   barrier         source 1, destination 1 (one element)
 *   allgather       source 1, destination p
 *   reduce_scatter  source p, destination 1
 *   alltoall        source p, destination p
 * In-place, source and destination overlap as collective_alias() says; put_copy between the same
 * memory vanishes. */
struct call {
    const struct group *group;
    struct view source, destination;
    int root; /* place in the group */
    bool in_place;
    const struct algorithm *algorithm;
    const long *options; /* values, in the order of algorithm->options */
};

struct algorithm_option {
    const char *name; /* "radix" */
    long least, most, standard;
    const char *help;
};

#define ALGORITHM_OPTIONS_MOST 4

/* One algorithm for one collective. */
struct algorithm {
    const char *name;
    const char *aliases[6];
    enum collective_id collective;
    const char *summary; /* one line: the idea */
    const char *rounds;  /* as a formula in p: "p-1" */
    const char *sent;    /* elements that the busiest rank sends, as a formula: "(p-1)b" */
    const char *users;   /* who uses it elsewhere */
    struct algorithm_option options[ALGORITHM_OPTIONS_MOST]; /* ended by a NULL name */
    /* Why it cannot serve these ranks with these options: one sentence, static or written into
     * `why`. NULL: it can. May itself be NULL: it takes all. */
    const char *(*refuses)(int ranks, const long *options, char *why, size_t size);
    void (*write)(struct builder *builder, const struct call *call);
};

/* Value of an option of call->algorithm, by name. */
long call_option(const struct call *call, const char *name);

/* All algorithms, ended by NULL; algorithms/list.c is the one place that names them. */
extern const struct algorithm *const algorithms[];
/* By collective and name or alias; NULL if unknown. */
const struct algorithm *algorithm_find(enum collective_id collective, const char *name);

/* An algorithm as the user chose it. */
struct choice {
    const struct algorithm *algorithm;
    long options[ALGORITHM_OPTIONS_MOST];
};

/* Writes the schedule of `rank` for `problem`, with `channels` slices of every block, each on a
 * lane of its own. The schedule is the caller's, to be freed with schedule_free(). Errors:
 * STATUS_USAGE if the algorithm refuses the shape (with its reason), STATUS_ERROR if memory ran out
 * or the algorithm wrote what cannot be. */
enum status schedule_build(const struct choice *choice, const struct problem *problem, int rank,
                           int channels, struct schedule **schedule);

/* The same for a caller that writes the operations itself: tests of broken schedules, the start
 * barrier. builder_create -> put_... -> builder_finish, which frees the builder in any case. */
struct builder *builder_create(const struct problem *problem, int rank);
struct group builder_group(struct builder *builder);
struct view builder_view(struct builder *builder, enum buffer buffer, int blocks);
enum status builder_finish(struct builder *builder, struct schedule **schedule);

#endif

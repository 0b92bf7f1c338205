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
#ifndef CCTEST_SCHEDULE_BUILDER_H
#define CCTEST_SCHEDULE_BUILDER_H

#include "base/status.h"
#include "schedule/schedule.h"

struct builder;
struct call; /* below: what an algorithm is asked to write */

/* An ordered list of ranks. Peers in the put_ functions are places in it. Its operations form one
 * scope for fences, and its messages use one lane. */
struct group {
    int size;         /* ranks in it */
    int rank;         /* this rank's place, 0 .. size - 1; see group_part() for those not in it */
    const int *ranks; /* world rank of each place; NULL: place i is rank i */
    int lane;
    int scope;
    bool absent; /* this rank is not in it: what it puts is ignored, but for steps */
};

/* A copy of `group` on a lane, and so a scope, of its own: what it sends is not ordered with the
 * messages of `group`, and its fences are its own. Every rank must ask for the same lanes in the
 * same order. */
struct group group_on_lane(struct builder *builder, const struct group *group);

/* The ranks at `places` of `group`, in that order, on the same lane and in the same scope. A rank
 * that is not among them gets the place 0 of a group that is absent: it may write the same
 * operations as the others, of which only the steps count, so that rounds agree on all ranks. */
struct group group_part(struct builder *builder, const struct group *group, const int *places,
                        int count);

/* A copy of `group` with a scope of its own on the same lane, whose rounds begin where those of
 * `group` are: for parts that run side by side. Afterwards group_join() lets the rounds of `group`
 * go on behind the last of either. */
struct group group_beside(struct builder *builder, const struct group *group);
void group_join(struct builder *builder, const struct group *group, const struct group *beside);

/* Lanes that were handed out so far, and that number set back. A rank may have more parts beside
 * each other than another one: when each begins with the same number, they use the same lanes, and
 * the ranks agree. The last number that is set must be the same on all ranks, and cover all
 * parts. */
int builder_lanes(const struct builder *builder);
void builder_lanes_again(struct builder *builder, int lanes);

/* Block i of some data: a message, since what belongs together need not lie together. */
struct view {
    const struct message *messages; /* one for each block */
    int blocks;
};

/* Block `index`; any integer: it is taken modulo the number of blocks. */
struct message view_block(const struct view *view, int index);
/* Blocks first, first + step, first + 2 step, ... (`count` of them), modulo the number of blocks,
 * as one message. */
struct message view_blocks(struct builder *builder, const struct view *view, int first, int step,
                           int count);
/* All blocks in their order, as one message. */
struct message view_all(struct builder *builder, const struct view *view);
/* Elements of a message. */
size_t message_length(struct message message);
/* Its elements [first, first + length). */
struct message message_part(struct builder *builder, struct message message, size_t first,
                            size_t length);
/* Several messages as one, in their order. */
struct message message_join(struct builder *builder, const struct message *messages, int count);

/* A view of one block: the message. */
struct view view_of(struct builder *builder, struct message message);
/* Blocks which[0], which[1], ... of a view, each modulo the number of blocks. */
struct view view_select(struct builder *builder, const struct view *view, const int *which,
                        int count);
/* Blocks joined `each` at a time, which divides their number: block i is what was i * each .. i *
 * each + each - 1. */
struct view view_bundle(struct builder *builder, const struct view *view, int each);
/* All that a view holds, cut into `blocks` blocks by the slice rule: base = count / blocks, the
 * first count mod blocks of them have one more element. */
struct view view_cut(struct builder *builder, const struct view *whole, int blocks);
/* Slice `channel` of `channels` of every block, by the same rule. */
struct view view_channel(struct builder *builder, const struct view *view, int channel,
                         int channels);
/* New scratch memory with blocks of the same lengths as those of `like`. */
struct view view_scratch(struct builder *builder, const struct view *like);
/* New scratch memory of `elements` elements as one block. */
struct view view_scratch_block(struct builder *builder, size_t elements);

/* Room for `count` messages, for an algorithm that composes a view of its own: fill them in and use
 * (struct view){messages, count}. NULL when the builder has failed; then simply return. */
struct message *message_array(struct builder *builder, int count);
/* Likewise for numbers, such as places. */
int *place_array(struct builder *builder, int count);

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
 *   allreduce                  source 1, destination 1 (the whole vector)
 *   broadcast                  source 1 (empty unless root), destination 1
 *   reduce                     source 1, destination 1 (empty unless root)
 *   sendrecv                   source 1, destination 1 (each empty where the pattern has none)
 *   barrier                    source 1, destination 1 (one element)
 *   allgather, allgatherv      source 1, destination p
 *   gather, gatherv            source 1, destination p (to be written by the root only)
 *   scatter, scatterv          source p (to be read by the root only), destination 1
 *   reduce_scatter(v)          source p, destination 1
 *   alltoall, alltoallv        source p, destination p
 * Where a rank may not touch the p blocks, they still tell their lengths: a rank inside a tree
 * needs them. In-place, source and destination overlap as collective_alias() says, but in a part of
 * a composed algorithm in any way; put_copy between the same memory vanishes. */
struct call {
    const struct problem *problem;
    const struct group *group;
    struct view source, destination;
    int root; /* place in the group */
    bool in_place;
    const struct choice *choice;
    int channel, channels; /* the views are slice `channel` of `channels` of every block */
};

/* Elements, in this call's slice, of what rank `from` has for rank `to`: alltoall and alltoallv,
 * for the whole world, from any two ranks' point of view. */
size_t call_length(const struct call *call, int from, int to);

enum algorithm_option_kind {
    OPTION_NUMBER, /* a whole number from `least` to `most` */
    OPTION_WORD,   /* one of `words`; the value is its index */
    OPTION_PART,   /* the algorithm of a part of a composed one: it serves all of `collectives` */
    OPTION_GROUPS, /* ranks in each group ("4"), or a list of sizes ("2+3"): overrides the shape */
};

struct algorithm_option {
    const char *name; /* "radix" */
    long least, most, standard;
    const char *help;
    enum algorithm_option_kind kind;
    const char *const *words;  /* OPTION_WORD: ended by NULL; `standard` is an index */
    unsigned collectives;      /* OPTION_PART: SERVES() of what the part must serve */
    const char *standard_part; /* OPTION_PART: its name */
};

#define ALGORITHM_OPTIONS_MOST 4
#define ALGORITHM_ALIASES_MOST 6

/* A set of collectives: SERVES(ALLTOALL) | SERVES(ALLTOALLV). */
#define SERVES(name) (1u << COLLECTIVE_##name)

/* One algorithm, for one collective, or for several that it serves by the same rule (a collective
 * and its form with counts). */
struct algorithm {
    const char *name;
    const char *aliases[ALGORITHM_ALIASES_MOST];
    unsigned collectives; /* SERVES(...) */
    bool grouped;         /* it needs to know which ranks belong together: problem->shape */
    const char *summary;  /* one line: the idea */
    const char *rounds;   /* as a formula in p: "p-1" */
    const char *sent;     /* elements that the busiest rank sends, as a formula: "(p-1)b" */
    const char *users;    /* who uses it elsewhere */
    struct algorithm_option options[ALGORITHM_OPTIONS_MOST]; /* ended by a NULL name */
    /* Why it cannot serve this problem (its ranks, root and shape; the count is not known yet) with
     * these options: one sentence, static or written into `why`. NULL: it can. May itself be NULL:
     * it takes all. A grouped one is asked only when there is a shape. */
    const char *(*refuses)(const struct problem *problem, const struct choice *choice, char *why,
                           size_t size);
    void (*write)(struct builder *builder, const struct call *call);
    /* sendrecv: the rank that `rank` sends to; -1: none. The pattern is the contract. */
    int (*partner)(const struct choice *choice, int rank, int ranks);
    bool round_trip; /* an iteration goes there and back: half of its time is reported */
};

/* The algorithm of one part of a composed one. */
struct part {
    const struct algorithm *algorithm; /* serves the first of the option's collectives */
    /* Its name or alias as the user gave it. For the others it is what has this name there, else
     * what has the first one's: so "rhd" is rec-halving for reduce_scatter, and for allgather
     * recursive-doubling. */
    const char *name;
    long options[ALGORITHM_OPTIONS_MOST];
};

#define CHOICE_GROUPS_MOST 64

/* An algorithm as the user chose it. */
struct choice {
    const struct algorithm *algorithm;
    long options[ALGORITHM_OPTIONS_MOST];      /* in the order of algorithm->options */
    struct part parts[ALGORITHM_OPTIONS_MOST]; /* likewise, where they are OPTION_PART */
    int groups[CHOICE_GROUPS_MOST]; /* OPTION_GROUPS: their sizes; one: of all; 0: not given */
    int group_count;
};

/* The standard choice of an algorithm. */
struct choice choice_of(const struct algorithm *algorithm);

/* sendrecv: who sends to whom, by the pattern of the choice; it is the problem's counts. Free with
 * counts_free(). */
enum status choice_partners(const struct choice *choice, int ranks, struct counts **counts);

/* Value of a number or word option of the choice, by name. */
long choice_option(const struct choice *choice, const char *name);
long call_option(const struct call *call, const char *name);

/* Writes part `option` of a composed algorithm: `collective` on a group of the call's ranks, which
 * may be absent. The views as in struct call; `root`: place in the group. */
void call_part(struct builder *builder, const struct call *call, const char *option,
               enum collective_id collective, const struct group *group, struct view source,
               struct view destination, int root);

/* As algorithm->refuses, but also for what all grouped ones have in common: that there are groups,
 * and that the choice's own ones fit the ranks. */
const char *choice_refuses(const struct choice *choice, const struct problem *problem, char *why,
                           size_t size);
/* Why part `option` of the choice cannot serve a group of `ranks`; NULL: it can. For a composed
 * algorithm's refuses(). */
const char *part_refuses(const struct choice *choice, const char *option, int ranks, char *why,
                         size_t size);

/* All algorithms, ended by NULL; algorithms/list.c is the one place that names them. */
extern const struct algorithm *const algorithms[];
bool algorithm_serves(const struct algorithm *algorithm, enum collective_id collective);
/* The part of that name that an OPTION_PART asks for, with standard options. Its algorithm is NULL
 * if there is none: it has to serve all of the option's collectives, under its names, is not made
 * of parts, and needs no groups. */
struct part part_of(const struct algorithm_option *option, const char *name);
/* Is it the part of its name? */
bool algorithm_is_part(const struct algorithm *algorithm, const struct algorithm_option *option);
/* What `-a auto` picks for a problem of `bytes` bytes, as tables print them; *why: in a few words.
 * algorithms/auto.c holds the rule. NULL: no rule has an algorithm that accepts the shape. */
const struct algorithm *algorithm_auto(const struct problem *problem, size_t bytes,
                                       const char **why);
/* By collective and name or alias, in any case, with '_' for '-' if one likes; NULL if unknown. */
const struct algorithm *algorithm_find(enum collective_id collective, const char *name);

/* Writes the schedule of `rank` for `problem`, with `channels` slices of every block, each on a
 * lane of its own. The schedule is the caller's, to be freed with schedule_free(); it refers to the
 * problem's counts, which must live as long. Errors: STATUS_USAGE if the algorithm refuses the
 * shape (with its reason), STATUS_ERROR if memory ran out or the algorithm wrote what cannot be. */
enum status schedule_build(const struct choice *choice, const struct problem *problem, int rank,
                           int channels, struct schedule **schedule);

/* The same for a caller that writes the operations itself: tests of broken schedules, the start
 * barrier. builder_create -> put_... -> builder_finish, which frees the builder in any case. */
struct builder *builder_create(const struct problem *problem, int rank);
struct group builder_group(struct builder *builder);
/* A source or destination with the blocks of its collective. */
struct view builder_view(struct builder *builder, enum buffer buffer);
enum status builder_finish(struct builder *builder, struct schedule **schedule);

#endif

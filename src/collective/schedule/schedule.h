/*
 * schedule.h - one rank's program for one collective.
 *
 * A schedule is a list of operations on spans of three buffers. It means the same as running the
 * list from top to bottom. Its concurrency is inferred: the builder (schedule.h) finds exactly
 * which operations conflict, and records the conflicts as waits. Interpreters (the executor, the
 * verifier, the shaker, the printer) read schedules and never change them.
 *
 * All offsets and lengths are in elements, so a schedule serves every datatype.
 *
 * Streaming. Every operation advances in ascending order of its message. An operation may touch its
 * element x as soon as every earlier conflicting operation has moved past the memory of x.
 * Streaming is free of deadlock for every slot size and grain if the schedule completes with
 * unbuffered channels and whole operations, and if (1) every lane has its own flow control, (2) all
 * operations are open at once, except where fences order them, and (3) waits are exact.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_SCHEDULE_H
#define CCTEST_COLLECTIVE_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "collective/collective.h"
#include "collective/schedule/limit.h"

/* `times` runs of `run` elements, the first at `offset`, their starts `stride` apart.
 * A contiguous span has times 1. */
struct span {
    enum buffer buffer;
    size_t offset, run, stride, times;
};

/* Where element `index` of a span lies in its buffer. */
static inline size_t span_element(const struct span *span, size_t index)
{
    return span->offset + index / span->run * span->stride + index % span->run;
}

/* The elements of its spans, in the order of the list. It is sent as one message. */
struct message {
    const struct span *spans;
    size_t count;
};

enum operation_kind {
    OPERATION_COPY,        /* to = from */
    OPERATION_REDUCE,      /* to = from (+) with */
    OPERATION_SEND,        /* the next message to `peer` on `lane` is from */
    OPERATION_RECV,        /* to = the next message from `peer` on `lane` */
    OPERATION_RECV_REDUCE, /* to = with (+) the next message from `peer` on `lane` */
    OPERATION_FINISH,      /* to = the operator's last step on from (avg: divide by the ranks) */
};

struct operation {
    enum operation_kind kind;
    int peer;                 /* rank of the job, for send, recv, recv_reduce; else -1 */
    int lane;                 /* for send, recv, recv_reduce; else 0 */
    int step;                 /* label of the round, from 0 */
    uint32_t epoch;           /* index of its epoch */
    uint32_t channel;         /* its channel; those of one channel stand together, in order */
    size_t length;            /* elements of the message; never 0 */
    struct message to;        /* written; equal to from or with, or disjoint from both */
    struct message from;      /* read */
    struct message with;      /* read */
    const struct wait *waits; /* ascending `at`; they overlap where several E touch one element */
    size_t wait_count;
};

/* Fences cut the operations of a scope (a channel) into epochs. The operations of an epoch may
 * start when all operations of the epochs before it in its scope are complete. */
struct epoch {
    int previous, next;      /* epoch index, -1: none */
    uint32_t operations;     /* number of its operations; never 0 */
    const uint32_t *members; /* their indices, ascending */
};

struct schedule {
    struct problem problem;
    int rank;               /* of the problem */
    size_t extent[BUFFERS]; /* elements */
    /* Where buffers lie: storage number and element offset. In place, source and destination share
     * a storage; otherwise storage[b] = b and base[b] = 0. */
    int storage[BUFFERS];
    size_t base[BUFFERS];
    const struct operation *operations;
    size_t count;
    const struct epoch *epochs;
    size_t epoch_count;
    int lanes;        /* lanes that any rank's schedule of this problem may use: 0 .. lanes - 1 */
    int channels;     /* slices of every block, each with operations and lanes of its own */
    int steps;        /* rounds: the number of step labels on this rank */
    const int *lines; /* of the file that the operations stand in; NULL: they have none */
    struct arena *memory; /* owns everything above */
};

/* How far `operation` may go, when each earlier operation e has moved past done[e] of its elements.
 * The result and done[] are in units of 1/`unit` elements: pass the element size to work in bytes,
 * 1 for elements. *first is the caller's cursor into the waits: 0 at the start, then moved past
 * waits that are satisfied for good. *waiting_for: the operation that holds this one back
 * (UINT32_MAX: none). Ignores fences and the order of messages on a lane. */
size_t operation_limit(const struct operation *operation, const size_t *done, size_t unit,
                       size_t *first, uint32_t *waiting_for);

/* Elements of a message. */
size_t message_length(struct message message);

/* Bytes of each storage that a schedule uses; in place the inner buffer is part of the outer. */
void schedule_bytes(const struct schedule *schedule, size_t element, size_t bytes[BUFFERS]);

/* The messages between a rank and one peer. */
struct peer_use {
    uint64_t sent, received; /* elements */
    size_t shortest;         /* elements of the shortest message */
    int lanes;               /* 1 + the highest lane; 0: there are no messages */
};

/* Adds the messages of `times` runs of a schedule to `use`, which has an entry for each rank.
 * `shortest` and `lanes` count even if `times` is 0. */
void schedule_add_peers(const struct schedule *schedule, uint64_t times, struct peer_use *use);

extern const char *const operation_names[];       /* "recv_reduce", by kind; ended by NULL */
bool operation_travels(enum operation_kind kind); /* send, recv or recv_reduce */

void schedule_free(struct schedule *schedule); /* NULL is allowed */

/* ---- Writes the schedule of one rank: groups of ranks, and the operations.
 *
 * An algorithm writes for a group (an ordered list of ranks, one of which is this rank) and
 * addresses data through views (schedule.h). It writes a sequential program; the builder finds what
 * may run concurrently. Operations of no elements vanish, on both sides alike.
 *
 * Nothing here returns an error. A builder that runs out of memory, or is given an impossible
 * operation (operands of different lengths, a peer outside the group, an element outside its
 * buffer), remembers the failure and ignores all further calls; builder_finish() reports it.
 *
 * An operation copies the spans that it is given, so they may be used again.
 * ---- */

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

/* ---- Views of buffers as blocks, and messages made of blocks.
 *
 * Memory that these functions return belongs to the builder and lives until the schedule is
 * finished. When the builder has failed they return empty views and messages.
 * ---- */

struct builder;

/* Data as a list of blocks. A block is a message, so it need not be contiguous. */
struct view {
    const struct message *messages; /* one for each block */
    int blocks;
};

/* A source or destination with the blocks of its collective. */
struct view builder_view(struct builder *builder, enum buffer buffer);

/* Block `index`, which may be any integer: it is taken modulo the number of blocks. */
struct message view_block(const struct view *view, int index);
/* Blocks first, first + step, first + 2 step, ... (`count` of them), modulo the number of blocks,
 * as one message. */
struct message view_blocks(struct builder *builder, const struct view *view, int first, int step,
                           int count);
/* All blocks in their order, as one message. */
struct message view_all(struct builder *builder, const struct view *view);
/* Elements [first, first + length) of a message. */
struct message message_part(struct builder *builder, struct message message, size_t first,
                            size_t length);
/* Several messages as one, in their order. */
struct message message_join(struct builder *builder, const struct message *messages, int count);

/* A view of one block: the message. */
struct view view_of(struct builder *builder, struct message message);
/* Blocks which[0], which[1], ... of a view, each modulo the number of blocks. */
struct view view_select(struct builder *builder, const struct view *view, const int *which,
                        int count);
/* Blocks joined `each` at a time, which divides their number: block i of the result is blocks
 * i * each .. i * each + each - 1 of `view`. */
struct view view_bundle(struct builder *builder, const struct view *view, int each);
/* The whole of a view, cut into `blocks` blocks by the slice rule: each has count / blocks
 * elements, and the first count mod blocks of them have one more. */
struct view view_cut(struct builder *builder, const struct view *whole, int blocks);

/* Elements [first, first + length) of a block. */
struct slice {
    size_t first, length;
};

/* Elements. A slice of a long block begins at a multiple of them from the beginning of the block.
 * That is a multiple of 128 bytes, whatever the type: accesses of 16 bytes are as aligned in the
 * slice as in the block. */
#define CHANNEL_UNIT 128

/* Slice `channel` of `channels` of a block of `length` elements. Sender and receiver each derive it
 * from the length alone. A block of at least CHANNEL_UNIT * channels elements is cut at multiples
 * of CHANNEL_UNIT: each slice has units / channels whole units, the first units mod channels slices
 * have one more, and the last slice also has the elements after the last whole unit. So no slice is
 * longer than another by more than CHANNEL_UNIT. A shorter block is cut by the slice rule. */
struct slice channel_slice(size_t length, int channel, int channels);
/* The same slice of every block. */
struct view view_channel(struct builder *builder, const struct view *view, int channel,
                         int channels);
/* New scratch memory with blocks as long as the blocks of `like`. */
struct view view_scratch(struct builder *builder, const struct view *like);
/* New scratch memory of `elements` elements as one block. */
struct view view_scratch_block(struct builder *builder, size_t elements);

/* An array of `count` messages, for an algorithm that composes a view of its own: fill it in and
 * use (struct view){messages, count}. NULL when the builder has failed; then simply return. */
struct message *message_array(struct builder *builder, int count);
/* Likewise an array of integers: indices of blocks, or group ranks. */
int *index_array(struct builder *builder, int count);

/* ---- All that the author of an algorithm includes, and the registry of algorithms.
 *
 * An algorithm writes a sequential program for one rank of a group (schedule.h) on blocks of data
 * (schedule.h); the builder finds what may run concurrently. This header has the rest: what an
 * algorithm is asked to write (struct call), how it is described (struct algorithm), and how the
 * user's choice of one becomes a schedule.
 * ---- */

/* A call for an algorithm to write. Blocks of the views, by collective (p = group size):
 *   allreduce                  source 1, destination 1 (the whole vector)
 *   broadcast                  source 1 (empty unless root), destination 1
 *   reduce                     source 1, destination 1 (empty unless root)
 *   sendrecv                   source 1, destination 1 (each empty where the pattern has none)
 *   barrier                    source 1, destination 1 (the whole vector)
 *   allgather, allgatherv      source 1, destination p
 *   gather, gatherv            source 1, destination p (to be written by the root only)
 *   scatter, scatterv          source p (to be read by the root only), destination 1
 *   reduce_scatter(v)          source p, destination 1
 *   alltoall, alltoallv        source p, destination p
 * A rank that may not touch the p blocks still reads their lengths: an inner rank of a tree needs
 * them. In place, source and destination overlap as collective_alias() says; in a part of a
 * composed algorithm they may overlap in any way. put_copy() between the same memory vanishes. */
struct call {
    const struct problem *problem;
    const struct group *group;
    struct view source, destination;
    int root; /* group rank */
    bool in_place;
    const struct choice *choice;
    int channel, channels; /* the views are slice `channel` of `channels` of every block */
    const int *order;      /* of each group rank, its rank in the problem; NULL: the same */
};

/* The source, unchanged by writes to the destination: in place a copy in scratch, else call->source
 * itself. For algorithms that write blocks before they have read all of them. */
struct view view_source_apart(struct builder *builder, const struct call *call);

/* Alltoall and alltoallv: elements of the block from rank `from` to rank `to` (any two ranks), in
 * this call's slice. */
size_t call_length(const struct call *call, int from, int to);

enum algorithm_option_kind {
    OPTION_NUMBER, /* a whole number from `least` to `most` */
    OPTION_WORD,   /* one of `words`; the value is its index */
    OPTION_PART,   /* an algorithm, for a part of a composed one; it serves all of `collectives` */
    OPTION_GROUPS, /* ranks in each group ("4"), or a list of sizes ("2+3"): overrides the shape */
};

struct algorithm_option {
    const char *name; /* "radix" */
    long least, most, standard;
    const char *help;
    enum algorithm_option_kind kind;
    const char *const *words;  /* OPTION_WORD: ended by NULL; `standard` is an index */
    unsigned collectives;      /* OPTION_PART: SERVES() of the collectives of the part */
    const char *standard_part; /* OPTION_PART: its name */
};

/* An option that needs no code: with order=auto, and where problem->ring_place is known, the group
 * of the call has its ranks in the order of their places, and the views have their blocks
 * likewise. */
#define OPTION_ORDER                                                                               \
    {                                                                                              \
        .name = "order",                                                                           \
        .help = "of the ranks on the ring: by number, or 'auto': near ones beside each other",     \
        .kind = OPTION_WORD, .words = order_words                                                  \
    }
extern const char *const order_words[]; /* "natural", "auto" */

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
    bool grouped;         /* it needs groups of ranks: problem->shape */
    const char *summary;  /* one line: the idea */
    const char *rounds;   /* as a formula in p: "p-1" */
    const char *sent;     /* elements that the busiest rank sends, as a formula: "(p-1)b" */
    const char *users;    /* who uses it elsewhere */
    struct algorithm_option options[ALGORITHM_OPTIONS_MOST]; /* ended by a NULL name */
    /* The reason why it cannot serve this problem with these options: one sentence, static or
     * written into `why`; NULL: it can. Reads ranks, root and shape; the count is not known yet. A
     * grouped algorithm is asked only when there is a shape. The hook may be NULL: no refusals. */
    const char *(*refuses)(const struct problem *problem, const struct choice *choice, char *why,
                           size_t size);
    void (*write)(struct builder *builder, const struct call *call); /* NULL: a vendor's */
    /* sendrecv: the rank that `rank` sends to; -1: none. The pattern is the contract. */
    int (*partner)(const struct choice *choice, int rank, int ranks);
    bool round_trip; /* an iteration goes there and back: half of its time is reported */
    /* All ranks do the same, with peers that are as far from them (predict/simulate/simulate.h), if
     * all blocks have one length. tests/unit/predict/test_simulator.c shows it of few ranks. */
    bool alike;
    /* The library that runs it (run/reference/reference.h), of which there is no schedule to see:
     * it is no part of other algorithms, and neither `auto` nor `all` takes it. NULL: it is
     * cctest's own. */
    const char *vendor;
};

/* The algorithm of one part of a composed one. */
struct part {
    const struct algorithm *algorithm; /* serves the first of the option's collectives */
    /* Its name or alias as the user gave it. For each of the option's other collectives the part
     * is the algorithm of this name there, else that of algorithm->name: so "rhd" is rec-halving
     * for reduce_scatter, and recursive-doubling for allgather. */
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
    struct file_plan *file; /* whose schedules it writes (collective/formats/formats.h); NULL */
};

/* The standard choice of an algorithm. */
struct choice choice_of(const struct algorithm *algorithm);

/* sendrecv: the partners of all ranks in the pattern of the choice, as the problem's counts. Free
 * with counts_free(). */
enum status choice_partners(const struct choice *choice, int ranks, struct counts **counts);

/* Does the choice, or a part of it, ask for problem->ring_place (order=auto)? */
bool choice_orders(const struct choice *choice);

/* Value of a number or word option of the choice, by name. */
long choice_option(const struct choice *choice, const char *name);
long call_option(const struct call *call, const char *name);

/* Writes part `option` of a composed algorithm: `collective` on part->group, which are ranks of
 * the call's group and may be absent, with the views and the root of `part`. The other fields of
 * `part` are not read. */
void call_part(struct builder *builder, const struct call *call, const char *option,
               enum collective_id collective, const struct call *part);

/* As algorithm->refuses, and also what all grouped algorithms need: several groups, and groups=
 * sizes that add up to the ranks. */
const char *choice_refuses(const struct choice *choice, const struct problem *problem, char *why,
                           size_t size);
/* Likewise why part `option` of the choice cannot serve a group of `ranks` ranks. For a composed
 * algorithm's refuses(). */
const char *part_refuses(const struct choice *choice, const char *option, int ranks, char *why,
                         size_t size);

/* All algorithms, ended by NULL; defined in algorithms/list.c. */
extern const struct algorithm *const algorithms[];
bool algorithm_serves(const struct algorithm *algorithm, enum collective_id collective);
/* The part of that name for an OPTION_PART, with standard options. It must serve all of the
 * option's collectives, have no parts of its own, need no groups, and be no vendor's; else
 * part.algorithm is NULL. */
struct part part_of(const struct algorithm_option *option, const char *name);
/* Can it be the part? Then part_of() finds it by its name. */
bool algorithm_is_part(const struct algorithm *algorithm, const struct algorithm_option *option);
/* The choice of `-a auto` for a problem of `bytes` bytes (the size that tables print), and its
 * reason in a few words. Defined in algorithms/auto.c. NULL: no algorithm of the rules accepts the
 * shape. */
const struct algorithm *algorithm_auto(const struct problem *problem, size_t bytes,
                                       const char **why);
/* By collective and name or alias, in any case, '_' and '-' being equal; NULL if unknown. */
const struct algorithm *algorithm_find(enum collective_id collective, const char *name);

/* Writes the schedule of `rank` for `problem`, with `channels` slices of every block, each on a
 * lane of its own. The schedule is the caller's, to be freed with schedule_free(); it refers to the
 * problem's counts, which must live as long. `runs`: it is to be executed. Else no conflicts are
 * looked for, which is cheaper: the schedule has no waits, and only what it needs can be read from
 * it. That of a vendor's algorithm has no operations: it tells where the buffers lie. Errors:
 * STATUS_USAGE with the reason if the algorithm refuses the problem; STATUS_ERROR if memory ran out
 * or the algorithm wrote a malformed operation. */
enum status schedule_build(const struct choice *choice, const struct problem *problem, int rank,
                           int channels, bool runs, struct schedule **schedule);

/* ---- Memory of a builder, and how a builder fails. ---- */

struct builder;

/* Memory that lives until the schedule is finished. NULL when the builder has failed, or fails
 * now. */
void *builder_draft(struct builder *b, size_t bytes);

/* Fails the builder with a failure that fail() has recorded. */
void builder_stop(struct builder *b, enum status status);

/* ---- Finds the receive that brought an element of the result, by the schedule. ---- */

/* The receive that brought destination element `element` to this rank. Starts at the last operation
 * that wrote the element; from a local one it goes on to the writer of its input. Returns the index
 * of the receive; -1: the element is of this rank's source, or was never written. */
int provenance_of(const struct schedule *schedule, size_t element);

/* The element of `message` that lies at element `at` of `storage`; SIZE_MAX: none. */
size_t message_find(const struct schedule *schedule, struct message message, int storage,
                    size_t at);

/* The storage of message element `position`, and its element there. */
void message_locate(const struct schedule *schedule, struct message message, size_t position,
                    int *storage, size_t *at);

/* ---- Which algorithm was the fastest where it was measured, and which is to be taken elsewhere.
 *
 * A cell has the times of algorithms for one collective, number of ranks and size. Between cells
 * times are interpolated in logarithms: the cells with the next smaller and larger number of ranks,
 * and in each of these numbers the next smaller and larger size, count the more the nearer they
 * are. Beyond the outermost cells the nearest ones count alone. A power of two of ranks is compared
 * with powers of two, where any were measured; another number that was not measured itself with
 * the next powers of two and the next others, half each where there are both. An algorithm's merit
 * is the weighted mean of the logarithm of its time over the cell's best. The bests are the same
 * for all algorithms, so the pick is the one whose interpolated time, in logarithms, is the least.
 *
 * Pure: no files, no clock.
 * ---- */

struct tuned_algorithm {
    const char *text; /* as -a takes it: "bruck:radix=4" */
    struct choice choice;
    double time, low, high; /* us: the median of rounds, and the range of its interval */
};

struct tuned_cell {
    const struct collective *collective;
    int ranks, nodes;
    size_t bytes;                       /* as tables print it: the larger buffer of one rank */
    struct tuned_algorithm *algorithms; /* the winner first; one at least */
    int count;
};

#define TUNED_TEXT_MOST 80
#define TUNED_MOST      128 /* algorithms of a cell */

/* Measurements, and where they were made. All texts and lists belong to the arena. */
struct tuned {
    struct arena *arena;
    const char *path;          /* of the file, for sentences */
    char cpu[TUNED_TEXT_MOST]; /* model of the machine's CPUs; "": not known */
    char memory[TUNED_TEXT_MOST], transport[TUNED_TEXT_MOST],
        datatype[TUNED_TEXT_MOST];  /* likewise, */
    char protocol[TUNED_TEXT_MOST]; /* of the device executor */
    int threads;                    /* CPUs of a host; 0: not known */
    struct tuned_cell *cells;
    size_t count;
    uint64_t fingerprint; /* of all that picks depend on */
};

void tuned_free(struct tuned *tuned); /* NULL is allowed */

/* Hashes what picks depend on. */
void tuned_seal(struct tuned *tuned);

#define TUNED_WHY_MOST 160
struct tuned_pick {
    const struct tuned_algorithm *algorithm;
    char why[TUNED_WHY_MOST]; /* "the fastest of 24 on 4 ranks in tuned.json" */
};

/* The algorithm of the best merit for a problem of `bytes` bytes (the size that tables print) that
 * does not refuse it. False: nothing was measured of the collective, or all refuse. */
bool tuned_choose(const struct tuned *tuned, const struct problem *problem, size_t bytes,
                  struct tuned_pick *pick);

#endif

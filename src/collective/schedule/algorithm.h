/*
 * algorithm.h - all that the author of an algorithm includes, and the registry of algorithms.
 *
 * An algorithm writes a sequential program for one rank of a group (builder.h) on blocks of data
 * (view.h); the builder finds what may run concurrently. This header has the rest: what an
 * algorithm is asked to write (struct call), how it is described (struct algorithm), and how the
 * user's choice of one becomes a schedule.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_ALGORITHM_H
#define CCTEST_COLLECTIVE_SCHEDULE_ALGORITHM_H

#include "collective/schedule/builder.h"
#include "collective/schedule/view.h"

/* What an algorithm is asked to write. Blocks of the views, by collective (p = group size):
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
    const int *order; /* of each group rank, its rank in the problem; NULL: the same */
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
 * of the call has its ranks in the order of their places, and the views have their blocks likewise. */
#define OPTION_ORDER                                                                               \
    {.name = "order",                                                                              \
     .help = "of the ranks on the ring: by number, or 'auto': near ones beside each other",        \
     .kind = OPTION_WORD,                                                                          \
     .words = order_words}
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
    /* All ranks do the same, with peers that are as far from them (predict/simulate/programs.h), if all blocks
     * have one length. tests/unit/predict/test_simulator.c shows it of few ranks. */
    bool alike;
    /* The library that runs it (run/reference/reference.h), of which there is no schedule to see: it is no
     * part of other algorithms, and neither `auto` nor `all` takes it. NULL: it is cctest's own. */
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
    struct file_plan *file; /* whose schedules it writes (collective/formats/file_plan.h); NULL */
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

#endif

/*
 * internal.h - for the files of collective/schedule/ alone.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_INTERNAL_H
#define CCTEST_COLLECTIVE_SCHEDULE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collective/schedule/schedule.h"

/* ---- The state of a builder, for the files that work on it. ---- */

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

/* ---- Cuts a storage into cells at the ends of runs, so that every run covers whole cells. ---- */

struct cells {
    size_t *starts; /* ascending; cell i is [starts[i], starts[i + 1]); the last is only an end */
    size_t count;   /* of starts */
    /* For many cuts, else NULL. Bit e: element e begins a cell. before[w]: the number of cells that
     * begin before word w. */
    uint64_t *begins;
    uint32_t *before;
    size_t words;
};

/* cells_open -> cells_cut ... -> cells_order -> cells_find ... -> cells_free, which is allowed at
 * any time. `cells` must be zero before. `elements`: of the storage; `ends`: the most cuts. False:
 * out of memory. */
bool cells_open(struct cells *cells, size_t elements, size_t ends);
void cells_cut(struct cells *cells, size_t start, size_t end); /* at both ends of a run */
bool cells_order(struct cells *cells);
/* The cell that begins at element `start`, where there was a cut. */
size_t cells_find(const struct cells *cells, size_t start);
void cells_free(struct cells *cells);

/* ---- Finds which operations of a schedule conflict, and exactly where. ---- */

/* Sets waits and wait_count of each operation; the memory is the arena's. Keeps only the waits that
 * others do not imply. For each element, a read waits for the last writer; a write waits for the
 * readers since the last write, or for that write if there are none. STATUS_ERROR: an operation
 * writes an element twice, or its target overlaps an input without being equal to it, or memory ran
 * out. Time is O(n log n) in the number of runs. */
enum status conflict_find(const struct schedule *schedule, struct operation *operations,
                          size_t count, struct arena *arena);

/* ---- Leaves out the scratch memory that no operation touches. ---- */

struct builder;
struct operation;

/* Moves the touched parts of scratch together: changes the spans of the b->count finished
 * `operations`, and the schedule's extent of scratch. May fail the builder. */
void scratch_compact(struct builder *b, struct operation *operations);

#endif

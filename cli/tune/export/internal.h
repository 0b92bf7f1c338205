/*
 * internal.h - for the files of cli/tune/export/ alone.
 */
#ifndef CCTEST_CLI_TUNE_EXPORT_INTERNAL_H
#define CCTEST_CLI_TUNE_EXPORT_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "cli/tune/export/export.h"
#include "collective/schedule/schedule.h"

/* ---- Which algorithm of another library does what a winner does, and what is told of winners
 * that have none there.
 * ---- */

struct counterpart {
    enum collective_id collective;
    const char *algorithm; /* cctest's; NULL ends a table */
    const char *option;    /* that must have this value; NULL: none */
    long value;
    const char *theirs; /* name or number; as the library's file has it */
};

/* A library whose files are written. */
struct peer_library {
    const char *name;                /* "Open MPI" */
    const struct counterpart *table; /* of the algorithms that both have */
    /* Does it run the counterpart where the cell was measured? NULL: everywhere. */
    bool (*runs)(const struct counterpart *counterpart, const struct tuned *tuned,
                 const struct tuned_cell *cell);
};

/* A cell's export: its fastest algorithm that the library has. */
struct export_pick {
    const struct tuned_cell *cell;
    const struct tuned_algorithm *algorithm; /* NULL: the library has none of the cell's */
    const struct counterpart *counterpart;
};

/* The picks of one collective and number of ranks, ascending by size. Returns how many; the caller
 * frees *picks. */
int export_picks(const struct tuned *tuned, const struct peer_library *library,
                 enum collective_id collective, int ranks, struct export_pick **picks);

/* The numbers of ranks that a collective was measured with, ascending. Returns how many. */
#define EXPORT_RANKS_MOST 128
int export_ranks(const struct tuned *tuned, enum collective_id collective,
                 int ranks[EXPORT_RANKS_MOST]);

/* Between two neighbours, where the larger one begins to be the nearer: their geometric mean,
 * rounded up, and above the smaller one. */
size_t export_boundary(size_t below, size_t above);

/* Says, a line for each collective and winner that the library lacks, at which sizes and ranks that
 * is, and what is taken instead. */
void export_say_lacking(const struct tuned *tuned, const struct peer_library *library);

/* ---- The winners as MPICH's JSON of selections. ---- */

/* The document that MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE names. Says what MPICH lacks. NULL:
 * out of memory. */
json_t *mpich_json(const struct tuned *tuned);

/* ---- The winners as the CSV of NCCL's tuner plugin. ---- */

/* Writes the file that NCCL_TUNER_CONFIG_FILE names for NCCL's example of a tuner plugin. Says what
 * NCCL lacks. */
void nccl_write(FILE *out, const struct tuned *tuned);

/* ---- The winners as Open MPI's file of dynamic rules. ---- */

/* Writes the file that coll_tuned_dynamic_rules_filename names (with coll_tuned_use_dynamic_rules
 * 1). Says what Open MPI lacks. */
void ompi_write(FILE *out, const struct tuned *tuned);

#endif

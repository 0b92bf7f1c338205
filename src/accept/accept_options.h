/*
 * accept_options.h - the options of `cctest accept`, and the names of its stages.
 */
#ifndef CCTEST_ACCEPT_ACCEPT_OPTIONS_H
#define CCTEST_ACCEPT_ACCEPT_OPTIONS_H

#include <stdbool.h>

/* In the order in which they run. */
enum accept_stage {
    STAGE_START, /* always: each agent starts a worker that does nothing */
    STAGE_INVENTORY,
    STAGE_SELF,
    STAGE_NODE,
    STAGE_PAIRS,
    STAGE_ISOLATE,
    STAGE_HALVES,
    STAGE_ALL,
    STAGE_SOAK, /* by --duration: the stages from self to all in rotation */
    ACCEPT_STAGES
};
extern const char *const accept_stage_names[ACCEPT_STAGES + 1]; /* ended by NULL */

/* Seconds that a stage may take. */
struct stage_time {
    double least;        /* that it needs to do anything */
    double usual, quick; /* with --quick */
};
extern const struct stage_time stage_times[ACCEPT_STAGES];
#define QUICK_SECONDS 120.0 /* of all stages together, with --quick */

struct accept_options {
    unsigned stages;                /* 1 << enum accept_stage, of those that run */
    double seconds[ACCEPT_STAGES];  /* that each may take, by --stages; 0: stage_times */
    bool quick;                     /* the whole in two minutes, launch apart */
    double duration;                /* seconds of the whole run, if it is a soak; else 0 */
    int all_pairs;                  /* each host meets each other */
    const char *switches;           /* a file, or NULL */
    const char *good, *bad, *junit; /* files, "-" for stdout, or NULL */
    const char *write_profile;      /* likewise */
    const char *profile, *baseline; /* files that hosts are held against, or NULL */
};

#endif

/*
 * survey.h - what all test cases of a job will need on this rank: memory, peers and lanes.
 */
#ifndef CCTEST_RUN_SESSION_SURVEY_H
#define CCTEST_RUN_SESSION_SURVEY_H

#include "run/runner.h"

struct needs {
    size_t bytes[BUFFERS];  /* the most of any test case */
    size_t dropped;         /* bytes of the longest message that --inject may drop; 0: none */
    struct peer_use *peers; /* by rank: of all test cases together */
    int lanes;              /* the most of any test case that the host runs */
    int device_channels;    /* the most, if devices run all that they may */
    int device_lanes;       /* likewise, for each channel */
};

/* Every size of the sweep is looked at: where blocks are cut to nothing at one size, another may
 * need other peers. Error: out of memory, or an algorithm that refuses the job. */
enum status survey(const struct runner *runner, struct needs *needs);
void needs_free(struct needs *needs);

#endif

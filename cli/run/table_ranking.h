/*
 * table_ranking.h - ranks the algorithms of a run, below the table.
 */
#ifndef CCTEST_CLI_RUN_TABLE_RANKING_H
#define CCTEST_CLI_RUN_TABLE_RANKING_H

#include <stdbool.h>
#include <stdio.h>

#include "run/job.h"

/* What the foot of the table needs of a result. */
struct ranked {
    int choice;
    size_t asked, bytes; /* of the sweep; as it became */
    int ranks;
    double time, busbw; /* us; GB/s */
    double low, high;   /* us: the interval of the time; of few iterations the range of the times */
    bool wrong;
};

/* Prints how fast each algorithm was, and in which place. `cells` come in the order of the results.
 * Prints nothing where there is nothing to compare. */
void ranking_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count);

#endif

/*
 * tune_options.h - what `cctest tune` was asked for, beside what it shares with a run.
 */
#ifndef CCTEST_TUNE_TUNE_OPTIONS_H
#define CCTEST_TUNE_TUNE_OPTIONS_H

#define TUNE_RANKS_MOST 64

struct tune_options {
    int ranks[TUNE_RANKS_MOST]; /* --ranks, ascending, each once */
    int rank_count;             /* 0: not given */
    /* Where the winners go in the form of other libraries: a file, "-" for stdout, or NULL. */
    const char *ompi, *mpich, *nccl;
};

#endif

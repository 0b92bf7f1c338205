/*
 * bootstrap_options.h - the options that say where ranks come from.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_BOOTSTRAP_OPTIONS_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_BOOTSTRAP_OPTIONS_H

#include <stdbool.h>

#define JOB_RANKS_MOST 65536

/* What local ranks are. */
enum ranks_as {
    RANKS_AUTO, /* not chosen yet */
    RANKS_PROCESSES,
    RANKS_THREADS, /* of one process */
};

struct bootstrap_options {
    int np;                 /* --np; 0: not given */
    const char *rendezvous; /* "host:port"; NULL: not given */
    int rank, world;        /* -1: not given */
    enum ranks_as ranks_as;
    const char *interface; /* address or device to listen on; NULL: any */
    double timeout;        /* seconds without progress after which a job ends */
    int verbosity;         /* 0 to 2 */
    bool outlives;         /* ranks go on when others are lost; rank 0 alone knows how it ends */
};

#endif

/*
 * job.h - what the user asked for, resolved: the same on every rank.
 */
#ifndef CCTEST_RUN_JOB_H
#define CCTEST_RUN_JOB_H

#include "bootstrap/bootstrap_options.h"
#include "collective/collective.h"
#include "collective/counts.h"
#include "collective/shape.h"
#include "memory/datatype.h"
#include "memory/memory.h"
#include "schedule/algorithm.h"
#include "transport/transport.h"

enum start_mode {
    START_BARRIER,      /* a barrier before every iteration */
    START_BACK_TO_BACK, /* each iteration begins when this rank's last one has ended */
};

enum bind_mode {
    BIND_CORE, /* each rank to a core, of its own where its host has enough of them */
    BIND_NONE, /* to none: the kernel places them */
};

/* A fault that the tool inflicts on itself, so that its users can see that it would be found. */
enum injection_kind {
    INJECT_CORRUPT, /* one bit of the first incoming message of `rank` flips in checked iteration
                       `iteration`, counted from 0 over the job's checked iterations */
    INJECT_DROP,    /* the first incoming message of `rank` is ignored in checked iteration
                       `iteration`, likewise */
    INJECT_DELAY,   /* `rank` starts every iteration `microseconds` late */
    INJECT_KILL,    /* `rank` is killed (SIGKILL) at iteration `iteration` */
    INJECT_STOP,    /* `rank` is stopped (SIGSTOP) at iteration `iteration` */
};
struct injection {
    enum injection_kind kind;
    int rank;
    /* kill, stop: counted from 0 over all that the rank runs: warm-up, checks, timed. */
    long iteration;
    long microseconds;
};
#define INJECTIONS_MOST 8

#define CANDIDATES_MOST     64
#define CANDIDATE_TEXT_MOST 256
#define TRANSPORTS_MOST     8
#define ROOT_ALL            (-1)

/* An algorithm that the job is to run. */
struct candidate {
    struct choice choice;           /* algorithm NULL: auto, before the ranks are known */
    char text[CANDIDATE_TEXT_MOST]; /* as shown: "bruck:radix=4" */
    size_t least, most;             /* the sizes that it is for (bytes, as asked): all, unless auto
                                       picked it for some */
    const char *why;                /* auto picked it; NULL: the user did */
};

struct job {
    const struct collective *collective;
    struct candidate candidates[CANDIDATES_MOST];
    int candidate_count;
    bool choices_all; /* `-a all`: algorithms that refuse the number of ranks are left out */
    const struct transport *transports[TRANSPORTS_MOST + 1]; /* ended by NULL */
    bool transports_auto;
    const struct memory_kind *memory;
    size_t smallest, largest; /* bytes */
    size_t factor, increment; /* one of them is 0 */
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL unless the collective reduces; barrier: bor */
    int root;                          /* or ROOT_ALL: rotates with the iterations */
    struct counts_spec counts;         /* --counts */
    const char *counts_text;           /* as the user wrote it */
    int shape_groups, shape_ranks;     /* --shape GROUPSxRANKS; 0: not given */
    long iterations, warmup, checked;
    bool in_place;
    enum copy_policy copy;
    size_t chunk; /* bytes; 0: whole messages; GRAIN_AUTO */
    int channels;
    int slots;         /* of one lane at its receiver; 0: the transport's choice */
    size_t slot_bytes; /* payload of one slot; 0: likewise */
    double min_busbw;  /* GB/s; 0: not asked */
    uint64_t seed;
    enum start_mode start;
    struct injection injections[INJECTIONS_MOST];
    int injection_count;
    enum bind_mode bind;
    struct bootstrap_options bootstrap;
    /* Where results go. */
    const char *json, *csv, *svg; /* file, "-" for stdout, or NULL */
    bool profile;                 /* where each rank's time goes is part of them */
    bool watches;                 /* rank 0 tells what the links waited for: it has -v or --json */
};

/* The size after `bytes` in the job's sweep; 0 when there are no more. */
size_t job_next_size(const struct job *job, size_t bytes);

/* Which ranks belong together: as --shape says, else those of one node. `node`: of each rank, NULL:
 * not known yet, then *shape may become NULL. STATUS_USAGE if --shape does not suit the ranks. */
enum status job_shape(const struct job *job, int ranks, const int *node, struct shape **shape);

/* Can this job run with `ranks` ranks? Looks at root, injections, counts, and asks each algorithm;
 * under `-a all` those that refuse are taken out of the job, otherwise a refusal is an error.
 * Called as soon as the number of ranks is known, and again when the shape is (before: NULL); then
 * `-a auto` becomes what it picks.
 * STATUS_USAGE, with the reason. */
enum status job_check_ranks(struct job *job, int ranks, const struct shape *shape);

/* Does a candidate run at this size (bytes, as asked)? */
bool job_runs_at(const struct job *job, int candidate, size_t bytes);

/* The problem of one size (bytes, as asked) of one algorithm, with root 0 where the root rotates.
 * choice->algorithm NULL (auto, yet): as of any, but that sendrecv has no partners then.
 * *counts: what it refers to, or NULL; the caller's, to be freed with counts_free(). */
enum status job_problem(const struct job *job, const struct choice *choice, size_t bytes, int ranks,
                        const struct shape *shape, struct problem *problem, struct counts **counts);

#endif

/*
 * job.h - what the user asked for, with every option resolved. All ranks have equal jobs.
 */
#ifndef CCTEST_RUN_JOB_H
#define CCTEST_RUN_JOB_H

#include "controlplane/bootstrap/bootstrap_options.h"
#include "collective/collective.h"
#include "collective/counts.h"
#include "collective/shape.h"
#include "dataplane/execute/device_group.h"
#include "collective/formats/schedule_file.h"
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/inputs.h"
#include "dataplane/memory/memory.h"
#include "run/split.h"
#include "collective/schedule/algorithm.h"
#include "dataplane/transport/transport.h"
#include "collective/schedule/tuned.h"
#include "run/reference/reference.h"

enum start_mode {
    START_BARRIER,      /* a barrier before every iteration */
    START_BACK_TO_BACK, /* each iteration begins when this rank has ended the one before */
};

/* What runs schedules. */
enum executor_choice {
    EXECUTOR_AUTO,   /* devices where they can, line by line; else the host */
    EXECUTOR_HOST,   /* the host's executor, over transports */
    EXECUTOR_DEVICE, /* the devices that have the buffers, or the job fails */
};

enum bind_mode {
    BIND_CORE, /* bind each rank to a core, of its own if its host has enough cores */
    BIND_NONE, /* leave it to the kernel */
};

/* A fault that the tool inflicts on itself, to show that it detects it. */
enum injection_kind {
    INJECT_CORRUPT, /* one bit of the first incoming message of `rank` flips in checked iteration
                       `iteration`, counted from 0 over all checked iterations of the job */
    INJECT_DROP,    /* the first incoming message of `rank` is ignored in that iteration */
    INJECT_DELAY,   /* `rank` starts every iteration `microseconds` late */
    INJECT_KILL,    /* `rank` is killed (SIGKILL) at iteration `iteration` */
    INJECT_STOP,    /* `rank` is stopped (SIGSTOP) at iteration `iteration` */
    INJECT_SILENT,  /* `rank` does not begin iteration `iteration`, and lives until the job ends */
};
struct injection {
    enum injection_kind kind;
    int rank;
    long iteration; /* kill, stop, silent: counted from 0 over all: warm-up, checked and timed */
    long microseconds;
};
#define INJECTIONS_MOST 8

/* Does it act on a message of a checked iteration? */
static inline bool injection_takes_message(const struct injection *injection)
{
    return injection->kind == INJECT_CORRUPT || injection->kind == INJECT_DROP;
}

/* Does any of them drop a message? */
static inline bool injections_drop(const struct injection *injections, int count)
{
    for (int i = 0; i < count; i++)
        if (injections[i].kind == INJECT_DROP)
            return true;
    return false;
}

/* Does it hit all ranks of the process? */
static inline bool injection_takes_process(const struct injection *injection)
{
    return injection->kind == INJECT_KILL || injection->kind == INJECT_STOP;
}

#define ALGORITHMS_MOST      64 /* that -a names */
#define CANDIDATE_TEXT_MOST  256
#define AUTO_WHY_MOST        TUNED_WHY_MOST
#define CANDIDATE_TITLE_MOST (CANDIDATE_TEXT_MOST + 64)
#define TRANSPORTS_MOST      8
#define ROOT_ALL             (-1)
#define CHANNELS_MOST        64
#define CHANNELS_AUTO        0
#define CHECKED_ALL          (-1)
#define ITERATIONS_AUTO_MOST 100000 /* a median of noise as large as itself is known to 2% sooner */

/* What lines of the table run, each at one size. */
struct candidate {
    const struct collective *collective;
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL unless the collective reduces; barrier: bor */
    struct choice choice;              /* algorithm NULL: auto, before the ranks are known */
    char text[CANDIDATE_TEXT_MOST];    /* as shown: "bruck:radix=4" */
    size_t least, most;                /* the sizes it runs at (bytes, as asked) */
    char why[AUTO_WHY_MOST];           /* why auto picked it; "": the user named it */
};

struct job {
    /* What was asked for, each list without repetition and ended by NULL. The lines take their own
     * from their candidate. */
    const struct collective *collectives[COLLECTIVES + 1];
    const struct datatype *datatypes[DATATYPES + 1];
    const struct reduction *reductions[REDUCTIONS + 1]; /* empty if no collective reduces */
    /* Those that compete stand together: by collective, datatype and operator. */
    struct candidate *candidates;
    int candidate_count;
    struct schedule_file *files; /* of -a file:PATH; a copy of a job refers to those of the original */
    struct tuned *tuned;  /* --tuning: what auto picks by; NULL: by its rules. A copy of a job refers to
                             that of the original */
    bool collectives_all; /* `cctest all`: leave out collectives that have no algorithm of -a */
    bool choices_all;     /* `-a all`: leave out algorithms that refuse the ranks */
    bool types_all; /* `-d all` or `-o all`: leave out what cannot combine, or a vendor cannot */
    struct transport_choice transports[TRANSPORTS_MOST + 1]; /* ended by a NULL transport */
    const char *transports_text;                             /* as the user wrote it; "auto" */
    char transport_values[TRANSPORT_LIST_MOST]; /* texts that settings of `transports` point to: a
                                                   copy of a job refers to those of the original */
    const struct memory_kind *memory;
    const char *devices;           /* --device: a list of those that have such memory; NULL: any */
    size_t smallest, largest;      /* bytes */
    size_t factor, increment;      /* one of them is 0 */
    int root;                      /* or ROOT_ALL: rotates with the iterations */
    struct counts_spec counts;     /* --counts */
    const char *counts_text;       /* as the user wrote it */
    int shape_groups, shape_ranks; /* --shape GROUPSxRANKS; 0: not given */
    struct split_spec split;       /* --split */
    long iterations, warmup;       /* timed ones, and those before them */
    bool iterations_auto;          /* -n auto: until the median is known, `iterations` at most */
    double budget;                 /* seconds for the timed iterations of a line of -n auto */
    long checked;                  /* CHECKED_ALL: the timed ones, and no others */
    bool in_place;
    enum executor_choice executor;
    enum device_protocol protocol;
    bool graph; /* devices replay captured launches */
    enum copy_policy copy;
    size_t chunk;      /* bytes; 0: whole messages; GRAIN_AUTO */
    int channels;      /* --channels; CHANNELS_AUTO: by who runs a line (run/channel_count.h) */
    int slots;         /* of one lane, at its receiver; 0: the transport's choice */
    size_t slot_bytes; /* payload of one slot; 0: the transport's choice */
    double min_busbw;  /* GB/s; 0: no limit */
    uint64_t seed;
    enum start_mode start;
    struct injection injections[INJECTIONS_MOST];
    int injection_count;
    enum bind_mode bind;
    struct bootstrap_options bootstrap;
    bool compares;     /* a run with --model: predictions stand beside its lines */
    const char *model; /* --model, a file that rank 0 reads; NULL: none */
    bool profile;                                  /* results say where each rank's time goes */
    bool watches;         /* rank 0 reports the links' waiting times: -v or --json */
    bool gathers_samples; /* rank 0 reports the samples of all ranks: --samples */
};

void job_release(struct job *job); /* its candidates, its files, its counts and its groups */

/* Does the sweep's size matter to it? A barrier moves a few bytes; a file of --counts sets the block
 * lengths. */
bool job_sweeps(const struct job *job, const struct collective *collective);

/* What any of its collectives is. */
struct traits {
    bool counted, reduces, rooted, sized; /* as in struct collective */
    bool takes_operator;                  /* not a barrier, whose operator is its own */
};
struct traits job_traits(const struct job *job);

/* The first size of a candidate, and the one after `bytes`; 0: there is none. */
size_t job_first_size(const struct job *job, const struct candidate *candidate);
size_t job_next_size(const struct job *job, const struct candidate *candidate, size_t bytes);

/* How many sizes the sweep of a candidate has. */
unsigned long long job_size_count(const struct job *job, const struct candidate *candidate);

/* Is --shape for so many ranks? STATUS_USAGE if not. `whose`: what follows their number in that sentence. */
enum status job_check_shape(const struct job *job, int ranks, const char *whose);

/* Makes the groups of so many ranks, and in each the nodes, which are those of --shape if it is
 * given. `node`: the node of each rank, or NULL if it is not known yet. Free with split_free(), also
 * after an error. STATUS_USAGE if --split or --shape do not suit the ranks. */
enum status job_split(const struct job *job, int ranks, const int *node, struct split *split);

/* Checks that the libraries of vendors that the job names can do what it asks for; `ranks` is 0 if
 * it is not known yet. STATUS_USAGE, with the reason. */
enum status job_check_vendors(const struct job *job, int ranks);

/* Why the vendor of a candidate cannot do what it asks for; NULL: it can, or there is no vendor.
 * Static, or written into `text`; `ranks` as above. */
const char *job_vendor_refusal(const struct job *job, const struct candidate *candidate, int ranks,
                               char text[VENDOR_WHY_MOST]);

/* The vendor whose library one of the candidates runs; NULL: none does. */
const struct vendor *job_vendor(const struct job *job);

/* May devices run schedules of the job, as far as its options tell? The same on every rank. */
bool job_considers_devices(const struct job *job);

/* Does an injected fault drop a message of this rank? */
bool job_drops(const struct job *job, int rank);

/* Does a candidate run at this size (bytes, as asked)? */
bool candidate_runs_at(const struct candidate *candidate, size_t bytes);

/* The problem of one size, and the counts that it refers to. */
struct sized_problem {
    struct problem problem;
    struct counts *counts; /* or NULL; free with counts_free() */
};

/* Makes the problem of one size (bytes, as asked) of one candidate, for one group. The root is 0 if
 * it rotates. Before auto has picked, sendrecv has no partners. On error there are no counts to
 * free. */
enum status job_problem(const struct job *job, const struct candidate *candidate, size_t bytes,
                        const struct rank_group *group, struct sized_problem *sized);

/* What the ranks of a group begin with in a checked iteration: other values than in other groups,
 * so that a message that came from one shows. */
struct inputs job_inputs(const struct job *job, const struct candidate *candidate,
                         const struct rank_group *group, uint64_t iteration);

#endif

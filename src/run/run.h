/*
 * run.h - the interface of run/.
 */
#ifndef CCTEST_RUN_RUN_H
#define CCTEST_RUN_RUN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/rank_state.h"
#include "base/run_watch.h"
#include "base/status.h"
#include "base/text.h"
#include "collective/collective.h"
#include "collective/formats/formats.h"
#include "collective/schedule/schedule.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "controlplane/control/control.h"
#include "dataplane/execute/execute.h"
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "dataplane/transport/transport.h"
#include "host/host.h"
#include "run/check/check.h"
#include "run/reference/reference.h"

/* ---- One rank's source, destination and scratch, with canaries around each, and a spare
 * area.
 * ---- */

#define BUFFERS_MARGIN                                                                             \
    ((size_t)3 * 3 * 4096) /* bytes: canaries and alignment of a region, at most */

/* One region holds all three, each between two canaries, each beginning at a 4096-byte boundary.
 * The spare area is its end. */
struct buffers {
    struct region region;
    char *base[BUFFERS];
    size_t bytes[BUFFERS]; /* capacity of each */
    char *spare;
};

/* `spare`: bytes of the spare area; 0 is allowed. */
enum status buffers_allocate(const struct memory_kind *memory, const size_t bytes[BUFFERS],
                             size_t spare, const struct tick *tick, struct buffers *buffers);
void buffers_release(struct buffers *buffers);

/* The address of a schedule's buffer: in place, source and destination share memory. */
char *buffers_place(const struct buffers *buffers, const struct schedule *schedule, size_t element,
                    enum buffer buffer);

/* Writes canaries directly around the first `used[b]` bytes of each buffer. */
enum status buffers_guard(const struct memory *memory, struct buffers *buffers,
                          const size_t used[BUFFERS]);

/* Was a canary overwritten? *overrun: the damage to the first such canary; of 0 bytes if there is
 * none. */
enum status buffers_overrun(const struct memory *memory, const struct buffers *buffers,
                            const size_t used[BUFFERS], struct overrun *overrun);

/* ---- The groups of ranks in which a job runs its collective at the same time (--split).
 *
 * A job that is not split has one group, of all ranks. All groups have the same number of ranks.
 * They are numbered in the order of their first ranks, and the ranks of a group are in ascending
 * order.
 * ---- */

enum split_kind {
    SPLIT_NONE,
    SPLIT_NODE, /* the ranks of one host */
    SPLIT_RAIL, /* the ranks with the same place on their hosts */
    SPLIT_SIZE, /* so many consecutive ranks */
    SPLIT_FILE, /* a line of a file for each group */
};

/* The argument of --split. */
struct split_spec {
    enum split_kind kind;
    const char *text; /* as the user wrote it */
    int size;         /* SPLIT_SIZE: ranks of a group */
    int *group;       /* SPLIT_FILE: of each rank, numbered by the lines */
    int ranks;        /* SPLIT_FILE: that the file names */
};

/* "node", "rail", a number, or the path of a file, which is read: ranks and ranges (0-3) between
 * blanks or commas; '#' begins a comment. Errors: STATUS_USAGE, with the file and the line, else as
 * text_file_read(). spec->text is `text`; spec->group is the caller's, to be freed with free(). */
enum status split_read(const char *text, struct split_spec *spec);

/* A number that differs where two files make different groups. */
uint64_t split_fingerprint(const struct split_spec *spec);

/* The groups of so many ranks. `node`: the node of each rank, or NULL if it is not known yet; then
 * *groups is NULL where that decides. STATUS_USAGE if the ranks cannot be split so. Free with
 * shape_free(). */
enum status split_groups(const struct split_spec *spec, int ranks, const int *node,
                         struct shape **groups);

/* All groups. */
struct split {
    struct shape *groups; /* of the job's ranks; NULL: not known before the nodes are */
    struct shape **nodes; /* by group: the nodes among its ranks; NULL: not known yet, as above */
    int *ring_place;      /* of each of the job's ranks: problem->ring_place; NULL: not known */
};
void split_free(struct split *split); /* zeroed is allowed */

/* One of them. */
struct rank_group {
    int number;
    int ranks;                 /* in it */
    const int *members;        /* the job's ranks that these are */
    const struct shape *nodes; /* NULL: not known yet */
    const int *ring_place;     /* as in struct split */
};

/* The groups are known. */
static inline struct rank_group split_group(const struct split *split, int number)
{
    const struct shape *groups = split->groups;
    return (struct rank_group){.number = number,
                               .ranks = shape_size(groups, number),
                               .members = groups->members + groups->start[number],
                               .nodes = split->nodes ? split->nodes[number] : NULL,
                               .ring_place = split->ring_place};
}

/* The nodes among the ranks of each group, if that is the same for all; else NULL. */
const struct shape *split_common_nodes(const struct split *split);

/* "n17", "rail 3", "group 2 (ranks 8..11)". `members`: of the job, by rank. */
#define GROUP_NAME_MOST (RANK_LIST_MOST + 30)
void split_name(const struct split_spec *spec, const struct rank_group *group,
                const struct member *members, char text[GROUP_NAME_MOST]);

/* ---- What the user asked for, with every option resolved. All ranks have equal jobs. ---- */

enum start_mode {
    START_BARRIER,      /* a barrier before every iteration */
    START_BACK_TO_BACK, /* each iteration begins when this rank has ended the one before */
};

/* The executors that may run schedules. */
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

/* An algorithm, datatype and operator that lines of the table run, each at one size. */
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
    /* The lists that were asked for, each without repetition and ended by NULL. The lines take
     * their own from their candidate. */
    const struct collective *collectives[COLLECTIVES + 1];
    const struct datatype *datatypes[DATATYPES + 1];
    const struct reduction *reductions[REDUCTIONS + 1]; /* empty if no collective reduces */
    /* Candidates that compete stand together: by collective, datatype and operator. */
    struct candidate *candidates;
    int candidate_count;
    struct schedule_file *files; /* of -a file:PATH; a copy of a job refers to the original's */
    struct tuned *tuned;  /* --tuning: what auto picks by; NULL: by its rules. A copy of a job
                             refers to the original's */
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
    int channels;      /* --channels; CHANNELS_AUTO: by who runs a line (run/run.h) */
    int slots;         /* of one lane, at its receiver; 0: the transport's choice */
    size_t slot_bytes; /* payload of one slot; 0: the transport's choice */
    double min_busbw;  /* GB/s; 0: no limit */
    uint64_t seed;
    enum start_mode start;
    struct injection injections[INJECTIONS_MOST];
    int injection_count;
    enum bind_mode bind;
    struct bootstrap_options bootstrap;
    bool compares;        /* a run with --model: predictions stand beside its lines */
    const char *model;    /* --model, a file that rank 0 reads; NULL: none */
    bool profile;         /* results say where each rank's time goes */
    bool watches;         /* rank 0 reports the links' waiting times: -v or --json */
    bool gathers_samples; /* rank 0 reports the samples of all ranks: --samples */
};

void job_release(struct job *job); /* its candidates, its files, its counts and its groups */

/* Does the sweep's size matter to it? A barrier moves a few bytes; a file of --counts sets the
 * block lengths. */
bool job_sweeps(const struct job *job, const struct collective *collective);

/* The traits that any of its collectives has. */
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

/* Is --shape for so many ranks? STATUS_USAGE if not. `whose`: what follows their number in that
 * sentence. */
enum status job_check_shape(const struct job *job, int ranks, const char *whose);

/* Makes the groups of so many ranks, and in each the nodes, which are those of --shape if it is
 * given. `node`: the node of each rank, or NULL if it is not known yet. Free with split_free(),
 * also after an error. STATUS_USAGE if --split or --shape do not suit the ranks. */
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

/* The inputs of the ranks of a group in a checked iteration: other values than in other groups, so
 * that a message that came from one shows. */
struct inputs job_inputs(const struct job *job, const struct candidate *candidate,
                         const struct rank_group *group, uint64_t iteration);

/* ---- The candidates of a job: what its lines run, each at one size. ---- */

/* Gives each candidate, which has no datatype and no operator yet, those of the job: it becomes as
 * many as there are pairs. A barrier is a bor of bytes, whatever the others are. */
void job_cross(struct job *job);

/* Do two candidates do the same work? Then their times are compared. */
bool candidates_compete(const struct candidate *a, const struct candidate *b);

/* The candidates that compete with candidate `first` are those from it up to, without, this one. */
int job_contest_end(const struct job *job, int first);

/* Does it stand for its collective where all algorithms are named once? The candidates that compete
 * with others of the collective are the same algorithms, with another datatype or operator. */
bool candidate_is_first(const struct job *job, int candidate);

/* Does the job compare nothing but algorithms? */
bool job_is_one_contest(const struct job *job);

/* A copy of a job has candidates of its own, to be freed with free(). It refers to the counts and
 * the texts of the original, which must last longer. */
void job_copy(const struct job *job, struct job *copy);

/* "allreduce ring", and for a job of several datatypes or operators "allreduce ring double max". */
const char *candidate_title(const struct job *job, const struct candidate *candidate,
                            char text[CANDIDATE_TITLE_MOST]);

/* Does any candidate ask for the places of ranks on a ring (order=auto)? */
bool job_orders_rings(const struct job *job);

/* How often the data of an iteration travels the same way: 2 where it goes there and back, of which
 * half the time is shown; else 1. */
uint64_t candidate_trips(const struct candidate *candidate);

/* In what follows `ranks` are those of a group. */

/* How many roots a line of the candidate has: with `-r all` each rank is the root in turn; else 1.
 */
int candidate_roots(const struct job *job, const struct candidate *candidate, int ranks);
/* Its iterations before the timed ones, and those that are checked: with CHECKED_ALL the timed
 * ones. */
long candidate_warmups(const struct job *job, const struct candidate *candidate, int ranks);
long candidate_checks(const struct job *job, const struct candidate *candidate, int ranks);

/* Checks that the job can run with `ranks` ranks in all, in these groups: root, injections, counts,
 * and each candidate in each group. Under `-a all` it removes algorithms that refuse, and under `-d
 * all` or `-o all` what has no meaning over these ranks; otherwise a refusal is an error. Called as
 * soon as the number of ranks is known, and again when the nodes are known; then it replaces `-a
 * auto` by its picks: by the nodes of a group, if all groups have alike ones. STATUS_USAGE, with
 * the reason. */
enum status job_check_ranks(struct job *job, int ranks, const struct split *split);

/* Adds an algorithm of a collective, `text` as shown. STATUS_USAGE if that is too long. */
enum status job_add_choice(struct job *job, const struct collective *collective,
                           const struct choice *choice, const char *text);

/* Adds all algorithms of a collective but those of other libraries, as `-a all` does. */
enum status job_add_all(struct job *job, const struct collective *collective);

/* ---- How many channels a line of the table has. ---- */

/* The channels of lines that the host runs: --channels; auto: 1. */
int channel_count_host(const struct job *job);

/* The channels of lines of `bytes` bytes (as tables print them) that devices run: --channels; auto:
 * by the bytes, at most `most`, a power of two. */
int channel_count_device(const struct job *job, size_t bytes, int most);

/* ---- Where each rank of a host runs: its core, and the caches around it. ---- */

/* Where a rank runs on its host. */
struct cpu_binding {
    uint64_t cache_bytes; /* of all third-level caches that it can reach; 0: unknown */
    int core;             /* that it is bound to, counted in the topology's order; -1: not bound */
    int sharing;          /* ranks that are bound to that core, this one among them */
    int threads;          /* hardware threads of the core that these ranks may use */
    int cache;            /* which cache, counted likewise; -1: several, or unknown */
};
void cpu_binding_code(struct codec codec, struct cpu_binding *binding);

/* The CPUs that a rank may use. */
void cpu_set_code(struct codec codec, cpu_set_t *cpus);

/* Finds where the calling thread runs. `binds`: first assigns the host's cores to its ranks, and
 * binds the thread to the core of this rank; where that is not possible nothing changes. `masks`:
 * the CPUs that each of the `count` ranks may use, in the order of ranks, the same in each of these
 * ranks, so that all assign alike. `me`: the caller's index. */
void cpu_binding_find(const cpu_set_t *masks, int count, int me, bool binds,
                      struct cpu_binding *binding);

/* The levels of a place among CPUs, whose parts are numbered in hwloc's order. */
enum cpu_level { CPU_CORE, CPU_CACHE, CPU_NUMA, CPU_PACKAGE, CPU_LEVELS };

/* Where cpu_binding_find() would bind a rank of this machine (machine_load()), by the same
 * arguments; binds nothing. */
struct hwloc_topology;
struct host_place cpu_place_find(struct hwloc_topology *machine, const cpu_set_t *masks, int count,
                                 int me, bool binds);

/* ---- Is there memory for what all ranks of a host are going to take? ---- */

/* The purpose of memory. */
enum memory_use {
    MEMORY_BUFFERS,
    MEMORY_SAMPLES, /* of them there is more than of buffers */
    MEMORY_RINGS,   /* through which links move what they do not reach */
};

/* The memory that a rank is going to take, as the other ranks of its host must know. */
struct memory_request {
    uint64_t bytes;
    uint64_t spare; /* and so many more, if they are there: it can do without */
    struct {
        uint64_t which, left; /* as in struct memory_pool */
    } pools[MEMORY_POOLS];
};

/* The request of a rank that takes `bytes` bytes, with `spare` more if it can, and which has seen
 * these pools. `memory`: its engine counts, too. */
struct memory_request memory_request_make(const struct memory_kind *memory, size_t bytes,
                                          size_t spare, const struct memory_pool *pools);
void memory_request_code(struct codec codec, struct memory_request *request);

/* `requests`: of the `count` ranks of this host. `pools`: this rank's, seen before any rank of the
 * host allocated. STATUS_ERROR where the ranks of a pool together ask for more than the least that
 * one of them has seen there. Where that is an estimate, what one rank alone cannot have is for
 * allocate() to say. */
enum status memory_check_host(const struct memory_kind *memory, enum memory_use use,
                              const struct memory_pool *pools,
                              const struct memory_request *requests, int count);

/* Is there memory for what they can do without, too? The same for all ranks of a pool. */
bool memory_has_spare(const struct memory_pool *pools, const struct memory_request *requests,
                      int count);

/* ---- The barrier of one host's ranks, in shared memory.
 *
 * A dissemination barrier (Hensgen, Finkel, Manber 1988) on flags, each in a cache line of its own:
 * in round k a rank raises the flag of the rank 2^k places on, and waits for its own. All ranks are
 * released at nearly the same time, so the timed operation after it starts evenly; a counter with
 * one last writer does not give this. What a rank writes before it arrives, all ranks see after
 * they have passed. The barrier needs only memory that all its ranks map, so that the programs that
 * cctest is compared with can use it too.
 * ---- */

struct node_barrier_flag;

/* One rank's view of the barrier. */
struct node_barrier {
    struct node_barrier_flag *flags; /* in the shared memory, zero at first: one a round and rank */
    int rank, ranks; /* index of this rank among the ranks that meet, and their number */
    int rounds;
    int round;        /* of the meeting that is under way */
    uint32_t meeting; /* number of the meeting */
};

/* Bytes of shared memory that a barrier of `ranks` ranks needs. */
size_t node_barrier_bytes(int ranks);

/* `memory`: node_barrier_bytes(ranks) bytes, aligned to a cache line, zero before any rank arrives.
 * The caller keeps it until all ranks have passed. */
void node_barrier_open(struct node_barrier *node_barrier, void *memory, int rank, int ranks);

/* This rank has arrived: the next meeting begins for it. */
void node_barrier_arrive(struct node_barrier *node_barrier);

/* The index of the rank that this one waits for, while node_barrier_passed() returns false. */
int node_barrier_awaited(const struct node_barrier *node_barrier);

/* Have all ranks arrived? Never waits; to be called until it returns true. */
bool node_barrier_passed(struct node_barrier *node_barrier);

/* Does the flag that this rank waits for have a value that a rank may have written? If not,
 * node_barrier_passed() returns false for ever. Three values are such, those of the meetings
 * before, now and next. Garbage that happens to be one of them is not seen: the first of them reads
 * as a flag that is not raised yet, so that this rank waits until its caller's deadline; the other
 * two release it, whether or not the rank that it waits for has arrived. */
bool node_barrier_is_sound(const struct node_barrier *node_barrier);

/* ---- split.c ---- */

struct node_ranks {
    int *ranks; /* world ranks, ascending; this rank is one of them */
    int count;
    int place; /* this rank's index among them */
};

/* `members`: of all `ranks` ranks. Freed with node_ranks_free(). */
void node_ranks_find(const struct member *members, int ranks, int rank, struct node_ranks *node);
/* Says so if the launcher counts the ranks of `host`, this rank's, in another way. */
void node_ranks_compare(const struct node_ranks *node, const struct membership *membership,
                        const char *host);

void node_ranks_free(struct node_ranks *node); /* all zero is allowed */

/* ---- The memory of a rank's rings (dataplane/execute/execute.h), where links may not reach the
 * memory of its buffers.
 * ---- */

struct staging_area {
    const struct memory_kind *kind; /* of the buffers; NULL: there is no area */
    struct region region;           /* host memory, which the kind's engine reaches */
    struct staging *staging;
    bool is_pinned;
};

size_t staging_area_bytes(int channels); /* of host memory, for the rings of so many channels */
size_t staging_area_most(int channels);  /* the most, for the rings of so many or fewer */

/* Allocates rings for so many channels; 0: none. `memory`: of the buffers; it must last longer than
 * the area. */
enum status staging_area_open(const struct memory *memory, int channels, const struct tick *tick,
                              struct staging_area *area);
/* Leaves the memory as it is, since others may still use it, until the process ends. */
void staging_area_forget(struct staging_area *area);
void staging_area_close(struct staging_area *area); /* all zero is allowed */

/* ---- The start barrier: all ranks come together before an iteration begins.
 *
 * The ranks of a host meet in shared memory (run.h). Where there are several hosts, the
 * first rank of each then goes through a dissemination barrier over the links, and its host's ranks
 * meet a second time, to learn that all have come. A rank that cannot share memory with its host
 * (it may run in a container of its own) counts as a host of its own.
 *
 * The order of calls: start_barrier_open; exchange of the offers; start_barrier_join; exchange of
 * `shared != NULL`; start_barrier_arrange; start_barrier_link, when there are links.
 * ---- */

/* Where the first rank of a host has made memory for the host's barrier. */
struct barrier_offer {
    uint64_t cookie; /* stands at the memory's beginning */
    int32_t pid;     /* process that made it */
    int fd;          /* its descriptor there; -1: it made none */
};
void barrier_offer_code(struct codec codec, struct barrier_offer *offer);

struct start_barrier {
    struct node_barrier node_barrier;
    struct barrier_offer offer; /* this rank's; open until start_barrier_arrange() */
    void *shared; /* the barrier of the host, mapped by all of its ranks; NULL: it has none */
    size_t bytes;
    int *members;                /* world ranks that meet at this rank's barrier, ascending */
    struct schedule *schedule;   /* between first ranks; NULL: this is none, or there is one host */
    struct region region;        /* the schedule's three bytes, each in a place of its own, in host
                                  memory, wherever the job's buffers lie */
    struct memory memory;        /* of the region */
    struct execution *execution; /* the schedule, when there are links */
    int node_barriers;
    int *node_barrier_of; /* by world rank: which node barrier, numbered by first ranks */
};

/* Before there are links. The first rank of a host makes memory for the host's barrier. That it
 * cannot is no error: each rank of the host is alone then. */
void start_barrier_open(struct start_barrier *barrier, const struct node_ranks *node);

/* Maps what the host's first rank offers. */
void start_barrier_join(struct start_barrier *barrier, const struct node_ranks *node,
                        const struct barrier_offer *offer);

/* Where all ranks run. */
struct barrier_ranks {
    int ranks, rank;              /* of the job; this one */
    const struct member *members; /* by rank */
    const bool *shares;           /* by rank: does it map its host's barrier? */
};

/* Finds out which ranks meet where. Where several hosts meet, the first ranks write their schedule,
 * and allocate barrier->region. `lane`: on which the messages between hosts go. Comes before the
 * links are opened. */
enum status start_barrier_arrange(struct start_barrier *barrier, const struct barrier_ranks *all,
                                  int lane);

/* Makes the executor. `shared`: what all executors of this rank have in common. */
enum status start_barrier_link(struct start_barrier *barrier, const struct executor_config *shared);

void start_barrier_close(struct start_barrier *barrier); /* all zero is allowed */

/* ---- Runs executors, or a vendor's collectives, on one rank, again and again.
 *
 * A runner holds what lasts for the whole job: links, the local engine, the start barrier.
 * ---- */

/* A wait for one peer, at a stretch. */
struct awaited {
    int peer; /* -1: none */
    uint64_t ns;
};

/* The result of a yield of the core. */
enum yield {
    YIELD_ALONE,
    YIELD_SHARED, /* others ran for a moment, */
    YIELD_SLOW,   /* or for longer */
};

struct runner {
    const struct job *job;
    struct control *control;
    struct progress *progress;
    int rank, ranks;         /* of the job */
    struct node_ranks node;  /* the ranks of this host */
    struct split split;      /* owned by the session */
    struct rank_group group; /* this rank's: the collective runs in each at the same time */
    int group_rank;          /* its rank there */
    struct links *links;
    const struct vendor *vendor; /* of a candidate of the job; NULL: of none */
    struct vendor_session *vendor_session;
    struct memory memory;        /* where the buffers lie */
    struct device_group devices; /* that may run schedules; without a machine, none may */
    struct staging_area staging;
    size_t chunk;             /* bytes; 0: whole messages; GRAIN_AUTO */
    size_t nontemporal_least; /* as in struct executor_config */
    int spins;                /* idle polls before the core is yielded */
    struct tick tick;         /* for long work and for waits, both outside of runs */
    long iteration;           /* over everything that this rank has run */
    uint64_t last_check;      /* when an idle wait last checked the job and the network, ns */
    uint64_t idle_since;      /* when it first did so since bytes moved, ns; 0: not yet */
    uint64_t rests_since;     /* when this wait began to leave the core to others, ns */
    enum yield last_yield;
    uint64_t shares_until;      /* until then others are thought to have short work there; 0: not */
    uint64_t crowded_until;     /* until then other programs are thought to want the core, ns */
    int unheard;                /* as in struct idle_report */
    uint64_t arrived;           /* as in struct idle_report, at the last check; 0: not known */
    struct awaited awaited;     /* what this iteration has waited for longest */
    struct run_watch run_watch; /* of this rank, if the job watches */
    struct wait_meter wait_meter; /* likewise */
    uint64_t lasted;              /* the iteration before this, ns */
    bool rested;                  /* it has left its core to others since its last turn */
    int64_t turns, useful_turns;  /* of the present one: all, and those in which bytes moved */
    struct start_barrier start_barrier;
    struct traffic start_traffic[TRANSPORTS_MOST]; /* of the start barriers, by endpoint */
    struct profile profile; /* of iterations without the start barriers, if the job asks for it */
};

/* Sets runner->tick: it counts work as progress, shows rank 0 which peer this rank waits for, and
 * answers by the state of the job. */
void runner_tick_open(struct runner *runner);

/* This rank's profile; NULL: the job does not ask for one. */
struct profile *runner_profile(struct runner *runner);

/* The configuration that all executors of this rank have in common; the rest is zero. */
struct executor_config runner_executor_config(const struct runner *runner);

/* Outside of runs: shows in runner->progress that this rank waits for `peer`; -1: for none. */
void runner_await(struct runner *runner, int peer);

/* The start barrier, before a series of iterations. *released: when it let this rank go on, ns. */
enum status runner_synchronize(struct runner *runner, uint64_t *released);

/* Runs to its end what has been started: spins, then yields. Checks now and then whether the job
 * has ended or a peer has died, and shows in runner->progress what it waits for. */
enum status runner_complete(struct runner *runner, struct execution *execution);

/* Forgets this rank's waits so far, which say nothing of other programs: they were for work of
 * ranks that share its core, outside of runs. */
void runner_calm(struct runner *runner);

/* The times of an iteration on this rank, ns. */
struct iteration_times {
    uint64_t late;          /* from its release to its beginning */
    uint64_t duration;      /* from its release to its end */
    uint64_t released;      /* when, by clock_ns() */
    uint64_t device;        /* that a device took for it, by the device's clock; 0: none did */
    struct awaited awaited; /* the longest wait that was looked at, to 20 ms */
    int64_t waited; /* for its core, with bytes to move, after its beginning; -1: not known */
};

/* One iteration in the job's start mode, after the faults injected at its beginning. Iterations
 * that run back to back are released by the end of the last one: *released (ns) is read, and set to
 * the end of this one; they are not late, unless faults are injected. */
enum status runner_iterate(struct runner *runner, struct execution *execution, uint64_t *released,
                           struct iteration_times *times);

/* ---- test_case.c ---- */

#define BUFFER_SETS_MOST 4 /* sets of buffers that a test case may run on */
#define CLOCK_STEPS_MOST 4096

/* The executor of a test case, the same at all ranks. */
struct test_case_engine {
    bool on_device;
    char why_host[GROUP_REASON_MOST]; /* why not on devices; "": that was not asked for */
};

struct test_case {
    const struct candidate *candidate;
    struct sized_problem sized; /* of the first schedule */
    int channels;               /* of each schedule */
    int schedule_count;         /* with `-r all` each rank is the root in turn; else 1 */
    int sets;                   /* of buffers that it runs on */
    struct test_case_engine engine;
    struct schedule **schedules;
    struct execution **executions; /* sets x schedules */
    struct peer_use *peers;        /* by rank: see test_case_count_peers() */
    struct step_clock clock; /* of the host's executions; without steps: the job asks for none, or
                                there are several schedules, or more steps than can be of use */
};

/* Makes the schedules, and finds how many of the `count` sets are large enough, but at least the
 * first. test_case->way: what this rank can do. On success the caller calls test_case_close(). */
enum status test_case_open(struct runner *runner, const struct candidate *candidate, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case);
/* Makes the executions for its sets of buffers, the first of which has the spare area of all.
 * Before it the ranks have agreed on `sets` and `engine`; after it they meet before any of them
 * runs. */
enum status test_case_ready(struct runner *runner, const struct buffers *sets,
                            struct test_case *test_case);
/* The schedules alone, which cannot run: what they need can be read from them. On success the
 * caller calls test_case_close(). */
enum status test_case_outline(const struct runner *runner, const struct candidate *candidate,
                              size_t bytes, int channels, struct test_case *test_case);
/* The channels that it has if devices run it, which hold `most` (run.h). Where none may,
 * those of the host. */
int test_case_device_channels(const struct job *job, const struct test_case *test_case, int most);
/* The messages of so many iterations; the roots take turns. Before the first call they are none,
 * but it is known which ranks are peers. */
void test_case_count_peers(struct test_case *test_case, int ranks, long iterations);
/* The executions go; test_case_ready() may make others. */
void test_case_unready(struct test_case *test_case);
void test_case_close(struct test_case *test_case);

/* The execution for the root of an iteration, on the buffers of `set`. */
struct execution *test_case_execution(const struct test_case *test_case, long iteration, int set);

#endif

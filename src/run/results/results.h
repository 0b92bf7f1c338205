/*
 * results.h - rank 0's account of the job: every line's result, and everything that went wrong.
 */
#ifndef CCTEST_RUN_RESULTS_RESULTS_H
#define CCTEST_RUN_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rank_state.h"
#include "base/run_watch.h"
#include "base/stats/stats.h"
#include "base/status.h"
#include "base/tick.h"
#include "controlplane/control/control.h"
#include "dataplane/execute/execute.h"
#include "dataplane/transport/transport.h"
#include "host/host.h"
#include "run/run.h"
#include "run/check/check.h"

/* ---- Which rank, link or host accounts for the time of an iteration: a rank that begins
 * late, a slow link, all links of a host, or none.
 *
 * No clocks of different hosts are compared. A link's own time has two bounds that are counted on
 * its two sides: for how long its sender had bytes on their way that the receiver had room for, and
 * for how long its receiver waited for bytes that did not come. A late or slow sender makes a
 * receiver wait, but has nothing on its way; a late or slow receiver leaves bytes on their way, but
 * does not wait for them. So the smaller of the two is the link's own, or more than that.
 *
 * On a machine with more ranks than cores all links are a little slow. Only a link that stands out
 * from links with as much to carry is named.
 * ---- */

enum bottleneck_kind {
    BOTTLENECK_NONE,
    BOTTLENECK_RANK, /* it begins late */
    BOTTLENECK_LINK, /* from one rank to another, or all links from its host to the other's */
    BOTTLENECK_PAIR, /* the links between two hosts, in both directions */
    BOTTLENECK_HOST, /* all links of one host or of several */
    BOTTLENECK_CUT,  /* all links between some hosts and the others */
};

#define BOTTLENECK_HOSTS_MOST 8

/* A host whose links are slow. */
struct bottleneck_host {
    int node;
    bool from, to; /* those from it, those to it */
};

struct bottleneck {
    enum bottleneck_kind kind;
    int rank;     /* the late one; -1 */
    int from, to; /* of the links, the one that was waited for longest; -1 */
    struct bottleneck_host hosts[BOTTLENECK_HOSTS_MOST]; /* BOTTLENECK_HOST: the slowest first;
                                                            BOTTLENECK_CUT: the fewer ones */
    int host_count;                                      /* they may be more */
    int links;                                           /* how many are slow */
    double share;                                        /* of the time */
    double rate, others; /* bytes per second: of a slow link; the median of the others, each at
                            least that */
    uint64_t late, next; /* ns: of the late rank, and the most of any other */
};

/* ---- What of a line lies far beyond the rest, and why (internal.h says how far): iterations that
 * took long, connections that lose packets, hosts that are far away.
 * ---- */

#define OUTLIER_LEAST 50000000u /* ns */
#define OUTLIERS_MOST 3         /* of a line that are reported, the longest */

enum outlier_cause {
    OUTLIER_UNKNOWN,
    OUTLIER_STOPPED, /* ranks did not run */
    OUTLIER_LATE,    /* a rank began it late */
    OUTLIER_RESENT,  /* packets were sent again meanwhile */
    OUTLIER_AWAITED, /* a rank, or the link between two, was waited for; why is not known */
};

struct outlier {
    long iteration; /* of the timed ones, from 0 */
    double time_us; /* the slowest rank's, release to end */
    enum outlier_cause cause;
    int rank, peer; /* that the cause names, of packets their sender first; -1: no single one */
    char text[480]; /* a sentence */
};

#define LOSSES_MOST 4 /* of a line that are reported, those with the most packets */

/* Losses of a connection; of those from a host to another, or between two; of a host's; of all. */
enum loss_kind { LOSS_LINK, LOSS_PAIR_FROM, LOSS_PAIR, LOSS_FROM, LOSS_TO, LOSS_HOST, LOSS_ALL };

struct loss {
    enum loss_kind kind;
    int from, to, host; /* ranks; of a host its first rank, of two hosts one of each; -1 */
    uint64_t packets, resent;
    char text[240]; /* a sentence */
};

#define DELAYS_MOST 4 /* hosts that are reported, the farthest */

struct delay {
    int rank;         /* the host's first */
    double ns;        /* of a round trip, at least; */
    double others_ns; /* the median of those among the other hosts */
    char text[240];   /* a sentence */
};

/* ---- Rank 0's table of the devices that the ranks use: which, on which host, by which
 * ranks.
 * ---- */

/* A device, with the first rank that uses it. */
struct device_row {
    struct device *device; /* in table->devices */
    int rank, node;
};

struct device_use {
    int rank, row;
};

struct device_table {
    const struct member *members; /* by rank */
    struct device_list devices;
    struct device_row *rows; /* one for each device, in the same order */
    int row_count;
    struct device_use *uses; /* by ascending rank */
    int use_count;
};

/* Adds the share of a rank (device_watch_encode_facts()); they come in the order of ranks. False:
 * invalid, or out of memory, which is recorded. */
bool device_table_decode(struct device_table *table, int rank, struct reader *reader);

/* After the last share: sets the rows' devices. */
void device_table_complete(struct device_table *table);

/* The row of a device on the host of `rank`; -1: no rank uses it. */
int device_table_find(const struct device_table *table, int rank, const char *device);

void device_table_free(struct device_table *table); /* all zero is allowed */

/* ---- The devices of a job that differ from the others: a cable that came up slow, a
 * NIC in the wrong slot, a GPU without ECC.
 * ---- */

struct difference {
    const char *kind; /* of the devices; in the table */
    char *text;       /* a sentence; NULL: the list ends */
};

/* To be freed with differences_free(). Devices of a kind that differ from the majority in the same
 * way share a sentence; so do all devices where a fact has no majority. */
struct difference *differences_of(const struct device_table *table);
void differences_free(struct difference *differences); /* NULL is allowed */

/* ---- How the ranks of a job are connected: the kinds of links, and the node barriers.
 * For the report: no fall-back to a slower way stays unseen.
 * ---- */

struct control;
struct links;
struct device_watch;
struct start_barrier;

#define LINK_CLASSES_MOST 16 /* and a last one for all further classes: */
#define LINK_OTHERS       "others"
#define LINK_OTHERS_WORDS "all further kinds together"
#define LINK_STAGED       "staged"

/* Links of the same transport, which describes them in the same words. */
struct link_class {
    char transport[16];
    char words[80];             /* the transport's; "": it says nothing; at their end LINK_STAGED */
    int count;                  /* links from a rank to a peer: a pair of ranks has two */
    uint64_t least_ns, most_ns; /* one way; both 0: not measured */
    int from, to;               /* the ranks of the slowest */
};

struct connectivity {
    struct link_class classes[LINK_CLASSES_MOST + 1];
    int class_count;
    int ranks, node_barriers;
    const int *node_barrier_of; /* of each rank, 0 .. node_barriers - 1 */
    uint64_t rejected; /* connections that the links rejected as not the job's, and that the control
                           plane of all ranks but 0 did */
    struct fallbacks fallbacks;   /* why pairs of ranks do not run over the transport they prefer */
    const struct member *members; /* of the job */
    char note[256];               /* a sentence about ranks that fell back to the links; "" */
    struct device_table devices;  /* that the ranks use, */
    struct difference *differences; /* and sentences about them */
};

/* Do their messages go through rings in memory of the host? */
bool link_class_is_staged(const struct link_class *class);

/* Adds links to their class. */
void connectivity_add(struct connectivity *connectivity, const struct link_class *more);

/* Called by all ranks together when they are connected. Fills *connectivity at rank 0; it is valid
 * as long as `start` and `control` are open. To be freed with connectivity_free(), also after an
 * error. */
enum status connectivity_gather(struct control *control, struct links *links,
                                const struct device_watch *watch, const struct start_barrier *start,
                                struct connectivity *connectivity);
void connectivity_free(struct connectivity *connectivity); /* all zero is allowed */

/* ---- The devices of a rank: their facts, and what they have counted since it last
 * looked.
 *
 * A device is a NIC of a transport, or a GPU of a kind of memory. Facts are read once, before the
 * ranks connect. Counters are read between lines of the table only. Each reading ends a line and
 * begins the next one, so no count is lost between the two. Of the ranks of a host that have opened
 * a device, the first one reads its counters, so that nothing is counted twice.
 *
 * Drivers are asked in a thread of its own, which has ended when a call returns: none runs beside
 * iterations. A driver may hang. The rank then fails with a sentence that names the device, and the
 * watch is lost: the thread has it for good, and all further calls do nothing.
 *
 * The order of calls: device_watch_open, device_watch_encode; an exchange; device_watch_decode for
 * the share of each rank; device_watch_encode_facts; device_watch_begin; device_watch_take after
 * each line.
 * ---- */

struct links;
struct memory_kind;
struct memory_device;
struct tick;

struct watch_config {
    struct links *links;
    const struct memory_kind *memory;
    const struct memory_device *device; /* that has the rank's memory; it is copied */
    const char *host;
    const struct tick *tick;
};

enum watch_state { WATCH_CLOSED, WATCH_OPEN, WATCH_LOST };

struct device_watch {
    enum watch_state state;
    struct watch_config config;
    struct watched *watched; /* if it is open */
};

/* Reads the facts of the devices of all open endpoints, and of the rank's memory. If a driver
 * hangs, a thread may use the links for good: they must stay. What `config` points to must last
 * longer than the watch. */
enum status device_watch_open(struct device_watch *watch, const struct watch_config *config);
/* Closes the meters. A driver that hangs now is named on stderr. All zero is allowed. */
void device_watch_close(struct device_watch *watch);

/* Also of one that is lost. */
bool device_watch_has_devices(const struct device_watch *watch);

/* The names of this rank's devices. */
void device_watch_encode(const struct device_watch *watch, struct bytes *share);
/* The names of another rank's. `precedes`: that rank is of this host, and comes before this one.
 * False: invalid. */
bool device_watch_decode(struct device_watch *watch, bool precedes, struct reader *reader);

/* This rank's share of a device_table: the devices of the endpoints that serve its peers, and those
 * of its memory. */
void device_watch_encode_facts(const struct device_watch *watch, struct bytes *share);

/* Opens the meters, and reads them for the first time. */
enum status device_watch_begin(struct device_watch *watch);

/* Reads them again. *changes: what each device that this rank reads has counted since, gauges, and
 * PAYLOAD_SENT, the bytes that this rank has sent by it; of an earlier call, it is freed. Out of
 * memory: counters are missing. */
#define PAYLOAD_SENT "payload_sent"
enum status device_watch_take(struct device_watch *watch, struct device_changes *changes);

/* The same for a rank that has failed already. It says on stderr if a driver has not answered
 * after `seconds`, and leaves *changes empty. */
void device_watch_take_last(struct device_watch *watch, double seconds,
                            struct device_changes *changes);

/* ---- device_report.c ---- */

struct device_reading {
    const char *host;
    const struct device *device;
    struct counter_list counters; /* what it has counted; names that are not zero */
};

struct device_readings {
    struct device_reading *items;
    int count;
};

/* Sums over all lines of the job, of each row of the table. */
struct device_sums {
    const struct device_table *table; /* NULL: the ranks are not connected yet, or use none */
    struct counter_list *counters;    /* of each row */
};

/* The table must last longer than the sums. */
void device_sums_open(struct device_sums *sums, const struct device_table *table);
void device_sums_close(struct device_sums *sums); /* all zero is allowed */

/* Adds the counts that rank `rank` has read to the sums, and to the readings, of which each device
 * has one. Devices that no rank uses are left out. */
void device_sums_add(struct device_sums *sums, int rank, const struct device_changes *changes,
                     struct device_readings *readings);

/* The devices that have counted anything of a class in the job. */
void device_sums_of_class(const struct device_sums *sums, enum counter_class class,
                          struct device_readings *readings);

void device_readings_free(struct device_readings *readings); /* all zero is allowed */

/* ---- Bytes and waiting times between a rank and each peer, in the timed iterations of a
 * line.
 *
 * The bytes follow from the schedules. The transports count waiting times (struct wait_stats) at
 * both ends of a link. results.h draws the conclusions.
 * ---- */

struct job;
struct test_case;
struct links;
struct runner;

/* One peer of a rank. Times in ns, over all timed iterations; of several lanes the longest. */
struct peer_stats {
    int32_t peer;
    int32_t lanes;
    uint64_t sent, received; /* bytes of messages */
    bool counted;            /* the times count: the transport has them, no message is too short */
    uint64_t starved;        /* waiting for bytes from the peer */
    uint64_t busy;           /* bytes to the peer were on their way */
    uint64_t packets;        /* with data, to the peer, the start barrier's too; 0: not known, */
    uint64_t resent;         /* and of them, those that were sent again */
    uint64_t least_ns;       /* the shortest round trip to the peer; 0: not known */
};

struct link_stats; /* of all peers (internal.h) */

/* Notes the bytes of all timed iterations, which `test_case` has counted. NULL is allowed. */
void link_stats_note_bytes(struct link_stats *stats, const struct test_case *test_case);

/* ---- How many iterations of a line are timed, and why no more.
 *
 * With `-n auto` a line runs in batches, each as long as all before it together. After each, rank 0
 * looks at the interval of the median, and tells all ranks how many iterations follow. The line
 * ends when the interval is narrow. Looking until it is narrow costs coverage, but none in the
 * limit (J. C. Geertsema, Annals of Mathematical Statistics 41, 1970), and as batches double, looks
 * are few.
 * ---- */

enum sampling_end {
    SAMPLING_COUNT,    /* as many as -n asks for */
    SAMPLING_INTERVAL, /* -n auto: the median is known well enough */
    SAMPLING_BUDGET,   /* -n auto: the time left is too short for a batch that would tell more */
    SAMPLING_MOST,     /* -n auto: ITERATIONS_AUTO_MOST */
    SAMPLING_ENDS
};
extern const char *const sampling_end_names[SAMPLING_ENDS];

/* Iterations of the first batch, whatever the budget. Where the root rotates, each of the `roots`
 * has its turn equally often in a batch of -n auto, unless it ends at the most. */
long sampling_first(const struct job *job, int roots);

/* Iterations of the next batch of -n auto, after `done` in `seconds`; 0: the line has ended, and
 * *end is the reason. */
long sampling_next(const struct job *job, int roots, long done, double seconds,
                   const struct median_interval *interval, enum sampling_end *end);

/* ---- What one line of the table yields on one rank. ---- */

/* How a rank waits for its core in the timed iterations of a line. */
struct core_wait {
    long looked;   /* iterations in which it looked */
    double shares; /* of their time in which it had bytes to move, and others had its core: a sum */
};

/* One rank's part of a line. */
struct rank_result {
    int choice;
    size_t bytes; /* as asked; the table shows what it became */
    struct problem problem;
    int channels;             /* 0: a vendor's library has its own */
    long checked;             /* iterations that were checked */
    long iterations;          /* that were timed */
    uint64_t *samples;        /* ns of each timed iteration on this rank */
    uint64_t *late;           /* ns between release and beginning */
    uint64_t *device_samples; /* ns that a device took for each; NULL: none ran them */
    size_t wrong;             /* elements, over all checked iterations */
    struct finding finding;   /* of the first wrong iteration */
    struct evidence_log evidence;
    struct traffic traffic[TRANSPORTS_MOST]; /* of the timed iterations */
    double shares[ACTIVITIES]; /* of their time, summed over them; all 0: not asked for */
    const struct transport *transport[TRANSPORTS_MOST];
    int transports;
    const struct test_case_engine *engine; /* the test case's */
    bool stages, direct; /* links to peers go through rings in memory of the host; others do not */
    bool used[TRANSPORTS_MOST];    /* it serves peers of the line */
    struct link_stats *links;      /* with each peer; NULL: not asked for */
    struct incidents *incidents;   /* likewise, in its long iterations */
    struct step_times *steps;      /* likewise, when they end */
    struct device_changes changes; /* what devices have counted; of those that this rank reads */
    struct core_wait core_wait;
};

/* Bytes of host memory that the samples of a line take at most where no device runs it. */
size_t rank_result_bytes(const struct job *job);

enum status rank_result_create(const struct job *job, const struct test_case *test_case, int choice,
                               size_t bytes, struct runner *runner,
                               struct rank_result **rank_result);
void rank_result_free(struct rank_result *rank_result); /* NULL is allowed */

/* Each notes what the check of an iteration found. The first finding is kept; the number of wrong
 * elements is summed. */
void rank_result_note_finding(struct rank_result *rank_result, const struct finding *finding,
                              const struct schedule *schedule);
void rank_result_note_source(struct rank_result *rank_result, size_t changed, uint64_t iteration);
void rank_result_note_overrun(struct rank_result *rank_result, const struct overrun *overrun,
                              uint64_t iteration);

/* Makes room for so many more timed iterations. */
enum status rank_result_reserve(struct rank_result *rank_result, long more);

/* Notes the times of the next timed iteration, for which there is room. */
void rank_result_note_times(struct rank_result *rank_result, const struct iteration_times *times);

/* Around each series of timed iterations: counts the bytes that moved between the two, by
 * transport, and where the time went, both without the start barriers. */
void rank_result_begin(struct rank_result *rank_result, struct runner *runner);
void rank_result_end(struct rank_result *rank_result, const struct runner *runner);

/* All ranks have ended the series; timed iterations go on after something else, such as a check. */
void rank_result_settle(struct rank_result *rank_result);
void rank_result_resume(struct rank_result *rank_result);

/* Fails if --copy forced a way and bytes went another one. */
enum status rank_result_check_copy(const struct rank_result *rank_result, const struct job *job);

/* ---- The slowest rank of each timed iteration of a line, in each group.
 *
 * The ranks reduce their samples on the way to rank 0, so what rank 0 holds grows with the
 * iterations and the groups, and not with the ranks.
 * ---- */

/* The rank of a group that was the slowest most often, the first of several. */
struct slowest_rank {
    int rank;   /* of the job; -1: there are no iterations */
    long times; /* how often; of ranks that end at the same ns, the highest counts */
};

struct slowest {
    const struct split *split; /* the groups */
    size_t count;              /* iterations */
    enum sampling_end end;     /* why there are no more */
    /* At rank 0. Iteration by iteration, in order of time, a word of each group: */
    uint64_t *duration;         /* the slowest rank's, release to end, ns */
    uint64_t *device;           /* the most that a device took for it, ns; NULL: none ran them */
    struct slowest_rank *ranks; /* by group */
    long *often;                /* by rank: iterations in which it was the slowest of its group */
};

/* Bytes that it takes at most where no device runs the line: at rank 0 a word for each group and
 * iteration, and one group's as they are looked at; at another rank what an exchange carries at
 * once. */
size_t slowest_bytes(const struct job *job, const struct split *split, int rank);

/* `split` must last longer than `slowest`. Free with slowest_close(), also after an error. */
enum status slowest_open(struct slowest *slowest, const struct split *split, int rank);

/* Adds the iterations of this rank's part of the line that it has not yet. All ranks call it
 * together; the others than rank 0 get nothing. Errors: out of memory, or as control_maximum(). */
enum status slowest_add(struct control *control, const struct rank_result *rank_result,
                        struct slowest *slowest);

/* At rank 0: of the intervals of the groups' medians the widest, in relation to its median. Each
 * duration has so many trips. */
enum status slowest_interval(const struct slowest *slowest, uint64_t trips, const struct tick *tick,
                             struct median_interval *interval);
void slowest_close(struct slowest *slowest); /* zeroed is allowed */

/* ---- The results of a run, as the session hands them to a printer. ---- */

struct link_load; /* predict/topology/topology.h */
struct model;     /* predict/simulate/simulate.h */

/* Where one rank's time went in the timed iterations of a line. */
struct rank_profile {
    double share[ACTIVITIES]; /* of an iteration's time, mean over them; together 1 */
    double time_us;           /* p50 of an iteration on this rank, from release to end */
};

/* One rank's view of the timed iterations of a line. */
struct rank_sample {
    double late_us;   /* median */
    double time_us;   /* p50 of an iteration, from release to end */
    double core_wait; /* share of an iteration, mean over them; -1: not known */
    int peers;
    const struct peer_stats *peer; /* of each of them, the longest awaited first */
};

/* How long the timed iterations of a line took, in one group. */
struct timing {
    struct statistics time_us;
    struct median_interval p50_interval; /* of time_us.p50 */
    struct modes modes;
    struct trend trend;
    struct statistics device_us; /* that the devices took, by their own clocks; all 0: none did */
    double algbw, busbw;         /* GB/s, from p50; 0 where it has no meaning */
    struct slowest_rank slowest;
};

/* One of the groups in which a line ran at the same time. */
struct group_result {
    struct timing timing;
    size_t wrong; /* wrong elements, over its ranks and checked iterations */
};

/* When a step ends, from the release, on the rank that ends it last; halved where an iteration goes
 * there and back. 0: not known. */
struct step_end {
    double measured_us; /* the median of iterations on that rank */
    double predicted_us;
};

/* One line of the table: one collective, algorithm and size. */
struct result {
    int choice;   /* index in job->candidates */
    size_t asked; /* bytes, of the sweep */
    size_t count, bytes;
    int root;
    int channels;        /* 0: a vendor's library has its own */
    double predicted_us; /* p50 by the model of --model; 0: there is none, or it cannot tell */
    /* Where it is compared with a model: of each step, if the reasons of times are shown. The
     * results free it; NULL: not asked for. */
    struct step_end *step_end;
    int steps;
    bool is_predicted;            /* its times are those of a model; there were no iterations */
    int simulated_ranks;          /* for that; 1: rank 0 stands for all. 0: it is not predicted */
    const struct link_load *load; /* of the topology's links, at the largest size; NULL: unknown */
    long iterations, checked;
    size_t wrong;                /* wrong elements, over all ranks and checked iterations */
    struct traced_fault *faults; /* until report->result() has returned */
    int fault_count;
    /* The results of each group, until report->result() has returned. The three are by p50, of
     * equal ones the first; there may be one group only. */
    struct group_result *groups;
    int group_count, slowest_group, median_group, fastest_group;
    double median_us, fastest_us;       /* p50 of these two */
    char slowest_name[GROUP_NAME_MOST]; /* of that group; "": the job is not split */
    char transport[64];                 /* "shm", "tcp", "shm+tcp", "self" */
    bool on_device;                     /* the device executor ran it; else the host's */
    /* The engine that moved the bytes: "sm" (kernels of GPUs), "ce" (their copy engines, and
     * kernels that combine), "staged" (likewise, through memory of the host), "ce+staged", "cpu"; a
     * vendor's library: its name. */
    char engine[16];
    char why_host[GROUP_REASON_MOST]; /* why the device executor did not; "": not asked for */
    struct traffic
        by_transport[TRANSPORTS_MOST]; /* all ranks together, of this line's iterations */
    const char *transport_names[TRANSPORTS_MOST + 1]; /* ended by NULL */
    /* The times of the slowest group: a collective in all groups takes as long. */
    struct timing timing;
    enum sampling_end end; /* why no more iterations were timed */
    int late_rank;         /* -1: none stands out */
    double late_us;        /* its median lateness */
    int ranks;
    struct bottleneck bottleneck;           /* what accounts for the time */
    char bottleneck_text[640];              /* the same as a sentence; "": none, or not asked for */
    struct outlier outliers[OUTLIERS_MOST]; /* of the slowest group, the longest first */
    long outlier_count;                     /* of all; 0 where they are not asked for */
    struct loss losses[LOSSES_MOST];        /* likewise, of all ranks, */
    int loss_count;                         /* of all */
    struct delay delays[DELAYS_MOST];
    int delay_count;                /* of all */
    struct rank_sample *samples;    /* of each rank; the results free them after
                                     report->result(); NULL: not asked for */
    struct device_readings devices; /* likewise: what devices have counted. Without -v or JSON only
                                       what a healthy network does not count */
    struct rank_profile *profile;   /* of each rank; the results free it; NULL: not asked for */
};

/* A raw sample. */
struct sample_row {
    int rank;
    long iteration;    /* timed ones of the line, from 0 */
    uint64_t duration; /* from its release to its end on that rank, ns */
    uint64_t late;     /* from its release to its beginning, ns */
    uint64_t device;   /* that a device took for it, ns; 0: none ran it */
};

/* The line that samples belong to. */
struct line_name {
    int choice;   /* index in job->candidates */
    size_t bytes; /* actual */
};

struct participants {
    int ranks;
    const struct member *members;       /* by rank */
    const struct split *split;          /* the groups of the ranks */
    const struct cpu_binding *bindings; /* by rank; NULL: the job ended before they were known */
    /* Likewise: that have the ranks' memory; NULL also where it is the host's. */
    const struct memory_device *devices;
    const char *bootstrap;
    const struct model *model;       /* that predicts; NULL: the ranks run */
    const struct topology *topology; /* that they sit on; NULL: none is given */
    const char *place;               /* --place; NULL: not given */
};

/* Has the line times? */
static inline bool result_is_timed(const struct result *result)
{
    return result->iterations > 0 || result->is_predicted;
}

/* How it ended. */
struct job_end {
    enum status status; /* rank 0's; see conclude() */
    const struct job_error *errors;
    int error_count;
    long long rejected; /* connections from outside the job that were dropped; -1: not known */
    struct device_readings faults;     /* what devices have counted in all lines, the unfinished one
                                          among them, and a healthy network does not count */
    struct device_readings unfinished; /* what they have counted in the line that did not end */
};

/* Says how long lines should take, before the report of each. The hooks run in rank 0's thread,
 * each before that of the report with the same name. */
struct report_predictor {
    void (*begin)(struct report_predictor *predictor, const struct job *job,
                  const struct participants *participants);
    void (*connected)(struct report_predictor *predictor, const struct job *job,
                      const struct connectivity *connectivity);
    /* Fills in the predicted times of the line and of its steps. */
    void (*result)(struct report_predictor *predictor, const struct job *job,
                   struct result *result);
};

/* All calls come from rank 0's main thread, but for running() and conclude(). */
struct report {
    struct report_predictor *predictor; /* NULL: there is none */
    void (*begin)(struct report *report, const struct job *job,
                  const struct participants *participants);
    /* When the ranks are connected. NULL is allowed. */
    void (*connected)(struct report *report, const struct job *job,
                      const struct connectivity *connectivity);
    /* Before the result of a line, in parts: its samples, ascending by iteration and then rank.
     * NULL is allowed. */
    void (*samples)(struct report *report, const struct job *job, const struct line_name *line,
                    const struct sample_row *rows, size_t count);
    void (*result)(struct report *report, const struct job *job, const struct result *result);
    /* By another thread, several times a second: what rank 0 does now. NULL is allowed. */
    void (*running)(struct report *report, const struct progress_snapshot *now);
    /* Always called, also after errors: all but the status is written. */
    void (*end)(struct report *report, const struct job *job, const struct job_end *end);
    /* At last, in the process whose exit status it is: writes the status, which is worse where
     * results could not be written. Returns it; later calls return the same. Any thread of that
     * process may call it, in the place of one that hangs. */
    enum status (*conclude)(struct report *report, enum status status);
    /* A sentence, where the results cannot be written: at all, or (`whole`) not all of them. NULL:
     * they can. */
    const char *(*failure)(struct report *report, bool whole);
    /* Bytes that wait for readers. */
    size_t (*queued)(struct report *report);
    /* When the control plane is closed: waits until all is written, for a reader that pauses as
     * long as it takes; after a job that failed, or after a signal, a moment. NULL is allowed. */
    void (*drain)(struct report *report, enum status status);
};

struct rank_result;
struct tick;

/* Where the results cannot be written, the job fails: at once if nothing takes them any more, else
 * at its end (report_check_whole()). Both record the failure, and allow NULL. Both wait for a
 * reader that pauses: the first if too much is queued, the second until all is written. The wait
 * ticks, so that no rank is blamed for it. */
enum status report_check_read(struct report *report, const struct tick *tick);
enum status report_check_whole(struct report *report, const struct tick *tick);

/* Zeroed at the start; stays empty at other ranks. */
struct results {
    struct result *results;
    int result_count;
    struct job_error *errors;
    int error_count;
    size_t wrong;
    struct device_sums devices; /* what they have counted */
    const struct tick *tick;    /* for long work */
};

/* Before the first line. `table` has the devices that the ranks use; it and `tick` must last longer
 * than the results. */
void results_open(struct results *results, const struct device_table *table,
                  const struct tick *tick);

/* Adds a line, reports it, and says on stderr which ranks hold wrong data and why. `mine`: rank 0's
 * part of it. `blobs`: the encoded rank_summary of each rank, which is checked. `slowest`: of the
 * same line; its times are sorted. */
enum status results_add_line(struct results *results, const struct rank_result *mine,
                             const struct job *job, const struct split *split,
                             const struct member *members, const struct blobs *blobs,
                             struct slowest *slowest, struct report *report);

/* Adds the errors of the control plane. */
void results_add_errors(struct results *results, const struct job_error *errors, int count);

/* The status that follows from the results: wrong data, too slow, or all as asked. STATUS_OK at
 * other ranks. */
enum status results_status(const struct results *results, const struct job *job);
void results_free(struct results *results);

/* --min-busbw: is the best right result of the largest size fast enough, for each collective that
 * moves data, datatype and operator? *slowest: the slowest of these; a busbw of 0 where none is
 * right. True if it was not asked for. */
bool results_fast_enough(const struct job *job, const struct result *results, int count,
                         struct result *slowest);

/* ---- rank_result.c ---- */

struct transport_use {
    const struct transport *transport;
    bool used; /* it serves peers of the line */
    struct traffic traffic;
};

struct rank_summary {
    uint64_t wrong;                /* elements */
    uint64_t late;                 /* median, ns */
    struct device_changes changes; /* what devices have counted; of those that the rank reads */
    double duration;               /* median of an iteration, us; 0: not asked for */
    bool core_wait_is_known;
    double core_wait;             /* as in struct rank_sample; 0: not known */
    double shares[ACTIVITIES];    /* of the iterations' time, summed over them */
    struct finding finding;       /* its ranks are those of the group */
    struct evidence_log evidence; /* likewise */
    bool stages, direct;          /* as in struct rank_result */
    int transports;
    struct transport_use transport[TRANSPORTS_MOST];
    int peers;
    struct peer_stats *peer; /* of each of them: the longest awaited first */
    int incident_count;
    struct incident *incidents;
    int steps;
    double *step; /* when each ends, us after the release; 0: the rank has no part in it */
};

/* The summaries of every rank, for one line. */
struct rank_summaries {
    int count, group_ranks;
    struct rank_summary *items;
};

/* Appends the summary of `rank_result`, of which it sorts the samples and the late times, with
 * ticks. `watch`: of this rank; NULL: there is none. */
void rank_summary_encode(struct rank_result *rank_result, const struct job *job,
                         struct run_watch *watch, const struct tick *tick, struct bytes *bytes);

/* Reads what all ranks sent, and checks it. `group_ranks`: the ranks of a group, in which findings
 * count. The caller gives the summaries back with rank_summaries_free(), also after an error. */
enum status rank_summaries_decode(const struct blobs *blobs, int group_ranks,
                                  struct rank_summaries *summaries);
void rank_summaries_free(struct rank_summaries *summaries);

/* ---- The times of each group of a line, and which group is the slowest. ---- */

/* Compares the times of all groups, which are known: sets which group is the slowest, and its name
 * and timing, the median, the fastest. `members`: of the job, by rank. Error: out of memory. */
enum status group_results_compare(struct result *result, const struct split_spec *spec,
                                  const struct split *split, const struct member *members);

/* ---- The raw samples of a line, on request.
 *
 * They come to rank 0 in parts, each of all ranks' next iterations, so that rank 0 holds a bounded
 * part of them at a time.
 * ---- */

/* Bytes that sample_rows_report() takes at rank 0. */
size_t sample_rows_bytes(const struct job *job, int ranks);

/* Hands all samples of a line to report->samples(), part by part. All ranks call it together, each
 * with its own part of the line; `report` is rank 0's, else NULL. Errors: as control_exchange(),
 * and report_check_read(). */
enum status sample_rows_report(struct control *control, const struct job *job,
                               const struct rank_result *rank_result, struct report *report,
                               const struct tick *tick);

#endif

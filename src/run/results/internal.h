/*
 * internal.h - for the files of run/results/ alone.
 */
#ifndef CCTEST_RUN_RESULTS_INTERNAL_H
#define CCTEST_RUN_RESULTS_INTERNAL_H

#include "collective/schedule/schedule.h"
#include "run/results/results.h"

/* ---- Rank 0's view of the time of a line: what each rank saw, and the
 * bottleneck.
 * ---- */

/* Fills in result->bottleneck, its text, and result->samples, which point into the summaries.
 * result->late_rank is known. `duration`: p50 of an iteration; `time`: of all of them together;
 * ns. */
void bottleneck_report(struct result *result, const struct member *members,
                       const struct rank_summaries *summaries, uint64_t duration, uint64_t time);
void bottleneck_report_free(struct result *result);

/* ---- A line of the table that is reported, on rank 0: all that the ranks sent. ---- */

struct line {
    const struct job *job;
    const struct rank_result *mine;
    const struct split *split;
    const struct member *members;
    const struct rank_summaries *summaries;
    const struct slowest *slowest;
    const struct tick *tick; /* for a long search; NULL is allowed */
};

static inline const struct candidate *line_candidate(const struct line *line)
{
    return &line->job->candidates[line->mine->choice];
}

static inline uint64_t line_trips(const struct line *line)
{
    return candidate_trips(line_candidate(line));
}

/* Sets result->groups and what follows from them: the slowest and its timing, the median, the
 * fastest, and the wrong elements of all. result->bytes is known. */
enum status group_results_make(struct result *result, const struct line *line);

/* ---- Hosts that are farther away than the others: a cable of the wrong kind, a detour, a busy
 * virtual switch.
 *
 * The lower quartile of the shortest round trips to its partners stands for a host, as for slow
 * hosts (internal.h): a host has a long way to a far one, but not to all. Hosts above the widest
 * gap are far, if it is threefold and DELAY_LEAST, and two hosts are not.
 * ---- */

#define DELAY_LEAST 500000.0 /* ns, of a round trip */
/* Fills in result->delays and delay_count from result->samples. */
void result_find_delays(const struct member *members, struct result *result);

/* ---- Connections that lose packets, beyond the others: between hosts, as their senders count what
 * they send again.
 *
 * Of a connection's packets so many are expected to be lost as of the lower quartile of all
 * connections: three quarters may be lossy. A connection is lossy if it loses LOSS_SHARE, and
 * LOSS_PACKETS more than three times what is expected and three standard deviations (Poisson's) of
 * that. A host is named if four of five of its connections are lossy, in a direction or in both,
 * and they lead to two hosts; it then explains them all. To one host alone, either may be to blame:
 * where at least two connections between two hosts are lossy, and four of five, the pair is named.
 * ---- */

#define LOSS_SHARE   0.005
#define LOSS_PACKETS 5
/* Fills in result->losses and loss_count from result->samples. */
void result_find_losses(const struct member *members, struct result *result);

/* ---- Where the bottleneck is, from the counts at both ends of all links. ---- */

/* The traffic of one link in the timed iterations of a line. */
struct bottleneck_link {
    int from, to;     /* ranks */
    uint64_t bytes;   /* of messages */
    uint64_t busy;    /* ns in which bytes were on their way */
    uint64_t starved; /* ns in which the receiver waited for them */
};

struct bottleneck_case {
    int ranks;
    const int *node;      /* of each rank, from 0 */
    const uint64_t *late; /* of each rank: the median of the time from its release to its
                             beginning, ns */
    int late_rank;        /* statistics_late_rank() of these */
    uint64_t duration;    /* p50 of an iteration, ns */
    uint64_t time;        /* all iterations together, ns */
    const struct bottleneck_link *links;
    int link_count;
};

#define BOTTLENECK_TICK       4000000u  /* ns: the kernel counts in jiffies, of 4 ms as a rule */
#define BOTTLENECK_LEAST      40000000u /* ns: times below it say too little */
#define BOTTLENECK_SHARE      3 /* one part in so many of the time has to be the suspects' */
#define BOTTLENECK_PRONOUNCED 3 /* times slower than the others */
#define BOTTLENECK_COMPARABLE 4 /* one part in so many of the suspect's bytes */
#define BOTTLENECK_NEARLY     2 /* one part in so many of the suspect's time is nearly as slow */

/* Nothing is kept. */
void bottleneck_find(const struct bottleneck_case *given, struct bottleneck *bottleneck);

/* Bytes per second. */
double bottleneck_rate(uint64_t bytes, uint64_t ns);

uint64_t bottleneck_own(const struct bottleneck_link *link);

/* ---- Which hosts are slow in sending, or in receiving.
 *
 * In a schedule where each host sends to many, one step waits for a slow host after another: no
 * link accounts for much of the time. A link is as slow as the slower of its two ends, its sender
 * or its receiver, so an end is at least as fast as the fastest of its links (the model of two-way
 * data by maxima, as Tukey's medians fit sums: Exploratory Data Analysis, 1977, chapter 10). The
 * lower quartile of the times of an end's links stands for the fastest, since single counts are
 * wrong. Ends above the widest gap are slow, if it is twofold. With a slow host as partner a
 * healthy one has a slow link, but not only slow ones. So most hosts may be slow, if each of
 * the others has fast links to more than a quarter of them.
 * ---- */

/* The number of `values`, which descend, above the widest gap: the greatest ratio of neighbours,
 * `least` at least, where smaller values count as `floor`. 0: there is no such gap. */
size_t gap_above(const double *values, size_t count, double floor, double least);

/* The traffic of all links from one host to another. */
struct host_traffic {
    int from, to; /* nodes */
    double bytes, busy, own;
};

/* The traffic of all pairs of hosts that exchange anything, by sender and then receiver; `pairs`
 * has room for one for each link. Returns the number of pairs. *most: bytes of a pair. */
size_t host_traffic_gather(const struct bottleneck_case *given, struct host_traffic *pairs,
                           double *most);

/* False: none are, or it cannot be told. */
bool slow_hosts_find(const struct bottleneck_case *given, struct bottleneck *bottleneck);

/* ---- Whether the hosts fall into two parts with a slow way between them, such as an uplink that
 * all of them share.
 *
 * The parts are what single linkage leaves when it has joined all hosts to two (P. H. A. Sneath,
 * Journal of General Microbiology 17, 1957), by how slow the links of two hosts are. The cut is
 * confirmed if the median link across it is three times as slow as that inside the parts, and the
 * lower quartile across half as slow again as the upper quartile inside.
 * ---- */

/* False: there is no such cut, or it cannot be told. */
bool slow_cut_find(const struct bottleneck_case *given, struct bottleneck *bottleneck);

/* ---- Packets between two readings of the counters of a transport. Those of TCP have 32 bits, and
 * begin again at 0.
 * ---- */

static inline uint64_t packets_since(uint64_t now, uint64_t before)
{
    return (uint32_t)(now - before);
}

/* The same of packets that were sent again, whose count may fall by a few: then 0. */
static inline uint64_t resent_since(uint64_t now, uint64_t before)
{
    uint64_t gain = packets_since(now, before);
    return gain <= INT32_MAX ? gain : 0;
}

/* ---- Bytes and waiting times between a rank and each peer. ---- */

/* The lanes first .. end - 1 to a peer. */
struct sending_lanes {
    int peer, first, end;
};

struct link_stats {
    int count;
    struct peer_stats *peers;
    struct wait_stats *before; /* of each peer and lane: of the sending channel, and of the other;
                                  then of the start barrier's own lanes, in the order of sending */
    int sending_count;
    struct sending_lanes *sending; /* on which packets may be lost: the collective's lanes to each
                                      peer, then the start barrier's where it has its own */
};

void link_stats_create(const struct test_case *test_case, const struct runner *runner,
                       struct link_stats **stats);
void link_stats_free(struct link_stats *stats); /* NULL is allowed */

#define LINK_STATS_MOST 64

/* Puts the peers with the longest times first. Returns how many of them are reported, at most
 * LINK_STATS_MOST. NULL: 0. */
int link_stats_sort(struct link_stats *stats);

/* Packets that were sent again since the connections were made, by sending[]. */
void link_stats_resent(const struct link_stats *stats, struct links *links, uint64_t *resent);

/* Before (sign -1) and after (+1) each series of timed iterations. NULL is allowed. */
void link_stats_count(struct link_stats *stats, struct links *links, int sign);

/* ---- What happened on a rank in its long iterations: it did not run, began late, sent packets
 * again, or waited for a peer for long.
 *
 * An iteration lasts from the end of the one before it, so its start barrier counts: a rank that is
 * stopped there keeps the others waiting later. Behind a check it begins anew.
 * Packets are looked at every LOOK_LEAST at most, between iterations, so they belong to a range of
 * them.
 * ---- */

enum incident_kind {
    INCIDENT_STOPPED, /* ns in which the rank did not run */
    INCIDENT_LATE,    /* ns from the release to its beginning */
    INCIDENT_RESENT,  /* packets to `peer` that were sent again */
    INCIDENT_AWAITED, /* ns in which it waited for `peer`, at a stretch */
    INCIDENT_KINDS
};

struct incident {
    enum incident_kind kind;
    int peer;             /* -1: none */
    uint64_t first, last; /* iterations */
    uint64_t amount;
};

#define INCIDENTS_MOST 120                 /* of a rank and line */
#define INCIDENT_LEAST (OUTLIER_LEAST / 2) /* ns: shorter ones explain no outlier */

struct incidents; /* NULL is allowed in all calls but incidents_note() */

/* `stats` and `links` must last longer than the incidents. */
void incidents_create(const struct link_stats *stats, struct links *links,
                      struct incidents **incidents);
void incidents_free(struct incidents *incidents);

/* A series of iterations begins, the first of which is this one. */
void incidents_begin(struct incidents *incidents, long iteration);

/* The next iteration begins after something else, such as a check: that is no part of it. */
void incidents_resume(struct incidents *incidents);

/* A series of iterations, of one at least, has ended on all ranks: what was lost last is sent again
 * when its sender is through. */
void incidents_end(struct incidents *incidents);

/* Iteration `iteration` has ended. */
void incidents_note(struct incidents *incidents, long iteration,
                    const struct iteration_times *times);

/* incidents_end(), then fills in those that are kept; returns how many. */
int incidents_list(struct incidents *incidents, struct run_watch *watch,
                   struct incident list[INCIDENTS_MOST]);

void incident_code(struct codec codec, int ranks, struct incident *incident);

/* At rank 0: copies the times of a group, each divided by `trips`, from `words` (duration or
 * device) to `to`, which has room for all iterations. */
void slowest_copy(const struct slowest *slowest, const uint64_t *words, int group, uint64_t trips,
                  uint64_t *to);

/* ---- Iterations of a line that took far longer than the others, and why.
 *
 * One is an outlier if it took three times the median, if it is ten times as far above the median
 * as the upper quartile is, and OUTLIER_LEAST above it. Up to a quarter of the iterations may be
 * anything. (J. W. Tukey, Exploratory Data Analysis, 1977, has the fences from quartiles; ten is
 * far out for times, which are skewed.)
 * ---- */

struct outlier_case {
    const uint64_t *durations; /* ns of each iteration */
    size_t count;
    const struct rank_summaries *summaries;
    const struct member *members;   /* by rank */
    const struct rank_group *group; /* the ranks whose iterations these are */
    const struct tick *tick;
};

/* Fills result->outliers and outlier_count. Without memory there are none. */
void outliers_find(const struct outlier_case *given, struct result *result);

/* ---- When the steps of a line end on a rank: the median of its timed iterations. ---- */

#define STEP_TIMES_BYTES ((size_t)1 << 20) /* that are held at most: the first iterations count */

struct step_times; /* NULL: not asked for, in all calls below */

/* The clock must last longer than *made, which is NULL where the clock has no steps. On success the
 * caller calls step_times_free(). */
enum status step_times_create(const struct step_clock *clock, struct step_times **made);
void step_times_free(struct step_times *times);

/* An iteration has ended, which was released then (clock_ns()). */
void step_times_note(struct step_times *times, uint64_t released);

int step_times_count(const struct step_times *times);

/* From the release of an iteration to the end of the step: the median, us; 0: the rank has no part
 * in it. */
double step_times_median(struct step_times *times, int step, const struct tick *tick);

/* ---- What is wrong in a line, in sentences. ---- */

/* Prints one sentence for each fault, and adds a message of each rank that has it to the errors:
 * the two end in the same place and suspect. Adds the faults to the result. Some rank has found
 * something wrong. */
void faults_report(const struct line *line, struct results *results, struct result *result);

/* A line, as the ranks of one group ran it. Ranks count in their group. */
struct group_line {
    const struct line *whole;
    struct rank_group ranks;
};

static inline const struct rank_summary *summary_of(const struct group_line *line, int rank)
{
    return &line->whole->summaries->items[line->ranks.members[rank]];
}

static inline const struct member *member_of(const struct group_line *line, int rank)
{
    return &line->whole->members[line->ranks.members[rank]];
}

/* ---- Where the fault of a group's ranks may have happened. ---- */

/* The places of which an altered value, or a lost message, would have left what all ranks have, as
 * far as the evidence of `ranks` tells. `only`: those of this iteration; NULL: of all. */
struct place_list fault_places(const struct group_line *line, const int *ranks, int count,
                               const uint64_t *only, bool lost);

/* Does one place explain most elements? It may fit one of several faults by chance. */
static inline bool places_hold(const struct place_list *places)
{
    return places->count > 0 && 2 * places->explained >= places->elements;
}

/* As the end of a sentence: "; a flipped bit explains it in ...: suspect ...". */
void places_text(struct text *text, const struct group_line *line, const struct place_list *places);

/* ---- One element of a result, followed back through the schedules of all ranks to the sources.
 *
 * What an operation has made of the element is a node. Its value is read by the nodes that are made
 * of it, in the order of the reading operations of the rank that holds it.
 * ---- */

#define GRAPH_RANKS_MOST 64 /* jobs of more are not looked into: the schedules of all are built */
#define GRAPH_NODES_MOST 16384

enum node_kind { NODE_SOURCE, NODE_COPY, NODE_HOP, NODE_COMBINE, NODE_FINISH, NODE_RESULT };

#define NO_NODE (-1)

struct element_node {
    enum node_kind kind;
    int rank;         /* that holds it; NODE_HOP: the receiver */
    size_t operation; /* there, that made it */
    size_t position;  /* of the element in the operation's message, or in the source or result */
    int from, with;   /* the nodes that it is made of, or NO_NODE */
    size_t reads;     /* by which operation of their rank */
};

union element_value {
    _Alignas(16) unsigned char bytes[DATATYPE_SIZE_MOST];
};

struct element_graph {
    const struct choice *choice;
    struct problem problem;
    int channels;
    struct inputs inputs;
    reduce_function *reduce; /* NULL: there is none */
    finish_function *finish;
    const struct tick *tick; /* NULL is allowed */
    struct schedule *schedules[GRAPH_RANKS_MOST];

    /* The element that is followed: */
    bool is_complete; /* every part of it has come from somewhere, and there was room */
    int results[GRAPH_RANKS_MOST]; /* nodes; NO_NODE: the rank has no such element */
    int count;
    struct element_node nodes[GRAPH_NODES_MOST];  /* each behind those that it is made of */
    union element_value values[GRAPH_NODES_MOST]; /* if all goes well */
    uint64_t reach[GRAPH_NODES_MOST];             /* ranks whose results are made of it, by bit */
    int depth[GRAPH_NODES_MOST];                  /* nodes before it, on the longest way */
    int readers[GRAPH_NODES_MOST + 1]; /* node i is read by reader[readers[i] .. readers[i + 1]) */
    int reader[2 * GRAPH_NODES_MOST];
    int table[2 * GRAPH_NODES_MOST], path[GRAPH_NODES_MOST]; /* while it is made */
    struct element_node sorted[GRAPH_NODES_MOST];
};

/* NULL: too many ranks, none of cctest's own algorithms, or too little memory. */
struct element_graph *element_graph_open(const struct choice *choice, const struct problem *problem,
                                         int channels, const struct inputs *inputs,
                                         const struct tick *tick);
void element_graph_close(struct element_graph *graph); /* NULL is allowed */

/* Follows element `at` of an iteration with this root: of `rank`, or of all. False: the element is
 * not to be followed, or the job has ended. */
bool element_graph_follow(struct element_graph *graph, int root, uint64_t iteration, uint64_t at,
                          int rank);

/* values[0 .. count) = what the node makes of as many others. `with` may be NULL for a node that
 * has none. */
void node_make(const struct element_graph *graph, const struct element_node *node, const void *from,
               const void *with, void *values, size_t count);

/* ---- Finds the places in which one altered value, computed onward, leaves what all ranks have.
 * ---- */

/* The value that each rank has of one element. */
struct place_evidence {
    uint64_t iteration, at;
    int root;
    int rank; /* whose element it is; EVERY_RANK: all have the same */
    unsigned char expected[DATATYPE_SIZE_MOST];
    uint64_t changed; /* ranks whose sources may not be what they were, by bit */
    enum evidence_answer has[GRAPH_RANKS_MOST];
    unsigned char got[GRAPH_RANKS_MOST][DATATYPE_SIZE_MOST]; /* EVIDENCE_WRONG */
};

/* The places that explain each of the elements. A place in which bytes of the element changed
 * explains it; more than one byte only where it was passed on unchanged from there. Work is
 * bounded: elements that are too much for it are left out, so that more places remain. */
struct place_list places_search(struct element_graph *graph, const struct place_evidence *evidence,
                                int count, bool lost);

/* The same by the logs of all ranks of the graph: of elements that ranks[0 .. count) have wrong. */
struct place_list logs_places(struct element_graph *graph, const struct evidence_log *const *logs,
                              const int *ranks, int count, const uint64_t *only, bool lost);

#endif

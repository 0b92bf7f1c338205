/*
 * report.h - the results of a run, as the session hands them to a printer.
 */
#ifndef CCTEST_RUN_RESULTS_REPORT_H
#define CCTEST_RUN_RESULTS_REPORT_H

#include "dataplane/execute/device_group.h"
#include "run/results/bottleneck.h"
#include "run/results/connectivity.h"
#include "run/results/device_report.h"
#include "run/results/link_stats.h"
#include "base/stats/median_interval.h"
#include "base/stats/modes.h"
#include "run/results/sampling.h"
#include "run/results/slowest.h"
#include "base/stats/statistics.h"
#include "base/stats/trend.h"
#include "run/cpu_binding.h"
#include "run/job.h"
#include "run/split.h"
#include "base/rank_state.h"

struct link_load; /* predict/topology/link_load.h */
struct model;     /* predict/simulate/model.h */

/* Where one rank's time went in the timed iterations of a line. */
struct rank_profile {
    double share[ACTIVITIES]; /* of an iteration's time, mean over them; together 1 */
    double time_us;           /* p50 of an iteration on this rank, from release to end */
};

/* What one rank saw of the timed iterations of a line. */
struct rank_sample {
    double late_us; /* median */
    double time_us; /* p50 of an iteration, from release to end */
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

/* When a step ends, from the release, on the rank that ends it last; halved where an iteration goes there
 * and back. 0: not known. */
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
    int channels; /* 0: a vendor's library has its own */
    double predicted_us; /* p50 by the model of --model; 0: there is none, or it cannot tell */
    /* Where it is compared with a model: of each step, if the reasons of times are shown. The results
     * free it; NULL: not asked for. */
    struct step_end *step_end;
    int steps;
    bool is_predicted; /* its times are those of a model; there were no iterations */
    int simulated_ranks; /* for that; 1: rank 0 stands for all. 0: it is not predicted */
    const struct link_load *load; /* of the topology's links, at the largest size; NULL: not known */
    long iterations, checked;
    size_t wrong; /* wrong elements, over all ranks and checked iterations */
    /* Of each group, until report->result() has returned. The three by p50, of equal ones the first;
     * there may be one group only. */
    struct group_result *groups;
    int group_count, slowest_group, median_group, fastest_group;
    double median_us, fastest_us;       /* p50 of these two */
    char slowest_name[GROUP_NAME_MOST]; /* of that group; "": the job is not split */
    char transport[64];                 /* "shm", "tcp", "shm+tcp", "self" */
    bool on_device;                     /* the device executor ran it; else the host's */
    /* What moved the bytes: "sm" (kernels of GPUs), "ce" (their copy engines, and kernels that
     * combine), "staged" (likewise, through memory of the host), "ce+staged", "cpu"; a vendor's
     * library: its name. */
    char way[16];
    char why_host[GROUP_REASON_MOST]; /* why the device executor did not; "": not asked for */
    struct traffic
        by_transport[TRANSPORTS_MOST]; /* all ranks together, of this line's iterations */
    const char *transport_names[TRANSPORTS_MOST + 1]; /* ended by NULL */
    /* Of the slowest group: a collective in all groups takes as long. */
    struct timing timing;
    enum sampling_end end; /* why no more iterations were timed */
    int late_rank;         /* -1: none stands out */
    double late_us;        /* its median lateness */
    int ranks;
    struct bottleneck bottleneck;   /* what accounts for the time */
    char bottleneck_text[320];      /* the same as a sentence; "": none, or not asked for */
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
    const struct model *model; /* that predicts; NULL: the ranks run */
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
    struct device_readings sick;       /* what devices have counted in all lines, the unfinished one
                                          among them, and a healthy network does not count */
    struct device_readings unfinished; /* what they have counted in the line that did not end */
};

/* All calls come from rank 0's main thread, but for running(), conclude() and
 * conclude_instead(). */
struct report {
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
    /* At last, in the process whose exit status it is: writes the status. Returns the final one,
     * which is graver where results could not be written. Later calls return the same. */
    enum status (*conclude)(struct report *report, enum status status);
    /* The same by any thread of that process, in the place of one that hangs: no further call returns,
     * and the process ends with *status, which is the final one then. False: a call is under way, and
     * nothing was done. */
    bool (*conclude_instead)(struct report *report, enum status *status);
    /* A sentence about results that could not be written; NULL: there are none. NULL is allowed. */
    const char *(*unwritten)(struct report *report);
    const char *_Atomic writing; /* the name of the file that a call is writing; NULL: none */
    _Atomic bool unread;         /* nothing takes the results any more: unwritten() says why */
    _Atomic bool *awaits_reader; /* a call waits for a reader of `writing`; else its file is slow */
    _Atomic unsigned long *writes; /* pieces that `writing` and earlier files have taken */
    _Atomic bool *hurries;         /* set by the control plane: calls no longer wait for readers */
};

/* Where the results cannot be written, the job fails: at once if nothing takes them any more, else
 * at its end (report_check_whole()). Both record the failure, and allow NULL. */
enum status report_check_read(struct report *report);
enum status report_check_whole(struct report *report);

#endif

/*
 * internal.h - for the files of accept/ alone.
 */
#ifndef CCTEST_ACCEPT_INTERNAL_H
#define CCTEST_ACCEPT_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "accept/accept.h"
#include "base/log.h"
#include "base/text.h"

/* ---- Jobs that run at the same time, and how they ended: trials.c ---- */

struct trial {
    enum reading_outcome outcome; /* READING_VALUE: it ended well, with right data */
    int culprit;                  /* the agent whose worker is the reason; -1: not known */
    char why[300];                /* of any other outcome: a clause; "" */
    bool cut; /* it is late, and had too little time, since that of its stage was over: no fault */
    char *result;     /* that rank 0 of the job wrote; NULL: nothing */
    size_t size;      /* bytes of it */
    json_t *document; /* the result, if it is JSON; else NULL */
};

struct trials {
    struct acceptance *acceptance;
    enum accept_stage stage;
    bool aside;            /* they do not belong to the results of the stage */
    const char *transport; /* of jobs that are added, which copy it; NULL: as the user gave it */
    struct arena *memory;  /* of the jobs and their outcomes */
    struct fleet_job *items;
    int count;
    struct trial *outcomes; /* once it has run */
};

void trials_open(struct trials *trials, struct acceptance *acceptance, enum accept_stage stage);

/* Adds a job on `agents`, which are copied: a command, followed by --transport, the options of all
 * jobs and the seed. */
void trials_add(struct trials *trials, const int *agents, int count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Runs all of them, for `seconds` at most, and not longer than the stage may take, and keeps
 * their JSON with the results of the stage. */
enum status trials_run(struct trials *trials, double seconds);
void trials_close(struct trials *trials);

/* The host of a job, or of its first rank. */
int trial_host(const struct trials *trials, int job);

/* Does a job say something against its hosts? It failed, not for want of time, and they are there:
 * a loss is a finding of its own. */
bool trial_is_evidence(const struct trials *trials, int job);

/* Adds the finding of a job of many hosts that failed: a worker that died is evidence against its
 * host. */
void trials_find_failure(const struct trials *trials, int job);

/* Tells of a NIC port that is not measured, since most "pairs" or "hosts" cannot use it: why this
 * job failed. Where the user has named no transport, a NIC may be there that is not meant for
 * this. */
void trials_refuse_port(const struct trials *trials, int job, const char *port, const char *whose);

/* The line of a job's results for a collective, an algorithm (NULL: any) and a size, the first of
 * at least `bytes`; NULL: there is none. */
const json_t *trials_line(const struct trials *trials, int job, const char *collective,
                          const char *algorithm, size_t bytes);

/* Do two lines of results have the same collective and size? */
bool lines_are_alike(const json_t *line, const json_t *other);

/* A number of a line: "time_us.p50", "busbw_GBps"; 0: it has none. */
double line_number(const json_t *line, const char *name);

/* The most that one of `count` ranks from `first` on, *rank, waited for its core in a line, as a
 * share of the time, below 1; 0: none did, or it is not known. */
double line_core_wait(const json_t *line, int first, int count, int *rank);

/* The status that a pair or host asks for whose job came to this. */
enum status outcome_status(enum reading_outcome outcome);

/* Why jobs failed: how often each reason was given. Reasons that differ in their numbers alone
 * (ranks, hosts, seconds) are one. */
struct failed_jobs {
    int count;
    json_t *reasons; /* by reason without numbers: how often, and its first sentence; or NULL */
};

/* Another job failed, for this reason; "" counts as unknown. */
void failed_jobs_add(struct failed_jobs *jobs, const char *why);
/* Adds how many failed, and the most frequent reason, the first of equals: "7 jobs failed, 5 of
 * them: the worker on n3 was killed by SIGKILL". */
void failed_jobs_put(const struct failed_jobs *jobs, struct text *text);
void failed_jobs_free(struct failed_jobs *jobs);

/* ---- The table of stages, and the loop over it: accept.c ---- */

/* Runs the stages from `first` to the one before `end` that the run has. Of a rotation of the
 * soak, which `rotation` is then, it gets their results; else the acceptance does. */
enum status stages_run(struct acceptance *acceptance, int first, int end, json_t *rotation);

/* The stages of the table. */
enum status inventory_run(struct acceptance *acceptance, struct stage_result *result);
enum status metrics_run(struct acceptance *acceptance, struct stage_result *result);
enum status pairs_run(struct acceptance *acceptance, struct stage_result *result);
enum status isolate_run(struct acceptance *acceptance, struct stage_result *result);
enum status halves_run(struct acceptance *acceptance, struct stage_result *result);
enum status all_run(struct acceptance *acceptance, struct stage_result *result);
enum status soak_run(struct acceptance *acceptance, struct stage_result *result);

/* In the place of isolate, where it is left out: what failed in pairs makes suspects, and what
 * was slow is noted. */
enum status isolate_miss(struct acceptance *acceptance, struct stage_result *pairs);

/* In the stage all, which is slower than the pairs explain: a host or a link may have become slow
 * since. Measures a few pairs once more, compares them with the fleet and with their first
 * measurement, and tries suspects again. *found: a host was found. */
enum status isolate_again(struct acceptance *acceptance, struct stage_result *result, bool *found);

/* ---- Help for stages: findings.c ---- */

/* A stage is not whole, or left out; why, as a clause, which comes behind those that are there. */
void stage_lacks(struct stage_result *result, enum stage_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Its result in one line. */
void stage_says(struct stage_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A round of the present stage begins, counted from 1. */
void stage_round(struct acceptance *acceptance, int round, int rounds);

/* Turns that take about as long each: does the stage's time suffice for one more? It does if it
 * is longer than the longest so far. The turn begins with the question. */
struct turns {
    double longest, left;
};
bool turn_fits(struct turns *turns, const struct acceptance *acceptance);

/* The hosts that are left: not lost. `hosts` has room for all; returns how many. */
int hosts_left(const struct acceptance *acceptance, int *hosts);
/* The same, of hosts that are good so far. */
int hosts_good(const struct acceptance *acceptance, int *hosts);
/* Marks those that are not lost, and returns how many. */
int hosts_pairable(const struct acceptance *acceptance, bool *present);

/* Names of all hosts and rails, for sentences about them. */
struct fleet_names fleet_names_of(const struct acceptance *acceptance);

/* Adds a finding of a host; -1: of the fleet. */
void stage_finds(struct acceptance *acceptance, enum accept_stage stage, enum found_kind kind,
                 int host, enum health health, enum status status, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* The kind of a finding about a job that ended like this. */
enum found_kind outcome_kind(enum reading_outcome outcome);

/* Zeroed memory until the stage ends. */
void *stage_memory(struct acceptance *acceptance, size_t count, size_t size);

/* Finds the hosts that are lost since the last call. */
void losses_find(struct acceptance *acceptance);

/* Once no stage runs any more, however the run ended. If most of the other hosts, at least two,
 * fell silent at about the same time, or any after rank 0 was stopped, it is rank 0's host or its
 * network that is at fault: that is found, and those hosts are not judged. Where rank 0 heard no
 * other host any more, either is suspect. */
void losses_judge(struct acceptance *acceptance);

/* ---- counting.c ---- */

/* Reads what all hosts that are left have counted: errors of NICs, interfaces, GPUs, PCIe and
 * memory, and what TCP sent again. What grew since the last call is noted as a finding of the
 * stage that has just ended; the first call notes nothing. */
enum status counting_look(struct acceptance *acceptance, enum accept_stage stage);

void counting_free(struct acceptance *acceptance);

/* ---- intermittent.c ---- */

/* Once no stage runs any more: the hosts whose network interfaces lost their carrier. */
void carriers_judge(struct acceptance *acceptance);
/* Likewise: the hosts whose agents did not run, or did not hear rank 0, for much longer than the
 * others'. If all others did not hear it, it is rank 0's host; of two hosts, either. A lost carrier
 * explains that a host did not hear it. */
void gaps_judge(struct acceptance *acceptance);
/* Then: where one of these two makes a host bad, what its links showed is a note, and no evidence
 * against their other ends. */
void links_judge(struct acceptance *acceptance);
/* Likewise: hosts from which or at which packets arrive twice. */
void doubles_judge(struct acceptance *acceptance);

/* Seconds in all that a host must stand still for longer than the fleet's median to be found, where
 * so many hosts are compared: of hosts that do not hear rank 0, one less than there are. */
double gaps_least(const struct acceptance *acceptance, size_t compared);

/* ---- Pairs of hosts, measured at the same time: pairs_stage.c ---- */

/* Two jobs for each pair, one after the other: the first has the latency, the bandwidth from a to
 * b alone, and that in both directions at once; the second that from b to a alone. Both are run
 * on one rail after the other. */
struct pair_jobs {
    struct acceptance *acceptance;
    struct failed_jobs failed; /* so far: for failed_jobs_free() */
};

/* Measures the pairs on some rails (1 << rail), and adds their readings. A pair is not measured
 * on a rail that one of its hosts lacks, nor on one for which the stage's time does not
 * suffice. */
enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, uint64_t rails);

/* Adds the readings of one of a pair's two jobs that has run: of one that failed, the first. */
void pair_job_take(struct pair_jobs *jobs, const struct trials *trials, int job, int rail,
                   const struct host_pair *pair, bool second);

/* Measures so many rounds of other pairs of good hosts, for isolate_again(); of few hosts, as many
 * as their spread needs. */
enum status pairs_once_more(struct acceptance *acceptance, int rounds);

/* The readings of the last stage pairs; NULL: there are none. */
const struct reading *pair_readings(const struct acceptance *acceptance, size_t *count);

/* ---- Two parts of a fleet without --switches, between which pairs are slow (cut_find()). ---- */

/* Calls parts_take() if new measurements of these hosts on a rail show the parts. `side`: of each
 * host of the fleet. */
enum status parts_try(struct acceptance *acceptance, enum accept_stage stage, int rail,
                      const int *hosts, int count, const int *side);

/* The parts count as two switches from now on, and a finding names them. `medians`: GB/s, of so
 * many pairs that exchange at once inside and across. */
void parts_take(struct acceptance *acceptance, enum accept_stage stage, const int *side, int pairs,
                const double medians[2]);

/* ---- Which hosts stand behind which switches (--switches FILE): switch_file.c ---- */

/* Finds the switches of `hosts`: those that they are cabled to, and those above at the highest
 * level at which the hosts still stand in two parts or more; `above` has none (count 0) if these
 * are the same. A host is named as here, or without its domain; one whose name is empty stands
 * behind no switch. Hosts of the file that are not among them are left out. Free both with
 * switch_level_free(), also after an error. STATUS_USAGE if the file cannot be read, is wrong or
 * lacks a host. predict/topology/topology.h has the form of the file. */
enum status switch_file_read(const char *path, const char *const *hosts, int count,
                             struct switch_level *leaves, struct switch_level *above);

#endif

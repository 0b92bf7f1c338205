/*
 * internal.h - for the files of accept/ alone.
 */
#ifndef CCTEST_ACCEPT_INTERNAL_H
#define CCTEST_ACCEPT_INTERNAL_H

#include <jansson.h>
#include <stdint.h>

#include "accept/accept.h"
#include "accept/judge/judge.h"
#include "base/status.h"
#include "base/text.h"

/* ---- The stage all: collectives over all hosts that are good. ---- */

/* Allreduce and alltoall over all agents of the hosts that are good, checked, and held against the
 * slowest of these hosts. */
enum status all_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* ---- What hosts count before and after each stage: errors of NICs, interfaces, GPUs, PCIe and
 * memory, and what TCP sent again. What grew is evidence with a name.
 * ---- */

/* Reads the counters of all hosts that are left. What they have counted since the last call is noted
 * as a finding of the stage that has just ended; the first call notes nothing. */
enum status counting_look(struct acceptance *acceptance, enum accept_stage stage);
void counting_free(struct acceptance *acceptance);

/* ---- How fast this host's CPUs are: all of them together at its memory, and the slowest
 * core.
 * ---- */

/* Measures for about `seconds` in all, with a thread bound to each CPU that this process may have, and
 * writes JSON with a line for each of "copy", "sum" (GB/s of all threads together: bytes that were
 * written) and "core" (millions of steps a second of the slowest CPU) to `fd`. */
enum status cpu_measure(double seconds, int fd);

/* ---- Why the jobs of a stage failed: how often each reason was given.
 *
 * Reasons that differ in their numbers alone (ranks, hosts, seconds) are one.
 * ---- */

struct failed_jobs {
    int count;
    json_t
        *reasons; /* by the reason without numbers: how often, and its first sentence; NULL: none */
};

/* Another job failed, for this reason; "" counts as unknown. Without memory for a reason it is
 * counted, and no more. */
void failed_jobs_add(struct failed_jobs *jobs, const char *why);
/* Adds how many failed, and the most frequent reason, the first of equals: "7 jobs failed, 5 of them:
 * the worker on n3 was killed by SIGKILL". */
void failed_jobs_put(const struct failed_jobs *jobs, struct text *text);
void failed_jobs_free(struct failed_jobs *jobs);

/* ---- How fast each GPU of this host copies, inside it and between it and the host. ---- */

/* Measures for about `seconds` in all, all GPUs that this process can see at the same time, and writes
 * JSON to `fd`: for each GPU a line of "gpu-copy", "host-to-device" and "device-to-host" (GB/s, bytes
 * that were written). Where there are GPUs that this cctest cannot use, "note" says why. */
enum status gpu_measure(double seconds, int fd);

/* ---- The stage halves: what shows only when many pairs of hosts exchange at once.
 *
 * The hosts that are good are halved, and each exchanges with one of the other half: first some of
 * these pairs, then all at the same time. Halves are random, and by switch where --switches tells
 * the switches: hosts behind half of them exchange with hosts behind the others.
 * ---- */

enum status halves_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* ---- A stage that looks at each host by itself: a job on each, or on each of its NICs, all
 * hosts at once, whose numbers are held against those of the other hosts.
 *
 * A host that stands out is measured once more, and is bad if it stands out again in the same number. One
 * whose job fails is bad.
 * ---- */

/* A number in the results of the job. A host has that of its worst part (the slowest of its GPUs). */
struct host_metric {
    const char *key;  /* of measured_numbers: "node.allreduce.busbw" */
    const char *name; /* "allreduce of 1M among its ranks" */
    const char *unit;
    const char *collective, *number; /* of the line, as in trials_line(), and in it */
    size_t bytes;
    bool less_is_better;
    double floor; /* a share of the fleet's median by which a healthy host may differ */
};

enum host_ranks {
    RANKS_OF_AGENTS, /* the job has all agents of the host, which are several */
    RANKS_ALONE,     /* the worker of one agent does it all */
    RANKS_ON_NIC, /* likewise, a job for each NIC port in turn, over verbs through that port alone */
};

/* Jobs of one kind. */
struct host_look {
    const char *command;
    enum host_ranks ranks;
    const char *fails; /* "collectives among its own ranks fail" */
    double seconds;    /* that a job may take */
    const struct host_metric *metrics;
    int metric_count;
};

/* ---- inventory_stage.c ---- */

/* Sets acceptance->inventories. */
enum status inventory_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* ---- Suspects meet hosts that were only ever good until each is confirmed or cleared
 * (accept/judge/judge.h).
 * ---- */

/* Sets acceptance->isolated. */
enum status isolate_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* In its place, where it is left out: what failed in pairs makes suspects, and what was slow is noted. */
enum status isolate_stage_miss(struct acceptance *acceptance, struct stage_result *pairs);

/* ---- findings.c ---- */

/* Finds the hosts that are lost since the last call. */
enum status losses_find(struct acceptance *acceptance);

/* Once no stage runs any more. If most of the other hosts, at least two, fell silent in one stage, it
 * is rank 0's host or its network that is at fault: that is found, and those hosts are not judged. */
enum status losses_judge(struct acceptance *acceptance);

/* ---- host_stage.c ---- */

enum status node_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* ---- Measures disjoint pairs of hosts at the same time, into readings.
 *
 * Two jobs for each pair, one after the other: the first has the latency, the bandwidth from a to b
 * alone, and that in both directions at once; the second that from b to a alone. Both are run on one
 * rail after the other.
 * ---- */

struct pair_jobs {
    struct acceptance *acceptance;
    double seconds;            /* that the jobs of a round may take, */
    double budget;             /* and one line of a job (--budget) */
    struct failed_jobs failed; /* so far: for failed_jobs_free() */
};

/* With the times of pairs and isolate, which --quick shortens. */
struct pair_jobs pair_jobs_open(struct acceptance *acceptance);

/* Before the first measurement: tries each rail with these pairs. A rail that fails with more than half
 * of them is told, and dropped. Finds the size of messages: so large that one takes a few milliseconds
 * at the fleet's median rate. */
enum status pair_jobs_try(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count);

/* Measures the pairs on some rails (1 << rail), and adds what came of each. A pair is not measured on a
 * rail that one of its hosts lacks, nor on one for which the stage's time does not suffice. */
enum status pair_jobs_run(struct pair_jobs *jobs, enum accept_stage stage,
                          const struct host_pair *pairs, int count, uint64_t rails,
                          struct readings *readings);

/* ---- Hosts meet in disjoint pairs, several rounds of them (accept/judge/judge.h). ---- */

/* Sets acceptance->paired, and acceptance->fleet. */
enum status pairs_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* ---- How fast the parts of this host are, CPUs or GPUs, all at work at the same time.
 *
 * Each part has a thread, which counts what it has done until the time is over. So a slow part does not
 * make the others wait.
 * ---- */

#define PART_WORKS_MOST 4

/* What becomes lines of the results. */
enum part_lines {
    PARTS_TOGETHER, /* one: the sum */
    PARTS_SLOWEST,  /* one: that of the slowest part, with its name */
    PARTS_EACH,     /* one for each part, with its name */
};

struct part_work {
    const char *name, *key; /* of the line, and of its number: "copy", "GBps" */
    double unit;            /* that the number counts */
    enum part_lines lines;
};

struct part_at_work {
    const struct parts_at_work *kind;
    int number;                    /* of the CPU or GPU */
    char name[48];                 /* "CPU 3" */
    void *own;                     /* of the hooks */
    double rates[PART_WORKS_MOST]; /* a second */
};

/* The hooks run in the thread of their part, and fail with fail(): then the others end, too. */
struct parts_at_work {
    const struct part_work *works;
    int work_count;
    double seconds; /* of each work */
    enum status (*open)(struct part_at_work *part);
    /* Does a piece of the work, of some milliseconds at most; *done: how much that was. */
    enum status (*step)(struct part_at_work *part, int work, double *done);
    void (*close)(struct part_at_work *part); /* also after a failure */
};

/* Measures these parts, at least one, and writes the results, as JSON, to `fd`; with a "note" if it is not
 * "". Fails, after fail(), with the first hook that does, or if there is no memory, thread or reader. */
enum status parts_measure(const struct parts_at_work *kind, const int *numbers, int count,
                          const char *note, int fd);

/* ---- Which hosts lose packets: what TCP sent again while pairs were measured.
 *
 * A loss that few iterations meet leaves their median as it was. A pair's number is the packets that
 * both of its hosts sent again. A host's is the lower median of its pairs', so that a lossy partner
 * does not move it; the screening of single hosts (accept/judge/judge.h) judges it.
 * ---- */

/* Adds what a job of a pair, run with -v, sent again to acceptance->resent. */
enum status resent_packets_take(struct acceptance *acceptance, const struct host_pair *pair,
                                const json_t *document);

/* Finds the hosts that stand out, as findings of the stage pairs. Sets acceptance->loses_packets. */
enum status resent_packets_judge(struct acceptance *acceptance);

/* ---- Each host by itself, without links: its memory and its cores. ---- */

enum status self_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* ---- The stages in rotation for a long time: what shows only after hours, or now and then.
 *
 * Each rotation has new inputs, other pairs and other halves. What it finds is a finding like that of
 * the first time; what is found again counts the rotations. At the end the numbers of all rotations
 * are judged together (accept/judge/judge.h).
 * ---- */

/* Runs one stage of a rotation, and frees nothing. */
typedef enum status rotation_stage_run(struct acceptance *acceptance, struct stage_result *result);

enum status soak_stage_run(struct acceptance *acceptance, struct stage_result *result,
                           rotation_stage_run *stage_run);

/* ---- Which hosts stand behind which switches (--switches FILE).
 *
 * predict/topology/topology.h has the form of the file.
 * ---- */

/* Finds the switches of `hosts`: those that they are cabled to, and those above at the highest level
 * at which the hosts still stand in two parts or more; `above` has none (count 0) if these are the
 * same. A host is named as here, or without its domain; one whose name is empty stands behind no
 * switch. Hosts of the file that are not among them are left out. Free both with
 * switch_level_free(), also after an error. STATUS_USAGE if the file cannot be read, is wrong or
 * lacks a host; STATUS_ERROR: out of memory. */
enum status switch_file_read(const char *path, const char *const *hosts, int count,
                             struct switch_level *leaves, struct switch_level *above);

#endif

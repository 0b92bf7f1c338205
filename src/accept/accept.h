/*
 * accept.h - which hosts, links, NICs and GPUs are faulty: stages on a fleet that survives them.
 *
 * Rank 0 goes through the stages. Each runs small jobs on the hosts that are left
 * (controlplane/agents/agents.h), and adds what it finds. Results are handed out after each
 * stage, so that they survive rank 0.
 */
#ifndef CCTEST_ACCEPT_ACCEPT_H
#define CCTEST_ACCEPT_ACCEPT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "accept/judge/judge.h"
#include "accept/judge/network.h"
#include "base/json_field.h"
#include "base/status.h"
#include "controlplane/agents/agents.h"
#include "host/host.h"
#include "host/facts/facts.h"
#include "run/run.h"

/* ---- The options of `cctest accept`, and the names of its stages. ---- */

/* In the order in which they run. */
enum accept_stage {
    STAGE_START, /* always: each agent starts a worker that does nothing */
    STAGE_INVENTORY,
    STAGE_SELF,
    STAGE_NODE,
    STAGE_PAIRS,
    STAGE_ISOLATE,
    STAGE_HALVES,
    STAGE_ALL,
    STAGE_SOAK, /* by --duration: the stages from self to all in rotation */
    ACCEPT_STAGES
};
extern const char *const accept_stage_names[ACCEPT_STAGES + 1]; /* ended by NULL */

struct stage_result;
struct acceptance;

/* A stage. One loop runs the table (accept.c). */
struct stage_row {
    double least;        /* seconds that it needs to do anything */
    double usual, quick; /* seconds that it may take; quick: with --quick */
    enum status (*run)(struct acceptance *acceptance, struct stage_result *result);
};
extern const struct stage_row accept_stages[ACCEPT_STAGES];
#define QUICK_SECONDS 120.0 /* of all stages together, with --quick */

struct accept_options {
    unsigned stages;                /* 1 << enum accept_stage, of those that run */
    double seconds[ACCEPT_STAGES];  /* that each may take, by --stages; 0: accept_stages */
    bool quick;                     /* the whole in two minutes, launch apart */
    double false_alarms;            /* the share of healthy fleets in which somebody is blamed */
    double duration;                /* seconds of the whole run, if it is a soak; else 0 */
    int all_pairs;                  /* each host meets each other */
    const char *switches;           /* a file, or NULL */
    const char *good, *bad, *junit; /* files, "-" for stdout, or NULL */
    const char *write_profile;      /* likewise */
    const char *profile, *baseline; /* files that hosts are compared with, or NULL */
};

/* ---- Measurements: struct reading of accept/judge/judge.h, of all stages in one list. ---- */

struct readings {
    struct reading *items;
    int count;
};

extern const char *const reading_outcome_names[]; /* "ok", "error", "late", "lost", "wrong-data" */

/* ---- An earlier run of `cctest accept`, that hosts of today are compared with: its JSON. ---- */

struct baseline {
    struct readings pairs; /* see baseline_pairs_take() */
    json_t *measured;      /* its "pairs"; NULL: there is no earlier run */
    json_t *numbers; /* of its hosts by themselves, as in its JSON; NULL: there is no earlier run */
    int *host_of;    /* by its number of a host: today's; -1: it is not here */
    int hosts;       /* in the earlier run, */
    int common;      /* and of them here */
};

/* Reads the JSON of an earlier run, for baseline_free(). `labels`: the hosts of today.
 * STATUS_USAGE, after fail(): it cannot be read, is no such JSON, or is of other hosts. */
enum status baseline_read(const char *path, const char *const *labels, int hosts,
                          struct baseline *baseline);

/* Fills `pairs`: readings of its stage pairs between hosts that are here today, on rails that are
 * here today, by today's numbers. `names` of the rails, NULL: of the only one, which has none. */
void baseline_pairs_take(struct baseline *baseline, const char *const *names, int count);
void baseline_free(struct baseline *baseline); /* all zero is allowed */

/* The values that the hosts of today had in a metric of a stage; 0: not known. False: none is
 * known. */
bool baseline_values(const struct baseline *baseline, const char *stage, const char *metric,
                     double *values, int hosts);

/* ---- actions.c: what to do about a finding ---- */

enum action {
    ACTION_NONE,
    ACTION_CABLE,
    ACTION_RESEAT,
    ACTION_REPLACE,
    ACTION_FIRMWARE,
    ACTION_RECONFIGURE,
    ACTION_LOAD,
    ACTION_DIAGNOSE,
    ACTION_REBOOT,
    ACTION_START,
    ACTION_TAKE_OUT,
    ACTION_SWITCH,
    ACTIONS
};
extern const char *const action_words[ACTIONS]; /* "cable", "take-out"; NULL: ACTION_NONE */

/* The kind of a finding, from which its action follows. */
enum found_kind {
    FOUND_NOTE, /* nothing is to be done */
    /* Contact to a host. */
    FOUND_LOST,
    FOUND_ABSENT,   /* the agent never called */
    FOUND_ENDED,    /* its process was ended */
    FOUND_ROOT_CUT, /* rank 0's host is there, and most others are lost to it */
    FOUND_STOPPED,  /* a process did not run, or ranks waited for their cores */
    FOUND_UNHEARD,  /* no packet came through for a while */
    FOUND_FAILED,   /* a worker ended, hung, or failed */
    /* Links. */
    FOUND_CARRIER, /* lost, or down */
    FOUND_RATE,    /* negotiated below what it could be */
    FOUND_LINK_ERRORS,
    FOUND_LOSS,    /* of packets */
    FOUND_DOUBLED, /* packets */
    FOUND_MTU,     /* large packets vanish */
    FOUND_SLOW_PORT,
    FOUND_SLOW_PATH, /* between two hosts that are good with others */
    FOUND_LATENCY,
    FOUND_NETWORK, /* what many hosts share */
    FOUND_WRONG_DATA,
    /* Parts of a host. */
    FOUND_PART, /* missing, or smaller than its like */
    FOUND_MODEL,
    FOUND_PCIE,
    FOUND_NVLINK,
    FOUND_MEMORY_ERRORS,
    FOUND_HEAT,
    FOUND_GPU_WAITS, /* for a reset */
    FOUND_CROWDED,   /* others hold its memory */
    FOUND_FIRMWARE,
    FOUND_SETTING,
    FOUND_CLOCK,    /* of the day */
    FOUND_ALL_MISS, /* all hosts miss a rate, a profile or an earlier run */
    FOUND_NUMBER,   /* it does its own work slowly */
    FOUND_DRIFT,
    FOUND_KINDS
};

enum action found_action(enum found_kind kind);
/* The action as a sentence without its end: "reseat the card, and look at its slot"; NULL: none. */
const char *found_advice(enum found_kind kind);

/* The kind of a finding about a fact; NULL: the host lacks the part. */
enum found_kind fact_kind(const struct inventory_fact *fact);
/* The worst kind among what the devices of a host have counted and healthy ones do not. FOUND_NOTE:
 * it asks for nothing. */
enum found_kind counters_kind(const struct device_changes *grown);

/* ---- findings.c ---- */

#define FOUND_TEXT_MOST 480
#define FOUND_WHAT_MOST 120

struct found {
    enum accept_stage stage;
    enum found_kind kind;
    enum health health;         /* that it makes of its hosts; HEALTH_GOOD: a note */
    int host, peer;             /* -1: the fleet as a whole; peer -1: the host alone */
    enum status status;         /* that it asks for: 1, 3, 4 or 5; STATUS_OK: a note */
    char text[FOUND_TEXT_MOST]; /* one sentence */
    const char *unit;           /* static, of the number that is the reason; NULL: it is none */
    struct reason reason;
    /* The name of what is slow or fails, "latency, rail 2": the same in each rotation of a soak. */
    char what[FOUND_WHAT_MOST];
    bool loss; /* the host is lost */
    /* One rotation alone found the host slow: a suspect, since each has its false alarms. */
    bool once;
    int rotation;        /* of a soak in which it was found first; 0: before, or behind it */
    int rotations, last; /* how many found it again, and the last of them */
};

/* In the order in which they were found. */
struct findings {
    struct found *items;
    int count;
    int rotation; /* that goes on; 0: none */
};

/* Adds a copy. In a rotation of a soak, the same that was found before of the same host or link, in
 * the same stage and of the same severity, is counted instead; a slow host is bad then, and a
 * suspect before. */
void findings_add(struct findings *findings, const struct found *found);
void findings_free(struct findings *findings);

/* Has a stage looked at hosts? start alone does not. */
bool acceptance_looked(const struct acceptance *acceptance);

/* The health of each host of a run as others may take it: good only once it is judged, else
 * unknown. An array, which the caller frees. */
enum health *acceptance_healths(const struct acceptance *acceptance);

/* Negative: `a` is worse, by what it makes of its hosts, then by its status: wrong data outranks
 * slowness. 0: they are equal. */
int findings_compare(const struct found *a, const struct found *b);

/* The worst that was found of each of hosts 0 .. hosts - 1: an array, which the caller frees. */
enum health *findings_healths(const struct findings *findings, int hosts);

/* The worst status that any of them asks for. */
enum status findings_status(const struct findings *findings);

extern const char *const health_words[]; /* "good", "unknown", "suspect", "bad" */

/* ---- A profile of hosts: what each is to have (accept/judge/judge.h), and what its
 * measurements are to reach:
 *
 *     nic.count = 8
 *     nic.rate >= 400 Gb/s
 *     pairs.latency <= 3.5 us
 *     pairs.bandwidth >= 45 GB/s
 *
 * Keys of facts are those of host/facts/facts.h; keys of measurements those of measured_numbers.
 * ---- */

/* The jobs that measure hosts by themselves: host_stage.c has them. */
enum look {
    LOOK_CPUS,   /* its memory and cores, */
    LOOK_GPUS,   /* its GPUs, */
    LOOK_NICS,   /* its NICs: the stage self */
    LOOK_AGENTS, /* collectives among its agents: the stage node */
    LOOKS
};

/* A number that a stage measures of each host by itself, or of pairs of hosts. */
struct measured_number {
    const char *key;  /* in a profile: "self.copy" */
    const char *name; /* in JSON: "copy by all cores" */
    enum value_unit unit;
    bool less_is_better;
    /* A host by itself has the number of its worst part (the slowest of its GPUs): */
    enum look look;
    double floor; /* a share of the fleet's median by which a healthy host may differ */
    const char *collective, *number; /* of the line, as in trials_line(), and in it */
    size_t bytes;
};
#define MEASURED_PAIRS 10 /* those of pairs begin here, by enum metric */
#define MEASURED       (MEASURED_PAIRS + METRICS)
extern const struct measured_number measured_numbers[MEASURED];

struct host_profile {
    struct {
        struct expected_fact *items;
        int count;
    } facts;
    /* By measured_numbers, in their units: at least, or at most; 0: nothing. */
    double asked[MEASURED];
};

/* Reads a profile, for host_profile_free(). STATUS_USAGE, after fail() with file and line: a
 * line, key, unit or operator is wrong, a key is there twice, or the file cannot be read. */
enum status host_profile_read(const char *path, struct host_profile *profile);
void host_profile_free(struct host_profile *profile); /* all zero is allowed */

/* ---- The rails of a fleet: NIC ports by which its pairs are measured one after the other.
 *
 * There are rails where the fleet has two or more NIC ports that its jobs may use
 * (controlplane/agents/agents.h). Else it has one rail without a name: the transports as they
 * were given.
 * ---- */

struct rails {
    int count;                     /* 0: not looked for yet */
    int dropped;                   /* that could not be used */
    const char *names[RAILS_MOST]; /* "mlx5_2", the inventories' own; the first NULL: no name */
    double rates[RAILS_MOST];      /* GB/s of the rail's link in one direction; 0: not known */
};

/* From the inventories by host (NULL: not known), which must stay. Without NICs a rail's rate is
 * that of the network interfaces that are up, if they agree. */
void rails_find(const struct job *job, const struct inventory *inventories, int hosts,
                struct rails *rails);

/* Is a rail a NIC port, with a name? All are, or there is one that is none. */
bool rails_have_names(const struct rails *rails);

/* Is the NIC port active on this host, as far as is known? */
bool rail_is_at(const struct rails *rails, int rail, const struct inventory *inventories, int host);

/* The value of --transport for a job on a rail (nic_port_transport()). NULL: as the user gave
 * it. */
const char *rail_transport(const struct job *job, const struct rails *rails, int rail,
                           char text[PORT_TRANSPORT_MOST]);

/* Takes a rail out that cannot be used. Without any, there is one without a name. */
void rails_drop(struct rails *rails, int rail);

/* ---- The state of an acceptance run at rank 0: types only. ---- */

#define STAGE_TEXT_MOST 480

/* The result of a stage. */
enum stage_state { STAGE_DONE, STAGE_PARTLY, STAGE_LEFT_OUT };
struct stage_result {
    enum accept_stage stage;
    enum stage_state state;
    char why[STAGE_TEXT_MOST];  /* it is not done, or only partly: a clause; "" */
    char text[STAGE_TEXT_MOST]; /* its result in one line */
    double seconds;
    json_t *jobs; /* of each small job: hosts, command, outcome, results */
};

#define METRIC_NAME_MOST (PART_NAME_MOST + 48)

/* A number of the hosts by themselves, or of one of their NIC ports. */
struct host_number {
    const struct measured_number *measured;
    char name[METRIC_NAME_MOST]; /* "loop through a NIC mlx5_0" */
};

/* How far the present stage is. */
struct stage_progress {
    double began;         /* clock_seconds() */
    int round, rounds;    /* the present one, from 1, of so many; 0: it has none */
    double round_seconds; /* that the rounds so far took, on average */
};

/* Counters of a host's device that grew in a stage and tell of errors, or of a busy network. */
struct counter_growth {
    enum accept_stage stage;
    int rotation; /* of a soak; 0: none */
    int host;
    struct device_change device;
};

/* Takes what is known, in rank 0's only thread. */
struct accept_report {
    /* Fails if the results cannot be written: no stage runs then. */
    enum status (*begin)(struct accept_report *report, const struct acceptance *acceptance);
    /* While a stage runs, several times a second. */
    void (*running)(struct accept_report *report, const struct acceptance *acceptance,
                    enum accept_stage stage, int ended, int count);
    /* The last of acceptance->stages has ended. */
    void (*stage)(struct accept_report *report, const struct acceptance *acceptance);
    /* A rotation of the soak has ended, after so many seconds. */
    void (*rotation)(struct accept_report *report, const struct acceptance *acceptance, int number,
                     double seconds);
    /* Returns the final status, a worse one if the results could not be written. */
    enum status (*end)(struct accept_report *report, const struct acceptance *acceptance,
                       enum status status);
};

struct acceptance {
    struct arena *memory;       /* of what stays until the run ends, */
    struct arena *stage_memory; /* and of what the present stage needs alone */
    const struct job *job;
    const struct accept_options *asked;
    const char *options; /* of every small job, but --transport, each behind a blank */
    const char *bootstrap;
    struct accept_report *report;
    struct coordinator *coordinator;
    const struct roster *roster; /* the fleet's */
    const char **labels;         /* of each host, for sentences */
    bool *losses_found;          /* of each host: its loss is a finding already */
    struct host_profile profile; /* what hosts are compared with besides each other; */
    struct baseline baseline;    /* all zero: nothing */
    struct switch_level leaves;  /* --switches: the switches of each host; count 0: not known, */
    struct switch_level above;   /* and those above, where there are several levels */
    struct findings findings;
    struct inventory *inventories;  /* by host; NULL: the stage was left out, */
    double *clocks;                 /* and seconds since 1970 when it was taken; 0: not known, */
    double clocks_within;           /* of all in so many seconds */
    struct device_changes *counted; /* by host, at the end of the last stage; NULL: not yet */
    int *uncounted; /* by host: how many looks at its counters failed, one after the other */
    struct {
        struct counter_growth *items;
        int count;
    } growth;                       /* of counters, in the order in which it was seen */
    struct rails rails;             /* of the pairs */
    struct readings readings;       /* of all stages, in their order */
    int pairs_first, pairs_end;     /* those of the last stage pairs; equal: there are none */
    struct fleet *fleet;            /* as the pairs showed it; NULL: none were measured */
    struct sensitivity sensitivity; /* of the fleet, if suspects were tried again: */
    bool isolated;
    int sized;            /* hangs that were tried with messages of growing sizes */
    size_t message_bytes; /* of one that measures bandwidth; 0: not known */
    int lines, tcp_lines; /* of pairs, and those over a kernel's TCP */
    double end;           /* clock_seconds() at which the run is to end; INFINITY: any time */
    double until;         /* at which the time of the present stage is over */
    double began;         /* clock_seconds() at the first stage */
    struct stage_progress progress;
    int cut;           /* jobs of the present stage that its time did not suffice for */
    uint64_t seed;     /* of pairs, halves and inputs: another one in each rotation */
    json_t *rotations; /* of the soak: their numbers; NULL: there is none */
    struct stage_result stages[ACCEPT_STAGES];
    int stage_count; /* so far */
    bool ended;      /* all stages ran, */
    bool judged;     /* and looked at hosts: one without a finding is good */
};

struct accept_arguments {
    const struct job *job;
    const struct accept_options *asked;
    const char *options; /* of every small job, but --transport, each behind a blank */
    struct agent_config agents;
    struct accept_report *report; /* rank 0 */
};

/* Runs an agent, or as rank 0 all stages; a rank_main whose argument is a struct accept_arguments.
 */
enum status accept_run(const struct membership *membership, void *arguments);

/* ---- host_work.c ---- */

/* Commands that are no command lines. */
#define WORK_NOTHING   "nothing"   /* starts, and ends */
#define WORK_INVENTORY "inventory" /* what the host has: the result is an inventory, encoded */
#define WORK_COUNTERS  "counters"  /* what it has counted: device_changes, encoded */
#define WORK_CPU       "cpu"       /* how fast its memory and cores are: JSON */
#define WORK_GPUS      "gpus"      /* how fast its GPUs copy: JSON */

/* Is the command one of these? */
bool host_work_is(const char *command);

/* Does it, and writes its result to `fd`. */
enum status host_work_run(const char *command, int fd);

/* ---- stages ---- */

/* Keys of objects in JSON. A stage of a rotation has no jobs. */
extern const struct json_field stage_result_fields[], rotation_stage_fields[]; /* stage_result */
extern const struct json_field stage_job_fields[]; /* of struct trial; context: its trials */
extern const struct json_field rotation_fields[], rotation_series_fields[]; /* soak_stage.c */

/* Seconds of the present stage's time that are left; not below 0. */
double stage_left(const struct acceptance *acceptance);

/* ---- missed.c ---- */

/* The largest faults that a run may not have seen. INFINITY: it has not measured them. */
struct missed {
    double host_bandwidth, link_bandwidth; /* shares of the fleet's, by which they are slower */
    double latency;                        /* us, by which a host's is longer */
    double loss;                           /* %, of the packets of a link */
    double standstill;                     /* seconds of a host, in all */
    double interval; /* seconds between two counted events, of which none may come */
};

#define MISSED_TEXT_MOST 400
struct missed missed_by(const struct acceptance *acceptance);
extern const struct json_field missed_fields[];

/* Adds it as a clause: "hosts that are slower by less than 11%, links by less than 16%, ..." */
void missed_put(const struct missed *missed, struct text *text);

/* ---- references.c ---- */

/* Puts what all good hosts have, and what they measured, with some room: a file that
 * host_profile_read() takes. STATUS_ERROR, after fail(): out of memory. */
enum status written_profile_put(const struct acceptance *acceptance, FILE *out);

#endif

/*
 * acceptance.h - the state of an acceptance run at rank 0: types only.
 */
#ifndef CCTEST_ACCEPT_ACCEPTANCE_H
#define CCTEST_ACCEPT_ACCEPTANCE_H

#include <jansson.h>

#include "accept/accept_options.h"
#include "accept/baseline.h"
#include "accept/findings.h"
#include "accept/host_profile.h"
#include "accept/rails.h"
#include "accept/readings.h"
#include "host/device_changes.h"
#include "controlplane/agents/coordinator.h"
#include "host/facts/inventory.h"
#include "run/job.h"
#include "accept/judge/fleet.h"
#include "accept/judge/switches.h"

#define STAGE_TEXT_MOST 480

/* What came of a stage. */
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

/* A number of one host, of a stage that looks at each host by itself. */
struct host_number {
    enum accept_stage stage;
    int host;
    const char *key, *unit;        /* static; the key is that of measured_numbers */
    char metric[METRIC_NAME_MOST]; /* "loop through a NIC mlx5_0" */
    char part[PART_NAME_MOST];     /* that has this value, the worst of several; "" */
    double value;
};

/* How far the present stage is. */
struct stage_progress {
    double began;         /* clock_seconds() */
    int round, rounds;    /* the present one, from 1, of so many; 0: it has none */
    double round_seconds; /* that the rounds so far took, on average */
};

/* What a device of a host counted in a stage that tells of errors, or of a busy network. */
struct counter_growth {
    enum accept_stage stage;
    int rotation; /* of a soak; 0: none */
    int host;
    struct device_change device;
};

struct acceptance;

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
    /* Returns the final status, a graver one if the results could not be written. */
    enum status (*end)(struct accept_report *report, const struct acceptance *acceptance,
                       enum status status);
};

struct acceptance {
    const struct job *job;
    const struct accept_options *asked;
    const char *options; /* of every small job, but --transport, each behind a blank */
    const char *bootstrap;
    struct accept_report *report;
    struct coordinator *coordinator;
    const struct roster *roster;     /* the fleet's */
    char (*labels)[HOST_NAME_BYTES]; /* of each host, for sentences, */
    const char **label_pointers;     /* and pointers to them */
    bool *losses_found;              /* of each host: its loss is a finding already */
    struct host_profile profile;     /* what hosts are held against besides each other; */
    struct baseline baseline;        /* all zero: nothing */
    struct switch_level leaves; /* --switches: the switches of each host; count 0: not known, */
    struct switch_level above;  /* and those above, where there are several levels */
    struct findings findings;
    struct inventory *inventories;  /* by host; NULL: the stage was left out */
    struct device_changes *counted; /* by host, at the end of the last stage; NULL: not yet */
    int *uncounted; /* by host: how many looks at its counters failed, one after the other */
    struct counter_growth *growth; /* of counters, in the order in which it was seen */
    int growth_count, growth_room;
    struct host_number *numbers;
    int number_count, number_room;
    struct rails rails;               /* of the pairs */
    struct readings paired, isolated; /* of pairs, and of isolate */
    struct readings resent;           /* by each job of pairs: packets that TCP sent again */
    bool *loses_packets;              /* by host; NULL: not judged */
    struct fleet *fleet;              /* as the pairs showed it; NULL: none were measured */
    size_t message_bytes;             /* of one that measures bandwidth; 0: not known */
    double end;   /* clock_seconds() at which the run is to end; INFINITY: any time */
    double until; /* at which the time of the present stage is over */
    double began; /* clock_seconds() at the first stage */
    struct stage_progress progress;
    int cut;           /* jobs of the present stage that its time did not suffice for */
    uint64_t seed;     /* of pairs, halves and inputs: another one in each rotation */
    json_t *rotations; /* of the soak: their numbers; NULL: there is none */
    struct stage_result stages[ACCEPT_STAGES];
    int stage_count;  /* so far */
    bool ended_early; /* not all stages ran, so no host is judged */
};

#endif

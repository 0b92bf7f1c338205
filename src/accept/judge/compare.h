/*
 * compare.h - in what hosts differ from the majority, and fall short of what their own parts could
 * do. Pure: no clock, no device, no output.
 *
 * A majority is more than half of the hosts that have a fact, and at least two. Numbers agree
 * within their rule's tolerance. Where there is no majority, none is blamed.
 */
#ifndef CCTEST_ACCEPT_JUDGE_COMPARE_H
#define CCTEST_ACCEPT_JUDGE_COMPARE_H

#include "host/facts/inventory.h"

#define FINDING_VALUES_MOST 3 /* values of a fact without a majority that are kept */
#define FINDING_PARTS_MOST  96

struct expected_fact;

/* Of host `index` of the call. */
struct inventory_host {
    const char *name;
    const struct inventory *inventory; /* NULL: the host is lost, and is not compared */
};

enum lapse {
    LAPSE_DIFFERS,    /* from the majority */
    LAPSE_SPLIT,      /* hosts differ, and there is no majority */
    LAPSE_LACKS,      /* the fact, which the majority has */
    LAPSE_BELOW_BEST, /* of the part itself */
    LAPSE_COUNTED,    /* what should not happen */
    LAPSE_SILENT,     /* a source has not answered */
    LAPSE_UNEXPECTED, /* it is not what the profile expects */
    LAPSES
};

/* Points into the inventories, which must stay. */
struct inventory_finding {
    enum lapse lapse;
    enum severity severity;
    int host;                          /* -1: no host is to blame */
    const struct inventory_fact *fact; /* the host's, or one of those that are alike; LAPSE_LACKS:
                                        * the majority's; UNEXPECTED: NULL: it has none */
    const struct inventory_fact *majority; /* DIFFERS: one of those that agree */
    int holders, total; /* hosts that agree with the majority, of those that have the fact; of
                         * BELOW_BEST with host -1: hosts that fall short alike */
    struct split_value {
        int host, holders; /* the first host that has it, and how many do */
        const struct inventory_fact *fact;
    } values[FINDING_VALUES_MOST];  /* SPLIT */
    int value_count;                /* of all, also those that are not kept */
    char parts[FINDING_PARTS_MOST]; /* a count that DIFFERS: parts that are missing, or too many */
    const struct expected_fact *expectation; /* UNEXPECTED */
};

struct inventory_findings {
    struct inventory_finding *list; /* by host, those of no host first; the gravest first */
    int count, room;
    bool failed; /* out of memory: findings are missing */
};

/* Begins with *findings empty. */
void inventory_compare(const struct inventory_host *hosts, int count,
                       struct inventory_findings *findings);

/* Appends what each host has that the expectations forbid. */
void inventory_expect(const struct inventory_host *hosts, int count,
                      const struct expected_fact *expectations, int expected,
                      struct inventory_findings *findings);

/* The gravest severity of a host's findings; -1: it has none. */
int inventory_gravest(const struct inventory_findings *findings, int host);

void inventory_findings_free(struct inventory_findings *findings);

#endif

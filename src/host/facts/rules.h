/*
 * rules.h - which facts of a host there are, and what a difference in each means. One table, which
 * the collection, the comparison, the profile and the manual follow.
 */
#ifndef CCTEST_HOST_FACTS_RULES_H
#define CCTEST_HOST_FACTS_RULES_H

#include <stddef.h>

#define RULE_KEY_MOST   40 /* of a rule with its kind: "interface.pcie.slot_speed" */
#define VALUE_TEXT_MOST 128

enum part_kind { PART_HOST, PART_NUMA, PART_NIC, PART_INTERFACE, PART_GPU, PART_DRIVE, PART_KINDS };
/* "", "numa", "nic", "interface", "gpu", "drive" */
extern const char *const part_kind_names[PART_KINDS];

enum value_unit {
    VALUE_TEXT,
    VALUE_COUNT,
    VALUE_BYTES,
    VALUE_GBITS, /* Gb/s */
    VALUE_MHZ,
    VALUE_WATTS,
    VALUE_TRANSFERS, /* GT/s of a lane */
    VALUE_LANES,
    VALUE_MICROSECONDS, /* of measurements, as are those below */
    VALUE_GBYTES,       /* GB/s: 10^9 bytes a second */
    VALUE_STEPS,        /* million steps/s */
    VALUE_UNITS
};

enum severity { SEVERITY_NOTE, SEVERITY_SUSPECT, SEVERITY_BAD, SEVERITIES };
extern const char *const severity_names[SEVERITIES]; /* "note", "suspect", "bad" */

enum fact_comparison {
    COMPARE_SAME,    /* any difference counts */
    COMPARE_LEAST,   /* more than the majority has is only a note */
    COMPARE_NOTHING, /* hosts may differ */
    COMPARE_ZERO,    /* it counts what should not happen: each host is judged alone */
    COMPARE_SILENCE  /* that the fact is there is the finding */
};

struct fact_rule {
    enum part_kind kind;
    const char *key;
    enum value_unit unit;
    enum fact_comparison comparison;
    enum severity severity;      /* of a difference; COMPARE_ZERO: of a number above 0 */
    double tolerance;            /* share of the majority's value by which a number may differ */
    double best_share;           /* share of its own best that a fact must reach; 0: no best */
    enum severity best_severity; /* below that */
    const char *right;           /* the text that is never worse than another; NULL: none */
    const char *before, *after;  /* words around the value: "has", "of memory", "GPU*", which
                                  * is "GPUs" unless there is 1 */
};

#define NOT_LOADED "not loaded" /* the text of a module's fact */

/* Ends with a row whose key is NULL. */
extern const struct fact_rule fact_rules[];

/* NULL: there is none. */
const struct fact_rule *fact_rule_find(enum part_kind kind, const char *key);

/* "nic.rate"; of a host "memory.bytes". Returns `text`. */
const char *fact_rule_name(const struct fact_rule *rule, char text[RULE_KEY_MOST]);
/* By that name. NULL: there is none. */
const struct fact_rule *fact_rule_named(const char *name);

/* "400 Gb/s", "2.0 TiB", "unlimited". Returns `text`. */
const char *value_text(enum value_unit unit, double number, char text[VALUE_TEXT_MOST]);

#endif

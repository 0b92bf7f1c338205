/*
 * measured.h - what the JSON of an acceptance run has: its hosts, and its measurements by metric.
 */
#ifndef CCTEST_CLI_REPORT_MEASURED_H
#define CCTEST_CLI_REPORT_MEASURED_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct measured_host {
    const char *name;
    const char *health; /* "good", "unknown", "suspect" or "bad" */
    bool lost;
    const char *switched; /* the switch that it is cabled to; "": not known */
};

/* A measurement of a host, or from a host to another one. */
struct measurement {
    int from, to;     /* hosts; `to` -1: of one host */
    int rail;         /* of a pair */
    const char *part; /* the NIC port or GPU that was measured; "": none is named */
    double value;     /* NAN: it failed, and why: */
    const char *outcome, *stage;
};

struct measured_metric {
    const char *name, *unit;
    bool of_pairs;
    bool more_is_worse; /* a time */
    struct measurement *of;
    size_t count;
    double *
        of_host; /* of each host the median of its values, without those of the stage isolate; of pairs the worse of those
                        that it sent and those that it received; NAN: it has none */
    double median; /* of these: where one host of four is slow, half of all values are; NAN: none */
};

#define METRICS_MOST 32 /* those beyond are left out */

/* All texts belong to the document. */
struct measured {
    struct measured_host *hosts;
    int host_count;
    struct measured_metric metrics[METRICS_MOST];
    int metric_count;
};

/* Reads a document, leaving out what names no host of it. False: out of memory. */
bool measured_read(const json_t *document, struct measured *measured);
void measured_free(struct measured *measured);

/* The number of a host under this key; -1: there is none. */
int measured_host_of(const struct measured *measured, const json_t *object, const char *key);

/* How grave a word of health is: as enum health; 0 of "good", and of one that is not known. */
int health_gravity(const char *word);

/* Is a value worse than another? */
bool metric_is_worse(const struct measured_metric *metric, double a, double b);

/* A metric as a heading: "Bandwidth one way". */
const char *metric_title(const struct measured_metric *metric);

#endif

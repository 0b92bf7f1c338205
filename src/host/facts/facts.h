/*
 * facts.h - the interface of host/facts/.
 */
#ifndef CCTEST_HOST_FACTS_FACTS_H
#define CCTEST_HOST_FACTS_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "host/host.h"

/* ---- Which facts of a host there are, and what a difference in each means. One table, which
 * the collection, the comparison, the profile and the manual follow.
 * ---- */

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
    VALUE_PERCENT,      /* % */
    VALUE_UNITS
};
extern const char *const value_unit_names[VALUE_UNITS]; /* "Gb/s", and how a size is written */

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
    const char *before, *after;  /* words around the value: "has", "of memory", "GPU*", which
                                  * is "GPUs" unless there is 1 */
    double tolerance;            /* share of the majority's value by which a number may differ */
    double best_share;           /* share of its own best that a fact must reach; 0: no best */
    enum severity best_severity; /* below that */
    const char *right;           /* the text that is never worse than another; NULL: none */
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

/* ---- What one host has: a flat list of facts. It travels to the coordinator, which
 * compares the inventories of all hosts (accept/judge/judge.h).
 *
 * A fact belongs to a part of the host ("mlx5_2"), or to the host itself (""). Its rule says what
 * it is. What differs from host to host by nature (addresses, serial numbers, time) is no fact.
 * ---- */

#define INVENTORY_FACTS_MOST 8192 /* of one host, decoded */
#define PART_NAME_MOST       64

struct inventory_fact {
    const struct fact_rule *rule;
    const char *part; /* "mlx5_2", "0000:17:00.0"; "": the host */
    const char *text; /* VALUE_TEXT; else "" */
    double number;    /* in the rule's unit: not negative; INFINITY: no limit */
    double best;      /* what the part itself could do; 0: unknown */
};

struct inventory {
    struct inventory_fact *facts;
    int count;
    struct arena *arena; /* of its texts */
};

/* Each adds a fact whose rule must exist. An empty text is no fact. A part's second fact of a key
 * is ignored. */
void inventory_add_text(struct inventory *inventory, enum part_kind kind, const char *part,
                        const char *key, const char *text);
void inventory_add_number(struct inventory *inventory, enum part_kind kind, const char *part,
                          const char *key, double number, double best);

/* NULL: there is none. */
const struct inventory_fact *inventory_find(const struct inventory *inventory, enum part_kind kind,
                                            const char *part, const char *key);

/* Its value, with its unit. Returns `text`. */
const char *fact_text(const struct inventory_fact *fact, char text[VALUE_TEXT_MOST]);

void inventory_encode(const struct inventory *inventory, struct bytes *share);
/* Appends; false: invalid. */
bool inventory_decode(struct inventory *inventory, struct reader *reader);

void inventory_free(struct inventory *inventory); /* all zero is allowed */

/* ---- Where the facts and the counters of a host come from. ---- */

struct inventory_source {
    const char *root; /* "": this machine; else a folder with sys, proc, etc and dev, in tests */
    const char *host; /* the host's name, for sentences */
    double patience;  /* seconds in which each source must answer */
    bool (*firmware)(const char *netdev, char *text, size_t size); /* NULL: it is not asked */
    bool asks_nvml; /* never before a fork (host/nvml/nvml.h) */
};

/* ---- Asks the kernel, and the drivers, what this host has.
 *
 * A driver or a file system that hangs costs the facts of its source only: each source is asked in
 * a thread with a limit, and the fact "silent" says which one has not answered.
 * ---- */

/* This machine. */
struct inventory_source inventory_here(const char *host);

/* Appends the facts of all sources. A thread that hangs stays, so
 * the process must end soon. */
void inventory_collect(const struct inventory_source *source, struct inventory *inventory);

/* ---- All that a host counts: its NICs, interfaces and GPUs, PCIe, memory, CPUs, and
 * TCP. Read before and after a stage, what grew (device_changes_since) is evidence with a name.
 *
 * COUNTER_FAULTY is what a healthy host does not count, COUNTER_CONGESTED what a busy network does;
 * the rest is traffic.
 * ---- */

/* Counters of the host, behind TCP_COUNTER: packets that it sent again; of those that it sent,
 * those of which a receiver said that they came twice (RFC 2883); and those that it received once
 * more. */
#define TCP_COUNTER    "tcp_"
#define TCP_RESENT     "RetransSegs"
#define TCP_SENT_TWICE "TCPDSACKRecv"
#define TCP_CAME_TWICE "TCPDSACKOldSent"

struct host_counters;
struct inquiry;

/* With the GPUs' meters, which count events from here on. All three functions may block for ever,
 * as drivers may hang: `inquiry`, which must stay, then says which one. */
struct host_counters *host_counters_open(const struct inventory_source *source,
                                         struct inquiry *inquiry);

/* Appends a device for each part that counts, by its PCI address or name ("0000:17:00.0", "mlx5_2",
 * "eth0"), the host itself as "host", and all links of PCIe as "PCIe". Those that
 * do not fit DEVICES_SENT_MOST are left out. */
void host_counters_read(struct host_counters *counters, struct device_changes *now);

void host_counters_close(struct host_counters *counters); /* NULL is allowed */

/* ---- host_facts.c ---- */

/* The model of this host's CPUs; "": not known. x86 has a name, Arm numbers ("CPU implementer :
 * 0x41", "CPU part : 0xd40"). `root`: as in struct inventory_source. */
void cpu_model_read(const char *root, char model[VALUE_TEXT_MOST]);

#endif

/*
 * device.h - a device that carries a job's data, such as a port of a NIC, as a list of facts.
 *
 * A transport or a kind of memory fills in the facts. `cctest info` prints them, and rank 0
 * compares those of all ranks.
 */
#ifndef CCTEST_HOST_DEVICE_H
#define CCTEST_HOST_DEVICE_H

#include <stdbool.h>

#include "base/bytes.h"

#define DEVICE_NAME_MOST   80
#define DEVICE_REASON_MOST 320
#define FACT_NAME_MOST     24
#define FACT_TEXT_MOST     128
#define FACTS_SENT_MOST    32 /* of one device, to rank 0 */
#define DEVICES_SENT_MOST  64 /* of one rank */

/* Which devices of a kind should agree in a fact. */
enum fact_scope {
    FACT_SHOWN,    /* none: `cctest info` shows it */
    FACT_ALL,      /* all */
    FACT_MODEL,    /* all of one model */
    FACT_IDENTITY, /* none: it tells which device of a host it is, beside its name */
    FACT_SCOPES
};

struct fact {
    char name[FACT_NAME_MOST]; /* "rate" */
    char text[FACT_TEXT_MOST]; /* "400 Gb/s" */
    enum fact_scope scope;
};

struct device {
    char name[DEVICE_NAME_MOST]; /* "mlx5_0:1" */
    char kind[16];               /* "port" */
    char model[32];              /* "MT4129"; "": unknown */
    char bus[16];                /* PCI address "0000:3b:00.0"; "": it has none */
    int numa_node;               /* -1: unknown */
    bool usable;
    char why_not[DEVICE_REASON_MOST]; /* one clause, with what to do; "": it is usable */
    struct fact *facts;
    int fact_count;
};

struct inquiry;

struct device_list {
    struct device *devices;
    int count;
    bool failed;             /* out of memory: devices or facts are missing */
    struct inquiry *inquiry; /* is told of each device that is added; NULL: none is */
};

/* A device with no facts, usable, appended to the list, which owns it; valid until the next one is
 * added. It comes before the questions to the device's driver. NULL: out of memory, which the list
 * remembers. */
struct device *device_add(struct device_list *list, const char *kind, const char *name);

/* `list` remembers that memory ran out. An empty text is no fact. */
void device_fact(struct device_list *list, struct device *device, enum fact_scope scope,
                 const char *name, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Has the list a device at this PCI address? */
bool device_is_listed(const struct device_list *list, const char *bus);

/* The text of a fact; NULL: there is none of this name. */
const char *device_find_fact(const struct device *device, const char *name);

/* "index 3, serial 1650123000042": the facts of FACT_IDENTITY; "": it has none. Returns `text`. */
const char *device_identity(const struct device *device, char *text, size_t size);

/* Kind, name, model, and all facts but FACT_SHOWN. At most DEVICES_SENT_MOST devices travel. */
void device_list_encode(const struct device_list *list, struct bytes *share);
/* Appends to the list; false: invalid. Out of memory: list->failed. */
bool device_list_decode(struct device_list *list, struct reader *reader);

/* Appends the devices of `from`, which is empty then. Out of memory: list->failed. */
void device_list_move(struct device_list *list, struct device_list *from);

void device_list_free(struct device_list *list);

#endif

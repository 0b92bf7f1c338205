/*
 * inventory.h - what one host has: a flat list of facts. It travels to the coordinator, which
 * compares the inventories of all hosts (compare.h).
 *
 * A fact belongs to a part of the host ("mlx5_2"), or to the host itself (""). Its rule says what
 * it is. What differs from host to host by nature (addresses, serial numbers, time) is no fact.
 */
#ifndef CCTEST_HOST_FACTS_INVENTORY_H
#define CCTEST_HOST_FACTS_INVENTORY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "host/facts/rules.h"

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
    int count, room;
    struct arena *arena; /* of its texts */
    bool failed;         /* out of memory: facts are missing */
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

/* Appends the facts of `from`, which stays. */
void inventory_append(struct inventory *inventory, const struct inventory *from);

void inventory_encode(const struct inventory *inventory, struct bytes *share);
/* Appends; false: invalid. Out of memory: inventory->failed. */
bool inventory_decode(struct inventory *inventory, struct reader *reader);

void inventory_free(struct inventory *inventory); /* all zero is allowed */

#endif

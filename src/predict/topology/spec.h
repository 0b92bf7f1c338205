/*
 * spec.h - the text of a topology, FAMILY[:SHAPE][:KEY=VALUE...]: its parts, and their values by a
 * table of keys.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_SPEC_H
#define CCTEST_PREDICT_TOPOLOGY_SPEC_H

#include <stdbool.h>

#include "base/status.h"

#define SPEC_KEYS_MOST 12
#define SPEC_TEXT_MOST 4096

/* A number from `least` to `most`, or one of `words`, whose value is its index. */
struct spec_key {
    const char *name; /* "radix"; NULL ends a table */
    double least, most, standard;
    bool is_real;             /* else whole */
    const char *const *words; /* ended by NULL; NULL: a number */
    const char *help;
};

struct spec {
    const char *text;          /* as the user wrote it */
    char name[SPEC_TEXT_MOST]; /* "torus", or a path */
    char *content;             /* of a file; a family that keeps it sets this to NULL. Else NULL */
    const char *shape;         /* "8x8x8": a part without '=' behind the name; NULL: none */
    const struct spec_key *tables[2]; /* the family's, and those that all have */
    double values[2][SPEC_KEYS_MOST];
    bool given[2][SPEC_KEYS_MOST];
    char parts[SPEC_TEXT_MOST]; /* behind the name */
};

/* Reads `parts`, what stands behind the name ("" or ":k=4:rate=2"), by two tables of keys, the second
 * of which may be NULL. STATUS_USAGE if a key is unknown or stands twice, a value is wrong, or more
 * than one part has no '='. */
enum status spec_read(struct spec *spec, const char *parts, const struct spec_key *own,
                      const struct spec_key *common);

/* Of a key that stands in a table. */
double spec_value(const struct spec *spec, const char *key);
bool spec_given(const struct spec *spec, const char *key);

/* STATUS_USAGE: "'TEXT': " and the sentence. */
enum status spec_refuse(const struct spec *spec, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

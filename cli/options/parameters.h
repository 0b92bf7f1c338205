/*
 * parameters.h - options behind the name of an algorithm or a transport: "bruck:radix=4".
 */
#ifndef CCTEST_CLI_OPTIONS_PARAMETERS_H
#define CCTEST_CLI_OPTIONS_PARAMETERS_H

#include "base/status.h"

/* An option as the user wrote it, and what it stands behind. */
struct parameter {
    const char *kind, *owner; /* "algorithm", "bruck" */
    const char *key, *value;  /* "radix", "4" */
};

/* Reads a number, or a word as its index in `words` (ended by NULL). STATUS_USAGE, with the
 * reason. */
enum status parameter_number(const struct parameter *parameter, long least, long most, long *to);
enum status parameter_word(const struct parameter *parameter, const char *const *words, long *to);

/* Refuses a key that is given twice. `seen`: bits of the options that were given, by `index`. */
enum status parameter_once(const struct parameter *parameter, unsigned *seen, int index);

/* Fails: the key is none of `names` (ended by NULL). */
enum status parameter_unknown(const struct parameter *parameter, const char *const *names);

/* Fails: the key has no value. `example`: a key that the owner has, rather this one;
 * NULL: it has none. */
enum status parameter_incomplete(const struct parameter *parameter, const char *example);

#endif

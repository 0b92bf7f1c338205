/*
 * parse.h - names, numbers and lists that a user wrote, and the refusals of wrong ones.
 */
#ifndef CCTEST_BASE_PARSE_H
#define CCTEST_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define ITEM_MOST 300 /* bytes of a word of the user that sentences quote */

/* Are they one name? Case is ignored, and '_' is '-'. */
bool name_equal(const char *name, const char *other);

/* The candidate nearest to `name` by edit distance; NULL if none is near (more than a third of the
 * letters differ). `candidates` ends with NULL. */
const char *name_nearest(const char *name, const char *const *candidates);

/* Likewise, where 1/part of the letters may differ. */
const char *name_nearest_within(const char *name, const char *const *candidates, int part);

/* Fails with "<subject> is not a <what>: did you mean ...? valid are ..."; a guess takes the place
 * of a long list. `valid` and `more` (names that are accepted too, but not listed) end with NULL;
 * `more` may be NULL. */
enum status unknown_name(const char *subject, const char *what, const char *const *valid,
                         const char *const *more);

/* The names of a table, and their aliases, which only the nearest name is looked for in. Zeroed:
 * none. */
#define NAMED_MOST    512
#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))
struct names {
    const char *valid[NAMED_MOST + 1];
    const char *aliases[NAMED_MOST + 1];
    int valid_count, alias_count;
};
/* Adds a name with at most `most` aliases, which end with NULL if they are fewer; or aliases
 * alone. */
void names_add(struct names *names, const char *name, const char *const *aliases, int most);
void names_add_more(struct names *names, const char *const *more, int most);
bool names_have(const struct names *names, const char *name);
/* Fails as unknown_name() does. */
enum status names_refuse(const char *subject, const char *what, const struct names *names);

/* Reads a whole number strictly. NULL, or why not ("is negative"). */
const char *whole_parse(const char *text, long long least, long long most, long long *value);

/* Cuts the next item off a list: copies it into `item` and moves *list behind it. False at the end
 * of the list. An item that does not fit is cut off; then no name matches it. */
bool list_next(const char **list, char separator, char item[ITEM_MOST]);

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

/* ---- Sizes in bytes as people write them: 8, 64M, 4KiB, 1.5G; K, M, G, T, P and E are powers
 * of 1024, also with B or iB behind them.
 */

/* Reads a size. Returns NULL and sets *bytes, or returns why not: "is negative", "has trailing
 * junk", "is too large", "is not a whole number of bytes" ... (static, to be put after the option's
 * name and value). */
const char *size_parse(const char *text, size_t *bytes);

/* Writes 67108864 as "64M" where that is exact, else the plain number. Returns `text`. */
#define SIZE_TEXT_MOST 24
char *size_format(size_t bytes, char text[SIZE_TEXT_MOST]);

#endif

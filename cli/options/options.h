/*
 * options.h - the one option table.
 *
 * A row says everything about an option: how it is written, what it means, how its value is read,
 * and where in struct job it goes. The command line, the environment (CCTEST_<LONG_OPTION>),
 * `--help`, the "options" of JSON and the test of the man page are all driven by these rows.
 */
#ifndef CCTEST_CLI_OPTIONS_OPTIONS_H
#define CCTEST_CLI_OPTIONS_OPTIONS_H

#include <jansson.h>

#include "run/job.h"

enum option_group {
    GROUP_WHAT,
    GROUP_SWEEP,
    GROUP_LINKS,
    GROUP_RANKS,
    GROUP_RESULTS,
    GROUP_FAULTS,
    GROUPS
};
extern const char *const option_group_titles[GROUPS];

/* Which commands take an option. */
enum {
    FOR_RUN = 1 << 0,
    FOR_PLAN = 1 << 1,
    FOR_LIST = 1 << 2,
    FOR_INFO = 1 << 3,
    FOR_HELP = 1 << 4,
    FOR_ALL = FOR_RUN | FOR_PLAN | FOR_LIST | FOR_INFO | FOR_HELP
};

/* Where a value was found; the greater one wins. */
enum source { SOURCE_NONE, SOURCE_DEFAULT, SOURCE_ENVIRONMENT, SOURCE_FLAG };

struct option_row;

/* A value as the user gave it. */
struct argument {
    const struct option_row *option;
    const char *text;
    enum source source;
};

/* How the values of an option are read, and shown again once they are resolved. */
struct option_kind {
    /* Puts the value into the job. STATUS_USAGE, with the reason, if it cannot be. */
    enum status (*parse)(const struct argument *argument, struct job *job);
    /* The resolved value, for JSON: a new reference. NULL: not an option of the job. */
    json_t *(*show)(const struct option_row *option, const struct job *job);
};

struct option_row {
    const char *name;     /* "min-bytes" */
    char letter;          /* 'b'; 0: none */
    const char *argument; /* "SIZE"; NULL: a switch */
    enum option_group group;
    unsigned commands;
    const char *help;
    const char *standard;      /* the default, read like any value; NULL: none */
    const char *standard_note; /* the default in words, where there is no such value */
    const struct option_kind *kind;
    size_t field, width;      /* of struct job: offset and bytes, for the kinds that need them */
    long long least, most;    /* for numbers and sizes */
    const char *const *words; /* for kind_words: the values 0, 1, ...; ended by NULL */
};

#define OPTIONS_MOST 48
extern const struct option_row option_table[]; /* ended by a NULL name */

/* Rows by long name; NULL if unknown. */
const struct option_row *option_find(const char *name);

extern const struct option_kind kind_switch, kind_whole, kind_size, kind_real, kind_device,
    kind_file, kind_words, kind_root, kind_chunk, kind_address, kind_memory, kind_datatype,
    kind_reduction, kind_transport, kind_algorithm, kind_counts, kind_shape, kind_inject,
    kind_command;

/* "--np '0'" or "CCTEST_NP='0'", for sentences. Returns `text`. */
#define LABEL_MOST 256
const char *argument_label(const struct argument *argument, char text[LABEL_MOST]);

/* Fails with "<label> <why>: <what to do>". */
enum status argument_refuse(const struct argument *argument, const char *why, const char *advice);

/* Reads a whole number strictly. NULL, or why not ("is negative"). */
const char *whole_parse(const char *text, long long least, long long most, long long *value);

/* Fails with "<subject> is not a <what>; valid are ...; did you mean ...?". `valid` and `more`
 * (names that are accepted too, but not worth listing) end with NULL; `more` may be NULL. */
enum status unknown_name(const char *subject, const char *what, const char *const *valid,
                         const char *const *more);

/* The same, with the names and aliases of a table; "a collective", "a datatype" ... */
enum status unknown_collective(const char *subject);
enum status unknown_algorithm(const char *subject, const struct collective *collective);
/* ... what can be part `option` of a composed algorithm. */
enum status unknown_part(const char *subject, const struct algorithm *algorithm,
                         const struct algorithm_option *option);
enum status unknown_transport(const char *subject);
enum status unknown_memory(const char *subject);
enum status unknown_datatype(const char *subject);
enum status unknown_reduction(const char *subject);

/* Cuts the next item off a comma-separated list: copies it into `item` and moves *list behind it.
 * False at the end of the list. An item that does not fit is cut short and will be refused by name.
 */
#define ITEM_MOST 300
bool list_next(const char **list, char item[ITEM_MOST]);

/* Without -a, or -a auto: what suits the ranks and each size, once they are known. */
enum status choices_default(struct job *job);

/* The index-th fault that --inject knows, and what it needs besides a rank ("us"); NULL: there are no
 * more. */
const char *inject_fault(int index, const char **second);

#endif

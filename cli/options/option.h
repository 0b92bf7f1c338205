/*
 * option.h - a row of the option table, and a value that the user gave.
 *
 * A row says everything about an option: how it is written, what it means, how its value is read,
 * which field of struct job it sets, and whether all ranks must agree on it. The command line, the
 * environment (CCTEST_<LONG_OPTION>), `--help`, the "options" of JSON, the comparison of ranks and
 * the test of the manual all read these rows.
 */
#ifndef CCTEST_CLI_OPTIONS_OPTION_H
#define CCTEST_CLI_OPTIONS_OPTION_H

#include <jansson.h>

#include "base/parse.h"
#include "cli/options/request.h"

enum option_group {
    GROUP_WHAT,
    GROUP_SWEEP,
    GROUP_LINKS,
    GROUP_RANKS,
    GROUP_ACCEPT,
    GROUP_MODEL,
    GROUP_TUNE,
    GROUP_RESULTS,
    GROUP_FAULTS,
    GROUPS
};

/* The commands that take an option. */
enum {
    FOR_RUN = 1 << 0,
    FOR_PLAN = 1 << 1,
    FOR_LIST = 1 << 2,
    FOR_INFO = 1 << 3,
    FOR_HELP = 1 << 4,
    FOR_ACCEPT = 1 << 5,
    FOR_REPORT = 1 << 6,
    FOR_PREDICT = 1 << 7,
    FOR_FIT = 1 << 8,
    FOR_GUIDELINES = 1 << 9,
    FOR_TUNE = 1 << 10,
    FOR_ALL = FOR_RUN | FOR_PLAN | FOR_LIST | FOR_INFO | FOR_HELP | FOR_ACCEPT | FOR_REPORT |
              FOR_PREDICT | FOR_FIT | FOR_GUIDELINES | FOR_TUNE
};

/* Where a value comes from; a greater source overrides a smaller one. */
enum source { SOURCE_NONE, SOURCE_DEFAULT, SOURCE_ENVIRONMENT, SOURCE_FLAG };

struct option_row;

/* A value as the user gave it. */
struct argument {
    const struct option_row *option;
    const char *text;
    enum source source;
};

/* How the values of an option are read, and shown once they are resolved. */
struct option_kind {
    /* Stores the value in the job. STATUS_USAGE, with the reason, if it is invalid. */
    enum status (*parse)(const struct argument *argument, struct request *request);
    /* The resolved value, for JSON: a new reference. NULL: not an option of the job. */
    json_t *(*show)(const struct option_row *option, const struct request *request);
    /* The value that ranks compare, where it differs from `show`; NULL: it does not. */
    json_t *(*compare)(const struct option_row *option, const struct request *request);
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
    bool per_rank;            /* each rank may have a value of its own; else all must agree */
};

#endif

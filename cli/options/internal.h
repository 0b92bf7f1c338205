/*
 * internal.h - for the files of cli/options/ alone.
 */
#ifndef CCTEST_CLI_OPTIONS_INTERNAL_H
#define CCTEST_CLI_OPTIONS_INTERNAL_H

#include "cli/options/options.h"

/* ---- Options and programs of other tools (nccl-tests, OSU's benchmarks, launchers) ---- */

/* An option of another tool that means the same as one here. */
struct alias {
    const char *name;   /* "minbytes"; NULL: it has a letter only */
    char letter;        /* which no option here has; 0: none */
    const char *option; /* the option's name here: "min-bytes" */
};

extern const struct alias option_aliases[]; /* ended by one without name and letter */

/* By name, in any case, '_' like '-'; by letter. NULL: none. */
const struct alias *alias_named(const char *name);
const struct alias *alias_lettered(int letter);

/* ---- values.c ---- */

extern const struct option_kind kind_stages;

#endif

/*
 * internal.h - for the files of cli/options/ alone.
 */
#ifndef CCTEST_CLI_OPTIONS_INTERNAL_H
#define CCTEST_CLI_OPTIONS_INTERNAL_H

#include "cli/options/options.h"

/* ---- Options and programs of other tools (nccl-tests, OSU's benchmarks, launchers): the
 * option that means the same here, or a sentence about the way it is done here.
 * ---- */

/* An option of another tool. Exactly one of `option` and `way` is set. */
struct alias {
    const char *name;   /* "minbytes"; NULL: it has a letter only */
    char letter;        /* 0: none. If it is also a letter here, it means this with a number. */
    const char *option; /* the option's name here: "min-bytes" */
    const char *way;    /* the way it is done here, to be put behind "there is no option -g: " */
};

extern const struct alias option_aliases[]; /* ended by one without name and letter */

/* By name, in any case, '_' like '-'; by letter. NULL: none. */
const struct alias *alias_named(const char *name);
const struct alias *alias_lettered(int letter);

/* What to write instead of a program's name, such as "osu_latency"; NULL: unknown. */
const char *program_way(const char *name);

/* ---- values.c ---- */

extern const struct option_kind kind_stages;

#endif

/*
 * aliases.c - the names that people bring from nccl-tests and launchers, for options of cctest.
 *
 * To add one: a row here, and its name in the manual page's section about them (a test compares).
 * doc/coming-from-nccl-tests.md has the flags of other tools that mean no option of cctest.
 */
#include "cli/options/internal.h"

#include <stddef.h>
#include <string.h>

const struct alias option_aliases[] = {
    /* nccl-tests; --check, --datatype, --op, --root and --timeout are also names here. */
    {"minbytes", 0, "min-bytes"},
    {"maxbytes", 0, "max-bytes"},
    {"stepbytes", 0, "step-bytes"},
    {"stepfactor", 0, "step-factor"},
    {"iters", 0, "iterations"},
    {"warmup_iters", 0, "warmup"},
    {"output_file", 'J', "json"},
    {NULL, 'T', "timeout"},
    /* Launchers, and words for the number of ranks. */
    {"nranks", 0, "np"},
    {"ranks", 0, "np"},
    {"num_ranks", 0, "np"},
    {"nprocs", 0, "np"},
    {"nproc", 0, "np"},
    {"ntasks", 0, "np"},
    {"bind_to", 0, "bind"},
    /* Everybody's. */
    {NULL, 'V', "version"},
    {NULL, 0, NULL},
};

const struct alias *alias_named(const char *name)
{
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++)
        if (alias->name && name_equal(name, alias->name))
            return alias;
    return NULL;
}

const struct alias *alias_lettered(int letter)
{
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++)
        if (alias->letter && alias->letter == letter)
            return alias;
    return NULL;
}

const char *program_way(const char *name)
{
    static const char *const programs[][2] = {
        {"osu_latency", "cctest sendrecv -a pingpong"},
        {"osu_bw", "cctest sendrecv -a uni:window=64"},
        {"osu_bibw", "cctest sendrecv -a bidir:window=64"},
        {"osu_mbw_mr", "cctest sendrecv -a pairs:window=64"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(name, programs[i][0]) == 0)
            return programs[i][1];
    return NULL;
}

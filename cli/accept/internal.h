/*
 * internal.h - for the files of cli/accept/ alone.
 */
#ifndef CCTEST_CLI_ACCEPT_INTERNAL_H
#define CCTEST_CLI_ACCEPT_INTERNAL_H

#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "accept/accept.h"
#include "cli/options/options.h"

/* ---- accept_files.c ---- */

/* The hosts of one health, as Slurm writes lists: "n[1-16,18]"; "" where there is none. The caller
 * frees it. */
char *accept_host_list(const struct acceptance *acceptance, enum health health);

/* Has any host this health? */
bool accept_any(const struct acceptance *acceptance, enum health health);

/* The line that takes a host out of Slurm, to copy; false: the host is not bad.
 * scontrol update NodeName=n17 State=DRAIN Reason="cctest: ..." */
#define DRAIN_LINE_MOST 512
bool accept_drain_line(const struct acceptance *acceptance, int host, char line[DRAIN_LINE_MOST]);

/* Writes the files that the options name, each of them also where another fails. */
enum status accept_files_write(const struct acceptance *acceptance);

/* The command line of a run, its date and its duration. */
struct accept_origin {
    const struct request *request;
    time_t date;
    double began; /* clock_seconds() then */
};

/* All that is known: with `status` NULL the run goes on, and no host is good yet. A new reference;
 * NULL: out of memory. */
json_t *accept_json(const struct acceptance *acceptance, const struct accept_origin *origin,
                    const enum status *status);

/* ---- Prints an acceptance run for people: a line for each stage as it ends, then the
 * findings, and the hosts that are good and bad as lists that Slurm takes.
 * ---- */

void accept_table_begin(FILE *out, const struct acceptance *acceptance);
/* The last stage. */
void accept_table_stage(FILE *out, const struct acceptance *acceptance);
/* A rotation of the soak. */
void accept_table_rotation(FILE *out, const struct acceptance *acceptance, int number,
                           double seconds);
void accept_table_end(FILE *out, const struct acceptance *acceptance, enum status status);

#endif

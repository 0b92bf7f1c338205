/*
 * internal.h - for the files of cli/accept/ alone.
 */
#ifndef CCTEST_CLI_ACCEPT_INTERNAL_H
#define CCTEST_CLI_ACCEPT_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "accept/accept.h"
#include "cli/options/options.h"

/* ---- accept_files.c ---- */

/* The hosts of one health, as Slurm writes lists: "n[1-16,18]"; "" where there is none. The caller
 * frees it. */
char *accept_host_list(const struct acceptance *acceptance, enum health health);

/* Has any host this health? */
bool accept_any(const struct acceptance *acceptance, enum health health);

/* A line for each bad host that takes it out of Slurm, to copy:
 * scontrol update NodeName=n17 State=DRAIN Reason="cctest: ..." */
void accept_drain_print(FILE *out, const struct acceptance *acceptance, const char *before);

/* Writes the files that the options name, each of them also where another fails. */
enum status accept_files_write(const struct acceptance *acceptance);

/* All that is known: with `status` NULL the run goes on. A new reference; NULL: out of memory. */
json_t *accept_json(const struct acceptance *acceptance, const struct request *request,
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

/*
 * accept_table.h - prints an acceptance run for people: a line for each stage as it ends, then the
 * findings, and the hosts that are good and bad as lists that Slurm takes.
 */
#ifndef CCTEST_CLI_ACCEPT_ACCEPT_TABLE_H
#define CCTEST_CLI_ACCEPT_ACCEPT_TABLE_H

#include <stdio.h>

#include "accept/acceptance.h"

void accept_table_begin(FILE *out, const struct acceptance *acceptance);
/* The last stage. */
void accept_table_stage(FILE *out, const struct acceptance *acceptance);
/* A rotation of the soak. */
void accept_table_rotation(FILE *out, const struct acceptance *acceptance, int number,
                           double seconds);
void accept_table_end(FILE *out, const struct acceptance *acceptance, enum status status);

#endif

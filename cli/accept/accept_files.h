/*
 * accept_files.h - what others read of an acceptance run: lists of hosts for Slurm, and JUnit XML.
 */
#ifndef CCTEST_CLI_ACCEPT_ACCEPT_FILES_H
#define CCTEST_CLI_ACCEPT_ACCEPT_FILES_H

#include <stdio.h>

#include "accept/acceptance.h"
#include "cli/options/request.h"

/* The hosts of one health, as Slurm writes lists: "n[1-16,18]"; "" where there is none. The caller
 * frees it. NULL: out of memory. */
char *accept_host_list(const struct acceptance *acceptance, enum health health);

/* A line for each bad host that takes it out of Slurm, to copy:
 * scontrol update NodeName=n17 State=DRAIN Reason="cctest: ..." */
void accept_drain_print(FILE *out, const struct acceptance *acceptance, const char *before);

/* Before the first stage: can the files be written that the options name, and the page? STATUS_USAGE
 * or STATUS_ERROR, after fail(). */
enum status accept_files_probe(const struct request *request);
/* Writes these files, each of them also where another fails. */
enum status accept_files_write(const struct acceptance *acceptance);

#endif

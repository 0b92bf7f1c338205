/*
 * ompi.h - the winners as Open MPI's file of dynamic rules.
 */
#ifndef CCTEST_CLI_TUNE_EXPORT_OMPI_H
#define CCTEST_CLI_TUNE_EXPORT_OMPI_H

#include <stdio.h>

#include "collective/schedule/tuned.h"

/* Writes the file that coll_tuned_dynamic_rules_filename names (with coll_tuned_use_dynamic_rules 1). Says
 * what Open MPI lacks. */
void ompi_write(FILE *out, const struct tuned *tuned);

#endif

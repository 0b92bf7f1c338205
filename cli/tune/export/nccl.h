/*
 * nccl.h - the winners as the CSV of NCCL's tuner plugin.
 */
#ifndef CCTEST_CLI_TUNE_EXPORT_NCCL_H
#define CCTEST_CLI_TUNE_EXPORT_NCCL_H

#include <stdio.h>

#include "collective/schedule/tuned.h"

/* Writes the file that NCCL_TUNER_CONFIG_FILE names for NCCL's example of a tuner plugin. Says what NCCL
 * lacks. */
void nccl_write(FILE *out, const struct tuned *tuned);

#endif

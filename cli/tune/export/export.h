/*
 * export.h - the winners of `cctest tune` in the forms that other libraries read.
 */
#ifndef CCTEST_CLI_TUNE_EXPORT_EXPORT_H
#define CCTEST_CLI_TUNE_EXPORT_EXPORT_H

#include "run/run.h"
#include "tune/tune.h"

/* Writes the job's exports: --ompi, --mpich, --nccl. Says, on standard error, what has no
 * counterpart there. STATUS_ERROR if a file cannot be written. */
enum status export_write(const struct tune_options *tune, const struct tuned *tuned);

#endif

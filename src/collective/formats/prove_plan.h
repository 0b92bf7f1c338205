/*
 * prove_plan.h - proves the schedules of a file before anything runs them.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_PROVE_PLAN_H
#define CCTEST_COLLECTIVE_FORMATS_PROVE_PLAN_H

#include "base/status.h"
#include "collective/formats/file_plan.h"

/* Runs all schedules on symbols, with buffers that share memory or do not, and fills plan->proof.
 * What holds for parts holds for every size: a part is moved whole, whatever its length.
 * STATUS_USAGE, with the verifier's sentence, if they are wrong, or too large to be proven. */
enum status file_plan_prove(struct file_plan *plan, bool in_place);

void file_plan_free(struct file_plan *plan); /* its counts and its proof */

#endif

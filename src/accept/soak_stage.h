/*
 * soak_stage.h - the stages in rotation for a long time: what shows only after hours, or now and then.
 *
 * Each rotation has new inputs, other pairs and other halves. What it finds is a finding like that of
 * the first time; what is found again counts the rotations. At the end the numbers of all rotations
 * are judged together (accept/judge/drift.h).
 */
#ifndef CCTEST_ACCEPT_SOAK_STAGE_H
#define CCTEST_ACCEPT_SOAK_STAGE_H

#include "accept/acceptance.h"

/* Runs one stage of a rotation, and frees nothing. */
typedef enum status rotation_stage_run(struct acceptance *acceptance, struct stage_result *result);

enum status soak_stage_run(struct acceptance *acceptance, struct stage_result *result,
                           rotation_stage_run *stage_run);

#endif

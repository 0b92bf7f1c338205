/*
 * file_algorithm.h - the algorithm that a file is: `-a file:PATH`.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_FILE_ALGORITHM_H
#define CCTEST_COLLECTIVE_FORMATS_FILE_ALGORITHM_H

#include "collective/formats/file_plan.h"
#include "collective/schedule/algorithm.h"

#define FILE_PREFIX "file:" /* of an item of --algorithm that is the path of a file */

/* The choice of a plan, which must live as long as the choice. Schedules can be built once it is
 * proven. */
struct choice file_plan_choice(struct file_plan *plan);

/* Why the plan, which is proven, cannot serve a problem by so many channels: a sentence in `why`;
 * NULL: it can. The sentence is static or written into `why`. The ranks and the root are those of the plan. */
#define FILE_WHY_MOST 300
const char *file_plan_refuses(const struct file_plan *plan, const struct problem *problem,
                              int channels, char why[FILE_WHY_MOST]);

#endif

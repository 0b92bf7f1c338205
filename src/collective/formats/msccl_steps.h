/*
 * msccl_steps.h - the steps of a GPU in MSCCL's XML, and the operations that they are.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_MSCCL_STEPS_H
#define CCTEST_COLLECTIVE_FORMATS_MSCCL_STEPS_H

#include "collective/formats/msccl_reading.h"

/* Reads the steps of the thread blocks, whose fields are filled in. */
enum status msccl_steps_read(struct msccl_reading *reading);

/* Adds their operations to those of the rank, which has room for two a step, and their scratch to
 * reading->scratch. */
enum status msccl_steps_convert(struct msccl_reading *reading);

#endif

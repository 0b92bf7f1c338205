/*
 * msccl_plan.h - reads the schedule of an algorithm from the XML of MSCCL.
 *
 * Source of the format: src/graph/topo.cc and src/collectives/device/msccl_interpreter.h of
 * github.com/microsoft/msccl.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_MSCCL_PLAN_H
#define CCTEST_COLLECTIVE_FORMATS_MSCCL_PLAN_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "collective/formats/file_plan.h"

/* Reads the one plan of a file, as json_plans_read() does. STATUS_USAGE, with the line. */
enum status msccl_plan_read(const char *path, const char *text, size_t size, struct arena *arena,
                            struct file_plan **plans, size_t *count);

#endif

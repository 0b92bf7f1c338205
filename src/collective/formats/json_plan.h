/*
 * json_plan.h - reads schedules from cctest's own JSON, as `cctest plan --json` writes it.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_JSON_PLAN_H
#define CCTEST_COLLECTIVE_FORMATS_JSON_PLAN_H

#include "base/arena.h"
#include "base/status.h"
#include "collective/formats/file_plan.h"

/* Reads all plans of a document. They are in the arena, but for what file_plan_free() frees, also
 * after an error: *plans is then the part that was read. `path` is not copied. STATUS_USAGE, with
 * the line, or with the rank and the operation, for a document that is none, is cut off, or has an
 * operation that is malformed. */
enum status json_plans_read(const char *path, const char *text, struct arena *arena,
                            struct file_plan **plans, size_t *count);

#endif

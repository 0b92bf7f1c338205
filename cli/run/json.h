/*
 * json.h - prints a run as a JSON document.
 */
#ifndef CCTEST_CLI_RUN_JSON_H
#define CCTEST_CLI_RUN_JSON_H

#include "base/io/output.h"
#include "cli/options/request.h"
#include "run/results/report.h"

/* NULL: out of memory, which is recorded. The caller frees it with json_close(). */
struct report *json_open(const char *path, const struct request *request, struct patience *patience, struct outcome *outcome);
void json_close(struct report *report);

/* Before there are ranks, in the process that owns the report: writes the document with status
 * "running". So a path that cannot be written is found at once. */
enum status json_announce(struct report *report);

/* No job was started: writes a document with the recorded failure. Best effort. */
void json_refuse(const char *path, enum status status);

/* May the document be written again? Not to a stream. */
bool json_is_replaceable(struct report *report);

/* Completes the document, which another process may have left behind, with the status and one more
 * error (NULL: none), and delivers it. May be called again where `path` is no stream. Returns the
 * status that the document has: a graver one where results are lost. */
enum status json_conclude(struct report *report, enum status status, const struct job_error *error);

#endif

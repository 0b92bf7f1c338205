/*
 * schedule_files.h - items of --algorithm that are files with schedules: file:PATH.
 */
#ifndef CCTEST_CLI_OPTIONS_SCHEDULE_FILES_H
#define CCTEST_CLI_OPTIONS_SCHEDULE_FILES_H

#include "cli/options/request.h"
#include "run/job.h"

/* The path that an item names; NULL: it is no file. */
const char *file_item_path(const char *item);

/* Reads the file of an item into request->job.files, if it is not there yet, and makes *choice that of its
 * plan for the collective; choice->algorithm is NULL if it has none. */
enum status file_item_read(struct request *request, const struct collective *collective, const char *path,
                           struct choice *choice);

/* Proves all files of the job, whose options are all read. STATUS_USAGE, with the reason. */
enum status files_settle(struct request *request);

/* Is one of the files of a list of --algorithm the one at this path? */
bool files_named(const char *list, const char *path,
                 bool (*same)(const char *one, const char *other));

#endif

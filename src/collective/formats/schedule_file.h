/*
 * schedule_file.h - a file with schedules, in cctest's JSON or in MSCCL's XML.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_SCHEDULE_FILE_H
#define CCTEST_COLLECTIVE_FORMATS_SCHEDULE_FILE_H

#include "base/status.h"
#include "collective/formats/file_plan.h"

struct schedule_file;

/* Reads a file and adds it to a list of files, of which each is read once. STATUS_USAGE with the
 * file and its line, or with the rank and the operation, for a file that cannot be read, or has no
 * schedules of a right form. */
enum status schedule_file_read(const char *path, struct schedule_file **list,
                               const struct schedule_file **file);

/* The only plan for a collective; *plan is NULL if there is none. STATUS_USAGE if there are
 * several. */
enum status schedule_file_plan(const struct schedule_file *file,
                               const struct collective *collective, struct file_plan **plan);

void schedule_files_free(struct schedule_file *list); /* NULL is allowed */

#endif

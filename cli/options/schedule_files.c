/*
 * schedule_files.c - items of --algorithm that are files with schedules: file:PATH. They are read with
 * the other options, and proven when all options are known, before any rank is started.
 */
#include "cli/options/options.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "collective/formats/formats.h"

const char *file_item_path(const char *item)
{
    size_t length = strlen(FILE_PREFIX);
    return strncmp(item, FILE_PREFIX, length) == 0 ? item + length : NULL;
}

enum status file_item_read(struct request *request, const struct collective *collective,
                           const char *path, struct choice *choice)
{
    const struct schedule_file *file;
    struct file_plan *plan = NULL;
    *choice = (struct choice){.algorithm = NULL};
    enum status status = schedule_file_read(path, &request->job.files, &file);
    if (status == STATUS_OK)
        status = schedule_file_plan(file, collective, &plan);
    if (plan)
        *choice = file_plan_choice(plan);
    return status;
}

enum status files_settle(struct request *request)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < request->job.candidate_count && status == STATUS_OK; i++) {
        const struct candidate *candidate = &request->job.candidates[i];
        struct file_plan *plan = candidate->choice.file;
        if (!plan)
            continue;
        if (candidate->collective->rooted && request->job.root == ROOT_ALL)
            return fail(STATUS_USAGE,
                        "%.200s is written for root %d: give --root %d instead of all", plan->path,
                        plan->problem.root, plan->problem.root);
        status = file_plan_prove(plan, request->job.in_place);
    }
    return status;
}

bool files_named(const char *list, const char *path,
                 bool (*same)(const char *one, const char *other))
{
    char item[ITEM_MOST];
    while (list_next(&list, ',', item))
        if (file_item_path(item) && same(path, file_item_path(item)))
            return true;
    return false;
}

/*
 * schedule_file.c - a file with schedules, in cctest's JSON or in MSCCL's XML: its first character
 * tells which.
 */
#include "collective/formats/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text_file.h"
#include "host/host.h"

struct schedule_file {
    struct schedule_file *next;
    char *path;
    struct arena *arena; /* owns the plans */
    struct file_plan *plans;
    size_t count;
};

/* Of the text of a file, for the document and the operations. */
#define MEMORY_FACTOR 12

static enum status file_parse(struct schedule_file *file, const char *text)
{
    size_t size = strlen(text);
    if (size > FILE_BYTES_MOST)
        return fail(STATUS_USAGE,
                    "%.200s is larger than 256M: write it for fewer elements, or fewer ranks",
                    file->path);
    if (size > memory_available() / MEMORY_FACTOR)
        return fail(
            STATUS_USAGE,
            "%.200s is of %zu MiB, which take about %zu times as much memory to be read, and %zu "
            "MiB are left: write it for fewer elements, or fewer ranks",
            file->path, size >> 20, (size_t)MEMORY_FACTOR, memory_available() >> 20);
    char first = text[strspn(text, " \t\r\n")];
    enum status status =
        first == '<'
            ? msccl_plan_read(file->path, text, size, file->arena, &file->plans, &file->count)
            : json_plans_read(file->path, text, file->arena, &file->plans, &file->count);
    uint64_t fingerprint = hash_bytes(HASH_BEGIN, text, size);
    for (size_t i = 0; i < file->count; i++)
        file->plans[i].fingerprint = fingerprint;
    return status;
}

enum status schedule_file_read(const char *path, struct schedule_file **list,
                               const struct schedule_file **file)
{
    char *text;
    for (struct schedule_file *known = *list; known; known = known->next)
        if (strcmp(known->path, path) == 0) {
            *file = known;
            return STATUS_OK;
        }
    if (access(path, F_OK) != 0)
        return fail(
            STATUS_USAGE,
            "cannot read %.200s: %s: each rank reads the schedules, so its host needs the file",
            path, strerror(errno));
    enum status status = text_file_read(path, &text);
    if (status != STATUS_OK)
        return status;
    struct schedule_file *made = calloc(1, sizeof *made);
    if (made)
        *made =
            (struct schedule_file){.next = *list, .path = strdup(path), .arena = arena_create()};
    if (!made || !made->path || !made->arena) {
        free(text);
        if (made)
            made->next = NULL;
        schedule_files_free(made);
        return fail(STATUS_ERROR, "out of memory for %.200s", path);
    }
    *file = *list = made;
    status = file_parse(made, text);
    free(text);
    return status;
}

enum status schedule_file_plan(const struct schedule_file *file,
                               const struct collective *collective, struct file_plan **plan)
{
    *plan = NULL;
    for (size_t i = 0; i < file->count; i++) {
        if (file->plans[i].problem.collective != collective)
            continue;
        if (*plan)
            return fail(
                STATUS_USAGE,
                "%.200s has several plans of %s, and -a file:PATH takes one: give each a file "
                "of its own",
                file->path, collective->name);
        *plan = &file->plans[i];
    }
    return STATUS_OK;
}

void schedule_files_free(struct schedule_file *list)
{
    while (list) {
        struct schedule_file *file = list;
        list = list->next;
        for (size_t i = 0; i < file->count; i++)
            file_plan_free(&file->plans[i]);
        arena_free(file->arena);
        free(file->path);
        free(file);
    }
}

/*
 * split.c - the groups of ranks in which a job runs its collective at the same time.
 */
#include "run/run.h"

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reading the option. */

/* A file that is being read. */
struct split_file {
    const char *path;
    long line;
    struct split_spec *spec;
    int *line_of; /* by rank: where it is named; 0: nowhere yet */
    int groups, size;
};

static enum status file_refuse(const struct split_file *file, const char *text, const char *why)
{
    int length = (int)strcspn(text, " \t\r,");
    return fail_line(STATUS_USAGE, file->path, file->line,
                     "'%.*s' %s: give ranks from 0 to %d, and ranges as 0-3",
                     length > 40 ? 40 : length, text, why, JOB_RANKS_MOST - 1);
}

/* *end: behind the digits. False: no rank stands there. */
static bool rank_read(const char *text, const char **end, int *rank)
{
    char *behind;
    errno = 0;
    unsigned long number = isdigit((unsigned char)*text) ? strtoul(text, &behind, 10) : ULONG_MAX;
    if (number >= JOB_RANKS_MOST || errno)
        return false;
    *end = behind;
    *rank = (int)number;
    return true;
}

static enum status file_add(struct split_file *file, int first, int last)
{
    struct split_spec *spec = file->spec;
    for (int rank = first; rank <= last; rank++) {
        if (file->line_of[rank] > 0)
            return fail_line(STATUS_USAGE, file->path, file->line,
                             "rank %d is in a group already, that of line %d: name it once", rank,
                             file->line_of[rank]);
        file->line_of[rank] = (int)file->line;
        spec->group[rank] = file->groups;
    }
    spec->ranks = last >= spec->ranks ? last + 1 : spec->ranks;
    return STATUS_OK;
}

/* The group of one line; '#' begins a comment. */
static enum status line_read(struct split_file *file, const char *text)
{
    int size = 0;
    for (;;) {
        int first, last;
        text += strspn(text, " \t\r,");
        if (*text == '\0' || *text == '#')
            break;
        const char *end;
        if (!rank_read(text, &end, &first))
            return file_refuse(file, text, "is no rank");
        last = first;
        if (*end == '-' && !rank_read(end + 1, &end, &last))
            return file_refuse(file, text, "is no range of ranks");
        if (!strchr(" \t\r,#", *end) || last < first)
            return file_refuse(file, text, last < first ? "runs backwards" : "is no rank");
        TRY(file_add(file, first, last));
        size += last - first + 1;
        text = end;
    }
    if (size == 0)
        return STATUS_OK;
    if (file->groups++ > 0 && size != file->size)
        return fail_line(STATUS_USAGE, file->path, file->line,
                         "it has %d rank%s, but earlier lines have %d: give all groups as many",
                         size, plural(size), file->size);
    file->size = size;
    return STATUS_OK;
}

static enum status file_check(const struct split_file *file)
{
    if (file->groups == 0)
        return fail(STATUS_USAGE, "%.200s holds no ranks: give a line for each group", file->path);
    for (int rank = 0; rank < file->spec->ranks; rank++)
        if (file->line_of[rank] == 0)
            return fail(STATUS_USAGE,
                        "%.200s: rank %d is in no group, and rank %d is in one: name all ranks",
                        file->path, rank, file->spec->ranks - 1);
    return STATUS_OK;
}

static enum status file_read(const char *path, struct split_spec *spec)
{
    struct split_file file = {.path = path, .spec = spec};
    char *text = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return fail_option(
            STATUS_USAGE, "split",
            "--split '%.200s' is neither a way to split nor a file: give node, rail, the "
            "number of ranks of a group, or a file with a line for each",
            path);
    enum status status = text_file_read(path, &text);
    char *rest = text;
    spec->group = calloc(JOB_RANKS_MOST, sizeof *spec->group);
    file.line_of = calloc(JOB_RANKS_MOST, sizeof *file.line_of);
    if (status == STATUS_OK && (!spec->group || !file.line_of))
        status = fail(STATUS_ERROR, "out of memory for the groups in %.200s", path);
    while (status == STATUS_OK && rest) {
        char *line = strsep(&rest, "\n");
        file.line++;
        status = line_read(&file, line);
    }
    if (status == STATUS_OK)
        status = file_check(&file);
    free(file.line_of);
    free(text);
    return status;
}

enum status split_read(const char *text, struct split_spec *spec)
{
    const char *end;
    *spec = (struct split_spec){.kind = SPLIT_NODE, .text = text};
    if (strcmp(text, "node") == 0)
        return STATUS_OK;
    spec->kind = SPLIT_RAIL;
    if (strcmp(text, "rail") == 0)
        return STATUS_OK;
    spec->kind = SPLIT_SIZE;
    if (rank_read(text, &end, &spec->size) && *end == '\0' && spec->size > 0)
        return STATUS_OK;
    spec->kind = SPLIT_FILE;
    return file_read(text, spec);
}

uint64_t split_fingerprint(const struct split_spec *spec)
{
    uint64_t hash = HASH_BEGIN;
    for (int rank = 0; rank < spec->ranks; rank++)
        hash = hash_number(hash, (uint64_t)spec->group[rank]);
    return hash;
}

/* Making groups. */

static enum status split_check(const struct split_spec *spec, int ranks)
{
    if (spec->kind == SPLIT_SIZE && ranks % spec->size != 0)
        return fail_option(
            STATUS_USAGE, "split",
            "--split %d: %d ranks cannot be divided into groups of %d: give a number that "
            "divides them",
            spec->size, ranks, spec->size);
    if (spec->kind == SPLIT_FILE && spec->ranks != ranks)
        return fail_option(
            STATUS_USAGE, "split",
            "--split %.200s: the file has groups of ranks 0 to %d, and the job has %d "
            "rank%s: let them agree",
            spec->text, spec->ranks - 1, ranks, plural(ranks));
    return STATUS_OK;
}

/* The group of each rank, as any number. `node`: as above, known if it decides. `group`: an array
 * with an element for each rank; the nodes are numbered below `ranks`. */
static void split_number(const struct split_spec *spec, int ranks, const int *node, int *group)
{
    int *seen = new_array((size_t)ranks, sizeof *seen); /* ranks of each node so far */
    for (int r = 0; r < ranks; r++)
        group[r] = spec->kind == SPLIT_NODE   ? node[r]
                   : spec->kind == SPLIT_RAIL ? seen[node[r]]++
                   : spec->kind == SPLIT_SIZE ? r / spec->size
                   : spec->kind == SPLIT_FILE ? spec->group[r]
                                              : 0;
    free(seen);
}

static enum status groups_check(const struct split_spec *spec, const struct shape *groups)
{
    for (int g = 1; g < groups->groups; g++)
        if (shape_size(groups, g) != shape_size(groups, 0))
            return fail_option(
                STATUS_USAGE, "split",
                "--split %s: the group of rank 0 has %d rank%s and that of rank %d has %d, "
                "but all groups need as many: start as many ranks on each host",
                spec->text, shape_size(groups, 0), plural(shape_size(groups, 0)),
                shape_rank(groups, g, 0), shape_size(groups, g));
    return STATUS_OK;
}

enum status split_groups(const struct split_spec *spec, int ranks, const int *node,
                         struct shape **groups)
{
    *groups = NULL;
    TRY(split_check(spec, ranks));
    if (!node && (spec->kind == SPLIT_NODE || spec->kind == SPLIT_RAIL))
        return STATUS_OK;
    int *group = new_array((size_t)ranks, sizeof *group);
    split_number(spec, ranks, node, group);
    *groups = shape_create(group, ranks);
    free(group);
    return *groups ? groups_check(spec, *groups)
                   : fail(STATUS_ERROR, "out of memory for the groups of %d ranks", ranks);
}

void split_free(struct split *split)
{
    for (int g = 0; split->nodes && g < split->groups->groups; g++)
        shape_free(split->nodes[g]);
    free(split->nodes);
    shape_free(split->groups);
    free(split->ring_place);
    *split = (struct split){0};
}

const struct shape *split_common_nodes(const struct split *split)
{
    for (int g = 1; split->nodes && g < split->groups->groups; g++)
        if (!shape_equal(split->nodes[g], split->nodes[0]))
            return NULL;
    return split->nodes ? split->nodes[0] : NULL;
}

void split_name(const struct split_spec *spec, const struct rank_group *group,
                const struct member *members, char text[GROUP_NAME_MOST])
{
    struct text name = text_in(text, GROUP_NAME_MOST);
    struct rank_list list = {0};
    if (spec->kind == SPLIT_NODE) {
        text_add(&name, "%s", members[group->members[0]].host);
        return;
    }
    text_add(&name, "%s %d", spec->kind == SPLIT_RAIL ? "rail" : "group", group->number);
    if (spec->kind == SPLIT_RAIL)
        return;
    for (int r = 0; r < group->ranks; r++)
        rank_list_put(&list, group->members[r]);
    text_add(&name, " (");
    rank_list_end(&list, &name);
    text_add(&name, ")");
}

/*
 * The ranks that run on this rank's host.
 */
void node_ranks_find(const struct member *members, int ranks, int rank, struct node_ranks *node)
{
    *node = (struct node_ranks){.place = members[rank].local_rank};
    node->ranks = new_array((size_t)ranks, sizeof *node->ranks);
    for (int r = 0; r < ranks; r++)
        if (members[r].node == members[rank].node)
            node->ranks[node->count++] = r;
}

void node_ranks_free(struct node_ranks *node)
{
    free(node->ranks);
    *node = (struct node_ranks){0};
}

/* Groups follow the host names of the ranks; the launcher may count its nodes in another way. */
void node_ranks_compare(const struct node_ranks *node, const struct membership *membership,
                        const char *host)
{
    if (membership->node_ranks == 0 || node->place > 0 ||
        (membership->node_ranks == node->count && membership->node_rank == 0))
        return;
    say("the launcher counts this rank as number %d of %d on its node, but among the ranks on host "
        "%s it is number 0 of %d: groups and shared memory go by hosts, groups also by --shape",
        membership->node_rank, membership->node_ranks, host, node->count);
}

/*
 * placement.c - which rank sits where.
 */
#include "predict/topology/topology.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/text_file.h"

#define BLANKS      " \t\r\v\f"
#define RANDOM_WORD "random:"

static int host_ranks(const struct topology *t)
{
    return topology_ends(t) / topology_hosts(t);
}

static void place_cyclic(const struct topology *t, int ranks, int *end_of_rank)
{
    int each = host_ranks(t), hosts = (ranks + each - 1) / each;
    for (int r = 0; r < ranks; r++)
        end_of_rank[r] = r % hosts * each + r / hosts;
}

static enum status place_random(const struct topology *t, const char *seed, int ranks,
                                int *end_of_rank)
{
    char *end;
    errno = 0;
    uint64_t state = strtoull(seed, &end, 10);
    if (*seed < '0' || *seed > '9' || *end || errno)
        return fail_option(STATUS_USAGE, "place",
                           "--place random:%.60s has no seed: give random:SEED, a number", seed);
    int ends = topology_ends(t), *order = malloc((size_t)ends * sizeof *order);
    if (!order)
        return fail(STATUS_ERROR, "out of memory for %d places", ends);
    random_shuffle(order, ends, &state);
    memcpy(end_of_rank, order, (size_t)ranks * sizeof *order);
    free(order);
    return STATUS_OK;
}

/* ---- a file ---- */

struct place_file {
    const struct topology *topology;
    const char *path;
    long line;
    bool *taken; /* ends */
};

static enum status line_refuse(const struct place_file *file, const char *text, const char *why)
{
    return fail_line(STATUS_USAGE, file->path, file->line, "'%.60s' %s", text, why);
}

/* The first free end of a host, whose name is what its ends' names begin with. -1: there is no such
 * host; -2: it is full. */
static int host_end(const struct place_file *file, const char *host)
{
    int each = host_ranks(file->topology), hosts = topology_hosts(file->topology);
    for (int h = 0; h < hosts; h++) {
        char name[LINK_NAME_MOST];
        topology_end_name(file->topology, h * each, name);
        size_t length = strlen(host);
        if (strncmp(name, host, length) != 0 || (name[length] != '\0' && name[length] != ' '))
            continue;
        for (int e = h * each; e < (h + 1) * each; e++)
            if (!file->taken[e])
                return e;
        return -2;
    }
    return -1;
}

static enum status line_place(struct place_file *file, const char *text, int *end)
{
    char *rest;
    errno = 0;
    long number = strtol(text, &rest, 10);
    bool is_number = *text >= '0' && *text <= '9' && *rest == '\0';
    if (is_number && (errno || number >= topology_ends(file->topology)))
        return line_refuse(file, text,
                           "is none of the topology's places: they are numbered from 0");
    *end = is_number ? (int)number : host_end(file, text);
    if (*end == -1)
        return line_refuse(file, text, "is neither a place's number nor a host's name");
    if (*end == -2)
        return line_refuse(file, text, "has no place left: name other hosts for some ranks");
    if (file->taken[*end])
        return line_refuse(file, text, "is the place of a rank before: give each its own");
    file->taken[*end] = true;
    return STATUS_OK;
}

static enum status lines_place(struct place_file *file, char *rest, int ranks, int *end_of_rank)
{
    int placed = 0;
    for (char *line; (line = strsep(&rest, "\n"));) {
        file->line++;
        line[strcspn(line, "#")] = '\0';
        line += strspn(line, BLANKS);
        for (size_t end = strlen(line); end > 0 && strchr(BLANKS, line[end - 1]);)
            line[--end] = '\0';
        if (*line == '\0')
            continue;
        if (placed == ranks)
            return line_refuse(file, line,
                               "is the place of a rank that there is not: give a line "
                               "for each rank, or more ranks");
        TRY(line_place(file, line, &end_of_rank[placed]));
        placed++;
    }
    if (placed < ranks)
        return fail(STATUS_USAGE,
                    "%.200s has places for %d ranks, and these are %d: add a line "
                    "for each rank",
                    file->path, placed, ranks);
    return STATUS_OK;
}

static enum status place_file(const struct topology *t, const char *path, int ranks,
                              int *end_of_rank)
{
    char *text = NULL;
    struct place_file file = {
        .topology = t, .path = path, .taken = calloc((size_t)topology_ends(t), sizeof *file.taken)};
    enum status status = file.taken ? text_file_read(path, &text)
                                    : fail(STATUS_ERROR, "out of memory for %.200s", path);
    if (status == STATUS_OK)
        status = lines_place(&file, text, ranks, end_of_rank);
    free(text);
    free(file.taken);
    return status;
}

enum status placement_make(const struct topology *topology, const char *spec, int ranks,
                           int *end_of_rank)
{
    int ends = topology_ends(topology);
    if (ranks > ends)
        return fail(STATUS_USAGE,
                    "%d ranks do not fit %s, which has places for %d: give fewer ranks, or a "
                    "larger topology",
                    ranks, topology_words(topology), ends);
    if (!spec || strcmp(spec, "block") == 0) {
        for (int r = 0; r < ranks; r++)
            end_of_rank[r] = r;
        return STATUS_OK;
    }
    if (strcmp(spec, "cyclic") == 0) {
        place_cyclic(topology, ranks, end_of_rank);
        return STATUS_OK;
    }
    if (strncmp(spec, RANDOM_WORD, strlen(RANDOM_WORD)) == 0)
        return place_random(topology, spec + strlen(RANDOM_WORD), ranks, end_of_rank);
    return place_file(topology, spec, ranks, end_of_rank);
}

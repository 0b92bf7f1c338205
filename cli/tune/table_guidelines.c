/*
 * table_guidelines.c - the lines of a run that are slower than others of it that do their work.
 */
#include "cli/tune/tune.h"

#include <stdlib.h>

#include "tune/tune.h"

#define CELLS_MOST 4000 /* each is compared with each */
#define SHOWN_MOST 10   /* `cctest guidelines` shows all */

/* False: it has no place in a comparison. */
static bool line_make(const struct job *job, const struct ranked *cell, char setting[64],
                      struct timed_line *line)
{
    const struct candidate *candidate = &job->candidates[cell->choice];
    /* Its algorithms exchange in different patterns. */
    bool alone = candidate->collective->id == COLLECTIVE_SENDRECV;
    snprintf(setting, 64, "%d ranks, %s%s%s", cell->ranks, candidate->datatype->name,
             alone ? ", " : "", alone ? candidate->choice.algorithm->name : "");
    *line = (struct timed_line){.collective = candidate->collective,
                                .algorithm = candidate->text,
                                .setting = setting,
                                .op = candidate->reduction ? candidate->reduction->name : "",
                                .ranks = cell->ranks,
                                .bytes = cell->bytes,
                                .element = candidate->datatype->size,
                                .time = cell->time,
                                .low = cell->low,
                                .high = cell->high};
    return cell->time > 0 && !cell->wrong;
}

static void violations_print(FILE *out, const struct timed_line *lines,
                             const struct violation *violations, size_t count)
{
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        char text[VIOLATION_TEXT_MOST];
        if (violations[i].guideline == GUIDELINE_OWN)
            continue;
        if (shown++ < SHOWN_MOST)
            fprintf(out, "%s# slower than it must be: %s\n", shown == 1 ? "#\n" : "",
                    violation_text(lines, &violations[i], text));
    }
    if (shown > SHOWN_MOST)
        fprintf(out, "# and %zu more: cctest guidelines shows them, of the file of --json\n",
                shown - SHOWN_MOST);
}

void guidelines_print(FILE *out, const struct job *job, const struct ranked *cells, size_t count)
{
    struct timed_line *lines = calloc(count + 1, sizeof *lines);
    char(*settings)[64] = calloc(count + 1, sizeof *settings);
    struct violation *violations = NULL;
    size_t used = 0, found = 0;
    for (size_t i = 0; lines && settings && i < count && count <= CELLS_MOST; i++)
        used += line_make(job, &cells[i], settings[used], &lines[used]);
    if (used > 0 && guidelines_check(lines, used, &violations, &found) == STATUS_OK)
        violations_print(out, lines, violations, found);
    free(violations);
    free(settings);
    free(lines);
}

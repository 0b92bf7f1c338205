/*
 * table_columns.c - the columns of the table that name what a line runs.
 */
#include "cli/run/internal.h"

#include <string.h>

#include "run/run.h"

const char *const column_titles[COLUMNS] = {"collective", "type", "op", "algorithm"};

void column_texts(const struct candidate *candidate, const char *texts[COLUMNS])
{
    bool sized = candidate->collective->sized;
    texts[COLUMN_COLLECTIVE] = candidate->collective->name;
    texts[COLUMN_DATATYPE] = sized ? candidate->datatype->name : "-";
    texts[COLUMN_OPERATOR] = sized && candidate->reduction ? candidate->reduction->name : "-";
    texts[COLUMN_ALGORITHM] = candidate->text;
}

void columns_find(const struct job *job, struct columns *columns)
{
    const char *first[COLUMNS] = {NULL}, *texts[COLUMNS];
    bool varies[COLUMNS] = {[COLUMN_ALGORITHM] = job_contest_end(job, 0) > 1};
    int most[COLUMNS];
    for (int column = 0; column < COLUMNS; column++)
        most[column] = (int)strlen(column_titles[column]);
    for (int i = 0; i < job->candidate_count; i++) {
        column_texts(&job->candidates[i], texts);
        for (int column = 0; column < COLUMNS; column++) {
            int length = (int)strlen(texts[column]);
            most[column] = length > most[column] ? length : most[column];
            if (strcmp(texts[column], "-") == 0)
                continue;
            varies[column] |= first[column] && strcmp(texts[column], first[column]) != 0;
            first[column] = texts[column];
        }
    }
    for (int column = 0; column < COLUMNS; column++)
        columns->widths[column] = varies[column] ? most[column] : 0;
}

void columns_print(FILE *out, const struct columns *columns, const char *const texts[COLUMNS])
{
    for (int column = 0; column < COLUMNS; column++)
        if (columns->widths[column])
            fprintf(out, "  %-*s", columns->widths[column], texts ? texts[column] : "");
}

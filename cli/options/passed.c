/*
 * passed.c - options of a command that has small jobs run, which these jobs are given, too.
 */
#include "cli/options/options.h"

#include "base/text.h"

/* A switch may be set to no. */
static bool is_off(const struct option_row *row, const struct request *request)
{
    json_t *value = row->kind->show(row, request);
    bool off = !row->argument && json_is_false(value);
    json_decref(value);
    return off;
}

void options_pass(const struct command_line *line, const struct request *request, unsigned groups,
                  const struct option_kind *but, char to[PASSED_TEXT_MOST])
{
    struct text text = text_in(to, PASSED_TEXT_MOST);
    for (const struct option_row *row = option_table; row->name; row++) {
        const struct argument *argument = &line->arguments[row - option_table];
        bool passes = (row->commands & FOR_RUN) && (row->commands & line->command->bit) &&
                      (groups >> row->group & 1) && !row->per_rank && row->kind != but;
        if (!passes || argument->source <= SOURCE_DEFAULT || is_off(row, request))
            continue;
        text_add(&text, " --%s", row->name);
        if (row->argument)
            text_add(&text, " %s", argument->text);
    }
}

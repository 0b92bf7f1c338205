/*
 * command_line.c - finds the text of every option: flag (getopt_long, driven by the option table),
 * else environment, else default.
 */
#include "cli/options/command_line.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/name_match.h"
#include "cli/options/inject.h"
#include "cli/options/names.h"
#include "cli/options/values.h"

const struct command commands[] = {
    {.name = "COLLECTIVE",
     .bit = FOR_RUN,
     .words_most = 1,
     .synopsis = "COLLECTIVE [options]",
     .summary = "run a collective, check it and time it"},
    {.name = "list",
     .bit = FOR_LIST,
     .words_most = 3,
     .synopsis = "list [COLLECTIVE [ALGORITHM]] [--json FILE]",
     .summary = "list collectives and describe their algorithms"},
    {.name = "info",
     .bit = FOR_INFO,
     .words_most = 1,
     .synopsis = "info [--timeout SECONDS] [--json FILE]",
     .summary = "show what this machine has, and what cctest would use"},
    {.name = "plan",
     .bit = FOR_PLAN,
     .words_most = 2,
     .synopsis = "plan COLLECTIVE [-a A] [--np N] [--rank R] [-b SIZE] [--json FILE] [--svg FILE]",
     .summary = "show the steps of an algorithm without running it"},
    {.name = "help",
     .bit = FOR_HELP,
     .words_most = 2,
     .synopsis = "help [COMMAND|COLLECTIVE]",
     .summary = "explain a command, or a collective and its algorithms"},
    {.name = NULL},
};

static int option_index(const struct option_row *option)
{
    return (int)(option - option_table);
}

const struct argument *command_line_argument(const struct command_line *line, const char *name)
{
    return &line->arguments[option_index(option_find(name))];
}

/* Flags. The getopt value of a long option is LONG_FIRST plus its index. */
#define LONG_FIRST 256

struct getopt_tables {
    struct option longs[OPTIONS_MOST + 1];
    char letters[2 * OPTIONS_MOST + 2];
};

static void getopt_tables_fill(struct getopt_tables *tables)
{
    char *letters = tables->letters;
    *letters++ = ':'; /* tells a missing argument from an unknown option */
    int count = 0;
    for (const struct option_row *row = option_table; row->name; row++) {
        tables->longs[count++] = (struct option){
            .name = row->name,
            .has_arg = row->argument ? required_argument : no_argument,
            .val = LONG_FIRST + option_index(row),
        };
        if (row->letter) {
            *letters++ = row->letter;
            if (row->argument)
                *letters++ = ':';
        }
    }
    tables->longs[count] = (struct option){.name = NULL};
    *letters = '\0';
}

static const struct option_row *row_of(int code)
{
    if (code >= LONG_FIRST)
        return &option_table[code - LONG_FIRST];
    for (const struct option_row *row = option_table; row->name; row++)
        if (row->letter && row->letter == code)
            return row;
    return NULL;
}

static enum status unknown_flag(const char *word, int letter)
{
    if (letter >= LONG_FIRST)
        return fail(STATUS_USAGE, "--%s takes no value: leave out the one in '%s'",
                    option_table[letter - LONG_FIRST].name, word);
    if (letter)
        return fail(STATUS_USAGE, "there is no option -%c: see `cctest help`", letter);
    const char *names[OPTIONS_MOST + 1], *prefixed[OPTIONS_MOST + 1];
    int count = 0, matches = 0;
    char name[ITEM_MOST];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const struct option_row *row = option_table; row->name; row++) {
        names[count++] = row->name;
        if (strncmp(row->name, name, strlen(name)) == 0)
            prefixed[matches++] = row->name;
    }
    names[count] = NULL;
    if (matches > 1)
        return fail(STATUS_USAGE, "--%s may be --%s or --%s: write it out", name, prefixed[0],
                    prefixed[1]);
    const char *nearest = name_nearest(name, names);
    return fail(STATUS_USAGE, "there is no option --%s: %s%s%ssee `cctest help`", name,
                nearest ? "did you mean --" : "", nearest ? nearest : "", nearest ? "? " : "");
}

/* One option that getopt found. */
static enum status flag_take(struct command_line *line, const struct option_row *row,
                             const char *value)
{
    struct argument *argument = &line->arguments[option_index(row)];
    if (row->letter == 'n' && value[0] == 'p')
        return fail(STATUS_USAGE,
                    "-n%s is -n with the value '%s': for the number of ranks write --np N", value,
                    value);
    if (row->kind == &kind_inject && argument->source == SOURCE_FLAG)
        return fail(STATUS_USAGE,
                    "--%s is given twice: give it once, with commas between the faults", row->name);
    if (strcmp(row->name, "help") == 0)
        line->help = true;
    else if (strcmp(row->name, "version") == 0)
        line->version = true;
    if (row->kind == &kind_whole && !row->argument) /* counted: -v, -vv */
        value = argument->source == SOURCE_FLAG ? "2" : "1";
    else if (!row->argument)
        value = "1";
    argument->text = value;
    argument->source = SOURCE_FLAG;
    return STATUS_OK;
}

static enum status flags_read(int argc, char **argv, struct command_line *line)
{
    struct getopt_tables tables;
    getopt_tables_fill(&tables);
    opterr = 0;
    optind = 0; /* glibc: reset */
    for (;;) {
        int before = optind ? optind : 1;
        int code = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
        if (code == -1)
            break;
        if (code == '?')
            return unknown_flag(argv[optopt && optopt < LONG_FIRST ? before : optind - 1], optopt);
        const struct option_row *row = row_of(code == ':' ? optopt : code);
        if (code == ':' && row->kind != &kind_file)
            return fail(STATUS_USAGE, "--%s needs a value, %s: %s", row->name, row->argument,
                        row->help);
        enum status status = flag_take(line, row, code == ':' ? "-" : optarg);
        if (status != STATUS_OK)
            return status;
    }
    for (; optind < argc; optind++) {
        if (line->word_count == WORDS_MOST)
            return fail(STATUS_USAGE, "'%s' is one word too many: see `cctest help`", argv[optind]);
        line->words[line->word_count++] = argv[optind];
    }
    return STATUS_OK;
}

/* The environment. */

#define PREFIX "CCTEST_"

/* "MIN_BYTES" is min-bytes. */
static bool variable_is(const char *variable, size_t length, const char *option)
{
    if (strlen(option) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (variable[i] != (option[i] == '-' ? '_' : toupper((unsigned char)option[i])))
            return false;
    return true;
}

static void environment_read(char **environment, struct command_line *line)
{
    for (; environment && *environment; environment++) {
        const char *variable = *environment, *equals = strchr(variable, '=');
        if (strncmp(variable, PREFIX, strlen(PREFIX)) != 0 || !equals || equals[1] == '\0')
            continue;
        variable += strlen(PREFIX);
        for (const struct option_row *row = option_table; row->name; row++) {
            struct argument *argument = &line->arguments[option_index(row)];
            if (argument->source < SOURCE_ENVIRONMENT && row->kind != &kind_command &&
                variable_is(variable, (size_t)(equals - variable), row->name)) {
                argument->text = equals + 1;
                argument->source = SOURCE_ENVIRONMENT;
            }
        }
    }
}

/* The command. */

enum status unknown_command(const char *word)
{
    const char *names[64], *aliases[32 * COLLECTIVE_ALIASES_MOST + 1];
    int count = 0, more = 0;
    for (int i = 0; collectives[i] && count < 32; i++) {
        names[count++] = collectives[i]->name;
        for (int j = 0; j < COLLECTIVE_ALIASES_MOST && collectives[i]->aliases[j]; j++)
            aliases[more++] = collectives[i]->aliases[j];
    }
    for (int i = 1; commands[i].name && count < 63; i++)
        names[count++] = commands[i].name;
    names[count] = aliases[more] = NULL;
    return unknown_name(word, "collective or command", names, aliases);
}

static enum status command_find(struct command_line *line)
{
    if (line->word_count == 0)
        return STATUS_OK;
    const char *word = line->words[0];
    for (int i = 1; commands[i].name; i++)
        if (strcmp(word, commands[i].name) == 0)
            line->command = &commands[i];
    if (!line->command && !collective_find(word))
        return unknown_command(word);
    if (!line->command)
        line->command = &commands[0];
    if (line->word_count <= line->command->words_most)
        return STATUS_OK;
    const char *extra = line->words[line->command->words_most];
    if (line->command->bit == FOR_RUN && algorithm_find(collective_find(word)->id, extra))
        return fail(STATUS_USAGE, "'%s' is one word too many: to choose an algorithm write -a %s",
                    extra, extra);
    return fail(STATUS_USAGE, "'%s' is one word too many: write cctest %s", extra,
                line->command->synopsis);
}

/* Refuses flags that the command does not take; drops such variables and defaults. */
static enum status options_suit(struct command_line *line)
{
    for (const struct option_row *row = option_table; row->name; row++) {
        struct argument *argument = &line->arguments[option_index(row)];
        if (row->commands & line->command->bit)
            continue;
        if (argument->source == SOURCE_FLAG)
            return fail(STATUS_USAGE, "`cctest %s` has no option --%s: see `cctest help %s`",
                        line->words[0], row->name, line->words[0]);
        argument->source = SOURCE_NONE;
        argument->text = NULL;
    }
    return STATUS_OK;
}

enum status command_line_read(int argc, char **argv, char **environment, struct command_line *line)
{
    *line = (struct command_line){.command = NULL};
    for (const struct option_row *row = option_table; row->name; row++)
        line->arguments[option_index(row)] = (struct argument){
            .option = row,
            .text = row->standard,
            .source = row->standard ? SOURCE_DEFAULT : SOURCE_NONE,
        };
    enum status status = flags_read(argc, argv, line);
    if (status != STATUS_OK)
        return status;
    environment_read(environment, line);
    status = command_find(line);
    if (status != STATUS_OK || !line->command || line->help)
        return status;
    return options_suit(line);
}

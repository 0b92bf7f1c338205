/*
 * command_line.c - finds the text of every option: flag (getopt_long, driven by the option table),
 * else environment, else default.
 */
#include "cli/options/internal.h"

#include "base/log.h"
#include "base/text.h"
#include "collective/formats/formats.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int option_index(const struct option_row *option)
{
    return (int)(option - option_table);
}

const struct argument *command_line_argument(const struct command_line *line, const char *name)
{
    return &line->arguments[option_index(option_find(name))];
}

/* Flags. The getopt value of a long option is LONG_FIRST plus its index, that of an alias
 * ALIAS_FIRST plus its index; letters stand for themselves. */
#define LONG_FIRST  256
#define ALIAS_FIRST (LONG_FIRST + OPTIONS_MOST)

#define ALIASES_MOST 32  /* aliases at most */
#define COPIED_MOST  256 /* words in which the command is sought */
#define TYPED_MOST   16  /* names that are written in another way than here */
#define NAME_MOST    40

struct getopt_tables {
    struct option longs[OPTIONS_MOST + TYPED_MOST + 1];
    char typed[TYPED_MOST][NAME_MOST];
    int count, typed_count;
    char letters[2 * OPTIONS_MOST + 2 * ALIASES_MOST + 2];
};

/* The alias behind a code of getopt; NULL: an option of cctest's own, or nothing. */
static const struct alias *alias_of(int code)
{
    if (code >= ALIAS_FIRST)
        return &option_aliases[code - ALIAS_FIRST];
    return code < LONG_FIRST ? alias_lettered(code) : NULL;
}

/* The option behind a code, or behind an alias; NULL: there is none here. */
static const struct option_row *row_of(int code)
{
    const struct alias *alias = alias_of(code);
    if (alias)
        return option_find(alias->option);
    if (code >= LONG_FIRST)
        return &option_table[code - LONG_FIRST];
    for (const struct option_row *row = option_table; row->name; row++)
        if (row->letter && row->letter == code)
            return row;
    return NULL;
}

/* The option that a letter stands for with this command, where two commands use it for two. */
static const struct option_row *row_lettered(const struct option_row *row, unsigned command)
{
    for (const struct option_row *other = option_table; other->name && row->letter; other++)
        if (other->letter == row->letter && (other->commands & command))
            return other;
    return row;
}

/* Is it the row of its name that this command takes? */
static bool row_is_of(const struct option_row *row, unsigned command)
{
    return option_of(row->name, command) == row;
}

static void tables_add(struct getopt_tables *tables, const char *name, int code)
{
    const struct option_row *row = row_of(code);
    tables->longs[tables->count++] = (struct option){
        .name = name,
        .has_arg = row->argument ? required_argument : no_argument,
        .val = code,
    };
}

/* A name as another tool, or another hand, writes it: --minbytes, --in_place. Such names are in the
 * table only if they are written out, so that they make no abbreviation ambiguous. */
static void tables_add_typed(struct getopt_tables *tables, const char *word, unsigned command)
{
    size_t length = strcspn(word, "=");
    int code = 0;
    if (tables->typed_count == TYPED_MOST || length >= NAME_MOST)
        return;
    char *name = tables->typed[tables->typed_count];
    snprintf(name, NAME_MOST, "%.*s", (int)length, word);
    const struct alias *alias = alias_named(name);
    if (alias)
        code = ALIAS_FIRST + (int)(alias - option_aliases);
    for (const struct option_row *row = option_table; row->name; row++)
        if (name_equal(name, row->name) && row_is_of(row, command))
            code = strcmp(name, row->name) == 0 ? 0 : LONG_FIRST + option_index(row);
    if (code == 0)
        return;
    tables->typed_count++;
    tables_add(tables, name, code);
}

/* Does the user write the whole name? Options of other commands are not abbreviated, and make no
 * abbreviation of this one's a riddle. */
static bool is_written_out(const char *name, int argc, char **argv)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, length) == 0 &&
            (argv[i][2 + length] == '\0' || argv[i][2 + length] == '='))
            return true;
    return false;
}

static void getopt_tables_fill(struct getopt_tables *tables, int argc, char **argv,
                               unsigned command)
{
    char *letters = tables->letters;
    tables->count = tables->typed_count = 0;
    *letters++ = ':'; /* tells a missing argument from an unknown option */
    for (const struct option_row *row = option_table; row->name; row++) {
        if (row_is_of(row, command) &&
            ((row->commands & command) || is_written_out(row->name, argc, argv)))
            tables_add(tables, row->name, LONG_FIRST + option_index(row));
        if (row->letter) {
            *letters++ = row->letter;
            if (row->argument)
                *letters++ = ':';
        }
    }
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++) {
        if (!alias->letter)
            continue;
        *letters++ = alias->letter;
        if (row_of(alias->letter)->argument)
            *letters++ = ':';
    }
    *letters = '\0';
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0)
            tables_add_typed(tables, argv[i] + 2, command);
    tables->longs[tables->count] = (struct option){.name = NULL};
}

static enum status unknown_flag(const char *word, int letter)
{
    if (letter >= LONG_FIRST)
        return fail(STATUS_USAGE, "--%s takes no value: leave out the one in '%s'",
                    row_of(letter)->name, word);
    if (letter)
        return fail(STATUS_USAGE,
                    "there is no option -%c: see `cctest help`, and `cctest help nccl-tests` for "
                    "options of other programs",
                    letter);
    const char *names[OPTIONS_MOST + ALIASES_MOST + 1], *prefixed[OPTIONS_MOST + 1];
    int count = 0, matches = 0;
    char name[ITEM_MOST];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const struct option_row *row = option_table; row->name; row++) {
        names[count++] = row->name;
        if (strncmp(row->name, name, strlen(name)) == 0 && option_find(row->name) == row)
            prefixed[matches++] = row->name;
    }
    for (int i = 0; i < ALIASES_MOST && (option_aliases[i].name || option_aliases[i].letter); i++)
        if (option_aliases[i].name)
            names[count++] = option_aliases[i].name;
    names[count] = NULL;
    if (matches > 1)
        return fail(STATUS_USAGE, "--%s may be --%s or --%s: write it out", name, prefixed[0],
                    prefixed[1]);
    const char *nearest = name_nearest(name, names);
    const struct alias *alias = nearest ? alias_named(nearest) : NULL;
    if (alias)
        nearest = alias->option;
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

/* One code of getopt, given to `command`. `flag`: the word that it stands in. */
static enum status flag_read(int code, const char *flag, unsigned command,
                             struct command_line *line)
{
    if (code == '?')
        return unknown_flag(flag, optopt);
    const struct option_row *row = row_lettered(row_of(code == ':' ? optopt : code), command);
    if (code == ':' && row->kind != &kind_file)
        return fail(STATUS_USAGE, "--%s needs a value, %s: %s", row->name, row->argument,
                    row->help);
    return flag_take(line, row, code == ':' ? "-" : optarg);
}

static enum status first_failure(enum status first, enum status next)
{
    return first != STATUS_OK ? first : next;
}

/* The command that a word names, among flags that are read later: it says which option of a name is
 * meant. Without such a word it is a run. (A word may be the value of an option that takes none in
 * a run.) getopt changes the order of words, so it gets a copy. */
static unsigned command_seek(int argc, char **argv)
{
    struct getopt_tables tables;
    char *words[COPIED_MOST + 1];
    int count = argc < COPIED_MOST ? argc : COPIED_MOST;
    memcpy(words, argv, (size_t)count * sizeof *words);
    words[count] = NULL;
    getopt_tables_fill(&tables, count, words, FOR_RUN);
    opterr = 0;
    optind = 0; /* glibc: reset */
    while (getopt_long(count, words, tables.letters, tables.longs, NULL) != -1)
        continue;
    for (int at = optind; at < count; at++)
        for (int i = 1; commands[i].name; i++)
            if (strcmp(words[at], commands[i].name) == 0)
                return commands[i].bit;
    return FOR_RUN;
}

/* Behind a mistake the others are read as well: --json may be among them. */
static enum status flags_read(int argc, char **argv, struct command_line *line)
{
    struct getopt_tables tables;
    enum status status = STATUS_OK;
    unsigned command = line->is_named ? FOR_RUN : command_seek(argc, argv);
    getopt_tables_fill(&tables, argc, argv, command);
    opterr = 0;
    optind = 0; /* glibc: reset */
    for (;;) {
        int before = optind ? optind : 1;
        int code = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
        if (code == -1)
            break;
        const char *flag = argv[optopt && optopt < LONG_FIRST ? before : optind - 1];
        status = first_failure(status, flag_read(code, flag, command, line));
    }
    for (; optind < argc && line->word_count < WORDS_MOST; optind++)
        line->words[line->word_count++] = argv[optind];
    if (optind < argc && status == STATUS_OK)
        return fail(STATUS_USAGE, "'%s' is one word too many: a command takes at most %d",
                    argv[optind], WORDS_MOST - 1);
    return status;
}

/* The environment. */

#define PREFIX "CCTEST_"

/* "CCTEST_MIN_BYTES" of min-bytes. */
static const char *variable_of(const char *option, char text[VARIABLE_MOST])
{
    snprintf(text, VARIABLE_MOST, PREFIX "%s", option);
    for (char *at = text; *at; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    return text;
}

const char *option_variable(const struct option_row *row, char text[VARIABLE_MOST])
{
    return variable_of(row->name, text);
}

/* The variable of `length` bytes. */
static bool variable_is(const char *variable, size_t length, const char *option)
{
    char text[VARIABLE_MOST];
    return strlen(variable_of(option, text)) == length && strncmp(variable, text, length) == 0;
}

/* Variables that are read elsewhere (controlplane/bootstrap/secret.c). */
static bool is_secret(const char *variable, size_t length)
{
    return variable_is(variable, length, "secret") || variable_is(variable, length, "secret-file");
}

static void environment_read(char **environment, struct command_line *line)
{
    for (; environment && *environment; environment++) {
        const char *variable = *environment, *equals = strchr(variable, '=');
        if (strncmp(variable, PREFIX, strlen(PREFIX)) != 0 || !equals || equals[1] == '\0')
            continue;
        bool known = is_secret(variable, (size_t)(equals - variable));
        for (const struct option_row *row = option_table; row->name; row++) {
            struct argument *argument = &line->arguments[option_index(row)];
            if (!variable_is(variable, (size_t)(equals - variable), row->name))
                continue;
            known = true;
            if (argument->source < SOURCE_ENVIRONMENT && row->kind != &kind_command) {
                argument->text = equals + 1;
                argument->source = SOURCE_ENVIRONMENT;
            }
        }
        if (!known && line->strays++ == 0)
            line->stray = *environment;
    }
}

void command_line_warn(const struct command_line *line)
{
    const char *names[OPTIONS_MOST + 1];
    char option[64];
    int count = 0, length = 0;
    if (!line->stray)
        return;
    for (const struct option_row *row = option_table; row->name; row++)
        names[count++] = row->name;
    names[count] = NULL;
    for (const char *at = line->stray + strlen(PREFIX); *at != '=' && length < 63; at++)
        option[length++] = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    option[length] = '\0';
    const char *nearest = name_nearest(option, names);
    char more[32] = "";
    if (line->strays > 1)
        snprintf(more, sizeof more, " and %d more", line->strays - 1);
    say("%.*s%s in the environment is ignored: no option has that name%s%s%s",
        (int)strcspn(line->stray, "="), line->stray, more,
        nearest ? "; did you mean that of --" : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* The command. */

enum status unknown_command(const char *word)
{
    struct names names = table_names(&collective_table);
    names_add(&names, "all", NULL, 0);
    for (int i = 1; commands[i].name; i++)
        names_add(&names, commands[i].name, NULL, 0);
    names_add(&names, "version", NULL, 0);
    if (program_way(word))
        return fail(STATUS_USAGE, "'%s' is a program of OSU: write %s", word, program_way(word));
    if (is_algorithm(word))
        return fail(STATUS_USAGE,
                    "'%s' is an algorithm: write cctest COLLECTIVE -a %s; `cctest list %s` shows "
                    "its collectives",
                    word, word, word);
    return names_refuse(word, "collective or command", &names);
}

static enum status command_find(struct command_line *line)
{
    if (line->word_count == 0)
        return STATUS_OK;
    const char *word = line->words[0];
    const struct option_row *option = option_find(word);
    if (option && option->kind == &kind_command && strcmp(word, "help") != 0) {
        line->version = true; /* `cctest version` */
        return line->word_count == 1
                   ? STATUS_OK
                   : fail(STATUS_USAGE, "'%s' is one word too many: write cctest %s",
                          line->words[1], word);
    }
    for (int i = 1; commands[i].name; i++)
        if (strcmp(word, commands[i].name) == 0)
            line->command = &commands[i];
    bool several = strchr(word, ',') || strcmp(word, "all") == 0;
    if (!line->command && !several && !collective_find(word))
        return unknown_command(word);
    if (!line->command)
        line->command = &commands[0];
    if (line->word_count <= line->command->words_most)
        return STATUS_OK;
    const char *extra = line->words[line->command->words_most];
    if (line->is_named)
        return fail(STATUS_USAGE,
                    "'%s' is one word too many: the name of the program, %s, is the collective; a "
                    "command needs the name cctest",
                    extra, word);
    const struct collective *collective = collective_find(word);
    if (line->command->bit == FOR_RUN && collective && algorithm_find(collective->id, extra))
        return fail(STATUS_USAGE, "'%s' is one word too many: to choose an algorithm write -a %s",
                    extra, extra);
    return fail(STATUS_USAGE, "'%s' is one word too many: write cctest %s", extra,
                line->command->synopsis);
}

/* Refuses flags that the command does not take; drops such variables and defaults. */
static enum status options_suit(struct command_line *line)
{
    enum status status = STATUS_OK;
    for (const struct option_row *row = option_table; row->name; row++) {
        struct argument *argument = &line->arguments[option_index(row)];
        if (row->commands & line->command->bit)
            continue;
        if (argument->source == SOURCE_FLAG) {
            status = fail(STATUS_USAGE, "`cctest %s` has no option --%s: see `cctest help %s`",
                          line->words[0], row->name, line->words[0]);
            continue;
        }
        argument->source = SOURCE_NONE;
        argument->text = NULL;
    }
    return status;
}

/* Is the program called by the name of a collective, such as all_reduce_perf, through a link? */
static bool program_is_word(const char *path)
{
    return collective_find(basename(path)) || program_way(basename(path));
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
    line->is_named = argc > 0 && program_is_word(argv[0]);
    if (line->is_named)
        line->words[line->word_count++] = basename(argv[0]);
    if (argc == 3 && strcmp(argv[1], "help") == 0) /* `cctest help --np` */
        argv[2] += strspn(argv[2], "-");
    enum status status = flags_read(argc, argv, line);
    environment_read(environment, line);
    status = first_failure(status, command_find(line));
    if (line->command && !line->help)
        status = first_failure(status, options_suit(line));
    return status;
}

/*
 * Options of a command that has small jobs run, which these jobs are given, too.
 */
/* A switch may be set to no. */
static bool is_off(const struct option_row *row, const struct request *request)
{
    json_t *value = row->kind->show(row, request);
    bool off = !row->argument && json_is_false(value);
    json_decref(value);
    return off;
}

/* A word as a shell takes it. */
static void quoted_put(FILE *out, const char *word)
{
    if (word[0] &&
        word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                          "-_.,:=/+@%")] == '\0') {
        fprintf(out, " %s", word);
        return;
    }
    fputs(" '", out);
    for (; *word; word++)
        fprintf(out, *word == '\'' ? "'\\''" : "%c", *word);
    fputs("'", out);
}

json_t *command_line_json(const struct request *request)
{
    const struct command_line *line = request ? request->line : NULL;
    char *words = NULL;
    size_t size;
    FILE *out = line ? open_memstream(&words, &size) : NULL;
    if (!out)
        return json_null();
    fputs("cctest", out);
    for (int i = 0; i < line->word_count; i++) /* the program's name may be a collective's */
        quoted_put(out, line->words[i]);
    for (const struct option_row *row = option_table; row->name; row++) {
        const struct argument *argument = &line->arguments[row - option_table];
        if (!(row->commands & line->command->bit) || argument->source <= SOURCE_DEFAULT ||
            is_off(row, request))
            continue;
        bool is_counted = !row->argument && row->kind == &kind_whole; /* -vv */
        for (int i = is_counted ? atoi(argument->text) : 1; i > 0; i--)
            fprintf(out, " --%s", row->name);
        if (row->argument)
            quoted_put(out, argument->text);
    }
    fclose(out);
    json_t *json = words ? json_string(words) : NULL;
    free(words);
    return json ? json : json_null();
}

void options_pass(const struct command_line *line, const struct request *request, unsigned groups,
                  const struct option_kind *except, char to[PASSED_TEXT_MOST])
{
    struct text text = text_in(to, PASSED_TEXT_MOST);
    for (const struct option_row *row = option_table; row->name; row++) {
        const struct argument *argument = &line->arguments[row - option_table];
        bool passes = (row->commands & FOR_RUN) && (row->commands & line->command->bit) &&
                      (groups >> row->group & 1) && !row->per_rank && row->kind != except;
        if (!passes || argument->source <= SOURCE_DEFAULT || is_off(row, request))
            continue;
        text_add(&text, " --%s", row->name);
        if (row->argument)
            text_add(&text, " %s", argument->text);
    }
}

/*
 * outputs.c - files that are written and read: no two of them may be one.
 */
#include "cli/options/options.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io/io.h"
#include "base/log.h"
#include "predict/topology/topology.h"

#define LINKS_MOST 16 /* to follow, as names of links may lead in a circle */

/* The name that a link has in its place; false: it is none. */
static bool link_follow(char name[PATH_MAX])
{
    char target[PATH_MAX], *slash = strrchr(name, '/');
    ssize_t length = readlink(name, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    char *from = slash && target[0] != '/' ? slash + 1 : name;
    return snprintf(from, PATH_MAX - (size_t)(from - name), "%s", target) <
           PATH_MAX - (int)(from - name);
}

/* The name without links of a file that may not be there; false: its folder is not there. */
static bool place_find(const char *path, char place[PATH_MAX])
{
    char name[PATH_MAX], folder[PATH_MAX];
    snprintf(name, sizeof name, "%s", path);
    for (int i = 0; i < LINKS_MOST && link_follow(name); i++)
        ;
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - name) : 1,
             slash ? name : ".");
    if (!realpath(folder, place))
        return false;
    size_t length = strlen(place);
    return snprintf(place + length, PATH_MAX - length, "/%s", last) < PATH_MAX - (int)length;
}

bool outputs_are_one(const char *one, const char *other)
{
    char place[PATH_MAX], other_place[PATH_MAX];
    struct stat about, other_about;
    if (strcmp(one, other) == 0)
        return true;
    if (strcmp(one, "-") == 0 || strcmp(other, "-") == 0)
        return false;
    if (stat(one, &about) == 0 && stat(other, &other_about) == 0)
        return about.st_dev == other_about.st_dev && about.st_ino == other_about.st_ino;
    return place_find(one, place) && place_find(other, other_place) &&
           strcmp(place, other_place) == 0;
}

/* For fail_option(). */
static const char *options_of(const char *one, const char *other, char options[OPTIONS_TEXT])
{
    snprintf(options, OPTIONS_TEXT, "%s %s", one, other);
    return options;
}

/* Where an option of this command that has results says to write them; NULL: it is none, or not
 * given. */
static const char *output_path(const struct option_row *row, const struct request *request,
                               unsigned command)
{
    bool writes = row->file == FILE_WRITTEN && (row->commands & command);
    return writes ? option_text(row, request) : NULL;
}

static bool is_device(const char *path)
{
    struct stat file;
    return strcmp(path, "-") != 0 && stat(path, &file) == 0 && !S_ISREG(file.st_mode);
}

/* Two outputs with one path, `one` before `other` in the table. The sentence names --json first. */
static enum status outputs_refuse(const struct option_row *one, const struct option_row *other,
                                  const char *path)
{
    char options[OPTIONS_TEXT];
    bool turned = strcmp(other->name, "json") == 0;
    const char *first = turned ? other->name : one->name,
               *second = turned ? one->name : other->name;
    options_of(first, second, options);
    if (strcmp(path, "-") == 0)
        return fail_option(
            STATUS_USAGE, options,
            "--%s and --%s cannot both go to standard output: give one of them a file", first,
            second);
    return fail_option(STATUS_USAGE, options,
                       "--%s and --%s name the same file: give each a file of its own", first,
                       second);
}

/* Is the value a word of the option, such as "node" or "zipf:1", and no file? */
static bool is_word(const struct option_row *row, const char *text)
{
    for (const char *const *word = row->words; word && *word; word++) {
        size_t length = strlen(*word);
        if (strncmp(*word, text, (*word)[length - 1] == ':' ? length : length + 1) == 0)
            return true;
    }
    return row->kind == &kind_split && text[strspn(text, "0123456789")] == '\0';
}

/* The file that a value of the option names, and that is read; NULL: none. `file`: a place for
 * it. */
static const char *input_file(const struct option_row *row, const char *text, char file[PATH_MAX])
{
    if (row->file != FILE_READ || is_word(row, text))
        return NULL;
    if (strcmp(row->name, "topology") == 0) /* a file may stand before keys, or a family */
        return topology_reads(text, file, PATH_MAX) ? file : NULL;
    return strcmp(text, "-") == 0 ? "./-" : text;
}

/* The option of which a value that was given names `path` as a file to read; NULL: there is
 * none. */
static const struct option_row *reader_of(const struct command_line *line, const char *path)
{
    const struct argument *algorithm = command_line_argument(line, "algorithm");
    char file[PATH_MAX];
    for (const struct option_row *row = option_table; row->name; row++) {
        const struct argument *argument = &line->arguments[row - option_table];
        const char *input =
            argument->source > SOURCE_DEFAULT ? input_file(row, argument->text, file) : NULL;
        if (input && outputs_are_one(path, input))
            return row;
    }
    bool named = files_named(algorithm->text, path, outputs_are_one);
    return named ? &option_table[algorithm - line->arguments] : NULL;
}

bool command_line_reads(const struct command_line *line, const char *path)
{
    bool reads = reader_of(line, path) != NULL;
    bool takes_files = line->command && (line->command->bit & (FOR_GUIDELINES | FOR_REPORT));
    for (int i = 1; takes_files && i < line->word_count; i++)
        reads |= outputs_are_one(path, line->words[i]);
    return reads;
}

static enum status settle_input(const struct command_line *line, const char *output,
                                const char *path)
{
    char options[OPTIONS_TEXT];
    const struct option_row *reader = reader_of(line, path);
    if (!reader || (reader->kind == &kind_tuning && line->command->bit == FOR_TUNE &&
                    line->arguments[reader - option_table].source == SOURCE_ENVIRONMENT))
        return STATUS_OK; /* tune does not read the file of the environment, which is for runs */
    return fail_option(STATUS_USAGE, options_of(output, reader->name, options),
                       "--%s names %s, which --%s reads: give it a file of its own", output, path,
                       reader->name);
}

enum status outputs_settle(const struct command_line *line, const struct request *request)
{
    const unsigned command = line->command->bit;
    for (const struct option_row *row = option_table; row->name; row++) {
        const char *path = output_path(row, request, command), *second;
        for (const struct option_row *other = row + 1; path && other->name; other++) {
            second = output_path(other, request, command);
            if (second && outputs_are_one(path, second) && !is_device(path))
                return outputs_refuse(row, other, path);
        }
        if (path)
            TRY(settle_input(line, row->name, path));
    }
    return STATUS_OK;
}

bool outputs_take_standard(const struct request *request, unsigned command)
{
    bool takes = false;
    for (const struct option_row *row = option_table; row->name; row++)
        takes |= output_is_standard(output_path(row, request, command));
    return takes;
}

enum status outputs_probe(const struct request *request, unsigned command)
{
    for (const struct option_row *row = option_table; row->name; row++)
        if (output_path(row, request, command))
            TRY(output_probe(output_path(row, request, command)));
    return STATUS_OK;
}

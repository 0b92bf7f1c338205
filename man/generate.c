/*
 * generate.c - makes a page of the manual: copies a file of man/, and puts what tables of the
 * program say in the place of its lines
 *
 *     .\" generate: options COMMAND     the options of a command, by groups
 *     .\" generate: sentences COMMAND   the same in a sentence each, without their texts
 *     .\" generate: commands            all commands
 *     .\" generate: statuses            the exit statuses
 *     .\" generate: variables           the variables of the environment, but for those of options
 *     .\" generate: names               types and operations
 *     .\" generate: keys                the objects of JSON, with their keys
 *
 * An option's text stands in the page of the first command that takes it; other pages refer to it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/info/keys.h"
#include "cli/info/words.h"

#define DIRECTIVE ".\\\" generate: "

/*
 * Text of the tables as roff.
 */
static void put_character(char c)
{
    if (c == '\\')
        fputs("\\e", stdout);
    else if (c == '-')
        fputs("\\-", stdout);
    else
        putchar(c);
}

static void put_bold(const char *text, size_t length)
{
    fputs("\\fB", stdout);
    for (size_t i = 0; i < length; i++)
        put_character(text[i]);
    fputs("\\fR", stdout);
}

/* Does a word begin at text[at]? */
static bool begins_word(const char *text, size_t at)
{
    return at == 0 || strchr(" (,", text[at - 1]);
}

/* The end of the literal whose quote stands before text[at]; 0: the quote is an apostrophe. */
static size_t literal_end(const char *text, size_t length, size_t at, char quote)
{
    for (size_t end = at; end < length; end++)
        if (text[end] == quote && end > at &&
            (end + 1 == length || strchr(" .,;:)", text[end + 1])))
            return end;
    return 0;
}

/* Letters of an option at text[at], with its dashes; 0: there is none. */
static size_t flag_length(const char *text, size_t length, size_t at)
{
    size_t dashes = strspn(text + at, "-"), letters = 0;
    while (at + dashes + letters < length &&
           strchr("abcdefghijklmnopqrstuvwxyz-", text[at + dashes + letters]))
        letters++;
    return (dashes == 1 && letters == 1) || (dashes == 2 && letters > 1) ? dashes + letters : 0;
}

static const char *page; /* "cctest-plan(1)": a text need not say that something stands in it */

/* The length of " in cctest-plan(1)" at text[at], in that page; else 0. */
static size_t own_page_length(const char *text, size_t length, size_t at)
{
    size_t name = strlen(page);
    bool is_own = at + 4 + name <= length && strncmp(text + at, " in ", 4) == 0 &&
                  strncmp(text + at + 4, page, name) == 0;
    return is_own ? 4 + name : 0;
}

/* Prose of the tables (struct option_row): literals in quotes and options become bold. */
static void put_prose(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t end = 0, flag = 0;
        if (begins_word(text, i) && (text[i] == '\'' || text[i] == '`'))
            end = literal_end(text, length, i + 1, text[i]);
        if (begins_word(text, i) && text[i] == '-')
            flag = flag_length(text, length, i);
        size_t own = own_page_length(text, length, i);
        if (own > 0) {
            i += own - 1;
        } else if (end > 0) {
            put_bold(text + i + 1, end - i - 1);
            i = end;
        } else if (flag > 0) {
            put_bold(text + i, flag);
            i += flag - 1;
        } else if (text[i] == ' ' && i > 0 && text[i - 1] == '.' &&
                   !islower((unsigned char)text[i + 1])) {
            putchar('\n'); /* roff wants a sentence to begin a line */
        } else {
            put_character(text[i]);
        }
    }
}

/* A sentence of a table gets its capital and its full stop. */
static void put_sentence(const char *text)
{
    char sentence[1024];
    snprintf(sentence, sizeof sentence, "%s.", text);
    sentence[0] = (char)toupper((unsigned char)sentence[0]);
    put_prose(sentence, strlen(sentence));
    putchar('\n');
}

static void put_text(const char *text)
{
    struct option_block block;
    bool in_list = false;
    while (option_block_next(&text, &block)) {
        if (in_list && !block.word)
            puts(".El");
        if (block.word && !in_list)
            puts(".Bl -tag -width Ds -compact");
        else if (!block.word && block.is_first)
            puts(".Pp");
        in_list = block.word;
        if (block.word)
            printf(".It Cm %.*s\n", block.word_length, block.word);
        put_prose(block.body, (size_t)block.body_length);
        putchar('\n');
    }
    if (in_list)
        puts(".El");
}

/*
 * Directives.
 */
static bool is_home(const struct option_row *row, unsigned command)
{
    return (row->commands & -row->commands) == command;
}

/* The first command that takes it: its page has the text. The first of all is a collective. */
static const char *home_of(const struct option_row *row)
{
    const struct command *command = commands;
    while (!is_home(row, command->bit))
        command++;
    return command == commands ? "run" : command->name;
}

static void put_option(const struct option_row *row, unsigned command, bool whole)
{
    fputs(".It", stdout);
    if (row->letter)
        printf(" Fl %c%s%s ,", row->letter, whole && row->argument ? " Ar " : "",
               whole && row->argument ? row->argument : "");
    printf(" Fl -%s%s%s\n", row->name, row->argument ? " Ar " : "",
           row->argument ? row->argument : "");
    put_sentence(option_help(row, command));
    if (!whole)
        return;
    if (row->text && is_home(row, command))
        put_text(row->text);
    else if (row->text && !strstr(row->text, page)) /* which says more than that text */
        printf("See\n.Xr cctest-%s 1 .\n", home_of(row));
    const char *standard = option_standard(row, command);
    if (standard) {
        fputs("Default: ", stdout);
        put_prose(standard, strlen(standard));
        puts(".");
    }
}

static bool put_groups(const char *name, bool whole)
{
    const struct command *command = commands;
    if (strcmp(name, "run") != 0)
        while (command->name && strcmp(command->name, name) != 0)
            command++;
    if (!command->name)
        return false;
    for (int group = 0; group < GROUPS; group++) {
        bool titled = false;
        for (const struct option_row *row = option_table; row->name; row++) {
            if ((int)row->group != group || !(row->commands & command->bit))
                continue;
            if (!titled)
                printf(".Ss %s\n.Bl -tag -width %s\n", option_group_titles[group],
                       whole ? "Ds" : "20n -compact");
            titled = true;
            put_option(row, command->bit, whole);
        }
        if (titled)
            puts(".El");
    }
    return true;
}

static bool put_options(const char *command)
{
    return put_groups(command, true);
}

static bool put_sentences(const char *command)
{
    return put_groups(command, false);
}

static bool put_commands(const char *unused)
{
    (void)unused;
    puts(".Bl -tag -width Ds -compact");
    for (const struct command *command = commands; command->name; command++) {
        printf(".It ");
        put_bold(command->synopsis, strlen(command->synopsis));
        putchar('\n');
        put_sentence(command->summary);
    }
    puts(".El");
    return true;
}

static bool put_statuses(const char *unused)
{
    (void)unused;
    puts(".Bl -tag -width Ds -compact");
    for (const struct status_row *row = status_rows; row->meaning; row++) {
        printf(".It %d Pq %s\n", row->status, status_word(row->status));
        put_sentence(row->meaning);
    }
    puts(".El");
    return true;
}

static bool put_variables(const char *unused)
{
    (void)unused;
    puts(".Bl -tag -width Ds");
    for (const struct word_row *row = variable_rows; row->names[0]; row++) {
        fputs(".It Ev", stdout);
        for (int i = 0; row->names[i]; i++)
            printf("%s %s", i ? " ," : "", row->names[i]);
        putchar('\n');
        put_text(row->text);
    }
    puts(".El");
    return true;
}

static void table_put(const char *title, const struct name_table *table)
{
    const struct names names = table_names(table);
    printf("%s:\n", title);
    for (int i = 0; i < names.valid_count; i++)
        printf(".Li %s%s\n", names.valid[i], i + 1 < names.valid_count ? " ," : " .");
}

static bool put_names(const char *unused)
{
    (void)unused;
    table_put("Types", &datatype_table);
    table_put("Operations", &reduction_table);
    return true;
}

/* `any`: has the list of an object begun? */
static void key_put(void *argument, const struct json_key *key)
{
    bool *any = argument;
    if (!key->path[0]) {
        printf("%s.Ss %s\n", *any ? ".El\n" : "", key->name);
        if (key->meaning)
            put_sentence(key->meaning);
        puts(".Bl -tag -width Ds -compact");
        *any = true;
        return;
    }
    printf(".It Li %s Pq %s\n", key->path, key->type);
    if (key->meaning) {
        put_prose(key->meaning, strlen(key->meaning));
        puts(strchr("?.", key->meaning[strlen(key->meaning) - 1]) ? "" : ".");
    }
}

static bool put_keys(const char *unused)
{
    bool any = false;
    (void)unused;
    keys_walk(key_put, &any);
    puts(".El");
    return any;
}

static const struct {
    const char *word;
    bool (*put)(const char *argument);
} directives[] = {
    {"options", put_options},   {"sentences", put_sentences}, {"commands", put_commands},
    {"statuses", put_statuses}, {"variables", put_variables}, {"names", put_names},
    {"keys", put_keys},
};

static bool directive_put(const char *directive)
{
    char word[32];
    size_t length = strcspn(directive, " \n");
    snprintf(word, sizeof word, "%.*s", (int)length, directive);
    char argument[64];
    snprintf(argument, sizeof argument, "%s", directive + length + (directive[length] == ' '));
    argument[strcspn(argument, "\n")] = '\0';
    for (int i = 0; i < LENGTH(directives); i++)
        if (strcmp(word, directives[i].word) == 0)
            return directives[i].put(argument);
    return false;
}

int main(int argc, char **argv)
{
    char line[1024];
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!file) {
        fprintf(stderr, "usage: generate PAGE\n");
        return 2;
    }
    char name[256];
    const char *base = strrchr(argv[1], '/'), *dot = strrchr(argv[1], '.');
    base = base ? base + 1 : argv[1];
    snprintf(name, sizeof name, "%.*s(%s)", (int)strcspn(base, "."), base, dot ? dot + 1 : "1");
    page = name;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, DIRECTIVE, strlen(DIRECTIVE)) != 0) {
            fputs(line, stdout);
        } else if (!directive_put(line + strlen(DIRECTIVE))) {
            fprintf(stderr, "%s: unknown directive: %s", argv[1], line);
            return 1;
        }
    fclose(file);
    return fflush(stdout) == 0 ? 0 : 1;
}

/*
 * help.c - `--help` and `cctest help WORD`, printed from the tables that have the words.
 */

#include "base/io/io.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/info/internal.h"
#include "cli/info/keys.h"
#include "cli/info/words.h"
#include "cli/options/options.h"
#include "collective/formats/formats.h"
#include "predict/topology/topology.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/*
 * Prose in columns, for `help` and `list`.
 */
void text_print(const char *text, int used, int column)
{
    int at = column;
    bool goes_on = used == 0 || used < column;
    printf("%s%*s", goes_on ? "" : "\n", goes_on ? column - used : column, "");
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");
        if (at > column && at + 1 + length > TEXT_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", length, word);
        word += length;
    }
    putchar('\n');
}

const char *text_join(const char *const *strings, int most, char *text, size_t size)
{
    struct text out = text_in(text, size);
    for (int i = 0; i < most && strings[i]; i++)
        text_add(&out, i ? ", %s" : "%s", strings[i]);
    return text;
}

/*
 * Options.
 */
#define HELP_COLUMN 30
#define TEXT_COLUMN 6
#define HELP_MOST   1024 /* bytes of a sentence; the longest has half of that */

/* The sentence of an option, with its default. */
static const char *help_text(const struct option_row *row, unsigned command, char text[HELP_MOST])
{
    const char *standard = option_standard(row, command);
    snprintf(text, HELP_MOST, "%s%s%s%s", option_help(row, command), standard ? " (" : "",
             standard ? standard : "", standard ? ")" : "");
    return text;
}

static void print_option(const struct option_row *row, unsigned command)
{
    char text[HELP_MOST];
    int used = row->letter ? printf("  -%c, --%s", row->letter, row->name)
                           : printf("      --%s", row->name);
    if (row->argument)
        used += printf(" %s", row->argument);
    text_print(help_text(row, command, text), used, HELP_COLUMN);
}

static void print_options(unsigned command)
{
    for (int group = 0; group < GROUPS; group++) {
        bool titled = false;
        for (const struct option_row *row = option_table; row->name; row++) {
            if ((int)row->group != group || !(row->commands & command))
                continue;
            if (!titled)
                printf("\n%s:\n", option_group_titles[group]);
            titled = true;
            print_option(row, command);
        }
    }
}

/* The paragraphs and lists of an option, or of a variable. */
static void print_text(const char *text)
{
    char body[4096];
    struct option_block block;
    while (option_block_next(&text, &block)) {
        if (block.is_first)
            putchar('\n');
        snprintf(body, sizeof body, "%.*s", block.body_length, block.body);
        if (block.word)
            text_print(body, printf("%*s%.*s", TEXT_COLUMN, "", block.word_length, block.word),
                       HELP_COLUMN);
        else
            text_print(body, 0, TEXT_COLUMN);
    }
}

/* All that its row says: for each command that means something else by it, too. */
static void print_option_whole(const struct option_row *row)
{
    char text[HELP_MOST], form[HELP_MOST], variable[VARIABLE_MOST];
    struct text takers = text_in(text, sizeof text);
    print_option(row, 0);
    for (const struct command *command = commands; command->name; command++) {
        if (!(row->commands & command->bit))
            continue;
        const char *name = command->bit == FOR_RUN ? "run" : command->name;
        text_add(&takers, "%s%s", takers.used ? ", " : "Commands: ", name);
        if (option_help(row, command->bit) != row->help) {
            int used = printf("%*s%s:", TEXT_COLUMN, "", name);
            text_print(help_text(row, command->bit, form), used, HELP_COLUMN);
        }
    }
    putchar('\n');
    print_text(row->text);
    printf(row->text ? "\n" : "");
    text_add(&takers, ".");
    if (row->kind != &kind_command)
        text_add(&takers, " In the environment: %s.", option_variable(row, variable));
    text_print(text, 0, TEXT_COLUMN);
}

/*
 * `--help`, and what a command or a collective takes.
 */
/* The names of a table, from column `column` on. */
static void print_names(const char *title, const struct name_table *table, int column)
{
    char text[1024];
    const struct names names = table_names(table);
    text_print(text_join(names.valid, NAMED_MOST, text, sizeof text), printf("%s:", title), column);
}

#define OVERVIEW_COLUMN 41

/* 28 lines at most: what fits on a screen. */
static void print_overview(void)
{
    static const char *const often[] = {"algorithm",  "datatype",  "min-bytes", "max-bytes",
                                        "iterations", "transport", "memory",    "np"};
    puts("cctest " CCTEST_VERSION
         ": runs collectives by any algorithm, and checks and times them\n");
    for (const struct command *command = commands; command->name; command++)
        text_print(command->summary, printf("  cctest %s", command->synopsis), OVERVIEW_COLUMN);
    puts("\nOften used:");
    for (int i = 0; i < LENGTH(often); i++) {
        const struct option_row *row = option_find(often[i]);
        int used = row->letter ? printf("  -%c, --%s", row->letter, row->name)
                               : printf("  --%s", row->name);
        text_print(row->brief, used + printf(" %s", row->argument), OVERVIEW_COLUMN);
    }
    puts("\nRead on: cctest help run (all options); cctest help WORD (a command, collective,\n"
         "algorithm, option, transport, datatype, topology, key, status, ...); man cctest");
}

/* The names and options that every run takes. */
static void print_run(void)
{
    putchar('\n');
    print_names("Datatypes", &datatype_table, 12);
    print_names("Operations", &reduction_table, 12);
    print_names("Transports", &transport_table, 12);
    print_options(FOR_RUN);
    putchar('\n');
    text_print(
        "K, M, G, T are powers of 1024, as are KB and KiB. `cctest help OPTION` says more of "
        "each, and which variable of the environment sets it.",
        0, 0);
}

static void print_collective(const struct collective *collective)
{
    printf("cctest %s [options]\n  %s\n\nAlgorithms (see `cctest list %s`; without -a, cctest "
           "picks one by size):\n",
           collective->name, collective->summary, collective->name);
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective->id))
            text_print(algorithms[i]->summary, printf("  %s", algorithms[i]->name), HELP_COLUMN);
    print_run();
}

static enum status print_several(const char *list)
{
    struct request *request = new_array(1, sizeof *request);
    enum status status = collectives_read(list, request);
    if (status == STATUS_OK) {
        printf("cctest %s [options]\n  %s\n\nCollectives (see `cctest help COLLECTIVE`):\n", list,
               commands->summary);
        for (int i = 0; request->job.collectives[i]; i++)
            text_print(request->job.collectives[i]->summary,
                       printf("  %s", request->job.collectives[i]->name), HELP_COLUMN);
        print_run();
    }
    free(request);
    return status;
}

/*
 * The kinds of words that `cctest help WORD` explains.
 */
struct subject {
    /* Prints what the word means. False, without a line: it is no word of this kind. */
    bool (*explain)(const char *word);
    void (*name)(struct names *names); /* adds the words of this kind */
};

static bool explain_command(const char *word)
{
    for (const struct command *command = commands; command->name; command++) {
        const char *name = command->bit == FOR_RUN ? "run" : command->name;
        if (strcmp(word, name) != 0)
            continue;
        printf("cctest %s\n  %s\n", command->synopsis, command->summary);
        if (command->bit == FOR_RUN)
            print_run();
        else
            print_options(command->bit);
        return true;
    }
    return false;
}

static void name_commands(struct names *names)
{
    names_add(names, "run", NULL, 0);
    for (const struct command *command = commands + 1; command->name; command++)
        names_add(names, command->name, NULL, 0);
}

static bool explain_collective(const char *word)
{
    const struct collective *collective = collective_find(word);
    if (collective)
        print_collective(collective);
    return collective;
}

static void name_collectives(struct names *names)
{
    *names = table_names(&collective_table);
}

static bool explain_algorithm(const char *word)
{
    if (is_algorithm(word))
        list_algorithm(word);
    return is_algorithm(word);
}

static void name_algorithms(struct names *names)
{
    for (int i = 0; algorithms[i]; i++)
        names_add(names, algorithms[i]->name, algorithms[i]->aliases, ALGORITHM_ALIASES_MOST);
}

/* By its name, or its letter. */
static bool explain_option(const char *word)
{
    bool found = false;
    for (const struct option_row *row = option_table; row->name; row++)
        if (strcmp(word, row->name) == 0 || (word[0] == row->letter && word[0] && !word[1])) {
            printf(found ? "\n" : "");
            print_option_whole(row);
            found = true;
        }
    return found;
}

static void name_options(struct names *names)
{
    for (const struct option_row *row = option_table; row->name; row++)
        names_add(names, row->name, NULL, 0);
}

/* A transport with its options, or one of these. */
static bool explain_transport(const char *word)
{
    bool found = false;
    for (int i = 0; transports[i]; i++) {
        const struct transport_option *option = transports[i]->options;
        bool is_named = strcmp(word, transports[i]->name) == 0;
        if (is_named)
            text_print(transports[i]->summary, printf("  %s", transports[i]->name), HELP_COLUMN);
        for (; option && option->name; option++)
            if (is_named || strcmp(word, option->name) == 0) {
                found = true;
                text_print(
                    option->help,
                    printf("    %s:%s=%s", transports[i]->name, option->name, option->values),
                    HELP_COLUMN);
            }
        found |= is_named;
    }
    return found;
}

static void name_transports(struct names *names)
{
    for (int i = 0; transports[i]; i++) {
        const struct transport_option *option = transports[i]->options;
        names_add(names, transports[i]->name, NULL, 0);
        for (; option && option->name; option++)
            names_add(names, option->name, NULL, 0);
    }
}

static bool explain_datatype(const char *word)
{
    const struct datatype *datatype = datatype_find(word);
    const char *also[LENGTH(datatype->aliases) + 1] = {NULL};
    char text[256];
    if (!datatype)
        return false;
    memcpy(also, datatype->aliases, sizeof datatype->aliases);
    printf("  %s: a type of elements (-d), %zu byte%s each%s%s\n", datatype->name, datatype->size,
           plural((long long)datatype->size), also[0] ? "; also called " : "",
           text_join(also, LENGTH(datatype->aliases), text, sizeof text));
    return true;
}

static void name_datatypes(struct names *names)
{
    *names = table_names(&datatype_table);
}

static bool explain_operation(const char *word)
{
    const struct reduction *reduction = reduction_find(word);
    char text[1024];
    struct text types = text_in(text, sizeof text);
    if (!reduction)
        return false;
    for (int i = 0; datatypes[i]; i++)
        if (!reduce_refusal(datatypes[i], reduction))
            text_add(&types, "%s%s", types.used ? ", " : "", datatypes[i]->name);
    text_print(text, printf("  %s: combines elements (-o), of", reduction->name), HELP_COLUMN);
    return true;
}

static void name_operations(struct names *names)
{
    *names = table_names(&reduction_table);
}

static void topology_take(const char *term, const char *help)
{
    if (*help)
        text_print(help, printf("  %s", term), HELP_COLUMN);
    else
        printf("  %s\n", term);
}

static bool explain_topology(const char *word)
{
    bool all = strcmp(word, "topology") == 0;
    if (all)
        puts("  Networks that --topology of predict takes, and their keys:");
    return topology_help(all ? NULL : word, topology_take);
}

static void name_topologies(struct names *names)
{
    topology_names(names);
}

/* "status" or "exit": all of them; else by the number, or by the word that JSON has. */
static bool explain_status(const char *word)
{
    bool found = false;
    for (const struct status_row *row = status_rows; row->meaning; row++) {
        char number[16];
        snprintf(number, sizeof number, "%d", row->status);
        if (strcmp(word, "status") != 0 && strcmp(word, "exit") != 0 && strcmp(word, number) != 0 &&
            strcmp(word, status_word(row->status)) != 0)
            continue;
        printf(found ? "" : "  Exit status, and \"status\" in JSON:\n");
        text_print(row->meaning, printf("    %3d  %s", row->status, status_word(row->status)),
                   HELP_COLUMN);
        found = true;
    }
    return found;
}

static void name_statuses(struct names *names)
{
    names_add(names, "status", NULL, 0);
    names_add(names, "exit", NULL, 0);
    for (const struct status_row *row = status_rows; row->meaning; row++)
        names_add(names, status_word(row->status), NULL, 0);
}

/* Variables have capitals; terms may have any. */
static bool explain_row(const struct word_row *rows, const char *word)
{
    bool exact = rows == variable_rows;
    char names[512];
    for (const struct word_row *row = rows; row->names[0]; row++)
        for (int i = 0; row->names[i]; i++)
            if (exact ? strcmp(word, row->names[i]) == 0 : name_equal(word, row->names[i])) {
                printf("  %s\n", text_join(row->names, SYNONYMS_MOST, names, sizeof names));
                print_text(row->text);
                return true;
            }
    return false;
}

static void name_rows(const struct word_row *rows, struct names *names)
{
    for (const struct word_row *row = rows; row->names[0]; row++)
        for (int i = 0; row->names[i]; i++)
            if (!names_have(names, row->names[i]))
                names_add(names, row->names[i], NULL, 0);
}

/* One that words.h has, or that of an option. */
static bool explain_variable(const char *word)
{
    char variable[VARIABLE_MOST];
    for (const struct option_row *row = option_table; row->name; row++)
        if (strcmp(word, option_variable(row, variable)) == 0)
            return explain_option(row->name);
    return explain_row(variable_rows, word);
}

static void name_variables(struct names *names)
{
    name_rows(variable_rows, names);
}

static bool explain_term(const char *word)
{
    return explain_row(term_rows, word);
}

static void name_terms(struct names *names)
{
    name_rows(term_rows, names);
}

/* Keys of JSON; options have a kind of their own. */
struct key_search {
    const char *word;
    bool found;
    bool in_object; /* one of the key's name, whose keys follow */
};

static bool is_option_key(const struct json_key *key)
{
    return strstr(key->object, "options") != NULL;
}

/* A key may have its unit behind its name: busbw_GBps. */
static bool is_key(const char *key, const char *word)
{
    static const char *const units[] = {"", "_GBps", "_us", "_ns", "_bytes"};
    size_t length = strlen(word);
    for (int i = 0; i < LENGTH(units); i++)
        if (strncmp(key, word, length) == 0 && strcmp(key + length, units[i]) == 0)
            return true;
    return false;
}

static void key_explain(void *argument, const struct json_key *key)
{
    struct key_search *search = argument;
    char text[1024];
    if (!key->path[0])
        search->in_object = search->found && strcmp(search->word, key->name) == 0;
    bool is_meant = is_key(key->name, search->word) && !is_option_key(key);
    if (!key->path[0] || !(is_meant || search->in_object))
        return;
    printf(search->found ? "" : "  Key of JSON (man 5 cctest-json):\n");
    snprintf(text, sizeof text, "%s (%s)", key->meaning ? key->meaning : "", key->type);
    text_print(text, printf("    %s.%s", key->object, key->path), HELP_COLUMN);
    search->found = true;
}

static bool explain_key(const char *word)
{
    struct key_search search = {.word = word};
    keys_walk(key_explain, &search);
    return search.found;
}

static void key_name(void *argument, const struct json_key *key)
{
    struct names *names = argument;
    if (key->path[0] && !is_option_key(key) && !names_have(names, key->name))
        names_add(names, key->name, NULL, 0);
}

static void name_keys(struct names *names)
{
    keys_walk(key_name, names);
}

/* The schema itself, as it is installed. */
#define SCHEMA_WORD "schema.json"

static bool explain_schema(const char *word)
{
    if (strcmp(word, SCHEMA_WORD) != 0)
        return false;
    schema_print();
    return true;
}

static void name_schema(struct names *names)
{
    names_add(names, SCHEMA_WORD, NULL, 0);
}

static const struct subject subjects[] = {
    {explain_command, name_commands},     {explain_collective, name_collectives},
    {explain_algorithm, name_algorithms}, {explain_option, name_options},
    {explain_transport, name_transports}, {explain_datatype, name_datatypes},
    {explain_operation, name_operations}, {explain_term, name_terms},
    {explain_topology, name_topologies},  {explain_key, name_keys},
    {explain_schema, name_schema},        {explain_status, name_statuses},
    {explain_variable, name_variables},
};

void help_words(void (*take)(void *argument, const char *word), void *argument)
{
    struct names *names = new_array(LENGTH(subjects), sizeof *names);
    for (int i = 0; i < LENGTH(subjects); i++) {
        subjects[i].name(&names[i]);
        for (int n = 0; n < names[i].valid_count; n++)
            take(argument, names[i].valid[n]);
    }
    free(names);
}

struct word_list {
    const char **words; /* ended by NULL */
    int count;
};

static void word_take(void *argument, const char *word)
{
    struct word_list *list = argument;
    list->words[list->count++] = word;
}

/* Fails with the nearest three words. */
#define NEAREST 3

static enum status unknown_word(const char *word)
{
    char near[256];
    const char *nearest;
    struct text text = text_in(near, sizeof near);
    struct word_list list = {new_array(LENGTH(subjects) * NAMED_MOST + 1, sizeof *list.words), 0};
    help_words(word_take, &list);
    for (int i = 0; i < NEAREST && (nearest = name_nearest_within(word, list.words, 2)); i++) {
        int kept = 0;
        text_add(&text, "%s'%s'", i ? ", " : "; did you mean ", nearest);
        for (int n = 0; n < list.count; n++) /* each is offered once */
            if (strcmp(list.words[n], nearest) != 0)
                list.words[kept++] = list.words[n];
        list.words[list.count = kept] = NULL;
    }
    free(list.words);
    if (program_way(word))
        return unknown_command(word);
    return fail(STATUS_USAGE,
                "'%.*s' is no command, collective, algorithm, option, variable, key or other word "
                "of cctest%s%s",
                ITEM_MOST / 2, word, near, near[0] ? "?" : ": see `cctest help`");
}

enum status help_command(const struct command_line *line, struct request *request)
{
    (void)request;
    /* `cctest help X`, `cctest X --help`, or `cctest --help`. */
    int index = line->command && line->command->bit == FOR_HELP ? 1 : 0;
    if (index >= line->word_count) {
        print_overview();
        return STATUS_OK;
    }
    const char *word = line->words[index];
    if (strchr(word, ',') || strcmp(word, "all") == 0)
        return print_several(word);
    bool found = false;
    for (int i = 0; i < LENGTH(subjects); i++)
        found |= subjects[i].explain(word);
    return found ? STATUS_OK : unknown_word(word);
}

/*
 * The transports and their options, for `list` and `help`.
 */
#define OPTION_WORDS_MOST 64 /* of an option; more than any has */

void transports_print(void)
{
    puts("Transports, each with its options (-x NAME:OPTION=VALUE:...):");
    for (int i = 0; transports[i]; i++) {
        text_print(transports[i]->summary, printf("  %s", transports[i]->name), HELP_COLUMN);
        const struct transport_option *option = transports[i]->options;
        for (; option && option->name; option++)
            text_print(option->help, printf("    %s=%s", option->name, option->values),
                       HELP_COLUMN);
    }
}

static json_t *option_json(const struct transport_option *option)
{
    static const char *const kinds[] = {[TRANSPORT_OPTION_NUMBER] = "number",
                                        [TRANSPORT_OPTION_WORD] = "word",
                                        [TRANSPORT_OPTION_TEXT] = "text"};
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:b}", "name", option->name, "kind", kinds[option->kind],
                  "values", option->values, "help", option->help, "per_rank", option->per_rank);
    if (option->kind == TRANSPORT_OPTION_NUMBER) {
        json_object_set_new(object, "least", json_integer(option->least));
        json_object_set_new(object, "most", json_integer(option->most));
    }
    if (option->kind == TRANSPORT_OPTION_WORD)
        json_object_set_new(object, "words", json_strings(option->words, OPTION_WORDS_MOST));
    return object;
}

json_t *transports_json(void)
{
    json_t *list = json_array();
    for (int i = 0; transports[i]; i++) {
        json_t *options = json_array();
        const struct transport_option *option = transports[i]->options;
        for (; option && option->name; option++)
            json_array_append_new(options, option_json(option));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o}", "name", transports[i]->name, "summary",
                                        transports[i]->summary, "options", options));
    }
    return list;
}

/*
 * help.c - `--help` and `cctest help`, printed from the tables of options, algorithms and
 * transports.
 */

#include "base/io/io.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/info/internal.h"
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
 * `--help` and `cctest help`.
 */
#define HELP_COLUMN 30

static void print_option(const struct option_row *row)
{
    char text[1024];
    int used = row->letter ? printf("  -%c, --%s", row->letter, row->name)
                           : printf("      --%s", row->name);
    if (row->argument)
        used += printf(" %s", row->argument);
    const char *standard = row->standard ? row->standard : row->standard_note;
    snprintf(text, sizeof text, "%s%s%s%s", row->help, standard ? " (" : "",
             standard ? standard : "", standard ? ")" : "");
    text_print(text, used, HELP_COLUMN);
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
            print_option(row);
        }
    }
}

/* The names of a table, from column `column` on. */
static void print_names(const char *title, const struct name_table *table, int column)
{
    char text[1024];
    const struct names names = table_names(table);
    text_print(text_join(names.valid, NAMED_MOST, text, sizeof text), printf("%s:", title), column);
}

/* The values of -d and -o. */
static void print_values(void)
{
    print_names("Datatypes", &datatype_table, 12);
    print_names("Operations", &reduction_table, 12);
}

static void print_overview(void)
{
    puts("cctest " CCTEST_VERSION
         ": runs collective operations, measures the speed, and checks every byte of 2 more\n"
         "iterations of each size (-c N), or of those that it times (-c all).\n");
    for (const struct command *command = commands; command->name; command++) {
        int used = printf("  cctest %s", command->synopsis);
        text_print(command->summary, used, HELP_COLUMN);
    }
    putchar('\n');
    print_names("Collectives", &collective_table, 13);
    print_values();
    putchar('\n');
    transports_print(HELP_COLUMN);
    print_options(FOR_RUN);
    puts("\nK, M, G, T are powers of 1024, as are KB and KiB. Each option can also be set in the "
         "environment:\nCCTEST_MIN_BYTES=4K. Names of nccl-tests and OSU are known, too: "
         "all_reduce_perf --minbytes 8.\n"
         "Exit status: 0 success, 1 failure, 2 usage, 3 wrong data, 4 slower than --min-busbw, "
         "5 timed out\nor a rank lost, 77 not available here, 130 interrupted. More: man cctest");
}

static void print_command(const struct command *command)
{
    printf("cctest %s\n  %s\n", command->synopsis, command->summary);
    print_options(command->bit);
}

/* What every run has. */
static void print_run(void)
{
    putchar('\n');
    print_values();
    putchar('\n');
    transports_print(HELP_COLUMN);
    print_options(FOR_RUN);
}

static void print_collective(const struct collective *collective)
{
    printf("cctest %s [options]\n  %s\n\nAlgorithms (without -a, cctest picks one for each size; "
           "see `cctest list %s`):\n",
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

static void topology_line(void *argument, const char *text)
{
    (void)argument;
    printf("  %s\n", text);
}

enum status help_command(const struct command_line *line, struct request *request)
{
    (void)request;
    /* `cctest help X`, `cctest X --help`, or `cctest --help`. */
    bool asked_for = line->command && line->command->bit == FOR_HELP;
    int index = asked_for ? 1 : 0;
    if (index >= line->word_count) {
        print_overview();
        return STATUS_OK;
    }
    const char *word = line->words[index];
    for (const struct command *command = commands + 1; command->name; command++) {
        if (strcmp(word, command->name) == 0) {
            print_command(command);
            return STATUS_OK;
        }
    }
    const struct option_row *option = option_find(word);
    const struct collective *collective = collective_find(word);
    if (strchr(word, ',') || strcmp(word, "all") == 0)
        return print_several(word);
    if (strcmp(word, "topology") == 0) {
        puts("Topologies of --topology, and their keys:");
        topology_help(topology_line, NULL);
    } else if (option && option->kind == &kind_command) /* version */
        printf("cctest %s\n  %s\n", word, option->help);
    else if (collective)
        print_collective(collective);
    else if (is_algorithm(word))
        list_algorithm(word);
    else
        return unknown_command(word);
    return STATUS_OK;
}

/*
 * The transports and their options, for `list` and `help`.
 */
#define OPTION_WORDS_MOST 64 /* of an option; more than any has */

void transports_print(int column)
{
    puts("Transports, each with the options that follow its name (-x NAME:OPTION=VALUE:...):");
    for (int i = 0; transports[i]; i++) {
        text_print(transports[i]->summary, printf("  %s", transports[i]->name), column);
        const struct transport_option *option = transports[i]->options;
        for (; option && option->name; option++)
            text_print(option->help, printf("    %s=%s", option->name, option->values), column);
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

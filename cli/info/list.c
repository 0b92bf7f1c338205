/*
 * list.c - `cctest list`: the collectives, their algorithms, and the transports, from their own
 * tables.
 *
 * Only an algorithm's refuses() knows which ranks it accepts. So it is called for many numbers of
 * ranks and shapes of groups, and the answers are summarised in words.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/options.h"
#include "base/io/io.h"
#include "cli/info/internal.h"
#include "collective/formats/formats.h"
#include "collective/collective.h"

#define PROBED_MOST 128
#define NAMES_MOST  128
#define TEXT_MOST   2048

/* The ranks that an algorithm accepts. */

static bool accepts(const struct algorithm *algorithm, const struct collective *collective,
                    int ranks, const struct shape *shape)
{
    struct choice choice = choice_of(algorithm);
    struct problem problem = {.collective = collective, .ranks = ranks, .shape = shape};
    char why[256];
    return !choice_refuses(&choice, &problem, why, sizeof why);
}

/* Are all shapes of several groups accepted whose groups have one size (uniform), or different
 * sizes? */
static bool accepts_groups(const struct algorithm *algorithm, const struct collective *collective,
                           bool uniform)
{
    static const int sizes[][4] = {{1, 1}, {2, 2}, {3, 3}, {2, 2, 2}, {4, 4, 4}, {1, 1, 1, 1},
                                   {1, 2}, {3, 2}, {2, 4}, {2, 1, 3}, {4, 4, 2}, {3, 3, 3, 1}};
    bool all = true;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int count = 0, ranks = 0;
        char why[160];
        for (; count < 4 && sizes[i][count]; count++)
            ranks += sizes[i][count];
        struct shape *shape = shape_of_sizes(sizes[i], count, ranks, why, sizeof why);
        if (shape && shape->uniform == uniform)
            all &= accepts(algorithm, collective, ranks, shape);
        shape_free(shape);
    }
    return all;
}

static bool is_power_of_two(int ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

static bool is_even(int ranks)
{
    return ranks % 2 == 0;
}

static bool is_one_or_even(int ranks)
{
    return ranks == 1 || is_even(ranks);
}

static bool is_not_two(int ranks)
{
    return ranks != 2;
}

/* The first accepted numbers of ranks, where no rule describes them. */
static void list_ranks(const bool accepted[PROBED_MOST + 1], char *to, size_t size)
{
    struct text text = text_in(to, size);
    for (int ranks = 1, listed = 0; ranks <= PROBED_MOST && listed <= 4; ranks++) {
        if (!accepted[ranks])
            continue;
        text_add(&text, "%s", listed ? "," : "");
        text_add(&text, listed < 4 ? "%d" : "...", ranks);
        listed++;
    }
}

/* "any", "powers of 2", "groups" ..., for the default options. Returns `text`, or a constant. */
static const char *accepted_ranks(const struct algorithm *algorithm,
                                  const struct collective *collective, char *text, size_t size)
{
    static const struct {
        const char *words;
        bool (*includes)(int ranks);
    } rules[] = {
        {"powers of 2", is_power_of_two},
        {"even", is_even},
        {"1 and even", is_one_or_even},
        {"not 2", is_not_two},
    };
    if (algorithm->grouped)
        return !accepts_groups(algorithm, collective, true)   ? "some groups"
               : accepts_groups(algorithm, collective, false) ? "groups"
                                                              : "equal groups";
    bool accepted[PROBED_MOST + 1], fits[sizeof rules / sizeof *rules];
    int last_refused = 0;
    memset(fits, true, sizeof fits);
    for (int ranks = 1; ranks <= PROBED_MOST; ranks++) {
        accepted[ranks] = accepts(algorithm, collective, ranks, NULL);
        last_refused = accepted[ranks] ? last_refused : ranks;
        for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
            fits[r] &= rules[r].includes(ranks) == accepted[ranks];
    }
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++)
        if (fits[r])
            return rules[r].words;
    int first = 1;
    while (first <= PROBED_MOST && !accepted[first])
        first++;
    if (first <= last_refused)
        list_ranks(accepted, text, size);
    else
        snprintf(text, size, first == 1 ? "any" : "%d or more", first);
    return text;
}

/* Names. */

/* The names of a set of collectives. */
static int collective_names(unsigned set, const char *names[])
{
    int count = 0;
    for (int i = 0; collectives[i]; i++)
        if (set >> collectives[i]->id & 1)
            names[count++] = collectives[i]->name;
    return count;
}

/* Text. */

#define INDENT        6
#define ROUNDS_COLUMN 36
#define SENT_COLUMN   62
#define OPTION_COLUMN 30

/* "radix=N", "first=inter|intra" ..., with the valid values and the default. */
static void print_option(const struct algorithm_option *option)
{
    char text[TEXT_MOST], names[TEXT_MOST];
    const char *served[NAMES_MOST];
    int used = printf("%*s%s=", INDENT, "", option->name);
    switch (option->kind) {
    case OPTION_NUMBER:
        used += printf("N");
        snprintf(text, sizeof text, "%s; %ld to %ld, default %ld", option->help, option->least,
                 option->most, option->standard);
        break;
    case OPTION_WORD:
        for (int i = 0; option->words[i]; i++)
            used += printf("%s%s", i ? "|" : "", option->words[i]);
        snprintf(text, sizeof text, "%s; default %s", option->help,
                 option->words[option->standard]);
        break;
    case OPTION_PART:
        used += printf("A");
        text_join(served, collective_names(option->collectives, served), names, sizeof names);
        snprintf(text, sizeof text, "%s, for %s; default %s", option->help, names,
                 option->standard_part);
        break;
    case OPTION_GROUPS:
        used += printf("N+N+...");
        snprintf(text, sizeof text, "%s", option->help);
        break;
    }
    text_print(text, used, OPTION_COLUMN);
}

static void print_also(const char *const *names, int most, int column)
{
    char text[TEXT_MOST] = "also called ";
    size_t used = strlen(text);
    if (!names[0])
        return;
    text_join(names, most, text + used, sizeof text - used);
    text_print(text, 0, column);
}

static void print_algorithm(const struct algorithm *algorithm, const struct collective *collective)
{
    char text[TEXT_MOST];
    int used = printf("  %-20s", algorithm->name);
    used += printf("%-14s", accepted_ranks(algorithm, collective, text, sizeof text));
    used += printf("%s", algorithm->rounds);
    text_print(algorithm->sent, used, SENT_COLUMN);
    text_print(algorithm->summary, 0, INDENT);
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        print_option(&algorithm->options[i]);
    print_also(algorithm->aliases, ALGORITHM_ALIASES_MOST, INDENT);
    if (algorithm->users) {
        snprintf(text, sizeof text, "used by %s", algorithm->users);
        text_print(text, 0, INDENT);
    }
}

/* `only`: the one algorithm to describe, or NULL. */
static void print_collective(const struct collective *collective, const struct algorithm *only)
{
    printf("%s: %s\n", collective->name, collective->summary);
    print_also(collective->aliases, COLLECTIVE_ALIASES_MOST, 2);
    printf("\n  %-20s%-14s%-*sELEMENTS SENT\n", "ALGORITHM", "RANKS", SENT_COLUMN - ROUNDS_COLUMN,
           "ROUNDS");
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective->id) && (!only || only == algorithms[i]))
            print_algorithm(algorithms[i], collective);
    putchar('\n');
}

/* The symbols of the formulas. */
static void print_legend(void)
{
    text_print(
        "p: ranks; P: the largest power of the base (2, or k) up to p; N nodes of L ranks (ahc: G "
        "nodes of m to M ranks); C: concurrency=; b: elements of a block; n: elements of a vector. "
        "Elements sent are those of the busiest rank. RS, AG, AR: reduce_scatter, allgather, "
        "allreduce; inter: between the nodes, in the others inside. Options follow the name, "
        "options of a part follow a dot: bruck:radix=4, "
        "hier:inter=recexch:inter.radix=4:groups=2+3.",
        0, 0);
}

static void print_overview(void)
{
    for (int c = 0; collectives[c]; c++) {
        const struct collective *collective = collectives[c];
        const char *names[NAMES_MOST];
        char text[TEXT_MOST];
        int count = 0;
        for (int i = 0; algorithms[i] && count < NAMES_MOST; i++)
            if (algorithm_serves(algorithms[i], collective->id))
                names[count++] = algorithms[i]->name;
        printf("%s: %s\n", collective->name, collective->summary);
        print_also(collective->aliases, COLLECTIVE_ALIASES_MOST, 2);
        text_print(text_join(names, count, text, sizeof text), 0, 4);
        putchar('\n');
    }
    transports_print();
    putchar('\n');
    text_print(
        "`cctest list COLLECTIVE` describes its algorithms, `cctest list COLLECTIVE ALGORITHM` one "
        "of them, `cctest list ALGORITHM` all collectives that have it. Without -a, or with -a "
        "auto, a rule of thumb picks an algorithm for each size, "
        "and the table shows the choice and the reason; -a all runs all of them and compares them; "
        "-a file:PATH runs the schedules of a file, which are proven first. "
        "nccl "
        "is NVIDIA's library, not cctest's own: only its name runs it.",
        0, 0);
}

/* JSON. */

/* The algorithms that may be the part: flat ones that serve all of its collectives. */
static json_t *parts_json(const struct algorithm_option *option)
{
    json_t *names = json_array();
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_is_part(algorithms[i], option))
            json_array_append_new(names, json_string(algorithms[i]->name));
    return names;
}

static json_t *option_json(const struct algorithm_option *option)
{
    static const char *const kinds[] = {[OPTION_NUMBER] = "number",
                                        [OPTION_WORD] = "word",
                                        [OPTION_PART] = "part",
                                        [OPTION_GROUPS] = "groups"};
    json_t *object = json_pack("{s:s, s:s, s:s}", "name", option->name, "kind", kinds[option->kind],
                               "help", option->help);
    const char *served[NAMES_MOST];
    switch (option->kind) {
    case OPTION_NUMBER:
        json_object_set_new(object, "least", json_integer(option->least));
        json_object_set_new(object, "most", json_integer(option->most));
        json_object_set_new(object, "default", json_integer(option->standard));
        break;
    case OPTION_WORD:
        json_object_set_new(object, "words", json_strings(option->words, NAMES_MOST));
        json_object_set_new(object, "default", json_string(option->words[option->standard]));
        break;
    case OPTION_PART:
        json_object_set_new(object, "collectives",
                            json_strings(served, collective_names(option->collectives, served)));
        json_object_set_new(object, "parts", parts_json(option));
        json_object_set_new(object, "default", json_string(option->standard_part));
        break;
    case OPTION_GROUPS:
        json_object_set_new(object, "default", json_null());
        break;
    }
    return object;
}

static json_t *algorithm_json(const struct algorithm *algorithm,
                              const struct collective *collective)
{
    char text[TEXT_MOST];
    json_t *options = json_array();
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        json_array_append_new(options, option_json(&algorithm->options[i]));
    return json_pack("{s:s, s:b, s:o, s:s, s:s, s:b, s:s?, s:s?, s:s?, s:o}", "name",
                     algorithm->name, "vendor", algorithm->vendor != NULL, "aliases",
                     json_strings(algorithm->aliases, ALGORITHM_ALIASES_MOST), "summary",
                     algorithm->summary, "ranks",
                     accepted_ranks(algorithm, collective, text, sizeof text), "grouped",
                     algorithm->grouped, "rounds", algorithm->rounds, "sent", algorithm->sent,
                     "users", algorithm->users, "options", options);
}

static json_t *collective_json(const struct collective *collective, const struct algorithm *only)
{
    json_t *list = json_array();
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective->id) && (!only || only == algorithms[i]))
            json_array_append_new(list, algorithm_json(algorithms[i], collective));
    return json_pack("{s:s, s:o, s:s, s:b, s:b, s:b, s:o}", "name", collective->name, "aliases",
                     json_strings(collective->aliases, COLLECTIVE_ALIASES_MOST), "summary",
                     collective->summary, "reduces", collective->reduces, "rooted",
                     collective->rooted, "counted", collective->counted, "algorithms", list);
}

/* Is the collective asked for? `asked`: those that are, ended by NULL; none: all. `name`: of an
 * algorithm that it must have, or NULL. */
static bool is_asked(const struct collective *collective, const struct collective *const *asked,
                     const char *name)
{
    bool listed = !asked[0];
    for (int i = 0; asked[i]; i++)
        listed |= collective == asked[i];
    return listed && (!name || algorithm_find(collective->id, name));
}

/* Describes what is asked for, as in is_asked(). */
static void print_asked(const struct collective *const *asked, const char *name)
{
    for (int i = 0; collectives[i]; i++)
        if (is_asked(collectives[i], asked, name))
            print_collective(collectives[i],
                             name ? algorithm_find(collectives[i]->id, name) : NULL);
    print_legend();
}

static json_t *asked_json(const struct collective *const *asked, const char *name)
{
    json_t *list = json_array();
    for (int i = 0; collectives[i]; i++)
        if (is_asked(collectives[i], asked, name))
            json_array_append_new(
                list, collective_json(collectives[i],
                                      name ? algorithm_find(collectives[i]->id, name) : NULL));
    return list;
}

void list_algorithm(const char *name)
{
    print_asked((const struct collective *const[]){NULL}, name);
}

enum status list_command(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    /* `list COLLECTIVE [ALGORITHM]` or `list ALGORITHM` */
    int index = job->collectives[0] ? 2 : 1;
    const char *name = index < line->word_count ? line->words[index] : NULL;
    if (index + 1 < line->word_count)
        return fail(STATUS_USAGE, "'%s' is one word too many: write cctest %s",
                    line->words[index + 1], line->command->synopsis);
    int have = 0;
    for (int i = 0; name && job->collectives[i]; i++)
        have += algorithm_find(job->collectives[i]->id, name) != NULL;
    if (name && job->collectives[0] && have == 0)
        return unknown_algorithm(name, job->collectives);
    bool overview = !job->collectives[0] && !name;
    if (!request->files.json || strcmp(request->files.json, "-") != 0) {
        if (overview)
            print_overview();
        else
            print_asked(job->collectives, name);
    }
    if (!request->files.json)
        return STATUS_OK;
    json_t *document = json_document();
    json_object_set_new(document, "collectives", asked_json(job->collectives, name));
    if (overview)
        json_object_set_new(document, "transports", transports_json());
    enum status status = json_put(document, request->files.json);
    json_decref(document);
    return status;
}

/*
 * list.c - `cctest list`: the collectives and their algorithms, from their own tables.
 *
 * Which numbers of ranks an algorithm accepts is not written anywhere but in its refuses(): it is
 * asked for a range of numbers, and the answers are put into words.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "log.h"
#include "output.h"

#define PROBED_MOST 128

static bool accepts(const struct algorithm *algorithm, const struct collective *collective,
                    int ranks)
{
    struct choice choice = choice_of(algorithm);
    struct problem problem = {.collective = collective, .ranks = ranks};
    char why[256];
    return !choice_refuses(&choice, &problem, why, sizeof why);
}

static bool is_any(int ranks)
{
    return ranks >= 1;
}

static bool is_two_or_more(int ranks)
{
    return ranks >= 2;
}

static bool is_power_of_two(int ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

static bool is_even(int ranks)
{
    return ranks % 2 == 0;
}

/* "any", "powers of 2" ...; with its default options. Returns `text`. */
static const char *accepted_ranks(const struct algorithm *algorithm,
                                  const struct collective *collective, char *text, size_t size)
{
    static const struct {
        const char *words;
        bool (*includes)(int ranks);
    } rules[] = {
        {"any", is_any},
        {"2 or more", is_two_or_more},
        {"powers of 2", is_power_of_two},
        {"even", is_even},
    };
    if (algorithm->grouped)
        return "groups";
    for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
        int ranks = 1;
        while (ranks <= PROBED_MOST &&
               rules[r].includes(ranks) == accepts(algorithm, collective, ranks))
            ranks++;
        if (ranks > PROBED_MOST)
            return rules[r].words;
    }
    size_t used = 0;
    text[0] = '\0';
    for (int ranks = 1; ranks <= PROBED_MOST && used + 8 < size; ranks++)
        if (accepts(algorithm, collective, ranks))
            used += (size_t)snprintf(text + used, size - used, used ? ", %d" : "%d", ranks);
    return text;
}

#define INDENT 22

static void print_names(const char *title, const char *const *names, int most)
{
    for (int i = 0; i < most && names[i]; i++)
        printf("%s%s", i ? ", " : title, names[i]);
    if (names[0])
        putchar('\n');
}

static void print_algorithm(const struct algorithm *algorithm, const struct collective *collective)
{
    char text[64];
    printf("  %-20s%-13s%-26s%s\n", algorithm->name,
           accepted_ranks(algorithm, collective, text, sizeof text), algorithm->rounds,
           algorithm->sent);
    printf("%*s%s\n", INDENT, "", algorithm->summary);
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        printf("%*s:%s=N  %s (%ld to %ld, default %ld)\n", INDENT, "", option->name, option->help,
               option->least, option->most, option->standard);
    }
    char title[INDENT + 32];
    snprintf(title, sizeof title, "%*salso called ", INDENT, "");
    print_names(title, algorithm->aliases, 6);
    if (algorithm->users)
        printf("%*sused by %s\n", INDENT, "", algorithm->users);
}

static void print_collective(const struct collective *collective)
{
    printf("%s: %s\n", collective->name, collective->summary);
    print_names("  also called ", collective->aliases, 4);
    printf("  %-20s%-13s%-26s%s\n", "ALGORITHM", "RANKS", "ROUNDS", "ELEMENTS SENT");
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective->id))
            print_algorithm(algorithms[i], collective);
    putchar('\n');
}

static json_t *algorithm_json(const struct algorithm *algorithm,
                              const struct collective *collective)
{
    char text[64];
    json_t *options = json_array();
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        json_array_append_new(
            options, json_pack("{s:s, s:I, s:I, s:I, s:s}", "name", option->name, "least",
                               (json_int_t)option->least, "most", (json_int_t)option->most,
                               "default", (json_int_t)option->standard, "help", option->help));
    }
    return json_pack("{s:s, s:o, s:s, s:s, s:s?, s:s?, s:s?, s:o}", "name", algorithm->name,
                     "aliases", json_strings(algorithm->aliases, 6), "summary", algorithm->summary,
                     "ranks", accepted_ranks(algorithm, collective, text, sizeof text), "rounds",
                     algorithm->rounds, "sent", algorithm->sent, "users", algorithm->users,
                     "options", options);
}

static json_t *collective_json(const struct collective *collective)
{
    json_t *list = json_array();
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective->id))
            json_array_append_new(list, algorithm_json(algorithms[i], collective));
    return json_pack("{s:s, s:o, s:s, s:b, s:b, s:o}", "name", collective->name, "aliases",
                     json_strings(collective->aliases, 4), "summary", collective->summary,
                     "reduces", collective->reduces, "rooted", collective->rooted, "algorithms",
                     list);
}

enum status list_command(const struct command_line *line, struct job *job)
{
    (void)line;
    if (!job->json || strcmp(job->json, "-") != 0) {
        for (int i = 0; collectives[i]; i++)
            if (!job->collective || job->collective == collectives[i])
                print_collective(collectives[i]);
        puts("p ranks; b elements of a block, n of a vector. Options are written behind the name: "
             "bruck:radix=4.\nThe first algorithm of each is the default.");
    }
    if (!job->json)
        return STATUS_OK;
    json_t *document = json_document(), *list = json_array();
    for (int i = 0; collectives[i]; i++)
        if (!job->collective || job->collective == collectives[i])
            json_array_append_new(list, collective_json(collectives[i]));
    json_object_set_new(document, "collectives", list);
    enum status status = json_put(document, job->json);
    json_decref(document);
    return status;
}

/*
 * complete.c - `cctest complete WORD...`: candidates for the last word, for the shell's completion
 * (completion.bash). They come from the tables that the command line is read with, so cctest
 * accepts each of them.
 *
 * Prints one candidate a line, each a whole word. FILES_TOO means that file names fit, too.
 */
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options/options.h"
#include "collective/formats/formats.h"
#include "host/host.h"

#define FILES_TOO ":files"

/* The word to complete. */
struct word {
    const char *text;
    size_t done; /* bytes of it that are complete: "bruck:radix=4," of a list */
};

/* Prints the word with its end replaced by `name` and `suffix`, if `name` begins with that end. */
static void offer(const struct word *word, const char *name, const char *suffix)
{
    const char *end = word->text + word->done;
    if (strncmp(name, end, strlen(end)) == 0)
        printf("%.*s%s%s\n", (int)word->done, word->text, name, suffix);
}

static void offer_all(const struct word *word, const char *const *names, const char *suffix)
{
    for (int i = 0; names[i]; i++)
        offer(word, names[i], suffix);
}

/* The part behind the last separator remains to be completed. */
static struct word word_behind(struct word word, const char *separators)
{
    const char *from = word.text + word.done;
    for (const char *at = from; *at; at++)
        if (strchr(separators, *at))
            word.done = (size_t)(at + 1 - word.text);
    return word;
}

/* ---- algorithms ---- */

/* "radix=" of an algorithm; `prefix`: "inter." for options of a part. */
static void offer_keys(const struct word *word, const struct algorithm *algorithm,
                       const char *prefix)
{
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        char key[128];
        snprintf(key, sizeof key, "%s%s", prefix, option->name);
        offer(word, key, "=");
        if (option->kind != OPTION_PART)
            continue;
        /* The options of the default part; other parts have options of their own. */
        struct part part = part_of(option, option->standard_part);
        snprintf(key, sizeof key, "%s.", option->name);
        if (part.algorithm)
            offer_keys(word, part.algorithm, key);
    }
}

static void offer_value(const struct word *word, const struct algorithm_option *option)
{
    if (option->kind == OPTION_WORD)
        offer_all(word, option->words, "");
    for (int i = 0; option->kind == OPTION_PART && algorithms[i]; i++)
        if (algorithm_is_part(algorithms[i], option))
            offer(word, algorithms[i]->name, "");
}

/* Behind "name:": keys, or the value of a key. */
static void offer_parameters(struct word word, const struct algorithm *algorithm)
{
    word = word_behind(word, ":");
    const char *key = word.text + word.done, *equals = strchr(key, '=');
    if (!equals) {
        offer_keys(&word, algorithm, "");
        return;
    }
    size_t length = (size_t)(equals - key);
    word.done += length + 1;
    int index = choice_option_index(algorithm, key, length);
    if (index >= 0)
        offer_value(&word, &algorithm->options[index]);
}

static void offer_algorithms(struct word word, const struct collective *collective)
{
    bool first = !strchr(word.text + word.done, ',');
    word = word_behind(word, ",");
    const char *item = word.text + word.done, *colon = strchr(item, ':');
    char name[64];
    if (!collective)
        return;
    if (colon) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - item), item);
        const struct algorithm *algorithm = algorithm_find(collective->id, name);
        if (algorithm)
            offer_parameters(word, algorithm);
        if (file_item_path(item))
            puts(FILES_TOO);
        return;
    }
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_serves(algorithms[i], collective->id))
            offer(&word, algorithms[i]->name, "");
    offer(&word, "file", ":");
    if (first) /* "all" and "auto" stand alone */
        offer_all(&word, (const char *const[]){"all", "auto", NULL}, "");
}

/* ---- values of options ---- */

/* Is `name` a part of the text from `text` to `end`? Parts lie behind `before`; behind the name of
 * one stands a character of `behind`. */
static bool has_part(const char *text, const char *end, char before, const char *name,
                     const char *behind)
{
    size_t length = strlen(name);
    while (text && text < end) {
        if (strncmp(text, name, length) == 0 && text[length] && strchr(behind, text[length]))
            return true;
        text = strchr(text, before);
        text += text != NULL;
    }
    return false;
}

/* Behind "nic=" and each '+': the names in the option's folder that do not stand there yet. */
static void offer_folder(struct word word, const struct transport_option *option)
{
    const char *value = word.text + word.done;
    char **names;
    int count = option->folder ? sysfs_names(&names, "%s", option->folder) : 0;
    word = word_behind(word, "+");
    for (int i = 0; i < count; i++)
        if (!has_part(value, word.text + word.done, '+', names[i], "+:"))
            offer(&word, names[i], "");
    if (count > 0)
        sysfs_names_free(names, count);
}

/* Behind "name:": the transport's options that are not given yet, or the values of one. */
static void offer_settings(struct word word, const struct transport *transport)
{
    const struct transport_option *options = transport->options;
    const char *item = word.text + word.done, *equals = strrchr(item, '=');
    struct word last = word_behind(word, ":");
    const char *part = last.text + last.done;
    for (int i = 0; options && !strpbrk(part, "=+") && options[i].name; i++)
        if (!has_part(item, part, ':', options[i].name, "="))
            offer(&last, options[i].name, "=");
    if (!options || !equals || !strpbrk(part, "=+"))
        return;
    const char *key = equals;
    while (key > item && key[-1] != ':')
        key--;
    int index = transport_option_index(transport, key, (size_t)(equals - key));
    word.done = (size_t)(equals + 1 - word.text);
    if (index >= 0 && options[index].kind == TRANSPORT_OPTION_WORD)
        offer_all(&word, options[index].words, "");
    else if (index >= 0)
        offer_folder(word, &options[index]);
}

static void offer_transports(struct word word)
{
    bool first = !strchr(word.text + word.done, ',');
    word = word_behind(word, ",");
    const char *item = word.text + word.done, *colon = strchr(item, ':');
    char name[64];
    if (colon) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - item), item);
        const struct transport *transport = transport_find(name);
        if (transport)
            offer_settings(word, transport);
        return;
    }
    for (int i = 0; transports[i]; i++)
        offer(&word, transports[i]->name, "");
    if (first)
        offer(&word, "auto", "");
}

/* "kill:", then "rank=" and "iteration=". */
static void offer_faults(struct word word)
{
    word = word_behind(word, ",");
    const char *item = word.text + word.done, *colon = strchr(item, ':'), *name, *second;
    for (int i = 0; (name = inject_fault(i, &second)); i++) {
        if (!colon) {
            offer(&word, name, ":");
        } else if (strlen(name) == (size_t)(colon - item) &&
                   strncmp(name, item, strlen(name)) == 0) {
            const struct word key = word_behind(word, ":");
            offer_all(&key, (const char *const[]){"rank", second, NULL}, "=");
        }
    }
}

static void offer_devices(const struct word *word)
{
    struct if_nameindex *devices = if_nameindex();
    for (int i = 0; devices && devices[i].if_name; i++)
        offer(word, devices[i].if_name, "");
    if (devices)
        if_freenameindex(devices);
}

static void offer_values(const struct word *word, const struct option_row *row,
                         const struct collective *collective)
{
    const struct option_kind *kind = row->kind;
    if (row->words)
        offer_all(word, row->words, "");
    else if (kind == &kind_algorithm)
        offer_algorithms(*word, collective);
    else if (kind == &kind_transport)
        offer_transports(*word);
    else if (row->word)
        offer(word, row->word, "");
    else if (kind == &kind_inject)
        offer_faults(*word);
    else if (kind == &kind_device)
        offer_devices(word);
    if (row->file != FILE_NONE)
        puts(FILES_TOO);
    const struct word item = word_behind(*word, ",");
    if (kind == &kind_list && item.done == word->done)
        offer(word, "all", "");
    if (row->table)
        offer_all(kind == &kind_list ? &item : word, table_names(row->table).valid, "");
}

/* ---- words ---- */

/* The row of "-x", "--name" or "--name=value" of a command. */
static const struct option_row *row_of_word(const char *word, unsigned command)
{
    for (const struct option_row *row = option_table; row->name; row++) {
        size_t length = strlen(row->name);
        if (word[0] == '-' && row->letter && word[1] == row->letter && !word[2])
            return row;
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, row->name, length) == 0 &&
            (!word[2 + length] || word[2 + length] == '='))
            return option_of(row->name, command);
    }
    return NULL;
}

/* Is the next word the value of this option? */
static bool takes_next(const char *word, unsigned command)
{
    const struct option_row *row = row_of_word(word, command);
    return row && row->argument && !strchr(word, '=');
}

static void offer_options(const struct word *word, unsigned command)
{
    char flag[64];
    for (const struct option_row *row = option_table; row->name; row++) {
        if (!(row->commands & command))
            continue;
        snprintf(flag, sizeof flag, "--%s", row->name);
        offer(word, flag, "");
        snprintf(flag, sizeof flag, "-%c", row->letter);
        if (row->letter && !word->text[1])
            offer(word, flag, "");
    }
}

/* `several`: a list of them, or "all". */
static void offer_collectives(struct word word, bool several)
{
    if (several && !strchr(word.text, ','))
        offer(&word, "all", "");
    if (several)
        word = word_behind(word, ",");
    for (int i = 0; collectives[i]; i++) {
        offer(&word, collectives[i]->name, "");
        for (int a = 0;
             word.text[word.done] && a < COLLECTIVE_ALIASES_MOST && collectives[i]->aliases[a]; a++)
            offer(&word, collectives[i]->aliases[a], "");
    }
}

/* The first of a list; NULL: there is none of that name. */
static const struct collective *first_collective(const char *list)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(list, ","), list);
    return collective_find(name);
}

static void offer_help(void *word, const char *name)
{
    offer(word, name, "");
}

/* A word that is not an option, after `count` such words. */
static void offer_words(const struct word *word, const struct command *command, int count,
                        const struct collective *collective)
{
    struct word wanted = *word;
    if (command && (command->bit & (FOR_REPORT | FOR_GUIDELINES))) {
        puts(FILES_TOO);
        return;
    }
    if (command && command->bit == FOR_HELP && count == 1) {
        help_words(offer_help, &wanted);
        return;
    }
    for (const struct command *other = commands + 1; count == 0 && other->name; other++)
        offer(word, other->name, "");
    if (count == 0 || (command && count == 1 && command->words_most > 1))
        offer_collectives(*word, count == 0 || command->bit & (FOR_PLAN | FOR_PREDICT | FOR_TUNE));
    if (command && command->bit == FOR_LIST && count == 2 && collective)
        for (int i = 0; algorithms[i]; i++)
            if (algorithm_serves(algorithms[i], collective->id))
                offer(word, algorithms[i]->name, "");
}

/* NULL: there is no word yet, so it may be that of a run. */
static unsigned command_bit(const struct command *command)
{
    return command ? command->bit : FOR_RUN;
}

void complete_words(int count, char **words)
{
    const struct command *command = NULL;
    const struct collective *collective = NULL;
    const char *before = ""; /* an option whose value is the next word */
    int plain = 0;
    for (int i = 0; i + 1 < count; i++) {
        const char *word = words[i];
        bool value = before[0] != '\0';
        before = !value && takes_next(word, command_bit(command)) ? word : "";
        if (value || word[0] == '-')
            continue;
        for (const struct command *other = commands + 1; plain == 0 && other->name; other++)
            if (strcmp(word, other->name) == 0)
                command = other;
        if (!collective)
            collective = first_collective(word);
        plain++;
    }
    if (plain > 0 && !command)
        command = commands;
    struct word word = {.text = count > 0 ? words[count - 1] : ""};
    const struct option_row *row =
        row_of_word(before[0] ? before : word.text, command_bit(command));
    const char *equals = strchr(word.text, '=');
    if (!before[0] && word.text[0] == '-' && row && equals)
        word.done = (size_t)(equals + 1 - word.text);
    if (before[0] || word.done > 0)
        offer_values(&word, row, collective);
    else if (word.text[0] == '-')
        offer_options(&word, command_bit(command));
    else
        offer_words(&word, command, plain, collective);
}

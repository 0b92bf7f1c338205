/*
 * options.h - the options of verbs as tests give them: "poll=cq", "nic=strict0".
 */
#ifndef CCTEST_TEST_VERBS_OPTIONS_H
#define CCTEST_TEST_VERBS_OPTIONS_H

#include <stdlib.h>
#include <string.h>

#include "transports/transports.h"

/* The index of a word, or the number. */
static inline long option_number(const struct transport_option *option, const char *value)
{
    for (int i = 0; option->words && option->words[i]; i++)
        if (strcmp(option->words[i], value) == 0)
            return i;
    return strtol(value, NULL, 10);
}

/* Sets one of TRANSPORT_OPTIONS_MOST settings. `text` must live as long. */
static inline void option_set(struct transport_setting *settings, const char *text)
{
    const char *value = strchr(text, '=') + 1;
    const struct transport_option *options = transport_verbs.options;
    int i = 0;
    while (options[i].name && (strlen(options[i].name) != (size_t)(value - 1 - text) ||
                               strncmp(options[i].name, text, (size_t)(value - 1 - text)) != 0))
        i++;
    if (!options[i].name)
        abort();
    settings[i] = (struct transport_setting){
        .given = true, .number = option_number(&options[i], value), .text = value};
}

#endif

/*
 * transports.c - the transports and their options, for `list` and `help`.
 */
#include "cli/info/internal.h"

#include <stdio.h>

#include "base/io/io.h"
#include "dataplane/transport/transport.h"

#define WORDS_MOST 64 /* of an option; more than any has */

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
        json_object_set_new(object, "words", json_strings(option->words, WORDS_MOST));
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

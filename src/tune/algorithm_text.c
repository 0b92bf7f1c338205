/*
 * algorithm_text.c - the algorithm of a result in JSON, as -a takes it.
 */
#include "tune/tune.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

void text_tame(char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            *text = '?';
}

const char *algorithm_text(const json_t *result, char to[ALGORITHM_TEXT_MOST])
{
    struct text text = text_in(to, ALGORITHM_TEXT_MOST);
    const char *name = json_string_value(json_object_get(result, "algorithm")), *key;
    json_t *value;
    text_add(&text, "%s", name ? name : "");
    json_object_foreach(json_object_get(result, "algorithm_options"), key, value)
    {
        const char *part = json_string_value(json_object_get(value, "algorithm"));
        if (strcmp(key, "path") == 0 && json_is_string(value)) /* file:PATH */
            text_add(&text, ":%s", json_string_value(value));
        else if (json_is_integer(value))
            text_add(&text, ":%s=%lld", key, (long long)json_integer_value(value));
        else if (json_is_string(value) || part)
            text_add(&text, ":%s=%s", key, part ? part : json_string_value(value));
    }
    text_tame(to);
    return to;
}

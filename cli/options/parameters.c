/*
 * parameters.c - options behind the name of an algorithm or a transport: "bruck:radix=4".
 */
#include "cli/options/parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/options/names.h"
#include "cli/options/values.h"

enum status parameter_number(const struct parameter *parameter, long least, long most, long *to)
{
    long long value;
    const char *why = whole_parse(parameter->value, least, most, &value);
    if (why)
        return fail(STATUS_USAGE, "%s '%s' of %s %s %s: give a whole number from %ld to %ld",
                    parameter->key, parameter->value, parameter->kind, parameter->owner, why, least,
                    most);
    *to = (long)value;
    return STATUS_OK;
}

enum status parameter_word(const struct parameter *parameter, const char *const *words, long *to)
{
    for (*to = 0; words[*to]; ++*to)
        if (strcmp(words[*to], parameter->value) == 0)
            return STATUS_OK;
    char what[96];
    snprintf(what, sizeof what, "value of %s of %s %s", parameter->key, parameter->kind,
             parameter->owner);
    return unknown_name(parameter->value, what, words, NULL);
}

enum status parameter_once(const struct parameter *parameter, unsigned *seen, int index)
{
    if (*seen >> index & 1)
        return fail(STATUS_USAGE, "option %s of %s %s is given twice: give it once", parameter->key,
                    parameter->kind, parameter->owner);
    *seen |= 1u << index;
    return STATUS_OK;
}

enum status parameter_unknown(const struct parameter *parameter, const char *const *names)
{
    if (!names[0])
        return fail(STATUS_USAGE, "%s %s has no option '%s': it takes none, leave it out",
                    parameter->kind, parameter->owner, parameter->key);
    char what[96];
    snprintf(what, sizeof what, "option of %s %s", parameter->kind, parameter->owner);
    return unknown_name(parameter->key, what, names, NULL);
}

enum status parameter_incomplete(const struct parameter *parameter, const char *example)
{
    return fail(STATUS_USAGE, "'%s' behind %s %s is not KEY=VALUE: write %s:%s=VALUE",
                parameter->key, parameter->kind, parameter->owner, parameter->owner,
                example ? example : "key");
}

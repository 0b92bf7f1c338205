/*
 * size.c - reads and writes sizes in bytes, so that every option and every table has them alike.
 */
#include "base/size.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char units[] = "KMGT";

const char *size_parse(const char *text, size_t *bytes)
{
    if (*text == '\0')
        return "is empty";
    if (*text == '-')
        return "is negative";
    if (!isdigit((unsigned char)*text))
        return "is not a number";

    size_t value = 0;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (size_t)(*text - '0'), &value))
            return "is too large";
    if (*text == '.')
        return "has a fraction";

    const char *unit = *text ? strchr(units, toupper((unsigned char)*text)) : NULL;
    if (unit) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);
        if (value > SIZE_MAX >> shift)
            return "is too large";
        value <<= shift;
        text++;
    }
    if (*text != '\0')
        return "has trailing junk";
    *bytes = value;
    return NULL;
}

char *size_format(size_t bytes, char text[SIZE_TEXT_MOST])
{
    int unit = -1;
    while (bytes && bytes % 1024 == 0 && units[unit + 1]) {
        bytes /= 1024;
        unit++;
    }
    if (unit < 0)
        snprintf(text, SIZE_TEXT_MOST, "%zu", bytes);
    else
        snprintf(text, SIZE_TEXT_MOST, "%zu%c", bytes, units[unit]);
    return text;
}

/*
 * size.c - reads and writes sizes in bytes, so that every option and every table has them alike.
 */
#include "base/size.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char units[] = "KMGTPE";

/* Digits behind a point: *numerator of 10^*digits, without zeros at the end. False if they are too
 * many for a number of bytes to be whole. */
#define FRACTION_MOST 18
static bool fraction_read(const char **text, uint64_t *numerator, int *digits)
{
    const char *from = *text, *end = from;
    for (*text = from; isdigit((unsigned char)**text); ++*text)
        if (**text != '0')
            end = *text + 1;
    *digits = (int)(end - from);
    for (*numerator = 0; end - from <= FRACTION_MOST && from < end; from++)
        *numerator = *numerator * 10 + (uint64_t)(*from - '0');
    return *digits <= FRACTION_MOST;
}

/* "K", "KB" and "KiB" are 10 bits, "" and "B" none. Moves *text behind the unit. */
static unsigned unit_read(const char **text)
{
    const char *unit = **text ? strchr(units, toupper((unsigned char)**text)) : NULL;
    *text += unit != NULL;
    if (unit && (**text == 'i' || **text == 'I') && toupper((unsigned char)(*text)[1]) == 'B')
        ++*text;
    *text += **text == 'B' || **text == 'b';
    return unit ? 10 * (unsigned)(unit - units + 1) : 0;
}

const char *size_parse(const char *text, size_t *bytes)
{
    if (*text == '\0')
        return "is empty";
    if (*text == '-')
        return "is negative";
    if (!isdigit((unsigned char)*text))
        return "is not a number";

    size_t value = 0;
    uint64_t numerator = 0;
    int digits = 0;
    bool whole = true;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (size_t)(*text - '0'), &value))
            return "is too large";
    if (*text == '.' && isdigit((unsigned char)text[1])) {
        text++;
        whole = fraction_read(&text, &numerator, &digits);
    }
    unsigned shift = unit_read(&text);
    if (*text != '\0')
        return "has trailing junk";
    unsigned __int128 part = (unsigned __int128)numerator << shift, scale = 1;
    for (int i = 0; whole && i < digits; i++)
        scale *= 10;
    if (!whole || part % scale != 0)
        return "is not a whole number of bytes";
    if (value > SIZE_MAX >> shift)
        return "is too large";
    *bytes = (value << shift) + (size_t)(part / scale);
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

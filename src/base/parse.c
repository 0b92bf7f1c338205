/*
 * parse.c - names, numbers and lists that a user wrote.
 *
 * A swap of two neighbouring letters of a name, the commonest slip, counts as one edit.
 */
#include "base/parse.h"

#include "base/log.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 64

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int letter(const char *text, int place)
{
    int c = tolower((unsigned char)text[place]);
    return c == '_' ? '-' : c;
}

bool name_equal(const char *name, const char *other)
{
    int i = 0;
    while (name[i] && letter(name, i) == letter(other, i))
        i++;
    return letter(name, i) == letter(other, i);
}

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other. */
static int name_distance(const char *a, int a_length, const char *b, int b_length)
{
    unsigned char distance[NAME_MOST + 1][NAME_MOST + 1];
    for (int i = 0; i <= a_length; i++)
        distance[i][0] = (unsigned char)i;
    for (int j = 0; j <= b_length; j++)
        distance[0][j] = (unsigned char)j;
    for (int i = 1; i <= a_length; i++) {
        for (int j = 1; j <= b_length; j++) {
            int differs = letter(a, i - 1) != letter(b, j - 1);
            int best = smaller(distance[i - 1][j] + 1, distance[i][j - 1] + 1);
            best = smaller(best, distance[i - 1][j - 1] + differs);
            if (i > 1 && j > 1 && letter(a, i - 1) == letter(b, j - 2) &&
                letter(a, i - 2) == letter(b, j - 1))
                best = smaller(best, distance[i - 2][j - 2] + 1);
            distance[i][j] = (unsigned char)best;
        }
    }
    return distance[a_length][b_length];
}

const char *name_nearest(const char *name, const char *const *candidates)
{
    return name_nearest_within(name, candidates, 3);
}

const char *name_nearest_within(const char *name, const char *const *candidates, int part)
{
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MOST)
        return NULL;
    const char *nearest = NULL;
    int least = NAME_MOST;
    for (; *candidates; candidates++) {
        size_t other = strlen(*candidates);
        if (other > NAME_MOST)
            continue;
        int distance = name_distance(name, (int)length, *candidates, (int)other);
        int longer = (int)(length > other ? length : other);
        if (distance < least && part * distance <= longer) {
            least = distance;
            nearest = *candidates;
        }
    }
    return nearest;
}

void names_add_more(struct names *names, const char *const *more, int most)
{
    for (int i = 0; i < most && more[i]; i++)
        if (names->alias_count < NAMED_MOST)
            names->aliases[names->alias_count++] = more[i];
}

void names_add(struct names *names, const char *name, const char *const *aliases, int most)
{
    if (names->valid_count < NAMED_MOST)
        names->valid[names->valid_count++] = name;
    if (aliases)
        names_add_more(names, aliases, most);
}

bool names_have(const struct names *names, const char *name)
{
    for (int i = 0; i < names->valid_count; i++)
        if (strcmp(names->valid[i], name) == 0)
            return true;
    return false;
}

/* A guess takes the place of a longer list. */
#define LISTED_MOST 12

enum status unknown_name(const char *subject, const char *what, const char *const *valid,
                         const char *const *more)
{
    const char *candidates[2 * NAMED_MOST + 1];
    int count = 0;
    for (int i = 0; valid[i] && count < NAMED_MOST; i++)
        candidates[count++] = valid[i];
    bool lists = count <= LISTED_MOST;
    for (int i = 0; more && more[i] && count < 2 * NAMED_MOST; i++)
        candidates[count++] = more[i];
    candidates[count] = NULL;
    const char *article = strchr("aeiou", what[0]) ? "an" : "a";
    const char *nearest = name_nearest(subject, candidates);
    char advice[896];
    struct text text = text_in(advice, sizeof advice);
    if (nearest)
        text_add(&text, "did you mean '%s'?", nearest);
    for (int i = 0; valid[i] && (lists || !nearest); i++)
        text_add(&text, "%s%s", i ? ", " : nearest ? " valid are " : "valid are ", valid[i]);
    return fail(STATUS_USAGE, "'%.*s' is not %s %s: %s", ITEM_MOST / 2, subject, article, what,
                advice);
}

enum status names_refuse(const char *subject, const char *what, const struct names *names)
{
    return unknown_name(subject, what, names->valid, names->aliases);
}

bool list_next(const char **list, char separator, char item[ITEM_MOST])
{
    if (!*list)
        return false;
    const char *end = strchrnul(*list, separator);
    snprintf(item, ITEM_MOST, "%.*s", (int)(end - *list), *list);
    *list = *end ? end + 1 : NULL;
    return true;
}

const char *whole_parse(const char *text, long long least, long long most, long long *value)
{
    if (*text == '\0')
        return "is empty";
    bool negative = *text == '-';
    const char *digits = text + negative;
    if (!isdigit((unsigned char)*digits))
        return "is not a number";
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end == '.')
        return "has a fraction";
    if (*end != '\0')
        return "has trailing junk";
    if (negative && least >= 0)
        return "is negative";
    if (errno == ERANGE || number > most)
        return "is too large";
    if (number < least)
        return "is too small";
    *value = number;
    return NULL;
}

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

/*
 * Reads and writes sizes in bytes, so that every option and every table has them alike.
 */
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

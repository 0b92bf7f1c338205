/*
 * host_list.c - lists of hosts as Slurm writes them.
 *
 * Brackets stand for a number of a name. A range has no sign of its own for leading zeros: its
 * numbers are as wide as its first, so n[08-10] is n08, n09, n10, and n[8-10] is n8, n9, n10.
 */
#include "base/host_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/numbers.h"

#define NAME_MOST   256
#define DIGITS_MOST 18 /* of a number that fits an unsigned long */

/* From a list to its hosts. */

struct expansion {
    bool (*each)(void *argument, const char *host);
    void *argument;
    const char *wrong;
    int count;
    char name[NAME_MOST];
};

struct range {
    unsigned long first, last;
    int width;
};

static const char *expand_refuse(struct expansion *expansion, const char *wrong)
{
    expansion->wrong = wrong;
    return NULL;
}

/* Returns what follows a number; NULL: none stands there. */
static const char *number_read(const char *text, unsigned long *number)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > DIGITS_MOST)
        return NULL;
    *number = strtoul(text, NULL, 10);
    return text + digits;
}

/* "7" or "07-12"; as above. */
static const char *range_read(const char *text, struct range *range)
{
    const char *end = number_read(text, &range->first);
    range->last = range->first;
    range->width = end ? (int)(end - text) : 0;
    if (end && *end == '-')
        end = number_read(end + 1, &range->last);
    return end && range->first <= range->last ? end : NULL;
}

static const char *ranges_expand(struct expansion *expansion, const char *at, size_t used);

/* Expands one item of the list from `at` on; `used` bytes of its name are there. Returns the end of
 * the item; NULL: stopped, or something is wrong. */
static const char *item_expand(struct expansion *expansion, const char *at, size_t used)
{
    for (; *at && *at != ',' && *at != '['; at++) {
        if (*at == ']' || !isgraph((unsigned char)*at))
            return expand_refuse(expansion, "a name has a character that no host has");
        if (used + 1 >= sizeof expansion->name)
            return expand_refuse(expansion, "a name is too long");
        expansion->name[used++] = *at;
    }
    if (*at == '[')
        return ranges_expand(expansion, at + 1, used);
    if (used == 0)
        return expand_refuse(expansion, "a name is empty");
    if (expansion->count++ == HOST_LIST_MOST)
        return expand_refuse(expansion, "it names too many hosts");
    expansion->name[used] = '\0';
    return expansion->each(expansion->argument, expansion->name) ? at : NULL;
}

static const char *ranges_expand(struct expansion *expansion, const char *at, size_t used)
{
    const char *close = strchr(at, ']'), *end = NULL;
    struct range range;
    if (!close)
        return expand_refuse(expansion, "a bracket is not closed");
    for (;; at++) {
        at = range_read(at, &range);
        if (!at || (*at != ',' && at != close))
            return expand_refuse(expansion, "brackets hold something else than numbers and ranges");
        for (unsigned long number = range.first; number <= range.last; number++) {
            size_t room = sizeof expansion->name - used;
            int digits = snprintf(expansion->name + used, room, "%0*lu", range.width, number);
            if ((size_t)digits >= room)
                return expand_refuse(expansion, "a name is too long");
            end = item_expand(expansion, close + 1, used + (size_t)digits);
            if (!end)
                return NULL;
        }
        if (at == close)
            return end;
    }
}

const char *host_list_expand(const char *list, bool (*each)(void *argument, const char *host),
                             void *argument)
{
    struct expansion expansion = {.each = each, .argument = argument};
    const char *end = item_expand(&expansion, list, 0);
    while (end && *end)
        end = item_expand(&expansion, end + 1, 0);
    return expansion.wrong;
}

/* From hosts to a list. */

/* A name whose last digits are a number. */
struct numbered_name {
    int prefix; /* bytes before the number */
    int digits; /* 0: it has no number */
    unsigned long number;
};

static struct numbered_name numbered_of(const char *host)
{
    int length = (int)strlen(host), digits = 0;
    while (digits < length && isdigit((unsigned char)host[length - digits - 1]))
        digits++;
    if (digits == 0 || digits > DIGITS_MOST)
        return (struct numbered_name){.prefix = length};
    return (struct numbered_name){.prefix = length - digits,
                                  .digits = digits,
                                  .number = strtoul(host + length - digits, NULL, 10)};
}

static bool prefix_is_shared(const char *a, const char *b)
{
    struct numbered_name one = numbered_of(a), other = numbered_of(b);
    return one.digits && other.digits && one.prefix == other.prefix &&
           memcmp(a, b, (size_t)one.prefix) == 0;
}

/* Is `next` what a range that begins with `first` and has come to `last` would have next? */
static bool range_goes_on(struct numbered_name first, struct numbered_name last,
                          struct numbered_name next)
{
    char number[DIGITS_MOST + 2];
    int digits = snprintf(number, sizeof number, "%0*lu", first.digits, last.number + 1);
    return next.number == last.number + 1 && next.digits == digits;
}

/* Adds "1-4,7": the numbers of hosts that share a prefix. */
static void ranges_add(struct text *text, const char *const *hosts, int count)
{
    for (int i = 0; i < count;) {
        struct numbered_name first = numbered_of(hosts[i]), last = first;
        text_add(text, "%s%s", i ? "," : "", hosts[i] + first.prefix);
        int begin = i++;
        for (; i < count && range_goes_on(first, last, numbered_of(hosts[i])); i++)
            last = numbered_of(hosts[i]);
        if (i - begin > 1)
            text_add(text, "-%s", hosts[i - 1] + last.prefix);
    }
}

void host_list_add(struct text *text, const char *const *hosts, int count)
{
    for (int i = 0; i < count;) {
        int begin = i++;
        while (i < count && prefix_is_shared(hosts[begin], hosts[i]))
            i++;
        text_add(text, "%s", begin ? "," : "");
        if (i - begin == 1) {
            text_add(text, "%s", hosts[begin]);
            continue;
        }
        text_add(text, "%.*s[", numbered_of(hosts[begin]).prefix, hosts[begin]);
        ranges_add(text, hosts + begin, i - begin);
        text_add(text, "]");
    }
}

/* By what stands before the number at the end, then by number. */
static int names_compare(const void *a, const void *b)
{
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;
    if (!prefix_is_shared(left, right))
        return strcmp(left, right);
    struct numbered_name one = numbered_of(left), other = numbered_of(right);
    return COMPARE(one.number, other.number) ?: COMPARE(one.digits, other.digits);
}

char *host_list_sorted(const char **hosts, int count)
{
    size_t size = 1;
    for (int i = 0; i < count; i++)
        size += strlen(hosts[i]) + 2;
    char *list = new_array(size, 1);
    struct text text = text_in(list, size);
    qsort(hosts, (size_t)count, sizeof *hosts, names_compare);
    host_list_add(&text, hosts, count);
    return list;
}

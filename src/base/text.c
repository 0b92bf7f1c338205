/*
 * text.c - a string that grows in a buffer of its owner; what does not fit is cut off.
 */
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text text_in(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return (struct text){.at = buffer, .size = size};
}

struct text text_after(char *buffer, size_t size)
{
    return (struct text){.at = buffer, .size = size, .used = strnlen(buffer, size - 1)};
}

void text_add(struct text *text, const char *format, ...)
{
    size_t left = text->size - text->used;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->at + text->used, left, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    text->used += (size_t)length < left ? (size_t)length : left - 1;
}

const char *time_text(double seconds, char text[TIME_TEXT_MOST])
{
    static const struct {
        const char *name;
        double seconds, least; /* from `least` on it is the unit */
    } units[] = {
        {"us", 1e-6, 0}, {"ms", 1e-3, 1e-3}, {"s", 1, 1}, {"min", 60, 600}, {"h", 3600, 7200}};
    int last = sizeof units / sizeof units[0] - 1;
    while (last > 0 && seconds < 0.9995 * units[last].least) /* which rounds to 1 of it */
        last--;
    double value = seconds / units[last].seconds;
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
    if (!(seconds > 0))
        return strcpy(text, seconds == 0 ? "0 s" : "-");
    snprintf(text, TIME_TEXT_MOST, "%.*f %s", decimals, value, units[last].name);
    return text;
}

const char *number_text(double value, int digits, char text[NUMBER_TEXT_MOST])
{
    if (!isfinite(value) || value == 0)
        return strcpy(text, value == 0 ? "0" : "-");
    snprintf(text, NUMBER_TEXT_MOST, "%.*e", digits - 1, value);
    int decimals = digits - 1 - (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (decimals <= 9 && fabs(value) < 1e15)
        snprintf(text, NUMBER_TEXT_MOST, "%.*f", decimals < 0 ? 0 : decimals, value);
    return text;
}

/*
 * A list of ranks, for a sentence.
 */
#define RUNS_MOST 8 /* runs of consecutive ranks; ranks of further ones are counted */

/* Writes the run that cannot grow any more. */
static void run_write(struct rank_list *list)
{
    struct text text = text_after(list->numbers, sizeof list->numbers);
    if (list->count == 0)
        return;
    if (list->runs++ >= RUNS_MOST) {
        list->hidden += list->last - list->first + 1;
        return;
    }
    text_add(&text, "%s%d", list->runs > 1 ? ", " : "", list->first);
    if (list->last > list->first)
        text_add(&text, list->last == list->first + 1 ? ", %d" : "..%d", list->last);
}

void rank_list_put(struct rank_list *list, int rank)
{
    if (list->count == 0 || rank != list->last + 1) {
        run_write(list);
        list->first = rank;
    }
    list->last = rank;
    list->count++;
}

void rank_list_end(struct rank_list *list, struct text *text)
{
    run_write(list);
    text_add(text, "%s %s", list->count == 1 ? "rank" : "ranks", list->numbers);
    if (list->hidden > 0)
        text_add(text, " and %d more", list->hidden);
}

char *rank_list_text(const bool *listed, int ranks, char *text, size_t size)
{
    struct rank_list list = {0};
    struct text out = text_in(text, size);
    for (int rank = 0; rank < ranks; rank++)
        if (listed[rank])
            rank_list_put(&list, rank);
    rank_list_end(&list, &out);
    return text;
}

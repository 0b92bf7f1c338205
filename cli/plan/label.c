/*
 * label.c - the contents of a message, in a few characters.
 */
#include "cli/plan/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_MOST 18 /* characters of a label in a picture */

struct words {
    char *text;
    size_t length;
    bool full;
};

static void words_put(struct words *words, const char *text)
{
    if (words->full)
        return;
    words->full = words->length + strlen(text) >= LABEL_SIZE - sizeof "…";
    strcpy(words->text + words->length, words->full ? "…" : text);
    words->length += strlen(words->text + words->length);
}

static void words_number(struct words *words, const char *before, uint32_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%s%u", before, number);
    words_put(words, text);
}

/* How many of the ascending numbers from `first` on have equal distances. */
static size_t progression(const uint32_t *numbers, size_t first, size_t count)
{
    size_t end = first + 1;
    while (end < count && (end == first + 1 ||
                           numbers[end] - numbers[end - 1] == numbers[first + 1] - numbers[first]))
        end++;
    return end - first;
}

/* "0-3,8,10,…,20" */
static void words_list(struct words *words, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t length = progression(numbers, i, count);
        bool dense = length > 1 && numbers[i + 1] - numbers[i] == 1;
        words_number(words, i ? "," : "", numbers[i]);
        if (dense && length > 2) {
            words_number(words, "-", numbers[i + length - 1]);
            i += length;
        } else if (!dense && length > 3) {
            words_number(words, ",", numbers[i + 1]);
            words_number(words, ",…,", numbers[i + length - 1]);
            i += length;
        } else {
            i++;
        }
    }
}

/* The ranks whose bits are set: "0-3,7". */
static void words_ranks(struct words *words, uint64_t ranks)
{
    uint32_t numbers[64];
    size_t count = 0;
    for (uint32_t r = 0; r < 64; r++)
        if (ranks >> r & 1)
            numbers[count++] = r;
    words_list(words, numbers, count);
}

static int cell_compare(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    if (a->origin != b->origin)
        return a->origin < b->origin ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* The numbers of one origin, ascending, and all origins with the same numbers. */
struct number_list {
    const uint32_t *numbers;
    size_t count;
    uint64_t origins;
};

/* `cells` are in order; fills `numbers` and `lists`. Returns how many lists there are. */
static size_t number_lists_find(const struct cell *cells, size_t count, uint32_t *numbers,
                                struct number_list lists[PICTURE_RANKS_MOST])
{
    size_t found = 0;
    for (size_t i = 0; i < count;) {
        struct number_list list = {.numbers = &numbers[i],
                                   .origins = (uint64_t)1 << cells[i].origin};
        size_t end = i;
        for (; end < count && cells[end].origin == cells[i].origin; end++)
            if (end == i || cells[end].number != cells[end - 1].number)
                numbers[i + list.count++] = cells[end].number;
        i = end;
        size_t same = 0;
        while (same < found &&
               (lists[same].count != list.count ||
                memcmp(lists[same].numbers, list.numbers, list.count * sizeof *numbers) != 0))
            same++;
        if (same < found)
            lists[same].origins |= list.origins;
        else
            lists[found++] = list;
    }
    return found;
}

void flight_label(const struct flow *flow, const struct flight *flight, char text[LABEL_SIZE])
{
    struct words words = {.text = text};
    struct number_list lists[PICTURE_RANKS_MOST];
    for (size_t i = 0; i < flight->length; i++) {
        flow->spare_cells[i] = flight->cells[i];
        if (!flow->origins)
            flow->spare_cells[i].origin = (uint32_t)flight->from;
    }
    qsort(flow->spare_cells, flight->length, sizeof *flow->spare_cells, cell_compare);
    size_t count = number_lists_find(flow->spare_cells, flight->length, flow->spare_numbers, lists);
    for (size_t i = 0; i < count; i++) {
        words_put(&words, i ? " " : "");
        if (lists[i].origins != (uint64_t)1 << flight->from) {
            words_ranks(&words, lists[i].origins);
            words_put(&words, "→");
        }
        words_list(&words, lists[i].numbers, lists[i].count);
    }
}

void flight_contributions(const struct flow *flow, const struct flight *flight,
                          char text[LABEL_SIZE])
{
    struct words words = {.text = text};
    uint64_t of = flight->cells[0].of;
    bool alike = true;
    for (size_t i = 1; i < flight->length; i++)
        alike = alike && flight->cells[i].of == of;
    text[0] = '\0';
    if (!flow->problem->collective->reduces || (alike && of == (uint64_t)1 << flight->from))
        return;
    words_put(&words, "of ");
    if (!alike)
        words_put(&words, "…");
    else if (of == ~(uint64_t)0 >> (64 - flow->ranks))
        words_put(&words, "all");
    else
        words_ranks(&words, of);
}

static bool starts_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t label_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += starts_character(*text);
    return width;
}

void label_shorten(char text[LABEL_SIZE])
{
    if (label_width(text) <= SHORT_MOST)
        return;
    /* Cut between numbers: a part of a number would be another number. */
    size_t width = 0, end = 0;
    for (size_t i = 0; width < SHORT_MOST; i++) {
        width += starts_character(text[i]);
        if (text[i] == ',' || text[i] == ' ')
            end = i + 1;
    }
    strcpy(text + end, "…");
}

/*
 * text.h - a string that grows in a buffer of its owner; what does not fit is cut off.
 *
 *     char line[80];
 *     struct text text = text_in(line, sizeof line);
 *     text_add(&text, "rank %d", rank);
 */
#ifndef CCTEST_BASE_TEXT_H
#define CCTEST_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *at;    /* the buffer, which always ends with a 0 */
    size_t size; /* bytes of it, with the 0: at least 1 */
    size_t used; /* bytes of the string */
};

/* An empty string in a buffer of `size` bytes, at least 1. */
struct text text_in(char *buffer, size_t size);

/* A string that follows the one that stands in the buffer. */
struct text text_after(char *buffer, size_t size);

/* Adds what printf() would print. */
__attribute__((format(printf, 2, 3))) void text_add(struct text *text, const char *format, ...);

/* The ending of a noun: "" of one, "s" of any other number. */
static inline const char *plural(long long count)
{
    return count == 1 ? "" : "s";
}

/* A time with its unit, in three significant digits: "272 us", "1.23 ms", "17.3 s", "20.6 min",
 * "2.50 h". "-": it is negative, or a NAN. Returns `text`. */
#define TIME_TEXT_MOST 24
const char *time_text(double seconds, char text[TIME_TEXT_MOST]);

/* So many significant digits (1 to 9), and all before the point: "0.00479", "11.8", "1234"; "-": it
 * is not finite. With an exponent from 10^15 on, and where it has more than 9 decimals. Returns
 * `text`. */
#define NUMBER_TEXT_MOST 40
const char *number_text(double value, int digits, char text[NUMBER_TEXT_MOST]);

/* ---- A list of ranks, for a sentence. */

#define RANK_LIST_MOST 200 /* bytes of the longest list, with its 0 */

/* A list under construction. It begins as {0}. */
struct rank_list {
    char numbers[RANK_LIST_MOST];
    int count, runs;
    int first, last; /* the run that may still grow */
    int hidden;      /* ranks that are only counted */
};

/* Ranks come in ascending order. */
void rank_list_put(struct rank_list *list, int rank);

/* Adds "rank 3", or "ranks 0..5, 7, 8, 12 and 9 more". The list is then complete. */
void rank_list_end(struct rank_list *list, struct text *text);

/* The ranks for which `listed` is true, in `size` bytes (RANK_LIST_MOST are enough). Returns
 * `text`. */
char *rank_list_text(const bool *listed, int ranks, char *text, size_t size);

#endif

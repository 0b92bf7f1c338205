/*
 * text.h - a string that grows in a buffer of its owner; what does not fit is cut off.
 *
 *     char line[80];
 *     struct text text = text_in(line, sizeof line);
 *     text_add(&text, "rank %d", rank);
 */
#ifndef CCTEST_BASE_TEXT_H
#define CCTEST_BASE_TEXT_H

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

#endif

/*
 * text.h - prose in columns, on standard output.
 */
#ifndef CCTEST_CLI_INFO_TEXT_H
#define CCTEST_CLI_INFO_TEXT_H

#include <stddef.h>

#define TEXT_WIDTH 98

/* Prints the words of `text` from column `column` on, wrapped before TEXT_WIDTH, and ends the line.
 * `used` columns of the present line are taken; where they leave no gap, a new one is begun. */
void text_print(const char *text, int used, int column);

/* Strings with commas between them, of a list that is ended by NULL or `most`. Cut off at `size`.
 * Returns `text`. */
const char *text_join(const char *const *strings, int most, char *text, size_t size);

#endif

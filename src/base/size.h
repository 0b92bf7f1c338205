/*
 * size.h - sizes in bytes as people write them: 8, 64M, 4KiB, 1.5G; K, M, G, T, P and E are powers
 * of 1024, also with B or iB behind them.
 */
#ifndef CCTEST_BASE_SIZE_H
#define CCTEST_BASE_SIZE_H

#include <stddef.h>

/* Reads a size. Returns NULL and sets *bytes, or returns why not: "is negative", "has trailing
 * junk", "is too large", "is not a whole number of bytes" ... (static, to be put after the option's
 * name and value). */
const char *size_parse(const char *text, size_t *bytes);

/* Writes 67108864 as "64M" where that is exact, else the plain number. Returns `text`. */
#define SIZE_TEXT_MOST 24
char *size_format(size_t bytes, char text[SIZE_TEXT_MOST]);

#endif

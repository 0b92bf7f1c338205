/*
 * markup.h - text inside XML and HTML.
 */
#ifndef CCTEST_BASE_IO_MARKUP_H
#define CCTEST_BASE_IO_MARKUP_H

#include <stdio.h>

/* Text in which characters with a meaning are escaped, also inside a quoted attribute. Control
 * characters become blanks. */
void markup_put(FILE *out, const char *text);

#endif

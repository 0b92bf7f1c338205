/*
 * parts.h - pieces of an HTML page: sections with their links, tables, numbers.
 *
 * Everything is escaped; a page needs no other file and no script.
 */
#ifndef CCTEST_CLI_REPORT_PARTS_H
#define CCTEST_CLI_REPORT_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* A page in the making: two texts that grow. */
struct page {
    FILE *body;
    FILE *links; /* to the sections */
    int sections;
};

/* Text as printf() makes it, escaped. */
void text_put(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a section with a heading: of a document (h2), or inside one (h3). */
void document_begin(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void section_begin(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void section_end(struct page *page);

/* An element with text: "<p class=note>". `element`: as it stands in the tag, with attributes. */
void element_put(FILE *out, const char *element, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A table in a box that scrolls by itself. `columns`: their titles, ended by NULL; a title that
 * begins with '#' is that of a column of numbers. */
void table_begin(FILE *out, const char *caption, const char *const *columns);
void table_end(FILE *out);

/* What may be long or wide, and is seen when it is opened. */
void details_begin(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void details_end(FILE *out);

/* A box that scrolls sideways by itself, also by the keyboard. */
void scroll_begin(FILE *out, const char *label);
void scroll_end(FILE *out);

/* Three significant digits without an exponent, or "-" for a NAN. Returns `text`. */
#define NUMBER_TEXT_MOST 40
const char *number_text(double value, char text[NUMBER_TEXT_MOST]);

/* "25%", or "" where that is no number. Returns `text`. */
const char *share_text(double part, double whole, char text[NUMBER_TEXT_MOST]);

/* "s", or "" for 1. */
const char *plural_end(size_t count);

#endif

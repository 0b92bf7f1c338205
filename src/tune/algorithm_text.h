/*
 * algorithm_text.h - the algorithm of a result in JSON, as -a takes it.
 */
#ifndef CCTEST_TUNE_ALGORITHM_TEXT_H
#define CCTEST_TUNE_ALGORITHM_TEXT_H

#include <jansson.h>

/* "bruck:radix=4": the name and the options of an algorithm, from a result in JSON (of parts the name
 * alone). Control characters, which a file may hold and a terminal obeys, become '?'. Returns `text`. */
#define ALGORITHM_TEXT_MOST 160
const char *algorithm_text(const json_t *result, char text[ALGORITHM_TEXT_MOST]);

/* Replaces the control characters of a text. */
void text_tame(char *text);

#endif

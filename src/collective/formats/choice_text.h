/*
 * choice_text.h - algorithms with their options, as text ("bruck:radix=4") and as JSON.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_CHOICE_TEXT_H
#define CCTEST_COLLECTIVE_FORMATS_CHOICE_TEXT_H

#include <jansson.h>

#include "collective/schedule/algorithm.h"

#define CHOICE_GROUP_MOST 65536 /* ranks of a group */

/* Has any collective an algorithm of this name or alias? */
bool is_algorithm(const char *name);

/* Fails: none of the collectives of `served`, ended by NULL, has such an algorithm. Names the nearest. */
enum status unknown_algorithm(const char *subject, const struct collective *const *served);

/* Reads an algorithm with its options, such as "bruck:radix=4", of a collective. STATUS_USAGE with the
 * reason. */
enum status choice_parse(const struct collective *collective, const char *text,
                         struct choice *choice);
/* The same where the algorithm is known: reads the options of `item`. */
enum status choice_text_read(const struct algorithm *algorithm, const char *item,
                             struct choice *choice);

/* The index of an algorithm's option by its name, of `length` bytes; -1: it has no such option. */
int choice_option_index(const struct algorithm *algorithm, const char *name, size_t length);

/* The options as chosen, a new reference: numbers, words, the groups' sizes (null: not given), and
 * for a part {"algorithm", "options"}. */
json_t *choice_json(const struct choice *choice);

#endif

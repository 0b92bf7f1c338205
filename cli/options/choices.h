/*
 * choices.h - option values that are algorithms with their own options, counts, or groups.
 */
#ifndef CCTEST_CLI_OPTIONS_CHOICES_H
#define CCTEST_CLI_OPTIONS_CHOICES_H

#include "cli/options/option.h"

extern const struct option_kind kind_algorithm, kind_counts, kind_shape, kind_split;

/* Adds "auto", which picks an algorithm for each size once the ranks are known. */
enum status choices_default(struct job *job);

/* Adds all algorithms of a collective, as `-a all` does. */
enum status choices_all(struct job *job, const struct collective *collective);

/* Reads an algorithm with its options, such as "bruck:radix=4", of a collective. STATUS_USAGE with the
 * reason. */
enum status choice_parse(const struct collective *collective, const char *text,
                         struct choice *choice);

/* The index of an algorithm's option by its name, of `length` bytes; -1: it has no such option. */
int choice_option_index(const struct algorithm *algorithm, const char *name, size_t length);

#endif

/*
 * names.h - refusals of unknown names; and kinds of memory.
 */
#ifndef CCTEST_CLI_OPTIONS_NAMES_H
#define CCTEST_CLI_OPTIONS_NAMES_H

#include "cli/options/option.h"

extern const struct option_kind kind_memory;

#define COLLECTIVES_TEXT_MOST (COLLECTIVES * 17) /* the names of all of them */

/* Has any collective an algorithm of this name or alias? */
bool is_algorithm(const char *name);

/* Fails with "<subject> is not a <what>; valid are ...; did you mean ...?". `valid` and `more`
 * (names that are accepted too, but not listed) end with NULL; `more` may be NULL. */
enum status unknown_name(const char *subject, const char *what, const char *const *valid,
                         const char *const *more);

/* The same, with the names and aliases of a table; "a collective", "a datatype" ... */
enum status unknown_collective(const char *subject);
/* ... "a collective, nor an algorithm of one". */
enum status unknown_listed(const char *subject);
/* ... that none of `served`, ended by NULL, has. */
enum status unknown_algorithm(const char *subject, const struct collective *const *served);
/* ... what can be part `option` of a composed algorithm. */
enum status unknown_part(const char *subject, const struct algorithm *algorithm,
                         const struct algorithm_option *option);
enum status unknown_datatype(const char *subject);
enum status unknown_reduction(const char *subject);
enum status unknown_transport(const char *subject);

#endif

/*
 * names.h - refusals of unknown names; and kinds of memory.
 */
#ifndef CCTEST_CLI_OPTIONS_NAMES_H
#define CCTEST_CLI_OPTIONS_NAMES_H

#include "cli/options/option.h"

extern const struct option_kind kind_memory;

/* Fails with "<subject> is not a collective; valid are ...; did you mean ...?". */
enum status unknown_collective(const char *subject);
/* ... "a collective, nor an algorithm of one". */
enum status unknown_listed(const char *subject);
/* ... a datatype, an operation, a transport. */
enum status unknown_datatype(const char *subject);
enum status unknown_reduction(const char *subject);
enum status unknown_transport(const char *subject);

#endif

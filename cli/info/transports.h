/*
 * transports.h - the transports and their options, for `list` and `help`.
 */
#ifndef CCTEST_CLI_INFO_TRANSPORTS_H
#define CCTEST_CLI_INFO_TRANSPORTS_H

#include <jansson.h>

/* Prints them on standard output, with texts from column `column` on. */
void transports_print(int column);

/* [{"name": ..., "summary": ..., "options": [...]}, ...]: a new reference. */
json_t *transports_json(void);

#endif

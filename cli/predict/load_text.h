/*
 * load_text.h - the load of links as text: the congestion factor, the most loaded links, and the
 * steps.
 */
#ifndef CCTEST_CLI_PREDICT_LOAD_TEXT_H
#define CCTEST_CLI_PREDICT_LOAD_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "predict/topology/link_load.h"

/* `title`: what makes the load. `all`: all links and steps, not the first few. */
void load_print(FILE *out, const struct link_load *load, const char *title, bool all);

#endif

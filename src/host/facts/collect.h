/*
 * collect.h - asks the kernel, and the drivers, what this host has.
 *
 * A driver or a file system that hangs costs the facts of its source only: each source is asked in
 * a thread with a limit, and the fact "silent" says which one has not answered.
 */
#ifndef CCTEST_HOST_FACTS_COLLECT_H
#define CCTEST_HOST_FACTS_COLLECT_H

#include "host/facts/source.h"

/* This machine. */
struct inventory_source inventory_here(const char *host);

/* Appends the facts of all sources. Out of memory: inventory->failed. A thread that hangs stays, so
 * the process must end soon. */
void inventory_collect(const struct inventory_source *source, struct inventory *inventory);

#endif

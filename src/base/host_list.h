/*
 * host_list.h - lists of hosts as Slurm writes them: "login,n[01-16,18],rack1-n[2-4]".
 */
#ifndef CCTEST_BASE_HOST_LIST_H
#define CCTEST_BASE_HOST_LIST_H

#include <stdbool.h>

#include "base/text.h"

#define HOST_LIST_MOST 65536 /* hosts of a list */

/* Calls `each` with each host of the list, in its order, until it returns false. Returns NULL, or
 * what is wrong with the list ("a bracket is not closed"); the hosts before that have been passed.
 * Numbers of a range are as wide as its first. As in Slurm a name may have several brackets; unlike
 * there something may follow the last. */
const char *host_list_expand(const char *list, bool (*each)(void *argument, const char *host),
                             void *argument);

/* Adds a list of these hosts, in this order; neighbours that differ in the number at their end
 * share brackets. Takes at most the bytes of all names and 2 for each. */
void host_list_add(struct text *text, const char *const *hosts, int count);

/* The list of these hosts, which it sorts so that the list is shortest: by what stands before the
 * number at the end, then by number. The caller frees it. */
char *host_list_sorted(const char **hosts, int count);

#endif

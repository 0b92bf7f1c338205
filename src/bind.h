/*
 * bind.h - a core for each rank.
 */
#ifndef CCTEST_BIND_H
#define CCTEST_BIND_H

#include <stdbool.h>

/* Binds the calling thread to a core: the `index`th of those that it may use, counted in
 * the topology's order, when there are at least `count` of them. Otherwise, or where binding is not
 * possible, nothing changes and it returns false. */
bool bind_to_core(int index, int count);

#endif

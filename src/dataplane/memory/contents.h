/*
 * contents.h - what is asked about the contents of memory, of the kind that it is of (memory.h).
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CONTENTS_H
#define CCTEST_DATAPLANE_MEMORY_CONTENTS_H

#include <stddef.h>

#include "base/status.h"
#include "base/tick.h"
#include "dataplane/memory/inputs.h"

struct memory_kind;
struct engine; /* does local operations; each kind of memory has its own */

/* What an engine is opened for. */
enum engine_use {
    ENGINE_MOVES,    /* local operations alone */
    ENGINE_CONTENTS, /* and the hooks for contents */
};

/* A kind of memory, as one thread of a rank uses it. */
struct memory {
    const struct memory_kind *kind;
    struct engine *engine;   /* of that kind */
    const struct tick *tick; /* called while a hook takes long; NULL: none */
};

/* Elements in memory, and what belongs there: elements [first, first + count) of the source of
 * `rank`, or, if that is negative, of all ranks' sources, combined. */
struct comparison {
    const struct inputs *inputs;
    int rank;
    size_t first, count;
    const void *at;
};

/* Wrong elements: those that are asked for are, after `skip` of them, each `stride`-th, but no more
 * than `most`. */
struct selection {
    size_t skip, stride, most;
    size_t *at;         /* room for `most`: their numbers in the comparison, from 0, ascending */
    size_t count;       /* of those in `at` */
    size_t wrong, last; /* how many are wrong in all; the number of the last, if there are any */
};

/* Bytes that are not what they were filled with. */
struct damage {
    size_t bytes;
    size_t first; /* offset of the first, if there are any */
};

#endif

/*
 * work.h - what a kernel of a GPU is asked to do: the one argument that each of them takes.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_WORK_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "dataplane/memory/datatype.h"
#include "dataplane/memory/input_element.h"

#define DEVICE_RUNS 64 /* of one launch */

/* A part of a local operation that is contiguous in each of its layouts. */
struct device_run {
    char *to;
    const char *from, *with;
    size_t elements; /* of a copy: bytes */
};

struct device_work {
    int ranks; /* that contribute to a result */

    /* Local operations. */
    int run_count;
    struct device_run runs[DEVICE_RUNS];

    /* Inputs: elements [first, first + count) of the source of `rank`, to `at`. */
    struct input_rule by;
    int rank;
    size_t first, count;
    char *at;

    /* Comparison: of the elements at `at` with inputs [first, first + count) of `ranks` ranks from
     * `rank` on, combined (`reduction`: enum reduction_id), and finished if that is asked for.
     * *total grows by how many differ, and bit i of `bits` is set for each; NULL: not asked for. */
    int reduction;
    bool finishes;
    unsigned long long *total;
    unsigned *bits;

    /* Scan: `count` bytes at `at` that should be `byte`. *total grows by how many are not, and
     * *least falls to the offset of the first. */
    unsigned char byte;
    unsigned long long *least;
};

#endif

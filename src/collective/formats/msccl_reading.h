/*
 * msccl_reading.h - the state of reading an algorithm of MSCCL, and what its readers share.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_MSCCL_READING_H
#define CCTEST_COLLECTIVE_FORMATS_MSCCL_READING_H

#include "base/xml.h"
#include "collective/formats/file_plan.h"

#define MSCCL_CHUNKS_MOST (1 << 22)

struct thread_block {
    const struct xml_element *element;
    int send, receive, channel; /* peers, -1: none */
    int first, steps;           /* of the GPU's steps */
};

/* What a step does, by its type. */
struct step_type {
    const char *name;
    bool receives, combines, stores, sends, local;
};

struct msccl_step {
    const struct xml_element *element;
    const struct step_type *type;
    int block;                          /* its thread block, as an index */
    int waits_for;                      /* a step of the GPU; -1: none */
    int level;                          /* operations before it, one after the other, at least */
    int64_t source, destination, count; /* chunks */
    enum buffer from, to;
};

struct msccl_reading {
    struct xml xml;
    struct arena *arena;
    struct file_plan *plan;
    int rank; /* the GPU that is being read */
    struct thread_block *blocks;
    struct msccl_step *steps;
    int block_count, step_count;
    size_t scratch, moved; /* chunks; those that all steps move */
};

/* STATUS_USAGE, with the file and the line of the element. */
__attribute__((format(printf, 3, 4))) enum status msccl_refuse(const struct msccl_reading *reading,
                                                               const struct xml_element *element,
                                                               const char *format, ...);
enum status msccl_no_memory(const struct msccl_reading *reading);

/* `count` things of `size` bytes, all zero, as long as the plan; NULL: out of memory. */
void *msccl_take(struct msccl_reading *reading, size_t count, size_t size);

/* xml_number() of an int. */
enum status msccl_int(const struct msccl_reading *reading, const struct xml_element *element,
                      const char *name, int least, int most, int *value);

/* How many children of this name an element has. */
int msccl_children(const struct xml_element *element, const char *name);

#endif

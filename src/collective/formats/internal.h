/*
 * internal.h - for the files of collective/formats/ alone.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_INTERNAL_H
#define CCTEST_COLLECTIVE_FORMATS_INTERNAL_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/xml.h"
#include "collective/formats/formats.h"
#include "collective/schedule/schedule.h"

/* ---- Reads schedules from cctest's own JSON, as `cctest plan --json` writes it. ---- */

/* Reads all plans of a document. They are in the arena, but for what file_plan_free() frees, also
 * after an error: *plans is then the part that was read. `path` is not copied. STATUS_USAGE, with
 * the line, or with the rank and the operation, for a document that is none, is cut off, or has an
 * operation that is malformed. */
enum status json_plans_read(const char *path, const char *text, struct arena *arena,
                            struct file_plan **plans, size_t *count);

/* ---- The state of reading an algorithm of MSCCL, and what its readers share. ---- */

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

/* ---- Steps of MSCCL that touch the same chunk although nothing orders them.
 *
 * MSCCL runs the thread blocks of a GPU side by side, and may run such steps in either order. Here they
 * run in the order of the levels, since the conflict rule orders all that touch the same memory.
 * ---- */

struct msccl_order;

/* Of the GPU that is being read. NULL with status STATUS_OK: it has too many steps to be looked at. */
enum status msccl_order_open(struct msccl_reading *reading, struct msccl_order **order);

/* Adds a step, after the one before it in its thread block and the one that it waits for. NULL is
 * allowed, here and below. */
void msccl_order_add(struct msccl_order *order, int index);

/* A step that was added reads or writes these chunks, after those that were told of. The first two
 * steps without an order become the note of the plan. */
void msccl_order_touch(struct msccl_order *order, int index, const struct message *chunks,
                       bool writes);

/* ---- Reads the schedule of an algorithm from the XML of MSCCL.
 *
 * Source of the format: src/graph/topo.cc and src/collectives/device/msccl_interpreter.h of
 * github.com/microsoft/msccl.
 * ---- */

/* Reads the one plan of a file, as json_plans_read() does. STATUS_USAGE, with the line. */
enum status msccl_plan_read(const char *path, const char *text, size_t size, struct arena *arena,
                            struct file_plan **plans, size_t *count);

/* ---- The steps of a GPU in MSCCL's XML, and the operations that they are. ---- */

/* Reads the steps of the thread blocks, whose fields are filled in. */
enum status msccl_steps_read(struct msccl_reading *reading);

/* Adds their operations to those of the rank, which has room for two a step, and their scratch to
 * reading->scratch. */
enum status msccl_steps_convert(struct msccl_reading *reading);

/* ---- Writes the operations of a schedule once more, through a builder. ---- */

/* What an operation is told by in a mapping. */
enum operand { OPERAND_TO, OPERAND_FROM, OPERAND_WITH, OPERANDS };

/* Where a message of operation `index` lies in the builder's buffers. The spans need not outlive the
 * next message of the same operand. */
typedef struct message replay_map(void *context, size_t index, enum operand operand,
                                  struct message message);

/* Operations to write: `lanes` lanes, of which the first is that of the group. Their steps, epochs
 * and lanes stay as they are. */
struct replay {
    const struct operation *operations;
    size_t count;
    const struct epoch *epochs; /* of each `previous` is read */
    size_t epoch_count;
    int lanes;
    replay_map *map; /* NULL: messages stay where they are */
    void *context;
};

void replay_put(struct builder *builder, const struct group *group, const struct replay *replay);

#endif

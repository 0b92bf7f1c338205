/*
 * internal.h - for the files of collective/formats/ alone.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_INTERNAL_H
#define CCTEST_COLLECTIVE_FORMATS_INTERNAL_H

#include <stddef.h>

#include "base/arena.h"
#include "collective/formats/formats.h"

/* ---- Reads schedules from cctest's own JSON, as `cctest plan --json` writes it. ---- */

/* Reads all plans of a document. They are in the arena, but for what file_plan_free() frees, also
 * after an error: *plans is then the part that was read. `path` is not copied. STATUS_USAGE, with
 * the line of a document that is none or is cut off, or with the place of a value that is wrong. */
enum status json_plans_read(const char *path, const char *text, struct arena *arena,
                            struct file_plan **plans, size_t *count);

/* ---- Reads the schedule of an algorithm from the XML of MSCCL.
 *
 * Source of the format: src/graph/topo.cc and src/collectives/device/msccl_interpreter.h of
 * github.com/microsoft/msccl.
 * ---- */

/* Reads the one plan of a file, as json_plans_read() does. STATUS_USAGE, with the line. */
enum status msccl_plan_read(const char *path, const char *text, size_t size, struct arena *arena,
                            struct file_plan **plans, size_t *count);

/* ---- Writes the operations of a schedule once more, through a builder. ---- */

/* The operand of an operation that a mapping is asked for. */
enum operand { OPERAND_TO, OPERAND_FROM, OPERAND_WITH, OPERANDS };

/* Where a message of operation `index` lies in the builder's buffers. The spans need to last only
 * until the next message of the same operand. */
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

/*
 * cpu_engine.h - the engine of memory that a CPU reads and writes: the engine_* hooks of struct
 * memory_kind (memory.h), whose contracts hold here.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CPU_ENGINE_H
#define CCTEST_DATAPLANE_MEMORY_CPU_ENGINE_H

#include "base/status.h"
#include "base/tick.h"
#include "dataplane/memory/contents.h"
#include "dataplane/memory/transfer.h"

enum status cpu_engine_open(enum engine_use use, const struct tick *tick, struct engine **engine);
void cpu_engine_post(struct engine *engine, struct transfer *transfer);
enum status cpu_engine_progress(struct engine *engine);
void cpu_engine_close(struct engine *engine);
void cpu_engine_now(const struct transfer *transfer);

#endif

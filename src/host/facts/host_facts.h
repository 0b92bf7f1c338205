/*
 * host_facts.h - the facts of a host itself: CPUs, memory, kernel, limits.
 */
#ifndef CCTEST_HOST_FACTS_HOST_FACTS_H
#define CCTEST_HOST_FACTS_HOST_FACTS_H

#include "host/facts/source.h"

struct inquiry;

/* The model of this host's CPUs; "": not known. x86 has a name, Arm numbers ("CPU implementer : 0x41",
 * "CPU part : 0xd40"). `root`: as in struct inventory_source. */
void cpu_model_read(const char *root, char model[VALUE_TEXT_MOST]);

void cpu_facts(const struct inventory_source *source, struct inquiry *inquiry,
               struct inventory *inventory);
void memory_facts_add(const struct inventory_source *source, struct inquiry *inquiry,
                      struct inventory *inventory);
void system_facts(const struct inventory_source *source, struct inquiry *inquiry,
                  struct inventory *inventory);

#endif

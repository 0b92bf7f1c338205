/*
 * host_facts.h - the facts of a host itself: CPUs, memory, kernel, limits.
 */
#ifndef CCTEST_INVENTORY_HOST_FACTS_H
#define CCTEST_INVENTORY_HOST_FACTS_H

#include "inventory/source.h"

struct inquiry;

void cpu_facts(const struct inventory_source *source, struct inquiry *inquiry,
               struct inventory *inventory);
void memory_facts_add(const struct inventory_source *source, struct inquiry *inquiry,
                      struct inventory *inventory);
void system_facts(const struct inventory_source *source, struct inquiry *inquiry,
                  struct inventory *inventory);

#endif

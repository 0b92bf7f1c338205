/*
 * inventory_stage.h - what each host has, beside the others and beside what its parts could do.
 */
#ifndef CCTEST_ACCEPT_INVENTORY_STAGE_H
#define CCTEST_ACCEPT_INVENTORY_STAGE_H

#include "accept/acceptance.h"

/* Sets acceptance->inventories. */
enum status inventory_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif

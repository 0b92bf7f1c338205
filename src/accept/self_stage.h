/*
 * self_stage.h - each host by itself, without links: its memory and its cores.
 */
#ifndef CCTEST_ACCEPT_SELF_STAGE_H
#define CCTEST_ACCEPT_SELF_STAGE_H

#include "accept/acceptance.h"

enum status self_stage_run(struct acceptance *acceptance, struct stage_result *result);

#endif

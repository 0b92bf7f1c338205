/*
 * isolate_stage.h - suspects meet hosts that were only ever good until each is confirmed or cleared
 * (accept/judge/isolation.h).
 */
#ifndef CCTEST_ACCEPT_ISOLATE_STAGE_H
#define CCTEST_ACCEPT_ISOLATE_STAGE_H

#include "accept/acceptance.h"

/* Sets acceptance->isolated. */
enum status isolate_stage_run(struct acceptance *acceptance, struct stage_result *result);

/* In its place, where it is left out: what failed in pairs makes suspects, and what was slow is noted. */
enum status isolate_stage_miss(struct acceptance *acceptance, struct stage_result *pairs);

#endif

/*
 * accept_options.c - the names of the stages of `cctest accept`.
 */
#include "run/accept_options.h"

#include <stddef.h>

const char *const accept_stage_names[ACCEPT_STAGES + 1] = {
    [STAGE_START] = "start",   [STAGE_INVENTORY] = "inventory",
    [STAGE_SELF] = "self",     [STAGE_NODE] = "node",
    [STAGE_PAIRS] = "pairs",   [STAGE_ISOLATE] = "isolate",
    [STAGE_HALVES] = "halves", [STAGE_ALL] = "all",
    [STAGE_SOAK] = "soak",     [ACCEPT_STAGES] = NULL,
};

/*
 * accept_options.c - the names of the stages of `cctest accept`.
 */
#include "accept/accept.h"

#include <stddef.h>

const char *const accept_stage_names[ACCEPT_STAGES + 1] = {
    [STAGE_START] = "start",   [STAGE_INVENTORY] = "inventory",
    [STAGE_SELF] = "self",     [STAGE_NODE] = "node",
    [STAGE_PAIRS] = "pairs",   [STAGE_ISOLATE] = "isolate",
    [STAGE_HALVES] = "halves", [STAGE_ALL] = "all",
    [STAGE_SOAK] = "soak",     [ACCEPT_STAGES] = NULL,
};

/* The soak has the time of --duration. */
const struct stage_time stage_times[ACCEPT_STAGES] = {
    [STAGE_START] = {1, 20, 20},   [STAGE_INVENTORY] = {2, 30, 15}, [STAGE_SELF] = {2, 40, 15},
    [STAGE_NODE] = {2, 60, 20},    [STAGE_PAIRS] = {3, 900, 60},    [STAGE_ISOLATE] = {3, 900, 60},
    [STAGE_HALVES] = {5, 180, 30}, [STAGE_ALL] = {3, 120, 30},      [STAGE_SOAK] = {0, 0, 0},
};

/*
 * rank_state.c - the names of the phases.
 */
#include "verdict/rank_state.h"

const char *const phase_names[PHASES] = {
    [PHASE_JOIN] = "join",     [PHASE_SETUP] = "setup", [PHASE_CONNECT] = "connect",
    [PHASE_WARMUP] = "warmup", [PHASE_CHECK] = "check", [PHASE_TIME] = "time",
    [PHASE_GATHER] = "gather", [PHASE_END] = "end",
};

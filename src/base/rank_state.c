/*
 * rank_state.c - the names of the phases, and a rank's error for the report.
 */
#include "base/rank_state.h"

#include <stdio.h>

#include "base/host.h"
#include "base/log.h"

const char *const phase_names[PHASES] = {
    [PHASE_JOIN] = "join",     [PHASE_SETUP] = "setup", [PHASE_CONNECT] = "connect",
    [PHASE_WARMUP] = "warmup", [PHASE_CHECK] = "check", [PHASE_TIME] = "time",
    [PHASE_GATHER] = "gather", [PHASE_END] = "end",
};

struct job_error job_error_make(int rank, const char *host, const char *phase, const char *message)
{
    struct job_error error = {.rank = rank};
    snprintf(error.host, sizeof error.host, "%s", host);
    snprintf(error.phase, sizeof error.phase, "%s", phase);
    snprintf(error.message, sizeof error.message, "%s", message);
    return error;
}

struct job_error job_error_own(void)
{
    struct failure failure;
    char host[HOST_NAME_BYTES];
    log_failure(log_current(), &failure);
    host_name(host, sizeof host);
    return job_error_make(0, host, phase_names[PHASE_JOIN], failure.text);
}

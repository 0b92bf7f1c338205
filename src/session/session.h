/*
 * session.h - one rank's run of a job: join, set up, sweep sizes and algorithms, check, time,
 * report.
 */
#ifndef CCTEST_SESSION_SESSION_H
#define CCTEST_SESSION_SESSION_H

#include "bootstrap/bootstrap.h"
#include "measure/report.h"

/* Runs `job` as the rank that `membership` names; a rank_main with a struct report * as argument,
 * of which only rank 0 makes use. Returns the job's status. */
enum status session_run(const struct job *job, const struct membership *membership, void *report);

#endif

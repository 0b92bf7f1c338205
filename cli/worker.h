/*
 * worker.h - what a worker of `cctest accept`, `fit` and `tune` does: an ordinary rank of an ordinary small job.
 */
#ifndef CCTEST_CLI_WORKER_H
#define CCTEST_CLI_WORKER_H

#include "controlplane/agents/agents.h"
#include "run/run.h"

/* A worker_main whose argument is the agent's job: of that the worker takes what each rank may have
 * of its own. The command is a command line without the name of the program, with one blank between
 * two words. Rank 0's result is the job's JSON. */
enum status worker_run(const struct membership *membership, const char *command, int result,
                       void *argument);

#endif

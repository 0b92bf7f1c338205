/*
 * worker.h - what a worker of `cctest accept`, `fit` and `tune` does: an ordinary rank of an ordinary small job.
 */
#ifndef CCTEST_CLI_WORKER_H
#define CCTEST_CLI_WORKER_H

#include "cli/options/options.h"
#include "controlplane/agents/agents.h"

/* A worker_main whose argument is the agent's job: of that the worker takes what each rank may have
 * of its own. The command is a command line without the name of the program, with one blank between
 * two words. Rank 0's result is the job's JSON. */
enum status worker_run(const struct membership *membership, const char *command, int result,
                       void *argument);

/* ---- A command whose work small jobs of agents do: `accept`, `fit`, `tune`. ---- */

struct agents_command {
    const struct command_line *line;
    struct request *request;
    struct bootstrap *bootstrap;
    struct agent_config agents; /* for the arguments of the rank_main */
    bool first;                 /* this process is rank 0, or starts it */
};

/* Chooses the bootstrap, and calls `run`, which ends with bootstrap_run(). Where there are no ranks, the
 * file of --json says so. */
enum status agents_command_run(const struct command_line *line, struct request *request,
                               enum status (*run)(const struct agents_command *command));

#endif

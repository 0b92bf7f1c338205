/*
 * worker.h - commands whose work small jobs of agents do: `accept`, `fit`, `tune`.
 */
#ifndef CCTEST_CLI_WORKER_H
#define CCTEST_CLI_WORKER_H

#include "cli/options/options.h"
#include "controlplane/agents/agents.h"

struct agents_command {
    const struct command_line *line;
    struct request *request;
    struct bootstrap *bootstrap;
    struct agent_config agents; /* for the arguments of the rank_main */
    bool first;                 /* this process is rank 0, or starts it */
};

/* Chooses the bootstrap, and calls `run`, which may refuse, or ends with bootstrap_run(). Where
 * there are no ranks, the file of --json says so. */
enum status agents_command_run(const struct command_line *line, struct request *request,
                               enum status (*run)(const struct agents_command *command));

#endif

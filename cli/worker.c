/*
 * worker.c - what a worker of `cctest accept`, `fit` and `tune` does: an ordinary rank of an
 * ordinary small job, or all ranks of one on its host.
 */
#include "cli/worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accept/accept.h"
#include "base/list.h"
#include "base/log.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "cli/options/options.h"
#include "cli/run/run.h"
#include "run/session/session.h"

#define WORKER_WORDS_MOST 64

/* Reads the command as the command line of a job. What each host has of its own is the agent's; the
 * other texts of the job belong to `words`, and the environment, which the agent has read, does not
 * count again. */
static enum status worker_read(char *words, const struct request *agent, struct request *request)
{
    char program[] = "cctest", *argv[WORKER_WORDS_MOST + 1] = {program}, *place;
    int argc = 1;
    struct command_line line;
    for (char *word = strtok_r(words, " ", &place); word && argc < WORKER_WORDS_MOST;
         word = strtok_r(NULL, " ", &place))
        argv[argc++] = word;
    enum status status = command_line_read(argc, argv, NULL, &line);
    if (status == STATUS_OK)
        status = command_line_resolve(&line, request);
    request->job.devices = agent->job.devices;
    request->job.bootstrap.interface = agent->job.bootstrap.interface;
    return status;
}

/* A rank of a job; rank 0 writes its result. A rank_main, whose argument is the job. */
static enum status worker_measure(const struct membership *membership, void *argument)
{
    const struct request *request = argument;
    struct printers printers;
    bool reports = membership->rank == 0;
    char *compared = new_array(COMPARED_TEXT_MOST, 1);
    options_compared(request, FOR_RUN, compared);
    enum status status = printers_open(&printers, request, PRINT_FILES, reports);
    if (status == STATUS_OK) {
        struct session_arguments arguments = {
            .job = &request->job, .options = compared, .report = &printers.report};
        status = printers_finish(&printers, reports, session_run(membership, &arguments));
    } else {
        printers_close(&printers);
    }
    free(compared);
    return status;
}

/* The job's ranks are the workers of its agents; or, with --np, ranks that this worker starts. */
static enum status worker_start_job(const struct membership *membership, struct request *request,
                                    int result)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", result);
    struct job *job = &request->job;
    request->files.json = path;
    job->watches = true;
    if (job->memory->prepare)
        job->memory->prepare();
    return job->bootstrap.np > 0 ? bootstrap_run_local(&job->bootstrap, worker_measure, request)
                                 : worker_measure(membership, request);
}

/* A worker_main whose argument is the agent's job: of that the worker takes what each rank may have
 * of its own. The command is a command line without the name of the program, with one blank between
 * two words. Rank 0's result is the job's JSON. */
static enum status worker_run(const struct membership *membership, const char *command, int result,
                              void *argument)
{
    signal(SIGPIPE, SIG_IGN);
    if (host_work_is(command))
        return host_work_run(command, result);
    struct request *request = new_array(1, sizeof *request);
    char *words = new_text(command);
    enum status status = worker_read(words, argument, request);
    if (status == STATUS_OK)
        status = worker_start_job(membership, request, result);
    job_release(&request->job);
    free(words);
    free(request);
    return status;
}

enum status agents_command_run(const struct command_line *line, struct request *request,
                               enum status (*run)(const struct agents_command *command))
{
    struct bootstrap_options *config = &request->job.bootstrap;
    struct bootstrap bootstrap;
    char *compared = new_array(COMPARED_TEXT_MOST, 1);
    options_compared(request, line->command->bit, compared);
    config->survives = true;
    enum status status = bootstrap_choose(config, &bootstrap);
    if (status == STATUS_OK) {
        struct agents_command command = {.line = line,
                                         .request = request,
                                         .bootstrap = &bootstrap,
                                         .agents = {.options = compared,
                                                    .bootstrap = config,
                                                    .work = worker_run,
                                                    .work_argument = request},
                                         .first = bootstrap.kind == BOOTSTRAP_LOCAL ||
                                                  bootstrap.launch.rank == 0};
        if (command.first)
            command_line_warn(line);
        signal(SIGPIPE, SIG_IGN);
        say_verbose(1, "%s", bootstrap.why);
        bootstrap_warn_of_nodes(config, &bootstrap);
        status = run(&command);
    } else if (request->files.json) {
        json_refuse(request->files.json, request, status);
    }
    bootstrap_close(&bootstrap);
    free(compared);
    return status;
}

/*
 * run.c - `cctest COLLECTIVE`: chooses the bootstrap, opens the printers, and runs the ranks.
 */
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/run/run.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "predict/predict.h"
#include "run/session/session.h"

/* Threads share a process's context on a GPU; the kernels of processes take turns there. A killed
 * thread would take all ranks with it. `ranks`: that are started here; 0: none are. */
static void choose_ranks_as(struct job *job, int ranks)
{
    const struct memory_kind *memory = job->memory;
    bool kills = false;
    if (job->bootstrap.ranks_as != RANKS_AUTO)
        return;
    job->bootstrap.ranks_as = RANKS_PROCESSES;
    int devices = ranks > 0 && memory->devices_taken ? memory->devices_taken(job->devices) : 0;
    if (devices < 1 || ranks <= devices)
        return;
    for (int i = 0; i < job->injection_count; i++)
        kills |= injection_takes_process(&job->injections[i]);
    if (!kills)
        job->bootstrap.ranks_as = RANKS_THREADS;
    say_verbose(1, "%d ranks share %d GPU%s: they are %s", ranks, devices, devices > 1 ? "s" : "",
                kills ? "processes, because --inject kill and stop hit all ranks of a process"
                      : "threads of one process (--ranks-as processes makes them processes)");
}

/* Chooses the bootstrap, and checks that the job can run with that number of ranks, if it is known
 * yet; otherwise rank 0 checks it for all. */
static enum status find_ranks(struct job *job, struct bootstrap *bootstrap)
{
    enum status status = bootstrap_choose(&job->bootstrap, bootstrap);
    if (status != STATUS_OK)
        return status;
    if (job->memory->prepare)
        job->memory->prepare();
    say_verbose(1, "%s", bootstrap->why);
    bootstrap_warn_of_nodes(&job->bootstrap, bootstrap);
    bool local = bootstrap->kind == BOOTSTRAP_LOCAL;
    int ranks = local ? local_ranks(&job->bootstrap) : job->bootstrap.world;
    choose_ranks_as(job, local ? ranks : 0);
    if (ranks <= 0)
        return STATUS_OK;
    struct split split;
    int *here = local ? calloc((size_t)ranks, sizeof *here) : NULL;
    status = job_split(job, ranks, here, &split);
    if (status == STATUS_OK)
        status = job_check_ranks(job, ranks, &split);
    split_free(&split);
    free(here);
    return status;
}

/* A sweep of many lines may be a slip: -i is the number of iterations elsewhere. */
#define LINES_UNSAID 200
static void say_lines(const struct job *job)
{
    unsigned long long lines = 0, sizes = 0, most = 0;
    for (int first = 0, end; first < job->candidate_count; first = end) {
        int kinds = 0, picked = 0; /* auto, or its picks, run one at each size */
        end = job_contest_end(job, first);
        for (int c = first; c < end; c++)
            *(job->candidates[c].why[0] || !job->candidates[c].choice.algorithm ? &picked
                                                                                : &kinds) += 1;
        sizes = job_size_count(job, &job->candidates[first]);
        most = sizes > most ? sizes : most;
        lines += sizes * (unsigned long long)(kinds + (picked > 0));
    }
    char least[SIZE_TEXT_MOST], largest[SIZE_TEXT_MOST];
    unsigned long long kinds = most ? lines / most : 0;
    const char *plural = most == 1 ? "" : "s";
    if (lines <= LINES_UNSAID)
        return;
    if (job_is_one_contest(job))
        say("the table will have %llu lines: %llu size%s from %s to %s for %llu algorithm%s; -b, "
            "-e, -f and -i BYTES choose the sizes, -n the iterations",
            lines, sizes, plural, size_format(job->smallest, least),
            size_format(job->largest, largest), kinds, kinds > 1 ? "s" : "");
    else
        say("the table will have %llu lines, with %llu size%s from %s to %s; -a, -d and -o choose "
            "what runs, -b, -e, -f and -i BYTES the sizes, -n the iterations",
            lines, most, plural, size_format(job->smallest, least),
            size_format(job->largest, largest));
}

/* Runs the ranks. */
static enum status ranks_run(struct job *job, struct bootstrap *bootstrap, const char *compared,
                             struct printers *printers, bool reports)
{
    struct session_arguments arguments = {
        .job = job, .options = compared, .report = &printers->report};
    enum status status = bootstrap_run(&job->bootstrap, bootstrap, session_run, &arguments);
    return printers_finish(printers, reports, status);
}

/* Rank 0 cannot take results. Ranks that others have started wait for it, so it tells them. */
static enum status ranks_refuse(struct request *request, struct bootstrap *bootstrap,
                                const char *compared, enum status status)
{
    struct job *job = &request->job;
    struct failure failure;
    bool awaited = bootstrap->kind != BOOTSTRAP_LOCAL && log_failure(log_current(), &failure);
    struct session_arguments arguments = {.job = job, .options = compared, .refusal = &failure};
    log_print_failure(log_current()); /* at once */
    if (request->files.json)
        json_refuse(request->files.json, request, status);
    /* The recorded failure is an error; all ranks end with the job's status. */
    failure.status = status;
    if (awaited)
        bootstrap_run(&job->bootstrap, bootstrap, session_run, &arguments);
    return status;
}

enum status run_command(const struct command_line *line, struct request *request)
{
    struct job *job = &request->job;
    struct bootstrap bootstrap;
    char *compared = malloc(COMPARED_TEXT_MOST);
    if (!compared)
        return fail(STATUS_ERROR, "out of memory");
    options_compared(request, FOR_RUN,
                     compared); /* as the user gave them, before the ranks settle `auto` */
    enum status status = find_ranks(job, &bootstrap);
    if (status != STATUS_OK) {
        bootstrap_close(&bootstrap);
        free(compared);
        if (request->files.json)
            json_refuse(request->files.json, request, status);
        return status;
    }
    bool reports = bootstrap.kind == BOOTSTRAP_LOCAL || bootstrap.launch.rank == 0;
    if (reports) {
        command_line_warn(line);
        tuning_warn(request);
        say_lines(job);
    }
    signal(SIGPIPE, SIG_IGN); /* a closed pipe must not look like a lost rank */
    struct predictor predictor;
    struct printers printers = {.outcome = NULL};
    status = predictor_open(&predictor, reports ? job->model : NULL);
    if (status == STATUS_OK)
        status = printers_open(&printers, request, PRINT_TABLE, reports);
    if (status == STATUS_OK) {
        printers.report.predictor = predictor.model ? &predictor.report : NULL;
        status = ranks_run(job, &bootstrap, compared, &printers, reports);
    } else {
        printers_close(&printers);
        if (reports)
            status = ranks_refuse(request, &bootstrap, compared, status);
    }
    predictor_close(&predictor);
    bootstrap_close(&bootstrap);
    free(compared);
    return status;
}

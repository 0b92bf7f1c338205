/*
 * run.c - `cctest COLLECTIVE`: sets up the printers, finds where the ranks come from, and runs
 * them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bootstrap.h"
#include "commands.h"
#include "log.h"
#include "output.h"
#include "session.h"

/* All printers behind one. */
struct printers {
    struct report report;
    struct report *table, *csv, *json; /* csv, json: NULL unless asked for */
    struct outcome *outcome;           /* shared with child processes */
};

static void printers_begin(struct report *report, const struct job *job,
                           const struct lineup *lineup)
{
    struct printers *printers = (struct printers *)report;
    struct report *each[] = {printers->table, printers->csv, printers->json};
    for (int i = 0; i < 3; i++)
        if (each[i])
            each[i]->begin(each[i], job, lineup);
}

static void printers_connected(struct report *report, const struct job *job,
                               const struct connections *connections)
{
    struct printers *printers = (struct printers *)report;
    struct report *each[] = {printers->table, printers->csv, printers->json};
    for (int i = 0; i < 3; i++)
        if (each[i] && each[i]->connected)
            each[i]->connected(each[i], job, connections);
}

static void printers_result(struct report *report, const struct job *job,
                            const struct result *result)
{
    struct printers *printers = (struct printers *)report;
    struct report *each[] = {printers->table, printers->csv, printers->json};
    for (int i = 0; i < 3; i++)
        if (each[i])
            each[i]->result(each[i], job, result);
}

/* The table says last how it ended: its reader is not to read "ok" where the others were not written.
 */
static void printers_end(struct report *report, const struct job *job, const struct ending *ending)
{
    struct printers *printers = (struct printers *)report;
    struct report *others[] = {printers->csv, printers->json};
    struct ending whole = *ending;
    for (int i = 0; i < 2; i++)
        if (others[i])
            others[i]->end(others[i], job, ending);
    if (printers->outcome->failed)
        whole.status = status_graver(whole.status, STATUS_ERROR);
    printers->table->end(printers->table, job, &whole);
    printers->outcome->ended = true;
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* `announces`: this process, or its child, is rank 0, so paths are tried now. */
static enum status printers_open(struct printers *printers, const struct job *job, bool announces)
{
    bool table_aside = is_stdout(job->json) || is_stdout(job->csv);
    *printers = (struct printers){.report = {.begin = printers_begin,
                                             .connected = printers_connected,
                                             .result = printers_result,
                                             .end = printers_end}};
    void *shared = mmap(NULL, sizeof *printers->outcome, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return fail(STATUS_ERROR, "not enough memory for the report: free some");
    printers->outcome = shared;
    printers->table = table_open(table_aside ? stderr : stdout, printers->outcome);
    if (!printers->table)
        return STATUS_ERROR;
    if (job->csv && !(printers->csv = csv_open(job->csv, printers->outcome)))
        return STATUS_ERROR;
    if (job->json && !(printers->json = json_open(job->json, printers->outcome)))
        return STATUS_ERROR;
    enum status status = STATUS_OK;
    if (announces && printers->csv)
        status = csv_announce(printers->csv);
    if (announces && printers->json && status == STATUS_OK)
        status = json_announce(printers->json, job);
    return status;
}

static void printers_close(struct printers *printers)
{
    table_close(printers->table);
    csv_close(printers->csv);
    json_close(printers->json);
    if (printers->outcome)
        munmap(printers->outcome, sizeof *printers->outcome);
}

/* Where the ranks will come from, and whether the job can run with so many, where the user said it:
 * otherwise rank 0 says it for all. */
static enum status find_ranks(struct job *job, struct bootstrap *bootstrap)
{
    enum status status = bootstrap_choose(job, bootstrap);
    if (status != STATUS_OK)
        return status;
    say_verbose(1, "%s", bootstrap->why);
    bool local = bootstrap->kind == BOOTSTRAP_LOCAL;
    int ranks = local ? bootstrap_local_ranks(job) : job->world;
    if (ranks <= 0)
        return STATUS_OK;
    struct shape *shape;
    int *here = local ? calloc((size_t)ranks, sizeof *here) : NULL;
    status = job_shape(job, ranks, here, &shape);
    if (status == STATUS_OK)
        status = job_check_ranks(job, ranks, shape);
    shape_free(shape);
    free(here);
    return status;
}

enum status run_command(const struct command_line *line, struct job *job)
{
    (void)line;
    struct bootstrap bootstrap;
    enum status status = find_ranks(job, &bootstrap);
    if (status != STATUS_OK) {
        bootstrap_close(&bootstrap);
        if (job->json)
            json_refuse(job->json, status);
        return status;
    }
    bool reports = bootstrap.kind == BOOTSTRAP_LOCAL || bootstrap.rank == 0;
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone must not look like a lost rank */
    signal(SIGXFSZ, SIG_IGN); /* nor a limit of file sizes, which holds for shared memory too */
    struct printers printers;
    status = printers_open(&printers, job, reports);
    if (status == STATUS_OK) {
        status = bootstrap_run(job, &bootstrap, session_run, &printers);
        if (reports && !printers.outcome->ended && printers.json)
            json_abandoned(printers.json, job, status);
        if (printers.outcome->failed)
            status = status_graver(status, STATUS_ERROR);
    }
    printers_close(&printers);
    bootstrap_close(&bootstrap);
    return status;
}

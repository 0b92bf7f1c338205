/*
 * csv.c - prints a run as comma-separated values, one line a result, for spreadsheets and plots.
 */
#include "cli/printers/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct csv_report {
    struct report report;
    const char *path;
    FILE *file;
    struct outcome *outcome;
    int ranks;
};

static struct csv_report *csv_report_of(struct report *report)
{
    return (struct csv_report *)report;
}

enum status csv_announce(struct report *report)
{
    struct csv_report *csv = csv_report_of(report);
    if (strcmp(csv->path, "-") != 0)
        return output_try(csv->path, &csv->file);
    csv->file = stdout;
    return STATUS_OK;
}

/* Said once; the job itself goes on. */
static void csv_complain(struct csv_report *csv)
{
    if (!csv->outcome->failed)
        say("cannot write %s: %s; choose another file",
            csv->file == stdout ? "standard output" : csv->path, strerror(errno));
    csv->outcome->failed = true;
}

static void csv_flush(struct csv_report *csv)
{
    if (fflush(csv->file) != 0)
        csv_complain(csv);
}

static void csv_begin(struct report *report, const struct job *job,
                      const struct participants *participants)
{
    struct csv_report *csv = csv_report_of(report);
    (void)job;
    csv->ranks = participants->ranks;
    /* Not before there is a job: an earlier run's results survive a refusal. */
    if (ftruncate(fileno(csv->file), 0) != 0 && errno != EINVAL) {
        csv_complain(csv);
        return;
    }
    fputs("collective,algorithm,transport,memory,datatype,op,root,ranks,bytes,count,in_place,"
          "iterations,checked,wrong,start,min_us,p50_us,mean_us,p90_us,p99_us,max_us,algbw_GBps,"
          "busbw_GBps\n",
          csv->file);
    csv_flush(csv);
}

static void csv_result(struct report *report, const struct job *job, const struct result *result)
{
    struct csv_report *csv = csv_report_of(report);
    const struct statistics *time = &result->time_us;
    fprintf(csv->file, "%s,%s,%s,%s,%s,%s,", job->collective->name,
            job->candidates[result->choice].text, result->transport, job->memory->name,
            job->datatype->name, job->reduction ? job->reduction->name : "");
    if (job->collective->rooted && result->root == ROOT_ALL)
        fputs("all", csv->file);
    else if (job->collective->rooted)
        fprintf(csv->file, "%d", result->root);
    fprintf(csv->file, ",%d,%zu,%zu,%d,%ld,%ld,%zu,%s,", csv->ranks, result->bytes, result->count,
            job->in_place, result->iterations, result->checked, result->wrong,
            job->start == START_BARRIER ? "barrier" : "back-to-back");
    fprintf(csv->file, "%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.6f,%.6f\n", time->min, time->p50,
            time->mean, time->p90, time->p99, time->max, result->algbw, result->busbw);
    csv_flush(csv);
}

static void csv_end(struct report *report, const struct job *job, const struct job_end *end)
{
    (void)job;
    (void)end;
    csv_flush(csv_report_of(report));
}

struct report *csv_open(const char *path, struct outcome *outcome)
{
    struct csv_report *csv = calloc(1, sizeof *csv);
    if (!csv) {
        fail(STATUS_ERROR, "not enough memory for the CSV report: free some");
        return NULL;
    }
    csv->report = (struct report){.begin = csv_begin, .result = csv_result, .end = csv_end};
    csv->path = path;
    csv->outcome = outcome;
    return &csv->report;
}

void csv_close(struct report *report)
{
    if (!report)
        return;
    struct csv_report *csv = csv_report_of(report);
    if (csv->file && csv->file != stdout)
        fclose(csv->file);
    free(csv);
}

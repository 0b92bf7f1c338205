/*
 * csv.c - prints a run as comma-separated values, one line a result or a sample, for spreadsheets
 * and plots.
 */
#include "cli/run/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct csv_report {
    struct report report;
    const char *path;
    struct output_queue *queue;
    FILE *file; /* into it */
    const char *columns;
    int ranks;
    long line; /* of the table, from 0 */
};

static struct csv_report *csv_report_of(struct report *report)
{
    return (struct csv_report *)report;
}

enum status csv_announce(struct report *report)
{
    struct csv_report *csv = csv_report_of(report);
    enum status status = STATUS_OK;
    int fd = STDOUT_FILENO;
    if (!output_is_standard(csv->path))
        status = output_open(csv->path, &fd);
    output_queue_open(csv->queue, fd);
    if (status == STATUS_OK)
        csv->file = output_queue_stream(csv->queue);
    if (status == STATUS_OK && !csv->file)
        return fail(STATUS_ERROR, "not enough memory for the CSV report: free some");
    return status;
}

static void csv_begin(struct report *report, const struct job *job,
                      const struct participants *participants)
{
    struct csv_report *csv = csv_report_of(report);
    (void)job;
    csv->ranks = participants->ranks;
    /* Not before there is a job: an earlier run's results survive a refusal. What standard output
     * already holds belongs to the shell that opened it (>>, or one > for several runs). */
    if (!output_is_standard(csv->path) && ftruncate(output_queue_fd(csv->queue), 0) != 0 &&
        errno != EINVAL)
        output_queue_fail(csv->queue, errno);
    fputs(csv->columns, csv->file);
    fflush(csv->file);
}

/* A text that a user wrote, in quotes where it needs them. */
static void csv_text(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++)
        fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', file);
}

static void csv_result(struct report *report, const struct job *job, const struct result *result)
{
    struct csv_report *csv = csv_report_of(report);
    const struct statistics *time = &result->timing.time_us;
    const struct candidate *candidate = &job->candidates[result->choice];
    fprintf(csv->file, "%s,%s,%s,%s,%s,%s,", candidate->collective->name, candidate->text,
            result->transport, job->memory->name, candidate->datatype->name,
            candidate->reduction ? candidate->reduction->name : "");
    if (candidate->collective->rooted && result->root == ROOT_ALL)
        fputs("all", csv->file);
    else if (candidate->collective->rooted)
        fprintf(csv->file, "%d", result->root);
    fprintf(csv->file, ",%d,%zu,%zu,%d,%ld,%ld,%zu,%s,", csv->ranks, result->bytes, result->count,
            job->in_place, result->iterations, result->checked, result->wrong,
            job->start == START_BARRIER ? "barrier" : "back-to-back");
    fprintf(csv->file, "%.3f,%.3f,%.3f,%.3f,", time->min, time->p50, time->mean, time->p90);
    if (!isnan(time->p99))
        fprintf(csv->file, "%.3f", time->p99);
    fprintf(csv->file, ",%.3f,%.6f,%.6f,", time->max, result->timing.algbw, result->timing.busbw);
    csv_text(csv->file, candidate->collective->counted ? job->counts_text : "");
    fprintf(csv->file, ",%d,", result->group_count);
    csv_text(csv->file, result->slowest_name);
    fprintf(csv->file, ",%.3f,%.3f\n", result->median_us, result->fastest_us);
    fflush(csv->file);
}

static void csv_end(struct report *report, const struct job *job, const struct job_end *end)
{
    (void)job;
    (void)end;
    fflush(csv_report_of(report)->file);
}

static void csv_samples(struct report *report, const struct job *job, const struct line_name *line,
                        const struct sample_row *rows, size_t count)
{
    struct csv_report *csv = csv_report_of(report);
    for (const struct sample_row *row = rows; row < rows + count; row++)
        fprintf(csv->file, "%ld,%s,%s,%zu,%d,%ld,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", csv->line,
                job->candidates[line->choice].collective->name, job->candidates[line->choice].text,
                line->bytes, row->rank, row->iteration, row->duration, row->late, row->device);
    fflush(csv->file);
}

static void csv_next_line(struct report *report, const struct job *job, const struct result *result)
{
    (void)job;
    (void)result;
    csv_report_of(report)->line++;
}

static struct report *csv_create(const char *path, struct output_queue *queue, const char *columns)
{
    struct csv_report *csv = calloc(1, sizeof *csv);
    if (!csv) {
        fail(STATUS_ERROR, "not enough memory for the CSV report: free some");
        return NULL;
    }
    csv->report = (struct report){.begin = csv_begin, .end = csv_end};
    csv->path = path;
    csv->queue = queue;
    csv->columns = columns;
    return &csv->report;
}

struct report *csv_open(const char *path, struct output_queue *queue)
{
    struct report *report =
        csv_create(path, queue,
                   "collective,algorithm,transport,memory,datatype,op,root,ranks,bytes,count,"
                   "in_place,iterations,checked,wrong,start,min_us,p50_us,mean_us,p90_us,p99_us,"
                   "max_us,algbw_GBps,busbw_GBps,counts,groups,slowest,median_us,fastest_us\n");
    if (report)
        report->result = csv_result;
    return report;
}

struct report *csv_open_samples(const char *path, struct output_queue *queue)
{
    struct report *report = csv_create(
        path, queue,
        "line,collective,algorithm,bytes,rank,iteration,duration_ns,late_ns,device_ns\n");
    if (report) {
        report->samples = csv_samples;
        report->result = csv_next_line;
    }
    return report;
}

void csv_close(struct report *report)
{
    if (!report)
        return;
    struct csv_report *csv = csv_report_of(report);
    if (csv->file)
        fclose(csv->file);
    free(csv);
}

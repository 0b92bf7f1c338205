/*
 * csv.c - prints a run as comma-separated values, one line a result or a sample, for spreadsheets
 * and plots.
 */
#include "cli/run/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"

struct csv_report {
    struct report report;
    const char *path;
    struct output_queue *queue;
    FILE *file; /* into it */
    long line;  /* of the table, from 0 */
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
    return status;
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

/* The names of the columns, or what a result has there. */
static void csv_row(struct csv_report *csv, const struct job *job, const struct result *result,
                    bool names)
{
    struct line_cells cells;
    const char *before = "";
    line_cells_open(&cells, job, result);
    for (const struct line_cell *cell = cells.items; cell < cells.items + cells.count; cell++) {
        char text[CELL_TEXT_MOST];
        const char *name = cell->column->csv;
        const char *value = cell_text(cell, cell->column->csv_decimals, text);
        if (!name)
            continue;
        fputs(before, csv->file);
        csv_text(csv->file, names ? name : value ? value : "");
        before = ",";
    }
    fputc('\n', csv->file);
    line_cells_close(&cells);
}

static void csv_begin(struct report *report, const struct job *job,
                      const struct participants *participants)
{
    struct csv_report *csv = csv_report_of(report);
    (void)participants;
    /* Not before there is a job: an earlier run's results survive a refusal. What standard output
     * already holds belongs to the shell that opened it (>>, or one > for several runs). */
    if (!output_is_standard(csv->path) && ftruncate(output_queue_fd(csv->queue), 0) != 0 &&
        errno != EINVAL)
        output_queue_fail(csv->queue, errno);
    if (report->samples)
        fputs("line,collective,algorithm,bytes,rank,iteration,duration_ns,late_ns,device_ns\n",
              csv->file);
    else
        csv_row(csv, job, &(struct result){.choice = 0}, true);
    fflush(csv->file);
}

static void csv_result(struct report *report, const struct job *job, const struct result *result)
{
    struct csv_report *csv = csv_report_of(report);
    csv_row(csv, job, result, false);
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

struct report *csv_open(const char *path, struct output_queue *queue, bool samples)
{
    struct csv_report *csv = new_array(1, sizeof *csv);
    csv->report = (struct report){.begin = csv_begin,
                                  .samples = samples ? csv_samples : NULL,
                                  .result = samples ? csv_next_line : csv_result,
                                  .end = csv_end};
    csv->path = path;
    csv->queue = queue;
    return &csv->report;
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

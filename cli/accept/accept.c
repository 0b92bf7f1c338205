/*
 * accept.c - `cctest accept`: which hosts, links, NICs and GPUs are faulty.
 */

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "cli/commands.h"
#include "cli/report/report.h"
#include "cli/accept/internal.h"
#include "cli/run/run.h"
#include "base/io/io.h"
#include "cli/worker.h"

/* Rank 0's results: the table on standard output, JSON in a file that is replaced after each stage.
 */
struct accept_printer {
    struct accept_report report; /* first: the hooks get it */
    const struct request *request;
    struct accept_origin origin;
    FILE *table;
    bool on_terminal, running_shown;
    bool json_failed;   /* it cannot be written, and is not tried again */
    enum status failed; /* to write anything */
};

static struct accept_printer *printer_of(struct accept_report *report)
{
    return (struct accept_printer *)report;
}

static void terminal_hide(struct accept_printer *printer)
{
    if (printer->running_shown && terminal_line_hide())
        printer->running_shown = false;
}

static void json_keep(struct accept_printer *printer, const struct acceptance *acceptance,
                      const enum status *status)
{
    const char *path = printer->request->files.json;
    bool last = status != NULL;
    if (!path || (!last && strcmp(path, "-") == 0) || printer->json_failed)
        return;
    json_t *document = accept_json(acceptance, &printer->origin, status);
    enum status written = document ? json_put(document, path)
                                   : fail(STATUS_ERROR, "out of memory for the JSON report");
    json_decref(document);
    printer->json_failed = written != STATUS_OK;
    printer->failed = printer->failed != STATUS_OK ? printer->failed : written;
}

static enum status html_write(const struct accept_printer *printer,
                              const struct acceptance *acceptance, enum status status)
{
    const char *path = printer->request->files.html, *name = "of this allocation";
    if (!path)
        return STATUS_OK;
    json_t *document = accept_json(acceptance, &printer->origin, &status);
    enum status written = document ? page_write(&document, &name, 1, path)
                                   : fail(STATUS_ERROR, "out of memory for the page %s", path);
    json_decref(document);
    return written;
}

/* Has the table been written so far? The run goes on without it. */
static void table_check(struct accept_printer *printer)
{
    if (fflush(printer->table) != 0 || ferror(printer->table)) {
        if (printer->failed == STATUS_OK)
            printer->failed = fail(STATUS_ERROR, "cannot write the table: %s", strerror(errno));
        clearerr(printer->table);
    }
}

static enum status printer_begin(struct accept_report *report, const struct acceptance *acceptance)
{
    struct accept_printer *printer = printer_of(report);
    json_keep(printer, acceptance, NULL);
    if (printer->json_failed)
        return STATUS_USAGE;
    enum status status = outputs_probe(printer->request, FOR_ACCEPT);
    if (status == STATUS_OK)
        accept_table_begin(printer->table, acceptance);
    table_check(printer);
    return status;
}

/* How long the stage may still take: at the speed of its rounds so far, or by its time. */
static void left_add(struct text *text, const struct acceptance *acceptance)
{
    const struct stage_progress *progress = &acceptance->progress;
    double left = stage_left(acceptance), passed = clock_seconds() - progress->began;
    if (progress->rounds > 0)
        text_add(text, ", round %d of %d", progress->round, progress->rounds);
    if (progress->round > 1)
        text_add(text, ", about %.0f s more",
                 ceil(fmin(left, fmax(progress->round_seconds * progress->rounds - passed, 0))));
    else
        text_add(text, ", %.0f s more at most", ceil(left));
}

static void printer_running(struct accept_report *report, const struct acceptance *acceptance,
                            enum accept_stage stage, int ended, int count)
{
    struct accept_printer *printer = printer_of(report);
    char line[TERMINAL_LINE_MOST];
    struct text text = text_in(line, sizeof line);
    if (!printer->on_terminal)
        return;
    text_add(&text, "running for %.0f s: %s, %d of %d jobs have ended",
             clock_seconds() - acceptance->progress.began, accept_stage_names[stage], ended, count);
    left_add(&text, acceptance);
    if (terminal_line_show(line))
        printer->running_shown = true;
}

static void printer_stage(struct accept_report *report, const struct acceptance *acceptance)
{
    struct accept_printer *printer = printer_of(report);
    terminal_hide(printer);
    accept_table_stage(printer->table, acceptance);
    table_check(printer);
    json_keep(printer, acceptance, NULL);
}

static void printer_rotation(struct accept_report *report, const struct acceptance *acceptance,
                             int number, double seconds)
{
    struct accept_printer *printer = printer_of(report);
    terminal_hide(printer);
    if (printer->request->job.bootstrap.verbosity > 0)
        accept_table_rotation(printer->table, acceptance, number, seconds);
    json_keep(printer, acceptance, NULL);
}

/* A file that cannot be written ends the run with an error. JSON comes last, so that it says so. */
static enum status printer_end(struct accept_report *report, const struct acceptance *acceptance,
                               enum status status)
{
    struct accept_printer *printer = printer_of(report);
    bool any = acceptance->stage_count > 0;
    terminal_hide(printer);
    enum status files = any ? accept_files_write(acceptance) : STATUS_OK;
    enum status page = any ? html_write(printer, acceptance, status) : STATUS_OK;
    if (files != STATUS_OK || page != STATUS_OK || printer->failed != STATUS_OK)
        status = status == STATUS_USAGE ? status : status_worse(status, STATUS_ERROR);
    if (any)
        accept_table_end(printer->table, acceptance, status);
    table_check(printer);
    if (printer->failed != STATUS_OK && status != STATUS_USAGE)
        status = status_worse(status, STATUS_ERROR);
    json_keep(printer, acceptance, &status);
    if (printer->json_failed && status != STATUS_USAGE)
        status = status_worse(status, STATUS_ERROR);
    if (status == STATUS_ERROR)
        log_print_failure(log_current());
    return status;
}

static enum status accept_ranks(const struct agents_command *command)
{
    struct request *request = command->request;
    char options[PASSED_TEXT_MOST];
    bool aside = outputs_take_standard(request, FOR_ACCEPT);
    options_pass(command->line, request, 1u << GROUP_LINKS, &kind_transport,
                 options); /* a job may have its own */
    struct accept_printer printer = {
        .report = {.begin = printer_begin,
                   .running = printer_running,
                   .stage = printer_stage,
                   .rotation = printer_rotation,
                   .end = printer_end},
        .request = request,
        .origin = {.request = request, .date = time(NULL), .began = clock_seconds()},
        .table = folded_stream(aside ? stderr : stdout, aside ? STDERR_FILENO : STDOUT_FILENO),
        .on_terminal = terminal_line_possible()};
    struct accept_arguments arguments = {.job = &request->job,
                                         .asked = &request->accept,
                                         .options = options,
                                         .agents = command->agents,
                                         .report = &printer.report};
    return bootstrap_run(&request->job.bootstrap, command->bootstrap, accept_run, &arguments);
}

enum status accept_command(const struct command_line *line, struct request *request)
{
    return agents_command_run(line, request, accept_ranks);
}

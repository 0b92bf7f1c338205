/*
 * tune.c - `cctest tune`: which algorithm is the fastest, for each collective, number of ranks and
 * size; and the winners in the form of other libraries.
 */

#include "base/clock.h"
#include "base/io/io.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/options.h"
#include "cli/tune/export/export.h"
#include "cli/tune/tune.h"
#include "cli/worker.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "tune/tune.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Prints the winners of `cctest tune` for people.
 */
static void tune_table_begin(FILE *out, const struct tuner *tuner)
{
    fprintf(out, "# cctest %s tune, %d ranks on %d host%s, bootstrap %s, %d sizes, at most %g s\n",
            CCTEST_VERSION, tuner->roster->ranks, tuner->roster->host_count,
            tuner->roster->host_count == 1 ? "" : "s", tuner->bootstrap, tuner->race_count,
            tuner->job->budget);
    fflush(out);
}

/* A sorted race. With a model, how many algorithms it pruned. */
static void race_print(FILE *out, const struct tuner *tuner, const struct race *race)
{
    const struct racer *first = &race->racers[0];
    char size[SIZE_TEXT_MOST];
    double low, high, margin = race_margin(race);
    racer_interval(first, &low, &high);
    fprintf(out, "  %-15s %5d %10s  %-24s %10.2f %10.2f %10.2f %6d", race->collective->name,
            race->ranks, race->collective->sized ? size_format(race->bytes, size) : "-",
            first->text, first->time, low, high, first->rounds);
    if (tuner->forecast)
        fprintf(out, " %6d", race->pruned_count);
    if (margin > 0)
        fprintf(out, "  %6.2f  %s\n", margin, race->racers[1].text);
    else
        fprintf(out, "  %6s  %s\n", "-", "-");
}

static void pruned_print(FILE *out, const struct tuner *tuner)
{
    int pruned = 0, measured = 0;
    for (int i = 0; i < tuner->race_count; i++) {
        pruned += tuner->races[i].pruned_count;
        measured += tuner->races[i].count;
    }
    fprintf(
        out,
        "# the model pruned %d of %d algorithms, which it predicts to be far behind, in %.1f s\n",
        pruned, pruned + measured, tuner->forecast_seconds);
    if (tuner->unpredicted > 0)
        fprintf(out, "# it could not predict %d algorithms, which were not pruned\n",
                tuner->unpredicted);
}

static void tune_table_end(FILE *out, const struct tuner *tuner, enum status status)
{
    fprintf(out, "#\n# %-15s %5s %10s  %-24s %10s %10s %10s %6s%s  %6s  %s\n", "collective",
            "ranks", "bytes", "winner", "us", "least", "most", "rounds",
            tuner->forecast ? " pruned" : "", "margin", "before");
    for (int i = 0; i < tuner->race_count; i++)
        if (tuner->races[i].count > 0 && tuner->races[i].racers[0].time > 0 &&
            !tuner->races[i].racers[0].wrong)
            race_print(out, tuner, &tuner->races[i]);
    fprintf(out, "#\n# %d small jobs in %.0f s\n", tuner->jobs,
            tuner->began > 0 ? clock_seconds() - tuner->began : 0);
    if (tuner->forecast)
        pruned_print(out, tuner);
    if (tuner->unmeasured > 0)
        fprintf(out, "# %d of %d sizes were not measured: the %g s of --budget are over\n",
                tuner->unmeasured, tuner->race_count, tuner->job->budget);
    fprintf(out, "# status: %s\n", status_word(status));
    fflush(out);
}

/*
 * `cctest tune`.
 */
/* Rank 0's results: the table at the end, and JSON that is replaced after each round of all
 * races. */
struct tune_printer {
    struct tune_report report; /* first: the hooks get it */
    const struct request *request;
    const struct predictor *predictor; /* of the model, if there is one */
    FILE *table;
    bool on_terminal, running_shown;
};

static struct tune_printer *printer_of(struct tune_report *report)
{
    return (struct tune_printer *)report;
}

static void terminal_hide(struct tune_printer *printer)
{
    if (printer->running_shown && terminal_line_hide())
        printer->running_shown = false;
}

static enum status json_keep(const struct tune_printer *printer, const struct tuner *tuner,
                             const enum status *status)
{
    const char *path = printer->request->files.json;
    if (!path || (!status && strcmp(path, "-") == 0))
        return STATUS_OK;
    json_t *document = tuning_json(tuner, json_options(printer->request, FOR_TUNE), status);
    enum status written = document ? json_put(document, path)
                                   : fail(STATUS_ERROR, "out of memory for the JSON report");
    json_decref(document);
    return written;
}

static enum status printer_begin(struct tune_report *report, const struct tuner *tuner)
{
    struct tune_printer *printer = printer_of(report);
    if (json_keep(printer, tuner, NULL) != STATUS_OK ||
        outputs_probe(printer->request, FOR_TUNE) != STATUS_OK)
        return STATUS_USAGE;
    tune_table_begin(printer->table, tuner);
    if (tuner->forecast)
        predictor_warn(printer->predictor, &printer->request->job, tuner->roster->hosts[0].name);
    return STATUS_OK;
}

static void printer_running(struct tune_report *report, const struct tuner *tuner,
                            const struct race *race)
{
    struct tune_printer *printer = printer_of(report);
    char line[TERMINAL_LINE_MOST], size[SIZE_TEXT_MOST];
    struct text text = text_in(line, sizeof line);
    if (!printer->on_terminal)
        return;
    text_add(&text, "running for %.0f of %g s: %s of %s on %d ranks, round %d, %d of %d sizes",
             clock_seconds() - tuner->began, tuner->job->budget, race->collective->name,
             size_format(race->asked, size), race->ranks, race->rounds + 1,
             (int)(race - tuner->races) + 1, tuner->race_count);
    if (terminal_line_show(line))
        printer->running_shown = true;
}

/* A file that cannot be written now may be at the end, when it is an error. */
static void printer_round(struct tune_report *report, const struct tuner *tuner)
{
    terminal_hide(printer_of(report));
    json_keep(printer_of(report), tuner, NULL);
}

/* The exports are made of what --tuning would read. */
static enum status exports_write(const struct tune_printer *printer, const struct tuner *tuner,
                                 enum status status)
{
    const struct tune_options *tune = &printer->request->tune;
    struct tuned *tuned = NULL;
    if (!tune->ompi && !tune->mpich && !tune->nccl)
        return STATUS_OK;
    json_t *document = tuning_json(tuner, json_options(printer->request, FOR_TUNE), &status);
    enum status written = document ? tuning_document_read("this run", document, &tuned)
                                   : fail(STATUS_ERROR, "out of memory for the exports");
    if (written == STATUS_OK)
        written = export_write(tune, tuned);
    tuned_free(tuned);
    json_decref(document);
    return written;
}

static enum status printer_end(struct tune_report *report, const struct tuner *tuner,
                               enum status status)
{
    struct tune_printer *printer = printer_of(report);
    enum status written = STATUS_OK;
    bool measured = false;
    for (int i = 0; i < tuner->race_count; i++)
        measured |= tuner->races[i].bytes > 0;
    terminal_hide(printer);
    if (measured && status != STATUS_INTERRUPTED)
        written = exports_write(printer, tuner, status);
    status = written == STATUS_OK ? status : status_worse(status, STATUS_ERROR);
    if (tuner->jobs > 0)
        tune_table_end(printer->table, tuner, status);
    if (ferror(printer->table) && status != STATUS_USAGE) {
        fail(STATUS_ERROR, "cannot write the table: %s", strerror(errno));
        status = status_worse(status, STATUS_ERROR);
    }
    written = json_keep(printer, tuner, &status);
    if (written != STATUS_OK && status != STATUS_USAGE)
        status = status_worse(status, STATUS_ERROR);
    if (status == STATUS_ERROR)
        log_print_failure(log_current());
    return status;
}

static enum status tune_ranks(const struct agents_command *command)
{
    struct request *request = command->request;
    struct job *job = &request->job;
    char options[PASSED_TEXT_MOST];
    struct forecast forecast = {0};
    bool forecasts = job->model && command->first;
    enum status status = forecasts ? forecast_open(&forecast, job) : STATUS_OK;
    if (status != STATUS_OK) {
        if (request->files.json)
            json_refuse(request->files.json, request, status);
        return status;
    }
    options_pass(command->line, request, 1u << GROUP_LINKS | 1u << GROUP_WHAT | 1u << GROUP_RANKS,
                 NULL, options);
    struct tune_printer printer = {.report = {.begin = printer_begin,
                                              .running = printer_running,
                                              .round = printer_round,
                                              .end = printer_end},
                                   .request = request,
                                   .predictor = &forecast.predictor,
                                   .table =
                                       outputs_take_standard(request, FOR_TUNE) ? stderr : stdout,
                                   .on_terminal = terminal_line_possible()};
    struct tuner_arguments arguments = {.job = job,
                                        .asked = &request->tune,
                                        .options = options,
                                        .forecast = forecasts ? &forecast : NULL,
                                        .agents = command->agents,
                                        .report = &printer.report};
    status = bootstrap_run(&job->bootstrap, command->bootstrap, tuner_run, &arguments);
    forecast_close(&forecast);
    return status;
}

enum status tune_command(const struct command_line *line, struct request *request)
{
    if (request->job.tuned) { /* nothing is measured: its winners are written for others */
        TRY(outputs_probe(request, FOR_TUNE));
        return export_write(&request->tune, request->job.tuned);
    }
    return agents_command_run(line, request, tune_ranks);
}

/*
 * fit.c - `cctest fit`: measures what cores and links of the job's hosts cost, as a model.
 */
#include "predict/fit/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "cli/commands.h"
#include "predict/predict.h"
#include "base/io/io.h"
#include "cli/predict/predict.h"
#include "cli/run/run.h"
#include "cli/worker.h"
#include "base/stats/stats.h"

static void fit_running(void *argument, int index, int count)
{
    char line[TERMINAL_LINE_MOST];
    (void)argument;
    if (!terminal_line_possible())
        return;
    snprintf(line, sizeof line, "running: measurement %d of %d", index + 1, count);
    terminal_line_show(line);
}

/* The subject of a measurement, in a few words. */
static void measurement_name(const struct fit_measurement *measurement, char *text, size_t size)
{
    static const char *const names[] = {[SUBJECT_ALONE] = "one rank",
                                        [SUBJECT_BUS] = "all cores, each alone",
                                        [SUBJECT_COMBINE] = "combining",
                                        [SUBJECT_CROWD] = "shared cores",
                                        [SUBJECT_SHARING] = NULL};
    if (names[measurement->subject])
        snprintf(text, size, "%s", names[measurement->subject]);
    else
        snprintf(text, size, "%s %s, %s%s%s", measurement->transports[0].transport->name,
                 path_names[measurement->path],
                 measurement->subject == SUBJECT_SHARING ? "shared cores"
                                                         : distance_names[measurement->distance],
                 measurement->rail[0] ? " " : "", measurement->rail);
}

/* A benchmark as JSON has it. */
struct residual {
    const char *of; /* the name of its measurement */
    struct benchmark benchmark;
    double predicted; /* us */
};

const struct json_field residual_fields[] = {
    {"of", "name", "what it decides", JSON_MEMBER(struct residual, of)},
    {"collective", "name", "collective that was measured",
     JSON_NAME(struct residual, benchmark.collective)},
    {"algorithm", "name", "name of the algorithm, without its options",
     JSON_NAME(struct residual, benchmark.algorithm)},
    {"window", "count", "messages in flight; 0: not of this algorithm",
     JSON_MEMBER(struct residual, benchmark.window)},
    {"ranks", "positive", "number of ranks", JSON_MEMBER(struct residual, benchmark.ranks)},
    {"bytes", "count", "bytes of the larger buffer of a rank",
     JSON_MEMBER(struct residual, benchmark.bytes)},
    {"datatype", "name", "type of the elements", JSON_NAME(struct residual, benchmark.datatype)},
    {"measured_us", "microseconds",
     "p50 as the table has it (half of a round trip), median of the passes",
     JSON_MEMBER(struct residual, benchmark.time)},
    {"predicted_us", "microseconds", "the same by the model",
     JSON_MEMBER(struct residual, predicted)},
    {"noise", "amount", "half of the 95% interval of the median, relative to it",
     JSON_MEMBER(struct residual, benchmark.noise)},
    {0},
};

/* The errors of a measurement's benchmarks, into JSON; the median and the largest of them,
 * relative. */
static enum status residuals_add(const struct fit_measurement *measurement,
                                 const struct model *model, const char *name, json_t *residuals,
                                 double *median, double *most)
{
    double *errors = new_array((size_t)measurement->count, sizeof *errors);
    enum status status = STATUS_OK;
    *most = 0;
    for (int i = 0; i < measurement->count && status == STATUS_OK; i++) {
        const struct benchmark *benchmark = &measurement->benchmarks[i];
        double time = 0, first;
        status = benchmark_predict(benchmark, model, &time, &first);
        if (status != STATUS_OK)
            break;
        errors[i] = fabs(time / benchmark->time - 1);
        *most = fmax(*most, errors[i]);
        const struct residual residual = {name, *benchmark, time};
        json_array_append_new(residuals, json_object_of(residual_fields, &residual, NULL));
    }
    *median = median_of(errors, (size_t)measurement->count);
    free(errors);
    return status;
}

static enum status fit_begin(void *argument)
{
    return outputs_probe(argument, FOR_FIT);
}

static enum status fit_take(void *argument, const struct fit_measurements *measurements,
                            const struct model *model)
{
    const struct request *request = argument;
    const char *output = request->files.output;
    json_t *residuals = json_array();
    enum status status = STATUS_OK;
    if (terminal_line_possible())
        terminal_line_hide();
    FILE *out = output_is_standard(output) ? stderr : stdout;
    fprintf(out, "# cctest %s: fit on %s (%s), %d core%s\n", CCTEST_VERSION, model->host,
            model->processor, model->cores, model->cores == 1 ? "" : "s");
    fprintf(out, "# %-36s %10s %14s %14s\n", "", "benchmarks", "median error", "largest error");
    for (int i = 0; i < measurements->count && status == STATUS_OK; i++) {
        const struct fit_measurement *measurement = &measurements->items[i];
        char name[96];
        double median = 0, most = 0;
        if (measurement->subject == SUBJECT_PROBE)
            continue;
        measurement_name(measurement, name, sizeof name);
        if (measurement->count == 0) {
            fprintf(out, "  %-36s not measured: %s\n", name, measurement->why);
            continue;
        }
        status = residuals_add(measurement, model, name, residuals, &median, &most);
        fprintf(out, "  %-36s %10d %12.1f %% %12.1f %%\n", name, measurement->count, 100 * median,
                100 * most);
    }
    char moved[MODEL_MOVED_TEXT_MOST];
    if (model_moved_text(model, moved))
        fprintf(out, "# %s; pin the CPUs of a virtual machine, or run fit again\n", moved);
    if (status == STATUS_OK && output) {
        json_t *document = model_json(model, residuals);
        status = document ? json_put(document, output)
                          : fail(STATUS_ERROR, "out of memory for the model");
        json_decref(document);
        return status;
    }
    json_decref(residuals);
    return status;
}

static enum status fit_ranks(const struct agents_command *command)
{
    struct request *request = command->request;
    struct fit_arguments arguments = {.job = &request->job,
                                      .options = "",
                                      .agents = command->agents,
                                      .progress = {.call = fit_running},
                                      .begin = fit_begin,
                                      .take = fit_take,
                                      .argument = request};
    return bootstrap_run(&request->job.bootstrap, command->bootstrap, fit_run, &arguments);
}

enum status fit_command(const struct command_line *line, struct request *request)
{
    return agents_command_run(line, request, fit_ranks);
}

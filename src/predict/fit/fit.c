/*
 * fit.c - measures what a model needs of the hosts of a job, and fits it.
 */
#include "predict/fit/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "controlplane/agents/agents.h"
#include "host/facts/facts.h"

static void model_label(const struct roster *roster, struct model *model)
{
    time_t now = time(NULL);
    struct tm local;
    char processor[VALUE_TEXT_MOST];
    snprintf(model->host, sizeof model->host, "%s", roster->hosts[0].name);
    cpu_model_read("", processor);
    snprintf(model->processor, sizeof model->processor, "%s", processor);
    strftime(model->made, sizeof model->made, "%Y-%m-%d %H:%M", localtime_r(&now, &local));
}

static enum status coordinate(const struct membership *membership,
                              const struct fit_arguments *arguments)
{
    struct coordinator *coordinator = NULL;
    struct fit_measurements measurements = {0};
    struct model *model = calloc(1, sizeof *model);
    enum status status = model ? coordinator_open(membership, &arguments->agents, &coordinator)
                               : fail(STATUS_ERROR, "out of memory for a model");
    if (status == STATUS_OK) {
        model_label(coordinator_roster(coordinator), model);
        status = measurements_make(coordinator, arguments->job, arguments->options,
                                   &arguments->progress, &measurements);
    }
    if (status == STATUS_OK)
        status = model_fit(&measurements, model);
    if (status == STATUS_OK)
        status = arguments->take(arguments->argument, &measurements, model);
    log_print_failure(log_current());
    measurements_free(&measurements);
    coordinator_close(coordinator, status);
    free(model);
    return status;
}

enum status fit_run(const struct membership *membership, void *argument)
{
    const struct fit_arguments *arguments = argument;
    if (membership->rank == 0)
        return coordinate(membership, arguments);
    enum status status = follower_run(membership, &arguments->agents);
    log_print_failure(log_current());
    return status;
}

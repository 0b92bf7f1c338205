/*
 * request.h - what a command line asks for: a job, and what each command has of its own.
 */
#ifndef CCTEST_CLI_OPTIONS_REQUEST_H
#define CCTEST_CLI_OPTIONS_REQUEST_H

#include "accept/accept_options.h"
#include "run/job.h"
#include "tune/tune_options.h"

/* Where results go: a file, "-" for standard output, or NULL. */
struct output_files {
    const char *json, *csv, *samples, *svg, *html;
    const char *output; /* fit: the model */
};

/* predict and info. */
struct predict_options {
    const char *topology, *place; /* NULL: not given */
    bool shows_topology;          /* info --topology */
};

/* plan: schedules for other tools, as files like those of output_files. */
struct plan_options {
    const char *goal, *msccl;
    double calc; /* nanoseconds a byte */
};

struct request {
    struct job job; /* of a run; the other commands share a part of it */
    struct output_files files;
    struct predict_options predict;
    struct plan_options plan;
    struct accept_options accept;
    struct tune_options tune;
};

#endif

/*
 * session_of.h - a whole job inside a test: its command line, its ranks as threads, and its first
 * error.
 */
#ifndef CCTEST_TEST_SESSION_OF_H
#define CCTEST_TEST_SESSION_OF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "controlplane/bootstrap/bootstrap.h"
#include "cli/options/options.h"
#include "run/session/session.h"

#include <cmocka.h> /* after log.h: it makes a macro of fail() */

/* In place of a table. */
struct listener {
    struct report report;     /* first: a report is its listener */
    char error[MESSAGE_MOST]; /* the first one; "": none */
    size_t wrong;             /* elements, over all lines */
    double time_us;           /* the shortest iteration of the last line */
};

static inline void listener_begin(struct report *report, const struct job *job,
                                  const struct participants *participants)
{
    (void)report, (void)job, (void)participants;
}

static inline void listener_connected(struct report *report, const struct job *job,
                                      const struct connectivity *connectivity)
{
    (void)report, (void)job, (void)connectivity;
}

static inline void listener_result(struct report *report, const struct job *job,
                                   const struct result *result)
{
    (void)job;
    struct listener *listener = (struct listener *)report;
    listener->wrong += result->wrong;
    listener->time_us = result->timing.time_us.min;
}

static inline void listener_end(struct report *report, const struct job *job,
                                const struct job_end *end)
{
    struct listener *listener = (struct listener *)report;
    (void)job;
    if (end->error_count > 0)
        snprintf(listener->error, sizeof listener->error, "%s", end->errors[0].message);
}

/* `text`: the words of a command line behind the program's name, with one space between. */
static inline void job_read(struct job *job, const char *text)
{
    static char words[1000];
    static struct command_line line;
    static struct request request;
    char *list[100] = {words}, *at = words;
    int count = 1;
    snprintf(words, sizeof words, "cctest %s", text);
    while ((at = strchr(at, ' ')) && count < 99) {
        *at++ = 0;
        list[count++] = at;
    }
    job_release(job); /* of the last command line */
    assert_int_equal(command_line_read(count, list, NULL, &line), STATUS_OK);
    assert_int_equal(command_line_resolve(&line, &request), STATUS_OK);
    *job = request.job;
    job->bootstrap.ranks_as = RANKS_THREADS;
}

static inline enum status job_run(const struct job *job, struct listener *listener)
{
    *listener = (struct listener){.report = {.begin = listener_begin,
                                             .connected = listener_connected,
                                             .result = listener_result,
                                             .end = listener_end}};
    struct session_arguments arguments = {
        .job = job, .options = "test", .report = &listener->report};
    return bootstrap_run_local(&job->bootstrap, session_run, &arguments);
}

#endif

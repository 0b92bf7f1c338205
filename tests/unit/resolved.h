/*
 * resolved.h - the job that a command line means, or the sentence that refuses it.
 */
#ifndef CCTEST_TEST_RESOLVED_H
#define CCTEST_TEST_RESOLVED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/options/options.h"
#include "run/run.h"

#define ARGUMENTS_MOST 64

/* The result of a command line: static, since the next one frees its job. */
struct outcome {
    enum status status;
    char message[1024];
    struct command_line line;
    struct request request;
    char text[512]; /* holds the words */
};

/* Reads a command line of words between blanks, in the given environment. */
static inline void resolve(struct outcome *outcome, const char *words, char **environment)
{
    char *argv[ARGUMENTS_MOST] = {NULL}, *place;
    static char program[] = "cctest";
    int argc = 0;
    argv[argc++] = program;
    snprintf(outcome->text, sizeof outcome->text, "%s", words);
    for (char *word = strtok_r(outcome->text, " ", &place); word;
         word = strtok_r(NULL, " ", &place)) {
        assert_true(argc + 1 < ARGUMENTS_MOST);
        argv[argc++] = word;
    }
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    job_release(&outcome->request.job); /* of the last command line */
    outcome->status = command_line_read(argc, argv, environment, &outcome->line);
    if (outcome->status == STATUS_OK && outcome->line.command)
        outcome->status = command_line_resolve(&outcome->line, &outcome->request);
    assert_int_equal(outcome->status, log.failure.status);
    snprintf(outcome->message, sizeof outcome->message, "%s", log.failure.text);
    log_attach(NULL);
}

static inline void take(struct outcome *outcome, const char *words, char **environment)
{
    resolve(outcome, words, environment);
    if (outcome->status != STATUS_OK)
        print_error("cctest %s: %s\n", words, outcome->message);
    assert_int_equal(outcome->status, STATUS_OK);
}

/* Whether it can run with so many ranks, whose nodes are not known. */
static inline enum status check_job(struct outcome *o, int ranks)
{
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    struct split split;
    enum status status = job_split(&o->request.job, ranks, NULL, &split);
    if (status == STATUS_OK)
        status = job_check_ranks(&o->request.job, ranks, &split);
    split_free(&split);
    snprintf(o->message, sizeof o->message, "%s", log.failure.text);
    log_attach(NULL);
    return status;
}

static inline enum status check_ranks(struct outcome *o, const char *words, int ranks)
{
    take(o, words, NULL);
    return check_job(o, ranks);
}

/* A command line that is a usage error, and a part of its sentence. */
struct bad_input {
    const char *words, *says;
};

static inline void refuse(const struct bad_input *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        static struct outcome o;
        resolve(&o, inputs[i].words, NULL);
        if (o.status != STATUS_USAGE || !strstr(o.message, inputs[i].says))
            print_error("cctest %s: status %d: %s\n", inputs[i].words, o.status, o.message);
        assert_int_equal(o.status, STATUS_USAGE);
        assert_non_null(strstr(o.message, inputs[i].says));
        assert_null(strchr(o.message, '\n'));
    }
}

#endif

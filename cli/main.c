/*
 * main.c - cctest tests collective communication. Reads the command line and runs the command.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/options/options.h"
#include "cli/run/run.h"
#include "base/io/io.h"

/* The Makefile warns of a function that takes more than 16 KiB. A chain of calls has few of them. */
#define STACK_LEAST ((size_t)64 << 10)

/* Writes JSON for scripts that wait for it, even if nothing could be started. A variable names a file
 * of results, and a request for help or for the version has none. */
static enum status refuse(const struct command_line *line, struct request *unused,
                          enum status status)
{
    const struct argument *json = command_line_argument(line, "json");
    bool has_results = !line->help && !line->version;
    bool named = json->source == SOURCE_FLAG || (json->source != SOURCE_NONE && has_results);
    if (named && !command_line_reads(line, json->text) &&
        json->option->kind->parse(json, unused) == STATUS_OK)
        json_refuse(json->text, status);
    return status;
}

/* A refusal names options as flags. If the value comes from the environment, add the variable. */
static void name_variables(const struct command_line *line, struct log *log)
{
    struct text text = text_after(log->failure.text, sizeof log->failure.text);
    for (const struct option_row *row = option_table; row->name; row++) {
        const struct argument *argument = &line->arguments[row - option_table];
        char flag[64], label[LABEL_MOST];
        int length = snprintf(flag, sizeof flag, "--%s", row->name);
        const char *at =
            argument->source == SOURCE_ENVIRONMENT ? strstr(log->failure.text, flag) : NULL;
        while (at && (at[length] == '-' || isalnum((unsigned char)at[length])))
            at = strstr(at + 1, flag); /* a longer name */
        if (at)
            text_add(&text, " (%s is set: %s)", flag, argument_label(argument, label));
    }
}

static enum status start(int argc, char **argv, struct request *request, struct log *log)
{
    struct command_line line;
    enum status status = command_line_read(argc, argv, environ, &line);
    if (status != STATUS_OK)
        return refuse(&line, request, status);
    if (line.version) {
        puts("cctest " CCTEST_VERSION);
        return STATUS_OK;
    }
    if (line.help)
        return help_command(&line, NULL);
    if (!line.command)
        return refuse(&line, request,
                      fail(STATUS_USAGE,
                           "which collective? Write `cctest alltoall` to run one, `cctest list` to "
                           "see them, `cctest help` for everything"));
    status = command_line_resolve(&line, request);
    if (status != STATUS_OK) {
        refuse(&line, request, status);
    } else {
        log->verbosity = request->job.bootstrap.verbosity;
        if (line.command->bit != FOR_RUN) /* a run has many processes, of which one warns */
            command_line_warn(&line);
        status = line.command->run(&line, request);
        if (status == STATUS_USAGE && !(line.command->bit & (FOR_RUN | FOR_ACCEPT | FOR_TUNE))) /* they report it */
            refuse(&line, request, status);
    }
    job_release(&request->job);
    name_variables(&line, log);
    return status;
}

/* A command line that no stack is large enough for. */
struct refused {
    int argc;
    char **argv;
    struct log *log;
};

static void *refused_write(void *argument)
{
    struct refused *refused = argument;
    struct command_line line;
    struct request *request = calloc(1, sizeof *request);
    log_attach(refused->log);
    command_line_read(refused->argc, refused->argv, environ, &line);
    if (request)
        refuse(&line, request, refused->log->failure.status);
    free(request);
    return NULL;
}

/* The limit does not hold for a thread whose stack has a size of its own. */
static enum status refuse_apart(int argc, char **argv, struct log *log, enum status status)
{
    struct refused refused = {.argc = argc, .argv = argv, .log = log};
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return status;
    pthread_attr_setstacksize(&attributes, 4 * STACK_LEAST);
    if (pthread_create(&thread, &attributes, refused_write, &refused) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    return status;
}

/* The request is too large for a small stack. A limit below STACK_LEAST would end in a crash somewhere:
 * it is also what the threads of the program get. */
static enum status start_on_stack(int argc, char **argv, struct log *log)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_LEAST)
        return refuse_apart(argc, argv, log,
                            fail(STATUS_ERROR,
                                 "a thread may have %zu KiB of stack, and cctest needs %zu KiB: "
                                 "raise that limit (ulimit -s 8192)",
                                 (size_t)stack.rlim_cur >> 10, STACK_LEAST >> 10));
    struct request *request = calloc(1, sizeof *request);
    if (!request)
        return fail(STATUS_ERROR, "out of memory");
    enum status status = start(argc, argv, request, log);
    free(request);
    return status;
}

/* A closed standard descriptor would be reused by a socket, which would then get the table. A
 * descriptor open for reading only fails like a closed one. */
static void hold_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    hold_descriptors();
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes (ulimit -f) is an error with a sentence */
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    enum status status = STATUS_OK;
    if (argc > 1 && strcmp(argv[1], "complete") == 0)
        complete_words(argc - 2, argv + 2);
    else
        status = start_on_stack(argc, argv, &log);
    log_print_failure(&log);
    errno = 0;
    if (fflush(stdout) != 0 && status == STATUS_OK) {
        say("cannot write standard output: %s; redirect it elsewhere", stream_error());
        status = STATUS_ERROR;
    }
    return (int)status;
}

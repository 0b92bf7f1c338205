/*
 * main.c - cctest tests collective communication. Reads the command line and runs the command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/run/run.h"
#include "base/io/io.h"

/* The Makefile warns of a function that takes more than 16 KiB. A chain of calls has few of
 * them. */
#define STACK_LEAST ((size_t)128 << 10)

/* Writes JSON for scripts that wait for it, even if nothing could be started. A variable names a
 * file of results, and a request for help or for the version has none. */
static enum status refuse(const struct command_line *line, struct request *unused,
                          enum status status)
{
    const struct argument *json = command_line_argument(line, "json");
    bool has_results = !line->help && !line->version;
    bool named = json->source == SOURCE_FLAG || (json->source != SOURCE_NONE && has_results);
    if (named && !command_line_reads(line, json->text) &&
        json->option->kind->parse(json, unused) == STATUS_OK)
        json_refuse(json->text, NULL, status);
    return status;
}

/* A refusal names options as flags. Behind it stand the variables that have set them. */
static void name_variables(const struct command_line *line, struct log *log)
{
    struct text text = text_in(log->origin, sizeof log->origin);
    const char *rest = log->failure.options;
    char name[ITEM_MOST], label[LABEL_MOST];
    while (list_next(&rest, ' ', name)) {
        const struct option_row *row = option_of(name, line->command->bit);
        const struct argument *argument = row ? &line->arguments[row - option_table] : NULL;
        if (argument && argument->source == SOURCE_ENVIRONMENT)
            text_add(&text, " (--%s is set: %s)", name, argument_label(argument, label));
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
    if (argc == 1 && !line.command)
        help_command(&line, NULL);
    if (!line.command)
        return refuse(&line, request,
                      fail(STATUS_USAGE,
                           "which collective? Write `cctest alltoall` to run one, `cctest list` to "
                           "see them, `cctest help` for more"));
    status = command_line_resolve(&line, request);
    request->line = &line;
    if (status != STATUS_OK) {
        refuse(&line, request, status);
    } else {
        log->verbosity = request->job.bootstrap.verbosity;
        if (line.command->bit != FOR_RUN) /* a run has many processes, of which one warns */
            command_line_warn(&line);
        status = line.command->run(&line, request);
        /* A run, accept and tune report it themselves. */
        if (status == STATUS_USAGE && !(line.command->bit & (FOR_RUN | FOR_ACCEPT | FOR_TUNE)))
            refuse(&line, request, status);
    }
    job_release(&request->job);
    name_variables(&line, log);
    return status;
}

/* The limit is also what each thread of the program gets. Too small a stack would end in a
 * crash. */
static enum status stack_check(void)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_LEAST)
        return fail(STATUS_USAGE,
                    "a thread may have %zu KiB of stack, and cctest needs %zu KiB: raise that "
                    "limit (ulimit -s 8192)",
                    (size_t)stack.rlim_cur >> 10, STACK_LEAST >> 10);
    return STATUS_OK;
}

/* The request is too large for a stack of STACK_LEAST. */
static enum status start_allocated(int argc, char **argv, struct log *log)
{
    struct request *request = new_array(1, sizeof *request);
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
    enum status status = stack_check();
    if (status == STATUS_OK && argc > 1 && strcmp(argv[1], "complete") == 0)
        complete_words(argc - 2, argv + 2);
    else if (status == STATUS_OK)
        status = start_allocated(argc, argv, &log);
    log_print_failure(&log);
    errno = 0;
    if (fflush(stdout) != 0 && status == STATUS_OK) {
        say("cannot write standard output: %s; redirect it elsewhere", write_error(errno));
        status = STATUS_ERROR;
    }
    return (int)status;
}

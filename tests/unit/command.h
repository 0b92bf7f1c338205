/*
 * command.h - a command line of cctest in a child process, as cli/main.c runs it, with the
 * transports of the test.
 */
#ifndef CCTEST_TEST_COMMAND_H
#define CCTEST_TEST_COMMAND_H

#include "child.h"
#undef fail /* of cmocka's and ours, ours is meant */

#include <string.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/options/options.h"

static inline int command_work(void *words)
{
    static struct command_line line;
    static struct request request;
    char *list[64] = {NULL}, *place;
    int count = 0;
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    for (char *word = strtok_r(words, " ", &place); word && count < 63;
         word = strtok_r(NULL, " ", &place))
        list[count++] = word;
    enum status status = command_line_read(count, list, NULL, &line);
    if (status == STATUS_OK)
        status = command_line_resolve(&line, &request);
    if (status == STATUS_OK)
        status = run_command(&line, &request);
    log_print_failure(&log);
    return (int)status;
}

/* `words`: a command line, with one space between. Returns the exit status, or -1; *child is what
 * the command printed, until the next call. */
static inline int command_run(const char *words, const struct child **child)
{
    char text[512];
    assert_in_range(snprintf(text, sizeof text, "%s", words), 1, sizeof text - 1);
    *child = child_run(command_work, text);
    return WIFEXITED((*child)->status) ? WEXITSTATUS((*child)->status) : -1;
}

#endif

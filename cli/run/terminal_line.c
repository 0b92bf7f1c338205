/*
 * terminal_line.c - one line on the terminal behind standard error, below the results.
 */
#include "cli/run/run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/bootstrap/bootstrap.h"

#define ERASE "\r\033[K"

bool terminal_line_possible(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0 &&
           !launcher_makes_terminal();
}

/* The text is no result, and no heartbeat of rank 0 leaves while a thread waits for the terminal. */
static bool terminal_put(const char *bytes, size_t count)
{
    struct pollfd set = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&set, 1, 0) == 1 && (set.revents & POLLOUT) &&
           write(STDERR_FILENO, bytes, count) == (ssize_t)count;
}

/* The cursor stays at the left, where a line of another process begins. */
bool terminal_line_show(const char *text)
{
    char line[TERMINAL_LINE_MOST + sizeof ERASE + 1];
    snprintf(line, sizeof line, ERASE "%.*s\r", TERMINAL_LINE_MOST - 1, text);
    return terminal_put(line, strlen(line));
}

bool terminal_line_hide(void)
{
    return terminal_put(ERASE, strlen(ERASE));
}

/*
 * terminal_line.h - one line on the terminal behind standard error, below the results: it says what runs
 * now, and vanishes before anything else is printed.
 */
#ifndef CCTEST_CLI_RUN_TERMINAL_LINE_H
#define CCTEST_CLI_RUN_TERMINAL_LINE_H

#include <stdbool.h>

#define TERMINAL_LINE_MOST                                                                         \
    240 /* bytes of its text, with its 0: a terminal with any room takes so much at once */

/* Is there a terminal that this process may move the cursor on? */
bool terminal_line_possible(void);

/* Shows a text in place of the last one. Waits for nothing: false: the terminal has no room (Ctrl-S
 * stops one). */
bool terminal_line_show(const char *text);

/* Takes it away. False: likewise. */
bool terminal_line_hide(void);

#endif

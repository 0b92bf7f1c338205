/*
 * timed_call.h - waiting for what may never come back, process managers and name servers, without being
 * at its mercy.
 */
#ifndef CCTEST_BASE_TIMED_CALL_H
#define CCTEST_BASE_TIMED_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* Waits until `fd` is readable (0), a signal comes (which `signals` is a signalfd for; minus its
 * number), or the time has passed (ETIMEDOUT). */
int timed_call_await(int fd, int signals, double seconds);

/* Has work(argument) done by another thread. Returns 0 when it is done; minus the number of a
 * signal that ends jobs; ETIMEDOUT; or the errno for which it was not begun. One that does not come
 * back is left behind with its thread, which may still use all that it was given: that must stay,
 * and the process is about to end. */
int timed_call_run(void (*work)(void *argument), void *argument, double seconds);

/* An errand ended so, and nobody wants to know: a signal is for whom signals are for next. */
void timed_call_reraise(int end);

static inline bool timed_call_is_abandoned(int end)
{
    return end < 0 || end == ETIMEDOUT;
}

/* How it ended, if not well: "interrupted by SIGTERM", "Connection reset by peer". */
const char *timed_call_text(int end, char *text, size_t size);

#endif

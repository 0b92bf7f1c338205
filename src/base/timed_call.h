/*
 * timed_call.h - runs a call that may block for long or for ever (a process manager, a name server,
 * the registration of memory) in another thread, with a deadline, or with a tick.
 */
#ifndef CCTEST_BASE_TIMED_CALL_H
#define CCTEST_BASE_TIMED_CALL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/tick.h"

/* Waits until `fd` is readable (returns 0), a signal comes through the signalfd `signals` (minus
 * its number), or the time has passed (ETIMEDOUT). */
int timed_call_await(int fd, int signals, double seconds);

/* Runs work(argument) in another thread. Returns 0 when it is done; minus the number of a signal
 * that ends jobs; ETIMEDOUT; or the errno that kept it from starting. A call that does not
 * return in time is abandoned with its thread, which may still use its argument: the argument
 * must stay, and the process must end soon. What the work records with fail() is the caller's
 * failure once it is done. */
int timed_call_run(void (*work)(void *argument), void *argument, double seconds);

/* Runs work(argument) in another thread, and ticks every few ms: as work for `seconds`, in which
 * the call is expected to return, then as a wait, which the job's deadline ends. Returns 0 when it
 * is done; ECANCELED if the job has ended; ETIMEDOUT if it is late; or the errno that kept it from
 * starting. Otherwise as above. */
int timed_call_ticking(void (*work)(void *argument), void *argument, const struct tick *tick,
                       double seconds);

/* Raises the signal again by which a call has ended, if any, for the next signal handler. */
void timed_call_reraise(int end);

static inline bool timed_call_is_abandoned(int end)
{
    return end < 0 || end == ETIMEDOUT || end == ECANCELED;
}

/* Words for an end other than 0: "interrupted by SIGTERM", "Connection reset by peer". */
const char *timed_call_text(int end, char *text, size_t size);

#endif

/*
 * signals.h - the signals that end a job, read from a signalfd.
 */
#ifndef CCTEST_BASE_SIGNALS_H
#define CCTEST_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* The signals that end a job: SIGTERM, and SIGINT, SIGHUP and SIGQUIT unless they were ignored
 * from the start (by nohup, or by a shell for a background process). */
void signals_ending(sigset_t *set);
/* A supervisor queues it, with the number of a rank that has died, to all ranks: rank 0 would not
 * notice the death of a rank that has not joined yet. */
#define SIGNAL_LOST SIGUSR1
/* Blocks them in the calling thread, and so in all threads and processes that it starts: they stay
 * pending for signals_capture() or a supervisor. */
void signals_hold(void);
/* Blocks the signals that end a job in the calling thread (and so in all threads that it starts)
 * and returns a signalfd for them; -1 if there is none. They stay blocked: launchers often
 * send a second signal, which must not change the exit status of a job that is about to end. */
int signals_capture(pid_t supervisor); /* with SIGNAL_LOST, unless there is none (0) */
/* As signals_capture(0), but only until signals_return() gets what this returned and `mask`. */
int signals_borrow(sigset_t *mask);
void signals_return(int fd, const sigset_t *mask);
/* Has one of the signals that end a job come, and stays unread, since it is blocked? */
bool signals_pending(void);
/* The next signal that has come; 0: none. Sets *lost, if not NULL, to the rank of a SIGNAL_LOST. */
int signals_read(int fd, int *lost);

#endif

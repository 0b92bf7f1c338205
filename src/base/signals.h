/*
 * signals.h - the signals that end a job as something to be read, not something that
 * strikes.
 */
#ifndef CCTEST_BASE_SIGNALS_H
#define CCTEST_BASE_SIGNALS_H

#include <signal.h>

/* The signals that end a job: SIGTERM, and of SIGINT, SIGHUP and SIGQUIT those that were not
 * ignored from the start, as a shell does for what a script runs in the background, and nohup. */
void signals_ending(sigset_t *set);
/* Queued by a supervisor to all ranks when one of them has died, whose number comes with it: of one
 * that has not joined yet nobody else would know. */
#define SIGNAL_LOST SIGUSR1
/* Blocks the signals that end a job in the calling thread (and so in all threads that it starts)
 * and returns a signalfd for them; -1 if there is none. They stay blocked: a second signal, which
 * launchers like to send, must not spoil the exit status of a job that is about to end. */
int signals_capture(pid_t supervisor); /* with SIGNAL_LOST, unless there is none (0) */
/* As signals_capture(0), but only until signals_return() gets what this returned and `mask`. */
int signals_borrow(sigset_t *mask);
void signals_return(int fd, const sigset_t *mask);
/* The next signal that has come; 0: none. *lost, if not NULL: who has died, with SIGNAL_LOST. */
int signals_read(int fd, int *lost);

#endif

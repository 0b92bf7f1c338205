/*
 * control_signal.h - the signals that end a job as something to be read, not something that
 * strikes.
 */
#ifndef CCTEST_CONTROL_SIGNAL_H
#define CCTEST_CONTROL_SIGNAL_H

#include <signal.h>

/* The signals that end a job: SIGTERM, and of SIGINT, SIGHUP and SIGQUIT those that were not ignored
 * from the start, as a shell does for what a script runs in the background, and nohup. */
void signals_ending(sigset_t *set);
/* Blocks them in the calling thread (and so in all threads that it starts) and returns a signalfd
 * for them; -1 if there is none. They stay blocked: a second signal, which launchers like to send,
 * must not spoil the exit status of a job that is about to end. */
int signals_capture(void);
/* The next signal that has come; 0: none. */
int signals_read(int fd);

#endif

/*
 * signals.c - the signals that end a job, read from a signalfd.
 *
 * With a signal's default action, the rank would die without telling the other ranks.
 */
#include "base/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

void signals_ending(sigset_t *set)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction old;
        if (signals[i] == SIGTERM || sigaction(signals[i], NULL, &old) < 0 ||
            old.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
    }
}

void signals_hold(void)
{
    sigset_t set;
    signals_ending(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int signals_capture(pid_t supervisor)
{
    sigset_t set;
    signals_ending(&set);
    if (supervisor)
        sigaddset(&set, SIGNAL_LOST);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_borrow(sigset_t *mask)
{
    pthread_sigmask(SIG_BLOCK, NULL, mask);
    return signals_capture(0);
}

void signals_return(int fd, const sigset_t *mask)
{
    if (fd >= 0)
        close(fd);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

bool signals_pending(void)
{
    sigset_t ending, pending, both;
    signals_ending(&ending);
    sigpending(&pending);
    sigandset(&both, &ending, &pending);
    return !sigisemptyset(&both);
}

int signals_read(int fd, int *lost)
{
    struct signalfd_siginfo info;
    if (fd < 0 || read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    if (info.ssi_signo == SIGNAL_LOST && info.ssi_code != SI_QUEUE)
        return 0; /* another process sent it, not the supervisor */
    if (lost)
        *lost = info.ssi_int;
    return (int)info.ssi_signo;
}

/*
 * manager.c - waiting for a process manager without being at its mercy.
 */
#include "manager.h"

#include <errno.h>
#include <poll.h>

#include "clock.h"
#include "control_signal.h"

int manager_await(int fd, int signals, double seconds)
{
    double until = clock_seconds() + seconds, left = seconds;
    for (;;) {
        struct pollfd set[] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        poll(set, 2, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (set[0].revents)
            return 0;
        int signal = signals_read(signals, NULL);
        if (signal)
            return -signal;
        if (left <= 0)
            return ETIMEDOUT;
        left = until - clock_seconds();
    }
}

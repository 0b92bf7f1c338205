/*
 * watchdog.c - ends the process where a file does not take its last write.
 */
#include "cli/printers/watchdog.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "control/membership.h"

#define LOOK_SECONDS 0.1 /* between two looks */
#define TELL_SECONDS 5.0 /* of one write are worth a sentence */

static void watchdog_end(const struct watchdog *watchdog, const char *writing)
{
    int said = atomic_load(watchdog->said);
    say("ending this process: writing %s took %.0f s; does its file system not answer?", writing,
        FILE_SECONDS);
    _exit(said >= 0 ? said : (int)status_graver(watchdog->status, STATUS_ERROR));
}

/* Counts looks, since a process that was stopped for a minute has not written for a minute. */
static void *watchdog_main(void *argument)
{
    const struct watchdog *watchdog = argument;
    struct report *report = watchdog->report;
    struct pollfd set = {.fd = watchdog->over, .events = POLLIN};
    const char *before = NULL;
    unsigned long writes = 0;
    double seconds = 0;
    bool told = false;
    while (poll(&set, 1, (int)(LOOK_SECONDS * 1000)) != 1) {
        const char *writing = atomic_load(&report->writing);
        unsigned long written = atomic_load(report->writes);
        bool goes_on = writing != before || written != writes ||
                       atomic_load(report->awaits_reader) ||
                       host_thread_is_ready(watchdog->watched);
        seconds = goes_on ? 0 : seconds + LOOK_SECONDS;
        before = writing;
        writes = written;
        const char *name = writing ? writing : "the results";
        if (seconds > TELL_SECONDS && !told) {
            say("writing %s takes long: %.0f s so far; does its file system answer?", name,
                seconds);
            told = true;
        }
        if (seconds > FILE_SECONDS)
            watchdog_end(watchdog, name);
    }
    return NULL;
}

void watchdog_start(struct watchdog *watchdog, struct report *report, const _Atomic int *said,
                    enum status status)
{
    *watchdog = (struct watchdog){.watched = gettid(),
                                  .over = eventfd(0, EFD_CLOEXEC),
                                  .report = report,
                                  .said = said,
                                  .status = status};
    if (watchdog->over >= 0 &&
        pthread_create(&watchdog->thread, NULL, watchdog_main, watchdog) != 0) {
        close(watchdog->over);
        watchdog->over = -1;
    }
}

void watchdog_stop(struct watchdog *watchdog)
{
    if (watchdog->over < 0)
        return;
    eventfd_write(watchdog->over, 1);
    pthread_join(watchdog->thread, NULL);
    close(watchdog->over);
}

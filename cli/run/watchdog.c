/*
 * watchdog.c - ends the process where a file does not take its last write.
 */
#include "cli/run/internal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/write_watch.h"
#include "controlplane/control/control.h"

#define LOOK_SECONDS 0.1 /* between two looks */

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
    struct write_watch watch = {.thread = watchdog->watched};
    for (double now = 0; poll(&set, 1, (int)(LOOK_SECONDS * 1000)) != 1; now += LOOK_SECONDS) {
        const char *writing = atomic_load(&report->writing);
        const char *name = writing ? writing : "the results";
        double seconds = write_watch_look(&watch, name, atomic_load(report->writes),
                                          atomic_load(report->awaits_reader), now);
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

/*
 * write_watch.c - how long one write to a file has taken.
 */
#include "base/write_watch.h"

#include "base/host.h"
#include "base/log.h"

#define READY_SECONDS 0.5 /* between two looks at what a thread that writes waits for */
#define TELL_SECONDS  5.0 /* of one write are worth a sentence */

double write_watch_look(struct write_watch *watch, const char *writing, unsigned long writes,
                        bool waits, double now)
{
    if (!writing || waits || writing != watch->writing || writes != watch->writes)
        watch->since = now;
    watch->writing = writing;
    watch->writes = writes;
    if (now - watch->since > READY_SECONDS && host_thread_is_ready(watch->thread))
        watch->since = now; /* many ranks may share its core */
    double seconds = now - watch->since;
    if (seconds > TELL_SECONDS && !watch->told) {
        say("writing %s takes long: %.0f s so far; does its file system answer?", writing, seconds);
        watch->told = true;
    }
    return seconds;
}

/*
 * write_watch.h - how long one write to a file has taken, as a thread sees it that does not write.
 *
 * A file may be on a server that does not answer. A reader that pauses is no fault, and a thread that
 * waits for a CPU does not wait for the file.
 */
#ifndef CCTEST_BASE_WRITE_WATCH_H
#define CCTEST_BASE_WRITE_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct write_watch {
    pid_t thread;         /* that writes */
    const char *writing;  /* what it writes, for a sentence; NULL: nothing */
    unsigned long writes; /* how many had returned at the last look */
    double since;         /* when it was last seen to go on */
    bool told;            /* that a write takes long */
};

/* Several times a second, with the `writing` and `writes` of now; `waits`: for a reader, or it goes
 * on in another way. Returns for how many seconds of the caller's clock `now` the thread has been in
 * one write, which is said when they are many. */
double write_watch_look(struct write_watch *watch, const char *writing, unsigned long writes,
                        bool waits, double now);

#endif

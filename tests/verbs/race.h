/*
 * race.h - tells ThreadSanitizer what synchronises in verbs, and hides what does only in here.
 *
 * The locks of the provider would order nearly everything, so that no missing completion would ever
 * be reported as a race. So code of the provider runs between race_hide() and race_show(), where
 * accesses and locks do not count, and each queue pair's data is moved in a fiber: a thread of its
 * own to ThreadSanitizer. What does synchronise is said with race_release() and race_acquire().
 */
#ifndef CCTEST_TEST_VERBS_RACE_H
#define CCTEST_TEST_VERBS_RACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static inline void race_hide(void)
{
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void race_show(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}

/* Both are called while hidden. */
static inline void race_release(void *at)
{
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    __tsan_release(at);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

static inline void race_acquire(void *at)
{
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    __tsan_acquire(at);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

#define race_fiber_make()      __tsan_create_fiber(0)
#define race_fiber_destroy(f)  __tsan_destroy_fiber(f)
#define race_fiber_current()   __tsan_get_current_fiber()
#define race_fiber_switch(f)   __tsan_switch_to_fiber((f), 1)
#define race_fiber_acquire(at) __tsan_acquire(at)
#define race_fiber_release(at) __tsan_release(at)
#define RACE_UNSEEN            __attribute__((noinline, no_sanitize("thread")))
#else
static inline void race_hide(void)
{
}
static inline void race_show(void)
{
}
static inline void race_release(void *at)
{
    (void)at;
}
static inline void race_acquire(void *at)
{
    (void)at;
}
#define race_fiber_make()      NULL
#define race_fiber_destroy(f)  (void)(f)
#define race_fiber_current()   NULL
#define race_fiber_switch(f)   (void)(f)
#define race_fiber_acquire(at) (void)(at)
#define race_fiber_release(at) (void)(at)
#define RACE_UNSEEN            __attribute__((noinline))
#endif

#endif

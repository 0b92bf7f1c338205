/*
 * fabric.c - the machine itself: its lock, clock and random choices, its settings, and what was
 * counted.
 */
#include "fabric.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

struct fabric fabric = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void fabric_exit(int status, void *unused)
{
    (void)unused;
    if (status == 0)
        provider_check();
    if (!fabric.config.report)
        return;
    struct provider_counts counts = provider_counts();
    fprintf(
        stderr,
        "verbs provider: %" PRIu64 " requests, %" PRIu64 " bytes in %" PRIu64 " pieces, %" PRIu64
        " completions, %" PRIu64 " RNR, %" PRIu64 " contexts with queue pairs, %" PRIu64
        " to %" PRIu64 " each, %" PRIu64 " regions, %" PRIu64 " violations\n",
        counts.requests, counts.bytes, counts.pieces, counts.completions, counts.rnr,
        counts.connected, counts.pairs_least, counts.pairs_most, counts.regions, counts.violations);
    if (counts.struck)
        fprintf(stderr, "verbs provider: %" PRIu64 " ms since the first fault\n",
                (fabric_now() - counts.struck) / 1000000);
}

static void fabric_begin(const char *text)
{
    static bool registered;
    devices_free();
    config_parse(&fabric.config, text);
    fabric.random = (uint64_t)fabric.config.seed * 0x9e3779b97f4a7c15u + 1;
    fabric.hosts_dealt = 0;
    fabric.faults = (struct fault_counts){{0}};
    fabric.dying = (struct dying_port){0};
    fabric.counts = (struct provider_counts){.pairs_least = UINT64_MAX};
    devices_make();
    if (!registered)
        on_exit(fabric_exit, NULL);
    registered = true;
}

void fabric_enter(void)
{
    race_hide();
    atomic_fetch_add(&fabric.waiting, 1);
    pthread_mutex_lock(&fabric.lock);
    atomic_fetch_sub(&fabric.waiting, 1);
    if (!fabric.devices)
        fabric_begin(getenv("VERBS_STRICT"));
}

void fabric_leave(void)
{
    pthread_mutex_unlock(&fabric.lock);
    race_show();
}

static _Thread_local unsigned destroyed;

void fabric_count_destroyed(void)
{
    destroyed++;
    if (fabric.config.destroy)
        usleep((useconds_t)fabric.config.destroy * 1000);
}

unsigned provider_destroyed(void)
{
    return destroyed;
}

uint64_t fabric_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t fabric_random(uint64_t below)
{
    uint64_t x = fabric.random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return below ? (x ^ (x >> 31)) % below : 0;
}

void *fabric_allocate(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "verbs provider: out of memory\n");
        abort();
    }
    return memory;
}

void violation(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "verbs provider: violation: %s\n", text);
    fabric.counts.violations++;
    if (fabric.config.aborts)
        abort();
}

void provider_configure(const char *text)
{
    fabric_enter();
    if (fabric.contexts)
        violation("provider_configure() while a context is open");
    fabric_begin(text ? text : getenv("VERBS_STRICT"));
    fabric_leave();
}

struct provider_counts provider_counts(void)
{
    fabric_enter();
    struct provider_counts counts = fabric.counts;
    for (struct strict_context *each = fabric.contexts; each; each = each->next)
        context_count(each, &counts);
    if (counts.pairs_least > counts.pairs_most)
        counts.pairs_least = counts.pairs_most;
    fabric_leave();
    return counts;
}

void provider_check(void)
{
    fabric_enter();
    int open = 0;
    for (struct strict_context *each = fabric.contexts; each; each = each->next)
        open++;
    if (open)
        violation("%d contexts are still open at the end", open);
    if (fabric.ids || fabric.channels)
        violation("identifiers or event channels of librdmacm are still there at the end");
    fabric_leave();
}

const char *verbs_library_load(void)
{
    return NULL;
}

const char *peermem_module(const char *sysfs)
{
    (void)sysfs;
    fabric_enter();
    bool loaded = fabric.config.peermem;
    fabric_leave();
    return loaded ? "strict_peermem" : NULL;
}

const char *verbs_library_load_cm(void)
{
    return NULL;
}

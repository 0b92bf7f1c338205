/*
 * host_work.c - what a worker does that is no rank of a job: it looks at its host.
 */
#include "accept/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "base/timed_call.h"
#include "host/host.h"
#include "host/facts/facts.h"

#define CPU_SECONDS     1.0
#define GPU_SECONDS     0.9
#define COUNTER_SECONDS 5.0 /* for all devices to answer */

static enum status result_write(const struct bytes *bytes, int fd)
{
    size_t written = 0;
    while (written < bytes->size) {
        ssize_t count = write(fd, bytes->data + written, bytes->size - written);
        if (count < 0 && errno != EINTR)
            return fail(STATUS_ERROR, "what this host has cannot be sent: %s", strerror(errno));
        written += count > 0 ? (size_t)count : 0;
    }
    return STATUS_OK;
}

static enum status inventory_work(int fd)
{
    char host[HOST_NAME_BYTES];
    struct inventory inventory = {.count = 0};
    struct bytes bytes = {0};
    host_name(host, sizeof host);
    const struct inventory_source source = inventory_here(host);
    inventory_collect(&source, &inventory);
    inventory_encode(&inventory, &bytes);
    enum status status = result_write(&bytes, fd);
    bytes_free(&bytes);
    inventory_free(&inventory);
    return status;
}

struct counter_work {
    struct inquiry inquiry;
    struct inventory_source source;
    char host[HOST_NAME_BYTES];
    struct device_changes now;
    bool good;
};

static void counters_look(void *argument)
{
    struct counter_work *work = argument;
    struct host_counters *counters = host_counters_open(&work->source, &work->inquiry);
    if (counters)
        host_counters_read(counters, &work->now);
    work->good = counters != NULL;
    host_counters_close(counters);
}

static enum status counters_work(int fd)
{
    struct counter_work *work = calloc(1, sizeof *work);
    char text[INQUIRY_TEXT_MOST];
    struct bytes bytes = {0};
    if (!work)
        return fail(STATUS_ERROR, "out of memory for the counters");
    host_name(work->host, sizeof work->host);
    work->source = inventory_here(work->host);
    inquiry_init(&work->inquiry, "the devices");
    int end = timed_call_run(counters_look, work, COUNTER_SECONDS);
    if (end != 0) /* the thread may hang in a driver, and keeps its argument */
        return fail(STATUS_TIMEOUT, "%s: " INQUIRY_ADVICE,
                    inquiry_text(&work->inquiry, work->host, text));
    device_changes_encode(&work->now, COUNTER_OTHER, &bytes);
    enum status status = result_write(&bytes, fd);
    bytes_free(&bytes);
    device_changes_free(&work->now);
    free(work);
    return status;
}

static enum status cpu_work(int fd)
{
    return cpu_measure(CPU_SECONDS, fd);
}

static enum status gpu_work(int fd)
{
    return gpu_measure(GPU_SECONDS, fd);
}

static enum status no_work(int fd)
{
    (void)fd;
    return STATUS_OK;
}

static const struct {
    const char *command;
    enum status (*run)(int fd);
} works[] = {
    {WORK_NOTHING, no_work},        {WORK_INVENTORY, inventory_work},
    {WORK_COUNTERS, counters_work}, {WORK_CPU, cpu_work},
    {WORK_GPUS, gpu_work},
};
#define WORKS (sizeof works / sizeof works[0])

/* WORKS: it is none of them. */
static size_t work_find(const char *command)
{
    size_t at = 0;
    while (at < WORKS && strcmp(works[at].command, command) != 0)
        at++;
    return at;
}

bool host_work_is(const char *command)
{
    return work_find(command) < WORKS;
}

enum status host_work_run(const char *command, int fd)
{
    return works[work_find(command)].run(fd);
}

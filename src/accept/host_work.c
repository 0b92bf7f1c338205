/*
 * host_work.c - what a worker does that is no rank of a job: it looks at its host, or measures
 * it.
 *
 * The parts of a host, CPUs or GPUs, are measured all at work at the same time. Each has a
 * thread, which counts what it has done until the time is over. So a slow part does not make the
 * others wait.
 */
#include "accept/internal.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/numbers.h"
#include "base/timed_call.h"
#include "dataplane/memory/memory.h"

#define CPU_SECONDS 1.0 /* of all its works */
#define GPU_SECONDS 0.9

#define PART_WORKS_MOST 4

enum part_lines {
    PARTS_TOGETHER, /* one: the sum */
    PARTS_SLOWEST,  /* one: that of the slowest part, with its name */
    PARTS_EACH,     /* one for each part, with its name */
};

struct part_work {
    const char *name, *key; /* of the line, and of its number: "copy", "GBps" */
    double unit;            /* that the number counts */
    enum part_lines lines;  /* of the results */
};

struct part_at_work {
    struct parts_run *run;
    pthread_t thread;
    int number;                    /* of the CPU or GPU */
    char name[48];                 /* "CPU 3" */
    void *own;                     /* of the hooks */
    double rates[PART_WORKS_MOST]; /* a second */
};

/* The hooks run in the thread of their part, and fail with fail(): then the others end, too. */
struct parts_at_work {
    const struct part_work *works;
    int work_count;
    double seconds; /* of each work */
    enum status (*open)(struct part_at_work *part);
    /* Does a piece of the work, of some milliseconds at most; *done: how much that was. */
    enum status (*step)(struct part_at_work *part, int work, double *done);
    void (*close)(struct part_at_work *part); /* also after a failure */
    size_t bytes;                             /* CPUs: of a buffer, */
    reduce_function *sum;                     /* and what combines two */
};

struct parts_run {
    const struct parts_at_work *kind;
    struct log *log;           /* of the caller: threads fail in its name */
    pthread_mutex_t start;     /* shut until it is known how many threads there are, */
    pthread_barrier_t barrier; /* which begin each work together */
    _Atomic bool failed;       /* one of them: the others end, too */
};

static enum status work_measure(struct part_at_work *part, int work)
{
    double done = 0, begin = clock_seconds(), now = begin;
    enum status status = STATUS_OK;
    while (now - begin < part->run->kind->seconds && status == STATUS_OK) {
        double piece = 0;
        status = part->run->kind->step(part, work, &piece);
        done += piece;
        now = clock_seconds();
    }
    part->rates[work] = done / (now - begin);
    return status;
}

static void *part_main(void *argument)
{
    struct part_at_work *part = argument;
    struct parts_run *run = part->run;
    log_attach(run->log);
    pthread_mutex_lock(&run->start);
    pthread_mutex_unlock(&run->start);
    if (!atomic_load(&run->failed) && run->kind->open(part) != STATUS_OK)
        atomic_store(&run->failed, true);
    for (int work = 0; work < run->kind->work_count; work++) {
        pthread_barrier_wait(&run->barrier);
        if (!atomic_load(&run->failed) && work_measure(part, work) != STATUS_OK)
            atomic_store(&run->failed, true);
    }
    run->kind->close(part);
    return NULL;
}

static enum status threads_run(struct parts_run *run, struct part_at_work *parts, int count)
{
    int started = 0, error = 0;
    pthread_mutex_lock(&run->start);
    while (started < count && error == 0) {
        error = pthread_create(&parts[started].thread, NULL, part_main, &parts[started]);
        started += error == 0;
    }
    atomic_store(&run->failed, error != 0);
    if (started > 0)
        pthread_barrier_init(&run->barrier, NULL, (unsigned)started);
    pthread_mutex_unlock(&run->start);
    for (int i = 0; i < started; i++)
        pthread_join(parts[i].thread, NULL);
    if (started > 0)
        pthread_barrier_destroy(&run->barrier);
    if (error)
        return fail(STATUS_ERROR, "could not start a thread for each of %d CPUs or GPUs: %s", count,
                    strerror(error));
    struct failure failure;
    return !atomic_load(&run->failed)        ? STATUS_OK
           : log_failure(run->log, &failure) ? failure.status
                                             : STATUS_ERROR;
}

/* ---- results ---- */

/* `part`: NULL: all together. */
static void line_add(json_t *lines, const struct part_work *work, const struct part_at_work *part,
                     double rate, int count)
{
    json_t *line = json_pack("{s:s, s:i, s:i, s:f}", "collective", work->name, "ranks", count,
                             "bytes", 1, work->key, rate / work->unit);
    if (part)
        json_object_set_new(line, "part", json_string(part->name));
    json_array_append_new(lines, line);
}

static void work_lines(json_t *lines, const struct parts_at_work *kind, int w,
                       const struct part_at_work *parts, int count)
{
    const struct part_work *work = &kind->works[w];
    const struct part_at_work *slowest = &parts[0];
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const struct part_at_work *part = &parts[i];
        sum += part->rates[w];
        slowest = part->rates[w] < slowest->rates[w] ? part : slowest;
        if (work->lines == PARTS_EACH)
            line_add(lines, work, part, part->rates[w], count);
    }
    if (work->lines == PARTS_TOGETHER)
        line_add(lines, work, NULL, sum, count);
    if (work->lines == PARTS_SLOWEST)
        line_add(lines, work, slowest, slowest->rates[w], count);
}

static enum status document_write(json_t *lines, const char *note, int fd)
{
    json_t *document = json_pack("{s:s, s:o, s:s}", "status", "ok", "results", lines, "note", note);
    bool written = document && json_dumpfd(document, fd, JSON_COMPACT) == 0;
    json_decref(document);
    return written ? STATUS_OK : fail(STATUS_ERROR, "the numbers of this host cannot be written");
}

/* Measures these parts, at least one, and writes the results, as JSON, to `fd`; with a "note" if
 * it is not "". Fails, after fail(), with the first hook that does, or if there is no memory,
 * thread or reader. */
static enum status parts_measure(const struct parts_at_work *kind, const int *numbers, int count,
                                 const char *note, int fd)
{
    struct part_at_work *parts = new_array((size_t)count, sizeof *parts);
    struct parts_run run = {.kind = kind, .log = log_current(), .start = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < count; i++)
        parts[i] = (struct part_at_work){.run = &run, .number = numbers[i]};
    enum status status = threads_run(&run, parts, count);
    json_t *lines = json_array();
    for (int w = 0; w < kind->work_count && status == STATUS_OK; w++)
        work_lines(lines, kind, w, parts, count);
    if (status == STATUS_OK)
        status = document_write(lines, note, fd);
    else
        json_decref(lines);
    free(parts);
    return status;
}

/*
 * The CPUs: all of them together at their memory, on buffers of their own that no cache holds,
 * and the slowest core.
 */
#define BUFFER_MOST  ((size_t)64 << 20) /* bytes of one of the three buffers of a CPU */
#define BUFFER_LEAST ((size_t)1 << 20)
#define MEMORY_SHARE 4 /* the buffers take one in so many of the bytes that are left */
#define BUFFERS_EACH 3
#define PIECE        ((size_t)1 << 20)
#define STEPS        100000 /* between two looks at the clock */

enum cpu_work { CPU_WORK_CORE, CPU_WORK_COPY, CPU_WORK_SUM, CPU_WORKS };

static const struct part_work cpu_works[CPU_WORKS] = {
    [CPU_WORK_CORE] = {"core", "Msteps", 1e6, PARTS_SLOWEST},
    [CPU_WORK_COPY] = {"copy", "GBps", 1e9, PARTS_TOGETHER},
    [CPU_WORK_SUM] = {"sum", "GBps", 1e9, PARTS_TOGETHER},
};

/* A CPU's own. */
struct cpu {
    size_t at;      /* where the next piece is */
    uint64_t state; /* what the steps have made, so that they are done */
    char buffers[]; /* BUFFERS_EACH of them */
};

static enum status cpu_open(struct part_at_work *part)
{
    cpu_set_t cpus;
    size_t bytes = sizeof(struct cpu) + BUFFERS_EACH * part->run->kind->bytes;
    CPU_ZERO(&cpus);
    CPU_SET(part->number, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    snprintf(part->name, sizeof part->name, "CPU %d", part->number);
    part->own = malloc(bytes); /* here: near the thread's CPU */
    if (!part->own)
        return fail(STATUS_ERROR, "no memory for %zu MiB of each CPU", bytes >> 20);
    memset(part->own, 0, bytes);
    return STATUS_OK;
}

static void cpu_close(struct part_at_work *part)
{
    free(part->own);
}

/* One piece after the other, around the buffers. */
static void memory_step(const struct parts_at_work *kind, struct cpu *cpu, int work)
{
    char *to = cpu->buffers + cpu->at, *a = to + kind->bytes, *b = a + kind->bytes;
    if (work == CPU_WORK_COPY)
        nontemporal_copy(to, a, PIECE);
    else
        nontemporal_reduce(kind->sum, sizeof(float), to, a, b, PIECE / sizeof(float));
    cpu->at = (cpu->at + PIECE) % kind->bytes;
}

static enum status cpu_step(struct part_at_work *part, int work, double *done)
{
    struct cpu *cpu = part->own;
    if (work != CPU_WORK_CORE)
        memory_step(part->run->kind, cpu, work);
    for (int i = 0; work == CPU_WORK_CORE && i < STEPS; i++)
        cpu->state = random_next(&cpu->state); /* each step needs the last one */
    *done = work == CPU_WORK_CORE ? STEPS : (double)PIECE;
    return STATUS_OK;
}

/* The CPUs that this process may have: a launcher may have bound it to some of them. */
static int cpus_find(int numbers[CPU_SETSIZE])
{
    cpu_set_t cpus;
    int count = 0;
    memset(&cpus, 0xff, sizeof cpus);
    sched_setaffinity(0, sizeof cpus,
                      &cpus); /* the kernel takes those that the control group has */
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            numbers[count++] = cpu;
    return count;
}

static enum status cpu_work(int fd)
{
    int numbers[CPU_SETSIZE], count = cpus_find(numbers);
    size_t left = memory_available() / MEMORY_SHARE / BUFFERS_EACH / (size_t)(count + 1);
    const struct parts_at_work kind = {
        .works = cpu_works,
        .work_count = CPU_WORKS,
        .seconds = CPU_SECONDS / CPU_WORKS,
        .open = cpu_open,
        .step = cpu_step,
        .close = cpu_close,
        .bytes = (left < BUFFER_MOST ? left : BUFFER_MOST) & ~(PIECE - 1),
        .sum = reduce_kernel(datatype_find("float"), reduction_find("sum")),
    };
    if (count == 0 || kind.bytes < BUFFER_LEAST)
        return fail(STATUS_ERROR, "no CPU, or too little memory, to measure this host by itself");
    return parts_measure(&kind, numbers, count, "", fd);
}

/*
 * The GPUs: how fast each copies, inside it and between it and the host, by the engine that
 * collectives use.
 */
#define GPUS_MOST   64
#define DEVICE_MOST ((size_t)256 << 20) /* bytes of a buffer there, more than its caches hold, */
#define HOST_MOST   ((size_t)64 << 20)  /* and of the pinned one */
#define GPU_SHARE   8 /* a buffer takes at most one in so many of the bytes that are left */
#define HALVES      2 /* of a buffer, copied at the same time: the engine's queue is never empty */
#define STUCK       5.0  /* seconds after which a copy hangs, */
#define STUCK_OPEN  12.0 /* and a GPU that is opened */

enum gpu_work { GPU_WORK_COPY, GPU_WORK_TO_DEVICE, GPU_WORK_TO_HOST, GPU_WORKS };

static const struct part_work gpu_works[GPU_WORKS] = {
    [GPU_WORK_COPY] = {"gpu-copy", "GBps", 1e9, PARTS_EACH},
    [GPU_WORK_TO_DEVICE] = {"host-to-device", "GBps", 1e9, PARTS_EACH},
    [GPU_WORK_TO_HOST] = {"device-to-host", "GBps", 1e9, PARTS_EACH},
};

/* Ends what waits for a GPU that is opened. `argument`: when, by clock_seconds(). */
static enum tick_answer deadline_call(void *argument, int peer)
{
    const double *until = argument;
    (void)peer;
    return clock_seconds() < *until ? TICK_GO_ON : TICK_ENDED;
}

/* A GPU's own. */
struct gpu {
    struct region to, from, host;
    bool is_pinned; /* `host` */
    struct engine *engine;
};

static size_t bytes_choose(const struct memory_kind *kind, size_t most)
{
    struct memory_pool pools[MEMORY_POOLS];
    size_t bytes = most;
    kind->look(pools);
    for (int i = 0; i < MEMORY_POOLS; i++)
        if (pools[i].which != 0 && pools[i].left / GPU_SHARE < bytes)
            bytes = pools[i].left / GPU_SHARE;
    return bytes & ~(BUFFER_LEAST - 1);
}

/* The GPU's buffers, and a pinned one of the host. */
static enum status buffers_make(struct gpu *gpu, const char *name, const struct tick *tick)
{
    const struct memory_kind *host = memory_find("host");
    size_t bytes = bytes_choose(&memory_cuda, DEVICE_MOST);
    size_t pinned = bytes_choose(host, bytes < HOST_MOST ? bytes : HOST_MOST);
    if (pinned < BUFFER_LEAST)
        return fail(STATUS_ERROR, "%s, or its host, has too little memory left to be measured",
                    name);
    TRY(memory_cuda.allocate(bytes, tick, &gpu->to));
    TRY(memory_cuda.allocate(bytes, tick, &gpu->from));
    TRY(host->allocate(pinned, NULL, &gpu->host));
    TRY(memory_cuda.pin(gpu->host.base, pinned));
    gpu->is_pinned = true;
    return STATUS_OK;
}

/* The pinned buffer is near the GPU, if its thread is when it makes it. */
static void thread_place(const struct memory_device *device)
{
    cpu_set_t cpus;
    if (pci_cpus("/sys", device->bus, &cpus))
        sched_setaffinity(0, sizeof cpus, &cpus);
}

static enum status gpu_open(struct part_at_work *part)
{
    struct memory_device device;
    struct gpu *gpu = new_array(1, sizeof *gpu);
    double until = clock_seconds() + STUCK_OPEN;
    const struct tick tick = {.call = deadline_call, .argument = &until};
    part->own = gpu;
    TRY(memory_cuda.settle(NULL, part->number, &tick, &device));
    memory_device_text(&device, part->name);
    thread_place(&device);
    TRY(buffers_make(gpu, part->name, &tick));
    return memory_cuda.engine_open(ENGINE_MOVES, &tick, &gpu->engine);
}

static void gpu_close(struct part_at_work *part)
{
    struct gpu *gpu = part->own;
    if (!gpu || (gpu->engine && memory_cuda.engine_busy(gpu->engine)))
        return; /* freeing what a hanging GPU uses would wait for it: the process's end frees it */
    if (gpu->engine)
        memory_cuda.engine_close(gpu->engine);
    if (gpu->is_pinned)
        memory_cuda.unpin(gpu->host.base);
    if (gpu->host.kind)
        gpu->host.kind->release(&gpu->host);
    memory_cuda.release(&gpu->to);
    memory_cuda.release(&gpu->from);
    free(gpu);
}

/* Copies a whole buffer, in halves. */
static enum status gpu_step(struct part_at_work *part, int work, double *done)
{
    struct gpu *gpu = part->own;
    const struct region *to = work == GPU_WORK_TO_HOST ? &gpu->host : &gpu->to;
    const struct region *from = work == GPU_WORK_TO_DEVICE ? &gpu->host : &gpu->from;
    size_t bytes = (to->bytes < from->bytes ? to->bytes : from->bytes) / HALVES;
    struct piece to_pieces[HALVES], from_pieces[HALVES];
    struct transfer copies[HALVES];
    struct moved_list moved = {NULL};
    for (int i = 0; i < HALVES; i++) {
        to_pieces[i] = (struct piece){to->base + (size_t)i * bytes, bytes, bytes, 1};
        from_pieces[i] = (struct piece){from->base + (size_t)i * bytes, bytes, bytes, 1};
        copies[i] = (struct transfer){.kind = TRANSFER_COPY,
                                      .to = {.pieces = &to_pieces[i], .count = 1},
                                      .from = {.pieces = &from_pieces[i], .count = 1},
                                      .element = 1,
                                      .length = bytes,
                                      .grain = bytes,
                                      .limit = bytes,
                                      .moved = &moved};
        memory_cuda.engine_post(gpu->engine, &copies[i]);
    }
    enum status status = STATUS_OK;
    double begin = clock_seconds();
    while (status == STATUS_OK && (copies[0].done < bytes || copies[1].done < bytes)) {
        status = memory_cuda.engine_progress(gpu->engine);
        if (status == STATUS_OK && clock_seconds() - begin > STUCK)
            status = fail(STATUS_TIMEOUT, "%s does not end a copy (%s) of %zu bytes", part->name,
                          gpu_works[work].name, bytes);
    }
    *done = (double)(HALVES * bytes);
    return status;
}

/* How many there are, whoever may use them. */
static int gpus_present(void)
{
    struct device_list list = {0};
    pci_gpus("/sys", &list);
    int count = list.count;
    device_list_free(&list);
    return count;
}

/* No GPU can be measured; if there are any, why. */
static enum status none_write(const char *why, int fd)
{
    return document_write(json_array(), gpus_present() > 0 ? why : "", fd);
}

static enum status gpu_work(int fd)
{
    const struct parts_at_work kind = {.works = gpu_works,
                                       .work_count = GPU_WORKS,
                                       .seconds = GPU_SECONDS / GPU_WORKS,
                                       .open = gpu_open,
                                       .step = gpu_step,
                                       .close = gpu_close};
    int numbers[GPUS_MOST], count = 0;
    char note[80] = "";
    const char *why = memory_cuda.unavailable();
    if (why)
        return none_write(why, fd);
    if (memory_cuda.prepare)
        memory_cuda.prepare();
    for (int all = memory_cuda.devices_taken(NULL); count < all && count < GPUS_MOST; count++)
        numbers[count] = count;
    if (count == 0)
        return none_write("CUDA shows its first agent no GPU", fd);
    if (count < gpus_present())
        snprintf(note, sizeof note, "CUDA shows its first agent %d of %d GPUs", count,
                 gpus_present());
    return parts_measure(&kind, numbers, count, note, fd);
}

/*
 * All that a worker does.
 */
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
    bytes_put_u64(&bytes, clock_of_day_ns()); /* before a driver may hang */
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
};

static void counters_look(void *argument)
{
    struct counter_work *work = argument;
    struct host_counters *counters = host_counters_open(&work->source, &work->inquiry);
    host_counters_read(counters, &work->now);
    host_counters_close(counters);
}

static enum status counters_work(int fd)
{
    struct counter_work *work = new_array(1, sizeof *work);
    char text[INQUIRY_TEXT_MOST];
    struct bytes bytes = {0};
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

/*
 * memory.c - memory of this machine: private to the process (host), or a memfd that the peers on
 * the node can map (shared). The CPU does what is to be done there.
 *
 * Regions are populated step by step. Before each step the machine must still have room, because
 * the kernel would promise more than it has, and kill a process in the middle of a run.
 *
 * Regions lie in huge pages where the kernel gives them, even if they do not fill one. Measured on
 * a Zen 4 in a virtual machine: with buffers of 8 to 256 MiB copies and reductions are 5 to 40 %
 * faster, most where results go to memory by ordinary stores. To read 128 KiB to 1 MiB of another
 * process (process_vm_readv) is twice as fast. Private memory gets huge pages by madvise(). A memfd
 * does not by the kernel's default, but its small pages may be collapsed into huge ones (Linux
 * 6.1), which costs what their faults would have cost. Peers that map it see huge pages, too,
 * because memory_place() aligns their mapping.
 */
#include "dataplane/memory/internal.h"

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "host/nvml/gpus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE          ((size_t)4096)
#define HUGE_PAGE     ((size_t)2 << 20)   /* of a machine with pages of 4 KiB */
#define HUGE_LEAST    ((size_t)128 << 10) /* shorter regions lie in small pages */
#define POPULATE_STEP ((size_t)16 << 20)  /* whole huge pages */
#define GRAIN_LEAST   ((size_t)128 << 10) /* tests/bench/README.md, Grain */
#define GRAIN_MOST    ((size_t)1 << 20)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static enum status memory_refuse(const char *kind, size_t bytes, const char *why)
{
    struct memory_pool pools[MEMORY_POOLS];
    memory_look(pools);
    const struct memory_pool *pool = memory_scarcer(pools);
    return fail(
        STATUS_ERROR,
        "cannot allocate %zu MiB of %s memory on %s: %s, about %zu MiB are available; ask for "
        "smaller sizes (-e) or run fewer ranks on it",
        (bytes + (1 << 20) - 1) >> 20, kind, pool->where, why, pool->left >> 20);
}

/* Limits of a process that the kernel answers with these errors. */
static const struct {
    int error;
    __rlimit_resource_t resource;
    const char *of, *option;
} process_limits[] = {
    {ENOMEM, RLIMIT_AS, "of address space in all", "-v"},
    {ENOMEM, RLIMIT_DATA, "of data in all", "-d"},
    {EFBIG, RLIMIT_FSIZE, "in a file, and shared memory is one", "-f"},
};

/* The kernel refused, with `error`. If this process has a limit of its own, names the lowest. */
static enum status memory_refuse_error(const char *kind, size_t bytes, int error)
{
    struct rlimit lowest = {.rlim_cur = RLIM_INFINITY}, limit;
    size_t which = 0;
    for (size_t i = 0; i < sizeof process_limits / sizeof *process_limits; i++)
        if (process_limits[i].error == error &&
            getrlimit(process_limits[i].resource, &limit) == 0 &&
            limit.rlim_cur < lowest.rlim_cur) {
            lowest = limit;
            which = i;
        }
    if (lowest.rlim_cur == RLIM_INFINITY)
        return memory_refuse(kind, bytes, strerror(error));
    return fail(STATUS_ERROR,
                "cannot allocate %zu MiB of %s memory: this process may have %zu KiB %s; raise "
                "that limit (ulimit %s), or ask for smaller sizes (-e)",
                (bytes + (1 << 20) - 1) >> 20, kind, (size_t)lowest.rlim_cur >> 10,
                process_limits[which].of, process_limits[which].option);
}

size_t memory_mapped(size_t bytes)
{
    size_t pages = bytes == 0 ? PAGE : (bytes + PAGE - 1) / PAGE * PAGE;
    return pages < HUGE_LEAST ? pages : (pages + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

static enum status memory_populate(const char *kind, char *base, int fd, size_t bytes,
                                   const struct tick *tick)
{
    if (bytes > memory_available())
        return memory_refuse(kind, bytes, "it has less");
    bool collapse = fd >= 0 && bytes >= HUGE_PAGE;
    for (size_t at = 0, step; at < bytes; at += step) {
        step = bytes - at < POPULATE_STEP ? bytes - at : POPULATE_STEP;
        if (at > 0 && step > memory_available())
            return memory_refuse(kind, bytes, "other processes took it meanwhile");
        if (fd >= 0) {
            int error;
            do
                error = fallocate(fd, 0, (off_t)at, (off_t)step) ? errno : 0;
            while (error == EINTR);
            if (error)
                return memory_refuse_error(kind, bytes, error);
        }
        if (collapse) /* until the kernel refuses: it would refuse the rest, too, and slowly */
            collapse = madvise(base + at, step, MADV_COLLAPSE) == 0;
        memset(base + at, 0, step);
        if (!tick_on(tick))
            return fail(STATUS_ERROR, "the job ended while memory was allocated");
    }
    return STATUS_OK;
}

static void memory_release(struct region *region)
{
    if (region->base)
        memory_unplace(region->base, region->bytes);
    if (region->fd >= 0)
        close(region->fd);
    *region = (struct region){.fd = -1};
}

char *memory_place(size_t bytes, int fd, int protection)
{
    size_t mapped = memory_mapped(bytes);
    size_t slack = mapped < HUGE_PAGE ? 0 : HUGE_PAGE;
    char *space =
        mmap(NULL, mapped + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return NULL;
    size_t before = slack ? -(uintptr_t)space % HUGE_PAGE : 0;
    char *base = space + before;
    if (before > 0)
        munmap(space, before);
    if (slack > before)
        munmap(base + mapped, slack - before);
    int where = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    if (mmap(base, mapped, protection, where | MAP_FIXED, fd, 0) == MAP_FAILED) {
        int error = errno;
        munmap(base, mapped);
        errno = error;
        return NULL;
    }
    if (fd < 0 && slack > 0)
        madvise(base, mapped, MADV_HUGEPAGE); /* if refused, it lies in small ones */
    return base;
}

void memory_unplace(char *base, size_t bytes)
{
    munmap(base, memory_mapped(bytes));
}

/* A memfd gets its length at once, its pages by memory_populate(). */
static enum status region_map(struct region *region, const struct tick *tick)
{
    const char *kind = region->kind->name;
    size_t bytes = region->bytes, mapped = memory_mapped(bytes);
    int fd = region->fd;
    if (mapped < bytes || mapped > PTRDIFF_MAX)
        return memory_refuse(kind, bytes, "no address space is that large");
    if (fd >= 0 && ftruncate(fd, (off_t)mapped))
        return memory_refuse_error(kind, bytes, errno);
    region->base = memory_place(mapped, fd, PROT_READ | PROT_WRITE);
    return region->base ? memory_populate(kind, region->base, fd, mapped, tick)
                        : memory_refuse_error(kind, bytes, errno);
}

static enum status memory_map(const struct memory_kind *kind, size_t bytes, int fd,
                              const struct tick *tick, struct region *region)
{
    *region = (struct region){.kind = kind, .bytes = bytes, .fd = fd};
    enum status status = region_map(region, tick);
    if (status != STATUS_OK)
        memory_release(region);
    return status;
}

static const struct memory_kind memory_shared;

static enum status host_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    return memory_map(&memory_host, bytes, -1, tick, region);
}

static enum status shared_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    int fd = host_create_memory("cctest");
    if (fd < 0) {
        *region = (struct region){.fd = -1};
        return memory_refuse("shared", bytes, strerror(errno));
    }
    return memory_map(&memory_shared, bytes, fd, tick, region);
}

/*
 * The CPU fills memory, makes inputs there, and compares.
 *
 * Expected values are made a chunk at a time and compared as a whole; only a chunk that differs is
 * looked at more closely.
 */
#define CHUNK 8192u             /* bytes made and compared at a time */
#define STEP  ((size_t)8 << 20) /* bytes filled between two ticks */

static enum status cpu_fill(const struct memory *memory, void *to, unsigned char byte, size_t bytes)
{
    for (size_t at = 0, step; at < bytes && tick_on(memory->tick); at += step) {
        step = smaller(STEP, bytes - at);
        memset((char *)to + at, byte, step);
    }
    return STATUS_OK;
}

static enum status cpu_make(const struct memory *memory, const struct inputs *inputs, int rank,
                            size_t first, size_t count, void *to)
{
    size_t size = inputs->datatype->size;
    for (size_t at = 0, step; at < count && tick_on(memory->tick); at += step) {
        step = smaller(STEP / size, count - at);
        inputs_make(inputs, rank, first + at, step, (char *)to + at * size);
    }
    return STATUS_OK;
}

/* A pass over a comparison, chunk by chunk. */
struct pass {
    const struct memory *memory;
    const struct comparison *comparison;
    size_t at, count; /* the chunk's elements */
    const char *got;
    _Alignas(16) char expected[CHUNK];
};

static void pass_begin(struct pass *pass, const struct memory *memory,
                       const struct comparison *comparison)
{
    pass->memory = memory;
    pass->comparison = comparison;
    pass->at = pass->count = 0;
}

/* Goes to the next chunk that has a wrong element. */
static bool pass_next_wrong(struct pass *pass)
{
    const struct comparison *comparison = pass->comparison;
    size_t size = comparison->inputs->datatype->size;
    while (tick_on(pass->memory->tick)) {
        pass->at += pass->count;
        pass->count = smaller(CHUNK / size, comparison->count - pass->at);
        if (pass->count == 0)
            return false;
        pass->got = (const char *)comparison->at + pass->at * size;
        inputs_expect(comparison->inputs, comparison->rank, comparison->first + pass->at,
                      pass->count, pass->expected);
        if (memcmp(pass->expected, pass->got, pass->count * size) != 0)
            return true;
    }
    return false;
}

static bool pass_is_wrong(const struct pass *pass, size_t element)
{
    size_t size = pass->comparison->inputs->datatype->size, at = element * size;
    return memcmp(pass->expected + at, pass->got + at, size) != 0;
}

static enum status cpu_compare(const struct memory *memory, const struct comparison *comparison,
                               size_t *wrong)
{
    struct pass pass;
    pass_begin(&pass, memory, comparison);
    *wrong = 0;
    while (pass_next_wrong(&pass))
        for (size_t i = 0; i < pass.count; i++)
            *wrong += pass_is_wrong(&pass, i);
    return STATUS_OK;
}

static enum status cpu_select(const struct memory *memory, const struct comparison *comparison,
                              struct selection *selection)
{
    struct pass pass;
    pass_begin(&pass, memory, comparison);
    selection->count = selection->wrong = 0;
    size_t next = selection->skip; /* the number, among the wrong ones, that is asked for next */
    while (pass_next_wrong(&pass))
        for (size_t i = 0; i < pass.count; i++) {
            if (!pass_is_wrong(&pass, i))
                continue;
            selection->last = pass.at + i;
            if (selection->wrong++ != next || selection->count == selection->most)
                continue;
            selection->at[selection->count++] = selection->last;
            next += selection->stride;
        }
    return STATUS_OK;
}

static enum status cpu_scan(const struct memory *memory, const void *at, unsigned char byte,
                            size_t bytes, struct damage *damage)
{
    const unsigned char *bytes_there = at;
    (void)memory;
    *damage = (struct damage){.bytes = 0};
    for (size_t i = bytes; i-- > 0;) {
        if (bytes_there[i] != byte) {
            damage->bytes++;
            damage->first = i;
        }
    }
    return STATUS_OK;
}

static enum status cpu_read(const struct memory *memory, const void *at, size_t bytes, void *to)
{
    (void)memory;
    memcpy(to, at, bytes);
    return STATUS_OK;
}

static enum status cpu_write(const struct memory *memory, const void *from, size_t bytes, void *at)
{
    (void)memory;
    memcpy(at, from, bytes);
    return STATUS_OK;
}

/*
 * Local operations done by the CPU.
 */
#define TURN_MOST ((size_t)4 << 20) /* bytes of one operation before the next has its turn */

struct engine {
    struct transfer *first, **end;
};

static enum status cpu_engine_open(enum engine_use use, const struct tick *tick,
                                   struct engine **engine)
{
    (void)use;
    (void)tick;
    *engine = new_array(1, sizeof **engine);
    **engine = (struct engine){.end = &(*engine)->first};
    return STATUS_OK;
}

static void cpu_engine_post(struct engine *engine, struct transfer *transfer)
{
    if (transfer->length == 0)
        return;
    transfer_start_local(transfer);
    *engine->end = transfer;
    engine->end = &transfer->next;
}

/* Does what the kind of transfer says, on the next `bytes` bytes. */
static void engine_do(const struct transfer *transfer, struct cursor *to, struct cursor *from,
                      struct cursor *with, size_t bytes)
{
    profile_enter(transfer->profile, transfer_activity(transfer));
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_reduce_both(to, from, with, bytes, transfer->reduce, transfer->element);
    else if (transfer->kind == TRANSFER_FINISH)
        cursor_finish(to, from, bytes, transfer->finish, transfer->element, transfer->ranks);
    else
        cursor_copy(to, from, bytes);
    profile_enter(transfer->profile, PROFILE_BOOKKEEPING);
}

static void engine_move(struct transfer *transfer, size_t bytes)
{
    transfer->issued += bytes;
    engine_do(transfer, &transfer->cursor, &transfer->from_cursor, &transfer->with_cursor, bytes);
    transfer_advance(transfer, bytes);
}

static void cpu_engine_now(const struct transfer *transfer)
{
    struct cursor to, from, with;
    cursor_start(&to, transfer->to);
    cursor_start(&from, transfer->from);
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_start(&with, transfer->with);
    engine_do(transfer, &to, &from, &with, transfer->length);
}

static enum status cpu_engine_progress(struct engine *engine)
{
    for (struct transfer **link = &engine->first; *link;) {
        struct transfer *transfer = *link;
        size_t bytes = transfer->limit - transfer->done;
        size_t turn = transfer_turn(transfer, 1, TURN_MOST);
        if (bytes > turn)
            bytes = turn;
        if (bytes > transfer->element) /* the grain may cut an element */
            bytes -= bytes % transfer->element;
        else if (bytes > 0)
            bytes = transfer->element;
        if (bytes > 0)
            engine_move(transfer, bytes);
        if (transfer->done == transfer->length) {
            *link = transfer->next;
            if (!*link)
                engine->end = link;
            transfer->next = NULL;
        } else {
            link = &transfer->next;
        }
    }
    return STATUS_OK;
}

static void cpu_engine_close(struct engine *engine)
{
    free(engine);
}

/*
 * The kinds.
 */
/* The hooks of both kinds, besides allocate(). */
#define CPU_HOOKS                                                                                  \
    .host_reads = true, .grain_least = GRAIN_LEAST, .grain_most = GRAIN_MOST, .look = memory_look, \
    .release = memory_release, .engine_open = cpu_engine_open, .engine_post = cpu_engine_post,     \
    .engine_progress = cpu_engine_progress, .engine_close = cpu_engine_close,                      \
    .engine_now = cpu_engine_now, .fill = cpu_fill, .make = cpu_make, .compare = cpu_compare,      \
    .select = cpu_select, .reduce = reduce_kernel, .finish = finish_kernel, .scan = cpu_scan,      \
    .read = cpu_read, .write = cpu_write

const struct memory_kind memory_host = {
    .name = "host",
    .summary = "private memory of each rank",
    .allocate = host_allocate,
    CPU_HOOKS,
};

static const struct memory_kind memory_shared = {
    .name = "shared",
    .summary = "memory that the other ranks of the node can map and read in place",
    .allocate = shared_allocate,
    CPU_HOOKS,
};

const struct memory_kind *const memory_kinds[] = {&memory_host, &memory_shared, &memory_cuda, NULL};

enum status memory_open(const struct memory_kind *kind, const struct tick *tick,
                        struct memory *memory)
{
    *memory = (struct memory){.kind = kind, .tick = tick};
    enum status status = kind->engine_open(ENGINE_CONTENTS, tick, &memory->engine);
    if (status != STATUS_OK)
        memory->kind = NULL;
    return status;
}

void memory_forget(struct memory *memory)
{
    if (memory->kind && memory->kind->engine_forget) {
        memory->kind->engine_forget(memory->engine);
        *memory = (struct memory){.kind = NULL};
    }
    memory_close(memory);
}

void memory_close(struct memory *memory)
{
    if (memory->kind)
        memory->kind->engine_close(memory->engine);
    *memory = (struct memory){.kind = NULL};
}

const struct memory_kind *memory_find(const char *name)
{
    for (const struct memory_kind *const *kind = memory_kinds; *kind; kind++) {
        if (!strcmp((*kind)->name, name))
            return *kind;
    }
    return NULL;
}

/*
 * Names and identities of devices with memory; lists of them.
 */
#define CHOICES_MOST 64
#define ENTRY_MOST   32

void memory_device_code(struct codec codec, struct memory_device *device)
{
    if (codec.in)
        *device = (struct memory_device){0};
    code_int(codec, &device->number, -1, INT32_MAX);
    if (device->number < 0)
        return;
    code_text(codec, device->bus, sizeof device->bus);
    code_text(codec, device->uuid, sizeof device->uuid);
    code_text(codec, device->name, sizeof device->name);
    code_text(codec, device->domain, sizeof device->domain);
}

const char *memory_device_text(const struct memory_device *device, char text[MEMORY_DEVICE_TEXT])
{
    snprintf(text, MEMORY_DEVICE_TEXT, "GPU %d (%s)", device->number,
             device->bus[0] ? device->bus : "PCI address unknown");
    return text;
}

int memory_device_compare(const struct memory_device *a, const struct memory_device *b)
{
    int order = strcmp(a->bus, b->bus);
    order = order ? order : strcmp(a->uuid, b->uuid);
    bool known = a->bus[0] || a->uuid[0];
    return order || known ? order : a->number - b->number;
}

uint64_t memory_device_identity(const struct memory_device *device)
{
    uint64_t hash = hash_text(hash_text(HASH_BEGIN, device->bus), device->uuid);
    if (!device->bus[0] && !device->uuid[0])
        hash += (uint64_t)device->number;
    return hash ? hash : 1;
}

/* "3B:0.0" or "00000000:3b:00.0" as the kernel writes it; false: it is no PCI address. */
static bool entry_bus(const char *text, char bus[16])
{
    char full[ENTRY_MOST + 8];
    int colons = 0;
    for (const char *at = text; *at; at++) {
        if (!isxdigit((unsigned char)*at) && *at != ':' && *at != '.')
            return false;
        colons += *at == ':';
    }
    snprintf(full, sizeof full, "%s%s", colons == 1 ? "0:" : "", text);
    return gpu_bus(full, bus);
}

/* Reads the entry that begins at *at, and moves *at behind its comma; NULL: it was the last. */
static bool entry_read(const char **at, struct device_choice *choice)
{
    char entry[ENTRY_MOST], *end;
    size_t length = strcspn(*at, ",");
    *choice = (struct device_choice){.number = -1};
    if (length == 0 || length >= sizeof entry)
        return false;
    memcpy(entry, *at, length);
    entry[length] = 0;
    *at = (*at)[length] ? *at + length + 1 : NULL;
    if (strchr(entry, ':'))
        return entry_bus(entry, choice->bus);
    long number = isdigit((unsigned char)entry[0]) ? strtol(entry, &end, 10) : INT_MAX;
    choice->number = (int)(number < INT_MAX ? number : -1);
    return number < INT_MAX && !*end;
}

int device_choices(const char *list)
{
    struct device_choice choice;
    int count = 0;
    for (const char *at = list; at; count++)
        if (count == CHOICES_MOST || !entry_read(&at, &choice))
            return 0;
    return count;
}

bool device_choice_at(const char *list, int index, struct device_choice *choice)
{
    int count = device_choices(list);
    for (int i = 0; count > 0 && i <= index % count; i++)
        entry_read(&list, choice);
    return count > 0;
}

int device_choice_distinct(const char *list)
{
    int count = device_choices(list), distinct = 0;
    for (int i = 0; i < count; i++) {
        struct device_choice choice, earlier;
        bool again = false;
        device_choice_at(list, i, &choice);
        for (int j = 0; j < i && !again; j++) {
            device_choice_at(list, j, &earlier);
            again = earlier.number == choice.number && strcmp(earlier.bus, choice.bus) == 0;
        }
        distinct += !again;
    }
    return distinct;
}

/*
 * memory.c - protection domains and memory regions.
 *
 * The two keys of a region differ, so that one taken for the other is found. A key is its place in
 * a table, and a byte that changes when the place is used again.
 *
 * Device memory is registered by a descriptor, or by an address at which no CPU reads it. The NIC
 * reaches it by a mapping of its own.
 */
#include "memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric.h"

#undef ibv_reg_mr

#define KNOWN_ACCESS                                                                               \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                   \
     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING)

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    fabric_enter();
    int error = fails_now(COUNT_ALLOC_PD);
    struct strict_pd *pd = NULL;
    if (!error) {
        pd = fabric_allocate(sizeof(*pd));
        pd->base.context = context;
        context_of(context)->objects[OBJECT_PD]++;
    }
    fabric_leave();
    errno = error;
    return pd ? &pd->base : NULL;
}

int ibv_dealloc_pd(struct ibv_pd *base)
{
    fabric_enter();
    struct strict_pd *pd = (struct strict_pd *)base;
    int users = pd->users;
    if (users) {
        violation("ibv_dealloc_pd() while %d objects use it", users);
    } else {
        context_of(base->context)->objects[OBJECT_PD]--;
        free(pd);
    }
    fabric_leave();
    fabric_count_destroyed();
    return users ? EBUSY : 0;
}

static uint32_t region_place(void)
{
    for (uint32_t i = 1; i < fabric.region_count; i++)
        if (!fabric.regions[i])
            return i;
    uint32_t count = fabric.region_count ? fabric.region_count : 1;
    struct strict_mr **more =
        realloc(fabric.regions, (size_t)(count * 2) * sizeof(struct strict_mr *));
    if (!more)
        abort();
    memset(more + fabric.region_count, 0,
           (size_t)(count * 2 - fabric.region_count) * sizeof(struct strict_mr *));
    fabric.regions = more;
    fabric.region_count = count * 2;
    return count;
}

static struct ibv_mr *region_make(struct ibv_pd *pd, char *data, size_t length, uint64_t iova,
                                  int access)
{
    static uint32_t turn;
    struct strict_context *context = context_of(pd->context);
    int error = fails_now(COUNT_REG_MR);
    bool writes = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    if (!length || access & ~KNOWN_ACCESS || (writes && !(access & IBV_ACCESS_LOCAL_WRITE)))
        error = EINVAL;
    if (fabric.config.memlock && context->pinned + length > (uint64_t)fabric.config.memlock << 10)
        error = ENOMEM;
    if (error) {
        errno = error;
        return NULL;
    }
    struct strict_mr *region = fabric_allocate(sizeof(*region));
    uint32_t place = region_place();
    turn++;
    region->base = (struct ibv_mr){.context = pd->context,
                                   .pd = pd,
                                   .addr = data,
                                   .length = length,
                                   .handle = place,
                                   .lkey = place << 8 | (turn * 2 & 0xff),
                                   .rkey = place << 8 | ((turn * 2 + 1) & 0xff)};
    region->iova = iova;
    region->data = data;
    region->access = access;
    fabric.regions[place] = region;
    ((struct strict_pd *)pd)->users++;
    context->pinned += length;
    fabric.counts.regions++;
    fabric.counts.pinned += length;
    return &region->base;
}

/* Bytes of the pages in front of region->data. */
static size_t lead_of(const char *data)
{
    return (uintptr_t)data & 4095;
}

/* Any descriptor that can be mapped stands in for one of device memory. */
static struct ibv_mr *mapped_make(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                  int file, int access)
{
    size_t lead = offset & 4095;
    struct stat stat;
    if (fstat(file, &stat) != 0)
        return NULL;
    errno = EINVAL;
    if (lead != (iova & 4095) || offset > (uint64_t)stat.st_size ||
        length > (uint64_t)stat.st_size - offset)
        return NULL;
    char *data =
        mmap(NULL, length + lead, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)(offset - lead));
    if (data == MAP_FAILED)
        return NULL;
    fabric_enter();
    struct ibv_mr *made = region_make(pd, data + lead, length, iova, access);
    struct strict_mr *region = (struct strict_mr *)made;
    if (region) {
        region->mapped = true;
        region->unseen = fabric.config.flush ? fabric_allocate(length) : NULL;
    }
    fabric_leave();
    if (!made)
        munmap(data, length + lead);
    return made;
}

static bool cpu_reads(const char *address, size_t length)
{
    int file = memfd_create("verbs provider", MFD_CLOEXEC);
    bool reads = write(file, address, 1) == 1 && write(file, address + length - 1, 1) == 1;
    close(file);
    return reads;
}

static bool is_device_memory(const char *address)
{
    fabric_enter();
    const struct device_memory *memory = fabric.device_memory;
    while (memory && (address < memory->base || address >= memory->base + memory->bytes))
        memory = memory->next;
    fabric_leave();
    return memory != NULL;
}

/* By the peer memory module, if one is loaded. */
static struct ibv_mr *peer_make(struct ibv_pd *pd, const char *address, size_t length,
                                uint64_t iova, int access)
{
    fabric_enter();
    struct device_memory *memory = fabric.config.peermem ? fabric.device_memory : NULL;
    while (memory && (address < memory->base || address + length > memory->base + memory->bytes))
        memory = memory->next;
    fabric_leave();
    errno = EFAULT;
    return memory ? mapped_make(pd, memory->offset + (uint64_t)(address - memory->base), length,
                                iova, memory->file, access)
                  : NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned int access)
{
    if (length > 0 && (is_device_memory(address) || !cpu_reads(address, length)))
        return peer_make(pd, address, length, iova, (int)access);
    fabric_enter();
    ((struct strict_pd *)pd)->users++; /* by this call */
    if (fabric.config.stall) {
        fabric_leave();
        usleep((useconds_t)fabric.config.stall * 1000);
        fabric_enter();
    }
    if (!cpu_reads(address, length))
        violation("ibv_reg_mr() of %zu bytes that were unmapped meanwhile", length);
    struct ibv_mr *region = region_make(pd, address, length, iova, (int)access);
    ((struct strict_pd *)pd)->users--;
    fabric_leave();
    return region;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    return ibv_reg_mr_iova2(pd, address, length, (uintptr_t)address, (unsigned)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
                                 int file, int access)
{
    if (!fabric.config.dmabuf) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    return mapped_make(pd, offset, length, iova, file, access);
}

int ibv_dereg_mr(struct ibv_mr *base)
{
    fabric_count_destroyed();
    fabric_enter();
    struct strict_mr *region = (struct strict_mr *)base;
    if (memory_of(base->lkey) != region) {
        violation("ibv_dereg_mr() of a region that is not registered");
        fabric_leave();
        return EINVAL;
    }
    if (region->users)
        violation("ibv_dereg_mr() of %zu bytes which %d requests still use", base->length,
                  region->users);
    size_t lead = lead_of(region->data);
    if (region->mapped)
        munmap(region->data - lead, base->length + lead);
    free(region->unseen);
    free(region->ranges);
    race_acquire(&region->race);
    fabric.regions[base->handle] = NULL;
    ((struct strict_pd *)base->pd)->users--;
    context_of(base->context)->pinned -= base->length;
    free(region);
    fabric_leave();
    return 0;
}

struct strict_mr *memory_of(uint32_t key)
{
    uint32_t place = key >> 8;
    struct strict_mr *region = place < fabric.region_count ? fabric.regions[place] : NULL;
    return region && (region->base.lkey == key || region->base.rkey == key) ? region : NULL;
}

char *memory_reach(const struct ibv_pd *pd, uint32_t key, bool remote, uint64_t address,
                   uint64_t length, int access, struct strict_mr **result, const char **why)
{
    struct strict_mr *region = memory_of(key);
    *why = NULL;
    if (!region)
        *why = remote ? "the rkey is not known" : "the lkey is not known";
    else if ((remote ? region->base.rkey : region->base.lkey) != key)
        *why = remote ? "the rkey is an lkey" : "the lkey is an rkey";
    else if (region->base.pd != pd)
        *why = remote ? "the rkey is of another protection domain than the queue pair"
                      : "the lkey is of another protection domain than the queue pair";
    else if ((region->access & access) != access)
        *why = remote ? "the region does not allow remote access of this kind"
                      : "the region does not allow local writes";
    else if (address < region->iova || address - region->iova > region->base.length ||
             length > region->base.length - (address - region->iova))
        *why = remote ? "the remote address is out of the region's bounds"
                      : "the local address is out of the region's bounds";
    if (*why)
        return NULL;
    *result = region;
    bool unseen = region->unseen && remote && access & IBV_ACCESS_REMOTE_WRITE;
    return (unseen ? region->unseen : region->data) + (address - region->iova);
}

/* Device memory. */

void memory_delivered(uint32_t key, uint64_t address, uint64_t length)
{
    struct strict_mr *region = memory_of(key);
    if (!region || !region->unseen || length == 0)
        return;
    if (region->range_count == region->range_room) {
        region->range_room = region->range_room ? 2 * region->range_room : 64;
        region->ranges = realloc(region->ranges, region->range_room * sizeof(struct byte_range));
        if (!region->ranges)
            abort();
    }
    region->ranges[region->range_count++] = (struct byte_range){address - region->iova, length};
}

void provider_flush(const void *base, size_t bytes)
{
    fabric_enter();
    uint64_t begin = (uintptr_t)base;
    for (uint32_t i = 0; i < fabric.region_count; i++) {
        struct strict_mr *region = fabric.regions[i];
        if (!region || !region->unseen || region->iova < begin || region->iova >= begin + bytes)
            continue;
        for (size_t r = 0; r < region->range_count; r++)
            memcpy(region->data + region->ranges[r].at, region->unseen + region->ranges[r].at,
                   region->ranges[r].bytes);
        region->range_count = 0;
    }
    fabric_leave();
}

void provider_device_memory(void *base, size_t bytes, int file, uint64_t offset)
{
    fabric_enter();
    struct device_memory **link = &fabric.device_memory, *memory;
    while (*link && (*link)->base != base)
        link = &(*link)->next;
    memory = *link;
    if (file < 0 && memory) {
        *link = memory->next;
        free(memory);
    } else if (file >= 0 && !memory) {
        memory = fabric_allocate(sizeof(*memory));
        *memory = (struct device_memory){fabric.device_memory, base, bytes, file, offset};
        fabric.device_memory = memory;
    }
    fabric_leave();
}

RACE_UNSEEN static uint64_t checksum_add(uint64_t sum, const char *data, size_t bytes)
{
    size_t i = 0;
    uint64_t word;
    for (; i + 8 <= bytes; i += 8) {
        memcpy(&word, data + i, 8);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    for (word = 0; i < bytes; i++)
        word = word << 8 | (unsigned char)data[i];
    return (sum ^ word) * 0x9e3779b97f4a7c15u;
}

uint64_t memory_checksum(const struct ibv_sge *sges, int count)
{
    uint64_t sum = 1;
    for (int i = 0; i < count; i++)
        sum = checksum_add(sum, (const char *)(uintptr_t)sges[i].addr, sges[i].length);
    return sum;
}

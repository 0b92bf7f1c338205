/*
 * registration.c - the memory that NICs reach: registers it, and finds what was registered.
 *
 * Memory that a CPU reads is registered by its address. Memory of a GPU has two ways (GPUDirect
 * RDMA). Its kind exports a dmabuf, which the NIC's driver imports; or a peer memory module, which
 * the GPU's driver brings along, translates its addresses when they are registered as others are.
 * Whether a way works shows when a piece of the memory is registered, so that is tried first.
 */
#include "transports/verbs/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/timed_call.h"

#define PAGE             4096
#define TRIAL_BYTES      ((size_t)64 << 10) /* a page of a GPU */
#define REGISTER_SECONDS 10.0 /* that a registration may take, and one more for each GiB */
#define POLLED_ACCESS    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define REGION_ACCESS    (POLLED_ACCESS | IBV_ACCESS_RELAXED_ORDERING)

static const char *const gdr_names[] = {"", "dmabuf", "peermem", "staged"};

/* One call of the library. */

struct registration {
    struct ibv_pd *pd;
    void *address;
    size_t bytes;
    int access;
    int dmabuf; /* -1: by address */
    uint64_t offset;
    struct ibv_mr *mr;
    int error;
};

static struct ibv_mr *dmabuf_register(const struct registration *registration, int access)
{
    return ibv_reg_dmabuf_mr(registration->pd, registration->offset, registration->bytes,
                             (uintptr_t)registration->address, registration->dmabuf, access);
}

static void registration_work(void *argument)
{
    struct registration *work = argument;
    int access = work->access;
    if (work->dmabuf < 0)
        work->mr = ibv_reg_mr(work->pd, work->address, work->bytes, access);
    else
        work->mr = dmabuf_register(work, access);
    /* For a dmabuf the library does not take away the flags that the driver does not know. */
    if (!work->mr && work->dmabuf >= 0 && (errno == EINVAL || errno == EOPNOTSUPP))
        work->mr = dmabuf_register(work, access & ~IBV_ACCESS_RELAXED_ORDERING);
    work->error = work->mr ? 0 : errno;
}

/* To pin many GiB takes long, so that another thread does it and this one ticks. Sets wanted->mr.
 * Closes the descriptor. Returns 0, an errno, or less than 0 if the job was interrupted. */
static int rail_register(struct verbs_rail *rail, struct registration *wanted)
{
    struct registration *registration = malloc(sizeof *registration);
    struct verbs_endpoint *endpoint = rail->endpoint;
    uint64_t begin = clock_ns();
    int end = ENOMEM;
    wanted->pd = rail->pd;
    if (registration) {
        *registration = *wanted;
        end = timed_call_ticking(registration_work, registration, endpoint->base.config.tick,
                                 REGISTER_SECONDS + (double)(wanted->bytes >> 30));
    }
    endpoint->registering_ns += clock_ns() - begin;
    wanted->mr = end ? NULL : registration->mr;
    int error = end ? end : registration->error;
    if (timed_call_is_abandoned(end)) {
        rail->is_abandoned = true;
        return error;
    }
    if (wanted->dmabuf >= 0)
        close(wanted->dmabuf);
    free(registration);
    endpoint->pinned += wanted->mr ? wanted->bytes : 0;
    return error;
}

static enum status registration_failed(const struct verbs_rail *rail, size_t bytes, int error)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error != ENOMEM || limit.rlim_cur == RLIM_INFINITY)
        return fail(STATUS_ERROR, "NIC %s cannot register %zu bytes of memory: %s", rail->port.name,
                    bytes, strerror(error < 0 ? EINTR : error));
    char advice[VERBS_MEMORY_ADVICE_MOST];
    size_t pinned = rail->endpoint->pinned;
    return fail(STATUS_UNAVAILABLE,
                "NIC %s cannot register %zu KiB of memory beside the %zu KiB of this rank that are "
                "registered: %s",
                rail->port.name, (bytes + 1023) / 1024, pinned / 1024,
                verbs_memory_advice(rail->endpoint, pinned + bytes, advice));
}

struct ibv_mr *verbs_register(struct verbs_rail *rail, void *address, size_t bytes, int access)
{
    struct registration wanted = {
        .address = address, .bytes = bytes, .access = access, .dmabuf = -1};
    int error = rail_register(rail, &wanted);
    if (error)
        registration_failed(rail, bytes, error);
    return wanted.mr;
}

struct ibv_mr *verbs_register_polled(struct verbs_rail *rail, void *address, size_t bytes)
{
    return verbs_register(rail, address, bytes, POLLED_ACCESS);
}

/* Regions that no CPU reads. */

/* Registers the first `bytes` of the region by `gdr`. STATUS_UNAVAILABLE: it does not work, for
 * `reason`; other errors are recorded. */
static enum status region_register(struct verbs_rail *rail, const struct region *region,
                                   size_t bytes, enum verbs_gdr gdr, struct ibv_mr **mr,
                                   char *reason)
{
    const struct memory_kind *kind = region->kind;
    struct registration wanted = {
        .address = region->base, .bytes = bytes, .access = REGION_ACCESS, .dmabuf = -1};
    struct shared shared;
    if (gdr == VERBS_GDR_DMABUF && !kind->share) {
        snprintf(reason, TRANSPORT_REASON_MOST, "%s memory has no dmabuf", kind->name);
        return STATUS_UNAVAILABLE;
    }
    if (gdr == VERBS_GDR_DMABUF) {
        TRY(kind->share(region, SHARE_DMABUF, &shared, reason));
        wanted.dmabuf = shared.fd;
        wanted.offset = shared.offset;
    }
    int error = rail_register(rail, &wanted);
    *mr = wanted.mr;
    if (error == 0)
        return STATUS_OK;
    if (timed_call_is_abandoned(error))
        return registration_failed(rail, bytes, error);
    snprintf(reason, TRANSPORT_REASON_MOST,
             "NIC %s cannot register %s memory by %s (%s): look at the messages of both drivers "
             "(dmesg)",
             rail->port.name, kind->name, gdr_names[gdr], strerror(error));
    return STATUS_UNAVAILABLE;
}

bool verbs_imports_dmabuf(struct ibv_pd *pd)
{
    struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, -1, 0);
    int error = mr ? 0 : errno;
    if (mr)
        ibv_dereg_mr(mr);
    return error == 0 || error == EBADF;
}

/* Is there on this node what the way needs? */
static bool way_is_there(struct verbs_rail *rail, enum verbs_gdr gdr, char *reason)
{
    if (gdr == VERBS_GDR_PEERMEM) {
        bool loaded = peermem_module(PORT_SYSFS) != NULL;
        if (!loaded)
            snprintf(reason, TRANSPORT_REASON_MOST,
                     "no peer memory module is loaded: load it (modprobe nvidia_peermem)");
        return loaded;
    }
    bool imports = verbs_imports_dmabuf(rail->pd);
    if (!imports)
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s cannot import GPU memory (dmabuf): that takes Linux 5.12 and rdma-core "
                 "34, or newer, and a driver such as mlx5_ib",
                 rail->port.name);
    return imports;
}

/* The regions that no CPU reads, one of each kind, behind `last` (NULL: the first). NULL: no
 * other. */
static const struct region *region_unread(const struct transport_config *config,
                                          const struct region *last)
{
    int i = last ? (int)(last - config->regions) + 1 : 0;
    for (; i < config->region_count; i++) {
        const struct region *region = &config->regions[i], *first = config->regions;
        while (first != region && (first->kind != region->kind || first->bytes == 0))
            first++;
        if (first == region && region->bytes > 0 && !region->kind->host_reads)
            return region;
    }
    return NULL;
}

/* Registers a piece of the region with all rails. */
static enum status region_try(struct verbs_endpoint *endpoint, enum verbs_gdr gdr,
                              const struct region *region, char *reason)
{
    size_t bytes = region->bytes < TRIAL_BYTES ? region->bytes : TRIAL_BYTES;
    enum status status = STATUS_OK;
    if (endpoint->base.config.copy == COPY_BCOPY) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "a CPU cannot copy %s memory to slots, which --copy bcopy asks for: use another "
                 "--copy",
                 region->kind->name);
        return STATUS_UNAVAILABLE;
    }
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++) {
        struct ibv_mr *mr = NULL;
        status = region_register(&endpoint->rails[i], region, bytes, gdr, &mr, reason);
        if (mr) {
            ibv_dereg_mr(mr);
            endpoint->pinned -= bytes;
        }
    }
    return status;
}

/* Does the way serve each kind of memory that needs one? */
static enum status way_try(struct verbs_endpoint *endpoint, enum verbs_gdr gdr, char *reason)
{
    const struct transport_config *config = &endpoint->base.config;
    enum status status = STATUS_OK;
    for (int i = 0; i < endpoint->rail_count; i++)
        if (!way_is_there(&endpoint->rails[i], gdr, reason))
            return STATUS_UNAVAILABLE;
    for (const struct region *region = NULL;
         status == STATUS_OK && (region = region_unread(config, region));)
        status = region_try(endpoint, gdr, region, reason);
    return status;
}

enum status verbs_gdr_choose(struct verbs_endpoint *endpoint, char *reason)
{
    const struct transport_config *config = &endpoint->base.config;
    const struct transport_setting *asked = &endpoint->settings[VERBS_GDR];
    enum verbs_gdr gdr = asked->given ? (enum verbs_gdr)(asked->number + 1) : VERBS_GDR_DMABUF;
    const struct region *region = region_unread(config, NULL);
    char why[TRANSPORT_REASON_MOST];
    if (!region && !asked->given)
        return STATUS_OK;
    for (; gdr < VERBS_GDR_STAGED; gdr++) {
        enum status status = way_try(endpoint, gdr, why);
        if (status == STATUS_OK)
            break;
        if (asked->given)
            snprintf(reason, TRANSPORT_REASON_MOST, "gdr=%s: %.480s", gdr_names[gdr], why);
        if (asked->given || status != STATUS_UNAVAILABLE)
            return status;
        say_verbose(config->rank == 0 ? 1 : 2, "verbs: not %s: %s", gdr_names[gdr], why);
    }
    if (!region)
        return STATUS_OK;
    endpoint->gdr = gdr;
    if (gdr == VERBS_GDR_STAGED) {
        snprintf(endpoint->reason, sizeof endpoint->reason, "%s",
                 asked->given ? "gdr=staged leaves it out" : why);
        return STATUS_OK;
    }
    for (; region; region = region_unread(config, region))
        say_verbose(config->rank == 0 ? 1 : 2, "verbs: NICs reach %s memory: %s",
                    region->kind->name, gdr_names[gdr]);
    return STATUS_OK;
}

bool verbs_reaches(const struct endpoint *base, const struct memory_kind *kind, char *reason)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    bool reaches = kind->host_reads || verbs_is_direct(endpoint);
    if (!reaches)
        snprintf(reason, TRANSPORT_REASON_MOST, "it does not reach %s memory: %.400s", kind->name,
                 endpoint->reason);
    return reaches;
}

/* All regions. */

static enum status rail_register_region(struct verbs_rail *rail, int i)
{
    const struct verbs_endpoint *endpoint = rail->endpoint;
    const struct region *region = &endpoint->base.config.regions[i];
    char reason[TRANSPORT_REASON_MOST];
    if (region->bytes == 0 || (!region->kind->host_reads && !verbs_is_direct(endpoint)))
        return STATUS_OK;
    if (region->kind->host_reads) {
        rail->region_mrs[i] = verbs_register(rail, region->base, region->bytes, REGION_ACCESS);
        return rail->region_mrs[i] ? STATUS_OK : log_current()->failure.status;
    }
    enum status status =
        region_register(rail, region, region->bytes, endpoint->gdr, &rail->region_mrs[i], reason);
    return status == STATUS_UNAVAILABLE ? fail(status, "%s", reason) : status;
}

static enum status rail_register_regions(struct verbs_rail *rail)
{
    const struct transport_config *config = &rail->endpoint->base.config;
    enum status status = STATUS_OK;
    rail->region_mrs = new_array((size_t)config->region_count + 1, sizeof *rail->region_mrs);
    for (int i = 0; status == STATUS_OK && i < config->region_count; i++)
        status = rail_register_region(rail, i);
    return status;
}

enum status verbs_regions_register(struct verbs_endpoint *endpoint)
{
    enum status status = STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < endpoint->rail_count; i++)
        if (!endpoint->rails[i].region_mrs && endpoint->base.config.copy != COPY_BCOPY)
            status = rail_register_regions(&endpoint->rails[i]);
    return status;
}

void verbs_regions_deregister(struct verbs_rail *rail)
{
    const struct transport_config *config = &rail->endpoint->base.config;
    for (int i = 0; rail->region_mrs && i < config->region_count; i++)
        if (rail->region_mrs[i]) {
            ibv_dereg_mr(rail->region_mrs[i]);
            tick_on(config->tick);
        }
    free(rail->region_mrs);
    rail->region_mrs = NULL;
}

/* Transfers. */

/* The index of the region that holds `address`; -1: none. */
static int region_index(const struct transport_config *config, const void *address)
{
    for (int i = 0; i < config->region_count; i++) {
        const struct region *region = &config->regions[i];
        if ((const char *)address >= region->base &&
            (const char *)address < region->base + region->bytes)
            return i;
    }
    return -1;
}

const struct ibv_mr *verbs_region_find(const struct verbs_rail *rail, const void *address)
{
    int i = region_index(&rail->endpoint->base.config, address);
    return i < 0 ? NULL : rail->region_mrs[i];
}

/* The kind of the first piece that no CPU reads; NULL: a CPU reads all. */
static const struct memory_kind *layout_find_unread(const struct transport_config *config,
                                                    const struct layout *layout)
{
    for (size_t p = 0; p < layout->count; p++) {
        int i = region_index(config, layout->pieces[p].base);
        if (i >= 0 && !config->regions[i].kind->host_reads)
            return config->regions[i].kind;
    }
    return NULL;
}

enum status verbs_unreached_fail(const struct channel *channel, const struct transfer *transfer)
{
    const struct transport_config *config = &channel->endpoint->config;
    const struct memory_kind *kind =
        layout_find_unread(config, channel->sends ? &transfer->from : &transfer->to);
    if (!kind && transfer->kind == TRANSFER_RECV_REDUCE)
        kind = layout_find_unread(config, &transfer->with);
    if (!kind)
        return STATUS_OK;
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)channel->endpoint;
    return fail(STATUS_ERROR,
                "a message %s rank %d lies in %s memory, which a CPU cannot %s: this is a fault of "
                "cctest, please report it (verbs, %s)",
                channel->sends ? "to" : "from", channel->peer, kind->name,
                transfer->kind == TRANSFER_RECV_REDUCE ? "combine" : "copy",
                gdr_names[endpoint->gdr]);
}

enum status verbs_flush(struct endpoint *base, const struct transfer *transfer)
{
    struct verbs_endpoint *endpoint = (struct verbs_endpoint *)base;
    enum status status = STATUS_OK;
    for (size_t p = 0; status == STATUS_OK && p < transfer->to.count; p++) {
        int i = region_index(&base->config, transfer->to.pieces[p].base);
        const struct region *region = i < 0 ? NULL : &base->config.regions[i];
        if (!region || !region->kind->flush || endpoint->flushed[i] == endpoint->segments_arrived)
            continue;
        endpoint->flushed[i] = endpoint->segments_arrived;
        status = region->kind->flush(region);
    }
    return status;
}

/*
 * refusal.c - why this rank cannot use verbs, and what to do.
 *
 * What the library says is an errno at most. Sysfs and the device files tell the cause, in the same
 * words as in `cctest info`.
 */
#include "transports/verbs/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/parse.h"
#include "base/text.h"
#include "host/host.h"

/* Bytes that the queues of a rail take at least. */
#define QUEUES_LEAST                                                                               \
    verbs_queue_bytes(VERBS_DEPTH, VERBS_RECEIVES_LEAST, VERBS_RECEIVES_LEAST + VERBS_SENDS_LEAST)

/* Hosts. */

void verbs_refuse_host(char *reason)
{
    const struct port_source source = {.sysfs = PORT_SYSFS, .dev = PORT_DEV};
    struct device_list list = {.count = 0};
    ports_add(&source, &list);
    const struct device *device = list.count > 0 ? &list.devices[0] : NULL;
    if (device && device->usable)
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "libibverbs has no provider for NIC %s: install it (Debian: "
                 "ibverbs-providers; RHEL: libibverbs; else from the NIC's vendor)",
                 device->name);
    else if (device)
        snprintf(reason, TRANSPORT_REASON_MOST, "NIC %s: %s", device->name, device->why_not);
    else
        snprintf(reason, TRANSPORT_REASON_MOST, VERBS_NO_DEVICE);
    device_list_free(&list);
}

/* Ports. */

/* Asks sysfs why the port cannot be used. False: it gives no reason. */
static bool port_look_into(const struct verbs_rail *rail, char *reason)
{
    const struct port_source source = {.sysfs = PORT_SYSFS, .dev = PORT_DEV};
    struct device_list list = {.count = 0};
    char nic[RDMA_NIC_MOST], **names;
    int port, count = 0;
    if (rdma_port_parse(rail->port.name, nic, &port))
        count = sysfs_names(&names, "%s/class/infiniband/%s/ports", PORT_SYSFS, nic);
    const struct device *device = count > 0 ? port_add(&source, nic, port, &list) : NULL;
    bool found = device && !device->usable;
    if (found)
        snprintf(reason, TRANSPORT_REASON_MOST, "NIC %s: %s", rail->port.name, device->why_not);
    if (count > 0)
        sysfs_names_free(names, count);
    device_list_free(&list);
    return found;
}

void verbs_refuse_device(const struct verbs_rail *rail, int error, char *reason)
{
    if (port_look_into(rail, reason))
        return;
    if (error == EACCES || error == EPERM || error == ENOENT)
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s cannot be opened (%s): let this user read and write %s/uverbs*, and "
                 "give a container these devices (--device=%s)",
                 rail->port.name, strerror(error), PORT_DEV, PORT_DEV);
    else
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s cannot be opened (%s): look at the driver's messages (dmesg)",
                 rail->port.name, strerror(error));
}

void verbs_refuse_port(const struct verbs_rail *rail, char *reason)
{
    static const char *const states[] = {"unknown", "DOWN", "INIT", "ARMED"};
    unsigned state = rail->attr.state;
    if (!port_look_into(rail, reason))
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s: state %s: look at its cable, the switch, and %s", rail->port.name,
                 states[state <= IBV_PORT_ARMED ? state : 0],
                 rail->attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "its network device (ip link)"
                                                                  : "the subnet manager (opensm)");
}

void verbs_refuse_queue(const struct verbs_rail *rail, const char *what, int error, char *reason)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (error == ENOMEM && limit.rlim_cur != RLIM_INFINITY) {
        char advice[VERBS_MEMORY_ADVICE_MOST];
        snprintf(reason, TRANSPORT_REASON_MOST, "NIC %s gives no %s (%s); %s", rail->port.name,
                 what, strerror(error), verbs_memory_advice(rail->endpoint, QUEUES_LEAST, advice));
    } else {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s gives no %s (%s), which verbs needs: choose another NIC with nic=, or "
                 "another transport",
                 rail->port.name, what, strerror(error));
    }
}

#define NAMES_MOST 64

void verbs_refuse_name(const struct verbs_nic *nics, int count, const struct verbs_nic_name *asked,
                       char *reason)
{
    char text_asked[RDMA_NIC_MOST + 4];
    int length = snprintf(text_asked, sizeof text_asked, "%s", asked->nic);
    if (asked->port)
        snprintf(text_asked + length, sizeof text_asked - (size_t)length, ":%d", asked->port);
    char names[NAMES_MOST][VERBS_NAME_MOST];
    const char *list[NAMES_MOST + 1] = {NULL};
    struct text text = text_in(reason, TRANSPORT_REASON_MOST);
    for (int i = 0; i < count && i < NAMES_MOST; i++) {
        snprintf(names[i], sizeof names[i], "%s:%d", nics[i].name, nics[i].port);
        list[i] = names[i];
    }
    const char *nearest = name_nearest(text_asked, list);
    text_add(&text, "this host has no NIC port '%.60s' (nic=): ", text_asked);
    if (nearest)
        text_add(&text, "did you mean %s? ", nearest);
    text_add(&text, "it has");
    for (int i = 0; list[i]; i++)
        text_add(&text, "%s %s", i ? "," : "", list[i]);
}

/* Memory. */

/* Ranks that are threads need about as much each. */
static int process_ranks(const struct verbs_endpoint *endpoint)
{
    int ranks = endpoint->base.config.process_ranks;
    return ranks > 1 ? ranks : 1;
}

const char *verbs_memory_advice(const struct verbs_endpoint *endpoint, size_t bytes,
                                char text[VERBS_MEMORY_ADVICE_MOST])
{
    struct rlimit limit = {0};
    int ranks = process_ranks(endpoint);
    char sharing[64] = "";
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur >= (size_t)ranks * bytes) {
        snprintf(text, VERBS_MEMORY_ADVICE_MOST,
                 "the limit of locked memory, %llu KiB, leaves room for that: what else this "
                 "process has locked counts, too, as do a limit of its control group and the NIC's "
                 "own tables",
                 (unsigned long long)limit.rlim_cur / 1024);
        return text;
    }
    if (ranks > 1)
        snprintf(sharing, sizeof sharing, " for the %d ranks of this process together", ranks);
    snprintf(text, VERBS_MEMORY_ADVICE_MOST,
             "the limit of locked memory is %llu KiB%s: raise it to %zu KiB or more (ulimit -l "
             "unlimited; '* - memlock unlimited' in /etc/security/limits.conf; LimitMEMLOCK= of a "
             "service; --ulimit memlock=-1 of a container)",
             (unsigned long long)limit.rlim_cur / 1024, sharing,
             ((size_t)ranks * bytes + 1023) / 1024);
    return text;
}

/* Asks the kernel, since privileged processes have no limit. Touches none of the memory. */
static bool may_lock(size_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= bytes)
        return true;
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return true; /* another limit, which is told where it is met */
    bool may = mlock2(memory, bytes, MLOCK_ONFAULT) == 0 || (errno != ENOMEM && errno != EPERM);
    munmap(memory, bytes);
    return may;
}

bool verbs_refuse_memory(const struct verbs_endpoint *endpoint, char *reason)
{
    const struct transport_config *config = &endpoint->base.config;
    const struct verbs_demand demands[VERBS_RAILS_MOST] = {{.pairs = 1, .firsts = 1}};
    struct verbs_grants grants =
        verbs_grants_choose(endpoint, 1, demands, verbs_memory_share(endpoint));
    size_t buffers = 0;
    for (int i = 0; i < config->region_count && config->copy != COPY_BCOPY; i++) {
        const struct region *region = &config->regions[i];
        buffers += region->bytes > 0 && region->kind->host_reads ? region->bytes : 0;
    }
    size_t rails = (size_t)endpoint->rail_count;
    size_t bytes = rails * (buffers + verbs_block_bytes(&grants) + QUEUES_LEAST);
    if (may_lock((size_t)process_ranks(endpoint) * bytes))
        return false;
    char advice[VERBS_MEMORY_ADVICE_MOST];
    snprintf(reason, TRANSPORT_REASON_MOST,
             "this rank's buffers, slots and queues of %zu KiB are to be registered with %d NIC "
             "port%s, but %s",
             (bytes + 1023) / 1024, endpoint->rail_count, plural(endpoint->rail_count),
             verbs_memory_advice(endpoint, bytes, advice));
    return true;
}

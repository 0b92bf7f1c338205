/*
 * devices.c - the hooks of the transport that tell of its NICs: their facts and their counters.
 *
 * Sysfs has all facts but the active MTU.
 */
#include "transports/verbs/internal.h"

#include <string.h>

#include "host/host.h"
#include "transports/verbs/library.h"

/* The device of this name; NULL: it is not there, or cannot be opened. */
static struct ibv_context *nic_open(const char *nic)
{
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *context = NULL;
    for (int i = 0; devices && devices[i] && !context; i++)
        if (strcmp(ibv_get_device_name(devices[i]), nic) == 0)
            context = ibv_open_device(devices[i]);
    if (devices)
        ibv_free_device_list(devices);
    return context;
}

static int active_mtu(const char *nic, int port)
{
    struct ibv_context *context = nic_open(nic);
    struct ibv_port_attr attr;
    int mtu = 0;
    if (context && ibv_query_port(context, (uint8_t)port, &attr) == 0)
        mtu = verbs_mtu_bytes(attr.active_mtu);
    if (context)
        ibv_close_device(context);
    return mtu;
}

static bool imports_dmabuf(const char *nic)
{
    struct ibv_context *context = nic_open(nic);
    struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
    bool imports = pd && verbs_imports_dmabuf(pd);
    if (pd)
        ibv_dealloc_pd(pd);
    if (context)
        ibv_close_device(context);
    return imports;
}

void verbs_devices(struct device_list *list)
{
    const struct port_source source = {.sysfs = PORT_SYSFS,
                                       .dev = PORT_DEV,
                                       .library = verbs_library_load(),
                                       .mtu = active_mtu,
                                       .proc = PORT_PROC,
                                       .imports_dmabuf = imports_dmabuf};
    ports_add(&source, list);
}

void verbs_endpoint_devices(const struct endpoint *base, struct device_list *list)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    const struct port_source source = {.sysfs = PORT_SYSFS, .dev = PORT_DEV};
    for (int i = 0; i < endpoint->rail_count; i++) {
        const struct verbs_rail *rail = &endpoint->rails[i];
        struct device *device =
            port_add(&source, ibv_get_device_name(rail->context->device), rail->port_number, list);
        int mtu = verbs_mtu_bytes(rail->attr.active_mtu);
        if (device && mtu > 0)
            device_fact(device, FACT_ALL, "MTU", "%d", mtu);
    }
}

static void counters_read(const char *device, struct counter_list *list)
{
    port_counters(PORT_SYSFS, device, list);
}

struct meter *verbs_device_meter(const char *device)
{
    return meter_open(device, counters_read);
}

uint64_t verbs_device_sent(const struct endpoint *base, const char *device)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)base;
    uint64_t bytes = 0;
    for (int i = 0; i < endpoint->rail_count; i++)
        if (strcmp(endpoint->rails[i].port.name, device) == 0)
            bytes += endpoint->rails[i].bytes;
    return bytes;
}

/*
 * device.c - hosts, devices and ports: lists, queries, opening and closing.
 */
#include "device.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "delivery.h"
#include "fabric.h"
#include "post.h"
#include "queue.h"

#undef ibv_query_port

static _Thread_local int thread_host = -1; /* -1: not dealt yet */

static void gid_add(struct provider_port *port, int type, uint64_t prefix, uint64_t interface)
{
    struct ibv_gid_entry *entry = &port->gids[port->attr.gid_tbl_len];
    entry->gid.global.subnet_prefix = htobe64(prefix);
    entry->gid.global.interface_id = htobe64(interface);
    entry->gid_index = (uint32_t)port->attr.gid_tbl_len++;
    entry->gid_type = (uint32_t)type;
}

static void port_make(struct strict_device *device, int number)
{
    struct provider_port *port = &device->ports[number];
    const struct provider_config *config = &fabric.config;
    enum ibv_mtu mtu = IBV_MTU_256;
    while (mtu < IBV_MTU_4096 && 256 << (mtu - 1) < config->mtu)
        mtu++;
    long place = (device->host * config->devices + device->number) * config->ports + number + 1;
    *port = (struct provider_port){.subnet = (int)(device->number % config->subnets)};
    port->attr = (struct ibv_port_attr){
        .state = device->number == config->down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
        .max_mtu = IBV_MTU_4096,
        .active_mtu = mtu,
        .max_msg_sz = 1u << 30,
        .pkey_tbl_len = 2,
        .active_width = 2, /* 4x */
        .active_speed = 32,
        .phys_state = device->number == config->down ? 3 : 5, /* disabled, link up */
        .link_layer = config->roce ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND,
        .lid = config->roce ? 0 : (uint16_t)place,
        .sm_lid = config->roce ? 0 : 1,
    };
    port->pkeys[0] = 0xffff;
    port->pkeys[1] = 0x8001;
    uint64_t local = 0xfe80000000000000u, guid = device->guid + (uint64_t)number;
    if (!config->roce) {
        gid_add(port, IBV_GID_TYPE_IB, local | (uint64_t)port->subnet, guid);
    } else {
        uint64_t mapped = 0xffff00000000u | 10u << 24 | (uint32_t)port->subnet << 16;
        gid_add(port, IBV_GID_TYPE_ROCE_V1, local, guid);
        gid_add(port, IBV_GID_TYPE_ROCE_V2, local, guid);
        gid_add(port, IBV_GID_TYPE_ROCE_V1, 0, mapped | (uint64_t)place);
        gid_add(port, IBV_GID_TYPE_ROCE_V2, 0, mapped | (uint64_t)place);
    }
    for (int i = 0; i < port->attr.gid_tbl_len; i++)
        port->gids[i].port_num = (uint32_t)number + 1;
}

void devices_make(void)
{
    const struct provider_config *config = &fabric.config;
    long count = config->hosts * config->devices;
    fabric.devices = fabric_allocate((size_t)(count + 1) * sizeof(*fabric.devices));
    for (long i = 0; i < count; i++) {
        struct strict_device *device = &fabric.devices[i];
        device->host = (int)(i / config->devices);
        device->number = (int)(i % config->devices);
        device->guid = 0x0200c9fffe000000u + (uint64_t)i * 16;
        device->base.node_type = config->iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
        device->base.transport_type = config->iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
        snprintf(device->base.name, sizeof(device->base.name), "strict%d", device->number);
        snprintf(device->base.dev_name, sizeof(device->base.dev_name), "uverbs%d", device->number);
        snprintf(device->base.dev_path, sizeof(device->base.dev_path),
                 "/sys/class/infiniband_verbs/uverbs%d", device->number);
        snprintf(device->base.ibdev_path, sizeof(device->base.ibdev_path),
                 "/sys/class/infiniband/strict%d", device->number);
        for (int port = 0; port < config->ports; port++)
            port_make(device, port);
    }
}

int device_host(void)
{
    if (thread_host < 0)
        thread_host = fabric.hosts_dealt++;
    return thread_host % (int)fabric.config.hosts;
}

void provider_host(int host)
{
    thread_host = host;
}

struct ibv_device **ibv_get_device_list(int *count)
{
    fabric_enter();
    long host = device_host(), devices = fabric.config.devices;
    struct ibv_device **list = fabric_allocate((size_t)(devices + 1) * sizeof(struct ibv_device *));
    for (long i = 0; i < devices; i++)
        list[i] = &fabric.devices[host * devices + i].base;
    if (count)
        *count = (int)devices;
    fabric_leave();
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    return htobe64(((struct strict_device *)device)->guid);
}

/* ibv_query_port() of verbs.h calls it, as the context has it. */
static int context_query_port(struct ibv_context *context, uint8_t number,
                              struct ibv_port_attr *attr, size_t size)
{
    fabric_enter();
    int error = fails_now(COUNT_QUERY_PORT);
    if (number < 1 || number > fabric.config.ports)
        error = EINVAL;
    memset(attr, 0, size);
    if (!error)
        memcpy(attr, &device_of(context)->ports[number - 1].attr,
               size < sizeof(*attr) ? size : sizeof(*attr));
    fabric_leave();
    return error;
}

int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *attr)
{
    return context_query_port(context, number, (struct ibv_port_attr *)attr,
                              offsetof(struct ibv_port_attr, port_cap_flags2));
}

static struct strict_context *context_make(struct strict_device *device)
{
    struct strict_context *context = fabric_allocate(sizeof(*context));
    context->device = device;
    context->verbs.sz = sizeof(context->verbs);
    context->verbs.query_port = context_query_port;
    context->verbs.context = (struct ibv_context){
        .device = &device->base,
        .ops = {.poll_cq = queue_poll,
                .req_notify_cq = queue_notify,
                .post_srq_recv = queue_post_srq,
                .post_recv = queue_post_recv,
                .post_send = queue_post_send},
        .cmd_fd = -1,
        .async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE),
        .num_comp_vectors = 1,
        .abi_compat = __VERBS_ABI_IS_EXTENDED,
    };
    pthread_mutex_init(&context->verbs.context.mutex, NULL);
    return context;
}

static void context_free(struct strict_context *context)
{
    while (context->events) {
        struct strict_event *event = context->events;
        context->events = event->next;
        free(event);
    }
    close(context->verbs.context.async_fd);
    pthread_mutex_destroy(&context->verbs.context.mutex);
    free(context);
}

void devices_free(void)
{
    for (long i = 0; fabric.devices && i < fabric.config.hosts * fabric.config.devices; i++)
        if (fabric.devices[i].cm)
            context_free(fabric.devices[i].cm);
    free(fabric.devices);
    fabric.devices = NULL;
}

struct ibv_context *device_context(struct strict_device *device)
{
    if (!device->cm)
        device->cm = context_make(device);
    return &device->cm->verbs.context;
}

struct ibv_context *ibv_open_device(struct ibv_device *base)
{
    fabric_enter();
    struct strict_device *device = (struct strict_device *)base;
    int error = device->fatal ? EIO : fails_now(COUNT_OPEN);
    struct strict_context *context = error ? NULL : context_make(device);
    if (context) {
        context->next = fabric.contexts;
        fabric.contexts = context;
        fabric.counts.contexts++;
    }
    fabric_leave();
    errno = error;
    return context ? &context->verbs.context : NULL;
}

void context_count(const struct strict_context *context, struct provider_counts *counts)
{
    if (context->pairs == 0) /* opened to ask what the device is, or has */
        return;
    counts->connected++;
    if (context->pairs < counts->pairs_least)
        counts->pairs_least = context->pairs;
    if (context->pairs > counts->pairs_most)
        counts->pairs_most = context->pairs;
}

int ibv_close_device(struct ibv_context *base)
{
    fabric_enter();
    struct strict_context *context = context_of(base), **link = &fabric.contexts;
    static const char *const names[] = {"protection domains", "completion queues",
                                        "shared receive queues", "queue pairs"};
    for (int i = 0; i < 4; i++)
        if (context->objects[i])
            violation("ibv_close_device(%s) while it has %d %s", base->device->name,
                      context->objects[i], names[i]);
    if (context->unacknowledged)
        violation("ibv_close_device(%s) with %d events that were not acknowledged",
                  base->device->name, context->unacknowledged);
    while (*link && *link != context)
        link = &(*link)->next;
    if (!*link) {
        violation("ibv_close_device() of a context that is not open");
        fabric_leave();
        return EINVAL;
    }
    *link = context->next;
    context_count(context, &fabric.counts);
    context_free(context);
    wire_await();
    fabric_leave();
    fabric_count_destroyed();
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    const struct provider_config *config = &fabric.config;
    struct strict_device *device = device_of(context);
    *attr = (struct ibv_device_attr){
        .fw_ver = "1.0.strict",
        .node_guid = htobe64(device->guid),
        .sys_image_guid = htobe64(device->guid),
        .max_mr_size = UINT64_MAX,
        .page_size_cap = 0xfffff000,
        .vendor_id = 0x5afe,
        .max_qp = 65536,
        .max_qp_wr = (int)config->sends,
        .device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN,
        .max_sge = (int)config->sges,
        .max_sge_rd = (int)config->sges,
        .max_cq = 65536,
        .max_cqe = (int)config->entries,
        .max_mr = 65536,
        .max_pd = 65536,
        .max_qp_rd_atom = 16,
        .max_res_rd_atom = 65536 * 16,
        .max_qp_init_rd_atom = 16,
        .max_srq = config->srqs ? 65536 : 0,
        .max_srq_wr = (int)config->receives,
        .max_srq_sge = (int)config->sges,
        .max_pkeys = 2,
        .local_ca_ack_delay = 15,
        .phys_port_cnt = (uint8_t)config->ports,
    };
    return 0;
}

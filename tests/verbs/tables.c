/*
 * tables.c - GID and P_Key tables of ports, and words for statuses and events.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "device.h"
#include "fabric.h"

struct provider_port *provider_port(int host, int device, int port)
{
    fabric_enter();
    struct strict_device *at = &fabric.devices[host * fabric.config.devices + device];
    fabric_leave();
    return &at->ports[port - 1];
}

static const struct provider_port *port_of(struct ibv_context *context, int number)
{
    return number >= 1 && number <= fabric.config.ports ? &device_of(context)->ports[number - 1]
                                                        : NULL;
}

int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
    fabric_enter();
    const struct provider_port *port = port_of(context, number);
    bool found = port && index >= 0 && index < port->attr.gid_tbl_len;
    if (found)
        *gid = port->gids[index].gid;
    fabric_leave();
    if (!found)
        errno = EINVAL;
    return found ? 0 : -1;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
    if (flags || size != sizeof(*entry))
        return EINVAL;
    fabric_enter();
    const struct provider_port *port = port_of(context, (int)number);
    int error = !port || (int)index >= port->attr.gid_tbl_len ? EINVAL : 0;
    if (!error)
        *entry = port->gids[index];
    fabric_leave();
    return error;
}

/* As the kernel does, leaves out entries that are zero. */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t most, uint32_t flags, size_t size)
{
    if (flags || size != sizeof(*entries))
        return -EINVAL;
    fabric_enter();
    ssize_t count = 0;
    struct strict_device *device = device_of(context);
    for (int i = 0; i < fabric.config.ports; i++) {
        for (int j = 0; j < device->ports[i].attr.gid_tbl_len; j++) {
            const struct ibv_gid_entry *entry = &device->ports[i].gids[j];
            if (!entry->gid.global.subnet_prefix && !entry->gid.global.interface_id)
                continue;
            if ((size_t)count == most) {
                fabric_leave();
                return -EINVAL;
            }
            entries[count++] = *entry;
        }
    }
    fabric_leave();
    return count;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t number, int index, __be16 *pkey)
{
    fabric_enter();
    const struct provider_port *port = port_of(context, number);
    bool found = port && index >= 0 && index < port->attr.pkey_tbl_len;
    if (found)
        *pkey = htobe16(port->pkeys[index]);
    fabric_leave();
    if (!found)
        errno = EINVAL;
    return found ? 0 : -1;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    static const char *const words[] = {"success",
                                        "local length error",
                                        "local QP operation error",
                                        "local EE context operation error",
                                        "local protection error",
                                        "Work Request Flushed Error",
                                        "memory management operation error",
                                        "bad response error",
                                        "local access error",
                                        "remote invalid request error",
                                        "remote access error",
                                        "remote operation error",
                                        "transport retry counter exceeded",
                                        "RNR retry counter exceeded",
                                        "local RDD violation error",
                                        "remote invalid RD request",
                                        "aborted error",
                                        "invalid EE context number",
                                        "invalid EE context state",
                                        "fatal error",
                                        "response timeout error",
                                        "general error",
                                        "TM error",
                                        "TM software rendezvous"};
    return (unsigned)status < sizeof(words) / sizeof(words[0]) ? words[status] : "unknown";
}

const char *ibv_event_type_str(enum ibv_event_type event)
{
    static const char *const words[] = {"CQ error",
                                        "local work queue catastrophic error",
                                        "invalid request local work queue error",
                                        "local access violation work queue error",
                                        "communication established",
                                        "send queue drained",
                                        "path migration",
                                        "path migration request error",
                                        "local catastrophic error",
                                        "port active",
                                        "port error",
                                        "LID change",
                                        "P_Key change",
                                        "SM change",
                                        "SRQ catastrophic error",
                                        "SRQ limit reached",
                                        "last WQE reached",
                                        "client reregistration",
                                        "GID table change",
                                        "WQ fatal"};
    return (unsigned)event < sizeof(words) / sizeof(words[0]) ? words[event] : "unknown";
}

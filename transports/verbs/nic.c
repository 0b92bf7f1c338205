/*
 * nic.c - which NIC ports a rank uses: the ones that the option nic names, or the nearest.
 */
#include "transports/verbs/nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/name_match.h"
#include "base/text.h"
#include "transports/verbs/rail.h"

#define NICS_MOST 64

/* All ports of all devices, by device. */
static int nics_list(struct ibv_device **devices, struct verbs_nic *nics)
{
    int count = 0;
    for (int i = 0; devices[i] && count < NICS_MOST; i++) {
        struct ibv_context *context = ibv_open_device(devices[i]);
        struct ibv_device_attr attr = {.phys_port_cnt = 1};
        if (context) {
            ibv_query_device(context, &attr);
            ibv_close_device(context);
        }
        for (int port = 1; port <= attr.phys_port_cnt && count < NICS_MOST; port++)
            nics[count++] = (struct verbs_nic){
                .device = devices[i], .name = ibv_get_device_name(devices[i]), .port = port};
    }
    return count;
}

static enum status nic_unknown(const struct verbs_nic *nics, int count, const char *asked,
                               char *reason)
{
    struct text list = text_in(reason, TRANSPORT_REASON_MOST);
    text_add(&list, "this host has no NIC port '%s' (nic=); it has", asked);
    for (int i = 0; i < count; i++)
        text_add(&list, "%s %s:%d", i ? "," : "", nics[i].name, nics[i].port);
    return STATUS_UNAVAILABLE;
}

/* Opens one rail more. */
static enum status nic_open(struct verbs_endpoint *endpoint, const struct verbs_nic *nic,
                            char *reason)
{
    struct verbs_rail *rail = &endpoint->rails[endpoint->rail_count];
    if (!verbs_rail_open(rail, endpoint, nic, reason)) {
        verbs_rail_close(rail);
        return STATUS_UNAVAILABLE;
    }
    rail->index = endpoint->rail_count++;
    return STATUS_OK;
}

/* "NAME[:PORT]": all ports of a device without a port. */
static enum status nic_open_named(struct verbs_endpoint *endpoint, const struct verbs_nic *nics,
                                  int count, const char *asked, char *reason)
{
    char name[64];
    enum status status = STATUS_OK;
    int found = 0;
    for (int i = 0; status == STATUS_OK && i < count; i++) {
        snprintf(name, sizeof name, "%s:%d", nics[i].name, nics[i].port);
        if (strcmp(asked, name) != 0 && strcmp(asked, nics[i].name) != 0)
            continue;
        if (endpoint->rail_count == VERBS_RAILS_MOST) {
            snprintf(reason, TRANSPORT_REASON_MOST, "nic= names more than %d NIC ports",
                     VERBS_RAILS_MOST);
            return STATUS_UNAVAILABLE;
        }
        found++;
        status = nic_open(endpoint, &nics[i], reason);
    }
    return found ? status : nic_unknown(nics, count, asked, reason);
}

static enum status nics_open_named(struct verbs_endpoint *endpoint, const struct verbs_nic *nics,
                                   int count, char *reason)
{
    const char *rest = endpoint->settings[VERBS_NIC].text;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && *rest) {
        char one[64];
        int length = (int)strcspn(rest, "+");
        snprintf(one, sizeof one, "%.*s", length, rest);
        rest += length + (rest[length] == '+');
        status = nic_open_named(endpoint, nics, count, one, reason);
    }
    return status;
}

/* Tries the ports in turn, from this rank's own on. */
static enum status nics_open_nearest(struct verbs_endpoint *endpoint, const struct verbs_nic *nics,
                                     int count, char *reason)
{
    enum status status = STATUS_UNAVAILABLE;
    for (int i = 0; status == STATUS_UNAVAILABLE && i < count; i++)
        status = nic_open(endpoint, &nics[(i + endpoint->base.config.local_rank) % count], reason);
    return status;
}

enum status verbs_nics_open(struct verbs_endpoint *endpoint, char *reason)
{
    int device_count = 0;
    struct ibv_device **devices = ibv_get_device_list(&device_count);
    struct verbs_nic nics[NICS_MOST];
    if (!devices || device_count == 0) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 access("/sys/class/infiniband", F_OK) == 0
                     ? "the RDMA devices of this host have no /dev/infiniband/uverbs* here: load "
                       "ib_uverbs, or give the container its devices"
                     : "this host has no RDMA device");
        if (devices)
            ibv_free_device_list(devices);
        return STATUS_UNAVAILABLE;
    }
    int count = nics_list(devices, nics);
    enum status status =
        (endpoint->settings[VERBS_NIC].given ? nics_open_named : nics_open_nearest)(endpoint, nics,
                                                                                    count, reason);
    ibv_free_device_list(devices);
    return status;
}

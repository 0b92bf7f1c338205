/*
 * nic.c - which NIC ports a rank uses: the ones that the option nic names, or the nearest.
 */
#include "transports/verbs/internal.h"

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Whether a NIC has what the transport needs.
 *
 * AWS EFA has datagrams and no RC, Intel's E810 and X722 have no shared receive queues, and
 * Omni-Path takes no bytes inline. Their attributes do not tell that reliably, so the probe creates
 * one of each queue. A NIC that fails here is passed over; in connect() it would end the job.
 */
#define ENTRIES 16
_Static_assert(VERBS_OFFER_BYTES == 80, "a reason says so");

static bool probe_pair(const struct verbs_rail *rail, struct ibv_cq *cq, struct ibv_srq *srq,
                       char *reason)
{
    struct verbs_rail trial = *rail;
    struct verbs_pair_limits limits = {.depth = ENTRIES};
    trial.cq = cq;
    trial.srq = srq;
    struct ibv_qp *pair = verbs_pair_try(&trial, &limits);
    if (pair)
        ibv_destroy_qp(pair);
    else
        verbs_refuse_queue(rail, "RC queue pair with a shared receive queue and 80 bytes inline",
                           errno, reason);
    return pair != NULL;
}

static bool probe_receives(const struct verbs_rail *rail, struct ibv_cq *cq, char *reason)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = ENTRIES, .max_sge = 1}};
    bool has_some = rail->device.max_srq > 0;
    struct ibv_srq *srq = has_some ? ibv_create_srq(rail->pd, &attr) : NULL;
    if (!srq) {
        verbs_refuse_queue(rail, "shared receive queue", has_some ? errno : EOPNOTSUPP, reason);
        return false;
    }
    bool good = probe_pair(rail, cq, srq, reason);
    ibv_destroy_srq(srq);
    return good;
}

bool verbs_rail_probe(const struct verbs_rail *rail, char *reason)
{
    struct ibv_cq *cq = ibv_create_cq(rail->context, ENTRIES, NULL, NULL, 0);
    if (!cq) {
        verbs_refuse_queue(rail, "completion queue", errno, reason);
        return false;
    }
    bool good = probe_receives(rail, cq, reason);
    ibv_destroy_cq(cq);
    return good;
}

/*
 * The NIC ports that a rank uses.
 */
#define NICS_MOST 64

static int nics_compare(const void *a, const void *b)
{
    const struct verbs_nic *x = a, *y = b;
    int order = strverscmp(x->name, y->name);
    return order ? order : x->port - y->port;
}

/* All ports of all devices, by name: the library's order is that in which drivers were loaded. */
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
    qsort(nics, (size_t)count, sizeof *nics, nics_compare);
    return count;
}

/* Opens one rail more. *down: the port is there, but not active. */
static enum status nic_open(struct verbs_endpoint *endpoint, const struct verbs_nic *nic,
                            char *reason, bool *down)
{
    struct verbs_rail *rail = &endpoint->rails[endpoint->rail_count];
    bool good = verbs_rail_open(rail, endpoint, nic, reason);
    *down = !good && rail->is_down;
    if (!good) {
        verbs_rail_close(rail);
        return STATUS_UNAVAILABLE;
    }
    rail->index = endpoint->rail_count++;
    return STATUS_OK;
}

/* Why ports are not used, while others are. */
struct left_out {
    char (*reasons)[TRANSPORT_REASON_MOST]; /* NICS_MOST */
    int count;
};

/* The caller frees left_out->reasons. */
static void left_out_open(struct left_out *left_out)
{
    *left_out = (struct left_out){.reasons = new_array(NICS_MOST, sizeof *left_out->reasons)};
}

static void left_out_add(struct left_out *left_out, const char *reason)
{
    if (left_out->count < NICS_MOST)
        snprintf(left_out->reasons[left_out->count++], TRANSPORT_REASON_MOST, "%s", reason);
}

static void left_out_say(const char *reason, int verbose)
{
    say_verbose(verbose, "%s; it is left out", reason);
}

/* One rank of the host says so. */
static void left_out_say_all(const struct verbs_endpoint *endpoint, const struct left_out *left_out)
{
    for (int i = 0; i < left_out->count; i++)
        left_out_say(left_out->reasons[i], endpoint->base.config.local_rank == 0 ? 0 : 1);
}

/* The ports that nic= names. Those that are down are left out while others work. */
struct nic_list {
    const struct verbs_nic *nics; /* of this host */
    int count;
    struct left_out *down;
};

static enum status nic_open_listed(struct verbs_endpoint *endpoint, struct nic_list *list,
                                   const struct verbs_nic *nic, char *reason)
{
    bool down;
    if (endpoint->rail_count + list->down->count == VERBS_RAILS_MOST) {
        snprintf(reason, TRANSPORT_REASON_MOST, VERBS_MANY_NICS, VERBS_RAILS_MOST);
        return STATUS_UNAVAILABLE;
    }
    enum status status = nic_open(endpoint, nic, reason, &down);
    if (!down)
        return status;
    left_out_add(list->down, reason);
    return STATUS_OK;
}

static enum status nic_open_named(struct verbs_endpoint *endpoint, struct nic_list *list,
                                  const struct verbs_nic_name *asked, char *reason)
{
    enum status status = STATUS_OK;
    bool found = false;
    for (int i = 0; status == STATUS_OK && i < list->count; i++) {
        const struct verbs_nic *nic = &list->nics[i];
        if (strcmp(asked->nic, nic->name) != 0 || (asked->port && asked->port != nic->port))
            continue;
        found = true;
        status = nic_open_listed(endpoint, list, nic, reason);
    }
    if (!found)
        verbs_refuse_name(list->nics, list->count, asked, reason);
    return found ? status : STATUS_UNAVAILABLE;
}

static enum status nics_open_named(struct verbs_endpoint *endpoint, const struct verbs_nic *nics,
                                   int count, struct left_out *left_out, char *reason)
{
    struct nic_list list = {.nics = nics, .count = count, .down = left_out};
    struct verbs_nic_name names[VERBS_RAILS_MOST];
    int named = verbs_nic_names(endpoint->settings[VERBS_NIC].text, names, reason);
    enum status status = named > 0 ? STATUS_OK : STATUS_UNAVAILABLE;
    for (int i = 0; status == STATUS_OK && i < named; i++)
        status = nic_open_named(endpoint, &list, &names[i], reason);
    if (status != STATUS_OK)
        return status;
    if (endpoint->rail_count == 0)
        return STATUS_UNAVAILABLE; /* all are down: `reason` is that of the last */
    left_out_say_all(endpoint, left_out);
    return STATUS_OK;
}

/* Fills `order` with the indices of the ports: nearest to the device that has the buffers' memory
 * first, else to this thread's cores. Among equally near ones, whose `distances` are equal, the
 * ranks of a host take turns. */
static void nics_order(const struct verbs_nic *nics, int count,
                       const struct transport_config *config, int *order,
                       uint64_t distances[NICS_MOST])
{
    const char *names[NICS_MOST] = {NULL};
    int near[NICS_MOST];
    for (int i = 0; i < count; i++)
        names[i] = nics[i].name;
    ports_by_nearness(PORT_SYSFS, names, count, config->memory_bus, near, distances);
    for (int begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && distances[near[end]] == distances[near[begin]])
            end++;
        for (int i = begin; i < end; i++)
            order[i] = near[begin + (i - begin + config->local_rank) % (end - begin)];
    }
}

/* Tries the ports in turn, the nearest first. Names those that are nearer than the one it takes;
 * with -v also those that are as near, such as the second port of a card, without a cable. If none
 * works, of several reasons that of the first port of the host is told, so that all its ranks say
 * the same, and rather another one than that a port is down. */
static enum status nics_open_nearest(struct verbs_endpoint *endpoint, const struct verbs_nic *nics,
                                     int count, struct left_out *left_out, char *reason)
{
    enum status status = STATUS_UNAVAILABLE;
    int told = 2 * count; /* the port that `reason` is of; plus `count` if it is down */
    uint64_t distances[NICS_MOST];
    int order[NICS_MOST], taken = 0;
    nics_order(nics, count, &endpoint->base.config, order, distances);
    for (int i = 0; status == STATUS_UNAVAILABLE && i < count; i++) {
        int index = order[i];
        char why[TRANSPORT_REASON_MOST];
        bool down;
        status = nic_open(endpoint, &nics[index], why, &down);
        index += down ? count : 0;
        taken = i;
        if (status == STATUS_UNAVAILABLE)
            left_out_add(left_out, why);
        if (status == STATUS_UNAVAILABLE && index < told) {
            snprintf(reason, TRANSPORT_REASON_MOST, "%s", why);
            told = index;
        }
    }
    for (int i = 0; status == STATUS_OK && i < taken; i++) {
        bool nearer = distances[order[i]] < distances[order[taken]];
        left_out_say(left_out->reasons[i], nearer ? 0 : 1);
    }
    if (status == STATUS_UNAVAILABLE && count > 1) {
        struct text text = text_after(reason, TRANSPORT_REASON_MOST);
        text_add(&text, "; nor can this host's other NIC ports (%d)", count - 1);
    }
    return status;
}

/* rails=match: all ports that can be used are rails, in the order of the host. If none can, the
 * reason is that of the first. */
static enum status nics_open_all(struct verbs_endpoint *endpoint, const struct verbs_nic *nics,
                                 int count, struct left_out *left_out, char *reason)
{
    for (int i = 0; i < count && endpoint->rail_count < VERBS_RAILS_MOST; i++) {
        char why[TRANSPORT_REASON_MOST];
        bool down;
        if (nic_open(endpoint, &nics[i], why, &down) != STATUS_OK)
            left_out_add(left_out, why);
    }
    if (endpoint->rail_count == 0)
        snprintf(reason, TRANSPORT_REASON_MOST, "%s", left_out->reasons[0]);
    else
        left_out_say_all(endpoint, left_out);
    return endpoint->rail_count > 0 ? STATUS_OK : STATUS_UNAVAILABLE;
}

/* The rail that is nearest to this rank. */
static int home_find(const struct verbs_endpoint *endpoint)
{
    struct verbs_nic nics[VERBS_RAILS_MOST] = {{0}};
    uint64_t distances[NICS_MOST];
    int order[NICS_MOST];
    for (int i = 0; i < endpoint->rail_count; i++)
        nics[i].name = ibv_get_device_name(endpoint->rails[i].context->device);
    nics_order(nics, endpoint->rail_count, &endpoint->base.config, order, distances);
    return order[0];
}

enum status verbs_nics_open(struct verbs_endpoint *endpoint, char *reason)
{
    int device_count = 0;
    struct ibv_device **devices = ibv_get_device_list(&device_count);
    struct verbs_nic nics[NICS_MOST];
    if (!devices || device_count == 0) {
        verbs_refuse_host(reason);
        if (devices)
            ibv_free_device_list(devices);
        return STATUS_UNAVAILABLE;
    }
    int count = nics_list(devices, nics);
    struct left_out left_out;
    left_out_open(&left_out);
    enum status status =
        (endpoint->settings[VERBS_NIC].given ? nics_open_named
         : endpoint->matches                 ? nics_open_all
                             : nics_open_nearest)(endpoint, nics, count, &left_out, reason);
    free(left_out.reasons);
    ibv_free_device_list(devices);
    if (status == STATUS_OK && endpoint->rail_count > 1)
        endpoint->address.home = home_find(endpoint);
    return status;
}

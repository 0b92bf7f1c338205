/*
 * rail.c - the NIC ports that a rank uses, and the queues that it creates on each.
 */
#include "transports/verbs/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"

static uint32_t within(uint32_t wanted, int most)
{
    return wanted < (uint32_t)most ? wanted : (uint32_t)most;
}

/* Opening. */

static bool rail_usable(struct verbs_rail *rail, char *reason)
{
    int error = ibv_query_port(rail->context, rail->port_number, &rail->attr);
    if (error) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s does not say its state (%s): look at the driver's messages (dmesg)",
                 rail->port.name, strerror(error));
        return false;
    }
    rail->is_down = rail->attr.state != IBV_PORT_ACTIVE;
    if (rail->is_down)
        verbs_refuse_port(rail, reason);
    return !rail->is_down;
}

static bool rail_open_device(struct verbs_rail *rail, struct ibv_device *device, char *reason)
{
    rail->context = ibv_open_device(device);
    int error = rail->context ? ibv_query_device(rail->context, &rail->device) : errno;
    if (error) {
        verbs_refuse_device(rail, error, reason);
        return false;
    }
    rail->port.iwarp = device->transport_type == IBV_TRANSPORT_IWARP;
    int flags = fcntl(rail->context->async_fd, F_GETFL);
    fcntl(rail->context->async_fd, F_SETFL, flags | O_NONBLOCK);
    return true;
}

bool verbs_rail_open(struct verbs_rail *rail, struct verbs_endpoint *endpoint,
                     const struct verbs_nic *nic, char *reason)
{
    *rail = (struct verbs_rail){.endpoint = endpoint, .port_number = (uint8_t)nic->port};
    snprintf(rail->port.name, sizeof rail->port.name, "%s:%d", nic->name, nic->port);
    if (!rail_open_device(rail, nic->device, reason) || !rail_usable(rail, reason) ||
        !verbs_rail_address(rail, endpoint->settings, reason))
        return false;
    rail->pd = ibv_alloc_pd(rail->context);
    rail->receives_most = within((uint32_t)rail->device.max_srq_wr, rail->device.max_cqe / 2);
    rail->due_most = rail->receives_most < 16 * VERBS_RECEIVE_BATCH ? 1 : VERBS_RECEIVE_BATCH;
    rail->receives_most -= rail->due_most - 1;
    if (rail->pd)
        return verbs_rail_probe(rail, reason);
    snprintf(reason, TRANSPORT_REASON_MOST,
             "NIC %s gives no protection domain (%s): look at the driver's messages (dmesg)",
             rail->port.name, strerror(errno));
    return false;
}

/* Queues. */

/* With room for later calls of connect(). */
static enum status rail_create_queues(struct verbs_rail *rail, uint32_t receives, uint32_t sends)
{
    uint32_t most = 4 * receives > VERBS_RECEIVES_LEAST ? 4 * receives : VERBS_RECEIVES_LEAST;
    most = most < rail->receives_most ? most : rail->receives_most;
    sends = 2 * sends > VERBS_SENDS_LEAST ? 2 * sends : VERBS_SENDS_LEAST;
    uint32_t spare = rail->due_most - 1, entries = most + spare;
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = entries, .max_sge = 1}};
    rail->srq = ibv_create_srq(rail->pd, &attr);
    if (!rail->srq)
        return verbs_rail_failed(rail, "gives no shared receive queue", errno);
    rail->receives_most = most;
    rail->completions_most = within(entries + sends, rail->device.max_cqe);
    rail->completions = entries;
    rail->cq = ibv_create_cq(rail->context, (int)rail->completions_most, NULL, NULL, 0);
    if (!rail->cq)
        return verbs_rail_failed(rail, "gives no completion queue", errno);
    rail->receive_room = new_array(entries, sizeof *rail->receive_room);
    if (rail->port.iwarp) { /* immediate data needs no room */
        rail->receive_mr = verbs_register(
            rail, rail->receive_room, entries * sizeof *rail->receive_room, IBV_ACCESS_LOCAL_WRITE);
        if (!rail->receive_mr)
            return log_current()->failure.status;
    }
    return verbs_rail_post_receives(rail, most, spare);
}

size_t verbs_rail_queue_bytes(const struct verbs_rail *rail)
{
    if (!rail->cq)
        return 0;
    uint32_t entries = rail->receives_most + rail->due_most - 1;
    return verbs_queue_bytes(rail->completions - entries, entries, rail->completions_most);
}

enum status verbs_rail_prepare(struct verbs_rail *rail, uint32_t receives, uint32_t sends)
{
    TRY(rail->cq ? STATUS_OK : rail_create_queues(rail, receives, sends));
    if (rail->receives + receives > rail->receives_most)
        return fail_option(
            STATUS_UNAVAILABLE, "channels slots",
            "NIC %s has room for %u receives of all peers, and %u more are needed: use an "
            "algorithm with fewer peers, fewer --channels, or fewer --slots",
            rail->port.name, rail->receives_most - rail->receives, receives);
    rail->receives += receives;
    return verbs_rail_post_receives(rail, rail->receives - receives, receives);
}

void verbs_rail_close(struct verbs_rail *rail)
{
    const struct tick *tick = rail->endpoint->base.config.tick;
    verbs_regions_deregister(rail);
    if (rail->srq)
        ibv_destroy_srq(rail->srq);
    tick_on(tick);
    if (rail->cq)
        ibv_destroy_cq(rail->cq);
    tick_on(tick);
    if (rail->receive_mr)
        ibv_dereg_mr(rail->receive_mr);
    tick_on(tick);
    if (rail->pd && !rail->is_abandoned)
        ibv_dealloc_pd(rail->pd);
    tick_on(tick);
    if (rail->context && !rail->is_abandoned)
        ibv_close_device(rail->context);
    if (!rail->is_abandoned) /* the thread may register it */
        free(rail->receive_room);
    free(rail->pairs);
    *rail = (struct verbs_rail){0};
    tick_on(tick);
}

/*
 * peer.c - another rank of this host: whether its memory can be mapped, and the mappings.
 */
#include "transports/cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/list.h"
#include "base/log.h"

_Static_assert(sizeof(struct pull_address) <= TRANSPORT_ADDRESS_MOST, "the address is too long");

enum status pull_address_fill(struct pull_endpoint *endpoint)
{
    const struct transport_config *config = &endpoint->base.config;
    struct pull_address *address = &endpoint->address;
    struct stat namespace;
    memset(address, 0, sizeof(*address)); /* with its padding, which is sent, too */
    host_identify(&address->host);
    address->namespace = stat("/proc/self/ns/pid", &namespace) ? 0 : namespace.st_ino;
    address->pid = getpid();
    snprintf(address->kind, sizeof(address->kind), "%s", endpoint->kind->name);
    for (int i = 0; i < config->region_count; i++) {
        const struct region *region = &config->regions[i];
        if (region->kind != endpoint->kind || region->bytes == 0)
            continue;
        if (address->lent == PULL_REGIONS_MOST)
            return fail(STATUS_ERROR, "the cuda transport lends at most %d regions",
                        PULL_REGIONS_MOST);
        TRY(endpoint->kind->lend(region, &endpoint->handles[address->lent]));
        endpoint->lent[address->lent++] = *region;
    }
    address->first = endpoint->handles[0];
    return STATUS_OK;
}

static const char *pull_peer_compare(struct pull_endpoint *endpoint,
                                     const struct pull_address *address)
{
    const struct pull_address *own = &endpoint->address;
    if (!host_id_is_valid(&address->host) || address->lent > PULL_REGIONS_MOST ||
        !memchr(address->kind, '\0', sizeof(address->kind)))
        return "its address is invalid";
    const struct transport_config *config = &endpoint->base.config;
    if (!config->maps_only && (config->copy == COPY_BCOPY || config->copy == COPY_LL)) {
        snprintf(endpoint->reason, sizeof(endpoint->reason),
                 "it reads messages where they lie, which --copy %s excludes",
                 copy_names[config->copy]);
        return endpoint->reason;
    }
    const char *difference =
        host_difference(&own->host, &address->host, endpoint->reason, sizeof(endpoint->reason));
    if (difference)
        return difference;
    if (own->namespace != address->namespace)
        return "it is in another PID namespace, so its memory cannot be found";
    if (strcmp(own->kind, address->kind))
        return "its memory is of another kind";
    return NULL;
}

/* Maps the next region. */
static enum status pull_peer_map_next(struct pull_endpoint *endpoint, struct pull_peer *peer,
                                      const struct memory_handle *handle, char *reason)
{
    enum status status = endpoint->kind->map(handle, &peer->regions[peer->mapped], reason);
    peer->mapped += status == STATUS_OK;
    return status;
}

const char *pull_peer_attach(struct pull_endpoint *endpoint, int rank,
                             const struct pull_address *address, struct pull_peer **attached)
{
    const char *reason = pull_peer_compare(endpoint, address);
    if (reason)
        return reason;
    struct pull_peer *peer = new_array(1, sizeof(*peer));
    peer->rank = rank;
    peer->pid = address->pid;
    peer->same_process = address->pid == getpid();
    peer->region_count = address->lent;
    enum status status =
        address->lent == 0 ? STATUS_OK
                           : pull_peer_map_next(endpoint, peer, &address->first, endpoint->reason);
    if (status == STATUS_OK) {
        *attached = peer;
        return NULL;
    }
    free(peer);
    return status == STATUS_UNAVAILABLE && endpoint->reason[0] ? endpoint->reason
                                                               : "its memory cannot be mapped";
}

enum status pull_peer_map(struct pull_endpoint *endpoint, struct pull_peer *peer,
                          const struct memory_handle *regions)
{
    char reason[MEMORY_REASON_MOST] = "";
    enum status status = STATUS_OK;
    while (status == STATUS_OK && peer->mapped < peer->region_count)
        status = pull_peer_map_next(endpoint, peer, &regions[peer->mapped], reason);
    if (status == STATUS_UNAVAILABLE)
        return fail(STATUS_ERROR, "cannot map memory of rank %d: %s; use another transport (-x)",
                    peer->rank, reason);
    return status;
}

bool pull_peer_find(const struct pull_peer *peer, const struct pull_cell *cell, struct piece *piece)
{
    if (cell->region >= peer->mapped)
        return false;
    const struct memory_mapping *region = &peer->regions[cell->region];
    *piece = (struct piece){.run = cell->run, .stride = cell->stride, .times = cell->times};
    return piece_place(piece, region->base, region->bytes, cell->offset);
}

static void pull_mapping_drop(struct pull_mapping *mapping)
{
    if (mapping->is_shared || atomic_fetch_sub(&mapping->block->users, 1) == 1)
        munmap(mapping->block, mapping->bytes);
    free(mapping);
}

void pull_peer_drop(struct pull_endpoint *endpoint, struct pull_peer *peer, bool unmaps)
{
    if (!peer)
        return;
    for (int sends = 0; sends < 2; sends++) {
        for (int lane = 0; lane < peer->lanes; lane++) {
            free(peer->channels[sends][lane]->steps);
            free(peer->channels[sends][lane]);
        }
        free(peer->channels[sends]);
    }
    for (struct pull_mapping *mapping; (mapping = peer->blocks);) {
        peer->blocks = mapping->next;
        pull_mapping_drop(mapping);
    }
    for (uint32_t i = 0; unmaps && i < peer->mapped; i++)
        endpoint->kind->unmap(&peer->regions[i]);
    free(peer);
}

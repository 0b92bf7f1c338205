/*
 * rank_place.c - where ranks are, and how far a ring goes from one to the next.
 *
 * A part of a host is left as seldom as possible, whatever that costs on the smaller parts: so each
 * level costs ten times the one below it, and another host a hundred times the largest. On the way
 * to another host each end has the way to its NIC, at half the price: the NIC moves data beside the
 * processors. So a ring enters and leaves a host by the ranks that are nearest to NICs, unless it
 * would then have to leave a larger part, such as a NUMA node, once more.
 */
#include "run/session/internal.h"

#include <stdlib.h>

#include "host/host.h"
#include "run/run.h"

static const uint32_t level_costs[PLACE_LEVELS + 1] = {2, 20, 200, 2000, 20000, 200000, 2000000};
#define OTHER_HOST_COST 200000000

/* ---- the NICs of a host ---- */

static struct host_place gpu_place(const char *sysfs, const char *bus, uint32_t nvlinked)
{
    struct host_place pci = pci_place(sysfs, bus), place = {{pci.at[PCI_SAME], nvlinked}};
    for (int l = PCI_PIX; l < PCI_SYS; l++)
        place.at[l + 1] = pci.at[l];
    return place;
}

/* Of a NIC in the same terms as that of a rank: among the CPUs of a machine, or as a GPU's (NULL). */
static struct host_place nic_place(const char *sysfs, const char *bus, hwloc_topology_t machine)
{
    cpu_set_t cpus;
    if (!machine)
        return gpu_place(sysfs, bus, PLACE_UNKNOWN);
    return pci_cpus(sysfs, bus, &cpus) ? cpu_place_find(machine, &cpus, 1, 0, false)
                                       : host_place_unknown();
}

/* The level that a rank shares with the nearest NIC that is up, of RDMA if there is such. */
static uint32_t nic_level(const char *sysfs, const struct host_place *place,
                          hwloc_topology_t machine)
{
    struct nic *nics;
    int count = nics_find(sysfs, &nics), least = PLACE_LEVELS;
    bool any = false, rdma = false;
    for (int i = 0; i < count; i++)
        rdma |= nics[i].is_rdma && nics[i].is_up && nics[i].bus[0];
    for (int i = 0; i < count; i++) {
        if (!nics[i].is_up || !nics[i].bus[0] || nics[i].is_rdma != rdma)
            continue;
        struct host_place beside = nic_place(sysfs, nics[i].bus, machine);
        int shared = host_place_shared(place, &beside);
        least = shared < least ? shared : least;
        any = true;
    }
    free(nics);
    return any ? (uint32_t)least : 0;
}

/* ---- ranks ---- */

struct rank_place rank_place_of_cpus(const char *sysfs, const cpu_set_t *masks, int count, int me,
                                     bool binds)
{
    struct rank_place rank = {.place = host_place_unknown()};
    hwloc_topology_t machine;
    if (!machine_load(&machine))
        return rank;
    rank.place = cpu_place_find(machine, masks, count, me, binds);
    rank.nic = nic_level(sysfs, &rank.place, machine);
    hwloc_topology_destroy(machine);
    return rank;
}

struct rank_place rank_place_of_gpu(const char *sysfs, const char *bus, uint32_t nvlinked)
{
    struct rank_place rank = {.place = gpu_place(sysfs, bus, nvlinked)};
    rank.nic = nic_level(sysfs, &rank.place, NULL);
    return rank;
}

void rank_place_encode(const struct rank_place *place, struct bytes *share)
{
    host_place_encode(&place->place, share);
    bytes_put_u32(share, place->nic);
}

bool rank_place_decode(struct rank_place *place, struct reader *reader)
{
    host_place_decode(&place->place, reader);
    place->nic = read_u32(reader);
    return place->nic <= PLACE_LEVELS;
}

uint32_t rank_places_distance(const struct rank_place *a, const struct rank_place *b,
                              bool of_one_host)
{
    if (of_one_host)
        return level_costs[host_place_shared(&a->place, &b->place)];
    return OTHER_HOST_COST + level_costs[a->nic] / 2 + level_costs[b->nic] / 2;
}

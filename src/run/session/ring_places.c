/*
 * ring_places.c - the order of the ranks on a ring, from where they run.
 *
 * Two ranks are the nearer, the smaller the part of the machines is that they share: for buffers
 * that a CPU reads a core, a third-level cache, a NUMA node, a package, a host; for buffers of a
 * GPU its NVLinks, its PCIe switch, and so on up. A ring enters and leaves each such part once.
 * Every rank knows all places, and finds the same ring.
 */
#include "run/session/internal.h"

#include "base/list.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/timed_call.h"
#include "collective/collective.h"
#include "host/nvml/gpus.h"

#include <stdlib.h>
#include <string.h>

#define SYSFS        "/sys"
#define LINK_SECONDS 1 /* a driver takes less to tell a GPU's NVLinks */

struct rank_places {
    struct session *session;
    cpu_set_t *cpus; /* of this host's ranks, in their order */
    int count;
    struct rank_place *places; /* of all ranks */
};

/* ---- the place of this rank ---- */

static bool cpus_decode(void *argument, int rank, struct reader *reader)
{
    struct rank_places *all = argument;
    const struct node_ranks *node = &all->session->runner.node;
    cpu_set_t cpus;
    cpu_set_code(codec_from(reader), &cpus);
    if (all->count < node->count && node->ranks[all->count] == rank)
        all->cpus[all->count++] = cpus;
    return true;
}

static enum status place_among_cpus(struct rank_places *all, struct rank_place *mine)
{
    struct session *session = all->session;
    const struct node_ranks *node = &session->runner.node;
    struct bytes share = {0};
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        CPU_ZERO(&cpus);
    cpu_set_code(codec_to(&share), &cpus);
    TRY(exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "CPU", cpus_decode, all));
    *mine = rank_place_of_cpus(SYSFS, all->cpus, node->count, node->place,
                               session->job.bind == BIND_CORE);
    return STATUS_OK;
}

struct link_question {
    struct inquiry inquiry;
    char bus[16];
    uint32_t nvlinked;
};

static void link_ask(void *argument)
{
    struct link_question *question = argument;
    inquiry_asks(&question->inquiry, "GPU", question->bus, question->bus);
    question->nvlinked = gpu_nvlinked(question->bus);
}

/* `end`: of a question that has no answer. */
static enum status link_fail(struct session *session, struct link_question *question, int end)
{
    char text[INQUIRY_TEXT_MOST];
    const struct member *me = &control_members(session->control)[session->runner.rank];
    if (end == ETIMEDOUT)
        return fail(STATUS_TIMEOUT, "%s: " INQUIRY_ADVICE,
                    inquiry_text(&question->inquiry, me->host, text));
    return fail(STATUS_ERROR, "cannot find the NVLinks of GPU %s: %s", question->bus,
                timed_call_text(end, text, sizeof text));
}

/* A driver that hangs keeps the question. */
static enum status place_of_gpu(struct session *session, struct rank_place *mine)
{
    struct link_question *question = new_array(1, sizeof *question);
    inquiry_init(&question->inquiry, "the GPUs");
    memcpy(question->bus, session->device.bus, sizeof question->bus);
    int end = timed_call_ticking(link_ask, question, &session->runner.tick, LINK_SECONDS);
    enum status status = end ? link_fail(session, question, end) : STATUS_OK;
    if (end == 0)
        *mine = rank_place_of_gpu(SYSFS, question->bus, question->nvlinked);
    if (!timed_call_is_abandoned(end))
        free(question);
    return status;
}

/* ---- the places of all ---- */

static bool answer_decode(void *argument, int rank, struct reader *reader)
{
    rank_place_code(codec_from(reader), &((struct rank_places *)argument)->places[rank]);
    return true;
}

static enum status places_exchange(struct rank_places *all)
{
    struct session *session = all->session;
    struct bytes share = {0};
    struct rank_place mine;
    TRY(session->job.memory->settle ? place_of_gpu(session, &mine) : place_among_cpus(all, &mine));
    rank_place_code(codec_to(&share), &mine);
    return exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "place on the ring",
                           answer_decode, all);
}

static uint32_t ranks_distance(const void *argument, int a, int b)
{
    const struct rank_places *all = argument;
    const struct member *members = control_members(all->session->control);
    return rank_places_distance(&all->places[a], &all->places[b],
                                members[a].node == members[b].node);
}

/* The order in which a ring passes the parts of the machines: by host, then from the largest part
 * on. */
static int places_compare(const void *a, const void *b, void *argument)
{
    const struct rank_places *all = argument;
    const struct member *members = control_members(all->session->control);
    int x = *(const int *)a, y = *(const int *)b;
    if (members[x].node != members[y].node)
        return members[x].node < members[y].node ? -1 : 1;
    return host_place_compare(&all->places[x].place, &all->places[y].place) ?: COMPARE(x, y);
}

enum status session_find_ring(struct session *session)
{
    struct runner *runner = &session->runner;
    struct rank_places all = {.session = session};
    const struct rank_distances distances = {ranks_distance, &all};
    if (!job_orders_rings(&session->job))
        return STATUS_OK;
    all.cpus = new_array((size_t)runner->node.count, sizeof *all.cpus);
    all.places = new_array((size_t)runner->ranks, sizeof *all.places);
    enum status status = places_exchange(&all);
    if (status == STATUS_OK)
        runner->split.ring_place =
            ring_places_find(&distances, runner->ranks, places_compare, &all);
    if (status == STATUS_OK && !runner->split.ring_place)
        status = STATUS_ERROR;
    if (status == STATUS_OK)
        runner->group = split_group(&runner->split, runner->group.number);
    free(all.cpus);
    free(all.places);
    return status;
}

/*
 * Where ranks are, and how far a ring goes from one to the next.
 *
 * A part of a host is left as seldom as possible, whatever that costs on the smaller parts: so each
 * level costs ten times the one below it, and another host a hundred times the largest. On the way
 * to another host each end has the way to its NIC, at half the price: the NIC moves data beside the
 * processors. So a ring enters and leaves a host by the ranks that are nearest to NICs, unless it
 * would then have to leave a larger part, such as a NUMA node, once more.
 */
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

/* The place of a NIC, in the same terms as that of a rank: among the CPUs of a machine, or as a
 * GPU's (NULL). */
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

void rank_place_code(struct codec codec, struct rank_place *place)
{
    host_place_code(codec, &place->place);
    code_u32(codec, &place->nic, 0, PLACE_LEVELS);
}

uint32_t rank_places_distance(const struct rank_place *a, const struct rank_place *b,
                              bool of_one_host)
{
    if (of_one_host)
        return level_costs[host_place_shared(&a->place, &b->place)];
    return OTHER_HOST_COST + level_costs[a->nic] / 2 + level_costs[b->nic] / 2;
}

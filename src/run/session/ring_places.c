/*
 * ring_places.c - the order of the ranks on a ring, from where they run.
 *
 * Two ranks are the nearer, the smaller the part of the machines is that they share: for buffers
 * that a CPU reads a core, a third-level cache, a NUMA node, a package, a host; for buffers of a
 * GPU its NVLinks, its PCIe switch, and so on up. A ring enters and leaves each such part once.
 * Every rank knows all places, and finds the same ring.
 */
#include "run/session/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timed_call.h"
#include "controlplane/control/control.h"
#include "host/host.h"
#include "host/nvml/gpus.h"
#include "run/run.h"
#include "collective/collective.h"

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
    bool good = cpu_set_decode(&cpus, reader);
    if (good && all->count < node->count && node->ranks[all->count] == rank)
        all->cpus[all->count++] = cpus;
    return good;
}

static enum status place_among_cpus(struct rank_places *all, struct rank_place *mine)
{
    struct session *session = all->session;
    const struct node_ranks *node = &session->runner.node;
    struct bytes share = {0};
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        CPU_ZERO(&cpus);
    cpu_set_encode(&cpus, &share);
    enum status status =
        exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "CPU", cpus_decode, all);
    if (status == STATUS_OK)
        *mine = rank_place_of_cpus(SYSFS, all->cpus, node->count, node->place,
                                   session->job.bind == BIND_CORE);
    return status;
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
    struct link_question *question = calloc(1, sizeof *question);
    if (!question)
        return fail(STATUS_ERROR, "out of memory for the place of a GPU");
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
    return rank_place_decode(&((struct rank_places *)argument)->places[rank], reader);
}

static enum status places_exchange(struct rank_places *all)
{
    struct session *session = all->session;
    struct bytes share = {0};
    struct rank_place mine;
    enum status status =
        session->job.memory->settle ? place_of_gpu(session, &mine) : place_among_cpus(all, &mine);
    if (status != STATUS_OK)
        return status;
    rank_place_encode(&mine, &share);
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
    int order = host_place_compare(&all->places[x].place, &all->places[y].place);
    return order ? order : (x > y) - (x < y);
}

enum status session_find_ring(struct session *session)
{
    struct runner *runner = &session->runner;
    struct rank_places all = {.session = session};
    const struct rank_distances distances = {ranks_distance, &all};
    if (!job_orders_rings(&session->job))
        return STATUS_OK;
    all.cpus = calloc((size_t)runner->node.count, sizeof *all.cpus);
    all.places = calloc((size_t)runner->ranks, sizeof *all.places);
    enum status status = all.cpus && all.places
                             ? places_exchange(&all)
                             : fail(STATUS_ERROR, "out of memory for %d ranks", runner->ranks);
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

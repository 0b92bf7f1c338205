/*
 * session_end.c - the end of a session, over every transport: after a good one no rank closes its
 * links while another moves data, and none frees its memory while another has its links; after a
 * bad one none frees its memory at all. Until then each endpoint has its regions.
 *
 * The ranks are threads. Transports and memory are the real ones, with hooks of this file in front
 * of connect, close and release, which note when they are called.
 * tier: check; load: cpu1
 */
#include <dirent.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/run.h"
#include "chosen.h"
#include "session_of.h"

#include "../unit/child.h"

#define RANKS    3
#define LATE_US  "60000" /* rank 2 begins each iteration so late */
#define CLOSE_US 60000   /* rank 1 takes so long to close */

enum { HELD_MOST = 16 }; /* regions of all ranks together */

/* A record of what the ranks of a job have done; times are in ns. */
static struct {
    const struct transport *inner;
    struct transport outer;
    const struct memory_kind *memory; /* of the buffers: a kind that the transport is made for */
    struct memory_kind kind;
    bool breaks;                    /* progress() of rank 2 fails */
    _Atomic uint64_t moved;         /* a rank has last moved something */
    _Atomic uint64_t first_closing; /* a rank has begun to close its links; 0: none has */
    _Atomic uint64_t last_closed;
    _Atomic uint64_t first_released; /* a region; 0: none */
    _Atomic int closed, released, allocated;
    _Atomic bool lost_regions; /* an endpoint's regions were not what they had been in open() */
    struct region held[HELD_MOST];
    struct region seen[RANKS][BUFFER_SETS_MOST + 2]; /* by open() */
} noted;

static void note_last(_Atomic uint64_t *at)
{
    uint64_t now = clock_ns(), before = atomic_load(at);
    while (before < now && !atomic_compare_exchange_weak(at, &before, now))
        continue;
}

static void note_first(_Atomic uint64_t *at)
{
    uint64_t none = 0;
    atomic_compare_exchange_strong(at, &none, clock_ns());
}

static enum status outer_open(const struct transport_config *config, struct endpoint **endpoint,
                              char *reason)
{
    for (int i = 0; i < config->region_count; i++)
        noted.seen[config->rank][i] = config->regions[i];
    return noted.inner->open(config, endpoint, reason);
}

/* One that had no address in open() has its memory, or is empty, by now. */
static void regions_fill(const struct transport_config *config)
{
    for (int i = 0; i < config->region_count; i++) {
        const struct region *region = &config->regions[i];
        struct region *seen = &noted.seen[config->rank][i];
        if (seen->base || seen->bytes == 0)
            continue;
        if (region->kind != seen->kind || region->bytes > seen->bytes ||
            !region->base != (region->bytes == 0))
            noted.lost_regions = true;
        *seen = *region;
    }
}

static enum status outer_connect(struct endpoint *endpoint, const int *peers, int count, int lanes)
{
    regions_fill(&endpoint->config);
    return noted.inner->connect(endpoint, peers, count, lanes);
}

/* From open() to close() an endpoint's regions are there, and their memory can be used. */
static void regions_look(const struct endpoint *endpoint)
{
    const struct transport_config *config = &endpoint->config;
    for (int i = 0; i < config->region_count; i++) {
        const struct region *region = &config->regions[i];
        if (memcmp(region, &noted.seen[config->rank][i], sizeof *region))
            noted.lost_regions = true;
        else if (region->bytes > 0 && region->kind->host_reads)
            (void)*(volatile char *)(region->base + region->bytes - 1);
    }
}

static uint64_t bytes_of(const struct endpoint *endpoint)
{
    uint64_t bytes = 0;
    for (int path = 0; path < PATHS; path++)
        bytes += endpoint->traffic.received[path] + endpoint->traffic.sent[path];
    return bytes;
}

static enum status outer_progress(struct endpoint *endpoint)
{
    uint64_t before = bytes_of(endpoint);
    regions_look(endpoint);
    if (noted.breaks && endpoint->config.rank == 2)
        return (fail)(STATUS_ERROR, "this link is broken by the test");
    enum status status = noted.inner->progress(endpoint);
    if (bytes_of(endpoint) != before)
        note_last(&noted.moved);
    return status;
}

static void outer_close(struct endpoint *endpoint)
{
    if (!endpoint)
        return;
    note_first(&noted.first_closing);
    regions_fill(&endpoint->config); /* it may have connected nobody */
    regions_look(endpoint);
    if (endpoint->config.rank == 1)
        usleep(CLOSE_US);
    noted.inner->close(endpoint);
    note_last(&noted.last_closed);
    noted.closed++;
}

static enum status kind_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    enum status status = noted.memory->allocate(bytes, tick, region);
    region->kind = &noted.kind;
    noted.held[noted.allocated++ % HELD_MOST] = *region;
    return status;
}

/* The memory goes at the end of the test: what a session frees too early shall be seen, not
 * felt. */
static void kind_release(struct region *region)
{
    note_first(&noted.first_released);
    noted.released++;
    *region = (struct region){.fd = -1};
}

/* A broadcast along a chain of three ranks: 0 has sent all when 2 has not begun. */
static void broadcast_read(struct job *job, const char *transport, bool delays)
{
    char text[300];
    snprintf(text, sizeof text,
             "broadcast -a chain -b 64K -e 64K -n 2 -w 1 -c 2 --timeout 10 --np 3 --bind none "
             "--start back-to-back -m %s -x %s%s",
             noted.memory->name, transport, delays ? " --inject delay:rank=2:us=" LATE_US : "");
    job_read(job, text);
}

static const struct memory_kind *memory_for(const struct transport *transport)
{
    int i = 0;
    while (transport->carries && !transport->carries(memory_kinds[i]))
        i++;
    return memory_kinds[i];
}

/* Runs a job whose ranks are threads, since hooks of one process see all of them. */
static enum status session_live(const struct transport *transport, bool breaks)
{
    static struct job job;
    memset(&noted, 0, sizeof noted);
    noted.breaks = breaks;
    noted.inner = transport;
    noted.memory = memory_for(transport);
    noted.outer = *noted.inner;
    noted.outer.open = outer_open;
    noted.outer.connect = outer_connect;
    noted.outer.progress = outer_progress;
    noted.outer.close = outer_close;
    noted.kind = *noted.memory;
    noted.kind.allocate = kind_allocate;
    noted.kind.release = kind_release;
    broadcast_read(&job, transport->name, !breaks);
    if (transport_chosen())
        job.transports[0] = *transport_chosen();
    job.transports[0].transport = &noted.outer;
    job.memory = &noted.kind;
    struct listener listener;
    enum status status = job_run(&job, &listener);
    assert_int_equal(noted.closed, RANKS);
    assert_false(noted.lost_regions);
    assert_true(noted.allocated >= RANKS && noted.allocated <= HELD_MOST);
    return status;
}

/* A thread has a device before it touches memory of a kind with devices. */
static void held_release(void)
{
    struct memory_device device;
    if (noted.memory->settle)
        assert_int_equal(noted.memory->settle(NULL, 0, NULL, &device), STATUS_OK);
    for (int i = 0; i < noted.allocated; i++)
        noted.memory->release(&noted.held[i]);
}

static void test_good_end(void **state)
{
    assert_int_equal(session_live(*state, false), STATUS_OK);
    assert_true(noted.moved > 0 && noted.moved < noted.first_closing);
    assert_int_equal(noted.released, noted.allocated);
    assert_true(noted.last_closed - noted.first_closing > CLOSE_US * (uint64_t)500);
    assert_true(noted.last_closed < noted.first_released);
    held_release();
}

static int descriptors_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* The session before this one has opened what libraries keep for ever. */
static void test_leaves_no_descriptor(void **state)
{
    int before = descriptors_open();
    assert_int_equal(session_live(*state, false), STATUS_OK);
    held_release();
    assert_int_equal(descriptors_open(), before);
}

static int bad_end(void *transport)
{
    assert_int_equal(session_live(transport, true), STATUS_ERROR);
    assert_int_equal(noted.released, 0);
    return 0;
}

/* In a child, since what a bad end keeps goes with the process. */
static void test_bad_end(void **state)
{
    const struct child *child = child_run(bad_end, *state);
    if (child->status != 0)
        fail_msg("status %d: %s%s", child->status, child->out, child->err);
}

static void test_skipped(void **state)
{
    (void)state;
    skip();
}

/* The bad end is first, before a library is used that forbids forks. */
static const struct CMUnitTest ends[] = {
    {.name = "a bad end", .test_func = test_bad_end},
    {.name = "a good end", .test_func = test_good_end},
    {.name = "a good end leaves no descriptor", .test_func = test_leaves_no_descriptor},
};

#define ENDS (sizeof ends / sizeof *ends)

int main(void)
{
    struct CMUnitTest list[ENDS * TRANSPORTS_MOST + 1] = {{0}}; /* the end has no name */
    const struct transport_choice *chosen = transport_chosen();
    size_t count = 0;
    for (const struct transport *const *transport = transports; *transport; transport++) {
        if (chosen && chosen->transport != *transport)
            continue;
        for (size_t i = 0; i < ENDS; i++) {
            const void *state = *transport;
            list[count] = ends[i];
            if ((*transport)->unavailable())
                list[count].test_func = test_skipped;
            memcpy(&list[count++].initial_state, &state, sizeof state);
        }
    }
    return cmocka_run_group_tests_name("session end", list, NULL, NULL);
}

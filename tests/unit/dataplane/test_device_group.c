/*
 * test_device_group.c - when the devices of all ranks may run schedules together, and why not.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/execute/execute.h"

#define RANKS 4

/* Memory whose handles hold the region's size, and are mapped once each; not those of 13 bytes. */

static enum status lend(const struct region *region, struct memory_handle *handle)
{
    memcpy(handle, &region->bytes, sizeof region->bytes);
    return STATUS_OK;
}

static int mapped;

static enum status map(const struct memory_handle *handle, struct memory_mapping *mapping,
                       char *reason)
{
    memcpy(&mapping->bytes, handle, sizeof mapping->bytes);
    strcpy(reason, mapping->bytes == 13 ? "its GPU is shy" : "");
    mapped += mapping->bytes != 13;
    return mapping->bytes == 13 ? STATUS_UNAVAILABLE : STATUS_OK;
}

static void unmap(struct memory_mapping *mapping)
{
    (void)mapping;
    mapped--;
}

static const struct memory_kind handles = {
    .name = "test", .lend = lend, .map = map, .unmap = unmap};

/* Two hosts with two ranks each, every rank a process with a GPU of its own. Devices of different
 * hosts may have the same identity. */
struct hosts {
    struct member members[RANKS];
    struct memory_device devices[RANKS];
    struct device_peer peers[RANKS];
    struct device_offer offers[RANKS];
    struct device_group group;
};

static void hosts_make(struct hosts *hosts, int channels)
{
    memset(hosts, 0, sizeof *hosts);
    for (int r = 0; r < RANKS; r++) {
        hosts->members[r].node = r / 2;
        hosts->offers[r] =
            (struct device_offer){.process = 100 + (uint64_t)r, .blocks_most = 16, .lanes = 3};
        hosts->devices[r] = (struct memory_device){.number = r % 2};
    }
    hosts->group = (struct device_group){.config = {.ranks = RANKS,
                                                    .memory = &handles,
                                                    .members = hosts->members,
                                                    .device = &hosts->devices[0],
                                                    .devices = hosts->devices,
                                                    .lanes = 3,
                                                    .channels = channels},
                                         .offers = hosts->offers,
                                         .peers = hosts->peers};
}

static void settles(struct hosts *hosts, const char *refusal)
{
    hosts->group.refusal[0] = '\0';
    hosts->group.refused_by_use = false;
    device_group_settle(&hosts->group);
    assert_string_equal(hosts->group.refusal, refusal);
}

static void ranks_with_gpus_of_their_own(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 16);
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 16);
    hosts_make(&hosts, 17);
    settles(&hosts,
            "the GPU of rank 0 holds 16 blocks at once, fewer than 1 rank x 17 channels: give "
            "--channels 16 or fewer");
    assert_true(hosts.group.refused_by_use);
}

static void threads_that_share_a_gpu(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 8);
    hosts.devices[3] = hosts.devices[2];
    hosts.offers[3].process = hosts.offers[2].process;
    settles(&hosts, "");
    hosts.group.config.channels = 9;
    settles(&hosts,
            "the GPU of rank 2 holds 16 blocks at once, fewer than 2 ranks x 9 channels: give "
            "--channels 8 or fewer");
    assert_true(hosts.group.refused_by_use);
    hosts.offers[2].blocks_most = hosts.offers[3].blocks_most = 1;
    settles(&hosts,
            "the GPU of rank 2 holds 1 blocks at once, fewer than the 2 ranks that share it: "
            "run fewer ranks");
    assert_false(hosts.group.refused_by_use);
}

/* Eight ranks take the hardware queues of a GPU. */
static void ranks_beyond_the_queues(void **state)
{
    enum { QUEUES = 8, MOST = QUEUES + 1 };
    struct member members[MOST] = {{.node = 0}};
    struct memory_device devices[MOST] = {{.number = 0}};
    struct device_offer offers[MOST];
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 1);
    for (int r = 0; r < MOST; r++)
        offers[r] = hosts.offers[0];
    hosts.group.config.members = members;
    hosts.group.config.devices = devices;
    hosts.group.offers = offers;
    hosts.group.config.ranks = QUEUES;
    settles(&hosts, "");
    hosts.group.config.ranks = MOST;
    settles(&hosts, "9 ranks share the GPU of rank 0: from 9 on, kernels may block each other in "
                    "a hardware queue; run fewer ranks on it");
}

/* Without a number of --channels, each device lowers it to what all of them hold. */
static void channels_that_fit(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 64);
    hosts.group.config.fits_channels = true;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 16);
    hosts.devices[3] = hosts.devices[2];
    hosts.offers[3].process = hosts.offers[2].process;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 8);
    hosts.offers[1].blocks_most = 7;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 4);
    hosts.group.config.channels = 2; /* no line asks for more */
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 2);
    hosts.offers[2].blocks_most = hosts.offers[3].blocks_most = 2;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 1);
    hosts.offers[2].blocks_most = hosts.offers[3].blocks_most = 1;
    settles(&hosts,
            "the GPU of rank 2 holds 1 blocks at once, fewer than the 2 ranks that share it: "
            "run fewer ranks");
    assert_false(hosts.group.refused_by_use);
}

/* Nor does it grow until the wires of all ranks take more than 256 MiB, or their slots shrink. */
static void channels_with_wires(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 64);
    struct device_group_config *config = &hosts.group.config;
    for (int r = 0; r < RANKS; r++)
        hosts.offers[r].blocks_most = 64;
    strcpy(hosts.devices[0].domain, "blue.1");
    config->fits_channels = true;
    config->lanes = 8;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 64);
    config->lanes = 9;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 32);
    size_t bytes = device_group_wire_bytes(config);
    assert_in_range(bytes, 4 * 9 * 32 * 4 * (16 << 10), 4 * 9 * 32 * 4 * (28 << 10));
    config->slot_bytes = 1 << 20;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 1);
    config->fits_channels = false;
    settles(&hosts, "");
    assert_int_equal(hosts.group.channels, 64);
    assert_int_equal(device_group_wire_bytes(config), 0);
}

/* Slots are as small as their number asks: 2,048 lanes of 64 slots have 128 MiB of data, and lines
 * with flags beside them. */
static void many_slots_are_small(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 64);
    struct device_group_config *config = &hosts.group.config;
    strcpy(hosts.devices[0].domain, "blue.1");
    config->lanes = 8;
    config->slots = 64;
    size_t bytes = device_group_wire_bytes(config), payload = (size_t)128 << 20;
    assert_in_range(bytes, payload, 4 * payload);
}

static void processes_that_share_a_gpu(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 8);
    hosts.devices[1] = hosts.devices[0];
    settles(&hosts,
            "ranks 0 and 1 are processes that share a GPU, which runs the kernels of one at "
            "a time: run them as threads (--ranks-as threads), or start MPS "
            "(nvidia-cuda-mps-control -d)");
    assert_false(hosts.group.refused_by_use);
    hosts.offers[0].shares = hosts.offers[1].shares = true;
    settles(&hosts, "");
}

static void a_rank_that_cannot(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 1);
    strcpy(hosts.offers[2].reason, "its GPU sleeps");
    settles(&hosts, "rank 2: its GPU sleeps");
    hosts_make(&hosts, 1);
    hosts.offers[1].lanes = 4;
    settles(&hosts, "rank 1 uses 4 lanes, and rank 0 3");
    hosts.offers[1].lanes = 2;
    settles(&hosts, "rank 1 uses 2 lanes, and rank 0 3");
}

/* The bytes that travel: what is too much is refused, and no offer is read past its end. */
static void offers_travel(void **state)
{
    struct hosts hosts;
    char memory[1000];
    struct region region = {.base = memory, .bytes = sizeof memory};
    struct device_set sets[2] = {{&region, {memory + 1, memory + 22, memory + 333}},
                                 {&region, {memory + 4, memory + 5, memory + 600}}};
    struct bytes share = {0};
    size_t bytes;
    (void)state;
    hosts_make(&hosts, 1);
    hosts.group.wires.bytes = 77;
    hosts.group.config.rank = 1;
    hosts.group.config.lanes = 7;
    assert_int_equal(device_group_encode(&hosts.group, sets, 2, &share), STATUS_OK);
    struct reader reader = {.at = share.data, .left = share.size};
    assert_true(device_group_decode(&hosts.group, 3, &reader));
    assert_int_equal(reader.left, 0);
    const struct device_offer *offer = &hosts.offers[3];
    assert_string_equal(offer->reason, "");
    assert_int_equal(offer->lanes, 7);
    assert_int_equal(offer->sets, 2);
    assert_int_equal(offer->offset[1][BUFFER_SCRATCH], 600);
    memcpy(&bytes, &hosts.peers[3].handles[0], sizeof bytes);
    assert_int_equal(bytes, 77);
    memcpy(&bytes, &hosts.peers[3].handles[2], sizeof bytes);
    assert_int_equal(bytes, sizeof memory);
    for (size_t left = 0; left < share.size; left++) {
        reader = (struct reader){.at = share.data, .left = left};
        assert_false(device_group_decode(&hosts.group, 3, &reader));
    }
    bytes_free(&share);
    strcpy(hosts.offers[1].reason, "no");
    assert_int_equal(device_group_encode(&hosts.group, sets, 2, &share), STATUS_OK);
    reader = (struct reader){.at = share.data, .left = share.size};
    assert_true(device_group_decode(&hosts.group, 3, &reader));
    assert_int_equal(reader.left, 0);
    assert_string_equal(offer->reason, "no");
    bytes_free(&share);
}

/* An offer of one set more than there is room for is refused, and not read. */
static void sets_of_an_offer(void **state)
{
    struct hosts hosts;
    char memory[8];
    struct region region = {.base = memory, .bytes = sizeof memory};
    struct device_set sets[DEVICE_SETS_MOST + 1];
    (void)state;
    for (int i = 0; i <= DEVICE_SETS_MOST; i++)
        sets[i] = (struct device_set){&region, {memory, memory + 1, memory + i}};
    for (int count = 0; count <= DEVICE_SETS_MOST + 1; count++) {
        struct bytes share = {0};
        hosts_make(&hosts, 1);
        assert_int_equal(device_group_encode(&hosts.group, sets, count, &share), STATUS_OK);
        struct reader reader = {.at = share.data, .left = share.size};
        bool fits = count <= DEVICE_SETS_MOST;
        assert_int_equal(device_group_decode(&hosts.group, 1, &reader), fits);
        assert_int_equal(reader.left == 0, fits);
        if (fits && count > 0)
            assert_int_equal(hosts.offers[1].offset[count - 1][BUFFER_SCRATCH], count - 1);
        bytes_free(&share);
    }
}

static void reaches(struct hosts *hosts, int peer, const char *refusal)
{
    char reason[GROUP_REASON_MOST] = "";
    assert_int_equal(device_group_reach(&hosts->group, peer, reason),
                     refusal[0] ? STATUS_UNAVAILABLE : STATUS_OK);
    assert_string_equal(reason, refusal);
}

static void reach_of_ranks(void **state)
{
    struct hosts hosts;
    size_t bytes = 13;
    (void)state;
    hosts_make(&hosts, 1);
    for (int r = 0; r < RANKS; r++)
        hosts.offers[r].sets = 2;
    reaches(&hosts, 1, "");
    assert_int_equal(mapped, 3); /* wires and two sets */
    reaches(&hosts, 1, "");
    assert_int_equal(mapped, 3);
    memcpy(&hosts.peers[3].handles[1], &bytes, sizeof bytes);
    reaches(&hosts, 3, "ranks 0 and 3 do not map each other's memory: its GPU is shy");
    bytes = 5;
    memcpy(&hosts.peers[3].handles[1], &bytes, sizeof bytes);
    reaches(&hosts, 3, "");
    assert_int_equal(mapped, 6);
    device_group_unmap(&hosts.group);
    assert_int_equal(mapped, 0);
}

static void apart(const struct hosts *hosts, const char *refusal)
{
    struct device_group group;
    assert_int_equal(device_group_open(&hosts->group.config, &group), STATUS_OK);
    assert_string_equal(group.refusal, refusal);
    assert_null(group.wires.kind);
    device_group_close(&group, true);
}

/* On several hosts all GPUs must be in one NVLink domain and clique. */
static void ranks_of_several_hosts(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 1);
    apart(&hosts, "the ranks are on several hosts, and GPU 0 (PCI address unknown) of rank 0 is in "
                  "no NVLink domain that its driver and NVML tell of");
    assert_int_equal(device_group_wire_bytes(&hosts.group.config), 0);
    for (int r = 0; r < 3; r++)
        strcpy(hosts.devices[r].domain, "blue.1");
    apart(&hosts, "the ranks are on several hosts, and GPU 1 (PCI address unknown) of rank 3 is in "
                  "no NVLink domain that its driver and NVML tell of");
    assert_int_not_equal(device_group_wire_bytes(&hosts.group.config), 0);
    strcpy(hosts.devices[3].domain, "blue.2");
    apart(&hosts, "the ranks are on several hosts, and the GPUs of ranks 0 and 3 are in different "
                  "NVLink domains or cliques (blue.1 and blue.2)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_with_gpus_of_their_own),
        cmocka_unit_test(threads_that_share_a_gpu),
        cmocka_unit_test(ranks_beyond_the_queues),
        cmocka_unit_test(channels_that_fit),
        cmocka_unit_test(channels_with_wires),
        cmocka_unit_test(many_slots_are_small),
        cmocka_unit_test(processes_that_share_a_gpu),
        cmocka_unit_test(a_rank_that_cannot),
        cmocka_unit_test(offers_travel),
        cmocka_unit_test(sets_of_an_offer),
        cmocka_unit_test(reach_of_ranks),
        cmocka_unit_test(ranks_of_several_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

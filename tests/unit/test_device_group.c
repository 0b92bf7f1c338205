/*
 * test_device_group.c - when the devices of all ranks may run schedules together, and why not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "execute/device_group.h"

#define RANKS 4

/* Two hosts with two ranks each, every rank a process with a GPU of its own. Devices of different
 * hosts may have the same identity. */
struct hosts {
    struct member members[RANKS];
    struct device_offer offers[RANKS];
    struct device_group group;
};

static void hosts_make(struct hosts *hosts, int channels)
{
    memset(hosts, 0, sizeof *hosts);
    for (int r = 0; r < RANKS; r++) {
        hosts->members[r].node = r / 2;
        hosts->offers[r] = (struct device_offer){
            .device = 1 + (uint64_t)(r % 2), .process = 100 + r, .blocks_most = 16, .lanes = 3};
    }
    hosts->group = (struct device_group){
        .config = {.ranks = RANKS, .members = hosts->members, .channels = channels},
        .offers = hosts->offers};
}

static void settles(struct hosts *hosts, const char *refusal)
{
    hosts->group.refusal[0] = '\0';
    hosts->group.refused_by_use = false;
    device_group_settle(&hosts->group, NULL);
    assert_string_equal(hosts->group.refusal, refusal);
}

static void ranks_with_gpus_of_their_own(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 16);
    settles(&hosts, "");
    hosts_make(&hosts, 17);
    settles(&hosts,
            "the GPU of rank 0 holds 16 blocks at once, fewer than 1 ranks x 17 channels: give "
            "--channels 16 or fewer");
    assert_true(hosts.group.refused_by_use);
}

static void threads_that_share_a_gpu(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 8);
    hosts.offers[3].device = hosts.offers[2].device;
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

static void processes_that_share_a_gpu(void **state)
{
    struct hosts hosts;
    (void)state;
    hosts_make(&hosts, 8);
    hosts.offers[1].device = hosts.offers[0].device;
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
}

/* The bytes that travel: what is too much is refused, and no offer is read past its end. */
static void offers_travel(void **state)
{
    struct hosts hosts;
    struct memory_device device = {.bus = "0000:3b:00.0"};
    char region[1000];
    struct region whole = {.base = region, .bytes = sizeof region};
    struct device_set sets[2] = {{&whole, {region + 1, region + 22, region + 333}},
                                 {&whole, {region + 4, region + 5, region + 600}}};
    struct bytes share = {0};
    (void)state;
    hosts_make(&hosts, 1);
    hosts.group.config.device = &device;
    hosts.group.config.rank = 1;
    hosts.group.config.lanes = 7;
    strcpy(hosts.offers[1].reason, "no");
    device_group_encode(&hosts.group, sets, 2, &share);
    struct reader reader = {.at = share.data, .left = share.size};
    assert_true(device_group_decode(&hosts.group, 3, &reader));
    assert_int_equal(reader.left, 0);
    const struct device_offer *offer = &hosts.offers[3];
    assert_string_equal(offer->reason, "no");
    assert_int_equal(offer->lanes, 7);
    assert_int_equal(offer->sets, 2);
    assert_int_equal(offer->offset[1][BUFFER_SCRATCH], 600);
    assert_true(offer->device == memory_device_identity(&device));
    for (size_t left = 0; left < share.size; left++) {
        reader = (struct reader){.at = share.data, .left = left};
        assert_false(device_group_decode(&hosts.group, 3, &reader));
    }
    bytes_free(&share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_with_gpus_of_their_own),
        cmocka_unit_test(threads_that_share_a_gpu),
        cmocka_unit_test(processes_that_share_a_gpu),
        cmocka_unit_test(a_rank_that_cannot),
        cmocka_unit_test(offers_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

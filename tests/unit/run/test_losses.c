/*
 * test_losses.c - which connections lose packets beyond the others, and which hosts they share.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/results/internal.h"

#define RANKS_MOST 8

/* Ranks that send 2000 packets to each other. */
struct scene {
    struct member members[RANKS_MOST];
    struct rank_sample samples[RANKS_MOST];
    struct peer_stats peers[RANKS_MOST][RANKS_MOST];
    struct result result;
};

static void scene_open(struct scene *scene, int hosts, int per_host)
{
    memset(scene, 0, sizeof *scene);
    int ranks = hosts * per_host;
    scene->result.ranks = ranks;
    scene->result.samples = scene->samples;
    for (int r = 0; r < ranks; r++) {
        scene->members[r].node = r / per_host;
        snprintf(scene->members[r].host, sizeof scene->members[r].host, "h%d", r / per_host);
        scene->samples[r].peer = scene->peers[r];
        for (int p = 0; p < ranks; p++)
            if (p != r)
                scene->peers[r][scene->samples[r].peers++] =
                    (struct peer_stats){.peer = p, .packets = 2000, .sent = 1};
    }
}

static struct peer_stats *peer_of(struct scene *scene, int from, int to)
{
    return &scene->peers[from][to < from ? to : to - 1];
}

/* Adds `resent` to all connections from a host, to one, or both; -1: any. */
static void lose(struct scene *scene, int from_node, int to_node, uint64_t resent)
{
    for (int r = 0; r < scene->result.ranks; r++)
        for (int p = 0; p < scene->result.ranks; p++)
            if (p != r && (from_node < 0 || scene->members[r].node == from_node) &&
                (to_node < 0 || scene->members[p].node == to_node))
                peer_of(scene, r, p)->resent += resent;
}

static const struct result *found(struct scene *scene)
{
    scene->result.loss_count = 0;
    result_find_losses(scene->members, &scene->result);
    return &scene->result;
}

static void assert_said(struct scene *scene, enum loss_kind kind, const char *words)
{
    const struct result *result = found(scene);
    assert_int_equal(result->loss_count, 1);
    assert_int_equal(result->losses[0].kind, kind);
    assert_string_equal(result->losses[0].text, words);
}

static void a_lossy_connection_is_named_in_its_direction(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 1);
    lose(&scene, -1, -1, 1);
    assert_int_equal(found(&scene)->loss_count, 0);
    peer_of(&scene, 2, 0)->resent = 12; /* 5 and 3 of 1 expected, and 3: 11; but 10 are 0.5 % */
    assert_said(&scene, LOSS_LINK,
                "0.6 % of the packets from rank 2 (h2) to rank 0 (h0) are sent again, the others' "
                "median is 0.05 %");
    assert_int_equal(scene.result.losses[0].from, 2);
    assert_int_equal(scene.result.losses[0].to, 0);
    peer_of(&scene, 2, 0)->resent = 10;
    assert_int_equal(found(&scene)->loss_count, 0);
}

static void few_packets_and_small_shares_name_none(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 1);
    peer_of(&scene, 2, 0)->packets = 10;
    peer_of(&scene, 2, 0)->resent = 4;
    assert_int_equal(found(&scene)->loss_count, 0);
    peer_of(&scene, 2, 0)->packets = 2000;
    peer_of(&scene, 2, 0)->resent = 9;
    assert_int_equal(found(&scene)->loss_count, 0);
    scene_open(&scene, 1, 4); /* no connection between hosts */
    lose(&scene, 0, 0, 100);
    assert_int_equal(found(&scene)->loss_count, 0);
}

static void a_lossy_host_explains_its_connections(void **state)
{
    (void)state;
    struct scene scene;
    for (int per_host = 1; per_host <= 2; per_host++) {
        scene_open(&scene, 3, per_host);
        lose(&scene, 1, -1, 100);
        lose(&scene, -1, 1, 100);
        assert_said(&scene, LOSS_HOST,
                    "5 % of the packets from and to host h1 are sent again, the others' median is "
                    "0 %");
        assert_int_equal(scene.members[scene.result.losses[0].host].node, 1);
        scene_open(&scene, 3, per_host);
        lose(&scene, 1, -1, 100);
        assert_said(&scene, LOSS_FROM,
                    "5 % of the packets from host h1 are sent again, the others' median is 0 %");
        scene_open(&scene, 3, per_host);
        lose(&scene, -1, 1, 100);
        assert_said(&scene, LOSS_TO,
                    "5 % of the packets to host h1 are sent again, the others' median is 0 %");
    }
}

static void two_hosts_and_a_connection_are_all_named(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 8, 1);
    lose(&scene, 1, -1, 100);
    lose(&scene, -1, 6, 60);
    peer_of(&scene, 3, 4)->resent = 30;
    const struct result *result = found(&scene);
    assert_int_equal(result->loss_count, 3);
    assert_int_equal(result->losses[0].kind, LOSS_FROM);
    assert_int_equal(result->losses[0].host, 1);
    assert_int_equal(result->losses[1].kind, LOSS_TO);
    assert_int_equal(result->losses[1].host, 6);
    assert_int_equal(result->losses[2].kind, LOSS_LINK);
    assert_int_equal(result->losses[2].from, 3);
}

static void between_two_hosts_no_host_is_named(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 2, 1);
    peer_of(&scene, 0, 1)->resent = 100;
    assert_said(&scene, LOSS_LINK,
                "5 % of the packets from rank 0 (h0) to rank 1 (h1) are sent again, the others' "
                "median is 0 %");
    scene_open(&scene, 2, 2);
    lose(&scene, 0, 1, 100);
    assert_said(&scene, LOSS_PAIR_FROM,
                "5 % of the packets from host h0 to host h1 are sent again, the others' median is "
                "0 %");
    assert_int_equal(scene.result.losses[0].from, 0);
    assert_int_equal(scene.result.losses[0].to, 2);
    for (int per_host = 1; per_host <= 2; per_host++) { /* and a third host has no part in it */
        scene_open(&scene, 3, per_host);
        lose(&scene, 0, 1, 100);
        lose(&scene, 1, 0, 100);
        assert_said(&scene, LOSS_PAIR,
                    "5 % of the packets between hosts h0 and h1 are sent again, the others' median "
                    "is 0 %");
    }
}

static void all_packets_are_a_hundred_percent(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 3, 1);
    peer_of(&scene, 0, 1)->resent = 2000;
    assert_said(&scene, LOSS_LINK,
                "100 % of the packets from rank 0 (h0) to rank 1 (h1) are sent again, the others' "
                "median is 0 %");
}

static void what_all_lose_is_said_of_all(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 1);
    lose(&scene, -1, -1, 20);
    assert_said(&scene, LOSS_ALL, "1 % of all packets are sent again, on all connections alike");
}

static void most_are_kept_by_their_packets(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 8, 1);
    for (int i = 0; i < 6; i++)
        peer_of(&scene, i, i + 1)->resent = 20 + 10 * (uint64_t)(i % 3);
    const struct result *result = found(&scene);
    assert_int_equal(result->loss_count, 6);
    assert_int_equal(result->losses[0].resent, 40);
    assert_int_equal(result->losses[1].resent, 40);
    assert_int_equal(result->losses[3].resent, 30);
}

/* A host of a ring, whose lossy connections are two of two: those of the start barrier's tokens
 * alone, back to its neighbours, do not count. */
static void tokens_alone_are_no_connection(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 3, 1);
    lose(&scene, 2, -1, 100);
    lose(&scene, -1, 2, 100);
    for (int r = 0; r < 3; r++) {
        struct peer_stats *back = peer_of(&scene, r, (r + 2) % 3);
        back->sent = back->resent = 0;
        back->packets = 60;
    }
    const struct result *result = found(&scene);
    assert_int_equal(result->loss_count, 1);
    assert_int_equal(result->losses[0].kind, LOSS_HOST);
    assert_int_equal(result->losses[0].packets, 4000);
}

/* A start barrier with lanes of its own keeps ranks waiting when it loses packets. */
static void the_start_barriers_lanes_are_looked_at(void **state)
{
    (void)state;
    struct datatype datatype = {.size = 4};
    struct candidate candidate = {.datatype = &datatype};
    struct peer_use peers[4] = {[1] = {.lanes = 3}};
    struct operation operations[] = {{.kind = OPERATION_SEND, .peer = 1, .lane = 3},
                                     {.kind = OPERATION_RECV, .peer = 3, .lane = 3},
                                     {.kind = OPERATION_SEND, .peer = 2, .lane = 3}};
    struct schedule start = {.operations = operations, .count = 3};
    const struct test_case test_case = {.candidate = &candidate, .peers = peers};
    struct runner runner = {.ranks = 4, .start_barrier.schedule = &start};
    struct link_stats *stats;
    link_stats_create(&test_case, &runner, &stats);
    const struct sending_lanes expected[] = {{1, 0, 3}, {1, 3, 4}, {2, 3, 4}};
    assert_int_equal(stats->sending_count, 3);
    assert_memory_equal(stats->sending, expected, sizeof expected);
    assert_int_equal(stats->count, 1);
    link_stats_free(stats);
    runner.start_barrier.schedule = NULL;
    link_stats_create(&test_case, &runner, &stats);
    assert_int_equal(stats->sending_count, 1);
    link_stats_free(stats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_start_barriers_lanes_are_looked_at),
        cmocka_unit_test(tokens_alone_are_no_connection),
        cmocka_unit_test(a_lossy_connection_is_named_in_its_direction),
        cmocka_unit_test(few_packets_and_small_shares_name_none),
        cmocka_unit_test(a_lossy_host_explains_its_connections),
        cmocka_unit_test(two_hosts_and_a_connection_are_all_named),
        cmocka_unit_test(between_two_hosts_no_host_is_named),
        cmocka_unit_test(all_packets_are_a_hundred_percent),
        cmocka_unit_test(what_all_lose_is_said_of_all),
        cmocka_unit_test(most_are_kept_by_their_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_delays.c - which hosts are farther away than the others.
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

#define RANKS_MOST 16
#define US         1000u

/* Ranks with round trips of 80 us, and more for each end that is far. */
struct scene {
    struct member members[RANKS_MOST];
    struct rank_sample samples[RANKS_MOST];
    struct peer_stats peers[RANKS_MOST][RANKS_MOST];
    struct result result;
};

static const struct result *found(struct scene *scene, int hosts, int per_host,
                                  const unsigned *more_us)
{
    memset(scene, 0, sizeof *scene);
    scene->result.ranks = hosts * per_host;
    scene->result.samples = scene->samples;
    for (int r = 0; r < scene->result.ranks; r++) {
        struct member *member = &scene->members[r];
        member->node = r / per_host;
        snprintf(member->host, sizeof member->host, "h%d", member->node);
        scene->samples[r].peer = scene->peers[r];
        for (int p = 0; p < scene->result.ranks; p++)
            if (p != r)
                scene->peers[r][scene->samples[r].peers++] = (struct peer_stats){
                    .peer = p,
                    .least_ns = (80 + more_us[r / per_host] + more_us[p / per_host]) * US};
    }
    result_find_delays(scene->members, &scene->result);
    return &scene->result;
}

static void a_far_host_is_named(void **state)
{
    (void)state;
    struct scene scene;
    for (int hosts = 3; hosts <= 8; hosts++)
        for (int per_host = 1; per_host <= 2; per_host++) {
            const unsigned more[8] = {0, 0, 3000};
            const struct result *result = found(&scene, hosts, per_host, more);
            assert_int_equal(result->delay_count, 1);
            assert_int_equal(scene.members[result->delays[0].rank].node, 2);
            assert_string_equal(result->delays[0].text,
                                "round trips with host h2 take 3.08 ms at least, the others' "
                                "median is 0.08 ms");
        }
}

static void half_of_the_hosts_are_named(void **state)
{
    (void)state;
    struct scene scene;
    const unsigned more[8] = {0, 2000, 3000, 0, 5000};
    const struct result *result = found(&scene, 5, 1, more);
    assert_int_equal(result->delay_count, 3);
    assert_int_equal(result->delays[0].rank, 4);
    assert_int_equal(result->delays[1].rank, 2);
    assert_int_equal(result->delays[2].rank, 1);
    assert_true(result->delays[0].others_ns == 80 * US); /* not those to far ones */
}

static void small_or_common_differences_name_none(void **state)
{
    (void)state;
    struct scene scene;
    const unsigned small[8] = {0, 0, 490}, all[8] = {900, 900, 1000, 1000},
                   one_left[8] = {0, 3000, 3000};
    assert_int_equal(found(&scene, 4, 1, small)->delay_count, 0);
    assert_int_equal(found(&scene, 4, 1, all)->delay_count, 0);
    assert_int_equal(found(&scene, 3, 1, one_left)->delay_count, 0);
    const unsigned pair[8] = {0, 3000};
    assert_int_equal(found(&scene, 2, 2, pair)->delay_count, 0);
    const unsigned none[8] = {0};
    assert_int_equal(found(&scene, 8, 2, none)->delay_count, 0);
}

/* Host 3 reaches host 0 alone, by as many connections as there are ranks: is it far, or the way? */
static void a_host_with_one_partner_is_not_named(void **state)
{
    (void)state;
    struct scene scene;
    const unsigned more[8] = {0, 0, 0, 3000};
    for (int per_host = 1; per_host <= 2; per_host++) {
        found(&scene, 4, per_host, more);
        for (int r = 0; r < scene.result.ranks; r++)
            for (int i = 0; i < scene.samples[r].peers; i++) {
                struct peer_stats *peer = &scene.peers[r][i];
                int node = scene.members[r].node, other = scene.members[peer->peer].node;
                if (node + other > 3 && (node == 3 || other == 3))
                    peer->least_ns = 0;
            }
        result_find_delays(scene.members, &scene.result);
        assert_int_equal(scene.result.delay_count, 0);
    }
}

static void hosts_that_are_not_kept_are_counted(void **state)
{
    (void)state;
    struct scene scene;
    const unsigned more[8] = {0, 3000, 3000, 3000, 0, 3000, 4000, 0};
    assert_int_equal(found(&scene, 8, 1, more)->delay_count, 5);
    assert_int_equal(scene.result.delays[0].rank, 6);
}

/* Two sites: each host is far from half of the others only. */
static void far_sites_name_none(void **state)
{
    (void)state;
    struct scene scene;
    const unsigned none[8] = {0};
    found(&scene, 8, 1, none);
    for (int r = 0; r < 8; r++)
        for (int i = 0; i < 7; i++)
            scene.peers[r][i].least_ns += (r < 4) == (scene.peers[r][i].peer < 4) ? 0 : 9000 * US;
    result_find_delays(scene.members, &scene.result);
    assert_int_equal(scene.result.delay_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_far_host_is_named),
        cmocka_unit_test(half_of_the_hosts_are_named),
        cmocka_unit_test(small_or_common_differences_name_none),
        cmocka_unit_test(a_host_with_one_partner_is_not_named),
        cmocka_unit_test(hosts_that_are_not_kept_are_counted),
        cmocka_unit_test(far_sites_name_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

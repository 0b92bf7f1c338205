/*
 * test_outliers.c - which iterations are outliers, and what the ranks' incidents say of them.
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

#define RANKS 5
#define MOST  40
#define MS    1000000u

static const struct tick no_tick = {.call = NULL};

/* 40 iterations of 2 ms among five ranks, the last two on one host. */
struct scene {
    uint64_t durations[MOST];
    struct member members[RANKS];
    struct rank_summary items[RANKS];
    struct incident incidents[RANKS][4];
    struct rank_summaries summaries;
    size_t count;
    int order[RANKS]; /* ranks of the group come first */
    struct rank_group group;
    struct result result;
};

static void scene_open(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    for (int i = 0; i < MOST; i++)
        scene->durations[i] = (2000 + (uint64_t)i % 7) * 1000;
    for (int r = 0; r < RANKS; r++) {
        scene->members[r].node = r < 4 ? r : 3;
        snprintf(scene->members[r].host, sizeof scene->members[r].host, "h%d",
                 scene->members[r].node);
        scene->items[r].incidents = scene->incidents[r];
        scene->order[r] = r;
    }
    scene->group = (struct rank_group){.ranks = RANKS, .members = scene->order};
    scene->summaries = (struct rank_summaries){.items = scene->items, .count = RANKS};
    scene->count = MOST;
}

static void scene_add(struct scene *scene, int rank, struct incident incident)
{
    scene->incidents[rank][scene->items[rank].incident_count++] = incident;
}

static const struct result *found(struct scene *scene)
{
    const struct outlier_case given = {.durations = scene->durations,
                                       .count = scene->count,
                                       .summaries = &scene->summaries,
                                       .members = scene->members,
                                       .group = &scene->group,
                                       .tick = &no_tick};
    memset(&scene->result, 0, sizeof scene->result);
    outliers_find(&given, &scene->result);
    return &scene->result;
}

static void assert_said(struct scene *scene, enum outlier_cause cause, int rank, int peer,
                        const char *why)
{
    char expected[400];
    scene->durations[37] = 4100 * MS;
    const struct outlier *outlier = found(scene)->outliers;
    snprintf(expected, sizeof expected, "iteration 37 took 4.10 s, the median is 2.00 ms: %s", why);
    assert_int_equal(scene->result.outlier_count, 1);
    assert_string_equal(outlier->text, expected);
    assert_int_equal(outlier->cause, cause);
    assert_int_equal(outlier->rank, rank);
    assert_int_equal(outlier->peer, peer);
}

static void only_what_is_far_beyond_the_others_is_one(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    assert_int_equal(found(&scene)->outlier_count, 0);
    scene.durations[7] = 52 * MS; /* 50 ms beyond */
    assert_int_equal(found(&scene)->outlier_count, 0);
    scene.durations[7] = 53 * MS;
    assert_int_equal(found(&scene)->outlier_count, 1);
    assert_int_equal(scene.result.outliers[0].iteration, 7);
    assert_true(scene.result.outliers[0].time_us == 53000);
    for (int i = 0; i < MOST; i++)
        scene.durations[i] = 100 * MS;
    scene.durations[7] = 300 * MS; /* three times */
    assert_int_equal(found(&scene)->outlier_count, 0);
    scene.durations[7] = 301 * MS;
    assert_int_equal(found(&scene)->outlier_count, 1);
    for (int i = 0; i < MOST; i += 3) /* of times that spread: 100 to 150 ms */
        scene.durations[i] = 150 * MS;
    scene.durations[7] = 600 * MS;
    assert_int_equal(found(&scene)->outlier_count, 0);
    scene.durations[7] = 601 * MS;
    assert_int_equal(found(&scene)->outlier_count, 1);
}

static void few_iterations_have_none(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene.durations[1] = 4100 * MS;
    scene.count = 4;
    assert_int_equal(found(&scene)->outlier_count, 0);
    scene.count = 5;
    assert_int_equal(found(&scene)->outlier_count, 1);
    scene.count = 0;
    assert_int_equal(found(&scene)->outlier_count, 0);
}

static void the_longest_are_kept_in_order(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    const uint64_t ms[] = {300, 200, 500, 100, 400};
    for (size_t i = 0; i < 5; i++)
        scene.durations[10 + i] = ms[i] * MS;
    const struct result *result = found(&scene);
    assert_int_equal(result->outlier_count, 5);
    assert_int_equal(result->outliers[0].iteration, 12);
    assert_int_equal(result->outliers[1].iteration, 14);
    assert_int_equal(result->outliers[2].iteration, 10);
    assert_int_equal(result->outliers[0].cause, OUTLIER_UNKNOWN);
    assert_string_equal(result->outliers[2].text,
                        "iteration 10 took 300 ms, the median is 2.00 ms: why is not known");
}

static void a_rank_that_did_not_run_is_named(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene_add(&scene, 2, (struct incident){INCIDENT_STOPPED, -1, 36, 36, 4000 * MS});
    scene_add(&scene, 0, (struct incident){INCIDENT_STOPPED, -1, 37, 37, 2000 * MS}); /* not half */
    assert_said(&scene, OUTLIER_UNKNOWN, -1, -1, "why is not known");
    scene_add(&scene, 0, (struct incident){INCIDENT_AWAITED, 3, 37, 37, 4000 * MS});
    scene_add(&scene, 1, (struct incident){INCIDENT_RESENT, 3, 30, 39, 7});
    scene_add(&scene, 3, (struct incident){INCIDENT_LATE, -1, 37, 37, 4050 * MS});
    scene_add(&scene, 3, (struct incident){INCIDENT_STOPPED, -1, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_STOPPED, 3, -1, "rank 3 (h3) did not run for 4.00 s");
    scene_add(&scene, 4, (struct incident){INCIDENT_STOPPED, -1, 37, 37, 4010 * MS});
    assert_said(&scene, OUTLIER_STOPPED, 4, -1,
                "rank 4 (h3) did not run for 4.01 s, nor did 1 other rank");
}

static void a_rank_that_begins_late_is_named(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene_add(&scene, 1, (struct incident){INCIDENT_LATE, -1, 37, 37, 4050 * MS});
    scene_add(&scene, 1, (struct incident){INCIDENT_RESENT, 3, 30, 39, 7});
    assert_said(&scene, OUTLIER_LATE, 1, -1, "rank 1 (h1) began it 4.05 s late");
}

static void connections_that_sent_again_are_named_by_what_they_share(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene_add(&scene, 1, (struct incident){INCIDENT_RESENT, 3, 30, 36, 7});
    scene_add(&scene, 1, (struct incident){INCIDENT_RESENT, 3, 38, 39, 7});
    assert_said(&scene, OUTLIER_UNKNOWN, -1, -1, "why is not known");
    scene_add(&scene, 1, (struct incident){INCIDENT_RESENT, 3, 30, 39, 1});
    assert_said(&scene, OUTLIER_RESENT, 1, 3,
                "meanwhile 1 packet from rank 1 (h1) to rank 3 (h3) was sent again");
    scene_add(&scene, 4, (struct incident){INCIDENT_RESENT, 1, 37, 37, 2});
    assert_said(&scene, OUTLIER_RESENT, -1, -1,
                "meanwhile 3 packets between hosts h1 and h3 were sent again");
    scene_add(&scene, 3, (struct incident){INCIDENT_RESENT, 0, 37, 37, 2});
    assert_said(&scene, OUTLIER_RESENT, -1, -1,
                "meanwhile 5 packets from and to host h3 were sent again");
    scene_add(&scene, 2, (struct incident){INCIDENT_RESENT, 0, 37, 37, 2});
    assert_said(&scene, OUTLIER_RESENT, -1, -1,
                "meanwhile 7 packets of 4 connections were sent again");
}

static void the_rank_that_all_waited_for_is_named_with_its_network(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene_add(&scene, 0, (struct incident){INCIDENT_AWAITED, 2, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_AWAITED, 2, 0,
                "rank 0 (h0) waited for rank 2 (h2), or for the network between them: why is not "
                "known");
    scene_add(&scene, 1, (struct incident){INCIDENT_AWAITED, 0, 37, 37, 4000 * MS});
    scene_add(&scene, 3, (struct incident){INCIDENT_AWAITED, 2, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_AWAITED, 2, -1,
                "2 ranks waited for rank 2 (h2), or for its network: why is not known");
    scene_add(&scene, 2, (struct incident){INCIDENT_AWAITED, 3, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_AWAITED, 2, 3,
                "rank 3 (h3) waited for rank 2 (h2), or for the network between them: why is not "
                "known");
    scene_add(&scene, 4, (struct incident){INCIDENT_AWAITED, 1, 37, 37, 4000 * MS});
    scene.items[2].incident_count = 0; /* two ways that end at one rank, */
    assert_said(&scene, OUTLIER_AWAITED, 2, -1,
                "2 ranks waited for rank 2 (h2), or for its network: why is not known");
    scene.incidents[3][0].peer = 4; /* and a circle, which tells nothing */
    scene.incidents[1][0].peer = 3;
    assert_said(&scene, OUTLIER_UNKNOWN, -1, -1, "why is not known");
}

/* Recursive doubling: of two that wait for each other, a third waits for one. */
static void of_two_that_wait_for_each_other_the_partner_is_named(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene_add(&scene, 0, (struct incident){INCIDENT_AWAITED, 1, 37, 37, 4000 * MS});
    scene_add(&scene, 1, (struct incident){INCIDENT_AWAITED, 0, 37, 37, 4000 * MS});
    scene_add(&scene, 3, (struct incident){INCIDENT_AWAITED, 0, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_AWAITED, 0, 1,
                "rank 1 (h1) waited for rank 0 (h0), or for the network between them: why is not "
                "known");
}

static void packets_explain_a_common_wait_only_at_its_end(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene_add(&scene, 0, (struct incident){INCIDENT_AWAITED, 2, 37, 37, 4000 * MS});
    scene_add(&scene, 1, (struct incident){INCIDENT_RESENT, 3, 30, 39, 1});
    assert_said(&scene, OUTLIER_AWAITED, 2, 0,
                "rank 0 (h0) waited for rank 2 (h2), or for the network between them: why is not "
                "known; meanwhile 1 packet from rank 1 (h1) to rank 3 (h3) was sent again");
    scene_add(&scene, 2, (struct incident){INCIDENT_RESENT, 0, 30, 39, 2});
    assert_said(&scene, OUTLIER_RESENT, 2, 0,
                "meanwhile 2 packets from rank 2 (h2) to rank 0 (h0) were sent again");
}

/* Under --split, what happened in a group that was faster explains nothing. */
static void other_groups_explain_nothing(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene);
    scene.group = (struct rank_group){.ranks = 2, .members = (const int[]){1, 3}};
    scene_add(&scene, 2, (struct incident){INCIDENT_STOPPED, -1, 37, 37, 4000 * MS});
    scene_add(&scene, 0, (struct incident){INCIDENT_LATE, -1, 37, 37, 4000 * MS});
    scene_add(&scene, 4, (struct incident){INCIDENT_RESENT, 2, 30, 39, 7});
    scene_add(&scene, 2, (struct incident){INCIDENT_AWAITED, 4, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_UNKNOWN, -1, -1, "why is not known");
    scene_add(&scene, 3, (struct incident){INCIDENT_STOPPED, -1, 37, 37, 4000 * MS});
    assert_said(&scene, OUTLIER_STOPPED, 3, -1, "rank 3 (h3) did not run for 4.00 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_far_beyond_the_others_is_one),
        cmocka_unit_test(few_iterations_have_none),
        cmocka_unit_test(the_longest_are_kept_in_order),
        cmocka_unit_test(a_rank_that_did_not_run_is_named),
        cmocka_unit_test(a_rank_that_begins_late_is_named),
        cmocka_unit_test(connections_that_sent_again_are_named_by_what_they_share),
        cmocka_unit_test(the_rank_that_all_waited_for_is_named_with_its_network),
        cmocka_unit_test(of_two_that_wait_for_each_other_the_partner_is_named),
        cmocka_unit_test(packets_explain_a_common_wait_only_at_its_end),
        cmocka_unit_test(other_groups_explain_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_incidents.c - what a rank keeps of its long iterations: also what happened in the start
 * barrier before them.
 * tier: check; load: cpu1; program: own
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "run/results/internal.h"

#define MS 1000000u

/* Packets sent again to the only peer. */
static uint64_t packets_resent;

void link_stats_resent(const struct link_stats *stats, struct links *links, uint64_t *resent)
{
    (void)links;
    if (stats->sending_count > 0)
        resent[0] = packets_resent;
}

struct scene {
    struct link_stats stats; /* without lanes, or with one */
    struct sending_lanes sending;
    struct incidents *incidents;
    uint64_t now;
    struct run_watch watch;
    struct incident list[INCIDENTS_MOST];
};

static void scene_open(struct scene *scene, int peers)
{
    memset(scene, 0, sizeof *scene);
    scene->sending.peer = 5;
    scene->stats = (struct link_stats){.sending = &scene->sending, .sending_count = peers};
    scene->watch.runs = true;
    pthread_mutex_init(&scene->watch.lock, NULL);
    incidents_create(&scene->stats, NULL, &scene->incidents);
    incidents_begin(scene->incidents, 0);
    scene->now = clock_ns();
}

/* ms in the start barrier, until it begins, and until it ends. */
static void iterate(struct scene *scene, long iteration, uint64_t barrier, uint64_t late,
                    uint64_t duration, struct awaited awaited)
{
    const struct iteration_times times = {.released = scene->now + barrier * MS,
                                          .late = late * MS,
                                          .duration = duration * MS,
                                          .awaited = awaited};
    incidents_note(scene->incidents, iteration, &times);
    scene->now += (barrier + duration) * MS;
}

static int listed(struct scene *scene)
{
    int count = incidents_list(scene->incidents, &scene->watch, scene->list);
    incidents_free(scene->incidents);
    return count;
}

static void assert_incident(const struct incident *incident, enum incident_kind kind, int peer,
                            uint64_t iteration, uint64_t ms)
{
    assert_int_equal(incident->kind, kind);
    assert_int_equal(incident->peer, peer);
    assert_int_equal(incident->first, iteration);
    assert_int_equal(incident->last, iteration);
    assert_int_equal(incident->amount / MS, ms);
}

static void what_happened_is_kept_with_its_iteration(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 0);
    iterate(&scene, 0, 1, 0, 2, (struct awaited){.peer = -1});
    /* It is stopped in the barrier of the second, after the others have gone on. */
    scene.watch.recent[0] = (struct run_gap){scene.now + 1 * MS, scene.now + 801 * MS};
    atomic_store(&scene.watch.gaps, 1);
    iterate(&scene, 1, 900, 0, 2, (struct awaited){.peer = -1});
    iterate(&scene, 2, 1, 60, 200, (struct awaited){.peer = 3, .ns = 90 * MS});
    iterate(&scene, 3, 1, 24, 200, (struct awaited){.peer = 4, .ns = 24 * MS}); /* of no account */
    iterate(&scene, 4, 1, 0, 2, (struct awaited){.peer = -1});
    assert_int_equal(listed(&scene), 3);
    assert_incident(&scene.list[0], INCIDENT_STOPPED, -1, 1, 800);
    assert_incident(&scene.list[1], INCIDENT_LATE, -1, 2, 60);
    assert_incident(&scene.list[2], INCIDENT_AWAITED, 3, 2, 90);
}

static void the_longest_iterations_are_kept(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 0);
    for (long i = 0; i < 1000; i++)
        iterate(&scene, i, 0, i == 900 ? 500 : 30, i == 900 ? 600 : 31,
                (struct awaited){.peer = -1});
    int found = 0, count = listed(&scene);
    for (int i = 0; i < count; i++)
        found += scene.list[i].first == 900 && scene.list[i].amount == 500 * MS;
    assert_int_equal(found, 1);
    assert_int_equal(incidents_list(NULL, NULL, scene.list), 0);
}

static void what_is_sent_again_in_each_batch_is_kept(void **state)
{
    (void)state;
    struct scene scene;
    const struct awaited none = {.peer = -1};
    packets_resent = UINT32_MAX - 1;
    scene_open(&scene, 1);
    iterate(&scene, 0, 0, 0, 1, none);
    packets_resent = 1; /* three more */
    iterate(&scene, 1, 0, 0, 1, none);
    incidents_end(scene.incidents);
    packets_resent += 7; /* in what is between the batches */
    incidents_begin(scene.incidents, 2);
    iterate(&scene, 2, 0, 0, 1, none);
    packets_resent += 2;
    assert_int_equal(listed(&scene), 2);
    const struct incident *first = &scene.list[0], *second = &scene.list[1];
    assert_int_equal(first->kind, INCIDENT_RESENT);
    assert_int_equal(first->peer, 5);
    assert_int_equal(first->first, 0);
    assert_int_equal(first->last, 1);
    assert_int_equal(first->amount, 3);
    assert_incident(second, INCIDENT_RESENT, 5, 2, 0);
    assert_int_equal(second->amount, 2);
}

/* Packets that a look has counted are not counted again by the looks after it. */
static void what_is_sent_again_is_kept_once(void **state)
{
    (void)state;
    struct scene scene;
    packets_resent = 0;
    scene_open(&scene, 1);
    packets_resent = 4;
    for (long i = 0; i < 4; i++)
        iterate(&scene, i, 0, 0, 900, (struct awaited){.peer = -1});
    packets_resent = 5;
    iterate(&scene, 4, 0, 0, 900, (struct awaited){.peer = -1});
    assert_int_equal(listed(&scene), 2);
    assert_incident(&scene.list[0], INCIDENT_RESENT, 5, 0, 0);
    assert_int_equal(scene.list[0].amount, 4);
    assert_incident(&scene.list[1], INCIDENT_RESENT, 5, 4, 0);
    assert_int_equal(scene.list[1].amount, 1);
}

/* A look right behind the last iteration, and packets that are sent again then. */
static void what_is_sent_again_behind_the_last_iteration_is_its(void **state)
{
    (void)state;
    struct scene scene;
    packets_resent = 0;
    scene_open(&scene, 1);
    iterate(&scene, 0, 0, 0, 900, (struct awaited){.peer = -1});
    packets_resent = 4;
    assert_int_equal(listed(&scene), 1);
    assert_incident(&scene.list[0], INCIDENT_RESENT, 5, 0, 0);
    assert_int_equal(scene.list[0].amount, 4);
}

static void what_is_between_iterations_is_no_part_of_them(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 0);
    scene.now -= 500 * MS;
    iterate(&scene, 0, 0, 0, 2, (struct awaited){.peer = -1});
    scene.watch.recent[0] = (struct run_gap){scene.now + 100 * MS, scene.now + 300 * MS};
    atomic_store(&scene.watch.gaps, 1);
    scene.now = clock_ns();
    incidents_resume(scene.incidents);
    iterate(&scene, 1, 50, 0, 100, (struct awaited){.peer = -1});
    assert_int_equal(listed(&scene), 0);
}

static void counters_begin_again(void **state)
{
    (void)state;
    assert_int_equal(packets_since(7, 3), 4);
    assert_int_equal(packets_since(7, UINT32_MAX), 8);
    assert_int_equal(resent_since(7, UINT32_MAX), 8);
    assert_int_equal(resent_since(3, 3), 0);
    assert_int_equal(resent_since(3, 5), 0); /* it fell */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_happened_is_kept_with_its_iteration),
        cmocka_unit_test(the_longest_iterations_are_kept),
        cmocka_unit_test(what_is_sent_again_in_each_batch_is_kept),
        cmocka_unit_test(what_is_sent_again_is_kept_once),
        cmocka_unit_test(what_is_sent_again_behind_the_last_iteration_is_its),
        cmocka_unit_test(what_is_between_iterations_is_no_part_of_them),
        cmocka_unit_test(counters_begin_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_bottleneck.c - the bottleneck: of cases made by hand, and of noisy ones like those of a
 * machine with more ranks than cores.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/results/internal.h"
#include "base/stats/stats.h"

#define RANKS_MOST 8
#define MB         1000000u
#define MS         1000000u /* ns */
#define TRIALS     2000

/* A second of iterations among some ranks. */
struct scene {
    struct bottleneck_case given;
    int node[RANKS_MOST];
    uint64_t late[RANKS_MOST];
    struct bottleneck_link links[RANKS_MOST * RANKS_MOST];
};

static void scene_open(struct scene *scene, int hosts, int per_host)
{
    memset(scene, 0, sizeof *scene);
    scene->given = (struct bottleneck_case){.ranks = hosts * per_host,
                                            .node = scene->node,
                                            .late = scene->late,
                                            .duration = 20 * MS,
                                            .time = 1000 * MS,
                                            .links = scene->links};
    for (int r = 0; r < scene->given.ranks; r++) {
        scene->node[r] = r / per_host;
        scene->late[r] = 500;
    }
}

static struct bottleneck_link *scene_link(struct scene *scene, int from, int to, uint64_t busy_ms,
                                          uint64_t starved_ms)
{
    struct bottleneck_link *link = &scene->links[scene->given.link_count++];
    *link = (struct bottleneck_link){
        .from = from, .to = to, .bytes = 20 * MB, .busy = busy_ms * MS, .starved = starved_ms * MS};
    return link;
}

static struct bottleneck_link *link_of(struct scene *scene, int from, int to)
{
    struct bottleneck_link *link = scene->links;
    while (link->from != from || link->to != to)
        link++;
    return link;
}

/* A ring of four hosts; 1 -> 2 is slow: everybody waits, but nothing else is on its way. */
static void scene_ring(struct scene *scene)
{
    scene_open(scene, 4, 1);
    scene_link(scene, 0, 1, 80, 900);
    scene_link(scene, 1, 2, 930, 980);
    scene_link(scene, 2, 3, 60, 950);
    scene_link(scene, 3, 0, 70, 940);
}

static void scene_alltoall(struct scene *scene, uint64_t busy_ms, uint64_t starved_ms)
{
    for (int from = 0; from < scene->given.ranks; from++)
        for (int to = 0; to < scene->given.ranks; to++)
            if (from != to)
                scene_link(scene, from, to, busy_ms, starved_ms);
}

static struct bottleneck found(const struct scene *scene)
{
    struct bottleneck bottleneck;
    struct bottleneck_case given = scene->given;
    given.late_rank = statistics_late_rank(given.late, given.ranks, given.duration);
    bottleneck_find(&given, &bottleneck);
    return bottleneck;
}

static void assert_link(const struct scene *scene, enum bottleneck_kind kind, int from, int to)
{
    struct bottleneck bottleneck = found(scene);
    assert_int_equal(bottleneck.kind, kind);
    assert_int_equal(bottleneck.from, from);
    assert_int_equal(bottleneck.to, to);
    assert_int_equal(bottleneck.rank, -1);
}

static void assert_host(const struct scene *scene, int place, int node, bool from, bool to)
{
    struct bottleneck bottleneck = found(scene);
    assert_int_equal(bottleneck.kind, BOTTLENECK_HOST);
    assert_true(place < bottleneck.host_count);
    assert_int_equal(bottleneck.hosts[place].node, node);
    assert_int_equal(bottleneck.hosts[place].from, from);
    assert_int_equal(bottleneck.hosts[place].to, to);
}

static void assert_nobody(const struct scene *scene)
{
    assert_int_equal(found(scene).kind, BOTTLENECK_NONE);
}

static void test_link(void **state)
{
    (void)state;
    struct scene scene;
    scene_ring(&scene);
    assert_link(&scene, BOTTLENECK_LINK, 1, 2);
    struct bottleneck bottleneck = found(&scene);
    assert_int_equal(bottleneck.links, 1);
    assert_true(bottleneck.share > 0.929 && bottleneck.share < 0.931);
    assert_true(bottleneck.rate > 21.4e6 && bottleneck.rate < 21.6e6);   /* 20 MB in 930 ms */
    assert_true(bottleneck.others > 285e6 && bottleneck.others < 286e6); /* 20 MB in 70 ms */
    for (int i = 0; i < 4; i++)
        scene.links[i].bytes = 0;
    assert_nobody(&scene);
}

/* A slow sender makes its receiver wait, a slow receiver leaves bytes on their way. */
static void test_one_side_is_no_link(void **state)
{
    (void)state;
    struct scene scene;
    scene_ring(&scene);
    link_of(&scene, 1, 2)->busy = 60 * MS;
    assert_nobody(&scene);
    scene_ring(&scene);
    link_of(&scene, 1, 2)->starved = 60 * MS;
    assert_nobody(&scene);
}

/* All are alike, though one is waited for longer: all have bytes on their way as long as it. */
static void test_all_alike(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 1);
    scene_link(&scene, 0, 1, 650, 250);
    scene_link(&scene, 0, 2, 640, 240);
    scene_link(&scene, 0, 3, 860, 1000);
    assert_nobody(&scene);
}

static void test_thresholds(void **state)
{
    (void)state;
    struct scene scene;
    scene_ring(&scene);
    link_of(&scene, 1, 2)->busy = 340 * MS;
    assert_link(&scene, BOTTLENECK_LINK, 1, 2);
    link_of(&scene, 1, 2)->busy = 330 * MS; /* less than a third of the time */
    assert_nobody(&scene);
    scene_ring(&scene);
    for (int i = 0; i < 4; i++)
        scene.links[i].busy = (scene.links[i].from == 1 ? 900 : 310) * MS; /* less than thrice */
    assert_nobody(&scene);
    for (int i = 0; i < 4; i++)
        scene.links[i].busy = (scene.links[i].from == 1 ? 940 : 310) * MS;
    assert_link(&scene, BOTTLENECK_LINK, 1, 2);
    scene_ring(&scene);
    scene.given.time = 50 * MS;
    for (int i = 0; i < 4; i++) /* three ticks and none: that may be chance */
        scene.links[i].busy = (scene.links[i].from == 1 ? 36 : 0) * MS;
    assert_nobody(&scene);
}

/* With little to compare with, there is no bottleneck. */
static void test_too_few(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 2, 1);
    scene_link(&scene, 0, 1, 900, 900);
    scene_link(&scene, 1, 0, 10, 10);
    assert_nobody(&scene);
    scene_ring(&scene); /* the others carry next to nothing */
    for (int i = 0; i < 4; i++)
        if (scene.links[i].from != 1)
            scene.links[i].bytes = 6 * MB, scene.links[i].busy = 20 * MS;
    assert_link(&scene, BOTTLENECK_LINK, 1, 2);
    for (int i = 0; i < 4; i++)
        scene.links[i].bytes = scene.links[i].from == 1 ? 20 * MB : 4 * MB;
    assert_nobody(&scene);
    scene_open(&scene, 4, 1);
    scene_link(&scene, 1, 2, 900, 900);
    assert_nobody(&scene);
}

/* A link that has more to carry takes longer. */
static void test_more_bytes(void **state)
{
    (void)state;
    struct scene scene;
    scene_ring(&scene);
    for (int i = 0; i < 4; i++)
        scene.links[i].busy = (scene.links[i].from == 1 ? 900 : 100) * MS;
    assert_link(&scene, BOTTLENECK_LINK, 1, 2);
    link_of(&scene, 1, 2)->bytes = 76 * MB;
    assert_nobody(&scene);
    /* So do those of a host that has more of them: here each gets a third of what it could. */
    scene_open(&scene, 6, 1);
    for (int to = 1; to < 4; to++)
        scene_link(&scene, 0, to, 900, 900);
    scene_link(&scene, 1, 4, 290, 900);
    scene_link(&scene, 2, 5, 290, 900);
    assert_nobody(&scene);
    link_of(&scene, 0, 2)->bytes = 0;
    link_of(&scene, 0, 3)->bytes = 0;
    assert_link(&scene, BOTTLENECK_LINK, 0, 1);
}

/* Links between ranks of one host are no measure for those between hosts. */
static void test_inside_hosts(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 2);
    for (int r = 0; r < 8; r++)
        scene_link(&scene, r, (r + 1) % 8, r % 2 ? 900 : 10, r % 2 ? 900 : 10);
    assert_nobody(&scene);
    link_of(&scene, 2, 3)->busy = link_of(&scene, 2, 3)->starved = 990 * MS;
    assert_nobody(&scene);
    for (int r = 1; r < 8; r += 2)
        link_of(&scene, r, (r + 1) % 8)->busy = (r == 3 ? 900 : 40) * MS;
    assert_link(&scene, BOTTLENECK_LINK, 3, 4);
    /* Where there is one host only, they are compared. */
    scene_ring(&scene);
    memset(scene.node, 0, sizeof scene.node);
    assert_link(&scene, BOTTLENECK_LINK, 1, 2);
}

static void test_hosts(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 2);
    scene_alltoall(&scene, 50, 300);
    for (int from = 2; from < 4; from++) /* host 1 to host 2 */
        for (int to = 4; to < 6; to++)
            link_of(&scene, from, to)->busy = link_of(&scene, from, to)->starved = 800 * MS;
    link_of(&scene, 3, 4)->busy = link_of(&scene, 3, 4)->starved = 850 * MS;
    assert_link(&scene, BOTTLENECK_LINK, 3, 4);
    assert_int_equal(found(&scene).links, 4);
    for (int from = 2; from < 4; from++)
        for (int to = 4; to < 6; to++)
            link_of(&scene, to, from)->busy = link_of(&scene, to, from)->starved = 700 * MS;
    assert_link(&scene, BOTTLENECK_PAIR, 3, 4);
    link_of(&scene, 4, 2)->starved = link_of(&scene, 4, 3)->starved = 50 * MS;
    link_of(&scene, 2, 4)->starved = 50 * MS; /* their receivers wait in turn */
    assert_link(&scene, BOTTLENECK_PAIR, 3, 4);

    scene_open(&scene, 4, 1);
    scene_alltoall(&scene, 30, 300);
    for (int to = 0; to < 4; to++)
        if (to != 2)
            link_of(&scene, 2, to)->busy = link_of(&scene, 2, to)->starved =
                (800u + 9u * (unsigned)to) * MS;
    assert_link(&scene, BOTTLENECK_HOST, 2, 3);
    assert_host(&scene, 0, 2, true, false);
    for (int from = 0; from < 4; from++)
        if (from != 2)
            link_of(&scene, from, 2)->busy = link_of(&scene, from, 2)->starved =
                (700u - 9u * (unsigned)from) * MS;
    assert_link(&scene, BOTTLENECK_HOST, 2, 3);
    assert_host(&scene, 0, 2, true, true);
    assert_int_equal(found(&scene).links, 6);
    for (int to = 0; to < 4; to++)
        if (to != 2)
            link_of(&scene, 2, to)->busy = 30 * MS;
    assert_link(&scene, BOTTLENECK_HOST, 0, 2);
    assert_host(&scene, 0, 2, false, true);
    assert_int_equal(found(&scene).links, 3);
    link_of(&scene, 1, 3)->busy = link_of(&scene, 1, 3)->starved = 700 * MS; /* has no part in it */
    assert_nobody(&scene);

    scene_open(&scene, 6, 1); /* two of five links are not the host's doing */
    scene_alltoall(&scene, 30, 300);
    for (int to = 0; to < 2; to++)
        link_of(&scene, 2, to)->busy = link_of(&scene, 2, to)->starved = 800 * MS;
    assert_nobody(&scene);
    for (int to = 3; to < 5; to++)
        link_of(&scene, 2, to)->busy = link_of(&scene, 2, to)->starved = 790 * MS;
    assert_link(&scene, BOTTLENECK_HOST, 2, 0);
}

/* All links from a host or to it. */
static void slow_down(struct scene *scene, int node, bool sends, uint64_t ms)
{
    for (int i = 0; i < scene->given.link_count; i++) {
        struct bottleneck_link *link = &scene->links[i];
        if (scene->node[sends ? link->from : link->to] == node && link->busy < ms * MS)
            link->busy = link->starved = ms * MS;
    }
}

/* One step after the other waits for the host, so none of its links accounts for a third of the
 * time. */
static void test_host_in_steps(void **state)
{
    (void)state;
    struct scene scene;
    for (int sends = 0; sends < 2; sends++) {
        scene_open(&scene, 8, 1);
        scene_alltoall(&scene, 8, 300);
        slow_down(&scene, 5, sends, 140);
        assert_int_equal(found(&scene).host_count, 1);
        assert_host(&scene, 0, 5, sends, !sends);
        assert_int_equal(found(&scene).links, 7);
        slow_down(&scene, 5, !sends, 80); /* its acknowledgements come late */
        assert_host(&scene, 0, 5, sends, !sends);
        slow_down(&scene, 5, !sends, 110);
        assert_host(&scene, 0, 5, true, true);
        assert_int_equal(found(&scene).links, 14);
    }
    scene_open(&scene, 8, 1);
    scene_alltoall(&scene, 8, 300);
    slow_down(&scene, 5, true, 140);
    link_of(&scene, 5, 0)->busy = 4 * MS; /* a count that is wrong */
    assert_host(&scene, 0, 5, true, false);
    link_of(&scene, 5, 1)->busy = 4 * MS; /* two are not chance */
    assert_nobody(&scene);
    scene_open(&scene, 8, 1);
    scene_alltoall(&scene, 8, 300);
    slow_down(&scene, 5, true, 45); /* less than a third of the time in all */
    assert_nobody(&scene);
}

/* A healthy host has a slow link to each slow one, and is not named. */
static void test_several_hosts(void **state)
{
    (void)state;
    struct scene scene;
    for (int hosts = 4; hosts <= 8; hosts++)
        for (int slow = 1; slow < hosts; slow++) {
            scene_open(&scene, hosts, 1);
            scene_alltoall(&scene, 8, 300);
            for (int n = 0; n < slow; n++) {
                slow_down(&scene, n, true, 300);
                slow_down(&scene, n, false, 300);
            }
            struct bottleneck bottleneck = found(&scene);
            bool told = hosts - slow > (hosts - 2) / 4 + 1;
            assert_int_equal(bottleneck.kind, told ? BOTTLENECK_HOST : BOTTLENECK_NONE);
            assert_int_equal(bottleneck.host_count, told ? slow : 0);
            for (int n = 0; told && n < slow; n++)
                assert_host(&scene, n, n, true, true);
        }
    scene_open(&scene, 8, 1); /* one that sends slowly, and one that receives slowly */
    scene_alltoall(&scene, 8, 300);
    slow_down(&scene, 2, true, 300);
    slow_down(&scene, 6, false, 200);
    assert_int_equal(found(&scene).host_count, 2);
    assert_host(&scene, 0, 2, true, false);
    assert_host(&scene, 1, 6, false, true);
}

/* The links between the first hosts and the others share a slow way. */
static void cut_apart(struct scene *scene, int first, uint64_t ms)
{
    for (int i = 0; i < scene->given.link_count; i++) {
        struct bottleneck_link *link = &scene->links[i];
        if ((scene->node[link->from] < first) != (scene->node[link->to] < first))
            link->busy = link->starved = ms * MS;
    }
}

static void test_cut(void **state)
{
    (void)state;
    struct scene scene;
    for (int per_host = 1; per_host <= 2; per_host++)
        for (int hosts = 4; hosts * per_host <= 8; hosts++)
            for (int first = 1; first < hosts; first++) {
                scene_open(&scene, hosts, per_host);
                scene_alltoall(&scene, 20, 300);
                cut_apart(&scene, first, 180);
                int fewer = first <= hosts - first ? first : hosts - first;
                struct bottleneck bottleneck = found(&scene);
                assert_int_equal(bottleneck.kind, fewer > 1 ? BOTTLENECK_CUT : BOTTLENECK_HOST);
                assert_int_equal(bottleneck.host_count, fewer);
                assert_int_equal(bottleneck.hosts[0].node, 2 * first <= hosts ? 0 : first);
                assert_int_equal(bottleneck.links,
                                 2 * first * (hosts - first) * per_host * per_host);
            }
    scene_open(&scene, 8, 1);
    scene_alltoall(&scene, 20, 300);
    cut_apart(&scene, 4, 59); /* less than thrice */
    assert_nobody(&scene);
    cut_apart(&scene, 4, 61);
    assert_int_equal(found(&scene).kind, BOTTLENECK_CUT);
    for (int from = 0; from < 2; from++) /* a quarter of the links inside is as slow */
        for (int to = 0; to < 4; to++)
            if (to != from)
                link_of(&scene, from, to)->busy = link_of(&scene, from + 4, to + 4)->busy = 61 * MS;
    assert_nobody(&scene);
    scene_open(&scene, 8, 1);
    scene_alltoall(&scene, 20, 300);
    cut_apart(&scene, 2, 180);
    link_of(&scene, 0, 1)->busy = 180 * MS; /* a count that is wrong, or two slow hosts */
    assert_int_equal(found(&scene).kind, BOTTLENECK_HOST);
    link_of(&scene, 1, 0)->busy = 180 * MS;
    assert_int_equal(found(&scene).kind, BOTTLENECK_HOST);
}

/* Behind the first link of a chain nothing comes faster than through it. */
static void test_chain(void **state)
{
    (void)state;
    struct scene scene;
    for (int slow = 0; slow < 4; slow++) {
        scene_open(&scene, 5, 1);
        for (int r = 0; r < 4; r++)
            scene_link(&scene, r, r + 1, r == slow ? 800 : 40, 900);
        if (slow == 0)
            assert_nobody(&scene);
        else
            assert_link(&scene, BOTTLENECK_LINK, slow, slow + 1);
    }
    /* The root of a tree has a second link to compare with. */
    scene_open(&scene, 5, 1);
    scene_link(&scene, 0, 1, 800, 900);
    scene_link(&scene, 1, 2, 40, 900);
    scene_link(&scene, 2, 3, 40, 900);
    assert_nobody(&scene);
    scene_link(&scene, 0, 4, 40, 900);
    assert_link(&scene, BOTTLENECK_LINK, 0, 1);
    /* A link that another way leads around. */
    scene_open(&scene, 5, 1);
    scene_link(&scene, 0, 1, 800, 900);
    scene_link(&scene, 1, 2, 40, 900);
    scene_link(&scene, 4, 3, 40, 900)->bytes = 4 * MB; /* it is no other itself */
    scene_link(&scene, 3, 1, 40, 900)->bytes = 4 * MB;
    assert_link(&scene, BOTTLENECK_LINK, 0, 1);
}

static void test_late_rank(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, 4, 1);
    scene_alltoall(&scene, 20, 900);
    scene.late[3] = 15 * MS;
    scene.late[1] = 3000;
    struct bottleneck bottleneck = found(&scene);
    assert_int_equal(bottleneck.kind, BOTTLENECK_RANK);
    assert_int_equal(bottleneck.rank, 3);
    assert_int_equal(bottleneck.late, 15 * MS);
    assert_int_equal(bottleneck.next, 3000);
    assert_true(bottleneck.share > 0.749 && bottleneck.share < 0.751);
    /* Both: the one that costs more. */
    scene_ring(&scene);
    scene.late[0] = 15 * MS;
    assert_int_equal(found(&scene).kind, BOTTLENECK_LINK);
    scene.late[0] = 19 * MS;
    assert_int_equal(found(&scene).kind, BOTTLENECK_RANK);
    /* Two ranks are enough for that. */
    scene_open(&scene, 2, 1);
    scene.late[1] = 15 * MS;
    assert_int_equal(found(&scene).rank, 1);
    scene.late[1] = 19000; /* too little to be sure */
    assert_nobody(&scene);
}

static uint64_t draw(uint64_t *seed, uint64_t least, uint64_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return least + (*seed >> 33) % (most - least + 1);
}

/* The links that a pattern uses: a ring, a chain, a star, or all. */
static void scene_noisy(struct scene *scene, uint64_t *seed)
{
    int per_host = (int)draw(seed, 1, 2), pattern = (int)draw(seed, 0, 3);
    scene_open(scene, 4, per_host);
    int ranks = scene->given.ranks;
    uint64_t level = draw(seed, 20, 500); /* how long the links of this machine are busy */
    for (int from = 0; from < ranks; from++) {
        scene->late[from] = draw(seed, 100, 9000);
        for (int to = 0; to < ranks; to++) {
            bool next = to == (from + 1) % ranks;
            if (from == to || (pattern == 0 && !next) || (pattern == 1 && (!next || to == 0)) ||
                (pattern == 2 && from != 0))
                continue;
            scene_link(scene, from, to, level / 2 + draw(seed, 0, level), draw(seed, 0, 1000));
        }
    }
}

static void test_noise(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int named = 0, tried = 0, right = 0, wrong = 0, late = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct scene scene;
        scene_noisy(&scene, &seed);
        named += found(&scene).kind != BOTTLENECK_NONE;

        /* One link, or one rank, on a machine that is not too noisy to see it. */
        int victim = (int)draw(&seed, 0, (uint64_t)scene.given.link_count - 1);
        for (int i = 0; i < scene.given.link_count; i++)
            scene.links[i].busy = scene.links[i].busy / 3;
        struct bottleneck_link *link = &scene.links[victim];
        if (scene.node[link->from] == scene.node[link->to])
            continue;
        tried++;
        link->busy = draw(&seed, 850, 1000) * MS;
        link->starved = draw(&seed, 850, 1000) * MS;
        struct bottleneck bottleneck = found(&scene);
        if (bottleneck.kind != BOTTLENECK_NONE) {
            right += bottleneck.from == link->from && bottleneck.to == link->to;
            wrong += bottleneck.from != link->from || bottleneck.to != link->to;
        }
        link->busy = 50 * MS;
        int rank = (int)draw(&seed, 0, (uint64_t)scene.given.ranks - 1);
        scene.late[rank] = draw(&seed, 10, 19) * MS;
        bottleneck = found(&scene);
        late += bottleneck.kind == BOTTLENECK_RANK && bottleneck.rank == rank;
    }
    print_message("%d trials, %d with a bottleneck: %d named where there is none; a link: %d "
                  "right, %d wrong; a rank: %d right\n",
                  TRIALS, tried, named, right, wrong, late);
    assert_int_equal(named, 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(late, tried);
    assert_true(right >= tried / 2); /* of a chain there is too little to compare with, say */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link),          cmocka_unit_test(test_one_side_is_no_link),
        cmocka_unit_test(test_all_alike),     cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_too_few),       cmocka_unit_test(test_more_bytes),
        cmocka_unit_test(test_inside_hosts),  cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_host_in_steps), cmocka_unit_test(test_several_hosts),
        cmocka_unit_test(test_chain),         cmocka_unit_test(test_cut),
        cmocka_unit_test(test_late_rank),     cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

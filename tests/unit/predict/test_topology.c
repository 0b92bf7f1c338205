/*
 * test_topology.c - topologies: each way leads from its sender to its receiver link by link, by the
 * names of the links; lengths and loads are those that the sources of each family give; and what is
 * refused.
 * tier: check; load: cpu1
 */
#include "tests/unit/topologies.h"
#include "predict/topology/topology.h"

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* No two links have one name. */
static void links_check(const struct topology *t)
{
    uint32_t count = topology_links(t);
    char **names = calloc(count + 1, sizeof *names);
    for (uint32_t l = 0; l < count; l++) {
        struct topology_link link;
        topology_link_get(t, l, &link);
        names[l] = strdup(link.name);
    }
    qsort(names, count, sizeof *names, names_compare);
    for (uint32_t l = 1; l < count; l++)
        assert_string_not_equal(names[l - 1], names[l]);
    for (uint32_t l = 0; l < count; l++)
        free(names[l]);
    free(names);
}

static void test_ways(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int hosts, ends;
        uint32_t links;
    } cases[] = {
        {"fat-tree:k=4", 16, 16, 96},
        {"fat-tree:k=6:routing=dmodk", 54, 54, 324},
        {"fat-tree:radix=8:oversubscription=3:hosts=61", 61, 61, 0},
        {"fat-tree:radix=5:ranks=2:hosts=23", 23, 46, 0},
        {"leaf-spine:radix=8:oversubscription=3", 48, 48, 2 * (48 + 8 * 2)},
        {"leaf-spine:radix=6:oversubscription=1:hosts=7:ranks=3", 7, 21, 2 * (7 + 3 * 3)},
        {"rail:hosts=5:rails=4", 5, 20, 80},
        {"rail:hosts=5:rails=2:ranks=4:pod=2:oversubscription=2", 5, 20, 2 * (20 + 10 + 6)},
        {"rail:hosts=3:rails=3:cross=spine", 3, 9, 2 * (9 + 9 + 9)},
        {"torus:3x4x5", 60, 60, 360},
        {"torus:2x3:ranks=2", 6, 12, 24},
        {"torus:1x5", 5, 5, 10},
        {"mesh:4x3x2", 24, 24, 2 * (3 * 6 + 2 * 8 + 12)},
        {"mesh:1", 1, 1, 0},
        {"ring:7", 7, 7, 14},
        {"ring:2", 2, 2, 4},
        {"dragonfly:a=4:h=2:p=2", 72, 72, 2 * 72 + 9 * 12 + 72},
        {"dragonfly:a=3:h=1:p=2:groups=3:ranks=2", 18, 36, 36 + 18 + 6},
        {"dragonfly:a=2:h=2:p=1:routing=valiant", 10, 10, 20 + 10 + 20},
        {"dragonfly:a=1:h=1:p=3", 6, 6, 12 + 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = topology_of(cases[i].spec);
        assert_int_equal(topology_hosts(t), cases[i].hosts);
        assert_int_equal(topology_ends(t), cases[i].ends);
        if (cases[i].links)
            assert_int_equal(topology_links(t), cases[i].links);
        if (strncmp(cases[i].spec, "ring:2", 6) != 0 && strncmp(cases[i].spec, "torus:2", 7) != 0)
            links_check(t); /* two links lead from host 0 to host 1 there */
        int sharing = strstr(cases[i].spec, "rails=2:ranks=4") ? 2 : 1;
        for (int from = 0; from < cases[i].ends; from++)
            for (int to = 0; to < cases[i].ends; to++)
                way_check(t, sharing, from, to);
        topology_free(t);
    }
}

static size_t hops(const struct topology *t, int from, int to)
{
    return topology_route(t, from, to, NULL, 0);
}

static void test_lengths(void **state)
{
    (void)state;
    struct topology *t = topology_of("torus:5x4");
    for (int from = 0; from < 20; from++)
        for (int to = 0; to < 20; to++) {
            int x = abs(from / 4 - to / 4), y = abs(from % 4 - to % 4);
            assert_int_equal(hops(t, from, to), (x < 5 - x ? x : 5 - x) + (y < 4 - y ? y : 4 - y));
        }
    topology_free(t);
    t = topology_of("mesh:5x4");
    for (int from = 0; from < 20; from++)
        for (int to = 0; to < 20; to++)
            assert_int_equal(hops(t, from, to), abs(from / 4 - to / 4) + abs(from % 4 - to % 4));
    topology_free(t);
    t = topology_of("fat-tree:k=4");
    assert_int_equal(hops(t, 0, 1), 2);
    assert_int_equal(hops(t, 0, 2), 4);
    assert_int_equal(hops(t, 0, 4), 6);
    topology_free(t);
    t = topology_of("dragonfly:a=4:h=2:p=2");
    for (int from = 0; from < 72; from++)
        for (int to = 0; to < 72; to++)
            if (from != to)
                assert_in_range(hops(t, from, to), 2, 5);
    topology_free(t);
    t = topology_of("rail:hosts=4:rails=4");
    assert_int_equal(hops(t, 0, 1), 2); /* inside the host */
    assert_int_equal(hops(t, 0, 4), 2); /* the same rail */
    assert_int_equal(hops(t, 0, 5), 4); /* another: inside the host first */
    topology_free(t);
}

static double route_latency(const char *spec, int from, int to)
{
    struct topology *t = topology_of(spec);
    uint32_t links[16];
    struct topology_link link;
    double sum = 0;
    size_t count = topology_route(t, from, to, links, 16);
    for (size_t i = 0; i < count; i++) {
        topology_link_get(t, links[i], &link);
        sum += link.latency_us;
    }
    topology_free(t);
    return sum;
}

/* Links between switches have the latency, up and down; those of hosts have none. */
static void test_latencies(void **state)
{
    (void)state;
    assert_true(route_latency("rail:hosts=4:rails=2:pod=2:latency=0.5", 0, 2) == 0);
    assert_true(route_latency("rail:hosts=4:rails=2:pod=2:latency=0.5", 0, 4) == 1);
    assert_true(route_latency("leaf-spine:radix=4:oversubscription=1:hosts=8:latency=3", 0, 1) ==
                0);
    assert_true(route_latency("leaf-spine:radix=4:oversubscription=1:hosts=8:latency=3", 0, 7) ==
                6);
    assert_true(route_latency("fat-tree:k=4:latency=0.25", 0, 2) == 0.5);
    assert_true(route_latency("fat-tree:k=4:latency=0.25", 0, 15) == 1);
}

/* The capacity of the link of this name. */
static double link_capacity(const char *spec, const char *name)
{
    struct topology *t = topology_of(spec);
    struct topology_link link = {.capacity = 0};
    uint32_t l = 0;
    do {
        assert_true(l < topology_links(t));
        topology_link_get(t, l++, &link);
    } while (strcmp(link.name, name) != 0);
    topology_free(t);
    return link.capacity;
}

/* Capacities may be fractions. Without one of its own a link has that of rate=. */
static void test_capacities(void **state)
{
    (void)state;
    static const char global[] = "group 0 switch 0 -> group 1 switch 1";
    static const char inside[] = "host 0 GPU 1 -> host 0 switch";
    assert_true(link_capacity("dragonfly:a=2:h=1:p=1:rate=0.5", global) == 0.5);
    assert_true(link_capacity("dragonfly:a=2:h=1:p=1:global=1.5", global) == 1.5);
    assert_true(link_capacity("dragonfly:a=2:h=1:p=1:global=1.5", "host 0 -> group 0 switch 0") ==
                1);
    assert_true(link_capacity("rail:hosts=2:rails=2", inside) == 9);
    assert_true(link_capacity("rail:hosts=2:rails=2:inside=4.5", inside) == 4.5);
}

/* ---- load ---- */

/* All ranks send one byte to the rank `shift` behind them: the bytes on the busiest link. */
static double shift_load(const char *spec, int shift)
{
    struct topology *t = topology_of(spec);
    int ranks = topology_ends(t), *ends = calloc((size_t)ranks, sizeof *ends);
    struct link_load *load;
    assert_int_equal(placement_make(t, NULL, ranks, ends), STATUS_OK);
    assert_int_equal(link_load_create(t, ends, ranks, &load), STATUS_OK);
    for (int r = 0; r < ranks; r++)
        assert_int_equal(link_load_add(load, 0, r, (r + shift) % ranks, 1), STATUS_OK);
    assert_int_equal(link_load_finish(load), STATUS_OK);
    double busiest = link_load_step(load, 0).links;
    assert_true(link_load_step(load, 0).ends == 1);
    assert_true(link_load_factor(load) == (busiest > 1 ? busiest : 1));
    link_load_free(load);
    free(ends);
    topology_free(t);
    return busiest;
}

/* Zahavi (2010): with the destination's number as the rule no shift puts two messages on one link
 * of a fat tree without oversubscription. A hash does. */
static void test_shifts(void **state)
{
    (void)state;
    double worst = 0;
    for (int shift = 1; shift < 128; shift++) {
        assert_true(shift_load("fat-tree:k=8:routing=dmodk", shift) == 1);
        assert_true(
            shift_load("leaf-spine:radix=8:oversubscription=1:routing=dmodk", 1 + shift % 31) == 1);
        double hashed = shift_load("fat-tree:k=8", shift);
        worst = hashed > worst ? hashed : worst;
    }
    assert_in_range((int)worst, 2, 8);
    assert_true(shift_load("leaf-spine:radix=8:oversubscription=3:routing=dmodk", 6) == 3);
    assert_true(shift_load("ring:16", 1) == 1);
    assert_true(shift_load("ring:16", 5) == 5);
    assert_true(shift_load("ring:16", 8) == 4); /* half way round: every second host goes down */
    assert_true(shift_load("torus:4x4", 2) == 1);
    assert_true(shift_load("torus:4x4:rate=2", 1) == 0.5); /* wraps into the next row: 2 hops */
    assert_true(shift_load("rail:hosts=4:rails=2", 2) == 1);
    assert_true(shift_load("rail:hosts=4:rails=2:ranks=4", 4) == 2); /* two GPUs share a NIC */
    /* All hosts of a group send to the next one, over one link: the worst case of minimal ways. */
    assert_true(shift_load("dragonfly:a=4:h=2:p=2", 8) == 8);
    assert_true(shift_load("dragonfly:a=4:h=2:p=2:routing=valiant", 8) < 8);
}

static void test_load(void **state)
{
    (void)state;
    struct topology *t = topology_of("leaf-spine:radix=4:oversubscription=1:hosts=8:routing=dmodk");
    int ends[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct link_load *load;
    struct loaded_link top[3];
    struct topology_link link;
    assert_int_equal(link_load_create(t, ends, 8, &load), STATUS_OK);
    assert_true(link_load_factor(load) == 1);
    assert_int_equal(link_load_top(load, top, 3), 0);
    assert_int_equal(link_load_add(load, 100000000, 0, 1, 1), STATUS_USAGE);
    link_load_add(load, 2, 0, 2, 10); /* over spine 0 */
    link_load_add(load, 2, 1, 4, 10); /* likewise */
    link_load_add(load, 0, 0, 1, 30);
    link_load_add(load, 0, 5, 5, 99); /* to itself: over no link */
    assert_int_equal(link_load_finish(load), STATUS_OK);
    assert_int_equal(link_load_steps(load), 3);
    struct step_load first = link_load_step(load, 0), none = link_load_step(load, 1),
                     last = link_load_step(load, 2);
    assert_true(first.ends == 30 && first.links == 30 && first.link == 0);
    assert_true(none.ends == 0 && none.links == 0 && none.link == NO_LINK);
    assert_true(last.ends == 10 && last.links == 20);
    topology_link_get(t, last.link, &link);
    assert_string_equal(link.name, "leaf 0 -> spine 0");
    assert_true(link_load_bytes(load, 2, last.link) == 20);
    assert_true(link_load_factor(load) == 50.0 / 40);
    assert_int_equal(link_load_top(load, top, 3), 3);
    assert_int_equal(top[0].link, 0);
    assert_true(top[0].time == 40 && top[0].peak == 30 && top[0].bytes == 40);
    assert_true(top[1].time == 30 && top[2].time == 20);
    link_load_free(load);
    topology_free(t);
    t = topology_of("ring:8:rate=4"); /* times are bytes by rate */
    assert_int_equal(link_load_create(t, ends, 8, &load), STATUS_OK);
    for (int r = 1; r < 8; r++) /* a gather: the root receives from all */
        link_load_add(load, 0, r, 0, 1);
    assert_int_equal(link_load_finish(load), STATUS_OK);
    assert_true(link_load_step(load, 0).ends == 7);
    link_load_free(load);
    assert_int_equal(link_load_create(t, ends, 8, &load), STATUS_OK);
    link_load_add(load, 0, 0, 1, 30);
    link_load_add(load, 1, 0, 1, 10);
    assert_int_equal(link_load_finish(load), STATUS_OK);
    assert_int_equal(link_load_top(load, top, 3), 1);
    assert_true(top[0].bytes == 40 && top[0].time == 10 && top[0].peak == 7.5);
    link_load_free(load);
    topology_free(t);
}

/* ---- placement ---- */

static void test_placement(void **state)
{
    (void)state;
    struct topology *t = topology_of("leaf-spine:radix=8:oversubscription=1:hosts=5:ranks=3");
    int ends[15], seen[15] = {0};
    static const int cyclic[] = {0, 3, 6, 1, 4, 7, 2, 5};
    char path[64];
    assert_int_equal(placement_make(t, "block", 15, ends), STATUS_OK);
    assert_int_equal(ends[14], 14);
    assert_int_equal(placement_make(t, "cyclic", 8, ends), STATUS_OK);
    assert_memory_equal(ends, cyclic, sizeof cyclic);
    assert_int_equal(placement_make(t, "random:7", 15, ends), STATUS_OK);
    for (int r = 0, moved = 0; r < 15; r++) {
        assert_int_equal(seen[ends[r]]++, 0);
        moved += ends[r] != r;
        assert_true(r < 14 || moved > 5);
    }
    file_write(path, "# places\n 14\nhost 2 # its first\n\nhost 2\r\n0\n");
    assert_int_equal(placement_make(t, path, 4, ends), STATUS_OK);
    assert_true(ends[0] == 14 && ends[1] == 6 && ends[2] == 7 && ends[3] == 0);
    unlink(path);
    topology_free(t);
}

/* ---- what is refused ---- */

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "'' is no topology, and there is no such file"},
        {"fat-tre:k=4", "(did you mean fat-tree?)"},
        {"fat-tree", "give k= or radix="},
        {"fat-tree:k=4:radix=4", "give k= or radix=, and not both"},
        {"fat-tree:k=5", "give an even k="},
        {"fat-tree:k=4:hosts=17", "it holds 16 hosts at most"},
        {"fat-tree:k=4:k=4", "k= stands twice"},
        {"fat-tree:k=4:", "a part between colons is empty"},
        {"fat-tree:k=4:8x8", "'8x8' has no '='"},
        {"fat-tree:k=1024", "give hosts= of at most"},
        {"fat-tree:k=4:ports=4", "'ports' is none of its keys: give k=, radix=, hosts=, "},
        {"leaf-spine:radix=8:oversubscription=100", "have none left for hosts or for links up"},
        {"leaf-spine:radix=8:oversubscription=-1", "give 0.01 to 1000"},
        {"leaf-spine:radix=8:oversubscription=nan", "oversubscription=nan is no number"},
        {"leaf-spine:radix=8:oversubscription=0x2", "is no number"},
        {"leaf-spine:radix=8.5", "radix=8.5 is no whole number"},
        {"leaf-spine:radix=8:routing=best", "routing=best: give one of hash, dmodk"},
        {"fat-tree:radix=1024:oversubscription=0.01:hosts=4194304", "and 1073741824 are the most"},
        {"rail:hosts=4", "give hosts= and rails="},
        {"rail:hosts=4:rails=4:ranks=6", "do not share 4 rails evenly"},
        {"torus", "give its size behind it"},
        {"torus:8x", "'8x' is no size"},
        {"torus:8x0x8", "is no size"},
        {"torus:8x-8", "is no size"},
        {"torus:2x2x2x2x2x2x2", "more than 6 dimensions"},
        {"torus:4096x4096", "more than 4194304 hosts"},
        {"torus:99999999999999999999", "is no size"},
        {"ring:4x4", "give the number of its hosts"},
        {"ring:4194304:ranks=1024", "and 16777216 are the most"},
        {"dragonfly:a=4:h=2", "give a=, h= and p="},
        {"dragonfly:a=4:h=2:p=2:groups=10", "reach 9 groups in all"},
        {"/", "cannot read /"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i][0], NULL, 0, cases[i][1]);
    refused("torus:2x2", NULL, 5,
            "5 ranks do not fit torus of 2x2: 4 hosts, 16 links, which has "
            "places for 4");
    refused("torus:2x2", "random:", 3, "give random:SEED");
    refused("torus:2x2", "random:x", 3, "give random:SEED");
    refused("torus:2x2", "diagonal", 3, "cannot read diagonal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),       cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_shifts),     cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_load),       cmocka_unit_test(test_placement),
        cmocka_unit_test(test_capacities), cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

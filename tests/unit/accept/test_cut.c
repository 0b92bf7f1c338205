/*
 * test_cut.c - fleets in two parts with a slow network between them, and fleets that are whole; and
 * how long a host may stand still.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "accept/judge/network.h"
#include "tests/unit/simulated_fleet.h"

#define RUNS 60
#define SMALL                                                                                      \
    13 /* hosts: each meets some of its own part; of more, a few do not, and are misplaced */

/* A fleet whose pairs meet in rounds, in two parts: those across in a round share as much as the
 * half of them need, and as one host needs at least, and have the share `least` of it. NULL: the
 * fleet is whole. */
static void fleet_measure(struct simulated *f, const int *part, double least, uint64_t seed)
{
    int count = rounds_enough(f->hosts);
    struct rounds *plan = rounds_plan(f->hosts, count, seed);
    struct host_pair *pairs = malloc(((size_t)f->hosts / 2 + 1) * sizeof *pairs);
    bool *present = malloc((size_t)f->hosts * sizeof *present);
    memset(present, true, (size_t)f->hosts * sizeof *present);
    double across[ROUNDS_MOST] = {0};
    for (int r = 0; r < count; r++) {
        int n = rounds_pairs(plan, r, present, pairs);
        for (int i = 0; part && i < n; i++)
            across[r] += part[pairs[i].a] != part[pairs[i].b];
    }
    for (int r = 0; r < count; r++)
        for (int i = 0, n = rounds_pairs(plan, r, present, pairs); i < n; i++) {
            size_t first = f->count;
            simulated_pair(f, pairs[i].a, pairs[i].b, RAILS_ALL);
            bool crosses = part && part[pairs[i].a] != part[pairs[i].b];
            double share = crosses ? fmax(least, fmax(1, across[r] / 2) / across[r]) : 1;
            for (size_t k = first; k < f->count; k++)
                if (f->readings[k].metric == METRIC_ALONE || f->readings[k].metric == METRIC_BOTH)
                    f->readings[k].value *= share;
        }
    free(present);
    free(pairs);
    rounds_free(plan);
}

/* The state of a fleet, as new measurements would show it. */
struct truth {
    const int *part; /* those across have the share `least`; NULL: the fleet is whole */
    double least, noise;
    const bool *slow; /* hosts that have become slow since the pairs; NULL: none */
};

/* The median of pairs that exchange at once across the parts that seem to be, or inside them. */
static double exchange(const struct truth *truth, const int *side, int hosts, bool across,
                       uint64_t *random)
{
    int list[200];
    struct host_pair pairs[100];
    double values[100];
    for (int h = 0; h < hosts; h++)
        list[h] = h;
    int n = cut_pairs(list, hosts, side, across, random, pairs);
    for (int i = 0; i < n; i++) {
        int a = pairs[i].a, b = pairs[i].b;
        bool crosses = truth->part && truth->part[a] != truth->part[b];
        bool slow = truth->slow && (truth->slow[a] || truth->slow[b]);
        assert_int_equal(side[a] != side[b], across);
        values[i] = (crosses ? truth->least : 1) * (slow ? 0.5 : 1) *
                    exp(truth->noise * simulated_normal(random));
    }
    return cut_median(pairs, values, n, side);
}

static bool is_shown(const struct truth *truth, const int *side, int hosts, uint64_t *random)
{
    bool shown = true;
    for (int turn = 0; turn < 2 && shown; turn++) {
        double across = exchange(truth, side, hosts, true, random);
        double inside = exchange(truth, side, hosts, false, random);
        shown = across > 0 && across < SHARE_LEAST * inside;
    }
    return shown;
}

/* Do the pairs suggest parts, and new measurements show them? */
static bool is_cut(struct simulated *f, const int *part, double least, double noise, int *side)
{
    const struct fleet_config config = {.hosts = f->hosts, .rails = f->rails};
    const struct truth truth = {.part = part, .least = least, .noise = noise};
    struct fleet *fleet = fleet_create(&config, f->readings, f->count);
    bool found = false;
    for (int r = 0; r < f->rails && !found; r++)
        found = cut_find(fleet, f->readings, f->count, r, 1, side) &&
                is_shown(&truth, side, f->hosts, &f->random);
    fleet_free(fleet);
    return found;
}

/* Three or more hosts that are slow by now are no part: their pairs inside are slow, too. */
static void hosts_that_become_slow_are_no_part(void **state)
{
    (void)state;
    static const int sizes[] = {8, 13, 32, 64};
    uint64_t random = 19;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int slow = 3; slow <= sizes[s] / 2; slow++) {
            int side[64] = {0};
            bool is_slow[64] = {false};
            for (int h = 0; h < slow; h++)
                side[h] = is_slow[h] = true;
            const struct truth truth = {.noise = 0.03, .slow = is_slow};
            assert_false(is_shown(&truth, side, sizes[s], &random));
        }
}

/* From a quarter of the hosts, and three, to half of them; which, is drawn. */
static void parts_draw(int hosts, uint64_t *random, int *part)
{
    int least = hosts / 4 > 3 ? hosts / 4 : 3;
    int size = least + (int)random_below(random, (uint64_t)(hosts / 2 - least + 1)), left = size;
    memset(part, 0, (size_t)hosts * sizeof *part);
    while (left > 0) {
        int *place = &part[random_below(random, (uint64_t)hosts)];
        left -= !*place;
        *place = 1;
    }
}

static void both_parts_of_a_fleet_are_found(void **state)
{
    (void)state;
    static const int sizes[] = {6, 8, 13, 32, 64, 200};
    uint64_t random = 3;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int found = 0, part[200], side[200], hosts = sizes[s];
        for (int run = 0; run < RUNS; run++) {
            struct simulated f;
            simulated_create(&f, hosts, 1 + run % 2, random_next(&random));
            parts_draw(hosts, &random, part);
            fleet_measure(&f, part, 0, (uint64_t)run);
            int apart = 0;
            bool right = is_cut(&f, part, 0.5, 0.03, side);
            for (int h = 0; h < hosts; h++)
                apart += side[h] != part[h];
            apart = 2 * apart > hosts ? hosts - apart : apart;
            found += right && apart <= (hosts > SMALL ? hosts / 10 : 0);
            simulated_free(&f);
        }
        print_message("%d hosts: %d of %d cuts found\n", hosts, found, RUNS);
        assert_true(found >= 0.85 * RUNS);
    }
}

/* Healthy ones, and those with faults of hosts and links. */
static void a_whole_fleet_has_no_cut(void **state)
{
    (void)state;
    static const int sizes[] = {2, 3, 4, 5, 8, 13, 64};
    static const struct {
        int count;
        enum seeded_kind kind;
    } faults[] = {{0, 0},           {1, SEEDED_HOST},    {2, SEEDED_HOST},    {3, SEEDED_HOST},
                  {2, SEEDED_SEND}, {1, SEEDED_LINK},    {2, SEEDED_LINK},    {2, SEEDED_FLAKY},
                  {1, SEEDED_LOST}, {2, SEEDED_RECEIVE}, {2, SEEDED_LATENCY}, {1, SEEDED_ONE_WAY}};
    uint64_t random = 5;
    int alarms = 0, runs = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            for (int run = 0; run < RUNS / 4 && 3 * faults[k].count <= sizes[s]; run++, runs++) {
                int side[64];
                struct simulated f;
                simulated_create(&f, sizes[s], 1, random_next(&random));
                for (int i = 0; i < faults[k].count; i++)
                    simulated_seed(&f, faults[k].kind, 2 * i, 2 * i + 1);
                fleet_measure(&f, NULL, 0, (uint64_t)run);
                alarms += is_cut(&f, NULL, 1, 0.03, side);
                simulated_free(&f);
            }
    print_message("%d of %d whole fleets seem to be cut\n", alarms, runs);
    assert_int_equal(alarms, 0);
}

/* A tenth less is no cut, however sure it is. */
static void a_slight_difference_is_no_cut(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int run = 0; run < RUNS / 4; run++) {
        int part[32], side[32];
        struct simulated f;
        simulated_create(&f, 32, 1, random_next(&random));
        parts_draw(32, &random, part);
        fleet_measure(&f, part, 0.9, (uint64_t)run);
        assert_false(is_cut(&f, part, 0.9, 0.03, side));
        simulated_free(&f);
    }
}

/* All hosts exchange with all others, and those of the other part have `share` of what they have
 * alone. */
static bool is_cut_by_share(int hosts, int small, double share, int *side)
{
    struct exchange_transfer transfers[16 * 15];
    size_t count = 0;
    for (int from = 0; from < hosts; from++)
        for (int to = 0; to < hosts; to++)
            if (from != to)
                transfers[count++] = (struct exchange_transfer){
                    .from = from,
                    .to = to,
                    .few = 10,
                    .many = (from < small) == (to < small) ? 10 : 10 * share};
    return cut_of_transfers(transfers, count, hosts, 1, side);
}

/* The mean pair across must be worse by an excess of 0.1: by 9.5%. */
static void a_cut_takes_a_tenth(void **state)
{
    (void)state;
    for (int hosts = 6; hosts <= 16; hosts++)
        for (int small = 3; small <= hosts / 2; small++) {
            int side[16];
            assert_false(is_cut_by_share(hosts, small, 0.906, side));
            assert_true(is_cut_by_share(hosts, small, 0.903, side));
            for (int h = 0; h < hosts; h++)
                assert_int_equal(side[h] == side[0], h < small);
        }
}

/* A transfer that failed, inside a part or across, says nothing of the parts. */
static void failures_hide_no_cut(void **state)
{
    (void)state;
    const struct fleet_config config = {.hosts = 8, .rails = 1};
    for (int other = 1; other < 8; other++) { /* that host 0 fails with */
        struct reading readings[8 * 7];
        size_t count = 0;
        int side[8];
        for (int from = 0; from < 8; from++)
            for (int to = 0; to < 8; to++)
                if (from != to)
                    readings[count++] = (struct reading){
                        .from = from,
                        .to = to,
                        .metric = METRIC_BOTH,
                        .outcome = from == 0 && to == other ? READING_LOST : READING_VALUE,
                        .value = from % 2 == to % 2 ? 10 : 5};
        struct fleet *fleet = fleet_create(&config, readings, count);
        assert_true(cut_find(fleet, readings, count, 0, 1, side));
        for (int h = 0; h < 8; h++)
            assert_int_equal(side[h] == side[0], h % 2 == 0);
        fleet_free(fleet);
    }
}

/* Noise of 5 to 25% of every pair, the same in both directions, as kernels on busy cores have it.
 */
static void noise_of_pairs_is_no_cut(void **state)
{
    (void)state;
    static const int sizes[] = {5, 6, 8, 13, 64};
    uint64_t random = 11;
    int alarms = 0, runs = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int run = 0; run < 2 * RUNS; run++, runs++) {
            int side[64];
            struct simulated f;
            simulated_create(&f, sizes[s], 1, random_next(&random));
            fleet_measure(&f, NULL, 0, (uint64_t)run);
            double noise = 0.05 + 0.05 * (run % 5), factor = 1;
            for (size_t i = 0; i < f.count; i++) {
                if (f.readings[i].metric == METRIC_LATENCY) /* the first of a pair */
                    factor = exp(noise * simulated_normal(&random));
                f.readings[i].value *= factor;
            }
            alarms += is_cut(&f, NULL, 1, noise, side);
            simulated_free(&f);
        }
    print_message("%d of %d noisy fleets seem to be cut\n", alarms, runs);
    assert_true(alarms <= 0.01 * runs);
}

#define SPLITS 6 /* as many as the stage halves has of what seems congested */

/* Pairs that exchange all at once, with a capacity, in pairs, between two parts. Returns how many.
 */
static size_t halves_exchange(int hosts, const int *part, double capacity, uint64_t *random,
                              struct exchange_transfer *transfers)
{
    struct host_pair pairs[32];
    bool present[64];
    size_t count = 0;
    struct rounds *plan = rounds_plan(hosts, SPLITS, random_next(random));
    memset(present, true, sizeof present);
    for (int split = 0; split < SPLITS; split++) {
        int across = 0, n = rounds_pairs(plan, split, present, pairs);
        for (int i = 0; i < n; i++)
            across += part[pairs[i].a] != part[pairs[i].b];
        for (int i = 0; i < n; i++) {
            int a = pairs[i].a, b = pairs[i].b;
            double share = part[a] != part[b] ? fmin(1, capacity / across) : 1;
            transfers[count++] =
                (struct exchange_transfer){.from = a,
                                           .to = b,
                                           .few = exp(0.04 * simulated_normal(random)),
                                           .many = share * exp(0.04 * simulated_normal(random))};
        }
    }
    rounds_free(plan);
    return count;
}

/* Halves show them where each pair alone has all of the network between them. */
static void parts_show_where_many_exchange(void **state)
{
    (void)state;
    static const int sizes[] = {8, 13, 32, 64};
    struct exchange_transfer transfers[SPLITS * 32];
    uint64_t random = 17;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int found = 0, hosts = sizes[s], part[64], side[64];
        for (int run = 0; run < RUNS; run++) {
            parts_draw(hosts, &random, part);
            int size = 0;
            for (int h = 0; h < hosts; h++)
                size += part[h];
            double usual = size * (hosts - size) / (hosts - 1.0); /* of the pairs cross */
            double capacity = (0.2 + 0.1 * (run % 6)) * usual;
            size_t count = halves_exchange(hosts, part, capacity, &random, transfers);
            int apart = 0;
            bool right = cut_of_transfers(transfers, count, hosts, 1, side);
            for (int h = 0; h < hosts; h++)
                apart += side[h] != part[h];
            apart = 2 * apart > hosts ? hosts - apart : apart;
            found += right && apart <= hosts / 10;
        }
        print_message("%d hosts: %d of %d cuts found by halves\n", hosts, found, RUNS);
        assert_true(found >= 0.8 * RUNS);
    }
}

/* The readings of these pairs: two that are measured at once share a way, unless `apart`. */
static void pairs_share(struct simulated *f, const struct host_pair *pairs, int count, bool apart)
{
    for (int i = 0; i < count; i++) {
        size_t first = f->count;
        simulated_pair(f, pairs[i].a, pairs[i].b, RAILS_ALL);
        for (size_t k = first; k < f->count && count == 2 && !apart; k++)
            if (f->readings[k].metric == METRIC_ALONE || f->readings[k].metric == METRIC_BOTH)
                f->readings[k].value /= 2;
    }
}

/* Is it a bandwidth one way of the link between two hosts? */
static bool is_of_link(const struct reading *reading, int low, int high)
{
    return reading->metric == METRIC_ALONE && reading->from + reading->to == low + high &&
           (reading->from == low || reading->to == low);
}

#define LINK_HOSTS_MOST 24

/* Hosts of which some links are slow. */
struct links_isolated {
    int hosts;
    struct simulated f;
    struct fleet *fleet;
    struct isolation *isolation;
    bool present[LINK_HOSTS_MOST];
    struct host_pair pairs[LINK_HOSTS_MOST / 2];
};

static void links_open(struct links_isolated *links, int hosts)
{
    *links = (struct links_isolated){.hosts = hosts};
    simulated_create(&links->f, hosts, 1, 1);
    memset(links->present, true, sizeof links->present);
}

/* All pairs, each round as if its pairs shared nothing. */
static void links_measure(struct links_isolated *links)
{
    int count = rounds_enough(links->hosts);
    struct rounds *plan = rounds_plan(links->hosts, count, 1);
    for (int r = 0; r < count; r++)
        pairs_share(&links->f, links->pairs, rounds_pairs(plan, r, links->present, links->pairs),
                    true);
    rounds_free(plan);
}

static void links_isolate(struct links_isolated *links)
{
    const struct fleet_config config = {.hosts = links->hosts, .rails = 1};
    const struct references references = references_default();
    const struct simulated *f = &links->f;
    links->fleet = fleet_create(&config, f->readings, f->count);
    links->isolation = isolation_create(links->fleet, &references, f->readings, f->count, 1);
}

/* The pairs of the next round; 0: it is done. */
static int links_next(struct links_isolated *links)
{
    uint64_t rails;
    links->f.count = 0;
    return isolation_pairs(links->isolation, links->present, links->pairs, &rails);
}

/* So many links are found, and nothing else. */
static void links_close(struct links_isolated *links, int expected)
{
    struct fleet_faults *found = fleet_faults_find(links->isolation);
    assert_int_equal(found->count, expected);
    for (int i = 0; i < expected; i++)
        assert_int_equal(found->items[i].place, PLACE_LINK);
    fleet_faults_free(found);
    isolation_free(links->isolation);
    fleet_free(links->fleet);
    simulated_free(&links->f);
}

/* Where no switches are known, links that seem slow are measured alone at last. Links that are slow
 * are still found. */
static void links_that_share_a_way_are_no_faults(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct links_isolated links;
        links_open(&links, 8);
        for (int i = 0; i < 2 * slow; i++)
            simulated_seed(&links.f, SEEDED_LINK, 4 * i, 4 * i + 2);
        links_measure(&links);
        for (size_t i = 0; i < links.f.count && !slow; i++)
            if (is_of_link(&links.f.readings[i], 0, 2) || is_of_link(&links.f.readings[i], 4, 6))
                links.f.readings[i].value /= 2;
        links_isolate(&links);
        for (int n; (n = links_next(&links)) > 0;) {
            pairs_share(&links.f, links.pairs, n, slow);
            isolation_add(links.isolation, links.f.readings, links.f.count);
        }
        assert_int_equal(links.isolation->lone_count, 2);
        links_close(&links, 2 * slow);
    }
}

/* Measures a pair; `slow`: with half of its bandwidths. */
static void link_measure(struct simulated *f, struct host_pair pair, bool slow)
{
    size_t first = f->count;
    simulated_pair(f, pair.a, pair.b, RAILS_ALL);
    for (size_t k = first; k < f->count && slow; k++)
        if (f->readings[k].metric == METRIC_ALONE || f->readings[k].metric == METRIC_BOTH)
            f->readings[k].value /= 2;
}

/* All pairs; `slow` ones of the first round are slow, and `peers` has their other ends. */
static void slow_links_measure(struct links_isolated *links, int slow, int *peers)
{
    int rounds = rounds_enough(links->hosts);
    struct rounds *plan = rounds_plan(links->hosts, rounds, 1);
    for (int h = 0; h < links->hosts; h++)
        peers[h] = -1;
    for (int r = 0; r < rounds; r++) {
        int count = rounds_pairs(plan, r, links->present, links->pairs);
        for (int i = 0; i < count; i++) {
            struct host_pair pair = links->pairs[i];
            link_measure(&links->f, pair, r == 0 && i < slow);
            if (r == 0 && i < slow) {
                peers[pair.a] = pair.b;
                peers[pair.b] = pair.a;
            }
        }
    }
    rounds_free(plan);
}

/* Ten links share a way, of which some are slow alone, too. Eight are measured alone. Where most of
 * these are good, the other two are; those that are slow alone stay faults. */
static void links_that_are_not_measured_alone_are_as_most(void **state)
{
    (void)state;
    enum { LINKS = 10, ALONE = 8 };
    static const struct {
        int slow, found;
    } cases[] = {{0, 0}, {1, 1}, {3, 3}, {4, 4 + LINKS - ALONE}, {8, LINKS}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct links_isolated links;
        int peers[LINK_HOSTS_MOST], lonely = 0;
        links_open(&links, LINK_HOSTS_MOST);
        slow_links_measure(&links, LINKS, peers);
        links_isolate(&links);
        for (int n; (n = links_next(&links)) > 0;) {
            bool alone = links.isolation->lone;
            assert_true(n == 1 || !alone);
            lonely += alone;
            for (int i = 0; i < n; i++)
                link_measure(&links.f, links.pairs[i],
                             peers[links.pairs[i].a] == links.pairs[i].b &&
                                 (!alone || lonely <= cases[c].slow));
            isolation_add(links.isolation, links.f.readings, links.f.count);
        }
        assert_int_equal(lonely, ALONE);
        links_close(&links, cases[c].found);
    }
}

/* The first link that is measured alone has no reading, or only ones of jobs that failed: it has no
 * further round and stays a fault, while the other is cleared. */
static void a_link_without_a_reading_alone_is_not_cleared(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        struct links_isolated links;
        int peers[LINK_HOSTS_MOST], rounds[LINK_HOSTS_MOST] = {0}, first = -1;
        links_open(&links, LINK_HOSTS_MOST);
        slow_links_measure(&links, 2, peers);
        links_isolate(&links);
        for (int n; (n = links_next(&links)) > 0;) {
            bool alone = links.isolation->lone;
            for (int i = 0; i < n; i++)
                link_measure(&links.f, links.pairs[i],
                             !alone && peers[links.pairs[i].a] == links.pairs[i].b);
            int low = links.pairs[0].a < links.pairs[0].b ? links.pairs[0].a : links.pairs[0].b;
            first = alone && first < 0 ? low : first;
            bool lacks = alone && low == first;
            if (alone)
                assert_in_range(++rounds[low], 1,
                                lacks && !failed ? 4 : 1); /* metrics, directions */
            for (size_t k = 0; k < links.f.count && lacks; k++)
                links.f.readings[k].outcome = READING_LOST;
            isolation_add(links.isolation, links.f.readings, lacks && !failed ? 0 : links.f.count);
        }
        assert_true(first >= 0);
        links_close(&links, 1);
    }
}

/* The latency of a link is high, and its bandwidth low where others share its way. What the link
 * does alone clears the bandwidth, and not the latency. */
static void a_link_alone_tells_its_bandwidth(void **state)
{
    (void)state;
    struct links_isolated links;
    links_open(&links, 8);
    links_measure(&links);
    for (size_t i = 0; i < links.f.count; i++) {
        struct reading *r = &links.f.readings[i];
        if (r->from + r->to == 2 && r->from != r->to)
            r->value *= r->metric == METRIC_LATENCY ? 2 : is_of_link(r, 0, 2) ? 0.5 : 1;
    }
    links_isolate(&links);
    int lonely = 0;
    for (int n, rounds = 0; (n = links_next(&links)) > 0; rounds++) {
        bool alone = links.isolation->lone;
        assert_in_range(rounds, 0, 99);
        lonely += alone;
        for (int i = 0; i < n; i++) {
            size_t first = links.f.count;
            bool slow = links.pairs[i].a + links.pairs[i].b == 2;
            link_measure(&links.f, links.pairs[i], slow && !alone);
            for (size_t k = first; k < links.f.count && slow && !alone; k++)
                if (links.f.readings[k].metric == METRIC_LATENCY)
                    links.f.readings[k].value *= 2;
        }
        isolation_add(links.isolation, links.f.readings, links.f.count);
    }
    assert_int_equal(lonely, 1);
    links_close(&links, 1);
}

/* Two links are slow when they share their way, and one loses an end once it is confirmed. */
static void a_link_of_a_lost_host_is_not_measured_alone(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++) {
        struct links_isolated links;
        int peers[LINK_HOSTS_MOST], rounds = 0, lonely = 0;
        links_open(&links, 8);
        slow_links_measure(&links, 2, peers);
        links_isolate(&links);
        const struct suspect *first = links.isolation->suspects;
        int lost = end ? first->peer : first->host;
        assert_true(first->peer >= 0);
        for (int n; (n = links_next(&links)) > 0; rounds++) {
            assert_in_range(rounds, 0, 99);
            lonely += links.isolation->lone != NULL;
            for (int i = 0; i < n; i++) {
                struct host_pair pair = links.pairs[i];
                assert_true(links.present[pair.a] && links.present[pair.b]);
                link_measure(&links.f, pair, peers[pair.a] == pair.b);
            }
            isolation_add(links.isolation, links.f.readings, links.f.count);
            links.present[lost] &= first->state == SUSPECT_OPEN;
        }
        assert_false(links.present[lost]);
        assert_int_equal(lonely, 1);
        links_close(&links, 2);
    }
}

/* The link of hosts 0 and 1, as it is suspected and in the rounds in which it is measured. */
struct now_and_then {
    double share;       /* that it has of its bandwidth */
    int every;          /* in the first round, and in one of so many */
    int bad_alone;      /* in so many rounds in which it is alone; -1: as in the others */
    double noise;       /* of all bandwidths, besides that of the simulation */
    int faults, lonely; /* expected: faults, and links that are measured alone */
};

static void now_and_then_apply(struct links_isolated *links, const struct now_and_then *link,
                               bool slow)
{
    for (size_t i = 0; i < links->f.count; i++) {
        struct reading *r = &links->f.readings[i];
        if (r->metric != METRIC_ALONE && r->metric != METRIC_BOTH)
            continue;
        r->value *= exp(link->noise * simulated_normal(&links->f.random));
        if (slow && is_of_link(r, 0, 1))
            r->value *= link->share;
    }
}

static void link_slow_now_and_then(const struct now_and_then *link)
{
    struct links_isolated links;
    links_open(&links, 8);
    links_measure(&links);
    now_and_then_apply(&links, link, true);
    links_isolate(&links);
    int met = 0, alone = 0;
    for (int n; (n = links_next(&links)) > 0;) {
        bool is_alone = links.isolation->lone && link->bad_alone >= 0;
        pairs_share(&links.f, links.pairs, n, true);
        met += links.pairs[0].a + links.pairs[0].b == 1;
        alone += is_alone;
        now_and_then_apply(&links, link,
                           is_alone ? alone <= link->bad_alone : (met - 1) % link->every == 0);
        isolation_add(links.isolation, links.f.readings, links.f.count);
    }
    assert_true(met >= 2);
    assert_int_equal(links.isolation->lone_count, link->lonely);
    links_close(&links, link->faults);
}

/* A link that is slow now and then is a fault where its mean is slow: that of the times, to which a
 * few readings of a tenth add most. One that is so by a little more than its limit is none: its
 * ends are busy. Nor is one whose mean is good alone. */
static void a_link_that_is_slow_now_and_then_is_judged_by_its_mean(void **state)
{
    (void)state;
    static const struct now_and_then cases[] = {
        {.share = 0.5, .every = 2, .bad_alone = -1, .faults = 1, .lonely = 1},
        {.share = 0.1, .every = 2, .bad_alone = 1, .noise = 0.1, .faults = 1, .lonely = 1},
        {.share = 0.85, .every = 2, .bad_alone = -1},
        {.share = 0.78, .every = 2, .bad_alone = 1, .lonely = 1},
        {.share = 0.78, .every = 2, .bad_alone = 2, .faults = 1, .lonely = 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        link_slow_now_and_then(&cases[i]);
}

/* No reading at all, or none of a bandwidth. */
static void nothing_that_was_measured_is_no_cut(void **state)
{
    (void)state;
    int side[8];
    const struct fleet_config config = {.hosts = 8, .rails = 1};
    struct reading latency = {.to = 1, .metric = METRIC_LATENCY, .value = 2};
    struct fleet *fleet = fleet_create(&config, &latency, 1);
    assert_false(cut_find(fleet, NULL, 0, 0, 1, side));
    assert_false(cut_find(fleet, &latency, 1, 0, 1, side));
    fleet_free(fleet);
}

static struct reason limit_of(const double *given, size_t hosts)
{
    double seconds[16];
    for (size_t h = 0; h < hosts; h++)
        seconds[h] = given[h];
    return gaps_limit(seconds, hosts, 0.4, 2 * (double)hosts, FALSE_ALARMS);
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* The deviation is 1.4826 * b * MAD, b = n / (n - 0.8) from 10 values on; the factor of 2 * 10
 * values is ln(20 / 0.02) / 1.0277 (base/stats/stats.h). */
static void gaps_are_compared_with_those_of_the_fleet(void **state)
{
    (void)state;
    assert_near(limit_of((double[]){0, 0, 0, 0, 6, 0, 0, 0}, 8).threshold, 0.4);
    assert_near(limit_of((double[]){2, 2, 2, 2, 2, 2, 9, 2}, 8).threshold, 4); /* all stand still */
    struct reason limit = limit_of((double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 30}, 10);
    assert_near(limit.median, 5.5);
    assert_true(fabs(limit.threshold - 5.5 - log(20 / 0.02) / 1.0277 * 1.4826 * 10 / 9.2 * 2.5) <
                0.01);
    assert_near(limit_of((double[]){3, 0.1}, 2).threshold, 0.5); /* few: the least */
    assert_near(limit_of((double[]){3, 1, 2}, 3).threshold, 2);
    assert_near(limit_of((double[]){3}, 1).threshold, 0.4);
    assert_near(limit_of(NULL, 0).threshold, 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_parts_of_a_fleet_are_found),
        cmocka_unit_test(a_whole_fleet_has_no_cut),
        cmocka_unit_test(a_slight_difference_is_no_cut),
        cmocka_unit_test(noise_of_pairs_is_no_cut),
        cmocka_unit_test(hosts_that_become_slow_are_no_part),
        cmocka_unit_test(parts_show_where_many_exchange),
        cmocka_unit_test(a_cut_takes_a_tenth),
        cmocka_unit_test(failures_hide_no_cut),
        cmocka_unit_test(links_that_share_a_way_are_no_faults),
        cmocka_unit_test(a_link_of_a_lost_host_is_not_measured_alone),
        cmocka_unit_test(a_link_alone_tells_its_bandwidth),
        cmocka_unit_test(links_that_are_not_measured_alone_are_as_most),
        cmocka_unit_test(a_link_without_a_reading_alone_is_not_cleared),
        cmocka_unit_test(a_link_that_is_slow_now_and_then_is_judged_by_its_mean),
        cmocka_unit_test(nothing_that_was_measured_is_no_cut),
        cmocka_unit_test(gaps_are_compared_with_those_of_the_fleet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

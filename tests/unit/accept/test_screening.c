/*
 * test_screening.c - screening of fleets without noise, where what follows is known: places, the
 * references, small fleets, and the sentences.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "accept/judge/internal.h"
#include "tests/unit/quiet_fleet.h"

static void test_places(void **state)
{
    (void)state;
    static const struct {
        struct seeded fault;
        const char *sentence;
    } cases[] = {
        {{.kind = SEEDED_HOST, .host = 3, .factor = 0.5, .peer = -1},
         "n3: sends and receives at 5.90 GB/s, " BESIDE "confirmed with n0 and n4"},
        {{.kind = SEEDED_SEND, .host = 3, .factor = 0.5, .peer = -1},
         "n3: sends at 5.90 GB/s, " BESIDE "confirmed with n0 and n4"},
        {{.kind = SEEDED_RECEIVE, .host = 3, .factor = 0.5, .peer = -1},
         "n3: receives at 5.90 GB/s, " BESIDE "confirmed with n0 and n4"},
        {{.kind = SEEDED_NIC, .host = 3, .factor = 0.5, .rail = 1, .peer = -1},
         "n3: rail 1 sends and receives at 5.90 GB/s, " BESIDE "confirmed with n0 and n4"},
        {{.kind = SEEDED_LINK, .host = 3, .factor = 0.5, .peer = 6},
         "link n3-n6: each sends to the other at 5.90 GB/s, " BESIDE
         "confirmed in 2 of 2 measurements"},
        {{.kind = SEEDED_ONE_WAY, .host = 6, .factor = 0.5, .peer = 3},
         "link n6-n3: n6 sends to n3 at 5.90 GB/s, " BESIDE "confirmed in 2 of 2 measurements"},
        {{.kind = SEEDED_DUPLEX, .host = 3, .factor = 0.5, .peer = -1},
         "n3: sends and receives at once at 5.90 GB/s, " BESIDE "confirmed with n0 and n4"},
        {{.kind = SEEDED_LATENCY, .host = 3, .factor = 0.5, .peer = -1},
         "n3: latency 4.00 us, the fleet's median is 2.00 (spread 0, threshold 2.50): confirmed "
         "with n0, n4 and n1"},
        {{.kind = SEEDED_LOSSY, .host = 3, .factor = 0.5, .lost = 2, .peer = -1},
         "n3: loses packets: 2% are sent again, " NONE_BESIDE "confirmed with n0 and n4"},
        /* lost on all rails, which explains why one is slow */
        {{.kind = SEEDED_LOSSY, .host = 3, .factor = 0.5, .lost = 2, .slow_rail = true, .peer = -1},
         "n3: loses packets: 2% are sent again, " NONE_BESIDE "confirmed with n0 and n4"},
        {{.kind = SEEDED_LOSSY_SEND, .host = 3, .factor = 0.5, .lost = 2, .peer = -1},
         "n3: loses packets that it sends: 2% are sent again, " NONE_BESIDE
         "confirmed with n0 and n4"},
        {{.kind = SEEDED_LOSSY_LINK, .host = 3, .factor = 0.5, .lost = 0.5, .peer = 6},
         "link n3-n6: loses packets: 0.5% are sent again, " NONE_BESIDE
         "confirmed in 2 of 2 measurements"},
        {{.kind = SEEDED_LOSSY_WAY, .host = 6, .factor = 0.9, .lost = 0.5, .peer = 3},
         "link n6-n3: loses packets from n6 to n3: 0.5% are sent again, " NONE_BESIDE
         "confirmed in 2 of 2 measurements"},
        {{.kind = SEEDED_WRONG, .host = 3, .factor = 1, .peer = -1},
         "n3: sends wrong data: confirmed with n6, n5, n1 and others"},
        {{.kind = SEEDED_LOST, .host = 3, .factor = 1, .often = 3, .peer = -1},
         "n3: a worker was lost: confirmed with n6, n5, n1 and others"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct simulated f;
        fleet_quiet(&f, 8, 2);
        make_fault(&f, cases[i].fault);
        check_one(&f, cases[i].sentence);
    }
}

/* Wrong data comes first, and a host beside it is not blamed. */
static void test_two(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 8, 1);
    make_fault(&f, (struct seeded){.kind = SEEDED_SEND, .host = 1, .factor = 0.5, .peer = -1});
    make_fault(&f, (struct seeded){.kind = SEEDED_WRONG, .host = 5, .factor = 1, .peer = -1});
    struct screened screened = screen(&f);
    assert_int_equal(screened.found->count, 2);
    assert_int_equal(screened.found->items[0].worst->outcome, READING_WRONG);
    assert_int_equal(screened.found->items[0].host, 5);
    assert_int_equal(screened.found->items[1].kind, FLEET_FAULT_SLOW);
    assert_int_equal(screened.found->items[1].host, 1);
    for (int h = 0; h < 8; h++)
        assert_int_equal(screened_health(&screened, h),
                         h == 1 || h == 5 ? HEALTH_BAD : HEALTH_GOOD);
    screened_free(&screened);
    simulated_free(&f);
}

/* Packets that are lost on one rail do not explain why all are slow. */
static void test_loss_of_a_rail(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 8, 2);
    make_fault(&f, (struct seeded){.kind = SEEDED_LOSSY,
                                   .host = 3,
                                   .factor = 0.5,
                                   .lost = 2,
                                   .rail = 1,
                                   .one_rail = true,
                                   .peer = -1});
    struct screened screened = screen(&f);
    assert_int_equal(screened.found->count, 2);
    for (int i = 0; i < 2; i++) {
        const struct fleet_fault *found = &screened.found->items[i];
        assert_int_equal(found->host, 3);
        assert_int_equal(found->rail, found->kind == FLEET_FAULT_LOSS ? 1 : -1);
    }
    assert_int_not_equal(screened.found->items[0].kind, screened.found->items[1].kind);
    screened_free(&screened);
    simulated_free(&f);
}

/* A faulty host can be told from the others from 3 hosts on. */
static void test_small_fleets(void **state)
{
    (void)state;
    static const enum seeded_kind kinds[] = {SEEDED_HOST, SEEDED_LINK, SEEDED_LOST};
    for (int hosts = 2; hosts <= 5; hosts++)
        for (int k = 0; k < 3; k++) {
            struct simulated f;
            fleet_quiet(&f, hosts, 1);
            bool link = kinds[k] == SEEDED_LINK;
            make_fault(
                &f,
                (struct seeded){
                    .kind = kinds[k], .host = 0, .peer = link ? 1 : -1, .factor = 0.5, .often = 3});
            struct screened screened = screen(&f);
            const struct fleet_fault *found = screened.found->items;
            bool seen = hosts > 2 || kinds[k] == SEEDED_LOST; /* 2 slow hosts are equal */
            assert_int_equal(screened.found->count, seen);
            if (hosts == 2) /* there is no good partner to ask */
                assert_in_range(screened.rounds, 0, 1);
            if (seen) {
                assert_int_equal(found->place, hosts == 2 ? PLACE_EITHER
                                               : link     ? PLACE_LINK
                                                          : PLACE_HOST);
                assert_int_equal(found->host, 0);
                assert_int_equal(screened_health(&screened, 0),
                                 hosts == 2 || link ? HEALTH_SUSPECT : HEALTH_BAD);
                assert_true(found->confirmed);
            }
            screened_free(&screened);
            simulated_free(&f);
        }
    assert_non_null(fleet_size_remark(1));
    assert_non_null(fleet_size_remark(3));
    assert_null(fleet_size_remark(4));
}

/* Two hosts of a small switch are far from all others: their latency is no fault. */
static void test_switches(void **state)
{
    (void)state;
    static const int switches[] = {0, 0, 0, 0, 0, 0, 1, 1};
    for (int known = 0; known < 2; known++) {
        struct simulated f;
        fleet_quiet(&f, 8, 1);
        f.switches = switches;
        struct rounds *plan = rounds_plan(8, 7, 1);
        struct references references = references_default();
        struct screened screened = simulated_screen(&f, plan, 7, &references, 1);
        assert_int_equal(screened.found->count, 0);
        screened_free(&screened);
        simulated_free(&f);
        rounds_free(plan);
    }
}

/* The bandwidth of a host alone on its switch is compared with all others, since it would be its
 * own reference. What is far has a higher latency, which is no fault. */
static void test_alone_on_switch(void **state)
{
    (void)state;
    static const int alone[] = {0, 0, 0, 0, 0, 0, 0, 1}, halves[] = {0, 0, 0, 0, 1, 1, 1, 1};
    struct simulated f;
    struct rounds *plan = rounds_plan(8, 7, 1);
    struct references references = references_default();
    fleet_quiet(&f, 8, 1);
    make_fault(&f, (struct seeded){.kind = SEEDED_HOST, .host = 7, .factor = 0.5, .peer = -1});
    f.switches = alone;
    struct screened screened = simulated_screen(&f, plan, 7, &references, 1);
    assert_int_equal(screened_health(&screened, 7), HEALTH_BAD);
    assert_int_equal(screened.found->count, 1);
    assert_true(fleet_distance_median(screened.fleet, METRIC_ALONE, 0, DISTANCE_NEAR) == 0);
    assert_true(fleet_distance_median(screened.fleet, METRIC_LATENCY, 0, DISTANCE_NEAR) ==
                LATENCY / 2);
    screened_free(&screened);
    f.switches = halves;
    screened = simulated_screen(&f, plan, 7, &references, 1);
    assert_int_equal(screened_health(&screened, 7), HEALTH_BAD);
    assert_int_equal(screened.found->count, 1);
    assert_true(fleet_distance_median(screened.fleet, METRIC_LATENCY, 0, DISTANCE_NEAR) ==
                LATENCY / 2);
    assert_true(fleet_distance_median(screened.fleet, METRIC_LATENCY, 0, DISTANCE_FAR) == LATENCY);
    int series = fleet_find(screened.fleet, METRIC_LATENCY, 0, DIRECTION_SEND);
    assert_true(fleet_link_value(screened.fleet, series, 0, 1, 0) == LATENCY / 2);
    assert_true(fleet_link_value(screened.fleet, series, 0, 5, 0) == LATENCY);
    screened_free(&screened);
    simulated_free(&f);
    rounds_free(plan);
}

/* All hosts meet twice each way. Two of them are slow, by an excess that differs from reading to
 * reading. */
static struct fleet *fleet_half_slow(int hosts)
{
    static const double steps[] = {0.1, 0.2};
    const struct fleet_config config = {.hosts = hosts, .rails = 1};
    struct reading readings[5 * 4 * 2];
    int seen[2][DIRECTIONS] = {{0}}; /* readings with good hosts */
    size_t count = 0;
    for (int i = 0; i < hosts * hosts * 2; i++) {
        int from = i / 2 / hosts, to = i / 2 % hosts, last = hosts - 2;
        double excess = from < last || to < last ? 0 : 2;
        if (from >= last && to < last)
            excess = 0.7 + steps[from - last] * seen[from - last][DIRECTION_SEND]++;
        if (from < last && to >= last)
            excess = 0.7 + steps[to - last] * seen[to - last][DIRECTION_RECEIVE]++;
        if (from != to)
            readings[count++] = (struct reading){
                .from = from, .to = to, .metric = METRIC_ALONE, .value = 10 * exp(-excess)};
    }
    return fleet_create(&config, readings, count);
}

/* Two good hosts of four have two readings with each other, too few to tell of noise: those of the
 * slow ones with the good ones do. Around 0.8 and 0.9, the lower medians, they lie by 0.1, 0.1 and
 * 0.2, and by 0.2, 0.2 and 0.4: their median is 0.2, and each cell has four. Three good hosts of
 * five have four readings each, without noise. The reference is that of the good ones. */
static void test_noise_of_slow_hosts(void **state)
{
    (void)state;
    for (int hosts = 4; hosts <= 5; hosts++) {
        struct fleet *fleet = fleet_half_slow(hosts);
        double noise = hosts == 4 ? sqrt(M_PI / 2) * 1.4826 * 0.2 / sqrt(4) : 0;
        for (int d = 0; d < DIRECTIONS; d++) {
            int series = fleet_find(fleet, METRIC_ALONE, 0, (enum direction)d);
            assert_true(fabs(fleet->series[series].reference - 10) < 1e-9);
            assert_true(fabs(fleet->series[series].noise - noise) < 1e-4);
            for (int h = 0; h < hosts; h++)
                assert_int_equal(fleet->slow[series * hosts + h], h >= hosts - 2);
        }
        fleet_free(fleet);
    }
}

/* Three readings tell whether a host is slow if there are 16 hosts. Of fewer it takes five. */
static void test_readings_of_slow_hosts(void **state)
{
    (void)state;
    static const struct {
        int hosts, rounds;
        bool told;
    } cases[] = {{14, 3, false}, {16, 3, true}, {14, 5, true}, {14, 4, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        int hosts = cases[c].hosts;
        struct simulated f;
        struct host_pair pairs[8];
        bool present[16];
        memset(present, true, sizeof present);
        fleet_quiet(&f, hosts, 1);
        make_fault(&f, (struct seeded){.kind = SEEDED_HOST, .host = 3, .factor = 0.5, .peer = -1});
        struct rounds *plan = rounds_plan(hosts, cases[c].rounds, 1);
        for (int r = 0; r < cases[c].rounds; r++)
            for (int i = 0, n = rounds_pairs(plan, r, present, pairs); i < n; i++)
                simulated_pair(&f, pairs[i].a, pairs[i].b, RAILS_ALL);
        const struct fleet_config config = {.hosts = hosts, .rails = 1};
        struct fleet *fleet = fleet_create(&config, f.readings, f.count);
        int series = fleet_find(fleet, METRIC_ALONE, 0, DIRECTION_SEND);
        for (int h = 0; h < hosts; h++)
            assert_int_equal(fleet->slow[series * hosts + h], h == 3 && cases[c].told);
        fleet_free(fleet);
        rounds_free(plan);
        simulated_free(&f);
    }
}

/* Pairs of one switch have a median of their own if there are eight of them, and of others, and no
 * host is in more than half of them. */
static void test_medians_of_distances(void **state)
{
    (void)state;
    static const int switches[] = {0, 0, 0, 0, 0, 1, 2, 3, 4, 5};
    static const int near[][2] = {{0, 1}, {2, 0}, {0, 3}, {4, 0}, {1, 2},
                                  {2, 3}, {3, 4}, {4, 1}, {0, 2}};
    static const int far[][2] = {{0, 5}, {6, 1}, {2, 7}, {8, 3}, {4, 9}, {5, 1}, {2, 6}, {7, 3}};
    static const struct {
        int first, end, far; /* of these */
        bool apart;
    } cases[] = {{0, 8, 8, true},                    /* host 0 is in half of them */
                 {0, 8, 8, true},  {0, 9, 8, false}, /* in five of nine, */
                 {1, 9, 8, true},                    /* and four of eight */
                 {1, 8, 8, false},                   /* seven */
                 {0, 8, 7, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int rail = (int)c % 2;
        const struct fleet_config config = {.hosts = 10, .rails = 2, .switches = switches};
        struct reading readings[sizeof near / sizeof *near + sizeof far / sizeof *far];
        size_t count = 0;
        for (int i = cases[c].first; i < cases[c].end; i++)
            readings[count++] = (struct reading){.from = near[i][0],
                                                 .to = near[i][1],
                                                 .rail = rail,
                                                 .metric = METRIC_ALONE,
                                                 .value = 10};
        for (int i = 0; i < cases[c].far; i++)
            readings[count++] = (struct reading){.from = far[i][0],
                                                 .to = far[i][1],
                                                 .rail = rail,
                                                 .metric = METRIC_ALONE,
                                                 .value = 5};
        struct fleet *fleet = fleet_create(&config, readings, count);
        for (int d = 0; d < DISTANCE_KINDS; d++)
            for (int r = 0; r < 2; r++)
                assert_true(fleet_distance_median(fleet, METRIC_ALONE, r, (enum distance)d) ==
                            (!cases[c].apart || r != rail ? 0
                             : d == DISTANCE_NEAR         ? 10
                                                          : 5));
        fleet_free(fleet);
    }
}

/* References. */

static void check_note_words(const struct fleet *fleet, const struct fleet_note *note,
                             const char *expected)
{
    char line[300];
    struct text text = text_in(line, sizeof line);
    fleet_note_put(note, fleet, &(struct fleet_names){.hosts = quiet_names}, &text);
    assert_string_equal(line, expected);
}

/* A threshold is named by its reference. That of the other rails depends on the metric. */
static void test_words_of_notes(void **state)
{
    (void)state;
    static const struct {
        enum metric metric;
        enum reference reference;
        const char *words;
    } cases[] = {
        {METRIC_LATENCY, REFERENCE_RAILS,
         "latency of rail 1 is 2.00 us; the threshold by the other rails (15% worse) is 3.00 us"},
        {METRIC_ALONE, REFERENCE_RATE,
         "bandwidth one way of rail 1 (sent) is 2.00 GB/s; 70% of the link's rate is 3.00 GB/s"},
        {METRIC_BOTH, REFERENCE_EARLIER,
         "bandwidth in both directions at once of rail 1 (sent) is 2.00 GB/s; the threshold by the "
         "earlier run is 3.00 GB/s"},
        {METRIC_LOSS, REFERENCE_PROFILE,
         "loss of packets of rail 1 (sent) is 2.00 %; the threshold by the profile is 3.00 %"},
        {METRIC_LOSS, REFERENCE_RAILS,
         "loss of packets of rail 1 (sent) is 2.00 %; the threshold by the other rails (twice "
         "their loss, and 0.1%) is 3.00 %"},
    };
    const struct fleet_config config = {.hosts = 2, .rails = 2};
    struct fleet *fleet = fleet_create(&config, NULL, 0);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char line[300];
        int series = fleet_find(fleet, cases[c].metric, 1, DIRECTION_SEND);
        const struct fleet_note note = {
            .reference = cases[c].reference, .series = series, .value = 2, .threshold = 3};
        snprintf(line, sizeof line, "all hosts: the median of their %s", cases[c].words);
        check_note_words(fleet, &note, line);
    }
    fleet_free(fleet);
}

static void check_note(const struct screened *screened, enum reference reference, int findings)
{
    assert_true(screened->isolation->limits->note_count > 0);
    assert_int_equal(screened->isolation->limits->notes[0].reference, reference);
    assert_int_equal(screened->found->count, findings);
}

static void test_references(void **state)
{
    (void)state;
    struct references references = references_default();
    struct simulated f;
    /* Hosts that differ so much that 0.67 of the rate is no outlier. */
    static const double bias[] = {1, 1.2, 0.96, 1.3, 0.94, 1.1, 0.9, 0.67};
    fleet_quiet(&f, 8, 1);
    for (int h = 0; h < 8; h++) {
        f.bias[h][0] = bias[h];
        f.bias[h][1] = 2; /* the sender decides */
    }
    struct screened screened = screen(&f);
    assert_int_equal(screened.found->count, 0);
    screened_free(&screened);
    double rate = BANDWIDTH;
    references.rates = &rate;
    screened = screen_with(&f, &references);
    assert_int_equal(screened.found->count, 1);
    assert_int_equal(screened.found->items[0].host, 7);
    assert_int_equal(screened.found->items[0].reason.reference, REFERENCE_RATE);
    assert_int_equal(screened.isolation->limits->note_count, 0);
    screened_free(&screened);
    rate = 2 * BANDWIDTH; /* the whole fleet misses it */
    screened = screen_with(&f, &references);
    check_note(&screened, REFERENCE_RATE, 0);
    screened_free(&screened);
    references.rates = NULL;
    references.asked[METRIC_BOTH] = 0.8 * BANDWIDTH;
    screened = screen_with(&f, &references);
    assert_int_equal(screened.found->count, 1);
    assert_int_equal(screened.found->items[0].reason.reference, REFERENCE_PROFILE);
    screened_free(&screened);
    references.asked[METRIC_BOTH] = 1.5 * BANDWIDTH;
    screened = screen_with(&f, &references);
    check_note(&screened, REFERENCE_PROFILE, 0);
    check_note_words(screened.fleet, &screened.isolation->limits->notes[1],
                     "all hosts: the median of their bandwidth in both directions at once "
                     "(received) is 12.4 GB/s; the threshold by the profile is 17.7 GB/s");
    screened_free(&screened);
    simulated_free(&f);
}

/* A rail that is slower on all hosts is compared with the other one, not with itself. */
static void test_slow_rail(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 8, 2);
    for (int h = 0; h < 8; h++)
        make_fault(&f, (struct seeded){
                           .kind = SEEDED_NIC, .host = h, .peer = -1, .rail = 1, .factor = 0.8});
    struct screened screened = screen(&f);
    int notes = 0;
    for (int i = 0; i < screened.isolation->limits->note_count; i++) {
        const struct fleet_note *note = &screened.isolation->limits->notes[i];
        assert_int_equal(note->reference, REFERENCE_RAILS);
        assert_int_equal(screened.fleet->series[note->series].rail, 1);
        notes++;
    }
    assert_true(notes > 0);
    screened_free(&screened);
    simulated_free(&f);
}

/* It must be slower by 15%, or lose more than 0.1% where the other one loses nothing. */
static void test_rails_threshold(void **state)
{
    (void)state;
    static const struct {
        enum seeded_kind kind;
        double factor, lost;
        const char *words; /* NULL: it has no note */
    } cases[] = {
        {SEEDED_NIC, 0.86, 0, NULL},
        {SEEDED_NIC, 0.84, 0,
         "all hosts: the median of their bandwidth one way of rail 1 (sent) is 9.91 GB/s; the "
         "threshold by the other rails (15% worse) is 10.0 GB/s"},
        {SEEDED_LOSSY, 0.999, 0.09, NULL},
        {SEEDED_LOSSY, 0.999, 0.12,
         "all hosts: the median of their loss of packets of rail 1 (sent) is 0.120 %; the "
         "threshold by the other rails (twice their loss, and 0.1%) is 0.100 %"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulated f;
        fleet_quiet(&f, 8, 2);
        for (int h = 0; h < 8; h++)
            make_fault(&f, (struct seeded){.kind = cases[c].kind,
                                           .host = h,
                                           .peer = -1,
                                           .rail = 1,
                                           .one_rail = true,
                                           .factor = cases[c].factor,
                                           .lost = cases[c].lost});
        struct screened screened = screen(&f);
        const struct limits *limits = screened.isolation->limits;
        assert_int_equal(limits->note_count > 0, cases[c].words != NULL);
        if (cases[c].words)
            check_note_words(screened.fleet, &limits->notes[0], cases[c].words);
        screened_free(&screened);
        simulated_free(&f);
    }
}

/* The references of a run that follows this one of 8 hosts, all of whose pairs are measured. */
static struct references references_to(struct simulated *then)
{
    struct references references = references_default();
    for (int a = 0; a < 8; a++)
        for (int b = a + 1; b < 8; b++)
            simulated_pair(then, a, b, RAILS_ALL);
    references.earlier = then->readings;
    references.earlier_count = then->count;
    return references;
}

static void test_earlier(void **state)
{
    (void)state;
    static const double bias[] = {1, 1.2, 0.96, 1.3, 0.94, 1.1, 0.9, 0.8};
    struct simulated then, now;
    fleet_quiet(&then, 8, 1);
    fleet_quiet(&now, 8, 1);
    for (int h = 0; h < 8; h++) {
        then.bias[h][0] = bias[h];
        then.bias[h][1] = now.bias[h][1] = 2;
        now.bias[h][0] = bias[h] * (h == 3 ? 0.6 : 1);
    }
    struct references references = references_to(&then);
    struct screened screened = screen_with(&now, &references);
    assert_int_equal(screened.found->count, 1);
    assert_int_equal(screened.found->items[0].host, 3);
    assert_int_equal(screened.found->items[0].reason.reference, REFERENCE_EARLIER);
    screened_free(&screened);
    for (int h = 0; h < 8; h++)
        now.bias[h][0] = 0.8 * bias[h];
    screened = screen_with(&now, &references); /* all of it is slower */
    check_note(&screened, REFERENCE_EARLIER, 0);
    const struct fleet_note *note = screened.isolation->limits->notes;
    double median = note->value / 0.8; /* then; a tenth less is not noted */
    assert_true(median > 0.9 * BANDWIDTH && median < 1.1 * BANDWIDTH);
    assert_true(fabs(note->threshold - 0.9 * median) < 1e-9);
    screened_free(&screened);
    simulated_free(&then);
    simulated_free(&now);
}

/* Between two noisy runs a host may change by sqrt(2) times what noise does to one level, and a
 * reading by sqrt(2) times what it does to one reading, where no floor is wider. */
static void test_earlier_noise(void **state)
{
    (void)state;
    struct simulated then, now;
    simulated_create(&then, 8, 1, 5);
    simulated_create(&now, 8, 1, 6);
    memcpy(now.bias, then.bias, 8 * sizeof *now.bias);
    struct references references = references_to(&then);
    references.earlier_floor = 0;
    memset(references.floor, 0, sizeof references.floor);
    struct screened screened = screen_with(&now, &references);
    const struct limits *limits = screened.isolation->limits;
    int cells = 0, readings = 0; /* whose limit is that of the earlier run */
    for (int s = 0; s < limits->fleet->series_count; s++) {
        const struct series *series = &limits->fleet->series[s];
        for (int h = 0; h < 8 && series->metric == METRIC_ALONE; h++) {
            struct excess_limit limit = limits->cell[s * limits->hosts + h];
            double value = fleet_value(limits->earlier, s, fleet_level(limits->earlier, s, h));
            double level = metric_excess(series->metric, value, series->reference);
            double room = limit.excess - level - limits->series[s].changed;
            if (limit.reference != REFERENCE_EARLIER)
                continue;
            assert_true(series->noise > 0);
            assert_true(fabs(room - limits->factor * M_SQRT2 * series->noise) < 1e-12);
            cells++;
        }
    }
    for (size_t i = 0; i < then.count; i++) {
        const struct reading *reading = &then.readings[i];
        const struct series_limit *series = &limits->series[fleet_from(limits->fleet, reading)];
        struct excess_limit limit = limits_reading(limits, reading);
        double room = limit.excess - fleet_excess(limits->fleet, reading) - series->changed;
        if (reading->metric != METRIC_ALONE || limit.reference != REFERENCE_EARLIER)
            continue;
        assert_true(series->deviation > 0);
        assert_true(fabs(room - limits->reading_factor * M_SQRT2 * series->deviation) < 1e-12);
        readings++;
    }
    assert_true(cells > 0 && readings > 0);
    screened_free(&screened);
    simulated_free(&then);
    simulated_free(&now);
}

/* The share of readings that noise makes worse than the limit of a host, or of a link: of a fleet
 * with a slow host, whose readings are left out, and of all but those of one other host. */
static void test_readings_beyond(void **state)
{
    (void)state;
    struct simulated f;
    struct references references = references_default();
    const struct fleet_config config = {.hosts = 8, .rails = 1};
    int beyond_of_hosts = 0, beyond_of_links = 0;
    simulated_create(&f, 8, 1, 3);
    for (int a = 0; a < 8; a++)
        for (int b = a + 1; b < 8; b++)
            simulated_pair(&f, a, b, RAILS_ALL);
    for (size_t i = 0; i < f.count; i++) { /* one in 5 by 40%, and all of host 2 by half */
        double share = f.readings[i].from == 2 || f.readings[i].to == 2 ? 0.5 : i % 5 ? 1 : 0.6;
        f.readings[i].value *= f.readings[i].metric == METRIC_LATENCY ? 1 / share : share;
    }
    struct fleet *fleet = fleet_create(&config, f.readings, f.count);
    struct limits *limits = limits_create(fleet, &references, f.readings, f.count);
    for (int latency = 0; latency < 2; latency++)
        for (int host = -1; host < 8; host++) { /* whose readings count; -1: all */
            int count = 0, beyond = 0, beyond_link = 0;
            for (size_t i = 0; i < f.count; i++) {
                const struct reading *r = &f.readings[i];
                int from = fleet_from(fleet, r), to = fleet_to(fleet, r);
                if ((r->metric == METRIC_LATENCY) != latency ||
                    limits_exceeds(limits, from, r->from) || limits_exceeds(limits, to, r->to) ||
                    (host >= 0 && r->from != host && r->to != host))
                    continue;
                count++;
                beyond += fleet_excess(fleet, r) > limits->cell[from * 8 + r->from].excess;
                beyond_link += fleet_excess(fleet, r) > limits_reading(limits, r).excess;
            }
            const struct healthy_readings *noise = &limits->noise[latency];
            assert_int_equal(host < 0 ? noise->count : noise->count_of[host], count);
            assert_int_equal(host < 0 ? noise->beyond : noise->beyond_of[host], beyond);
            if (host < 0)
                assert_int_equal(noise->beyond_reading, beyond_link);
            beyond_of_hosts += beyond;
            beyond_of_links += beyond_link;
        }
    assert_true(beyond_of_hosts > 0 && beyond_of_links > 0);
    assert_true(limits_share(3, 38) == 0.1 && limits_share(-1, 8) == 0.1);
    limits_free(limits);
    fleet_free(fleet);
    simulated_free(&f);
}

/* The worst median of a series that may be missed is told; what is beyond by a quarter is a
 * suspect. */
static void test_sensitivity(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct simulated f;
        simulated_create(&f, 16, 1, seed);
        struct references references = references_default();
        struct screened screened = screen_with(&f, &references);
        struct sensitivity least = limits_sensitivity(screened.isolation->limits);
        assert_true(least.host[METRIC_ALONE] > 0.04 && least.host[METRIC_ALONE] < 0.2);
        assert_true(least.link[METRIC_ALONE] >= least.host[METRIC_ALONE]);
        assert_true(least.link[METRIC_ALONE] < 0.4);
        assert_true(least.host[METRIC_LATENCY] > 0.25 * LATENCY * 0.5);
        assert_true(least.link[METRIC_LOSS] >= 0.1 - 1e-9 && least.link[METRIC_LOSS] < 1);
        const double missed = least.host[METRIC_ALONE];
        screened_free(&screened);
        for (int beyond = 0; beyond < 2; beyond++) {
            f.bias[5][0] = f.bias[5][1] = 1 - missed * (beyond ? 1.5 : 0.4);
            screened = screen_with(&f, &references);
            assert_int_equal(screened_health(&screened, 5), beyond ? HEALTH_BAD : HEALTH_GOOD);
            screened_free(&screened);
        }
        simulated_free(&f);
    }
}

/* The sensitivity of a run is that of its noisiest rail, be it the first or the last. */
static void test_sensitivity_of_rails(void **state)
{
    (void)state;
    for (int noisy = 0; noisy < 2; noisy++) {
        struct simulated f;
        simulated_create(&f, 16, 2, 1);
        for (int a = 0; a < 16; a++)
            for (int b = a + 1; b < 16; b++)
                simulated_pair(&f, a, b, RAILS_ALL);
        for (size_t i = 0; i < f.count; i++)
            if (f.readings[i].rail == noisy && f.readings[i].metric == METRIC_ALONE)
                f.readings[i].value *= exp(0.1 * simulated_normal(&f.random));
        const struct fleet_config config = {.hosts = 16, .rails = 2};
        struct references references = references_default();
        struct fleet *fleet = fleet_create(&config, f.readings, f.count);
        struct limits *limits = limits_create(fleet, &references, f.readings, f.count);
        struct sensitivity least = limits_sensitivity(limits);
        assert_true(least.link[METRIC_ALONE] > 0.25);
        assert_true(least.link[METRIC_BOTH] < 0.2);
        assert_true(least.host[METRIC_ALONE] > least.host[METRIC_BOTH]);
        limits_free(limits);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* Where half of the latencies are three times as long, by chance, few hosts seem slow. */
static void test_two_modes(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct simulated f;
        int hosts = 4 + (int)(seed % 3) * 2, count = rounds_enough(hosts);
        simulated_create(&f, hosts, 1, seed);
        f.modes = 3;
        struct rounds *plan = rounds_plan(hosts, count, seed);
        struct references references = references_default();
        struct screened screened = simulated_screen(&f, plan, count, &references, seed);
        found += screened.found->count;
        screened_free(&screened);
        rounds_free(plan);
        simulated_free(&f);
    }
    assert_in_range(found, 0, 10); /* 35 where all readings have one noise */
}

/* With few packets in a reading, a low rate is seen by chance alone. */
static void test_sensitivity_of_packets(void **state)
{
    (void)state;
    struct reading readings[12];
    int count = 0;
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++)
            if (a != b) {
                readings[count] = (struct reading){
                    .from = a, .to = b, .metric = METRIC_LOSS, .value = 0, .packets = 90 + count};
                count++;
            }
    const struct fleet_config config = {.hosts = 4, .rails = 1};
    struct fleet *fleet = fleet_create(&config, readings, (size_t)count);
    struct references references = references_default();
    struct limits *limits = limits_create(fleet, &references, readings, (size_t)count);
    struct sensitivity least = limits_sensitivity(limits);
    assert_true(fabs(least.link[METRIC_LOSS] - 100 * LOST_SURE / 95.5) < 1e-9);
    assert_true(isinf(least.host[METRIC_ALONE]) && isinf(least.link[METRIC_LATENCY]));
    limits_free(limits);
    fleet_free(fleet);
}

/* Numbers out of range are left out; a value that is none is a failure. */
static void test_bad_readings(void **state)
{
    (void)state;
    const struct fleet_config config = {.hosts = 3, .rails = 1};
    const struct reading readings[] = {
        {.from = 0, .to = 1, .metric = METRIC_ALONE, .value = 5},
        {.from = 0, .to = 3, .metric = METRIC_ALONE, .value = 1},
        {.from = -1, .to = 2, .metric = METRIC_ALONE, .value = 5},
        {.from = 1, .to = 1, .metric = METRIC_ALONE, .value = 5},
        {.from = 1, .to = 2, .rail = 1, .metric = METRIC_ALONE, .value = 5},
        {.from = 1, .to = 2, .metric = METRICS, .value = 5},
        {.from = 1, .to = 2, .metric = METRIC_ALONE, .value = NAN},
    };
    struct fleet *fleet = fleet_create(&config, readings, sizeof readings / sizeof *readings);
    int sends = fleet_find(fleet, METRIC_ALONE, 0, DIRECTION_SEND);
    assert_true(fleet_level(fleet, sends, 0) == 0); /* of the first reading alone */
    assert_true(fleet_worst(fleet, sends, 0) == 0);
    assert_true(isinf(fleet_level(fleet, sends, 1)));
    assert_true(isnan(fleet_level(fleet, sends, 2)));
    assert_true(fleet_excess(fleet, &readings[6]) == INFINITY);
    fleet_free(fleet);
}

/* The least time of collectives, by the slowest host. */
static void test_slowest(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 8, 1);
    make_fault(&f, (struct seeded){.kind = SEEDED_SEND, .host = 7, .factor = 0.5, .peer = -1});
    struct screened screened = screen(&f);
    bool present[8] = {true, true, true, true, true, true, true, true};
    double rate;
    assert_int_equal(exchange_slowest(screened.fleet, present, &rate), 7);
    assert_true(fabs(rate - BANDWIDTH / 2) < 1e-6);
    present[7] = false;
    assert_int_not_equal(exchange_slowest(screened.fleet, present, &rate), 7);
    /* 2 * 7 / 8 of 8e9 bytes at 7 GB/s are 2 s; 4 ranks * 1e9 * 7 / 8 at 7 GB/s half a second. */
    assert_true(fabs(allreduce_least_us(8, 8e9, 7) - 2e6) < 1);
    assert_true(fabs(alltoall_least_us(8, 4, 1e9, 7) - 5e5) < 1);
    screened_free(&screened);
    simulated_free(&f);
}

/* Every pair of 4,096 hosts fails: the time of the judgement grows with the readings, and not with
 * their square, which took seconds. */
static void test_all_failing(void **state)
{
    enum { ALL = 4096, WAYS = 2 };
    int count = rounds_enough(ALL);
    struct rounds *plan = rounds_plan(ALL, count, 1);
    struct reading *readings = calloc((size_t)count * ALL / 2 * WAYS, sizeof *readings);
    struct host_pair *pairs = calloc(ALL / 2, sizeof *pairs);
    bool *present = malloc(ALL);
    size_t filled = 0;
    (void)state;
    assert_true(plan && readings && pairs && present);
    memset(present, true, ALL);
    for (int r = 0; r < count; r++)
        for (int i = 0, met = rounds_pairs(plan, r, present, pairs); i < met; i++)
            for (int way = 0; way < WAYS; way++)
                readings[filled++] = (struct reading){.from = way ? pairs[i].b : pairs[i].a,
                                                      .to = way ? pairs[i].a : pairs[i].b,
                                                      .metric = METRIC_ALONE,
                                                      .outcome = READING_ERROR};
    const struct fleet_config config = {.hosts = ALL, .rails = 1};
    const struct references references = references_default();
    struct fleet *fleet = fleet_create(&config, readings, filled);
    clock_t began = clock();
    struct isolation *isolation = isolation_create(fleet, &references, readings, filled, 1);
    assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 1.5);
    for (int h = 0; h < ALL; h++) {
        const struct suspect *suspect = isolation->hosts[h].suspects;
        while (suspect && (suspect->peer >= 0 || suspect->state == SUSPECT_CLEARED))
            suspect = suspect->sibling;
        assert_non_null(suspect);
    }
    isolation_free(isolation);
    fleet_free(fleet);
    rounds_free(plan);
    free(readings);
    free(pairs);
    free(present);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_two),
        cmocka_unit_test(test_loss_of_a_rail),
        cmocka_unit_test(test_small_fleets),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_noise_of_slow_hosts),
        cmocka_unit_test(test_medians_of_distances),
        cmocka_unit_test(test_readings_of_slow_hosts),
        cmocka_unit_test(test_words_of_notes),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_slow_rail),
        cmocka_unit_test(test_rails_threshold),
        cmocka_unit_test(test_earlier),
        cmocka_unit_test(test_earlier_noise),
        cmocka_unit_test(test_bad_readings),
        cmocka_unit_test(test_readings_beyond),
        cmocka_unit_test(test_sensitivity),
        cmocka_unit_test(test_sensitivity_of_rails),
        cmocka_unit_test(test_sensitivity_of_packets),
        cmocka_unit_test(test_two_modes),
        cmocka_unit_test(test_slowest),
        cmocka_unit_test(test_alone_on_switch),
        cmocka_unit_test(test_all_failing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

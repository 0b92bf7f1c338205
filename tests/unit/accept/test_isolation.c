/*
 * test_isolation.c - suspects of a fleet without noise meet others again: which are confirmed, with
 * which partners and in which direction.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "accept/judge/internal.h"
#include "tests/unit/quiet_fleet.h"

/* A host with a high latency, and a link: one of it that is no slower explains nothing more and is
 * not told. One that is slower, or of others, is. */
static void test_link_of_a_slow_host(void **state)
{
    (void)state;
    static const struct {
        int host;
        double factor; /* of the link's bandwidth */
        bool told;
    } cases[] = {{3, 0.7, false}, {3, 0.5, false}, {3, 0.3, true}, {5, 0.7, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulated f;
        fleet_quiet(&f, 8, 1);
        f.bias[3][2] = 2; /* its latency */
        make_fault(&f, (struct seeded){.kind = SEEDED_LINK,
                                       .host = cases[c].host,
                                       .factor = cases[c].factor,
                                       .peer = 6});
        struct screened s = screen(&f);
        assert_int_equal(s.found->count, 1 + cases[c].told);
        check_beginning(&s, cases[c].told, "n3: latency 4.00 us");
        if (cases[c].told)
            check_beginning(&s, 0, cases[c].host == 3 ? "link n3-n6: " : "link n5-n6: ");
        screened_free(&s);
        simulated_free(&f);
    }
}

/* Partners meet a suspect on the rail of its faulty NIC, or on all of a faulty host. */
static void test_rails_of_suspects(void **state)
{
    (void)state;
    for (int nic = 0; nic < 2; nic++) {
        struct simulated f;
        fleet_quiet(&f, 8, 8);
        make_fault(&f, (struct seeded){.kind = nic ? SEEDED_NIC : SEEDED_HOST,
                                       .host = 3,
                                       .factor = 0.5,
                                       .rail = 5,
                                       .peer = -1});
        struct screened screened = screen(&f);
        assert_int_equal(screened.found->count, 1);
        assert_int_equal(screened.found->items[0].rail, nic ? 5 : -1);
        assert_int_equal(screened.rails, nic ? 1 << 5 : 0xFF);
        screened_free(&screened);
        simulated_free(&f);
    }
}

/* The first readings of all pairs of six hosts. */
static void pairs_of(struct simulated *f, int hosts)
{
    struct screened none = screen(f);
    screened_free(&none);
    f->count = 0;
    for (int a = 0; a < hosts; a++)
        for (int b = a + 1; b < hosts; b++)
            simulated_pair(f, a, b, RAILS_ALL);
}

static void pairs_measure(struct simulated *f)
{
    pairs_of(f, 6);
}

/* The isolation of the readings that a fleet has. */
static struct isolation *readings_isolate(const struct simulated *f, int hosts,
                                          struct fleet **fleet)
{
    const struct fleet_config config = {.hosts = hosts, .rails = f->rails};
    struct references references = references_default();
    *fleet = fleet_create(&config, f->readings, f->count);
    return isolation_create(*fleet, &references, f->readings, f->count, 1);
}

/* The findings of isolation from these readings on, in `most` rounds at most. */
static struct screened rounds_isolate(struct simulated *f, int most)
{
    struct screened s = {.rounds = 0};
    s.isolation = readings_isolate(f, 6, &s.fleet);
    bool present[6] = {true, true, true, true, true, true};
    struct host_pair pairs[3];
    uint64_t rails;
    for (int n; s.rounds < most && (n = isolation_pairs(s.isolation, present, pairs, &rails)) > 0;
         s.rounds++) {
        f->count = 0;
        for (int i = 0; i < n; i++)
            simulated_pair(f, pairs[i].a, pairs[i].b, rails);
        isolation_add(s.isolation, f->readings, f->count);
    }
    s.found = fleet_faults_find(s.isolation);
    return s;
}

static struct screened pairs_isolate(struct simulated *f)
{
    struct screened s = rounds_isolate(f, 16);
    assert_in_range(s.rounds, 0, 15);
    return s;
}

/* Anomalies that were seen once: a slow reading is passing, a failure leaves suspects. An anomaly
 * that cannot be seen again is not confirmed. */
static void test_once(void **state)
{
    (void)state;
    for (int failure = 0; failure < 2; failure++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        struct reading *odd = &f.readings[1]; /* of n0 and n1 */
        if (failure)
            odd->outcome = READING_LATE;
        else
            odd->value /= 2;
        struct screened s = pairs_isolate(&f);
        assert_int_equal(s.found->count, failure);
        assert_int_equal(s.found->passing, !failure);
        assert_int_equal(screened_health(&s, 1), failure ? HEALTH_SUSPECT : HEALTH_GOOD);
        assert_int_equal(screened_health(&s, 2), HEALTH_GOOD);
        if (failure)
            check_sentence(
                &s, 0,
                "n0, n1 or the link between them: a measurement did not end in its time: "
                "seen again in 0 of 6 measurements");
        screened_free(&s);
        simulated_free(&f);
    }
}

/* A host that is slow, of which one measurement fails, is still found to be slow. */
static void test_slow_and_failing(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 6, 1);
    make_fault(&f, (struct seeded){.kind = SEEDED_LATENCY, .host = 1, .factor = 0.2, .peer = -1});
    pairs_measure(&f);
    f.readings[0].outcome = READING_LATE; /* of n0 and n1, as a job that fails has it */
    assert_int_equal(f.readings[0].metric, METRIC_LATENCY);
    struct screened s = pairs_isolate(&f);
    assert_int_equal(screened_health(&s, 1), HEALTH_BAD);
    check_sentence(
        &s, s.found->count - 1,
        "n1: latency 10.0 us, the fleet's median is 2.00 (spread 0, threshold 2.50): confirmed "
        "with n3, n4, n5 and n2");
    screened_free(&s);
    simulated_free(&f);
}

/* A host that becomes slow while pairs are measured has a slow link to its last partner. If most
 * others had a slow reading, too, it does not meet the only good one again and again. */
static void test_slow_at_last(void **state)
{
    (void)state;
    static const int slow[][2] = {{0, 1}, {2, 3}, {4, 2}};
    static const char *const sentences[] = {
        "n1: sends and receives at 5.90 GB/s, " BESIDE "confirmed with n4, n5 and n2",
        "n0: sends and receives at 5.90 GB/s, " BESIDE "confirmed with n5, n4, n2 and n3"};
    for (int noisy = 0; noisy < 2; noisy++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            for (int k = 0; k < (noisy ? 3 : 1); k++)
                if ((r->metric == METRIC_ALONE || r->metric == METRIC_BOTH) &&
                    r->from == slow[k][0] && r->to == slow[k][1])
                    r->value /= 2;
        }
        make_fault(&f,
                   (struct seeded){.kind = SEEDED_HOST, .host = !noisy, .factor = 0.5, .peer = -1});
        struct screened s = pairs_isolate(&f);
        assert_int_equal(s.found->count, 1);
        check_sentence(&s, 0, sentences[noisy]);
        assert_int_equal(screened_health(&s, noisy), HEALTH_GOOD);
        screened_free(&s);
        simulated_free(&f);
    }
}

/* The time is over while a host is a suspect that was slow with two partners. It is good if it was
 * not slow again, or as seldom as noise is; if it was slow each time, it stays a suspect. */
static void test_end_of_time(void **state)
{
    (void)state;
    static const struct {
        struct suspect suspect;
        enum health health;
    } cases[] = {{{.tries = 3, .hits = 0, .by_chance = 3}, HEALTH_GOOD},
                 {{.tries = 4, .hits = 1, .by_chance = 1}, HEALTH_GOOD},
                 {{.tries = 4, .hits = 1, .by_chance = 0.99}, HEALTH_SUSPECT},
                 {{.tries = 1, .hits = 1, .by_chance = 1}, HEALTH_SUSPECT}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct fleet_fault fault = {.kind = FLEET_FAULT_SLOW,
                                          .place = PLACE_HOST,
                                          .ended_early = true,
                                          .by_chance = cases[c].suspect.by_chance,
                                          .worst = &cases[c].suspect};
        assert_int_equal(fleet_fault_health(&fault), cases[c].health);
    }
    for (int slow = 0; slow < 2; slow++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if (r->metric == METRIC_ALONE && r->from == 1 && (r->to == 0 || r->to == 2))
                r->value /= 2;
        }
        if (slow)
            make_fault(&f,
                       (struct seeded){.kind = SEEDED_HOST, .host = 1, .factor = 0.5, .peer = -1});
        struct screened s = rounds_isolate(&f, slow ? 1 : 3);
        assert_int_equal(s.found->count, 1);
        assert_int_equal(s.found->items[0].worst->tries, s.rounds);
        assert_false(s.found->items[0].confirmed);
        assert_true(slow ? s.found->items[0].by_chance < 1 : s.found->items[0].by_chance >= 1);
        assert_int_equal(screened_health(&s, 1), slow ? HEALTH_SUSPECT : HEALTH_GOOD);
        screened_free(&s);
        simulated_free(&f);
    }
}

/* Sets what n0 and n1 sent again to each other in the readings of the pairs. */
static void losses_set(struct simulated *f, double forth, double back)
{
    for (size_t i = 0; i < f->count; i++) {
        struct reading *r = &f->readings[i];
        if (r->metric == METRIC_LOSS && r->from + r->to == 1)
            r->value = r->from == 0 ? forth : back;
    }
}

/* A link loses 4% from n0 to n1 for sure. Back it loses packets if it lost many before (6%, not 1%,
 * and none since), or does so while it is measured again. */
static void test_ways_of_losses(void **state)
{
    (void)state;
    static const struct {
        double back; /* % that n1 had sent again to n0 */
        enum seeded_kind kind;
        const char *sentence;
    } cases[] = {
        {1, SEEDED_LOSSY_WAY, "link n0-n1: loses packets from n0 to n1: "},
        {6, SEEDED_LOSSY_WAY, "link n0-n1: loses packets: "},
        {0, SEEDED_LOSSY_LINK, "link n0-n1: loses packets: "},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        losses_set(&f, 4, cases[c].back);
        make_fault(&f, (struct seeded){
                           .kind = cases[c].kind, .host = 0, .factor = 0.9, .lost = 4, .peer = 1});
        struct screened s = pairs_isolate(&f);
        assert_int_equal(s.found->count, 1);
        check_beginning(&s, 0, cases[c].sentence);
        screened_free(&s);
        simulated_free(&f);
    }
}

/* Packets that n1 sends are lost. That explains why the way from n1 to n0 is slow, and not the way
 * back. */
static void test_losses_explain_their_way(void **state)
{
    (void)state;
    for (int from = 0; from < 2; from++) {
        struct simulated f;
        fleet_quiet(&f, 8, 1);
        make_fault(&f, (struct seeded){
                           .kind = SEEDED_ONE_WAY, .host = from, .factor = 0.4, .peer = 1 - from});
        make_fault(
            &f, (struct seeded){
                    .kind = SEEDED_LOSSY_SEND, .host = 1, .factor = 0.99, .lost = 4, .peer = -1});
        struct screened screened = screen(&f);
        bool is_told = false;
        char line[400];
        for (int i = 0; i < screened.found->count; i++) {
            sentence_get(&screened, i, line);
            is_told |= strncmp(line, "link n0-n1: ", strlen("link n0-n1: ")) == 0;
        }
        assert_int_equal(screened.found->count, from == 0 ? 2 : 1);
        assert_int_equal(is_told, from == 0);
        screened_free(&screened);
        simulated_free(&f);
    }
}

/* Losses of a link do not explain why another one of its ends is slow. */
static void test_losses_explain_their_link(void **state)
{
    (void)state;
    static const int slow[][2] = {{0, 6}, {0, 3}, {6, 7}, {3, 7}, {0, 7}};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        struct simulated f;
        fleet_quiet(&f, 8, 1);
        make_fault(&f,
                   (struct seeded){
                       .kind = SEEDED_LOSSY_LINK, .host = 3, .factor = 0.99, .lost = 4, .peer = 6});
        make_fault(&f,
                   (struct seeded){
                       .kind = SEEDED_LINK, .host = slow[i][0], .factor = 0.5, .peer = slow[i][1]});
        struct screened screened = screen(&f);
        assert_int_equal(screened.found->count, 2);
        screened_free(&screened);
        simulated_free(&f);
    }
}

/* A host loses packets that it sends on rail 1 now and then, and so it may on rail 0, where one
 * reading of it showed that, or its bandwidth was low once. */
static void test_rails_of_losses(void **state)
{
    (void)state;
    static const enum metric odd[] = {METRIC_LATENCY, METRIC_ALONE, METRIC_BOTH, METRIC_LOSS};
    for (size_t o = 0; o < sizeof odd / sizeof *odd; o++) {
        struct simulated f;
        fleet_quiet(&f, 6, 2);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if (r->metric == METRIC_LOSS && r->rail == 1 && r->from == 3 && r->to < 2)
                r->value = 4;
            if (r->metric == odd[o] && r->rail == 0 && r->from + r->to == 7 && r->from == 3)
                r->value = odd[o] == METRIC_LOSS      ? 4
                           : odd[o] == METRIC_LATENCY ? 2 * LATENCY
                                                      : BANDWIDTH / 2;
        }
        make_fault(&f, (struct seeded){.kind = SEEDED_LOSSY_SEND,
                                       .host = 3,
                                       .factor = 0.99,
                                       .lost = 4,
                                       .rail = 1,
                                       .one_rail = true,
                                       .peer = -1});
        struct screened s = pairs_isolate(&f);
        assert_int_equal(s.found->count, 1);
        check_beginning(&s, 0,
                        odd[o] == METRIC_LOSS ? "n3: loses packets that it sends: "
                                              : "n3: rail 1 loses packets that it sends: ");
        screened_free(&s);
        simulated_free(&f);
    }
}

/* Two readings without a loss do not clear a link that had one: the next ones may show it. */
static void test_patience_with_losses(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 6, 1);
    pairs_measure(&f);
    losses_set(&f, 4, 0);
    struct fleet *fleet;
    struct isolation *isolation = readings_isolate(&f, 6, &fleet);
    for (int n = 0; n < 6; n++) {
        const struct reading again = {
            .from = 0, .to = 1, .metric = METRIC_LOSS, .value = n < 3 ? 0 : 4};
        assert_int_equal(isolation->suspects->state, SUSPECT_OPEN);
        isolation_add(isolation, &again, 1);
    }
    assert_int_equal(isolation->suspects->state, SUSPECT_CONFIRMED);
    isolation_free(isolation);
    fleet_free(fleet);
    simulated_free(&f);
}

/* A host loses packets that it sends, and is slow. The loss explains why once it is confirmed. */
static void test_losses_that_are_not_confirmed(void **state)
{
    (void)state;
    for (int rounds = 1; rounds <= 4; rounds++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        make_fault(&f,
                   (struct seeded){
                       .kind = SEEDED_LOSSY_SEND, .host = 1, .factor = 0.4, .lost = 4, .peer = -1});
        pairs_measure(&f);
        struct screened s = rounds_isolate(&f, rounds);
        int slow = 0, lossy = 0;
        for (int i = 0; i < s.found->count; i++) {
            assert_int_equal(s.found->items[i].confirmed, rounds >= 3);
            slow += s.found->items[i].kind == FLEET_FAULT_SLOW;
            lossy += s.found->items[i].kind == FLEET_FAULT_LOSS;
        }
        assert_int_equal(slow, rounds >= 3 ? 0 : 1);
        assert_int_equal(lossy, 1);
        screened_free(&s);
        simulated_free(&f);
    }
}

/* Two slow links make their host a suspect where it has eight, and not where it has nine. */
static void test_hosts_where_links_meet(void **state)
{
    (void)state;
    for (int hosts = 8; hosts <= 10; hosts++) {
        struct simulated f;
        bool meets = false;
        fleet_quiet(&f, hosts, 1);
        pairs_of(&f, hosts);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if (r->metric == METRIC_ALONE && r->from == 0 && (r->to == 1 || r->to == 2))
                r->value *= 0.4;
        }
        struct fleet *fleet;
        struct isolation *isolation = readings_isolate(&f, hosts, &fleet);
        for (const struct suspect *s = isolation->suspects; s; s = s->next)
            meets |= s->host == 0 && s->peer < 0;
        assert_int_equal(meets, hosts <= 9);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* A link was slow once. Two good readings clear it, or six, if one of them is slow again. */
static void test_patience_with_slowness(void **state)
{
    (void)state;
    static const struct {
        int slow; /* the number of the reading that is; -1: none */
        int tries;
    } cases[] = {{-1, 2}, {0, 6}, {1, 6}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if (r->metric == METRIC_LATENCY && r->from + r->to == 1)
                r->value *= 2;
        }
        struct fleet *fleet;
        struct isolation *isolation = readings_isolate(&f, 6, &fleet);
        for (int n = 0; n < cases[c].tries; n++) {
            const struct reading again = {.from = 0,
                                          .to = 1,
                                          .metric = METRIC_LATENCY,
                                          .value = n == cases[c].slow ? 2 * LATENCY : LATENCY};
            assert_int_equal(isolation->suspects->peer + isolation->suspects->host, 1);
            assert_int_equal(isolation->suspects->state, SUSPECT_OPEN);
            isolation_add(isolation, &again, 1);
        }
        assert_int_equal(isolation->suspects->state, SUSPECT_CLEARED);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* Wrong data from one host to another, in two measurements, are of one pair: they blame neither. */
static void test_a_pair_that_fails_twice(void **state)
{
    (void)state;
    static const int pairs[][2] = {{0, 1}, {2, 3}, {5, 4}};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        struct simulated f;
        char line[100];
        int from = pairs[p][0], to = pairs[p][1], wrong = 0;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if ((r->metric == METRIC_ALONE || r->metric == METRIC_BOTH) && r->from == from &&
                r->to == to) {
                r->outcome = READING_WRONG;
                wrong++;
            }
        }
        assert_int_equal(wrong, 2);
        struct screened s = pairs_isolate(&f);
        snprintf(line, sizeof line, "n%d, n%d or the link between them: ", from, to);
        assert_int_equal(s.found->count, 1);
        check_beginning(&s, 0, line);
        screened_free(&s);
        simulated_free(&f);
    }
}

/* A host that fails once as a sender and once as a receiver fails with two partners, whatever the
 * direction. Wrong data have one, and latencies both. */
static void test_directions_of_failures(void **state)
{
    (void)state;
    static const struct {
        enum metric metric;
        enum reading_outcome outcome;
        bool blamed;
    } cases[] = {{METRIC_ALONE, READING_LOST, true},
                 {METRIC_BOTH, READING_ERROR, true},
                 {METRIC_ALONE, READING_WRONG, false},
                 {METRIC_LATENCY, READING_LATE, true},
                 {METRIC_LATENCY, READING_WRONG, true}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct simulated f;
        const struct fleet_config config = {.hosts = 6, .rails = 1};
        struct references references = references_default();
        int failed = 0;
        fleet_quiet(&f, 6, 1);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if (r->metric == cases[c].metric &&
                ((r->from == 3 && r->to == 4) || (r->from == 1 && r->to == 3))) {
                r->outcome = cases[c].outcome;
                failed++;
            }
        }
        assert_int_equal(failed, 2);
        struct fleet *fleet = fleet_create(&config, f.readings, f.count);
        struct isolation *isolation = isolation_create(fleet, &references, f.readings, f.count, 1);
        const struct suspect *suspect = isolation->hosts[3].suspects;
        int links = 0;
        for (const struct suspect *s = isolation->suspects; s; s = s->next)
            links += s->peer >= 0;
        assert_non_null(suspect);
        assert_int_equal(links, cases[c].blamed ? 0 : 2);
        if (cases[c].blamed)
            assert_int_equal(suspect->state, SUSPECT_CONFIRMED);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* Host 5 sends wrong data to hosts 0 and 1, or receives them. It is confirmed if these are good
 * with others; that each is good with it the other way says nothing. */
static void test_failures_seen_again(void **state)
{
    (void)state;
    for (int sends = 0; sends < 2; sends++)
        for (int good = 0; good <= 2; good++) {
            const struct fleet_config config = {.hosts = 6, .rails = 1};
            struct references references = references_default();
            struct reading readings[8];
            size_t count = 0;
            for (int other = 0; other < 2; other++) {
                readings[count++] = (struct reading){.from = sends ? 5 : other,
                                                     .to = sends ? other : 5,
                                                     .metric = METRIC_ALONE,
                                                     .outcome = READING_WRONG};
                readings[count++] = (struct reading){.from = sends ? other : 5,
                                                     .to = sends ? 5 : other,
                                                     .metric = METRIC_ALONE,
                                                     .value = BANDWIDTH};
                if (other < good)
                    readings[count++] = (struct reading){
                        .from = other, .to = 2, .metric = METRIC_ALONE, .value = BANDWIDTH};
            }
            struct fleet *fleet = fleet_create(&config, readings, count);
            struct isolation *isolation = isolation_create(fleet, &references, readings, count, 1);
            const struct suspect *suspect = isolation->hosts[5].suspects;
            assert_true(suspect && suspect->peer < 0);
            assert_int_equal(suspect->state, good == 2 ? SUSPECT_CONFIRMED : SUSPECT_OPEN);
            isolation_free(isolation);
            fleet_free(fleet);
        }
}

/* A measurement that is late with a host that loses packets is explained by them. One that fails in
 * another way is not. */
static void test_losses_explain_what_is_late(void **state)
{
    (void)state;
    static const enum reading_outcome outcomes[] = {READING_ERROR, READING_LATE, READING_LOST,
                                                    READING_WRONG};
    for (size_t o = 0; o < 2 * sizeof outcomes / sizeof *outcomes; o++) {
        struct simulated f;
        enum reading_outcome outcome = outcomes[o / 2];
        fleet_quiet(&f, 6, 1);
        make_fault(&f, (struct seeded){.kind = o % 2 ? SEEDED_LOSSY : SEEDED_LOSSY_SEND,
                                       .host = 1,
                                       .factor = 0.99,
                                       .lost = 4,
                                       .peer = -1});
        pairs_measure(&f);
        assert_true(f.readings[1].from == 0 && f.readings[1].to == 1);
        f.readings[1].outcome = outcome;
        struct screened s = pairs_isolate(&f);
        bool explained = outcome == READING_LATE;
        assert_int_equal(s.found->count, explained ? 1 : 2);
        check_beginning(&s, !explained, "n1: loses packets");
        if (!explained)
            check_beginning(&s, 0, "n0, n1 or the link between them: ");
        screened_free(&s);
        simulated_free(&f);
    }
}

/* A host is suspected of a high latency, and maybe of a failure. A job of it that fails says
 * something of its latency only if no failure explains that. */
static void test_failures_of_a_slow_host(void **state)
{
    (void)state;
    for (int failing = 0; failing < 2; failing++) {
        struct simulated f;
        fleet_quiet(&f, 6, 1);
        make_fault(&f,
                   (struct seeded){.kind = SEEDED_LATENCY, .host = 1, .factor = 0.2, .peer = -1});
        pairs_measure(&f);
        if (failing)
            f.readings[0].outcome = READING_LATE; /* of n0 and n1 */
        struct fleet *fleet;
        struct isolation *isolation = readings_isolate(&f, 6, &fleet);
        int series = fleet_find(fleet, METRIC_LATENCY, 0, DIRECTION_SEND);
        const struct suspect *slow = suspect_find(isolation, 1, -1, series, false);
        const struct suspect *fails = suspect_find(isolation, 1, -1, series, true);
        const struct reading again = {
            .from = 1, .to = 2, .metric = METRIC_LATENCY, .outcome = READING_LATE};
        assert_true(slow && slow->tries == 0 && !fails == !failing);
        isolation_add(isolation, &again, 1);
        assert_int_equal(slow->tries, failing ? 0 : 1);
        if (failing)
            assert_int_equal(fails->state, SUSPECT_CONFIRMED);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* Isolates the faults of a fleet whose pairs were all measured, round by round. */
static struct isolation *fleet_isolate(struct simulated *f, const struct fleet_config *config,
                                       struct fleet **fleet)
{
    struct references references = references_default();
    for (int a = 0; a < f->hosts; a++)
        for (int b = a + 1; b < f->hosts; b++)
            simulated_pair(f, a, b, RAILS_ALL);
    *fleet = fleet_create(config, f->readings, f->count);
    return isolation_create(*fleet, &references, f->readings, f->count, 1);
}

/* Both ends of a link that is confirmed meet the third host, whichever it is. */
static void test_ends_of_a_link(void **state)
{
    (void)state;
    for (int third = 0; third < 3; third++) {
        struct simulated f;
        struct fleet *fleet;
        struct host_pair pairs[1];
        uint64_t rails;
        int met[3] = {0}, rounds = 0;
        const struct fleet_config config = {.hosts = 3, .rails = 1};
        bool present[3] = {true, true, true};
        fleet_quiet(&f, 3, 1);
        make_fault(&f, (struct seeded){.kind = SEEDED_LINK,
                                       .host = (third + 1) % 3,
                                       .peer = (third + 2) % 3,
                                       .factor = 0.5});
        struct isolation *isolation = fleet_isolate(&f, &config, &fleet);
        while (isolation_pairs(isolation, present, pairs, &rails) > 0) {
            assert_in_range(rounds++, 0, 99);
            f.count = 0;
            simulated_pair(&f, pairs[0].a, pairs[0].b, rails);
            isolation_add(isolation, f.readings, f.count);
            if (pairs[0].a == third || pairs[0].b == third)
                met[pairs[0].a + pairs[0].b - third]++;
        }
        for (int h = 0; h < 3; h++)
            assert_int_equal(met[h], h == third ? 0 : 1);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* Three links of two switches are suspects: one of them is measured in a round, since they may
 * share a way, be the switches known or inferred. */
static void test_links_across_switches(void **state)
{
    (void)state;
    for (int c = 0; c < 4; c++) {
        struct simulated f;
        struct fleet *fleet;
        struct host_pair pairs[4];
        uint64_t rails;
        int switches[8], rounds = 0, measured[8] = {0};
        const struct fleet_config config = {
            .hosts = 8, .rails = 1, .switches = switches, .inferred = c / 2};
        bool present[8] = {true, true, true, true, true, true, true, true};
        fleet_quiet(&f, 8, 1);
        for (int h = 0; h < 8; h++)
            switches[h] = h / 4 != c % 2;
        for (int h = 0; h < 3; h++)
            make_fault(
                &f, (struct seeded){.kind = SEEDED_LINK, .host = h, .peer = h + 4, .factor = 0.5});
        struct isolation *isolation = fleet_isolate(&f, &config, &fleet);
        for (int n; (n = isolation_pairs(isolation, present, pairs, &rails)) > 0; rounds++) {
            int across = 0;
            assert_in_range(rounds, 0, 99);
            f.count = 0;
            for (int i = 0; i < n; i++) {
                int a = pairs[i].a, b = pairs[i].b;
                simulated_pair(&f, a, b, rails);
                across += switches[a] != switches[b];
                if (a % 4 == b % 4)
                    measured[a % 4]++;
            }
            assert_in_range(across, 0, 1);
            isolation_add(isolation, f.readings, f.count);
        }
        for (int h = 0; h < 3; h++)
            assert_in_range(measured[h], 2, 99);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* Three hosts of four behind a switch are slow. The good one is a partner of one of them, and the
 * others are behind another switch. Where the switches are inferred, the way to these may be the
 * reason: then one pair takes it in a round. */
static void test_hosts_across_switches(void **state)
{
    (void)state;
    static const int switches[] = {0, 0, 0, 0, 1, 1, 1, 1};
    for (int inferred = 0; inferred < 2; inferred++) {
        struct simulated f;
        struct fleet *fleet;
        struct host_pair pairs[4];
        uint64_t rails;
        int rounds = 0, most = 0;
        const struct fleet_config config = {
            .hosts = 8, .rails = 1, .switches = switches, .inferred = inferred};
        bool present[8] = {true, true, true, true, true, true, true, true};
        fleet_quiet(&f, 8, 1);
        for (int h = 0; h < 3; h++)
            make_fault(&f,
                       (struct seeded){.kind = SEEDED_HOST, .host = h, .peer = -1, .factor = 0.5});
        struct isolation *isolation = fleet_isolate(&f, &config, &fleet);
        for (int n; (n = isolation_pairs(isolation, present, pairs, &rails)) > 0; rounds++) {
            int across = 0;
            assert_in_range(rounds, 0, 99);
            f.count = 0;
            for (int i = 0; i < n; i++) {
                simulated_pair(&f, pairs[i].a, pairs[i].b, rails);
                across += switches[pairs[i].a] != switches[pairs[i].b];
            }
            most = across > most ? across : most;
            isolation_add(isolation, f.readings, f.count);
        }
        assert_true(inferred ? most == 1 : most > 1);
        isolation_free(isolation);
        fleet_free(fleet);
        simulated_free(&f);
    }
}

/* A host is slow on both rails, and in both metrics, by shares that differ: the worst is told. */
static void test_worst_of_a_host(void **state)
{
    (void)state;
    for (int worst = 0; worst < 2; worst++) {
        struct simulated f;
        fleet_quiet(&f, 6, 2);
        pairs_measure(&f);
        for (size_t i = 0; i < f.count; i++) {
            struct reading *r = &f.readings[i];
            if ((r->metric == METRIC_ALONE || r->metric == METRIC_BOTH) &&
                (r->from == 3 || r->to == 3))
                r->value *= r->metric == METRIC_BOTH ? 0.3 : r->rail == worst ? 0.4 : 0.5;
        }
        make_fault(&f, (struct seeded){.kind = SEEDED_HOST, .host = 3, .factor = 0.5, .peer = -1});
        struct screened s = pairs_isolate(&f);
        assert_int_equal(s.found->count, 1);
        check_beginning(&s, 0, "n3: sends and receives at 4.72 GB/s, ");
        screened_free(&s);
        simulated_free(&f);
    }
}

static void test_host_that_leaves(void **state)
{
    (void)state;
    struct simulated f;
    fleet_quiet(&f, 8, 1);
    f.leaves = 3;
    make_fault(&f, (struct seeded){.kind = SEEDED_SEND, .host = 3, .factor = 0.5, .peer = -1});
    struct screened screened = screen(&f);
    assert_int_equal(screened.found->count, 1);
    assert_false(screened.found->items[0].confirmed);
    assert_int_equal(screened_health(&screened, 3), HEALTH_SUSPECT);
    screened_free(&screened);
    simulated_free(&f);
}

/* Hosts behind the switch of a suspect are its partners, as long as they have not shown it. */
static void test_near_partners(void **state)
{
    (void)state;
    static const int switches[] = {0, 1, 0, 1, 0, 1, 0, 1};
    struct simulated f;
    fleet_quiet(&f, 8, 1);
    f.switches = switches;
    make_fault(&f, (struct seeded){.kind = SEEDED_HOST, .host = 3, .factor = 0.5, .peer = -1});
    struct rounds *plan = rounds_plan(8, 7, 1);
    struct references references = references_default();
    struct screened screened = simulated_screen(&f, plan, 7, &references, 1);
    assert_int_equal(screened.found->count, 1);
    const struct suspect *worst = screened.found->items[0].worst;
    assert_in_range(worst->partner_count, 2, 3);
    for (int i = 0; i < worst->partner_count; i++)
        assert_int_equal(worst->partners[i] % 2, 1);
    screened_free(&screened);
    simulated_free(&f);
    rounds_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link_of_a_slow_host),
        cmocka_unit_test(test_rails_of_suspects),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_slow_and_failing),
        cmocka_unit_test(test_slow_at_last),
        cmocka_unit_test(test_end_of_time),
        cmocka_unit_test(test_ways_of_losses),
        cmocka_unit_test(test_losses_explain_their_way),
        cmocka_unit_test(test_patience_with_losses),
        cmocka_unit_test(test_losses_that_are_not_confirmed),
        cmocka_unit_test(test_hosts_where_links_meet),
        cmocka_unit_test(test_patience_with_slowness),
        cmocka_unit_test(test_a_pair_that_fails_twice),
        cmocka_unit_test(test_losses_explain_what_is_late),
        cmocka_unit_test(test_losses_explain_their_link),
        cmocka_unit_test(test_rails_of_losses),
        cmocka_unit_test(test_directions_of_failures),
        cmocka_unit_test(test_failures_seen_again),
        cmocka_unit_test(test_failures_of_a_slow_host),
        cmocka_unit_test(test_ends_of_a_link),
        cmocka_unit_test(test_links_across_switches),
        cmocka_unit_test(test_hosts_across_switches),
        cmocka_unit_test(test_worst_of_a_host),
        cmocka_unit_test(test_host_that_leaves),
        cmocka_unit_test(test_near_partners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

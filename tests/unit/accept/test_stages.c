/*
 * test_stages.c - stages of `cctest accept` on a fleet that answers at once: counters that grow,
 * clocks, and faults that come and go.
 * tier: check; load: cpu1; program: own
 */
#include "base/parse.h"
#include "tests/unit/accept_fleet.h"

/* ---- counters ---- */

static void counts(int host, const char *device, const char *counter, enum counter_class class,
                   uint64_t value)
{
    struct device_changes *now = &fleet.now[host];
    for (int d = 0; d < now->count; d++) {
        if (strcmp(now->devices[d].name, device) == 0) {
            counter_add(&now->devices[d].counters, counter, class, value);
            return;
        }
    }
    counter_add(device_changes_add(now, device), counter, class, value);
}

static void counts_clear(int host)
{
    device_changes_free(&fleet.now[host]);
    fleet.now[host] = (struct device_changes){.count = 0};
}

/* Each host has counted so much more than the base. */
static void all_count(uint64_t base, const uint64_t faulty[], const uint64_t congested[], int hosts)
{
    for (int h = 0; h < hosts; h++) {
        counts_clear(h);
        counts(h, "eth0", "rx_errors", COUNTER_FAULTY, base + faulty[h]);
        counts(h, "eth0", "pause_frames", COUNTER_CONGESTED, base + congested[h]);
        counts(h, "eth0", "packets", COUNTER_OTHER, 100 * base);
        counts(h, "mlx5_0:1", "symbol_error", COUNTER_FAULTY, base + (faulty[h] > 1 ? 7 : 0));
        counts(h, "mlx5_0:1", "np_cnp_sent", COUNTER_CONGESTED, base + congested[h]);
    }
}

/* Errors that grow are a finding of the stage. Signs of a busy network are kept, and are none. */
static void errors_are_found_and_congestion_is_kept(void **state)
{
    (void)state;
    enum { HOSTS = 5 };
    static const uint64_t none[HOSTS] = {0};
    static const uint64_t faulty[HOSTS] = {0, 0, 1, 2, 3}, congested[HOSTS] = {0, 4, 0, 0, 5};
    static const int devices[HOSTS] = {0, 2, 1, 2, 2};
    static const char *const texts[] = {
        "h2 counted in stage pairs: eth0: rx_errors 1",
        "h3 counted in stage pairs: eth0: rx_errors 2; mlx5_0:1: symbol_error 7",
        "h4 counted in stage pairs: eth0: rx_errors 3; mlx5_0:1: symbol_error 7"};
    struct acceptance acceptance = fleet_open(HOSTS);
    int kept[HOSTS] = {0};
    all_count(10, none, none, HOSTS); /* before the first look: of no stage */
    assert_int_equal(counting_look(&acceptance, STAGE_INVENTORY), STATUS_OK);
    assert_int_equal(acceptance.growth.count + acceptance.findings.count, 0);
    all_count(10, faulty, congested, HOSTS);
    assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
    assert_int_equal(counting_look(&acceptance, STAGE_HALVES), STATUS_OK); /* nothing more */
    assert_int_equal(acceptance.findings.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(acceptance.findings.items[i].host, 2 + i);
        assert_int_equal(acceptance.findings.items[i].stage, STAGE_PAIRS);
        assert_string_equal(acceptance.findings.items[i].text, texts[i]);
    }
    for (int i = 0; i < acceptance.growth.count; i++)
        kept[acceptance.growth.items[i].host]++;
    assert_memory_equal(kept, devices, sizeof kept);
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

/* A host whose counters could not be read twice in a row is suspect, and is not asked again. A look
 * has a time of its own, since the stage has ended. */
static void counters_that_cannot_be_read_are_told(void **state)
{
    (void)state;
    static const bool mute[] = {false, true, false, true, false, true, true, true};
    struct acceptance acceptance = fleet_open(2);
    acceptance.until = 1; /* long ago */
    for (size_t i = 0; i < sizeof mute / sizeof *mute; i++) {
        fleet.mute = mute[i];
        assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
        assert_true(acceptance.until == 1 && fleet.seconds > 7 && fleet.seconds <= 10);
        assert_int_equal(acceptance.findings.count, i >= 6);
    }
    assert_int_equal(acceptance.findings.items[0].host, 0);
    assert_int_equal(acceptance.findings.items[0].health, HEALTH_SUSPECT);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

/* A host that comes and goes explains what its links showed; but not wrong data, and a host that
 * rank 0 (on h0) does not hear explains nothing of its link with h0. */
static void hosts_that_come_and_go_explain_their_links(void **state)
{
    (void)state;
    static const struct {
        enum found_kind kind;
        enum health health;
        int host, peer;
        enum status status;
        bool explained;
        enum found_kind of_link;
        bool lost;
    } cases[] = {{FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_TIMEOUT, true, FOUND_FAILED, false},
                 {FOUND_CARRIER, HEALTH_BAD, 3, 1, STATUS_SLOW, true, FOUND_SLOW_PATH, false},
                 {FOUND_STOPPED, HEALTH_BAD, 0, 3, STATUS_SLOW, true, FOUND_SLOW_PATH, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 3, 2, STATUS_SLOW, true, FOUND_SLOW_PATH, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 3, 0, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 0, 3, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_CARRIER, HEALTH_SUSPECT, 1, 3, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 2, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_RATE, HEALTH_BAD, 1, 3, STATUS_SLOW, false, FOUND_SLOW_PATH, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_SLOW, false, FOUND_MTU, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_SLOW, true, FOUND_LOSS, false},
                 {FOUND_UNHEARD, HEALTH_BAD, 3, 2, STATUS_SLOW, true, FOUND_LOSS, false},
                 {FOUND_STOPPED, HEALTH_BAD, 1, 3, STATUS_SLOW, false, FOUND_LOSS, false},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_TIMEOUT, false, FOUND_FAILED, true},
                 {FOUND_CARRIER, HEALTH_BAD, 1, 3, STATUS_WRONG_DATA, false, FOUND_FAILED, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(4);
        struct found link = {.kind = cases[i].of_link,
                             .loss = cases[i].lost,
                             .host = cases[i].host,
                             .peer = cases[i].peer,
                             .health = HEALTH_SUSPECT,
                             .status = cases[i].status,
                             .text = "link"};
        findings_add(&acceptance.findings, &link);
        stage_finds(&acceptance, STAGE_ALL, cases[i].kind, 3, cases[i].health, STATUS_SLOW, "h3");
        links_judge(&acceptance);
        const struct found *judged = &acceptance.findings.items[0];
        assert_int_equal(judged->health, cases[i].explained ? HEALTH_GOOD : HEALTH_SUSPECT);
        assert_int_equal(judged->status, cases[i].explained ? STATUS_OK : cases[i].status);
        assert_string_equal(judged->text,
                            cases[i].explained ? "link; the fault of h3 explains it" : "link");
        assert_int_equal(acceptance.findings.items[1].health, cases[i].health);
        fleet_close(&acceptance);
    }
}

/* ---- pairs ---- */

/* Data may be altered now and then: each iteration is checked, in both jobs of a pair. */
static void each_iteration_of_a_pair_is_checked(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(4);
    struct pair_jobs jobs = {.acceptance = &acceptance};
    const struct host_pair pairs[] = {{.a = 0, .b = 3}, {.a = 2, .b = 1}};
    fleet.pairs = true;
    acceptance.rails.count = 1;
    assert_int_equal(pair_jobs_run(&jobs, STAGE_PAIRS, pairs, 2, 1), STATUS_OK);
    assert_int_equal(fleet.checked, 2 * 2);
    failed_jobs_free(&jobs.failed);
    free(acceptance.readings.items);
    fleet_close(&acceptance);
}

/* ---- numbers of hosts ---- */

/* A host is bad if the same number is slow twice, as the copy of h2. That of h3 was slow once, and
 * the sum of h4 only when its copy was measured again. */
static void a_number_is_slow_twice(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(8);
    struct stage_result result = {.stage = STAGE_SELF};
    fleet.copies[2][0] = fleet.copies[2][1] = 5;
    fleet.copies[3][0] = 5;
    fleet.copies[4][0] = fleet.sums[4][1] = 5;
    assert_int_equal(metrics_run(&acceptance, &result), STATUS_OK);
    for (int h = 0; h < 8; h++)
        assert_int_equal(fleet.self_looks[h], h >= 2 && h <= 4 ? 2 : 1);
    assert_int_equal(acceptance.findings.count, 1);
    assert_int_equal(acceptance.findings.items[0].host, 2);
    assert_int_equal(acceptance.findings.items[0].health, HEALTH_BAD);
    assert_non_null(strstr(acceptance.findings.items[0].text, "h2: copy by all cores: 5 GB/s"));
    free(acceptance.readings.items);
    fleet_close(&acceptance);
}

/* ---- clocks ---- */

/* Beside that of most hosts; where no majority agrees, none is blamed. */
static void a_clock_that_is_far_off_is_told(void **state)
{
    (void)state;
    static const double now = 1.7e9;
    static const double off[][5] = {
        {0, 14, -14, 1}, {0, -11.4 * 3600, 1, 90, 2}, {0, 14}, {5, 21.5}, {0, 0, 5400, 5400}};
    static const int hosts[] = {4, 5, 2, 2, 4};
    static const char *const texts[5][2] = {
        {NULL, NULL},
        {"h1: its clock is 11.4 h behind that of most hosts",
         "h3: its clock is 89.0 s ahead of that of most hosts"},
        {NULL, NULL},
        {"all: the clocks of the hosts are up to 16.5 s apart, and no majority agrees", NULL},
        {"all: the clocks of the hosts are up to 90.0 min apart, and no majority agrees", NULL}};
    for (int i = 0; i < 5; i++) {
        struct acceptance acceptance = fleet_open(hosts[i]);
        struct stage_result result = {.stage = STAGE_INVENTORY};
        int count = 0;
        for (int h = 0; h < hosts[i]; h++)
            fleet.clocks[h] = now + off[i][h];
        assert_int_equal(inventory_run(&acceptance, &result), STATUS_OK);
        for (; count < 2 && texts[i][count]; count++)
            assert_string_equal(acceptance.findings.items[count].text, texts[i][count]);
        assert_int_equal(acceptance.findings.count, count);
        if (count > 0)
            assert_int_equal(acceptance.findings.items[0].host, count > 1 ? 1 : -1);
        fleet_close(&acceptance);
    }
}

/* Hosts that are lost, or tell nothing, are compared with none and have no notes. Two of the three
 * others tell their hardware threads: they are most. */
static void hosts_without_an_inventory_are_not_compared(void **state)
{
    (void)state;
    for (int fewer = 0; fewer < 2; fewer++) {
        struct acceptance acceptance = fleet_open(5);
        struct stage_result result = {.stage = STAGE_INVENTORY};
        for (int h = 0; h < 3; h++)
            fleet.cores[h] = h == 1 && fewer ? 4 : 8;
        fleet.threads[0] = fleet.threads[1] = true;
        fleet.hosts[4].lost = true;
        assert_int_equal(inventory_run(&acceptance, &result), STATUS_OK);
        assert_string_equal(result.text, fewer ? "3 hosts: 1 difference, and 1 note"
                                               : "3 hosts: 0 differences, and 1 note");
        assert_int_equal(acceptance.findings.count, 1 + fewer);
        for (int i = 0; i <= fewer; i++)
            assert_int_equal(acceptance.findings.items[i].host, i == fewer ? 2 : 1);
        for (int h = 0; h < 5; h++)
            inventory_free(&acceptance.inventories[h]);
        fleet_close(&acceptance);
    }
}

/* ---- faults that come and go ---- */

static void check_findings(const struct acceptance *acceptance, const char *const *texts, int count)
{
    assert_int_equal(acceptance->findings.count, count);
    for (int i = 0; i < count; i++)
        assert_string_equal(acceptance->findings.items[i].text, texts[i]);
}

/* Not for what was sent again, and not where all hosts count them. Each has a sender and a
 * receiver, and the one with the most explains those of others, but not the other end of a link. */
static void packets_that_arrive_twice_are_told(void **state)
{
    (void)state;
    enum { HOSTS = 5, FOUND_MOST = 4 };
    static const struct {
        struct {
            uint64_t resent, sent, came;
        } counted[HOSTS];
        struct {
            int host, count;
            bool sent;
            int median;
        } found[FOUND_MOST]; /* ended by a count of 0 */
    } cases[] = {
        /* h1 sent them again */
        {{{5, 3, 0}, {900, 850, 90}, {0, 0, 760}, {2, 1, 4}, {0, 0, 0}}, {{0}}},
        /* to and from h2 */
        {{{5, 3, 0}, {9, 509, 30}, {0, 520, 600}, {2, 1, 8}, {0, 0, 0}},
         {{2, 600, false, 8}, {2, 520, true, 0}}},
        /* all alike */
        {{{0, 300, 300}, {0, 350, 400}, {0, 400, 350}, {0, 410, 310}, {0, 390, 0}}, {{0}}},
        /* for h2 alone */
        {{{0, 300, 0}, {0, 320, 0}, {0, 310, 1200}, {0, 270, 0}, {0, 0, 0}}, {{2, 1200, false, 0}}},
        /* of h1 alone; h2 lost packets */
        {{{0, 0, 300}, {0, 17504, 9}, {9000, 0, 2500}, {0, 0, 9020}, {0, 0, 2600}},
         {{1, 17504, true, 0}}},
        /* of the link from h1 to h3; and of that from h2 to h4 */
        {{{0, 0, 0}, {0, 200, 0}, {0, 8, 7}, {0, 0, 191}, {0, 0, 0}},
         {{1, 200, true, 0}, {3, 191, false, 0}}},
        {{{0, 0, 0}, {0, 200, 0}, {0, 300, 0}, {0, 0, 200}, {0, 0, 300}},
         {{2, 300, true, 0}, {4, 300, false, 0}, {1, 200, true, 0}, {3, 200, false, 0}}},
        /* for h1, and for h2; h3 and h4 have sent them */
        {{{0, 0, 0}, {0, 0, 5000}, {0, 0, 500}, {0, 2500, 0}, {0, 3000, 0}},
         {{1, 5000, false, 0}, {2, 500, false, 0}}},
    };
    for (int i = 0; i < LENGTH(cases); i++) {
        struct acceptance acceptance = fleet_open(HOSTS);
        for (int look = 0; look < 2; look++) {
            for (int h = 0; h < HOSTS; h++) {
                counts_clear(h);
                counts(h, "host", "tcp_RetransSegs", COUNTER_CONGESTED,
                       1 + (look ? cases[i].counted[h].resent : 0));
                counts(h, "host", "tcp_TCPDSACKRecv", COUNTER_CONGESTED,
                       1 + (look ? cases[i].counted[h].sent : 0));
                counts(h, "host", "tcp_TCPDSACKOldSent", COUNTER_CONGESTED,
                       1 + (look ? cases[i].counted[h].came : 0));
            }
            assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
        }
        doubles_judge(&acceptance);
        int count = 0;
        for (; count < FOUND_MOST && cases[i].found[count].count; count++) {
            char text[256];
            snprintf(text, sizeof text,
                     "h%d: %d packets %s twice without a retransmission (the fleet's median: "
                     "%d): a switch or bridge on the path duplicates packets",
                     cases[i].found[count].host, cases[i].found[count].count,
                     cases[i].found[count].sent ? "from it arrived" : "to it arrived",
                     cases[i].found[count].median);
            assert_true(count < acceptance.findings.count);
            assert_string_equal(acceptance.findings.items[count].text, text);
        }
        assert_int_equal(acceptance.findings.count, count);
        for (int h = 0; h < HOSTS; h++)
            device_changes_free(&fleet.now[h]);
        counting_free(&acceptance);
        fleet_close(&acceptance);
    }
}

/* Over all stages, each interface by itself: once is a suspect. */
static void a_carrier_that_is_lost_again_is_a_fault(void **state)
{
    (void)state;
    enum { HOSTS = 4 };
    static const char *const texts[] = {
        "h1: eth0 lost its carrier 5 times in 25 s: suspect its cable, its transceiver, or the "
        "port at the other end",
        "h1: eth1 lost its carrier 1 time in 25 s: suspect its cable, its transceiver, or the "
        "port at the other end",
        "h2: eth1 lost its carrier 1 time in 25 s: suspect its cable, its transceiver, or the "
        "port at the other end"};
    struct acceptance acceptance = fleet_open(HOSTS);
    acceptance.began = clock_seconds() - 25;
    for (int look = 0; look < 3; look++) {
        for (int h = 0; h < HOSTS; h++) {
            counts_clear(h);
            counts(h, "eth0", "carrier_lost", COUNTER_FAULTY,
                   7 + (uint64_t)(h == 1 ? (int[]){0, 2, 5}[look] : 0));
            counts(h, "eth1", "carrier_lost", COUNTER_FAULTY,
                   3 + (uint64_t)((h == 2 && look == 2) || (h == 1 && look >= 1)));
        }
        assert_int_equal(counting_look(&acceptance, (enum accept_stage)(STAGE_SELF + look)),
                         STATUS_OK);
    }
    int notes = acceptance.findings.count;
    acceptance.findings.count = 0; /* the notes of the stages */
    carriers_judge(&acceptance);
    assert_true(notes == 3);
    check_findings(&acceptance, texts, 3);
    assert_int_equal(acceptance.findings.items[0].health, HEALTH_BAD);
    assert_int_equal(acceptance.findings.items[1].health, HEALTH_SUSPECT);
    fleet.hosts[1].gaps.unheard_us = 3000000; /* since its carrier was lost */
    gaps_judge(&acceptance);
    assert_int_equal(acceptance.findings.count, 3);
    fleet.hosts[1].gaps.unheard_us = 0;
    fleet.hosts[3].gaps.unheard_us = 3000000; /* and its carrier was not */
    gaps_judge(&acceptance);
    assert_int_equal(acceptance.findings.count, 4);
    assert_int_equal(acceptance.findings.items[3].host, 3);
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

#define FEW_SECONDS "(the fleet's median: 0.00 s, threshold 0.40 s): "

static void a_host_that_stands_still_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "h3: did not run 7 times, for 6.10 s in all of 25 s " FEW_SECONDS
        "its processes were stopped, or other processes had its cores",
        "h2: fell silent for rank 0 1 time, for 0.41 s in all of 25 s " FEW_SECONDS
        "no packet passed its link or the network behind it"};
    struct acceptance acceptance = fleet_open(9);
    acceptance.began = clock_seconds() - 25;
    fleet.hosts[3].gaps = (struct host_gaps){.stops = 7, .stopped_us = 6100000};
    fleet.hosts[2].gaps = (struct host_gaps){.unheard = 1, .unheard_us = 410000};
    fleet.hosts[1].gaps = (struct host_gaps){.unheard = 1, .unheard_us = 390000, .stopped_us = 9};
    fleet.hosts[4].gaps = (struct host_gaps){.stops = 9, .stopped_us = 9000000};
    fleet.hosts[4].lost = true; /* a finding of its own */
    gaps_judge(&acceptance);
    check_findings(&acceptance, texts, 2);
    fleet_close(&acceptance);
}

/* All others did not hear rank 0: it is its own host, unless that did not run, which is told. */
static void the_host_of_rank_0_is_named_for_all_others(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct acceptance acceptance = fleet_open(5);
        acceptance.began = clock_seconds() - 25;
        for (int h = 1; h < 5; h++)
            fleet.hosts[h].gaps = (struct host_gaps){.unheard = 4, .unheard_us = 2000000};
        fleet.hosts[0].gaps.stopped_us = stopped ? 1700000 : 900000;
        fleet.hosts[0].gaps.stops = 3;
        gaps_judge(&acceptance);
        assert_int_equal(acceptance.findings.count, stopped ? 1 : 2);
        for (int i = 0; i < acceptance.findings.count; i++)
            assert_int_equal(acceptance.findings.items[i].host, 0);
        if (!stopped)
            assert_non_null(
                strstr(acceptance.findings.items[1].text,
                       "h0: fell silent for all other hosts, for 1.10 s in all of 25 s"));
        fleet_close(&acceptance);
    }
}

/* Either of two hosts may be it; of three, the one that the other two do not hear. One host alone
 * is compared with nothing. In a long run a share of it counts. */
static void few_hosts_and_long_runs_have_fewer_faults(void **state)
{
    (void)state;
    static const struct {
        int hosts;
        double seconds;
        uint64_t unheard[4], stopped[4]; /* microseconds */
        int host;                        /* -1: no finding */
        enum health health;
    } cases[] = {
        {1, 25, {0}, {3000000}, -1, HEALTH_GOOD},
        {2, 25, {0, 3000000}, {0}, 1, HEALTH_SUSPECT},
        {2, 25, {0}, {0, 3000000}, 1, HEALTH_BAD},
        {2, 25, {0, 2000000}, {2000000, 0}, 0, HEALTH_BAD}, /* rank 0 was stopped */
        {3, 25, {0, 3000000, 2900000}, {0}, 0, HEALTH_BAD},
        {3, 25, {0, 3000000, 100000}, {0}, 1, HEALTH_BAD},
        {3, 25, {0}, {0, 1100000, 0}, -1, HEALTH_GOOD},          /* few, which have no spread */
        {3, 25, {0}, {500000, 500000, 500000}, -1, HEALTH_GOOD}, /* the machine stood still */
        {4, 25, {0, 0, 800000, 0}, {0}, -1, HEALTH_GOOD}, /* rank 0's host hears itself: three */
        {4, 25, {0, 0, 1300000, 0}, {0}, 2, HEALTH_BAD},
        {4, 25, {0}, {0, 0, 800000, 0}, 2, HEALTH_BAD},
        {3, 86400, {0}, {0, 60000000, 0}, -1, HEALTH_GOOD},
        {3, 86400, {0}, {0, 4000000000, 0}, 1, HEALTH_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(cases[i].hosts);
        acceptance.began = clock_seconds() - cases[i].seconds;
        for (int h = 0; h < cases[i].hosts; h++)
            fleet.hosts[h].gaps = (struct host_gaps){.unheard_us = cases[i].unheard[h],
                                                     .stopped_us = cases[i].stopped[h]};
        gaps_judge(&acceptance);
        assert_int_equal(acceptance.findings.count, cases[i].host >= 0);
        if (cases[i].host >= 0) {
            assert_int_equal(acceptance.findings.items[0].host, cases[i].host);
            assert_int_equal(acceptance.findings.items[0].health, cases[i].health);
        }
        fleet_close(&acceptance);
    }
}

/* Most hosts lose the carrier of one interface: their switch. */
static void carriers_of_most_hosts_are_no_hosts_fault(void **state)
{
    (void)state;
    enum { HOSTS = 4 };
    struct acceptance acceptance = fleet_open(HOSTS);
    acceptance.began = clock_seconds() - 25;
    for (int look = 0; look < 2; look++) {
        for (int h = 0; h < HOSTS; h++) {
            counts_clear(h);
            counts(h, "eth0", "carrier_lost", COUNTER_FAULTY, (uint64_t)(look == 1 && h > 0));
        }
        assert_int_equal(counting_look(&acceptance, STAGE_PAIRS), STATUS_OK);
    }
    acceptance.findings.count = 0; /* the notes of the stage */
    carriers_judge(&acceptance);
    assert_int_equal(acceptance.findings.count, 1);
    assert_int_equal(acceptance.findings.items[0].host, -1);
    assert_string_equal(acceptance.findings.items[0].text,
                        "all: eth0 lost its carrier on 3 of 4 hosts, 3 times in 25 s: suspect the "
                        "switch that these hosts share");
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

/* A host that loses it in three of four stages is one host. */
static void carriers_of_one_host_count_once(void **state)
{
    (void)state;
    enum { HOSTS = 4 };
    struct acceptance acceptance = fleet_open(HOSTS);
    acceptance.began = clock_seconds() - 25;
    for (int look = 0; look < 4; look++) {
        for (int h = 0; h < HOSTS; h++) {
            counts_clear(h);
            counts(h, "eth0", "carrier_lost", COUNTER_FAULTY, h == 1 ? (uint64_t)look : 0);
        }
        assert_int_equal(counting_look(&acceptance, STAGE_SELF + look), STATUS_OK);
    }
    acceptance.findings.count = 0; /* the notes of the stages */
    carriers_judge(&acceptance);
    assert_int_equal(acceptance.findings.count, 1);
    assert_int_equal(acceptance.findings.items[0].host, 1);
    assert_int_equal(acceptance.findings.items[0].health, HEALTH_BAD);
    for (int h = 0; h < HOSTS; h++)
        device_changes_free(&fleet.now[h]);
    counting_free(&acceptance);
    fleet_close(&acceptance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_found_and_congestion_is_kept),
        cmocka_unit_test(counters_that_cannot_be_read_are_told),
        cmocka_unit_test(hosts_that_come_and_go_explain_their_links),
        cmocka_unit_test(each_iteration_of_a_pair_is_checked),
        cmocka_unit_test(a_number_is_slow_twice),
        cmocka_unit_test(a_clock_that_is_far_off_is_told),
        cmocka_unit_test(hosts_without_an_inventory_are_not_compared),
        cmocka_unit_test(packets_that_arrive_twice_are_told),
        cmocka_unit_test(a_carrier_that_is_lost_again_is_a_fault),
        cmocka_unit_test(a_host_that_stands_still_is_named),
        cmocka_unit_test(the_host_of_rank_0_is_named_for_all_others),
        cmocka_unit_test(few_hosts_and_long_runs_have_fewer_faults),
        cmocka_unit_test(carriers_of_most_hosts_are_no_hosts_fault),
        cmocka_unit_test(carriers_of_one_host_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

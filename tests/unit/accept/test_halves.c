/*
 * test_halves.c - the stages halves and all of `cctest accept` on a fleet that answers at once:
 * what pairs get when few and when many exchange.
 * tier: check; load: cpu1; program: own
 */
#include "base/clock.h"
#include "tests/unit/accept_fleet.h"

/* ---- halves ---- */

static void halve(struct acceptance *acceptance, struct stage_result *result)
{
    const struct fleet_config config = {.hosts = acceptance->roster->host_count};
    acceptance->fleet = fleet_create(&config, NULL, 0);
    *result = (struct stage_result){.stage = STAGE_HALVES};
    assert_int_equal(halves_run(acceptance, result), STATUS_OK);
}

/* Each pair is compared with itself. One of 8 pairs is few, and one host of an odd number rests. */
static void pairs_are_compared_with_themselves(void **state)
{
    (void)state;
    static const double shares[] = {1, 0.9, SHARE_LEAST, 0.79};
    for (int hosts = 31; hosts <= HOSTS_MOST; hosts++) {
        for (int i = 0; i < 4; i++) {
            struct acceptance acceptance = fleet_open(hosts);
            struct stage_result result;
            char text[STAGE_TEXT_MOST];
            fleet.share = shares[i];
            fleet.splits.size = hosts / 2 / 8;
            halve(&acceptance, &result);
            assert_int_equal(fleet.splits.runs, (shares[i] < SHARE_LEAST ? 2 : 1) * 3 * SPLIT_RUNS);
            snprintf(text, sizeof text,
                     "bandwidth of pairs, as a share of what they have when few exchange: %d "
                     "random halves of %d "
                     "hosts: %.0f%%",
                     shares[i] < SHARE_LEAST ? 6 : 3, hosts, 100 * shares[i]);
            assert_string_equal(result.text, text);
            assert_int_equal(acceptance.findings.count, shares[i] < SHARE_LEAST);
            snprintf(text, sizeof text,
                     "all: when %d pairs of hosts exchange at once, the median pair has %.0f%% of "
                     "the bandwidth that it has when few pairs exchange (threshold: 80%%): the "
                     "network between the hosts is congested",
                     hosts / 2, 100 * shares[i]);
            if (acceptance.findings.count > 0)
                assert_string_equal(acceptance.findings.items[0].text, text);
            fleet_close(&acceptance);
        }
    }
}

/* The finding names both parts where no switches are known. */
static void parts_with_a_slow_way_between_them_are_named(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(32);
    struct stage_result result;
    fleet.parts = true;
    fleet.splits.size = 2;
    halve(&acceptance, &result);
    assert_int_equal(fleet.splits.runs, 2 * 3 * SPLIT_RUNS);
    assert_int_equal(acceptance.findings.count, 1);
    const struct found *found = &acceptance.findings.items[0];
    assert_int_equal(found->kind, FOUND_NETWORK);
    assert_string_equal(
        found->text,
        "all: the pairs between h[0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30] and "
        "h[1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31] are slower than the pairs inside, 5 GB/s "
        "against 10 GB/s when 16 pairs exchange at once: the network between these parts is slow "
        "or oversubscribed");
    fleet_close(&acceptance);
}

/* A job that fails is a finding, of random halves as of parts that are tried. */
static void jobs_that_fail_are_told(void **state)
{
    (void)state;
    for (int parts = 0; parts < 2; parts++) {
        static const int hosts[] = {0, 1, 2, 3}, side[] = {0, 1, 0, 1};
        struct acceptance acceptance = fleet_open(4);
        struct stage_result result;
        fleet.fails = true;
        fleet.parts = parts;
        fleet.splits.size = 1;
        if (parts) {
            fleet.splits.runs = 6 * SPLIT_RUNS;
            assert_int_equal(parts_try(&acceptance, STAGE_HALVES, 0, hosts, 4, side), STATUS_OK);
        } else {
            halve(&acceptance, &result);
            assert_int_equal(result.state, STAGE_LEFT_OUT);
            assert_string_equal(result.why, "0 of 3 random halves could be measured");
        }
        assert_int_equal(acceptance.findings.count, parts ? 2 : 3); /* inside, across; splits */
        for (int i = 0; i < acceptance.findings.count; i++)
            assert_non_null(
                strstr(acceptance.findings.items[i].text, "all: a job of many good hosts fails: "));
        fleet_close(&acceptance);
    }
}

/* Two pairs inside the parts, and two across, are the fewest that tell them. */
static void parts_with_two_pairs_are_tried(void **state)
{
    (void)state;
    static const struct {
        int hosts, side[6];
        int pairs; /* 0: there are too few */
    } cases[] = {{6, {0, 1, 0, 1, 0, 1}, 2},
                 {5, {0, 1, 0, 1, 0}, 2},
                 {4, {0, 1, 0, 1}, 2},
                 {4, {0, 1, 0, -1}, 0},
                 {3, {0, 1, 0}, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static const int hosts[] = {0, 1, 2, 3, 4, 5};
        struct acceptance acceptance = fleet_open(cases[c].hosts);
        char text[100];
        fleet.parts = true;
        fleet.splits.runs = 6 * SPLIT_RUNS;
        assert_int_equal(
            parts_try(&acceptance, STAGE_HALVES, 0, hosts, cases[c].hosts, cases[c].side),
            STATUS_OK);
        assert_int_equal(fleet.parts_runs, 2 * cases[c].pairs);
        assert_int_equal(acceptance.findings.count, cases[c].pairs > 0);
        snprintf(text, sizeof text, "5 GB/s against 10 GB/s when %d pairs exchange at once",
                 cases[c].pairs);
        if (cases[c].pairs > 0)
            assert_non_null(strstr(acceptance.findings.items[0].text, text));
        fleet_close(&acceptance);
    }
}

/* Halves that are slow across the first time, and not the second time, are no parts. */
static void parts_are_tried_twice(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(32);
    struct stage_result result;
    fleet.parts = true;
    fleet.parts_most = 2;
    fleet.splits.size = 2;
    halve(&acceptance, &result);
    assert_int_equal(fleet.parts_runs, 4);
    assert_int_equal(acceptance.findings.count, 1);
    assert_non_null(strstr(acceptance.findings.items[0].text, "the network between the hosts is"));
    fleet_close(&acceptance);
}

/* A congestion that the second measurement does not show is not told. */
static void congestion_that_passes_is_not_told(void **state)
{
    (void)state;
    struct acceptance acceptance = fleet_open(32);
    struct stage_result result;
    fleet.share = 0.5;
    fleet.passing = 3 * SPLIT_RUNS;
    fleet.splits.size = 2;
    halve(&acceptance, &result);
    assert_int_equal(fleet.splits.runs, 2 * 3 * SPLIT_RUNS);
    assert_string_equal(result.text,
                        "bandwidth of pairs, as a share of what they have when few exchange: 6 "
                        "random halves of 32 hosts: 75%");
    assert_int_equal(acceptance.findings.count, 0);
    fleet_close(&acceptance);
}

/* A pair that has half of its bandwidth has it all, if one end waits half of the time for its core
 * where all exchange, and not where few do. Where few wait long, nothing is told. */
static void waits_for_cores_are_no_congestion(void **state)
{
    (void)state;
    static const struct {
        double share, waited, few_waited;
        const char *said;
        int findings;
        enum stage_state state;
    } cases[] = {
        {0.5, 0.5, 0, "3 random halves of 32 hosts: 100%" WAITED_UP("50%"), 0, STAGE_DONE},
        {0.5, 0.75, 0.3, "3 random halves of 32 hosts: 100%" WAITED_UP("75%"), 0, STAGE_DONE},
        {0.3, 0.25, 0, "6 random halves of 32 hosts: 40%" WAITED_UP("25%"), 1, STAGE_DONE},
        {0.6, 0.25, 0.05, "6 random halves of 32 hosts: 76%" WAITED_UP("25%"), 1, STAGE_DONE},
        {0.6, 0.05, 0.08, "6 random halves of 32 hosts: 60%", 1, STAGE_DONE},
        {0.6, 0.25, 0.5, "3 random halves of 32 hosts: 60%" WAITED_UP("25%"), 0, STAGE_PARTLY},
        {0.88, 0.09, 0, "3 random halves of 32 hosts: 97%", 0, STAGE_DONE},
        {0.5, 1, 0, "3 random halves of 32 hosts: 100%" WAITED_UP("99%"), 0, STAGE_DONE},
        {0.9, 0.1, 0, "3 random halves of 32 hosts: 100%" WAITED_UP("10%"), 0, STAGE_DONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(32);
        struct stage_result result;
        char text[STAGE_TEXT_MOST];
        fleet.share = cases[i].share;
        fleet.waited = cases[i].waited;
        fleet.few_waited = cases[i].few_waited;
        fleet.splits.size = 2;
        halve(&acceptance, &result);
        snprintf(text, sizeof text,
                 "bandwidth of pairs, as a share of what they have when few exchange: %s",
                 cases[i].said);
        assert_string_equal(result.text, text);
        assert_int_equal(result.state, cases[i].state);
        assert_string_equal(result.why,
                            cases[i].state == STAGE_DONE
                                ? ""
                                : "congestion cannot be judged: when few pairs exchange, "
                                  "ranks wait for their cores in 50% of the time");
        assert_int_equal(acceptance.findings.count, cases[i].findings);
        fleet_close(&acceptance);
    }
}

#define WAITED   "rank 7 (h3) waited for its core in "
#define SWITCHES "look at the switches and uplinks that hosts share"

/* Four hosts of 1 GB/s and 10 us, two ranks each: an allreduce of 1 MiB takes 3/2 MiB / (1 GB/s) at
 * least, an alltoall as long. Twice that, and the latency of 14 or 7 steps, is explained. Each
 * collective is judged by its own wait. */
static void collectives_of_all_are_explained_by_waits(void **state)
{
    (void)state;
    static const struct {
        double us[2], waited[2]; /* of allreduce, and of alltoall */
        int findings;
        enum status status[2]; /* of each finding */
        const char *says[2];
    } cases[] = {
        {{3200, 3200}, {0, 0}, 0, {STATUS_OK}, {""}},
        {{3250, 3250}, {0, 0}, 1, {STATUS_SLOW}, {"alltoall of 1M over 8 ranks takes "}},
        {{3300, 3300}, {0, 0}, 2, {STATUS_SLOW, STATUS_SLOW}, {SWITCHES, SWITCHES}},
        {{3300, 3300}, {0.1, 0.1}, 2, {STATUS_OK, STATUS_OK}, {WAITED "10%", WAITED "10%"}},
        {{6000, 6000}, {0.4, 0.4}, 2, {STATUS_SLOW, STATUS_SLOW}, {SWITCHES, SWITCHES}},
        {{6000, 6000}, {0.5, 0.4}, 2, {STATUS_OK, STATUS_SLOW}, {WAITED "50%", SWITCHES}},
        {{6000, 6000}, {0, 0.5}, 2, {STATUS_SLOW, STATUS_OK}, {SWITCHES, WAITED "50%"}},
        {{3200, 6000}, {0, 0.5}, 1, {STATUS_OK}, {WAITED "50%"}}};
    struct reading readings[24];
    int count = 0;
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            for (int m = 0; from != to && m < 2; m++)
                readings[count++] = (struct reading){.from = from,
                                                     .to = to,
                                                     .metric = m ? METRIC_BOTH : METRIC_LATENCY,
                                                     .value = m ? 1 : 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct fleet_config config = {.hosts = 4, .rails = 1};
        struct acceptance acceptance = fleet_open(4);
        struct stage_result result = {.stage = STAGE_ALL};
        acceptance.fleet = fleet_create(&config, readings, (size_t)count);
        acceptance.rails.count = 1;
        memcpy(fleet.all_us, cases[i].us, sizeof fleet.all_us);
        memcpy(fleet.all_waited, cases[i].waited, sizeof fleet.all_waited);
        assert_int_equal(all_run(&acceptance, &result), STATUS_OK);
        assert_int_equal(acceptance.findings.count, cases[i].findings);
        for (int f = 0; f < acceptance.findings.count; f++) {
            enum status status = acceptance.findings.items[f].status;
            assert_int_equal(status, cases[i].status[f]);
            assert_int_equal(found_action(acceptance.findings.items[f].kind),
                             status == STATUS_OK ? ACTION_LOAD : ACTION_SWITCH);
            assert_non_null(strstr(acceptance.findings.items[f].text, cases[i].says[f]));
        }
        fleet_close(&acceptance);
    }
}

/* The job of all hosts says what it waits for after 30 seconds, or a third of those that are left,
 * or one. */
static void all_hosts_wait_for_a_part_of_the_time(void **state)
{
    (void)state;
    static const struct {
        double left, stall;
    } cases[] = {{INFINITY, 30}, {3600, 30}, {60, 20}, {30, 10}, {2, 1}, {-1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance = fleet_open(4);
        struct stage_result result = {.stage = STAGE_ALL};
        acceptance.until = clock_seconds() + cases[i].left;
        fleet.all_us[0] = fleet.all_us[1] = 1;
        assert_int_equal(all_run(&acceptance, &result), STATUS_OK);
        assert_true(fabs(fleet.stall_seconds - cases[i].stall) < cases[i].stall / 4);
        fleet_close(&acceptance);
    }
}

#define SWITCHES_MOST 5

static void switches_name(char *name[SWITCHES_MOST])
{
    static char names[SWITCHES_MOST][3];
    for (int s = 0; s < SWITCHES_MOST; s++) {
        snprintf(names[s], sizeof names[s], "s%d", s % 10);
        name[s] = names[s];
    }
}

/* Hosts behind switches, of which some are congested. */
struct switched_case {
    int sizes[SWITCHES_MOST]; /* hosts of each switch */
    unsigned congested;
    int pairs;                 /* of a split */
    const char *named, *cause; /* NULL: it is congested the first time alone */
};

#define LINKS_OF " and the others are congested"

/* Less than half of the pairs of random halves have one end behind the congested ones. */
static const struct switched_case switched_cases[] = {
    {{8, 8, 4, 8}, 1 << 2, 12, "behind s2", "the links between this switch" LINKS_OF},
    {{12, 3, 3, 7, 7}, 3 << 1, 15, "behind s[1-2]", "the links between these switches" LINKS_OF},
    {{29, 3}, 1 << 0, 3, "between s[0-1]", "the network between them is congested"},
    {{11, 5, 5, 11}, 3 << 1, 16, "between s[0-3]", "the network between them is congested"},
    {{8, 8, 4, 8}, 1 << 2, 12, NULL, NULL},
};

static void switch_that_is_congested_is_named(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof switched_cases / sizeof *switched_cases; c++) {
        const struct switched_case *it = &switched_cases[c];
        char *name[SWITCHES_MOST], text[400];
        int switches[HOSTS_MOST], hosts = 0;
        struct switch_level level = {.name = name, .switches = switches};
        switches_name(name);
        for (; level.count < SWITCHES_MOST && it->sizes[level.count] > 0; level.count++)
            for (int h = 0; h < it->sizes[level.count]; h++)
                switches[hosts++] = level.count;
        struct acceptance acceptance = fleet_open(hosts);
        struct stage_result result;
        acceptance.leaves = level;
        fleet.level = &level;
        fleet.congested = it->congested;
        fleet.passing = it->named ? 0 : 2 * 3 * SPLIT_RUNS;
        fleet.splits.size = hosts / 2 / 8;
        halve(&acceptance, &result);
        assert_int_equal(fleet.splits.runs, 3 * 3 * SPLIT_RUNS);
        snprintf(text, sizeof text,
                 "3 random halves of %d hosts: 100%%, 6 halves by switch of %d switches: ", hosts,
                 level.count);
        assert_non_null(strstr(result.text, text));
        assert_int_equal(acceptance.findings.count, it->named != NULL);
        snprintf(text, sizeof text,
                 "all: when %d pairs of hosts behind different switches exchange at once, the "
                 "pairs %s have 50%% of the bandwidth that they have when few pairs exchange "
                 "(threshold: 80%%): %s",
                 it->pairs, it->named ? it->named : "", it->cause ? it->cause : "");
        if (it->named)
            assert_string_equal(acceptance.findings.items[0].text, text);
        fleet_close(&acceptance);
    }
}

/* Four hosts are the fewest. */
static void few_hosts_have_no_halves(void **state)
{
    (void)state;
    for (int hosts = 3; hosts <= 5; hosts++) {
        struct acceptance acceptance = fleet_open(hosts);
        struct stage_result result;
        fleet.splits.size = 1;
        halve(&acceptance, &result);
        assert_int_equal(fleet.splits.runs, hosts < 4 ? 0 : 3 * SPLIT_RUNS);
        assert_int_equal(result.state, hosts < 4 ? STAGE_LEFT_OUT : STAGE_DONE);
        assert_string_equal(result.why, hosts < 4 ? "fewer than 4 hosts are good" : "");
        fleet_close(&acceptance);
    }
}

/* Hosts behind one switch, or each behind its own, are not halved by switch; nor is one pair. */
static void switches_that_part_no_hosts_are_told(void **state)
{
    (void)state;
    static const struct {
        int switches[4];
        const char *why; /* NULL: they are halved */
    } cases[] = {{{1, 1, 1, 1}, "no halves by switch: all good hosts are behind one switch, s1"},
                 {{0, 1, 2, 3}, "no halves by switch: each good host has a switch of its own"},
                 {{0, 2, 0, 0}, "0 of 3 halves by switch could be measured"},
                 {{0, 0, 1, 1}, NULL},
                 {{0, 1, 2, 2}, NULL}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char *name[SWITCHES_MOST];
        int switches[4];
        struct switch_level level = {.count = 4, .name = name, .switches = switches};
        struct acceptance acceptance = fleet_open(4);
        struct stage_result result;
        switches_name(name);
        memcpy(switches, cases[c].switches, sizeof switches);
        acceptance.leaves = level;
        fleet.level = &level;
        fleet.splits.size = 1;
        halve(&acceptance, &result);
        assert_string_equal(result.why, cases[c].why ? cases[c].why : "");
        assert_int_equal(result.state, cases[c].why ? STAGE_PARTLY : STAGE_DONE);
        assert_int_equal(fleet.splits.runs, (cases[c].why ? 1 : 2) * 3 * SPLIT_RUNS);
        fleet_close(&acceptance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_compared_with_themselves),
        cmocka_unit_test(parts_with_a_slow_way_between_them_are_named),
        cmocka_unit_test(jobs_that_fail_are_told),
        cmocka_unit_test(parts_with_two_pairs_are_tried),
        cmocka_unit_test(parts_are_tried_twice),
        cmocka_unit_test(congestion_that_passes_is_not_told),
        cmocka_unit_test(waits_for_cores_are_no_congestion),
        cmocka_unit_test(collectives_of_all_are_explained_by_waits),
        cmocka_unit_test(all_hosts_wait_for_a_part_of_the_time),
        cmocka_unit_test(switch_that_is_congested_is_named),
        cmocka_unit_test(few_hosts_have_no_halves),
        cmocka_unit_test(switches_that_part_no_hosts_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

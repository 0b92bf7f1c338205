/*
 * test_resent_packets.c - hosts that lose packets are told from their partners by what TCP sent again.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include "accept/internal.h"

#define HOSTS 6

/* All pairs of hosts have sent again what the matrix says: the first of their two jobs, which has
 * several readings, in two lines. */
static struct acceptance fleet_of(struct roster *roster, int resent[HOSTS][HOSTS])
{
    static const char *labels[HOSTS] = {"h1", "h2", "h3", "h4", "h5", "h6"};
    struct acceptance acceptance = {
        .memory = arena_create(), .roster = roster, .labels = labels};
    roster->host_count = HOSTS;
    for (int i = 0; i < 2 * HOSTS * HOSTS; i++) {
        struct host_pair pair = {.a = i / 2 / HOSTS, .b = i / 2 % HOSTS};
        if (pair.a >= pair.b)
            continue;
        bool second = i % 2;
        int share = second ? 0 : resent[pair.a][pair.b];
        json_t *document =
            json_pack("{s:[{s:[{s:[{s:i}]}, {s:[]}]}, {s:[{}, {s:[{s:i}, {}]}]}]}", "results",
                      "samples", "peers", "resent", share / 2, "peers", "samples", "peers", "resent",
                      share - share / 2);
        assert_non_null(document);
        struct trial trial = {.outcome = READING_VALUE, .document = document};
        struct trials trials = {
            .acceptance = &acceptance, .stage = STAGE_PAIRS, .count = 1, .outcomes = &trial};
        struct pair_jobs jobs = {.acceptance = &acceptance};
        pair_job_take(&jobs, &trials, 0, 0, &pair, second);
        json_decref(document);
    }
    resent_packets_judge(&acceptance);
    return acceptance;
}

static void fleet_close(struct acceptance *acceptance)
{
    findings_free(&acceptance->findings);
    free(acceptance->readings.items);
    arena_free(acceptance->memory);
}

static void a_lossy_host_is_named_and_its_partners_are_not(void **state)
{
    (void)state;
    struct roster roster = {0};
    int resent[HOSTS][HOSTS] = {{1, 0, 11, 2}, {0, 0, 12}, {0, 0, 0, 12, 0, 40}};
    struct acceptance acceptance = fleet_of(&roster, resent);
    assert_int_equal(1, acceptance.findings.count);
    assert_int_equal(2, acceptance.findings.items[0].host);
    assert_int_equal(-1, acceptance.findings.items[0].peer);
    assert_true(acceptance.loses_packets[2]);
    assert_int_equal(HEALTH_BAD, acceptance.findings.items[0].health);
    assert_int_equal(STATUS_SLOW, acceptance.findings.items[0].status);
    assert_string_equal("h3: loses packets: with its median partner TCP sends 12 again, the fleet's "
                        "median is 0 (threshold 9)",
                        acceptance.findings.items[0].text);
    fleet_close(&acceptance);
}

static void a_lossy_link_and_a_few_packets_name_no_host(void **state)
{
    (void)state;
    struct roster roster = {0};
    int link[HOSTS][HOSTS] = {{0, 500}};
    int few[HOSTS][HOSTS] = {{0, 9, 9, 9, 9, 9}};
    struct acceptance acceptance = fleet_of(&roster, link);
    assert_int_equal(0, acceptance.findings.count);
    fleet_close(&acceptance);
    acceptance = fleet_of(&roster, few);
    assert_int_equal(0, acceptance.findings.count);
    fleet_close(&acceptance);
}

/* Queues that are full everywhere: hosts differ by chance. */
static void a_fleet_that_sends_much_again_names_no_host(void **state)
{
    (void)state;
    struct roster roster = {0};
    int resent[HOSTS][HOSTS];
    for (int a = 0; a < HOSTS; a++)
        for (int b = 0; b < HOSTS; b++)
            resent[a][b] = 100 + 37 * a + 53 * b;
    struct acceptance acceptance = fleet_of(&roster, resent);
    assert_int_equal(0, acceptance.findings.count);
    fleet_close(&acceptance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lossy_host_is_named_and_its_partners_are_not),
        cmocka_unit_test(a_lossy_link_and_a_few_packets_name_no_host),
        cmocka_unit_test(a_fleet_that_sends_much_again_names_no_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

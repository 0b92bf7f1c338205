/*
 * test_roster.c - who belongs to a fleet: places of agents, hosts, and what a loss takes with it.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include "controlplane/agents/agents.h"

static const struct address_list work = {.count = 1, .list = {{.family = AF_INET, .port = 1}}};

static struct join_request request_of(int rank, int ranks, const char *host)
{
    const struct membership membership = {.rank = rank, .ranks = ranks, .bootstrap = "test"};
    struct join_request request;
    join_request_fill(&request, &membership, "accept");
    snprintf(request.host.name, sizeof request.host.name, "%s", host);
    snprintf(request.host.boot, sizeof request.host.boot, "boot of %s", host);
    request.pid = 1000 + rank;
    return request;
}

static struct roster roster_of(int ranks)
{
    struct roster roster;
    const struct join_request root = request_of(0, ranks, "a");
    roster_open(&roster, ranks, &root, &work);
    return roster;
}

/* An agent calls, and arrives where it is sent; returns its leader. */
static int join(struct roster *roster, int rank, const char *host)
{
    const struct join_request request = request_of(rank, roster->ranks, host);
    char why[400];
    assert_int_equal(STATUS_OK, roster_check(roster, &request, why, sizeof why));
    int leader = roster_place(roster, &request);
    roster_arrive(roster, rank, &work);
    return leader;
}

/* Rank 0 leads its own host, the first caller of each other host leads that. */
static void the_first_agent_of_a_host_leads_it(void **state)
{
    (void)state;
    struct roster roster = roster_of(6);
    assert_int_equal(0, join(&roster, 3, "b"));
    assert_int_equal(3, join(&roster, 1, "b"));
    assert_int_equal(0, join(&roster, 2, "a"));
    assert_int_equal(0, join(&roster, 4, "c"));
    assert_int_equal(3, join(&roster, 5, "b"));
    assert_int_equal(3, join(&roster, 5, "b")); /* it calls again */
    assert_int_equal(6, roster.present);
    const int via[] = {0, 3, 2, 3, 4, 3};
    for (int rank = 1; rank < 6; rank++)
        assert_int_equal(via[rank], roster.agents[rank].via);
    roster_complete(&roster, "late");
    assert_int_equal(3, roster.host_count);
    assert_string_equal("a", roster.hosts[0].name);
    assert_string_equal("b", roster.hosts[1].name);
    assert_int_equal(3, roster.hosts[1].count);
    const int of_b[] = {1, 3, 5};
    assert_memory_equal(of_b, roster.hosts[1].agents, sizeof of_b);
    assert_false(roster.hosts[0].lost || roster.hosts[1].lost || roster.hosts[2].lost);
    roster_close(&roster);
}

/* An agent that cannot reach its leader stays with rank 0. */
static void an_agent_that_comes_back_stays(void **state)
{
    (void)state;
    struct roster roster = roster_of(3);
    assert_int_equal(0, join(&roster, 1, "b"));
    struct join_request request = request_of(2, 3, "b");
    assert_int_equal(1, roster_place(&roster, &request));
    request.reason = JOIN_AGAIN;
    assert_int_equal(0, roster_place(&roster, &request));
    assert_int_equal(2, roster.agents[2].via);
    roster_close(&roster);
}

/* With a leader all agents behind it are lost, and so is the host; other hosts are not. */
static void a_leader_takes_its_agents_along(void **state)
{
    (void)state;
    struct roster roster = roster_of(5);
    join(&roster, 1, "b");
    join(&roster, 2, "b");
    join(&roster, 3, "c");
    join(&roster, 4, "a");
    roster_complete(&roster, "late");
    roster_lose(&roster, 1, "it was killed", LOSS_ENDED, "pairs", "sendrecv");
    assert_int_equal(PRESENCE_LOST, roster.agents[2].presence);
    assert_int_equal(PRESENCE_PRESENT, roster.agents[3].presence);
    assert_int_equal(PRESENCE_PRESENT, roster.agents[4].presence);
    assert_int_equal(2, roster.lost);
    const struct fleet_host *b = &roster.hosts[1];
    assert_true(b->lost);
    assert_int_equal(1, b->lost_agent);
    assert_int_equal(LOSS_ENDED, b->loss);
    assert_string_equal("it was killed", b->why);
    assert_string_equal("pairs", b->stage);
    assert_string_equal("sendrecv", b->doing);
    roster_lose(&roster, 1, "again", LOSS_FAULT, "all", "alltoall"); /* once is enough */
    assert_string_equal("it was killed", b->why);
    roster_close(&roster);
}

/* The others go on without an agent that is no leader, but its host is lost. */
static void one_agent_takes_its_host_out(void **state)
{
    (void)state;
    struct roster roster = roster_of(3);
    join(&roster, 1, "b");
    join(&roster, 2, "b");
    roster_complete(&roster, "late");
    roster_lose(&roster, 2, "it was stopped", LOSS_FAULT, "", "");
    assert_int_equal(PRESENCE_PRESENT, roster.agents[1].presence);
    assert_true(roster.hosts[1].lost);
    roster_close(&roster);
}

/* Agents that never called are hosts without a name; one that called and did not arrive has one. */
static void those_that_do_not_come_are_lost(void **state)
{
    (void)state;
    struct roster roster = roster_of(4);
    join(&roster, 1, "b");
    const struct join_request request = request_of(3, 4, "c");
    roster_place(&roster, &request);
    roster_complete(&roster, "it did not call");
    assert_int_equal(2, roster.present);
    assert_int_equal(2, roster.lost);
    assert_int_equal(4, roster.host_count);
    assert_string_equal("", roster.hosts[2].name);
    assert_true(roster.hosts[2].lost);
    assert_string_equal("it did not call", roster.hosts[2].why);
    assert_int_equal(LOSS_ABSENT, roster.hosts[2].loss);
    assert_string_equal("c", roster.hosts[3].name);
    assert_true(roster.hosts[3].lost);
    assert_int_equal(LOSS_FAULT, roster.hosts[3].loss);
    const struct join_request late = request_of(2, 4, "b");
    char why[400];
    assert_int_equal(STATUS_TIMEOUT, roster_check(&roster, &late, why, sizeof why));
    assert_non_null(strstr(why, "rank 2 called too late"));
    roster_close(&roster);
}

static void two_processes_cannot_be_one_agent(void **state)
{
    (void)state;
    struct roster roster = roster_of(3);
    join(&roster, 1, "b");
    struct join_request other = request_of(1, 3, "c");
    char why[400];
    assert_int_equal(STATUS_USAGE, roster_check(&roster, &other, why, sizeof why));
    assert_non_null(strstr(why, "two processes claim rank 1"));
    roster_close(&roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_agent_of_a_host_leads_it),
        cmocka_unit_test(an_agent_that_comes_back_stays),
        cmocka_unit_test(a_leader_takes_its_agents_along),
        cmocka_unit_test(one_agent_takes_its_host_out),
        cmocka_unit_test(those_that_do_not_come_are_lost),
        cmocka_unit_test(two_processes_cannot_be_one_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_losses.c - hosts that are lost: which of them are at fault, and which rank 0 could not hear.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accept/internal.h"

#define HOSTS_MOST 9

/* How a host is lost: '.' not at all, 'x' by a fault, 'e' its process ended, 'a' it never called,
 * 's' it fell silent, 'S' silent half a minute later, 'b' silent half a minute before, 'f' its data
 * failed authentication. The first is rank 0's. */
struct fleet_of_losses {
    struct acceptance acceptance;
    struct roster roster;
    struct fleet_host hosts[HOSTS_MOST];
    struct known_agent agents[HOSTS_MOST];
    char names[HOSTS_MOST][8];
    const char *labels[HOSTS_MOST];
    bool found[HOSTS_MOST];
};

static void fleet_lose(struct fleet_of_losses *fleet, const char *losses)
{
    *fleet = (struct fleet_of_losses){.roster.host_count = (int)strlen(losses)};
    fleet->roster.hosts = fleet->hosts;
    fleet->roster.agents = fleet->agents;
    fleet->acceptance.roster = &fleet->roster;
    fleet->acceptance.labels = fleet->labels;
    fleet->acceptance.losses_found = fleet->found;
    for (int h = 0; losses[h]; h++) {
        struct fleet_host *host = &fleet->hosts[h];
        snprintf(fleet->names[h], sizeof fleet->names[h], "h%d", h + 1);
        fleet->labels[h] = fleet->names[h];
        fleet->agents[h].host = h;
        host->lost = losses[h] != '.';
        host->loss = losses[h] == 'e'   ? LOSS_ENDED
                     : losses[h] == 'a' ? LOSS_ABSENT
                     : losses[h] == 'f' ? LOSS_FORGED
                     : losses[h] == 'x' ? LOSS_FAULT
                                        : LOSS_SILENT;
        host->lost_at = 100 + 0.2 * h + (losses[h] == 'S' ? 30 : losses[h] == 'b' ? -30 : 0);
        snprintf(host->stage, sizeof host->stage, "pairs");
    }
}

/* "good bad unknown", by host. */
static void healths_put(const struct fleet_of_losses *fleet, char said[100])
{
    struct text text = text_in(said, 100);
    enum health *healths = acceptance_healths(&fleet->acceptance);
    for (int h = 0; h < fleet->roster.host_count; h++)
        text_add(&text, "%s%s", h > 0 ? " " : "", health_words[healths[h]]);
    free(healths);
}

static void judged(const char *losses, double stopped, const char *healths)
{
    struct fleet_of_losses fleet;
    char said[100];
    fleet_lose(&fleet, losses);
    fleet.roster.stopped = stopped;
    losses_find(&fleet.acceptance);
    losses_judge(&fleet.acceptance);
    fleet.acceptance.judged = true;
    healths_put(&fleet, said);
    findings_free(&fleet.acceptance.findings);
    assert_string_equal(said, healths);
}

/* A host that rank 0 hears tells that its link works. */
static void a_silent_host_among_others_is_bad(void **state)
{
    (void)state;
    judged("...s", 0, "good good good bad");
    judged("..s", 0, "good good bad");
    judged("..xx", 0, "good good bad bad");
    judged(".ss....", 0, "good bad bad good good good good");
}

static void hosts_that_rank_0_cannot_hear_are_not_judged(void **state)
{
    (void)state;
    judged(".sss", 0, "bad unknown unknown unknown");
    judged(".ss", 0, "bad unknown unknown");
    judged(".sss..", 0, "suspect unknown unknown unknown good good");
    judged(".sssx", 0, "suspect unknown unknown unknown bad");
    judged(".sa", 0, "suspect suspect unknown"); /* no host that was there tells of h1 */
    judged(".ssa", 0, "bad unknown unknown unknown");
    judged(".s.a", 0, "good bad good unknown");
}

/* Either end, or the link; and which way the data came is known. */
static void altered_data_have_a_direction(void **state)
{
    (void)state;
    struct fleet_of_losses fleet;
    fleet_lose(&fleet, "..f.");
    losses_find(&fleet.acceptance);
    const struct found *found = &fleet.acceptance.findings.items[0];
    assert_int_equal(fleet.acceptance.findings.count, 1);
    assert_int_equal(found->host, 2);
    assert_int_equal(found->peer, 0);
    assert_int_equal(found->status, STATUS_WRONG_DATA);
    assert_int_equal(
        strncmp(found->text, "h3, h1 or the link between them: wrong data from h3 to h1 ", 58), 0);
    findings_free(&fleet.acceptance.findings);
}

/* The host may be good. */
static void an_agent_that_ended_or_never_called_is_not_bad(void **state)
{
    (void)state;
    static const struct {
        const char *losses, *text;
        enum found_kind kind;
    } cases[] = {{".e", "h2: lost in stage pairs: rank 0 of the agents: ", FOUND_ENDED},
                 {".a", "h2: ", FOUND_ABSENT}};
    judged("..e", 0, "good good suspect");
    judged("..a", 0, "good good unknown");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fleet_of_losses fleet;
        fleet_lose(&fleet, cases[i].losses);
        losses_find(&fleet.acceptance);
        const struct found *found = &fleet.acceptance.findings.items[0];
        assert_string_equal(found->text, cases[i].text);
        assert_int_equal(found->kind, cases[i].kind);
        assert_int_equal(found_action(found->kind), ACTION_START);
        assert_int_equal(found->status, STATUS_TIMEOUT);
        findings_free(&fleet.acceptance.findings);
    }
}

/* A loss of another time, or one that ended, says nothing of rank 0's link, and those that it left
 * are fewer. */
static void earlier_losses_do_not_hide_rank_0(void **state)
{
    (void)state;
    judged(".bbsss.", 0, "suspect bad bad unknown unknown unknown good");
    judged(".bbbbss", 0, "bad unknown unknown unknown unknown unknown unknown");
    judged(".b..ss", 0, "good bad good good bad bad");
    judged(".bss", 0, "bad bad unknown unknown");
}

/* Nothing tells two hosts apart. */
static void the_last_two_hosts_are_suspect(void **state)
{
    (void)state;
    judged(".s", 0, "suspect suspect");
    judged(".bS", 0, "suspect bad suspect");
    judged(".x", 0, "good bad");
}

static void after_rank_0_was_stopped_no_other_is_judged(void **state)
{
    (void)state;
    judged(".s", 4, "bad unknown");
    judged(".s..", 4, "suspect unknown good good");
    judged(".b.s...", 4, "suspect bad good unknown good good good");
}

/* Each stage looks for losses. Those of an earlier one are not found again. */
static void a_loss_is_found_once(void **state)
{
    (void)state;
    struct fleet_of_losses fleet;
    fleet_lose(&fleet, ".x.s");
    for (int stage = 0; stage < 4; stage++) {
        fleet.hosts[3].lost = stage >= 2;
        losses_find(&fleet.acceptance);
        assert_int_equal(fleet.acceptance.findings.count, stage >= 2 ? 2 : 1);
    }
    assert_int_equal(fleet.acceptance.findings.items[0].host, 1);
    assert_int_equal(fleet.acceptance.findings.items[1].host, 3);
    findings_free(&fleet.acceptance.findings);
}

/* While the run goes on no host is good, and a silent one is not bad. */
static void what_is_not_judged_is_unknown(void **state)
{
    (void)state;
    struct fleet_of_losses fleet;
    char said[100];
    fleet_lose(&fleet, "..sx");
    losses_find(&fleet.acceptance);
    healths_put(&fleet, said);
    assert_string_equal(said, "unknown unknown unknown bad");
    findings_free(&fleet.acceptance.findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_host_among_others_is_bad),
        cmocka_unit_test(hosts_that_rank_0_cannot_hear_are_not_judged),
        cmocka_unit_test(altered_data_have_a_direction),
        cmocka_unit_test(an_agent_that_ended_or_never_called_is_not_bad),
        cmocka_unit_test(earlier_losses_do_not_hide_rank_0),
        cmocka_unit_test(the_last_two_hosts_are_suspect),
        cmocka_unit_test(after_rank_0_was_stopped_no_other_is_judged),
        cmocka_unit_test(what_is_not_judged_is_unknown),
        cmocka_unit_test(a_loss_is_found_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

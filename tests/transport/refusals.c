/*
 * refusals.c - whole jobs with a transport that a rank cannot use: with `-x auto` another one
 * serves and the table says why; by name the job ends with status 77 and the reason.
 * tier: check; load: cpu1; program: own
 */
#include "../unit/command.h"

#include "transports/transports.h"

/* ---- transports in place of those of transports/list.c ---- */

static const struct transport_option rail_options[] = {
    {.name = "refuses",
     .kind = TRANSPORT_OPTION_NUMBER,
     .values = "0..9",
     .help = "the rank that cannot use it",
     .most = 9,
     .per_rank = true},
    {.name = NULL},
};

/* Moves data over TCP, but not on one rank. */
static enum status rail_open(const struct transport_config *config, struct endpoint **endpoint,
                             char *reason)
{
    const struct transport_setting *refuses = &config->settings[0];
    if (config->rank != (refuses->given ? refuses->number : 1))
        return transport_tcp.open(config, endpoint, reason);
    snprintf(reason, TRANSPORT_REASON_MOST, "no port is active; see `rail status`");
    return STATUS_UNAVAILABLE;
}

static const char *no_library(void)
{
    return "its library is missing";
}

static struct transport rail, missing;
const struct transport *const transports[] = {&missing, &rail, &transport_tcp, NULL};

static int make_transports(void **state)
{
    (void)state;
    missing = rail = transport_tcp;
    rail.name = "rail";
    rail.options = rail_options;
    rail.open = rail_open;
    missing.name = "missing";
    missing.unavailable = no_library;
    return 0;
}

/* ---- jobs ---- */

static const struct child *child;

/* `cctest allreduce -b 64 -e 64 -n 1 -w 0 --np 3 MORE` */
static int job_status(const char *more)
{
    char words[256];
    snprintf(words, sizeof words, "cctest allreduce -b 64 -e 64 -n 1 -w 0 --np 3 %s", more);
    return command_run(words, &child);
}

static void assert_says(const char *text, const char *wanted, bool says)
{
    if ((strstr(text, wanted) != NULL) != says)
        print_error("%s: \"%s\" in:\n%s", says ? "missing" : "unwanted", wanted, text);
    assert_int_equal(strstr(text, wanted) != NULL, says);
}

static const char *const ways[] = {"processes", "threads"};

static void auto_passes_over_and_says_why(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++)
        for (int verbose = 0; verbose < 2; verbose++) {
            char more[64];
            snprintf(more, sizeof more, "--ranks-as %s%s", ways[way], verbose ? " -v" : "");
            assert_int_equal(job_status(more), STATUS_OK);
            assert_says(child->out, "# 2 pairs of ranks run over tcp, such as ranks 0 (", true);
            assert_says(child->out, "because rail cannot be used on rank 1: no port is active",
                        true);
            /* A node that lacks a transport is no news. */
            assert_says(child->out, "because missing cannot be used on rank 0 and others: its",
                        verbose);
        }
}

static void json_has_all_reasons(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "\"cause\": \"refused\"",    "\"cause\": \"absent\"",
        "\"preferred\": \"rail\"",   "\"taken\": \"tcp\"",
        "\"taken\": \"rail\"",       "\"reason\": \"no port is active; see",
        "\"preferred\": \"missing\""};
    assert_int_equal(job_status("--json -"), STATUS_OK);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_says(child->out, wanted[i], true);
}

static void by_name_the_job_ends(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        char more[128];
        for (int rank = 0; rank < 3; rank++) {
            char wanted[128];
            snprintf(more, sizeof more, "--ranks-as %s -x rail:refuses=%d,tcp", ways[way], rank);
            assert_int_equal(job_status(more), STATUS_UNAVAILABLE);
            snprintf(wanted, sizeof wanted, "cctest: rank %d (host ", rank);
            assert_says(child->err, wanted, true);
            snprintf(wanted, sizeof wanted,
                     "): transport rail cannot be used here: no port is active");
            assert_says(child->err, wanted, true);
        }
        snprintf(more, sizeof more, "--ranks-as %s -x rail:refuses=9,tcp", ways[way]);
        assert_int_equal(job_status(more), STATUS_OK);
        assert_says(child->out, "transport rail:refuses=9,tcp;", true); /* as given */
        assert_says(child->out, "run over", false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_passes_over_and_says_why),
        cmocka_unit_test(json_has_all_reasons),
        cmocka_unit_test(by_name_the_job_ends),
    };
    return cmocka_run_group_tests_name("refusals", tests, make_transports, NULL);
}

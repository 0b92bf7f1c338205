/*
 * test_transport_options.c - options behind a transport's name, with transports of this test: what
 * is read, refused, compared between ranks, shown, listed and completed.
 * tier: check; load: cpu1; program: own
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/options/options.h"
#include "dataplane/transport/transport.h"

/* ---- transports in place of those of transports/list.c ---- */

static char nics[] = "/tmp/test_transport_options.XXXXXX"; /* a folder with the names of NICs */
static const char *const ways[] = {"short", "long", NULL};
enum { DEPTH, WAY, NIC, HOPS };
static const struct transport_option rail_options[] = {
    {.name = "depth",
     .values = "1..255",
     .help = "requests in flight",
     .kind = TRANSPORT_OPTION_NUMBER,
     .least = 1,
     .most = 255},
    {.name = "way",
     .values = "short|long",
     .help = "the way that is taken",
     .kind = TRANSPORT_OPTION_WORD,
     .words = ways},
    {.name = "nic",
     .values = "NAME[:PORT]+...",
     .help = "the devices",
     .folder = nics,
     .kind = TRANSPORT_OPTION_TEXT,
     .per_rank = true},
    {.name = "hops", .values = "A-B", .help = "the stations", .kind = TRANSPORT_OPTION_TEXT},
    {.name = NULL},
};

static const char *no_library(void)
{
    return "its library is not installed";
}

/* Two settings that exclude each other. */
static bool rail_accepts(const struct transport_setting *settings, double timeout, char *reason)
{
    bool good = !settings[DEPTH].given || settings[DEPTH].number < timeout * 5;
    snprintf(reason, TRANSPORT_REASON_MOST, "depth=%ld is too much for --timeout: choose less",
             settings[DEPTH].number);
    return good;
}

static const struct transport rail = {
    .name = "rail", .summary = "with options", .options = rail_options};
static const struct transport plain = {.name = "plain", .summary = "without options"};
static const struct transport gone = {
    .name = "gone", .summary = "not here", .unavailable = no_library};
static const struct transport gone_rail = {.name = "gone-rail",
                                           .summary = "not here, with options",
                                           .unavailable = no_library,
                                           .options = rail_options,
                                           .accepts = rail_accepts};
const struct transport *const transports[] = {&rail, &plain, &gone, &gone_rail, NULL};

/* ---- command lines ---- */

struct outcome {
    enum status status;
    char message[1024];
    struct command_line line;
    struct request request;
    char list[1100]; /* of transports, which the job refers to */
};

static void resolve(struct outcome *outcome, const char *list)
{
    static char program[] = "cctest", collective[] = "allreduce", flag[] = "-x";
    struct log log;
    snprintf(outcome->list, sizeof outcome->list, "%s", list);
    char *argv[] = {program, collective, flag, outcome->list, NULL};
    log_init(&log, -1, 0);
    log_attach(&log);
    job_release(&outcome->request.job); /* of the last list */
    outcome->status = command_line_read(4, argv, NULL, &outcome->line);
    if (outcome->status == STATUS_OK)
        outcome->status = command_line_resolve(&outcome->line, &outcome->request);
    assert_int_equal(outcome->status, log.failure.status);
    snprintf(outcome->message, sizeof outcome->message, "%s", log.failure.text);
    log_attach(NULL);
}

static void take(struct outcome *outcome, const char *list)
{
    resolve(outcome, list);
    if (outcome->status != STATUS_OK)
        print_error("-x %s: %s\n", list, outcome->message);
    assert_int_equal(outcome->status, STATUS_OK);
}

static void values_reach_the_job(void **state)
{
    (void)state;
    static struct outcome o;
    const struct transport_setting *settings = o.request.job.transports[1].settings;
    take(&o, "plain,rail:nic=m0:1+m1:depth=7:way=long");
    assert_ptr_equal(o.request.job.transports[0].transport, &plain);
    assert_ptr_equal(o.request.job.transports[1].transport, &rail);
    assert_true(o.request.job.transports[1].named);
    assert_null(o.request.job.transports[2].transport);
    assert_true(settings[NIC].given);
    assert_string_equal(settings[NIC].text, "m0:1+m1");
    assert_true(settings[DEPTH].given);
    assert_int_equal(settings[DEPTH].number, 7);
    assert_int_equal(settings[WAY].number, 1);
    assert_false(settings[HOPS].given);
    for (int i = 0; i < TRANSPORT_OPTIONS_MOST; i++)
        assert_false(o.request.job.transports[0].settings[i].given);

    /* A text goes on until the next option, whatever it holds. */
    settings = o.request.job.transports[0].settings;
    take(&o, "rail:nic=a:hops=b:c:d::e,plain");
    assert_string_equal(settings[NIC].text, "a");
    assert_string_equal(settings[HOPS].text, "b:c:d::e");
    take(&o, "rail:depth=255:hops=x:depth:auto:");
    assert_string_equal(settings[HOPS].text, "x:depth:auto:");
    take(&o, "rail:way=short");
    assert_true(settings[WAY].given);
    assert_int_equal(settings[WAY].number, 0);
    assert_false(settings[HOPS].given);
}

static void auto_allows_all(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "auto");
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(o.request.job.transports[i].transport, transports[i]);
        assert_false(o.request.job.transports[i].named);
        assert_false(o.request.job.transports[i].settings[DEPTH].given);
    }
    assert_null(o.request.job.transports[4].transport);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list, *says;
        enum status status;
    } bad[] = {
        {"rail:dept=3", "'dept' is not an option of transport rail: did you mean 'depth'? valid",
         STATUS_USAGE},
        {"rail:=3", "'' is not an option of transport rail", STATUS_USAGE},
        {"rail:depth=many",
         "depth 'many' of transport rail is not a number: give a whole number "
         "from 1 to 255",
         STATUS_USAGE},
        {"rail:depth=", "depth '' of transport rail", STATUS_USAGE},
        {"rail:depth=0", "depth '0' of transport rail is too small: give a whole number from 1 to",
         STATUS_USAGE},
        {"rail:depth=256", "is too large: give a whole number from 1 to 255", STATUS_USAGE},
        {"rail:way=lng", "'lng' is not a value of way of transport rail: did you mean 'long'?",
         STATUS_USAGE},
        {"rail:depth=1:depth=2", "option depth of transport rail is given twice", STATUS_USAGE},
        {"rail:depth=1:nic", "'nic' behind transport rail is not KEY=VALUE: write rail:nic=VALUE",
         STATUS_USAGE},
        {"rail:dept", "'dept' behind transport rail is not KEY=VALUE: write rail:depth=VALUE",
         STATUS_USAGE},
        {"rail:", "'' behind transport rail is not KEY=VALUE", STATUS_USAGE},
        {"rail:nic=", "nic of transport rail is empty: give NAME[:PORT]+...", STATUS_USAGE},
        {"rail:nic=,plain", "nic of transport rail is empty", STATUS_USAGE},
        {"plain:depth=1", "transport plain has no option 'depth': it takes none", STATUS_USAGE},
        {"plain:", "'' behind transport plain is not KEY=VALUE", STATUS_USAGE},
        {"rail:depth=1,rail:depth=2", "names a transport twice", STATUS_USAGE},
        {"auto:depth=1", "write auto alone", STATUS_USAGE},
        {"rail,auto", "write auto alone", STATUS_USAGE},
        {"rali:depth=1", "did you mean 'rail'?", STATUS_USAGE},
        {"gone", "transport gone cannot be used here: its library is not installed",
         STATUS_UNAVAILABLE},
        {"gone:depth=1", "transport gone has no option 'depth': it takes none", STATUS_USAGE},
        {"gone,rali", "did you mean 'rail'?", STATUS_USAGE},
        {"gone,rail:depth=0", "is too small", STATUS_USAGE},
        {"gone,gone", "names a transport twice", STATUS_USAGE},
        {"gone,gone-rail:depth=200",
         "transport gone-rail: depth=200 is too much for --timeout: choose less", STATUS_USAGE},
        {"gone-rail:depth=1", "its library is not installed", STATUS_UNAVAILABLE},
        {"gone-rail:depth=0", "is too small", STATUS_USAGE},
    };
    static struct outcome o;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        resolve(&o, bad[i].list);
        if (o.status != bad[i].status || !strstr(o.message, bad[i].says))
            print_error("-x %s: %d, %s\n", bad[i].list, o.status, o.message);
        assert_int_equal(o.status, bad[i].status);
        assert_non_null(strstr(o.message, bad[i].says));
    }
    char longest[1050];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "rail:nic=", 9);
    longest[TRANSPORT_LIST_MOST] = '\0';
    resolve(&o, longest);
    assert_int_equal(o.status, STATUS_USAGE);
    assert_non_null(strstr(o.message, "is longer than 1023 characters"));
    longest[TRANSPORT_LIST_MOST - 1] = '\0';
    take(&o, longest);
    assert_int_equal(strlen(o.request.job.transports[0].settings[NIC].text),
                     TRANSPORT_LIST_MOST - 1 - 9);
}

/* ---- what ranks compare, and what results show ---- */

static void assert_compared(const char *list, const char *text)
{
    static struct outcome o;
    static char all[COMPARED_TEXT_MOST];
    char wanted[256];
    take(&o, list);
    options_compared(&o.request, FOR_RUN, all);
    snprintf(wanted, sizeof wanted, " -x %s ", text);
    if (!strstr(all, wanted))
        print_error("-x %s: %s\n", list, all);
    assert_non_null(strstr(all, wanted));
}

/* In the order of the table, since the order on the command line has no meaning. */
static void ranks_compare_settings(void **state)
{
    (void)state;
    assert_compared("rail:way=long:depth=07,plain", "rail:depth=7:way=long,plain");
    assert_compared("rail:nic=m0:depth=7", "rail:depth=7"); /* hosts name devices differently */
    assert_compared("rail:nic=m1", "rail");
    assert_compared("rail:hops=a:b", "rail:hops=a:b");
    assert_compared("auto", "rail,plain,gone,gone-rail");
}

static void results_show_what_was_given(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "rail:way=long:depth=07,plain");
    assert_string_equal(o.request.job.transports_text, "rail:way=long:depth=07,plain");
    const struct option_row *row = option_find("transport");
    json_t *shown = row->kind->show(row, &o.request);
    json_t *wanted = json_pack("[s, s]", "rail:way=long:depth=07", "plain");
    assert_true(json_equal(shown, wanted));
    json_decref(shown);
    json_decref(wanted);
}

/* ---- what commands print ---- */

static enum status run_printer(int count, char **words)
{
    static struct command_line line;
    static struct request request;
    if (strcmp(words[1], "complete") == 0) {
        complete_words(count - 2, words + 2);
        return STATUS_OK;
    }
    job_release(&request.job); /* of the last command line */
    enum status status = command_line_read(count, words, NULL, &line);
    if (status == STATUS_OK)
        status = command_line_resolve(&line, &request);
    if (status == STATUS_OK)
        status = (line.command->bit == FOR_LIST ? list_command : help_command)(&line, &request);
    return status;
}

/* Standard output of a command line. */
static const char *printed(int count, char **words)
{
    static char text[1 << 20];
    int file = memfd_create("stdout", MFD_CLOEXEC), real = dup(STDOUT_FILENO);
    fflush(stdout);
    assert_true(file >= 0 && real >= 0);
    dup2(file, STDOUT_FILENO);
    enum status status = run_printer(count, words);
    fflush(stdout);
    dup2(real, STDOUT_FILENO);
    ssize_t size = pread(file, text, sizeof text - 1, 0);
    close(file);
    close(real);
    assert_int_equal(status, STATUS_OK);
    assert_in_range(size, 0, sizeof text - 2);
    text[size] = '\0';
    return text;
}

/* `words`: between blanks, the last one possibly empty. */
static void assert_prints(const char *words, const char *wanted, bool exactly)
{
    char text[256], *list[16] = {NULL}, *rest = text;
    int count = 0;
    snprintf(text, sizeof text, "cctest %s", words);
    while (rest)
        list[count++] = strsep(&rest, " ");
    const char *out = printed(count, list);
    if (exactly ? strcmp(out, wanted) != 0 : !strstr(out, wanted))
        print_error("cctest %s prints:\n%s", words, out);
    if (exactly)
        assert_string_equal(out, wanted);
    else
        assert_non_null(strstr(out, wanted));
}

static void list_and_help_have_the_options(void **state)
{
    (void)state;
    static const char *const names[] = {"  rail ",
                                        "    depth=1..255 ",
                                        "    way=short|long ",
                                        "    nic=NAME[:PORT]+...",
                                        "    hops=A-B    ",
                                        "the stations\n",
                                        "  plain ",
                                        "without options\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_prints("list", names[i], false);
    assert_prints("help rail", "    rail:depth=1..255 ", false);
    assert_prints("help hops", "    rail:hops=A-B             the stations\n", false);
    static const char *const json[] = {"\"transports\"", "\"most\": 255", "\"kind\": \"text\"",
                                       "\"per_rank\": true", "\"words\""};
    for (size_t i = 0; i < sizeof json / sizeof *json; i++)
        assert_prints("list --json -", json[i], false);
}

static void words_are_completed(void **state)
{
    (void)state;
    assert_prints("complete allreduce -x ra", "rail\n", true);
    assert_prints("complete allreduce -x rail:", "rail:depth=\nrail:way=\nrail:nic=\nrail:hops=\n",
                  true);
    assert_prints("complete allreduce -x plain,rail:n", "plain,rail:nic=\n", true);
    assert_prints("complete allreduce -x rail:nic=m0:1+m1:w", "rail:nic=m0:1+m1:way=\n", true);
    assert_prints("complete allreduce -x rail:way=", "rail:way=short\nrail:way=long\n", true);
    assert_prints("complete allreduce --transport=rail:way=l", "--transport=rail:way=long\n", true);
    assert_prints("complete allreduce -x rail:depth=", "", true);
    assert_prints("complete allreduce -x rail:other=", "", true);
    assert_prints("complete allreduce -x plain:", "", true);
    assert_prints("complete allreduce -x other:", "", true);
    assert_prints("complete allreduce -x rail:depth=3,pl", "rail:depth=3,plain\n", true);
    assert_prints("complete allreduce -x rail:way=long:depth=1:",
                  "rail:way=long:depth=1:nic=\nrail:way=long:depth=1:hops=\n", true);
}

/* Names of NICs, as far as this machine has some. */
static void names_are_completed(void **state)
{
    static const char *const names[] = {"m0", "m1", "m10"};
    char path[64];
    (void)state;
    assert_prints("complete allreduce -x rail:nic=", "", true);
    assert_non_null(mkdtemp(nics));
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", nics, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_prints("complete allreduce -x rail:nic=", "rail:nic=m0\nrail:nic=m1\nrail:nic=m10\n",
                  true);
    assert_prints("complete allreduce -x plain,rail:way=long:nic=m1",
                  "plain,rail:way=long:nic=m1\nplain,rail:way=long:nic=m10\n", true);
    assert_prints("complete allreduce -x rail:nic=m1+", "rail:nic=m1+m0\nrail:nic=m1+m10\n", true);
    assert_prints("complete allreduce -x rail:nic=m0:1+m10+m", "rail:nic=m0:1+m10+m1\n", true);
    assert_prints("complete allreduce -x rail:nic=m0:1+m1:w", "rail:nic=m0:1+m1:way=\n", true);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", nics, names[i]);
        rmdir(path);
    }
    rmdir(nics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_reach_the_job),
        cmocka_unit_test(auto_allows_all),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(ranks_compare_settings),
        cmocka_unit_test(results_show_what_was_given),
        cmocka_unit_test(list_and_help_have_the_options),
        cmocka_unit_test(words_are_completed),
        cmocka_unit_test(names_are_completed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_nics.c - whole jobs over tcp with NICs that are made up: what the table and the JSON
 * document say of them.
 *
 * Ranks 0 and 1 use nic0:1, ranks 2 and 3 nic1:1, which is slow. Nobody uses spare0:1, which rank 0
 * has open too. Each reading of a NIC counts 3 symbol errors, so a second reader of one, or a
 * reading more than one a line, shows.
 * tier: check; load: wait; program: own
 */
#include "tests/unit/command.h"

#include <jansson.h>

#include "transports/transports.h"

static struct transport tcp_with_nics, idle;
const struct transport *const transports[] = {&idle, &tcp_with_nics, NULL};

/* ---- the NICs ---- */

static void nic_add(struct device_list *list, const char *name, int rate)
{
    struct device *nic = device_add(list, "port", name);
    device_fact(nic, FACT_SHOWN, "state", "ACTIVE");
    device_fact(nic, FACT_ALL, "rate", "%d Gb/s", rate);
    device_fact(nic, FACT_MODEL, "firmware", "1.2");
}

static bool hangs_early; /* the driver of nic1:1 does, when it tells of it */

static void nics_of_rank(const struct endpoint *endpoint, struct device_list *list)
{
    bool slow = endpoint->config.rank >= 2;
    nic_add(list, slow ? "nic1:1" : "nic0:1", slow ? 100 : 400);
    while (hangs_early && slow)
        sleep(1);
    if (endpoint->config.rank == 3)
        nic_add(list, "nic3:1", 400);
}

/* The NIC of a transport that connects nothing. */
static void spare_of_rank(const struct endpoint *endpoint, struct device_list *list)
{
    (void)endpoint;
    nic_add(list, "spare0:1", 10);
}

static const char *hangs; /* the NIC whose driver does, from the second reading on */

static void nic_counters(const char *name, struct counter_list *list)
{
    static _Atomic uint64_t of_name[8];
    uint64_t readings = ++of_name[name[3] & 7];
    while (hangs && readings > 1 && strcmp(name, hangs) == 0)
        sleep(1);
    counter_add(list, "symbol_error", COUNTER_FAULTY,
                strcmp(name, "nic3:1") == 0 ? 7 : 3 * readings);
    counter_add(list, "np_cnp_sent", COUNTER_CONGESTED, 5 * readings);
    counter_add(list, "vendor_magic", COUNTER_OTHER, readings);
    counter_add(list, "link_downed", COUNTER_FAULTY, 1); /* it does not change */
}

static struct meter *nic_meter(const char *name)
{
    return meter_open(name, nic_counters);
}

static enum status nics_open(const struct transport_config *config, struct endpoint **endpoint,
                             char *reason)
{
    enum status status = transport_tcp.open(config, endpoint, reason);
    if (status == STATUS_OK)
        (*endpoint)->transport = &tcp_with_nics;
    return status;
}

static enum status idle_open(const struct transport_config *config, struct endpoint **endpoint,
                             char *reason)
{
    enum status status = transport_tcp.open(config, endpoint, reason);
    if (status == STATUS_OK)
        (*endpoint)->transport = &idle;
    return status;
}

static const char *idle_attach(struct endpoint *endpoint, int peer, const void *blob, size_t size)
{
    (void)endpoint;
    (void)peer;
    (void)blob;
    (void)size;
    return "it connects nothing";
}

/* ---- jobs ---- */

static char folder[] = "/tmp/cctest-nics-XXXXXX";
static const struct child *child;
static json_t *document;

/* Runs cctest with these words in a process of its own; fills in `child` and `document`. Returns
 * the exit status. */
static int run(const char *words)
{
    char text[512], json[64];
    snprintf(json, sizeof json, "%s/json", folder);
    snprintf(text, sizeof text, "cctest allreduce -b 64 -e 128 -f 2 -n 2 -w 1 --json %s %s", json,
             words);
    int status = command_run(text, &child);
    json_decref(document);
    document = json_load_file(json, 0, NULL);
    assert_non_null(document);
    return status;
}

static void assert_said(const char *words, int times)
{
    int found = 0;
    for (const char *at = child->out; (at = strstr(at, words)); at++)
        found++;
    if (found != times)
        print_error("\"%s\" %d times, not %d:\n%s", words, found, times, child->out);
    assert_int_equal(found, times);
}

static json_t *nic_of_line(size_t line, size_t index)
{
    json_t *results = json_object_get(document, "results");
    return json_array_get(json_object_get(json_array_get(results, line), "nics"), index);
}

static long long number(json_t *nic, const char *class, const char *counter)
{
    json_t *value = json_object_get(json_object_get(nic, class), counter);
    return value ? json_integer_value(value) : -1;
}

static void test_table(void **state)
{
    (void)state;
    assert_int_equal(0, run("--np 4 --verbose"));
    assert_said("# port nic1:1 of host ", 1 + 1); /* in the head, and in the footer */
    assert_said(": rate 100 Gb/s (2 of 3 ports have 400 Gb/s)\n", 1);
    assert_said("np_cnp_sent 5\n", 3 * 2); /* below each line, of each NIC that counts */
    assert_said("counted symbol_error 6\n", 2);
    assert_said("vendor_magic", 0);
    assert_said("link_downed", 0);
    assert_said("spare0", 0);
    assert_int_equal(0, run("--np 4"));
    assert_said("np_cnp_sent", 0);
    assert_said("counted symbol_error 6\n", 2);
}

static void test_json(void **state)
{
    (void)state;
    assert_int_equal(0, run("--np 4"));
    const char *words, *first, *third, *second, *rate;
    assert_int_equal(0, json_unpack(document,
                                    "{s:[s!], s:[{s:[s!]}, {s:[s!]}, {s:[s!]}, {s:[s, s!]}]}",
                                    "nic_differences", &words, "ranks", "nics", &first, "nics",
                                    &first, "nics", &second, "nics", &second, &third));
    assert_non_null(strstr(words, "rate 100 Gb/s"));
    assert_string_equal(first, "nic0:1");
    assert_string_equal(second, "nic1:1");
    assert_string_equal(third, "nic3:1");
    assert_int_equal(json_array_size(json_object_get(document, "nics")), 3);
    assert_int_equal(0, json_unpack(document, "{s:[{s:s, s:n, s:{s:s, s:s!}}, {}, {}]}", "nics",
                                    "name", &first, "model", "facts", "rate", &rate, "firmware",
                                    &second));
    assert_string_equal(rate, "400 Gb/s");
    for (size_t line = 0; line < 2; line++) {
        json_t *nic = nic_of_line(line, 0);
        assert_int_equal(number(nic, "faults", "symbol_error"), 3);
        assert_int_equal(number(nic, "faults", "link_downed"), -1);
        assert_int_equal(number(nic, "congested", "np_cnp_sent"), 5);
        assert_int_equal(number(nic, "other", "vendor_magic"), 1);
        assert_non_null(nic_of_line(line, 1));
    }
    json_t *faults = json_object_get(document, "nic_faults");
    assert_int_equal(json_array_size(faults), 2);
    assert_int_equal(number(json_array_get(faults, 1), "counters", "symbol_error"), 6);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(0, run("--np 4 --ranks-as threads"));
    assert_said("counted symbol_error", 2);
}

/* The NICs of the line that did not end. Rank 0 waits for their counts for a moment only, so that
 * some may be missing on a busy machine. One of several jobs must have all. */
static json_t *unfinished_nics(const char *words, size_t expected)
{
    json_t *unfinished = NULL;
    for (int job = 0; job < 10 && json_array_size(unfinished) < expected; job++) {
        assert_int_equal(5, run(words));
        unfinished = json_object_get(document, "nics_unfinished");
    }
    assert_int_equal(json_array_size(unfinished), expected);
    return unfinished;
}

/* The NICs of a line that does not end: those of ranks that live, wherever they are. */
static void test_failed(void **state)
{
    (void)state;
    json_t *unfinished = unfinished_nics("--np 4 --inject kill:rank=1:iteration=4 --timeout 5", 3);
    assert_int_equal(json_array_size(json_object_get(document, "results")), 0);
    assert_int_equal(number(json_array_get(unfinished, 0), "faults", "symbol_error"), 3);
    assert_int_equal(number(json_array_get(unfinished, 1), "congested", "np_cnp_sent"), 5);
    assert_said("counted symbol_error 3\n", 2);
    unfinished_nics("--np 4 --inject kill:rank=2:iteration=4 --timeout 5", 2); /* nic1's reader */
    assert_said("# port nic1:1 of host ", 1);
    unfinished_nics("--np 4 --inject stop:rank=2:iteration=4 --timeout 2", 2);
}

/* The driver of a NIC hangs when its counters are read after the failure: the job still ends. */
static void test_hanging_driver(void **state)
{
    (void)state;
    hangs = "nic0:1";
    unfinished_nics("--np 4 --inject kill:rank=1:iteration=4 --timeout 5", 2);
    hangs = NULL;
    assert_true(json_array_size(json_object_get(document, "errors")) > 0);
    assert_non_null(strstr(child->err, "rank 0: the driver of port nic0:1 of host "));
    assert_non_null(strstr(child->err, "the last device counters of this rank are missing"));
}

/* The sentence about the failure has this part. */
static void assert_message(const char *part)
{
    const char *text;
    assert_int_equal(0, json_unpack(document, "{s:[{s:s}]}", "errors", "message", &text));
    if (!strstr(text, part))
        print_error("not '%s': %s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* Likewise after a line, or before the ranks are connected: the job ends, and names the NIC. */
static void test_hanging_reading(void **state)
{
    (void)state;
    hangs = "spare0:1"; /* which rank 0 reads before nic0:1 */
    assert_int_equal(5, run("--np 4 --timeout 5"));
    hangs = NULL;
    assert_message("the driver of port spare0:1 of host ");
    assert_message(": it hangs; look at the kernel's log");
    assert_int_equal(json_array_size(json_object_get(document, "nics_unfinished")), 2);
    hangs_early = true;
    assert_int_equal(5, run("--np 4 --timeout 5 --ranks-as threads"));
    hangs_early = false;
    assert_message("the driver of port nic1:1 of host ");
}

static void test_none(void **state)
{
    (void)state;
    assert_int_equal(0, run("--np 1"));
    assert_said("symbol_error", 0);
    assert_int_equal(json_array_size(json_object_get(document, "nics")), 0);
}

/* ---- all ---- */

static int nics_make(void **state)
{
    (void)state;
    tcp_with_nics = idle = transport_tcp;
    tcp_with_nics.endpoint_devices = nics_of_rank;
    idle.endpoint_devices = spare_of_rank;
    tcp_with_nics.device_meter = idle.device_meter = nic_meter;
    tcp_with_nics.open = nics_open;
    idle.open = idle_open;
    idle.name = "idle";
    idle.attach = idle_attach;
    return mkdtemp(folder) ? 0 : -1;
}

static int nics_remove(void **state)
{
    char command[64];
    (void)state;
    json_decref(document);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),          cmocka_unit_test(test_json),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_failed),
        cmocka_unit_test(test_hanging_driver), cmocka_unit_test(test_hanging_reading),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, nics_make, nics_remove);
}

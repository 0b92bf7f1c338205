/*
 * test_nic_ports.c - the NIC ports of a fleet, its rails and their rates, and --transport of a job
 * on one port. The transport verbs is this test's.
 * tier: check; load: cpu1; program: own
 */
#include "tests/unit/resolved.h"

#include "accept/accept.h"
#include "host/facts/facts.h"

/* ---- a transport in place of those of transports/list.c ---- */

static bool nic_is_here;
static bool verbs_present(void)
{
    return nic_is_here;
}

static const char *const rails_words[] = {"own", "match", NULL};
static const struct transport_option verbs_options[] = {
    {.name = "nic",
     .values = "NAME[:PORT]+...",
     .help = "NIC ports",
     .kind = TRANSPORT_OPTION_TEXT,
     .per_rank = true},
    {.name = "rails",
     .values = "own|match",
     .help = "who sends to whom",
     .kind = TRANSPORT_OPTION_WORD,
     .words = rails_words},
    {.name = "gid",
     .values = "INDEX",
     .help = "of the GID",
     .kind = TRANSPORT_OPTION_NUMBER,
     .most = 255,
     .per_rank = true},
    {.name = NULL},
};
static const struct transport verbs = {
    .name = "verbs", .summary = "NICs", .options = verbs_options, .present = verbs_present};
static const struct transport plain = {.name = "plain", .summary = "without NICs"};
const struct transport *const transports[] = {&verbs, &plain, NULL};

static struct outcome o;

static const struct job *job_of(const char *words)
{
    take(&o, words, NULL);
    return &o.request.job;
}

/* ---- inventories ---- */

#define HOSTS_MOST 5

static struct inventory inventories[HOSTS_MOST];

static int inventories_free(void **state)
{
    (void)state;
    for (int h = 0; h < HOSTS_MOST; h++) {
        inventory_free(&inventories[h]);
        inventories[h] = (struct inventory){0};
    }
    return 0;
}

static void nic_add(int host, const char *port, const char *state, double gbits)
{
    inventory_add_text(&inventories[host], PART_NIC, port, "state", state);
    inventory_add_number(&inventories[host], PART_NIC, port, "rate", gbits, 0);
}

static void interface_add(int host, const char *name, const char *state, double gbits)
{
    inventory_add_text(&inventories[host], PART_INTERFACE, name, "state", state);
    inventory_add_number(&inventories[host], PART_INTERFACE, name, "speed", gbits, 0);
}

/* Hosts with these ports, all of them active. */
static void hosts_make(int hosts, const char *const *ports, int count)
{
    for (int h = 0; h < hosts; h++)
        for (int p = 0; p < count; p++)
            nic_add(h, ports[p], "ACTIVE", 400);
}

/* The ports that are found, "mlx5_0 mlx5_1". */
static void finds(const char *words, int hosts, const char *expected)
{
    const char *ports[RAILS_MOST];
    char said[200] = "";
    struct text text = text_in(said, sizeof said);
    int count = nic_ports_find(job_of(words)->transports, inventories, hosts, ports);
    for (int p = 0; p < count; p++)
        text_add(&text, "%s%s", p ? " " : "", ports[p]);
    assert_string_equal(said, expected);
}

/* ---- ports ---- */

static void ports_are_those_of_more_than_half_of_the_hosts(void **state)
{
    (void)state;
    for (int h = 0; h < 4; h++)
        nic_add(h, "mlx5_0", "ACTIVE", 400);
    for (int h = 0; h < 3; h++)
        nic_add(h, "mlx5_1", h < 2 ? "ACTIVE" : "INIT", 400);
    for (int h = 0; h < 4; h++)
        nic_add(h, "mlx5_2", "DOWN", 400);
    nic_add(3, "bnxt_re0", "ACTIVE", 100);
    finds("accept", 4, "mlx5_0");
    finds("accept", 3, "mlx5_0 mlx5_1");
    finds("accept", 1, "mlx5_0 mlx5_1");
    finds("accept", 0, "");
}

static void hosts_without_an_inventory_are_no_part_of_the_half(void **state)
{
    (void)state;
    const char *ports[RAILS_MOST];
    interface_add(0, "eth0", "up", 400);
    nic_add(1, "mlx5_0", "ACTIVE", 400);
    nic_add(2, "mlx5_0", "ACTIVE", 400);
    finds("accept", 5, "mlx5_0");
    interface_add(3, "eth0", "up", 400);
    finds("accept", 5, "");
    assert_int_equal(nic_ports_find(o.request.job.transports, NULL, 5, ports), 0);
}

static void nic_names_the_ports_that_are_allowed(void **state)
{
    (void)state;
    static const char *const ports[] = {"mlx5_0", "mlx5_1", "mlx5_1:2", "mlx5_10"};
    static const struct {
        const char *words, *found;
    } cases[] = {
        {"accept", "mlx5_0 mlx5_1 mlx5_1:2 mlx5_10"},
        {"accept -x verbs", "mlx5_0 mlx5_1 mlx5_1:2 mlx5_10"},
        {"accept -x plain,verbs:gid=3", "mlx5_0 mlx5_1 mlx5_1:2 mlx5_10"},
        {"accept -x plain", ""},
        {"accept -x verbs:nic=mlx5_1", "mlx5_1 mlx5_1:2"},
        {"accept -x verbs:nic=mlx5_1:1", "mlx5_1"},
        {"accept -x verbs:nic=mlx5_1:2", "mlx5_1:2"},
        {"accept -x verbs:nic=mlx5_0+mlx5_1:2:gid=3,plain", "mlx5_0 mlx5_1:2"},
        {"accept -x verbs:nic=mlx5_10:1+mlx5_0", "mlx5_0 mlx5_10"},
        {"accept -x verbs:nic=mlx5_1:3", ""},
        {"accept -x verbs:nic=mlx5", ""},
        {"accept -x verbs:nic=mlx5_100", ""},
    };
    hosts_make(3, ports, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        finds(cases[i].words, 3, cases[i].found);
}

static void a_port_is_at_a_host_where_it_is_active_or_nothing_is_known(void **state)
{
    (void)state;
    nic_add(0, "mlx5_0", "ACTIVE", 400);
    nic_add(1, "mlx5_0", "DOWN", 400);
    nic_add(2, "mlx5_1", "ACTIVE", 400);
    assert_true(nic_port_is_at("mlx5_0", inventories, 0));
    assert_false(nic_port_is_at("mlx5_0", inventories, 1));
    assert_false(nic_port_is_at("mlx5_0", inventories, 2));
    assert_true(nic_port_is_at("mlx5_0", inventories, 3));
    assert_true(nic_port_is_at("mlx5_0", NULL, 1));
}

static void a_job_on_a_port_keeps_the_other_options(void **state)
{
    (void)state;
    static const struct {
        const char *words, *port, *text;
    } cases[] = {
        {"accept", "mlx5_0", "verbs:nic=mlx5_0:1"},
        {"accept", "mlx5_1:2", "verbs:nic=mlx5_1:2"},
        {"accept -x verbs:nic=mlx5_0+mlx5_1:2:rails=match,plain", "mlx5_1:2", "verbs:nic=mlx5_1:2"},
        {"accept -x plain,verbs:gid=3:nic=mlx5_0", "mlx5_0", "verbs:nic=mlx5_0:1:gid=3"},
    };
    char text[PORT_TRANSPORT_MOST];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(
            nic_port_transport(job_of(cases[i].words)->transports, cases[i].port, text),
            cases[i].text);
}

static void verbs_is_present_where_it_may_be_used_and_a_nic_is(void **state)
{
    (void)state;
    assert_false(verbs_is_present(job_of("accept")->transports));
    nic_is_here = true;
    assert_true(verbs_is_present(job_of("accept")->transports));
    assert_false(verbs_is_present(job_of("accept -x plain")->transports));
    nic_is_here = false;
}

/* ---- rails ---- */

static struct rails rails_of(const char *words, int hosts)
{
    struct rails rails;
    rails_find(job_of(words), inventories, hosts, &rails);
    return rails;
}

static void expect_nameless(const struct rails *rails, double rate, int dropped)
{
    char text[PORT_TRANSPORT_MOST];
    assert_int_equal(rails->count, 1);
    assert_int_equal(rails->dropped, dropped);
    assert_false(rails_have_names(rails));
    assert_null(rail_transport(&o.request.job, rails, 0, text));
    assert_true(rail_is_at(rails, 0, inventories, 0));
    assert_float_equal(rails->rates[0], rate, 0);
}

static void two_ports_are_rails_and_their_rates_are_medians(void **state)
{
    (void)state;
    char text[PORT_TRANSPORT_MOST];
    for (int h = 0; h < 5; h++)
        nic_add(h, "mlx5_0", "ACTIVE", h < 2 ? 200 : 400);
    for (int h = 0; h < 3; h++)
        nic_add(h, "mlx5_1", "ACTIVE", 100 * (h + 1));
    nic_add(3, "mlx5_1", "DOWN", 0);
    interface_add(0, "eth0", "up", 10);
    struct rails rails = rails_of("accept -x verbs:gid=1", 5);
    assert_int_equal(rails.count, 2);
    assert_int_equal(rails.dropped, 0);
    assert_true(rails_have_names(&rails));
    assert_string_equal(rails.names[0], "mlx5_0");
    assert_string_equal(rails.names[1], "mlx5_1");
    assert_float_equal(rails.rates[0], 50, 0);
    assert_float_equal(rails.rates[1], 25, 0);
    assert_string_equal(rail_transport(&o.request.job, &rails, 1, text),
                        "verbs:nic=mlx5_1:1:gid=1");
    assert_true(rail_is_at(&rails, 1, inventories, 2));
    assert_false(rail_is_at(&rails, 1, inventories, 3));
    assert_false(rail_is_at(&rails, 1, inventories, 4));
    assert_true(rail_is_at(&rails, 0, inventories, 4));
}

static void one_port_is_a_rail_without_a_name_and_has_the_rate(void **state)
{
    (void)state;
    static const char *const ports[] = {"mlx5_0"};
    hosts_make(3, ports, 1);
    interface_add(0, "eth0", "up", 10);
    struct rails rails = rails_of("accept", 3);
    expect_nameless(&rails, 50, 0);
    rails_find(&o.request.job, NULL, 3, &rails);
    expect_nameless(&rails, 0, 0);
}

/* Without NICs that may be used. */
static void the_rate_is_that_of_interfaces_that_agree(void **state)
{
    (void)state;
    static const char *const ports[] = {"mlx5_0", "mlx5_1"};
    hosts_make(3, ports, 2);
    for (int h = 0; h < 3; h++) {
        interface_add(h, "eth0", "up", 100);
        interface_add(h, "eth1", h == 0 ? "up" : "down", h == 0 ? 100 : 1);
    }
    struct rails rails = rails_of("accept -x plain", 3);
    expect_nameless(&rails, 12.5, 0);
    interface_add(0, "eth2", "up", 40); /* this host has two speeds now */
    for (int h = 1; h < 3; h++)
        interface_add(h, "eth2", "down", 40);
    rails = rails_of("accept -x plain", 1);
    expect_nameless(&rails, 0, 0);
    rails = rails_of("accept -x plain", 3);
    expect_nameless(&rails, 12.5, 0);
    rails = rails_of("accept -x plain --interface eth2", 3);
    expect_nameless(&rails, 5, 0);
    rails = rails_of("accept -x plain --interface eth1", 3);
    expect_nameless(&rails, 12.5, 0);
    rails = rails_of("accept -x plain --interface 10.0.0.1", 3); /* whose it is, is not known */
    expect_nameless(&rails, 0, 0);
}

static void rails_are_dropped_to_none(void **state)
{
    (void)state;
    for (int h = 0; h < 3; h++) {
        nic_add(h, "mlx5_0", "ACTIVE", 100);
        nic_add(h, "mlx5_1", "ACTIVE", 200);
        nic_add(h, "mlx5_2", "ACTIVE", 400);
    }
    struct rails rails = rails_of("accept", 3);
    assert_int_equal(rails.count, 3);
    rails_drop(&rails, 1);
    assert_int_equal(rails.count, 2);
    assert_string_equal(rails.names[0], "mlx5_0");
    assert_string_equal(rails.names[1], "mlx5_2");
    assert_float_equal(rails.rates[1], 50, 0);
    rails_drop(&rails, 0);
    assert_int_equal(rails.count, 1);
    assert_true(rails_have_names(&rails));
    assert_string_equal(rails.names[0], "mlx5_2");
    rails_drop(&rails, 0);
    expect_nameless(&rails, 0, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ports_are_those_of_more_than_half_of_the_hosts, inventories_free),
        cmocka_unit_test_teardown(hosts_without_an_inventory_are_no_part_of_the_half,
                                  inventories_free),
        cmocka_unit_test_teardown(nic_names_the_ports_that_are_allowed, inventories_free),
        cmocka_unit_test_teardown(a_port_is_at_a_host_where_it_is_active_or_nothing_is_known,
                                  inventories_free),
        cmocka_unit_test_teardown(a_job_on_a_port_keeps_the_other_options, inventories_free),
        cmocka_unit_test_teardown(verbs_is_present_where_it_may_be_used_and_a_nic_is,
                                  inventories_free),
        cmocka_unit_test_teardown(two_ports_are_rails_and_their_rates_are_medians,
                                  inventories_free),
        cmocka_unit_test_teardown(one_port_is_a_rail_without_a_name_and_has_the_rate,
                                  inventories_free),
        cmocka_unit_test_teardown(the_rate_is_that_of_interfaces_that_agree, inventories_free),
        cmocka_unit_test_teardown(rails_are_dropped_to_none, inventories_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_device_compare.c - the devices of all ranks travel to rank 0, which names those that differ.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/results/results.h"

#define RANKS 32

static struct member members[RANKS];
static struct device_table table;
static int ranks;

/* Four ranks on each host: n00, n01 ... */
static int begin(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++) {
        members[r] = (struct member){.rank = r, .node = r / 4, .local_rank = r % 4};
        snprintf(members[r].host, sizeof members[r].host, "n%02d", r / 4);
    }
    table = (struct device_table){.members = members};
    ranks = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    device_table_free(&table);
    return 0;
}

/* The one port that the next rank uses. */
struct port {
    const char *name, *model, *rate, *width, *firmware;
};

static void share_put(const struct port *port, struct bytes *share)
{
    struct device_list list = {0};
    struct device *device = device_add(&list, "port", port->name);
    snprintf(device->model, sizeof device->model, "%s", port->model);
    device_fact(device, FACT_SHOWN, "state", "ACTIVE");
    device_fact(device, FACT_ALL, "rate", "%s", port->rate);
    device_fact(device, FACT_ALL, "width", "%s", port->width);
    device_fact(device, FACT_MODEL, "firmware", "%s", port->firmware);
    device_fact(device, FACT_IDENTITY, "serial", "%d", ranks); /* all differ */
    device_list_encode(&list, share);
    device_list_free(&list);
}

static void rank_uses(const struct port *port)
{
    struct bytes share = {0};
    share_put(port, &share);
    struct reader reader = {.at = share.data, .left = share.size};
    assert_true(device_table_decode(&table, ranks++, &reader));
    assert_int_equal(reader.left, 0);
    bytes_free(&share);
}

static void hosts_use(int hosts, const struct port *port)
{
    for (int i = 0; i < 4 * hosts; i++)
        rank_uses(port);
}

/* The sentences, with a line for each. */
static const char *differences(void)
{
    static char text[8192];
    device_table_complete(&table);
    struct difference *sentences = differences_of(&table);
    assert_non_null(sentences);
    text[0] = 0;
    for (int i = 0; sentences[i].text; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\n", sentences[i].text);
    differences_free(sentences);
    return text;
}

static const struct port good = {"mlx5_0:1", "MT4129", "400 Gb/s", "4X", "28.39"};

static void test_alike(void **state)
{
    (void)state;
    assert_string_equal(differences(), "");
    hosts_use(4, &good);
    assert_string_equal(differences(), "");
    assert_int_equal(table.row_count, 4); /* one for each host, whatever number of ranks */
    assert_int_equal(table.use_count, 16);
    assert_int_equal(table.uses[9].rank, 9);
    assert_int_equal(table.uses[9].row, 2);
    assert_int_equal(table.rows[2].rank, 8);
    assert_int_equal(device_table_find(&table, 11, "mlx5_0:1"), 2);
    assert_int_equal(device_table_find(&table, 11, "mlx5_1:1"), -1);
    assert_int_equal(device_table_find(&table, 16, "mlx5_0:1"), -1);
    assert_null(device_find_fact(table.rows[0].device, "state")); /* it does not travel */
    char identity[32];
    assert_string_equal(device_identity(table.rows[2].device, identity, sizeof identity),
                        "serial 8");
}

static void test_one(void **state)
{
    const struct port slow = {"mlx5_1:1", "MT4129", "100 Gb/s", "1X", "28.39"};
    (void)state;
    hosts_use(7, &good);
    hosts_use(1, &slow);
    assert_string_equal(differences(),
                        "port mlx5_1:1 of host n07: rate 100 Gb/s (7 of 8 ports have 400 Gb/s), "
                        "width 1X (7 of 8 ports have 4X)\n");
}

static void test_groups(void **state)
{
    struct port slow = good, old = good;
    (void)state;
    slow.rate = "100 Gb/s";
    old.firmware = "28.1";
    hosts_use(1, &slow);
    hosts_use(2, &good);
    hosts_use(1, &slow);
    hosts_use(1, &old);
    hosts_use(3, &good);
    assert_string_equal(differences(),
                        "ports mlx5_0:1 of host n00, mlx5_0:1 of host n03: rate 100 Gb/s (6 of 8 "
                        "ports have 400 Gb/s)\n"
                        "port mlx5_0:1 of host n04: firmware 28.1 (7 of 8 MT4129 ports have "
                        "28.39)\n");
}

static void test_models(void **state)
{
    const struct port other = {"mlx5_0:1", "MT4123", "400 Gb/s", "4X", "20.1"};
    (void)state;
    hosts_use(2, &other); /* its firmware is its own */
    hosts_use(2, &good);
    assert_string_equal(differences(), "");
}

static void test_split(void **state)
{
    struct port slow = good;
    (void)state;
    slow.rate = "100 Gb/s";
    hosts_use(1, &slow);
    hosts_use(2, &good);
    hosts_use(1, &slow);
    assert_string_equal(differences(), "the 4 ports differ in rate: 2 have 100 Gb/s (mlx5_0:1 of "
                                       "host n00, ...), 2 have 400 Gb/s (mlx5_0:1 of host n01, "
                                       "...)\n");
}

/* A port that does not know a fact does not vote. */
static void test_unknown(void **state)
{
    struct port silent = good;
    (void)state;
    silent.width = silent.firmware = silent.model = "";
    hosts_use(1, &good);
    hosts_use(3, &silent);
    assert_string_equal(differences(), "");
}

static void test_many(void **state)
{
    struct port slow = good;
    char names[32][16];
    (void)state;
    slow.rate = "100 Gb/s";
    for (int i = 0; i < 12; i++) {
        snprintf(names[i], sizeof names[i], "mlx5_%d:1", i);
        slow.name = names[i];
        rank_uses(&slow);
    }
    struct port fast = good;
    for (int i = 12; i < 32; i++) {
        snprintf(names[i], sizeof names[i], "mlx5_%d:1", i);
        fast.name = names[i];
        rank_uses(&fast);
    }
    const char *text = differences();
    assert_non_null(strstr(text, "mlx5_5:1 of host n01 and 6 more: rate 100 Gb/s (20 of 32 ports"));
}

static void test_invalid(void **state)
{
    struct bytes share = {0};
    (void)state;
    share_put(&good, &share);
    for (size_t size = 0; size < share.size; size++) {
        struct reader reader = {.at = share.data, .left = size};
        assert_false(device_table_decode(&table, 0, &reader));
        assert_int_equal(table.row_count, 0);
        assert_int_equal(table.devices.count, 0);
    }
    bytes_free(&share);
    bytes_put_u32(&share, DEVICES_SENT_MOST + 1);
    struct reader reader = {.at = share.data, .left = share.size};
    assert_false(device_table_decode(&table, 0, &reader));
    bytes_free(&share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alike, begin, end),
        cmocka_unit_test_setup_teardown(test_one, begin, end),
        cmocka_unit_test_setup_teardown(test_groups, begin, end),
        cmocka_unit_test_setup_teardown(test_models, begin, end),
        cmocka_unit_test_setup_teardown(test_split, begin, end),
        cmocka_unit_test_setup_teardown(test_unknown, begin, end),
        cmocka_unit_test_setup_teardown(test_many, begin, end),
        cmocka_unit_test_setup_teardown(test_invalid, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

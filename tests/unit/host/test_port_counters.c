/*
 * test_port_counters.c - the counters of an RDMA port and of its network device.
 * tier: check; load: cpu1
 */
#include "tests/unit/tree.h"

#include "host/host.h"

#define IB "class/infiniband/"

static uint64_t counter_value(const struct counter_list *list, const char *name,
                              enum counter_class class)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->counters[i].name, name) == 0) {
            assert_int_equal(list->counters[i].class, class);
            return list->counters[i].value;
        }
    fail_msg("there is no counter %s", name);
    return 0;
}

static void test_counters(void **state)
{
    struct counter_list before = {0}, now = {0}, change = {0};
    char text[64];
    (void)state;
    file_make(IB "mlx5_0/ports/1/counters/symbol_error", "65535\n");
    file_make(IB "mlx5_0/ports/1/counters/port_xmit_wait", "18446744073709551615\n");
    file_make(IB "mlx5_0/ports/1/counters/port_xmit_data", "100\n");
    file_make(IB "mlx5_0/ports/1/counters/unsupported", "N/A (no PMA)\n");
    file_make(IB "mlx5_0/ports/1/counters/wide", "99999999999999999999\n");
    file_make(IB "mlx5_0/ports/1/hw_counters/lifespan", "10\n");
    file_make(IB "mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "7\n");
    file_make(IB "mlx5_0/ports/1/hw_counters/vendor_magic", "5\n");
    file_make(IB "mlx5_0/hw_counters/out_of_buffer", "1\n");
    port_counters(tree, "mlx5_0:1", &before);
    assert_int_equal(before.count, 6);
    assert_int_equal(counter_value(&before, "symbol_error", COUNTER_FAULTY), 65535);
    assert_true(counter_value(&before, "port_xmit_wait", COUNTER_CONGESTED) == UINT64_MAX);
    assert_int_equal(counter_value(&before, "vendor_magic", COUNTER_OTHER), 5);

    file_make(IB "mlx5_0/ports/1/counters/symbol_error", "65535\n");
    file_make(IB "mlx5_0/ports/1/counters/port_xmit_wait", "3\n"); /* it was reset */
    file_make(IB "mlx5_0/ports/1/counters/a_new_one", "9\n");
    file_make(IB "mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "9\n");
    file_make(IB "mlx5_0/hw_counters/out_of_buffer", "4\n");
    port_counters(tree, "mlx5_0:1", &now);
    counters_change(&before, &now, &change);
    assert_string_equal(counters_text(&change, COUNTER_FAULTY, text, sizeof text),
                        "local_ack_timeout_err 2, out_of_buffer 3");
    assert_int_equal(change.count, 2);
    counters_sum(&change, &change);
    assert_int_equal(counter_value(&change, "out_of_buffer", COUNTER_FAULTY), 6);
    counter_list_free(&before);
    counter_list_free(&now);
    counter_list_free(&change);
    port_counters(tree, "mlx5_0", &now); /* no name of a port */
    port_counters(tree, "mlx5_9:1", &now);
    assert_int_equal(now.count, 0);
}

/* Statistics as drivers give them: a name is one of 32 bytes, ended only if it is shorter. */
static void test_selection(void **state)
{
    static const struct {
        char name[33];
        bool selected;
    } statistics[] = {
        {"rx_bytes", false},
        {"rx_pause_ctrl_phy", true},
        {"tx_prio3_pause", true},
        {"rx_discards_phy", true},
        {"rx_out_of_buffer", false},
        {"tx_prio0_pause_duration_that_ends", true},
        {"rx_discards", false},
        {"rx_prio3_buf_discard", true},
        {"rx_ecn_mark", true},
        {"", false},
        {"rx_prio3_pause_duration", true},
    };
    struct counter_list list = {0};
    int selected = 0;
    (void)state;
    for (size_t i = 0; i < sizeof statistics / sizeof *statistics; i++) {
        statistic_add(statistics[i].name, 100 + i, pause_words, &list);
        if (!statistics[i].selected)
            continue;
        const struct counter *counter = &list.counters[selected++];
        assert_int_equal(list.count, selected);
        assert_memory_equal(counter->name, statistics[i].name, strlen(counter->name));
        assert_int_equal(strlen(counter->name), strnlen(statistics[i].name, 32));
        assert_int_equal(counter->class, COUNTER_CONGESTED);
        assert_int_equal(counter->value, 100 + i);
    }
    assert_int_equal(list.count, selected);
    counter_list_free(&list);
}

/* The statistics of the network devices of this machine are not known; whatever they are, none
 * comes twice, and none without a word of the list. */
static void test_netdev(void **state)
{
    static const char *const any[] = {"", NULL}, *const none[] = {"no such word", NULL};
    char **names;
    int count = sysfs_names(&names, "/sys/class/net");
    (void)state;
    for (int i = 0; i < count; i++) {
        struct counter_list all = {0}, few = {0};
        netdev_counters(names[i], any, &all);
        netdev_counters(names[i], none, &few);
        pause_counters(names[i], &few);
        for (int k = 0; k < all.count; k++)
            assert_true(all.counters[k].name[0] && all.counters[k].class == COUNTER_CONGESTED);
        for (int k = 0; k < few.count; k++)
            assert_true(strstr(few.counters[k].name, "pause") ||
                        strstr(few.counters[k].name, "discard") ||
                        strstr(few.counters[k].name, "ecn_mark"));
        counter_list_free(&all);
        counter_list_free(&few);
    }
    sysfs_names_free(names, count);
    struct counter_list list = {0};
    netdev_counters("", any, &list);
    netdev_counters("no-such-device", any, &list);
    netdev_counters("a name that is longer than the kernel's", any, &list);
    assert_int_equal(list.count, 0);
}

static int counters_make(void **state)
{
    (void)state;
    tree_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_netdev),
    };
    return cmocka_run_group_tests(tests, counters_make, tree_remove);
}

/*
 * test_counters.c - how counters of a device change, beside those of ports (test_port_counters.c):
 * gauges, and counters that begin when their meter is opened.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "host/host.h"

static void test_gauges(void **state)
{
    struct counter_list before = {0}, now = {0}, change = {0};
    char text[64];
    (void)state;
    counter_add(&before, "clock", COUNTER_GAUGE, 1980);
    counter_add(&now, "clock", COUNTER_GAUGE, 1200);
    counter_add(&now, "temperature", COUNTER_GAUGE, 60); /* it was not known before */
    counters_change(&before, &now, &change);
    assert_string_equal(counters_text(&change, COUNTER_GAUGE, text, sizeof text),
                        "clock 1200, temperature 60");
    change.counters[0].value = 1300;
    counters_sum(&change, &now); /* the later value stays */
    assert_string_equal(counters_text(&change, COUNTER_GAUGE, text, sizeof text),
                        "clock 1200, temperature 60");
    counter_list_free(&before);
    counter_list_free(&now);
    counter_list_free(&change);
}

static void test_since_open(void **state)
{
    struct counter_list before = {0}, now = {0}, change = {0};
    char text[64];
    (void)state;
    counter_add_since_open(&before, "xid_48", COUNTER_FAULTY, 1);
    counter_add_since_open(&now, "xid_48", COUNTER_FAULTY, 3);
    counter_add_since_open(&now, "xid_79", COUNTER_FAULTY, 2);
    counter_add(&now, "a_new_one", COUNTER_FAULTY, 5);
    counters_change(&before, &now, &change);
    assert_string_equal(counters_text(&change, COUNTER_FAULTY, text, sizeof text),
                        "xid_48 2, xid_79 2");
    counter_list_free(&before);
    counter_list_free(&now);
    counter_list_free(&change);
}

/* Gauges travel only where all classes do. */
static void test_travel(void **state)
{
    struct counter_list list = {0};
    (void)state;
    counter_add(&list, "clock", COUNTER_GAUGE, 1980);
    counter_add(&list, "errors", COUNTER_FAULTY, 2);
    for (int classes = COUNTER_FAULTY + 1; classes <= COUNTER_CLASSES; classes++) {
        struct counter_list got = {0};
        struct bytes share = {0};
        counters_encode(&list, classes, &share);
        struct reader reader = {.at = share.data, .left = share.size};
        assert_true(counters_decode(&got, &reader));
        assert_int_equal(got.count, classes == COUNTER_CLASSES ? 2 : 1);
        assert_int_equal(reader.left, 0);
        counter_list_free(&got);
        bytes_free(&share);
    }
    counter_list_free(&list);
}

static void name_read(const char *device, struct counter_list *list)
{
    counter_add(list, device, COUNTER_OTHER, 1);
}

static void test_meter(void **state)
{
    struct counter_list list = {0};
    char name[] = "mlx5_0:1";
    (void)state;
    struct meter *meter = meter_open(name, name_read);
    assert_non_null(meter);
    name[0] = 0; /* the meter has a copy */
    meter->read(meter, &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.counters[0].name, "mlx5_0:1");
    meter->close(meter);
    counter_list_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_since_open),
        cmocka_unit_test(test_travel),
        cmocka_unit_test(test_meter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

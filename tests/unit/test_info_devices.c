/*
 * test_info_devices.c - the NICs of transports as `cctest info` says them, in JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cli/info_devices.h"

static void two_ports(struct device_list *list)
{
    struct device *port = device_add(list, "port", "mlx5_0:1");
    device_fact(list, port, FACT_ALL, "rate", "%d Gb/s", 400);
    device_fact(list, port, FACT_SHOWN, "LID", "%s", ""); /* no fact */
    port->numa_node = 1;
    strcpy(port->bus, "0000:3b:00.0");
    port = device_add(list, "port", "mlx5_1:1");
    port->usable = false;
    strcpy(port->why_not, "state DOWN");
}

static const struct transport without = {.name = "plain"};
static const struct transport with = {.name = "fast", .devices = two_ports};
static const struct transport *const both[] = {&without, &with, NULL};

static json_t *port_at(json_t *document, size_t index)
{
    return json_array_get(json_object_get(document, "nics"), index);
}

static void test_ports(void **state)
{
    json_t *document = json_object();
    (void)state;
    devices_add(document, both, "/nowhere");
    assert_int_equal(json_array_size(json_object_get(document, "nics")), 2);
    assert_int_equal(json_array_size(json_object_get(document, "gpus")), 0);
    const char *name, *transport, *pci, *rate, *why;
    int node, usable;
    assert_int_equal(0,
                     json_unpack(port_at(document, 0), "{s:s, s:s, s:s, s:i, s:b, s:n, s:{s:s!}}",
                                 "name", &name, "transport", &transport, "pci", &pci, "numa_node",
                                 &node, "usable", &usable, "why_not", "facts", "rate", &rate));
    assert_string_equal(name, "mlx5_0:1");
    assert_string_equal(transport, "fast");
    assert_string_equal(pci, "0000:3b:00.0");
    assert_string_equal(rate, "400 Gb/s");
    assert_true(usable && node == 1);
    assert_int_equal(0, json_unpack(port_at(document, 1), "{s:n, s:n, s:n, s:b, s:s}", "model",
                                    "pci", "numa_node", "usable", &usable, "why_not", &why));
    assert_false(usable);
    assert_string_equal(why, "state DOWN");
    devices_print(document); /* must not fail */
    json_decref(document);
}

/* One usable port is enough; other reasons stay. */
static void test_availability(void **state)
{
    (void)state;
    json_t *document =
        json_pack("{s:[{s:s, s:b}, {s:s, s:b}, {s:s, s:b}, {s:s, s:b, s:s}],"
                  " s:[{s:s, s:b}, {s:s, s:b}, {s:s, s:b}, {s:s, s:b}]}",
                  "transports", "name", "plain", "available", 1, "name", "down", "available", 1,
                  "name", "fast", "available", 1, "name", "gone", "available", 0, "why_not", "gone",
                  "nics", "transport", "down", "usable", 0, "transport", "fast", "usable", 0,
                  "transport", "fast", "usable", 1, "transport", "gone", "usable", 0);
    assert_non_null(document);
    devices_judge(document);
    const char *down, *gone;
    int available[4];
    assert_int_equal(0, json_unpack(document, "{s:[{s:b}, {s:b, s:s}, {s:b}, {s:b, s:s}]}",
                                    "transports", "available", &available[0], "available",
                                    &available[1], "why_not", &down, "available", &available[2],
                                    "available", &available[3], "why_not", &gone));
    assert_true(available[0] && !available[1] && available[2] && !available[3]);
    assert_string_equal(down, "no NIC port is usable: see ports");
    assert_string_equal(gone, "gone");
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ports),
                                       cmocka_unit_test(test_availability)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

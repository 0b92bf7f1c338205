/*
 * test_info_devices.c - the NICs of transports as `cctest info` says them, in JSON.
 * tier: check; load: cpu1
 */
#include "tests/unit/tree.h"

#include "cli/info/internal.h"

static void two_ports(struct device_list *list)
{
    struct device *port = device_add(list, "port", "mlx5_0:1");
    device_fact(port, FACT_ALL, "rate", "%d Gb/s", 400);
    device_fact(port, FACT_SHOWN, "LID", "%s", ""); /* no fact */
    port->numa_node = 1;
    strcpy(port->bus, "0000:3b:00.0");
    port = device_add(list, "port", "mlx5_1:1");
    port->usable = false;
    strcpy(port->why_not, "state DOWN");
}

static const struct transport without = {.name = "plain"};
static const struct transport with = {.name = "fast", .devices = two_ports};
static void one_gpu(struct device_list *list)
{
    struct device *gpu = device_add(list, "GPU", "0000:3c:00.0");
    device_fact(gpu, FACT_ALL, "ECC", "on");
    device_fact(gpu, FACT_SHOWN, "to 0000:3d:00.0", "NV18 by NVSwitch");
    strcpy(gpu->bus, gpu->name);
    gpu->usable = false;
    strcpy(gpu->why_not, "hidden");
}

static const struct memory_kind plain = {.name = "plain", .host_reads = true};
static const struct memory_kind card = {.name = "card", .devices = one_gpu};
static const struct memory_kind *const kinds[] = {&plain, &card, NULL};
static const struct transport *const both[] = {&without, &with, NULL};

static void look_for(const char *sysfs, json_t *document)
{
    const struct device_sources sources = {
        .transports = both, .kinds = kinds, .sysfs = sysfs, .patience = 30};
    assert_int_equal(STATUS_OK, devices_add(document, &sources));
}

static json_t *port_at(json_t *document, size_t index)
{
    return json_array_get(json_object_get(document, "nics"), index);
}

static void test_ports(void **state)
{
    json_t *document = json_object();
    (void)state;
    look_for("/nowhere", document);
    assert_int_equal(json_array_size(json_object_get(document, "nics")), 2);
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
    const char *way, *distance, *to_gpu;
    assert_int_equal(
        0,
        json_unpack(document, "{s:[{s:s, s:b, s:s, s:{s:s}, s:{s:s, s:s!}}], s:[{s:{s:s!}}, {}]}",
                    "gpus", "name", &name, "usable", &usable, "why_not", &why, "facts",
                    "to 0000:3d:00.0", &way, "nics", "mlx5_0:1", &distance, "mlx5_1:1", &distance,
                    "nics", "gpus", "0000:3c:00.0", &to_gpu));
    assert_string_equal(name, "0000:3c:00.0");
    assert_false(usable);
    assert_string_equal(why, "hidden");
    assert_string_equal(way, "NV18 by NVSwitch");
    assert_string_equal(distance, "unknown"); /* without sysfs */
    assert_string_equal(to_gpu, "unknown");
    assert_int_equal(json_array_size(json_object_get(document, "gpus")), 1);
    devices_print(document); /* must not fail */
    json_decref(document);
}

static bool for_cards(const struct memory_kind *kind)
{
    return kind->devices != NULL;
}

/* A transport or a kind of memory that needs a usable port or a usable GPU is available with one;
 * other reasons stay. */
static void test_availability(void **state)
{
    (void)state;
    static const struct transport down = {.name = "down"}, gone = {.name = "gone"};
    static const struct transport cards = {.name = "cards", .carries = for_cards};
    static const struct transport *const five[] = {&without, &down, &with, &gone, &cards, NULL};
    const struct device_sources sources = {.transports = five, .kinds = kinds};
    for (int usable = 0; usable < 2; usable++) {
        json_t *document = json_pack(
            "{s:[{s:s, s:b}, {s:s, s:b}, {s:s, s:b}, {s:s, s:b, s:s}, {s:s, s:b}],"
            " s:[{s:s, s:b}, {s:s, s:b}, {s:s, s:b}, {s:s, s:b}],"
            " s:[{s:b}, {s:b}], s:[{s:b, s:s}, {s:b, s:s}]}",
            "transports", "name", "plain", "available", 1, "name", "down", "available", 1, "name",
            "fast", "available", 1, "name", "gone", "available", 0, "why_not", "gone", "name",
            "cards", "available", 1, "nics", "transport", "down", "usable", 0, "transport", "fast",
            "usable", 0, "transport", "fast", "usable", 1, "transport", "gone", "usable", 0,
            "memory_kinds", "available", 1, "available", 1, "gpus", "usable", 0, "why_not",
            "hidden", "usable", usable, "why_not", "hidden, too");
        assert_non_null(document);
        devices_judge(document, &sources);
        const char *reasons[2];
        int available[5], kinds_available[2];
        assert_int_equal(
            0, json_unpack(
                   document, "{s:[{s:b}, {s:b, s:s}, {s:b}, {s:b, s:s}, {s:b}], s:[{s:b}, {s:b}]}",
                   "transports", "available", &available[0], "available", &available[1], "why_not",
                   &reasons[0], "available", &available[2], "available", &available[3], "why_not",
                   &reasons[1], "available", &available[4], "memory_kinds", "available",
                   &kinds_available[0], "available", &kinds_available[1]));
        assert_true(available[0] && !available[1] && available[2] && !available[3]);
        assert_string_equal(reasons[0], "no NIC port is usable: see ports");
        assert_string_equal(reasons[1], "gone");
        assert_int_equal(available[4], usable);
        assert_true(kinds_available[0]);
        assert_int_equal(kinds_available[1], usable);
        json_decref(document);
    }
}

/* A GPU that PCI shows, and no driver, is listed; one that a kind of memory lists has its facts. */
static void test_without_driver(void **state)
{
    json_t *document = json_object(), *gpus;
    const char *why, *link;
    int usable;
    (void)state;
    static const char *const buses[] = {"0000:3c:00.0", "0000:5e:00.0"};
    for (int i = 0; i < 2; i++) {
        char path[64];
        snprintf(path, sizeof path, "bus/pci/devices/%s/vendor", buses[i]);
        file_make(path, "0x10de\n");
        snprintf(path, sizeof path, "bus/pci/devices/%s/class", buses[i]);
        file_make(path, "0x030200\n");
        snprintf(path, sizeof path, "bus/pci/devices/%s/current_link_width", buses[i]);
        file_make(path, "8\n");
        snprintf(path, sizeof path, "bus/pci/devices/%s/current_link_speed", buses[i]);
        file_make(path, "32.0 GT/s PCIe\n");
    }
    look_for(tree, document);
    gpus = json_object_get(document, "gpus");
    assert_int_equal(json_array_size(gpus), 2);
    assert_non_null(json_object_get(json_object_get(json_array_get(gpus, 0), "facts"), "ECC"));
    assert_int_equal(0, json_unpack(json_array_get(gpus, 1), "{s:b, s:s, s:{s:s}}", "usable",
                                    &usable, "why_not", &why, "facts", "PCIe link", &link));
    assert_false(usable);
    assert_non_null(strstr(why, "no NVIDIA driver shows it: "));
    assert_string_equal(link, "x8 at 32.0 GT/s");
    json_decref(document);
}

/* The devices of a driver that hangs are missing, the others not. */

static void hanging_port(struct device_list *list)
{
    device_add(list, "port", "mlx5_9:1");
    for (;;)
        pause();
}

static const struct transport hanging = {.name = "slow", .devices = hanging_port};

static void test_hanging(void **state)
{
    static const struct transport *const three[] = {&with, &hanging, &with, NULL};
    const struct device_sources sources = {
        .transports = three, .kinds = kinds, .sysfs = "/nowhere", .patience = 0.2};
    json_t *document = json_object();
    (void)state;
    assert_int_equal(STATUS_TIMEOUT, devices_add(document, &sources));
    assert_int_equal(json_array_size(json_object_get(document, "nics")), 4);
    assert_int_equal(json_array_size(json_object_get(document, "gpus")), 1);
    json_t *gpu = json_array_get(json_object_get(document, "gpus"), 0);
    assert_int_equal(json_object_size(json_object_get(gpu, "nics")), 2); /* two have one name */
    json_decref(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports), cmocka_unit_test(test_availability),
        cmocka_unit_test(test_without_driver), cmocka_unit_test(test_hanging)};
    tree_begin();
    return cmocka_run_group_tests(tests, NULL, tree_remove);
}

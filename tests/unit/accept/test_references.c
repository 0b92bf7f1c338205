/*
 * test_references.c - numbers that hosts are compared with: those of an earlier run, by the names
 * of its hosts; and the profile that a run writes of its good hosts.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accept/internal.h"

/* An earlier run of hosts h3, h2 and h1, of which h3 is gone. */
static const char earlier[] =
    "{\"command\":\"accept\",\"hosts\":[{\"name\":\"h3\"},{\"name\":\"h2\"},{\"name\":\"h1\"}],"
    "\"numbers\":["
    "{\"host\":0,\"stage\":\"self\",\"metric\":\"copy by all cores\",\"value\":30},"
    "{\"host\":1,\"stage\":\"self\",\"metric\":\"copy by all cores\",\"value\":20},"
    "{\"host\":2,\"stage\":\"self\",\"metric\":\"copy by all cores\",\"value\":10},"
    "{\"host\":2,\"stage\":\"self\",\"metric\":\"sum by all cores\",\"value\":5},"
    "{\"host\":1,\"stage\":\"node\",\"metric\":\"copy by all cores\",\"value\":7},"
    "{\"host\":3,\"stage\":\"self\",\"metric\":\"copy by all cores\",\"value\":99}],"
    "\"pairs\":["
    "{\"stage\":\"pairs\",\"from\":2,\"to\":1,\"part\":\"\",\"metric\":\"alone\",\"outcome\":"
    "\"ok\",\"value\":4},"
    "{\"stage\":\"pairs\",\"from\":0,\"to\":1,\"part\":\"\",\"metric\":\"alone\",\"outcome\":"
    "\"ok\",\"value\":5},"
    "{\"stage\":\"pairs\",\"from\":1,\"to\":2,\"part\":\"\",\"metric\":\"latency\",\"outcome\":"
    "\"late\",\"value\":6},"
    "{\"stage\":\"pairs\",\"from\":2,\"to\":1,\"part\":\"\",\"metric\":\"latency\",\"outcome\":"
    "\"ok\",\"value\":3},"
    "{\"stage\":\"pairs\",\"from\":2,\"to\":1,\"part\":\"\",\"metric\":\"loss\",\"outcome\":"
    "\"ok\",\"value\":0.5},"
    "{\"stage\":\"pairs\",\"from\":2,\"to\":1,\"part\":\"\",\"metric\":\"speed\",\"outcome\":"
    "\"ok\",\"value\":9},"
    "{\"stage\":\"isolate\",\"from\":1,\"to\":2,\"part\":\"\",\"metric\":\"alone\",\"outcome\":"
    "\"ok\",\"value\":7},"
    "{\"stage\":\"pairs\",\"from\":1,\"to\":2,\"part\":\"mlx5_0\",\"metric\":\"both\",\"outcome\":"
    "\"ok\",\"value\":8}]}";

static void an_earlier_run_is_matched_by_names(void **state)
{
    (void)state;
    static const char *const today[] = {"h1", "h2", "h4"}, *const rails[] = {NULL};
    char path[] = "/tmp/cctest-baseline-XXXXXX";
    struct baseline baseline;
    double values[3];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, earlier, strlen(earlier)) == (ssize_t)strlen(earlier));
    assert_int_equal(baseline_read(path, today, 3, &baseline), STATUS_OK);
    assert_int_equal(baseline.common, 2);
    assert_true(baseline_values(&baseline, "self", "copy by all cores", values, 3));
    assert_true(values[0] == 10 && values[1] == 20 && values[2] == 0);
    assert_true(baseline_values(&baseline, "self", "sum by all cores", values, 3));
    assert_true(values[0] == 5 && values[1] == 0 && values[2] == 0);
    assert_false(baseline_values(&baseline, "self", "the slowest core", values, 3));
    baseline_pairs_take(&baseline, rails, 1);
    static const struct {
        enum metric metric;
        double value;
    } pairs[] = {{METRIC_ALONE, 4}, {METRIC_LATENCY, 3}, {METRIC_LOSS, 0.5}};
    assert_int_equal(baseline.pairs.count, 3);
    for (int i = 0; i < 3; i++) {
        const struct reading *pair = &baseline.pairs.items[i];
        assert_true(pair->from == 0 && pair->to == 1 && pair->metric == pairs[i].metric &&
                    pair->value == pairs[i].value);
    }
    baseline_free(&baseline);
    close(fd);
    unlink(path);
}

enum { HOSTS = 4, BAD = 3 };

static void number_add(struct acceptance *acceptance, const struct host_number *number,
                       const double values[HOSTS])
{
    for (int h = 0; h < HOSTS; h++)
        *LIST_ADD(acceptance->readings.items, acceptance->readings.count) =
            (struct reading){.from = h,
                             .to = -1,
                             .metric = METRIC_OWN,
                             .value = values[h],
                             .number = number,
                             .part = ""};
}

static const struct measured_number *measured_of(const char *key)
{
    int i = 0;
    while (strcmp(measured_numbers[i].key, key) != 0)
        i++;
    return &measured_numbers[i];
}

/* All pairs in both directions: 10 GB/s, and 2 with the bad host. */
static struct fleet *fleet_make(struct reading readings[HOSTS * HOSTS])
{
    const struct fleet_config config = {.hosts = HOSTS, .rails = 1};
    size_t count = 0;
    for (int a = 0; a < HOSTS; a++)
        for (int b = 0; b < HOSTS; b++)
            if (a != b)
                readings[count++] = (struct reading){.from = a,
                                                     .to = b,
                                                     .metric = METRIC_ALONE,
                                                     .value = a == BAD || b == BAD ? 2 : 10};
    return fleet_create(&config, readings, count);
}

/* The median with its room, or the worst good host with less; another host counts nowhere. */
static void profile_without(enum health health)
{
    static const char *labels[] = {"h1", "h2", "h3", "h4"};
    static const double copies[HOSTS] = {10, 20, 30, 1}, latencies[HOSTS] = {2, 4, 8, 100};
    static struct fleet_host hosts[HOSTS];
    struct roster roster = {.hosts = hosts, .host_count = HOSTS};
    struct reading readings[HOSTS * HOSTS];
    const struct host_number copy = {.measured = measured_of("self.copy")},
                             latency = {.measured = measured_of("node.allreduce.latency")};
    struct acceptance acceptance = {.memory = arena_create(),
                                    .roster = &roster,
                                    .labels = labels,
                                    .fleet = fleet_make(readings)};
    number_add(&acceptance, &copy, copies);
    number_add(&acceptance, &latency, latencies);
    stage_finds(&acceptance, STAGE_SELF, FOUND_NUMBER, BAD, health, STATUS_SLOW, "h4: slow");
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(written_profile_put(&acceptance, out), STATUS_OK);
    fclose(out);
    assert_non_null(strstr(text, "made of 3 good hosts"));
    assert_non_null(strstr(text, "\nself.copy >= 9.7 GB/s\n"));
    assert_non_null(strstr(text, "\nnode.allreduce.latency <= 8.24 us\n"));
    assert_non_null(strstr(text, "\npairs.bandwidth >= 9 GB/s\n"));
    free(text);
    fleet_free(acceptance.fleet);
    findings_free(&acceptance.findings);
    free(acceptance.readings.items);
    arena_free(acceptance.memory);
}

static void a_profile_is_of_the_good_hosts(void **state)
{
    (void)state;
    profile_without(HEALTH_BAD);
    profile_without(HEALTH_SUSPECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_earlier_run_is_matched_by_names),
        cmocka_unit_test(a_profile_is_of_the_good_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

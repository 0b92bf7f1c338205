/*
 * test_distribution.c - the histogram of a metric in a page: its bars, what is counted in words,
 * and the hosts that are named below it.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/internal.h"

#define HOSTS       3
#define BINS        40
#define VALUES_MOST 16

/* The picture of these values; NAN: a measurement that failed. The caller frees it. */
static char *picture_of(const double *values, size_t count)
{
    struct measurement measurements[VALUES_MOST] = {{.to = -1}};
    double of_host[HOSTS] = {1, 40, NAN};
    struct measured_host hosts[HOSTS] = {{.name = "n0", .health = HEALTH_GOOD},
                                         {.name = "n<1>", .health = HEALTH_BAD},
                                         {.name = "n2", .health = HEALTH_SUSPECT}};
    const struct measured measured = {.hosts = hosts, .host_count = HOSTS};
    const struct measured_metric metric = {.name = "latency",
                                           .unit = "us",
                                           .of_pairs = true,
                                           .measurements = measurements,
                                           .count = count,
                                           .of_host = of_host};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++)
        measurements[i].value = values[i];
    distribution_put(out, &measured, &metric);
    fclose(out);
    return text;
}

/* The bars, and no others. A bar's place, height and words follow from its bin and its count. */
static void bars_are(const char *picture, const int *expected, double least, double width)
{
    int found = 0, bars = 0, highest = 0;
    for (int bin = 0; bin < BINS; bin++)
        highest = expected[bin] > highest ? expected[bin] : highest;
    for (int bin = 0; bin < BINS; bin++) {
        char bar[300], from[NUMBER_TEXT_MOST], to[NUMBER_TEXT_MOST];
        double height = 70.0 * expected[bin] / highest;
        if (expected[bin] == 0)
            continue;
        bars++;
        snprintf(bar, sizeof bar,
                 "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"8.4\" height=\"%.1f\">"
                 "<title>%d from %s to %s</title></rect>",
                 12 + 9.4 * bin, 90 - height, height, expected[bin],
                 number_text(least + width * bin, 3, from),
                 number_text(least + width * (bin + 1), 3, to));
        if (!strstr(picture, bar))
            print_error("no %s in\n%s\n", bar, picture);
        assert_non_null(strstr(picture, bar));
    }
    for (const char *at = picture; (at = strstr(at, "<rect ")); at++)
        found++;
    assert_int_equal(found, bars);
}

/* Values from 0 to 40 have bins of 1; 40 itself is in the last one. */
static void values_fall_into_bins_and_failed_ones_are_counted(void **state)
{
    (void)state;
    static const double values[] = {40, 0, NAN, 0, 0.5, 1, 39, 1, 40, NAN, 0};
    static const int bars[BINS] = {[0] = 4, [1] = 2, [39] = 3};
    char *picture = picture_of(values, sizeof values / sizeof values[0]);
    bars_are(picture, bars, 0, 1);
    assert_non_null(strstr(picture, ">Latency, us: 9 values, median 1.00, spread "));
    assert_non_null(strstr(picture, "; 2 failed</figcaption>"));
    assert_non_null(strstr(picture, ">n&lt;1&gt;: 40.0</text>"));
    assert_null(strstr(picture, ">n0"));
    assert_null(strstr(picture, ">n2")); /* it has no value */
    free(picture);
}

static void equal_values_are_one_bar_in_the_middle(void **state)
{
    (void)state;
    static const double values[] = {7, 7, 7};
    static const int bars[BINS] = {[BINS / 2] = 3};
    char *picture = picture_of(values, 3);
    bars_are(picture, bars, 7, 0);
    assert_non_null(strstr(picture, ": 3 values, median 7.00, spread 0</figcaption>"));
    free(picture);
    picture = picture_of(values, 1);
    assert_non_null(strstr(picture, ": 1 value, median 7.00, spread 0</figcaption>"));
    free(picture);
}

static void failed_ones_alone_are_no_picture(void **state)
{
    (void)state;
    static const double values[] = {NAN, NAN};
    char *picture = picture_of(values, 2);
    assert_string_equal(picture, "");
    free(picture);
    picture = picture_of(values, 0);
    assert_string_equal(picture, "");
    free(picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_fall_into_bins_and_failed_ones_are_counted),
        cmocka_unit_test(equal_values_are_one_bar_in_the_middle),
        cmocka_unit_test(failed_ones_alone_are_no_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_timed_lines.c - the lines of a document as they are compared: what makes lines incomparable,
 * and which results are left out.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <string.h>

#include "cli/report/report.h"

#define RESULT                                                                                     \
    "{'collective':'broadcast','algorithm':'binomial','algorithm_options':{},'datatype':'float',"  \
    "'ranks':4,'bytes':64,'memory':'host','copy':'auto','executor':'host','start':'barrier',"      \
    "'in_place':false,'root':0,'counts':null,'op':null,'wrong':0,"                                 \
    "'time_us':{'min':1.0,'p50':2.0,'max':3.0},'median_interval':null}"

static json_t *json_of(const char *text)
{
    char quoted[1024];
    snprintf(quoted, sizeof quoted, "%s", text);
    for (char *at = quoted; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *json = json_loads(quoted, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    return json;
}

/* The line of the result above, in which `key` of the result, or of the options, is `value`. False:
 * it is left out. */
static bool line_of(const char *key, const char *value, bool is_option, struct timed_lines *lines)
{
    json_t *document = json_of("{'options':{'transport':'auto'},'results':[" RESULT "]}");
    json_t *object = is_option ? json_object_get(document, "options")
                               : json_array_get(json_object_get(document, "results"), 0);
    *lines = (struct timed_lines){.count = 0};
    if (key)
        json_object_set_new(object, key, json_of(value));
    assert_int_equal(timed_lines_add(lines, document, ""), STATUS_OK);
    assert_int_equal(lines->count + lines->left_out, 1);
    json_decref(document);
    return lines->count == 1;
}

static void only_lines_of_one_setting_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        bool is_option, differs;
    } cases[] = {
        {"ranks", "5", false, true},
        {"datatype", "'double'", false, true},
        {"transport", "'tcp'", true, true},
        {"memory", "'cuda'", false, true},
        {"copy", "'zcopy'", false, true},
        {"executor", "'device'", false, true},
        {"start", "'back-to-back'", false, true},
        {"counts", "'zipf:1'", false, true},
        {"in_place", "true", false, true},
        {"root", "1", false, true},
        {"root", "'all'", false, true},
        {"algorithm", "'linear'", false, false},
        {"bytes", "128", false, false},
        {"in_place", "false", false, false},
    };
    struct timed_lines base, line;
    assert_true(line_of(NULL, NULL, false, &base));
    assert_string_equal(base.lines[0].setting, "4 ranks, float");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(line_of(cases[i].key, cases[i].value, cases[i].is_option, &line));
        bool differs = strcmp(line.lines[0].setting, base.lines[0].setting) != 0;
        if (differs != cases[i].differs)
            print_error("%s %s: %s\n", cases[i].key, cases[i].value, line.lines[0].setting);
        assert_int_equal(differs, cases[i].differs);
        timed_lines_free(&line);
    }
    timed_lines_free(&base);
}

static void results_without_a_time_or_with_wrong_data_are_left_out(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"wrong", "1"},    {"collective", "'tango'"}, {"datatype", "'word'"},
        {"ranks", "0"},    {"ranks", "1e9"},          {"bytes", "-1"},
        {"bytes", "2e18"}, {"bytes", "'8'"},          {"time_us", "{'p50':0}"},
        {"time_us", "{}"}, {"time_us", "null"},
    };
    struct timed_lines lines;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (line_of(cases[i][0], cases[i][1], false, &lines))
            print_error("%s %s\n", cases[i][0], cases[i][1]);
        assert_int_equal(lines.count, 0);
        timed_lines_free(&lines);
    }
}

/* The interval of the median, or the range of the times, never without the median. */
static void intervals_hold_the_median(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        double low, high;
    } cases[] = {
        {NULL, NULL, 1, 3},
        {"median_interval", "{'low_us':1.9,'high_us':2.2}", 1.9, 2.2},
        {"median_interval", "{'low_us':1.9}", 1, 3},
        {"median_interval", "{'low_us':2.5,'high_us':1.5}", 2, 2},
        {"time_us", "{'p50':2.0}", 2, 2},
    };
    struct timed_lines lines;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(line_of(cases[i].key, cases[i].value, false, &lines));
        assert_true(lines.lines[0].time == 2);
        assert_true(lines.lines[0].low == cases[i].low && lines.lines[0].high == cases[i].high);
        timed_lines_free(&lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_lines_of_one_setting_are_compared),
        cmocka_unit_test(results_without_a_time_or_with_wrong_data_are_left_out),
        cmocka_unit_test(intervals_hold_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

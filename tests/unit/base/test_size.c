/*
 * test_size.c - sizes are read strictly and written back as people write them; near names are
 * found.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/parse.h"

static void sizes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } cases[] = {
        {"0", 0},
        {"8", 8},
        {"007", 7},
        {"4K", 4096},
        {"4k", 4096},
        {"64M", (size_t)64 << 20},
        {"1g", (size_t)1 << 30},
        {"3T", (size_t)3 << 40},
        {"18446744073709551615", SIZE_MAX},
        {"16777215T", (size_t)16777215 << 40},
        {"8B", 8},
        {"8KB", 8 << 10},
        {"4KiB", 4 << 10},
        {"4kib", 4 << 10},
        {"2mb", 2 << 20},
        {"3GiB", (size_t)3 << 30},
        {"1P", (size_t)1 << 50},
        {"15E", (size_t)15 << 60},
        {"1.5M", 3 << 19},
        {"1.5MiB", 3 << 19},
        {"0.25K", 256},
        {"2.0", 2},
        {"1.50000000000000000000000000K", 1536},
        {"0.0009765625K", 1},
        {"15.9375E", (size_t)255 << 56},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = 1;
        assert_null(size_parse(cases[i].text, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void bad_sizes_say_why(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "is empty"},
        {"-1", "is negative"},
        {"K", "is not a number"},
        {" 8", "is not a number"},
        {"+8", "is not a number"},
        {"0x10", "has trailing junk"},
        {"1X", "has trailing junk"},
        {"1KBB", "has trailing junk"},
        {"1Ki", "has trailing junk"},
        {"1iB", "has trailing junk"},
        {"1BK", "has trailing junk"},
        {"1K ", "has trailing junk"},
        {"1.", "has trailing junk"},
        {"1.M", "has trailing junk"},
        {".5M", "is not a number"},
        {"1.5.5M", "has trailing junk"},
        {"1.5", "is not a whole number of bytes"},
        {"0.3K", "is not a whole number of bytes"},
        {"1.0000000000000000001E", "is not a whole number of bytes"},
        {"16E", "is too large"},
        {"18446744073709551616", "is too large"},
        {"99999999999G", "is too large"},
        {"16777216T", "is too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = 77;
        const char *why = size_parse(cases[i].text, &bytes);
        assert_non_null(why);
        assert_string_equal(why, cases[i].why);
        assert_int_equal(bytes, 77);
    }
}

static void sizes_are_written(void **state)
{
    (void)state;
    char text[SIZE_TEXT_MOST];
    assert_string_equal(size_format(0, text), "0");
    assert_string_equal(size_format(1000, text), "1000");
    assert_string_equal(size_format(1024, text), "1K");
    assert_string_equal(size_format(1536, text), "1536");
    assert_string_equal(size_format((size_t)64 << 20, text), "64M");
    assert_string_equal(size_format((size_t)5 << 50, text), "5P");
    assert_string_equal(size_format(SIZE_MAX, text), "18446744073709551615");
}

static void written_sizes_are_read_back(void **state)
{
    (void)state;
    char text[SIZE_TEXT_MOST];
    for (size_t bytes = 1; bytes < (size_t)1 << 50; bytes = bytes * 3 + bytes % 1024) {
        size_t again = 0;
        assert_null(size_parse(size_format(bytes, text), &again));
        assert_int_equal(again, bytes);
    }
}

static void near_names_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"allreduce", "allgather", "alltoall", "reduce_scatter",
                                        NULL};
    assert_string_equal(name_nearest("alltaol", names), "alltoall");
    assert_string_equal(name_nearest("AllReduce", names), "allreduce");
    assert_string_equal(name_nearest("reduce-scater", names), "reduce_scatter");
    assert_string_equal(name_nearest("alltoall", names), "alltoall");
    static const char *const far[] = {"gather", "allgather", NULL};
    assert_null(name_nearest("allgat", (const char *const[]){"gather", NULL}));
    assert_string_equal(name_nearest_within("allgat", far, 3), "allgather");
    assert_null(name_nearest_within("gatxyz", far, 3)); /* 3 of 6 letters differ */
    assert_string_equal(name_nearest_within("gatxyz", far, 2), "gather");
    assert_null(name_nearest("scan", names));
    assert_null(name_nearest("", names));
    static const char *const none[] = {NULL};
    assert_null(name_nearest("x", none));
    char endless[5000];
    for (size_t i = 0; i < sizeof endless; i++)
        endless[i] = i + 1 < sizeof endless ? 'a' : '\0';
    assert_null(name_nearest(endless, names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),       cmocka_unit_test(bad_sizes_say_why),
        cmocka_unit_test(sizes_are_written),    cmocka_unit_test(written_sizes_are_read_back),
        cmocka_unit_test(near_names_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

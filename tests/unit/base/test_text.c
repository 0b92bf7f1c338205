/*
 * test_text.c - lists of ranks count each of them, and a text from another rank fits its room.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/text.h"

/* Rank r is listed where ranks[r] is an x. */
static void expect_list(const char *ranks, const char *expected)
{
    bool listed[100];
    char text[RANK_LIST_MOST];
    int count = (int)strlen(ranks);
    for (int r = 0; r < count; r++)
        listed[r] = ranks[r] == 'x';
    assert_string_equal(rank_list_text(listed, count, text, sizeof text), expected);
}

static void test_rank_lists(void **state)
{
    (void)state;
    expect_list("--x-", "rank 2");
    expect_list("xx-x", "ranks 0, 1, 3");
    expect_list("xxxx-x", "ranks 0..3, 5");
    expect_list("x-x-x-x-x-x-x-x-", "ranks 0, 2, 4, 6, 8, 10, 12, 14");
    expect_list("x-x-x-x-x-x-x-xx-xxx-x", "ranks 0, 2, 4, 6, 8, 10, 12, 14, 15 and 4 more");
}

/* A text of `length` letters goes into a room of 8 bytes, behind which another byte stands. */
static void expect_text(size_t length, bool fits)
{
    struct bytes bytes = {0};
    char room[8 + 1], text[16] = "";
    memset(text, 'a', length);
    memset(room, 'b', sizeof room);
    bytes_put_text(&bytes, text);
    struct reader reader = {.at = bytes.data, .left = bytes.size};
    read_text(&reader, room, 8);
    assert_int_equal(reader.bad, !fits);
    assert_int_equal(room[8], 'b');
    assert_int_equal(strnlen(room, 8), fits ? length : 0);
    bytes_free(&bytes);
}

static void test_texts(void **state)
{
    (void)state;
    for (size_t length = 0; length < 12; length++)
        expect_text(length, length < 8);
}

/* Three digits, also where a time rounds up to the next unit. */
static void test_times(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } times[] = {{0, "0 s"},
                 {2.5e-7, "0.250 us"},
                 {9.996e-6, "10.0 us"},
                 {2.724e-4, "272 us"},
                 {9.994e-4, "999 us"},
                 {9.996e-4, "1.00 ms"},
                 {0.01234, "12.3 ms"},
                 {0.9996, "1.00 s"},
                 {17.26, "17.3 s"},
                 {599, "599 s"},
                 {600, "10.0 min"},
                 {1234, "20.6 min"},
                 {7199, "2.00 h"},
                 {9000, "2.50 h"},
                 {4e5, "111 h"},
                 {-1, "-"},
                 {NAN, "-"}};
    char text[TIME_TEXT_MOST];
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_string_equal(time_text(times[i].seconds, text), times[i].text);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        int digits;
        const char *text;
    } numbers[] = {{0, 3, "0"},           {0.004789, 3, "0.00479"},
                   {2, 3, "2.00"},        {11.84, 3, "11.8"},
                   {9.9996, 3, "10.0"},   {999.6, 3, "1000"},
                   {1234.4, 3, "1234"},   {123.4, 2, "123"},
                   {0.0123, 2, "0.012"},  {1e6, 3, "1000000"},
                   {1e20, 3, "1.00e+20"}, {1e-9, 3, "1.00e-09"},
                   {-2.5, 2, "-2.5"},     {NAN, 3, "-"}};
    char text[NUMBER_TEXT_MOST];
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_string_equal(number_text(numbers[i].value, numbers[i].digits, text),
                            numbers[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rank_lists),
                                       cmocka_unit_test(test_times), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}

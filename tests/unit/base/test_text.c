/*
 * test_text.c - lists of ranks count each of them, and a text from another rank fits its room.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rank_lists),
                                       cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}

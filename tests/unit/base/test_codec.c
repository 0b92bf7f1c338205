/*
 * test_codec.c - what a codec writes it reads, and it refuses numbers out of their range.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#include <cmocka.h>

enum colour { RED, GREEN, COLOURS };

struct record {
    enum colour colour;
    uint64_t bytes;
    int64_t offset;
    int rank;
    bool is_root;
    double time;
    char name[6];
    unsigned char digest[3];
};

static void record_code(struct codec codec, struct record *record)
{
    code_u32(codec, &record->colour, RED, COLOURS - 1);
    code_u64(codec, &record->bytes);
    code_i64(codec, &record->offset);
    code_int(codec, &record->rank, -1, 7);
    code_flag(codec, &record->is_root);
    code_real(codec, &record->time);
    code_text(codec, record->name, sizeof record->name);
    code_bytes(codec, record->digest, sizeof record->digest);
    code_require(codec, record->is_root == (record->rank == 0));
}

static const struct record good = {.colour = GREEN,
                                   .bytes = UINT64_MAX,
                                   .offset = INT64_MIN,
                                   .rank = -1,
                                   .time = 1.5,
                                   .name = "n 007",
                                   .digest = {1, 0, 255}};

/* Is it read back as it was sent? */
static bool travels(struct record sent)
{
    struct bytes bytes = {0};
    struct record back;
    memset(&back, 0xa5, sizeof back); /* what was there is not looked at */
    record_code(codec_to(&bytes), &sent);
    struct reader reader = {.at = bytes.data, .left = bytes.size};
    record_code(codec_from(&reader), &back);
    bool same = reader.left == 0 && back.colour == sent.colour && back.bytes == sent.bytes &&
                back.offset == sent.offset && back.rank == sent.rank &&
                back.is_root == sent.is_root && back.time == sent.time &&
                strcmp(back.name, sent.name) == 0 && memcmp(back.digest, sent.digest, 3) == 0;
    assert_true(reader.bad || same);
    bytes_free(&bytes);
    return !reader.bad;
}

static void test_ranges(void **state)
{
    (void)state;
    struct record record = good;
    assert_true(travels(good));
    for (int rank = -3; rank <= 9; rank++) {
        record.rank = rank;
        record.is_root = rank == 0;
        assert_int_equal(travels(record), rank >= -1 && rank <= 7);
    }
    record.is_root = true; /* of rank 9 */
    assert_false(travels(record));
    record = good;
    record.is_root = true; /* of no rank */
    assert_false(travels(record));
    record = good;
    record.colour = COLOURS;
    assert_false(travels(record));
    const double times[] = {-0.5, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        record = good;
        record.time = times[i];
        assert_false(travels(record));
    }
}

static void test_lengths(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    struct record record = good;
    record_code(codec_to(&bytes), &record);
    for (size_t size = 0; size < bytes.size; size++) {
        struct reader reader = {.at = bytes.data, .left = size};
        record_code(codec_from(&reader), &record);
        assert_true(reader.bad);
    }
    bytes_free(&bytes);
}

/* Words that no encoder of the same record writes. */
static void test_foreign(void **state)
{
    (void)state;
    struct bytes bytes = {0};
    uint32_t least = 0;
    bool flag;
    char text[6];
    bytes_put_u32(&bytes, 0);
    bytes_put_u32(&bytes, 2);
    bytes_put_text(&bytes, "too long");
    struct reader number = {.at = bytes.data, .left = bytes.size};
    code_u32(codec_from(&number), &least, 1, 2);
    assert_true(number.bad);
    assert_int_equal(least, 1);
    struct reader after = {.at = bytes.data + 4, .left = bytes.size - 4};
    code_flag(codec_from(&after), &flag);
    assert_true(after.bad);
    struct reader words = {.at = bytes.data + 8, .left = bytes.size - 8};
    code_text(codec_from(&words), text, sizeof text);
    assert_true(words.bad);
    bytes_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_memory_device.c - lists of devices, their names and identities, and whether their memory
 * suffices for all ranks of a host.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#undef fail
#include "base/log.h"
#include "dataplane/memory/memory.h"
#include "run/run.h"

static void assert_choice(const char *list, int index, int number, const char *bus)
{
    struct device_choice choice;
    assert_true(device_choice_at(list, index, &choice));
    assert_int_equal(choice.number, number);
    assert_string_equal(choice.bus, bus);
}

static void test_choices(void **state)
{
    static const char *const wrong[] = {
        "",      ",",         "1,",         ",1",         "-1",   "a",       "1 ",          "1x",
        "3b:00", "3b:00.0.0", "0:1",        "+1",         "1.5",  "3g:00.0", "99999999999", "::.",
        "GPU-",  "3b:00.0x",  "2147483647", "3b:00.0,,1", "0b:0", "1,b",     "1:2:3:4.5"};
    struct device_choice choice;
    (void)state;
    assert_choice("1", 0, 1, "");
    assert_choice("1", 5, 1, "");
    assert_choice("1,0,3", 2, 3, "");
    assert_choice("1,0,3", 4, 0, "");
    assert_choice("3B:00.0,0000:5e:00.1", 0, -1, "0000:3b:00.0");
    assert_choice("3B:0.0,0000:5e:00.1", 1, -1, "0000:5e:00.1");
    assert_choice("00000000:3B:00.0", 0, -1, "0000:3b:00.0"); /* as nvidia-smi writes it */
    assert_choice("10000:3b:1f.7", 0, -1, "10000:3b:1f.7");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (device_choice_at(wrong[i], 0, &choice))
            print_error("'%s' is accepted\n", wrong[i]);
        assert_false(device_choice_at(wrong[i], 0, &choice));
    }
    assert_int_equal(device_choice_distinct("1,0,3"), 3);
    assert_int_equal(device_choice_distinct("1,1,0,1"), 2);
    assert_int_equal(device_choice_distinct("3b:00.0,0000:3B:00.0,0"), 2);
}

static struct memory_device sent(const struct memory_device *device)
{
    struct memory_device back = *device;
    struct bytes share = {0};
    memory_device_code(codec_to(&share), &back);
    struct reader less = {.at = share.data, .left = share.size - 1};
    memory_device_code(codec_from(&less), &back);
    assert_true(less.bad);
    struct reader reader = {.at = share.data, .left = share.size};
    memory_device_code(codec_from(&reader), &back);
    assert_true(!reader.bad && reader.left == 0);
    bytes_free(&share);
    return back;
}

static void test_devices(void **state)
{
    const struct memory_device whole = {0, "0000:3b:00.0", "aa", "NVIDIA H100", "blue.1"},
                               seen_as_2 = {2, "0000:3b:00.0", "aa", "NVIDIA H100", ""},
                               part = {0, "0000:3b:00.0", "ab", "NVIDIA H100 MIG", ""},
                               other = {0, "0000:5e:00.0", "cc", "NVIDIA H100", ""},
                               nameless = {.number = 0}, nameless_1 = {.number = 1},
                               host = {.number = -1};
    char text[MEMORY_DEVICE_TEXT];
    (void)state;
    assert_int_equal(memory_device_compare(&whole, &seen_as_2), 0);
    assert_true(memory_device_identity(&whole) == memory_device_identity(&seen_as_2));
    const struct memory_device *const all[] = {&whole, &part, &other, &nameless, &nameless_1};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            assert_int_equal(memory_device_compare(all[i], all[j]) == 0, i == j);
            assert_int_equal(memory_device_identity(all[i]) == memory_device_identity(all[j]),
                             i == j);
        }
    assert_string_equal(memory_device_text(&seen_as_2, text), "GPU 2 (0000:3b:00.0)");
    struct memory_device back = sent(&part);
    assert_int_equal(memory_device_compare(&part, &back), 0);
    assert_string_equal(back.name, part.name);
    assert_string_equal(sent(&whole).domain, "blue.1");
    assert_int_equal(sent(&seen_as_2).number, 2);
    assert_int_equal(sent(&host).number, -1);
    struct reader junk = {.at = (const unsigned char *)"\0\0\0\x80\0\0\0\0\0\0\0\0", .left = 12};
    memory_device_code(codec_from(&junk), &back);
    assert_true(junk.bad);
}

static bool has_spare; /* of checked() */

/* The failure of a rank of two GPUs: three ranks take 10, 20 and 30 MiB of GPU 7, a fourth 1000 of
 * another one. The three can use 5 MiB more each. `left`: MiB that the ranks see there. NULL:
 * none. */
static const char *checked(const size_t left[3], bool is_exact, int ranks)
{
    static struct log log;
    const struct memory_kind kind = {.name = "cuda", .engine_bytes = 1 << 20};
    struct memory_pool pools[MEMORY_POOLS] = {{.which = 7, .is_exact = is_exact, .where = "GPU 7"}};
    struct memory_request requests[4];
    log_init(&log, 0, 0);
    log_attach(&log);
    for (int i = 0; i < 3; i++) {
        pools[0].left = left[i] << 20;
        requests[i + 1] =
            memory_request_make(&kind, (size_t)(10 * (i + 1) - 1) << 20, (size_t)5 << 20, pools);
    }
    pools[0].which = 9;
    requests[0] = memory_request_make(&kind, (size_t)1000 << 20, 0, pools);
    pools[0].which = 7;
    pools[0].left = left[0] << 20;
    enum status status = memory_check_host(&kind, MEMORY_BUFFERS, pools, requests, ranks + 1);
    has_spare = memory_has_spare(pools, requests, ranks + 1);
    log_attach(NULL);
    return status == STATUS_OK ? NULL : log.failure.text;
}

static void test_sum(void **state)
{
    (void)state;
    assert_null(checked((const size_t[]){75, 75, 75}, true, 3));
    assert_true(has_spare);
    assert_null(checked((const size_t[]){75, 74, 75}, true, 3));
    assert_false(has_spare);
    assert_null(checked((const size_t[]){60, 60, 60}, true, 3));
    assert_string_equal(checked((const size_t[]){59, 59, 59}, true, 3),
                        "cannot allocate 60 MiB of cuda memory for 3 ranks on GPU 7: 59 MiB are "
                        "available; ask for smaller sizes (-e) or run fewer ranks on it");
    /* A rank that looks later sees less. */
    assert_non_null(strstr(checked((const size_t[]){99, 40, 99}, true, 3), ": 40 MiB are"));
    assert_null(checked((const size_t[]){9, 9, 9}, false, 1)); /* an estimate: let it try */
    assert_non_null(strstr(checked((const size_t[]){9, 9, 9}, true, 1), "for 1 rank on GPU 7"));
    assert_non_null(strstr(checked((const size_t[]){29, 29, 29}, false, 2), ": about 29 MiB are"));
}

/* A control group ends what goes beyond its limit, so even one rank is refused; and it says how. */
static void test_group(void **state)
{
    static struct log log;
    const struct memory_kind kind = {.name = "host"};
    const struct memory_pool pools[MEMORY_POOLS] = {{.which = 7,
                                                     .left = 4,
                                                     .is_exact = true,
                                                     .where = "this machine in the group /a",
                                                     .limit_file = "memory.max"}};
    (void)state;
    log_init(&log, 0, 0);
    log_attach(&log);
    const struct memory_request requests[] = {memory_request_make(&kind, 4, 0, pools),
                                              memory_request_make(&kind, 5, 0, pools)};
    assert_int_equal(memory_check_host(&kind, MEMORY_SAMPLES, pools, requests, 1), STATUS_OK);
    assert_int_equal(memory_check_host(&kind, MEMORY_SAMPLES, pools, requests + 1, 1),
                     STATUS_ERROR);
    assert_string_equal(log.failure.text,
                        "cannot allocate 1 MiB of host memory for the samples of 1 rank on this "
                        "machine in the group /a: 0 MiB are available; ask for fewer iterations "
                        "(-n), or raise the limit of that group (memory.max)");
    log_attach(NULL);
}

static void test_overflow(void **state)
{
    const struct memory_kind kind = {.name = "cuda", .engine_bytes = 1 << 20};
    const struct memory_pool pools[MEMORY_POOLS] = {{.which = 7, .left = 5}};
    (void)state;
    struct memory_request request = memory_request_make(&kind, SIZE_MAX, 9, pools);
    assert_true(request.bytes == UINT64_MAX);
    struct bytes share = {0};
    memory_request_code(codec_to(&share), &request);
    struct memory_request back;
    struct reader reader = {.at = share.data, .left = share.size};
    memory_request_code(codec_from(&reader), &back);
    assert_int_equal(reader.left, 0);
    assert_memory_equal(&back, &request, sizeof back);
    bytes_free(&share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices), cmocka_unit_test(test_devices),  cmocka_unit_test(test_sum),
        cmocka_unit_test(test_group),   cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_blobs.c - shares of an exchange are read to their end, and the rank that sent invalid data
 * is named; what ranks say of themselves is the same after it has travelled.
 * tier: check; load: cpu1
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "controlplane/control/control.h"
#include "run/run.h"

#include <cmocka.h> /* last: it makes a macro of fail() */

static bool number_decode(void *sum, int rank, struct reader *reader)
{
    uint32_t number = read_u32(reader);
    *(uint32_t *)sum += number * (uint32_t)(rank + 1);
    return number < 100;
}

static enum status read_numbers(int own, void *second, size_t size, uint32_t *sum)
{
    unsigned char first[] = {7, 0, 0, 0};
    void *data[] = {first, second};
    size_t sizes[] = {sizeof first, size};
    const struct blobs blobs = {.count = 2, .data = data, .size = sizes};
    *sum = 0;
    return blobs_read(&blobs, own, "number", number_decode, sum);
}

static void test_shares(void **state)
{
    (void)state;
    unsigned char good[] = {1, 0, 0, 0, 9}, bad[] = {100, 0, 0, 0};
    uint32_t sum;
    assert_int_equal(read_numbers(0, good, 4, &sum), STATUS_OK);
    assert_int_equal(sum, 7 + 2 * 1);
    for (int i = 0; i < 8; i++) {
        struct log log;
        int own = i / 4;
        log_init(&log, own, 0);
        log_attach(&log);
        enum status status = i % 4 == 0   ? read_numbers(own, good, 5, &sum)
                             : i % 4 == 1 ? read_numbers(own, good, 3, &sum)
                             : i % 4 == 2 ? read_numbers(own, NULL, 0, &sum)
                                          : read_numbers(own, bad, 4, &sum);
        assert_int_equal(status, STATUS_ERROR);
        assert_non_null(strstr(log.failure.text, "rank 1 sent invalid number data"));
        assert_int_equal(log.failure.reason, own == 0 ? REASON_PEER_INVALID : REASON_OWN);
        assert_int_equal(log.failure.peer, own == 0 ? 1 : NO_RANK);
        log_attach(NULL);
    }
}

static void test_cpus(void **state)
{
    (void)state;
    static const size_t last[] = {0, 7, 8, 65, CPU_SETSIZE - 1};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        cpu_set_t cpus, read;
        struct bytes share = {0};
        CPU_ZERO(&cpus);
        CPU_SET(last[i], &cpus);
        CPU_SET(last[i] / 2, &cpus);
        cpu_set_code(codec_to(&share), &cpus);
        struct reader reader = {.at = share.data, .left = share.size};
        cpu_set_code(codec_from(&reader), &read);
        assert_true(!reader.bad && reader.left == 0);
        assert_true(CPU_EQUAL(&cpus, &read));
        bytes_free(&share);
    }
    unsigned char large[CPU_SETSIZE / 8 + 5] = {CPU_SETSIZE / 8 + 1};
    struct reader reader = {.at = large, .left = sizeof large};
    cpu_set_t read;
    cpu_set_code(codec_from(&reader), &read);
    assert_true(reader.bad);
}

static void test_bindings(void **state)
{
    (void)state;
    struct cpu_binding binding = {
        .cache_bytes = 1 << 20, .core = -1, .sharing = 3, .threads = 2, .cache = 5};
    for (int i = 0; i < 2; i++) {
        struct cpu_binding read;
        struct bytes share = {0};
        binding.cache -= 7 * i; /* the second is below -1 */
        cpu_binding_code(codec_to(&share), &binding);
        struct reader reader = {.at = share.data, .left = share.size};
        cpu_binding_code(codec_from(&reader), &read);
        assert_int_equal(reader.bad, i == 1);
        assert_int_equal(reader.left, 0);
        if (i == 0)
            assert_true(read.core == -1 && read.cache == 5 && read.cache_bytes == 1 << 20 &&
                        read.sharing == 3 && read.threads == 2);
        bytes_free(&share);
    }
}

static void test_offers(void **state)
{
    (void)state;
    struct barrier_offer offer = {.cookie = 0x123456789abcdef0, .pid = 42, .fd = -1};
    for (int i = 0; i < 2; i++) {
        struct barrier_offer read;
        struct bytes share = {0};
        offer.fd -= i;
        barrier_offer_code(codec_to(&share), &offer);
        struct reader reader = {.at = share.data, .left = share.size};
        barrier_offer_code(codec_from(&reader), &read);
        assert_int_equal(reader.bad, i == 1);
        if (i == 0)
            assert_true(read.cookie == offer.cookie && read.pid == 42 && read.fd == -1);
        bytes_free(&share);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares), cmocka_unit_test(test_cpus),
                                       cmocka_unit_test(test_bindings),
                                       cmocka_unit_test(test_offers)};
    return cmocka_run_group_tests_name("blobs", tests, NULL, NULL);
}

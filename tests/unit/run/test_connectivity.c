/*
 * test_connectivity.c - links of a kind become one class, and no link is left out.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "run/results/results.h"

static struct link_class kind(int number, uint64_t ns)
{
    struct link_class link = {
        .transport = "shm", .count = 2, .least_ns = ns, .most_ns = ns, .from = number, .to = 99};
    snprintf(link.words, sizeof link.words, "kind %d", number);
    return link;
}

static void test_alike(void **state)
{
    struct connectivity all = {0};
    const uint64_t times[] = {0, 70, 50, 90, 0};
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct link_class link = kind(1, times[i]);
        link.from = i;
        connectivity_add(&all, &link);
    }
    assert_int_equal(all.class_count, 1);
    assert_int_equal(all.classes[0].count, 10);
    assert_int_equal(all.classes[0].least_ns, 50); /* 0: it was not measured */
    assert_int_equal(all.classes[0].most_ns, 90);
    assert_int_equal(all.classes[0].from, 3);
}

/* As rank 0 adds up the shares of two ranks: the sum of the rest stays last. */
static void test_many(void **state)
{
    struct connectivity one = {0}, all = {0};
    (void)state;
    for (int i = 0; i < LINK_CLASSES_MOST + 5; i++) {
        struct link_class link = kind(i, (uint64_t)i);
        connectivity_add(&one, &link);
    }
    assert_int_equal(one.class_count, LINK_CLASSES_MOST + 1);
    const struct link_class *rest = &one.classes[LINK_CLASSES_MOST];
    assert_string_equal(rest->transport, LINK_OTHERS);
    assert_int_equal(rest->count, 10);
    assert_int_equal(rest->least_ns, LINK_CLASSES_MOST);
    assert_int_equal(rest->most_ns, LINK_CLASSES_MOST + 4);

    connectivity_add(&all, rest);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < one.class_count; i++)
            connectivity_add(&all, &one.classes[i]);
    struct link_class more = kind(1000, 1000);
    connectivity_add(&all, &more);
    int count = 0;
    for (int i = 0; i < all.class_count; i++)
        count += all.classes[i].count;
    assert_int_equal(all.class_count, LINK_CLASSES_MOST + 1);
    assert_int_equal(count, 10 + 2 * 2 * (LINK_CLASSES_MOST + 5) + 2);
    assert_string_equal(all.classes[LINK_CLASSES_MOST].transport, LINK_OTHERS);
    assert_int_equal(all.classes[LINK_CLASSES_MOST].most_ns, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alike), cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

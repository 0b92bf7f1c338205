/*
 * test_values.c - hosts that stand out in a number of their own, and switches whose pairs have less
 * when many exchange.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "accept/judge/internal.h"

/* Judges the values of eight hosts; returns how many are outliers. */
static int values_judge(const struct value_rule *rule, struct judged_value *values)
{
    int outliers = 0;
    host_values_judge(rule, values, 8);
    for (int h = 0; h < 8; h++)
        outliers += values[h].outlier;
    return outliers;
}

static void test_host_values(void **state)
{
    (void)state;
    struct judged_value values[8];
    const double earlier[] = {100, 120, 99, 100, 102, 98, 60, 50};
    const double measured[] = {100, 101, 99, 100, 102, 98, 60, NAN};
    for (int h = 0; h < 8; h++)
        values[h].value = measured[h];
    struct value_rule rule = {
        .floor = 0.05, .earlier_floor = 0.1, .judged = 8, .alarms = FALSE_ALARMS};
    assert_int_equal(values_judge(&rule, values), 1);
    assert_true(values[6].outlier);
    assert_true(fabs(values[6].reason.median - 100) < 1e-9);
    assert_true(values[6].reason.threshold < 100 && values[6].reason.threshold > 60);
    rule.less_is_better = true; /* 60 is the best then */
    assert_int_equal(values_judge(&rule, values), 0);
    rule = (struct value_rule){.floor = 0.05,
                               .earlier_floor = 0.1,
                               .judged = 8,
                               .alarms = FALSE_ALARMS,
                               .earlier = earlier};
    values[6].value = 95;
    assert_int_equal(values_judge(&rule, values), 1);
    assert_true(values[1].outlier);
    assert_int_equal(values[1].reason.reference, REFERENCE_EARLIER);
    const double all_slower[] = {130, 131, 129, 130, 132, 128, 124, 130}; /* no host's fault */
    rule.earlier = all_slower;
    assert_int_equal(values_judge(&rule, values), 0);
    rule = (struct value_rule){.floor = 0.05, .judged = 8, .alarms = FALSE_ALARMS, .asked = 97};
    assert_int_equal(values_judge(&rule, values), 1);
    assert_int_equal(values[6].reason.reference, REFERENCE_PROFILE);
}

/* A host had more in the earlier run than the others. Between two runs it may change by sqrt(2)
 * times what hosts differ by, or by the floor, if that is more. All others have lost a tenth since,
 * and so may it. */
static void test_earlier_values(void **state)
{
    (void)state;
    static const double floors[] = {0, 0.5};
    for (int less = 0; less < 2; less++)
        for (int f = 0; f < 2; f++) {
            static const double apart[] = {0, 1, -1, 2, -2, 3, -3, 0}; /* % */
            struct judged_value values[8];
            double earlier[8];
            for (int h = 0; h < 8; h++) {
                values[h].value = 100 * exp(0.01 * apart[h]);
                earlier[h] = values[h].value * (less ? 0.9 : 1 / 0.9);
            }
            earlier[7] *= less ? 0.25 : 4;
            const struct value_rule rule = {.less_is_better = less,
                                            .floor = 0.05,
                                            .earlier_floor = floors[f],
                                            .judged = 8,
                                            .alarms = FALSE_ALARMS,
                                            .earlier = earlier};
            assert_int_equal(values_judge(&rule, values), 1);
            assert_true(values[7].outlier);
            const struct reason *reason = &values[7].reason;
            double room = spread_factor(8, FALSE_ALARMS) * M_SQRT2 * reason->deviation / 100;
            double worse = f == 0 ? exp(less ? room : -room) : less ? 1.5 : 0.5;
            assert_int_equal(reason->reference, REFERENCE_EARLIER);
            assert_true(reason->deviation > 1 && fabs(room) < log(1.5));
            assert_true(fabs(reason->threshold - (less ? 25 : 400) * worse) < 1e-9);
        }
}

/* Hosts of switch 1 get half of what they have when few talk. Switch 3 talks to it only, and is not
 * suspected; switch 2 has one slow pair. */
static void test_exchange(void **state)
{
    (void)state;
    static const int switches[] = {0, 0, 1, 1, 2, 2, 3, 3};
    static const int partners[][2] = {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {0, 6}};
    struct exchange_transfer transfers[7];
    for (int i = 0; i < 7; i++) {
        int from = partners[i][0], to = partners[i][1];
        bool slow = switches[from] == 1 || i == 1;
        transfers[i] = (struct exchange_transfer){
            .from = from, .to = to, .few = 4 + i, .many = (4 + i) * (slow ? 0.5 : 0.98)};
    }
    struct exchange_group groups[4];
    struct exchange_group shares = exchange_judge(transfers, 7, switches, 4, groups);
    assert_int_equal(shares.transfers, 7);
    assert_true(shares.congested && fabs(shares.share - 0.5) < 1e-9);
    assert_true(groups[1].congested && groups[1].transfers == 4 && groups[1].share < 0.51);
    assert_false(groups[0].congested || groups[3].congested);
    assert_true(groups[3].share < SHARE_LEAST); /* that is explained */
    transfers[1].few = 0;                       /* not measured */
    shares = exchange_judge(transfers, 7, switches, 4, groups);
    assert_int_equal(shares.transfers, 6);
    assert_true(groups[1].congested && !groups[2].congested);
    for (int i = 0; i < 7; i++)
        transfers[i].many = transfers[i].few * 0.9;
    shares = exchange_judge(transfers, 7, NULL, 0, NULL);
    assert_false(shares.congested);
}

/* Where all transfers are low, the switch with the lowest share comes first and explains those that
 * it has with others, be their numbers higher or lower. */
static void test_exchange_order(void **state)
{
    (void)state;
    static const int partners[][2] = {{0, 2}, {2, 0}, {0, 2}, {0, 1}, {0, 1}, {1, 0}};
    for (int middle = 0; middle < 3; middle += 2) {
        int switches[] = {middle, 1, 2 - middle};
        struct exchange_transfer transfers[6];
        for (int i = 0; i < 6; i++)
            transfers[i] = (struct exchange_transfer){
                .from = partners[i][0], .to = partners[i][1], .few = 10, .many = i < 3 ? 5 : 3};
        struct exchange_group groups[3];
        exchange_judge(transfers, 6, switches, 3, groups);
        assert_true(groups[middle].congested && fabs(groups[middle].share - 0.4) < 1e-9);
        assert_true(groups[1].share < groups[middle].share);
        assert_true(groups[1].congested);
        assert_false(groups[2 - middle].congested);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_values),
        cmocka_unit_test(test_earlier_values),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_exchange_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_cases.c - several collectives, algorithms, datatypes and operators in one job: which lines
 * they make, and what is asked of each.
 * tier: check; load: cpu1
 */
#include "base/text.h"
#include "run/results/results.h"
#include "dataplane/memory/memory.h"
#include "tests/unit/resolved.h"

/* The lines of a job, size aside: "allreduce ring float sum, ...". */
static void assert_crossed(const char *words, const char *expected)
{
    static struct outcome o;
    char lines[1024] = "", title[CANDIDATE_TITLE_MOST];
    struct text text = text_in(lines, sizeof lines);
    take(&o, words, NULL);
    for (int i = 0; i < o.request.job.candidate_count; i++)
        text_add(&text, "%s%s", i ? ", " : "",
                 candidate_title(&o.request.job, &o.request.job.candidates[i], title));
    assert_string_equal(lines, expected);
}

static void lists_are_crossed(void **state)
{
    (void)state;
    assert_crossed(
        "allreduce,allgather,barrier -a ring,mesh,dissemination -d float,int8 -o sum,bor",
        "allreduce ring float sum, allreduce mesh float sum, allreduce ring int8 sum, "
        "allreduce mesh int8 sum, allreduce ring int8 bor, allreduce mesh int8 bor, "
        "allgather ring float, allgather mesh float, allgather ring int8, "
        "allgather mesh int8, barrier dissemination");
    assert_crossed("barrier,reduce -a auto -o max", "barrier auto, reduce auto");
    assert_crossed("all -a pairwise -d int8,uint8",
                   "reduce_scatter pairwise int8 sum, reduce_scatter pairwise uint8 sum, "
                   "alltoall pairwise int8, alltoall pairwise uint8, "
                   "alltoallv pairwise int8, alltoallv pairwise uint8, "
                   "reduce_scatterv pairwise int8 sum, reduce_scatterv pairwise uint8 sum");
    assert_crossed("allgather -a ring,ring -d e4m3,2int",
                   "allgather ring float8_e4m3, allgather ring float8_e4m3, "
                   "allgather ring int32_int32, allgather ring int32_int32");
}

static void all_is_every_pair_that_exists(void **state)
{
    (void)state;
    static struct outcome o;
    int pairs = 0, at = 0;
    take(&o, "allreduce,broadcast -d all -o all", NULL);
    for (int d = 0; datatypes[d]; d++)
        for (int r = 0; reductions[r]; r++) {
            if (reduce_refusal(datatypes[d], reductions[r]))
                continue;
            assert_ptr_equal(o.request.job.candidates[at].datatype, datatypes[d]);
            assert_ptr_equal(o.request.job.candidates[at++].reduction, reductions[r]);
            pairs++;
        }
    for (int d = 0; datatypes[d]; d++) {
        assert_ptr_equal(o.request.job.candidates[at].datatype, datatypes[d]);
        assert_null(o.request.job.candidates[at++].reduction);
    }
    assert_int_equal(o.request.job.candidate_count, pairs + DATATYPES);
    take(&o, "all -a all -d all -o all", NULL); /* there is no limit */
    assert_true(o.request.job.candidate_count > 5000);
}

static void what_all_does_not_name_must_suit_the_ranks(void **state)
{
    (void)state;
    static struct outcome o;
    assert_int_equal(check_ranks(&o, "allreduce -a ring -d int8 -o avg", 200), STATUS_USAGE);
    assert_non_null(strstr(o.message, "--op avg of int8 over 200 ranks is always 0"));
    assert_int_equal(check_ranks(&o, "allreduce -a ring -d all -o avg", 200), STATUS_OK);
    assert_true(o.request.job.candidate_count > 5);
    for (int i = 0; i < o.request.job.candidate_count; i++)
        assert_true(200 <= reduce_ranks_most(o.request.job.candidates[i].datatype,
                                             o.request.job.candidates[i].reduction));
    assert_int_equal(check_ranks(&o, "allgather,alltoall -a ring,pairwise-xor -d all", 6),
                     STATUS_USAGE);
    assert_non_null(strstr(o.message, "alltoall pairwise-xor float: "));
    assert_int_equal(check_ranks(&o, "allgather,alltoall -a all", 6), STATUS_OK);
    assert_int_equal(check_ranks(&o, "allgather,reduce -r 3", 3), STATUS_USAGE);
}

static void each_collective_and_type_is_fast_enough(void **state)
{
    (void)state;
    static struct outcome o;
    struct result slowest;
    struct result results[] = {
        {.choice = 0, .bytes = 64, .timing.busbw = 9},  /* allreduce ring float */
        {.choice = 1, .bytes = 64, .timing.busbw = 1},  /* mesh */
        {.choice = 2, .bytes = 128, .timing.busbw = 7}, /* on int8, which is larger */
        {.choice = 3, .bytes = 128, .timing.busbw = 4},
        {.choice = 4, .bytes = 1, .timing.busbw = 0},  /* barrier */
        {.choice = 5, .bytes = 32, .timing.busbw = 5}, /* allgather */
    };
    take(&o, "allreduce,barrier,allgather -a ring,mesh,dissemination -d float,int8 --min-busbw 5",
         NULL);
    assert_string_equal(o.request.job.candidates[4].collective->name, "barrier");
    assert_true(results_fast_enough(&o.request.job, results, 6, &slowest));
    assert_int_equal(slowest.choice, 5);
    results[2].timing.busbw = 4.5;
    assert_false(results_fast_enough(&o.request.job, results, 6, &slowest));
    assert_int_equal(slowest.choice, 2);
    results[0].timing.busbw = 4; /* smaller than the largest size, but not of its own type */
    assert_false(results_fast_enough(&o.request.job, results, 6, &slowest));
    assert_int_equal(slowest.choice, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_crossed),
        cmocka_unit_test(all_is_every_pair_that_exists),
        cmocka_unit_test(what_all_does_not_name_must_suit_the_ranks),
        cmocka_unit_test(each_collective_and_type_is_fast_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

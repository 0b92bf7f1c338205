/*
 * test_options.c - the option table: valid and invalid values, the sentences of refusals, where
 * values come from, and that the manual page has the same options.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/results/results.h"
#include "tests/unit/resolved.h"

static void defaults_are_the_tables(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "alltoall", NULL);
    assert_string_equal(o.request.job.collectives[0]->name, "alltoall");
    assert_int_equal(o.request.job.candidate_count, 1);
    assert_string_equal(o.request.job.candidates[0].text, "auto");
    assert_string_equal(o.request.job.memory->name, "host");
    assert_string_equal(o.request.job.transports_text, "auto");
    assert_non_null(o.request.job.transports[0].transport);
    assert_false(o.request.job.transports[0].named);
    assert_int_equal(o.request.job.smallest, 1024);
    assert_int_equal(o.request.job.largest, 16 << 20);
    assert_int_equal(o.request.job.factor, 4);
    assert_int_equal(o.request.job.increment, 0);
    assert_string_equal(o.request.job.datatypes[0]->name, "float");
    assert_null(o.request.job.reductions[0]); /* an alltoall combines nothing */
    assert_int_equal(o.request.job.iterations, 20);
    assert_int_equal(o.request.job.warmup, 5);
    assert_int_equal(o.request.job.checked, 2);
    assert_false(o.request.job.in_place);
    assert_int_equal(o.request.job.copy, COPY_AUTO);
    assert_true(o.request.job.chunk == GRAIN_AUTO);
    assert_int_equal(o.request.job.channels, CHANNELS_AUTO);
    assert_int_equal(o.request.job.slots, 0);
    assert_int_equal(o.request.job.slot_bytes, 0);
    assert_true(o.request.job.bootstrap.timeout == 30);
    assert_int_equal(o.request.job.start, START_BARRIER);
    assert_int_equal(o.request.job.bootstrap.np, 0);
    assert_int_equal(o.request.job.bootstrap.rank, -1);
    assert_int_equal(o.request.job.bootstrap.world, -1);
    assert_null(o.request.files.json);
    assert_int_equal(o.request.job.bootstrap.verbosity, 0);
}

static void flags_reach_the_job(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o,
         "bcast -a binomial,chain -x tcp,shm -m shared -b 8 -e 1G -i 4K -d double -r all -n 7 -w 0 "
         "-c 1 --in-place --copy zcopy --chunk 0 --channels 3 --np 5 --min-busbw 1.5 --timeout 2.5 "
         "--slots 12 --slot-size 8K",
         NULL);
    assert_string_equal(o.request.job.collectives[0]->name, "broadcast");
    assert_int_equal(o.request.job.candidate_count, 2);
    assert_string_equal(o.request.job.candidates[1].text, "chain");
    assert_string_equal(o.request.job.transports[0].transport->name, "tcp");
    assert_string_equal(o.request.job.transports[1].transport->name, "shm");
    assert_null(o.request.job.transports[2].transport);
    assert_string_equal(o.request.job.memory->name, "shared");
    assert_int_equal(o.request.job.smallest, 8);
    assert_int_equal(o.request.job.largest, 1 << 30);
    assert_int_equal(o.request.job.factor, 0);
    assert_int_equal(o.request.job.increment, 4096);
    assert_string_equal(o.request.job.datatypes[0]->name, "double");
    assert_int_equal(o.request.job.root, ROOT_ALL);
    assert_int_equal(o.request.job.iterations, 7);
    assert_true(o.request.job.in_place);
    assert_int_equal(o.request.job.copy, COPY_ZCOPY);
    assert_int_equal(o.request.job.chunk, 0);
    assert_int_equal(o.request.job.channels, 3);
    assert_int_equal(o.request.job.slots, 12);
    assert_int_equal(o.request.job.slot_bytes, 8 << 10);
    assert_int_equal(o.request.job.bootstrap.np, 5);
    assert_true(o.request.job.min_busbw == 1.5);
    assert_true(o.request.job.bootstrap.timeout == 2.5);

    take(&o,
         "--rendezvous [::1]:7777 allreduce --world 4 --rank 3 -o max --seed 9 --csv - "
         "--json=f.json "
         "--start back-to-back --interface lo -vv --inject "
         "delay:rank=1:us=500,corrupt:iteration=3:rank=2",
         NULL);
    assert_string_equal(o.request.job.reductions[0]->name, "max");
    assert_string_equal(o.request.job.bootstrap.rendezvous, "[::1]:7777");
    assert_int_equal(o.request.job.bootstrap.rank, 3);
    assert_int_equal(o.request.job.bootstrap.world, 4);
    assert_int_equal(o.request.job.seed, 9);
    assert_string_equal(o.request.files.csv, "-");
    assert_string_equal(o.request.files.json, "f.json");
    assert_int_equal(o.request.job.start, START_BACK_TO_BACK);
    assert_string_equal(o.request.job.bootstrap.interface, "lo");
    assert_int_equal(o.request.job.bootstrap.verbosity, 2);
    assert_int_equal(o.request.job.injection_count, 2);
    assert_int_equal(o.request.job.injections[0].kind, INJECT_DELAY);
    assert_int_equal(o.request.job.injections[0].microseconds, 500);
    assert_int_equal(o.request.job.injections[1].rank, 2);
    assert_int_equal(o.request.job.injections[1].iteration, 3);

    take(&o, "allreduce --ranks-as threads", NULL);
    assert_int_equal(o.request.job.bootstrap.ranks_as, RANKS_THREADS);
}

static void algorithm_options_follow_the_name(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "alltoall -a bruck:radix=4,pairwise,bruck", NULL);
    assert_int_equal(o.request.job.candidate_count, 3);
    assert_string_equal(o.request.job.candidates[0].text, "bruck:radix=4");
    assert_int_equal(o.request.job.candidates[0].choice.options[0], 4);
    assert_int_equal(o.request.job.candidates[2].choice.options[0],
                     o.request.job.candidates[2].choice.algorithm->options[0].standard);
    take(&o, "alltoall -a all", NULL);
    assert_true(o.request.job.choices_all);
    assert_true(o.request.job.candidate_count > 3);
}

static void the_environment_stands_between(void **state)
{
    (void)state;
    static struct outcome o;
    char iterations[] = "CCTEST_ITERATIONS=3", bytes[] = "CCTEST_MIN_BYTES=64",
         place[] = "CCTEST_IN_PLACE=yes", step[] = "CCTEST_STEP_BYTES=1K",
         empty[] = "CCTEST_NP=", other[] = "ITERATIONS=4", meet[] = "CCTEST_RENDEZVOUS=h:1";
    char *environment[] = {iterations, bytes, place, step, empty, other, meet, NULL};
    take(&o, "alltoall -b 128 --np 2", environment);
    assert_int_equal(o.request.job.iterations, 3);
    assert_int_equal(o.request.job.smallest, 128);
    assert_true(o.request.job.in_place);
    assert_int_equal(o.request.job.factor, 0); /* the environment's increment beats the default */
    assert_int_equal(o.request.job.increment, 1024);
    assert_null(o.request.job.bootstrap.rendezvous); /* the flag's --np beats it */
    take(&o, "alltoall -f 2", environment);
    assert_int_equal(o.request.job.factor, 2);
    assert_int_equal(o.request.job.increment, 0);
    assert_string_equal(o.request.job.bootstrap.rendezvous, "h:1");

    char bad[] = "CCTEST_WARMUP=lots";
    char *wrong[] = {bad, NULL};
    resolve(&o, "alltoall", wrong);
    assert_int_equal(o.status, STATUS_USAGE);
    assert_non_null(strstr(o.message, "CCTEST_WARMUP='lots' is not a number"));
    take(&o, "alltoall -w 2", wrong);
    take(&o, "list", wrong); /* it has no warm-up */
}

static void bounds_follow_the_one_that_was_given(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "alltoall -b 64M", NULL);
    assert_int_equal(o.request.job.largest, 64 << 20);
    take(&o, "alltoall -e 16", NULL);
    assert_int_equal(o.request.job.smallest, 16);
}

static void barrier_is_a_bor_of_bytes(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "barrier -b 1M -d double", NULL);
    assert_int_equal(o.request.job.smallest, 1);
    assert_int_equal(o.request.job.largest, 1);
    assert_int_equal(o.request.job.candidates[0].reduction->id, REDUCTION_BOR);
    assert_int_equal(job_next_size(&o.request.job, o.request.job.candidates, 1), 0);
}

static const struct bad_input bad_inputs[] = {
    {"alltaol", "did you mean 'alltoall'?"},
    {"lst", "did you mean 'list'?"},
    {"alltoall -a pairwse", "did you mean 'pairwise'?"},
    {"alltoall -a ,", "'' is not an algorithm"},
    {"alltoall -x shmm", "did you mean 'shm'?"},
    {"alltoall -x tcp,tcp", "twice"},
    {"alltoall -m hst", "did you mean 'host'?"},
    {"alltoall -d flot", "did you mean 'float'?"},
    {"allreduce -o sun", "did you mean 'sum'?"},
    {"allreduce -o bor",
     "--op bor does not go with --datatype float: bitwise operators need integers"},
    {"allreduce -d half -o land", "logical operators need integers: choose one of int8"},
    {"reduce -o maxloc", "it needs pairs of a value and an index: choose --datatype float_int32"},
    {"reduce -d 2int", "--op sum does not go with --datatype int32_int32: pairs of a value"},
    {"plan allreduce -o bxor", "--op bxor does not go with --datatype float"},
    {"alltoall --itterations 5", "did you mean --iterations?"},
    {"alltoall --st 3", "--st may be --step-factor or --step-bytes"},
    {"alltoall -Z", "no option -Z"},
    {"alltoall -b", "--min-bytes needs a value"},
    {"alltoall --in-place=1", "takes no value"},
    {"alltoall -b -1", "is negative"},
    {"alltoall -b 1X", "has trailing junk"},
    {"alltoall -e 99999999999G", "is too large"},
    {"alltoall -e 65T", "is too large"},
    {"alltoall -b 4M -e 1M", "--min-bytes 4M is more than --max-bytes 1M"},
    {"alltoall -f 0", "is too small"},
    {"alltoall -f 1", "is too small"},
    {"alltoall -i 0", "is too small"},
    {"alltoall -f 2 -i 8", "give one of them"},
    {"alltoall --np 0", "is too small"},
    {"alltoall --np 2.5", "has a fraction"},
    {"alltoall -n 0 -c 0", "leave nothing to do"},
    {"alltoall -n 5x", "has trailing junk"},
    {"alltoall -n -5", "is negative"},
    {"alltoall -c 99999999999999999999", "is too large"},
    {"broadcast -r -1", "is negative"},
    {"broadcast -r any", "or 'all'"},
    {"alltoall --timeout 0", "is too small"},
    {"alltoall --timeout nan", "is not a number"},
    {"alltoall --timeout 1e9", "is too large"},
    {"alltoall --min-busbw 3GB", "has trailing junk"},
    {"alltoall --min-busbw 3 -n 0", "needs timed iterations"},
    {"barrier --min-busbw 3", "moves no data"},
    {"alltoall --copy zcpy", "did you mean 'zcopy'?"},
    {"alltoall --start never", "valid are barrier, back-to-back"},
    {"alltoall --chunk 1.0001K", "is not a whole number of bytes"},
    {"alltoall --channels 65", "give a whole number from 1 to 64, or 'auto'"},
    {"alltoall --rendezvous host", "is not HOST:PORT"},
    {"alltoall --rendezvous host:0", "no valid port"},
    {"alltoall --json -v", "looks like an option"},
    {"alltoall --interface=", "is empty"},
    {"alltoall --json=", "is empty"},
    {"alltoall -a "
     "bruck:radix="
     "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "4",
     "is longer than"},
    {"alltoall --json - --csv -", "cannot both"},
    {"alltoall --json f --csv f", "same file"},
    {"alltoall -a bruck:radix=1", "radix '1' of algorithm bruck is too small"},
    {"alltoall -a bruck:radix=x", "is not a number"},
    {"alltoall -a bruck:radx=2", "did you mean 'radix'?"},
    {"alltoall -a bruck:radix", "is not KEY=VALUE"},
    {"alltoall -a pairwise:radix=2", "has no option 'radix'"},
    {"alltoall --inject burn:rank=1", "valid are corrupt, drop, delay, kill, stop, silent"},
    {"alltoall --inject kill:rank=1", "needs two keys"},
    {"alltoall --inject kill:rank=1:rank=2", "of --inject kill is given twice"},
    {"alltoall --inject delay:rank=1:iteration=2", "is not one of its keys"},
    {"alltoall --inject drop:rank=-1:iteration=2", "is negative"},
    {"alltoall --inject kill:rank=1:iteration=2 --ranks-as threads", "use processes"},
    {"alltoall --inject silent:rank=1:us=2", "is not one of its keys"},
    {"alltoall pairwise", "write -a pairwise"},
    {"alltoall two words", "one word too many"},
    {"allreduce,alltaol", "'alltaol' is not a collective: did you mean 'alltoall'?"},
    {"allreduce,", "'' is not a collective"},
    {"allreduce,all-reduce", "collective 'all-reduce' is named twice"},
    {"allreduce,all", "'all' stands for every collective: write it alone"},
    {"allreduce -d half,f16", "datatype 'f16' is named twice"},
    {"allreduce -d float,all", "'all' stands for every datatype"},
    {"allreduce -o sum,sum", "operation 'sum' is named twice"},
    {"allreduce,alltoall -a nonesuch", "'nonesuch' is not an algorithm for allreduce,alltoall"},
    {"allreduce,alltoall -a pairwise",
     "allreduce has no algorithm of --algorithm pairwise: add one"},
    {"allreduce -d float,int8 -o band", "--op band does not go with --datatype float"},
    {"allreduce -d float,double -o sum,band", "--op band does not go with --datatype float"},
    {"allgather,alltoall --counts uniform", "allgather,alltoall has blocks of one length"},
    {"list alltaol", "did you mean 'alltoall'?"},
    {"list -n 3", "has no option --iterations"},
    {"plan", "which collective?"},
    {"alltoall --np 4097", "one machine starts 4096 ranks at most"},
    {"info --np 4097", "one machine starts 4096 ranks at most"},
    {"info --warmup 3", "has no option --warmup"},
};

static void bad_input_is_one_sentence(void **state)
{
    (void)state;
    refuse(bad_inputs, sizeof bad_inputs / sizeof *bad_inputs);
}

/* Checks that need the number of ranks. */

static void ranks_must_suit(void **state)
{
    (void)state;
    static struct outcome o;
    assert_int_equal(check_ranks(&o, "broadcast -r 2", 3), STATUS_OK);
    assert_int_equal(check_ranks(&o, "broadcast -r 3", 3), STATUS_USAGE);
    assert_non_null(strstr(o.message, "root 3 is not among the 3 ranks"));
    assert_int_equal(check_ranks(&o, "broadcast -r all", 1), STATUS_OK);
    assert_int_equal(check_ranks(&o, "alltoall -r 3", 3), STATUS_OK); /* it has no root */
    assert_int_equal(check_ranks(&o, "alltoall --inject stop:rank=2:iteration=0", 2), STATUS_USAGE);
    assert_int_equal(check_ranks(&o, "alltoall --inject silent:rank=2:iteration=0", 2),
                     STATUS_USAGE);
    assert_int_equal(check_ranks(&o, "alltoall -a pairwise-xor", 8), STATUS_OK);
    assert_int_equal(check_ranks(&o, "alltoall -a pairwise-xor", 6), STATUS_USAGE);
    assert_non_null(strstr(o.message, "alltoall pairwise-xor: "));

    assert_int_equal(check_ranks(&o, "alltoall -a all", 6), STATUS_OK);
    for (int i = 0; i < o.request.job.candidate_count; i++) {
        assert_string_not_equal(o.request.job.candidates[i].text, "pairwise-xor");
        assert_string_equal(o.request.job.candidates[i].text,
                            o.request.job.candidates[i].choice.algorithm->name);
    }
    int left = o.request.job.candidate_count;
    assert_int_equal(check_job(&o, 6), STATUS_OK);
    assert_int_equal(o.request.job.candidate_count, left);
}

static void sizes_follow_each_other(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "alltoall -b 0 -e 100 -f 3", NULL);
    size_t expected[] = {4, 12, 36, 0}, bytes = 0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(bytes = job_next_size(&o.request.job, o.request.job.candidates, bytes),
                         expected[i]);
    take(&o, "alltoall -b 10 -e 31 -i 10", NULL);
    assert_int_equal(job_next_size(&o.request.job, o.request.job.candidates, 10), 20);
    assert_int_equal(job_next_size(&o.request.job, o.request.job.candidates, 30), 0);
    take(&o, "alltoall,barrier -b 4K -e 8K -f 2", NULL); /* of which one has no sizes */
    assert_int_equal(job_first_size(&o.request.job, &o.request.job.candidates[0]), 4096);
    assert_int_equal(job_next_size(&o.request.job, &o.request.job.candidates[0], 4096), 8192);
    assert_int_equal(job_first_size(&o.request.job, &o.request.job.candidates[1]), 1);
    assert_int_equal(job_next_size(&o.request.job, &o.request.job.candidates[1], 1), 0);
    take(&o, "alltoall -b 10 -e 31 -i 10", NULL);
    o.request.job.largest = SIZE_MAX;
    assert_int_equal(job_next_size(&o.request.job, o.request.job.candidates, SIZE_MAX - 3), 0);
    o.request.job.increment = 0;
    o.request.job.factor = 4;
    assert_int_equal(job_next_size(&o.request.job, o.request.job.candidates, SIZE_MAX / 2), 0);
}

/* The number of sizes is that of the sweep. */
static void sizes_are_counted(void **state)
{
    (void)state;
    static const char *const sweeps[] = {
        "alltoall",
        "alltoall -b 0",
        "alltoall -b 0 -e 100 -f 3",
        "alltoall -b 10 -e 31 -i 10",
        "alltoall -b 10 -e 30 -i 10",
        "alltoall -b 10 -e 29 -i 10",
        "alltoall -i 1000",
        "alltoall -b 8 -e 8",
        "barrier",
    };
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        static struct outcome o;
        take(&o, sweeps[i], NULL);
        unsigned long long count = 1;
        for (size_t bytes = job_first_size(&o.request.job, o.request.job.candidates);
             (bytes = job_next_size(&o.request.job, o.request.job.candidates, bytes)) != 0;)
            count++;
        assert_int_equal(job_size_count(&o.request.job, o.request.job.candidates), count);
    }
}

static void the_best_of_the_largest_size_counts(void **state)
{
    (void)state;
    static struct outcome o;
    struct result slowest;
    struct result results[] = {
        {.bytes = 8, .timing.busbw = 9},
        {.bytes = 64, .timing.busbw = 2},
        {.bytes = 64, .timing.busbw = 3},
        {.bytes = 64, .timing.busbw = 5, .wrong = 1}, /* fast, but wrong */
    };
    take(&o, "alltoall --min-busbw 3", NULL);
    assert_true(results_fast_enough(&o.request.job, results, 4, &slowest));
    assert_true(slowest.timing.busbw == 3);
    o.request.job.min_busbw = 3.1;
    assert_false(results_fast_enough(&o.request.job, results, 4, &slowest));
    assert_false(results_fast_enough(&o.request.job, results, 0, &slowest));
    o.request.job.min_busbw = 0;
    assert_true(results_fast_enough(&o.request.job, results, 0, &slowest));
}

/* The table itself, and the manual page. */

static void rows_are_whole(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o, "alltoall", NULL);
    int count = 0;
    for (const struct option_row *row = option_table; row->name; row++, count++) {
        assert_non_null(row->help);
        assert_non_null(row->kind);
        assert_non_null(row->kind->parse);
        assert_true(row->commands != 0);
        for (const struct option_row *other = option_table; other != row; other++) {
            assert_true(!(row->commands & other->commands) || strcmp(row->name, other->name) != 0);
            assert_true(!(row->commands & other->commands) || !row->letter ||
                        row->letter != other->letter);
        }
        json_t *shown = row->kind->show ? row->kind->show(row, &o.request) : json_null();
        assert_non_null(shown);
        json_decref(shown);
    }
    assert_true(count < OPTIONS_MOST);
}

/* Paragraphs and lists of the texts are well formed: help and manual print them as they stand. */
static void texts_are_blocks(void **state)
{
    (void)state;
    for (const struct option_row *row = option_table; row->name; row++) {
        const char *text = row->text;
        struct option_block block;
        int blocks = 0;
        for (; option_block_next(&text, &block); blocks++) {
            assert_true(block.body_length > 0 && block.body[0] != ' ');
            assert_true(!block.word || (block.word_length > 0 && block.word_length < 40));
            assert_true(!block.is_first || blocks > 0);
        }
        assert_true(!row->text == (blocks == 0));
        assert_true(!strchr(row->help, '\n'));
    }
    const char *text = "one: two.\n\n- word: its text\n- a:B: more\nlast";
    static const struct option_block expected[] = {
        {false, NULL, "one: two.", 0, 9},
        {true, "word", "its text", 4, 8},
        {false, "a:B", "more", 3, 4},
        {false, NULL, "last", 0, 4},
    };
    struct option_block block;
    for (int i = 0; i < LENGTH(expected); i++) {
        assert_true(option_block_next(&text, &block));
        assert_int_equal(block.is_first, expected[i].is_first);
        assert_int_equal(block.word_length, expected[i].word_length);
        assert_int_equal(block.body_length, expected[i].body_length);
        assert_memory_equal(block.body, expected[i].body, (size_t)block.body_length);
        if (block.word_length)
            assert_memory_equal(block.word, expected[i].word, (size_t)block.word_length);
    }
    assert_false(option_block_next(&text, &block));
}

/* A command may mean something else by an option, and have another default or none. */
static void forms_are_of_commands(void **state)
{
    (void)state;
    const struct option_row *np = option_find("np"), *rank = option_find("rank");
    assert_string_equal(option_help(np, FOR_RUN), "number of ranks to start on this machine");
    assert_string_equal(option_help(np, FOR_PLAN), "number of ranks");
    assert_string_equal(option_standard(np, FOR_RUN), "one per core, 2 to 8");
    assert_string_equal(option_standard(np, FOR_PLAN), "4");
    assert_null(option_standard(np, FOR_PREDICT));
    assert_null(option_standard(rank, FOR_PLAN));
    assert_string_equal(option_standard(option_find("budget"), FOR_TUNE), "300");
    assert_string_equal(option_standard(option_find("root"), FOR_TUNE), "0");
    for (const struct option_row *row = option_table; row->name; row++)
        for (int i = 0; i < OPTION_FORMS_MOST && row->forms[i].commands; i++)
            assert_int_equal(row->forms[i].commands & ~row->commands, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_tables),
        cmocka_unit_test(flags_reach_the_job),
        cmocka_unit_test(algorithm_options_follow_the_name),
        cmocka_unit_test(the_environment_stands_between),
        cmocka_unit_test(bounds_follow_the_one_that_was_given),
        cmocka_unit_test(barrier_is_a_bor_of_bytes),
        cmocka_unit_test(bad_input_is_one_sentence),
        cmocka_unit_test(ranks_must_suit),
        cmocka_unit_test(sizes_follow_each_other),
        cmocka_unit_test(sizes_are_counted),
        cmocka_unit_test(the_best_of_the_largest_size_counts),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(texts_are_blocks),
        cmocka_unit_test(forms_are_of_commands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

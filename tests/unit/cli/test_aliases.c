/*
 * test_aliases.c - names of options and programs of other tools: what they mean here, the usual
 * refusal of others, and that the manual page has them all.
 * tier: check; load: cpu1
 */
#include "tests/unit/resolved.h"

#include "cli/options/internal.h"

/* Names of other tools: those of options, and of programs as the collective. */
static void names_of_other_tools_are_taken(void **state)
{
    (void)state;
    static struct outcome o;
    take(&o,
         "all_reduce_perf --minbytes 8 --maxbytes=8KB --stepfactor 2 --iters 7 --warmup_iters 1 "
         "--ranks 3 -T 9 -J f.json --check 1 --datatype half --op max --bind-to none",
         NULL);
    assert_string_equal(o.request.job.collectives[0]->name, "allreduce");
    assert_int_equal(o.request.job.smallest, 8);
    assert_int_equal(o.request.job.largest, 8 << 10);
    assert_int_equal(o.request.job.factor, 2);
    assert_int_equal(o.request.job.iterations, 7);
    assert_int_equal(o.request.job.warmup, 1);
    assert_int_equal(o.request.job.bootstrap.np, 3);
    assert_true(o.request.job.bootstrap.timeout == 9);
    assert_string_equal(o.request.files.json, "f.json");
    assert_int_equal(o.request.job.bind, BIND_NONE);
    take(&o, "osu_bcast --stepbytes 4 --Min_Bytes 8 --in_place --nprocs 5", NULL);
    assert_string_equal(o.request.job.collectives[0]->name, "broadcast");
    assert_int_equal(o.request.job.increment, 4);
    assert_int_equal(o.request.job.smallest, 8);
    assert_true(o.request.job.in_place);
    assert_int_equal(o.request.job.bootstrap.np, 5);
    take(&o, "allreduce --n 6 --it 4", NULL); /* --nranks and --iters make these no riddle */
    assert_int_equal(o.request.job.bootstrap.np, 6);
    assert_int_equal(o.request.job.iterations, 4);
    take(&o, "plan allreduce --np 65536", NULL);
    assert_int_equal(o.request.job.bootstrap.np, 65536);
    static const char *const versions[] = {"version", "-V", "allreduce -V", "--version"};
    for (int i = 0; i < 4; i++) {
        resolve(&o, versions[i], NULL);
        assert_true(o.line.version);
    }
    static const char *const programs[][2] = {{"all_gather_perf", "allgather"},
                                              {"alltoall_perf", "alltoall"},
                                              {"broadcast_perf", "broadcast"},
                                              {"gather_perf", "gather"},
                                              {"reduce_perf", "reduce"},
                                              {"reduce_scatter_perf", "reduce_scatter"},
                                              {"scatter_perf", "scatter"},
                                              {"sendrecv_perf", "sendrecv"},
                                              {"osu_allgatherv", "allgatherv"},
                                              {"osu_alltoallv", "alltoallv"},
                                              {"osu_barrier", "barrier"},
                                              {"osu_gatherv", "gatherv"},
                                              {"osu_reduce_scatter", "reduce_scatter"}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        take(&o, programs[i][0], NULL);
        assert_string_equal(o.request.job.collectives[0]->name, programs[i][1]);
    }
    assert_null(collective_find("osu_"));
    assert_null(collective_find("_perf"));
    assert_null(collective_find("osu_allreduce_perf"));
}

/* An alias is for an option of the table, and no name or letter of its own is there. */
static void aliases_are_whole(void **state)
{
    (void)state;
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++) {
        assert_non_null(option_find(alias->option));
        assert_true(!alias->name || !option_find(alias->name));
        assert_ptr_equal(alias->name ? alias_named(alias->name) : alias, alias);
        assert_ptr_equal(alias->letter ? alias_lettered(alias->letter) : alias, alias);
        for (const struct option_row *row = option_table; alias->letter && row->name; row++)
            assert_true(row->letter != alias->letter);
    }
}

/* Names that mean nothing here. */
static void other_names_are_refused(void **state)
{
    (void)state;
    static const struct bad_input inputs[] = {
        {"all_reduce_perf -g 8", "there is no option -g: see `cctest help`"},
        {"allreduce -t8", "there is no option -t: see"},
        {"allreduce -vp 1", "there is no option -p: see"},
        {"allreduce --parallel_init 1", "there is no option --parallel_init: see `cctest help`"},
        {"allreduce -a 1", "'1'"},
        {"allreduce -m 4:1024", "'4:1024'"},
        {"allreduce -x 200", "'200'"},
        {"allreduce --hostfile h", "there is no option --hostfile: "},
        {"allreduce --windows_size 2", "there is no option --windows_size: see"},
        {"allreduce --root_ 2", "did you mean --root?"},
        {"allreduce --nprcs 4", "did you mean --np?"},
        {"allreduce --minbyte 4", "did you mean --min-bytes?"},
        {"allreduce --warmup_iters=x", "--warmup 'x' is not a number"},
        {"allreduce --iters", "--iterations needs a value"},
        {"allreduce --in_place=1", "takes no value"},
        {"osu_latency", "write cctest sendrecv -a pingpong"},
        {"ring", "'ring' is an algorithm: write cctest COLLECTIVE -a ring"},
        {"osu_alltaol", "is not a collective"},
    };
    refuse(inputs, sizeof inputs / sizeof *inputs);
}

/* The page about other tools has each alias: `-J` or `--minbytes`. */
static void a_page_has_the_aliases(void **state)
{
    (void)state;
    static const char path[] =
        "doc/coming-from-nccl-tests.md"; /* tests run from the top of the tree */
    char page[64 << 10];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    char *section = strstr(page, "| typed | means |"),
         *end = section ? strstr(section, "\n\n") : NULL;
    assert_non_null(end);
    *end = '\0';
    for (const struct alias *alias = option_aliases; alias->name || alias->letter; alias++) {
        char letter[8], name[64];
        snprintf(letter, sizeof letter, "`-%c`", alias->letter ? alias->letter : '?');
        snprintf(name, sizeof name, "`--%s`", alias->name ? alias->name : "?");
        bool has =
            (!alias->letter || strstr(section, letter)) && (!alias->name || strstr(section, name));
        if (!has)
            print_error("%s lacks %s or %s\n", path, name, letter);
        assert_true(has);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_other_tools_are_taken),
        cmocka_unit_test(aliases_are_whole),
        cmocka_unit_test(other_names_are_refused),
        cmocka_unit_test(a_page_has_the_aliases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

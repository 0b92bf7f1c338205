/*
 * test_split.c - groups that run at the same time: from the option or a file, on nodes in any
 * order; what differs between them and what does not.
 * tier: check; load: cpu1
 */
#include "tests/unit/resolved.h"

#include <stdlib.h>
#include <unistd.h>

#include "collective/collective.h"
#include "dataplane/memory/datatype.h"
#include "collective/schedule/schedule.h"

#define RANKS 6

/* Two hosts, on which the ranks do not stand together. */
static const int nodes[RANKS] = {0, 1, 1, 0, 0, 1};
static struct member members[RANKS];

static void members_fill(void)
{
    for (int r = 0; r < RANKS; r++) {
        members[r] = (struct member){.rank = r, .node = nodes[r]};
        snprintf(members[r].host, sizeof members[r].host, "h%d", nodes[r]);
    }
}

/* The words of a file are read from one. */
static void spec_read(const char *words, const char *file, struct outcome *o)
{
    char path[] = "/tmp/cctest-split-XXXXXX", line[128];
    int fd = file ? mkstemp(path) : -1;
    if (file) {
        assert_int_equal(write(fd, file, strlen(file)), strlen(file));
        close(fd);
    }
    snprintf(line, sizeof line, words, path);
    resolve(o, line, NULL);
    if (file)
        unlink(path);
}

static void groups_are_numbered_by_their_first_ranks(void **state)
{
    (void)state;
    static const struct {
        const char *words, *file;
        int groups, expected[RANKS];
        const char *last;
    } cases[] = {
        {"allreduce", NULL, 1, {0, 0, 0, 0, 0, 0}, "group 0 (ranks 0..5)"},
        {"allreduce --split node", NULL, 2, {0, 1, 1, 0, 0, 1}, "h1"},
        {"allreduce --split rail", NULL, 3, {0, 0, 1, 1, 2, 2}, "rail 2"},
        {"allreduce --split 2", NULL, 3, {0, 0, 1, 1, 2, 2}, "group 2 (ranks 4, 5)"},
        {"allreduce --split 6", NULL, 1, {0, 0, 0, 0, 0, 0}, "group 0 (ranks 0..5)"},
        {"allreduce --split %s",
         "4,3,5\n# one\n0-2",
         2,
         {0, 0, 0, 1, 1, 1},
         "group 1 (ranks 3..5)"},
        {"allreduce --split %s",
         "\xef\xbb\xbf 5\t0#\r\n\n1 3,\n4-4 2\n",
         3,
         {0, 1, 2, 1, 2, 0},
         "group 2 (ranks 2, 4)"},
    };
    static struct outcome o;
    members_fill();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct split split;
        char name[GROUP_NAME_MOST];
        spec_read(cases[c].words, cases[c].file, &o);
        assert_int_equal(job_split(&o.request.job, RANKS, nodes, &split), STATUS_OK);
        assert_int_equal(split.groups->groups, cases[c].groups);
        assert_memory_equal(split.groups->group, cases[c].expected, sizeof cases[c].expected);
        const struct rank_group last = split_group(&split, cases[c].groups - 1);
        assert_int_equal(last.ranks, RANKS / cases[c].groups);
        split_name(&o.request.job.split, &last, members, name);
        assert_string_equal(name, cases[c].last);
        for (int r = 0; r < last.ranks; r++) /* the nodes are those of its own ranks */
            assert_int_equal(last.nodes->group[r] == last.nodes->group[0],
                             nodes[last.members[r]] == nodes[last.members[0]]);
        split_free(&split);
    }
}

static uint64_t fingerprint(const char *file)
{
    static struct outcome o;
    spec_read("allreduce --split %s", file, &o);
    assert_int_equal(o.status, STATUS_OK);
    return split_fingerprint(&o.request.job.split);
}

/* Ranks whose files differ in who is with whom do not run together. */
static void files_of_other_groups_have_other_fingerprints(void **state)
{
    (void)state;
    uint64_t one = fingerprint("0 1\n2 3\n");
    assert_int_equal(one, fingerprint("# the same\n0-1\n2-3\n"));
    assert_int_not_equal(one, fingerprint("0 2\n1 3\n"));
    assert_int_not_equal(one, fingerprint("0 3\n1 2\n"));
    assert_int_not_equal(one, fingerprint("0 1\n2 3\n4 5\n"));
}

static void what_cannot_be_split_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words, *file;
        const char *says;
    } cases[] = {
        {"allreduce --split 4", NULL, "--split 4: 6 ranks cannot be divided into groups of 4"},
        {"allreduce --split 0", NULL, "--split '0' is neither a way to split nor a file"},
        {"allreduce --split 2 --shape 3x2", NULL,
         "is for 6 ranks, not 2, as a group of --split has"},
        {"broadcast --split 2 -r 2", NULL, "root 2 is not among the 2 ranks of a group"},
        {"alltoall --split 3 -a pairwise-xor", NULL, "alltoall pairwise-xor: "},
        {"allreduce --split %s", "0 1 2\n3 4 x\n", ":2: 'x' is no rank"},
        {"allreduce --split %s", "0 1 2\n3-\n", ":2: '3-' is no range of ranks"},
        {"allreduce --split %s", "0-2\n5-3\n", ":2: '5-3' runs backwards"},
        {"allreduce --split %s", "0 65536", ":1: '65536' is no rank"},
        {"allreduce --split %s", "0-2-3", ":1: '0-2-3' is no rank"},
        {"allreduce --split %s", "0-2\n\n2-4\n",
         ":3: rank 2 is in a group already, that of line 1"},
        {"allreduce --split %s", "0-2\n3 4\n", ":2: it has 2 ranks, but earlier lines have 3"},
        {"allreduce --split %s", "0-2\n4-6\n", ": rank 3 is in no group, and rank 6 is in one"},
        {"allreduce --split %s", "# 0-5\n", "holds no ranks"},
        {"allreduce --split %s", "0-3\n", "the file has groups of ranks 0 to 3, and the job has 6"},
    };
    static struct outcome o;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_read(cases[c].words, cases[c].file, &o);
        if (o.status == STATUS_OK)
            o.status = check_job(&o, RANKS);
        if (!strstr(o.message, cases[c].says))
            print_error("%s: %s\n", cases[c].file ? cases[c].file : cases[c].words, o.message);
        assert_int_equal(o.status, STATUS_USAGE);
        assert_non_null(strstr(o.message, cases[c].says));
    }
}

/* By hosts only when they are known; a job that is started on several may pass until then. */
static void uneven_nodes_are_refused(void **state)
{
    (void)state;
    static const int uneven[RANKS] = {0, 0, 0, 1, 1, 1}, lonely[RANKS] = {0, 0, 0, 0, 1, 1};
    static struct outcome o;
    struct split split;
    struct log log;
    log_init(&log, -1, 0);
    for (int rail = 0; rail < 2; rail++) {
        assert_int_equal(
            check_ranks(&o, rail ? "broadcast --split rail -r 4" : "alltoall --split node", RANKS),
            STATUS_OK);
        log_attach(&log);
        assert_int_equal(job_split(&o.request.job, RANKS, uneven, &split), STATUS_OK);
        split_free(&split);
        assert_int_equal(job_split(&o.request.job, RANKS, lonely, &split), STATUS_USAGE);
        log_attach(NULL);
        split_free(&split);
        assert_non_null(strstr(log.failure.text,
                               rail ? "the group of rank 0 has 2 ranks and that of rank 2 has 1"
                                    : "the group of rank 0 has 4 ranks and that of rank 4 has 2"));
        log_init(&log, -1, 0);
    }
}

/* Auto picks by nodes that all groups have, and an algorithm for groups of nodes serves all or
 * none. */
static void groups_with_other_nodes_run_the_same(void **state)
{
    (void)state;
    static const int alike[RANKS + 2] = {0, 0, 1, 1, 2, 2, 3, 3},
                                   other[RANKS + 2] = {0, 0, 1, 1, 2, 2, 2, 2};
    static struct outcome o;
    struct split split;
    take(&o, "allreduce --split 4 -b 1M -e 1M", NULL);
    assert_int_equal(job_split(&o.request.job, RANKS + 2, alike, &split), STATUS_OK);
    assert_non_null(split_common_nodes(&split));
    assert_int_equal(job_check_ranks(&o.request.job, RANKS + 2, &split), STATUS_OK);
    assert_true(o.request.job.candidates[0].choice.algorithm->grouped);
    split_free(&split);
    take(&o, "allreduce --split 4 -b 1M -e 1M", NULL);
    assert_int_equal(job_split(&o.request.job, RANKS + 2, other, &split), STATUS_OK);
    assert_null(split_common_nodes(&split));
    assert_int_equal(job_check_ranks(&o.request.job, RANKS + 2, &split), STATUS_OK);
    assert_false(o.request.job.candidates[0].choice.algorithm->grouped);
    split_free(&split);
    take(&o, "allreduce --split 4 -a hier", NULL);
    struct log log;
    log_init(&log, -1, 0);
    log_attach(&log);
    assert_int_equal(job_split(&o.request.job, RANKS + 2, other, &split), STATUS_OK);
    assert_int_equal(job_check_ranks(&o.request.job, RANKS + 2, &split), STATUS_USAGE);
    log_attach(NULL);
    split_free(&split);
}

/* Elements that a rank sends in one group stand nowhere in another: a message that goes astray
 * shows. */
static void groups_begin_with_other_inputs(void **state)
{
    (void)state;
    static struct outcome o;
    struct split split;
    uint64_t first[64], second[64];
    take(&o, "allgather --split 2 -d uint64 -a ring", NULL);
    assert_int_equal(job_split(&o.request.job, RANKS, nodes, &split), STATUS_OK);
    const struct rank_group groups[] = {split_group(&split, 0), split_group(&split, 2)};
    for (int r = 0; r < 2; r++)
        for (int s = 0; s < 2; s++) {
            struct inputs inputs =
                job_inputs(&o.request.job, o.request.job.candidates, &groups[0], 3);
            assert_int_equal(inputs.ranks, 2);
            inputs_make(&inputs, r, 0, 64, first);
            inputs = job_inputs(&o.request.job, o.request.job.candidates, &groups[1], 3);
            inputs_make(&inputs, s, 0, 64, second);
            for (int i = 0; i < 64; i++)
                assert_int_not_equal(first[i], second[i]);
        }
    split_free(&split);
}

/* A schedule is that of its group, with the job's ranks as peers. */
static void peers_are_ranks_of_the_job(void **state)
{
    (void)state;
    static struct outcome o;
    static const char *const words[] = {"allgatherv --split %s -a bruck",
                                        "allreduce --split %s -a ahc:groups=2+1",
                                        "reduce --split %s -a binomial -r 1"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        struct split split;
        struct sized_problem sized;
        spec_read(words[w], "0 3 4\n1 2 5", &o);
        assert_int_equal(job_split(&o.request.job, RANKS, nodes, &split), STATUS_OK);
        const struct rank_group group = split_group(&split, 1);
        assert_int_equal(job_problem(&o.request.job, o.request.job.candidates, 600, &group, &sized),
                         STATUS_OK);
        struct problem alone = sized.problem;
        alone.members = NULL;
        for (int r = 0; r < group.ranks; r++) {
            struct schedule *inside, *schedule;
            assert_int_equal(problem_rank(&sized.problem, group.members[r]), r);
            assert_int_equal(problem_member(&sized.problem, r), group.members[r]);
            assert_int_equal(schedule_build(&o.request.job.candidates[0].choice, &sized.problem, r,
                                            2, true, &schedule),
                             STATUS_OK);
            assert_int_equal(
                schedule_build(&o.request.job.candidates[0].choice, &alone, r, 2, true, &inside),
                STATUS_OK);
            assert_int_equal(schedule->count, inside->count);
            for (size_t i = 0; i < inside->count; i++) {
                int peer = inside->operations[i].peer;
                assert_int_equal(schedule->operations[i].peer,
                                 peer < 0 ? peer : group.members[peer]);
                assert_int_equal(schedule->operations[i].length, inside->operations[i].length);
            }
            schedule_free(schedule);
            schedule_free(inside);
        }
        for (int stranger = 0; stranger < RANKS; stranger++)
            if (split.groups->group[stranger] != 1)
                assert_int_equal(problem_rank(&sized.problem, stranger), -1);
        counts_free(sized.counts);
        split_free(&split);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_numbered_by_their_first_ranks),
        cmocka_unit_test(files_of_other_groups_have_other_fingerprints),
        cmocka_unit_test(what_cannot_be_split_is_refused),
        cmocka_unit_test(uneven_nodes_are_refused),
        cmocka_unit_test(groups_with_other_nodes_run_the_same),
        cmocka_unit_test(groups_begin_with_other_inputs),
        cmocka_unit_test(peers_are_ranks_of_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_options_compared.c - the options that all ranks of a job must agree on: a rank with another
 * value of any of them is refused, with a sentence that names the difference.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/options/options.h"
#include "controlplane/control/control.h"

/* The compared text of a command line, given as words between blanks. `change`: what it cannot give
 * on a machine without GPUs; NULL: nothing. */
static void compared(const char *words, void (*change)(struct job *job),
                     char to[COMPARED_TEXT_MOST])
{
    char text[1200], program[] = "cctest", *argv[16] = {program}, *place;
    int argc = 1;
    struct command_line line;
    struct request request;
    struct log log;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &place); word; word = strtok_r(NULL, " ", &place))
        argv[argc++] = word;
    log_init(&log, -1, 0);
    log_attach(&log);
    assert_int_equal(STATUS_OK, command_line_read(argc, argv, NULL, &line));
    assert_int_equal(STATUS_OK, command_line_resolve(&line, &request));
    log_attach(NULL);
    if (change)
        change(&request.job);
    options_compared(&request, line.command->bit, to);
    job_release(&request.job);
}

/* Refuses a rank with the options `words`, changed, as rank 0 with the options `root_words`. */
static enum status join_changed(const char *words, void (*change)(struct job *job),
                                const char *root_words, char *why, size_t size)
{
    static char text[COMPARED_TEXT_MOST];
    const struct membership membership = {.rank = 1, .ranks = 2, .bootstrap = "test"};
    struct join_request root, pending;
    compared(root_words, NULL, text);
    join_request_fill(&root, &membership, text);
    compared(words, change, text);
    join_request_fill(&pending, &membership, text);
    return join_request_check(&root, &pending, why, size);
}

static enum status join_with(const char *words, const char *root_words, char *why, size_t size)
{
    return join_changed(words, NULL, root_words, why, size);
}

static void with_protocol(struct job *job)
{
    job->protocol = PROTOCOL_LL;
}

static void with_graph(struct job *job)
{
    job->graph = true;
}

/* Read from a file; hosts may have it in different places. */
static void with_tuning(struct job *job)
{
    job->tuned = calloc(1, sizeof *job->tuned);
    assert_non_null(job->tuned);
    job->tuned->path = "t.json";
    job->tuned->fingerprint = 7;
}

static void (*change_of(const char *option))(struct job *job)
{
    return strcmp(option, "protocol") == 0 ? with_protocol
           : strcmp(option, "graph") == 0  ? with_graph
           : strcmp(option, "tuning") == 0 ? with_tuning
                                           : NULL;
}

/* Each option on which ranks must agree, with another value than its default. */
static void options_that_differ_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words, *says;
    } others[] = {
        {"algorithm", "allreduce -a ring", "'-a ring' there, '-a auto' at rank 0"},
        {"datatype", "allreduce -d int32", "'-d int32' there, '-d float' at rank 0"},
        {"op", "allreduce -o max", "'-o max' there, '-o sum' at rank 0"},
        {"root", "broadcast -r all", "'-r all' there, '-r 0' at rank 0"},
        {"in-place", "allreduce --in-place", "'--in-place' is missing at rank 0; give"},
        {"counts", "alltoallv --counts zipf:1.5", "--counts zipf:1.5"},
        {"shape", "allreduce --shape 1x2", "'--shape 1x2' is missing at rank 0; give"},
        {"split", "allreduce --split 2", "'--split 2' is missing at rank 0; give"},
        {"min-bytes", "allreduce -b 2K", "'-b 2048' there, '-b 1024' at rank 0"},
        {"max-bytes", "allreduce -e 2K", "'-e 2048' there, '-e 16777216' at rank 0"},
        {"step-factor", "allreduce -f 2", "'-f 2' there, '-f 4' at rank 0"},
        {"step-bytes", "allreduce -i 1M", "'-i 1048576' there, '-f 4' at rank 0"},
        {"iterations", "allreduce -n 3", "'-n 3' there, '-n 20' at rank 0"},
        {"budget", "allreduce -n auto --budget 3", "'-n auto --budget 3' there, '-n 20' at rank 0"},
        {"warmup", "allreduce -w 0", "'-w 0' there, '-w 5' at rank 0"},
        {"check", "allreduce -c 0", "'-c 0' there, '-c 2' at rank 0"},
        {"start", "allreduce --start back-to-back", "'--start back-to-back' there"},
        {"seed", "allreduce --seed 7", "'--seed 7' there, '--seed 1' at rank 0"},
        {"memory", "allreduce -m shared", "'-m shared' there, '-m host' at rank 0"},
        {"transport", "allreduce -x tcp", "'-x tcp' there, '-x shm,verbs,tcp' at rank 0"},
        {"executor", "allreduce --executor host", "'--executor host' there, '--executor auto' at"},
        {"protocol", "allreduce",
         "'--protocol ll' there, '--protocol auto' at"},                /* given by change_of() */
        {"graph", "allreduce", "'--graph' is missing at rank 0; give"}, /* likewise */
        {"copy", "allreduce --copy zcopy", "'--copy zcopy' there, '--copy auto' at rank 0"},
        {"chunk", "allreduce --chunk 64K", "'--chunk 65536' there, '--chunk auto' at rank 0"},
        {"channels", "allreduce --channels 2", "'--channels 2' there, '--channels auto' at rank 0"},
        {"slots", "allreduce --slots 8", "'--slots 8' is missing at rank 0; give"},
        {"slot-size", "allreduce --slot-size 4K", "'--slot-size 4096' is missing at"},
        {"bind", "allreduce --bind none", "'--bind none' there, '--bind core' at rank 0"},
        {"timeout", "allreduce --timeout 2.5", "'--timeout 2.5' there, '--timeout 30' at"},
        {"tuning", "allreduce", /* likewise */
         "'--tuning FILE (numbers 0000000000000007)' is missing at rank 0; give"},
        {"min-busbw", "allreduce --min-busbw 0.1", "'--min-busbw 0.1' is missing at rank 0; give"},
        {"profile", "allreduce --profile", "'--profile' is missing at rank 0; give"},
        {"inject", "allreduce --inject kill:rank=1:iteration=3,delay:rank=0:us=5",
         "'--inject kill:rank=1:iteration=3,delay:rank=0:us=5' is missing at rank 0; give"},
    };
    size_t count = 0;
    for (const struct option_row *row = option_table; row->name; row++) {
        if (!(row->commands & FOR_RUN) || row->per_rank || !row->kind->show)
            continue;
        char why[1024] = "", root[16]; /* the same collective, with defaults */
        if (count == sizeof others / sizeof *others || strcmp(others[count].name, row->name) != 0)
            print_error("--%s: compare another value of it here, or mark it per_rank\n", row->name);
        assert_true(count < sizeof others / sizeof *others);
        assert_string_equal(others[count].name, row->name);
        sscanf(others[count].words, "%15s", root);
        assert_int_equal(STATUS_OK, join_with(root, root, why, sizeof why));
        assert_int_equal(STATUS_USAGE, join_changed(others[count].words, change_of(row->name), root,
                                                    why, sizeof why));
        if (!strstr(why, others[count].says))
            print_error("--%s: %s\n", row->name, why);
        assert_non_null(strstr(why, others[count].says));
        count++;
    }
    assert_int_equal(count, sizeof others / sizeof *others);
}

/* Each option that ranks may give differently, with the reason. */
static void options_of_one_rank_may_differ(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words;
    } own[] = {
        {"device", ""}, /* hosts differ in GPUs: see test_gpu_choice.sh, which has some */
        {"interface", "--interface lo"},       /* hosts differ in addresses and devices */
        {"np", "--np 2"},                      /* the parent's: its ranks share one command line */
        {"ranks-as", "--ranks-as threads"},    /* likewise */
        {"rendezvous", "--rendezvous h:1"},    /* rank 0's host may have several names */
        {"rank", "--rendezvous h:1 --rank 1"}, /* joining checks it */
        {"world", "--rendezvous h:1 --world 2"}, /* likewise */
        {"switches", ""},                        /* not an option of a run */
        {"good", ""},                            /* likewise */
        {"bad", ""},                             /* likewise */
        {"junit", ""},                           /* likewise */
        {"profile", ""},                         /* that of accept, likewise */
        {"write-profile", ""},                   /* likewise */
        {"baseline", ""},                        /* likewise */
        {"model", "--model f"},                  /* rank 0 reads it */
        {"topology", ""},                        /* not an option of a run */
        {"place", ""},                           /* likewise */
        {"output", ""},                          /* not an option of a run */
        {"ompi", ""},                            /* likewise */
        {"mpich", ""},                           /* likewise */
        {"nccl", ""},                            /* likewise */
        {"json", "--json f"},                    /* rank 0 writes results */
        {"csv", "--csv f"},                      /* likewise */
        {"samples", "--samples f"},              /* likewise */
        {"svg", ""},                             /* not an option of a run */
        {"goal", ""},                            /* likewise */
        {"calc", ""},                            /* likewise */
        {"msccl", ""},                           /* likewise */
        {"html", ""},                            /* likewise */
        {"verbose", "-vv"},                      /* what one rank prints */
    };
    size_t count = 0;
    for (const struct option_row *row = option_table; row->name; row++) {
        if (!row->per_rank)
            continue;
        char words[128], why[1024] = "";
        assert_true(count < sizeof own / sizeof *own);
        assert_string_equal(own[count].name, row->name);
        snprintf(words, sizeof words, "allreduce %s", own[count].words);
        assert_int_equal(STATUS_OK, join_with(words, "allreduce", why, sizeof why));
        count++;
    }
    assert_int_equal(count, sizeof own / sizeof *own);
}

/* A hello has the beginning of the options alone. */
static void long_options_differ_behind_it(void **state)
{
    (void)state;
    char mine[1200] = "allreduce -a ring", theirs[1200], why[1024];
    for (int i = 0; i < 60; i++)
        strcat(mine, ",recexch:radix=4");
    snprintf(theirs, sizeof theirs, "%s --seed 3", mine);
    assert_int_equal(STATUS_USAGE, join_with(mine, theirs, why, sizeof why));
    assert_non_null(
        strstr(why, " rank 0: they differ behind their first 599 characters; give all"));
}

/* Agents of `cctest accept` and `cctest tune`, too. */
static void agents_agree(void **state)
{
    (void)state;
    static const char *const others[] = {"accept --stages pairs", "accept --quick",
                                         "accept --pairs all", "accept --seed 3", "accept -x tcp"};
    char why[1024];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(STATUS_USAGE, join_with(others[i], "accept", why, sizeof why));
        assert_non_null(strstr(why, "rank 0; give all the same"));
        assert_non_null(strstr(why, " rank 0: '-"));
    }
    static const char *const tunes[] = {"tune broadcast", "tune --rank-counts 2,4",
                                        "tune --budget 3", "tune -b 4", "tune -m shared"};
    for (size_t i = 0; i < sizeof tunes / sizeof *tunes; i++) {
        assert_int_equal(STATUS_USAGE, join_with(tunes[i], "tune", why, sizeof why));
        assert_non_null(strstr(why, "rank 0; give all the same"));
    }
    assert_int_equal(STATUS_USAGE, join_with("accept", "accept --quick", why, sizeof why));
    assert_non_null(strstr(why, ": '--quick' is missing there; give all the same"));
    assert_int_equal(STATUS_OK,
                     join_with("tune --ompi a --nccl b --json c", "tune", why, sizeof why));
    assert_int_equal(STATUS_OK, join_with("accept --good a --bad b --junit c --json d -v", "accept",
                                          why, sizeof why));
}

static void other_collectives_are_refused(void **state)
{
    (void)state;
    char why[1024];
    assert_int_equal(STATUS_USAGE, join_with("alltoall", "allgather", why, sizeof why));
    assert_non_null(strstr(why, "'alltoall' there, 'allgather' at rank 0"));
    assert_int_equal(STATUS_USAGE, join_with("alltoall,allgather", "alltoall", why, sizeof why));
    assert_non_null(strstr(why, "'alltoall,allgather -a auto,auto' there, 'alltoall -a auto' at"));
    /* the same names, for other collectives */
    const char *more = "allreduce,alltoall -a ring,pairwise,tree",
               *less = "allreduce,alltoall -a ring,pairwise,tree,ring";
    assert_int_equal(STATUS_USAGE, join_with(more, less, why, sizeof why));
    assert_int_equal(STATUS_USAGE,
                     join_with("allreduce -d float,half", "allreduce", why, sizeof why));
    assert_non_null(strstr(why, "'-d float,float16' there, '-d float' at rank 0"));
    assert_int_equal(
        STATUS_OK, join_with("all -d half,f32 -o all", "all -d f16,float -o all", why, sizeof why));
}

/* Ranks whose files, of which only the last differs, lie in different places. */
static void contents_are_compared(const char *words, const char *const contents[3],
                                  const char *says)
{
    char paths[3][32], lines[3][64], why[1024];
    for (int i = 0; i < 3; i++) {
        snprintf(paths[i], sizeof paths[i], "/tmp/cctest-compared-XXXXXX");
        int fd = mkstemp(paths[i]);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, contents[i], strlen(contents[i])), strlen(contents[i]));
        close(fd);
        snprintf(lines[i], sizeof lines[i], "%s%s", words, paths[i]);
    }
    assert_int_equal(STATUS_OK, join_with(lines[0], lines[1], why, sizeof why));
    assert_int_equal(STATUS_USAGE, join_with(lines[0], lines[2], why, sizeof why));
    assert_non_null(strstr(why, says));
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
}

/* One rank's allreduce. */
#define COPY_PLAN                                                                                  \
    "{\"plans\":[{\"collective\":\"allreduce\",\"ranks\":1,\"count\":1,\"schedules\":"             \
    "[{\"operations\":[{\"kind\":\"copy\",\"to\":[{\"buffer\":\"destination\",\"offset\":0,"       \
    "\"run\":1}],\"from\":[{\"buffer\":\"source\",\"offset\":0,\"run\":1}]}]}]}]}"

static void files_are_compared_by_what_they_mean(void **state)
{
    (void)state;
    static const char *const counts[] = {"1 2\n3 4\n", "1 2\n3 4\n", "1 2\n3 5\n"};
    static const char *const groups[] = {"0\n1\n", "0 # comment\n1", "0 1\n"};
    static const char *const schedules[] = {COPY_PLAN, COPY_PLAN, COPY_PLAN "\n"};
    contents_are_compared("alltoallv --counts ", counts, "--counts FILE (numbers ");
    contents_are_compared("allreduce --split ", groups, "--split FILE (groups ");
    contents_are_compared("allreduce -a file:", schedules, "-a FILE (schedules ");
}

/* `auto` is compared as the list of all transports, whatever this machine can use. */
static void transports_are_compared_by_their_names(void **state)
{
    (void)state;
    char why[1024];
    assert_int_equal(STATUS_OK,
                     join_with("allreduce -x auto", "allreduce -x auto", why, sizeof why));
    assert_int_equal(STATUS_USAGE,
                     join_with("allreduce -x shm,tcp", "allreduce -x auto", why, sizeof why));
    assert_non_null(strstr(why, "'-x shm,tcp' there, '-x shm,verbs,tcp' at rank 0"));
    assert_int_equal(STATUS_USAGE,
                     join_with("allreduce -x tcp,shm", "allreduce -x shm,tcp", why, sizeof why));
    assert_non_null(strstr(why, "'-x tcp,shm' there, '-x shm,tcp' at rank 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_differ_are_refused),
        cmocka_unit_test(options_of_one_rank_may_differ),
        cmocka_unit_test(agents_agree),
        cmocka_unit_test(long_options_differ_behind_it),
        cmocka_unit_test(other_collectives_are_refused),
        cmocka_unit_test(files_are_compared_by_what_they_mean),
        cmocka_unit_test(transports_are_compared_by_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_output.c - files that are whole at any moment: replaced at once, or not at all; the ranking
 * of algorithms.
 * tier: check; load: cpu1
 */
#include "base/log.h" /* before cmocka.h, which makes a macro of fail() */
#include "tests/unit/child.h"

#include <dirent.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io/io.h"
#include "cli/tune/tune.h"
#include "cli/run/run.h"

#define LONG 100000 /* bytes of a document */

static char folder[] = "/tmp/cctest-output-XXXXXX", path[64];
static char text[LONG];

static int folder_make(void **state)
{
    static struct log log;
    (void)state;
    log_init(&log, -1, 0);
    log_attach(&log);
    memset(text, 'x', sizeof text);
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/report.json", folder);
    return 0;
}

static int folder_drop(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails if there is anything else */
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void check_length(off_t length)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, length);
    assert_int_equal(files_in_folder(), 1);
}

static void a_file_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(output_put(text, 10, path), STATUS_OK);
    check_length(10);
    assert_int_equal(output_put(text, LONG, path), STATUS_OK);
    check_length(LONG);
}

static int put_beyond_a_limit(void *argument)
{
    (void)argument;
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){LONG / 2, LONG / 2});
    return (int)output_put(text, LONG, path);
}

static int put_with_an_error(void *argument)
{
    (void)argument;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){LONG / 2, LONG / 2});
    return (int)output_put(text, LONG, path);
}

/* The first write() stops at the limit. The second one kills the writer, or fails. */
static void the_old_file_stays_where_the_new_one_is_not_whole(void **state)
{
    (void)state;
    glob_t beside;
    assert_int_equal(output_put(text, 10, path), STATUS_OK);
    const struct child *child = child_run(put_with_an_error, NULL);
    assert_true(WIFEXITED(child->status) && WEXITSTATUS(child->status) == STATUS_ERROR);
    check_length(10);
    child = child_run(put_beyond_a_limit, NULL);
    assert_true(WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGXFSZ);
    assert_int_equal(glob("/tmp/cctest-output-*/report.json.*.tmp", 0, NULL, &beside), 0);
    for (size_t i = 0; i < beside.gl_pathc; i++)
        if (strncmp(beside.gl_pathv[i], path, strlen(path)) == 0)
            assert_int_equal(unlink(beside.gl_pathv[i]), 0);
    globfree(&beside);
    check_length(10);
}

/* A file that is replaced keeps its mode. Where it may not be written, or a folder is in its place,
 * it stays. */
static void a_file_stays_what_it_is(void **state)
{
    (void)state;
    struct stat about;
    assert_int_equal(output_put(text, 10, path), STATUS_OK);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(output_probe(path), STATUS_OK);
    assert_int_equal(output_put(text, LONG, path), STATUS_OK);
    check_length(LONG);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_int_equal(output_put(text, 10, folder), STATUS_ERROR);
    assert_int_equal(output_probe(folder), STATUS_USAGE);
    assert_int_equal(output_probe("/nowhere/at/all"), STATUS_USAGE);
    check_length(LONG);
}

/* The best in the mean of its places comes first. A wrong result has no place, and its algorithm is
 * the last, however fast it was. One that did not run at a size has no place there either. */
static void algorithms_are_ranked(void **state)
{
    (void)state;
    static const struct ranked cells[] = {
        {.choice = 0, .asked = 1000, .bytes = 1024, .time = 4, .busbw = 0.25},
        {.choice = 1, .asked = 1000, .bytes = 1024, .time = 2, .busbw = 0.5},
        {.choice = 2, .asked = 1000, .bytes = 1024, .time = 1, .busbw = 1, .wrong = true},
        {.choice = 3, .asked = 1000, .bytes = 1024, .time = 3, .busbw = 0.3},
        {.choice = 0, .asked = 2000, .bytes = 2048, .time = 8, .busbw = 0.25},
        {.choice = 1, .asked = 2000, .bytes = 2048, .time = 8, .busbw = 0.25},
        {.choice = 2, .asked = 2000, .bytes = 2048, .time = 4, .busbw = 0.5},
    };
    static struct candidate candidates[4];
    static struct job job = {.iterations = 1, .candidates = candidates, .candidate_count = 4};
    static const char *const names[] = {"ring", "oneshot", "tree", "bruck"};
    char *printed;
    size_t size;
    for (int i = 0; i < 4; i++) {
        candidates[i].collective = collective_of(COLLECTIVE_ALLREDUCE);
        snprintf(candidates[i].text, sizeof candidates[i].text, "%s", names[i]);
    }
    FILE *out = open_memstream(&printed, &size);
    ranking_print(out, &job, cells, sizeof cells / sizeof *cells);
    fclose(out);
    assert_string_equal(
        printed, "#\n# busbw in GB/s and place, by algorithm and size; the best mean place first:\n"
                 "#\n#                 1K   #         2K   #\n"
                 "# oneshot      0.500   1      0.250   2\n"
                 "# bruck        0.300   2          -   -\n"
                 "# ring         0.250   3      0.250   2\n"
                 "# tree         wrong   -      0.500   1\n");
    free(printed);
}

/* Only the best algorithm of a collective in a run is compared with others; a wrong line is neither
 * judged nor an example. */
static void slow_lines_are_shown(void **state)
{
    (void)state;
    static const struct ranked cells[] = {
        {.choice = 0, .bytes = 1024, .ranks = 3, .time = 30, .low = 29, .high = 31},
        {.choice = 0, .bytes = 4096, .ranks = 3, .time = 31, .low = 30, .high = 32},
        {.choice = 1, .bytes = 1024, .ranks = 3, .time = 20, .low = 19, .high = 21},
        {.choice = 1, .bytes = 4096, .ranks = 3, .time = 1, .low = 1, .high = 1, .wrong = true},
        {.choice = 2, .bytes = 1024, .ranks = 3, .time = 90, .low = 89, .high = 91},
        {.choice = 2, .bytes = 4096, .ranks = 3, .time = 40, .low = 39, .high = 41},
    };
    static const enum collective_id ids[] = {COLLECTIVE_REDUCE, COLLECTIVE_ALLREDUCE,
                                             COLLECTIVE_REDUCE};
    static const char *const names[] = {"ring", "tree", "chain"};
    static struct candidate candidates[3];
    static struct job job = {.candidates = candidates, .candidate_count = 3};
    char *printed;
    size_t size;
    for (int i = 0; i < 3; i++) {
        candidates[i].collective = collective_of(ids[i]);
        candidates[i].datatype = datatype_find("float");
        candidates[i].reduction = reduction_find("sum");
        snprintf(candidates[i].text, sizeof candidates[i].text, "%s", names[i]);
    }
    FILE *out = open_memstream(&printed, &size);
    guidelines_print(out, &job, cells, sizeof cells / sizeof *cells);
    fclose(out);
    assert_string_equal(printed,
                        "#\n# slower than it must be: reduce 1K, 3 ranks, float sum: 30 us (ring), "
                        "1.50 times allreduce, 20 us: use allreduce tree\n");
    free(printed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced),
        cmocka_unit_test(the_old_file_stays_where_the_new_one_is_not_whole),
        cmocka_unit_test(a_file_stays_what_it_is),
        cmocka_unit_test(algorithms_are_ranked),
        cmocka_unit_test(slow_lines_are_shown),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}

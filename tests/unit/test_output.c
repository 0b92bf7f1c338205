/*
 * test_output.c - files that are whole at any moment: replaced at once, and nothing beside them.
 */
#include "child.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/printers/output.h"

#define LONG 100000 /* bytes of a document */

static char folder[] = "/tmp/cctest-output-XXXXXX", path[64];
static char text[LONG];

static int folder_make(void **state)
{
    (void)state;
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
    assert_int_equal(output_put(text, 10, path, -1), STATUS_OK);
    check_length(10);
    assert_int_equal(output_put(text, LONG, path, -1), STATUS_OK);
    check_length(LONG);
}

static int put_beyond_a_limit(void *argument)
{
    (void)argument;
    signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){LONG / 2, LONG / 2});
    return (int)output_put(text, LONG, path, -1);
}

/* The first write() stops at the limit, and the second one kills the writer. */
static void a_writer_that_is_killed_leaves_nothing(void **state)
{
    (void)state;
    int unnamed = open(folder, O_WRONLY | O_TMPFILE, 0600);
    if (unnamed < 0)
        skip(); /* this file system gives every file a name at once */
    close(unnamed);
    assert_int_equal(output_put(text, 10, path, -1), STATUS_OK);
    const struct child *child = child_run(put_beyond_a_limit, NULL);
    assert_true(WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGXFSZ);
    check_length(10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_replaced),
        cmocka_unit_test(a_writer_that_is_killed_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_drop);
}

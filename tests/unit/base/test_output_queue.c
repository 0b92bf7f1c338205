/*
 * test_output_queue.c - text for a reader that pauses, goes, or reads all.
 * tier: check; load: wait
 */
#include "tests/unit/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io/io.h"
#include "base/signals.h"

#define LONG            ((size_t)1 << 20) /* bytes; no pipe holds so many */
#define KEEP_UP_SECONDS 0.1 /* as in base/io/queue.c: a call waits so long for its text */

static char *text;
static int ends[2];

static struct output_queue *queue_on_a_pipe(void)
{
    signal(SIGPIPE, SIG_IGN);
    text = text ? text : calloc(1, LONG);
    assert_non_null(text);
    assert_int_equal(pipe(ends), 0);
    struct output_queue *queue = output_queue_create();
    assert_non_null(queue);
    output_queue_open(queue, ends[1]);
    return queue;
}

static size_t pipe_read(size_t most)
{
    static char part[1 << 16];
    size_t sum = 0;
    for (ssize_t got; sum < most; sum += (size_t)got)
        if ((got = read(ends[0], part, most - sum < sizeof part ? most - sum : sizeof part)) <= 0)
            break;
    return sum;
}

/* When a call returns, the text is there, unless the machine is so busy that the queue's thread has
 * not run while a call waited for it: from then on the reader counts as one that pauses. */
static void a_reader_that_keeps_up_has_each_line(void **state)
{
    (void)state;
    char part[8];
    struct output_queue *queue = queue_on_a_pipe();
    FILE *out = output_queue_stream(queue);
    bool is_busy = false;
    assert_non_null(out);
    for (int i = 0; i < 100; i++) {
        struct pollfd set = {.fd = ends[0], .events = POLLIN};
        fprintf(out, "line %d", i % 10);
        double began = clock_seconds();
        assert_int_equal(fflush(out), 0);
        is_busy |= clock_seconds() - began >= KEEP_UP_SECONDS;
        assert_true(poll(&set, 1, 0) == 1 || is_busy);
        assert_int_equal(read(ends[0], part, sizeof part), 6);
        assert_int_equal(part[5], '0' + i % 10);
    }
    fclose(out);
    output_queue_destroy(queue);
    close(ends[0]);
}

/* No call waits for it, and it finds all in order when it goes on. */
static void a_reader_that_pauses_holds_up_nothing(void **state)
{
    (void)state;
    char last[6] = "";
    struct output_queue *queue = queue_on_a_pipe();
    double begin = clock_seconds();
    assert_true(output_queue_put(queue, text, LONG));
    for (int i = 0; i < 1000; i++)
        assert_true(output_queue_put(queue, "abcde", 5));
    assert_true(clock_seconds() - begin < 10); /* the first one has waited 0.1 s */
    assert_in_range(output_queue_bytes(queue), LONG / 2, LONG + 5000);
    assert_int_equal(pipe_read(LONG + 4995), LONG + 4995);
    assert_int_equal(read(ends[0], last, 5), 5);
    assert_string_equal(last, "abcde");
    output_queue_drain(queue, 0);
    assert_int_equal(output_queue_bytes(queue), 0);
    assert_int_equal(output_queue_error(queue), 0);
    output_queue_destroy(queue);
    close(ends[0]);
}

static void a_reader_that_has_gone_is_an_error(void **state)
{
    (void)state;
    struct output_queue *queue = queue_on_a_pipe();
    assert_true(output_queue_put(queue, text, LONG)); /* its reader pauses */
    close(ends[0]);
    output_queue_drain(queue, 0);
    assert_int_equal(output_queue_error(queue), EPIPE);
    assert_int_equal(output_queue_bytes(queue), 0);
    assert_false(output_queue_put(queue, "abcde", 5));
    assert_int_equal(errno, EPIPE);
    output_queue_destroy(queue);
    queue = queue_on_a_pipe();
    close(ends[0]);
    assert_false(output_queue_put(queue, "abcde", 5)); /* at once */
    output_queue_destroy(queue);
}

static size_t file_read(const char *path, char *into, size_t size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(into, 1, size, file);
    fclose(file);
    return length;
}

/* Each text replaces the file; of texts that wait the last one may stand for all. */
static void a_file_has_one_text(void **state)
{
    (void)state;
    char folder[] = "/tmp/cctest-queue-XXXXXX", path[64], found[64] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    struct output_queue *queue = output_queue_create();
    output_queue_open_file(queue, path);
    for (int i = 0; i < 200; i++) {
        char line[16];
        int length = snprintf(line, sizeof line, "text %d", i);
        assert_true(output_queue_put(queue, line, (size_t)length));
    }
    output_queue_drain(queue, 0);
    found[file_read(path, found, sizeof found - 1)] = '\0';
    assert_string_equal(found, "text 199");
    output_queue_put(queue, "another", 7);
    output_queue_settle(queue);
    assert_int_equal(output_queue_bytes(queue), 0);
    assert_true(output_replace("the last", 8, path));
    output_queue_destroy(queue);
    found[file_read(path, found, sizeof found - 1)] = '\0';
    assert_string_equal(found, "the last");
    unlink(path);
    rmdir(folder);
    queue = output_queue_create();
    output_queue_open_file(queue, path); /* its folder has gone */
    output_queue_put(queue, "text", 4);
    output_queue_settle(queue);
    assert_int_equal(output_queue_error(queue), ENOENT);
    output_queue_destroy(queue);
}

/* While the first text is under way, which waits for a reader here, the last one replaces the
 * others. */
static void of_texts_that_wait_the_last_one_is_written(void **state)
{
    (void)state;
    char folder[] = "/tmp/cctest-queue-XXXXXX", path[64], found[8] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct output_queue *queue = output_queue_create();
    output_queue_open_file(queue, path);
    for (int i = 0; i < 4; i++)
        assert_true(output_queue_put(queue, &"abcd"[i], 1));
    int fd = open(path, O_RDWR);
    struct pollfd set = {.fd = fd, .events = POLLIN};
    for (size_t length = 0; length < 2 && poll(&set, 1, 20000) == 1;)
        length += (size_t)read(fd, found + length, sizeof found - length);
    output_queue_drain(queue, 0);
    assert_string_equal(found, "ad");
    output_queue_destroy(queue);
    close(fd);
    unlink(path);
    rmdir(folder);
}

/* Time counts while the reader takes nothing. */
static void a_wait_has_an_end(void **state)
{
    (void)state;
    struct output_queue *queue = queue_on_a_pipe();
    double begin = clock_seconds();
    assert_true(output_queue_put(queue, text, LONG));
    output_queue_drain(queue, 0.3);
    assert_true(clock_seconds() - begin >= 0.3);
    assert_int_equal(output_queue_error(queue), ETIMEDOUT);
    output_queue_destroy(queue); /* its thread still waits */
    close(ends[0]);
}

/* The reader takes a part each 0.2 s, for more than a second. */
static int drain_slowly(void *argument)
{
    struct output_queue *queue = queue_on_a_pipe();
    (void)argument;
    pid_t reader = fork();
    if (reader == 0) {
        close(ends[1]);
        for (int i = 0; i < 8; i++, usleep(200000))
            pipe_read(LONG / 8);
        _exit(0);
    }
    close(ends[0]);
    output_queue_put(queue, text, LONG);
    output_queue_drain(queue, 0.9);
    int error = output_queue_error(queue);
    output_queue_destroy(queue);
    waitpid(reader, NULL, 0);
    return error;
}

static void a_slow_reader_has_its_time(void **state)
{
    (void)state;
    const struct child *child = child_run(drain_slowly, NULL);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), 0);
}

static int drain_with_a_signal(void *argument)
{
    (void)argument;
    signals_hold();
    struct output_queue *queue = queue_on_a_pipe();
    output_queue_put(queue, text, LONG);
    kill(getpid(), SIGTERM);
    output_queue_drain(queue, 0);
    return output_queue_error(queue);
}

static void a_signal_ends_the_wait(void **state)
{
    (void)state;
    const struct child *child = child_run(drain_with_a_signal, NULL);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), ETIMEDOUT);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which need more room */
static int put_without_threads(void *argument)
{
    (void)argument;
    struct output_queue *queue = output_queue_create();
    output_queue_open(queue, STDOUT_FILENO);
    setrlimit(RLIMIT_AS, &(struct rlimit){4 << 20, 4 << 20}); /* no room for a stack */
    output_queue_put(queue, "whole", 5);
    int error = output_queue_error(queue);
    output_queue_destroy(queue);
    return error;
}

static void without_a_thread_the_caller_writes(void **state)
{
    (void)state;
    const struct child *child = child_run(put_without_threads, NULL);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), 0);
    assert_string_equal(child->out, "whole");
}
#endif

/* TSan wants no fork where a thread is left. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_reader_has_its_time),
        cmocka_unit_test(a_signal_ends_the_wait),
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which need more room */
        cmocka_unit_test(without_a_thread_the_caller_writes),
#endif
        cmocka_unit_test(a_reader_that_keeps_up_has_each_line),
        cmocka_unit_test(a_reader_that_pauses_holds_up_nothing),
        cmocka_unit_test(a_reader_that_has_gone_is_an_error),
        cmocka_unit_test(a_wait_has_an_end),
        cmocka_unit_test(a_file_has_one_text),
        cmocka_unit_test(of_texts_that_wait_the_last_one_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * child.h - runs a function in a child process, and takes what it prints.
 */
#ifndef CCTEST_TEST_CHILD_H
#define CCTEST_TEST_CHILD_H

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct child {
    int status; /* of waitpid() */
    char out[65536], err[65536];
};

/* Ranks are processes and write to it at once: without O_APPEND one overwrites another's line. */
static inline int child_file(const char *name)
{
    int file = memfd_create(name, 0);
    assert_true(file >= 0);
    assert_int_equal(fcntl(file, F_SETFL, O_APPEND), 0);
    return file;
}

static inline void child_take(int file, char *text, size_t size)
{
    ssize_t got = pread(file, text, size - 1, 0);
    assert_in_range(got, 0, size - 2);
    text[got] = '\0';
    close(file);
}

/* The child's exit status is what `work` returns, unless that ends it otherwise. The result is
 * valid until the next call. */
static inline const struct child *child_run(int (*work)(void *argument), void *argument)
{
    static struct child child;
    int out = child_file("out"), err = child_file("err");
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL); /* cmocka catches it */
        int status = work(argument);
        fflush(NULL);
        _exit(status);
    }
    assert_int_equal(waitpid(pid, &child.status, 0), pid);
    child_take(out, child.out, sizeof child.out);
    child_take(err, child.err, sizeof child.err);
    return &child;
}

#endif

/*
 * test_host.c - hosts are told apart by name and by boot id; a boot id that is unknown equals any.
 * Memory that processes share cannot shrink under a mapping.
 * tier: check; load: cpu1
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"

#include <cmocka.h>

static void test_same(void **state)
{
    (void)state;
    const struct host_id node = {"node", "1234"}, clone = {"node", "5678"},
                         other = {"host", "1234"}, unknown = {"node", ""};
    assert_true(host_same(&node, &node));
    assert_false(host_same(&node, &clone));
    assert_false(host_same(&node, &other));
    assert_false(host_same(&unknown, &other));
    assert_true(host_same(&unknown, &node) && host_same(&clone, &unknown));
    assert_true(host_same(&unknown, &unknown));
}

static void test_order(void **state)
{
    (void)state;
    const struct host_id node = {"node", "1234"}, clone = {"node", "5678"}, other = {"host", "9"};
    assert_int_equal(0, host_compare(&node, &node));
    assert_true(host_compare(&node, &clone) < 0 && host_compare(&clone, &node) > 0);
    assert_true(host_compare(&other, &node) < 0);
}

static void test_own(void **state)
{
    (void)state;
    struct host_id one, other;
    host_identify(&one);
    host_identify(&other);
    assert_true(host_id_is_valid(&one) && one.name[0]);
    assert_true(host_same(&one, &other));
}

/* Tells `to` what the first process of a PID namespace of its own finds. The namespace is there
 * until all others have closed `until`. Tells nothing if this user may make none. */
static pid_t elsewhere(int to, const int until[2])
{
    char byte;
    pid_t maker = fork();
    if (maker != 0)
        return maker;
    close(until[1]);
    if (unshare(CLONE_NEWPID) == 0 && fork() == 0) {
        uint64_t identity = host_process_identity();
        _exit(write(to, &identity, sizeof identity) < 0 || read(until[0], &byte, 1) != 0);
    }
    close(to);
    wait(NULL);
    _exit(0);
}

/* Processes with the same number in their namespaces, such as containers, are told apart. */
static void test_processes(void **state)
{
    int found[2], until[2];
    uint64_t identity[2];
    (void)state;
    assert_true(host_identity() && host_identity() == host_identity());
    assert_true(host_process_identity() == host_process_identity());
    assert_true(host_process_identity() != host_identity());
    assert_int_equal(pipe(found) + pipe(until), 0);
    pid_t makers[2] = {elsewhere(found[1], until), elsewhere(found[1], until)};
    close(found[1]);
    bool both = true;
    for (int i = 0; i < 2; i++)
        both &= read(found[0], &identity[i], sizeof *identity) == sizeof *identity;
    close(until[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(makers[i], NULL, 0), makers[i]);
    close(found[0]);
    close(until[0]);
    if (!both) {
        print_message("not tested: PID namespaces, which this user may not make\n");
        skip();
    }
    assert_true(identity[0] != identity[1] && identity[0] != host_process_identity());
}

static int file_opened(int fd, uint64_t least)
{
    int opened = host_open_memory(getpid(), fd, O_RDWR, least);
    if (opened >= 0)
        close(opened);
    return opened < 0 ? errno : 0;
}

static void test_memory(void **state)
{
    (void)state;
    int sealed = host_create_memory("test"), other = memfd_create("test", MFD_CLOEXEC);
    assert_true(sealed >= 0 && other >= 0);
    assert_true(ftruncate(sealed, 4096) == 0 && ftruncate(other, 4096) == 0);
    assert_int_equal(ftruncate(sealed, 4095), -1);
    assert_int_equal(file_opened(sealed, 4096), 0);
    assert_int_equal(file_opened(sealed, 4097), ESTALE);
    assert_int_equal(file_opened(other, 4096), ESTALE);
    close(sealed);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_own), cmocka_unit_test(test_processes),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}

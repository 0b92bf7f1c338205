/*
 * test_memory.c - regions have the size that was asked for, and leave no page mapped; a cursor
 * stays in the pieces of its message.
 * tier: check; load: cpu1
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "dataplane/memory/cursor.h"
#include "dataplane/memory/memory.h"

#define PAGE ((size_t)4096)
#define HUGE ((size_t)2 << 20)

/* Bytes asked for, and those that are mapped for them. */
static const struct {
    size_t bytes, mapped;
} cases[] = {
    {0, PAGE},
    {1, PAGE},
    {PAGE, PAGE},
    {PAGE + 1, 2 * PAGE},
    {31 * PAGE, 31 * PAGE},
    {31 * PAGE + 1, HUGE},
    {32 * PAGE - 1, HUGE},
    {32 * PAGE, HUGE},
    {HUGE - 1, HUGE},
    {HUGE, HUGE},
    {HUGE + 1, 2 * HUGE},
};
#define CASES (sizeof cases / sizeof *cases)

/* Bytes of address space of this process; found without an allocation. */
static size_t space_bytes(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

/* No page of it is mapped. */
static bool is_unmapped(char *base, size_t bytes)
{
    unsigned char there;
    for (size_t at = 0; at < bytes; at += PAGE) {
        if (mincore(base + at, PAGE, &there) == 0)
            return false;
    }
    return true;
}

static void lies_well(const char *base, size_t mapped)
{
    assert_int_equal((uintptr_t)base % (mapped < HUGE ? PAGE : HUGE), 0);
}

/* All of it is zero, and can be written. */
static void is_writable(char *base, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(base[i], 0);
        base[i] = '#';
    }
    for (size_t i = 0; i < bytes; i++)
        assert_int_equal(base[i], '#');
}

static void regions_leave_nothing_behind(void **state)
{
    (void)state;
    struct region region;
    for (const struct memory_kind *const *kind = memory_kinds; *kind && (*kind)->host_reads;
         kind++) {
        assert_int_equal((*kind)->allocate(HUGE, NULL, &region), STATUS_OK);
        (*kind)->release(&region); /* from now on the C library has what it needs for it */
        for (size_t i = 0; i < CASES; i++) {
            size_t before = space_bytes();
            assert_int_equal((*kind)->allocate(cases[i].bytes, NULL, &region), STATUS_OK);
            char *base = region.base;
            int fd = region.fd;
            assert_int_equal(region.bytes, cases[i].bytes);
            assert_int_equal(space_bytes() - before, cases[i].mapped);
            lies_well(base, cases[i].mapped);
            is_writable(base, cases[i].mapped);
            (*kind)->release(&region);
            assert_int_equal(space_bytes(), before);
            assert_true(is_unmapped(base, cases[i].mapped));
            assert_null(region.base);
            assert_true(fd < 0 || fcntl(fd, F_GETFD) < 0);
        }
    }
}

/* A peer maps a region read-only, all of it. */
static void mapped_files_leave_nothing_behind(void **state)
{
    (void)state;
    const struct memory_kind *shared = memory_find("shared");
    for (size_t i = 0; i < CASES; i++) {
        struct region region;
        assert_int_equal(shared->allocate(cases[i].bytes, NULL, &region), STATUS_OK);
        memset(region.base, '#', cases[i].mapped);
        size_t before = space_bytes();
        char *seen = memory_place(cases[i].bytes, region.fd, PROT_READ);
        assert_non_null(seen);
        assert_int_equal(space_bytes() - before, cases[i].mapped);
        lies_well(seen, cases[i].mapped);
        assert_memory_equal(seen, region.base, cases[i].mapped);
        region.base[cases[i].mapped - 1] = '!';
        assert_int_equal(seen[cases[i].mapped - 1], '!');
        memory_unplace(seen, cases[i].bytes);
        assert_int_equal(space_bytes(), before);
        assert_true(is_unmapped(seen, cases[i].mapped));
        shared->release(&region);
    }
}

/* A failed mapping sets errno, and leaves nothing mapped. */
static void refused_files_leave_nothing_behind(void **state)
{
    (void)state;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); /* a file that cannot be mapped */
    for (size_t i = 0; i < CASES; i++) {
        size_t before = space_bytes();
        errno = 0;
        assert_null(memory_place(cases[i].bytes, fd, PROT_READ));
        assert_int_not_equal(errno, 0);
        assert_int_equal(space_bytes(), before);
    }
    close(fd);
}

/* The pieces of a message, byte by byte, against what a cursor finds, `most` at a time. Runs that
 * touch are one. */
static void cursors_stay_in_their_pieces(void **state)
{
    (void)state;
    char memory[64];
    const struct piece pieces[] = {
        {memory + 3, 4, 4, 3}, {memory + 20, 3, 5, 4}, {memory, 2, 2, 1}};
    const struct layout layout = {pieces, 3, false};
    const size_t length = 12 + 12 + 2, together = 1 + 4 + 1;
    for (size_t most = 1; most <= 2 * length; most++) {
        struct cursor cursor;
        size_t found = 0, runs = 0, run;
        cursor_start(&cursor, layout);
        for (const char *at; found < length && (at = cursor_peek(&cursor, most, &run));
             cursor_advance(&cursor, run), runs++)
            for (size_t i = 0; i < run; i++, found++) {
                size_t in_second = found - 12;
                const char *expected = found < 12 ? memory + 3 + found
                                       : found < 24
                                           ? memory + 20 + in_second / 3 * 5 + in_second % 3
                                           : memory + found - 24;
                assert_ptr_equal(at + i, expected);
            }
        assert_int_equal(found, length);
        assert_null(cursor_peek(&cursor, most, &run));
        if (most >= length)
            assert_int_equal(runs, together);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_leave_nothing_behind),
        cmocka_unit_test(mapped_files_leave_nothing_behind),
        cmocka_unit_test(refused_files_leave_nothing_behind),
        cmocka_unit_test(cursors_stay_in_their_pieces),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}

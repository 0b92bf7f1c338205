/*
 * test_xid.c - the newest Xid of a GPU in the kernel's log. A pipe in packet mode gives one record
 * for each read, as /dev/kmsg does.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/host.h"

static int newest(const char *const *records, const char *bus, uint64_t since)
{
    char path[64];
    int ends[2];
    assert_int_equal(pipe2(ends, O_DIRECT), 0);
    for (; *records; records++)
        assert_int_equal(write(ends[1], *records, strlen(*records)), strlen(*records));
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    int found = xid_newest(path, bus, since);
    close(ends[0]);
    close(ends[1]);
    return found;
}

static const char *const records[] = {
    "6,1030,1000000,-;NVRM: Xid (PCI:0000:3b:00): 13, pid=12, Graphics Exception\n",
    "6,1031,2000000,-;NVRM: Xid (PCI:0000:AF:00): 31, pid=12, name=cctest, Ch 00000008\n",
    "4,1032,3000000,-;usb 1-1: new device\n SUBSYSTEM=usb\n",
    "6,1033,4000000,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n",
    "6,1034,5000000,-;NVRM: Xid (PCI:0000:3b:00.1): 99\n",
    "NVRM: Xid (PCI:0000:3b:00): 98\n",
    "6,1035,6000000,-;NVRM: Xid (PCI:0000:3b:00\n",
    NULL,
};

static void test_newest(void **state)
{
    (void)state;
    assert_int_equal(newest(records, "0000:3b:00.0", 0), 79);
    assert_int_equal(newest(records, "0000:af:00.0", 0), 31);
    assert_int_equal(newest(records, "0000:5e:00.0", 0), 0);
}

static void test_since(void **state)
{
    (void)state;
    assert_int_equal(newest(records, "0000:3b:00.0", 4000000), 79);
    assert_int_equal(newest(records, "0000:3b:00.0", 4000001), 0);
    assert_int_equal(newest(records + 7, "0000:3b:00.0", 0), 0);
    assert_int_equal(xid_newest("/nowhere", "0000:3b:00.0", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest),
        cmocka_unit_test(test_since),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

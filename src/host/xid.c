/*
 * xid.c - "6,1032,98765432,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus."
 */
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define RECORD_MOST 8192 /* as the kernel has it */

/* The Xid in a record; 0: it has none of this GPU, or is older. */
static int record_xid(const char *record, const char *bus, uint64_t since)
{
    static const char mark[] = "NVRM: Xid (PCI:";
    const char *at = strstr(record, mark);
    uint64_t time;
    if (!at || sscanf(record, "%*u,%*u,%" SCNu64, &time) != 1 || time < since)
        return 0;
    at += strlen(mark);
    const size_t slot = strcspn(bus, "."); /* the log names no function */
    if (strncasecmp(at, bus, slot) != 0 || strncmp(at + slot, "): ", 3) != 0)
        return 0;
    return atoi(at + slot + 3);
}

int xid_newest(const char *log, const char *bus, uint64_t since)
{
    char record[RECORD_MOST + 1];
    int xid = 0, fd = open(log, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (;;) {
        ssize_t bytes = read(fd, record, RECORD_MOST); /* one record */
        if (bytes < 0 && errno == EPIPE) /* the oldest ones were overwritten meanwhile */
            continue;
        if (bytes <= 0)
            break;
        record[bytes] = '\0';
        int found = record_xid(record, bus, since);
        xid = found ? found : xid;
    }
    close(fd);
    return xid;
}
